"""The transcripts of a trial, out of files: JSON lines, each a conversation with what is known and asked of it.

    {"transcript": "...", "started_at": "...", "agent_id": "...",
     "gold": ["fact", ...], "probes": [{"question": "...", "answers": ["fact", ...]}]}

One that is there twice is asked about once, with all its gold and probes. Whatever is wrong is told before anything is paid for.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from events.base import AgentId, Moment
from events.episodes import MAX_TRANSCRIPT_CHARACTERS
from nous import clock
from nous.errors import UserMistake
from nous.text import is_blank
from nous.trialling.reading import AGENT, Conversation, Probe
from recall.asking import LONGEST_CHARACTERS
from workers.episodes import transcript

from . import labelled, screen


class Asked(BaseModel):
    """A question that will be put to memory, and the facts any of which answers it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str = Field(max_length=LONGEST_CHARACTERS)
    answers: list[str] = Field(min_length=1)

    @field_validator("question", "answers")
    @classmethod
    def _says_something(cls, given: str | list[str]) -> str | list[str]:
        if any(map(is_blank, [given] if isinstance(given, str) else given)):
            raise ValueError("it is empty")
        return given


class Row(BaseModel):
    """One line of a file of transcripts: what an episode may bring, and no more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    transcript: str = Field(max_length=MAX_TRANSCRIPT_CHARACTERS)
    gold: list[str] = []
    probes: list[Asked] = []
    agent_id: AgentId = AGENT
    started_at: Moment | None = None


def conversations(files: Sequence[str]) -> list[Conversation]:
    """Every transcript of these files and folders. Raises UserMistake naming the line that is none."""
    now = clock.now()
    found: dict[tuple[str, str, datetime | None], Conversation] = {}
    for path in _paths(files):
        for number, row in labelled.numbered(str(path), Row, "transcript"):
            key = (row.agent_id, row.transcript, row.started_at)
            found[key] = _conversation(found.get(key), row, name=f"{path}:{number}", now=now)
    if not found:
        raise UserMistake(f'there is no transcript in {screen.listed(files)}; write one JSON object a line: {{"transcript": "User: ..."}}')
    return list(found.values())


def _conversation(before: Conversation | None, row: Row, *, name: str, now: datetime) -> Conversation:
    probes = [Probe(one.question, tuple(dict.fromkeys(one.answers))) for one in row.probes]
    return Conversation(
        name=before.name if before else name,
        said=before.said if before else transcript.of_text(row.transcript),
        began=row.started_at or now,
        gold=tuple(dict.fromkeys([*(before.gold if before else ()), *(one for one in row.gold if not is_blank(one))])),
        probes=tuple(dict.fromkeys([*(before.probes if before else ()), *probes])),
        agent=row.agent_id,
    )


def _paths(files: Sequence[str]) -> Iterator[Path]:
    for name in files:
        path = Path(name)
        if path.is_dir():
            below = sorted(path.rglob("*.jsonl"))
            if not below:
                raise UserMistake(f"there is no .jsonl file below {name}")
            yield from below
        else:
            yield path
