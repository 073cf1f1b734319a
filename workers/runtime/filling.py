"""Filling: what search needs and its writers could not make: the words of memories that were there before it, and vectors.

    bus.fills ──take──▶ leased ──▶ a page of one agent, its words and passages made, no lock held ──▶ kept ──▶ on behind it
                                                                            └─ it cannot be kept ──▶ its first alone, or on without that
    bus.unembedded ──take──▶ leased ──▶ embedded, no transaction open ──▶ kept ──▶ gone from there
                                       ├─ the embedder is away ──▶ due again when the lease is over
                                       └─ it refuses one text ───▶ the others are not at fault; that one is asked for again later and later

Every worker process does it now and then, beside its work; until it has come to a memory, that one is found by what it has.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from nous import clock
from nous.errors import Misconfigured, Outage
from providers.embedder import EmbeddingMalformed, EmbeddingRefused
from store import embedders, memory_vectors, passages, transcripts, unembedded, wordless, words
from store.database import Read
from store.episodes import Episode
from store.memory_vectors import Key
from store.passages import Worded
from store.transcripts import Transcript
from store.unembedded import Waiting
from store.vectors import Vector
from store.wordless import Bare, Page
from workers.episodes import passages as cutting
from workers.episodes import transcript

from . import metrics
from .worker import Kit

FILL_EVERY_S = 2.0
AT_A_STRETCH_S = 2.0  # then whoever waits for this process to stop has his turn
ROWS_LOOKED_AT = 2_000
MEMORIES_AT_ONCE = 500
BYTES_AT_ONCE = 200_000  # of a page: its words are made in a fifth of a second (measured)
VECTORS_AT_ONCE = 128
LEASE = timedelta(seconds=60)
REFUSED_WAIT, REFUSED_WAIT_AT_MOST = timedelta(minutes=10), timedelta(days=1)

log = structlog.get_logger()


async def fill(kit: Kit) -> int:
    """Fill for a while; how many memories got words or a vector. Raises Outage, Contended and Misconfigured."""
    began, done = time.monotonic(), 0
    while time.monotonic() < began + AT_A_STRETCH_S:
        worded, embedded = await _words(kit), await _vectors(kit)
        if worded is None and not embedded:
            break
        done += (worded or 0) + embedded
    if done:
        log.info("search.filled", memories=done)
    return done


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Made:
    """What is to be kept of a page: the words of its memories, and the passages of the episodes among them that were settled."""

    words: Mapping[wordless.Key, Mapping[str, object]]
    passages: Mapping[wordless.Key, Sequence[Worded]]


async def _words(kit: Kit) -> int | None:
    """How many memories of a page got words; None when nothing is to be filled."""
    now = clock.now()
    async with kit.database.queue() as db:
        place = await wordless.take(db, now=now, lease=now + LEASE)
    if place is None:
        return None
    async with kit.database.overview() as db:
        page = await wordless.page(db, place, rows=ROWS_LOOKED_AT, most=MEMORIES_AT_ONCE, size=BYTES_AT_ONCE)
    page, done = await _filled(kit, page) if page.keys else (page, 0)
    async with kit.database.queue() as db:
        await wordless.go_on(db, place, page, now=now)
    return done


async def _filled(kit: Kit, page: Page) -> tuple[Page, int]:
    """Fill a page, or its first memory where the page cannot be kept: what was come to, kept or not, and how many got words."""
    for some in (page, page.first()):
        try:
            return some, await _fill(kit, some)
        except (Outage, Misconfigured):
            raise
        except Exception as error:  # whatever one memory has, it holds up no other
            why = str(error)
    agent, memory = page.keys[0]
    log.warning("words.left_out", agent=agent, table=page.table, id=str(memory), reason=why[:500], next="tried again in the next round")
    return page.first(), 0


async def _fill(kit: Kit, page: Page) -> int:
    agents = {agent for agent, _ in page.keys}
    async with kit.database.read(agents) as db:
        bare = await wordless.said(db, page)
        settled = [one.episode for one in bare if one.episode and one.episode.settled_by]
        said = [(one, await _found_by(db, one, kit)) for one in settled]
    made = await asyncio.to_thread(_made, bare, said)
    async with kit.database.write(agents) as db:
        given = await wordless.put(db, page.table, made.words, {one.key: one.said for one in bare})
        for key, its in made.passages.items():
            if key in given:
                await passages.keep(db, *key, its)
    return len(given)


async def _found_by(db: Read, episode: Episode, kit: Kit) -> Transcript:
    there = await transcripts.at_hand(db, episode)
    return await transcripts.whole(db, episode, there) if cutting.of_all(episode, kit.settings) else there


def _made(bare: Sequence[Bare], said: Sequence[tuple[Episode, Transcript]]) -> _Made:
    return _Made(
        words={one.key: words.kept(one.said) for one in bare},
        passages={(one.agent_id, one.episode_id): _passages(one, its) for one, its in said},
    )


def _passages(episode: Episode, said: Transcript) -> Sequence[Worded]:
    return passages.worded(episode.agent_id, episode.episode_id, cutting.cut(transcript.of(said), began=episode.started_at))


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _vectors(kit: Kit) -> int:
    now = clock.now()
    async with kit.database.queue() as db:
        waiting = await unembedded.take(db, now=now, lease=now + LEASE, limit=VECTORS_AT_ONCE)
    if not waiting:
        return 0
    agents = {one.agent_id for one in waiting}
    async with kit.database.read(agents) as db:
        said = await memory_vectors.said(db, [one.key for one in waiting])
    made = await _embedded(kit, list(said.items()))
    refused = said.keys() - {key for key, _, _ in made}
    async with kit.database.write(agents) as db:
        await embedders.hold(db, kit.registered)
        await memory_vectors.put(db, kit.registered, made)
        await unembedded.done(db, [one for one in waiting if one.key not in refused])
        for one in waiting:
            if one.key in refused:
                await unembedded.put_off(db, [one], until=now + _longer(one))
    return len(made)


async def _embedded(kit: Kit, said: Sequence[tuple[Key, str]]) -> list[tuple[Key, str, Vector]]:
    """Each with its vector, but for those that the embedder will not have."""
    if not said:
        return []
    try:
        with metrics.embedding():
            made = await kit.embedder.embed([what for _, what in said])
    except (EmbeddingRefused, EmbeddingMalformed) as error:
        if len(said) > 1:
            return [found for one in said for found in await _embedded(kit, [one])]
        agent, kind, memory = said[0][0]
        log.warning("vector.refused", agent=agent, kind=kind, id=str(memory), reason=str(error), next="found by its words; asked for again")
        return []
    return [(key, what, vector) for (key, what), vector in zip(said, made, strict=True)]


def _longer(one: Waiting) -> timedelta:
    doublings = min(one.attempts - 1, 10)
    return min(REFUSED_WAIT * (1 << doublings), REFUSED_WAIT_AT_MOST)
