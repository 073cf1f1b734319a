"""Two readings walked in step, over the few differences that carry no meaning."""

from . import english
from .alike import ARTICLE
from .reading import Reading

_DASHES = frozenset({"-", "—"})


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
    if key in _DASHES and here.is_english and _is_pause(here, at):
        return 1, 0
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


def _is_pause(here: Reading, at: int) -> bool:
    """Whether this dash only pauses between two words, as a comma would; Monday – Friday is a row."""
    return 0 < at < len(here.keys) - 1 and here.pieces[at - 1].isalpha() and here.pieces[at + 1] in english.PAUSED_BEFORE
