"""What must be true in the end, worked out from the producers' logs alone, by rules a child could follow.

The one thing it takes from the store is which delivery of an event had its effect (the entry its receipt names), because a clock that is
ahead is held to the time of that entry.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from events import kept_body

from .lives import THRESHOLD, Said, censors_of
from .mind import stated

AHEAD = timedelta(minutes=5)

Key = tuple[str, str, str]
"""(stream, agent, event id)."""


@dataclass(frozen=True)
class Expected:
    """What must be true; each part is compared with what is."""

    events: Mapping[Key, str | None]
    """Every accepted event that is one, and what is wrong with those that are poison."""
    malformed: frozenset[bytes]
    mentions: Mapping[tuple[str, str], str]
    """(agent, event id) and the published fact_id."""
    true_now: Mapping[tuple[str, str], str]
    """(agent, of whom) and what was claimed last of what changes."""
    staying: frozenset[tuple[str, str]]
    """(agent, wording in small letters) of what stays."""
    censors: Mapping[tuple[str, str], tuple[int, int, str]]
    decisions: Mapping[tuple[str, str], str]
    procedures: Mapping[tuple[str, str], tuple[int, int, int]]
    episodes: frozenset[tuple[str, str]]


def expected(accepted: Iterable[Said], agents: Iterable[str], entries: Mapping[Key, str]) -> Expected:
    """From the logs, each event once, and the entry that had its effect."""
    said = list(accepted)
    good = [one for one in said if one.is_good]
    facts = [one for one in good if one.stream == "fact_learned"]
    return Expected(
        events={key(one): one.wrong for one in said if one.fields is None},
        malformed=frozenset(archived_body(one) for one in said if one.fields is not None),
        mentions={(one.agent, one.event_id): one.body["fact_id"] for one in facts},
        true_now=_true_now(facts, entries),
        staying=frozenset((one.agent, folded(one.body["content"])) for one in facts if stated(one.body["content"])[0] is None),
        censors=_censors(good, agents),
        decisions=_decisions(good, entries),
        procedures=_procedures(good),
        episodes=frozenset((one.agent, one.body["episode_id"]) for one in good if one.stream == "episode_closed"),
    )


def archived_body(said: Said) -> bytes:
    """What the archive keeps of it, as it was sent."""
    return kept_body({name.encode(): value for name, value in (said.sent or {}).items()})


def key(said: Said) -> Key:
    """What an event is known by."""
    return said.stream, said.agent, said.event_id


def folded(content: str) -> str:
    """A wording whatever its letters and spaces."""
    return " ".join(content.lower().split())


def _true_now(facts: list[Said], entries: Mapping[Key, str]) -> dict[tuple[str, str], str]:
    latest: dict[tuple[str, str], tuple[datetime, str, str]] = {}
    for one in facts:
        whom, value = stated(one.body["content"])
        if whom is not None:
            claim = (_when(one, entries), one.event_id, value)
            latest[one.agent, whom] = max(latest.get((one.agent, whom), claim), claim)
    return {whom: value for whom, (_, _, value) in latest.items()}


def _censors(good: list[Said], agents: Iterable[str]) -> dict[tuple[str, str], tuple[int, int, str]]:
    fired: Counter[tuple[str, str]] = Counter()
    wrongly: Counter[tuple[str, str]] = Counter()
    for one in good:
        if one.stream == "censor_triggered":
            counted = wrongly if one.body.get("false_positive") else fired
            counted[one.agent, one.body["censor_id"]] += 1
    every = [(agent, str(censor)) for agent in agents for censor in censors_of(agent)]
    return {one: (fired[one], wrongly[one], "block" if fired[one] >= THRESHOLD else "warn") for one in every}


def _decisions(good: list[Said], entries: Mapping[Key, str]) -> dict[tuple[str, str], str]:
    outcomes = {(one.agent, one.body["decision_id"]): "pending" for one in good if one.stream == "decision_recorded"}
    last: dict[tuple[str, str], tuple[datetime, str, str]] = {}
    for one in good:
        if one.stream == "decision_reviewed" and (one.agent, one.body["decision_id"]) in outcomes:
            decision, review = (one.agent, one.body["decision_id"]), (_when(one, entries), one.event_id, one.body["outcome"])
            last[decision] = max(last.get(decision, review), review)
    return outcomes | {decision: outcome for decision, (_, _, outcome) in last.items()}


def _procedures(good: list[Said]) -> dict[tuple[str, str], tuple[int, int, int]]:
    counts = {(one.agent, one.body["procedure_id"]): [0, 0, 0] for one in good if one.stream == "procedure_learned"}
    for one in good:
        if one.stream == "procedure_used" and (one.agent, one.body["procedure_id"]) in counts:
            used = counts[one.agent, one.body["procedure_id"]]
            used[0] += 1
            used[1 if one.body["worked"] else 2] += 1
    return {procedure: (used, worked, failed) for procedure, (used, worked, failed) in counts.items()}


def _when(one: Said, entries: Mapping[Key, str]) -> datetime:
    said = datetime.fromisoformat(one.body["occurred_at"])
    arrived = datetime.fromtimestamp(int(entries[key(one)].partition("-")[0]) / 1000, tz=UTC) if key(one) in entries else said
    return min(said, arrived + AHEAD)


def differences(known: Mapping[Any, Any], found: Mapping[Any, Any]) -> dict[Any, Any]:
    """Where the two differ: what was expected, and what is."""
    return {one: (known.get(one), found.get(one)) for one in known.keys() | found.keys() if known.get(one) != found.get(one)}
