"""`nous token new | list | revoke`: who may speak over HTTP for which agent."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from nous import clock, ids
from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories import ids_meant
from store import tokens
from store.tokens import Token

from . import named, place, screen, unheard

NAME_CHARACTERS = 200


async def new(settings: Settings, *, agent: str, name: str, days: float | None, is_json: bool) -> None:
    """Make a token and print it, once."""
    named.valid(agent)
    if len(name) > NAME_CHARACTERS:
        raise UserMistake(f"--name has {len(name)} characters and the limit is {NAME_CHARACTERS}")
    secret, now = tokens.secret(), clock.now()
    expires_at = clock.later(now, timedelta(days=days)) if days else None
    made = Token(agent, ids.new(), name, tokens.digest(secret), now, expires_at)
    async with place.database(settings) as database, database.notes([agent]) as db:
        await tokens.insert(db, made)
    if is_json:
        screen.emit({**as_data(made), "token": secret})
        return
    print(secret)
    until = f" until {screen.moment(expires_at)} UTC" if expires_at else ""
    screen.err().print(
        screen.said(
            f"speaks for {agent!r}{until}; it is shown this once, keep it safe. {place.command()} token revoke {made.token_id} ends it"
        )
    )


async def list_tokens(settings: Settings, *, agent: str | None, is_json: bool) -> None:
    """Print every token, or one agent's; never what its holder has."""
    async with place.database(settings) as database, database.overview() as db:
        found = await tokens.listed(db, agent=agent)
        unknown = None if found else await unheard.of(db, agent)
    if is_json:
        screen.emit([as_data(one) for one in found])
        return
    console = screen.out()
    if not found:
        whose = f" of agent {agent!r}" if agent else ""
        console.print(screen.said(f"No tokens{whose}. Make one: {place.command()} token new --agent me"))
        if unknown:
            console.print(screen.said(unknown))
        return
    table = screen.table("token id", "agent", "name", "made", "state")
    table.columns[0].no_wrap = True
    for one in found:
        table.add_row(str(one.token_id), screen.said(one.agent_id), screen.said(one.name), screen.moment(one.created_at), _state(one))
    screen.print_list(table)


async def revoke(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """End a token; what is asked with it from now on is refused."""
    span = ids_meant.spanned(written, "token")
    async with place.database(settings) as database:
        async with database.overview() as db:
            found: dict[tuple[str, UUID], Token] = {
                (one.agent_id, one.token_id): one for one in await tokens.listed(db, agent=agent) if one.token_id in span
            }
        meant = ids_meant.the_one(found, written, noun="token", agent=agent, shown_by="token list")
        async with database.notes([meant.agent_id]) as db:
            ended = await tokens.revoke(db, meant, at=clock.now())
    if is_json:
        screen.emit(as_data(ended))
    else:
        print(f"revoked token {ended.token_id} of {screen.shown(ended.agent_id)}")


def as_data(token: Token) -> dict[str, Any]:
    """A token for JSON, without its hash."""
    return {name: value for name, value in vars(token).items() if name != "digest"}


def _state(token: Token) -> str:
    if token.revoked_at:
        return f"revoked {screen.moment(token.revoked_at)}"
    if not token.is_good(clock.now()):
        return "expired"
    return f"until {screen.moment(token.expires_at)}" if token.expires_at else "good"
