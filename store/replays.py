"""Replay stores: databases beside the live one, each with what one replay made of the recorded events.

    live database ──▶ <live>_replay_<name>: made, brought to shape, filled by a replay, marked whole, compared, dropped

The mark is the comment of the database: a replay that was killed has none, and is not compared.

What a replay takes as given is copied from the live store, agent by agent: what minds answered, what was reported turn by turn, and what
has been forgotten, which is rows without words.
"""

import json
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from nous.errors import Misconfigured, UserMistake

from .database import Database, engine, raise_named


@dataclass(frozen=True)
class Replay:
    """A replay store; `is_used`, somebody is connected to it."""

    name: str
    bytes: int
    is_whole: bool
    is_used: bool

    @property
    def is_being_made(self) -> bool:
        """Its replay still runs."""
        return self.is_used and not self.is_whole


NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")
ROWS_AT_ONCE = 1_000
TAKES_PRIVILEGE = "42501"
EXISTS = ("42P04", "23505")  # the second when two make it in the same moment
WHOLE = "replayed to its end"

_FORGOTTEN = "SELECT {} FROM heart.facts WHERE agent_id = :agent AND forgotten_at IS NOT NULL"
GIVEN = {
    "bus.answers": "relation IS NOT NULL",
    "bus.writings": "answer IS NOT NULL",
    "heart.sessions": "true",
    "heart.turns": "true",
    "heart.turns_known": "true",
    "heart.episodes": "session_key IS NOT NULL",
    "heart.facts": "forgotten_at IS NOT NULL",
    "heart.fact_mentions": f"fact_id IN ({_FORGOTTEN.format('fact_id')})",
    "heart.relations": f"(low_key IN ({_FORGOTTEN.format('text_key')}) OR high_key IN ({_FORGOTTEN.format('text_key')}))",
}
"""What a replay takes as given, and which rows of it. A forgotten fact has no words, and what it had retired stays retired by it."""

SETTLED = ("heart.episodes", "heart.episode_decisions", "heart.episode_vectors", "heart.passages")
"""What an episode came to whose transcript was let go of."""

UNSAID: Mapping[str, Mapping[str, object]] = {
    "heart.episodes": {
        "title": None,
        "summary": None,
        "written_by": None,
        "model": None,
        "settled_by": None,
        "asked_of": None,
        "aged": None,
        "whole_until": None,
        "let_go_at": None,
        "brief": "",
    },
    "heart.facts": {"superseded_by": None, "merged_into": None, "disputes": None},
}
"""What rows do not say yet: an episode that a session opened was not settled, and what took a fact's place is not there."""


def url_of(live: str, name: str) -> str:
    """Where the replay of this name is. Raises UserMistake for a name that does not do."""
    if not NAME.fullmatch(name):
        raise UserMistake(f"{name!r} is no name for a replay; use 1 to 30 small letters, digits and _, beginning with a letter")
    whole = make_url(live)
    return whole.set(database=f"{whole.database}{_SUFFIX}{name}").render_as_string(hide_password=False)


_SUFFIX = "_replay_"


async def create(live: str, name: str) -> str:
    """Make an empty database for it, and say where. Raises UserMistake when there is one, Misconfigured when this login may not."""
    url = url_of(live, name)
    database = make_url(url).database or ""
    try:
        async with _owner(live) as connection:
            await connection.execute(text(f'CREATE DATABASE "{database}"'))
            await connection.execute(text(f'ALTER DATABASE "{database}" SET synchronous_commit = off'))  # made again if it is lost
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None)
        if state in EXISTS:
            raise UserMistake(f"there is a replay {name!r} already; take another name, or: nous replays drop {name}") from None
        if state == TAKES_PRIVILEGE:
            raise Misconfigured(
                "this login may not make a database, and a replay is one beside the live one; as a superuser:"
                f" ALTER ROLE {make_url(live).username or '<login>'} CREATEDB"
            ) from error
        raise_named(error)
    return url


async def finish(live: str, name: str) -> None:
    """Mark it whole: its replay has come to its end."""
    async with _owner(live) as connection:
        await connection.execute(text(f"COMMENT ON DATABASE \"{make_url(url_of(live, name)).database}\" IS '{WHOLE}'"))


async def give_up(live: str, name: str) -> None:
    """Drop what its own replay could not finish, if it is still there."""
    async with _owner(live) as connection:
        await connection.execute(text(f'DROP DATABASE IF EXISTS "{make_url(url_of(live, name)).database}" WITH (FORCE)'))


async def drop(live: str, name: str) -> None:
    """Drop it. Raises UserMistake when there is none, or when it is being made."""
    if (await require(live, name)).is_being_made:
        raise UserMistake(f"the replay {name!r} is being made; end the command that makes it, which drops it then")
    await give_up(live, name)


