"""Sessions: whose turn it is, how long anything may take, and what a database error means for the work at hand."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, NoReturn

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError

from nous.embedded import Stack
from nous.errors import Contended, Misconfigured, NousError, Outage, Overlong
from store import censors, facts, retries
from store import database as door
from store.database import Database, Read, Write, lock_key, named
from tests.conftest import a_database, until
from tests.factories import a_censor, a_fact, a_retry
from tests.store.conftest import run

# ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def waiting(owner: asyncpg.Connection) -> int:
    """How many sessions of this database wait for an agent's lock."""
    return int(
        await owner.fetchval(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    )


async def test_two_writers_of_one_agent_take_turns_and_the_second_sees_what_the_first_did(
    database: Database, owner: asyncpg.Connection
) -> None:
    fact = a_fact(agent_id="turns")

    async def second() -> list[Any]:
        async with database.write(["turns"]) as db:
            return await run(db, "SELECT fact_id FROM heart.facts")

    async with database.write(["turns"]) as db:
        late = asyncio.create_task(second())
        await until(lambda: waiting(owner), what="the second writer waiting for its turn")
        await facts.insert(db, [fact])
        assert not late.done()
    assert await late == [fact.fact_id]


async def test_writers_of_different_agents_do_not_wait_for_each_other(database: Database) -> None:
    async with asyncio.timeout(10), database.write(["a"]), database.write(["b", "c"]), database.write(["d"]):
        pass


async def test_a_writer_of_several_agents_waits_for_each_of_them(database: Database, owner: asyncpg.Connection) -> None:
    for taken in ("a", "b", "c"):
        async with database.write([taken]):
            other = asyncio.create_task(_written(database, ["c", "a", "b"]))
            await until(lambda: waiting(owner), what=f"waiting for {taken}")
            assert not other.done()
        await other


async def test_readers_and_the_queue_wait_for_nobody(database: Database) -> None:
    async with asyncio.timeout(10), database.write(["a"]), database.read(["a"]) as db, database.queue():
        assert await run(db, "SELECT 1") == [1]


async def test_many_writers_of_many_agents_in_any_order_never_deadlock_and_lose_no_count(database_url: str) -> None:
    agents = [f"agent-{number}" for number in range(12)]
    writers, rounds, each = 6, 8, 7
    counted = {agent: a_censor(agent_id=agent) for agent in agents}
    shuffle = random.Random(5)
    turns = [[shuffle.sample(agents, each) for _ in range(rounds)] for _ in range(writers)]
    database = Database(database_url, pool=writers)

    async def write(mine: list[list[str]]) -> None:
        for chosen in mine:
            async with database.write(chosen) as db:
                for agent in chosen:
                    await _count_one_more(db, agent, counted[agent].censor_id)

    async with database.write(agents) as db:
        for censor in counted.values():
            await censors.insert(db, censor)
    await asyncio.gather(*(write(mine) for mine in turns))
    async with database.overview() as db:
        assert sum(censor.activation_count for censor in await censors.listed(db, agent=None)) == writers * rounds * each
    await database.close()


async def _count_one_more(db: Write, agent: str, censor_id: Any) -> None:
    """Read, then write: safe only under the agent's lock."""
    found = await censors.get(db, agent, censor_id)
    assert found is not None
    await censors.update(db, [a_censor(**vars(found) | {"activation_count": found.activation_count + 1})])


def test_an_agent_s_lock_is_the_same_in_every_version_and_fits_postgres() -> None:
    assert lock_key("agent-7") == 341001008922397083
    assert all(-(2**63) <= lock_key(f"agent-{number}") < 2**63 for number in range(1_000))
    assert len({lock_key(f"agent-{number}") for number in range(1_000)}) == 1_000


# ── what a session may do ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_write_is_kept_as_a_whole_or_not_at_all(database: Database) -> None:
    class Surprise(Exception):
        """Of the worker's own."""

    async with database.write(["whole"]) as db:
        await facts.insert(db, [a_fact(agent_id="whole", content="kept")])
    with pytest.raises(Surprise):
        async with database.write(["whole"]) as db:
            await _then(facts.insert(db, [a_fact(agent_id="whole", content="not kept")]), Surprise())
    async with database.read(["whole"]) as db:
        assert await run(db, "SELECT content FROM heart.facts") == ["kept"]


WRITING: dict[str, str] = {
    "insert": "INSERT INTO heart.embedders VALUES ('x', 3, 'y', false)",
    "update": "UPDATE heart.facts SET content = ''",
    "a queue": "DELETE FROM bus.retries",
    "a table": "CREATE TABLE mine (x int)",
}


@pytest.mark.parametrize("statement", WRITING.values(), ids=WRITING.keys())
async def test_a_read_session_cannot_write_and_that_is_no_outage(database: Database, statement: str) -> None:
    with pytest.raises(DBAPIError, match="in a read-only transaction"):
        async with database.read(["a"]) as db:
            await run(db, statement)


async def test_a_read_session_cannot_make_itself_a_write_session(database: Database) -> None:
    with pytest.raises(DBAPIError, match="must be set before any query"):
        async with database.read(["a"]) as db:
            await run(db, "SET TRANSACTION READ WRITE")


async def test_every_connection_gives_up_in_bounded_time(database: Database) -> None:
    settings = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "application_name")
    async with database.read([]) as read, database.write(["a"]) as write, database.overview() as overview:
        for db in (read, write, overview):
            assert [(await run(db, f"SHOW {name}"))[0] for name in settings] == ["20s", "30s", "5s", "nous"]
    assert door.LOCK_TIMEOUT_MS < door.STATEMENT_TIMEOUT_MS, "a wait for a lock is told apart from a slow statement"


