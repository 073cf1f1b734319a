"""The foundation: facts and every wording ever heard of them, censors, receipts, and the workers' own queues.

    heart.facts          what is remembered; one row a fact
    heart.fact_mentions  every wording ever heard, with its source; never updated but for the fact it belongs to
    heart.embedders      which embedder gives vectors, and in which table (heart.vectors_<name>) they stand
    heart.censors        warnings and blocks, with their counts
    bus.receipts         what became of each event for each worker, and why; the proof that an effect happened once
    bus.retries          deliveries that wait for another attempt, with their body
    bus.outbox           derived events until every consumer has its receipt

heart.* and bus.receipts are under forced row-level security: the worker role sees the agents its transaction names, the
operator role sees all and writes nothing. bus.retries and bus.outbox are the machine's own queues, read by no agent.
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ROLES = """
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['nous_worker', 'nous_operator'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
            END;
        END IF;
        IF NOT pg_has_role(current_user, name, 'SET') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', name);
        END IF;
    END LOOP;
END $$
"""

TABLES = [
    """
CREATE TABLE heart.facts (
    agent_id           text NOT NULL,
    fact_id            uuid NOT NULL,
    content            text NOT NULL,
    content_hash       bytea NOT NULL,
    subject            text,
    subject_key        text,
    attribute          text,
    provenance         text NOT NULL,
    confidence         double precision NOT NULL,
    source             text,
    active             boolean NOT NULL DEFAULT true,
    superseded_by      uuid,
    merged_into        uuid,
    valid_from         timestamptz NOT NULL,
    valid_to           timestamptz,
    claimed_at         timestamptz NOT NULL,
    claimed_by         text NOT NULL,
    confirmation_count integer NOT NULL DEFAULT 0,
    last_confirmed     timestamptz,
    retrieved_count    integer NOT NULL DEFAULT 0,
    injected_count     integer NOT NULL DEFAULT 0,
    referenced_count   integer NOT NULL DEFAULT 0,
    created_at         timestamptz NOT NULL,
    CONSTRAINT pk_facts PRIMARY KEY (agent_id, fact_id),
    CONSTRAINT fk_facts_superseded_by FOREIGN KEY (agent_id, superseded_by) REFERENCES heart.facts (agent_id, fact_id),
    CONSTRAINT fk_facts_merged_into FOREIGN KEY (agent_id, merged_into) REFERENCES heart.facts (agent_id, fact_id),
    CONSTRAINT ck_facts_provenance CHECK (provenance IN ('user_stated', 'episode_summary', 'assistant_derived')),
    CONSTRAINT ck_facts_confidence CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT ck_facts_superseded CHECK (superseded_by IS NULL OR NOT active)
)""",
    (
        "CREATE UNIQUE INDEX uq_facts_active_claim ON heart.facts"
        " (agent_id, content_hash, md5(coalesce(subject_key, '') || chr(31) || coalesce(attribute, ''))) WHERE active"
    ),
    "CREATE INDEX ix_facts_superseded_by ON heart.facts (agent_id, superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX ix_facts_subject_key ON heart.facts (agent_id, left(subject_key, 200)) WHERE active",
    """
CREATE TABLE heart.fact_mentions (
    agent_id     text NOT NULL,
    event_id     text NOT NULL,
    mention_id   uuid NOT NULL,
    fact_id      uuid NOT NULL,
    content      text NOT NULL,
    content_hash bytea NOT NULL,
    subject      text,
    attribute    text,
    provenance   text NOT NULL,
    confidence   double precision NOT NULL,
    source       text,
    quote        text,
    similarity   double precision NOT NULL,
    outcome      text NOT NULL,
    occurred_at  timestamptz NOT NULL,
    heard_at     timestamptz NOT NULL,
    CONSTRAINT pk_fact_mentions PRIMARY KEY (agent_id, event_id),
    CONSTRAINT fk_fact_mentions_fact FOREIGN KEY (agent_id, fact_id) REFERENCES heart.facts (agent_id, fact_id),
    CONSTRAINT ck_fact_mentions_outcome CHECK (outcome IN ('stored', 'confirmed', 'mentioned'))
)""",
    "CREATE INDEX ix_fact_mentions_hash ON heart.fact_mentions (agent_id, content_hash) INCLUDE (fact_id)",
    "CREATE INDEX ix_fact_mentions_mention ON heart.fact_mentions (agent_id, mention_id) INCLUDE (content_hash)",
    "CREATE INDEX ix_fact_mentions_fact ON heart.fact_mentions (agent_id, fact_id)",
    """
CREATE TABLE heart.embedders (
    name       text CONSTRAINT pk_embedders PRIMARY KEY,
    dimension  integer NOT NULL CHECK (dimension BETWEEN 1 AND 4000),
    table_name text NOT NULL CONSTRAINT uq_embedders_table_name UNIQUE,
    active     boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
)""",
    "CREATE UNIQUE INDEX uq_embedders_active ON heart.embedders (active) WHERE active",
    """
CREATE TABLE heart.censors (
    agent_id             text NOT NULL,
    censor_id            uuid NOT NULL,
    trigger_pattern      text NOT NULL,
    reason               text NOT NULL,
    severity             text NOT NULL DEFAULT 'warn',
    escalation_threshold integer NOT NULL DEFAULT 5,
    activation_count     integer NOT NULL DEFAULT 0,
    counted_from         integer NOT NULL DEFAULT 0,
    false_positive_count integer NOT NULL DEFAULT 0,
    last_activated       timestamptz,
    relaxed_at           timestamptz,
    relaxed_reason       text,
    created_at           timestamptz NOT NULL,
    CONSTRAINT pk_censors PRIMARY KEY (agent_id, censor_id),
    CONSTRAINT ck_censors_severity CHECK (severity IN ('warn', 'block', 'absolute')),
    CONSTRAINT ck_censors_threshold CHECK (escalation_threshold >= 1)
)""",
    """
CREATE TABLE bus.receipts (
    worker      text NOT NULL,
    agent_id    text NOT NULL,
    event_id    text NOT NULL,
    seq         bigint NOT NULL,
    stream      text NOT NULL,
    entry_id    text NOT NULL,
    ending      text NOT NULL,
    outcome     text NOT NULL,
    reason      text,
    about       uuid,
    evidence    jsonb NOT NULL DEFAULT '{}',
    derived     text[] NOT NULL DEFAULT '{}',
    occurred_at timestamptz,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT pk_receipts PRIMARY KEY (agent_id, event_id, worker),
    CONSTRAINT ck_receipts_ending CHECK (ending IN ('done', 'skip', 'parked'))
)""",
    "CREATE UNIQUE INDEX uq_receipts_seq ON bus.receipts (agent_id, seq)",
    "CREATE INDEX ix_receipts_about ON bus.receipts (agent_id, about) WHERE about IS NOT NULL",
    "CREATE INDEX ix_receipts_parked ON bus.receipts (worker) WHERE ending = 'parked'",
    """
CREATE TABLE bus.retries (
    worker   text NOT NULL,
    agent_id text NOT NULL,
    event_id text NOT NULL,
    stream   text NOT NULL,
    entry_id text NOT NULL,
    body     bytea NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    due_at   timestamptz NOT NULL,
    reason   text NOT NULL,
    since    timestamptz NOT NULL,
    CONSTRAINT pk_retries PRIMARY KEY (worker, agent_id, event_id)
)""",
    "CREATE INDEX ix_retries_due ON bus.retries (worker, due_at)",
    """
CREATE TABLE bus.outbox (
    agent_id     text NOT NULL,
    event_id     text NOT NULL,
    stream       text NOT NULL,
    body         bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    published_at timestamptz,
    CONSTRAINT pk_outbox PRIMARY KEY (agent_id, stream, event_id)
)""",
    "CREATE INDEX ix_outbox_unpublished ON bus.outbox (created_at) WHERE published_at IS NULL",
    "CREATE INDEX ix_outbox_published ON bus.outbox (published_at) WHERE published_at IS NOT NULL",
]

GUARDED = ["heart.facts", "heart.fact_mentions", "heart.censors", "bus.receipts"]


def upgrade() -> None:
    """Apply."""
    op.execute(ROLES)
    op.execute("CREATE SCHEMA IF NOT EXISTS heart")
    op.execute("GRANT USAGE ON SCHEMA heart, bus TO nous_worker, nous_operator")
    op.execute(
        """
CREATE FUNCTION heart.admitted() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('nous.agents', true), '')::text[]"""
    )
    for table in TABLES:
        op.execute(table)
    for table in GUARDED:
        _guard(table)
    for table in [*GUARDED, "heart.embedders", "bus.retries", "bus.outbox"]:
        op.execute(f"GRANT SELECT ON {table} TO nous_operator")
        op.execute(f"GRANT SELECT, INSERT, UPDATE ON {table} TO nous_worker")
    op.execute("REVOKE INSERT, UPDATE ON heart.embedders FROM nous_worker")
    op.execute("GRANT DELETE ON bus.retries, bus.outbox TO nous_worker")


def downgrade() -> None:
    """Undo. The roles stay: other databases of the same server may use them."""
    op.execute("DROP SCHEMA heart CASCADE")
    for table in ("bus.receipts", "bus.retries", "bus.outbox"):
        op.execute(f"DROP TABLE {table}")


def _guard(table: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY admitted ON {table} TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute(f"CREATE POLICY overview ON {table} FOR SELECT TO nous_operator USING (true)")
