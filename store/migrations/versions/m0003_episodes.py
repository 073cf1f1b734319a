"""What an agent lived through and what it decided: sessions with their turns, episodes, decisions, procedures.

    heart.sessions         conversations as they are reported: how many turns, who said how much, which episode
    heart.turns            every utterance, word for word, with its speaker and time
    heart.episodes         conversations worth remembering: opened by a turn, closed, summarised; what is put aside is inactive, never gone
    heart.episode_vectors  vectors of an episode's first words and of its summary, by embedder: there are few, and each agent's are scanned
    heart.episode_decisions  which decisions belong to an episode, and how that is known
    heart.procedures       how something is done, and how often it worked
    brain.decisions        choices between alternatives, with their reasons and what came of them
    bus.writings           every question put to a mind that writes, with its answer and its cost

`brief` is one line for recall, written with the row; of a fact it is the fact itself.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = [
    """
CREATE TABLE heart.sessions (
    agent_id             text NOT NULL,
    session_key          uuid NOT NULL,
    session_id           text NOT NULL,
    started_at           timestamptz NOT NULL,
    last_at              timestamptz NOT NULL,
    heard_at             timestamptz NOT NULL,
    ended_at             timestamptz,
    ending               text,
    turn_count           integer NOT NULL DEFAULT 0,
    user_characters      integer NOT NULL DEFAULT 0,
    assistant_characters integer NOT NULL DEFAULT 0,
    tools                text[] NOT NULL DEFAULT '{}',
    asked_to_remember    boolean NOT NULL DEFAULT false,
    frame_used           text,
    episode_id           uuid,
    not_opened           text,
    CONSTRAINT pk_sessions PRIMARY KEY (agent_id, session_key),
    CONSTRAINT ck_sessions_ending CHECK (ending IN ('ended', 'abandoned') AND ended_at IS NOT NULL OR ending IS NULL AND ended_at IS NULL)
)""",
    "CREATE UNIQUE INDEX uq_sessions_open ON heart.sessions (agent_id, session_id) WHERE ended_at IS NULL",
    "CREATE INDEX ix_sessions_id ON heart.sessions (agent_id, session_id)",
    "CREATE INDEX ix_sessions_silent ON heart.sessions (heard_at) WHERE ended_at IS NULL",
    """
CREATE TABLE heart.turns (
    agent_id    text NOT NULL,
    session_key uuid NOT NULL,
    position    integer NOT NULL,
    speaker     text NOT NULL,
    content     text NOT NULL,
    said_at     timestamptz NOT NULL,
    turn_id     text,
    CONSTRAINT pk_turns PRIMARY KEY (agent_id, session_key, position),
    CONSTRAINT fk_turns_session FOREIGN KEY (agent_id, session_key) REFERENCES heart.sessions (agent_id, session_key)
)""",
    "CREATE UNIQUE INDEX uq_turns_turn_id ON heart.turns (agent_id, session_key, turn_id, speaker) WHERE turn_id IS NOT NULL",
    """
CREATE TABLE heart.episodes (
    agent_id        text NOT NULL,
    episode_id      uuid NOT NULL,
    session_key     uuid,
    title           text,
    summary         text,
    written_by      text,
    model           text,
    detail          text,
    outcome         text,
    lessons_learned text[] NOT NULL DEFAULT '{}',
    frame_used      text,
    trigger         text NOT NULL,
    opening         text,
    started_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    active          boolean NOT NULL DEFAULT true,
    put_aside       text,
    turn_count      integer,
    tool_count      integer,
    brief           text NOT NULL DEFAULT '',
    settled_by      text,
    created_at      timestamptz NOT NULL,
    recorded_at     timestamptz NOT NULL,
    recorded_by     text NOT NULL,
    CONSTRAINT pk_episodes PRIMARY KEY (agent_id, episode_id),
    CONSTRAINT ck_episodes_put_aside CHECK (active = (put_aside IS NULL)),
    CONSTRAINT ck_episodes_written CHECK (
        (summary IS NULL) = (written_by IS NULL) AND (written_by IS NULL OR written_by IN ('producer', 'mind', 'extract')))
)""",
    "CREATE INDEX ix_episodes_started ON heart.episodes (agent_id, started_at) WHERE active",
    "CREATE INDEX ix_episodes_unread ON heart.episodes (agent_id) WHERE settled_by IS NOT NULL AND model IS NULL",
    """
CREATE TABLE heart.episode_vectors (
    agent_id   text NOT NULL,
    episode_id uuid NOT NULL,
    part       text NOT NULL,
    embedder   text NOT NULL,
    vector     halfvec NOT NULL,
    CONSTRAINT pk_episode_vectors PRIMARY KEY (agent_id, episode_id, part, embedder),
    CONSTRAINT fk_episode_vectors_episode FOREIGN KEY (agent_id, episode_id) REFERENCES heart.episodes (agent_id, episode_id),
    CONSTRAINT ck_episode_vectors_part CHECK (part IN ('opening', 'summary'))
)""",
    """
