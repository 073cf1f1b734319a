"""Old episodes keep less of their transcript at hand, once they are read; nothing is lost, nothing is done twice, all can be undone."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from redis.asyncio import Redis

import workers.upkeep_planner
from nous import clock, people
from nous.errors import UserMistake
from nous.terms import terms
from providers.offline import OfflineMind
from recall import sessions as reporting
from recall.tools import Tools
from store import episodes, facts, memory_vectors, mentions, passages, sessions, transcripts, usage
from store.episodes import Episode
from store.search import search
from store.sessions import Turn
from tests.factories import a_fact, a_mention, a_vector, an_id
from tests.store.conftest import run
from tests.workers.ageing import (
    BEGAN,
    DAY,
    READ,
    TALK,
    aged,
    at_hand,
    cold,
    due,
    expired,
    get,
    rows,
    said_in_passages,
    spoken,
    thawed,
    told,
    whole,
)
from tests.workers.conftest import Bench
from tests.workers.episodes import AGENT, SUMMARY, WritingMind, closed
from workers.runtime.worker import Kit
from workers.upkeep import tasks
from workers.upkeep.episodes import WAITS

AfterDays = Callable[[float], datetime]


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind()


@pytest.fixture
def ager(bench: Callable[[str], Bench]) -> Bench:
    return bench("episode_ager")


@pytest.fixture
def planner(bench: Callable[[str], Bench]) -> Bench:
    return bench("upkeep_planner")


def after(days: float) -> datetime:
    return BEGAN + timedelta(days=days)


async def planned(kit: Kit, at: datetime, agent: str = AGENT) -> list[tuple[str, str]]:
    """What is due then: the event's stage and the episode, in the order of ids; and whether the overview says so too."""
    task = tasks()["episodes"]
    async with kit.database.read([agent]) as db:
        found = await task.due(db, due(at=at, agent=agent), kit.settings, 100)
    async with kit.database.overview() as db:
        assert (agent in await task.agents(db, at, kit.settings)) == bool(found)
    return [(one.event.stage, str(one.memory_id)) for one in found]  # type: ignore[attr-defined]


async def thaw(kit: Kit, row: Episode, *, at: datetime, until: datetime | None = None) -> people.Decided:
    with clock.held(at):
        async with kit.database.write([row.agent_id]) as db:
            return await people.decide(db, thawed(row, at=at, until=until), table="")


