"""Lines of a file of any size, or of a pipe: a page of those that are there so far, again and again, until the end."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from events import MAX_BODY_BYTES
from nous.errors import UserMistake

READ_BYTES = 1 << 20
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Line:
    """One line of a file; `body` is cut when the line is longer than any event, `size` never is."""

    number: int
    body: bytes
    size: int

    @property
    def is_cut(self) -> bool:
        """It is longer than any event."""
        return self.size > len(self.body)


@contextmanager
def opened(file: str) -> Iterator[int]:
    """The descriptor of `file`, open for the block. Raises UserMistake when it cannot be read."""
    if file == STANDARD_INPUT:
        yield standard_input()
        return
    try:
        readable = Path(file).open("rb", buffering=0)  # noqa: SIM115 - closed below; only opening it is guarded here
    except OSError as error:
        raise UserMistake(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with readable:
        yield readable.fileno()


def called(file: str) -> str:
    """What a file is called in a sentence: as it was named."""
    return "standard input" if file == STANDARD_INPUT else file


def standard_input() -> int:
    """The descriptor of standard input. Raises UserMistake when the shell closed it, as `<&-` does."""
    if sys.stdin is None:
        raise UserMistake("standard input is closed, so there is nothing to read; pipe something in, or name a file")
    return sys.stdin.fileno()


async def pages(descriptor: int) -> AsyncIterator[list[Line]]:
    """The lines as they come in: those of a slow pipe do not wait for each other, and waiting for them can be cancelled."""
    number, rest, rest_size = 0, b"", 0
    while chunk := await _read(descriptor):
        *whole, last = chunk.split(b"\n")
        page = []
        for piece in whole:
            number += 1
            page.append(Line(number, _cut(rest + piece), rest_size + len(piece)))
            rest, rest_size = b"", 0
        rest, rest_size = _cut(rest + last), rest_size + len(last)
        yield page
    if rest:
        yield [Line(number + 1, rest, rest_size)]


async def _read(descriptor: int) -> bytes:
    """What is there, at most READ_BYTES, as soon as something is; nothing at the end."""
    loop, is_there = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, is_there.set)
    except PermissionError:  # a file on disk, which keeps nobody waiting
        return os.read(descriptor, READ_BYTES)
    try:
        await is_there.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, READ_BYTES)


def _cut(body: bytes) -> bytes:
    return body[: MAX_BODY_BYTES + 1]
