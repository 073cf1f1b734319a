"""The one place ids come from; it can be made to count in tests.

Random ids are for things that are born here (a consumer's name, a command a person typed). Whatever follows from an event has a
derived id instead, so that making it twice makes the same thing.
"""

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NAMESPACE = uuid.UUID("6f0b5a3c-52f1-5b0e-9d0c-9a1f3c6a7e11")

_source: ContextVar[Callable[[], uuid.UUID]] = ContextVar("nous_ids_source", default=uuid.uuid4)  # noqa: TID251 - this is the one place


def new() -> uuid.UUID:
    """A fresh random id."""
    return _source.get()()


def derived(*parts: str) -> uuid.UUID:
    """The same id for the same parts, always. Parts are kept apart, so ("ab", "c") and ("a", "bc") differ."""
    return uuid.uuid5(NAMESPACE, "\x1f".join(f"{len(part)}:{part}" for part in parts))


@contextmanager
def counted(start: int = 1) -> Iterator[None]:
    """Make `new()` count 1, 2, 3, ... for the block, so a test can write ids down."""
    numbers = itertools.count(start)
    token = _source.set(lambda: uuid.UUID(int=next(numbers)))
    try:
        yield
    finally:
        _source.reset(token)