# ── when ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_episode_is_due_by_when_it_began_in_utc_and_by_the_moment_of_the_event_alone(kit: Kit) -> None:
    began = datetime(2020, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    row = await spoken(kit, started_at=began)
    utc = began.astimezone(UTC)
    assert await planned(kit, utc + 30 * DAY - timedelta(microseconds=1)) == []
    assert await planned(kit, utc + 30 * DAY) == [("trim", str(row.episode_id))]
    assert await planned(kit, utc + 90 * DAY - timedelta(microseconds=1)) == [("trim", str(row.episode_id))]
    assert await planned(kit, utc + 90 * DAY) == [("archive", str(row.episode_id))], "what was missed is made up for once"


@pytest.mark.parametrize(
    "over", [{"active": False, "put_aside": "too little"}, {"ended_at": None}, {"session_key": None}, {"whole_until": after(31)}]
)
async def test_what_was_put_aside_goes_on_says_nothing_or_is_to_stay_whole_is_not_due(kit: Kit, over: dict) -> None:
    await spoken(kit, **over)
    assert await planned(kit, after(30)) == []


async def test_an_episode_whose_session_is_open_is_not_due(kit: Kit) -> None:
    row = await spoken(kit)
    async with kit.database.write([AGENT]) as db:
        await run(db, "UPDATE heart.sessions SET ended_at = NULL, ending = NULL")
    assert await planned(kit, after(100)) == []
    assert (await get(kit, row)).aged is None


async def test_what_is_planned_by_pages_comes_to_every_episode_once(
    kit: Kit, planner: Bench, ager: Bench, monkeypatch, redis: Redis
) -> None:
    monkeypatch.setattr(workers.upkeep_planner, "PAGE", 2)
    made = [await told(kit, f"User: Hello {number}. {'Words and words. ' * 200}") for number in range(5)]
    other = await told(kit, "User: Hello.", agent="somebody-else")
    pages = [due(at=after(30))]
    while pages:
        await planner.work(*pages)
        pages = [one for one in await _published(redis, "maintenance_due") if one.event_id not in await _settled(planner)]
    announced = await _published(redis, "episode_aged")
    assert [one.episode_id for one in announced] == sorted(one.episode_id for one in made)
    assert await planner.outcomes() == ["planned", "planned", "planned"]
    await ager.work(*announced, *announced)
    assert await ager.outcomes() == ["trimmed"] * 5
    assert {(await get(kit, one)).aged for one in made} == {"trimmed"}
    assert (await get(kit, other)).aged is None


async def _published(redis: Redis, stream: str) -> list:
    from events import CATALOGUE, decode

    return [decode(CATALOGUE[stream], fields[b"data"], entry.decode()) for entry, fields in await redis.xrange(stream)]


async def _settled(bench: Bench) -> set[str]:
    return {one.event_id for one in await bench.receipts()}


# ── trimmed ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_first_and_last_parts_stay_and_the_whole_is_put_away(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit)
    before = await at_hand(kit, row)
    await ager.work(aged(row, "trim"))
    after_ = await at_hand(kit, row)
    assert after_.turns[0].content.startswith("Good morning, it is about the harbour. We spoke")
    assert [one.content.endswith("characters are put away …]") for one in after_.turns] == [False, True, False, False, False]
    assert after_.turns[-1] == before.turns[-1]
    assert sum(len(one.content.partition("\n[… ")[0]) for one in after_.turns) <= 2_000
    kept = await cold(kit, row)
    assert kept is not None
    assert kept.transcript == before
    assert kept.packed_bytes < before.bytes / 10
    now = await get(kit, row)
    assert (now.aged, now.title, now.summary, now.settled_by) == ("trimmed", row.title, row.summary, row.settled_by)
    (receipt,) = await ager.receipts()
    assert (receipt.outcome, receipt.about) == ("trimmed", row.episode_id)
    assert receipt.evidence["before"] == {
        "aged": None,
        "turns": len(TALK),
        "characters": before.characters,
        "bytes": before.bytes,
        "passages": receipt.evidence["before"]["passages"],
    }
    assert receipt.evidence["after"]["characters"] == after_.characters
    assert receipt.evidence["after"]["passages"] == receipt.evidence["before"]["passages"] > 5, "it is found by all that was said"
    assert receipt.evidence["put_away"] == {"characters": before.characters, "bytes": before.bytes, "compressed": kept.packed_bytes}


async def test_what_was_said_in_an_old_conversation_is_found_until_its_transcript_is_let_go_of(
    kit: Kit, ager: Bench, bench: Callable[[str], Bench]
) -> None:
    row = await spoken(kit)
    before = await rows(kit, "heart.passages", order="place")
    for stage in ("trim", "archive"):
        await ager.work(aged(row, stage))
        assert await rows(kit, "heart.passages", order="place") == before, stage
        assert any("Number 6." in one for one in await _found_by(kit, "number 6")), stage
    await bench("transcript_remover").work(expired(row, at=after(500)))
    assert await rows(kit, "heart.passages", order="place") == await _found_by(kit, "number 6") == []


async def _found_by(kit: Kit, question: str) -> list[str]:
    async with kit.database.read([AGENT]) as db:
        found = await search(db, AGENT, ["passage"], vector=None, embedder=kit.registered, terms=terms(question))
    return [one.text for one in found]


@pytest.mark.parametrize("is_let_go", [True, False], ids=["let go of", "as it is set"])
async def test_passages_of_what_is_told_no_more_give_back_their_room_and_those_that_stay_keep_vector_and_use(
    kit: Kit, ager: Bench, bench: Callable[[str], Bench], is_let_go: bool
) -> None:
    ager.life.kit = replace(kit, settings=kit.settings.model_copy(update={"episode_aged_passages": is_let_go}))
    row = await spoken(kit)
    said = await said_in_passages(kit, row.episode_id)
    ids = [passages.id_of(AGENT, row.episode_id, at) for at in range(len(said))]
    async with kit.database.write([AGENT]) as db:
        kept = await memory_vectors.said(db, [(AGENT, "passage", one) for one in ids])
        await memory_vectors.put(db, kit.registered, [(key, what, a_vector(1)) for key, what in kept.items()])
        await usage.put(db, [usage.Usage(AGENT, "passage", one, retrieved=3) for one in ids])
    await ager.work(aged(row, "trim"))
    if is_let_go:
        await bench("transcript_remover").work(expired(row, at=after(400)))
    now = await said_in_passages(kit, row.episode_id)
    assert now[0] == said[0]
    assert not any("put away" in one for one in now), "the mark is nobody's words"
    assert len(await rows(kit, "heart.passages", order="passage_id")) == len(now) < len(said)
    same = {ids[at] for at, one in enumerate(now) if one == said[at]}
    async with kit.database.overview() as db:
        for table in ("heart.memory_vectors", "heart.memory_usage"):
            assert set(await run(db, f"SELECT memory_id FROM {table}")) == same, table
        assert set(await run(db, "SELECT memory_id FROM bus.unembedded")) >= {
            passages.id_of(AGENT, row.episode_id, at) for at, one in enumerate(now) if one != said[at]
        }


async def test_a_transcript_that_came_as_a_text_is_cut_too_and_what_is_short_is_only_said_to_be_trimmed(kit: Kit, ager: Bench) -> None:
    text = "User: " + "It begins so. " * 200 + "\nAssistant: " + "And ends so. " * 200
    long, short = await told(kit, text), await told(kit, "User: Hello.\nAssistant: Hi!")
    await ager.work(aged(long, "trim"), aged(short, "trim"))
    assert (await get(kit, long)).detail.startswith("User: It begins so. ")  # type: ignore[union-attr]
    assert (await whole(kit, long)).detail == text
    assert (await get(kit, short)).detail == "User: Hello.\nAssistant: Hi!"
    assert (await cold(kit, short)) is None
    assert await ager.outcomes() == ["trimmed", "trimmed"]
    assert await planned(kit, after(89)) == []


async def test_as_long_a_text_as_may_be_with_as_many_facts_is_trimmed_within_the_time_and_can_be_had_back(kit: Kit, ager: Bench) -> None:
    sentences = [f"Of harbour {at} we spoke at length, and of its ferry." for at in range(19_000)]
    text = " ".join(sentences)
    row = await told(kit, text)
    known = [a_fact(agent_id=AGENT, content=quote) for quote in (*sentences[:20], *sentences[-20:])]
    heard = [a_mention(one, quote=one.content, source=f"episode:{row.episode_id}") for one in known]
    async with kit.database.write([AGENT]) as db:
        await facts.insert(db, known)
        await mentions.insert(db, heard)
    await ager.work(aged(row, "trim"))
    assert await ager.outcomes() == ["trimmed"]
    kept = (await get(kit, row)).detail
    assert kept is not None
    assert (len(text) > 1_000_000, len(kept) < 2_100) == (True, True)
    assert (await whole(kit, row)).detail == text


# ── archived ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_trimmed", [True, False], ids=["trimmed before", "at once"])
async def test_of_an_archived_episode_only_summary_lessons_and_links_remain(kit: Kit, ager: Bench, is_trimmed: bool) -> None:
    row = await spoken(kit, lessons_learned=("Ask for the ferry first.",))
    async with kit.database.write([AGENT]) as db:
        decision = an_id()
        await episodes.link_decisions(db, AGENT, row.episode_id, {decision: "named"})
    before = await at_hand(kit, row)
    await ager.work(*([aged(row, "trim")] if is_trimmed else []), aged(row, "archive"))
    now = await get(kit, row)
    assert (now.aged, now.detail, now.summary, now.lessons_learned) == ("archived", None, SUMMARY, row.lessons_learned)
    assert await rows(kit, "heart.turns", order="position") == []
    assert await whole(kit, row) == before
    async with kit.database.read([AGENT]) as db:
        assert await episodes.decisions_of(db, AGENT, [row.episode_id]) == [(row.episode_id, decision, "named")]
    assert await planned(kit, after(4_000)) == []


async def test_nothing_is_done_twice_whoever_says_so_however_often_and_in_whatever_order(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit)
    trim, archive = aged(row, "trim"), aged(row, "archive")
    await ager.work(trim)
    once = await rows(kit, "heart.turns", order="position"), await rows(kit, "heart.transcripts_cold", order="episode_id")
    await ager.work(trim, aged(row, "trim"), aged(row, "trim", at=after(31)))
    assert (await rows(kit, "heart.turns", order="position"), await rows(kit, "heart.transcripts_cold", order="episode_id")) == once
    await ager.work(archive)
    await ager.work(archive, aged(row, "archive"), aged(row, "trim", at=after(40)))
    assert await ager.outcomes() == ["trimmed", "skipped", "skipped", "archived", "skipped", "skipped"]


async def test_two_replicas_at_once_age_an_episode_once(kit: Kit, bench: Callable[[str], Bench]) -> None:
    row = await spoken(kit)
    before = await at_hand(kit, row)
    one, other = bench("episode_ager"), bench("episode_ager")
    event = aged(row, "archive")
    await asyncio.gather(one.work(event), other.work(event), one.work(aged(row, "archive")), other.work(aged(row, "trim", at=after(95))))
    assert (await one.outcomes()).count("archived") == 1
    assert await whole(kit, row) == before


async def test_killed_in_the_middle_it_has_not_begun_and_the_next_one_does_it(kit: Kit, ager: Bench, monkeypatch) -> None:
    row = await spoken(kit)
    before = await rows(kit, "heart.turns", order="position"), await rows(kit, "heart.passages", order="place")

    async def killed(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(passages, "remake", killed)
        with pytest.raises(asyncio.CancelledError):
            await ager.work(aged(row, "archive"))
    assert (await rows(kit, "heart.turns", order="position"), await rows(kit, "heart.passages", order="place")) == before
    assert await cold(kit, row) is None
    assert await planned(kit, after(90)) == [("archive", str(row.episode_id))]
    await ager.work(aged(row, "archive"))
    assert await ager.outcomes() == ["archived"]


@pytest.mark.parametrize(
    ("over", "why"),
    [
        ({"active": False, "put_aside": "too little"}, "put aside"),
        ({"whole_until": after(31)}, "stays whole until"),
        ({"ended_at": None}, "it goes on"),
        ({"started_at": after(1)}, "less than 30 days before"),
    ],
)
async def test_what_changed_since_it_was_planned_is_let_be(kit: Kit, ager: Bench, over: dict, why: str) -> None:
    row = await spoken(kit, **over)
    await ager.work(aged(row, "trim", at=after(30)), aged(replace(row, episode_id=an_id()), "trim"))
    receipts = await ager.receipts()
    assert [one.outcome for one in receipts] == ["skipped", "skipped"]
    assert why in (receipts[0].reason or "")
    assert len((await at_hand(kit, row)).turns) == len(TALK)


# ── first it is read ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_episode_that_no_mind_has_read_is_read_first_and_then_aged(
    kit: Kit, ager: Bench, resummarizer: Bench, redis: Redis
) -> None:
    row = await spoken(kit, model=None, written_by="extract", summary="Cut out. " * 20)
    assert await planned(kit, after(30)) == [("trim", str(row.episode_id))]
    await ager.work(aged(row, "trim"))
    assert await ager.outcomes() == ["asked"]
    assert (await get(kit, row)).aged is None
    assert await planned(kit, after(31)) == [], "it waits, and is not asked for every day"
    assert await planned(kit, after(61)) == [("trim", str(row.episode_id))]
    (asked,) = await _published(redis, "episode_unsettled")
    assert asked.why == "before_ageing"
    await resummarizer.work(asked)
    assert (await get(kit, row)).model == "scripted"
    assert await planned(kit, after(31)) == [("trim", str(row.episode_id))], "it is due as soon as it is read"
    await ager.work(aged(row, "trim", at=after(31)))
    assert await ager.outcomes() == ["asked", "trimmed"]


async def test_a_short_summary_that_came_with_it_is_written_anew_by_the_mind_first(
    kit: Kit, ager: Bench, resummarizer: Bench, redis: Redis
) -> None:
    row = await spoken(kit, summary="About the harbour.", written_by="producer")
    await ager.work(aged(row, "trim"))
    (receipt,) = await ager.receipts()
    assert (receipt.outcome, receipt.reason) == ("asked", "its summary has fewer than 50 characters")
    await resummarizer.work(*await _published(redis, "episode_unsettled"))
    now = await get(kit, row)
    assert (now.summary, now.title, now.written_by) == (SUMMARY, "The harbour", "mind")
    await ager.work(aged(row, "trim", at=after(31)))
    assert (await get(kit, row)).aged == "trimmed"


@pytest.mark.parametrize("has_mind", [True, False], ids=["with a mind", "without one"])
async def test_a_summary_that_nobody_makes_longer_is_told_with_sentences_of_what_was_said(
    kit: Kit, bench: Callable[[str], Bench], mind: WritingMind, redis: Redis, has_mind: bool
) -> None:
    mind.fields["summary"] = "The harbour."
    ager, resummarizer = bench("episode_ager"), bench("episode_resummarizer")
    if not has_mind:
        ager.life.kit = resummarizer.life.kit = replace(kit, mind=OfflineMind())
    row = await spoken(kit, summary="The harbour.", written_by="mind" if has_mind else "producer", model="scripted" if has_mind else None)
    await ager.work(aged(row, "trim"))
    assert await planned(kit, after(31)) == []
    assert await _waiting(kit, after(31)) == [f"1 more is of age and {WAITS['asked']}"]
    await resummarizer.work(*await _published(redis, "episode_unsettled"))
    now = await get(kit, row)
    assert (now.summary or "").startswith("The harbour. ")
    assert len(now.summary or "") > 200
    (receipt,) = await resummarizer.receipts()
    assert (receipt.reason or "").startswith(
        "its summary had 12 characters, and what is to speak for an old conversation has at least 50: "
    )
    assert await planned(kit, after(31)) == [("trim", str(row.episode_id))], "its time comes again the day after it was read"
    assert await _waiting(kit, after(31)) == []
    await ager.work(aged(row, "trim", at=after(31)))
    assert await ager.outcomes() == ["asked", "trimmed"]


async def _waiting(kit: Kit, at: datetime) -> list[str]:
    async with kit.database.overview() as db:
        waiting = tasks()["episodes"].waiting
        assert waiting
        return list(await waiting(db, AGENT, at, kit.settings))


async def test_without_a_mind_what_was_cut_out_is_all_there_will_be_and_counts_as_read(kit: Kit, ager: Bench, redis: Redis) -> None:
    ager.life.kit = replace(kit, mind=OfflineMind())
    extracted = await spoken(kit, model=None, written_by="extract", summary="Cut out. " * 20)
    tiny = await spoken(kit, talk=[("user", "Hello there.")], model=None, written_by="extract", summary="Hello there.")
    await ager.work(aged(extracted, "trim"), aged(tiny, "trim"))
    assert await ager.outcomes() == ["trimmed", "left"]
    assert await redis.xlen("episode_unsettled") == 0
    assert await planned(kit, after(31)) == []
    assert await _waiting(kit, after(31)) == [f"1 more is of age and {WAITS['left']}"]
    assert await planned(kit, after(61)) == [("trim", str(tiny.episode_id))]


async def test_what_only_tools_said_has_no_facts_to_be_taken(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit, talk=[("tool", "Output. " * 900)], model=None, written_by="producer")
    await ager.work(aged(row, "trim"))
    assert await ager.outcomes() == ["trimmed"]


# ── what comes late ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_transcript_that_comes_after_the_episode_was_archived_is_not_at_hand_again(
    kit: Kit, ager: Bench, summarizer: Bench
) -> None:
    text = "User: " + "It begins so. " * 300
    row = await told(kit, text)
    await ager.work(aged(row, "archive"))
    await summarizer.work(closed(text, episode_id=row.episode_id))
    assert ((await get(kit, row)).detail, await summarizer.outcomes()) == (None, ["skipped"])
    assert (await whole(kit, row)).detail == text


