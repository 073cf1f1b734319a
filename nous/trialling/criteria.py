"""Criteria: what decides what is a fact, by name or out of a file; each with a version that follows its words.

positive, exclusion ─▶ as they ship
anything else ───────▶ a file: its text stands in the prompts where the words of the positive question do
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from nous.errors import UserMistake
from nous.text import is_blank
from workers.episodes.question import POSITIVE, VERSION, Criterion

from . import exclusion

SHIPPED: Mapping[str, Criterion] = {"positive": POSITIVE, "exclusion": exclusion.CRITERION}
DIGEST_BYTES = 4
LONGEST_CHARACTERS = 20_000
"""Of a criterion: the whole prompt beside it has 2,000."""


@dataclass(frozen=True, slots=True)
class Both:
    """The two that are compared: `a` is what is in use, `b` what would take its place."""

    a: Criterion
    b: Criterion


def both(a: str, b: str) -> Both:
    """The two of these names or files. Raises UserMistake when one is none, or when they are the same."""
    found = Both(named(a), named(b))
    if found.a.words == found.b.words:
        raise UserMistake(f"{a} and {b} are the same words, so there is nothing to compare; a trial needs two prompts")
    return found


def named(name: str) -> Criterion:
    """The criterion that ships under this name, else the one in this file. Raises UserMistake."""
    return SHIPPED[name] if name in SHIPPED else of_file(Path(name))


def of_file(path: Path) -> Criterion:
    """The criterion in a file. Its version has the file's name, and a digest of its words and of the prompts' version."""
    try:
        words = path.read_text("utf-8-sig").strip().removesuffix(".")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UserMistake(f"there is no prompt {str(path)!r}: {', '.join(SHIPPED)} ship, and as a file it cannot be read: {why}") from None
    except UnicodeDecodeError:
        raise UserMistake(f"{path} is not UTF-8; a prompt is a text file") from None
    if is_blank(words):
        raise UserMistake(f"{path} is empty; write what decides what is a fact, as in docs/trials.md")
    if len(words) > LONGEST_CHARACTERS:
        raise UserMistake(f"{path} has {len(words):,} characters, and a prompt may have {LONGEST_CHARACTERS:,}")
    digest = blake2b(f"{VERSION}\0{words}".encode(), digest_size=DIGEST_BYTES).hexdigest()
    return Criterion(f"{path.stem}-{digest}", words)
