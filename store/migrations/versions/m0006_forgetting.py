"""Forgetting: who may erase, and what stays of what was erased.

    nous_eraser          the role that erases; like the others it owns nothing and sees only the agents its transaction names
    bus.forgotten        a tombstone for each event that was erased, and one for each agent that was; ids and times, never words
    heart.facts          `forgotten_at`: a row without words, which keeps its place in time and among what it retired

Workers read bus.forgotten: nothing that is in it is archived again, or learned again from the same episode.
"""

from alembic import op
from sqlalchemy import text

from store import keys

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ROLE = """
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'nous_eraser') THEN
        BEGIN
            CREATE ROLE nous_eraser NOLOGIN NOSUPERUSER NOBYPASSRLS;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END IF;
    IF NOT pg_has_role(current_user, 'nous_eraser', 'SET') THEN
        GRANT nous_eraser TO CURRENT_USER;
    END IF;
END $$
"""

OF_AGENTS = """
SELECT n.nspname || '.' || c.relname AS name, c.relrowsecurity AS is_guarded FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'agent_id' AND NOT a.attisdropped
WHERE n.nspname IN ('heart', 'bus', 'brain') AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"""


def upgrade() -> None:
    """Apply."""
    op.execute(ROLE)
    op.execute("GRANT USAGE ON SCHEMA heart, bus, brain TO nous_eraser")
    op.execute(
        """
CREATE TABLE bus.forgotten (
    agent_id     text NOT NULL,
    event_id     text NOT NULL,
    stream       text NOT NULL,
    forgotten_by text NOT NULL,
    forgotten_at timestamptz NOT NULL,
    CONSTRAINT pk_forgotten PRIMARY KEY (agent_id, event_id, stream)
)"""
    )
    op.execute("ALTER TABLE bus.forgotten ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE bus.forgotten FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY admitted ON bus.forgotten TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute("CREATE POLICY overview ON bus.forgotten FOR SELECT TO nous_operator USING (true)")
    op.execute("CREATE POLICY whole_agents ON bus.forgotten FOR SELECT TO nous_worker USING (event_id = '')")
    op.execute("GRANT SELECT ON bus.forgotten TO nous_worker, nous_operator")
    op.execute("ALTER TABLE heart.facts ADD COLUMN forgotten_at timestamptz")
    op.execute("ALTER TABLE heart.facts ADD CONSTRAINT ck_facts_forgotten CHECK (forgotten_at IS NULL OR (content = '' AND NOT active))")
    op.execute("CREATE INDEX ix_facts_forgotten ON heart.facts (agent_id, fact_id) WHERE forgotten_at IS NOT NULL")
    for name, is_guarded in op.get_bind().execute(text(OF_AGENTS)).all():
        for statement in keys.erasable(name, is_guarded=is_guarded):
            op.execute(statement)
    op.execute("GRANT SELECT ON heart.embedders TO nous_eraser")


def downgrade() -> None:
    """Undo. The role stays: other databases of the same server may use it. What was erased stays erased."""
    op.execute("DROP TABLE bus.forgotten")
    for name, is_guarded in op.get_bind().execute(text(OF_AGENTS)).all():
        op.execute(f"REVOKE ALL ON {name} FROM nous_eraser")
        if is_guarded:
            op.execute(f"ALTER POLICY admitted ON {name} TO nous_worker")
    op.execute("REVOKE ALL ON heart.embedders FROM nous_eraser")
    op.execute("REVOKE ALL ON SCHEMA heart, bus, brain FROM nous_eraser")
    op.execute("ALTER TABLE heart.facts DROP COLUMN forgotten_at")
