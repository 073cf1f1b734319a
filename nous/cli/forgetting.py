"""What `nous fact forget` and `nous agent forget` share: erasing beside the live store, erasing from Redis, and looking for what is left.

    replay stores ▶ the live store, in one transaction with the tombstones ▶ Redis, once every group is through ▶ its files ▶ the check

Killed anywhere, it goes on where it was when it is run again: what was erased is not there to be erased, and tombstones keep it away.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import typer

from nous.errors import Contended, Misconfigured, Outage, UserMistake
from nous.settings import Settings
from store import replays
from store.database import Database
from workers.runtime import erasing
from workers.runtime.erasing import Held, Meant, Rewritten

from . import place, screen

REDIS_PATIENCE_S = 30.0  # for the groups that still hold an entry; a worker that runs is through in less


@dataclass
class Outcome:
    """What was done beside the live store. `left` says what is still to be done, and by whom; with it, not all of it is done."""

    entries: int = 0
    files: tuple[str, ...] = ()
    replays: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"redis_entries": self.entries, "redis_files": list(self.files), "replays": self.replays, "left": self.left}


def hold_to_a_reason(reason: str) -> None:
    """Raises UserMistake for an empty one."""
    if not reason.strip():
        raise UserMistake("--because does not do: it is empty, and what is forgotten does not come back, so its receipt says why")


def confirm(question: str, *, is_sure: bool) -> bool:
    """Whether the person is sure. Raises UserMistake where nobody can be asked."""
    if is_sure:
        return True
    if not screen.out().is_terminal:
        raise UserMistake(
            "what is forgotten does not come back, and there is no terminal to ask at: add --yes, or look first with --dry-run"
        )
    return typer.confirm(question)


async def beside(
    settings: Settings, outcome: Outcome, step: Callable[[Database], Awaitable[int]], *, names: Collection[str] | None = None
) -> None:
    """Do a step in every replay store beside the live one, and say so of those in which it did anything."""
    live = place.database_url(settings)
    for name in [one.name for one in await replays.listed(live) if names is None or one.name in names]:
        store = Database(replays.url_of(live, name), pool=1)
        try:
            if await step(store):
                outcome.replays.append(name)
        except (Misconfigured, Outage, Contended) as error:
            outcome.left.append(f"replay {name} could not be looked into ({error}); drop it: {place.command()} replays drop {name}")
        finally:
            await store.close()


async def from_redis(settings: Settings, outcome: Outcome, meant: Meant, rewritten: Rewritten | None = None) -> None:
    """Delete what is meant from Redis, and have its files written anew."""
    try:
        async with place.redis(settings) as redis, _told("waiting until every worker is through with what is erased from Redis…"):
            deleted = await erasing.delete(
                redis, meant, patience_s=REDIS_PATIENCE_S, rewritten=rewritten or (lambda _stream, _event, _body: None)
            )
            outcome.entries += deleted.entries
            outcome.left += _held(deleted.held)
            outcome.files = await erasing.rewrite_files(redis)
            outcome.left += [one for one in outcome.files if not one.endswith("was written anew")]
    except Outage as error:
        outcome.left.append(f"nothing was erased from Redis: {error}")


def _held(held: Sequence[Held]) -> list[str]:
    """What still holds entries, group by group."""
    by_group: dict[tuple[str, str], list[Held]] = {}
    for one in held:
        by_group.setdefault((one.group, one.stream), []).append(one)
    return [_one_held(group, stream, some) for (group, stream), some in by_group.items()]


def _one_held(group: str, stream: str, some: Sequence[Held]) -> str:
    entries, are = ("1 entry", "is") if len(some) == 1 else (f"{len(some):,} entries", "are")
    how = "not read" if some[0].is_unread else "not acknowledged"
    way = f"let a worker of that name run ({place.command()} work {group}), or remove the group if it has none any more"
    return f"{entries} of {stream} {are} {how} by the group {group} (the first is {some[0].entry_id}): {way}"


@asynccontextmanager
async def _told(what: str) -> AsyncIterator[None]:
    console = screen.err()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def print_left(outcome: Outcome, again: str) -> None:
    """What is still to be done, each in a line."""
    for one in outcome.left:
        print(f"  still there: {one}")
    if outcome.left:
        print(f"then run it again, which does what is left: {again}")


def listed_counts(counts: dict[str, Any]) -> str:
    """How many rows of which tables."""
    return ", ".join(f"{table} {rows:,}" for table, rows in counts.items()) or "nothing"
