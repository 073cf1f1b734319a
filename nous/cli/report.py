"""The demo's report, as a person reads it: what came in, what became of it, and where to look next."""

import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from itertools import chain, zip_longest

from rich.console import Console, Group
from rich.text import Text

from nous.guard import DECISIVE, Finding
from providers.offline import OfflineMind

from . import place, screen
from .demo import Pair, Report, Settled

CONFIRMED_SHOWN = 5
ALMOST_SHOWN = 6
TWINS_SHOWN = 4
SETTLED_SHOWN = 5
WIDEST = 110
WIDE = 100  # from here a finding stands beside its texts
TELLING_CHARACTERS = 24  # a longer finding is a rewording, not one thing to point at
COLOURS = {
    "stored": "cyan",
    "confirmed": "green",
    "mentioned": "green",
    "skipped": "yellow",
    "repeated": "bright_black",
    "parked": "red",
    "superseded": "yellow",
    "merged": "magenta",
    "disputed": "yellow",
}
MEANS = {
    "stored": "new, and recallable at once",
    "confirmed": "known already: counted, every wording kept",
    "mentioned": "of something no longer true: kept, and nothing else changed",
    "skipped": "nothing to remember",
    "repeated": "the same event delivered again: no second effect",
    "parked": "waits for a person",
}

_FORMS: dict[str, Callable[[str], str]] = {
    "Unicode form": lambda text: text,
    "case": str.casefold,
    "spacing": lambda text: "".join(text.split()),
    "case and spacing": lambda text: "".join(text.casefold().split()),
    "digits": lambda text: "".join(str(unicodedata.digit(one, one)) for one in text),
}


def print_report(report: Report, *, is_json: bool) -> None:
    """Print it."""
    if is_json:
        screen.emit(asdict(report))
        return
    console = screen.out(piped_width=screen.PROSE_WIDTH)
    console.width = min(console.width, WIDEST)
    _print_came_in(console, report)
    _print_outcomes(console, report)
    _print_judged(console, report)
    _print_settled(console, "No longer true", "each is kept, with the time it ended", report.judged.superseded)
    _print_settled(console, "One fact after all", "every wording is kept, and a person can split them again", report.judged.merged)
    _print_settled(console, "Disputed", "an assistant said otherwise than the user; both stay", report.judged.disputed)
    _print_confirmed(console, report)
    _print_almost_merged(console, report)
    _print_likely_twins(console, report)
    _print_next(console, report)


def _print_came_in(console: Console, report: Report) -> None:
    came = report.came_in
    first, last = came.first_day, came.last_day
    console.print()
    until = f"{last.day} {last:%B %Y}"
    since = f"{first.day}" if (first.year, first.month) == (last.year, last.month) else f"{first.day} {first:%B %Y}"
    console.print(f"Two weeks at the Wobbly Wheel, {since} to {until}", style="bold")
    agents = f"agent {came.agents[0]}" if len(came.agents) == 1 else screen.plural(len(came.agents), "agent")
    vouched = ", ".join(f"{count} {provenance}" for provenance, count in came.vouched_for.items())
    console.print(f"{came.deliveries} deliveries of {screen.plural(came.events, 'event')} from {agents}", style="dim")
    console.print(vouched, style="dim")
    if report.known_before == came.events and report.is_unchanged:
        console.print("\nEvery one of these events was known already, and nothing changed. This is what had become of them:", style="green")
    elif report.known_before:
        console.print(f"\n{report.known_before} of these events were known already, and had no second effect.", style="green")


def _print_outcomes(console: Console, report: Report) -> None:
    console.print()
    console.print(_bar(report, min(console.width, 72)))
    table = screen.rows(3)
    for outcome, count in (*report.outcomes.items(), ("repeated", report.repeated)):
        because = "; ".join(report.reasons.get(outcome, ()))
        means = f"{MEANS.get(outcome, '')}{f': {because}' if because else ''}"
        table.add_row(f"{count:>5,}", Text(outcome, style=COLOURS.get(outcome, "")), screen.said(means, "dim"))
    console.print(table)