CREATE TABLE brain.decisions (
    agent_id     text NOT NULL,
    decision_id  uuid NOT NULL,
    description  text NOT NULL,
    context      text,
    reasons      text[] NOT NULL DEFAULT '{}',
    alternatives text[] NOT NULL DEFAULT '{}',
    confidence   double precision NOT NULL,
    category     text,
    stakes       text,
    outcome      text NOT NULL DEFAULT 'pending',
    outcome_note text,
    pattern      text,
    session_id   text,
    noise        text,
    brief        text NOT NULL,
    decided_at   timestamptz NOT NULL,
    reviewed_at  timestamptz,
    reviewed_by  text,
    created_at   timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,
    recorded_by  text NOT NULL,
    CONSTRAINT pk_decisions PRIMARY KEY (agent_id, decision_id)
)""",
    "CREATE INDEX ix_decisions_decided ON brain.decisions (agent_id, decided_at)",
    """
CREATE TABLE heart.episode_decisions (
    agent_id    text NOT NULL,
    episode_id  uuid NOT NULL,
    decision_id uuid NOT NULL,
    how         text NOT NULL,
    CONSTRAINT pk_episode_decisions PRIMARY KEY (agent_id, episode_id, decision_id),
    CONSTRAINT fk_episode_decisions_episode FOREIGN KEY (agent_id, episode_id) REFERENCES heart.episodes (agent_id, episode_id),
    CONSTRAINT ck_episode_decisions_how CHECK (how IN ('named', 'session', 'time', 'mind'))
)""",
    """
CREATE TABLE heart.procedures (
    agent_id             text NOT NULL,
    procedure_id         uuid NOT NULL,
    name                 text NOT NULL,
    goals                text[] NOT NULL DEFAULT '{}',
    core_patterns        text[] NOT NULL DEFAULT '{}',
    implementation_notes text[] NOT NULL DEFAULT '{}',
    activation_count     integer NOT NULL DEFAULT 0,
    success_count        integer NOT NULL DEFAULT 0,
    failure_count        integer NOT NULL DEFAULT 0,
    last_activated       timestamptz,
    active               boolean NOT NULL DEFAULT true,
    brief                text NOT NULL,
    learned_at           timestamptz NOT NULL,
    learned_by           text NOT NULL,
    goals_at             timestamptz,
    goals_by             text,
    core_patterns_at     timestamptz,
    core_patterns_by     text,
    created_at           timestamptz NOT NULL,
    recorded_at          timestamptz NOT NULL,
    recorded_by          text NOT NULL,
    CONSTRAINT pk_procedures PRIMARY KEY (agent_id, procedure_id)
)""",
    """
CREATE TABLE bus.writings (
    agent_id     text NOT NULL,
    question_key bytea NOT NULL,
    prompt       text NOT NULL,
    model        text NOT NULL,
    worker       text NOT NULL,
    about        text NOT NULL,
    answer       jsonb,
    tokens_in    integer NOT NULL DEFAULT 0,
    tokens_out   integer NOT NULL DEFAULT 0,
    cost         numeric(12, 6) NOT NULL DEFAULT 0,
    milliseconds integer NOT NULL DEFAULT 0,
    asked        integer NOT NULL DEFAULT 1,
    asked_at     timestamptz NOT NULL,
    asking_until timestamptz,
    answered_at  timestamptz,
    CONSTRAINT pk_writings PRIMARY KEY (agent_id, question_key, prompt, model),
    CONSTRAINT ck_writings_answered CHECK ((answer IS NULL) = (answered_at IS NULL))
)""",
    """
ALTER TABLE heart.censors ADD COLUMN brief text
    GENERATED ALWAYS AS (upper(severity) || ': ' || trigger_pattern || ' — ' || reason) STORED""",
]

GUARDED = [
    "heart.sessions",
    "heart.turns",
    "heart.episodes",
    "heart.episode_vectors",
    "heart.episode_decisions",
    "heart.procedures",
    "brain.decisions",
    "bus.writings",
]


def upgrade() -> None:
    """Apply."""
    op.execute("CREATE SCHEMA IF NOT EXISTS brain")
    op.execute("GRANT USAGE ON SCHEMA brain TO nous_worker, nous_operator")
    for table in TABLES:
        op.execute(table)
    for table in GUARDED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY admitted ON {table} TO nous_worker"
            " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
            " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        )
        op.execute(f"CREATE POLICY overview ON {table} FOR SELECT TO nous_operator USING (true)")
        op.execute(f"GRANT SELECT ON {table} TO nous_operator")
        op.execute(f"GRANT SELECT, INSERT, UPDATE ON {table} TO nous_worker")


def downgrade() -> None:
    """Undo."""
    op.execute("ALTER TABLE heart.censors DROP COLUMN brief")
    for table in ("heart.episode_decisions", "heart.episode_vectors", "heart.turns"):
        op.execute(f"DROP TABLE {table}")
    for table in ("heart.sessions", "heart.episodes", "heart.procedures", "bus.writings"):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP SCHEMA brain CASCADE")
