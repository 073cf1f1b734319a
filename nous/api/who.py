"""Whom a request speaks for: the agent of its token, whatever else the request says. Asked before anything of its body is read.

Authorization: Bearer nous_… ─▶ good a moment ago, or its hash looked up ─┬─ good ────────────────────▶ its agent
                                                                          └─ unknown, revoked, expired ▶ 401, the same words
no token ─┬─ served on loopback alone, asked from there under its name, by no proxy ─▶ the agent that `Nous-Agent` names
          └─ anything else ─▶ 401
"""

from ipaddress import ip_address
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Request
from pydantic import TypeAdapter, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from events.base import AgentId
from nous import clock
from store import tokens
from store.tokens import Token

from . import problems
from .problems import Problem
from .service import Service

HEADER = "nous-agent"
NAMES = ("127.0.0.1", "localhost", "[::1]")
PROXIED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="nous"'}

_AGENT: TypeAdapter[str] = TypeAdapter(AgentId)


class Spoken:
    """An application whose requests below a path speak for somebody; who does not is answered without it, and his body is not read."""

    def __init__(self, app: ASGIApp, service: Service, *, below: str) -> None:
        self._app = app
        self._service = service
        self._below = below

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["path"].startswith(self._below):
            request = Request(scope)
            try:
                request.state.agent = await _agent(request, self._service)
            except Exception as error:  # as within an application: it is answered, and what nobody expected is raised all the same
                await (await problems.answer(request, error))(scope, receive, send)
                if not isinstance(error, problems.EXPECTED):
                    raise
                return
        await self._app(scope, receive, send)


def service(request: Request) -> Service:
    """What this application works with."""
    found: Service = request.app.state.service
    return found


async def agent(request: Request) -> str:
    """The agent a request speaks for, as was found before the application was asked."""
    found: str = request.state.agent
    return found


async def _agent(request: Request, one: Service) -> str:
    """The agent a request speaks for. Raises Problem 401, 403, 421 and 429; Outage."""
    named = _named(request)
    written = request.headers.get("authorization")
    if written is None:
        return _on_this_machine(request, one, named)
    token = await _token(one, written, peer=f"nobody at {_peer(request)}")
    if named is not None and named != token.agent_id:
        raise Problem(403, "the token speaks for another agent than Nous-Agent names; leave that header out")
    return token.agent_id


async def _token(one: Service, written: str, *, peer: str) -> Token:
    """The good token that is shown. An allowance is taken from before Postgres is asked, so that who is refused costs it nothing.

    It is the token's own where that was good lately, else that of `peer`, which has it back when the token is good. Raises Problem 401 and
    429; Outage.
    """
    scheme, _, said = written.partition(" ")
    held = said.strip() if scheme.lower() == "bearer" else ""
    digest, now = tokens.digest(held), clock.now()
    known = one.known.lately(digest)
    one.rates.take(peer if known is None else f"token {known.token_id}")
    if known and known.is_good(now) and one.known.is_fresh(digest):
        return known
    found = await _looked_up(one, held)
    if found is None or not found.is_good(now):
        one.known.drop(digest)
        raise Problem(401, "the token is not known, was revoked or has expired; nous token new makes one", headers=CHALLENGE)
    one.known.keep(found)
    if known is None:
        one.rates.give_back(peer)
        one.rates.take(f"token {found.token_id}")
    return found


async def _looked_up(one: Service, held: str) -> Token | None:
    if not held:
        return None
    async with one.database.overview() as db:
        return await tokens.held(db, held)


def _on_this_machine(request: Request, one: Service, named: str | None) -> str:
    """The agent that is named, where no token is asked for."""
    if not (one.is_open and is_loopback(_peer(request)) and not any(name in request.headers for name in PROXIED)):
        raise Problem(401, "a token is needed: Authorization: Bearer nous_…; nous token new makes one", headers=CHALLENGE)
    host = request.headers.get("host", "")
    if (host if host.endswith("]") else host.rpartition(":")[0] or host).lower() not in NAMES:
        raise Problem(421, "without a token this is reached as http://127.0.0.1 or http://localhost with its port")
    if "origin" in request.headers:
        raise Problem(401, "a page of a browser needs a token: Authorization: Bearer nous_…", headers=CHALLENGE)
    if named is None:
        raise Problem(401, "say for which agent you speak: Nous-Agent: <agent>, or show its token", headers=CHALLENGE)
    one.rates.take(f"agent {named}")
    return named


def _named(request: Request) -> str | None:
    """The agent that the request names, percent-encoded where it is not plain ASCII."""
    written = request.headers.get(HEADER)
    if written is None:
        return None
    try:
        return _AGENT.validate_python(unquote(written, errors="strict"))
    except (ValidationError, UnicodeDecodeError):
        raise Problem(
            422, "Nous-Agent does not do: an agent has 1 to 128 characters, none of them a control character, percent-encoded as UTF-8"
        ) from None


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def is_loopback(host: str) -> bool:
    """Whether this address is one of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


Agent = Annotated[str, Depends(agent)]
TheService = Annotated[Service, Depends(service)]
