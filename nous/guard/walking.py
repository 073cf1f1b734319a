"""Two readings walked in step, over the few differences that carry no meaning."""

import re

from . import english
from .alike import ARTICLE
from .reading import Reading

_DASHES = frozenset({"-", "—"})
_YEAR = re.compile(r"[12]\d{3}")
_CLAUSE = 20  # how many words the clause that begins a text may have


def in_step(old: Reading, new: Reading) -> bool:
    """Whether the two say the same words in the same order; the same either way round."""
    if old.keys == new.keys:
        return True
    left = right = 0
    while left < len(old.keys) and right < len(new.keys):
        if old.keys[left] == new.keys[right]:
            left, right = left + 1, right + 1
        elif crossed := _bridge(old, left, new, right):
            left, right = left + crossed[0], right + crossed[1]
        elif crossed := _bridge(new, right, old, left):
            left, right = left + crossed[1], right + crossed[0]
        else:
            return False
    return left == len(old.keys) and right == len(new.keys)


def _bridge(here: Reading, at: int, there: Reading, opposite: int) -> tuple[int, int] | None:
    """How many keys to pass here and there, where what stands here may be left out or written otherwise there."""
    key = here.keys[at]
    if key == ARTICLE and _may_go(here, at, opposite):
        return 1, 0
    if key == "," and here.is_english and there.keys[opposite] not in _DASHES and _is_silent_comma(here, at, there):
        return 1, 0
    if key in _DASHES and here.is_english and there.keys[opposite] == "," and _is_pause(here, at):
        return 1, 1
    if "-" in key and here.is_english and english.is_open_compound(here.pieces[at]):
        parts = tuple(here.pieces[at].split("-"))
        if there.pieces[opposite : opposite + len(parts)] == parts:
            return 1, len(parts)
    if "ß" in key and there.pieces[opposite].isupper() and key.replace("ß", "ss") == there.keys[opposite]:
        return 1, 1
    return None


def _may_go(here: Reading, at: int, opposite: int) -> bool:
    """`The user` at the start is `User`, `at the University` is `at University`, `plays the piano` is `plays piano`.

    Elsewhere it stays: a patient is not patient.
    """
    behind = here.keys[at + 1]
    if here.pieces[at].lower() == "the" and at == 0:
        return opposite == 0 and behind in english.NOTED
    before = here.keys[at - 1] if at else ""
    if before in english.PLAYING:
        return True
    return here.pieces[at] == "the" and before in english.PLACES and here.pieces[at + 1] in english.NAMED


def _is_silent_comma(here: Reading, at: int, there: Reading) -> bool:
    """The comma before `and` in a list, after `In 2031` or `When it rains` at the start, or between a weekday and its date.

    Where the other text has no comma at all, also one that only breathes. Any other may be what is said: `let's eat, Grandma`, `did not
    move, because of`.
    """
    if not 0 < at < len(here.keys) - 1:
        return False
    before, behind = here.keys[at - 1], here.keys[at + 1]
    if behind in {"and", "or"}:
        return at > 2 and here.keys[at - 2] == "," and here.pieces[at - 1].islower()  # not `my parents, Ayn Rand, and God`
    if before in english.DAYS:
        return behind.startswith("date ")
    if at == 2 and here.keys[0] == "in" and _YEAR.fullmatch(before):
        return behind in english.SUBJECTS
    if here.keys[0] == "when" and (behind == ARTICLE or behind in english.SUBJECTS):
        return at <= _CLAUSE and here.keys.count(",") == 1 and "," not in there.keys
    return "," not in there.keys and _only_breathes(here, at)


def _only_breathes(here: Reading, at: int) -> bool:
    """Whether a comma between plain words says nothing that its words do not: not before a clause, a called name or an answer."""
    before, behind = here.pieces[at - 1].lower(), here.pieces[at + 1].lower()
    is_inside = 2 <= at < len(here.keys) - 2
    is_plain = (before.isalpha() or _YEAR.fullmatch(before) is not None) and behind.isalpha() and not before.endswith("ing")
    speaks = english.CLAUSES | english.SAYING
    return is_inside and is_plain and behind not in speaks and before not in speaks


def _is_pause(here: Reading, at: int) -> bool:
    """Whether this dash only pauses between two words, as a comma would; Monday – Friday is a row."""
    return 0 < at < len(here.keys) - 1 and here.pieces[at - 1].isalpha() and here.pieces[at + 1] in english.PAUSED_BEFORE
