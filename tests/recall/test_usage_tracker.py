"""What a memory's use is worth: what was drawn on, of what was told; it fades, and lack of history is no verdict (spec 001)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import permutations
from uuid import UUID

import pytest

from recall.overlap import overlap
from store import facts, usage
from store.database import Database
from store.usage import HALF_LIFE, Usage
from tests.factories import NOON, a_fact, a_memory_recalled, a_memory_referenced
from tests.workers.conftest import Bench, bench, embedder, kit, mind  # noqa: F401 - fixtures

AGENT = "agent-7"
MEMORY = UUID(int=1)
HOUR = timedelta(hours=1)


def unused() -> Usage:
    return Usage(AGENT, "fact", MEMORY, NOON)


def told(times: int, drawn_on: int, *, at: datetime = NOON) -> Usage:
    """Told so often, and drawn on so often, all at one moment."""
    row = unused()
    for _ in range(times):
        row = row.recalled(at, injected=True)
    for _ in range(drawn_on):
        row = row.drawn_on(at)
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
        assert await usage.boosts(db, AGENT, [("fact", MEMORY), ("decision", MEMORY)], NOON) == {
            ("fact", MEMORY): 1.0,
            ("decision", MEMORY): 1.0,
        }


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


def test_being_found_once_is_no_verdict_and_being_found_without_being_told_moves_nothing() -> None:
    assert told(1, 0).boost(NOON) == 1.0
    found = unused()
    for _ in range(50):
        found = found.recalled(NOON, injected=False)
    assert (found.retrieved, found.injected, found.boost(NOON)) == (50, 0, 1.0)


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
        turned_bad, turned_good = turned_bad.recalled(at, injected=True), turned_good.recalled(at, injected=True)
        turned_bad = turned_bad.drawn_on(at) if week < 3 else turned_bad
        turned_good = turned_good.drawn_on(at) if week >= 3 else turned_good
    assert turned_bad.boost(NOON + 5 * HALF_LIFE) < 0.7 < 1.3 < turned_good.boost(NOON + 5 * HALF_LIFE)


def test_more_uses_than_tellings_are_worth_no_more_than_one_each() -> None:
    assert told(2, 50).boost(NOON) == 1.5


def test_uses_in_whatever_order_they_are_counted_come_to_the_same() -> None:
    steps: list[Callable[[Usage], Usage]] = [
        lambda row: row.recalled(NOON + HOUR, injected=True),
        lambda row: row.recalled(NOON + 9 * HALF_LIFE, injected=True),
        lambda row: row.drawn_on(NOON + 3 * HALF_LIFE),
        lambda row: row.recalled(NOON - HALF_LIFE, injected=True),
    ]
    ends = []
    for order in permutations(steps):
        row = unused()
        for step in order:
            row = step(row)
        ends.append((row.retrieved, row.injected, row.referenced, row.boost(NOON + 10 * HALF_LIFE)))
    assert all(end == pytest.approx(ends[0]) for end in ends)


def test_a_clock_that_ran_backwards_makes_nothing_worth_more_than_it_is() -> None:
    assert told(2, 2, at=NOON + 9 * HALF_LIFE).boost(NOON) == 1.5


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_over_200_turns_a_retired_fact_s_score_dies_with_it_and_its_successor_is_not_held_back(
    bench: Callable[[str], Bench],  # noqa: F811 - the fixture
    database: Database,
) -> None:
    """Every turn the two best of three equally relevant facts are told, and the answer draws on the one about where Maria lives."""
    old, new = a_fact(content="Maria lives in Oslo"), a_fact(content="Maria lives in Bergen", created_at=NOON + 100 * HOUR)
    other = a_fact(content="Maria likes tea")
    counters = bench("recall_counter"), bench("reference_counter")
    async with database.write([AGENT]) as db:
        await facts.insert(db, [old, other])
    home, boosts = old, {}
    for turn in range(200):
        now = NOON + turn * HOUR
        if turn == 100:
            home = new
            await retire(database, old, by=new)
        keys = [("fact", one.fact_id) for one in (home, other)]
        async with database.read([AGENT]) as db:
            boosts = await usage.boosts(db, AGENT, keys, now)
        assert boosts[keys[0]] >= boosts[keys[1]], f"turn {turn}: {boosts}"
        memories = [{"kind": kind, "id": one} for kind, one in keys]
        recalled = a_memory_recalled(agent_id=AGENT, occurred_at=now, memories=memories)
        drawn_on = {"kind": "fact", "id": home.fact_id, "how": "overlap", "overlap": 0.3}
        referenced = a_memory_referenced(agent_id=AGENT, occurred_at=now, recall_id=recalled.recall_id, memories=[drawn_on])
        await counters[0].work(recalled)
        await counters[1].work(referenced)
    async with database.read([AGENT]) as db:
        seen = await usage.of(db, AGENT, [("fact", one.fact_id) for one in (old, new, other)])
    end = NOON + 200 * HOUR
    of_old, of_new, of_other = (seen["fact", one.fact_id] for one in (old, new, other))
    assert (of_old.retrieved, of_new.retrieved, of_other.retrieved) == (100, 100, 200)
    assert (of_old.referenced, of_new.referenced, of_other.referenced) == (100, 100, 0)
    assert of_new.boost(end) > 1.45 > of_old.boost(end)
    assert of_other.boost(end) < 0.55
    assert of_old.boost(end + 10 * HALF_LIFE) == pytest.approx(1.0, abs=0.001), "it does not live on"


async def test_a_new_fact_counts_for_as_much_as_the_best_that_is_known_until_it_was_told_twice(database: Database) -> None:
    proven, new, long_known = a_fact(), a_fact(), a_fact(created_at=NOON - 2 * HALF_LIFE)
    keys = [("fact", one.fact_id) for one in (proven, new, long_known)]
    async with database.write([AGENT]) as db:
        await facts.insert(db, [proven, new, long_known])
        await usage.put(db, [Usage(AGENT, "fact", proven.fact_id, NOON, 9, 9, 9, 9.0, 9.0)])
        assert await usage.boosts(db, AGENT, keys, NOON) == dict(zip(keys, (1.5, 1.5, 1.0), strict=True))
        await usage.put(db, [Usage(AGENT, "fact", new.fact_id, NOON, 2, 2, 0, 2.0, 0.0)])
        assert await usage.boosts(db, AGENT, keys, NOON) == dict(zip(keys, (1.5, 0.5, 1.0), strict=True))


async def retire(database: Database, old: facts.Fact, *, by: facts.Fact) -> None:
    async with database.write([AGENT]) as db:
        await facts.insert(db, [by])
        changed = {"active": False, "superseded_by": by.fact_id, "valid_to": by.valid_from}
        await facts.change(db, [facts.Fact(**vars(old) | changed)])
