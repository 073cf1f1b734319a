"""What has a story, and which of them an id means when nobody says."""

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nous.called import command
from nous.errors import UserMistake
from store import sessions
from store.database import Read

from . import censor, decision, episode, event, fact, procedure
from .ids_meant import (
    NotAnId,
    NothingMeant,
    SeveralMeant,
    censor_meant,
    decision_meant,
    episode_meant,
    fact_meant,
    passage_meant,
    procedure_meant,
)
from .words import a, listed

Story = fact.Story | episode.Story | decision.Story | procedure.Story | censor.Story | event.Story


@dataclass(frozen=True)
class Kind:
    """What has a story: `meant` finds the one that an id means or raises UserMistake, and `told` tells it. Both need an overview."""

    meant: Callable[..., Awaitable[Any]]
    told: Callable[[Read, Any], Awaitable[Story]]


KINDS = {
    "fact": Kind(fact_meant, fact.told),
    "episode": Kind(episode_meant, episode.told),
    "decision": Kind(decision_meant, decision.told),
    "procedure": Kind(procedure_meant, procedure.told),
    "passage": Kind(passage_meant, episode.told_of_passage),
    "censor": Kind(censor_meant, censor.told),
    "event": Kind(event.meant, event.told),
}


async def story_of(db: Read, kind: str, written: str, *, agent: str | None) -> Story:
    """The story of what an id of this kind means, or the beginning of one; needs an overview. Raises UserMistake."""
    return await KINDS[kind].told(db, await KINDS[kind].meant(db, written, agent=agent))


async def any_story_of(db: Read, written: str, *, agent: str | None) -> Story:
    """The story of what an id means, whatever kind of thing that is; needs an overview. Raises UserMistake."""
    found: dict[str, Any] = {}
    for name, kind in KINDS.items():
        try:
            found[name] = await kind.meant(db, written, agent=agent)
        except (NothingMeant, NotAnId):
            pass
        except SeveralMeant as several:
            found[name] = several
    if not found:
        raise NothingMeant(await _is_session(db, written, agent) or _nothing(written, agent))
    if len(found) > 1:
        which = listed(map(a, found))
        raise UserMistake(f"{written!r} fits {which}; say which is meant, as in: {command()} explain {next(iter(found))} {written}")
    ((name, thing),) = found.items()
    if isinstance(thing, SeveralMeant):
        raise thing
    return await KINDS[name].told(db, thing)


async def _is_session(db: Read, written: str, agent: str | None) -> str | None:
    """What to do instead when a session is called so."""
    whose = await sessions.agents(db, written.strip(), agent=agent)
    if not whose:
        return None
    return (
        f"{written!r} is a session, and has no story of its own: {command()} session show {shlex.quote(written.strip())}"
        f" --agent {shlex.quote(whose[0])} shows it, with its episode, which has one"
    )


def _nothing(written: str, agent: str | None) -> str:
    *most, last = KINDS
    whose = f" of agent {agent!r}" if agent else ""
    return (
        f"{written!r} is the id of no {', '.join(most)} or {last}{whose}; write an id, or its first 6 characters or more, as"
        f" recall tells it, or as {command()} facts --all, episodes --all, decisions, procedures and censor list show them;"
        f" a conversation is shown by {command()} session show"
    )
