"""What came out of a run: as a table, as data, and in docs/reliability.md between its markers."""

import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from nous import clock

from .faults import CRASHED, EMPTIED, KILLED, RESTARTED, UNSYNCED, Fault
from .recovery import Recovery
from .run import Outcome
from .stand import PRODUCERS

BEGIN, END = "<!-- figures: make chaos -->", "<!-- end of figures -->"
NAMED_AT_MOST = 10
RECOVERED = (KILLED, RESTARTED, UNSYNCED, EMPTIED, CRASHED)

Row = tuple[str, str]


def as_data(outcome: Outcome) -> dict[str, Any]:
    """Everything, for a machine; what was lost is named in full."""
    return {
        "proven": outcome.is_proven,
        "wrong": outcome.verdict.wrong,
        "seed": outcome.seed,
        "cores": psutil.cpu_count(),
        "replicas": outcome.size.replicas,
        "settings": outcome.size.waits,
        "seconds": {"published": _one(outcome.published_s), "at_rest": _one(outcome.settled_s), "whole_run": _one(outcome.took_s)},
        "accepted": {"events": outcome.accepted, "entries": outcome.entries, "by_stream": outcome.by_stream, "wrong": outcome.wrong_kinds},
        "xadd_without_an_answer": outcome.unanswered,
        "missing": _named(outcome.missing),
        "lost": _named(outcome.lost),
        "faults": [
            {"kind": fault.kind, "at_s": _one(fault.at - outcome.began), "told": fault.told, **vars(recovery)}
            for fault, recovery in outcome.faults
        ],
        "killed": outcome.killed,
        "died_of_an_event": outcome.died,
        "moods_of_the_mind": outcome.moods,
        "questions": outcome.asked,
        "retried_by_a_person": outcome.retried,
        "counts": outcome.verdict.counts,
        "memory_mb": outcome.memory,
    }


def show(outcome: Outcome) -> None:
    """For a person."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    for title, rows in _tables(outcome):
        table = Table(title, "", box=None, header_style="bold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    for promise, breaches in outcome.verdict.wrong.items():
        console.print(f"[red]broken[/]  {promise}: {breaches[0]}", highlight=False)
        for breach in breaches[1:]:
            console.print(f"        {breach}", highlight=False, markup=False)
    console.print("[green]every promise held[/]" if outcome.is_proven else f"[red]{len(outcome.verdict.wrong)} promises broken[/]")


def write(outcome: Outcome, document: Path) -> None:
    """Put the figures between the markers of the document."""
    verdict = "every promise held" if outcome.is_proven else "broken: " + "; ".join(outcome.verdict.wrong)
    lines = [f"{clock.now():%Y-%m-%d}, seed {outcome.seed}, {psutil.cpu_count()} cores: **{verdict}**."]
    for title, rows in _tables(outcome):
        lines += ["", f"| {title} | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)]
    figures = "\n".join([BEGIN, "", *lines, "", END])
    text = document.read_text()
    document.write_text(re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: figures, text, flags=re.DOTALL))


def _tables(outcome: Outcome) -> Iterator[tuple[str, list[Row]]]:
    yield "published", list(_published(outcome))
    yield "broken on purpose", list(_broken(outcome))
    yield "lost by Redis, and published again", list(_lost(outcome))
    yield "what came of it", list(_found(outcome))
    yield "memory, MB (each page that processes share is counted once)", list(_memory(outcome))


def _published(outcome: Outcome) -> Iterator[Row]:
    yield f"events accepted, of {PRODUCERS} producers", f"{outcome.accepted:,}, as {outcome.entries:,} entries"
    yield "of them", ", ".join(f"{count:,} {stream}" for stream, count in outcome.by_stream.most_common())
    yield "malformed, and poison", ", ".join(f"{count} {kind}" for kind, count in outcome.wrong_kinds.most_common())
    yield "XADD without an answer, and sent again", f"{outcome.unanswered:,}"
    yield "published in", f"{outcome.published_s:.0f} s"
    yield (
        "everything at rest after",
        f"{outcome.settled_s:.0f} s from the first event: {outcome.accepted / (outcome.settled_s or 1):,.0f} events/s",
    )


def _broken(outcome: Outcome) -> Iterator[Row]:
    kinds: dict[str, list[tuple[Fault, Recovery]]] = {}
    for fault, recovery in outcome.faults:
        kinds.setdefault(fault.kind, []).append((fault, recovery))
    for kind, ones in kinds.items():
        flows, level = [one.flows_s for _, one in ones], [one.level_s for _, one in ones]
        yield f"{kind}, {_times(len(ones))}", f"work goes on after {_spread(flows)}; no more waits than before after {_spread(level)}"
    yield "replicas that an event killed", str(outcome.died)
    yield f"the mind, asked {outcome.asked:,} times", ", ".join(outcome.moods)


def _lost(outcome: Outcome) -> Iterator[Row]:
    missing, lost = Counter(one.after for one in outcome.missing), Counter(one.after for one in outcome.lost)
    for how in (RESTARTED, UNSYNCED, EMPTIED):
        if any(fault.kind == how for fault, _ in outcome.faults):
            yield how, f"{missing[how]:,} not in Redis and not settled; {lost[how]:,} of them in nobody's hands: lost, until told again"
    names = [f"`{entry}` ({one.said.event_id or one.said.wrong})" for one in outcome.lost for entry in sorted(one.entries)[:1]]
    if names:
        more = f", and {len(names) - NAMED_AT_MOST:,} more (--json names all)" if len(names) > NAMED_AT_MOST else ""
        yield "by name", ", ".join(names[:NAMED_AT_MOST]) + more


def _found(outcome: Outcome) -> Iterator[Row]:
    for what, count in outcome.verdict.counts.items():
        yield what, f"{count:,}"
    if outcome.retried:
        told = ", ".join(f"{count} {worker}" for worker, count in outcome.retried.items())
        yield "parked without fault (they had overtaken what they are about, or died in bad company), and retried by a person", told


def _memory(outcome: Outcome) -> Iterator[Row]:
    for what, sizes in outcome.memory.items():
        yield f"{what}, {len(sizes)} process{'' if len(sizes) == 1 else 'es'}", f"{sum(sizes):,.0f} (largest {max(sizes):,.0f})"
    yield f"all {sum(map(len, outcome.memory.values()))} processes", f"{sum(map(sum, outcome.memory.values())):,.0f}"


def _named(ones: Any) -> list[dict[str, Any]]:
    return [
        {
            "stream": one.said.stream,
            "event_id": one.said.event_id,
            "entries": sorted(one.entries),
            "wrong": one.said.wrong,
            "after": one.after,
        }
        for one in ones
    ]


def _spread(seconds: list[float | None]) -> str:
    seen = [one for one in seconds if one is not None]
    if not seen:
        return "a time that the next fault hid"
    hidden = f" ({len(seconds) - len(seen)} hidden by the next fault)" if len(seen) < len(seconds) else ""
    return f"{statistics.median(seen):.1f} s" + (f", at most {max(seen):.1f} s" if len(seen) > 1 else "") + hidden


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _one(seconds: float) -> float:
    return round(seconds, 1)
