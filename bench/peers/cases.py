"""Pairs of facts, what ought to become of them, and in which rounds they are said.

    word for word   the same words twice          one fact
    same            one fact in two wordings      one fact
    update          the second ends the first     the second alone is told
    compatible      two facts                     both are told

Each pair belongs to one agent, PAIRS_OF_AN_AGENT of them to each, so that a system has to find the fact that a new one is about. No words
are said by two pairs: of two that share any, the later is left out. What two pairs say of each other has no label; they are taken
to be compatible.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from tests.evals.cases import READERS, SEED, START
from tests.evals.pairs import SETS

Kind = Literal["word for word", "same", "update", "compatible"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SMALL = Path(__file__).parent / "small.jsonl"
PAIRS_OF_AN_AGENT = 25
LATER = timedelta(days=31)
KIND_OF_LABEL: dict[str, Kind] = {"same": "same", "update": "update", "contradict": "update", "compatible": "compatible"}


@dataclass(frozen=True, slots=True)
class Case:
    """Two facts in the order they hold. `key` names the pair without its words."""

    key: str
    kind: Kind
    first: str
    second: str
    first_at: datetime = START
    second_at: datetime = START + LATER
    subject: str | None = None
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """One fact, said for an agent's memory."""

    agent: str
    text: str
    at: datetime
    subject: str | None = None


Round = tuple[Saying, ...]
"""What is said at once: by one writer one fact, by two writers one each."""


def small(path: Path = SMALL) -> list[Case]:
    """The pairs that come with the repository."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Case(f"small:{number}", row["kind"], row["first"], row["second"]) for number, row in enumerate(rows, 1)]


def of_data(data: Path, most: int) -> list[Case]:
    """At most `most` pairs of each set and kind below `data`, the same ones every time; without rows that only say more than another."""
    by_set: dict[tuple[str, Kind], list[Case]] = {}
    for case in _read(data):
        by_set.setdefault((case.key.partition(":")[0], case.kind), []).append(case)
    chosen: list[Case] = []
    for (_, kind), cases in sorted(by_set.items()):
        shuffled = random.Random(SEED).sample(cases, len(cases))
        chosen += shuffled[:most]
        if kind == "compatible":  # what is left says one fact twice, for the words of each pair's first
            chosen += [
                replace(case, kind="word for word", second=case.first, key=f"{case.key}:twice") for case in shuffled[most : 2 * most]
            ]
    return chosen


def seated(cases: Sequence[Case]) -> list[Case]:
    """Each pair with its agent, in an order that is no file's; a pair whose words were said by an earlier one is left out."""
    taken: set[str] = set()
    seated: list[Case] = []
    for case in random.Random(SEED).sample(list(cases), len(cases)):
        words = {normal(case.first), normal(case.second)}
        if words & taken:
            continue
        taken |= words
        seated.append(replace(case, agent=f"agent-{len(seated) // PAIRS_OF_AN_AGENT + 1:02}"))
    return seated


def rounds(cases: Sequence[Case], writers: int) -> list[Round]:
    """By one writer every first fact and then every second; by two writers both facts of a pair at once."""
    firsts = [Saying(case.agent, case.first, case.first_at, case.subject) for case in cases]
    seconds = [Saying(case.agent, case.second, case.second_at, case.subject) for case in cases]
    return [(saying,) for saying in firsts + seconds] if writers == 1 else list(zip(firsts, seconds, strict=True))


def normal(text: str) -> str:
    """What makes two texts the same words: neither case nor white space."""
    return " ".join(text.casefold().split())


def _read(data: Path) -> Iterator[Case]:
    for read in READERS.values():
        for one in read(data):
            if kind := KIND_OF_LABEL.get(one.label):
                yield Case(one.key, kind, one.older, one.newer, one.older_at, one.newer_at, one.subject)
    pararel = next(pairs for pairs in SETS if pairs.name == "pararel")  # one fact in two wordings, which the readers leave out
    for number, pair in enumerate(pararel.pairs(data), 1):
        if pair.relation == "same":
            yield Case(f"pararel_same:{number}", "same", pair.old, pair.new)
