"""Two readings walked in step, over the few differences that carry no meaning."""

from . import casing, commas, english
from .alike import ARTICLE
from .reading import Reading

_DASHES = frozenset({"-", "—"})


def in_step(old: Reading, new: Reading) -> bool:
    """Whether the two say the same words in the same order; the same either way round."""
    if old.keys == new.keys:
        return True
    left = right = 0
    while left < len(old.keys) and right < len(new.keys):
        if old.keys[left] == new.keys[right] or casing.says_nothing(old, left, new, right):
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
    if key == "," and there.keys[opposite] not in _DASHES and commas.is_silent(here, at, there):
        return 1, 0
    if key in _DASHES and here.is_english and there.keys[opposite] == "," and _is_pause(here, at):
        return 1, 1
    if "-" in key and here.is_english and english.is_open_compound(here.pieces[at]):
        parts = tuple(here.pieces[at].split("-"))
        if there.pieces[opposite : opposite + len(parts)] == parts:
            return 1, len(parts)
    if key.startswith("date ") and _is_the_day_of(key, there, opposite):
        return 1, 2
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


def _is_the_day_of(date: str, there: Reading, opposite: int) -> bool:
    """Whether the same date stands there with its year set off by nothing, and what follows cannot be what the year counts."""
    year, behind = there.keys[opposite + 1 : opposite + 3], there.pieces[opposite + 2 : opposite + 3]
    is_counted = bool(behind) and not (behind[0].istitle() or year[1] in english.BEHIND_A_DATE or year[1] == ARTICLE)
    return not is_counted and bool(year) and date == f"date {year[0]}-{there.keys[opposite].removeprefix('date ')}"


def _is_pause(here: Reading, at: int) -> bool:
    """Whether this dash only pauses between two words, as a comma would; Monday – Friday is a row."""
    return 0 < at < len(here.keys) - 1 and here.pieces[at - 1].isalpha() and here.pieces[at + 1] in english.PAUSED_BEFORE
