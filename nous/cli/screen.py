"""Printing. A terminal gets colour and wraps at its width; a pipe gets one plain line a row, however long; `--json` gets JSON alone.

What an agent said is data: control characters in it are shown, never obeyed, and square brackets are no markup.
"""

import json
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from nous.stories.words import Line, Tone, visible
from nous.stories.words import listed as listed
from nous.stories.words import moment as moment
from nous.stories.words import plural as plural
from nous.stories.words import rounded as rounded
from nous.stories.words import spoken as spoken

from .narrow import Fitting

PIPE_WIDTH = 10_000  # no row is that long, so none is wrapped
PROSE_WIDTH = 100
LISTED = 100  # of what is listed on a terminal, unless more is asked for

_TONES: Mapping[Tone, str] = {"plain": "", "faint": "dim", "telling": "yellow"}


def out(*, piped_width: int = PIPE_WIDTH) -> Console:
    """Standard output; `piped_width` is its width when it is no terminal."""
    return _console(is_error=False, piped_width=piped_width)


def err() -> Console:
    """Standard error: progress, notes, rejects."""
    return _console(is_error=True, piped_width=PIPE_WIDTH)


def _console(*, is_error: bool, piped_width: int) -> Console:
    console = Console(stderr=is_error, highlight=False)
    if not console.is_terminal:
        console.width = piped_width
    return console


def emit(data: object) -> None:
    """Print data as JSON."""
    print(as_json(data))


def as_json(data: object, *, indent: int | None = 2) -> str:
    """JSON as readable as the output's encoding allows."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(data, ensure_ascii=not is_unicode, indent=indent, default=_plain)


def say(sentence: str, *, indent: int = 0, hang: int = 0) -> None:
    """Print prose: wrapped between words at the width of a terminal, its further lines `hang` further in; one line in a pipe."""
    console, margin = out(), " " * indent
    width = max(console.width, 2 * indent, 20) if console.is_terminal else PIPE_WIDTH + indent
    further = margin + " " * hang
    lines = textwrap.wrap(sentence, width, initial_indent=margin, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    print("\n".join(lines))


def said(content: str, style: str = "") -> Text:
    """What an agent or a person said, on one line, safe to print."""
    return Text(shown(content), style=style)


def told(line: Line) -> Text:
    """A line of a story, safe to print."""
    return Text.assemble(*((visible(words), _TONES[tone]) for words, tone in line.parts))


def shown(content: str) -> str:
    """What an agent or a person said, on one line, its control characters made visible."""
    return visible(" ".join(content.split())) or "(nothing)"


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table without lines, its headings dim; columns named in `right` hold numbers. On a narrow terminal a row is told field by field."""
    made = Fitting(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column in right, overflow="fold")
    return made


def print_list(made: Table) -> None:
    """Print a list: the table on a terminal, a line a row in a pipe, its columns apart by tabs under their names."""
    console = out()
    if console.is_terminal:
        console.print(made)
        return
    names = [str(column.header).replace(",", "").replace(" ", "_") for column in made.columns]
    for line in (names, *zip(*(map(_plain_cell, column.cells) for column in made.columns), strict=True)):
        print("\t".join(line).rstrip("\t"))


def _plain_cell(cell: RenderableType) -> str:
    text = cell if isinstance(cell, Text) else Text.from_markup(str(cell))
    return " ".join(text.plain.split())


def rows(columns: int) -> Table:
    """A table without lines and headings; its first column is never wrapped."""
    made = table(*[""] * columns)
    made.show_header = False
    made.columns[0].no_wrap = True
    return made


def at_most(limit: int | None, *, is_json: bool) -> int | None:
    """How many of a long list to show: as many as were asked for, or the first hundred on a terminal and all of them elsewhere."""
    return LISTED if limit is None and not is_json and out().is_terminal else limit


def say_there_are_more(shown: int) -> None:
    """After a list that was cut: how to see the rest of it."""
    err().print(f"These are the first {shown:,}; --limit {shown * 10:,} shows more, --json all.", style="dim")


def meant(word: str, known: Iterable[str]) -> str:
    """What somebody who wrote `word` probably meant, in brackets; nothing when nothing is near."""
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def plainly(problem: str) -> str:
    """What pydantic says of a value, in the middle of a sentence."""
    return unprefixed(problem.lower())


def unprefixed(problem: str) -> str:
    """What pydantic says, without its name for the kind of error."""
    return problem.replace("value error, ", "")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON")
