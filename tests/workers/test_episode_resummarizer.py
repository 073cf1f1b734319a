"""Episodes that were settled without a mind: summaries cut out of the text, and what becomes of them when there is a mind."""

from dataclasses import replace

import pytest

from events import EpisodeClosed, EpisodeUnsettled
from providers.mind import MindAway
from providers.offline import OfflineMind
from tests.factories import an_id
from tests.workers.conftest import Bench
from tests.workers.episodes import (
    DRINKS,
    FLIES,
    LIVES,
    OSLO,
    SUMMARY,
    TEA,
    TITLE,
    Later,
    WritingMind,
    closed,
    episode,
    learned,
    rows,
    unsettled,
    waiting,
)
from workers.episodes.settling import UNREAD_AT_ONCE
from workers.runtime.worker import Kit


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind(LIVES, DRINKS, FLIES)


async def without_a_mind(summarizer: Bench, kit: Kit, *events: EpisodeClosed) -> None:
    summarizer.life.kit = replace(kit, mind=OfflineMind())
    await summarizer.work(*events)
    summarizer.life.kit = kit


async def test_without_a_mind_a_summary_is_cut_out_marked_so_and_there_are_no_facts(summarizer: Bench, kit: Kit) -> None:
    event = closed()
    await without_a_mind(summarizer, kit, event)
    row = await episode(kit, event)
    assert (row.title, row.written_by, row.model) == (OSLO, "extract", None)
    assert row.summary == f"User: {OSLO} {TEA} Assistant: You should book flight SK 4610."
    assert await summarizer.outcomes() == ["extracted"]
    assert await learned(summarizer) == []
    assert await rows(kit, "SELECT 1 FROM bus.writings") == []


async def test_when_a_mind_appears_what_none_had_read_is_summarised_again(
    summarizer: Bench, resummarizer: Bench, kit: Kit, mind: WritingMind
) -> None:
    first, own, other = closed(), closed(title="T", summary="S."), closed(agent_id="agent-2")
    await without_a_mind(summarizer, kit, first, own, other)
    await summarizer.work(closed(f"User: {TEA}"))
    due = await summarizer.published("episode_unsettled")
    assert {one["episode_id"] for one in due} == {str(first.episode_id), str(own.episode_id)}, "of the same agent"
    await resummarizer.work(*(EpisodeUnsettled.model_validate(one) for one in due))
    row, kept = await episode(kit, first), await episode(kit, own)
    assert (row.title, row.summary, row.written_by, row.model) == (TITLE, SUMMARY, "mind", "scripted")
    assert (kept.title, kept.summary, kept.written_by, kept.model) == ("T", "S.", "producer", "scripted")
    assert sorted(await resummarizer.outcomes()) == ["kept", "summarized"]
    assert len(await learned(resummarizer)) == 1 + 3 + 3
    await resummarizer.work(unsettled(first.episode_id))
    assert (await resummarizer.receipts())[-1].reason == "scripted has read it already"
    assert (await episode(kit, other)).written_by == "extract"


async def test_an_episode_read_again_waits_with_the_summary_it_has_while_the_mind_is_away(
    summarizer: Bench, resummarizer: Bench, kit: Kit, mind: WritingMind
) -> None:
    event = closed()
    await without_a_mind(summarizer, kit, event)
    before = await episode(kit, event)
    mind.broken = MindAway("busy")
    await resummarizer.work(unsettled(event.episode_id))
    assert await episode(kit, event) == before
    mind.broken = None
    await Later(resummarizer).resume()
    assert (await episode(kit, event)).written_by == "mind"


async def test_where_there_is_no_mind_it_waits_for_a_process_that_has_one_and_an_unknown_episode_is_parked(
    summarizer: Bench, resummarizer: Bench, kit: Kit, mind: WritingMind
) -> None:
    """While workers are replaced one by one, some have a mind and some have none yet."""
    event = closed()
    await without_a_mind(summarizer, kit, event)
    resummarizer.life.kit = replace(kit, mind=OfflineMind())
    await resummarizer.work(unsettled(event.episode_id), unsettled(an_id()))
    assert await resummarizer.outcomes() == ["parked"]
    [why] = await waiting(kit)
    assert "set ANTHROPIC_API_KEY there" in str(why)
    await Later(resummarizer, mind=mind).resume()
    assert (await episode(kit, event)).written_by == "mind"


async def test_a_title_that_came_with_an_episode_stays_when_a_mind_writes_its_summary(
    summarizer: Bench, resummarizer: Bench, kit: Kit
) -> None:
    event = closed(title="The move")
    await without_a_mind(summarizer, kit, event)
    await resummarizer.work(unsettled(event.episode_id))
    row = await episode(kit, event)
    assert (row.title, row.summary, row.written_by) == ("The move", SUMMARY, "mind")


async def test_each_unread_episode_is_announced_to_a_mind_once_and_none_keeps_the_others_waiting(summarizer: Bench, kit: Kit) -> None:
    await without_a_mind(summarizer, kit, *(closed(f"User: This is number {number}.") for number in range(UNREAD_AT_ONCE + 5)))
    announced = []
    for number in range(3):
        await summarizer.work(closed(f"User: And number {number}."))
        announced.append([one["episode_id"] for one in await summarizer.published("episode_unsettled")])
    assert [len(some) for some in announced] == [UNREAD_AT_ONCE, UNREAD_AT_ONCE + 5, UNREAD_AT_ONCE + 5]
    assert len(set(announced[-1])) == UNREAD_AT_ONCE + 5