async def test_what_is_said_later_under_the_same_session_id_is_another_conversation(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit)
    await ager.work(aged(row, "archive"))
    tools = Tools(kit.database, kit.embedder, kit.settings)
    session = await reporting.start_turn(tools, AGENT, "chat", "Hello again.", at=after(91), turn_id="t0")
    await reporting.end_turn(tools, AGENT, "chat", "Hello!", at=after(91), turn_id="t0")
    assert session.session_key != row.session_key
    assert len((await whole(kit, row)).turns) == len(TALK)


async def test_turns_that_were_added_to_a_trimmed_session_belong_to_the_whole_and_one_told_again_is_there_once(
    kit: Kit, ager: Bench
) -> None:
    row = await spoken(kit)
    before = await at_hand(kit, row)
    await ager.work(aged(row, "trim"))
    assert row.session_key
    again = next(one for one in before.turns if one.turn_id == "t5" and one.speaker == "assistant")
    async with kit.database.write([AGENT]) as db:
        at = await transcripts.next_position(db, AGENT, row.session_key)
        late = Turn(AGENT, row.session_key, at, "user", "One thing more.", after(31), "late")
        assert await sessions.add_turn(db, late) is None
        known = await sessions.add_turn(db, replace(again, position=at + 1))
        assert known
        assert (known.says(again.content), known.says("Other words."), known.said_at) == (True, False, again.said_at)
    assert (await whole(kit, row)).turns == (*before.turns, late)
    await ager.work(aged(row, "archive"))
    await thaw(kit, row, at=after(95))
    assert (await at_hand(kit, row)).turns == (*before.turns, late)


