"""Pairs with what ought to become of them: the earlier fact is retired by the later, the two are one, or both stand.

    beam_updates        retired: the later supersedes it                      one moment each, a month apart
    beam_compatible     both stand: the nearest other fact of the same chat    the same
    pararel             contradict: retired; compatible: both stand            the same
    situatedqa_updates  retired: a question with its answer before and after   at the dates the set gives
    locomo_near         same, refine: one; update: retired; compatible: both   by session, said of the speaker

Left out are rows without a label and, in situatedqa_updates, those whose dates are missing or not one after the other.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

from events import FactLearned, derived
from providers.mind import Claim, Pair

from .pairs import Row, answered

Effect = Literal["retired", "one", "both"]
"""What ought to become of the earlier fact, by the set's label."""

START = datetime(2024, 1, 1, tzinfo=UTC)
SEED = 5
AT_MOST = 100  # of one set and effect, so that the measurement stays within minutes
_DATES = ("%Y", "%B %d %Y", "%d %B %Y", "%b %d %Y", "%d %b %Y", "%B %Y", "%b %Y", "%Y-%m-%d", "%Y-%m")


@dataclass(frozen=True, slots=True)
class Case:
    """Two facts in the order they were said. `key` names the row without its words."""

    set: str
    key: str
    older: str
    newer: str
    effect: Effect
    label: str
    older_at: datetime = START
    newer_at: datetime = START + timedelta(days=31)
    subject: str | None = None

    def events(self, agent: str) -> tuple[FactLearned, FactLearned]:
        """The two as an agent would publish them, the older first."""
        return self._event(agent, "older", self.older, self.older_at), self._event(agent, "newer", self.newer, self.newer_at)

    def pair(self) -> Pair:
        """The two as a mind is shown them."""
        return Pair(self._claim(self.older, self.older_at), self._claim(self.newer, self.newer_at))

    def _event(self, agent: str, side: str, content: str, at: datetime) -> FactLearned:
        return FactLearned(
            event_id=derived("case", agent, side),
            fact_id=UUID(derived("case", "fact", agent, side)),
            agent_id=agent,
            content=content,
            subject=self.subject,
            provenance="user_stated",
            occurred_at=at,
        )

    def _claim(self, content: str, at: datetime) -> Claim:
        return Claim(content=content, said_at=at, provenance="user_stated", subject=self.subject)


def beam_updates(data: Path) -> list[Case]:
    """What a long chat corrected."""
    return [Case("beam_updates", row["key"], row["old"], row["new"], "retired", "update") for _, row in _rows(data, "beam_updates")]


def beam_compatible(data: Path) -> list[Case]:
    """The nearest other fact of the same chat."""
    return [Case("beam_compatible", key, row["old"], row["new"], "both", "compatible") for key, row in _rows(data, "beam_compatible")]


def pararel(data: Path) -> list[Case]:
    """Contradictions, and facts about another subject or relation; one fact in two wordings is left to the other measurements."""
    effects: dict[str, Effect] = {"contradict": "retired", "compatible": "both"}
    rows = [(key, row) for key, row in _rows(data, "pararel") if row["label"] in effects]
    return [Case("pararel", key, row["old"], row["new"], effects[row["label"]], row["label"]) for key, row in rows]


def situatedqa_updates(data: Path) -> list[Case]:
    """Questions with their answer before and after, each at its date."""
    found = []
    for key, row in _rows(data, "situatedqa_updates"):
        before, after = moment(row["old_start"]), moment(row["new_start"])
        if before and after and before < after:
            older, newer = answered(row)
            found.append(Case("situatedqa_updates", key, older, newer, "retired", "update", before, after))
    return found


def locomo_near(data: Path) -> list[Case]:
    """Facts about one speaker that are near each other, read by two readers."""
    effects: dict[str, Effect] = {"same": "one", "refine": "one", "update": "retired", "compatible": "both"}
    found = []
    for key, row in _rows(data, "locomo_near"):
        if row["label"] in effects:
            before, after = (START + timedelta(days=row[name]) for name in ("old_session", "new_session"))
            after = max(after, before + timedelta(minutes=1))
            label = row["label"]
            found.append(Case("locomo_near", key, row["old"], row["new"], effects[label], label, before, after, row["speaker"]))
    return found


READERS: dict[str, Callable[[Path], list[Case]]] = {
    "beam_updates": beam_updates,
    "beam_compatible": beam_compatible,
    "pararel": pararel,
    "situatedqa_updates": situatedqa_updates,
    "locomo_near": locomo_near,
}


def seeded(cases: Sequence[Case], count: int) -> list[Case]:
    """At most `count` of each effect, the same ones every time, in an order that is no file's."""
    shuffled = random.Random(SEED).sample(list(cases), len(cases))
    by_effect: dict[Effect, list[Case]] = {}
    for case in shuffled:
        by_effect.setdefault(case.effect, []).append(case)
    chosen = {id(case) for some in by_effect.values() for case in some[:count]}
    return [case for case in shuffled if id(case) in chosen]


def moment(stated: str | None) -> datetime | None:
    """A date as written, however exactly: `1980`, `March 2017`, `30th May 2019`; its beginning, or None where it is none."""
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", "", (stated or "").replace(",", " ").replace("Sept ", "Sep "))
    for form in _DATES:
        with suppress(ValueError):
            return datetime.strptime(" ".join(text.split()), form).replace(tzinfo=UTC)
    return None


def _rows(data: Path, name: str) -> Iterator[tuple[str, Row]]:
    for path in sorted(data.glob(f"**/{name}_*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            yield f"{path.stem}:{number}", json.loads(line)
