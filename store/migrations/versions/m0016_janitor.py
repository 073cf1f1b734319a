"""What upkeep did to facts and to the notes of procedures, and what a person pinned.

heart.facts           pinned_at: upkeep lets it be. demoted_at, demoted_to: it counts for less, by this factor. archived_at: it is not
                      active, though nothing says otherwise. reinstated_at: its age counts from then. Of none of them a claim knows
heart.fact_versions   the same, as it was recorded when
heart.procedures      promoted_patterns: which of its core patterns came from notes that proved useful
heart.old_notes       the notes of a procedure as they were before they were put together; undone_at, when a person put them back
"""

from alembic import op

from store import keys

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

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
_NEW = ("pinned_at", "demoted_at", "demoted_to", "archived_at", "reinstated_at")


def _versions(kept: tuple[str, ...]) -> list[str]:
    """The functions that write down each state of a fact, with these columns of it."""
    listed = ", ".join(kept)
    now, was = (", ".join(f"{row}.{name}" for name in ("recorded_at", "recorded_by", *kept)) for row in ("n", "o"))
    changed = (
        "written n JOIN before o ON o.agent_id = n.agent_id AND o.fact_id = n.fact_id"  # a row's key never changes
        f" AND ROW({now}) IS DISTINCT FROM ROW({was})"
    )
    return [
        f"""
CREATE OR REPLACE FUNCTION heart.keep_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE heart.fact_versions v SET recorded_to = n.recorded_at FROM written n
        WHERE v.agent_id = n.agent_id AND v.fact_id = n.fact_id AND v.recorded_to IS NULL;
    END IF;
    INSERT INTO heart.fact_versions (agent_id, fact_id, recorded_from, recorded_by, {listed})
    SELECT agent_id, fact_id, recorded_at, recorded_by, {listed} FROM written;
    RETURN NULL;
END $$""",
        f"""
CREATE OR REPLACE FUNCTION heart.keep_later_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE heart.fact_versions v SET recorded_to = n.recorded_at FROM {changed}
    WHERE v.agent_id = n.agent_id AND v.fact_id = n.fact_id AND v.recorded_to IS NULL;
    INSERT INTO heart.fact_versions (agent_id, fact_id, recorded_from, recorded_by, {listed})
    SELECT n.agent_id, n.fact_id, {now} FROM {changed};
    RETURN NULL;
END $$""",
    ]


def upgrade() -> None:
    """Apply."""
    for table in ("heart.facts", "heart.fact_versions"):
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN pinned_at timestamptz, ADD COLUMN demoted_at timestamptz,"
            " ADD COLUMN demoted_to double precision, ADD COLUMN archived_at timestamptz, ADD COLUMN reinstated_at timestamptz"
        )
    op.execute(
        "ALTER TABLE heart.facts"
        " ADD CONSTRAINT ck_facts_demoted CHECK ((demoted_at IS NULL) = (demoted_to IS NULL) AND demoted_to BETWEEN 0 AND 1),"
        " ADD CONSTRAINT ck_facts_archived CHECK"
        " (archived_at IS NULL OR NOT active AND superseded_by IS NULL AND merged_into IS NULL AND forgotten_at IS NULL)"
    )
    op.execute("CREATE INDEX ix_facts_pinned ON heart.facts (agent_id) WHERE pinned_at IS NOT NULL")
    for statement in _versions((*_KEPT, *_NEW)):
        op.execute(statement)
    op.execute("ALTER TABLE heart.procedures ADD COLUMN promoted_patterns text[] NOT NULL DEFAULT '{}'")
    _old_notes()


def _old_notes() -> None:
    op.execute(
        """
CREATE TABLE heart.old_notes (
    agent_id     text NOT NULL,
    procedure_id uuid NOT NULL,
    event_id     text NOT NULL,
    notes        text[] NOT NULL,
    instead      text[] NOT NULL,
    promoted     text[] NOT NULL,
    model        text,
    put_at       timestamptz NOT NULL,
    undone_at    timestamptz,
    CONSTRAINT pk_old_notes PRIMARY KEY (agent_id, procedure_id, event_id)
)"""
    )
    op.execute("ALTER TABLE heart.old_notes ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE heart.old_notes FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY admitted ON heart.old_notes TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute("CREATE POLICY overview ON heart.old_notes FOR SELECT TO nous_operator USING (true)")
    op.execute("GRANT SELECT ON heart.old_notes TO nous_operator")
    op.execute("GRANT SELECT, INSERT, UPDATE ON heart.old_notes TO nous_worker")
    for statement in keys.erasable("heart.old_notes"):
        op.execute(statement)


def downgrade() -> None:
    """Undo. What was archived is active again."""
    op.execute("DROP TABLE heart.old_notes")
    op.execute("ALTER TABLE heart.procedures DROP COLUMN promoted_patterns")
    for statement in _versions(_KEPT):
        op.execute(statement)
    op.execute("ALTER TABLE heart.facts DROP CONSTRAINT ck_facts_archived, DROP CONSTRAINT ck_facts_demoted")
    op.execute("ALTER TABLE heart.facts NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE heart.fact_versions NO FORCE ROW LEVEL SECURITY")
    op.execute("UPDATE heart.facts SET active = true WHERE archived_at IS NOT NULL")
    op.execute("ALTER TABLE heart.facts FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE heart.fact_versions FORCE ROW LEVEL SECURITY")
    for table in ("heart.facts", "heart.fact_versions"):
        op.execute(
            f"ALTER TABLE {table} DROP COLUMN pinned_at, DROP COLUMN demoted_at, DROP COLUMN demoted_to, DROP COLUMN archived_at,"
            " DROP COLUMN reinstated_at"
        )