def _print_judged(console: Console, report: Report) -> None:
    """What came of holding each new fact against its neighbours."""
    judged = report.judged
    if not judged.minds:
        return
    by = "by rule (no model is set)" if _is_judged_by_rule(report) else f"by {screen.listed(judged.minds)}, {judged.tokens:,} tokens"
    console.print()
    console.print(f"Then each new fact was held against its neighbours, {judged.pairs:,} pairs {by}:")
    table = screen.rows(3)
    for count, word, means in (
        (len(judged.superseded), "superseded", "no longer true: something claimed later says otherwise"),
        (len(judged.merged), "merged", "the same as another: one fact, every wording kept"),
        (len(judged.disputed), "disputed", "an assistant against the user: both stay"),
        (judged.unsure, "unsure", "pairs it could not tell about: both facts stay, another mind may be asked"),
    ):
        if count:
            table.add_row(f"{count:>5,}", Text(word, style=COLOURS.get(word, "")), screen.said(means, "dim"))
    console.print(table)


def _print_settled(console: Console, title: str, why: str, found: Sequence[Settled]) -> None:
    if not found:
        return
    shown = found[:SETTLED_SHOWN]
    _print_heading(console, title, len(found), len(shown), why)
    is_wide = console.width >= WIDE
    table = screen.rows(3 if is_wide else 2)
    for one in shown:
        texts, finding = _marked(one.was, one.now, one.findings), _named(one.findings)
        until = f"until {one.until.day} {one.until:%B}" if one.until else ""
        table.add_row(Text(until, style="cyan"), *((Group(*texts), finding) if is_wide else (Group(*texts, finding),)))
    console.print(table)


def _bar(report: Report, width: int) -> Text:
    """Every event as its share of a line."""
    total = sum(report.outcomes.values()) or 1
    bar = Text()
    for outcome, count in report.outcomes.items():
        bar.append("━" * max(round(width * count / total), 1), style=COLOURS.get(outcome, ""))
    return bar


def _print_confirmed(console: Console, report: Report) -> None:
    shown = sorted((pair for pair in report.confirmed if pair.known != pair.heard), key=_likeness)[:CONFIRMED_SHOWN]
    if not shown:
        return
    _print_heading(
        console, "Heard again, and recognised", len(report.confirmed), len(shown), "what differs carries no meaning; every wording is kept"
    )
    table = screen.table("what it knew", "what it heard", "only another")
    for pair in shown:
        table.add_row(screen.said(pair.known), screen.said(pair.heard, "green"), Text(_only_another(pair), style="dim"))
    console.print(table)


def _only_another(pair: Pair) -> str:
    """What two texts that are the same differ in, since some of it cannot be seen."""
    known, heard = unicodedata.normalize("NFC", pair.known), unicodedata.normalize("NFC", pair.heard)
    for name, part in _FORMS.items():
        if part(known) == part(heard):
            return name
    return "punctuation" if pair.similarity < 1 else "writing"


def _likeness(pair: Pair) -> float:
    return SequenceMatcher(None, pair.known, pair.heard, autojunk=False).ratio()


def _print_almost_merged(console: Console, report: Report) -> None:
    gone = {(one.was, one.now) for one in (*report.judged.superseded, *report.judged.merged)}
    apart = [pair for pair in report.almost_merged if (pair.known, pair.heard) not in gone]
    shown = _various([pair for pair in apart if _is_telling(pair)])[:ALMOST_SHOWN]
    if shown:
        why = f"{_from(report.confirm_similarity)}as alike as a rewording, but the guard found a difference"
        _print_heading(console, "Almost merged, and kept apart", len(apart), len(shown), why)
        _print_pairs(console, shown)


def _print_likely_twins(console: Console, report: Report) -> None:
    shown = _various(report.likely_twins)[:TWINS_SHOWN]
    if shown:
        why = f"{_from(report.check_similarity)}alike enough to ask about, not to merge; both are recallable meanwhile"
        _print_heading(console, "Likely twins", len(report.likely_twins), len(shown), why)
        _print_pairs(console, shown)


