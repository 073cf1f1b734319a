"""A store with so many facts in it, filled by statements of Postgres and not by workers: a million in minutes.

    sentences ──▶ the agent `template`: distinct facts with words and vectors, as the product writes them
                     └─▶ every other agent: copies in an order of chance, each with a vector of its own

Facts of all agents lie among each other on disk, as they do where agents learn side by side: a page of the table holds many agents' facts.
A copy's vector is twice the sentence's and once another's, so that no two are alike; its words are the sentence's.
"""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice
from uuid import UUID

import asyncpg

from nous import clock, ids
from nous.text import content_hash
from providers import Embedder
from store import embedders, facts, vectors
from store.database import Database
from store.facts import Fact
from store.keys import text_key

from .sentences import sentences

TEMPLATE = "template"
SENTENCES = 10_000
PAGE = 1_000
AT_ONCE = 20_000
OTHERS = 10_000  # facts of each agent that is not asked


def agent(facts: int) -> str:
    """The agent that has so many facts."""
    return f"agent-of-{facts}"


async def fill(url: str, embedder: Embedder, sizes: Sequence[int], rows: int, advance: Callable[[int], None]) -> None:
    """Make an agent of each size, and others until there are `rows` facts in all. `advance` is told as rows come to be."""
    database = Database(url, pool=1)
    said = [one async for one in _template(database, embedder, min(SENTENCES, rows // 4), advance)]
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    await database.close()
    connection = await asyncpg.connect(url)
    try:
        columns = await _columns(connection)
        owed = _owed(sizes, rows - len(said))
        for start in range(0, len(owed), AT_ONCE):
            some = owed[start : start + AT_ONCE]
            await _copies(connection, columns, table, some, said)
            advance(len(some))
        for one in ("heart.facts", "heart.fact_versions", table):
            await connection.execute(f"VACUUM ANALYZE {one}")
    finally:
        await connection.close()


def _owed(sizes: Sequence[int], rows: int) -> list[str]:
    """The agent of each fact that is to be made, in an order of chance."""
    owed = [agent(size) for size in sizes for _ in range(size)]
    owed += [f"other-{at // OTHERS}" for at in range(rows - len(owed))]
    random.Random(5).shuffle(owed)
    return owed


async def _template(database: Database, embedder: Embedder, count: int, advance: Callable[[int], None]) -> AsyncIterator[UUID]:
    """Distinct facts, as the product writes them; gives their ids."""
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    told = sentences(seed=4)
    for _ in range(-(-count // PAGE)):
        page = [_fact(content) for content in islice(told, PAGE)]
        directions = await embedder.embed([one.content for one in page])
        async with database.write([TEMPLATE]) as db:
            await facts.insert(db, page)
            await vectors.insert(db, table, [(TEMPLATE, one.fact_id, vector) for one, vector in zip(page, directions, strict=True)])
        advance(len(page))
        for one in page:
            yield one.fact_id


async def _copies(connection: asyncpg.Connection, columns: Sequence[str], table: str, agents: Sequence[str], said: Sequence[UUID]) -> None:
    made = {
        "agent_id": "q.agent_id",
        "fact_id": "q.fact_id",
        "content_hash": "sha256(uuid_send(q.fact_id))",
        "text_key": "sha256(uuid_send(q.fact_id))",
        "stored_by": "q.fact_id::text",
        "claimed_by": "q.fact_id::text",
        "recorded_by": "q.fact_id::text",
    }
    chance = random.Random(agents[0] + str(len(agents)))
    new = [ids.new() for _ in agents]
    same, beside = [chance.choice(said) for _ in agents], [chance.choice(said) for _ in agents]
    async with connection.transaction():
        admitted = sorted({*agents, TEMPLATE})
        await connection.execute(
            "SELECT set_config('role', 'nous_worker', true), set_config('nous.agents', $1::text[]::text, true)", admitted
        )
        await connection.execute(
            f"INSERT INTO heart.facts ({', '.join(columns)}) SELECT {', '.join(made.get(name, f't.{name}') for name in columns)}"
            " FROM unnest($1::text[], $2::uuid[], $3::uuid[]) AS q(agent_id, fact_id, same)"
            f" JOIN heart.facts t ON t.agent_id = '{TEMPLATE}' AND t.fact_id = q.same",
            agents,
            new,
            same,
        )
        await connection.execute(
            f"INSERT INTO {table} (agent_id, fact_id, vector)"
            " SELECT q.agent_id, q.fact_id, l2_normalize(t.vector + t.vector + o.vector)"
            " FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) AS q(agent_id, fact_id, same, beside)"
            f" JOIN {table} t ON t.agent_id = '{TEMPLATE}' AND t.fact_id = q.same"
            f" JOIN {table} o ON o.agent_id = '{TEMPLATE}' AND o.fact_id = q.beside",
            agents,
            new,
            same,
            beside,
        )


async def _columns(connection: asyncpg.Connection) -> list[str]:
    rows = await connection.fetch(
        "SELECT quote_ident(attname) AS name FROM pg_attribute"
        " WHERE attrelid = 'heart.facts'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''"
    )
    return [row["name"] for row in rows]


def _fact(content: str) -> Fact:
    now, fact_id = clock.now(), ids.new()
    return Fact(
        agent_id=TEMPLATE,
        fact_id=fact_id,
        content=content,
        content_hash=content_hash(content),
        subject=content.split()[0],
        attribute=None,
        provenance="user_stated",
        confidence=0.8,
        source="bench",
        active=True,
        superseded_by=None,
        merged_into=None,
        valid_from=now,
        valid_to=None,
        claimed_at=now,
        claimed_by=str(fact_id),
        confirmation_count=0,
        last_confirmed=None,
        created_at=now,
        text_key=text_key(content, content.split()[0], None),
        stored_by=str(fact_id),
        own_content=None,
        disputes=None,
        recorded_at=now,
        recorded_by=str(fact_id),
    )
