"""What is erased from beside the live store: replay stores and Redis, and what is left to be done there, and by whom.

    replay stores ▶ the live store, in one transaction with the tombstones ▶ Redis, once every group is through ▶ its files ▶ the check

Killed anywhere, it goes on where it was when it is run again: what was erased is not there to be erased, and tombstones keep it away.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field

from redis.asyncio import Redis

from nous.called import command
from nous.errors import Contended, Misconfigured, Outage
from store import replays
from store.database import Database
from store.outbox import Letter
from workers.runtime import erasing
from workers.runtime.erasing import Held, Meant, Rewritten
from workers.runtime.sweep import announce

REDIS_PATIENCE_S = 30.0  # for the groups that still hold an entry; a worker that runs is through in less


@dataclass(frozen=True)
class Stores:
    """Everywhere an agent's words may be: the live store and where it is, and how to reach Redis, which may be away."""

    database: Database
    database_url: str
    redis: Callable[[], AbstractAsyncContextManager[Redis]]


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


async def beside(
    stores: Stores, outcome: Outcome, step: Callable[[Database], Awaitable[int]], *, names: Collection[str] | None = None
) -> None:
    """Do a step in every replay store beside the live one, and say so of those in which it did anything."""
    for name in [one.name for one in await replays.listed(stores.database_url) if names is None or one.name in names]:
        store = Database(replays.url_of(stores.database_url, name), pool=1)
        try:
            if await step(store):
                outcome.replays.append(name)
        except (Misconfigured, Outage, Contended) as error:
            outcome.left.append(f"replay {name} could not be looked into ({error}); drop it: {command()} replays drop {name}")
        finally:
            await store.close()


async def from_redis(stores: Stores, outcome: Outcome, meant: Meant, rewritten: Rewritten | None = None) -> None:
    """Delete what is meant from Redis, and have its files written anew."""
    try:
        async with stores.redis() as redis:
            deleted = await erasing.delete(
                redis, meant, patience_s=REDIS_PATIENCE_S, rewritten=rewritten or (lambda _stream, _event, _body: None)
            )
            outcome.entries += deleted.entries
            outcome.left += _held(deleted.held)
            outcome.files = await erasing.rewrite_files(redis)
            outcome.left += [one for one in outcome.files if not one.endswith("was written anew")]
    except Outage as error:
        outcome.left.append(f"nothing was erased from Redis: {error}")


async def send(stores: Stores, letters: Sequence[Letter]) -> None:
    """Publish the letters now; when Redis is away, or is not known here, a running worker does it within seconds of its return."""
    with suppress(Outage, Contended, Misconfigured):
        async with stores.redis() as redis:
            await announce(stores.database, redis, letters)


def _held(held: Sequence[Held]) -> list[str]:
    """What still holds entries, group by group."""
    by_group: dict[tuple[str, str], list[Held]] = {}
    for one in held:
        by_group.setdefault((one.group, one.stream), []).append(one)
    return [_one_held(group, stream, some) for (group, stream), some in by_group.items()]


def _one_held(group: str, stream: str, some: Sequence[Held]) -> str:
    entries, are = ("1 entry", "is") if len(some) == 1 else (f"{len(some):,} entries", "are")
    how = "not read" if some[0].is_unread else "not acknowledged"
    way = f"let a worker of that name run ({command()} work {group}), or remove the group if it has none any more"
    return f"{entries} of {stream} {are} {how} by the group {group} (the first is {some[0].entry_id}): {way}"
