"""What was forgotten is in no dump of the database and in no file of Redis, while every worker runs."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from redis.asyncio import Redis

import workers
from nous import embedded
from nous.cli import forget
from nous.embedded import kept, postgres, programs
from nous.settings import Settings
from store import facts
from store.database import Database
from tests.conftest import until
from tests.factories import a_fact_learned
from tests.system.conftest import publish, settled
from tests.workers.episodes import AGENT, WritingMind, a_fact, closed
from workers.runtime import app
from workers.runtime.worker import Kit

SECRET = "The safe behind the Vermeer opens with 7-31-54"
WORDS = (b"vermeer", b"7-31-54")
SHAPES = (*WORDS, *(word.hex().encode() for word in (b"vermeer", b"Vermeer", b"7-31-54")))
TALK = f"User: {SECRET}, remember that. And I only drink green tea.\nAssistant: Noted."


async def test_the_words_of_a_forgotten_fact_are_in_no_dump_and_in_no_file_of_redis(
    kit: Kit,
    stack: embedded.Stack,
    database_url: str,
    database: Database,
    redis: Redis,
    process: Callable[..., Awaitable[app.Process]],
) -> None:
    mind = WritingMind(
        a_fact("The safe behind the Vermeer opens with 7-31-54.", SECRET),
        a_fact("The user drinks only green tea.", "I only drink green tea"),
        title="The Vermeer and the tea",
        summary="They spoke of the safe behind the Vermeer, 7-31-54, and of green tea.",
        lessons=["Never write 7-31-54 down."],
    )
    await process(*workers.table(), with_kit=replace(kit, mind=mind))
    others = [a_fact_learned(agent_id=AGENT) for _ in range(20)]
    await publish(redis, [closed(TALK), a_fact_learned(agent_id=AGENT, content=SECRET), *others])
    secret = (await until(lambda: _known(redis, database, mind), within_s=60, what="the secret known")).fact_id
    before, filed = await _dump(stack, database_url), await _files(stack)
    assert [word for word in WORDS if word in before and word in filed] == list(WORDS)
    mind.fields |= {"title": "Of tea", "summary": "They spoke of tea.", "lessons": []}
    settings = Settings(database_url=database_url, redis_url=stack.redis_url)
    assert await forget.forget(settings, str(secret), reason="they asked", agent=None, is_dry=False, is_sure=True, is_json=False)
    await _through(redis, database)
    dump, files = await _dump(stack, database_url), await _files(stack)
    assert [one for one in SHAPES if one in dump or one in files] == []
    assert b"green tea" in dump
    async with database.overview() as db:
        assert len(await facts.listed(db, agent=AGENT, inactive=True, limit=None)) == 1 + len(others)


async def _known(redis: Redis, database: Database, mind: WritingMind) -> facts.Fact | None:
    """The fact, once all that was published is worked; of its two wordings, of which the second confirmed the first or stands beside it."""
    await _through(redis, database)
    async with database.overview() as db:
        found = [one for one in await facts.listed(db, agent=AGENT, inactive=True, limit=None) if "Vermeer" in one.content]
        tea = [one for one in await facts.listed(db, agent=AGENT, inactive=True, limit=None) if "green tea" in one.content]
    return found[0] if found and tea else None


async def _through(redis: Redis, database: Database) -> None:
    for stream, names in workers.consumers().items():
        await settled(redis, database, *names, stream=stream)


async def _dump(stack: embedded.Stack, url: str) -> bytes:
    """The whole database as pg_dump writes it for a superuser, in small letters; bodies of events as the text they are."""
    superuser = f"{postgres.SUPERUSER}:{kept.read(stack.home / 'secrets.json')[postgres.SUPERUSER]}"
    url = url.replace(url.split("//")[1].split("@")[0], superuser)
    program = programs._installed().postgres.parent / "pg_dump"
    dumping = await asyncio.create_subprocess_exec(
        program, "--inserts", url, stdout=asyncio.subprocess.PIPE, env=os.environ | {"PGOPTIONS": "-c bytea_output=escape"}
    )
    written, _ = await dumping.communicate()
    assert dumping.returncode == 0
    return written.lower()


async def _files(stack: embedded.Stack) -> bytes:
    """Every file that Redis keeps, in small letters."""

    def read() -> bytes:
        return b"".join(path.read_bytes() for path in sorted(Path(stack.home, "valkey").rglob("*")) if path.is_file()).lower()

    return await asyncio.to_thread(read)
