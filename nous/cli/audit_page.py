"""How an audit is told: a table of findings, what each above its limit means and what mends it; the trend, and what was found before."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from store.audit import AGES, OLDER, Week
from store.audits import Audit

from . import place, screen
from .audit_findings import Finding
from .shares import Share, added

RECENT_WEEKS = 4


@dataclass(frozen=True)
class Redundant:
    """A week, how many of its true facts were looked at, and how many of those had a twin before them."""

    week: Week
    looked_at: int
    twins: int

    @property
    def estimated(self) -> int:
        """How many of the week's facts stand beside a twin."""
        return round(self.week.active * self.twins / self.looked_at) if self.looked_at else 0

    @property
    def redundant(self) -> int:
        """How many facts of the week say what was known."""
        return min(self.week.added, self.week.merged + self.estimated)

    def as_data(self) -> dict[str, object]:
        """For a machine."""
        return {
            "begins": self.week.begins,
            "added": self.week.added,
            "merged_since": self.week.merged,
            "looked_at": self.looked_at,
            "twins": self.twins,
            "redundant": self.redundant,
        }


@dataclass(frozen=True)
class Looked:
    """What a look at a store came to."""

    agent: str | None
    taken_at: datetime
    seconds: float
    embedder: str
    confirm_similarity: float
    active: int
    rows: int
    ages: Mapping[str, Mapping[str, int]]
    findings: Sequence[Finding]
    weeks: Sequence[Redundant]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is above its limit."""
        return not any(one.is_over for one in self.findings)

    @property
    def trend(self) -> str:
        """How what is redundant of what is added goes: the last four weeks against the four before them."""
        now, before = (together(self.weeks[start:end]) for start, end in ((-RECENT_WEEKS, None), (-2 * RECENT_WEEKS, -RECENT_WEEKS)))
        if not now.of or not before.of:
            return "too little was added to say"
        if now.interval[0] > before.interval[1]:
            return "rising"
        return "falling" if now.interval[1] < before.interval[0] else "steady"

    def as_figures(self) -> dict[str, Any]:
        """For the row that is kept."""
        return {
            "active": self.active,
            "seconds": round(self.seconds, 1),
            "trend": self.trend,
            **{one.kind.name: one.as_figures() for one in self.findings},
        }

    def as_data(self) -> dict[str, object]:
        """For a machine."""
        return {
            "agent_id": self.agent,
            "taken_at": self.taken_at,
            "healthy": self.is_healthy,
            "seconds": round(self.seconds, 2),
            "embedder": self.embedder,
            "confirm_similarity": self.confirm_similarity,
            "facts": {
                "active": self.active,
                "rows": self.rows,
                "by_provenance_and_age": {who: dict(ages) for who, ages in self.ages.items()},
            },
            "findings": [one.as_data() for one in self.findings],
            "redundant_by_week": [one.as_data() for one in self.weeks],
            "redundant_trend": self.trend,
        }


def together(weeks: Sequence[Redundant]) -> Share:
    """What is redundant of what these weeks added: what was merged, and what stands beside a twin, as far as those looked at can tell."""
    merged = Share(sum(one.week.merged for one in weeks), sum(one.week.added for one in weeks))
    beside = [(one.week.active, Share(one.twins, one.looked_at)) for one in weeks if one.week.active]
    return added([(merged.of, merged), *beside], of=merged.of)


def tell(looked: Looked, before: Audit | None) -> None:
    """For a person."""
    whose = f"of {looked.agent}" if looked.agent else "of every agent"
    print(f"{screen.plural(looked.active, 'true fact')} {whose}, looked at in {looked.seconds:.1f} s")
    _tell_ages(looked)
    _tell_findings(looked, before)
    _tell_weeks(looked)
    over = [one for one in looked.findings if one.is_over]
    for one in over:
        print()
        _tell_one(one)
    print()
    if not over:
        print("healthy: nothing is above its limit")
        return
    screen.say(f"{len(over)} above the limit: {_names(over)}; nothing was changed")
    screen.say(f"where this store need not hold to a limit: {place.command()} audit --fail-on NAME=LIMIT, for each that is to decide")


def _tell_one(one: Finding) -> None:
    """What is above its limit: what it means, of what kinds it is, the first few, and what mends it."""
    screen.say(f"{screen.spoken(one.kind.name)}: {one.kind.meaning}")
    if one.detail:
        screen.say(f"counted: {_kinds(one.detail)}", indent=2)
    if one.not_counted:
        screen.say(f"as near, and not counted: {_kinds(one.not_counted)}", indent=2)
    for seen in one.first:
        screen.say(f"{screen.shown(seen.agent_id)}  {seen.id}" + (f"  {seen.other}" if seen.other else ""), indent=2, hang=2)
    print("  to mend it, begin with the first:" if one.first else "  to mend it:")
    for way in one.mend:
        print(f"    {_typed(way.do)}")
        screen.say(_typed(way.when), indent=6)


def _typed(words: str) -> str:
    """The words with this project's command as it is typed here."""
    return re.sub(r"\bnous (?=[a-z])", lambda _: f"{place.command()} ", words)


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {screen.spoken(name)}" for name, count in counts.items())


