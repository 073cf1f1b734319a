"""Filling: what search needs and its writers could not make: the words of memories that were there before it, and vectors.

    memories without words ──▶ a page of them gets its words, and settled episodes their passages
    bus.unembedded ──take──▶ leased ──▶ embedded, no transaction open ──▶ kept ──▶ gone from there
                                       ├─ the embedder is away ──▶ due again when the lease is over
                                       └─ it refuses one text ───▶ the others are not at fault; that one is asked for again later and later

Every worker process does it now and then, beside its work; until it has come to a memory, that one is found by what it has.
"""

import time
from collections.abc import Sequence
from datetime import timedelta

import structlog

from nous import clock
from providers.embedder import EmbeddingMalformed, EmbeddingRefused
from store import embedders, memory_vectors, passages, sessions, unembedded, wordless
from store.database import Write
from store.episodes import Episode
from store.memory_vectors import Key
from store.unembedded import Waiting
from store.vectors import Vector
from workers.episodes import passages as cutting
from workers.episodes import transcript

from . import metrics
from .worker import Kit

FILL_EVERY_S = 2.0
AT_A_STRETCH_S = 2.0  # then whoever waits for this process to stop has his turn
AGENTS_AT_ONCE = 20
WORDS_AT_ONCE = 500
VECTORS_AT_ONCE = 128
LEASE = timedelta(seconds=60)
REFUSED_WAIT, REFUSED_WAIT_AT_MOST = timedelta(minutes=10), timedelta(days=1)

log = structlog.get_logger()


async def fill(kit: Kit) -> int:
    """Fill for a while; how many memories got words or a vector. Raises Outage, Contended and Misconfigured."""
    began, done = time.monotonic(), 0
    while time.monotonic() < began + AT_A_STRETCH_S:
        made = await _words(kit) + await _vectors(kit)
        if not made:
            break
        done += made
    if done:
        log.info("search.filled", memories=done)
    return done


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _words(kit: Kit) -> int:
    async with kit.database.overview() as db:
        agents = await wordless.agents(db, limit=AGENTS_AT_ONCE)
    if not agents:
        return 0
    async with kit.database.write(agents) as db:
        if not await wordless.is_ours(db):
            return 0
        done, settled = await wordless.fill(db, agents, limit=WORDS_AT_ONCE)
        for episode in settled:
            await _passages(db, episode)
    return done


async def _passages(db: Write, episode: Episode) -> None:
    turns = await sessions.turns(db, episode.agent_id, episode.session_key) if episode.session_key else []
    said = transcript.of_turns(turns) if turns else transcript.of_text(episode.detail or "")
    await passages.put(db, episode.agent_id, episode.episode_id, cutting.cut(said, began=episode.started_at))


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
