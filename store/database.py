"""The door to Postgres: two kinds of session, and the rules every transaction keeps.

    async with database.read(["agent-7"]) as db:     Read: sees agent-7's rows only, writes nothing
    async with database.write(["agent-7"]) as db:    Write: holds agent-7's lock until it commits
    async with database.overview() as db:            Read: an operator's view, every agent, writes nothing

    async with database.erase(["agent-7"]) as db:    Erase: holds agent-7's lock, and may take away what a Write only adds to
    async with database.switching() as db:           Switch: the tables' owner, while no Write is open

A transaction begins by taking on the role `nous_worker` (or `nous_operator`), which owns nothing and cannot bypass row-level
security, and by naming the agents it is for: a query that forgets its filter finds those agents' rows, never another's. A
Write then takes a share of the lock that a Switch holds alone, and the agents' advisory locks, in sorted order; every search is a later
statement than the lock.
"""

import hashlib
import inspect
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any, NewType, NoReturn

import asyncpg
from asyncpg import connect
from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from nous.errors import Contended, Misconfigured, Outage, Overlong

Read = NewType("Read", AsyncSession)
"""A session that looks and does not write."""

Write = NewType("Write", Read)
"""A session that may also write; it holds the locks of its agents."""

Erase = NewType("Erase", Write)
"""A session that may also delete; it holds the locks of its agents, and takes the time it needs."""

Switch = NewType("Switch", Read)
"""A session of the tables' owner: it takes on a role (`acting`) to see memory, and every Write waits for its end."""

LOCK_TIMEOUT_MS = 20_000
STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000  # frees what a stopped process holds
TRANSACTION_TIMEOUT_MS = 30_000  # frees it where the process was stopped between preparing a statement and running it, which is not idle
SWITCH_PATIENCE_MS = 3_000  # for open Writes to end; those that come meanwhile wait behind
SWITCH_IDLE_MS = 20_000  # a Switch may ask an embedder
CONNECT_TIMEOUT_S = 10
POOL_TIMEOUT_S = 30
WORK_MEMORY = "64MB"  # of a statement's step, if it needs it; with 4 MB the search of 100,000 facts goes through temporary files
COMMAND_TIMEOUT_S = STATEMENT_TIMEOUT_MS / 1000 + 5  # a server that fell silent is given up on; a living one cancels the statement before

DRIVER_ERRORS = (DBAPIError, PoolTimeout, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, TimeoutError)
"""What SQLAlchemy, asyncpg and its time limit raise; the driver's own reach us bare when a connection dies at the wrong moment."""

WRITE_REFUSED = "25006"  # of a server that is read-only; of a Read session it is a mistake of ours
CONTENDED_STATES = {"40001", "40P01", "55P03"}  # serialisation, deadlock, lock timeout
OVERLONG_STATES = {"57014", "25P04"}  # statement timeout, transaction timeout
AWAY_STATES = {"53300", "53200", "53100", "57P01", "57P02", "57P03", "57P05", "25P03", WRITE_REFUSED}  # and every 08xxx
UNFIT_STATES = {"42P01", "42703", "3F000", "22023", "42704"}  # a table, column, schema, role or type, if it "does not exist"
NOT_A_MEMBER = "42501"
REFUSED_STATES = {"3D000", "28P01", "28000"}  # no such database, wrong password, no such login

