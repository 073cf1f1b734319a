"""One fact in another dress: the same words in other casing, punctuation, spacing and Unicode form, and what becomes of it.

Every dress is put on the sentences of the pair sets, as far as it changes them. Merged at once means by the hash; near means that the
guard agrees and the vectors are near enough; what is neither is left to the question.
"""

import asyncio
import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from nous.errors import Misconfigured
from nous.guard import agree
from nous.text import content_hash

from .pairs import SETS
from .vectors import BUNDLED, bundled, look_up

SENTENCES = 1500
_DIGITS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


def _without_stop(sentence: str) -> str:
    return sentence.rstrip(" .")


DRESSES: dict[str, Callable[[str], str]] = {
    "in capitals": str.upper,
    "in small letters": str.lower,
    "decomposed": lambda sentence: unicodedata.normalize("NFD", sentence),
    "wider spaces": lambda sentence: sentence.replace(" ", "\u00a0 "),
    "in quotes": lambda sentence: f"“{sentence}”",
    "as a bullet": lambda sentence: f"- {sentence}",
    "with !": lambda sentence: f"{_without_stop(sentence)}!",
    "with ...": lambda sentence: f"{_without_stop(sentence)}...",
    "last word in brackets": lambda sentence: re.sub(r"(?<= )([^\W\d_]+)$", r"(\1)", _without_stop(sentence)),
    "without commas": lambda sentence: sentence.replace(",", ""),
    "a dash for a comma": lambda sentence: sentence.replace(", ", " — ", 1),
    "a for the": lambda sentence: re.sub(r"\bthe (?=[bcdfgklmnprst])", "a ", sentence, count=1),
    "isn't for is not": lambda sentence: re.sub(r"\b(is|are|was|were|does|did) not\b", r"\1n't", sentence),
    "digits for words": lambda sentence: re.sub(r"\b(two|three|four|five|six)\b", lambda word: _DIGITS[word[0]], sentence),
}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One dress with one embedder: how many sentences it changed, and what became of them."""

    dress: str
    embedder: str
    sentences: int
    merged_at_once: int
    merged_near: int
    agreed_but_far: int
    left_by_guard: int


def measure(data: Path) -> list[Figures] | None:
    """Every dress with every bundled embedder; None if there is no set."""
    texts = sorted({text for pair_set in SETS for pair in pair_set.pairs(data) for text in (pair.old, pair.new)})
    if not texts:
        return None
    chosen = texts[:: max(1, len(texts) // SENTENCES)]
    dressed = {dress: [(text, put_on(text)) for text in chosen if put_on(text) != text] for dress, put_on in DRESSES.items()}
    return [figures for name in BUNDLED for figures in _measure_with(name, dressed)]


def _measure_with(name: Any, dressed: dict[str, list[tuple[str, str]]]) -> list[Figures]:
    embedder = bundled(name)
    undecided = {
        dress: [(one, other) for one, other in pairs if content_hash(one) != content_hash(other)] for dress, pairs in dressed.items()
    }
    try:
        lookup = asyncio.run(look_up(embedder, (text for pairs in undecided.values() for pair in pairs for text in pair)))
    except Misconfigured:
        return []
    found = []
    for dress, pairs in dressed.items():
        near = lookup.cosines(undecided[dress]) >= embedder.confirm_similarity
        agreed = [agree(one, other).agrees for one, other in undecided[dress]]
        merged_near = sum(is_near and agrees for is_near, agrees in zip(near, agreed, strict=True))
        found.append(
            Figures(
                dress=dress,
                embedder=embedder.name,
                sentences=len(pairs),
                merged_at_once=len(pairs) - len(undecided[dress]),
                merged_near=int(merged_near),
                agreed_but_far=sum(agreed) - int(merged_near),
                left_by_guard=len(agreed) - sum(agreed),
            )
        )
    return found


def report(measured: list[Figures], console: Console, *, curves: bool) -> None:
    """The figures as tables for a person."""
    for name in sorted({row.embedder for row in measured}, reverse=True):
        table = Table(title=f"one fact in another dress, {name}", title_justify="left")
        table.add_column("dress")
        for heading in ("sentences", "merged at once", "merged, near", "agreed, far", "left by the guard"):
            table.add_column(heading, justify="right")
        for row in measured:
            if row.embedder == name:
                counts = (row.merged_at_once, row.merged_near, row.agreed_but_far, row.left_by_guard)
                table.add_row(row.dress, str(row.sentences), *(_percent(count, row.sentences) for count in counts))
        console.print(table)


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %" if of else ""


def as_json(measured: list[Figures]) -> list[dict[str, Any]]:
    """The same for a machine."""
    return [asdict(row) for row in measured]
