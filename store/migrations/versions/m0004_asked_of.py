"""What is asked for once is remembered, and what is looked for by its name has an index.

heart.episodes.asked_of  the mind that an episode without one was last announced to, so that the next announcement is of others
bus.ix_writings_about    what was asked about an episode is found by its name
bus.uq_receipts_seq      only for who asks for the sequence: of a table without statistics Postgres took it to look up one event,
                         and read every receipt of the agent (measured: 10,000 events, 1.5 s of 10)
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("ALTER TABLE heart.episodes ADD COLUMN asked_of text")
    op.execute("CREATE INDEX ix_writings_about ON bus.writings (agent_id, about)")
    op.execute("DROP INDEX bus.uq_receipts_seq")
    op.execute("CREATE UNIQUE INDEX uq_receipts_seq ON bus.receipts (agent_id, seq) WHERE seq > 0")


def downgrade() -> None:
    """Undo."""
    op.execute("DROP INDEX bus.uq_receipts_seq")
    op.execute("CREATE UNIQUE INDEX uq_receipts_seq ON bus.receipts (agent_id, seq)")
    op.execute("DROP INDEX bus.ix_writings_about")
    op.execute("ALTER TABLE heart.episodes DROP COLUMN asked_of")
