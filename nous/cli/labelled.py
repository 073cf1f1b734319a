"""Files of labelled examples, to fit something to or to try something on: JSON lines, each of one shape.

    file, or standard input ─▶ line by line ─▶ each read as its shape; the first that is none is named by its number, with what is wrong

All of a file is read before anything is done with it. Lines end at a line feed alone: other ends of lines stand inside strings.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nous.errors import UserMistake
from nous.text import is_blank

from . import lines, screen

Shape = TypeVar("Shape", bound=BaseModel)

_IN_ITS_LINE = re.compile(r" at line 1 column (\d+)$")


def of_file(file: str, shape: type[Shape], noun: str) -> list[Shape]:
    """The examples of a file, each of which is called a `noun`; `-` is standard input. Raises UserMistake naming the line that is none."""
    return [one for _, one in numbered(file, shape, noun)]


def numbered(file: str, shape: type[Shape], noun: str) -> Iterator[tuple[int, Shape]]:
    """The same, each with the number of its line."""
    with lines.opened(file) as descriptor, open(descriptor, "rb", closefd=False) as written:
        yield from of_lines(written, shape, noun, name=lines.called(file))


def of_lines(written: Iterable[bytes], shape: type[Shape], noun: str, *, name: str) -> Iterator[tuple[int, Shape]]:
    """The same of the lines of what is called `name`."""
    for number, line in enumerate(written, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if not is_blank(text):
                yield number, shape.model_validate_json(text)
        except ValueError as error:
            raise UserMistake(
                f"line {number} of {name} is no {noun}: {_why(error)}. Nothing was done: mend the line or take it out, and run this again"
            ) from None


def _why(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return "it is not UTF-8"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    at, what = ".".join(map(str, first["loc"])), screen.plainly(first["msg"])
    if at:
        return f"{at}: {what}"
    half = " (an escape \\u... is cut short, or is half of a character without its other half)" if "hex escape" in what else ""
    return _IN_ITS_LINE.sub(r" at its character \1", what) + half
