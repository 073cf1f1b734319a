"""The API, served over real HTTP beside a store of the test's own, with tokens for two agents."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
from redis.asyncio import Redis

import workers
from nous import clock, ids
from nous.api.application import application
from nous.api.service import Service, opened
from nous.settings import Settings
from store import censors, decisions, episodes, facts, passages, procedures, tokens
from store.database import Database
from store.facts import Fact
from store.tokens import Token
from tests.factories import NOON, a_censor, a_decision, a_fact, a_procedure, an_episode
from workers.runtime.archivist import Archivist
from workers.runtime.life import Life
from workers.runtime.serve import serving
from workers.runtime.streams import Entry
from workers.runtime.worker import Kit

MINE, OTHER = "agent-1", "agent-2"


@dataclass
class Api:
    """A client for each agent, one without a token, and what is served."""

    service: Service
    url: str
    mine: httpx.AsyncClient
    other: httpx.AsyncClient
    nobody: httpx.AsyncClient

    async def post(self, path: str, body: object, status: int = 200, **more: Any) -> Any:
        """What my agent's request is answered."""
        answer = await self.mine.post(path, json=body, **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, path: str, status: int = 200, **query: Any) -> Any:
        """What my agent's request is answered."""
        answer = await self.mine.get(path, params=query)
        assert answer.status_code == status, answer.text
        return answer.json()


@asynccontextmanager
async def served(settings: Settings, database_url: str, redis_url: str, *, is_open: bool = False) -> AsyncIterator[Api]:
    """The API, for the block."""
    async with (
        opened(settings, database_url, redis_url, is_open=is_open) as service,
        serving(application(service), host="127.0.0.1", port=0) as url,
        _client(url, await token(service.database, MINE)) as mine,
        _client(url, await token(service.database, OTHER)) as other,
        _client(url) as nobody,
    ):
        yield Api(service, url, mine, other, nobody)


def _client(url: str, held: str | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {held}"} if held else {}, timeout=60)


async def token(database: Database, agent: str, **over: Any) -> str:
    """A token of this agent."""
    held = tokens.secret()
    made = Token(**{"agent_id": agent, "token_id": ids.new(), "name": "", "digest": tokens.digest(held), "created_at": clock.now()} | over)
    async with database.notes([agent]) as db:
        await tokens.insert(db, made)
    return held


@dataclass
class Hands:
    """Every worker and the archivist, worked by hand until nothing is left to do."""

    kit: Kit
    redis: Redis

    def __post_init__(self) -> None:
        self.read: dict[str, str] = {}
        self.lives = {name: Life(one, self.kit, self.redis, "by-hand") for name, one in workers.table().items()}
        self.archivist = Archivist(self.kit, self.redis, "by-hand", workers.consumers())

    async def settle(self, streams: Sequence[str]) -> None:
        """Work what stands in these streams, and what follows from it in these."""
        while any([await self._work(stream) for stream in streams]):
            pass

    async def _work(self, stream: str) -> bool:
        found = await self.redis.xrange(stream, min=f"({self.read.get(stream, '0')}")
        if not found:
            return False
        entries = [Entry(entry_id.decode(), fields) for entry_id, fields in found]
        self.read[stream] = entries[-1].entry_id
        await self.archivist.keep({stream: entries})
        for name in workers.consumers().get(stream, ()):
            await self.lives[name].work(entries)
        return True


async def keep(database: Database, *rows: Fact) -> None:
    """Facts, as a deduplicator stored them."""
    async with database.write({row.agent_id for row in rows}) as db:
        await facts.insert(db, rows)


async def one_of_everything(database: Database, agent: str, words: str) -> dict[str, UUID]:
    """A memory of each kind of the agent's, by the letter of its handle, some of which say these words."""
    fact, decision, procedure = a_fact(agent_id=agent, content=words), a_decision(agent_id=agent), a_procedure(agent_id=agent)
    episode, censor = an_episode(agent_id=agent, title=words), a_censor(agent_id=agent, trigger_pattern=words)
    async with database.write([agent]) as db:
        await facts.insert(db, [fact])
        await decisions.put(db, [decision])
        await procedures.put(db, [procedure])
        await episodes.put(db, episode)
        await passages.put(db, agent, episode.episode_id, [(words, NOON)])
        await censors.insert(db, censor)
    return {
        "f": fact.fact_id,
        "d": decision.decision_id,
        "p": procedure.procedure_id,
        "e": episode.episode_id,
        "t": passages.id_of(agent, episode.episode_id, 0),
        "c": censor.censor_id,
    }
