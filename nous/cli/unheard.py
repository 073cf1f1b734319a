"""An agent of which nothing is kept, most likely because its name is misspelt: said so, with the name that was probably meant.

--agent ─▶ is anything kept of it, in any table? ─┬─ yes ─▶ nothing to say
                                                 └─ no ──▶ "Nothing is kept of agent 'harbor-desk' (did you mean …?)": beside an empty
                                                           list, or a mistake where a report of nobody would look like a healthy one
"""

from nous.errors import UserMistake
from store import agents, facts, receipts
from store.database import Read

from . import screen


async def of(db: Read, agent: str | None) -> str | None:
    """That nothing is kept of this agent; None when something is, or none is named. Needs an overview."""
    if agent is None or await agents.is_known(db, agent):
        return None
    known = {*await receipts.agents(db), *await facts.agents(db)}
    return f"Nothing is kept of agent {screen.shown(agent)!r}{screen.meant(agent, map(screen.shown, known))}."


async def refuse(db: Read, agent: str | None) -> None:
    """Refuse to report on an agent of which nothing is kept. Needs an overview. Raises UserMistake."""
    if unknown := await of(db, agent):
        raise UserMistake(unknown.removesuffix("."))
