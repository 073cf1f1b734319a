"""Turns that are recognised though their words are not at hand, and transcripts that were let go of.

heart.turns_known          ids and times of turns whose words are put away, let go of or forgotten, with a digest of the words
heart.episodes.let_go_at   since when its whole transcript is kept nowhere; NULL while it is, and for one that was never put away

A turn that had aged before is not in heart.turns_known: what it said stands compressed, and is read by nobody here.
"""

from alembic import op

from store import keys

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

KNOWN = "heart.turns_known"
OURS = ("heart.episodes", "bus.receipts")


def upgrade() -> None:
    """Apply."""
    op.execute(
        f"""
CREATE TABLE {KNOWN} (
    agent_id    text NOT NULL,
    session_key uuid NOT NULL,
    turn_id     text NOT NULL,
    speaker     text NOT NULL,
    said_at     timestamptz NOT NULL,
    digest      bytea,
    CONSTRAINT pk_turns_known PRIMARY KEY (agent_id, session_key, turn_id, speaker),
    CONSTRAINT fk_turns_known_session FOREIGN KEY (agent_id, session_key)
        REFERENCES heart.sessions (agent_id, session_key) ON DELETE CASCADE
)"""
    )
    op.execute(f"ALTER TABLE {KNOWN} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {KNOWN} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY admitted ON {KNOWN} TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute(f"CREATE POLICY overview ON {KNOWN} FOR SELECT TO nous_operator USING (true)")
    op.execute(f"GRANT SELECT ON {KNOWN} TO nous_operator")
    op.execute(f"GRANT SELECT, INSERT, UPDATE ON {KNOWN} TO nous_worker")
    for statement in keys.erasable(KNOWN):
        op.execute(statement)
    op.execute("ALTER TABLE heart.episodes ADD COLUMN let_go_at timestamptz")
    for table in OURS:  # an owner that is forced finds no row
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE heart.episodes e SET let_go_at = r.occurred_at FROM bus.receipts r WHERE r.agent_id = e.agent_id"
        " AND r.about = e.episode_id AND r.worker = 'transcript_remover' AND r.outcome = 'let_go' AND e.aged IS NOT NULL"
    )
    for table in OURS:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


def downgrade() -> None:
    """Undo."""
    op.execute("ALTER TABLE heart.episodes DROP COLUMN let_go_at")
    op.execute(f"DROP TABLE {KNOWN}")
