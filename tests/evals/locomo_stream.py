"""LoCoMo observations as a stream: what becomes of a real conversation's facts, and of the same facts heard a second time.

observations of each conversation ──▶ fact_learned, one agent a conversation ──▶ the deduplicator as it runs ──▶ counted
the same once more, as new events ──▶ no row may come of it
"""

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

import workers
from events import FactLearned, derived, publish
from nous import clock, embedded, log
from nous.errors import Misconfigured
from nous.settings import Settings
from providers import Embedder
from providers.offline import OfflineMind
from store import facts, receipts
from store.database import Database
from store.migrate import migrate
from workers.runtime import streams
from workers.runtime.app import Process, kit

from .vectors import BUNDLED, bundled

SAID_AT = "%I:%M %p on %d %B, %Y"
TOO_LONG_S = 300.0


@dataclass(frozen=True)
class Passed:
    """What two passes of the same observations left. Counts of events, but for `rows` and `rows_added_by_second`."""

    embedder: str
    events: int
    stored: int
    confirmed: int
    likely_twins: int
    almost_merged: int
    parked: int
    rows: int
    rows_added_by_second: int


def measure(data: Path) -> list[Passed] | None:
    """Both bundled embedders, each on a store of its own; None where the folder has no LoCoMo conversations."""
    found = conversations(data)
    if not found:
        return None
    log.configure(log_format="auto", level="error")
    observed = [event for conversation in found for event in observations(conversation)]
    measured = []
    for name in BUNDLED:
        with suppress(Misconfigured):  # its extra is not installed
            measured.append(asyncio.run(_measured(bundled(name), observed)))
    return measured


def report(measured: Sequence[Passed], console: Console, *, curves: bool) -> None:
    """Print the table."""
    table = Table(title="LoCoMo observations as a stream, twice", title_justify="left")
    names = ["embedder", "events", "stored", "confirmed", "likely twins", "almost merged", "parked", "rows", "added by the second pass"]
    for name in names:
        table.add_column(name, justify="left" if name == "embedder" else "right")
    for one in measured:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in asdict(one).values()))
    console.print(table)


def as_json(measured: Sequence[Passed]) -> list[dict[str, Any]]:
    """The table for a machine."""
    return [asdict(one) for one in measured]


def conversations(data: Path) -> list[dict[str, Any]]:
    """Every conversation below `data`."""
    return [one for path in sorted(data.glob("**/locomo/locomo_*.json")) for one in json.loads(path.read_text("utf-8"))]


def observations(conversation: dict[str, Any]) -> Iterator[FactLearned]:
    """Every observation as the event an agent would publish, dated by its session."""
    agent = conversation["sample_id"]
    for name, by_speaker in conversation["observation"].items():
        session = name.removesuffix("_observation")
        for speaker, said in by_speaker.items():
            for number, (content, *_) in enumerate(said):
                yield _event(agent, speaker, session, number, content, conversation["conversation"].get(f"{session}_date_time"))


def _event(agent: str, speaker: str, session: str, number: int, content: str, said_at: str | None) -> FactLearned:
    place = (agent, speaker, session, str(number))
    return FactLearned(
        event_id=derived("locomo", *place),
        fact_id=UUID(derived("locomo", "fact", *place)),
        agent_id=agent,
        content=content,
        subject=speaker,
        provenance="episode_summary",
        source=session,
        occurred_at=_time(said_at),
    )


def _time(said_at: str | None) -> datetime:
    with suppress(ValueError):
        return datetime.strptime(said_at or "", SAID_AT).replace(tzinfo=UTC)
    return clock.now()


async def _measured(chosen: Embedder, observed: Sequence[FactLearned]) -> Passed:
    with tempfile.TemporaryDirectory(prefix="nous-eval-") as folder, embedded.running(Path(folder) / "home", durable=False) as stack:
        await migrate(stack.database_url, embedder=chosen.name, dimension=chosen.dimension)
        stop = asyncio.Event()
        async with kit(Settings(), stack.database_url, chosen, OfflineMind()) as made:
            running = asyncio.create_task(Process([workers.table()["deduplicator"]], made, stack.redis_url).run(stop))
            await _through(stack.redis_url, observed)
            first = await _counted(made.database, observed)
            await _through(stack.redis_url, [_again(event) for event in observed])
            second = await _rows(made.database)
            stop.set()
            await running
        return Passed(embedder=chosen.name, events=len(observed), rows_added_by_second=second - first["rows"], **first)


def _again(event: FactLearned) -> FactLearned:
    return event.model_copy(update={"event_id": derived("again", event.event_id), "fact_id": UUID(derived("again", str(event.fact_id)))})


async def _through(redis_url: str, observed: Sequence[FactLearned]) -> None:
    redis = Redis.from_url(redis_url)
    await publish(redis, observed)
    async with asyncio.timeout(TOO_LONG_S):
        while (state := await streams.group_state(redis, FactLearned.stream, "deduplicator")).lag or state.pending:
            await asyncio.sleep(0.05)
    await redis.aclose()


async def _counted(database: Database, observed: Sequence[FactLearned]) -> dict[str, int]:
    outcomes: Counter[str] = Counter()
    for agent in {event.agent_id for event in observed}:
        async with database.read([agent]) as db:
            for receipt in await receipts.of_agent(db, agent, "deduplicator"):
                outcomes[receipt.outcome] += 1
                outcomes["likely_twins"] += receipt.evidence.get("twin") is not None
                outcomes["almost_merged"] += bool(receipt.evidence.get("almost_merged"))
    names = ("stored", "confirmed", "likely_twins", "almost_merged", "parked")
    return {name: outcomes[name] for name in names} | {"rows": await _rows(database)}


async def _rows(database: Database) -> int:
    async with database.overview() as db:
        return len(await facts.listed(db, agent=None, inactive=True, limit=None))
