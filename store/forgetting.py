"""Forgetting facts: a lineage is erased in one transaction, and what stays of it has no words.

    facts, mentions ─▶ rows without words. They keep their place in time, so that what they retired stays retired
    relations       ─▶ under a key that follows from nothing; a merging one goes, what its text ended is inherited
    vectors, versions, counts of use, answers, writings of its episodes, outbox, retries ─▶ gone
    archive, receipts, episodes, turns, what was put away of them ─▶ gone, emptied, or with a mark in place of the words
    known turns     ─▶ without the digest of what they said; under such an id nothing more is taken
    bus.forgotten   ─▶ a tombstone for every event

The row of a forgotten fact is matched by nobody: no hash, no vector, no subject, and a key that no text has.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous import ids
from nous.aside import aside
from nous.fence import without_recalled

from . import archive, briefs, episodes, forgotten, known_turns, leftovers, lineage, many, passages, receipts, relations, spans, transcripts
from .database import Erase, Read
from .episodes import Episode
from .facts import KEPT_UP, Fact
from .forgotten import Tombstone
from .lineage import Lineage, Told
from .receipts import Receipt
from .relations import CONFLICTING, MERGING, Relation

OPENING_CHARACTERS = 200
TOLD = {"fact_id", "similarity", "relation", "decided_by", "why", "now", "was", "active", "superseded_by", "merged_into", "disputes"} | {
    "valid_from",
    "valid_to",
    *KEPT_UP,
}
"""What evidence may go on saying of a fact that was forgotten."""


@dataclass(frozen=True)
class Erased:
    """How much was erased of each table, and the episodes that are to be summarised again."""

    counts: Mapping[str, int]
    to_summarize: tuple[Episode, ...]


async def erase(db: Erase, of: Lineage, *, by: str, now: datetime) -> Erased:
    """Erase a lineage; `by` is the event that decided it. Done again it changes nothing more."""
    counts: Counter[str] = Counter()
    keys = _opaque(of.facts)
    counts["heart.relations"] = await _relations(db, of.agent_id, keys)
    counts["bus.answers"] = await _answers(db, of.agent_id, keys)
    counts.update(await _facts(db, of, keys, by=by, now=now))
    again = [await _episode(db, told, of.wordings, by=by, now=now) for told in of.episodes]
    counts["heart.episodes"] = len(of.episodes)
    counts["bus.writings"] = await _writings(db, of)
    counts.update(await _events(db, of))
    counts["bus.receipts"] = await _receipts(db, of)
    await forgotten.insert(db, [Tombstone(of.agent_id, event_id, stream, by, now) for stream, event_id in sorted(of.events | of.reworded)])
    return Erased({table: rows for table, rows in sorted(counts.items()) if rows}, tuple(one for one in again if one))


async def sweep(db: Erase, of: Lineage) -> int:
    """Erase what a worker that had begun before wrote after a lineage was erased, and what another store was given without the facts.

    `of` is the lineage as it was before. Gives how many rows that were.
    """
    texts = {fact.text_key for fact in of.facts}
    await relations.delete(db, {(of.agent_id, one.low_key, one.high_key) for one in await relations.touching(db, of.agent_id, texts)})
    answered = await _answers(db, of.agent_id, texts)
    came = await _events(db, of)
    told = await _receipts(db, of)
    written = await _count(
        db,
        "DELETE FROM bus.writings WHERE agent_id = :agent AND about = ANY(CAST(:about AS text[]))"
        " AND lower(answer::text) LIKE ANY(CAST(:likes AS text[]))",
        agent=of.agent_id,
        about=[f"{lineage.EPISODE}{told.episode.episode_id}" for told in of.episodes],
        likes=leftovers.patterns(of.wordings),
    )
    return answered + sum(came.values()) + told + written


async def sweep_events(db: Erase, agent: str, by: str) -> int:
    """Erase what was archived, or waits, of the events that this decision erased; how much that was."""
    found = 0
    for table, late in (("bus.events", " AND t.archived_at > f.forgotten_at"), ("bus.outbox", ""), ("bus.retries", "")):
        found += await _count(
            db,
            f"DELETE FROM {table} t USING bus.forgotten f WHERE f.agent_id = :agent AND f.forgotten_by = :by AND t.agent_id = f.agent_id"
            f" AND t.stream = f.stream AND t.event_id = f.event_id AND t.stream <> 'episode_closed'{late}",
            agent=agent,
            by=by,
        )
    return found


async def decision(db: Read, agent: str, fact_id: UUID) -> Receipt | None:
    """The receipt of the decision by which a fact was forgotten: what was erased with it, by ids."""
    rows = await db.execute(
        text(
            "SELECT event_id FROM bus.receipts WHERE agent_id = :agent AND worker = :operator AND stream = 'fact_forgotten'"
            " AND evidence -> 'facts' ? CAST(:fact AS text)"
        ),
        {"agent": agent, "operator": receipts.OPERATOR, "fact": str(fact_id)},
    )
    found = await receipts.of_events(db, [agent], [row.event_id for row in rows])
    return found[0] if found else None


# ── facts, and how they stand to others ───────────────────────────────────────────────────────────────────────────────────


def _opaque(rows: Sequence[Fact]) -> dict[bytes, bytes]:
    """For each text a key that follows from nothing, one for all that are part of one fact: together they go on ending what they ended."""
    whole = {fact.fact_id: fact.merged_into or fact.fact_id for fact in rows}
    groups: list[tuple[set[UUID], set[bytes]]] = []
    for fact in rows:
        members, texts = {whole[fact.fact_id]}, {fact.text_key}
        touching = [group for group in groups if group[0] & members or group[1] & texts]
        for group in touching:
            members |= group[0]
            texts |= group[1]
            groups.remove(group)
        groups.append((members, texts))
    return {key: made for _, texts in groups for made in [ids.new().bytes] for key in texts}


async def _relations(db: Erase, agent: str, keys: Mapping[bytes, bytes]) -> int:
    """Every relation of these texts under their new keys, without its reason."""
    own: dict[bytes, set[bytes]] = {}
    for key, made in keys.items():
        own.setdefault(made, set()).add(key)
    kept: dict[tuple[str, bytes, bytes], Relation] = {}
    touched: set[relations.Pair] = set()
    for made, texts in own.items():
        alike = await _merging(db, agent, texts)
        for one in await relations.touching(db, agent, alike):
            mine, other = (one.low_key, one.high_key) if one.low_key in alike else (one.high_key, one.low_key)
            if one.low_key in texts or one.high_key in texts:
                touched.add((agent, one.low_key, one.high_key))
            if other in alike or one.relation in MERGING or not (mine in texts or _holds_for_the_class(one)):
                continue
            pair = relations.pair(agent, made, keys.get(other, other))
            if pair not in kept or _weight(one) > _weight(kept[pair]):
                kept[pair] = replace(one, low_key=pair[1], high_key=pair[2], richer_key=None, reason="forgotten")
    await relations.delete(db, touched)
    await relations.put(db, list(kept.values()))
    return len(touched)


async def _merging(db: Erase, agent: str, texts: Collection[bytes]) -> set[bytes]:
    """These texts and all that say the same."""
    alike = set(texts)
    while True:
        merging = [one for one in await relations.touching(db, agent, alike) if one.relation in MERGING]
        more = {key for one in merging for key in (one.low_key, one.high_key)} - alike
        if not more:
            return alike
        alike |= more


def _holds_for_the_class(one: Relation) -> bool:
    return one.relation in CONFLICTING or one.decided_by == "person"


def _weight(one: Relation) -> int:
    return 2 if one.decided_by == "person" else int(one.relation in CONFLICTING)


async def _answers(db: Erase, agent: str, keys: Collection[bytes]) -> int:
    return await _count(
        db,
        "DELETE FROM bus.answers WHERE agent_id = :agent"
        " AND (older_key = ANY(CAST(:keys AS bytea[])) OR newer_key = ANY(CAST(:keys AS bytea[])))",
        agent=agent,
        keys=list(keys),
    )


async def _facts(db: Erase, of: Lineage, keys: Mapping[bytes, bytes], *, by: str, now: datetime) -> dict[str, int]:
    rows = [{"agent_id": of.agent_id, "fact_id": fact.fact_id, "text_key": keys[fact.text_key]} for fact in of.facts]
    changed = await db.execute(
        text(
            "UPDATE heart.facts f SET content = '', content_hash = '', words = '', word_count = 0, own_content = NULL, subject = NULL,"
            " subject_key = NULL, attribute = NULL, source = NULL, active = false, disputes = NULL, text_key = q.text_key,"
            f" {', '.join(f'{name} = NULL' for name in KEPT_UP)},"
            f" forgotten_at = :now, recorded_at = :now, recorded_by = :by FROM {many.these('heart.facts')}"
            " WHERE f.agent_id = q.agent_id AND f.fact_id = q.fact_id"
        ),
        {**many.packed(rows), "now": now, "by": by},
    )
    counts = {"heart.facts": int(changed.rowcount)}  # type: ignore[attr-defined]  # an UPDATE gives a CursorResult
    these = {"agent": of.agent_id, "facts": of.fact_ids}
    mine = "agent_id = :agent AND fact_id = ANY(CAST(:facts AS uuid[]))"
    counts["heart.fact_mentions"] = await _count(
        db,
        "UPDATE heart.fact_mentions SET content = '', content_hash = '', subject = NULL, attribute = NULL, source = NULL, quote = NULL"
        f" WHERE {mine} AND content_hash <> ''",
        **these,
    )
    counts["heart.fact_versions"] = await _count(db, f"DELETE FROM heart.fact_versions WHERE {mine}", **these)
    counts["heart.fact_versions"] += await _count(
        db,
        "UPDATE heart.fact_versions v SET content = f.content FROM heart.facts f WHERE v.agent_id = :agent AND f.agent_id = v.agent_id"
        " AND f.fact_id = v.fact_id AND v.content = ANY(CAST(:said AS text[])) AND f.content <> ALL(CAST(:said AS text[]))",
        agent=of.agent_id,
        said=list(of.wordings),
    )
    counts["heart.merge_verdicts"] = await _count(
        db,
        "DELETE FROM heart.merge_verdicts WHERE agent_id = :agent"
        " AND (part_id = ANY(CAST(:facts AS uuid[])) OR whole_id = ANY(CAST(:facts AS uuid[])))",
        **these,
    )
    counts["heart.memory_usage"] = await _count(
        db, "DELETE FROM heart.memory_usage WHERE agent_id = :agent AND kind = 'fact' AND memory_id = ANY(CAST(:facts AS uuid[]))", **these
    )
    for table in (await db.execute(text("SELECT table_name FROM heart.embedders ORDER BY 1"))).scalars().all():
        counts[table] = await _count(db, f"DELETE FROM {table} WHERE {mine}", **these)
    return counts


# ── episodes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _episode(db: Erase, told: Told, wordings: Collection[str], *, by: str, now: datetime) -> Episode | None:
    """Take the words out of an episode; gives it when it is to be summarised again from what is left."""
    before = told.episode
    for turn in told.turns:
        if (words := spans.redacted(turn.content, wordings)) != turn.content:
            await _count(
                db,
                "UPDATE heart.turns SET content = :said WHERE agent_id = :agent AND session_key = :session AND position = :position",
                said=words,
                agent=turn.agent_id,
                session=turn.session_key,
                position=turn.position,
            )
    if away := told.away:
        said = await aside(away.characters, away.transcript.redacted, wordings)
        if said != away.transcript:
            await transcripts.put_away(db, (before.agent_id, before.episode_id), said, at=away.put_away_at)
    await _known(db, told, wordings)
    title, summary = await _headed(db, before, wordings)
    after = replace(
        before,
        title=title,
        summary=summary,
        written_by=before.written_by if summary else None,
        model=None,
        detail=spans.redacted(before.detail, wordings) if before.detail else before.detail,
        outcome=spans.redacted(before.outcome, wordings) if before.outcome else before.outcome,
        lessons_learned=await _lessons(db, before, wordings),
        opening=_opening(told, wordings),
        brief=briefs.episode(title=title, summary=summary),
        settled_by=None,
        recorded_at=now,
        recorded_by=by,
    )
    await episodes.put(db, after)
    parts = ["summary", *(["opening"] if after.opening != before.opening else [])]
    key = {"agent": before.agent_id, "episode": before.episode_id}
    await _count(
        db,
        "DELETE FROM heart.episode_vectors WHERE agent_id = :agent AND episode_id = :episode AND part = ANY(CAST(:parts AS text[]))",
        parts=parts,
        **key,
    )
    await passages.erase(db, before.agent_id, before.episode_id)
    await _count(db, "UPDATE heart.episodes SET asked_of = NULL WHERE agent_id = :agent AND episode_id = :episode", **key)
    return after if before.settled_by and after.active and after.ended_at else None


async def _known(db: Erase, told: Told, wordings: Collection[str]) -> None:
    """Let nothing be known of what the turns said that had these words; once a transcript was let go of, of what any turn said."""
    agent, session = told.episode.agent_id, told.episode.session_key
    if session is None:
        return
    turns = (*told.turns, *(told.away.transcript.turns if told.away else ()))
    await known_turns.forget(db, [one for one in turns if spans.redacted(one.content, wordings) != one.content])
    if told.episode.let_go_at is not None:
        await known_turns.forget_all(db, agent, session)


async def _headed(db: Erase, episode: Episode, wordings: Collection[str]) -> tuple[str | None, str | None]:
    """Title and summary without the words; what a mind wrote, or was cut out of the text, goes and is made anew."""
    if episode.written_by != "producer":
        return None, None
    title = None if episode.title in await _written(db, episode, "$.title") else episode.title
    return (spans.redacted(title, wordings) if title else None), spans.redacted(episode.summary or "", wordings) or None


async def _lessons(db: Erase, episode: Episode, wordings: Collection[str]) -> tuple[str, ...]:
    """What the agent said it learned, without the words; what a mind drew from it goes."""
    drawn = await _written(db, episode, "$.lessons[*]")
    return tuple(spans.redacted(one, wordings) for one in episode.lessons_learned if one not in drawn)


async def _written(db: Erase, episode: Episode, path: str) -> set[str]:
    """What minds wrote about an episode, at this place of their answers."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT d.said #>> '{}' AS said FROM bus.writings w, jsonb_path_query(w.answer, CAST(:path AS jsonpath)) AS d(said)"
            " WHERE w.agent_id = :agent AND w.about = :about"
        ),
        {"agent": episode.agent_id, "about": f"{lineage.EPISODE}{episode.episode_id}", "path": path},
    )
    return {str(row.said).strip() for row in rows}