_ADMITTING = (
    "SELECT set_config('role', :role, true), set_config('nous.agents', CAST(CAST(:agents AS text[]) AS text), true),"
    " set_config('transaction_read_only', CASE WHEN :read_only THEN 'on' ELSE current_setting('transaction_read_only') END, true)"
)
_BEGIN = text(_ADMITTING)
_AS = text("SELECT set_config('role', :role, true)")
_UNHURRIED = text(  # its statements are bounded as ever; there are as many as an agent has pages
    "SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('server_version_num')::int >= 170000"
)
_SWITCH_KEY = 0x6E6F757300000001
_LOCKING = (
    f"SELECT pg_advisory_xact_lock_shared({_SWITCH_KEY})"
    " UNION ALL SELECT pg_advisory_xact_lock(key) FROM unnest(CAST(:keys AS bigint[])) AS key"
)
_LOCK = text(_LOCKING)
_BEGIN_LOCKED = text(f"{_ADMITTING}, (SELECT max(CAST(locked AS text)) FROM ({_LOCKING}) AS locks(locked))")  # one round trip
_LOCK_OUT = text(f"SELECT pg_advisory_xact_lock({_SWITCH_KEY})")
_PATIENCE = text(
    f"SELECT set_config('lock_timeout', '{SWITCH_PATIENCE_MS}', true),"
    f" set_config('idle_in_transaction_session_timeout', '{SWITCH_IDLE_MS}', true)"
)


class Database:
    """A pool of connections to one Nous database."""

    def __init__(self, url: str, *, pool: int, patience_s: float | None = None) -> None:
        """`url` is postgresql://...; `pool` is the number of connections, with no overflow.

        A server that falls silent, or has no connection left, is given up on after `patience_s`; as long as a worker waits if absent.
        """
        self._engine = engine(url, pool=pool, patience_s=patience_s)
        event.listen(self._engine.sync_engine, "connect", self._bound_transactions)
        self._is_bounded = False
        self._sessions = async_sessionmaker(self._engine, expire_on_commit=False)

    @asynccontextmanager
    async def read(self, agents: Collection[str]) -> AsyncIterator[Read]:
        """Look at the memory of `agents` and nobody else's. Raises Outage and Contended."""
        async with self._transaction("nous_worker", agents, read_only=True) as session:
            yield Read(session)

    @asynccontextmanager
    async def snapshot(self, agents: Collection[str]) -> AsyncIterator[Read]:
        """As `read`, and every statement sees the same moment. Raises Outage and Contended."""
        async with self._transaction("nous_worker", agents, read_only=True, isolation="REPEATABLE READ") as session:
            yield Read(session)

    @asynccontextmanager
    async def write(self, agents: Collection[str]) -> AsyncIterator[Write]:
        """Write to the memory of `agents`, alone: commits at the end, rolls back on any error. Raises Outage and Contended."""
        async with self._transaction("nous_worker", agents, read_only=False, locks=True) as session:
            yield Write(Read(session))

    @asynccontextmanager
    async def erase(self, agents: Collection[str]) -> AsyncIterator[Erase]:
        """Erase from the memory of `agents`, alone: commits at the end, rolls back on any error. Raises Outage and Contended."""
        async with self._transaction("nous_eraser", agents, read_only=False, is_hurried=False) as session:
            await session.execute(_UNHURRIED)
            await session.execute(_LOCK, {"keys": _lock_keys(agents)})
            yield Erase(Write(Read(session)))

    @asynccontextmanager
    async def notes(self, agents: Collection[str]) -> AsyncIterator[Write]:
        """Write down what was asked for `agents`: their memory is not changed, so no lock is held. Raises Outage and Contended."""
        async with self._transaction("nous_worker", agents, read_only=False) as session:
            yield Write(Read(session))

    @asynccontextmanager
    async def queue(self) -> AsyncIterator[Write]:
        """Write to the workers' own queues (retries, outbox), which belong to no agent. Raises Outage and Contended."""
        async with self._transaction("nous_worker", (), read_only=False) as session:
            yield Write(Read(session))

    @asynccontextmanager
    async def overview(self) -> AsyncIterator[Read]:
        """Look at every agent's memory, as an operator does. Raises Outage and Contended."""
        async with self._transaction("nous_operator", (), read_only=True) as session:
            yield Read(session)

    def connections(self) -> tuple[int, int]:
        """How many connections of the pool are in use, and how many are idle."""
        pool = self._engine.pool
        return pool.checkedout(), pool.checkedin()  # type: ignore[attr-defined]  # the pool of an async engine is a queue

    @asynccontextmanager
    async def switching(self) -> AsyncIterator[Switch]:
        """Change what every writer goes by, as the tables' owner: no Write is open meanwhile. Raises Outage and Contended."""
        async with self._transaction("none", (), read_only=False) as session:
            await session.execute(_PATIENCE)
            await session.execute(_LOCK_OUT)
            yield Switch(Read(session))

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()

    @asynccontextmanager
    async def _transaction(
        self,
        role: str,
        agents: Collection[str],
        *,
        read_only: bool,
        isolation: str | None = None,
        locks: bool = False,
        is_hurried: bool = True,
    ) -> AsyncIterator[AsyncSession]:
        session, since = self._sessions(), None
        try:
            await self._connect(session, isolation)
            since = time.monotonic()
            await self._begin(session, role, agents, read_only=read_only, locks=locks)
            yield session
            await session.commit()
        except DRIVER_ERRORS as error:
            if read_only and _state(error) == WRITE_REFUSED:
                raise
            if not isinstance(error, DBAPIError):  # the driver lost its way or its time: this connection is not used again
                await session.invalidate()
            if is_hurried and since is not None and self._was_ended_for_its_length(error, time.monotonic() - since):
                raise Overlong(f"Postgres ended a transaction that took longer than {TRANSACTION_TIMEOUT_MS / 1000:g} s") from error
            raise_named(error)
        finally:
            with suppress(*DRIVER_ERRORS):  # a connection that is gone cannot roll back, and need not
                await session.close()  # rolls back what was not committed

    async def _connect(self, session: AsyncSession, isolation: str | None) -> None:
        try:
            await session.connection(execution_options={"isolation_level": isolation} if isolation else {})
        except OSError as error:  # the server did not take the connection
            raise_named(error)

    async def _begin(self, session: AsyncSession, role: str, agents: Collection[str], *, read_only: bool, locks: bool) -> None:
        admitted = {"role": role, "agents": sorted(agents), "read_only": read_only}
        await session.execute(*(_BEGIN_LOCKED, {**admitted, "keys": _lock_keys(agents)}) if locks else (_BEGIN, admitted))

    def _bound_transactions(self, connection: Any, _record: object) -> None:
        """Postgres 17 and newer know how."""
        bounding = (
            f"SELECT set_config('transaction_timeout', '{TRANSACTION_TIMEOUT_MS}', false)"
            " WHERE current_setting('server_version_num')::int >= 170000"
        )
        self._is_bounded = connection.run_async(lambda driver: driver.fetchval(bounding)) is not None

    def _was_ended_for_its_length(self, error: Exception, seconds: float) -> bool:
        """Postgres says why and closes the connection; of the two the driver tells the connection alone, in words that vary."""
        return self._is_bounded and seconds >= TRANSACTION_TIMEOUT_MS / 1000 and isinstance(named(error), Outage)


