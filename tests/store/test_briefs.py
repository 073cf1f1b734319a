"""The line by which recall shows a memory has the form the spec shows (003, tier 1)."""

import pytest
from sqlalchemy import text

from store import briefs, censors
from store.briefs import PART_CHARACTERS
from store.database import Database
from tests.factories import a_censor

CHOSE = "Chose Postgres + pgvector for unified storage"


def test_a_decision_with_outcome_confidence_and_pattern() -> None:
    told = briefs.decision(CHOSE, outcome="success", confidence=0.85, pattern="Unify to reduce surface area")
    assert told == f"{CHOSE} [success] [85% confidence] — Pattern: Unify to reduce surface area"


@pytest.mark.parametrize("pattern", [None, "", " \n"])
def test_a_pending_decision_says_no_outcome_and_no_pattern_that_is_not_there(pattern: str | None) -> None:
    assert briefs.decision(CHOSE, outcome="pending", confidence=0.5, pattern=pattern) == f"{CHOSE} [50% confidence]"


def test_a_procedure_shows_its_first_three_patterns_and_from_five_uses_on_how_well_it_works() -> None:
    patterns = ["Query past decisions", "Evaluate 2+ alternatives", "Record with confidence", "Review after a month"]
    said = "Architecture Decision: Query past decisions; Evaluate 2+ alternatives; Record with confidence"
    assert briefs.procedure("Architecture Decision", patterns, activations=5, effectiveness=0.92) == f"{said} [92% effective]"
    assert briefs.procedure("Architecture Decision", patterns, activations=4, effectiveness=1.0) == said
    assert briefs.procedure("Architecture Decision", patterns, activations=9, effectiveness=None) == said, (
        "used, and nobody said how it went"
    )


def test_what_a_procedure_does_not_say_leaves_no_sign_behind() -> None:
    assert briefs.procedure("Release", []) == "Release"
    assert briefs.procedure("", ["tag", " ", "push"]) == "tag; push"


def test_an_episode_is_its_summary_or_else_its_title() -> None:
    assert briefs.episode(title="Storage", summary="Tim chose Postgres.\nIt was easy.") == "Tim chose Postgres. It was easy."
    assert briefs.episode("Storage", None) == "Storage"
    assert briefs.episode("Storage", " ") == "Storage"
    assert briefs.episode(None, None) == ""


def test_a_fact_is_its_own_summary() -> None:
    assert briefs.fact("PostgreSQL pgvector uses ivfflat for ANN indexing") == "PostgreSQL pgvector uses ivfflat for ANN indexing"


def test_a_long_part_is_cut_between_words_and_what_follows_it_stays() -> None:
    told = briefs.decision("word " * 2_000, outcome="failure", confidence=1.0)
    assert told.endswith(" word… [failure] [100% confidence]")
    assert len(told) <= PART_CHARACTERS + len(" [failure] [100% confidence]")
    assert len(briefs.episode("字" * 9_000, None)) == PART_CHARACTERS, "no space to cut at"


async def test_a_censors_line_is_word_for_word_what_postgres_generates(database: Database) -> None:
    made = [
        a_censor(severity=severity, trigger_pattern=pattern, reason=reason)
        for severity, pattern, reason in [
            ("block", "Pushing directly to main", "Always use feature branches + PR"),
            ("warn", "Straße\n  ǆ — 'x'", "weil İ  ı"),
            ("absolute", "", ""),
        ]
    ]
    async with database.write([made[0].agent_id]) as db:
        for one in made:
            await censors.insert(db, one)
        rows = {row.censor_id: row.brief for row in await db.execute(text("SELECT censor_id, brief FROM heart.censors"))}
    assert rows == {one.censor_id: briefs.censor(one.severity, one.trigger_pattern, one.reason) for one in made}
    assert rows[made[0].censor_id] == "BLOCK: Pushing directly to main — Always use feature branches + PR"


@pytest.mark.parametrize("outcome", ["pending", "success"])
@pytest.mark.parametrize("pattern", [None, "Unify to reduce [surface] area"])
@pytest.mark.parametrize("said", ["[BUG] Close the login page", "Chose Redis [success]", "Use 80% [confidence]", CHOSE])
def test_what_was_said_is_a_line_without_what_its_template_added(said: str, pattern: str | None, outcome: str) -> None:
    assert briefs.said("decision", briefs.decision(said, outcome=outcome, confidence=0.8, pattern=pattern)) == (
        said if outcome == "success" or not said.endswith("[success]") else "Chose Redis"
    )
    proven = briefs.procedure(said, ["look", "leap"], activations=9, effectiveness=0.92)
    assert briefs.said("procedure", proven) == f"{said}: look; leap"
    assert briefs.said("fact", f"{said} [80% confidence]") == f"{said} [80% confidence]"
