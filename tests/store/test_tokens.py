"""A token speaks for one agent until it is revoked or expires; what its holder has is kept nowhere."""

from datetime import timedelta
from uuid import UUID

from store import agents, tokens
from store.database import Database
from store.tokens import Token
from tests.factories import NOON, an_id
from tests.store.conftest import run


async def keep(database: Database, agent: str = "a", **over: object) -> tuple[Token, str]:
    secret = tokens.secret()
    made = Token(**{"agent_id": agent, "token_id": an_id(), "name": "", "digest": tokens.digest(secret), "created_at": NOON} | over)
    async with database.notes([agent]) as db:
        await tokens.insert(db, made)
    return made, secret


async def held(database: Database, written: str) -> Token | None:
    async with database.overview() as db:
        return await tokens.held(db, written)


async def test_a_token_is_known_by_what_its_holder_has_and_by_nothing_else(database: Database) -> None:
    made, secret = await keep(database)
    assert await held(database, secret) == made
    for other in ("", secret[:-1], secret.upper(), f"{secret} ", str(made.token_id), made.digest.hex(), "\ud800", "' OR true --"):
        assert await held(database, other) is None


async def test_what_its_holder_has_is_kept_nowhere(database: Database) -> None:
    _, secret = await keep(database)
    async with database.overview() as db:
        assert await run(db, "SELECT count(*) FROM bus.tokens t WHERE t::text LIKE :found", found=f"%{secret}%") == [0]


async def test_a_revoked_token_is_good_no_more_and_revoked_again_keeps_its_time(database: Database) -> None:
    made, secret = await keep(database)
    async with database.notes(["a"]) as db:
        first = await tokens.revoke(db, made, at=NOON)
        again = await tokens.revoke(db, made, at=NOON + timedelta(hours=1))
    assert first.revoked_at == again.revoked_at == NOON
    found = await held(database, secret)
    assert found is not None
    assert not found.is_good(NOON)


def test_a_token_is_good_until_the_moment_it_expires() -> None:
    token = Token("a", UUID(int=1), "", b"", NOON, expires_at=NOON + timedelta(days=1))
    assert [token.is_good(NOON + timedelta(days=days)) for days in (0, 0.999, 1, 2)] == [True, True, False, False]


async def test_a_token_goes_with_its_agent(database: Database) -> None:
    _, secret = await keep(database)
    _, others = await keep(database, "b")
    key = "forgotten:" + "0" * 64
    async with database.erase(["a", key, agents.forgotten.agent_key("a")]) as db:
        await agents.erase(db, "a", by="decision", now=NOON)
    assert await held(database, secret) is None
    assert await held(database, others) is not None
