"""Search: the words of every memory, pieces of what was said in episodes, and the vectors of what had none.

    words, word_count     of facts, episodes, decisions, procedures: their terms and how many there are (store/words.py); NULL until
                          the fill has come to a row that was there before
    heart.passages        what was said in a settled episode, a few turns each
    heart.memory_vectors  vectors of decisions, procedures and passages, by embedder; those of facts and episodes stand where they were
    bus.unembedded        what waits for its vector, by ids
    bus.fills             how far the fill of each of these tables is (store/wordless.py)

No index says what is left to fill: it would read every row, while the columns are added and nobody may look at the table.

A change of a fact that changes nothing a version keeps, as its words, makes no version (docs/decisions/0023).
"""

from alembic import op

from store import keys

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

WORDED = ["heart.facts", "heart.episodes", "heart.procedures", "brain.decisions"]

_KEPT = (
    "content",
    "subject",
    "attribute",
    "provenance",
    "confidence",
    "source",
    "active",
    "superseded_by",
    "merged_into",
    "disputes",
    "valid_from",
    "valid_to",
    "claimed_at",
    "claimed_by",
    "confirmation_count",
    "last_confirmed",
)
_LISTED = ", ".join(_KEPT)
_NEW, _OLD = (", ".join(f"{row}.{name}" for name in ("recorded_at", "recorded_by", *_KEPT)) for row in ("n", "o"))
_CHANGED = (
    "written n JOIN before o ON o.agent_id = n.agent_id AND o.fact_id = n.fact_id"  # a row's key never changes
    f" AND ROW({_NEW}) IS DISTINCT FROM ROW({_OLD})"
)

VERSIONS = [
    "DROP TRIGGER keep_later_versions ON heart.facts",
    f"""
CREATE FUNCTION heart.keep_later_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE heart.fact_versions v SET recorded_to = n.recorded_at FROM {_CHANGED}
    WHERE v.agent_id = n.agent_id AND v.fact_id = n.fact_id AND v.recorded_to IS NULL;
    INSERT INTO heart.fact_versions (agent_id, fact_id, recorded_from, recorded_by, {_LISTED})
    SELECT n.agent_id, n.fact_id, n.recorded_at, n.recorded_by, {", ".join(f"n.{name}" for name in _KEPT)} FROM {_CHANGED};
    RETURN NULL;
END $$""",
    """
CREATE TRIGGER keep_later_versions AFTER UPDATE ON heart.facts
    REFERENCING OLD TABLE AS before NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION heart.keep_later_versions()""",
]

BEFORE_VERSIONS = [
    "DROP TRIGGER keep_later_versions ON heart.facts",
    "DROP FUNCTION heart.keep_later_versions()",
    """
CREATE TRIGGER keep_later_versions AFTER UPDATE ON heart.facts
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION heart.keep_versions()""",
]

TABLES = [
    """
CREATE TABLE heart.passages (
    agent_id   text NOT NULL,
    passage_id uuid NOT NULL,
    episode_id uuid NOT NULL,
    place      integer NOT NULL,
    content    text NOT NULL,
    said_at    timestamptz NOT NULL,
    words      tsvector NOT NULL,
    word_count integer NOT NULL,
    CONSTRAINT pk_passages PRIMARY KEY (agent_id, passage_id),
    CONSTRAINT fk_passages_episode FOREIGN KEY (agent_id, episode_id) REFERENCES heart.episodes (agent_id, episode_id)
)""",
    "CREATE INDEX ix_passages_episode ON heart.passages (agent_id, episode_id)",
    """
CREATE TABLE heart.memory_vectors (
    agent_id  text NOT NULL,
    kind      text NOT NULL,
    memory_id uuid NOT NULL,
    embedder  text NOT NULL,
    digest    bytea NOT NULL,
    vector    halfvec NOT NULL,
    CONSTRAINT pk_memory_vectors PRIMARY KEY (agent_id, kind, memory_id, embedder),
    CONSTRAINT ck_memory_vectors_kind CHECK (kind IN ('decision', 'procedure', 'passage'))
)""",
    """
CREATE TABLE bus.unembedded (
    agent_id  text NOT NULL,
    kind      text NOT NULL,
    memory_id uuid NOT NULL,
    due_at    timestamptz NOT NULL,
    attempts  integer NOT NULL DEFAULT 0,
    CONSTRAINT pk_unembedded PRIMARY KEY (agent_id, kind, memory_id)
)""",
    "CREATE INDEX ix_unembedded_due ON bus.unembedded (due_at)",
    """
CREATE TABLE bus.fills (
    table_name   text CONSTRAINT pk_fills PRIMARY KEY,
    after_agent  text NOT NULL DEFAULT '',
    after_memory uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    found        bigint NOT NULL DEFAULT 0,
    rounds       integer NOT NULL DEFAULT 0,
    due_at       timestamptz DEFAULT to_timestamp(0)
)""",
    *(f"INSERT INTO bus.fills (table_name) VALUES ('{table}')" for table in WORDED),
]

GUARDED = ["heart.passages", "heart.memory_vectors"]


def upgrade() -> None:
    """Apply. No row that is there is read or written; the fill comes to them beside the work (store/wordless.py)."""
    for table in WORDED:
        op.execute(f"ALTER TABLE {table} ADD COLUMN words tsvector, ADD COLUMN word_count integer")
    for statement in [*VERSIONS, *TABLES]:
        op.execute(statement)
    for table in GUARDED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY admitted ON {table} TO nous_worker"
            " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
            " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        )
        op.execute(f"CREATE POLICY overview ON {table} FOR SELECT TO nous_operator USING (true)")
    for table in [*GUARDED, "bus.unembedded"]:
        op.execute(f"GRANT SELECT ON {table} TO nous_operator")
        op.execute(f"GRANT SELECT, INSERT, UPDATE ON {table} TO nous_worker")
        for statement in keys.erasable(table, is_guarded=table in GUARDED):
            op.execute(statement)
    op.execute("GRANT DELETE ON bus.unembedded TO nous_worker")
    op.execute("GRANT SELECT, UPDATE ON bus.fills TO nous_worker")
    op.execute("GRANT SELECT ON bus.fills TO nous_operator")


def downgrade() -> None:
    """Undo."""
    for table in ["bus.fills", "bus.unembedded", *GUARDED]:
        op.execute(f"DROP TABLE {table}")
    for statement in BEFORE_VERSIONS:
        op.execute(statement)
    for table in WORDED:
        op.execute(f"ALTER TABLE {table} DROP COLUMN words, DROP COLUMN word_count")
