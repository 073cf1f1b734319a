"""`nous recall`: what an agent is told of a question, as it is told, and with --explain why that and not something else.

A look, not a use: nothing is counted, and no censor fires.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

import providers
from nous import ids
from nous.api import shapes
from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories.words import visible
from nous.text import is_blank
from recall.remembering import Remembered, remember

from . import place, remembering, screen, unheard

SHOWN = 20
"""Candidates that --explain tells on a terminal; --json tells all of them."""

WIDE = 130
"""Characters of a terminal from which on a memory has room beside all that was made of it."""

NUMBERS = ("score", "relevance", "cosine", "words")


@dataclass(frozen=True)
class Wanted:
    """What is asked, for whom, and how it is to be answered; the plan's own where it is None."""

    agent: str
    question: str
    frame: str | None = None
    budget: int | None = None
    kinds: Sequence[str] | None = None
    as_of: datetime | None = None
    explain: bool = False


async def recall(settings: Settings, wanted: Wanted, *, is_json: bool) -> None:
    """Print what is remembered. Raises UserMistake for what cannot be meant."""
    if is_blank(wanted.question):
        raise UserMistake("the question is empty, and so asks nothing; say what is to be known, in a sentence")
    mind = providers.mind(settings)
    try:
        async with remembering.tools(settings, mind) as tools:
            remembered = await remember(
                tools,
                wanted.agent,
                wanted.question,
                frame=wanted.frame,
                budget=wanted.budget,
                kinds=wanted.kinds,  # type: ignore[arg-type]  # remember says which kinds there are
                as_of=wanted.as_of,
                explain=wanted.explain,
                otherwise="question",
            )
            async with tools.database.overview() as db:
                unknown = None if remembered.memories else await unheard.of(db, wanted.agent)
    finally:
        await mind.close()
    if is_json:
        told = shapes.Context(**shapes.told(ids.new(), remembered)).model_dump(mode="json")
        del told["recall_id"]  # of a recall that is counted
        screen.emit(told)
        return
    _print(remembered, unknown or "Nothing bears on it.")


def _print(remembered: Remembered, nothing: str) -> None:
    console = screen.out(piped_width=screen.PROSE_WIDTH)
    if remembered.text:
        console.print(Text("\n".join(map(visible, remembered.text.split("\n")))))
    elif not remembered.no_room:
        console.print(nothing)
    if remembered.no_room:
        console.print(f"{remembered.no_room} (--budget).")
    if remembered.explained:
        console.print()
        _print_candidates(remembered.explained)
    count = len(remembered.memories)
    summary = f"{count} {'memory' if count == 1 else 'memories'}, {screen.plural(remembered.tokens, 'token')}, frame {remembered.frame}"
    screen.err().print(f"{summary}; {remembered.degraded}" if remembered.degraded else summary, style="dim", highlight=False)


def _print_candidates(explained: Any) -> None:
    """Each candidate: a row of a table, or on a terminal that is narrow for one, its numbers in a line and the memory below."""
    console = screen.out()
    if console.is_terminal and console.width < WIDE:
        for one in explained["candidates"][:SHOWN]:
            _print_narrow(console, one)
    else:
        _print_table(explained)
    if len(explained["candidates"]) > SHOWN:
        screen.err().print(f"These are the best {SHOWN} of {len(explained['candidates'])}; --json has all.", style="dim")
    rest = f"{place.command()} facts --all lists those"
    screen.err().print(f"What is archived, or not true at the time that is asked about, was not looked at: {rest}.", style="dim")


def _print_narrow(console: Console, one: Any) -> None:
    cosine = "none" if one["similarity"] is None else f"{one['similarity']:.3f}"
    factors = [f"{name} {value:.2f}" for name, value in one["factors"].items() if value != 1.0]
    numbers = [f"relevance {one['relevance']:.3f}", f"cosine {cosine}", f"words {one['words']:.2f}", *factors]
    console.print(Text.assemble((f"{one['score']:.3f}", "cyan"), f"  {one['kind']}  ", screen.said(one["ended"], "yellow")))
    console.print(Padding(screen.said(", ".join(numbers), "dim"), (0, 0, 0, 4), expand=False))
    console.print(Padding(screen.said(one["text"]), (0, 0, 0, 4), expand=False))


def _print_table(explained: Any) -> None:
    made = screen.table(
        "score", "relevance", "cosine", "words", "factors", "kind", "memory", "became", right=("score", "relevance", "cosine", "words")
    )
    for one in explained["candidates"][:SHOWN]:
        factors = ", ".join(f"{name} {value:.2f}" for name, value in one["factors"].items() if value != 1.0)
        cosine = "" if one["similarity"] is None else f"{one['similarity']:.3f}"
        numbers = (f"{one['score']:.3f}", f"{one['relevance']:.3f}", cosine, f"{one['words']:.2f}")
        made.add_row(*numbers, factors, one["kind"], screen.said(one["text"]), screen.said(one["ended"]))
    screen.print_list(made)
