"""What differs between two readings, named so that a person can read it and a worker can act on it."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, get_args

from nous.text import WORD

from . import english
from .reading import ARTICLE, Reading

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
_BOTH_WAYS = english.words("and or & und oder y o e et ou и или 和 与 或 と や و")
_DIGITS = re.compile(r"\d+")


def differences(old: Reading, new: Reading) -> tuple[Finding, ...]:
    """The differences of two readings that are not in step; always at least one."""
    before, after = _counted(old), _counted(new)
    if before == after and (moved := _moved(old, new)):
        return (moved,)
    unmatched = frozenset((before - after) + (after - before))
    negated = _negations(old) != _negations(new)
    regions = _regions(old, new)
    telling = [region for region in regions if any(key != ARTICLE for key in (*region.left, *region.right))]
    return tuple(Finding(region.kind(unmatched, is_negated=negated), region.old, region.new) for region in telling or regions)


def _counted(reading: Reading) -> Counter[str]:
    return Counter(key for key in reading.keys if key != ARTICLE)


def _negations(reading: Reading) -> int:
    beyond_ascii = "".join(key for key in reading.keys if not key.isascii())
    return sum(key in _NEGATIONS for key in reading.keys) + len(_NEGATION_SIGNS.findall(beyond_ascii))


def _moved(old: Reading, new: Reading) -> Finding | None:
    """The one difference of two texts that have the same words: two of them exchanged, or some of them moved."""
    (left, left_pieces), (right, right_pieces) = _without_articles(old), _without_articles(new)
    if left == right:
        return None
    start, end = _ends(left, right)
    moved, to = left[start : len(left) - end], right[start : len(right) - end]
    pieces = left_pieces[start : len(left) - end], right_pieces[start : len(right) - end]
    kind: Kind = "order" if _is_rotation(moved, to) and not all(piece[:1].isupper() for piece in pieces[0]) else "role"
    if len(moved) == 3 and moved[1] in _BOTH_WAYS:
        kind = "order"
    return Finding(kind, _shown(pieces[0], moved), _shown(pieces[1], to))


def _without_articles(reading: Reading) -> tuple[list[str], list[str]]:
    kept = [at for at, key in enumerate(reading.keys) if key != ARTICLE]
    return [reading.keys[at] for at in kept], [reading.pieces[at] for at in kept]


def _is_rotation(left: list[str], right: list[str]) -> bool:
    return any(left[at:] + left[:at] == right for at in range(1, len(left)))


def _ends(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """How many keys are alike at the start and at the end."""
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    end = next((at for at in range(shorter - start) if left[-1 - at] != right[-1 - at]), shorter - start)
    return start, end


@dataclass(frozen=True, slots=True)
class _Region:
    """One stretch where the two part."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    left_pieces: tuple[str, ...]
    right_pieces: tuple[str, ...]
    at_start: bool

    @property
    def old(self) -> str:
        return _shown(self.left_pieces, self.left)

    @property
    def new(self) -> str:
        return _shown(self.right_pieces, self.right)

    def kind(self, unmatched: frozenset[str], *, is_negated: bool) -> Kind:
        """What differs here, the most telling first; `unmatched` are the keys that only one of the texts has."""
        both = (*self.left, *self.right)
        alone = [key for key in both if key in unmatched]
        if ("?" in self.left) != ("?" in self.right):
            return "question"
        if any(key.startswith(("date ", "month ")) or key in english.MONTHS for key in alone):
            return "date"
        if any(map(_DIGITS.search, alone)) and _numbers(self.left) != _numbers(self.right):
            return "number"
        if is_negated and (any(key in _NEGATIONS for key in both) or _NEGATION_SIGNS.search("".join(both))):
            return "negation"
        if self.left and self.right and all(key in _UNITS for key in both):
            return "unit"
        return self._kind_by_shape(both)

    def _kind_by_shape(self, both: tuple[str, ...]) -> Kind:
        if not any(key == ARTICLE or character.isalnum() for key in both for character in key):
            return "sign"
        if self.left and self.right and _scripts(self.left) != _scripts(self.right):
            return "script"
        if any(key != ARTICLE and key.isascii() and not WORD.fullmatch(key) for key in both):
            return "code"
        if self.left and self.right and not self.at_start and all(piece[:1].isupper() for piece in (*self.left_pieces, *self.right_pieces)):
            return "name"
        return "word"


def _numbers(keys: tuple[str, ...]) -> list[str]:
    return _DIGITS.findall(" ".join(keys))


def _scripts(keys: tuple[str, ...]) -> set[str]:
    """The scripts of the letters, by the first word of their names; signs and digits have none."""
    return {unicodedata.name(character, "?").split()[0] for key in keys for character in key if character.isalpha()} or {"LATIN"}


def _shown(pieces: Sequence[str], keys: Sequence[str]) -> str:
    """The pieces as they would be written, or their keys where a piece is shared with a neighbour."""
    shown = [piece for piece in pieces if piece] or list(keys)
    return ("" if all(len(piece) == 1 and not piece.isascii() for piece in shown) else " ").join(shown)


def _regions(old: Reading, new: Reading) -> list[_Region]:
    start, end = _ends(old.keys, new.keys)
    left, right = old.keys[start : len(old.keys) - end], new.keys[start : len(new.keys) - end]
    steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if left and right else [("", 0, len(left), 0, len(right))]
    return [
        _Region(
            left[i:j],
            right[x:y],
            old.pieces[start + i : start + j],
            new.pieces[start + x : start + y],
            at_start=start + min(i, x) == 0,
        )
        for tag, i, j, x, y in steps
        if tag != "equal"
    ]