def _opening(told: Told, wordings: Collection[str]) -> str | None:
    """The first words the user said, from what is left of them."""
    if not told.episode.opening:
        return told.episode.opening
    turns = told.away.transcript.turns if told.away else told.turns
    first = next((turn.content for turn in turns if turn.speaker == "user"), told.episode.opening)
    if (said := spans.redacted(first, wordings)) == first:
        return told.episode.opening
    return without_recalled(said).strip()[:OPENING_CHARACTERS]


async def _writings(db: Erase, of: Lineage) -> int:
    return await _count(
        db,
        "DELETE FROM bus.writings WHERE agent_id = :agent AND about = ANY(CAST(:about AS text[]))",
        agent=of.agent_id,
        about=[f"{lineage.EPISODE}{told.episode.episode_id}" for told in of.episodes],
    )


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _events(db: Erase, of: Lineage) -> dict[str, int]:
    """Erase events from the archive and the queues, and take the words out of those that are only reworded."""
    gone = {
        "agent": of.agent_id,
        "streams": [stream for stream, _ in sorted(of.events)],
        "events": [event_id for _, event_id in sorted(of.events)],
    }
    these = "unnest(CAST(:streams AS text[]), CAST(:events AS text[])) AS q(stream, event_id)"
    found = "t.agent_id = :agent AND t.stream = q.stream AND t.event_id = q.event_id"
    counts = {
        table: await _count(db, f"DELETE FROM {table} t USING {these} WHERE {found}", **gone)
        for table in ("bus.events", "bus.outbox", "bus.retries")
    }
    for stream, event_id in sorted(of.reworded):
        for table in counts:
            counts[table] += await _reworded(db, table, of, stream, event_id)
    return counts