@asynccontextmanager
async def acting(db: Switch, agents: Collection[str] | None) -> AsyncIterator[Write]:
    """See and write the memory of `agents` as a worker does, for the block; None sees everybody's as an operator does."""
    taken = {"role": "nous_operator" if agents is None else "nous_worker", "agents": sorted(agents or ()), "read_only": False}
    await db.execute(_BEGIN, taken)
    yield Write(db)
    await db.execute(_BEGIN, {"role": "none", "agents": [], "read_only": False})


@asynccontextmanager
async def erasing(db: Write) -> AsyncIterator[Erase]:
    """Erase within a Write, for the block: what a worker lets go of, and its own role may not delete. On an error all of it is undone."""
    await db.execute(_AS, {"role": "nous_eraser"})
    yield Erase(db)
    await db.execute(_AS, {"role": "nous_worker"})


def engine(url: str, *, pool: int, patience_s: float | None = None) -> AsyncEngine:
    """An engine on asyncpg whose connections know vectors and give up in bounded time: `patience_s` if that is given."""
    made = create_async_engine(
        make_url(url).set(drivername="postgresql+asyncpg"),
        pool_size=pool,
        max_overflow=0,
        pool_timeout=patience_s or POOL_TIMEOUT_S,
        pool_pre_ping=False,
        connect_args={
            "timeout": min(CONNECT_TIMEOUT_S, patience_s or CONNECT_TIMEOUT_S),
            "command_timeout": patience_s or COMMAND_TIMEOUT_S,
            "server_settings": {
                "application_name": "nous",
                "jit": "off",
                "work_mem": WORK_MEMORY,
                "lock_timeout": str(LOCK_TIMEOUT_MS),
                "statement_timeout": str(STATEMENT_TIMEOUT_MS),
                "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_TIMEOUT_MS),
            },
        },
    )
    event.listen(made.sync_engine, "connect", _teach_vectors)
    return made


