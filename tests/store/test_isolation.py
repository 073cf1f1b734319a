"""One agent's memory is never another's, also when a query forgets its filter: the database itself does not show it.

The tables are discovered, so a new one that forgets to be guarded fails here.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError, ProgrammingError

from nous.embedded import Stack
from nous.terms import terms
from nous.text import content_hash
from store import (
    answers,
    archive,
    audits,
    censors,
    decisions,
    embedders,
    episodes,
    facts,
    forgotten,
    known_turns,
    memory_vectors,
    mentions,
    old_notes,
    outdated,
    passages,
    procedures,
    receipts,
    relations,
    served,
    sessions,
    tokens,
    transcripts,
    unused,
    usage,
    vectors,
    weights,
    writings,
)
from store.archive import Archived
from store.audits import Audit, Merge
from store.database import Database, Read
from store.embedders import Registered
from store.forgotten import Tombstone
from store.migrate import migrate
from store.search import KINDS, search
from store.weights import FittedWeights
from tests.conftest import a_database
from tests.factories import (
    NOON,
    a_censor,
    a_decision,
    a_fact,
    a_mention,
    a_procedure,
    a_question,
    a_receipt,
    a_relation,
    a_session,
    a_turn,
    a_vector,
    an_episode,
)
from tests.store.conftest import run

ONE_ID = a_censor().censor_id  # both agents use it
SESSION, TURN = "chat", "turn-1"
UNUSED = unused.Wanted({"assistant_derived": NOON}, demoted_before=NOON)
WORDS = "The safe is behind the painting."
QUESTION = terms("Which painting?")
THEN = {"terms": QUESTION, "as_of": NOON + timedelta(days=1)}
WITHOUT_AGENT = {"heart.embedders", "heart.thresholds"}
UNWRITTEN = {"bus.forgotten"}  # workers read it
UNCHANGED = UNWRITTEN | {"bus.events", "bus.weights", "bus.audits"}  # workers change nothing in it
QUEUES = {"bus.retries", "bus.outbox", "bus.unembedded", "bus.fills", "bus.spending", "bus.alembic_version", "bus.upkeep_runs", "bus.since"}
"""Read for no agent."""


@pytest.fixture(scope="module")
async def populated(database_url: str) -> AsyncIterator[Database]:
    """Agents a and b with one row of everything, alike to the letter."""
    database = Database(database_url, pool=3)
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    for agent in ("a", "b"):
        fact = a_fact(agent_id=agent, fact_id=ONE_ID, content=WORDS, demoted_at=NOON, demoted_to=0.5)
        async with database.write([agent]) as db:
            await facts.insert(db, [fact])
            await mentions.insert(db, [a_mention(fact, mention_id=ONE_ID, event_id="event")])
            await vectors.insert(db, table, [(agent, fact.fact_id, a_vector(1))])
            await censors.insert(db, a_censor(agent_id=agent, censor_id=ONE_ID))
            await receipts.insert(db, [a_receipt(agent_id=agent, event_id="event", about=ONE_ID)])
            await relations.put(db, [a_relation(agent_id=agent)])
            await answers.ask(db, [a_question(agent_id=agent)], lease=NOON)
            session = a_session(agent_id=agent, session_key=ONE_ID, episode_id=ONE_ID)
            await sessions.put(db, session)
            await sessions.add_turn(db, a_turn(session, turn_id=TURN))
            await known_turns.keep(db, [a_turn(session, turn_id="turn-2")])
            await served.put(db, agent, ONE_ID, TURN, served.Serving(ONE_ID, (served.Named("fact", ONE_ID, "f-1"),)))
            await episodes.put(db, an_episode(agent_id=agent, episode_id=ONE_ID, session_key=ONE_ID, title=WORDS, brief=WORDS))
            for part in get_args(episodes.Part):
                await episodes.put_vector(db, agent, ONE_ID, part, embedder="zero", vector=a_vector(1))
            await episodes.link_decisions(db, agent, ONE_ID, {ONE_ID: "named"})
            await decisions.put(db, [a_decision(agent_id=agent, decision_id=ONE_ID, description=WORDS)])
            await procedures.put(db, [a_procedure(agent_id=agent, procedure_id=ONE_ID, name=WORDS, implementation_notes=(WORDS,) * 11)])
            await old_notes.put(db, [old_notes.OldNotes(agent, ONE_ID, "event", (WORDS,), (), (), None, NOON)])
            await tokens.insert(db, tokens.Token(agent, ONE_ID, "laptop", agent.encode(), NOON))
            await usage.put(db, [usage.Usage(agent, "fact", ONE_ID, compared=1)])
            await passages.put(db, agent, ONE_ID, [(WORDS, NOON)])
            await transcripts.put_away(db, (agent, ONE_ID), transcripts.Transcript(WORDS), at=NOON)
            passage = (agent, "passage", passages.id_of(agent, ONE_ID, 0))
            kept = await memory_vectors.said(db, [(agent, "decision", ONE_ID), (agent, "procedure", ONE_ID), passage])
            await memory_vectors.put(db, Registered("zero", 512, table), [(key, said, a_vector(1)) for key, said in kept.items()])
            await weights.put(db, FittedWeights(agent, {"words": 1.0}, {}, 0, NOON))
            await audits.put(db, Audit(agent, NOON, True, {}))
            merge = Merge(agent, ONE_ID, ONE_ID, WORDS, WORDS, "merged", None, NOON, NOON)
            await audits.judge(db, merge, is_one=True, now=NOON)
            asked = writings.Question(agent_id=agent, question_key=b"key", prompt="episode-1", model="a-model")
            await writings.ask(db, asked, worker="episode_summarizer", about="episode:1", now=NOON, lease=NOON)
        async with database.erase([agent]) as erasing:
            await forgotten.insert(erasing, [Tombstone(agent, "erased", "fact_learned", "decision", NOON)])
        async with database.write([agent]) as db:
            await archive.insert(db, [Archived(agent, "event", "fact_learned", b"digest", WORDS.encode(), "1-0", NOON, NOON)])
    yield database
    await database.close()


@pytest.fixture(scope="module")
async def guarded(populated: Database, database_url: str) -> AsyncIterator[list[str]]:
    connection = await asyncpg.connect(database_url)
    yield [table for table in await tables(connection) if table not in WITHOUT_AGENT | QUEUES]
    await connection.close()


async def tables(owner: asyncpg.Connection, where: str = "true") -> list[str]:
    """Tables and views of ours; a partition is not one, for nobody may reach it but through its table."""
    found = await owner.fetch(
        "SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname IN ('heart', 'brain', 'bus') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        f" AND NOT c.relispartition AND ({where}) ORDER BY 1"
    )
    return [row["name"] for row in found]


# ── every table is guarded ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_every_table_of_an_agent_s_memory_has_forced_row_level_security(owner: asyncpg.Connection) -> None:
    forced = await tables(owner, "c.relrowsecurity AND c.relforcerowsecurity")
    everything = await tables(owner)
    assert set(everything) - set(forced) == WITHOUT_AGENT | QUEUES, "a new table says whose it is and is guarded (see _guard)"
    assert {"heart.facts", "heart.fact_mentions", "heart.censors", "bus.receipts"} < set(forced)


async def test_a_partition_is_reached_through_its_table_alone(owner: asyncpg.Connection) -> None:
    found = await owner.fetch(
        "SELECT c.oid::regclass::text AS name, r.role FROM pg_class c, unnest(ARRAY['nous_worker', 'nous_operator']) AS r(role)"
        " WHERE c.relispartition AND c.relkind = 'r' AND has_table_privilege(r.role, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')"
    )
    assert await owner.fetchval("SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r'") >= 8
    assert found == []


async def test_every_guarded_table_admits_the_named_agents_to_the_worker_and_a_look_to_the_operator(
    owner: asyncpg.Connection, guarded: list[str]
) -> None:
    policies = await owner.fetch(
        "SELECT schemaname || '.' || tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2"
    )
    admitted = "(agent_id = ANY (( SELECT heart.admitted() AS admitted)::text[]))"
    whole_agents = ("bus.forgotten", "whole_agents", "PERMISSIVE", "{nous_worker}", "SELECT", "(event_id = ''::text)", None)
    everybody_s = ("bus.weights", "everybody", "PERMISSIVE", "{nous_worker}", "SELECT", "(agent_id = ''::text)", None)
    assert [one for policy in policies if (one := tuple(policy)) not in (whole_agents, everybody_s)] == [
        policy
        for table in sorted(guarded)
        for policy in (
            (table, "admitted", "PERMISSIVE", "{nous_eraser,nous_worker}", "ALL", admitted, admitted),
            (table, "overview", "PERMISSIVE", "{nous_operator}", "SELECT", "true", None),
        )
    ]


async def test_the_vectors_of_an_embedder_that_comes_later_are_guarded_too(stack: Stack, template: str) -> None:
    async with a_database(stack, template) as url:
        owner = await asyncpg.connect(url)
        await migrate(url, embedder="another", dimension=8)
        made = await tables(owner, "c.relname LIKE 'vectors%'")
        assert len(made) == 2
        assert made == await tables(owner, "c.relname LIKE 'vectors%' AND c.relrowsecurity AND c.relforcerowsecurity")
        await owner.close()


# ── the filter left out ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("agents", "seen"), [(["a"], {"a"}), (["b"], {"b"}), (["b", "a"], {"a", "b"}), ([], set()), (["c"], set()), (["A"], set())]
)
async def test_a_query_without_its_filter_finds_the_rows_of_the_named_agents_only(
    populated: Database, guarded: list[str], agents: Sequence[str], seen: set[str]
) -> None:
    async with populated.read(agents) as db:
        assert {table: set(await run(db, f"SELECT agent_id FROM {table}")) for table in guarded} == dict.fromkeys(guarded, seen)


async def test_an_operator_sees_every_agent(populated: Database, guarded: list[str]) -> None:
    async with populated.overview() as db:
        seen = {table: set(await run(db, f"SELECT agent_id FROM {table}")) for table in guarded}
    assert [table for table, agents in seen.items() if not agents >= {"a", "b"}] == [], (
        "a new table gets a row for both agents in `populated`"
    )


async def test_the_queue_session_names_no_agent_and_sees_no_memory(populated: Database, guarded: list[str]) -> None:
    async with populated.queue() as db:
        assert {table: await run(db, f"SELECT agent_id FROM {table}") for table in guarded} == {table: [] for table in guarded}


async def test_a_transaction_that_names_nobody_at_all_sees_nothing(owner: asyncpg.Connection, guarded: list[str]) -> None:
    async with owner.transaction():
        await owner.execute("SET LOCAL ROLE nous_worker")
        assert {table: await owner.fetchval(f"SELECT count(*) FROM {table}") for table in guarded} == dict.fromkeys(guarded, 0)


async def test_what_a_transaction_was_admitted_to_ends_with_it(database_url: str, populated: Database) -> None:
    pooled = Database(database_url, pool=1)
    async with pooled.read(["a"]) as db:
        first = await run(db, "SELECT pg_backend_pid()")
    async with pooled.read(["b"]) as db:
        assert await run(db, "SELECT pg_backend_pid()") == first
        assert await run(db, "SELECT agent_id FROM heart.facts") == ["b"]
    await pooled.close()


VERBS: dict[str, Callable[[Read, str], Awaitable[Any]]] = {
    "facts.by_key": lambda db, _: facts.by_key(db, [("b", ONE_ID)]),
    "mentions.by_content": lambda db, _: mentions.by_content(db, [("b", content_hash(WORDS))]),
    "mentions.by_mention_id": lambda db, _: mentions.by_mention_id(db, [("b", ONE_ID)]),
    "mentions.resolve": lambda db, _: _of_b(mentions.resolve(db, ONE_ID)),
    "mentions.within": lambda db, _: mentions.within(db, ONE_ID, ONE_ID, agent="b", limit=9),
    "mentions.of_facts": lambda db, _: mentions.of_facts(db, [("b", ONE_ID)]),
    "facts.listed": lambda db, _: facts.listed(db, agent="b", inactive=True, limit=None),
    "censors.get": lambda db, _: censors.get(db, "b", ONE_ID),
    "censors.listed": lambda db, _: censors.listed(db, agent="b"),
    "censors.owners": lambda db, _: _is_b(censors.owners(db, ONE_ID)),
    "receipts.answered": lambda db, _: receipts.answered(db, "deduplicator", [("b", "event")]),
    "receipts.settled": lambda db, _: receipts.settled(db, "deduplicator", [("b", "event")]),
    "receipts.about": lambda db, _: receipts.about(db, "b", ONE_ID),
    "receipts.of_agent": lambda db, _: receipts.of_agent(db, "b", "deduplicator"),
    "tokens.listed": lambda db, _: tokens.listed(db, agent="b"),
    "facts.demoted": lambda db, _: facts.demoted(db, [("b", ONE_ID)]),
    "unused.page": lambda db, _: unused.page(db, "b", UNUSED, after=None, limit=9),
    "unused.look": lambda db, _: unused.look(db, ("b", ONE_ID)),
    "old_notes.of": lambda db, _: old_notes.of(db, [("b", ONE_ID)]),
    "procedures.piled_up": lambda db, _: procedures.piled_up(db, "b", most=10, after=None, limit=9),
    "usage.of": lambda db, _: usage.of(db, "b", [("fact", ONE_ID)]),
    "usage.by_key": lambda db, _: usage.by_key(db, [("b", "fact", ONE_ID)]),
    "usage.meant": lambda db, _: usage.meant(db, [("b", kind, ONE_ID) for kind in ("fact", "episode", "decision", "procedure")]),
    "facts.saying": lambda db, _: facts.saying(db, "painting", agent="b", inactive=True, limit=9),
    "passages.by_key": lambda db, _: passages.by_key(db, [("b", passages.id_of("b", ONE_ID, 0))]),
    "passages.of_episode": lambda db, _: passages.of_episode(db, "b", ONE_ID),
    "passages.within": lambda db, _: passages.within(db, UUID(int=0), UUID(int=2**128 - 1), agent="b", limit=9),
    "sessions.begun_in": lambda db, _: sessions.begun_in(db, "b", SESSION, "turn-2"),
    "transcripts.cold": lambda db, _: transcripts.cold(db, "b", ONE_ID),
    "transcripts.expired": lambda db, _: transcripts.expired(db, "b", before=NOON, after=None, limit=9),
    "memory_vectors.said": lambda db, _: memory_vectors.said(
        db, [("b", "decision", ONE_ID), ("b", "procedure", ONE_ID), ("b", "passage", passages.id_of("b", ONE_ID, 0))]
    ),
    "served.get": lambda db, _: served.get(db, "b", SESSION, TURN),
    "served.lines": lambda db, _: served.lines(db, "b", [served.Named(kind, ONE_ID, "x") for kind in KINDS]),
    "weights.of": lambda db, _: weights.of(db, "b"),
    "audits.listed": lambda db, _: audits.listed(db, agent="b", limit=9),
    "audits.judged": lambda db, _: audits.judged(db, agent="b"),
    **{
        f"search of {kind}, {how}": lambda db, table, kind=kind, asked=asked: search(
            db, "b", [kind], embedder=Registered("zero", 512, table), **{"vector": None, "terms": (), **asked}
        )
        for kind in KINDS
        for how, asked in {"by words": {"terms": QUESTION}, "by meaning": {"vector": a_vector(1)}, "as of then": THEN}.items()
    },
    "vectors.nearest": lambda db, table: _first(vectors.nearest(db, table, [("b", a_vector(1))], limit=9, floor=-1)),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
async def test_a_session_for_one_agent_that_asks_for_another_gets_nothing(
    populated: Database, vectors_in: str, verb: Callable[[Read, str], Awaitable[Any]]
) -> None:
    async with populated.read(["a"]) as db:
        assert not await verb(db, vectors_in)
    async with populated.read(["b"]) as db:
        assert await verb(db, vectors_in)


async def test_what_nearly_says_the_same_is_the_agent_s_own_true_now_and_none_of_those_it_is_like(
    database: Database, vectors_in: str
) -> None:
    one, twin, past = (a_fact(agent_id="near-a", active=active, valid_to=None if active else NOON) for active in (True, True, False))
    foreign = a_fact(agent_id="near-b")
    async with database.write(["near-a", "near-b"]) as db:
        await facts.insert(db, [one, twin, past, foreign])
        await vectors.insert(db, vectors_in, [(fact.agent_id, fact.fact_id, a_vector(1)) for fact in (one, twin, past, foreign)])
        await vectors.mark(db, vectors_in, "near-a", current=[], past=[past.fact_id])
    for agents in (["near-a"], ["near-a", "near-b"]):
        async with database.read(agents) as db:
            (near,) = await vectors.alike(db, vectors_in, "near-a", [one.fact_id], floor=0.9, limit=9)
            assert (near.fact_id, near.similarity) == (twin.fact_id, pytest.approx(1, abs=1e-3))
            assert await vectors.alike(db, vectors_in, "near-a", [one.fact_id], floor=1.1, limit=9) == []
    async with database.read(["near-b"]) as db:
        assert await vectors.alike(db, vectors_in, "near-a", [one.fact_id], floor=-1, limit=9) == []


async def test_what_is_no_longer_so_of_another_agent_s_episode_is_nobody_else_s(populated: Database) -> None:
    fact = a_fact(agent_id="retired", active=False, valid_to=NOON)
    async with populated.write(["retired"]) as db:
        await facts.insert(db, [fact])
        await mentions.insert(db, [a_mention(fact, event_id="learned")])
        await receipts.insert(db, [a_receipt(agent_id="retired", event_id="closed", about=ONE_ID, derived=("fact_learned:learned",))])
        (found,) = await outdated.of_episodes(db, "retired", [ONE_ID])
        assert fact.content in found.wordings
    async with populated.read(["a"]) as db:
        assert await outdated.of_episodes(db, "retired", [ONE_ID]) == await outdated.of_episodes(db, "a", [ONE_ID]) == []


async def test_the_same_words_of_two_agents_stay_two_facts_with_a_vector_each(populated: Database, vectors_in: str) -> None:
    async with populated.read(["a", "b"]) as db:
        near = await vectors.nearest(db, vectors_in, [("a", a_vector(1)), ("b", a_vector(1))], limit=9, floor=-1)
        assert [len(found) for found in near] == [1, 1]
        assert await mentions.by_content(db, [("a", content_hash(WORDS))]) == {("a", content_hash(WORDS)): {ONE_ID}}


HOSTILE = [
    "a'b",
    'a"b',
    '"',
    "a,b",
    "a, b",
    "{a}",
    "{a,b}",
    '{"a","b"}',
    "a\\b",
    'a\\"b',
    "\\",
    "NULL",
    "null",
    "(a)",
    "%",
    "_",
    "*",
    "a b",
    " a",
    "a ",
    "a'; DROP TABLE heart.facts;--",
    "' OR true --",
    ":agent",
    "$1",
    "{}",
    "小明",
    "ليلى",
    "e\u0301",
    "\u00e9",
    "\U0001f600",
    "x" * 128,
]


async def test_an_agent_s_name_whatever_is_in_it_admits_exactly_that_agent(database_url: str, populated: Database) -> None:
    async with populated.write(HOSTILE) as db:
        await facts.insert(db, [a_fact(agent_id=agent, fact_id=ONE_ID, content=WORDS) for agent in HOSTILE])
    seen = {}
    for agent in HOSTILE:
        async with populated.read([agent]) as db:
            seen[agent] = await run(db, "SELECT agent_id FROM heart.facts")
    assert seen == {agent: [agent] for agent in HOSTILE}
    async with populated.read(HOSTILE[:3]) as db:
        assert set(await run(db, "SELECT agent_id FROM heart.facts")) == set(HOSTILE[:3])


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_writer_cannot_add_a_row_for_another_agent(populated: Database, guarded: list[str], owner: asyncpg.Connection) -> None:
    for table in guarded:
        named = await owner.fetch(
            "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND attgenerated = ''"
            " AND NOT attisdropped",
            table,
        )
        columns = [row["attname"] for row in named]
        others = ", ".join("'c'" if name == "agent_id" else name for name in columns)
        barred = "permission denied" if table in UNWRITTEN else "new row violates row-level security policy"
        with pytest.raises(ProgrammingError, match=barred):
            async with populated.write(["a"]) as db:
                await run(db, f"INSERT INTO {table} ({', '.join(columns)}) SELECT {others} FROM {table}")


async def test_a_writer_cannot_give_its_row_to_another_agent(populated: Database, guarded: list[str]) -> None:
    for table in guarded:
        barred = "permission denied" if table in UNCHANGED else "new row violates row-level security policy"
        with pytest.raises(ProgrammingError, match=barred):
            async with populated.write(["a"]) as db:
                await run(db, f"UPDATE {table} SET agent_id = 'b'")


async def test_an_update_without_its_filter_changes_the_named_agent_s_rows_only(populated: Database, guarded: list[str]) -> None:
    async with populated.write(["a"]) as db:
        changed = {
            table: set(await run(db, f"UPDATE {table} SET agent_id = agent_id RETURNING agent_id"))
            for table in guarded
            if table not in UNCHANGED
        }
    assert changed == {table: {"a"} for table in guarded if table not in UNCHANGED}


async def test_a_mention_cannot_point_to_another_agent_s_fact(populated: Database) -> None:
    foreign = a_fact(agent_id="b")
    async with populated.write(["b"]) as db:
        await facts.insert(db, [foreign])
    with pytest.raises(DBAPIError, match="fk_fact_mentions_fact"):
        async with populated.write(["a", "b"]) as db:
            await mentions.insert(db, [a_mention(foreign, agent_id="a")])


async def test_nothing_that_was_remembered_can_be_deleted_by_a_worker(populated: Database, guarded: list[str]) -> None:
    for table in guarded:
        with pytest.raises(ProgrammingError, match="permission denied"):
            async with populated.write(["a"]) as db:
                await run(db, f"DELETE FROM {table}")


# ── the roles ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

FORBIDDEN = [
    "ALTER TABLE heart.facts DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE heart.facts NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY admitted ON heart.facts",
    "CREATE POLICY everybody ON heart.facts USING (true)",
    "ALTER ROLE nous_worker BYPASSRLS",
    "TRUNCATE heart.facts CASCADE",
    "DROP TABLE heart.facts CASCADE",
    "CREATE TABLE heart.mine (agent_id text)",
    "CREATE FUNCTION heart.mine() RETURNS int LANGUAGE sql RETURN 1",
    "CREATE OR REPLACE FUNCTION heart.admitted() RETURNS text[] LANGUAGE sql STABLE RETURN ARRAY['b']",
    "INSERT INTO heart.embedders VALUES ('mine', 3, 'heart.mine', false)",
    "UPDATE heart.embedders SET active = false",
    "COPY heart.facts TO PROGRAM 'cat'",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_a_worker_cannot_loosen_its_own_rules(populated: Database, statement: str) -> None:
    with pytest.raises(DBAPIError, match=r"must be owner|permission denied|not supported|must be able to"):
        async with populated.write(["a"]) as db:
            await run(db, statement)


async def test_asking_to_see_past_row_level_security_is_an_error(populated: Database) -> None:
    with pytest.raises(DBAPIError, match="would be affected by row-level security"):
        async with populated.read(["a"]) as db:
            await _past_row_security(db)


@pytest.mark.parametrize("role", ["nous_worker", "nous_operator", "nous_eraser"])
async def test_a_role_owns_nothing_is_no_member_of_another_and_bypasses_nothing(owner: asyncpg.Connection, role: str) -> None:
    attributes = await owner.fetchrow(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin FROM pg_roles WHERE rolname = $1", role
    )
    assert not any(attributes.values())
    assert await owner.fetchval("SELECT count(*) FROM pg_shdepend WHERE refobjid = $1::regrole AND deptype = 'o'", role) == 0
    assert await owner.fetchval("SELECT count(*) FROM pg_auth_members WHERE member = $1::regrole", role) == 0


async def test_an_operator_looks_at_everything_and_changes_nothing(owner: asyncpg.Connection, populated: Database) -> None:
    for table in await tables(owner, "c.relname <> 'alembic_version'"):
        assert await owner.fetchval("SELECT has_table_privilege('nous_operator', $1, 'SELECT')", table), table
        assert not await owner.fetchval("SELECT has_table_privilege('nous_operator', $1, 'INSERT, UPDATE, DELETE, TRUNCATE')", table), table
    with pytest.raises(DBAPIError, match="read-only transaction"):
        async with populated.overview() as db:
            await run(db, "UPDATE heart.facts SET content = ''")


async def test_a_session_works_as_the_role_it_says(populated: Database) -> None:
    async with populated.read(["a"]) as read, populated.queue() as queue, populated.overview() as overview:
        assert [await run(db, "SELECT current_user::text") for db in (read, queue, overview)] == [
            ["nous_worker"],
            ["nous_worker"],
            ["nous_operator"],
        ]
    async with populated.write(["a"]) as write:
        assert await run(write, "SELECT current_user::text") == ["nous_worker"]


async def _past_row_security(db: Read) -> None:
    await run(db, "SET LOCAL row_security = off")
    await run(db, "SELECT agent_id FROM heart.facts")


async def _of_b(found: Awaitable[list[tuple[str, Any]]]) -> list[Any]:
    return [what for agent, what in await found if agent == "b"]


async def _is_b(found: Awaitable[list[str]]) -> bool:
    return "b" in await found


async def _first(found: Awaitable[list[Any]]) -> Any:
    return (await found)[0]
