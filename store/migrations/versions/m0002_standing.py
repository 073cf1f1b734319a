"""How facts stand to each other: what was asked and answered, what follows from it, and what was recorded when.

    heart.relations      how two texts stand to each other, by a mind or by a person, who outranks it for ever
    heart.fact_versions  every state a fact ever had, with the time it was recorded; facts is its last row
    bus.answers          every question put to a mind about two texts, with its answer and its cost
    bus.spending         tokens and cost by agent, hour, worker and model; the budget looks here

heart.facts gains `text_key`, which its relations are kept under: what it says, of whom, of which attribute; `stored_by`, the event it
began with; `own_content`, its first wording where a richer one is shown; `disputes`, the user's fact that an assistant's claim
contradicts. A vector knows whether its fact is `current`, so that what was retired cannot crowd out what is true.
"""

from alembic import op
from sqlalchemy import text

from store import keys

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

FACTS = [
    """
ALTER TABLE heart.facts
    ADD COLUMN text_key bytea, ADD COLUMN stored_by text, ADD COLUMN own_content text, ADD COLUMN disputes uuid,
    ADD COLUMN recorded_at timestamptz, ADD COLUMN recorded_by text,
    ADD CONSTRAINT fk_facts_disputes FOREIGN KEY (agent_id, disputes) REFERENCES heart.facts (agent_id, fact_id)
        DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT ck_facts_merged CHECK (merged_into IS NULL OR NOT active)""",
    "ALTER TABLE heart.facts ALTER CONSTRAINT fk_facts_superseded_by DEFERRABLE INITIALLY DEFERRED",
    "ALTER TABLE heart.facts ALTER CONSTRAINT fk_facts_merged_into DEFERRABLE INITIALLY DEFERRED",
    "CREATE INDEX ix_facts_text_key ON heart.facts (agent_id, text_key)",
    "CREATE UNIQUE INDEX uq_facts_active_text ON heart.facts (agent_id, text_key) WHERE active",
    "DROP INDEX heart.uq_facts_active_claim",
]

TABLES = [
    """
CREATE TABLE heart.relations (
    agent_id    text NOT NULL,
    low_key     bytea NOT NULL,
    high_key    bytea NOT NULL,
    relation    text NOT NULL,
    richer_key  bytea,
    decided_by  text NOT NULL,
    model       text,
    prompt      text,
    reason      text NOT NULL,
    event_id    text NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT pk_relations PRIMARY KEY (agent_id, low_key, high_key),
    CONSTRAINT ck_relations_order CHECK (low_key < high_key),
    CONSTRAINT ck_relations_relation CHECK (relation IN ('same', 'refines', 'updates', 'contradicts', 'compatible')),
    CONSTRAINT ck_relations_decided_by CHECK (decided_by IN ('mind', 'person')),
    CONSTRAINT ck_relations_richer CHECK (richer_key IS NULL OR richer_key IN (low_key, high_key))
)""",
    "CREATE INDEX ix_relations_high ON heart.relations (agent_id, high_key) INCLUDE (low_key, relation)",
    """
CREATE TABLE heart.fact_versions (
    agent_id           text NOT NULL,
    fact_id            uuid NOT NULL,
    version            bigint GENERATED ALWAYS AS IDENTITY,
    recorded_from      timestamptz NOT NULL,
    recorded_to        timestamptz,
    recorded_by        text,
    content            text NOT NULL,
    subject            text,
    attribute          text,
    provenance         text NOT NULL,
    confidence         double precision NOT NULL,
    source             text,
    active             boolean NOT NULL,
    superseded_by      uuid,
    merged_into        uuid,
    disputes           uuid,
    valid_from         timestamptz NOT NULL,
    valid_to           timestamptz,
    claimed_at         timestamptz NOT NULL,
    claimed_by         text NOT NULL,
    confirmation_count integer NOT NULL,
    last_confirmed     timestamptz,
    CONSTRAINT pk_fact_versions PRIMARY KEY (agent_id, fact_id, version)
)""",
    "CREATE UNIQUE INDEX uq_fact_versions_open ON heart.fact_versions (agent_id, fact_id) WHERE recorded_to IS NULL",
    """
CREATE TABLE bus.answers (
    agent_id     text NOT NULL,
    older_key    bytea NOT NULL,
    newer_key    bytea NOT NULL,
    prompt       text NOT NULL,
    model        text NOT NULL,
    worker       text NOT NULL,
    older        text NOT NULL,
    newer        text NOT NULL,
    relation     text,
    richer       text,
    reason       text,
    tokens_in    integer NOT NULL DEFAULT 0,
    tokens_out   integer NOT NULL DEFAULT 0,
    cost         numeric(12, 6) NOT NULL DEFAULT 0,
    milliseconds integer NOT NULL DEFAULT 0,
    asked        integer NOT NULL DEFAULT 1,
    asked_at     timestamptz NOT NULL,
    answered_at  timestamptz,
    CONSTRAINT pk_answers PRIMARY KEY (agent_id, older_key, newer_key, prompt, model),
    CONSTRAINT ck_answers_answered CHECK ((relation IS NULL) = (answered_at IS NULL))
)""",
    "CREATE INDEX ix_answers_unsure ON bus.answers (agent_id) WHERE relation = 'unsure'",
    """
CREATE TABLE bus.spending (
    agent_id   text NOT NULL,
    hour       timestamptz NOT NULL,
    worker     text NOT NULL,
    model      text NOT NULL,
    questions  integer NOT NULL,
    tokens_in  bigint NOT NULL,
    tokens_out bigint NOT NULL,
    cost       numeric(14, 6) NOT NULL,
    CONSTRAINT pk_spending PRIMARY KEY (hour, agent_id, worker, model)
)""",
    "ALTER TABLE bus.retries ADD COLUMN together boolean NOT NULL DEFAULT false",
]

