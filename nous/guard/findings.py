"""What differs between two readings, named so that a person can read it and a worker can act on it."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, get_args

from nous.text import WORD

from . import english
from .alike import ARTICLE
from .reading import Reading

Kind = Literal[
    "number",  # another number:                port 5432 ≠ 5433
    "date",  # another day or month:            October 15th ≠ October 16th
    "unit",  # the same number of another unit: 10 mg ≠ 10 ml
    "negation",  # on one side only:            enabled ≠ not enabled
    "role",  # the same words, two of them exchanged: Alice manages Bob ≠ Bob manages Alice
    "order",  # the same words, some of them moved:   on Monday she left ≠ she left on Monday
    "question",  # one asks, the other says
    "name",  # another name:                    lives in Oslo ≠ lives in Bergen
    "code",  # another path, address, version or identifier
    "sign",  # another sign or picture:         ✅ ≠ ❌
    "script",  # the same place in another script
    "word",  # any other word, more words, fewer words
]
KINDS: tuple[Kind, ...] = get_args(Kind)
DECISIVE: frozenset[Kind] = frozenset({"number", "date", "unit", "negation", "role"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: its kind and the two pieces of text, either of which may be empty."""

    kind: Kind
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.kind} {self.old or '∅'} ≠ {self.new or '∅'}"


# These lists only name a difference that was found without them.
_NEGATIONS = english.words(
    "not no never none nor neither without nobody nothing nowhere no-one hardly ain't"
    " nicht kein keine keinen keinem keiner keines nie niemals ohne weder ne pas jamais sans aucun aucune rien"
    " nunca jamás sin ningún ninguna nada nadie tampoco não nem sem nenhum nenhuma non mai senza nessun nessuna niente nulla"
    " niet geen nooit zonder inte aldrig utan ingen inget ikke aldri uten ei emme eivät ette"
    " не нет ни никогда без нельзя ні немає ніколи nigdy bez není nikdy nem nincs soha değil yok hiç"
    " لا لم لن ليس ليست غير بدون نہیں نه نیست לא אין בלי אינו אינה नहीं न मत बिना না নয় নেই இல்லை లేదు không chưa chẳng"
    " tidak bukan jangan belum tanpa hindi wala hapana δεν όχι μην χωρίς ποτέ 안 못 없다 아니다"
)
_NEGATION_SIGNS = re.compile("[不没沒未无無❌🚫⛔✘✗≠¬]|ない|なかった|ません|なく|ไม่|ບໍ່|មិន|않|없")
_UNITS = frozenset(english.UNITS.values()) | english.words(
    "$ € £ ¥ ₹ KB kb hz khz mhz ghz oz m g L k s h am pm days weeks months day week month year minute second °c °f c f mw mv"
    " dollars euros pounds yen miles mile inches meters metres liters litres w kw kwh v a"
)
_BOTH_WAYS = english.words("is are was were and or & und oder y o e et ou и или 和 与 或 と や و")
NAMED = 400  # how many keys may part two texts for the differences to be named one by one
COMPARED = 4000  # and how many pairs of like keys they may have
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of both readings, from the first key to the last in which they part; `at` is where it begins."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    left_pieces: tuple[str, ...]
    right_pieces: tuple[str, ...]
    at: int

    def part(self, left: slice, right: slice) -> "_Stretch":
        at = self.at + min(left.start, right.start)
        return _Stretch(self.left[left], self.right[right], self.left_pieces[left], self.right_pieces[right], at)

    def as_finding(self, kind: Kind) -> Finding:
        return Finding(kind, _shown(self.left_pieces, self.left), _shown(self.right_pieces, self.right))


def differences(old: Reading, new: Reading) -> tuple[Finding, ...]:
    """The differences of two readings that are not in step; always at least one."""
    whole = _apart(old, new)
    alone = _alone(whole.left, whole.right)
    if not _is_short_enough(whole):
        return (_in_bulk(whole, alone),)
    if not alone and (kind := _rearranged(whole)):
        return (whole.as_finding(kind),)
    is_negated = _negations(whole.left) != _negations(whole.right)
    parts = list(_parts(whole))
    telling = [part for part in parts if {*part.left, *part.right} != {ARTICLE}] or parts
    return tuple(part.as_finding(_kind(part, alone, is_negated=is_negated)) for part in telling)


def _apart(old: Reading, new: Reading) -> _Stretch:
    """The two without what is alike at their start and at their end."""
    shorter = min(len(old.keys), len(new.keys))
    start = next((at for at in range(shorter) if old.keys[at] != new.keys[at]), shorter)
    end = next((at for at in range(shorter - start) if old.keys[-1 - at] != new.keys[-1 - at]), shorter - start)
    left, right = slice(start, len(old.keys) - end), slice(start, len(new.keys) - end)
    return _Stretch(old.keys[left], new.keys[right], old.pieces[left], new.pieces[right], start)


