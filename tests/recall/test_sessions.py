"""Sessions on the real store: what is kept of a conversation, when it becomes an episode, and what its end makes of that.

The numbers in the names are those of the spec's list (000, D1); its pure rules are in test_significance.py.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import Redis

import workers
from events import EpisodeClosed, EpisodeRestored, decode
from nous import clock, fence, ids
from nous.errors import Misconfigured, Outage, UserMistake
from nous.settings import Settings
from providers.embedder import EmbeddingMalformed, EmbeddingRefused, Vectors
from providers.mind import MindAway
from recall import ending, opening, sessions, significance
from recall.ending import Ended
from recall.tools import Tools
from store import episodes, outbox
from store import sessions as kept
from store.database import Database
from store.episodes import Episode
from store.sessions import Session
from tests.evals.small_talk import SMALL_TALK, Exchange
from tests.factories import an_episode, an_episode_closed
from tests.workers.conftest import Bench, ScriptedEmbedder
from tests.workers.episodes import WritingMind
from workers.runtime import sweep
from workers.runtime.life import Life
from workers.runtime.worker import Kit

NOON = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
HELLO = "Hello, what can you do?"
HI = "Hi! What can you do for me?"
HOUR = timedelta(hours=1)


@dataclass
class Talk:
    """One agent's conversations, and a look at what became of them."""

    tools: Tools
    agent: str = "a"

    @property
    def database(self) -> Database:
        return self.tools.database

    async def start(self, session_id: str, said: str = "Hello", **over: Any) -> Session:
        return await sessions.start_turn(self.tools, self.agent, session_id, said, **over)

    async def turn(self, session_id: str, said: str = "Hello", answered: str = "Hi!", used: Sequence[str] = (), **over: Any) -> Session:
        await self.start(session_id, said, **over)
        return await sessions.end_turn(self.tools, self.agent, session_id, answered, used=used, **over)

    async def end(self, session_id: str, **over: Any) -> Ended:
        return await sessions.end_session(self.tools, self.agent, session_id, **over)

    async def session(self, session_id: str) -> Session:
        async with self.database.read([self.agent]) as db:
            found = await kept.latest(db, self.agent, session_id)
        assert found is not None
        return found

    async def episode(self, session_id: str) -> Episode | None:
        session = await self.session(session_id)
        async with self.database.read([self.agent]) as db:
            return await episodes.get(db, self.agent, session.episode_id) if session.episode_id else None

    async def episodes(self) -> list[Episode]:
        async with self.database.read([self.agent]) as db:
            return await episodes.listed(db, agent=self.agent, inactive=True, limit=None)

    async def words(self, session_id: str) -> list[tuple[str, str]]:
        session = await self.session(session_id)
        async with self.database.read([self.agent]) as db:
            return [(turn.speaker, turn.content) for turn in await kept.turns(db, self.agent, session.session_key)]

    async def letters(self) -> list[EpisodeClosed]:
        async with self.database.queue() as db:
            waiting = await outbox.unpublished(db, before=clock.now() + 1000 * HOUR, limit=100)
        told = [decode(EpisodeClosed, letter.body, "1893456000000-0") for letter in waiting]
        return [event for event in told if isinstance(event, EpisodeClosed)]


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def talk(database: Database, embedder: ScriptedEmbedder, settings: Settings) -> Talk:
    return Talk(Tools(database, embedder, settings))


@pytest.fixture
def strict(talk: Talk) -> Talk:
    """Where a conversation counts by itself after two finished turns only."""
    settings = talk.tools.settings.model_copy(update={"episode_prior_turns": 2})
    return replace(talk, tools=replace(talk.tools, settings=settings))


async def skipped(talk: Talk, embedder: ScriptedEmbedder, session_id: str = "second") -> Episode:
    """A session that begins like another, and so has no episode; gives the other's."""
    embedder.alike(HELLO, HI, 0.97)
    await talk.start("first", HELLO)
    session = await talk.start(session_id, HI)
    assert session.episode_id is None
    other = await talk.episode("first")
    assert other is not None
    return other


# ── 1 to 8: which conversations become episodes ───────────────────────────────────────────────────────────────────────────


async def test_01_the_first_turn_opens_an_episode_with_its_first_words_and_their_vector(talk: Talk, embedder: ScriptedEmbedder) -> None:
    said = "a" * 300
    with clock.held(NOON):
        session = await talk.start("chat", said, frame="conversation")
    episode = await talk.episode("chat")
    assert episode is not None
    assert (episode.active, episode.started_at, episode.ended_at) == (True, NOON, None)
    assert (episode.opening, episode.frame_used, episode.trigger) == (said[:200], "conversation", "user_message")
    assert (session.turn_count, session.user_characters, session.not_opened) == (0, 300, None)
    assert embedder.embedded == [said[:200]]


async def test_02_a_short_second_turn_without_tools_opens_the_episode_that_was_skipped(talk: Talk, embedder: ScriptedEmbedder) -> None:
    """The spec's list says it does not, its final rule says it does; the rule holds (docs/decisions/0013)."""
    with clock.held(NOON):
        await skipped(talk, embedder)
        await sessions.end_turn(talk.tools, "a", "second", "Much.")
    session = await talk.start("second", "ok")
    episode = await talk.episode("second")
    assert episode is not None
    assert (session.not_opened, episode.opening) == (None, HI)
    assert episode.started_at == NOON, "the episode covers the session from its first turn"
    assert embedder.embedded == [HELLO, HI], "its beginning was embedded once, and has its vector for those that come"
    with clock.held(NOON + HOUR):
        third = await talk.start("third", HI)
    assert third.not_opened is not None
    assert str(episode.episode_id) in third.not_opened


