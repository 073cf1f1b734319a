"""What tests of episodes share: a mind that writes what it is told to, a conversation it can be told about, and what became of that."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from events import EpisodeClosed, EpisodeUnsettled
from nous import clock, ids
from providers.mind import A, Comparison, Question, Reply
from store import episodes, sessions
from store.episodes import Episode
from tests.factories import NOON, a_session, a_turn, an_episode, an_episode_closed, an_id
from tests.store.conftest import run
from tests.workers.conftest import Bench, Memory, ScriptedMind
from workers.runtime.alone import Alone
from workers.runtime.life import Life
from workers.runtime.worker import Kit

TITLE = "Maria moves house and plans a trip"
SUMMARY = "Maria told the assistant that she moved, and they planned a trip; it ended well."


def a_fact(content: str, quote: str | None = None, **over: Any) -> dict[str, Any]:
    return {"content": content, "quote": content if quote is None else quote, "confidence": 0.9, "subject": "Maria", **over}


AGENT = "agent-1"
OSLO, TEA = "I live in Oslo.", "I only drink green tea."
TALK = f"User: {OSLO} {TEA}\nAssistant: You should book flight SK 4610."
LIVES = a_fact("Maria lives in Oslo.", OSLO, attribute="home")
DRINKS = a_fact("Maria drinks only green tea.", TEA)
FLIES = a_fact("Maria should book flight SK 4610.", "You should book flight SK 4610.")


class WritingMind(ScriptedMind):
    """Of a conversation it gives those of its facts whose quote is in the turns it is asked about, and those that are `invented`.

    `broken` is raised instead of an answer; `gate` is waited for before one. Of two facts it says what it was told to.
    """

    def __init__(self, *facts: dict[str, Any], invented: Sequence[dict[str, Any]] = (), **fields: Any) -> None:
        super().__init__()
        self.facts = list(facts)
        self.invented = list(invented)
        self.fields = {
            "title": TITLE,
            "summary": SUMMARY,
            "notes": "Some notes.",
            "outcome": "done",
            "lessons": ["Ask for the date first."],
            "decisions": [],
        } | fields
        self.put: list[Question[Any]] = []
        self.gate: asyncio.Event | None = None
        self.at_once = self.most_at_once = 0

    async def ask(self, question: Question[A]) -> Reply[A]:
        if isinstance(question.about, Comparison):
            return await super().ask(question)
        self.put.append(question)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await (self.gate.wait() if self.gate else asyncio.sleep(0))
        finally:
            self.at_once -= 1
        if self.broken:
            raise self.broken
        said = "\n".join(one.content for one in question.about.utterances)
        fields = self.fields | {"facts": [fact for fact in self.facts if fact["quote"] in said] + self.invented}
        given = question.answer.model_validate({name: fields[name] for name in question.answer.model_fields})
        question.check(given)
        return Reply(given, tokens_in=100, tokens_out=10, milliseconds=5)


def closed(transcript: str | None = TALK, **over: Any) -> EpisodeClosed:
    return an_episode_closed(**{"agent_id": AGENT, "transcript": transcript} | over)


def unsettled(episode_id: UUID, **over: Any) -> EpisodeUnsettled:
    fields = {"event_id": str(ids.new()), "agent_id": AGENT, "occurred_at": NOON, "episode_id": episode_id, "why": "asked_again"}
    return EpisodeUnsettled.model_validate(fields | over)


async def episode(kit: Kit, event: EpisodeClosed) -> Episode:
    async with kit.database.read([event.agent_id]) as db:
        found = await episodes.get(db, event.agent_id, event.episode_id)
    assert found is not None
    return found


async def rows(kit: Kit, sql: str, **values: Any) -> list[Any]:
    async with kit.database.overview() as db:
        return await run(db, sql, **values)


async def waiting(kit: Kit) -> list[str]:
    """Why each delivery waits."""
    return await rows(kit, "SELECT reason FROM bus.retries")


async def learned(bench: Bench) -> list[dict[str, Any]]:
    """Every fact that was published, by its words."""
    return sorted(await bench.published("fact_learned"), key=lambda fact: fact["content"])


async def deduplicated(memory: Memory) -> None:
    """Work the facts that were published since, and all that follows from them."""
    await memory._work(memory.benches["deduplicator"])
    await memory.settle()


async def reported(kit: Kit, *turns: tuple[str, str], **over: Any) -> Episode:
    """An episode whose session's turns were reported, a minute apart."""
    session = a_session(agent_id=AGENT, episode_id=an_id())
    row = an_episode(agent_id=AGENT, episode_id=session.episode_id, session_key=session.session_key, **over)
    async with kit.database.write([AGENT]) as db:
        await sessions.put(db, session)
        await episodes.put(db, row)
        for at, (speaker, content) in enumerate(turns, 1):
            turn = a_turn(session, position=at, speaker=speaker, content=content, said_at=NOON + timedelta(minutes=at))
            await sessions.add_turn(db, turn)
    return row


class Later:
    """Another process of a worker, which works what waits and is due `after` so long."""

    def __init__(self, bench: Bench, **changes: Any) -> None:
        self.life = Life(bench.life.worker, replace(bench.life.kit, **changes), bench.redis, "another")

    async def resume(self, *, after: timedelta = timedelta(hours=2)) -> None:
        with clock.held(clock.now() + after):
            while await Alone(self.life).work_together():
                pass
            while await Alone(self.life).work_one():
                pass
