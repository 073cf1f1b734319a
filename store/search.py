"""Search: an agent's memories nearest to a question by meaning, and those that say its words, each with both scores.

    question ─┬─ its vector ──▶ plain cosine with every memory of the kind ──▶ the best `pool` ─┐
              └─ its terms ───▶ BM25 over every memory of the kind ──────────▶ the best `pool` ─┴─▶ all of them, with both scores

Exact: every memory of the agent is looked at. Under row-level security an index of words is of no use, because Postgres will not ask it
before it knows that a row may be seen (docs/decisions/0023, with what that costs).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector
from sqlalchemy import text

from . import facts, words
from .database import Read
from .embedders import Registered
from .nouns import KINDS as KINDS
from .nouns import NOUNS
from .nouns import Kind as Kind
from .vectors import Vector

POOL = 100
"""Memories of a kind that are taken by each of the two scores."""

MOST_TERMS = 200
"""Different terms of a question that are searched for, from its beginning."""

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
"""Of BM25, as Robertson and Zaragoza recommend them (The Probabilistic Relevance Framework, 2009): how little a word counts that is
said again, from 0 (nothing), and how much a long memory pays for being long, 0 to 1."""


@dataclass(frozen=True)
class Found:
    """A memory that may answer the question.

    `text` is its line in recall (the words of a fact or passage, of others their brief), `detail_characters` how much is behind it.
    `at` is the world's time: true since, begun, decided, learned, said. `provenance` is who vouches for it; of a passage `transcript`.
    `similarity` is plain cosine, -1 to 1, None without a vector; `words` is BM25, 0 and up, comparable within one search of one kind.
    `demoted_to` is by what its confidence counts for less, 0 to 1, of a fact that upkeep demoted.
    """

    kind: Kind
    memory_id: UUID
    text: str
    detail_characters: int
    at: datetime
    provenance: str
    confidence: float
    is_noise: bool
    episode_id: UUID | None
    subject: str | None
    similarity: float | None
    words: float
    demoted_to: float | None = None

    @property
    def key(self) -> tuple[Kind, UUID]:
        """(kind, memory_id), within one agent."""
        return self.kind, self.memory_id


async def search(
    db: Read,
    agent: str,
    kinds: Collection[Kind],
    *,
    vector: Vector | None,
    embedder: Registered,
    terms: Sequence[str],
    pool: int = POOL,
    as_of: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Found]:
    """Of each kind the best by cosine and the best by words, kind by kind, the most similar first; no kinds, nothing.

    `vector` is the question's by `embedder`; None searches the words alone. With `as_of`, what was true then, as far as is known now;
    `since` and `until` (both inclusive) limit `at`. What is retired, archived by then, merged, put aside, forgotten or another agent's is
    never found.
    """
    wanted = list(dict.fromkeys(terms))[:MOST_TERMS]
    values = {
        "agent": agent,
        "vector": None if vector is None else HalfVector(vector),
        "terms": wanted,
        "query": words.query(wanted),
        "pool": pool,
        "as_of": as_of,
        "since": since,
        "until": until,
        "embedder": embedder.name,
    }
    found: list[Found] = []
    for kind in KINDS:
        if kind in kinds and (wanted or vector is not None):
            query = _query(kind, embedder, has_vector=vector is not None, has_past=as_of is not None)
            rows = await db.execute(text(query), {name: value for name, value in values.items() if f":{name}" in query})
            found += [_found(kind, row) for row in rows]
    return found


# ── one query for all kinds ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Source:
    """What is looked at of a kind, in rows `m` of its table: which are `true` now and which `were`, and what is shown.

    `vectors` are rows `v` of another table, those of the kind that are the embedder's, with the id of the memory.
    """

    at: str
    true: str
    were: str
    vectors: str
    shown: str


_NO_EPISODE = "CAST(NULL AS uuid) AS episode_id, CAST(NULL AS text) AS subject"
_OF_MEMORY = "v.memory_id AS id FROM heart.memory_vectors v WHERE v.kind = '{kind}' AND v.embedder = :embedder AND v.digest <> ''"
_HELD = "EXISTS (SELECT FROM heart.episodes e WHERE e.agent_id = m.agent_id AND e.episode_id = m.episode_id AND e.active)"

_SOURCES: dict[Kind, _Source] = {
    "fact": _Source(
        at="valid_from",
        true="m.active",
        were=f"m.valid_from <= :as_of AND m.forgotten_at IS NULL AND {facts.true_then('m')} AND {facts.at_hand_then('m')}",
        vectors="v.fact_id AS id FROM {table} v WHERE true",
        shown="m.content AS line, 0 AS detail, m.provenance, m.confidence, false AS is_noise, m.source, m.subject, m.demoted_to",
    ),
    "episode": _Source(
        at="started_at",
        true="m.active AND m.brief <> ''",
        were="m.active AND m.brief <> '' AND m.started_at <= :as_of",
        vectors="v.episode_id AS id FROM heart.episode_vectors v WHERE v.part = 'summary' AND v.embedder = :embedder"
        " AND vector_dims(v.vector) = vector_dims(CAST(:vector AS halfvec))",
        shown="m.brief AS line, coalesce(length(m.detail), (SELECT sum(length(t.content)) FROM heart.turns t WHERE t.agent_id = m.agent_id"
        " AND t.session_key = m.session_key), 0) AS detail, 'episode_summary' AS provenance, 1.0 AS confidence, false AS is_noise,"
        " m.episode_id, CAST(NULL AS text) AS subject",
    ),
    "decision": _Source(
        at="decided_at",
        true="true",
        were="m.decided_at <= :as_of",
        vectors=_OF_MEMORY,
        shown="m.brief AS line, length(m.description) + coalesce(length(m.context), 0) + length(concat_ws(' ', VARIADIC m.reasons))"
        " + length(concat_ws(' ', VARIADIC m.alternatives)) AS detail, 'assistant_derived' AS provenance, m.confidence,"
        f" m.noise IS NOT NULL AS is_noise, {_NO_EPISODE}",
    ),
    "procedure": _Source(
        at="learned_at",
        true="m.active",
        were="m.active AND m.learned_at <= :as_of",
        vectors=_OF_MEMORY,
        shown="m.brief AS line, length(m.name) + length(concat_ws(' ', VARIADIC m.goals))"
        " + length(concat_ws(' ', VARIADIC m.core_patterns)) + length(concat_ws(' ', VARIADIC m.implementation_notes)) AS detail,"
        " 'assistant_derived' AS provenance, 1.0 AS confidence,"
        f" false AS is_noise, {_NO_EPISODE}",
    ),
    "passage": _Source(
        at="said_at",
        true=f"m.content <> '' AND {_HELD}",
        were=f"m.content <> '' AND m.said_at <= :as_of AND {_HELD}",
        vectors=_OF_MEMORY,
        shown="m.content AS line, 0 AS detail, 'transcript' AS provenance, 1.0 AS confidence, false AS is_noise, m.episode_id,"
        " CAST(NULL AS text) AS subject",
    ),
}


def _query(kind: Kind, embedder: Registered, *, has_vector: bool, has_past: bool) -> str:
    """The statement that finds memories of one kind.

    How rare a term and how long a memory is, is counted over all of the agent's, whatever time the question is about: a score then
    does not depend on the time range. Scores are rounded where they order, so that the order does not depend on how a sum was made.

    Everything of the agent is read once. What is kept of it is small (words only of what says any of the question's), and the few that are
    found are looked up by their key, which the planner would not do: it cannot know how few they are.

    Memories, their vectors and their words are brought together by grouping, not by joining: of an agent that came after the last ANALYZE
    the planner expects one row, and joins what are ten thousand with each other one by one (7 s instead of 0.1 s, measured).
    """
    noun, of = NOUNS[kind], _SOURCES[kind]
    vectors = of.vectors.format(table=embedder.table, kind=kind)
    near = f"UNION ALL SELECT v.vector <=> CAST(:vector AS halfvec), NULL, false, {vectors} AND v.agent_id = :agent" if has_vector else ""
    length = f"{1 - LENGTH_WEIGHT} + {LENGTH_WEIGHT} * hit.word_count / size.mean_count"
    return f"""
WITH known AS MATERIALIZED (
    SELECT m.{noun.id} AS id, m.word_count, CASE WHEN m.words @@ CAST(:query AS tsquery) THEN m.words END AS said,
        (CAST(:since AS timestamptz) IS NULL OR m.{of.at} >= :since) AND (CAST(:until AS timestamptz) IS NULL OR m.{of.at} <= :until)
        AS is_wanted
    FROM {noun.table} m WHERE m.agent_id = :agent AND {of.were if has_past else of.true}),
size AS (SELECT CAST(count(*) AS float) AS memories, CAST(greatest(avg(word_count), 1) AS float) AS mean_count FROM known),
asked AS MATERIALIZED (SELECT term, CAST(quote_literal(term) AS tsquery) AS query FROM unnest(CAST(:terms AS text[])) AS q(term)),
saying AS MATERIALIZED (SELECT id, word_count, said, is_wanted FROM known WHERE said IS NOT NULL),
hit AS MATERIALIZED (
    SELECT k.id, k.word_count, k.is_wanted, asked.term, CASE WHEN k.word_count = length(k.said) THEN 1
        ELSE (SELECT cardinality(t.positions) FROM unnest(k.said) t WHERE t.lexeme = asked.term) END AS times
    FROM saying k JOIN asked ON k.said @@ asked.query),
rare AS (
    SELECT term, ln(1 + (min(size.memories) - count(*) + CAST(0.5 AS float)) / (count(*) + CAST(0.5 AS float))) AS rarity
    FROM hit CROSS JOIN size GROUP BY term),
worded AS (
    SELECT hit.id, sum(rarity * hit.times * {SATURATION + 1} / (hit.times + {SATURATION} * ({length}))) AS score
    FROM hit JOIN rare USING (term) CROSS JOIN size WHERE hit.is_wanted GROUP BY hit.id),
scored AS MATERIALIZED (
    SELECT id, max(distance) AS distance, max(score) AS score FROM (
        SELECT CAST(NULL AS float) AS distance, CAST(NULL AS float) AS score, true AS is_known, id FROM known WHERE is_wanted
        UNION ALL SELECT NULL, score, false, id FROM worded {near}) part GROUP BY id HAVING bool_or(is_known)),
best AS (
    (SELECT id, distance, score FROM scored WHERE distance IS NOT NULL ORDER BY distance, id LIMIT :pool)
    UNION (SELECT id, distance, score FROM scored WHERE score IS NOT NULL ORDER BY round(score * 1e6) DESC, id LIMIT :pool))
SELECT m.{noun.id} AS memory_id, m.{of.at} AS at, 1 - best.distance AS similarity, coalesce(round(best.score * 1e6) / 1e6, 0) AS words,
    {of.shown}
FROM best CROSS JOIN LATERAL (SELECT * FROM {noun.table} t WHERE t.agent_id = :agent AND t.{noun.id} = best.id OFFSET 0) m
ORDER BY best.distance NULLS LAST, words DESC, memory_id"""


_OF_EPISODE = re.compile("episode:([0-9a-f-]{36})")


def _found(kind: Kind, row: Any) -> Found:
    return Found(
        kind=kind,
        memory_id=row.memory_id,
        text=row.line,
        detail_characters=int(row.detail),
        at=row.at,
        provenance=row.provenance,
        confidence=float(row.confidence),
        is_noise=row.is_noise,
        episode_id=_learned_in(row.source) if kind == "fact" else row.episode_id,
        subject=row.subject,
        similarity=None if row.similarity is None else float(row.similarity),
        words=float(row.words),
        demoted_to=row.demoted_to if kind == "fact" else None,
    )


def _learned_in(source: str | None) -> UUID | None:
    """The episode a fact was learned from, if its source is one."""
    named = _OF_EPISODE.fullmatch(source or "")
    try:
        return UUID(named[1]) if named else None
    except ValueError:
        return None
