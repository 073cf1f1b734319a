"""`nous partition`: the tables of facts in parts by hash of the agent, or in one each, changed while the workers run.

no number  how they stand, and what was begun
PARTS      copied beside, agents at a time, then swapped (store/partitions.py); 1 goes back to one table each
--abandon  what was begun and has not ended is undone
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog

from nous.errors import UserMistake
from nous.settings import Settings
from store import partitions
from store.database import Database, Read

from . import place, screen
from .endings import Incomplete
from .patience import patiently

PAGE = 500  # agents looked at at once
LAST = 64  # how many agents heard of meanwhile the swap may copy while writers wait

T = TypeVar("T")

log = structlog.get_logger()


async def show(settings: Settings, *, is_json: bool) -> None:
    """Say how the tables stand."""
    async with place.database(settings) as database, database.overview() as db:
        tables, begun = await partitions.standing(db), await partitions.underway(db)
    if is_json:
        screen.emit({"tables": [vars(one) for one in tables], "begun": begun.parts if begun else None})
        return
    table = screen.table("table", "parts", "rows, about", "MB with indexes", right=("parts", "rows, about", "MB with indexes"))
    for one in tables:
        table.add_row(one.table, f"{one.parts:,}", f"{one.rows:,}", f"{one.bytes / 1e6:,.0f}")
    screen.print_list(table)
    if begun:
        screen.err().print(f"a change to {_in_parts(begun.parts)} was begun; {place.command()} partition {begun.parts} goes on with it")


async def to(settings: Settings, parts: int, *, batch: int, is_json: bool) -> None:
    """Bring the tables into so many parts. Raises UserMistake when another change was begun."""
    began = time.monotonic()
    async with place.database(settings) as database:
        is_there = await _is_there(database, parts)
        moved = None if is_there else await Moving(database, place.database_url(settings), parts, batch).run()
        async with database.overview() as db:
            tables = await partitions.standing(db)
    if is_json:
        screen.emit(
            {"parts": parts, "changed": moved is not None, "waited_s": moved and moved.waited_s, "tables": [vars(one) for one in tables]}
        )
    elif moved is None:
        print(f"nothing to do: each table of facts is in {_in_parts(parts)}")
    else:
        facts = next(one.rows for one in tables if one.table == "heart.facts")
        print(f"each table of facts is in {_in_parts(parts)} now: about {screen.plural(facts, 'fact')} in {time.monotonic() - began:.1f} s")
        print(f"  writers waited {moved.waited_s:.1f} s, at the swap; nothing needs to be started again")


async def abandon(settings: Settings, *, is_json: bool) -> None:
    """Undo what was begun."""
    async with place.database(settings) as database:
        async with database.overview() as db:
            begun = await partitions.underway(db)
        if begun:
            await _patiently(lambda: _abandon(database))
    if is_json:
        screen.emit({"abandoned": begun.parts if begun else None})
    else:
        print(f"abandoned the change to {_in_parts(begun.parts)}" if begun else "nothing was begun")


async def _is_there(database: Database, parts: int) -> bool:
    async with database.overview() as db:
        begun, tables = await partitions.underway(db), await partitions.standing(db)
    if begun and begun.parts != parts:
        nous = place.command()
        raise UserMistake(
            f"a change to {_in_parts(begun.parts)} was begun; go on with it: {nous} partition {begun.parts},"
            f" or undo it first: {nous} partition --abandon"
        )
    return not begun and all(one.parts == parts for one in tables)


@dataclass
class Moving:
    """A change to so many parts; `batch` is about how many facts are copied while their agents' writers wait."""

    database: Database
    url: str
    parts: int
    batch: int
    waited_s: float = 0.0

    async def run(self) -> "Moving":
        """Copy and swap. Raises Incomplete when a migration came between, Outage and Contended when it gave up waiting."""
        await self._begin()
        for table in partitions.ROOTS:
            async for agents in self._batches(table):
                await _patiently(partial(self._copy, agents))
        await _patiently(lambda: partitions.analyze(self.url))
        await self._hold_to_all()
        while not await _patiently(self._swapped):
            log.info("swap.postponed", reason="many new agents were heard of meanwhile", next="tried again by itself")
            await self._catch_up()
        return self

    async def _begin(self) -> None:
        async with self.database.overview() as db:
            begun = await partitions.underway(db)
        if not begun:
            await _patiently(lambda: partitions.prepare(self.url, self.parts))
        await _patiently(self._mirror)
        async with self.database.overview() as db:
            await self._hold_to_the_shape(db)

    async def _mirror(self) -> None:
        async with self.database.switching() as switch:
            await partitions.mirror(switch)

    async def _batches(self, table: str) -> AsyncIterator[list[str]]:
        """Agents with rows in this table that have not been copied, as many at once as have about a batch of rows together."""
        async for agents in self._pages(table):
            async with self.database.overview() as db:
                wanted = await partitions.uncopied(db, agents)
            taken: list[str] = []
            rows = 0
            for agent in sorted(wanted):
                taken.append(agent)
                rows += agents[agent]
                if rows >= self.batch:
                    yield taken
                    taken, rows = [], 0
            if taken:
                yield taken

    async def _pages(self, table: str) -> AsyncIterator[dict[str, int]]:
        after = ""
        while found := await _patiently(partial(self._page, table, after)):
            yield dict(found)
            after = found[-1][0]

    async def _page(self, table: str, after: str) -> list[tuple[str, int]]:
        async with self.database.overview() as db:
            return await partitions.page(db, table, after=after, limit=PAGE)

    async def _copy(self, agents: list[str]) -> None:
        async with self.database.write(agents) as db:
            await partitions.copy(db, agents)

    async def _catch_up(self) -> None:
        while agents := await _patiently(self._born):
            await _patiently(partial(self._copy, agents))

    async def _born(self) -> list[str]:
        async with self.database.overview() as db:
            return await partitions.born(db, limit=LAST)

    async def _hold_to_all(self) -> None:
        """Raises Incomplete when a table and its twin do not have the same rows."""
        after = ""
        async for agents in self._pages(partitions.ROOTS[0]):
            last = max(agents)
            async with self.database.overview() as db:
                differing = await partitions.differing(db, after=after, last=last)
            if differing:
                table, here, there = differing[0]
                raise Incomplete(
                    f"{table} has {here:,} rows of the agents after {after!r} up to {last!r} and its copy {there:,}, so nothing was"
                    f" swapped; somebody wrote past the triggers. {place.command()} partition --abandon, then begin anew"
                )
            after = last

    async def _hold_to_the_shape(self, db: Read) -> None:
        """Raises Incomplete when the tables are defined otherwise than their twins."""
        if await partitions.is_outdated(db):
            raise Incomplete(
                "the tables were changed since this was begun (another embedder, or by hand), so the copies are not like them any more and"
                f" nothing was swapped; {place.command()} partition --abandon, then begin anew"
            )

    async def _swapped(self) -> bool:
        began = time.monotonic()
        async with self.database.switching() as switch:
            await self._hold_to_the_shape(switch)
            is_done = await partitions.swap(switch, most=LAST)
        self.waited_s = time.monotonic() - began
        return is_done


async def _abandon(database: Database) -> None:
    async with database.switching() as switch:
        await partitions.abandon(switch)


async def _patiently(step: Callable[[], Awaitable[T]]) -> T:
    return await patiently(step, what="partitioning")


def _in_parts(parts: int) -> str:
    return "one table" if parts == 1 else f"{parts} parts"