async def test_what_is_said_later_in_an_archived_session_stands_behind_what_was_put_away_and_nothing_is_lost(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit)
    before = await at_hand(kit, row)
    await ager.work(aged(row, "archive"))
    assert row.session_key
    late = []
    for words in ("One thing more.", "And another."):
        async with kit.database.write([AGENT]) as db:
            at = await transcripts.next_position(db, AGENT, row.session_key)
            late.append(Turn(AGENT, row.session_key, at, "user", words, after(91), words))
            assert await sessions.add_turn(db, late[-1]) is None
    assert [one.position for one in late] == [len(TALK) + 1, len(TALK) + 2]
    assert (await whole(kit, row)).turns == (*before.turns, *late)
    await thaw(kit, row, at=after(95))
    assert (await at_hand(kit, row)).turns == (*before.turns, *late)


async def test_an_episode_that_is_settled_again_is_read_whole_and_no_more_of_it_is_at_hand(
    kit: Kit, ager: Bench, summarizer: Bench, mind: WritingMind
) -> None:
    row = await spoken(kit)
    await ager.work(aged(row, "trim"))
    kept = await said_in_passages(kit, row.episode_id)
    async with kit.database.write([AGENT]) as db:
        await episodes.put(db, replace(await _now(db, row), settled_by=None, model=None, summary=None, written_by=None))
    await summarizer.work(closed(None, episode_id=row.episode_id))
    assert await summarizer.outcomes() == ["summarized"]
    assert "Number 6." in "".join(one.content for asked in mind.put for one in asked.about.utterances)
    assert await said_in_passages(kit, row.episode_id) == kept
    assert (await get(kit, row)).aged == "trimmed"


