"""How a story is printed: its moments one below the other, each with its time, what happened and what is to be said of it."""

from collections.abc import Iterable
from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.stories.moment import Moment
from nous.stories.words import Line

from . import screen

STYLES = {
    "stored": "cyan",
    "came": "cyan",
    "recorded": "cyan",
    "opened": "cyan",
    "confirmed": "green",
    "kept": "dim",
    "unsure": "dim yellow",
    "merged": "magenta",
    "superseded": "yellow",
    "retired": "red",
    "disputed": "yellow",
    "revived": "green",
    "restored": "bold green",
    "split": "bold green",
    "waiting": "yellow",
    "parked": "red",
    "not worked yet": "yellow",
    "put aside": "yellow",
    "recorded as noise": "yellow",
    "skipped": "dim",
    "escalated": "red",
    "added": "cyan",
    "relaxed": "green",
}
"""How an outcome is printed; any other is bold."""


def print_moments(console: Console, moments: Iterable[Moment]) -> None:
    """Print what happened, in order."""
    for number, one in enumerate(moments, 1):
        print_head(console, number, one.at, one.happened, by=one.by)
        print_lines(console, one.lines)


def print_head(console: Console, number: int, at: datetime, happened: str, *, by: str = "", aside: str = "", note: str = "") -> None:
    """Print when, what, and where that was."""
    console.print(
        Text.assemble(
            (f"\n{number:>2}  ", "dim"),
            screen.moment(at),
            "  ",
            (happened, style(happened)),
            (f"  by {by}" if by else "", "dim"),
            (f"  ({aside})" if aside else "", "dim"),
            (note, "yellow"),
        )
    )


def print_lines(console: Console, lines: Iterable[Line], *, indent: int = 4) -> None:
    """Print lines of a story, each wrapped under its own beginning; one that begins with spaces stands further in."""
    for one in lines:
        text = screen.told(one)
        inner = len(text.plain) - len(text.plain.lstrip(" "))
        console.print(Padding(text[inner:], (0, 0, 0, indent + inner), expand=False))


def style(happened: str) -> str:
    """How what happened is printed."""
    return STYLES.get(happened, "bold")
