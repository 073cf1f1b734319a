"""What was put away is let go of when it has been kept for as long as it is to be, and not before."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.store.conftest import run
from tests.workers.ageing import BEGAN, aged, cold, due, expired, get, spoken
from tests.workers.conftest import Bench
from workers.runtime.worker import Kit
from workers.upkeep import tasks


def after(days: float) -> datetime:
    return BEGAN + timedelta(days=days)


@pytest.fixture
def remover(bench: Callable[[str], Bench]) -> Bench:
    return bench("transcript_remover")


async def planned(kit: Kit, at: datetime, agent: str = "agent-1") -> list[str]:
    task = tasks()["transcripts"]
    async with kit.database.read([agent]) as db:
        found = await task.due(db, due("transcripts", at=at, agent=agent), kit.settings, 9)
    async with kit.database.overview() as db:
        assert (agent in await task.agents(db, at, kit.settings)) == bool(found)
    return [str(one.memory_id) for one in found]


async def test_it_is_kept_for_a_year_from_when_it_was_put_away_and_then_let_go_of_once(
    kit: Kit, bench: Callable[[str], Bench], remover: Bench
) -> None:
    row = await spoken(kit, started_at=after(-1_000))
    await bench("episode_ager").work(aged(row, "archive", at=after(0)))
    assert await planned(kit, after(364.9)) == [], "an old conversation can be thawed for as long as any other"
    assert await planned(kit, after(365)) == [str(row.episode_id)]
    await remover.work(expired(row, at=after(364)), expired(row, at=after(365)), expired(row, at=after(366)))
    assert await remover.outcomes() == ["skipped", "let_go", "skipped"]
    assert await cold(kit, row) is None
    let_go = next(one for one in await remover.receipts() if one.outcome == "let_go")
    assert (let_go.about, let_go.evidence["let_go"]["characters"] > 10_000) == (row.episode_id, True)
    now = await get(kit, row)
    assert (now.aged, now.summary) == ("archived", row.summary)
    assert await planned(kit, after(9_999)) == []


async def test_it_is_let_go_of_unread(kit: Kit, bench: Callable[[str], Bench], remover: Bench) -> None:
    row = await spoken(kit)
    await bench("episode_ager").work(aged(row, "archive"))
    async with kit.database.write([row.agent_id]) as db:
        await run(db, "UPDATE heart.transcripts_cold SET packed = 'in no shape to be read'")
    await remover.work(expired(row, at=after(500)))
    (let_go,) = await remover.receipts()
    assert (let_go.outcome, let_go.evidence["let_go"]["compressed"]) == ("let_go", len("in no shape to be read"))


async def test_nothing_is_let_go_of_where_all_is_kept_for_ever(kit: Kit, bench: Callable[[str], Bench], remover: Bench) -> None:
    row = await spoken(kit)
    await bench("episode_ager").work(aged(row, "archive"))
    kept = replace(kit, settings=kit.settings.model_copy(update={"transcript_cold_days": 0}))
    remover.life.kit = kept
    await remover.work(expired(row, at=after(40_000)))
    assert await remover.outcomes() == ["skipped"]
    assert await planned(kept, after(40_000)) == []
    assert await cold(kit, row)
