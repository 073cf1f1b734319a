"""Use: how often a memory was found, told and drawn on; and what a turn was told.

    heart.memory_usage   one row for each memory that was ever found: counts for ever, and sums that fade, as they were at `counted_at`
    heart.turns          `served`: which memories a user's turn was told, so that its answer can be compared with them; ids, never words

How often a fact was confirmed is counted where it always was, in heart.facts.
"""

from alembic import op

from store import keys

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(
        """
CREATE TABLE heart.memory_usage (
    agent_id          text NOT NULL,
    kind              text NOT NULL,
    memory_id         uuid NOT NULL,
    retrieved         integer NOT NULL DEFAULT 0,
    injected          integer NOT NULL DEFAULT 0,
    referenced        integer NOT NULL DEFAULT 0,
    injected_lately   double precision NOT NULL DEFAULT 0,
    referenced_lately double precision NOT NULL DEFAULT 0,
    counted_at        timestamptz NOT NULL,
    CONSTRAINT pk_memory_usage PRIMARY KEY (agent_id, kind, memory_id)
)"""
    )
    op.execute("ALTER TABLE heart.memory_usage ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE heart.memory_usage FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY admitted ON heart.memory_usage TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute("CREATE POLICY overview ON heart.memory_usage FOR SELECT TO nous_operator USING (true)")
    op.execute("GRANT SELECT ON heart.memory_usage TO nous_operator")
    op.execute("GRANT SELECT, INSERT, UPDATE ON heart.memory_usage TO nous_worker")
    for statement in keys.erasable("heart.memory_usage"):
        op.execute(statement)
    op.execute("ALTER TABLE heart.turns ADD COLUMN served jsonb")


def downgrade() -> None:
    """Undo."""
    op.execute("ALTER TABLE heart.turns DROP COLUMN served")
    op.execute("DROP TABLE heart.memory_usage")
