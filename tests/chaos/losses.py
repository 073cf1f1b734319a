"""What Redis had not persisted: read from its streams when it is back, before any producer writes to them.

    acknowledged ─┬─ its entry is there ────────────────────────────────▶ kept
                  ├─ every listener has settled it, the archive has it ─▶ kept, and trimmed or not needed any more
                  └─ neither ───────────────────────────────────────────▶ missing: named, and its producer tells it again

A page that a replica held in its hands when Redis died is finished all the same: which of the missing were lost for good shows at the
end, by the entry that their receipts name (`Missing.was_lost`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

import workers
from events import CATALOGUE
from store import archive

from .eyes import Eyes
from .lives import Said
from .model import archived_body

AT_ONCE = 5_000
_HELD = "SELECT worker, stream, event_id, entry_id FROM bus.receipts UNION ALL SELECT worker, stream, event_id, entry_id FROM bus.retries"


@dataclass(frozen=True)
class Missing:
    """An event that was acknowledged and is not in its stream; `entries` are those it had been given until then."""

    said: Said
    entries: frozenset[str]
    after: str


async def present(redis: Redis) -> dict[str, set[str]]:
    """The ids of every entry of every stream."""
    return {stream: await _ids(redis, stream) for stream in CATALOGUE}


async def missing(eyes: Eyes, there: dict[str, set[str]], log: Iterable[Said], *, after: str) -> list[Missing]:
    """Those of the log that Redis does not have and that are not settled."""
    gone = [said for said in log if not any(entry in there[said.stream] for entry in said.entries)]
    settled = await _settled(eyes, gone)
    return [Missing(said, frozenset(said.entries), after) for said in gone if said not in settled]


async def _settled(eyes: Eyes, gone: Sequence[Said]) -> set[Said]:
    """Those that every listener has a receipt of, or holds for another attempt, and whose body is in the archive."""
    if not gone:
        return set()
    held = await eyes.rows(_HELD)
    by_id = {(row["worker"], row["event_id"]) for row in held}
    by_entry = {(row["worker"], row["stream"], row["entry_id"]) for row in held}
    digests = {bytes(row["digest"]) for row in await eyes.rows("SELECT digest FROM bus.events")}
    return {
        said
        for said in gone
        if archive.digest(archived_body(said)) in digests
        and all(
            (worker, said.event_id) in by_id or any((worker, said.stream, entry) in by_entry for entry in said.entries)
            for worker in workers.consumers().get(said.stream, ())
        )
    }


async def _ids(redis: Redis, stream: str) -> set[str]:
    found: set[str] = set()
    after = "-"
    while page := await redis.xrange(stream, min=after, count=AT_ONCE):
        found |= {entry.decode() for entry, _ in page}
        after = f"({page[-1][0].decode()}"
    return found
