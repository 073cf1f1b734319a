"""The full record of one memory, when an agent asks for more than its line (the third of the spec's three tiers, 003).

    id ─▶ the agent's own memory of that id ─▶ how long each of its lines is ─▶ those of the page that is asked for ─▶ inside the fence
                                                └─ on its first page what of a long one is to the point of the question

A fact is known by any id it was ever published under. One that is no longer true says so, and what is true instead; so does what
was said in an episode (outdated.py). What was forgotten, what is another agent's and what never was are the same from here: no such memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from nous import fence
from nous.aside import aside
from nous.errors import UserMistake
from nous.fence import without_recalled
from store import decisions, episodes, facts, mentions, passages, procedures, sessions
from store import outdated as kept_outdated
from store.database import Read
from store.episodes import Episode
from store.facts import Fact
from store.outdated import Outdated
from store.search import KINDS, Kind
from store.sessions import Turn

from . import outdated, paging, parts, reported, tokens
from .assembling import harmless
from .paging import Page, Window
from .parts import Detail
from .plans import MOST_TOKENS
from .tools import Tools
from .vectors import one_allowance, tried

AGED = {"trimmed": "it is old, and its first and last parts are at hand", "archived": "it is old, and what was said is not at hand"}


class MemoryMissing(UserMistake):
    """The agent has no memory of that id."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A memory in full, or a page of it: pieces `first` to `last` of `of`. `lines` are what it says, `part` what of it bears on the

    question, `text` both inside the fence.
    """

    kind: Kind
    memory_id: UUID
    at: datetime
    lines: tuple[str, ...]
    part: str
    text: str
    first: int = 1
    last: int = 1
    of: int = 1


@dataclass(frozen=True, slots=True)
class _Record:
    memory_id: UUID
    at: datetime
    lines: tuple[str, ...]
    detail: Detail | None = None
    episode: Episode | None = None
    turns: tuple[tuple[int, int], ...] = ()
    """Behind the lines, of an episode: the position and the length of each utterance that is not read yet."""

    episode_id: UUID | None = None


async def expand(
    tools: Tools,
    agent: str,
    kind: Kind | None,
    memory_id: UUID,
    question: str | None = None,
    *,
    first: int = 1,
    most_tokens: int = MOST_TOKENS,
) -> Expanded:
    """A memory, from its piece `first` on as much of it as so many tokens hold; `kind` None finds it whatever it is.

    Raises MemoryMissing when the agent has none of that id, UserMistake when it has no such piece, Outage and Contended.
    """
    reported.require_ids(agent, "any")
    wanted: Sequence[Kind] = KINDS if kind is None else (kind,)
    async with tools.database.read([agent]) as db:
        for one in wanted:
            if record := await _record(db, agent, one, memory_id):
                break
        else:
            raise MemoryMissing(
                f"agent {agent!r} has no {kind or 'memory'} {memory_id}; the ids are those that recall told, or an event named"
            )
        window = paging.window(_lengths(record), first=first, most_tokens=most_tokens)
        lines = await _lines(db, agent, record, window)
        detail = await _detail(db, agent, record) if question and first == 1 else None
        gone = await _gone(db, agent, record, lines)
    part = await _part(tools, agent, record, detail, question) if question and detail else ""
    head = [f"[{one} {record.memory_id}]", *([f"to the point: {harmless(part)}"] if part else [])]
    margin = tools.settings.recall_token_margin
    room = most_tokens - tokens.counted(fence.recalled(head), margin=margin)
    page = await aside(sum(map(len, lines)), _told, lines, gone, window, room, margin)
    text = fence.recalled([*head, *page.lines])
    return Expanded(one, record.memory_id, record.at, page.lines, part, text, first, page.last, window.of)


def _lengths(record: _Record) -> list[int]:
    return [*map(len, record.lines), *(length for _, length in record.turns)]


async def _lines(db: Read, agent: str, record: _Record, window: Window) -> list[str]:
    """The lines of the window; no others are read."""
    known = len(record.lines)
    there = list(record.lines[window.begin : window.end])
    positions = [at for at, _ in record.turns[max(window.begin - known, 0) : max(window.end - known, 0)]]
    if not positions or not record.episode or not record.episode.session_key:
        return there
    said = {one.position: one for one in await sessions.turns_at(db, agent, record.episode.session_key, positions)}
    return [*there, *(_spoken(said[at]) if at in said else "" for at in positions)]


def _spoken(turn: Turn) -> str:
    words = without_recalled(turn.content)
    return f"{turn.speaker}: {words}" if words.strip() else ""


def _told(lines: Sequence[str], gone: Sequence[Outdated], window: Window, room: int, margin: float) -> Page:
    """The lines as they are told, as many as there is room for."""
    shown = [harmless(outdated.marked(line, gone)) for line in lines]
    return paging.fill(window, shown, most_tokens=room, margin=margin)


async def _gone(db: Read, agent: str, record: _Record, lines: Sequence[str]) -> list[Outdated]:
    """What these lines say of what was said in an episode, and is no longer so."""
    if not record.episode_id:
        return []
    learned = await kept_outdated.of_episodes(db, agent, [record.episode_id])
    return [*learned, *await kept_outdated.in_text(db, agent, "\n".join(lines))]


async def _detail(db: Read, agent: str, record: _Record) -> Detail | None:
    """What stands behind it, to look for what is to the point in."""
    return await parts.of_episode(db, agent, record.episode) if record.episode else record.detail


async def _part(tools: Tools, agent: str, record: _Record, detail: Detail, question: str) -> str:
    """What of it bears on the question, with a mark before what is no longer so."""
    with one_allowance(tools.settings.recall_patience_s):
        vectors, _ = await tried(tools.vectors, [question], within_s=tools.settings.recall_patience_s)
        part = await parts.part(tools, agent, detail, question, vectors[0] if vectors else None)
    async with tools.database.read([agent]) as db:
        return outdated.marked(part, await _gone(db, agent, record, [part]))


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
    turns = await sessions.lengths(db, agent, found.session_key) if not found.detail and found.session_key else []
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
            *(("said", without_recalled(line)) for line in (found.detail or "").splitlines()),
        ),
        episode=found,
        turns=tuple(turns),
        episode_id=found.episode_id,
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
