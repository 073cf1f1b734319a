"""What a text is known by: the key its relations are kept under."""

import hashlib
from uuid import UUID

from nous.text import normalise


def text_key(content: str, subject: str | None, attribute: str | None) -> bytes:
    """SHA-256 over what is said, of whom, and of which attribute, each normalised: `Berlin` may be where Ken lives, or where he works."""
    parts = (normalise(content), normalise(subject or ""), normalise(attribute or ""))
    return hashlib.sha256("\x1f".join(f"{len(part)}:{part}" for part in parts).encode()).digest()


def turn_digest(session_key: UUID | str, turn_id: str, speaker: str, content: str) -> bytes:
    """SHA-256 over what was said under one turn_id, to tell a repeat from other words; the same words elsewhere have another."""
    parts = (str(session_key), turn_id, speaker, content)
    return hashlib.sha256("\x1f".join(f"{len(part)}:{part}" for part in parts).encode()).digest()


def current_vectors(table: str) -> list[str]:
    """Let a table of vectors say which of them are of facts that are true now."""
    slug = table.partition("vectors_")[2]
    return [
        f"ALTER TABLE {table} ADD COLUMN current boolean NOT NULL DEFAULT true",
        f"CREATE INDEX ix_vectors_{slug}_past ON {table} (agent_id) WHERE NOT current",
    ]


def erasable(table: str, *, is_guarded: bool = True) -> list[str]:
    """Let the eraser at the rows of a table that belong to the agents its transaction names."""
    granted = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO nous_eraser"
    return [granted, *([f"ALTER POLICY admitted ON {table} TO nous_worker, nous_eraser"] if is_guarded else [])]
