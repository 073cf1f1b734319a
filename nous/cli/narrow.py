"""A table that no terminal is too narrow for: where a word of a column would be broken, each row is printed field by field instead.

wide    token id   agent   state          narrow   token id  5b0f0d3e-…
        5b0f0d3e-… harbour good                    agent     harbour
                                                   state     good
"""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

LONGEST_KEPT = 36
"""Characters of a word that is not to be broken, as of an id; a longer one would make every screen too narrow."""


class Fitting(Table):
    """A table without lines, which takes another form where its columns have no room."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Itself, or its rows field by field."""
        if self.show_header and self._least(console, options) > options.max_width:
            yield from self._field_by_field()
        else:
            yield from super().__rich_console__(console, options)

    def _least(self, console: Console, options: ConsoleOptions) -> int:
        """How wide it has to be for no word to be broken."""
        gap = self.padding[1] + self.padding[3]
        return sum(_width(console, options, column) for column in self.columns) + gap * (len(self.columns) - 1)

    def _field_by_field(self) -> Iterator[RenderableType]:
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            row = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
            row.add_column(style="dim", no_wrap=True)
            row.add_column(overflow="fold")
            for column, cell in zip(self.columns, cells, strict=True):
                if not _is_empty(cell):
                    row.add_row(column.header, cell)
            yield row
            yield Text()


def _width(console: Console, options: ConsoleOptions, column: Column) -> int:
    found = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
    least = max(one.maximum if column.no_wrap else min(one.minimum, LONGEST_KEPT) for one in found)
    return max(least, column.min_width or 0)


def _is_empty(cell: RenderableType) -> bool:
    return isinstance(cell, str | Text) and not str(cell)
