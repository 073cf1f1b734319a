"""LoCoMo's conversations as memories with the turns they rest on, and its questions with the turns that answer them.

    observations ──▶ facts, each with its turns         turns ──▶ passages as an episode keeps them, each with its turns
    questions    ──▶ with their evidence, corrected where an audit found it wrong; categories by number

1 is multi-hop, 2 temporal, 3 open-domain, 4 single-hop; 5 asks about what was never said.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from providers.mind import Utterance
from workers.episodes import passages, transcript

from .locomo_stream import SAID_AT, conversations

TURN = re.compile(r"D\d+:\d+")
SESSION = re.compile(r"session_(\d+)")
ANSWERABLE = (1, 2, 3, 4)
UNANSWERABLE = 5


@dataclass(frozen=True)
class Memory:
    """Something to be found: its words, whom it is about, when it was said, and the turns it rests on."""

    content: str
    subject: str | None
    said_at: datetime
    turns: frozenset[str]


@dataclass(frozen=True)
class Question:
    """A question, its category, and the turns that answer it; none of them for what was never said."""

    words: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    """One conversation: `sessions` are its passages, session by session."""

    name: str
    facts: tuple[Memory, ...]
    sessions: tuple[tuple[Memory, ...], ...]
    questions: tuple[Question, ...]

    @property
    def texts(self) -> list[str]:
        """Everything of it that gets a vector."""
        return [one.content for one in (*self.facts, *(one for some in self.sessions for one in some))] + [
            one.words for one in self.questions
        ]


def load(data: Path) -> list[Conversation]:
    """Every conversation below `data`."""
    corrected = {
        (one["sample_id"], one["qa_index"]): one["correct_evidence"]
        for path in sorted(data.glob("**/locomo/audit_errors_*.json"))
        for one in json.loads(path.read_text("utf-8"))
        if one.get("correct_evidence") is not None
    }
    return [_conversation(one, corrected) for one in conversations(data)]


def _conversation(raw: dict[str, Any], corrected: dict[tuple[str, int], list[str]]) -> Conversation:
    name, said = raw["sample_id"], raw["conversation"]
    numbers = sorted(int(found[1]) for key in said if (found := SESSION.fullmatch(key)) and isinstance(said[key], list))
    turns = {turn["dia_id"] for number in numbers for turn in said[f"session_{number}"]}
    questions = []
    for index, one in enumerate(raw["qa"]):
        evidence = _turns(corrected.get((name, index), one.get("evidence", []))) & turns
        if evidence or one["category"] == UNANSWERABLE:
            questions.append(Question(one["question"], one["category"], evidence))
    return Conversation(
        name,
        facts=tuple(_facts(raw["observation"], said)),
        sessions=tuple(_passages(said[f"session_{number}"], _time(said.get(f"session_{number}_date_time"))) for number in numbers),
        questions=tuple(questions),
    )


def _facts(observed: dict[str, Any], said: dict[str, Any]) -> Iterable[Memory]:
    for session, by_speaker in observed.items():
        at = _time(said.get(f"{session.removesuffix('_observation')}_date_time"))
        for speaker, facts in by_speaker.items():
            for content, source in facts:
                yield Memory(content, speaker, at, _turns([source] if isinstance(source, str) else source))


def _passages(session: Sequence[dict[str, Any]], at: datetime) -> tuple[Memory, ...]:
    """As the summarizer cuts them; a turn belongs to every passage that has a part of it."""
    said = [Utterance(content=words_of(turn), speaker=turn["speaker"], said_at=at) for turn in session]
    found, place, used = [], 0, 0
    for (content, moment), some in zip(passages.cut(said, began=at), transcript.parts(said, passages.PASSAGE_CHARACTERS), strict=True):
        turns = set()
        for piece in some:
            turns.add(session[place]["dia_id"])
            used += len(piece.content)
            if used >= len(said[place].content):
                place, used = place + 1, 0
        found.append(Memory(content, None, moment, frozenset(turns)))
    return tuple(found)


def words_of(turn: dict[str, Any]) -> str:
    """What was said in a turn, with what a photo shows."""
    return f"{turn['text']} [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else str(turn["text"])


def _turns(cited: Iterable[str]) -> frozenset[str]:
    """Evidence is sometimes several ids in one text, or none that is whole."""
    return frozenset(turn for one in cited for turn in TURN.findall(one))


def _time(said_at: str | None) -> datetime:
    with suppress(ValueError):
        return datetime.strptime(said_at or "", SAID_AT).replace(tzinfo=UTC)
    return datetime(2023, 1, 1, tzinfo=UTC)
