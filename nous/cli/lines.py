"""Lines of a file of any size, or of a pipe: a page of those that are there so far, again and again, until the end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

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
def opened(file: str) -> Iterator[Iterator[list[Line]]]:
    """The pages of `file`, open for the block. Raises UserMistake when it cannot be read."""
    if file == STANDARD_INPUT:
        if sys.stdin is None:  # the shell closed it: <&-
            raise UserMistake("standard input is closed, so there is nothing to read; pipe something in, or name a file")
        yield pages(sys.stdin.buffer)
        return
    try:
        readable = Path(file).open("rb")  # noqa: SIM115 - closed below; only opening it is guarded here
    except OSError as error:
        raise UserMistake(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with readable:
        yield pages(readable)


def pages(file: BinaryIO) -> Iterator[list[Line]]:
    """The lines as they come in: those of a slow pipe do not wait for each other."""
    number, rest, rest_size = 0, b"", 0
    read = getattr(file, "read1", file.read)
    while chunk := read(READ_BYTES):
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


def _cut(body: bytes) -> bytes:
    return body[: MAX_BODY_BYTES + 1]
