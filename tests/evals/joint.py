"""The joint check: `python -m tests.evals.joint --data FOLDER [--record] [--json]`. Did anything get worse since it was last recorded?

    probes   LoCoMo's questions put to the store, as recall serves them (recalling)         ┐
    noise    facts heard again: how many become another row                                │
             contexts after contradicting pairs: superseded, foreign and missing facts     ├─▶ figures, each with its interval
             junk by the four classes, among what is stored and what is summarised         │        │
    measure  how well the four classes are told from claims                                ┘        ▼
                                                        joint.json: the figures and intervals recorded last ─▶ outside, and worse? exit 1

Outside is a figure that Wilson's interval of the recorded one does not hold; what must be none (`exact`) may not be even one. Better is
told too and is no failure: record it, so that it is not lost again. What was recorded and is not measured any more counts as worse.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from providers import Embedder
from providers.mind import Mind
from workers.episodes import extract

from . import contexts, conversations, episodes, folder, junk_classes, locomo_stream, outcomes, recalling, worked
from .cases import Case, locomo_near
from .junk_classes import CLASSES, class_of
from .minds import OracleMind
from .places import interval
from .vectors import BUNDLED, bundled
from .worked import Store

RECORDED = Path(__file__).with_suffix(".json")

Better = Literal["more", "less"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A share of `of`, its interval at 95 %, and which way is better. `exact` ones have none: nothing else than `value` will do."""

    name: str
    value: float
    of: int
    low: float
    high: float
    better: Better

    @classmethod
    def share(cls, name: str, value: float, of: int, better: Better, *, exact: bool = False) -> "Figure":
        """A share, or a mean of shares, of so many."""
        low, high = (value, value) if exact else interval(value, of)
        return cls(name=name, value=value, of=of, low=low, high=high, better=better)


@dataclass(frozen=True)
class Outside:
    """A figure that left the interval it was recorded with; `now` is None when it is not measured any more."""

    name: str
    before: Figure
    now: Figure | None
    is_worse: bool

    def __str__(self) -> str:
        was = f"{self.before.value:.4f}, at 95 % between {self.before.low:.4f} and {self.before.high:.4f}"
        if self.now is None:
            return f"{self.name}: not measured any more; it was {was}"
        return f"{self.name}: {self.now.value:.4f}, {'worse' if self.is_worse else 'better'} than recorded ({was})"


def main(arguments: list[str]) -> int:
    """Measure, print, compare: 0 when nothing is worse than recorded or there is nothing to measure on, 1 when something is."""
    options = _options(arguments)
    data = folder.found(options.data)
    if data is None:
        return 0
    now = measured(data)
    if not now:
        folder.say_it_has_nothing(data)
        return 0
    before = recorded(options.previous)
    out = outside(before, now) if before else []
    if options.json:
        print(json.dumps({"figures": [asdict(one) for one in now], "outside": [asdict(one) for one in out]}, ensure_ascii=False, indent=1))
    else:
        _report(now, {one.name: one for one in before}, out)
    if options.record:
        options.previous.write_text(json.dumps([asdict(one) for one in now], ensure_ascii=False, indent=1) + "\n", "utf-8")
    return int(any(one.is_worse for one in out) and not options.record)


def recorded(path: Path = RECORDED) -> list[Figure]:
    """What was recorded last; nothing where nothing was."""
    return [Figure(**one) for one in json.loads(path.read_text("utf-8"))] if path.exists() else []


def outside(before: Iterable[Figure], now: Iterable[Figure]) -> list[Outside]:
    """What left its recorded interval, the worse first."""
    measured_now = {one.name: one for one in now}
    found = [one for was in before if (one := _left(was, measured_now.get(was.name)))]
    return sorted(found, key=lambda one: not one.is_worse)


def _left(before: Figure, now: Figure | None) -> Outside | None:
    if now is None:
        return Outside(before.name, before, None, is_worse=True)
    if before.low <= now.value <= before.high:
        return None
    return Outside(before.name, before, now, is_worse=(now.value < before.low) == (before.better == "more"))


# ── what is measured ──────────────────────────────────────────────────────────────────────────────────────────────────────


def measured(data: Path) -> list[Figure]:
    """Every figure there is data for."""
    found = [figure for section in SECTIONS for figure in section(data)]
    return [*found, *classes()] if found else []


def probes(data: Path) -> Iterator[Figure]:
    """Recall as it is served, over facts, turns and both."""
    for one in recalling.measure(data) or ():
        yield from of_recall(one)


def of_recall(one: recalling.Recalled) -> Iterator[Figure]:
    """The figures of one embedder."""
    for row in one.rows:
        if row.order == recalling.SERVED:
            named = f"recall, {one.embedder}, {row.over}"
            yield from (Figure.share(f"{named}: {name}", value, row.questions, "more") for name, value in row.values.items())
            yield Figure.share(f"{named}: AUC of abstention", row.abstention, row.questions, "more")
    questions = max(row.questions for row in one.rows)
    for most, value in one.told.items():
        yield Figure.share(f"recall, {one.embedder}, told in {most:,} tokens", value, questions, "more")


