"""Files of labelled examples that something is fitted to: JSON lines, each of one shape.

file ─▶ its lines ─▶ each read as its shape; the first that is none is named by its number, with what is wrong
"""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nous.errors import UserMistake

Shape = TypeVar("Shape", bound=BaseModel)


def of_file(file: str, shape: type[Shape], noun: str) -> list[Shape]:
    """The examples of a file, each of which is called a `noun`. Raises UserMistake naming the line that is none."""
    try:
        written = Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserMistake(f"{file} cannot be read: {error}") from error
    return of_text(written, shape, noun, name=Path(file).name)


def of_text(written: str, shape: type[Shape], noun: str, *, name: str) -> list[Shape]:
    """The same of what stands in the file of this name. Raises UserMistake naming the line that is none."""
    found = []
    for number, line in enumerate(written.split("\n"), 1):
        if line.strip():
            try:
                found.append(shape.model_validate_json(line))
            except ValidationError as error:
                what = error.errors(include_url=False)[0]
                at = ".".join(map(str, what["loc"]))
                raise UserMistake(f"line {number} of {name} is no {noun}: {f'{at}: ' if at else ''}{what['msg']}") from error
    return found