async def require(live: str, name: str) -> Replay:
    """The replay of this name. Raises UserMistake when there is none."""
    found = next((one for one in await listed(live) if one.name == name), None)
    if found is None:
        raise UserMistake(f"there is no replay {name!r}; nous replays list shows what there is")
    return found


async def require_whole(live: str, name: str) -> None:
    """Raises UserMistake when there is no replay of this name, or none that came to its end."""
    found = await require(live, name)
    if found.is_being_made:
        raise UserMistake(f"the replay {name!r} is being made; wait until the command that makes it has ended")
    if not found.is_whole:
        raise UserMistake(f"the replay {name!r} never came to its end; make it again, after: nous replays drop {name}")


async def listed(live: str) -> list[Replay]:
    """The replays beside a live database."""
    prefix = f"{make_url(live).database}{_SUFFIX}"
    async with _owner(live) as connection:
        rows = await connection.execute(
            text(
                "SELECT d.datname, pg_database_size(d.oid) AS bytes,"
                " coalesce(shobj_description(d.oid, 'pg_database') = :whole, false) AS is_whole,"
                " EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid AND a.backend_type = 'client backend') AS is_used"
                " FROM pg_database d WHERE starts_with(d.datname, :prefix) ORDER BY 1"
            ),
            {"prefix": prefix, "whole": WHOLE},
        )
        return [Replay(row.datname.removeprefix(prefix), row.bytes, row.is_whole, row.is_used) for row in rows]


async def copy_settled(live: Database, fresh: Database, agent: str, episodes: Collection[UUID]) -> None:
    """Bring what these episodes of one agent came to, as it is. Raises Outage and Contended."""
    if not episodes:
        return
    listed = ", ".join(f"'{one}'" for one in sorted(episodes))
    for table in SETTLED:
        async for rows in _pages(live, table, f"episode_id IN ({listed})", agent):
            async with fresh.write([agent]) as db:
                await db.execute(_add(table), {"rows": json.dumps(rows)})


async def copy_given(live: Database, fresh: Database, agent: str) -> None:
    """Bring what a replay takes as given of one agent. Raises Outage and Contended."""
    for table, which in GIVEN.items():
        async for rows in _pages(live, table, which, agent):
            given = [{**row, **UNSAID.get(table, {})} for row in rows]
            async with fresh.write([agent]) as db:
                await db.execute(_add(table), {"rows": json.dumps(given)})
    async for rows in _pages(live, "bus.forgotten", "true", agent):
        async with fresh.erase([agent]) as db:
            await db.execute(_add("bus.forgotten"), {"rows": json.dumps(rows)})


async def link_forgotten(live: Database, fresh: Database, agent: str) -> None:
    """Say of forgotten facts what took their place, as far as it is there. Raises Outage and Contended."""
    linked = "forgotten_at IS NOT NULL AND (superseded_by IS NOT NULL OR merged_into IS NOT NULL)"
    async for rows in _pages(live, "heart.facts", linked, agent):
        async with fresh.write([agent]) as db:
            await db.execute(_LINK, {"agent": agent, "rows": json.dumps(rows)})


_THERE = "(SELECT t.fact_id FROM heart.facts t WHERE t.agent_id = :agent AND t.fact_id = q.{0})"
_LINK = text(
    f"UPDATE heart.facts f SET superseded_by = {_THERE.format('superseded_by')}, merged_into = {_THERE.format('merged_into')}"
    " FROM json_populate_recordset(CAST(NULL AS heart.facts), CAST(:rows AS json)) q"
    " WHERE f.agent_id = :agent AND f.fact_id = q.fact_id AND f.forgotten_at IS NOT NULL"
)


async def _pages(live: Database, table: str, which: str, agent: str) -> AsyncIterator[list[dict[str, Any]]]:
    async with live.snapshot([agent]) as db:
        at = 0
        while True:
            found = await db.execute(
                text(
                    f"SELECT coalesce(json_agg(q), '[]')::text FROM (SELECT * FROM {table} WHERE agent_id = :agent AND {which}"
                    " ORDER BY ctid LIMIT :limit OFFSET :at) q"
                ),
                {"agent": agent, "limit": ROWS_AT_ONCE, "at": at},
            )
            rows: list[dict[str, Any]] = json.loads(found.scalar_one())
            if rows:
                yield rows
            if len(rows) < ROWS_AT_ONCE:
                return
            at += len(rows)


def _add(table: str) -> Any:
    rows = f"json_populate_recordset(CAST(NULL AS {table}), CAST(:rows AS json))"
    return text(f"INSERT INTO {table} SELECT * FROM {rows} ON CONFLICT DO NOTHING")


@asynccontextmanager
async def _owner(url: str) -> AsyncIterator[AsyncConnection]:
    made = engine(url, pool=1).execution_options(isolation_level="AUTOCOMMIT")
    try:
        async with made.connect() as connection:
            yield connection
    finally:
        await made.dispose()
