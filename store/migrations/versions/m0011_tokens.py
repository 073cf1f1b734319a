"""Tokens: who may speak over HTTP for which agent.

bus.tokens   a hash of each token, never the token; one that was revoked stays, with the time
"""

from alembic import op

from store import keys

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(
        """
CREATE TABLE bus.tokens (
    agent_id   text NOT NULL,
    token_id   uuid NOT NULL,
    name       text NOT NULL,
    digest     bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT pk_tokens PRIMARY KEY (agent_id, token_id),
    CONSTRAINT uq_tokens_digest UNIQUE (digest)
)"""
    )
    op.execute("ALTER TABLE bus.tokens ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE bus.tokens FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY admitted ON bus.tokens TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute("CREATE POLICY overview ON bus.tokens FOR SELECT TO nous_operator USING (true)")
    op.execute("GRANT SELECT ON bus.tokens TO nous_operator")
    op.execute("GRANT SELECT, INSERT, UPDATE ON bus.tokens TO nous_worker")
    for statement in keys.erasable("bus.tokens"):
        op.execute(statement)


def downgrade() -> None:
    """Undo."""
    op.execute("DROP TABLE bus.tokens")
