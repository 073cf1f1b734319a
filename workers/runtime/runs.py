"""Runs of things that have a body, each no larger than is good for what is done with it."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class Bodied(Protocol):
    """Something with a body."""

    @property
    def body(self) -> bytes:
        """As it came."""


B = TypeVar("B", bound=Bodied)


def bounded(ones: Iterable[B], most: int) -> Iterator[list[B]]:
    """These in order, in runs whose bodies have at most so many bytes together; one that is larger is a run by itself."""
    some: list[B] = []
    size = 0
    for one in ones:
        if some and size + len(one.body) > most:
            yield some
            some, size = [], 0
        some.append(one)
        size += len(one.body)
    if some:
        yield some