async def test_a_session_that_is_cancelled_while_it_waits_gives_its_connection_back(
    database: Database, database_url: str, owner: asyncpg.Connection
) -> None:
    single = Database(database_url, pool=1)
    async with database.write(["a"]):
        task = asyncio.create_task(_written(single, ["a"]))
        await until(lambda: waiting(owner))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(10):
        await _written(single, ["a"])
    await single.close()


# ── what an error means ───────────────────────────────────────────────────────────────────────────────────────────────────


async def _written(database: Database, agents: list[str]) -> None:
    async with database.write(agents) as db:
        await run(db, "SELECT 1")


async def _then(first: Any, error: Exception) -> NoReturn:
    await first
    raise error


async def test_a_server_that_is_not_there_is_an_outage(stack: Stack) -> None:
    nobody = Database("postgresql://nous:secret@127.0.0.1:1/nous", pool=1)
    with pytest.raises(Outage, match=r"Postgres is not answering: .*[Rr]efused"):
        await _written(nobody, ["a"])
    await nobody.close()


@pytest.mark.parametrize(
    ("part", "instead", "sentence"),
    [("/test_", "/nowhere_", "database .* does not exist"), ("nous:", "nous:wrong", "password authentication failed")],
    ids=["no such database", "a wrong password"],
)
async def test_a_wrong_address_is_refused_with_the_setting_to_correct(database_url: str, part: str, instead: str, sentence: str) -> None:
    wrong = Database(database_url.replace(part, instead), pool=1)
    with pytest.raises(Misconfigured, match=f"Postgres refuses the connection .*{sentence}.*; correct NOUS_DATABASE_URL"):
        await _written(wrong, ["a"])
    await wrong.close()


async def test_a_server_without_a_free_connection_is_an_outage(owner: asyncpg.Connection, stack: Stack, template: str) -> None:
    async with a_database(stack, template) as url:
        limit = f"ALTER DATABASE {url.rpartition('/')[2]} CONNECTION LIMIT"
        crowded = Database(url, pool=1)
        await owner.execute(f"{limit} 0")
        with pytest.raises(Outage, match="too many connections"):
            await _written(crowded, ["a"])
        await owner.execute(f"{limit} -1")
        await _written(crowded, ["a"])
        await crowded.close()


async def test_a_pool_without_a_free_connection_is_an_outage(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "POOL_TIMEOUT_S", 0.01)
    single = Database(database_url, pool=1)
    async with single.read([]):
        with pytest.raises(Outage, match="QueuePool limit of size 1"):
            await _written(single, ["a"])
    await single.close()


async def _kill(db: Read, owner: asyncpg.Connection) -> None:
    [pid] = await run(db, "SELECT pg_backend_pid()")
    assert await owner.fetchval("SELECT pg_terminate_backend($1, 10000)", pid)


async def test_a_backend_that_is_killed_before_the_next_statement_is_an_outage(database: Database, owner: asyncpg.Connection) -> None:
    with pytest.raises(Outage):
        async with database.write(["a"]) as db:
            await _then_look(db, owner)
    await _written(database, ["a"])


async def _then_look(db: Read, owner: asyncpg.Connection) -> None:
    await _kill(db, owner)
    await run(db, "SELECT 1")


async def test_a_backend_that_is_killed_before_the_commit_is_an_outage(database: Database, owner: asyncpg.Connection) -> None:
    with pytest.raises(Outage):
        async with database.write(["a"]) as db:
            await _kill(db, owner)
    await _written(database, ["a"])


async def test_a_backend_that_is_killed_under_an_error_of_the_work_leaves_that_error(database: Database, owner: asyncpg.Connection) -> None:
    with pytest.raises(ValueError, match="of the work itself"):
        async with database.write(["a"]) as db:
            await _then(_kill(db, owner), ValueError("of the work itself"))
    await _written(database, ["a"])


