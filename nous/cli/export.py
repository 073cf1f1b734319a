"""`nous export`: the archive as JSON lines, agent by agent in the order of arrival (jsonl.py).

A file bears its name once it is whole; what stood there before stays until then.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from nous.errors import UserMistake
from nous.replaying import schedule
from nous.settings import Settings
from store import archive, receipts
from store.database import Database

from . import jsonl, place, screen

STANDARD_OUTPUT = "-"
UNFINISHED = ".unfinished"


@dataclass
class Sums:
    """What was written."""

    events: int = 0
    roots: int = 0
    agents: int = 0


async def run(settings: Settings, file: str, *, agent: str | None, since: datetime | None, until: datetime | None, is_json: bool) -> None:
    """Write the archive. Raises UserMistake when the file cannot be written, and for an agent of which there is nothing."""
    sums = Sums()
    async with place.database(settings) as database:
        async with database.overview() as db:
            agents = await archive.agents(db)
        if agent is not None:
            if agent not in agents:
                raise UserMistake(f"there is nothing of agent {agent!r} in the archive{screen.meant(agent, agents)}; nothing was written")
            agents = [agent]
        with _opened(file) as out:
            for one in agents:
                await _export(database, one, out, sums, since, until)
    if file == STANDARD_OUTPUT:
        return
    if is_json:
        screen.emit(vars(sums))
        return
    print(
        f"exported {screen.plural(sums.events, 'event')} of {screen.plural(sums.agents, 'agent')} to {file}, {sums.roots:,} of them roots"
    )


async def _export(database: Database, agent: str, out: IO[str], sums: Sums, since: datetime | None, until: datetime | None) -> None:
    async with database.read([agent]) as db:
        made = schedule.derived(await receipts.steps(db, agent))
    before = sums.events
    async for page in archive.of_agent(database, agent, since=since, until=until):
        for row in page:
            is_root = (row.stream, row.event_id) not in made
            out.write(jsonl.line(row, is_root=is_root) + "\n")
            sums.events += 1
            sums.roots += is_root
    sums.agents += bool(agent) and sums.events > before  # what names nobody is nobody's


@contextmanager
def _opened(file: str) -> Iterator[IO[str]]:
    if file == STANDARD_OUTPUT:
        yield sys.stdout
        return
    there = Path(file).resolve()
    is_device = there.exists() and not there.is_file()
    written = there if is_device else there.with_name(f"{there.name}{UNFINISHED}")
    try:
        out = written.open("w", encoding="utf-8")
    except OSError as error:
        raise UserMistake(f"{file} cannot be written: {(error.strerror or str(error)).lower()}") from None
    try:
        with out:
            yield out
        if not is_device:
            written.replace(there)
    finally:
        if not is_device:
            written.unlink(missing_ok=True)