_KEPT = (
    "content, subject, attribute, provenance, confidence, source, active, superseded_by, merged_into, disputes, valid_from, valid_to,"
    " claimed_at, claimed_by, confirmation_count, last_confirmed"
)

VERSIONS = [
    f"""
CREATE FUNCTION heart.keep_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE heart.fact_versions v SET recorded_to = n.recorded_at FROM written n
        WHERE v.agent_id = n.agent_id AND v.fact_id = n.fact_id AND v.recorded_to IS NULL;
    END IF;
    INSERT INTO heart.fact_versions (agent_id, fact_id, recorded_from, recorded_by, {_KEPT})
    SELECT agent_id, fact_id, recorded_at, recorded_by, {_KEPT} FROM written;
    RETURN NULL;
END $$""",
    """
CREATE TRIGGER keep_first_versions AFTER INSERT ON heart.facts
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION heart.keep_versions()""",
    """
CREATE TRIGGER keep_later_versions AFTER UPDATE ON heart.facts
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION heart.keep_versions()""",
]

GUARDED = ["heart.relations", "heart.fact_versions", "bus.answers"]


def upgrade() -> None:
    """Apply."""
    for statement in [*FACTS, *TABLES]:
        op.execute(statement)
    _fill_in()
    for statement in VERSIONS:
        op.execute(statement)
    for table in _vectors():
        for statement in keys.current_vectors(table):
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
    for table in [*GUARDED, "bus.spending"]:
        op.execute(f"GRANT SELECT ON {table} TO nous_operator")
        op.execute(f"GRANT SELECT, INSERT, UPDATE ON {table} TO nous_worker")


def downgrade() -> None:
    """Undo."""
    op.execute("DROP TRIGGER keep_first_versions ON heart.facts")
    op.execute("DROP TRIGGER keep_later_versions ON heart.facts")
    op.execute("DROP FUNCTION heart.keep_versions()")
    for table in [*GUARDED, "bus.spending"]:
        op.execute(f"DROP TABLE {table}")
    op.execute("ALTER TABLE bus.retries DROP COLUMN together")
    op.execute(
        "ALTER TABLE heart.facts DROP COLUMN text_key, DROP COLUMN stored_by, DROP COLUMN own_content, DROP COLUMN disputes,"
        " DROP COLUMN recorded_at, DROP COLUMN recorded_by, DROP CONSTRAINT ck_facts_merged"
    )
    op.execute(
        "CREATE UNIQUE INDEX uq_facts_active_claim ON heart.facts"
        " (agent_id, content_hash, md5(coalesce(subject_key, '') || chr(31) || coalesce(attribute, ''))) WHERE active"
    )
    op.execute("ALTER TABLE heart.facts ALTER CONSTRAINT fk_facts_superseded_by NOT DEFERRABLE")
    op.execute("ALTER TABLE heart.facts ALTER CONSTRAINT fk_facts_merged_into NOT DEFERRABLE")
    for table in _vectors():
        op.execute(f"ALTER TABLE {table} DROP COLUMN current")


def _vectors() -> list[str]:
    return [row.table_name for row in op.get_bind().execute(text("SELECT table_name FROM heart.embedders"))]


def _fill_in() -> None:
    """Give the facts that are there already what the new columns say of them."""
    bind = op.get_bind()
    for table in ("heart.facts", "heart.fact_mentions"):
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    rows = bind.execute(text("SELECT agent_id, fact_id, content, subject, attribute FROM heart.facts")).all()
    for row in rows:
        bind.execute(
            text("UPDATE heart.facts SET text_key = :key WHERE agent_id = :agent AND fact_id = :fact"),
            {"key": keys.text_key(row.content, row.subject, row.attribute), "agent": row.agent_id, "fact": row.fact_id},
        )
    op.execute(
        "UPDATE heart.facts f SET recorded_at = created_at, stored_by = m.event_id, recorded_by = m.event_id FROM heart.fact_mentions m"
        " WHERE m.agent_id = f.agent_id AND m.fact_id = f.fact_id AND m.outcome = 'stored'"
    )
    op.execute(
        f"INSERT INTO heart.fact_versions (agent_id, fact_id, recorded_from, recorded_by, {_KEPT})"
        f" SELECT agent_id, fact_id, recorded_at, recorded_by, {_KEPT} FROM heart.facts"
    )
    for column in ("text_key", "stored_by", "recorded_at", "recorded_by"):
        op.execute(f"ALTER TABLE heart.facts ALTER COLUMN {column} SET NOT NULL")
    for table in ("heart.facts", "heart.fact_mentions"):
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