async def _reworded(db: Erase, table: str, of: Lineage, stream: str, event_id: str) -> int:
    """Take the words out of every body of one event in this table; one that cannot be read goes."""
    this = {"agent": of.agent_id, "stream": stream, "event": event_id}
    where = "agent_id = :agent AND stream = :stream AND event_id = :event"
    changed = 0
    for body in set((await db.execute(text(f"SELECT body FROM {table} WHERE {where}"), this)).scalars().all()):
        said = lineage.without_words(body, event_id, of.wordings)
        if said is not None and json.loads(said) == json.loads(body):
            continue
        changed += 1
        if said is None or (table == "bus.events" and await _is_archived(db, this, said)):
            await _count(db, f"DELETE FROM {table} WHERE {where} AND body = :body", **this, body=body)
        elif table == "bus.events":
            words = {"said": said, "digest": archive.digest(said), "body": body}
            await _count(db, f"UPDATE {table} SET body = :said, digest = :digest WHERE {where} AND body = :body", **this, **words)
        else:
            await _count(db, f"UPDATE {table} SET body = :said WHERE {where} AND body = :body", **this, said=said, body=body)
    return changed


async def _is_archived(db: Erase, this: Mapping[str, Any], body: bytes) -> bool:
    found = await db.execute(
        text("SELECT 1 FROM bus.events WHERE agent_id = :agent AND stream = :stream AND event_id = :event AND digest = :digest"),
        {**this, "digest": archive.digest(body)},
    )
    return found.one_or_none() is not None


