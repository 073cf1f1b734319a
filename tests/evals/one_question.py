"""One question with six answers, or the spec's two yes/no questions: which tells better what is one fact and what is no longer true?

Both were put to the same small local model about the same pairs (record.py). Beside what it answers stands how well its shares order the
pairs: the chance that a pair which is so gets a higher share than one which is not, 50 % being none at all. That does not hang on where a
model puts its threshold, which a small one puts badly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from workers.standing import question

from .asking import SPEC_CONTRADICT, SPEC_SAME
from .cases import READERS, Case
from .minds import Said, digest, recorded


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask for something: the prompt, the answers that say so, and what they are held against."""

    asks: str
    way: str
    version: str
    words: tuple[str, ...]
    effect: str


WAYS = (
    Way("is it one fact", "one question", question.VERSION, ("same", "refines"), "one"),
    Way("is it one fact", "a question of its own", SPEC_SAME, ("yes",), "one"),
    Way("does the new replace the old", "one question", question.VERSION, ("updates", "contradicts"), "retired"),
    Way("does the new replace the old", "a question of its own", SPEC_CONTRADICT, ("yes",), "retired"),
)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One way. Counts of pairs; `ordered` is the area under the ROC curve."""

    asks: str
    way: str
    so: int
    said_rightly: int
    not_so: int
    said_wrongly: int
    ordered: float | None

    @property
    def precision(self) -> float | None:
        """Of the pairs it says so of, how many are."""
        said = self.said_rightly + self.said_wrongly
        return self.said_rightly / said if said else None

    @property
    def recall(self) -> float | None:
        """Of the pairs that are so, of how many it says it."""
        return self.said_rightly / self.so if self.so else None


def measure(data: Path) -> list[Figures] | None:
    """Every way, on the pairs that were asked about in all of them; None if there is none."""
    known = recorded()
    cases = [case for read in READERS.values() for case in read(data) if all(_key(case, way) in known for way in WAYS)]
    return [_figure(way, cases, known) for way in WAYS] if cases else None


def _key(case: Case, way: Way) -> str:
    return digest(way.version, case.older, case.newer)


def _figure(way: Way, cases: Sequence[Case], known: Mapping[str, Said]) -> Figures:
    answers = [(case.effect == way.effect, known[_key(case, way)]) for case in cases]
    shares = {is_so: [_share(said, way.words) for truly, said in answers if truly is is_so] for is_so in (True, False)}
    return Figures(
        asks=way.asks,
        way=way.way,
        so=len(shares[True]),
        said_rightly=sum(said.word in way.words for truly, said in answers if truly),
        not_so=len(shares[False]),
        said_wrongly=sum(said.word in way.words for truly, said in answers if not truly),
        ordered=ordered(shares[True], shares[False]),
    )


def _share(said: Said, words: Sequence[str]) -> float:
    whole = sum(said.shares.values())
    return sum(said.shares[word] for word in words) / whole if whole else 0.0


def ordered(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """The chance that one of `higher` is above one of `lower`, ties counting half."""
    pairs = [(one > other) + (one == other) / 2 for one in higher for other in lower]
    return sum(pairs) / len(pairs) if pairs else None


def report(measured: Sequence[Figures], console: Console, *, curves: bool) -> None:
    """The table."""
    table = Table(title="one question or two, a small local model", title_justify="left")
    for heading in ("asks", "in"):
        table.add_column(heading)
    for heading in ("so", "said", "recall", "not so", "said", "precision", "ordered"):
        table.add_column(heading, justify="right")
    percent: Callable[[float | None], str] = lambda share: "" if share is None else f"{100 * share:.1f} %"  # noqa: E731
    for row in measured:
        counts = (str(row.so), str(row.said_rightly), percent(row.recall), str(row.not_so), str(row.said_wrongly))
        table.add_row(row.asks, row.way, *counts, percent(row.precision), percent(row.ordered))
    console.print(table)


def as_json(measured: Sequence[Figures]) -> list[dict[str, Any]]:
    """The same for a machine."""
    return [{**asdict(row), "precision": row.precision, "recall": row.recall} for row in measured]
