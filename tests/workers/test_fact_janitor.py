"""What is old and was never found counts for less, and later is put aside; whatever says otherwise lets it be, and nothing is lost.

Two failures of comparable systems are here: deletion by decay that removes what a user said, and being found taken for being of use.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from events import FactPinned, FactReinstated, FactUnpinned, FactUnsettled, FactUnused, MaintenanceDue
from nous import clock, people
from nous.errors import UserMistake
from nous.settings import Settings
from recall.ranking import Weights, rank
from store import facts, unused, upkeep_runs, usage, vectors
from store.facts import Fact
from store.search import Found, search
from tests.factories import NOON, a_fact, a_fact_learned, a_memory_recalled, a_memory_referenced, a_vector
from tests.workers.conftest import Bench, Memory, ScriptedMind
from workers.runtime.worker import Kit
from workers.upkeep import Due, tasks
from workers.upkeep.facts import rules

AGENT = "agent-1"
LATER = datetime(2029, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
DEMOTE, ARCHIVE = Settings(janitor="demote"), Settings(janitor="archive")


@pytest.fixture
def kit(kit: Kit) -> Kit:
    return replace(kit, settings=kit.settings.model_copy(update={"janitor": "archive"}))


@pytest.fixture
def janitor(bench: Callable[[str], Bench]) -> Bench:
    return bench("fact_janitor")


def old(**over: Any) -> Fact:
    return a_fact(**{"agent_id": AGENT, "confidence": 0.8} | over)


async def keep(bench: Bench, *rows: Fact) -> None:
    async with bench.kit.database.write({row.agent_id for row in rows}) as db:
        await facts.insert(db, sorted(rows, key=lambda one: one.merged_into is not None))


async def now(bench: Bench, fact: Fact) -> Fact:
    async with bench.kit.database.read([fact.agent_id]) as db:
        return (await facts.by_key(db, [fact.key]))[fact.key]


def cause(at: datetime = LATER, **over: Any) -> MaintenanceDue:
    return MaintenanceDue(**{"event_id": f"due-{at}", "agent_id": AGENT, "occurred_at": at, "task": "facts", "period": "p"} | over)


async def due(bench: Bench, settings: Settings = DEMOTE, *, at: datetime = LATER, limit: int = 50, **over: Any) -> Sequence[Due]:
    async with bench.kit.database.read([AGENT]) as db:
        return await tasks()["facts"].due(db, cause(at, **over), settings, limit)


async def due_ids(bench: Bench, settings: Settings = DEMOTE, **over: Any) -> list[Any]:
    return [one.memory_id for one in await due(bench, settings, **over)]


def unused_fact(fact: Fact, step: str = "demote", at: datetime = LATER) -> FactUnused:
    return FactUnused.following(cause(at), of=f"{step} {fact.fact_id}", fact_id=fact.fact_id, step=step)


async def work(janitor: Bench, *events: FactUnused) -> None:
    """Work these when they are told; nothing is from later than now."""
    with clock.held(max(event.occurred_at for event in events)):
        await janitor.work(*events)


async def demoted(janitor: Bench, fact: Fact, at: datetime = LATER) -> Fact:
    await work(janitor, unused_fact(fact, at=at))
    found = await now(janitor, fact)
    assert found.demoted_at == at
    return found


async def archived(janitor: Bench, fact: Fact, at: datetime = LATER) -> Fact:
    await demoted(janitor, fact, at)
    await work(janitor, unused_fact(fact, "archive", at + 181 * DAY))
    found = await now(janitor, fact)
    assert found.archived_at == at + 181 * DAY
    return found


async def decide(bench: Bench, kind: Any, fact: Fact, **over: Any) -> people.Decided:
    told = kind.model_validate(
        {"event_id": f"decided-{kind.stream}-{over}", "agent_id": AGENT, "occurred_at": LATER, "fact_id": fact.fact_id, "reason": "so"}
        | over
    )
    async with bench.kit.database.write([AGENT]) as db:
        return await people.decide(db, told, table=bench.kit.registered.table)


# ── what is due ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_provenance_has_its_age_and_what_a_user_stated_is_never_due_unless_that_is_enabled(janitor: Bench) -> None:
    mine = {name: old(provenance=name) for name in ("assistant_derived", "episode_summary", "user_stated")}
    await keep(janitor, *mine.values())
    async with janitor.kit.database.read([AGENT]) as db:
        since = await upkeep_runs.counted_since(db)
    enabled = DEMOTE.model_copy(update={"janitor_user_stated": True})
    for settings, days, names in (
        (DEMOTE, 89, []),
        (DEMOTE, 91, ["assistant_derived"]),
        (DEMOTE, 181, ["assistant_derived", "episode_summary"]),
        (DEMOTE, 4_000, ["assistant_derived", "episode_summary"]),
        (enabled, 364, ["assistant_derived", "episode_summary"]),
        (enabled, 366, ["assistant_derived", "episode_summary", "user_stated"]),
    ):
        assert set(await due_ids(janitor, settings, at=since + days * DAY)) == {mine[name].fact_id for name in names}, (settings, days)


async def test_the_time_before_finding_was_counted_makes_nothing_old(janitor: Bench) -> None:
    await keep(janitor, old(claimed_at=NOON - 5_000 * DAY, created_at=NOON - 5_000 * DAY))
    async with janitor.kit.database.read([AGENT]) as db:
        since = await upkeep_runs.counted_since(db)
    assert await due_ids(janitor, at=since + 89 * DAY) == []
    assert len(await due_ids(janitor, at=since + 91 * DAY)) == 1


async def test_what_was_found_drawn_on_pinned_retired_or_is_young_is_not_due_nor_is_that_of_its_parts(janitor: Bench) -> None:
    fine, whole, held = old(), old(), old()
    found, drawn_on, pinned, young = old(), old(), old(pinned_at=NOON), old(claimed_at=LATER - 5 * DAY)
    late, gone, back = old(created_at=LATER - 5 * DAY), old(active=False, valid_to=NOON), old(reinstated_at=LATER - 5 * DAY)
    part, pinned_part = (old(merged_into=of.fact_id, active=False, pinned_at=at) for of, at in ((whole, None), (held, NOON)))
    await keep(janitor, fine, whole, held, found, drawn_on, pinned, young, late, gone, back, part, pinned_part)
    async with janitor.kit.database.write([AGENT]) as db:
        await usage.put(
            db,
            [
                usage.Usage(AGENT, "fact", found.fact_id, retrieved=1),
                usage.Usage(AGENT, "fact", drawn_on.fact_id, referenced=1),
                usage.Usage(AGENT, "fact", part.fact_id, retrieved=1),
                usage.Usage(AGENT, "episode", fine.fact_id, retrieved=1),
            ],
        )
    assert await due_ids(janitor) == [fine.fact_id]


async def test_pages_go_on_behind_the_last_and_miss_and_repeat_nothing(janitor: Bench) -> None:
    mine = [old() for _ in range(7)]
    await keep(janitor, *mine, old(agent_id="agent-2"))
    seen: list[Any] = []
    while page := await due_ids(janitor, limit=3, after=seen[-1] if seen else None):
        seen += page
    assert seen == sorted(one.fact_id for one in mine)


async def test_an_agent_with_something_due_is_found_among_all_of_them(janitor: Bench) -> None:
    await keep(janitor, old(agent_id="due"), old(agent_id="due"), old(agent_id="young", claimed_at=LATER), old(agent_id="due-too"))
    async with janitor.kit.database.overview() as db:
        assert {"due", "due-too"} <= set(whose := await tasks()["facts"].agents(db, LATER, DEMOTE))
        assert "young" not in whose
        ruled = await rules(db, DEMOTE, LATER)
        assert whose == sorted(await unused.agents(db, ruled.wanted()))


async def test_a_dry_run_says_what_would_be_done_and_why_and_it_is_the_default(janitor: Bench) -> None:
    await keep(janitor, old(claimed_at=LATER - 120 * DAY))
    (one,) = await due(janitor)
    assert one.would == "demoted: its confidence of 0.8 counts for 0.4, and who vouches one notch less"
    since = f"for 120 days, since {LATER - 120 * DAY:%Y-%m-%d} (the limit is 90 days)"
    assert one.why == f"an assistant derived it, it was not heard {since}, and never found for a question"
    assert [tasks()["facts"].is_dry(settings) for settings in (Settings(), DEMOTE, ARCHIVE)] == [True, False, False]


async def test_what_was_demoted_is_archived_after_a_further_while_and_only_where_that_is_allowed(janitor: Bench) -> None:
    fact = old()
    await keep(janitor, fact)
    await demoted(janitor, fact)
    assert await due_ids(janitor, ARCHIVE, at=LATER + 179 * DAY) == []
    assert await due_ids(janitor, DEMOTE, at=LATER + 181 * DAY) == []
    (one,) = await due(janitor, ARCHIVE, at=LATER + 181 * DAY)
    assert one.event.step == "archive"  # type: ignore[attr-defined]
    assert one.why == f"it was demoted 181 days ago, on {LATER:%Y-%m-%d}, and not heard or found since (the limit is 180 days)"
    later_limit = ARCHIVE.model_copy(update={"janitor_assistant_derived_days": 9_000.0})
    assert await due_ids(janitor, later_limit, at=LATER + 181 * DAY) == [fact.fact_id]


# ── what is done ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_demoted_keeps_what_was_claimed_of_it_and_its_receipt_tells_before_and_after(janitor: Bench) -> None:
    fact = old(provenance="episode_summary")
    await keep(janitor, fact)
    after = await demoted(janitor, fact)
    assert (after.provenance, after.confidence, after.active, after.demoted_to) == ("episode_summary", 0.8, True, 0.7)
    (receipt,) = await janitor.receipts()
    assert (receipt.outcome, receipt.about) == ("demoted", fact.fact_id)
    (change,) = receipt.evidence["changed"]
    assert (change["was"]["demoted_to"], change["now"]["demoted_to"]) == (None, 0.7)


async def test_done_again_nothing_more_is_done(janitor: Bench) -> None:
    fact = old()
    await keep(janitor, fact)
    after = await demoted(janitor, fact)
    await work(janitor, unused_fact(fact), unused_fact(fact, at=LATER + 7 * DAY))
    assert await now(janitor, fact) == after
    assert await janitor.outcomes() == ["demoted", "skipped"]


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        ({"pinned_at": NOON}, "a person pinned it"),
        ({"claimed_at": LATER - DAY}, "its age counts from 2028-12-31, and it is not 90 days old"),
        ({"active": False, "valid_to": NOON, "superseded_by": "other"}, "is said instead since"),
        ({"active": False, "merged_into": "other"}, "it became part of"),
        ({"provenance": "user_stated"}, "the user stated it, and such facts are let be"),
    ],
)
async def test_what_changed_meanwhile_lets_it_be_and_the_receipt_says_why(janitor: Bench, meanwhile: dict[str, Any], why: str) -> None:
    other = old()
    fact = old(**{name: other.fact_id if value == "other" else value for name, value in meanwhile.items()})
    await keep(janitor, other)
    await keep(janitor, fact)
    await work(janitor, unused_fact(fact))
    assert await now(janitor, fact) == fact
    (receipt,) = await janitor.receipts()
    assert why in (receipt.reason or "")


async def test_what_was_forgotten_is_let_be(janitor: Bench) -> None:
    fact = replace(old(), content="", content_hash=b"", subject=None, active=False, forgotten_at=NOON)
    await keep(janitor, fact)
    await work(janitor, unused_fact(fact))
    assert [one.reason for one in await janitor.receipts()] == ["it was forgotten since"]


async def test_what_was_found_since_it_was_planned_is_let_be(janitor: Bench, bench: Callable[[str], Bench]) -> None:
    fact = old()
    await keep(janitor, fact)
    await bench("recall_counter").work(a_memory_recalled(agent_id=AGENT, memories=[{"kind": "fact", "id": fact.fact_id}]))
    await work(janitor, unused_fact(fact))
    assert await now(janitor, fact) == fact


async def test_where_the_janitor_only_looks_nothing_is_done(janitor: Bench) -> None:
    fact = old()
    await keep(janitor, fact)
    janitor.life.kit = replace(janitor.kit, settings=Settings())
    await work(janitor, unused_fact(fact))
    assert await now(janitor, fact) == fact


# ── it ends when the fact is heard again, or found ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("hours", [0, -1_000], ids=["said now", "said long ago and heard now"])
async def test_what_was_archived_and_is_heard_again_comes_back_as_the_fact_it_was(janitor: Bench, memory: Memory, hours: int) -> None:
    said = a_fact_learned(agent_id=AGENT, content="Maria keeps bees.")
    await memory.learn(said)
    (fact,) = await memory.facts()
    await archived(janitor, fact)
    again = a_fact_learned(agent_id=AGENT, content="Maria keeps bees.", occurred_at=NOON + timedelta(hours=hours))
    await memory.learn(again)
    (back,) = await memory.facts()
    assert (back.fact_id, back.active, back.archived_at, back.demoted_at, back.confirmation_count) == (fact.fact_id, True, None, None, 1)
    assert back.reinstated_at is not None
    receipt = (await memory.benches["deduplicator"].receipts())[-1]
    assert (receipt.outcome, receipt.reason) == ("confirmed", "the same words; heard again, it is no longer archived")


async def test_said_in_other_words_that_a_mind_calls_the_same_it_comes_back_too(janitor: Bench, memory: Memory, mind: ScriptedMind) -> None:
    mind.says("Maria keeps bees.", "same", "Maria is a beekeeper.")
    await memory.learn(a_fact_learned(agent_id=AGENT, content="Maria keeps bees."))
    (fact,) = await memory.facts()
    await archived(janitor, fact)
    await memory.learn(a_fact_learned(agent_id=AGENT, content="Maria is a beekeeper.", occurred_at=NOON + 2 * DAY))
    by_words = {one.content: one for one in await memory.facts()}
    back, other = by_words["Maria keeps bees."], by_words["Maria is a beekeeper."]
    assert (back.active, back.archived_at, back.demoted_to) == (True, None, None)
    assert (other.active, other.merged_into) == (False, fact.fact_id)


async def test_what_is_said_against_an_archived_fact_retires_it_for_good(janitor: Bench, memory: Memory, mind: ScriptedMind) -> None:
    mind.says("Maria lives in Oslo.", "updates", "Maria lives in Rome.")
    await memory.learn(a_fact_learned(agent_id=AGENT, content="Maria lives in Oslo."))
    (fact,) = await memory.facts()
    await archived(janitor, fact)
    await memory.learn(a_fact_learned(agent_id=AGENT, content="Maria lives in Rome.", occurred_at=NOON + 2 * DAY))
    gone = await now(janitor, fact)
    assert (gone.active, gone.archived_at) == (False, None)
    assert gone.superseded_by is not None


async def test_a_check_of_others_leaves_an_archived_and_a_demoted_fact_as_they_are(
    janitor: Bench, memory: Memory, mind: ScriptedMind
) -> None:
    mind.says("Maria keeps bees.", "same", "Maria is a beekeeper.")
    await memory.learn(
        a_fact_learned(agent_id=AGENT, content="Maria keeps bees."),
        a_fact_learned(agent_id=AGENT, content="Maria is a beekeeper.", occurred_at=NOON + DAY),
        one_by_one=True,
    )
    whole = next(one for one in await memory.facts() if one.active)
    put_aside = await archived(janitor, whole)
    await memory.benches["supersession_rechecker"].work(FactUnsettled.following(cause(), of="again", fact_id=whole.fact_id, why="freed"))
    assert await now(janitor, whole) == put_aside


async def test_what_was_demoted_and_is_found_counts_in_full_again_and_the_recall_says_so(
    janitor: Bench, bench: Callable[[str], Bench]
) -> None:
    found, drawn_on, left = old(), old(), old()
    await keep(janitor, found, drawn_on, left)
    for one in (found, drawn_on, left):
        await demoted(janitor, one)
    counter, references = bench("recall_counter"), bench("reference_counter")
    await counter.work(a_memory_recalled(agent_id=AGENT, memories=[{"kind": "fact", "id": found.fact_id}]))
    await references.work(
        a_memory_referenced(agent_id=AGENT, memories=({"kind": "fact", "id": drawn_on.fact_id, "how": "overlap", "overlap": 0.4},))
    )
    assert [(await now(janitor, one)).demoted_to for one in (found, drawn_on, left)] == [None, None, 0.5]
    (change,) = (await counter.receipts())[0].evidence["changed"]
    assert (change["fact_id"], change["now"]["demoted_to"]) == (str(found.fact_id), None)


async def test_being_found_is_no_use_it_pins_nothing_and_ranks_nothing_higher(janitor: Bench, bench: Callable[[str], Bench]) -> None:
    """Retrieval counted as usefulness pins stale facts, elsewhere; here it only ends the doubt that nobody ever asks for it."""
    fact = old()
    await keep(janitor, fact)
    counter = bench("recall_counter")
    for number in range(50):
        await counter.work(
            a_memory_recalled(
                agent_id=AGENT, event_id=f"recall-{number}", memories=[{"kind": "fact", "id": fact.fact_id, "injected": True}]
            )
        )
    async with janitor.kit.database.read([AGENT]) as db:
        worth = await usage.worth(db, AGENT, [("fact", fact.fact_id)], LATER)
    assert worth.boosts["fact", fact.fact_id] == 1.0
    found = await now(janitor, fact)
    assert (found.pinned_at, found.confidence, found.confirmation_count) == (None, fact.confidence, 0)


# ── recall ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def found_of(bench: Bench, *, as_of: datetime | None = None) -> list[Found]:
    async with bench.kit.database.read([AGENT]) as db:
        return await search(db, AGENT, ["fact"], vector=a_vector(1), embedder=bench.kit.registered, terms=(), as_of=as_of)


async def test_a_demoted_fact_is_behind_one_as_near_that_is_not_and_says_by_what(janitor: Bench) -> None:
    plain, less = old(), old()
    await keep(janitor, plain, less)
    async with janitor.kit.database.write([AGENT]) as db:
        await vectors.insert(db, janitor.kit.registered.table, [(AGENT, one.fact_id, a_vector(1)) for one in (plain, less)])
    await demoted(janitor, less)
    ranked = rank(await found_of(janitor), weights=Weights(), recency=0.0, boosts={}, now=LATER)
    assert [one.found.memory_id for one in ranked] == [plain.fact_id, less.fact_id]
    first, second = ranked
    assert (first.found.confidence, second.found.confidence) == (0.8, 0.8)
    assert (first.factors["confidence"], second.factors["confidence"]) == (pytest.approx(0.98), pytest.approx(0.94))
    assert (first.factors.get("demoted"), second.factors["demoted"], second.found.demoted_to) == (None, 0.95, 0.5)


async def test_an_archived_fact_is_not_found_but_for_a_time_when_it_was_not_archived_yet(janitor: Bench) -> None:
    fact = old()
    await keep(janitor, fact)
    async with janitor.kit.database.write([AGENT]) as db:
        await vectors.insert(db, janitor.kit.registered.table, [(AGENT, fact.fact_id, a_vector(1))])
    put_aside = await archived(janitor, fact)
    assert put_aside.archived_at
    assert await found_of(janitor) == []
    assert await found_of(janitor, as_of=put_aside.archived_at + DAY) == []
    assert [one.memory_id for one in await found_of(janitor, as_of=put_aside.archived_at - DAY)] == [fact.fact_id]


# ── people ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("put", [demoted, archived])
async def test_every_step_is_undone_to_the_letter_and_not_done_again_before_it_is_old_again(
    janitor: Bench, put: Callable[..., Any]
) -> None:
    fact = old()
    await keep(janitor, fact)
    touched = await put(janitor, fact)
    at = LATER + 400 * DAY
    decided = await decide(janitor, FactReinstated, fact, occurred_at=at)
    back = await now(janitor, fact)
    kept = ("reinstated_at", "recorded_at", "recorded_by")
    assert {name: value for name, value in vars(back).items() if name not in kept} == {
        name: value for name, value in vars(fact).items() if name not in kept
    }
    assert [one.stream for one in decided.follows] == (["fact_unsettled"] if touched.archived_at else [])
    assert await due_ids(janitor, at=at + 89 * DAY) == []
    assert await due_ids(janitor, at=at + 91 * DAY) == [fact.fact_id]
    with pytest.raises(UserMistake, match="neither demoted nor archived"):
        await decide(janitor, FactReinstated, fact, event_id="again")


async def test_what_was_pinned_is_let_be_until_it_is_unpinned_also_as_a_part_of_another(janitor: Bench) -> None:
    fact = old()
    part = old(merged_into=fact.fact_id, active=False, pinned_at=NOON)
    await keep(janitor, fact, part)
    assert await due_ids(janitor) == []
    with pytest.raises(UserMistake, match="pinned already"):
        await decide(janitor, FactPinned, fact)
    await decide(janitor, FactUnpinned, fact)
    assert (await now(janitor, part)).pinned_at is None
    assert await due_ids(janitor) == [fact.fact_id]
    await decide(janitor, FactPinned, fact, event_id="pinned")
    assert (await now(janitor, fact)).pinned_at == LATER
    assert await due_ids(janitor) == []


async def test_what_is_not_active_cannot_be_pinned_and_what_to_do_is_said(janitor: Bench) -> None:
    other, fact = old(), old()
    part = old(merged_into=other.fact_id, active=False)
    await keep(janitor, other, fact, part)
    await archived(janitor, fact)
    for one, why in ((part, f"part of {other.fact_id}; pin that one"), (fact, "is archived; first: nous fact restore")):
        with pytest.raises(UserMistake, match=why):
            await decide(janitor, FactPinned, one)