# ── receipts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _receipts(db: Erase, of: Lineage) -> int:
    """Empty the receipts of these events and of these facts, and take out of all others what they say of these facts."""
    written = [str(one) for one in of.fact_ids]
    emptied = await _count(
        db,
        "UPDATE bus.receipts SET outcome = 'forgotten', reason = NULL, evidence = '{}',"
        " ending = CASE WHEN ending = 'parked' THEN 'done' ELSE ending END"
        " WHERE agent_id = :agent AND outcome <> 'forgotten' AND stream <> 'fact_forgotten' AND (about = ANY(CAST(:facts AS uuid[]))"
        " OR (stream, event_id) IN (SELECT * FROM unnest(CAST(:streams AS text[]), CAST(:events AS text[]))))",
        agent=of.agent_id,
        facts=of.fact_ids,
        streams=[stream for stream, _ in sorted(of.events)],
        events=[event_id for _, event_id in sorted(of.events)],
    )
    rows = await db.execute(
        text(
            "SELECT worker, event_id, reason, evidence FROM bus.receipts WHERE agent_id = :agent AND outcome <> 'forgotten'"
            " AND stream <> 'fact_forgotten'"
            " AND (evidence::text LIKE ANY(CAST(:named AS text[])) OR reason LIKE ANY(CAST(:named AS text[])))"
        ),
        {"agent": of.agent_id, "named": [f"%{one}%" for one in written]},
    )
    found = [(row.worker, row.event_id, row.reason, _parsed(row.evidence)) for row in rows]
    for worker, event_id, reason, evidence in found:
        names_it = any(one in (reason or "") for one in written) or evidence.get("other") in written or evidence.get("twin") in written
        await _count(
            db,
            "UPDATE bus.receipts SET reason = :reason, evidence = CAST(:evidence AS jsonb)"
            " WHERE agent_id = :agent AND worker = :worker AND event_id = :event",
            agent=of.agent_id,
            worker=worker,
            event=event_id,
            reason=None if names_it else reason,
            evidence=json.dumps(_silent(evidence, frozenset(written)), ensure_ascii=False),
        )
    return emptied + len(found)


def _parsed(evidence: Any) -> dict[str, Any]:
    found = json.loads(evidence) if isinstance(evidence, str) else evidence
    return dict(found)


def _silent(value: Any, gone: frozenset[str]) -> Any:
    """Evidence that names these facts by their ids, and says nothing they said."""
    if isinstance(value, list):
        return [_silent(one, gone) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("fact_id") in gone:
        return {name: _only_told(one) for name, one in value.items() if name in TOLD}
    return {name: _silent(one, gone) for name, one in value.items()}


def _only_told(value: Any) -> Any:
    return {name: one for name, one in value.items() if name in TOLD} if isinstance(value, dict) else value


async def _count(db: Erase, statement: str, **values: Any) -> int:
    """Run a statement; how many rows it touched."""
    done = await db.execute(text(statement), values)
    return int(done.rowcount)  # type: ignore[attr-defined]  # an UPDATE or a DELETE gives a CursorResult
