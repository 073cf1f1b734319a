"""Bringing a database to its shape: once, by one of several at once, back and forth; and one embedder's vectors in one table."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from nous.embedded import Stack
from nous.errors import Misconfigured
from store import embedders, episodes, facts, receipts, sessions, transcripts, vectors, versions
from store import migrate as migrating
from store.database import Database, engine, erasing
from store.embedders import Registered
from store.facts import Fact
from store.keys import text_key
from store.migrate import migrate
from store.transcripts import Transcript
from tests.conftest import a_database
from tests.factories import NOON, a_fact, a_mention, a_receipt, a_session, a_turn, an_episode
from tests.store.conftest import run

HEAD = [f"{number:04}" for number in range(1, 20)]


@pytest.fixture
async def empty(stack: Stack) -> AsyncIterator[str]:
    """A database with pgvector in it and nothing else."""
    async with a_database(stack, "template1") as url:
        yield url


async def shape(url: str) -> list[str]:
    """Everything of ours that is in the database: tables, columns, indexes, policies, functions."""
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        """
SELECT 'column ' || attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull AS what
  FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
 WHERE nspname IN ('heart', 'brain', 'bus') AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'policy ' || schemaname || tablename || policyname || roles::text || qual FROM pg_policies
UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('heart', 'brain', 'bus'))
UNION ALL SELECT 'rights ' || table_schema || table_name || grantee || privilege_type FROM information_schema.role_table_grants
 WHERE table_schema IN ('heart', 'brain', 'bus')