async def test_02_where_two_prior_turns_are_asked_for_it_does_not(strict: Talk, embedder: ScriptedEmbedder) -> None:
    await skipped(strict, embedder)
    await sessions.end_turn(strict.tools, "a", "second", "Much.")
    session = await strict.start("second", "ok")
    assert (session.episode_id, session.not_opened) == (None, (await strict.session("second")).not_opened)


@pytest.mark.parametrize(
    ("turns", "used", "answered"),
    [(1, ["search"], "Found."), (2, [], "Yes."), (1, [], "a" * 200)],
    ids=["03 tools were used", "04 a third turn", "05 two hundred characters"],
)
async def test_03_04_05_what_opens_a_later_turn(
    strict: Talk, embedder: ScriptedEmbedder, turns: int, used: list[str], answered: str
) -> None:
    await skipped(strict, embedder)
    await sessions.end_turn(strict.tools, "a", "second", answered, used=used)
    for _ in range(turns - 1):
        await strict.turn("second", "and?", answered)
    assert (await strict.session("second")).episode_id is None
    assert (await strict.start("second", "ok")).episode_id


@pytest.mark.parametrize("said", ["Please REMEMBER THIS: the code is 4711", "merk dir: der Code ist 4711"])
async def test_06_what_is_to_be_remembered_is_no_duplicate(talk: Talk, embedder: ScriptedEmbedder, said: str) -> None:
    talk.tools = replace(talk.tools, settings=talk.tools.settings.model_copy(update={"remember_phrases": ("merk dir",)}))
    embedder.alike(HELLO, said, 0.99)
    await talk.start("first", HELLO)
    assert (await talk.start("second", said)).episode_id
    assert (await talk.end("second")).became == "closed"


async def test_06_a_duplicate_is_opened_once_it_is_asked_to_remember(talk: Talk, embedder: ScriptedEmbedder) -> None:
    await skipped(talk, embedder)
    assert (await talk.start("second", "are you there?")).episode_id is None, "nobody answered yet, so it is still its first turn"
    assert (await talk.start("second", "don't forget my birthday")).episode_id


async def test_07_one_short_turn_is_put_aside_at_the_end_with_all_that_was_said(talk: Talk) -> None:
    await talk.turn("chat", "Hello", "Hi!")
    ended = await talk.end("chat", reflection="They only greeted.")
    episode = await talk.episode("chat")
    assert episode is not None
    assert (ended.became, ended.episode, ended.letters) == ("put_aside", episode, ())
    assert (episode.active, episode.put_aside) == (False, "one turn, no tools, 8 characters of 200, and not to be remembered")
    assert (episode.lessons_learned, episode.ended_at) == (("They only greeted.",), None)
    assert await talk.words("chat") == [("user", "Hello"), ("assistant", "Hi!")]
    assert await talk.letters() == []


async def test_08_anything_more_is_closed_and_told_of_in_the_same_transaction(talk: Talk) -> None:
    with clock.held(NOON):
        await talk.start("chat", "Which database?", frame="decision")
        await sessions.end_turn(talk.tools, "a", "chat", "Postgres.", used=["search", "read", "search"])
    with clock.held(NOON + HOUR):
        ended = await talk.end("chat", reflection="x" * 600, outcome="partial")
    episode = await talk.episode("chat")
    assert episode is not None
    assert (ended.became, ended.episode) == ("closed", episode)
    assert (ended.session.ending, ended.session.ended_at) == ("ended", NOON + HOUR)
    assert (episode.active, episode.ended_at, episode.outcome) == (True, NOON + HOUR, "partial")
    assert (episode.lessons_learned, episode.turn_count, episode.tool_count) == (("x" * 500,), 1, 2)
    (event,) = await talk.letters()
    assert (event.episode_id, event.occurred_at, event.started_at) == (episode.episode_id, NOON + HOUR, NOON)
    assert (event.outcome, event.turn_count, event.tool_count, event.frame_used) == ("partial", 1, 2, "decision")
    assert (event.lessons_learned, event.transcript) == (("x" * 500,), None)


async def test_08_a_single_long_turn_that_was_skipped_gets_its_episode_at_the_end(talk: Talk, embedder: ScriptedEmbedder) -> None:
    await skipped(talk, embedder)
    await sessions.end_turn(talk.tools, "a", "second", "Done.", used=["search"])
    ended = await talk.end("second")
    assert (ended.became, ended.session.not_opened) == ("closed", None)
    assert ended.episode is not None
    assert (ended.episode.opening, ended.episode.outcome, ended.episode.started_at) == (HI, "success", ended.session.started_at)


# ── 9 to 15: duplicates ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_09_a_conversation_like_no_other_opens_its_episode(talk: Talk) -> None:
    await talk.start("first", HELLO)
    assert (await talk.start("second", "My tests fail since Monday.")).episode_id


async def test_10_14_one_that_begins_like_another_opens_none_and_says_which(talk: Talk, embedder: ScriptedEmbedder) -> None:
    other = await skipped(talk, embedder)
    session = await talk.session("second")
    assert session.not_opened == f"it begins like episode {other.episode_id}: cosine 0.9700, and above 0.85 is a duplicate"
    assert [one.episode_id for one in await talk.episodes()] == [other.episode_id]


@pytest.mark.parametrize(("cosine", "is_opened"), [(0.80, True), (0.849, True), (0.852, False)])
async def test_11_only_above_the_embedders_threshold(talk: Talk, embedder: ScriptedEmbedder, cosine: float, is_opened: bool) -> None:
    embedder.alike(HELLO, HI, cosine)
    await talk.start("first", HELLO)
    assert bool((await talk.start("second", HI)).episode_id) is is_opened


