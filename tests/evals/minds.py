"""Minds to measure with: one that answers from the labels, one that repeats what a model once said, and one that counts."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from providers.mind import A, Judgement, Judgements, Mind, Pair, Question, Relation, Reply, Task

from .cases import Case

RECORDED = Path(__file__).parent / "recorded_qwen2.5-coder-1.5b.jsonl"
OF_LABEL: dict[str, Relation] = {"same": "same", "refine": "refines", "update": "updates", "contradict": "contradicts"}


def digest(version: str, older: str, newer: str) -> str:
    """What an answer is recorded under: nothing of the two texts can be read from it."""
    return sha256(f"{version}\0{older}\0{newer}".encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Said:
    """An answer as recorded: the word, and the share the model gave each of the words it could have said."""

    word: str
    shares: Mapping[str, float]


def recorded(path: Path = RECORDED) -> dict[str, Said]:
    """Every recorded answer by its question's digest."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {row["question"]: Said(row["said"], row["shares"]) for row in rows}


class PairwiseMind:
    """A mind that judges each pair by itself, at once."""

    name = "pairwise"

    def relation(self, pair: Pair, version: str) -> Relation:
        """How the newer stands to the older; `version` is the prompt's."""
        raise NotImplementedError

    def model(self, task: Task) -> str:
        """One name for everything."""
        return self.name

    async def ask(self, question: Question[A]) -> Reply[A]:
        """One judgement for each pair."""
        version = question.prompt.version
        answer: Any = Judgements(
            judgements=[
                Judgement(pair=number, relation=relation, richer=_richer(pair) if relation == "refines" else None)
                for number, pair in enumerate(question.about.pairs, 1)
                for relation in [self.relation(pair, version)]
            ]
        )
        question.check(answer)
        return Reply(answer)

    async def close(self) -> None:
        """Nothing is open."""


class OracleMind(PairwiseMind):
    """Says of the labelled pairs what their labels say, and "compatible" of all others."""

    name = "oracle"

    def __init__(self, cases: Iterable[Case]) -> None:
        self._labels = {frozenset((case.older, case.newer)): OF_LABEL.get(case.label, "compatible") for case in cases}

    def relation(self, pair: Pair, version: str) -> Relation:
        """The label, whichever of the two is older."""
        return self._labels.get(frozenset((pair.older.content, pair.newer.content)), "compatible")


class RecordedMind(PairwiseMind):
    """Says what a model said when it was asked, and "unsure" of what it was never asked."""

    name = "recorded"

    def __init__(self, answers: Mapping[str, Said]) -> None:
        self._answers = answers

    def was_asked(self, case: Case, version: str) -> bool:
        """Whether the case's question is recorded."""
        return digest(version, case.older, case.newer) in self._answers

    def relation(self, pair: Pair, version: str) -> Relation:
        """The answer."""
        said = self._answers.get(digest(version, pair.older.content, pair.newer.content))
        return said.word if said else "unsure"  # type: ignore[return-value]


class CompatibleMind(PairwiseMind):
    """Says that any two facts can both be true."""

    name = "compatible"

    def relation(self, pair: Pair, version: str) -> Relation:
        """Always the same."""
        return "compatible"


@dataclass
class Counted:
    """A mind, and what it was asked. Tokens are estimated as a quarter of the characters of the prompt."""

    mind: Mind
    questions: int = 0
    pairs: int = 0
    characters: int = 0
    relations: list[Relation] = field(default_factory=list)

    def model(self, task: Task) -> str:
        """The mind's own."""
        return self.mind.model(task)

    async def ask(self, question: Question[A]) -> Reply[A]:
        """The mind's own answer."""
        self.questions += 1
        self.pairs += len(question.about.pairs)
        self.characters += len(question.prompt.system) + len(question.prompt.text)
        reply = await self.mind.ask(question)
        if isinstance(reply.answer, Judgements):
            self.relations += [judgement.relation for judgement in reply.answer.judgements]
        return reply

    async def close(self) -> None:
        """The mind's own."""
        await self.mind.close()


def _richer(pair: Pair) -> Any:
    """A guess that no label and no recorded word gives: the longer text."""
    return "older" if len(pair.older.content) > len(pair.newer.content) else "newer"