async def _now(db, row: Episode) -> Episode:
    found = await episodes.get(db, row.agent_id, row.episode_id)
    assert found
    return found


# ── thawed ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

TABLES = {"heart.turns": "position", "heart.passages": "place"}


async def _bytes(kit: Kit) -> dict[str, list[str]]:
    return {table: await rows(kit, table, order=order) for table, order in TABLES.items()}


@pytest.mark.parametrize("stages", [["trim"], ["archive"], ["trim", "archive"]])
@pytest.mark.parametrize("is_text", [False, True], ids=["turns", "a text"])
async def test_undo_and_redo_are_exact_to_the_byte(kit: Kit, ager: Bench, stages: list[str], is_text: bool) -> None:
    text = "\r\n\tUser: " + "It begins so. " * 200 + "\n\nAssistant:\u00a0" + "And ends so. 咖啡 🦊 e\u0301 " * 200 + " \n"
    row = await (told(kit, text) if is_text else spoken(kit))
    before, detail = await _bytes(kit), (await get(kit, row)).detail
    await ager.work(*(aged(row, stage) for stage in stages))
    assert (await _bytes(kit), (await get(kit, row)).detail) != (before, detail)
    decided = await thaw(kit, row, at=after(91))
    assert (await _bytes(kit), (await get(kit, row)).detail) == (before, detail)
    assert await cold(kit, row) is None, "there is one of it"
    assert decided.evidence["after"]["characters"] == (await at_hand(kit, row)).characters  # type: ignore[index]
    await ager.work(aged(row, "archive", at=after(122)))
    assert (await get(kit, row)).aged == "archived"
    await thaw(kit, row, at=after(123))
    assert (await _bytes(kit), (await get(kit, row)).detail) == (before, detail)


