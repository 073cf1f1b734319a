"""Briefs: the one line by which recall shows a memory, made by template when it is written, so that reading it costs nothing.

    decision    Chose Postgres for storage [success] [85% confidence] — Pattern: Unify to reduce surface area
    procedure   Architecture decision: Query past decisions; Evaluate alternatives; Record it [92% effective]
    censor      BLOCK: Pushing to main — Always use a branch (Postgres writes this one: heart.censors.brief)
    episode     its summary, or its title while it has none
    fact        the fact itself

The forms are the spec's (003, tier 1). What was said in several lines becomes one, and no part of a line is longer than PART_CHARACTERS;
a fact is never shortened, because it is its own summary, and a censor's pattern is shown as it is matched.
"""

import re
from collections.abc import Sequence
from typing import get_args

from events.decisions import DecisionOutcome

PART_CHARACTERS = 1_500
"""Longest part of a line: 150 words, which the spec gives a summary, and room for long ones."""

PATTERNS_SHOWN = 3
ACTIVATIONS_BEFORE_EFFECTIVE = 5
"""So often a procedure must have been used before how well it works is said (spec 003)."""


_ADDED = {
    "decision": re.compile(rf"(?:(?:^| )\[(?:{'|'.join(get_args(DecisionOutcome))})\])?(?:^| )\[\d+% confidence\](?: — Pattern: .*)?$"),
    "procedure": re.compile(r" \[\d+% effective\]$"),
}
"""What the templates below add to what was said, at the end of a line."""


def said(kind: str, brief: str) -> str:
    """What somebody said, of a memory's line: without what its template added."""
    added = _ADDED[kind].search(brief) if kind in _ADDED else None
    return brief[: added.start()] if added else brief


def decision(description: str, *, outcome: str, confidence: float, pattern: str | None = None) -> str:
    """A decision with what came of it, unless that is pending, and how sure the agent was (0 to 1)."""
    parts = [_line(description)]
    if outcome != "pending":
        parts.append(f"[{outcome}]")
    parts.append(f"[{confidence:.0%} confidence]")
    if pattern and (rule := _line(pattern)):
        parts.append(f"— Pattern: {rule}")
    return " ".join(part for part in parts if part)


def episode(title: str | None, summary: str | None) -> str:
    """An episode's summary; its title while it has none."""
    return _line(summary or "") or _line(title or "")


def procedure(name: str, core_patterns: Sequence[str], *, activations: int = 0, effectiveness: float | None = None) -> str:
    """A procedure with its first steps, and from five uses on the share (0 to 1) of those that are known to have worked."""
    core = "; ".join(filter(None, map(_line, core_patterns[:PATTERNS_SHOWN])))
    said = ": ".join(filter(None, (_line(name), core)))
    is_proven = effectiveness is not None and activations >= ACTIVATIONS_BEFORE_EFFECTIVE
    return f"{said} [{effectiveness:.0%} effective]" if is_proven else said


def censor(severity: str, trigger_pattern: str, reason: str) -> str:
    """What a censor does, when, and why; word for word what Postgres generates in heart.censors.brief."""
    return f"{severity.upper()}: {trigger_pattern} — {reason}"


def fact(content: str) -> str:
    """A fact is its own summary."""
    return content


def _line(said: str) -> str:
    """On one line, and cut between two words (or two characters, where words do not stand apart) when it is too long."""
    line = " ".join(said.split())
    if len(line) <= PART_CHARACTERS:
        return line
    cut = line[: PART_CHARACTERS - 1]
    head, space, _ = cut.rpartition(" ")
    return f"{head if space and len(head) > PART_CHARACTERS // 2 else cut}…"