def _is_short_enough(whole: _Stretch) -> bool:
    """Whether to look for what exactly differs: that takes the keys of one side times the like keys of the other, again and again."""
    if len(whole.left) <= 1 or len(whole.right) <= 1:
        return len(whole.left) + len(whole.right) <= NAMED
    if max(len(whole.left), len(whole.right)) > NAMED:
        return False
    there = Counter(whole.right)
    return sum(there[key] for key in whole.left) <= COMPARED


def _in_bulk(whole: _Stretch, alone: frozenset[str]) -> Finding:
    """The one finding of two stretches too long to compare, with how many words differ."""
    if Counter(_numbers(whole.left)) != Counter(_numbers(whole.right)):
        kind: Kind = "number"
    elif _negations(whole.left) != _negations(whole.right):
        kind = "negation"
    else:
        kind = "word" if alone else "role"
    return Finding(kind, f"{len(whole.left)} words", f"{len(whole.right)} words differ")


def _alone(left: tuple[str, ...], right: tuple[str, ...]) -> frozenset[str]:
    """The keys, articles aside, that one of the two has more of than the other."""
    if len(left) == len(right) == 1:
        return frozenset(left + right) - {ARTICLE}
    before, after = Counter(left), Counter(right)
    return frozenset((before - after) + (after - before)) - {ARTICLE}


def _negations(keys: Sequence[str]) -> int:
    beyond_ascii = "".join(key for key in keys if not key.isascii())
    return sum(key in _NEGATIONS for key in keys) + (len(_NEGATION_SIGNS.findall(beyond_ascii)) if beyond_ascii else 0)


def _rearranged(whole: _Stretch) -> Kind | None:
    """What happened to the same words: two of them exchanged places, or some of them moved; None if only articles differ."""
    left, right = ([key for key in keys if key != ARTICLE] for keys in (whole.left, whole.right))
    if left == right:
        return None
    for at, pivot in enumerate(left):
        if pivot in _BOTH_WAYS and [*left[at + 1 :], pivot, *left[:at]] == right:
            return "order"
    is_moved = any(left[at:] + left[:at] == right for at in range(1, len(left)))
    return "order" if is_moved and not all(piece[:1].isupper() for piece in whole.left_pieces) else "role"


def _parts(whole: _Stretch) -> Iterator[_Stretch]:
    """The stretch again, without what is alike inside it."""
    if len(whole.left) <= 1 or len(whole.right) <= 1:
        yield whole
        return
    steps = SequenceMatcher(None, whole.left, whole.right, autojunk=False).get_opcodes()
    yield from (whole.part(slice(i, j), slice(x, y)) for tag, i, j, x, y in steps if tag != "equal")


def _kind(part: _Stretch, alone: frozenset[str], *, is_negated: bool) -> Kind:
    """What differs here, the most telling first; `alone` are the keys that only one of the texts has."""
    both = (*part.left, *part.right)
    if ("?" in part.left) != ("?" in part.right):
        return "question"
    if any(key in alone and _is_dated(key, piece) for key, piece in zip(both, (*part.left_pieces, *part.right_pieces), strict=True)):
        return "date"
    if any(key in alone and _DIGITS.search(key) for key in both) and _numbers(part.left) != _numbers(part.right):
        return "number"
    if is_negated and _negations(both):
        return "negation"
    if part.left and part.right and all(key in _UNITS for key in both):
        return "unit"
    return _kind_by_shape(part, both)


def _kind_by_shape(part: _Stretch, both: tuple[str, ...]) -> Kind:
    is_replaced = bool(part.left and part.right)
    if not any(key == ARTICLE or any(map(str.isalnum, key)) for key in both):
        return "sign"
    if is_replaced and _scripts(part.left) != _scripts(part.right):
        return "script"
    if any(key != ARTICLE and key.isascii() and not WORD.fullmatch(key) for key in both):
        return "code"
    if is_replaced and part.at > 0 and all(piece[:1].isupper() for piece in (*part.left_pieces, *part.right_pieces)):
        return "name"
    return "word"


def _is_dated(key: str, piece: str) -> bool:
    """Whether this is a day or a month; `may` is one only as May."""
    return key.startswith(("date ", "month ")) or (key in english.MONTHS and piece[:1].isupper())


def _numbers(keys: tuple[str, ...]) -> list[str]:
    return _DIGITS.findall(" ".join(keys))


def _scripts(keys: tuple[str, ...]) -> set[str]:
    """The scripts of the letters, by the first word of their names; signs and digits have none."""
    letters = "".join(keys)
    if letters.isascii():
        return {"LATIN"}
    return {unicodedata.name(letter, "?").split()[0] for letter in letters if letter.isalpha()} or {"LATIN"}


def _shown(pieces: Sequence[str], keys: Sequence[str]) -> str:
    """The pieces as they would be written, or their keys where a piece is shared with a neighbour."""
    shown = list(filter(None, pieces)) or list(keys)
    return ("" if all(len(piece) == 1 and not piece.isascii() for piece in shown) else " ").join(shown)