async def test_what_was_thawed_does_not_age_for_thirty_days_or_until_the_person_says(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit)
    await ager.work(aged(row, "trim"))
    await thaw(kit, row, at=after(40))
    assert await planned(kit, after(69)) == []
    assert await planned(kit, after(70)) == [("trim", str(row.episode_id))]
    await thaw(kit, row, at=after(70), until=after(400))
    await ager.work(aged(row, "archive", at=after(399)))
    assert (await get(kit, row)).aged is None
    assert await planned(kit, after(399)) == []
    assert await planned(kit, after(400)) == [("archive", str(row.episode_id))]


async def test_what_is_not_put_away_cannot_be_thawed_and_says_why(kit: Kit, ager: Bench, bench: Callable[[str], Bench]) -> None:
    row, short = await spoken(kit), await told(kit, "User: Hello.")
    await ager.work(aged(row, "archive"), aged(short, "trim"))
    await bench("transcript_remover").work(expired(row, at=after(455)))
    for one, why in ((row, "was let go of 2021-05-30T12:00:00.*nobody can have it whole"), (short, "nothing is put away: it is so short")):
        with pytest.raises(UserMistake, match=why):
            await thaw(kit, one, at=after(456))
    with pytest.raises(UserMistake, match="has no episode"):
        await thaw(kit, replace(row, episode_id=an_id()), at=after(456))
    assert READ["summary"] == (await get(kit, row)).summary


