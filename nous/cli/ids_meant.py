"""Which ids a person means by the beginning of one."""

import re
from dataclasses import dataclass
from uuid import UUID

from nous.errors import UserMistake

SHORTEST = 6
_HEX = re.compile("[0-9a-f]{1,32}")


@dataclass(frozen=True)
class Span:
    """Every id from `first` to `last`."""

    first: UUID
    last: UUID

    def __contains__(self, one: UUID) -> bool:
        return self.first <= one <= self.last


def spanned(written: str) -> Span:
    """All ids that begin as `written` does. Raises UserMistake for what is no id, or too short to mean one."""
    digits = written.strip().lower().replace("-", "")
    if not _HEX.fullmatch(digits):
        raise UserMistake(f"{written!r} is not an id; write a UUID, or its first {SHORTEST} characters or more")
    if len(digits) < SHORTEST:
        raise UserMistake(f"{written!r} is too short to mean one id; write {SHORTEST} characters or more")
    return Span(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))
