"""What a memory's use is worth: what was drawn on, of what was told; it fades, and lack of history is no verdict (spec 001)."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import permutations
from uuid import UUID

import pytest

from recall.overlap import overlap
from recall.ranking import Weights, rank
from store import decisions, episodes, facts, passages, procedures, usage
from store.database import Database
from store.usage import HALF_LIFE, Usage
from tests.factories import NOON, a_decision, a_fact, a_memory_recalled, a_memory_referenced, a_procedure, an_episode
from tests.recall.test_ranking import a_found
from tests.workers.conftest import Bench, bench, embedder, kit, mind  # noqa: F401 - fixtures

AGENT = "agent-7"
MEMORY = UUID(int=1)
HOUR = timedelta(hours=1)


def unused() -> Usage:
    return Usage(AGENT, "fact", MEMORY)


def told(times: int, drawn_on: int, *, at: datetime = NOON, of: facts.Fact | None = None) -> Usage:
    """Told to so many turns and compared with their answers, of which so many drew on it, all at one moment."""
    row = Usage(AGENT, "fact", of.fact_id) if of else unused()
    for turn in range(times):
        row = row.recalled(injected=True).answered(at, drawn_on=turn < drawn_on)
    return row


# ── by the names of the spec ──────────────────────────────────────────────────────────────────────────────────────────────


def test_record_and_score() -> None:
    assert told(1, 1).score(NOON) == 1.0
    assert told(1, 0).score(NOON) == 0.0


def test_decay_over_time() -> None:
    assert told(4, 4).score(NOON + HALF_LIFE) == pytest.approx(2.0)
    assert told(4, 4).score(NOON + 2 * HALF_LIFE) == pytest.approx(1.0)


@pytest.mark.parametrize(("times", "drawn_on", "boost"), [(2, 2, 1.5), (4, 3, 1.25), (2, 1, 1.0)])
def test_boost_factor_referenced(times: int, drawn_on: int, boost: float) -> None:
    assert told(times, drawn_on).boost(NOON) == pytest.approx(boost)


def test_boost_factor_ignored() -> None:
    assert told(2, 0).boost(NOON) == 0.5


async def test_unknown_memory_neutral(database: Database) -> None:
    async with database.read([AGENT]) as db:
        found = await usage.worth(db, AGENT, [("fact", MEMORY), ("decision", MEMORY)], NOON)
    assert found.boosts == {("fact", MEMORY): 1.0, ("decision", MEMORY): 1.0}


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("Maria drinks green tea", "Maria drinks green tea", 1.0),
        ("Maria drinks green tea", "Maria drinks black coffee", 2 / 6),
        ("Maria drinks green tea", "The port is 5432", 0.0),
        ("Maria drinks green tea", "", 0.0),
        ("玛丽亚喝绿茶", "玛丽亚喝绿茶", 1.0),
    ],
)
def test_overlap_computation(one: str, other: str, share: float) -> None:
    assert overlap(one, other) == pytest.approx(share)


# ── what the spec does not say ────────────────────────────────────────────────────────────────────────────────────────────


def test_one_answer_is_no_verdict_and_being_found_or_told_where_none_is_seen_moves_nothing() -> None:
    assert told(1, 0).boost(NOON) == told(1, 1).boost(NOON) == 1.0
    found = unused()
    for turn in range(50):
        found = found.recalled(injected=turn % 2 == 0)
    assert (found.retrieved, found.injected, found.boost(NOON)) == (50, 25, 1.0)
    praised = told(10, 10)
    for _ in range(50):
        praised = praised.recalled(injected=True)
    assert praised.boost(NOON) == 1.5


def test_what_is_not_asked_for_fades_back_to_neutral_from_either_side() -> None:
    praised, blamed = told(10, 10), told(10, 0)
    assert (praised.boost(NOON + HALF_LIFE), blamed.boost(NOON + HALF_LIFE)) == pytest.approx((1.25, 0.75))
    later = NOON + 20 * HALF_LIFE
    assert praised.boost(later) == pytest.approx(1.0, abs=1e-5)
    assert blamed.boost(later) == pytest.approx(1.0, abs=1e-5)


def test_what_was_of_use_lately_outweighs_what_was_of_use_long_ago() -> None:
    turned_bad, turned_good = unused(), unused()
    for week in range(6):
        at = NOON + week * HALF_LIFE
        turned_bad, turned_good = turned_bad.answered(at, drawn_on=week < 3), turned_good.answered(at, drawn_on=week >= 3)
    assert turned_bad.boost(NOON + 5 * HALF_LIFE) < 0.7 < 1.3 < turned_good.boost(NOON + 5 * HALF_LIFE)


def test_uses_that_are_not_said_to_be_of_what_was_compared_are_counted_and_worth_nothing() -> None:
    row = told(2, 0)
    for _ in range(50):
        row = row.drawn_on()
    assert (row.referenced, row.boost(NOON)) == (50, 0.5)


def test_uses_in_whatever_order_they_are_counted_come_to_the_same() -> None:
    steps: list[Callable[[Usage], Usage]] = [
        lambda row: row.answered(NOON + HOUR, drawn_on=False),
        lambda row: row.answered(NOON + 9 * HALF_LIFE, drawn_on=True),
        lambda row: row.answered(NOON + 3 * HALF_LIFE, drawn_on=True),
        lambda row: row.recalled(injected=True),
        lambda row: row.answered(NOON - HALF_LIFE, drawn_on=False),
    ]
    ends = []
    for order in permutations(steps):
        row = unused()
        for step in order:
            row = step(row)
        ends.append((row.retrieved, row.compared, row.referenced, row.boost(NOON + 10 * HALF_LIFE)))
    assert all(end == pytest.approx(ends[0]) for end in ends)


def test_a_clock_that_ran_backwards_makes_nothing_worth_more_than_it_is() -> None:
    assert told(2, 2, at=NOON + 9 * HALF_LIFE).boost(NOON) == 1.5


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_over_200_turns_a_retired_fact_s_score_dies_with_it_and_its_successor_is_not_held_back(
    bench: Callable[[str], Bench],  # noqa: F811 - the fixture
    database: Database,
) -> None:
    """Every turn is told what is remembered, and its answer draws on where Maria lives and what she is called, and never on what she likes.

    Between two turns others ask for all of it, and nobody sees what they answer.
    """
    old, new = a_fact(content="Maria lives in Oslo"), a_fact(content="Maria lives in Bergen", created_at=NOON + 100 * HOUR)
    name, likes, desk = (a_fact(content=f"Maria {said}") for said in ("is called Mimi", "likes tea", "has a desk"))
    counters = bench("recall_counter"), bench("reference_counter")
    async with database.write([AGENT]) as db:
        await facts.insert(db, [old, name, likes, desk])
    home = old
    for turn in range(200):
        now = NOON + turn * HOUR
        if turn == 100:
            home = new
            await retire(database, old, by=new)
        order = await ranked(database, now, {home.fact_id: 0.50, name.fact_id: 0.49, likes.fact_id: 0.50, desk.fact_id: 0.48})
        assert order[0] == home.fact_id or (turn == 0 and order[0] == likes.fact_id), f"turn {turn}"
        if turn > 2:
            assert order[-2:] == [desk.fact_id, likes.fact_id], f"turn {turn}: what nobody judged is before what was of no use"
        told = [named(one) for one in (home, name, likes)]
        recalled = a_memory_recalled(agent_id=AGENT, occurred_at=now, memories=told)
        drawn_on = [{**named(one), "how": "overlap", "overlap": 0.3} for one in (home, name)]
        answer = {"recall_id": recalled.recall_id, "memories": drawn_on, "compared": told}
        elsewhere = [
            a_memory_recalled(agent_id=AGENT, occurred_at=now, memories=[named(one) for one in (home, name, likes, desk)]) for _ in range(3)
        ]
        await counters[0].work(recalled, *elsewhere)
        await counters[1].work(a_memory_referenced(agent_id=AGENT, occurred_at=now, **answer))
    async with database.read([AGENT]) as db:
        seen = await usage.of(db, AGENT, [("fact", one.fact_id) for one in (old, new, name, likes, desk)])
    end = NOON + 200 * HOUR
    of_old, of_new, of_name, of_likes, of_desk = (seen["fact", one.fact_id] for one in (old, new, name, likes, desk))
    assert [(one.retrieved, one.injected, one.compared, one.referenced) for one in (of_old, of_new, of_name, of_likes, of_desk)] == [
        (400, 400, 100, 100),
        (400, 400, 100, 100),
        (800, 800, 200, 200),
        (800, 800, 200, 0),
        (600, 600, 0, 0),
    ]
    assert of_new.boost(end) > 1.49 > of_old.boost(end)
    assert of_desk.boost(end) == 1.0, "three recalls each turn whose answer nobody saw"
    assert of_likes.boost(end) < 0.55
    assert of_old.boost(end + 10 * HALF_LIFE) == pytest.approx(1.0, abs=0.001), "it does not live on"


def named(one: facts.Fact) -> dict[str, object]:
    return {"kind": "fact", "id": one.fact_id}


async def ranked(database: Database, now: datetime, near: Mapping[UUID, float]) -> list[UUID]:
    """The order of these facts, each as near to the question as is said."""
    async with database.read([AGENT]) as db:
        worth = await usage.worth(db, AGENT, [("fact", one) for one in near], now)
    found = [a_found(memory_id=one, similarity=similarity, words=0.0) for one, similarity in near.items()]
    boosts = {(one.kind, one.memory_id): worth.boosts[one.kind, one.memory_id] for one in found}
    new = [key for key in boosts if key in worth.new]
    return [one.found.memory_id for one in rank(found, weights=Weights(), recency=0.0, boosts=boosts, now=now, new=new)]


async def test_new_is_what_was_recorded_within_a_week_of_whatever_kind_and_is_not_judged_yet(database: Database) -> None:
    proven, new, long_known = a_fact(), a_fact(), a_fact(created_at=NOON - 2 * HALF_LIFE)
    decision, procedure, episode = a_decision(agent_id=AGENT), a_procedure(agent_id=AGENT), an_episode(agent_id=AGENT, created_at=NOON)
    old = an_episode(agent_id=AGENT, created_at=NOON - 2 * HALF_LIFE)
    async with database.write([AGENT]) as db:
        await facts.insert(db, [proven, new, long_known])
        await decisions.put(db, [decision])
        await procedures.put(db, [procedure])
        for one in (episode, old):
            await episodes.put(db, one)
            await passages.put(db, AGENT, one.episode_id, [("User: tea", NOON)])
        keys: list[usage.Memory] = [("fact", one.fact_id) for one in (proven, new, long_known)]
        young: list[usage.Memory] = [
            ("decision", decision.decision_id),
            ("procedure", procedure.procedure_id),
            ("episode", episode.episode_id),
            ("passage", passages.id_of(AGENT, episode.episode_id, 0)),
        ]
        keys += [*young, ("episode", old.episode_id), ("passage", passages.id_of(AGENT, old.episode_id, 0))]
        assert not (await usage.worth(db, AGENT, keys, NOON)).new, "nothing is ahead of them"
        await usage.put(db, [told(9, 9, of=proven)])
        found = await usage.worth(db, AGENT, keys, NOON)
        assert found.boosts == {key: 1.5 if key == keys[0] else 1.0 for key in keys}
        assert set(found.new) == {keys[1], *young}
        await usage.put(db, [told(2, 0, of=new)])
        found = await usage.worth(db, AGENT, keys, NOON)
        assert (found.boosts[keys[1]], set(found.new)) == (0.5, {*young})


async def retire(database: Database, old: facts.Fact, *, by: facts.Fact) -> None:
    async with database.write([AGENT]) as db:
        await facts.insert(db, [by])
        changed = {"active": False, "superseded_by": by.fact_id, "valid_to": by.valid_from}
        await facts.change(db, [facts.Fact(**vars(old) | changed)])