def _print_next(console: Console, report: Report) -> None:
    times, nous = report.times, place.command()
    console.print()
    console.print(
        f"Ready in {times.ready_s:.1f} s; {report.came_in.deliveries} deliveries settled in {times.settled_s:.1f} s;"
        f" {screen.plural(report.facts, 'fact')} remembered.",
        style="dim",
    )
    console.print()
    table = screen.rows(2)
    if not report.is_running_on:
        table.add_row(Text(f"{nous} up", style="bold"), "keep it running; in another terminal:")
    table.add_row(Text(f"{nous} facts --agent {report.came_in.agents[0]}", style="bold"), "what is remembered")
    if report.judged.superseded:
        table.add_row(Text(f"{nous} facts --as-of {report.came_in.first_day:%Y-%m-%d}", style="bold"), "what was true on another day")
    example = _worth_explaining(report)
    if example:
        wording = textwrap.shorten(screen.shown(example.known), 42, placeholder="…")
        table.add_row(Text(f"{nous} explain fact {str(example.fact_id)[:8]}", style="bold"), screen.said(f"why “{wording}”"))
    if _is_judged_by_rule(report):
        why = "how healthy it is: above two limits here, for the sample contradicts itself on purpose, and no mind settled that"
        table.add_row(Text(f"{nous} audit", style="bold"), why)
    table.add_row(Text(f"{nous} --help", style="bold"), "everything else")
    console.print(table)


def _is_judged_by_rule(report: Report) -> bool:
    """Whether no model looked at the pairs."""
    return all(map(OfflineMind.is_named, report.judged.minds))


def _worth_explaining(report: Report) -> Pair | None:
    """A fact that was heard again and has a twin besides."""
    twinned = {pair.known for pair in (*report.likely_twins, *report.almost_merged)}
    return next((pair for pair in report.confirmed if pair.known in twinned), next(iter(report.confirmed), None))


# ── pairs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_heading(console: Console, title: str, count: int, shown: int, why: str) -> None:
    some = f"{count}, of which {shown} here" if shown < count else str(count)
    console.print()
    console.print(Text.assemble((title, "bold"), (f"  {some}", "dim")))
    console.print(screen.said(why, "dim"))


def _print_pairs(console: Console, pairs: Iterable[Pair]) -> None:
    is_wide = console.width >= WIDE
    table = screen.rows(3 if is_wide else 2)
    for pair in pairs:
        texts, finding = _marked(pair.known, pair.heard, pair.findings), _named(pair.findings)
        cells = (Group(*texts), finding) if is_wide else (Group(*texts, finding),)
        table.add_row(Text(f"{pair.similarity:.3f}", style="cyan"), *cells)
    console.print(table)


def _marked(known: str, heard: str, findings: Iterable[Finding]) -> tuple[Text, Text]:
    """Both texts, with what the guard found in colour."""
    old, new = screen.said(known), screen.said(heard)
    for finding in findings:
        if finding.old:
            old.highlight_words([finding.old], "bold red")
        if finding.new:
            new.highlight_words([finding.new], "bold green")
    return old, new


def _named(findings: Sequence[Finding]) -> Text:
    """The most telling finding, and how many there are besides."""
    if not findings:
        return Text()
    first = min(findings, key=_rank)
    if len(str(first)) > 2 * TELLING_CHARACTERS:
        return Text(f"{first.kind}: said otherwise", style="dim")
    more = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
    return Text.assemble(
        (f"{first.kind} ", "yellow"), f"{screen.shown(first.old or '∅')} ≠ {screen.shown(first.new or '∅')}", (more, "dim")
    )


def _is_telling(pair: Pair) -> bool:
    return bool(pair.findings) and all(len(part) <= TELLING_CHARACTERS for one in pair.findings for part in (one.old, one.new))


def _rank(finding: Finding) -> tuple[bool, int]:
    return finding.kind not in DECISIVE, len(finding.old) + len(finding.new)


def _various(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs in an order that shows every kind of finding early, the decisive kinds before the others."""
    kinds: dict[str, list[Pair]] = {}
    for pair in sorted((pair for pair in pairs if pair.findings), key=_order):
        kinds.setdefault(min(pair.findings, key=_rank).kind, []).append(pair)
    return [pair for pair in chain.from_iterable(zip_longest(*kinds.values())) if pair]


def _order(pair: Pair) -> tuple[bool, bool, bool, float]:
    """Decisive before not, one finding before several, most alike first; what runs from right to left last, as it may upset columns."""
    first = min(pair.findings, key=_rank)
    is_leftward = any(unicodedata.bidirectional(one) in {"R", "AL"} for one in pair.known)
    return first.kind not in DECISIVE, len(pair.findings) > 1, is_leftward, -pair.similarity


def _from(threshold: float | None) -> str:
    return "" if threshold is None else f"similarity {threshold:.2f} and more: "