async def test_a_backend_that_is_killed_while_a_statement_runs_is_an_outage(database: Database, owner: asyncpg.Connection) -> None:
    async with database.write(["a"]):
        waiter = asyncio.create_task(_written(database, ["a"]))
        await until(lambda: waiting(owner))
        await owner.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        with pytest.raises(Outage):
            await waiter


async def test_a_transaction_left_idle_too_long_is_freed_and_is_an_outage(database: Database, owner: asyncpg.Connection) -> None:
    with pytest.raises(Outage):
        async with database.write(["a"]) as db:
            await _idle_too_long(db, owner)
    await _written(database, ["a"])


async def _idle_too_long(db: Read, owner: asyncpg.Connection) -> None:
    await run(db, "SET LOCAL idle_in_transaction_session_timeout = 1")
    await _until_it_is_gone(db, owner)


async def _until_it_is_gone(db: Read, owner: asyncpg.Connection) -> None:
    [pid] = await run(db, "SELECT pg_backend_pid()")

    async def is_gone() -> bool:
        return not await owner.fetchval("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid)

    await until(is_gone, what="the idle backend going away")
    await run(db, "SELECT 1")


async def test_a_lock_that_is_waited_for_too_long_is_contention(database: Database) -> None:
    async with database.write(["a"]):
        with pytest.raises(Contended, match="another writer was in the way \\(55P03\\)"):
            async with database.queue() as db:
                await _wait_a_moment(db, "lock_timeout")


async def test_what_takes_longer_than_it_may_is_too_much_at_once(database: Database) -> None:
    async with database.write(["a"]):
        with pytest.raises(Overlong, match="took longer than it may \\(57014\\)"):
            async with database.queue() as db:
                await _wait_a_moment(db, "statement_timeout")


@pytest.mark.parametrize("is_at_work", [True, False], ids=["in a statement", "between statements"])
async def test_a_transaction_that_postgres_ends_for_its_length_is_no_outage(
    database_url: str, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, is_at_work: bool
) -> None:
    """Or the same page would be tried whole for ever: 36 times in eleven minutes, of an agent with 10,000 facts (seen)."""
    monkeypatch.setattr(door, "TRANSACTION_TIMEOUT_MS", 200)
    hurried = Database(database_url, pool=1)
    with pytest.raises(Overlong, match=r"took longer than 0\.2 s"):
        async with hurried.write(["a"]) as db:
            await (run(db, "SELECT pg_sleep(5)") if is_at_work else _until_it_is_gone(db, owner))
    await _written(hurried, ["a"])
    await hurried.close()


async def test_what_is_lost_before_its_time_is_an_outage_and_so_is_what_may_take_any_time(
    database_url: str, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    unhurried = Database(database_url, pool=1)
    with pytest.raises(Outage):
        async with unhurried.write(["a"]) as db:
            await _then_look(db, owner)
    monkeypatch.setattr(door, "TRANSACTION_TIMEOUT_MS", 0)
    with pytest.raises(Outage):
        async with unhurried.erase(["a"]) as erase:
            await _then_look(erase, owner)
    await unhurried.close()


def test_a_transaction_of_which_postgres_says_itself_that_it_was_too_long_is_no_outage() -> None:
    error = asyncpg.PostgresError("terminating connection due to transaction timeout")
    error.sqlstate = "25P04"
    assert isinstance(named(error), Overlong)


async def _wait_a_moment(db: Read, setting: str) -> None:
    await run(db, f"SET LOCAL {setting} = 1")
    await run(db, f"SELECT pg_advisory_xact_lock({lock_key('a')})")


async def test_a_deadlock_is_contention_for_one_of_the_two(database: Database) -> None:
    rows = [a_retry(), a_retry()]
    async with database.queue() as db:
        await retries.set_aside(db, rows)
    both_hold_one = asyncio.Barrier(2)

    async def take(first: str, second: str) -> None:
        async with database.queue() as db:
            await run(db, "SELECT 1 FROM bus.retries WHERE event_id = :id FOR UPDATE", id=first)
            await both_hold_one.wait()
            await run(db, "SELECT 1 FROM bus.retries WHERE event_id = :id FOR UPDATE", id=second)

    one, other = (row.event_id for row in rows)
    ends = await asyncio.gather(take(one, other), take(other, one), return_exceptions=True)
    [loser] = [end for end in ends if end is not None]
    assert isinstance(loser, Contended)
    assert "40P01" in str(loser)


MEANINGS: dict[str, tuple[str, type[NousError], str]] = {
    "serialisation failure": ("40001", Contended, "another writer was in the way"),
    "disk full": ("53100", Outage, "Postgres is not answering"),
    "out of memory": ("53200", Outage, "Postgres is not answering"),
    "shutting down": ("57P01", Outage, "Postgres is not answering"),
    "starting up": ("57P03", Outage, "Postgres is not answering"),
    "connection failure": ("08006", Outage, "Postgres is not answering"),
}


@pytest.mark.parametrize(("state", "meaning", "sentence"), MEANINGS.values(), ids=MEANINGS.keys())
async def test_what_the_server_says_has_a_meaning(database: Database, state: str, meaning: type[NousError], sentence: str) -> None:
    with pytest.raises(meaning, match=f"{sentence}.*as it happens"):
        async with database.read([]) as db:
            await run(db, f"DO $$ BEGIN RAISE EXCEPTION 'as it happens' USING ERRCODE = '{state}'; END $$")


UNFIT: dict[str, str] = {
    "table": "SELECT 1 FROM heart.dreams",
    "schema": "CREATE TABLE dreams.x (x int)",
    "column": "SELECT dreamt FROM heart.facts",
    "type": "SELECT NULL::dream",
    "role": "SELECT set_config('role', 'nous_dreamer', true)",
}


@pytest.mark.parametrize("statement", UNFIT.values(), ids=UNFIT.keys())
async def test_something_that_is_missing_asks_for_the_migration(database: Database, statement: str) -> None:
    with pytest.raises(Misconfigured, match=r"does not exist.*run: nous migrate"):
        async with database.queue() as db:
            await run(db, statement)


async def test_a_database_that_was_never_migrated_asks_for_it(stack: Stack) -> None:
    async with a_database(stack, "template1") as url:
        empty = Database(url, pool=1)
        with pytest.raises(Misconfigured, match=r'relation "heart.facts" does not exist.*run: nous migrate'):
            async with empty.read(["a"]) as db:
                await facts.listed(db, agent=None, inactive=True, limit=None)
        await empty.close()


async def test_a_server_that_is_read_only_is_an_outage_for_writers_and_none_for_readers(
    owner: asyncpg.Connection, stack: Stack, template: str
) -> None:
    async with a_database(stack, template) as url:
        await owner.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET default_transaction_read_only = on")
        database = Database(url, pool=1)
        async with database.read(["a"]) as db:
            assert await facts.listed(db, agent="a", inactive=True, limit=None) == []
        with pytest.raises(Outage, match="read-only transaction"):
            async with database.write(["a"]) as db:
                await facts.insert(db, [a_fact(agent_id="a")])
        await database.close()


MISTAKES: dict[str, tuple[Callable[[Database], Any], type[Exception]]] = {
    "a row twice": (lambda database: _twice(database), IntegrityError),
    "a number that does not fit": (lambda database: _look(database, "SELECT CAST(:x AS int)", x=2**40), DBAPIError),
    "a lone surrogate": (lambda database: _look(database, "SELECT CAST(:x AS text)", x="\ud800"), DBAPIError),
    "NUL": (lambda database: _look(database, "SELECT CAST(:x AS text)", x="a\0"), DBAPIError),
    "no SQL": (lambda database: _look(database, "SELEC 1"), ProgrammingError),
}


async def _twice(database: Database) -> None:
    async with database.write(["a"]) as db:
        await facts.insert(db, [a_fact(agent_id="a", content="one")] * 2)


async def _look(database: Database, sql: str, **values: Any) -> None:
    async with database.read(["a"]) as db:
        await run(db, sql, **values)


@pytest.mark.parametrize(("mistake", "error"), MISTAKES.values(), ids=MISTAKES.keys())
async def test_a_mistake_of_ours_is_no_outage_keeps_its_own_error_and_is_not_its_own_cause(
    database: Database, mistake: Callable[[Database], Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        await mistake(database)
    chain, seen = caught.value, set()
    while chain is not None:
        assert id(chain) not in seen, "a traceback printer would go round for ever"
        seen.add(id(chain))
        chain = chain.__cause__
    await _written(database, ["a"])


async def test_a_login_that_is_no_member_of_the_worker_role_is_told_what_to_grant(stack: Stack, template: str, database: Database) -> None:
    async with a_database(stack, template) as url:
        owner = await asyncpg.connect(url)
        await owner.execute("CREATE ROLE stranger LOGIN PASSWORD 'secret'")
        await owner.close()
        stranger = Database(url.replace(url.split("//")[1].split("@")[0], "stranger:secret"), pool=1)
        with pytest.raises(Misconfigured, match="GRANT nous_worker, nous_operator, nous_eraser TO"):
            async with stranger.read(["a"]) as db:
                await facts.listed(db, agent="a", inactive=False, limit=1)
        await stranger.close()
    await _forget_role(stack, "stranger")


async def _forget_role(stack: Stack, role: str) -> None:
    owner = await asyncpg.connect(stack.database_url)
    await owner.execute(f"DROP ROLE {role}")
    await owner.close()
