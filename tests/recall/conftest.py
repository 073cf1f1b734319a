"""An agent with something to remember: memories put into the real store as the workers put them, and recall over them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pytest

from nous.settings import Settings
from recall.remembering import Remembered, Tools, remember
from store import censors, decisions, embedders, episodes, facts, procedures, vectors
from store.censors import Censor
from store.database import Database
from store.decisions import Decision
from store.episodes import Episode
from store.facts import Fact
from store.procedures import Procedure
from tests.factories import AGENT, a_censor, a_decision, a_fact, a_procedure, an_episode
from tests.workers.conftest import ScriptedEmbedder


@dataclass
class Memory:
    """One agent's memory, and questions to it."""

    tools: Tools
    agent: str = AGENT

    @property
    def database(self) -> Database:
        return self.tools.database

    async def fact(self, content: str, **over: Any) -> Fact:
        """A fact with its vector."""
        fact = a_fact(agent_id=self.agent, content=content, **over)
        (vector,) = await self.tools.embedder.embed([content])
        async with self.database.write([self.agent]) as db:
            await facts.insert(db, [fact])
            await vectors.insert(db, (await embedders.active(db)).table, [(self.agent, fact.fact_id, vector)])
        return fact

    async def decision(self, description: str, **over: Any) -> Decision:
        decision = a_decision(agent_id=self.agent, description=description, **over).with_brief()
        async with self.database.write([self.agent]) as db:
            await decisions.put(db, [decision])
        return decision

    async def procedure(self, name: str, **over: Any) -> Procedure:
        procedure = a_procedure(agent_id=self.agent, name=name, **over).with_brief()
        async with self.database.write([self.agent]) as db:
            await procedures.put(db, [procedure])
        return procedure

    async def episode(self, summary: str, **over: Any) -> Episode:
        made = {"summary": summary, "brief": summary, "written_by": "mind", "ended_at": datetime.fromisoformat("2026-03-01T13:00Z")}
        episode = an_episode(agent_id=self.agent, **made | over)
        (vector,) = await self.tools.embedder.embed([summary])
        async with self.database.write([self.agent]) as db:
            await episodes.put(db, episode)
            await episodes.put_vector(db, self.agent, episode.episode_id, "summary", embedder=self.tools.embedder.name, vector=vector)
        return episode

    async def censor(self, pattern: str, **over: Any) -> Censor:
        censor = a_censor(agent_id=self.agent, trigger_pattern=pattern, **over)
        async with self.database.write([self.agent]) as db:
            await censors.insert(db, censor)
        return censor

    async def asked(self, question: str, **how: Any) -> Remembered:
        return await remember(self.tools, self.agent, question, **how)

    def of(self, agent: str) -> "Memory":
        """Another agent's, in the same store."""
        return replace(self, agent=agent)


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def tools(database: Database, embedder: ScriptedEmbedder, settings: Settings) -> Tools:
    return Tools(database, embedder, settings)


@pytest.fixture
def memory(tools: Tools) -> Memory:
    return Memory(tools)


@pytest.fixture
def with_settings(memory: Memory) -> Callable[..., Memory]:
    """The same memory under other settings."""

    def changed(**over: Any) -> Memory:
        return replace(memory, tools=replace(memory.tools, settings=memory.tools.settings.model_copy(update=over)))

    return changed
