"""The full record of one memory, when an agent asks for more than its line (the third of the spec's three tiers, 003).

    id ─▶ the agent's own memory of that id ─▶ all it says, inside the fence; of a long one first what is to the point of the question

A fact is known by any id it was ever published under. One that is no longer true says so, and what is true instead; so does what
was said in an episode (outdated.py). What was forgotten, what is another agent's and what never was are the same from here: no such memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from nous import fence
from nous.errors import UserMistake
from nous.fence import without_recalled
from store import decisions, episodes, facts, mentions, passages, procedures, sessions
from store import outdated as kept_outdated
from store.database import Read
from store.facts import Fact
from store.outdated import Outdated
from store.search import KINDS, Kind

from . import outdated, parts, reported
from .assembling import harmless
from .parts import Detail
from .tools import Tools
from .vectors import tried

AGED = {"trimmed": "it is old, and its first and last parts are at hand", "archived": "it is old, and what was said is not at hand"}


@dataclass(frozen=True, slots=True)
class Expanded:
    """A memory in full. `lines` are what it says, `part` what of it bears on the question, `text` both inside the fence."""

    kind: Kind
    memory_id: UUID
    at: datetime
    lines: tuple[str, ...]
    part: str
    text: str


@dataclass(frozen=True, slots=True)
class _Record:
    memory_id: UUID
    at: datetime
    lines: tuple[str, ...]
    detail: Detail | None = None
    episode_id: UUID | None = None


async def expand(tools: Tools, agent: str, kind: Kind | None, memory_id: UUID, question: str | None = None) -> Expanded:
    """All of a memory; `kind` None finds it whatever it is. Raises UserMistake when the agent has none of that id, Outage and Contended."""
    reported.require_ids(agent, "any")
    wanted: Sequence[Kind] = KINDS if kind is None else (kind,)
    async with tools.database.read([agent]) as db:
        for one in wanted:
            if record := await _record(db, agent, one, memory_id):
                break
        else:
            raise UserMistake(
                f"agent {agent!r} has no {kind or 'memory'} {memory_id}; the ids are those that recall told, or an event named"
            )
        gone = await _gone(db, agent, record)
    part = outdated.marked(await _part(tools, agent, record, question), gone) if question and record.detail else ""
    lines = tuple(harmless(outdated.marked(line, gone)) for line in record.lines)
    shown = [f"[{one} {record.memory_id}]", *([f"to the point: {harmless(part)}"] if part else []), *lines]
    return Expanded(one, record.memory_id, record.at, lines, part, fence.recalled(shown))


async def _gone(db: Read, agent: str, record: _Record) -> list[Outdated]:
    """What it says of what was said in an episode, and is no longer so."""
    if not record.episode_id:
        return []
    learned = await kept_outdated.of_episodes(db, agent, [record.episode_id])
    return [*learned, *await kept_outdated.in_text(db, agent, "\n".join(record.lines))]


async def _part(tools: Tools, agent: str, record: _Record, question: str) -> str:
    if record.detail is None:
        return ""
    vectors, _ = await tried(tools.vectors, [question], within_s=tools.settings.recall_patience_s)
    return await parts.part(tools, agent, record.detail, question, vectors[0] if vectors else None)


async def _record(db: Read, agent: str, kind: Kind, memory_id: UUID) -> _Record | None:
    match kind:
        case "fact":
            return await _fact(db, agent, memory_id)
        case "decision":
            return await _decision(db, agent, memory_id)
        case "procedure":
            return await _procedure(db, agent, memory_id)
        case "episode":
            return await _episode(db, agent, memory_id)
        case "passage":
            return await _passage(db, agent, memory_id)


async def _fact(db: Read, agent: str, memory_id: UUID) -> _Record | None:
    known = await facts.by_key(db, [(agent, memory_id)])
    if not known:
        known = await facts.by_key(db, [key for key in await mentions.resolve(db, memory_id) if key[0] == agent])
    fact = next((one for one in known.values() if one.forgotten_at is None), None)
    if fact is None:
        return None
    heard = {said.content for said in (await mentions.of_facts(db, [fact.key])).get(fact.key, []) if said.content != fact.content}
    return _Record(
        fact.fact_id,
        fact.valid_from,
        _said(
            ("fact", fact.content),
            ("about", fact.subject),
            ("which property", fact.attribute),
            ("who vouches", f"{fact.provenance}, {fact.confidence:.0%} sure, confirmed {fact.confirmation_count} times"),
            ("source", fact.source),
            ("true since", fact.valid_from),
            *_became(fact),
            *(("also said as", words) for words in sorted(heard)),
        ),
    )


def _became(fact: Fact) -> Iterable[tuple[str, object]]:
    """What became of a fact that is not true any more."""
    if fact.valid_to is not None:
        yield "no longer true since", fact.valid_to
    if fact.superseded_by is not None:
        yield "true instead", f"fact {fact.superseded_by}"
    if fact.merged_into is not None:
        yield "is part of", f"fact {fact.merged_into}"


async def _decision(db: Read, agent: str, memory_id: UUID) -> _Record | None:
    found = await decisions.get(db, agent, memory_id)
    if found is None:
        return None
    return _Record(
        found.decision_id,
        found.decided_at,
        _said(
            ("decision", found.description),
            ("context", found.context),
            *(("reason", reason) for reason in found.reasons),
            *(("instead of", other) for other in found.alternatives),
            ("confidence", f"{found.confidence:.0%}"),
            ("category", found.category),
            ("stakes", found.stakes),
            ("outcome", found.outcome),
            ("what came of it", found.outcome_note),
            ("pattern", found.pattern),
            ("decided", found.decided_at),
            ("may be no decision", found.noise),
        ),
    )


async def _procedure(db: Read, agent: str, memory_id: UUID) -> _Record | None:
    found = await procedures.get(db, agent, memory_id)
    if found is None or not found.active:
        return None
    worked = "" if found.effectiveness is None else f", {found.effectiveness:.0%} of them worked"
    return _Record(
        found.procedure_id,
        found.learned_at,
        _said(
            ("procedure", found.name),
            *(("goal", goal) for goal in found.goals),
            *(("step", step) for step in found.core_patterns),
            *(("note", note) for note in found.implementation_notes),
            ("used", f"{found.activation_count} times{worked}"),
        ),
        parts.of_procedure(found),
    )


async def _episode(db: Read, agent: str, memory_id: UUID) -> _Record | None:
    found = await episodes.get(db, agent, memory_id)
    if found is None:
        return None
    said = [("said", line) for line in (found.detail or "").splitlines()]
    if not found.detail and found.session_key:
        said = [(turn.speaker, turn.content) for turn in await sessions.turns(db, agent, found.session_key)]
    return _Record(
        found.episode_id,
        found.started_at,
        _said(
            ("episode", found.title),
            ("summary", found.summary),
            ("outcome", found.outcome),
            *(("lesson", lesson) for lesson in found.lessons_learned),
            ("began", found.started_at),
            ("ended", found.ended_at),
            ("put aside", found.put_aside),
            ("transcript", AGED[found.aged] if found.aged else None),
            *((speaker, without_recalled(words)) for speaker, words in said),
        ),
        await parts.of_episode(db, agent, found),
        found.episode_id,
    )


async def _passage(db: Read, agent: str, memory_id: UUID) -> _Record | None:
    found = (await passages.by_key(db, [(agent, memory_id)])).get((agent, memory_id))
    if found is None:
        return None
    lines = [("said", line) for line in found.content.splitlines()]
    said = _said(("of", f"episode {found.episode_id}"), ("when", found.said_at), *lines)
    return _Record(found.passage_id, found.said_at, said, episode_id=found.episode_id)


def _said(*told: tuple[str, object]) -> tuple[str, ...]:
    """What there is, a line each."""
    lines = ((name, value.isoformat() if isinstance(value, datetime) else str(value)) for name, value in told if value is not None)
    return tuple(f"{name}: {words}" for name, words in lines if words.strip())
