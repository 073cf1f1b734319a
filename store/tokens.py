"""Tokens: whoever holds one speaks for its agent over HTTP, until it is revoked or expires.

    made ─▶ shown once ─▶ only its hash is kept ─▶ a request's token is hashed and looked up

It is 256 random bits, so its plain SHA-256 cannot be searched for, and looking that up tells nothing by how long it takes.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import many
from .database import Read, Write

PREFIX = "nous_"
BYTES = 32


@dataclass(frozen=True)
class Token:
    """One row of bus.tokens; `digest` is SHA-256 of what its holder has."""

    agent_id: str
    token_id: UUID
    name: str
    digest: bytes
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


_NAMES = many.columns(Token)
_COLUMNS = ", ".join(_NAMES)


def secret() -> str:
    """What the holder of a new token has."""
    return f"{PREFIX}{secrets.token_urlsafe(BYTES)}"


def digest(held: str) -> bytes:
    """What is kept of it."""
    return hashlib.sha256(held.encode("utf-8", "surrogatepass")).digest()


async def insert(db: Write, token: Token) -> None:
    """Keep a new one."""
    await db.execute(text(many.inserting("bus.tokens", _NAMES)), many.packed([vars(token)]))


async def held(db: Read, written: str) -> Token | None:
    """The token that somebody holds, good or not; needs an overview, for whose it is is not known before."""
    rows = await db.execute(text(f"SELECT {_COLUMNS} FROM bus.tokens WHERE digest = :digest"), {"digest": digest(written)})
    row = rows.one_or_none()
    return _token(row) if row else None


async def revoke(db: Write, token: Token, *, at: datetime) -> Token:
    """It is good no more; one that was revoked before keeps its time."""
    rows = await db.execute(
        text(
            "UPDATE bus.tokens SET revoked_at = coalesce(revoked_at, :at) WHERE agent_id = :agent AND token_id = :token"
            " RETURNING revoked_at"
        ),
        {"agent": token.agent_id, "token": token.token_id, "at": at},
    )
    return replace(token, revoked_at=rows.scalar_one())


async def listed(db: Read, *, agent: str | None) -> Sequence[Token]:
    """Tokens for a person to read, the oldest first; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.tokens WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " ORDER BY agent_id, created_at, token_id"
        ),
        {"agent": agent},
    )
    return [_token(row) for row in rows]


def _token(row: Any) -> Token:
    return Token(**row._mapping)
