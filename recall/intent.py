"""What a turn is after, told by its words: no model is asked (spec 001, D1).

    question ─▶ frame        which kind of work it begins (framing.py)
             ─▶ is_greeting  nothing but a greeting, in a conversation: with a question behind it, or in a search, it is none
             ─▶ is_question  it asks something
             ─▶ recency      0 to 1: how much the newest is wanted
             ─▶ hints        which kind of memory it is after, 0.5 for each phrase that says so
             ─▶ entities     names, dates, identifiers and what stands in quotes
             ─▶ keywords     what it is about, at most ten words: told, not searched by; the whole question is what is searched

The rules and their numbers are the spec's, in a form that also holds for text without spaces or capitals, and in thirteen languages.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nous import text
from nous.fence import without_recalled
from nous.little import LITTLE

from . import languages
from .framing import Frame, asks, framing, shortened, unmistaken
from .hearing import Phrases, heard, stands_apart
from .languages import Hint

KEYWORDS = 10
ENTITIES = 20
LONGEST_IDENTIFIER = 100  # characters
HINT = 0.5  # for each phrase (spec 001)
NAME_WORDS = 2  # behind a greeting: `Hello Anna Smith`
NAME_CHARACTERS = 4  # the same where words do not stand apart

_GREETINGS = Phrases(languages.GREETINGS)
_BESIDE = Phrases(languages.BESIDE_A_GREETING)
_BESIDE_THE_POINT = Phrases(f"{languages.GREETINGS}|{languages.ASKING_ANYWHERE}")
_RECENCY = {weight: Phrases(phrases) for weight, phrases in languages.RECENCY.items()}
_TIMES = Phrases("|".join(languages.RECENCY.values()))
_HINTS: dict[Hint, Phrases] = {hint: Phrases(phrases) for hint, phrases in languages.HINTS.items()}

_QUOTED = re.compile(
    '"([^"]{1,100})"|“([^”]{1,100})”|„([^“”]{1,100})[“”]|«([^»]{1,100})»|「([^」]{1,100})」|『([^』]{1,100})』|《([^》]{1,100})》'
)
_WRITTEN_TOGETHER = re.compile(r"(?<!\w)[@#]?\w++(?:[./:-]\w++)*+(?!\w)", re.ASCII)
_A_PART = re.compile("[^./:-]+")
_DATE = re.compile(r"(?<!\d)\d{4}[-/年.]\s?\d{1,2}(?:[-/月.]\s?\d{1,2}日?)?")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.+#-]++")
_CAPITALISED = re.compile(r"[^\W\d_][\w'’-]*")
_LITTLE = frozenset[str]().union(*LITTLE.values())
_ENDS = ".!?。！？؟:"
_PIECE = re.compile(f"{text.UNSPACED.pattern}+|{text.SPACED.pattern}")


@dataclass(frozen=True, slots=True)
class Signals:
    """What a turn tells about itself. `why` says what told its frame."""

    frame: Frame
    why: str = ""
    entities: tuple[str, ...] = ()
    recency: float = 0.0
    hints: Mapping[Hint, float] = field(default_factory=dict)
    is_question: bool = False
    is_greeting: bool = False
    keywords: tuple[str, ...] = ()

    @property
    def dominant(self) -> Hint | None:
        """The kind of memory it is after most; of two that are wanted alike the one that comes first in the spec."""
        return next((hint for hint, weight in self.hints.items() if weight == max(self.hints.values())), None)


def signals(question: str, *, frame: str | None = None, otherwise: Frame = "conversation") -> Signals:
    """What `question`, a turn as it was said, is after; its frame is `otherwise` where its words tell none.

    Only in a conversation, which `otherwise` is unless a caller says that it is none, may a turn be a mere greeting.
    Raises UserMistake for a `frame` that is none.
    """
    said = text.form(shortened(without_recalled(question)))
    asked = heard(said)
    framed = framing(asked, frame=frame, otherwise=otherwise)
    told = unmistaken(asked)
    is_greeting = otherwise == "conversation" and is_only_a_greeting(said)
    return Signals(
        frame=framed.frame,
        why=framed.why,
        entities=_entities(said),
        recency=_recency(told),
        hints={} if is_greeting else _hinted(told),
        is_question=not is_greeting and asks(asked),
        is_greeting=is_greeting,
        keywords=_keywords(said),
    )


def is_only_a_greeting(said: str) -> bool:
    """Whether nothing is said but a greeting, thanks or a farewell, and perhaps a name."""
    asked = heard(said)
    rest, found = asked, ""
    while True:
        rest = rest.lstrip(" ,.!?;:、，。！？~-¡¿…")
        greeting = _GREETINGS.begins(rest)
        beside = _BESIDE.begins(rest) if found and not greeting else None
        if not (greeting or beside):
            break
        found = greeting[0] if greeting else found
        rest = rest[(greeting or beside).end() :]  # type: ignore[union-attr]  # one of the two is there
    return bool(found) and _is_greeted(rest, said, found)


def _is_greeted(rest: str, said: str, greeting: str) -> bool:
    """Whether what is left behind a greeting is nothing, signs and pictures, or whom it greets: `hi Anna`, and not `hi postgres`."""
    left = rest.strip()
    if asks(left) and any(one.isalnum() for one in left):
        return False
    pieces = _PIECE.findall(left)
    if not pieces:
        return not any(one.isalnum() for one in left)
    if any(one.isdigit() for one in left) or any(phrases.first(left) for phrases in _HINTS.values()):
        return False
    if not stands_apart(pieces[0][0]):
        return sum(map(len, pieces)) <= NAME_CHARACTERS
    as_written = said[-len(left) :] if said.casefold().endswith(left) else left
    if greeting in languages.NAMES_TOO or len(pieces) > NAME_WORDS:
        return False
    has_capitals = any(piece[0].lower() != piece[0].upper() for piece in pieces)
    return all(piece[0].isupper() for piece in _PIECE.findall(as_written)) if has_capitals else len(pieces) == 1


def _recency(told: str) -> float:
    """How much the newest is wanted, by the words for it: of those that begin alike the longest is what was said."""
    said = _TIMES.found(told)
    return max((weight for weight, phrases in _RECENCY.items() for one in said if _is_all(phrases, one)), default=0.0)


def _is_all(phrases: Phrases, words: str) -> bool:
    found = phrases.begins(words)
    return found is not None and found.end() == len(words)


def _hinted(asked: str) -> dict[Hint, float]:
    counted = {hint: HINT * len(phrases.found(asked)) for hint, phrases in _HINTS.items()}
    return {hint: weight for hint, weight in counted.items() if weight}


def _entities(said: str) -> tuple[str, ...]:
    """Names, dates, identifiers and what stands in quotes, in the order of their kinds and then of the text."""
    quoted = [next(filter(None, found)) for found in _QUOTED.findall(said)]
    found = [*quoted, *_DATE.findall(said), *_identifiers(said), *_KATAKANA.findall(said), *_latin_inside(said), *_names(said)]
    return tuple(dict.fromkeys(found))[:ENTITIES]


def _identifiers(said: str) -> Iterator[str]:
    """What is written together and is no plain word: `@anna`, `port5432`, `app.config.py`, `snake_case` and of `oneWord-two` the first."""
    for found in _WRITTEN_TOGETHER.finditer(said):
        word = found[0][:LONGEST_IDENTIFIER]
        if word[0] in "@#" or (len(word) > 1 and any(map(str.isdigit, word))) or any(sign in word.strip("_") for sign in "._/"):
            yield word
        else:
            yield from (part for part in _A_PART.findall(word) if _is_in_camel_case(part))


def _is_in_camel_case(word: str) -> bool:
    """Whether a small letter is before a capital."""
    first_small = next((at for at, letter in enumerate(word) if letter.islower()), len(word))
    return any(letter.isupper() for letter in word[first_small:])


def _latin_inside(said: str) -> Iterator[str]:
    """Words in Latin letters beside a script that has none."""
    for found in _LATIN.finditer(said):
        beside = said[max(found.start() - 2, 0) : found.start()].rstrip()[-1:], said[found.end() : found.end() + 2].lstrip()[:1]
        if any("\u0e00" <= one <= "\uffef" for one in beside if one):
            yield found[0]


def _names(said: str) -> list[str]:
    """Words with a capital that do not begin a sentence, or that begin one and go on with another such word; neighbours are one name."""
    names: list[str] = []
    run: list[str] = []
    end, is_first = 0, True
    for word in _CAPITALISED.finditer(said):
        between = said[end : word.start()]
        starts = is_first or any(sign in _ENDS for sign in between)
        if run and (starts or between != " " or not word[0][0].isupper()):
            names += _name(run)
            run = []
        if word[0][0].isupper() and _without_accents(word[0].casefold()) not in _LITTLE:
            run.append(f"^{word[0]}" if starts else word[0])
        end, is_first = word.end(), False
    return names + _name(run)


def _name(run: list[str]) -> list[str]:
    """A run of words with capitals as a name; one word that only begins a sentence is none, unless it is all capitals."""
    if not run or (len(run) == 1 and run[0][0] == "^" and not (run[0].isupper() and len(run[0]) > 2)):
        return []
    return [" ".join(word.lstrip("^") for word in run)]


def _keywords(said: str) -> tuple[str, ...]:
    """What it is about: in order, words that build no sentence and neither ask nor greet; of a script without spaces what is left of it."""
    about = _BESIDE_THE_POINT.without(heard(said))
    found = [piece for piece in _PIECE.findall(about) if len(piece) > 1 and _without_accents(piece) not in _LITTLE]
    return tuple(dict.fromkeys(found))[:KEYWORDS]


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not "\u0300" <= letter <= "\u036f")
