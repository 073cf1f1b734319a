"""The memories that recall finds, kind by kind: where each stands, and the line it is told in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from events import MemoryKind

Kind = MemoryKind
"""A passage is a few turns of an episode, word for word."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Noun:
    """The table of a kind, the name of its id there, the column of its line, and that of whom it is about, if it says so."""

    table: str
    id: str
    line: str
    subject: str = "NULL"


NOUNS: Mapping[Kind, Noun] = {
    "fact": Noun("heart.facts", "fact_id", line="content", subject="subject"),
    "episode": Noun("heart.episodes", "episode_id", line="brief"),
    "decision": Noun("brain.decisions", "decision_id", line="brief"),
    "procedure": Noun("heart.procedures", "procedure_id", line="brief"),
    "passage": Noun("heart.passages", "passage_id", line="content"),
}
