"""Upkeep: which period of which task was begun, and since when use is counted.

    bus.upkeep_runs   one row for each task and period; who inserts it runs it
    bus.since         the moment from which a count counts: what was never found before use was counted may have been useful

Neither is of an agent.
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(
        """
CREATE TABLE bus.upkeep_runs (
    task     text NOT NULL,
    period   text NOT NULL,
    agents   integer NOT NULL,
    begun_at timestamptz NOT NULL,
    CONSTRAINT pk_upkeep_runs PRIMARY KEY (task, period)
)"""
    )
    op.execute("CREATE TABLE bus.since (what text NOT NULL, at timestamptz NOT NULL, CONSTRAINT pk_since PRIMARY KEY (what))")
    op.execute("INSERT INTO bus.since VALUES ('usage', now())")
    op.execute("GRANT SELECT, INSERT ON bus.upkeep_runs TO nous_worker")
    op.execute("GRANT SELECT ON bus.since TO nous_worker")
    op.execute("GRANT SELECT ON bus.upkeep_runs, bus.since TO nous_operator")


def downgrade() -> None:
    """Undo."""
    op.execute("DROP TABLE bus.since")
    op.execute("DROP TABLE bus.upkeep_runs")
