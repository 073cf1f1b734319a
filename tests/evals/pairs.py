"""The sets of sentence pairs, and what counts in each as one fact and as two.

A file is found by its set's name anywhere below the data folder; a row that is neither clearly one fact nor clearly two is left out.

    pararel             one Wikidata fact said in two ways: same; with another object, about another subject or relation: differ
    sick                entailment with a relatedness of 4.5 and more: same; compatible or contradicting: differ
    stsb                similarity 5: same; 3 and less: differ
    mrpc                paraphrase: same; not one: differ
    breaking_nli        one word swapped for a synonym: same; for anything else: differ
    locomo_near         two readers agree that it is the same: same; that it refines, updates or is compatible: differ
    fever_edits         a sentence and its minimally edited contradiction: differ
    situatedqa_updates  a question with its answer before and after: differ
    beam_updates        a fact and what supersedes it: differ
    beam_compatible     the nearest other fact of the same chat: differ
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Relation = Literal["same", "differ"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts and whether they are one."""

    old: str
    new: str
    relation: Relation


@dataclass(frozen=True, slots=True)
class PairSet:
    """One set: its name, which begins its files' names, and how a row is read (None leaves it out)."""

    name: str
    relation: Callable[[Row], Relation | None]
    sentences: Callable[[Row], tuple[str, str]] = lambda row: (row["old"], row["new"])

    def pairs(self, data: Path) -> Iterator[Pair]:
        """The usable pairs below `data`, in the order of the files."""
        for path in sorted(data.glob(f"**/{self.name}_*.jsonl")):
            for line in path.read_text("utf-8").splitlines():
                row: Row = json.loads(line)
                if relation := self.relation(row):
                    yield Pair(*self.sentences(row), relation)


def _labelled(same: frozenset[str]) -> Callable[[Row], Relation | None]:
    def relation(row: Row) -> Relation | None:
        label: str | None = row["label"]
        return None if label is None else "same" if label in same else "differ"

    return relation


def _sick(row: Row) -> Relation | None:
    if row["label"] != "same?":
        return "differ"
    return "same" if row["score"] >= 4.5 else None


def _stsb(row: Row) -> Relation | None:
    return "same" if row["score"] == 5 else "differ" if row["score"] <= 3 else None


def answered(row: Row) -> tuple[str, str]:
    question = row["q"].rstrip("?")
    return f"{question}? {row['old']}.", f"{question}? {row['new']}."


def _differ(_: Row) -> Relation:
    return "differ"


SETS = (
    PairSet("pararel", _labelled(frozenset({"same"}))),
    PairSet("sick", _sick),
    PairSet("stsb", _stsb),
    PairSet("mrpc", _labelled(frozenset({"same"}))),
    PairSet("breaking_nli", _labelled(frozenset({"same?"}))),
    PairSet("locomo_near", _labelled(frozenset({"same"}))),
    PairSet("fever_edits", _differ),
    PairSet("situatedqa_updates", _differ, answered),
    PairSet("beam_updates", _differ),
    PairSet("beam_compatible", _differ),
)