def redundant(data: Path) -> Iterator[Figure]:
    """Facts heard again that became another row: word for word, and in other words where the mind answers from the labels."""
    for one in locomo_stream.measure(data) or ():
        yield Figure.share(
            f"redundant, word for word, {one.embedder}", one.rows_added_by_second / one.events, one.events, "less", exact=True
        )
    cases = [case for case in locomo_near(data) if case.effect == "one"]
    if cases:
        yield asyncio.run(_reworded(bundled(BUNDLED[0]), cases))


async def _reworded(chosen: Embedder, cases: Sequence[Case]) -> Figure:
    async with worked.store(chosen, (text for case in cases for text in (case.older, case.newer))) as store:
        return await reworded(store, cases, OracleMind(cases))


async def reworded(store: Store, cases: Sequence[Case], mind: Mind, *, name: str = "said again") -> Figure:
    """Of facts that say again what is known, how many are kept beside it."""
    (became,) = await outcomes.of(store, [outcomes.Run(name, cases)], mind)
    added = sum(one != "one" for one in became)
    return Figure.share("redundant, in other words, the mind answering rightly", added / len(cases), len(cases), "less")


def contradicted(data: Path) -> Iterator[Figure]:
    """What contexts hold after contradicting pairs."""
    if found := contexts.measure(data):
        yield from of_contexts(found)
    if found := conversations.measure(data):
        yield from of_contexts(found, said="in conversations")


def of_contexts(found: contexts.Contexts, *, said: str = "as facts") -> Iterator[Figure]:
    """Their shares."""
    superseded, among = found.superseded / found.contexts, found.superseded_facts / max(found.told, 1)
    yield Figure.share(f"contexts holding a superseded fact, said {said}", superseded, found.contexts, "less", exact=True)
    yield Figure.share(f"superseded facts among memories told, said {said}", among, found.told, "less", exact=True)
    foreign = found.foreign / found.contexts
    yield Figure.share(f"contexts holding another agent's fact, said {said}", foreign, found.contexts, "less", exact=True)
    yield Figure.share(f"contexts lacking the current fact, said {said}", found.lacking / found.contexts, found.contexts, "less")


def junk(data: Path) -> Iterator[Figure]:
    """The share of each class among facts that an agent brings, and among sentences of summaries that no mind wrote."""
    observed = [(event.content, event.subject) for one in locomo_stream.conversations(data) for event in locomo_stream.observations(one)]
    yield from of_junk("LoCoMo's observations", observed)
    for name, talks in (("LoCoMo sessions", list(episodes.locomo(data))), ("BEAM batches", list(episodes.beam(data)))):
        yield from of_junk(
            f"summaries of {name}", [(one.content, None) for talk in talks for one in extract.chosen(talk.conversation.said)]
        )


def of_junk(where: str, said: Sequence[tuple[str, str | None]]) -> Iterator[Figure]:
    """The share of each of the four classes among these (content, subject)."""
    found = [class_of(content, subject=subject) for content, subject in said]
    if found:
        yield from (Figure.share(f"junk, {name}, {where}", found.count(name) / len(found), len(found), "less") for name in CLASSES)


def classes() -> Iterator[Figure]:
    """How well the four are recognised, and how many claims are taken for one of them."""
    lines = junk_classes.lines()
    for name in (*CLASSES, None):
        own = [class_of(line.said) for line in lines if line.junk == name]
        if name:
            yield Figure.share(f"measure, {name} recognised", own.count(name) / len(own), len(own), "more")
        else:
            yield Figure.share("measure, claims taken for junk", sum(one is not None for one in own) / len(own), len(own), "less")


SECTIONS: Sequence[Callable[[Path], Iterator[Figure]]] = (probes, redundant, contradicted, junk)


# ── told ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _report(now: Sequence[Figure], before: Mapping[str, Figure], out: Sequence[Outside]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    table = Table("figure", "of", "now", "at 95 % between", "recorded", "", box=None, header_style="bold")
    left = {one.name: "[red]worse[/]" if one.is_worse else "[green]better[/]" for one in out}
    for one in now:
        was = f"{before[one.name].value:.4f}" if one.name in before else ""
        table.add_row(one.name, f"{one.of:,}", f"{one.value:.4f}", f"{one.low:.4f} {one.high:.4f}", was, left.get(one.name, ""))
    console.print(table)
    for each in out:
        console.print(str(each), markup=False, highlight=False)
    if not before:
        console.print("nothing was recorded before; --record keeps these")
    elif not any(one.is_worse for one in out):
        console.print(f"nothing is worse than recorded ({len(before)} figures)")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals.joint", description="Did anything get worse since it was recorded?")
    folder.add_to(parser)
    parser.add_argument("--previous", type=Path, default=RECORDED, help="what was recorded")
    parser.add_argument("--record", action="store_true", help="record these figures instead of holding them against the recorded ones")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
