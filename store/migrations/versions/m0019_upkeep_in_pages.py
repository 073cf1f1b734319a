"""Upkeep is told to agents a page at a time.

bus.upkeep_runs.told_up_to   the last agent that was told of this run, in the order of their ids; NULL once everybody was

Runs from before told everybody at once.
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("ALTER TABLE bus.upkeep_runs ADD COLUMN told_up_to text")
    op.execute("GRANT UPDATE (agents, told_up_to) ON bus.upkeep_runs TO nous_worker")


def downgrade() -> None:
    """Undo: a run that has not told everybody is as if it had; the next period makes up for it."""
    op.execute("REVOKE UPDATE (agents, told_up_to) ON bus.upkeep_runs FROM nous_worker")
    op.execute("ALTER TABLE bus.upkeep_runs DROP COLUMN told_up_to")