UNION ALL SELECT 'function ' || oid::regprocedure FROM pg_proc WHERE pronamespace = to_regnamespace('heart')
ORDER BY 1"""
    )
    await connection.close()
    return [row["what"] for row in rows]


async def test_an_empty_database_is_brought_to_shape_and_the_second_time_nothing_happens(empty: str) -> None:
    assert await migrate(empty, embedder="zero", dimension=512) == HEAD
    made = await shape(empty)
    assert await migrate(empty, embedder="zero", dimension=512) == []
    assert await shape(empty) == made
    database = Database(empty, pool=1)
    async with database.write(["a"]) as db:
        await facts.insert(db, [a_fact(agent_id="a")])
    await database.close()


async def test_two_at_once_wait_for_each_other_and_one_of_them_does_it(empty: str) -> None:
    done = await asyncio.gather(*(migrate(empty, embedder="zero", dimension=512) for _ in range(3)))
    assert sorted(done) == [[], [], HEAD]


async def test_two_databases_of_one_server_may_be_migrated_at_once(stack: Stack) -> None:
    async with a_database(stack, "template1") as one, a_database(stack, "template1") as other:
        assert await asyncio.gather(*(migrate(url, embedder="zero", dimension=512) for url in (one, other))) == [HEAD, HEAD]


async def test_going_back_and_forth_ends_in_the_same_shape(empty: str) -> None:
    await migrate(empty, embedder="zero", dimension=512)
    made = await shape(empty)
    await _to_revision(empty, "base")
    assert [what for what in await shape(empty) if "alembic_version" not in what] == []
    assert await migrate(empty, embedder="zero", dimension=512) == HEAD
    assert await shape(empty) == made


async def test_going_back_is_refused_while_it_would_drop_the_only_copy_of_what_was_said(empty: str) -> None:
    await migrate(empty, embedder="zero", dimension=512)
    database, row = Database(empty, pool=1), an_episode()
    async with database.write([row.agent_id]) as db:
        await episodes.put(db, row)
        await transcripts.put_away(db, (row.agent_id, row.episode_id), Transcript("User: Hello."), at=NOON)
    made = await shape(empty)
    with pytest.raises(Misconfigured, match=r"holds the only copy of 1 transcripts.*nous episode thaw"):
        await _to_revision(empty, "0016")
    assert await shape(empty) == made
    async with database.write([row.agent_id]) as db:
        assert await transcripts.held(db, row.agent_id, row.episode_id)
        async with erasing(db) as erase:
            await transcripts.let_go(erase, row.agent_id, row.episode_id)
    await database.close()
    await _to_revision(empty, "0016")
    assert not [what for what in await shape(empty) if "transcripts_cold" in what]


async def test_turns_that_had_aged_before_are_known_and_those_with_forgotten_words_by_their_id_alone(empty: str) -> None:
    await migrate(empty, embedder="zero", dimension=512)
    database, session = Database(empty, pool=1), a_session()
    row = an_episode(agent_id=session.agent_id, session_key=session.session_key, aged="trimmed")
    gone = an_episode(agent_id=session.agent_id, aged="archived")
    said = [a_turn(session, position=at, content=words, turn_id=f"t{at}") for at, words in enumerate(("咖啡", "I live in [forgotten]."), 1)]
    there = a_turn(session, position=3, content="[forgotten] It is so.", turn_id="t3")
    async with database.write([row.agent_id]) as db:
        await sessions.put(db, session)
        for one in (row, gone):
            await episodes.put(db, one)
        await sessions.add_turn(db, there)
        await transcripts.put_away(db, (row.agent_id, row.episode_id), Transcript(None, (*said, a_turn(session, position=4))), at=NOON)
        await receipts.insert(
            db,
            [a_receipt(agent_id=row.agent_id, worker="transcript_remover", outcome="let_go", about=gone.episode_id, occurred_at=NOON)],
        )
    await database.close()
    await _to_revision(empty, "0017")
    assert await migrate(empty, embedder="zero", dimension=512) == HEAD[17:]
    database = Database(empty, pool=1)
    async with database.read([row.agent_id]) as db:
        known = {}
        for one in (*said, there):
            assert one.turn_id
            found = await sessions.begun_in(db, row.agent_id, session.session_id, one.turn_id)
            assert found
            known[one.turn_id] = (found[1].says(one.content), found[1].is_forgotten, found[1].said_at)
        assert known == {"t1": (True, False, NOON), "t2": (False, True, NOON), "t3": (False, True, NOON)}
        let_go = {one.episode_id: one.let_go_at for one in await episodes.listed(db, agent=row.agent_id, inactive=True, limit=None)}
        assert let_go == {row.episode_id: None, gone.episode_id: NOON}
    await database.close()


LEARNED = [
    ("agent-7", "Maria lives in Oslo.", "Maria", "city"),
    ("agent-7", "Maria lives in Oslo.", "Ken", None),
    ("agent-7", "我的猫叫咪咪", None, None),
    ("b'); DROP TABLE heart.facts; --", "Maria lives in Oslo.", "Maria", "city"),
]


async def test_facts_that_were_there_before_relations_keep_all_they_were_and_get_what_the_new_columns_say(empty: str) -> None:
    await migrate(empty, embedder="zero", dimension=512)
    await _to_revision(empty, "0001")
    owner = await asyncpg.connect(empty)
    vectors_in = await owner.fetchval("SELECT table_name FROM heart.embedders")
    for number, (agent, content, subject, attribute) in enumerate(LEARNED):
        await _learned_before(owner, vectors_in, number, a_fact(agent_id=agent, content=content, subject=subject, attribute=attribute))
    old = "agent_id, fact_id, content, subject, attribute, active, claimed_at, confirmation_count, created_at"
    before = await owner.fetch(f"SELECT {old} FROM heart.facts ORDER BY created_at")
    assert await migrate(empty, embedder="zero", dimension=512) == HEAD[1:]
    assert await owner.fetch(f"SELECT {old} FROM heart.facts ORDER BY created_at") == before
    new = await owner.fetch(
        "SELECT f.*, v.current FROM heart.facts f JOIN " + vectors_in + " v USING (agent_id, fact_id) ORDER BY created_at"
    )
    assert [(row["text_key"], row["stored_by"], row["recorded_by"], row["recorded_at"], row["current"]) for row in new] == [
        (text_key(content, subject, attribute), f"stored-{number}", f"stored-{number}", NOON + timedelta(hours=number), True)
        for number, (_, content, subject, attribute) in enumerate(LEARNED)
    ]
    versions_of = await owner.fetch("SELECT agent_id, content, recorded_from, recorded_to FROM heart.fact_versions ORDER BY recorded_from")
    assert [tuple(row) for row in versions_of] == [
        (agent, content, NOON + timedelta(hours=number), None) for number, (agent, content, _, _) in enumerate(LEARNED)
    ]
    await owner.close()
    await _are_worked_on(empty, vectors_in)


async def _learned_before(owner: asyncpg.Connection, vectors_in: str, number: int, fact: Fact) -> None:
    """As the deduplicator left it: the row, its vector, the mention it began with and one more."""
    columns = [
        *("agent_id", "fact_id", "content", "content_hash", "subject", "subject_key", "attribute", "provenance", "confidence"),
        *("active", "valid_from", "claimed_at", "claimed_by", "confirmation_count", "created_at"),
    ]
    values = {**vars(fact), "subject_key": facts.subject_key(fact.subject), "created_at": NOON + timedelta(hours=number)}
    values["confirmation_count"] = 1
    await owner.execute("SELECT set_config('nous.agents', $1::text[]::text, false)", [fact.agent_id])
    await owner.execute(
        f"INSERT INTO heart.facts ({', '.join(columns)}) VALUES ({', '.join(f'${at}' for at in range(1, len(columns) + 1))})",
        *(values[name] for name in columns),
    )
    await owner.execute(
        f"INSERT INTO {vectors_in} (agent_id, fact_id, vector) SELECT $1, $2, array_fill(0.1, ARRAY[512])::halfvec",
        fact.agent_id,
        fact.fact_id,
    )
    for outcome in ("stored", "confirmed"):
        mention = vars(a_mention(fact, outcome=outcome, event_id=f"{outcome}-{number}"))
        await owner.execute(
            f"INSERT INTO heart.fact_mentions ({', '.join(mention)}) VALUES ({', '.join(f'${at}' for at in range(1, len(mention) + 1))})",
            *mention.values(),
        )


async def _are_worked_on(url: str, vectors_in: str) -> None:
    """The migrated facts are read, settled and confirmed by the verbs of today."""
    database = Database(url, pool=1)
    async with database.write(["agent-7"]) as db:
        [fact, *_] = await facts.listed(db, agent="agent-7", inactive=True, limit=None)
        await facts.confirm(db, [replace(fact, confirmation_count=2, recorded_at=NOON + timedelta(days=1), recorded_by="event-9")])
        await vectors.mark(db, vectors_in, "agent-7", current=[], past=[fact.fact_id])
    async with database.read(["agent-7"]) as db:
        assert len(await versions.listed(db, known_at=NOON + timedelta(hours=12), agent="agent-7", inactive=True, limit=None)) == 3
        assert await run(db, "SELECT count(*) FROM heart.fact_versions WHERE recorded_to IS NOT NULL") == [1]
    await database.close()


async def test_a_migration_that_fails_leaves_nothing_of_itself(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("on the last step")

    monkeypatch.setattr(embedders, "register", broken)
    with pytest.raises(ValueError, match="on the last step"):
        await migrate(empty, embedder="zero", dimension=512)
    assert await shape(empty) == []


async def test_a_database_without_pgvector_is_refused_with_the_command_that_adds_it(stack: Stack) -> None:
    async with a_database(stack, "template0") as url:
        with pytest.raises(
            Misconfigured, match=r"no pgvector and this login may not add it \(.*permission denied.*\).*CREATE EXTENSION vector;"
        ):
            await migrate(url, embedder="zero", dimension=512)
        assert await shape(url) == []


async def test_a_server_that_is_not_there_and_a_database_that_is_not_are_named() -> None:
    with pytest.raises(Exception, match="Postgres is not answering"):
        await migrate("postgresql://nous:secret@127.0.0.1:1/nous", embedder="zero", dimension=512)


async def _to_revision(url: str, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrating._FOLDER))

    def go(connection: Connection) -> None:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)

    owner = engine(url, pool=1)
    try:
        async with owner.begin() as connection:
            await connection.run_sync(go)
    finally:
        await owner.dispose()


# ── embedders ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def active(url: str) -> Registered:
    database = Database(url, pool=1)
    async with database.read([]) as db:
        found = await embedders.active(db)
    await database.close()
    return found


async def test_the_first_embedder_is_the_active_one_and_stays_it(empty: str) -> None:
    for name, dimension in (("first", 8), ("second", 16), ("first", 8)):
        await migrate(empty, embedder=name, dimension=dimension)
        found = await active(empty)
        assert (found.name, found.dimension) == ("first", 8)


async def test_names_that_look_alike_get_tables_of_their_own(empty: str) -> None:
    names = ["bge-m3", "bge_m3", "BGE M3", "x" * 60, "x" * 61, "咖啡", "'; DROP SCHEMA heart;--"]
    for name in names:
        await migrate(empty, embedder=name, dimension=8)
    database = Database(empty, pool=1)
    async with database.overview() as db:
        tables = await run(db, "SELECT table_name FROM heart.embedders")
        for table in tables:
            assert await run(db, f"SELECT vector FROM {table}") == []
    await database.close()
    assert len(set(tables)) == len(names)


async def test_a_known_embedder_with_another_dimension_keeps_its_column_for_the_start_to_refuse(empty: str) -> None:
    for dimension in (8, 16):
        await migrate(empty, embedder="first", dimension=dimension)
    with pytest.raises(Misconfigured, match=r"vectors of 8 numbers and the embedder 'first' gives 16"):
        embedders.require(await active(empty), name="first", dimension=16)


@pytest.mark.parametrize(
    ("name", "dimension", "sentence"),
    [
        ("other", 512, r"are of the embedder 'zero' and this worker is set to 'other'.*Set NOUS_EMBEDDER back, or use another database"),
        ("other", 384, r"are of the embedder 'zero' and this worker is set to 'other'"),
        ("zero", 384, r"holds vectors of 512 numbers and the embedder 'zero' gives 384.*or use another database"),
    ],
)
def test_an_embedder_whose_vectors_do_not_belong_is_refused_with_both_sides(name: str, dimension: int, sentence: str) -> None:
    with pytest.raises(Misconfigured, match=sentence):
        embedders.require(Registered(name="zero", dimension=512, table="heart.vectors_zero"), name=name, dimension=dimension)


def test_the_embedder_of_the_store_is_accepted() -> None:
    embedders.require(Registered(name="zero", dimension=512, table="heart.vectors_zero"), name="zero", dimension=512)


async def test_a_database_that_knows_no_embedder_asks_for_the_migration(empty: str) -> None:
    await migrate(empty, embedder="zero", dimension=512)
    connection = await asyncpg.connect(empty)
    await connection.execute("DELETE FROM heart.embedders")
    await connection.close()
    with pytest.raises(Misconfigured, match="knows no embedder yet; run: nous migrate"):
        await active(empty)
