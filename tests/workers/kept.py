"""What tests of decisions and procedures share: one of an agent, put there, and what became of it."""

from typing import Any
from uuid import UUID

from store import decisions, procedures
from store.decisions import Decision
from store.procedures import Procedure
from tests.factories import a_decision, a_procedure
from tests.workers.conftest import Bench

AGENT = "agent-1"
DECISION = PROCEDURE = UUID(int=7)


async def keep_decision(bench: Bench, **over: Any) -> None:
    row = a_decision(**({"agent_id": AGENT, "decision_id": DECISION, "pattern": "Fewer parts"} | over))
    async with bench.kit.database.write([row.agent_id]) as db:
        await decisions.put(db, [row])


async def decision(bench: Bench, agent: str = AGENT) -> Decision:
    async with bench.kit.database.read([agent]) as db:
        found = await decisions.get(db, agent, DECISION)
    assert found is not None
    return found


async def keep_procedure(bench: Bench, **over: Any) -> None:
    row = a_procedure(**({"agent_id": AGENT, "procedure_id": PROCEDURE, "core_patterns": ("tag", "push")} | over))
    async with bench.kit.database.write([row.agent_id]) as db:
        await procedures.put(db, [row])


async def procedure(bench: Bench, agent: str = AGENT) -> Procedure:
    async with bench.kit.database.read([agent]) as db:
        found = await procedures.get(db, agent, PROCEDURE)
    assert found is not None
    return found
