"""Facts that grew old and were never found: they count for less, and later, where that is allowed, are no longer active.

    not heard for 90 days (an assistant's), 180 (an episode's), 365 (a user's, where enabled), and never found ─▶ demote
    demoted for 180 days, and still never found, where NOUS_JANITOR=archive ────────────────────────────────────▶ archive
    pinned ─────────────────────────────────────────────────────────────────────────────────────────────────────▶ never

How often a fact is found is counted from a moment on (bus.since): the time before that makes nothing old, for nobody knows what was
asked then. Never found is not disproved, so nothing is deleted, and what was said says what it said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from events import FactUnused, MaintenanceDue
from nous.settings import Settings
from store import unused, upkeep_runs
from store.database import Read
from store.facts import Fact
from store.unused import Looked, Wanted

from . import Due, Task

DAY = timedelta(days=1)
SAID = {
    "user_stated": "the user stated it",
    "episode_summary": "taken from an episode",
    "assistant_derived": "an assistant derived it",
}


@dataclass(frozen=True)
class Rule:
    """When facts of one provenance are old, and by what their confidence counts for less then (0 to 1)."""

    limit: timedelta
    factor: float


@dataclass(frozen=True)
class Rules:
    """What holds by the settings, as of a moment; ages count from `since` at the earliest. No rule, never."""

    now: datetime
    since: datetime
    by_provenance: Mapping[str, Rule]
    archive_after: timedelta | None

    def wanted(self) -> Wanted:
        """Which facts are due. While counting is younger than a limit, nothing is as old as that."""
        old = {name: self.now - rule.limit for name, rule in self.by_provenance.items()}
        demoted = None if self.archive_after is None else self.now - self.archive_after
        return Wanted({name: moment if moment >= self.since else None for name, moment in old.items()}, demoted)

    def unheard_since(self, fact: Fact) -> datetime:
        """From when on its age counts: when it was heard or brought back last, or when counting began."""
        return max(filter(None, (fact.claimed_at, fact.created_at, fact.reinstated_at, self.since)))

    def why(self, fact: Fact) -> str:
        """Why a fact that is due is touched: since when it is silent, for how long that is, and how long it may be."""
        if fact.demoted_at and self.archive_after is not None:
            since, limit = fact.demoted_at, self.archive_after
            ago = f"{_days(self.now - since)} ago, on {since:%Y-%m-%d}"
            return f"it was demoted {ago}, and not heard or found since (the limit is {_days(limit)})"
        since, limit = self.unheard_since(fact), self.by_provenance[fact.provenance].limit
        silent = f"it was not heard for {_days(self.now - since)}, since {since:%Y-%m-%d} (the limit is {_days(limit)})"
        return f"{SAID[fact.provenance]}, {silent}, and never found for a question"

    def why_not(self, looked: Looked, *, archive: bool) -> str | None:
        """Why this is not to be done with a fact; None if it is."""
        fact = looked.fact
        rule = self.by_provenance.get(fact.provenance)
        if gone := _gone(fact):
            return gone
        if looked.is_pinned:
            return "a person pinned it"
        if looked.times_used:
            return f"it was found or drawn on since, {looked.times_used} times"
        if rule is None:
            return f"{SAID[fact.provenance]}, and such facts are let be (NOUS_JANITOR_USER_STATED)"
        if archive:
            return self._why_not_archived(fact)
        if fact.demoted_at:
            return f"it was demoted already, on {fact.demoted_at:%Y-%m-%d}"
        since = self.unheard_since(fact)
        return None if since <= self.now - rule.limit else f"its age counts from {since:%Y-%m-%d}, and it is not {_days(rule.limit)} old"

    def _why_not_archived(self, fact: Fact) -> str | None:
        if self.archive_after is None:
            return "nothing is archived by these settings (NOUS_JANITOR)"
        if fact.demoted_at is None:
            return "it is no longer demoted"
        if fact.demoted_at > self.now - self.archive_after:
            return f"it was demoted on {fact.demoted_at:%Y-%m-%d}, which is not {_days(self.archive_after)} ago"
        return None


def _gone(fact: Fact) -> str | None:
    if fact.forgotten_at:
        return "it was forgotten since"
    if fact.merged_into:
        return f"it became part of {fact.merged_into} since"
    if fact.superseded_by:
        return f"{fact.superseded_by} is said instead since"
    return None if fact.active else "it is archived already"


async def rules(db: Read, settings: Settings, now: datetime) -> Rules:
    """What holds by the settings, as of `now`."""
    by_provenance: dict[str, Rule] = {
        "assistant_derived": Rule(settings.janitor_assistant_derived_days * DAY, settings.janitor_assistant_derived_factor),
        "episode_summary": Rule(settings.janitor_episode_summary_days * DAY, settings.janitor_episode_summary_factor),
    }
    if settings.janitor_user_stated:
        by_provenance["user_stated"] = Rule(settings.janitor_user_stated_days * DAY, settings.janitor_user_stated_factor)
    archive_after = None if settings.janitor == "demote" else settings.janitor_archive_days * DAY
    return Rules(now, await upkeep_runs.counted_since(db), by_provenance, archive_after)


# ── what is due ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def agents(db: Read, now: datetime, settings: Settings) -> list[str]:
    """Every agent with something due."""
    return await unused.agents(db, (await rules(db, settings, now)).wanted())


async def due(db: Read, cause: MaintenanceDue, settings: Settings, limit: int) -> Sequence[Due]:
    """A page of the agent's facts that are due."""
    ruled = await rules(db, settings, cause.occurred_at)
    found = await unused.page(db, cause.agent_id, ruled.wanted(), after=cause.after, limit=limit)
    return [_archived(one, cause, ruled) if one.demoted_at else _demoted(one, cause, ruled) for one in found]


def _demoted(fact: Fact, cause: MaintenanceDue, ruled: Rules) -> Due:
    rule = ruled.by_provenance[fact.provenance]
    would = f"demoted: its confidence of {fact.confidence:g} counts for {fact.confidence * rule.factor:g}, and who vouches one notch less"
    return Due(fact.fact_id, would, ruled.why(fact), _event(cause, fact.fact_id, "demote"))


def _archived(fact: Fact, cause: MaintenanceDue, ruled: Rules) -> Due:
    return Due(fact.fact_id, "archived: no longer active, and restorable", ruled.why(fact), _event(cause, fact.fact_id, "archive"))


def _event(cause: MaintenanceDue, fact: UUID, step: str) -> FactUnused:
    return FactUnused.following(cause, of=f"{step} {fact}", fact_id=fact, step=step)


def _days(time: timedelta) -> str:
    return f"{time / DAY:,.0f} days" if time >= DAY else f"{time.total_seconds():,.0f} s"


task = Task(
    name="facts",
    does="demotes, and archives if enabled, old facts that were never found",
    every=timedelta(weeks=1),
    agents=agents,
    due=due,
    decided_by=(
        "janitor",
        "janitor_assistant_derived_days",
        "janitor_assistant_derived_factor",
        "janitor_episode_summary_days",
        "janitor_episode_summary_factor",
        "janitor_user_stated",
        "janitor_user_stated_days",
        "janitor_user_stated_factor",
        "janitor_archive_days",
    ),
    is_dry=lambda settings: settings.janitor == "dry-run",
)