@pytest.mark.parametrize("is_text", [False, True], ids=["turns", "a text"])
async def test_what_is_left_of_a_transcript_that_was_let_go_of_is_never_put_away_as_the_whole(
    kit: Kit, ager: Bench, bench: Callable[[str], Bench], is_text: bool
) -> None:
    row = await (told(kit, "User: " + "It begins so, and ends so. " * 400) if is_text else spoken(kit))
    await ager.work(aged(row, "trim"))
    await bench("transcript_remover").work(expired(row, at=after(400)))
    assert (await get(kit, row)).let_go_at == after(400)
    await ager.work(aged(row, "archive", at=after(401)))
    now = await get(kit, row)
    assert (now.aged, now.let_go_at, await cold(kit, row)) == ("archived", after(400), None)
    assert "put_away" not in (await ager.receipts())[-1].evidence
    with pytest.raises(UserMistake, match="was let go of"):
        await thaw(kit, row, at=after(402))


# ── reported again ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stages", [["trim"], ["archive"], ["trim", "archive"]])
@pytest.mark.parametrize("is_let_go", [False, True], ids=["put away", "let go of"])
async def test_a_conversation_that_is_reported_again_after_it_aged_is_the_same_one(
    kit: Kit, ager: Bench, bench: Callable[[str], Bench], stages: list[str], is_let_go: bool
) -> None:
    row = await spoken(kit)
    before = await at_hand(kit, row)
    await ager.work(*(aged(row, stage) for stage in stages))
    if is_let_go:
        await bench("transcript_remover").work(expired(row, at=after(500)))
    there, tools = await at_hand(kit, row), Tools(kit.database, kit.embedder, kit.settings)
    with clock.held(after(900)):
        for one in before.turns:
            report = reporting.start_turn if one.speaker == "user" else reporting.end_turn
            if one.speaker == "user" or any(other.turn_id == one.turn_id and other.speaker == "user" for other in before.turns):
                session = await report(tools, AGENT, "chat", one.content, at=one.said_at, turn_id=one.turn_id)
                assert session.session_key == row.session_key, one.turn_id
    assert await at_hand(kit, row) == there
    async with kit.database.overview() as db:
        assert await run(db, "SELECT count(*) FROM heart.episodes") == [1]
    with clock.held(after(900)), pytest.raises(UserMistake, match="reported before with other words"):
        await reporting.end_turn(tools, AGENT, "chat", "Other words.", turn_id="t5")


