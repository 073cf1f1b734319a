"""Lists of what is kept: a table on a terminal, a line a row in a pipe, JSON for machines.

A terminal shows the first hundred unless more is asked for, and says how to see the rest.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar
from uuid import UUID

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from nous.settings import Settings
from store.database import Read

from . import place, screen, unheard

WIDE = 120  # from here an id has a column of its own
ID_WIDTH = 36
GAP = 2

T = TypeVar("T")


@dataclass(frozen=True)
class Listing(Generic[T]):
    """How things of one kind are listed. `row` is one of them for a pipe, under `columns`; `print_table` prints them on a terminal."""

    columns: Sequence[str]
    row: Callable[[T], Sequence[str]]
    print_table: Callable[[Console, Sequence[T]], None]
    as_data: Callable[[T], object] = lambda one: asdict(one)  # type: ignore[call-overload]

    async def print(
        self,
        settings: Settings,
        find: Callable[[Read, int | None], Awaitable[Sequence[T]]],
        *,
        limit: int | None,
        nothing: str,
        is_json: bool,
        agent: str | None = None,
    ) -> None:
        """Print what is found, at most so many; `nothing` when there is none, and when nothing at all is kept of `agent` that too."""
        most = screen.at_most(limit, is_json=is_json)
        async with place.database(settings) as database, database.overview() as db:
            found = await find(db, None if most is None else most + 1)
            unknown = None if found else await unheard.of(db, agent)
        shown = found[:most]
        console = screen.out()
        if is_json:
            screen.emit([self.as_data(one) for one in shown])
        elif not shown:
            console.print(f"{nothing}\n{unknown}" if unknown else nothing)
        elif console.is_terminal:
            self.print_table(console, shown)
        else:
            for line in (self.columns, *map(self.row, shown)):
                print("\t".join(line).rstrip("\t"))
        if len(found) > len(shown) and not is_json:
            screen.say_there_are_more(len(shown))


def print_with_ids(console: Console, noun: str, columns: Sequence[str], rows: Iterable[tuple[UUID, Sequence[str | Text]]]) -> None:
    """A table of rows with ids: in a column of their own where there is room, below the last cell where there is less.

    On a terminal too narrow for that each row is printed line by line.
    """
    found = list(rows)
    is_wide = console.width >= WIDE
    if not is_wide and _width(columns, [cells for _, cells in found]) > console.width:
        _print_line_by_line(console, found)
        return
    table = screen.table(*([f"{noun} id"] if is_wide else []), *columns)
    table.columns[-1].min_width = ID_WIDTH
    for id_, (*cells, last) in found:
        dim = Text(str(id_), style="dim", no_wrap=is_wide)
        table.add_row(*([dim, *cells, last] if is_wide else [*cells, Text.assemble(last, "\n", dim)]))
    console.print(table)


def _width(columns: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> int:
    """What the columns take whose cells are not to be wrapped, with an id in the last."""
    taken = [
        max(cell_len(_plain(cell)) for cell in (name, *cells))
        for name, *cells in zip(columns[:-1], *(row[:-1] for row in rows), strict=True)
    ]
    return sum(taken) + len(taken) * GAP + ID_WIDTH


def _plain(cell: str | Text) -> str:
    return cell.plain if isinstance(cell, Text) else cell


def _print_line_by_line(console: Console, rows: Iterable[tuple[UUID, Sequence[str | Text]]]) -> None:
    for id_, (*cells, last) in rows:
        told = " · ".join(map(_plain, cells))
        console.print(screen.said(told, "dim"), last, Text(str(id_), style="dim"), sep="\n", end="\n\n")


def whose(agent: str | None) -> str:
    """Of one agent, in words; nothing for all."""
    return f" of agent {screen.shown(agent)!r}" if agent else ""
