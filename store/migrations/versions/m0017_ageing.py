"""Ageing of episodes: how much of a transcript is at hand, and where the whole of it is until it is let go of.

heart.episodes.aged         trimmed, only its first and last parts are at hand; archived, none of it; NULL while all of it is
heart.episodes.whole_until  a person said that it stays whole until then
heart.transcripts_cold      whole transcripts that were put away, compressed
"""

from alembic import op
from sqlalchemy import text

from nous.errors import Misconfigured
from store import keys

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

COLD = "heart.transcripts_cold"


def upgrade() -> None:
    """Apply."""
    op.execute(
        "ALTER TABLE heart.episodes ADD COLUMN aged text, ADD COLUMN whole_until timestamptz,"
        " ADD CONSTRAINT ck_episodes_aged CHECK (aged IN ('trimmed', 'archived'))"
    )
    op.execute(
        "CREATE INDEX ix_episodes_ageing ON heart.episodes (started_at, agent_id)"
        " WHERE active AND ended_at IS NOT NULL AND aged IS DISTINCT FROM 'archived'"
    )
    op.execute(
        f"""
CREATE TABLE {COLD} (
    agent_id    text NOT NULL,
    episode_id  uuid NOT NULL,
    packed      bytea NOT NULL,
    characters  bigint NOT NULL,
    put_away_at timestamptz NOT NULL,
    CONSTRAINT pk_transcripts_cold PRIMARY KEY (agent_id, episode_id),
    CONSTRAINT fk_transcripts_cold_episode FOREIGN KEY (agent_id, episode_id) REFERENCES heart.episodes (agent_id, episode_id)
)"""
    )
    op.execute(f"ALTER TABLE {COLD} ALTER COLUMN packed SET STORAGE EXTERNAL")  # it is compressed already
    op.execute(f"CREATE INDEX ix_transcripts_cold_put_away ON {COLD} (put_away_at, agent_id)")
    op.execute(f"ALTER TABLE {COLD} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {COLD} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY admitted ON {COLD} TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute(f"CREATE POLICY overview ON {COLD} FOR SELECT TO nous_operator USING (true)")
    op.execute(f"GRANT SELECT ON {COLD} TO nous_operator")
    op.execute(f"GRANT SELECT, INSERT, UPDATE ON {COLD} TO nous_worker")
    for statement in keys.erasable(COLD):
        op.execute(statement)


def downgrade() -> None:
    """Undo. Raises Misconfigured while transcripts are put away: they stand nowhere else."""
    op.execute(f"ALTER TABLE {COLD} NO FORCE ROW LEVEL SECURITY")  # an owner that is forced finds no row
    if away := op.get_bind().execute(text(f"SELECT count(*) FROM {COLD}")).scalar_one():
        raise Misconfigured(
            f"{COLD} holds the only copy of {away:,} transcripts, and going back before migration 0017 would drop it; have each whole again"
            " with `nous episode thaw`, or, if they are not wanted, empty the table yourself"
        )
    op.execute(f"DROP TABLE {COLD}")
    op.execute("DROP INDEX heart.ix_episodes_ageing")
    op.execute("ALTER TABLE heart.episodes DROP COLUMN aged, DROP COLUMN whole_until")
