"""What people dropped is found without reading every receipt.

bus.ix_receipts_dropped   the receipts of what was dropped, by time; as few as people make
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("CREATE INDEX ix_receipts_dropped ON bus.receipts (recorded_at) WHERE ending = 'skip' AND outcome = 'dropped'")


def downgrade() -> None:
    """Undo."""
    op.execute("DROP INDEX bus.ix_receipts_dropped")