def _names(findings: Sequence[Finding]) -> str:
    return screen.listed(screen.spoken(one.kind.name) for one in findings)


def _tell_ages(looked: Looked) -> None:
    names = [*AGES, OLDER]
    table = screen.table("claimed", *names, right=names)
    for provenance, counts in looked.ages.items():
        table.add_row(screen.spoken(provenance), *(f"{counts[name]:,}" for name in names))
    if looked.ages:
        print()
        screen.print_list(table)


def _tell_findings(looked: Looked, before: Audit | None) -> None:
    table = screen.table("finding", "found", "of", "share", "limit", "before", "", right=("found", "of", "share", "limit", "before"))
    for one in looked.findings:
        was = before.figures.get(one.kind.name, {}).get("count") if before else None
        table.add_row(
            Text(screen.spoken(one.kind.name), style="yellow" if one.is_over else ""),
            f"{one.share.count:,}",
            f"{one.share.of:,}",
            _share(one),
            "" if one.limit is None else f"{one.limit:.0%}" if 0 < one.limit < 1 else f"{one.limit:g}",
            "" if was is None else f"{was:,}",
            "above" if one.is_over else "",
        )
    print()
    screen.print_list(table)
    sampled = [screen.spoken(one.kind.name) for one in looked.findings if one.is_sampled]
    if sampled:
        screen.say(f"by a sample, share with its 95 % interval: {screen.listed(sampled)}")


def _share(one: Finding) -> str:
    if one.share.value is None or (not one.share.count and not one.is_sampled):
        return ""
    return str(one.share) if one.is_sampled else f"{one.share.value:.1%}"


def _tell_weeks(looked: Looked) -> None:
    names = ("added", "merged since", "beside a twin", "redundant")
    if not any(one.week.added for one in looked.weeks):
        return
    table = screen.table("week from", *names, right=names)
    for one in looked.weeks:
        share = Share(one.redundant, one.week.added)
        shown = "" if share.value is None else f"{share.value:.1%}"
        table.add_row(f"{one.week.begins:%Y-%m-%d}", f"{one.week.added:,}", f"{one.week.merged:,}", f"{one.estimated:,}", shown)
    print()
    screen.print_list(table)
    screen.say(f"redundant of what is added, the last four weeks against the four before: {looked.trend}")


SHOWN = ("likely_twins", "without_vector", "dangling_links", "contradictions", "junk", "never_drawn_on", "redundant_added")


def tell_history(found: Sequence[Audit]) -> None:
    """For a person, the latest first."""
    if not found:
        print(f"no audit was made yet; {place.command()} audit makes one")
        return
    names = [screen.spoken(name) for name in SHOWN]
    table = screen.table("when, UTC", "", "facts", *names, right=("facts", *names))
    for one in found:
        cells = [_was(one.figures.get(name)) for name in SHOWN]
        table.add_row(screen.moment(one.taken_at), "healthy" if one.healthy else "above", f"{one.figures.get('active', 0):,}", *cells)
    screen.print_list(table)


def _was(figure: Mapping[str, Any] | None) -> str:
    if not figure:
        return ""
    share = Share(int(figure["count"]), int(figure["of"]))
    return "0" if not share.count else f"{share.count:,} ({share.value:.1%})"