def checked(url: str) -> str:
    """`url`, if a Postgres can be meant by it; its password is never shown. Raises Misconfigured."""
    try:
        parsed = make_url(url)
        _, options = parsed.set(drivername="postgresql+asyncpg").get_dialect()().create_connect_args(parsed)
        is_usable = parsed.drivername.startswith("postgres") and 0 < (parsed.port or 5432) < 65_536
    except (ArgumentError, ValueError):
        is_usable, options = False, {}
    if not is_usable:
        raise Misconfigured("NOUS_DATABASE_URL is not a Postgres URL; write it as postgresql://user:password@host:5432/database")
    if unknown := [name for name in options if name not in inspect.signature(connect).parameters and not name.startswith("prepared_")]:
        raise Misconfigured(f"NOUS_DATABASE_URL has ?{unknown[0]}=, which asyncpg does not know; for TLS write ?ssl=require")
    return url


def lock_key(agent: str) -> int:
    """The advisory lock of an agent: 64 bits of a hash of its id."""
    return int.from_bytes(hashlib.blake2b(agent.encode(), digest_size=8, person=b"nous-agent").digest(), "big", signed=True)


def _lock_keys(agents: Collection[str]) -> list[int]:
    """In the one order in which all take them."""
    return sorted(map(lock_key, agents))


def named(error: Exception) -> Exception:
    """What a database error means for the work at hand: Outage (wait), Contended (again), Overlong (less), Misconfigured, or itself."""
    if isinstance(error, PoolTimeout | OSError | asyncpg.InterfaceError | asyncpg.InternalClientError):
        return Outage("Postgres", str(error) or "no answer in time")
    state = _state(error)
    why = str(getattr(error, "orig", error)).split("\n")[0]
    if state in CONTENDED_STATES:
        return Contended(f"another writer was in the way ({state}): {why}")
    if state in OVERLONG_STATES:
        return Overlong(f"Postgres ended what took longer than it may ({state}): {why}")
    if state in AWAY_STATES or state.startswith("08"):
        return Outage("Postgres", why)
    if isinstance(error, InterfaceError) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return Outage("Postgres", why)
    if state in REFUSED_STATES:
        return Misconfigured(f"Postgres refuses the connection ({why}); correct NOUS_DATABASE_URL")
    if state == NOT_A_MEMBER and "set role" in why:
        return Misconfigured(
            f"this login may not act as a worker ({why}); as the tables' owner: GRANT nous_worker, nous_operator, nous_eraser TO <login>"
        )
    if state in UNFIT_STATES and "does not exist" in why:
        return Misconfigured(f"the database is not the shape this version needs ({why}); run: nous migrate")
    return error


def raise_named(error: Exception) -> NoReturn:
    """Raise what `error` means, or `error` itself, which must not become its own cause."""
    meaning = named(error)
    if meaning is error:
        raise error
    raise meaning from error


def _state(error: Exception) -> str:
    return str(getattr(getattr(error, "orig", error), "sqlstate", None) or "")


def _teach_vectors(connection: Any, _record: object) -> None:
    from pgvector.asyncpg import register_vector

    connection.run_async(_register_if_there(register_vector))


def _register_if_there(register: Any) -> Any:
    async def run(connection: Any) -> None:
        schema = await connection.fetchval(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
        )
        if schema:
            await register(connection, schema=schema)

    return run
