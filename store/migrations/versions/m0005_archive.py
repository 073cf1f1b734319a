"""The archive: every event of every stream, raw as it came, for good.

    bus.events   one row for each (agent, event id, stream) and body: said again it is the same row, said otherwise it is another

Hash-partitioned by agent, so that no index grows with all of them together. Under forced row-level security, as memory is.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

PARTITIONS = 8


def upgrade() -> None:
    """Apply."""
    op.execute(
        """
CREATE TABLE bus.events (
    agent_id    text NOT NULL,
    event_id    text NOT NULL,
    stream      text NOT NULL,
    digest      bytea NOT NULL,
    body        bytea NOT NULL,
    entry_id    text NOT NULL,
    arrived_at  timestamptz NOT NULL,
    archived_at timestamptz NOT NULL,
    CONSTRAINT pk_events PRIMARY KEY (agent_id, event_id, stream, digest)
) PARTITION BY HASH (agent_id)"""
    )
    for at in range(PARTITIONS):
        op.execute(f"CREATE TABLE bus.events_{at} PARTITION OF bus.events FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {at})")
    op.execute("CREATE INDEX ix_events_arrived ON bus.events (agent_id, arrived_at)")
    op.execute("ALTER TABLE bus.events ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE bus.events FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY admitted ON bus.events TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute("CREATE POLICY overview ON bus.events FOR SELECT TO nous_operator USING (true)")
    op.execute("GRANT SELECT ON bus.events TO nous_operator")
    op.execute("GRANT SELECT, INSERT ON bus.events TO nous_worker")
    op.execute("GRANT SELECT ON bus.alembic_version TO nous_operator")  # for shape.py


def downgrade() -> None:
    """Undo."""
    op.execute("REVOKE SELECT ON bus.alembic_version FROM nous_operator")
    op.execute("DROP TABLE bus.events")