@pytest.mark.parametrize(
    "failure",
    [
        Outage("the embedder", "connection refused"),
        EmbeddingRefused("zero", length=5, why="too long"),
        EmbeddingMalformed("zero", "it is NaN"),
        Misconfigured("the model is not installed"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_12_when_the_embedder_fails_it_is_opened_without_a_vector(
    talk: Talk, embedder: ScriptedEmbedder, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder.alike(HELLO, HI, 0.97)
    await talk.start("first", HELLO)

    async def embed(texts: Sequence[str]) -> Vectors:
        raise failure

    with monkeypatch.context() as broken:
        broken.setattr(embedder, "embed", embed)
        assert (await talk.start("second", HI)).episode_id
    async with talk.database.read(["a"]) as db:
        (vector,) = await embedder.embed([HELLO])
        first = await talk.session("first")
        assert await episodes.nearest_opening(db, "a", vector, embedder="zero", since=NOON, until=clock.now()) == (
            first.episode_id,
            pytest.approx(1.0, abs=1e-3),
        )


async def test_12_a_conversation_does_not_wait_for_an_embedder_that_dawdles(
    talk: Talk, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def embed(texts: Sequence[str]) -> Vectors:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    monkeypatch.setattr(embedder, "embed", embed)
    hasty = replace(talk.tools, settings=talk.tools.settings.model_copy(update={"recall_patience_s": 0.01}))
    assert (await replace(talk, tools=hasty).start("chat")).episode_id


async def test_13_episodes_of_another_embedder_are_not_compared(talk: Talk, embedder: ScriptedEmbedder) -> None:
    await talk.start("first", HELLO)
    embedder.name = "another"
    assert (await talk.start("second", HELLO)).episode_id


@pytest.mark.parametrize(("hours", "is_opened"), [(47, False), (49, True)])
async def test_15_only_those_of_the_last_48_hours(talk: Talk, hours: int, is_opened: bool) -> None:
    with clock.held(NOON):
        await talk.start("first", HELLO)
    with clock.held(NOON + hours * HOUR):
        assert bool((await talk.start("second", HELLO)).episode_id) is is_opened


@pytest.mark.parametrize(("later", "is_opened"), [(timedelta(seconds=1), False), (timedelta(minutes=2), True), (8760 * HOUR, True)])
async def test_15_one_that_began_later_is_no_duplicate_unless_they_begin_at_once(talk: Talk, later: timedelta, is_opened: bool) -> None:
    with clock.held(NOON):
        await talk.start("first", HELLO)
        assert bool((await talk.start("imported", HELLO, at=NOON - later)).episode_id) is is_opened


def test_the_48_hours_before_the_first_moment_there_is_are_none() -> None:
    first = datetime.fromisoformat("0001-01-01T00:00:00+00:00")
    assert clock.earlier(first, opening.DUPLICATE_WINDOW) == clock.earlier(first + HOUR, opening.DUPLICATE_WINDOW) == first
    assert clock.earlier(first + 49 * HOUR, opening.DUPLICATE_WINDOW) == first + HOUR
    assert clock.earlier(datetime.fromisoformat("0001-01-01T01:00:00-05:00"), 2 * HOUR) == first + 4 * HOUR


async def test_the_first_conversation_there_can_be_is_kept_as_any_other(talk: Talk) -> None:
    began = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    assert (await talk.turn("chat", HELLO, used=["search"], at=began)).started_at == began
    assert (await talk.start("other", HELLO, at=began)).episode_id is None, "it is a duplicate of the first"
    ended = await talk.end("chat", at=began)
    assert ended.episode is not None
    assert (ended.became, ended.episode.started_at, ended.episode.ended_at) == ("closed", began, began)


async def test_what_was_put_aside_makes_no_duplicates(talk: Talk) -> None:
    await talk.turn("first", HELLO)
    await talk.end("first")
    assert (await talk.start("second", HELLO)).episode_id


async def test_the_other_conversations_row_is_never_touched(talk: Talk, embedder: ScriptedEmbedder) -> None:
    before = await skipped(talk, embedder)
    for _ in range(2):
        await talk.turn("second", HI, "a" * 300, used=["search"])
    ended = await talk.end("second", reflection="It went well.")
    assert ended.episode is not None
    assert ended.episode.episode_id != before.episode_id
    assert await talk.episode("first") == before


async def test_a_duplicate_that_stays_one_short_turn_has_no_episode_and_keeps_its_words(talk: Talk, embedder: ScriptedEmbedder) -> None:
    await skipped(talk, embedder)
    ended = await talk.end("second")
    assert (ended.became, ended.episode, ended.letters) == ("no_episode", None, ())
    assert await talk.words("second") == [("user", HI)]


@pytest.mark.parametrize("blank", ["", " \n", "\u200b"])
async def test_words_that_say_nothing_are_compared_with_nothing(talk: Talk, embedder: ScriptedEmbedder, blank: str) -> None:
    assert (await talk.start("first", blank)).episode_id
    assert (await talk.start("second", blank)).episode_id
    assert embedder.embedded == []


# ── what is kept ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_counts_turns_tools_and_what_each_side_said(talk: Talk) -> None:
    await talk.turn("chat", "12345", "123", used=["search", " "])
    session = await talk.turn("chat", "12", "1", used=["read", "search"])
    assert (session.turn_count, session.tools) == (2, ("search", "read"))
    assert (session.user_characters, session.assistant_characters) == (7, 4)


async def test_what_was_recalled_into_a_conversation_is_not_what_was_said(talk: Talk, embedder: ScriptedEmbedder) -> None:
    said = fence.recalled(["Remember this: the code is 4711. " * 20]) + "Hello"
    await talk.start("chat", said)
    session = await sessions.end_turn(talk.tools, "a", "chat", fence.recalled(["x" * 300]))
    assert (session.user_characters, session.assistant_characters, session.asked_to_remember) == (5, 0, False)
    assert embedder.embedded == ["Hello"]
    assert (await talk.words("chat"))[0] == ("user", said), "it is kept word for word all the same"
    assert (await talk.end("chat")).became == "put_aside"


async def test_a_turn_that_is_reported_again_counts_once(talk: Talk) -> None:
    for _ in range(2):
        await talk.turn("chat", "Hello", "Hi!", used=["search"], turn_id="1")
    session = await talk.session("chat")
    assert (session.turn_count, session.user_characters, session.assistant_characters) == (1, 5, 3)
    assert await talk.words("chat") == [("user", "Hello"), ("assistant", "Hi!")]


@pytest.mark.parametrize(("said", "later"), [("Good morning", timedelta()), ("Hello", 24 * HOUR)], ids=["other words", "the next day"])
async def test_the_next_session_of_the_same_id_numbers_its_turns_anew(talk: Talk, said: str, later: timedelta) -> None:
    with clock.held(NOON):
        first = await talk.turn("chat", turn_id="1")
        await talk.end("chat")
    with clock.held(NOON + later):
        second = await talk.turn("chat", said, f"{said}!", turn_id="1")
    assert (second.turn_count, second.session_key != first.session_key) == (1, True)
    assert await talk.words("chat") == [("user", said), ("assistant", f"{said}!")]


async def test_a_conversation_that_is_told_again_after_its_end_is_kept_once(talk: Talk) -> None:
    told = [("1", "I live in Oslo.", "Noted."), ("2", "I only drink green tea.", "Noted, too.")]
    sessions_of_it = set()
    for _ in range(2):
        for turn_id, said, answered in told:
            sessions_of_it.add((await talk.turn("chat", said, answered, turn_id=turn_id)).session_key)
        ended = await talk.end("chat", reflection="Ask first.")
        assert (ended.session.turn_count, ended.session.user_characters) == (2, 38)
    assert ended.became == "ended_before"
    assert len(sessions_of_it) == len(await talk.episodes()) == len(await talk.letters()) == 1
    assert await talk.words("chat") == [
        ("user", "I live in Oslo."),
        ("assistant", "Noted."),
        ("user", "I only drink green tea."),
        ("assistant", "Noted, too."),
    ]
    with pytest.raises(UserMistake, match="was reported before with other words"):
        await sessions.end_turn(talk.tools, "a", "chat", "Never mind.", turn_id="2")
    anew = await talk.start("chat", "I only drink green tea.", turn_id="3")
    assert anew.session_key not in sessions_of_it


async def test_an_import_that_is_run_again_days_later_is_the_same_conversation_by_its_moments(talk: Talk) -> None:
    for later in (timedelta(), 240 * HOUR):
        with clock.held(NOON + later):
            for at, said in enumerate(("I live in Oslo.", "I only drink green tea.")):
                await talk.turn("chat", said, "Noted.", turn_id=str(at), at=NOON - (100 - at) * HOUR)
            ended = await talk.end("chat")
            assert (ended.session.turn_count, len(await talk.episodes())) == (2, 1)
    assert ended.became == "ended_before"


@pytest.mark.parametrize("how", ["ended", "abandoned"])
async def test_an_answer_that_comes_after_the_end_is_in_the_summary_of_its_own_session(
    silent: Talk, summarizer: Bench, mind: WritingMind, how: str
) -> None:
    with clock.held(NOON):
        await silent.turn("chat", "I live in Oslo.", "Noted.", used=["calendar"], turn_id="1")
        session = await silent.start("chat", "Which ferry goes to Nesodden?", turn_id="2")
    with clock.held(NOON + 2 * HOUR):
        (ended,) = await sessions.close_silent(silent.tools) if how == "abandoned" else [await silent.end("chat")]
        assert ended.became == "closed"
        await summarizer.work(*await silent.letters())
        summarised = await silent.episode("chat")
        for _ in range(2):
            late = await sessions.end_turn(silent.tools, "a", "chat", "The B10 from Aker Brygge.", used=["search"], turn_id="2")
            assert (late.session_key, late.ending, late.turn_count, late.tools) == (session.session_key, how, 2, ("calendar", "search"))
    assert summarised is not None
    first, again = sorted(await silent.letters(), key=lambda one: one.turn_count or 0)
    assert (first.episode_id, again.episode_id, again.turn_count) == (late.episode_id, late.episode_id, 2)
    mind.fields["summary"] = "Maria takes the B10."
    await summarizer.work(again)
    episode = await silent.episode("chat")
    assert episode is not None
    assert (summarised.summary == episode.summary, episode.summary) == (False, "Maria takes the B10.")
    assert [one.content for one in mind.put[-1].about.utterances][-1] == "The B10 from Aker Brygge."
    assert len(await silent.episodes()) == 1


@pytest.mark.parametrize(("answered", "became"), [("Hi!", False), ("Hello! " * 100, True)], ids=["still too little", "more than that"])
async def test_an_answer_that_comes_after_the_end_decides_whether_it_was_too_little(talk: Talk, answered: str, became: bool) -> None:
    await talk.start("chat", "Hello", turn_id="1")
    assert (await talk.end("chat")).became == "put_aside"
    await sessions.end_turn(talk.tools, "a", "chat", answered, turn_id="1")
    episode = await talk.episode("chat")
    assert episode is not None
    assert (episode.active, episode.put_aside is None, len(await talk.letters())) == (became, became, int(became))
    assert await talk.words("chat") == [("user", "Hello"), ("assistant", answered)]


@pytest.mark.parametrize(
    ("said", "kept_as"),
    [
        ("a\x00b", "ab"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("a" * 2**20, "a" * 2**20),
        ("'); DROP TABLE heart.turns; --", "'); DROP TABLE heart.turns; --"),
        ("line\r\n\ttab 🙂 記住", "line\r\n\ttab 🙂 記住"),
    ],
    ids=["NUL", "lone surrogate", "pair", "1 MiB", "SQL", "mixed"],
)
async def test_odd_text_is_kept_as_far_as_postgres_takes_it(talk: Talk, said: str, kept_as: str) -> None:
    await talk.turn("chat", said, said, used=["a\x00tool"])
    assert await talk.words("chat") == [("user", kept_as), ("assistant", kept_as)]
    assert (await talk.end("chat", reflection=said, outcome=said[:50])).became == "closed"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"agent": ""}, "the agent '' does not do"),
        ({"agent": "a\x00"}, "the agent"),
        ({"agent": "\ud800"}, "the agent"),
        ({"session_id": " "}, "the session ' ' does not do"),
        ({"session_id": "x" * 257}, "1 to 256 characters"),
        ({"session_id": "a\x00"}, "no NUL"),
        ({"turn_id": "\udfff"}, "the turn"),
        ({"at": datetime.fromisoformat("2026-03-01T00:00:00")}, "has no time zone"),
        ({"at": datetime.fromisoformat("0001-01-01T00:00:00+14:00")}, "outside the years"),
        (
            {"at": datetime.fromisoformat("0001-01-01T00:00:00+00:00")},
            "lies before 1970, so nobody set it, most likely; leave the time out",
        ),
        ({"at": datetime.fromisoformat("1969-12-31T23:59:59+00:00")}, "lies before 1970"),
        ({"said": "a" * (2**20 + 1)}, "1,048,577 characters and the limit is 1,048,576"),
        ({"frame": "x" * 1001}, "the frame has 1,001 characters"),
    ],
    ids=lambda case: next(iter(case)) if isinstance(case, dict) else "",
)
async def test_what_does_not_do_is_refused_in_words(talk: Talk, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(UserMistake, match=why):
        await sessions.start_turn(talk.tools, **{"agent": "a", "session_id": "chat", "said": "Hello"} | wrong)


async def test_a_time_ahead_of_the_clock_is_taken_as_five_minutes_ahead(talk: Talk) -> None:
    with clock.held(NOON):
        session = await talk.start("chat", at=NOON + 1000 * HOUR)
    assert session.last_at == NOON + timedelta(minutes=5)


async def test_a_session_goes_on_after_a_restart(talk: Talk, database_url: str) -> None:
    await talk.turn("chat", "Hello")
    other = Database(database_url, pool=1)
    restarted = Talk(Tools(other, ScriptedEmbedder(), talk.tools.settings))
    session = await restarted.turn("chat", "And now?")
    assert session.turn_count == 2
    assert (await restarted.end("chat")).became == "closed"
    await other.close()


async def test_two_starts_at_once_are_one_session_with_one_episode(talk: Talk) -> None:
    one, other = await asyncio.gather(talk.start("chat", "Hello"), talk.start("chat", "Hello"))
    assert (one.session_key, one.episode_id) == (other.session_key, other.episode_id)
    assert len(await talk.episodes()) == 1
    assert (await talk.session("chat")).user_characters == 10


async def test_two_conversations_that_begin_alike_at_once_are_one_episode(talk: Talk) -> None:
    begun = await asyncio.gather(talk.start("first", HELLO), talk.start("second", HELLO))
    assert sorted(bool(session.episode_id) for session in begun) == [False, True]


async def test_agents_are_apart(talk: Talk) -> None:
    other = Talk(talk.tools, agent="b")
    await talk.turn("chat", HELLO)
    await other.turn("chat", HELLO)
    await talk.turn("chat")
    assert ((await talk.session("chat")).turn_count, (await other.session("chat")).turn_count) == (2, 1)
    assert (await other.session("chat")).episode_id, "another agent's conversation is no duplicate"
    assert (await talk.end("chat")).became == "closed"
    assert (await other.session("chat")).ended_at is None


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_that_was_never_reported_is_not_ended(talk: Talk) -> None:
    with pytest.raises(UserMistake, match="agent 'a' has no session 'chat'"):
        await talk.end("chat")


async def test_ending_twice_publishes_once_and_says_so(talk: Talk) -> None:
    await talk.turn("chat")
    await talk.turn("chat")
    first, again = await asyncio.gather(*(talk.end("chat", reflection="Ask first.", outcome="partial") for _ in range(2)))
    assert sorted([first.became, again.became]) == ["closed", "ended_before"]
    assert again.episode == first.episode
    assert len(await talk.letters()) == 1


@pytest.mark.parametrize("late", [{"reflection": "Too late."}, {"outcome": "failure"}])
async def test_a_lesson_that_comes_after_the_end_is_not_kept_and_the_answer_says_so(talk: Talk, late: dict[str, str]) -> None:
    await talk.turn("chat", used=["search"])
    first = await talk.end("chat", reflection="Ask first.")
    again = await talk.end("chat", **late)
    assert (again.became, again.episode) == ("not_kept", first.episode)


async def test_the_workers_sweep_publishes_that_it_closed(talk: Talk, redis: Redis) -> None:
    with clock.held(NOON):
        await talk.turn("chat", used=["search"])
        ended = await talk.end("chat")
    assert ended.episode is not None
    listening = {EpisodeClosed.stream: ("episode_summarizer",)}
    sweeping = sweep.Sweep(talk.database, redis, listening)
    assert await sweeping.round() == 1
    ((_, fields),) = await redis.xrange(EpisodeClosed.stream)
    assert json.loads(fields[b"data"])["episode_id"] == str(ended.episode.episode_id)
    assert await sweeping.round() == 0


@pytest.fixture
def silent(talk: Talk) -> Talk:
    """Given up after an hour."""
    assert talk.tools.settings.session_silence_s == 3600
    return talk


async def test_a_silent_session_is_settled_as_of_what_was_said_last(silent: Talk) -> None:
    with clock.held(NOON):
        await silent.turn("work", used=["search"])
        await silent.turn("greeting", "Moin", "Moin!")
    with clock.held(NOON + HOUR):
        assert await sessions.close_silent(silent.tools) == []
    with clock.held(NOON + 2 * HOUR):
        await silent.turn("lively", "What about lunch?")
        ended = await sessions.close_silent(silent.tools)
    assert {one.session.session_id: one.became for one in ended} == {"work": "closed", "greeting": "put_aside"}
    work = await silent.session("work")
    assert (work.ending, work.ended_at) == ("abandoned", NOON)
    (event,) = await silent.letters()
    assert (event.episode_id, event.occurred_at) == (work.episode_id, NOON)
    assert (await silent.session("lively")).ended_at is None


async def test_two_that_close_silent_sessions_at_once_settle_each_once(silent: Talk) -> None:
    with clock.held(NOON):
        for number in range(4):
            await silent.turn(f"chat {number}", f"Question {number}", used=["search"])
    with clock.held(NOON + 2 * HOUR):
        both = await asyncio.gather(sessions.close_silent(silent.tools), sessions.close_silent(silent.tools))
    assert sorted(one.session.session_id for ended in both for one in ended) == [f"chat {number}" for number in range(4)]
    assert len(await silent.letters()) == 4


async def test_a_session_that_is_heard_of_again_is_not_given_up(silent: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    with clock.held(NOON):
        await silent.turn("chat", used=["search"])
    found = await silent.session("chat")
    with clock.held(NOON + 2 * HOUR):
        await silent.turn("chat")

        async def stale(db: object, **_: object) -> list[Session]:
            return [found]

        monkeypatch.setattr(kept, "silent", stale)
        assert await sessions.close_silent(silent.tools) == []


@pytest.mark.parametrize("page", [1, 2, 100])
async def test_sessions_that_cannot_be_ended_do_not_keep_the_others_however_many_they_are(
    silent: Talk, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    with clock.held(NOON):
        await silent.turn("broken", "Hello", used=["search"])
        await silent.turn("broken too", "Hello", used=["search"], at=NOON - 100 * HOUR)
    with clock.held(NOON + timedelta(seconds=1)):
        await silent.turn("sound", "Bye", used=["search"])
    closing = ending.closing

    def closing_sound(episode: Episode, **_: object) -> EpisodeClosed:
        if episode.opening == "Hello":
            raise ValueError("no such luck")
        return closing(episode)

    monkeypatch.setattr(ending, "closing", closing_sound)
    monkeypatch.setattr(sessions, "SILENT_AT_ONCE", page)
    with clock.held(NOON + 2 * HOUR):
        assert [one.session.session_id for one in await sessions.close_silent(silent.tools, limit=page)] == ["sound"]
    assert (await silent.session("broken")).ended_at is None


async def test_no_more_silent_sessions_are_ended_at_once_than_asked_for(silent: Talk) -> None:
    with clock.held(NOON):
        for number in range(3):
            await silent.turn(f"chat {number}", f"Question {number}", used=["search"])
    with clock.held(NOON + 2 * HOUR):
        assert [len(await sessions.close_silent(silent.tools, limit=2)) for _ in range(3)] == [2, 1, 0]


async def test_an_old_conversation_that_is_reported_today_is_not_silent(silent: Talk) -> None:
    with clock.held(NOON):
        await silent.turn("chat", at=NOON - 10_000 * HOUR)
        assert await sessions.close_silent(silent.tools) == []
    with clock.held(NOON + 2 * HOUR):
        (ended,) = await sessions.close_silent(silent.tools)
    assert ended.session.ended_at == NOON - 10_000 * HOUR


async def test_a_session_that_was_given_up_still_takes_the_lesson_it_was_owed_once(silent: Talk) -> None:
    with clock.held(NOON):
        await silent.turn("chat", used=["search"])
    with clock.held(NOON + 2 * HOUR):
        await sessions.close_silent(silent.tools)
        bare = await silent.end("chat")
        ended = await silent.end("chat", reflection="Ask first.", outcome="failure")
        again = await silent.end("chat", reflection="Ask first.", outcome="failure")
        other = await silent.end("chat", reflection="Another.")
    assert [one.became for one in (bare, ended, again, other)] == ["ended_before", "amended", "ended_before", "not_kept"]
    assert ended.episode is not None
    assert (ended.episode.lessons_learned, ended.episode.outcome, ended.session.ending) == (("Ask first.",), "failure", "ended")
    assert again.episode == other.episode == ended.episode
    assert len(await silent.letters()) == 1


async def test_a_session_that_was_given_up_without_an_episode_gets_one_for_its_lesson(silent: Talk, embedder: ScriptedEmbedder) -> None:
    with clock.held(NOON):
        await skipped(silent, embedder)
    with clock.held(NOON + 2 * HOUR):
        await sessions.close_silent(silent.tools)
        late = await silent.end("second", outcome="failure")
        ended = await silent.end("second", reflection="Ask first.", outcome="failure")
        again = await silent.end("second", reflection="Ask first.", outcome="failure")
    assert [one.became for one in (late, ended, again)] == ["not_kept", "amended", "ended_before"]
    episode = await silent.episode("second")
    assert episode is not None
    assert (episode.lessons_learned, episode.outcome, episode.active) == (("Ask first.",), "failure", False)
    assert ended.episode == again.episode == episode
    assert (await silent.session("second")).ended_at == NOON


async def test_a_session_that_ends_without_an_episode_gets_one_for_its_lesson(talk: Talk, embedder: ScriptedEmbedder) -> None:
    await skipped(talk, embedder)
    ended = await talk.end("second", reflection="They only greeted.")
    assert (ended.became, ended.episode) == ("put_aside", await talk.episode("second"))
    assert ended.episode is not None
    assert ended.episode.lessons_learned == ("They only greeted.",)


async def test_after_a_long_silence_an_answer_begins_the_session_anew(silent: Talk) -> None:
    with clock.held(NOON):
        await silent.start("chat", "Can you look into it?")
    with clock.held(NOON + 2 * HOUR):
        await sessions.close_silent(silent.tools)
        session = await sessions.end_turn(silent.tools, "a", "chat", "I did.", used=["search"])
        assert (session.turn_count, session.started_at, session.episode_id) == (1, NOON + 2 * HOUR, None)
        ended = await silent.end("chat")
    assert ended.episode is not None
    assert (ended.became, ended.episode.opening) == ("closed", None)


# ── an episode that its agent closed while the session was open ───────────────────────────────────────────────────────────


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind()


@pytest.fixture
def summarizer(kit: Kit, redis: Redis, mind: WritingMind) -> Bench:
    kit = replace(kit, mind=mind)
    return Bench(Life(workers.table()["episode_summarizer"], kit, redis, "by-hand"), kit, redis)


async def close(talk: Talk, session_id: str, summarizer: Bench, **over: Any) -> Episode:
    """What its agent publishes of a session's episode, summarised; gives that as it is then."""
    episode = await talk.episode(session_id)
    assert episode is not None
    own = {"outcome": "failure", "lessons_learned": ["Ask first."], "turn_count": 9, "tool_count": 7, "occurred_at": clock.now()} | over
    await summarizer.work(an_episode_closed(agent_id="a", episode_id=episode.episode_id, started_at=episode.started_at, **own))
    closed = await talk.episode(session_id)
    assert closed is not None
    return closed


@pytest.mark.parametrize("used", [[], ["search"]], ids=["too little", "more"])
@pytest.mark.parametrize("is_given_up", [True, False], ids=["given up", "ended"])
async def test_what_a_summarised_episode_has_is_kept_when_its_session_ends(
    silent: Talk, summarizer: Bench, used: list[str], is_given_up: bool
) -> None:
    with clock.held(NOON):
        await silent.turn("chat", used=used)
        closed = await close(silent, "chat", summarizer)
    assert (closed.written_by, closed.outcome) == ("mind", "failure")
    with clock.held(NOON + 2 * HOUR):
        (ended,) = await sessions.close_silent(silent.tools) if is_given_up else [await silent.end("chat")]
    assert (ended.became, ended.letters) == ("closed_before", ())
    assert ended.session.ended_at == (NOON if is_given_up else NOON + 2 * HOUR)
    assert ended.episode == await silent.episode("chat") == replace(closed, recorded_at=NOON + 2 * HOUR)
    assert (closed.lessons_learned, closed.turn_count, closed.tool_count) == (("Ask first.", "Ask for the date first."), 9, 7)


async def test_what_the_end_says_is_added_to_what_a_summarised_episode_has(talk: Talk, summarizer: Bench) -> None:
    with clock.held(NOON):
        await talk.turn("chat", used=["search"])
        await close(talk, "chat", summarizer, turn_count=0, tool_count=0)
        ended = [await talk.end("chat", reflection="Ask first.", outcome="partial")]
        await talk.turn("other", "My tests fail.", used=["search"])
        await close(talk, "other", summarizer)
        ended.append(await talk.end("other", reflection="Look twice."))
    one, other = (each.episode for each in ended)
    assert one is not None
    assert other is not None
    assert (one.outcome, one.lessons_learned) == ("partial", ("Ask first.", "Ask for the date first."))
    assert (one.turn_count, one.tool_count, one.ended_at) == (1, 1, NOON)
    assert (other.outcome, other.lessons_learned) == ("failure", ("Ask first.", "Ask for the date first.", "Look twice."))


async def test_an_episode_that_its_agent_closed_and_that_waits_for_its_summary_is_not_put_aside(
    talk: Talk, summarizer: Bench, mind: WritingMind
) -> None:
    with clock.held(NOON):
        await talk.turn("chat")
        mind.broken = MindAway("busy")
        closed = await close(talk, "chat", summarizer)
        ended = await talk.end("chat")
    assert (closed.ended_at, closed.settled_by) == (NOON, None)
    assert (ended.became, ended.episode) == ("closed", closed)
    assert [event.outcome for event in await talk.letters()] == ["failure"]


@pytest.mark.parametrize("how", ["said later", "reported later"])
async def test_what_is_said_after_the_summary_is_in_a_new_one(talk: Talk, summarizer: Bench, mind: WritingMind, how: str) -> None:
    with clock.held(NOON):
        await talk.turn("chat", "I live in Oslo.")
        closed = await close(talk, "chat", summarizer)
    with clock.held(NOON + HOUR):
        await talk.turn("chat", "I only drink green tea.", at=NOON + HOUR if how == "said later" else NOON)
        ended = await talk.end("chat", at=NOON + HOUR if how == "said later" else NOON)
    assert ended.became == "closed_again"
    assert ended.episode is not None
    assert (ended.episode.summary, ended.episode.settled_by) == (closed.summary, None), "it has its summary until there is another"
    assert ended.episode.ended_at == (NOON + HOUR if how == "said later" else NOON)
    mind.fields["summary"] = "Maria also drinks tea."
    await summarizer.work(*await talk.letters())
    anew = await talk.episode("chat")
    assert anew is not None
    assert (anew.summary, anew.written_by, anew.model, anew.outcome) == ("Maria also drinks tea.", "mind", "scripted", "failure")
    assert [one.content for one in mind.put[-1].about.utterances if one.speaker == "user"] == ["I live in Oslo.", "I only drink green tea."]


async def test_a_summary_that_came_with_the_event_stays_though_the_session_went_on(
    talk: Talk, summarizer: Bench, mind: WritingMind
) -> None:
    with clock.held(NOON):
        await talk.turn("chat", "I live in Oslo.")
        await close(talk, "chat", summarizer, summary="She moved.")
    with clock.held(NOON + HOUR):
        await talk.turn("chat", "I only drink green tea.")
        assert (await talk.end("chat")).became == "closed_again"
    await summarizer.work(*await talk.letters())
    episode = await talk.episode("chat")
    assert episode is not None
    assert (episode.summary, episode.written_by) == ("She moved.", "producer")
    assert "I only drink green tea." in [one.content for one in mind.put[-1].about.utterances], "its facts are asked for"


# ── small talk, and what brings it back ───────────────────────────────────────────────────────────────────────────────────


def told(episode_id: UUID, agent: str = "a") -> EpisodeRestored:
    fields = {"event_id": str(ids.new()), "agent_id": agent, "occurred_at": clock.now(), "episode_id": episode_id, "reason": "It matters."}
    return EpisodeRestored.model_validate(fields)


async def test_what_is_restored_is_whole_and_closed_as_its_session_was(talk: Talk) -> None:
    with clock.held(NOON):
        await talk.turn("chat", "Hello", "Hi!")
        aside = (await talk.end("chat", reflection="Shy.", outcome="partial")).episode
    assert aside is not None
    event = told(aside.episode_id)
    async with talk.database.write(["a"]) as db:
        before, after, follows = await ending.restore(db, event)
    assert (before, await talk.episode("chat")) == (aside, after)
    assert (after.active, after.put_aside, after.ended_at, after.recorded_by) == (True, None, NOON, event.event_id)
    (closed,) = follows
    assert (closed.episode_id, closed.occurred_at, closed.caused_by) == (aside.episode_id, NOON, event.event_id)
    assert (closed.outcome, closed.lessons_learned, closed.turn_count) == ("partial", ("Shy.",), 1)
    async with talk.database.write(["a"]) as db:
        with pytest.raises(UserMistake, match="is active, so there is nothing to restore"):
            await ending.restore(db, told(aside.episode_id))


@pytest.mark.parametrize(
    ("how", "is_told"),
    [({}, False), ({"ended_at": NOON}, True), ({"ended_at": NOON, "settled_by": "event"}, False)],
    ids=["its session goes on", "closed and never summarised", "summarised"],
)
async def test_what_is_restored_is_told_of_when_its_summary_is_owed(talk: Talk, how: dict[str, Any], is_told: bool) -> None:
    session = await talk.start("chat")
    aside = an_episode(agent_id="a", session_key=session.session_key, active=False, put_aside="x", **how)
    async with talk.database.write(["a"]) as db:
        await episodes.put(db, aside)
        _, after, follows = await ending.restore(db, told(aside.episode_id))
    assert (after.active, after.ended_at, bool(follows)) == (True, aside.ended_at, is_told)


async def test_another_agents_episode_is_not_restored(talk: Talk) -> None:
    session = await talk.start("chat")
    assert session.episode_id is not None
    async with talk.database.write(["b"]) as db:
        with pytest.raises(UserMistake, match="agent 'b' has no episode"):
            await ending.restore(db, told(session.episode_id, "b"))


def test_there_are_sixty_in_ten_languages() -> None:
    assert len({exchange.said for exchange in SMALL_TALK}) == 60
    assert len({exchange.language for exchange in SMALL_TALK}) == 10


@pytest.mark.parametrize("exchange", SMALL_TALK, ids=lambda exchange: f"{exchange.language}: {exchange.said}")
def test_small_talk_of_one_turn_is_trivial(exchange: Exchange) -> None:
    known = significance.Session(
        turns=1,
        user_characters=len(exchange.said),
        assistant_characters=len(exchange.answered),
        asked_to_remember=significance.asks_to_remember(exchange.said),
    )
    assert significance.is_trivial(known)


@pytest.mark.parametrize("exchange", SMALL_TALK[::6], ids=lambda exchange: exchange.language)
async def test_small_talk_is_put_aside_and_none_of_it_is_lost(talk: Talk, exchange: Exchange) -> None:
    await talk.turn("chat", exchange.said, exchange.answered)
    ended = await talk.end("chat")
    assert ended.became == "put_aside"
    assert await talk.words("chat") == [("user", exchange.said), ("assistant", exchange.answered)]
    assert ended.episode is not None
    async with talk.database.write(["a"]) as db:
        _, after, follows = await ending.restore(db, told(ended.episode.episode_id))
    assert (after.active, after.opening, len(follows)) == (True, exchange.said, 1)