async def test_without_its_moment_it_is_the_same_one_for_an_hour_and_then_the_next_conversation(kit: Kit, ager: Bench) -> None:
    row, tools = await spoken(kit), Tools(kit.database, kit.embedder, kit.settings)
    said = next(one for one in (await at_hand(kit, row)).turns if one.speaker == "user" and one.turn_id == "t4")
    await ager.work(aged(row, "archive"))
    async with kit.database.read([AGENT]) as db:
        session = await sessions.get(db, AGENT, row.session_key or an_id())
    assert session
    for minutes, is_same in ((59, True), (61, False)):
        with clock.held(session.heard_at + timedelta(minutes=minutes)):
            again = await reporting.start_turn(tools, AGENT, "chat", said.content, turn_id="t4")
            assert (again.session_key == row.session_key) == is_same


async def test_what_is_known_of_turns_is_no_words_and_goes_when_they_are_at_hand_again(kit: Kit, ager: Bench) -> None:
    row = await spoken(kit)
    before = set((await at_hand(kit, row)).turns)
    await ager.work(aged(row, "trim"))
    known = await rows(kit, "heart.turns_known", order="turn_id, speaker")
    assert len(known) == len(before - set((await at_hand(kit, row)).turns)) > 20, "but for those at hand as they were said"
    assert not any("harbour" in one or "ferry" in one for one in known)
    await thaw(kit, row, at=after(40))
    assert await rows(kit, "heart.turns_known", order="turn_id") == []
