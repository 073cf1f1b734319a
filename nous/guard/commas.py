"""Whether a comma that only one of two texts has says anything that their words do not.

Most only breathe. One may part a list or a compound (`chocolate, milk and coffee`), two numbers, an answer (`No, more came`), a called
name (`Let's eat, Grandma`), what is said of some from what is said of all (`the employees, who work remotely`), or say how far a `not`
reaches; each of these is looked for, and a comma is silent where none can be.

    a comma ──▶ certain: beside a quote, before `but`, in `Oslo, Norway`
            ──▶ meant: one of the above
            ──▶ else silent, if the other text sets no comma at all, so that leaving out this one says nothing
"""

from typing import NamedTuple

from . import english
from .alike import ARTICLE
from .reading import Reading

_REACH = 24  # how many words before and behind a comma are looked at
_STOPS = frozenset({".", ";", ":", "?", "!", "—"})
_AND = frozenset({"and", "or", "nor"})
_CLAUSE = english.PRONOUNS | english.AUXILIARIES | english.PREPOSITIONS | english.RELATIVES | english.LINKS
_DETERMINING = english.BEFORE_NOUNS | {ARTICLE}
_NO_NOUN = _CLAUSE | _DETERMINING | english.SPEAKING
_GIVING_PARTS = english.PREPOSITIONS - {"as", "like", "to"} | {"where", "when"}
_ONLY_ENGLISH = (english.MADE - {"based", "used"}) | english.words(
    "which whose who that the said while around joined their from they this these about because into two three listening working playing"
    " within starting using"
)
# Where a comma stands before these in any language, it has to, or says nothing.
_ELSEWHERE = english.words("aber sondern dass daß pero sino mas maar но что чтобы що щоб że żeby ale")


class _Comma(NamedTuple):
    """A comma in its sentence: the keys before and behind it, the nearest last and first, and the pieces next to it."""

    before: tuple[str, ...]
    behind: tuple[str, ...]
    last: str
    next: str
    is_inside: bool
    has_case: bool
    names: int  # how many of the pieces before it are names

    def is_after_a_name(self) -> bool:
        return self.has_case and (self.last[:1].isupper() or self.last.rpartition("'")[2][:1].isupper())

    def is_before_a_name(self) -> bool:
        return self.has_case and self.next[:1].isupper() and self.behind[0] not in _NO_NOUN

    def ends_a_single_word(self) -> bool:
        return len(self.before) == 1

    def said(self) -> tuple[str, ...]:
        """What is before, from the last quote on: a `not` in somebody's words reaches no further than these."""
        quoted = self.before[::-1].index('"') if '"' in self.before else len(self.before)
        return self.before[len(self.before) - quoted :]

    def tail(self) -> tuple[str, ...]:
        """What is behind, if the sentence ends there without another comma; else nothing."""
        return self.behind if self.is_inside and "," not in self.behind else ()


def is_silent(here: Reading, at: int, there: Reading) -> bool:
    """Whether the comma at `at` may be left out, as it is in `there`."""
    comma = _comma(here, at)
    if not comma.before or not comma.behind:
        return False
    if not (here.is_english or _sounds_english(comma)):
        return comma.behind[0] in _ELSEWHERE
    if _is_certain(comma, here, at):
        return True
    return not there.has_comma and not any(means(comma) for means in _MEANINGS)


def _comma(here: Reading, at: int) -> _Comma:
    end = at - 1 if at and here.keys[at - 1] == "." else at  # `Md.,` ends no sentence
    before = here.keys[max(0, end - _REACH) : end]
    behind = here.keys[at + 1 : at + 1 + _REACH]
    start = next((place for place in range(len(before), 0, -1) if _is_stop(before, place - 1)), 0)
    stop = next((place for place in range(len(behind)) if _is_stop(behind, place)), len(behind))
    return _Comma(
        before[start:],
        behind[:stop],
        here.pieces[end - 1] if end else "",
        here.pieces[at + 1] if behind else "",
        len(behind) < _REACH or stop < len(behind),
        not here.is_one_case,
        0 if here.is_one_case else sum(piece[:1].isupper() for piece in here.pieces[max(0, end - 2) : end]),
    )


def _sounds_english(comma: _Comma) -> bool:
    """Whether a text too short to be sure of its language has what no other language has."""
    keys = comma.before + comma.behind
    return any(key.endswith("'s") or key.startswith("date ") for key in keys) or not _ONLY_ENGLISH.isdisjoint(keys)


def _is_stop(keys: tuple[str, ...], at: int) -> bool:
    """Whether a sentence ends here, and not only `Mr.` or an initial."""
    return keys[at] in _STOPS and not (keys[at] == "." and at and (len(keys[at - 1]) == 1 or keys[at - 1] in english.TITLES))


# ── where a comma is certain to say nothing ───────────────────────────────────────────────────────────────────────────────


def _is_certain(comma: _Comma, here: Reading, at: int) -> bool:
    """Beside a quotation, before `but`, in a list before its `and`, between a weekday and its date, or a place and its country."""
    before, behind = comma.before, comma.behind
    if '"' in (before[-1], behind[0]):
        return here.keys[max(0, at - 200) : at].count('"') % 2 == 1 or not english.SPEAKING.isdisjoint(before[-3:] + behind[:7])
    if behind[0] in {"but", "yet"} or (behind[0] in english.BEHIND_A_NAME and comma.is_after_a_name()):
        return True
    if before[-1] in english.DAYS and behind[0].startswith("date "):
        return True
    if behind[0] in _AND and before[-2:-1] == (",",):
        return here.pieces[at - 1].islower() and len(before) > 2  # not `my parents, Ayn Rand, and God`
    return _is_place(comma)


def _is_place(comma: _Comma) -> bool:
    """`Oslo, Norway`, or two names behind `in`; but not in a list of them."""
    if not comma.is_after_a_name() or not comma.is_before_a_name() or _is_listed(comma):
        return False
    chain = comma.before[-4:]
    return comma.behind[0] in english.STATES or not {"in", "at", "near", "outside"}.isdisjoint(chain[:-1])


# ── what a comma may mean ─────────────────────────────────────────────────────────────────────────────────────────────────


def _is_listed(comma: _Comma) -> bool:
    """Whether what is behind may be the next in a row, up to an `and`: `milk and coffee`, `running, jumping and kicking`."""
    words, first, second = 0, comma.before[-1], comma.behind[0]
    is_name_first = comma.is_before_a_name() and not comma.is_after_a_name()
    if "'s" in comma.next or (is_name_first and (_is_plural(first) or first in english.TIMES)):
        return False  # `like many doctors, Tom and Anna`, `last week, Tom and Anna`
    if any({first, second} <= kind for kind in (english.COLOURS, english.TRADES, english.NATIONS)):
        return False
    if _is_doing(second) and _is_done_in_a_row(comma):
        return False
    for key in comma.behind:
        if key in _AND:
            return True
        words = 0 if key == "," else words + 1
        if words > 4 or (words and key in _NO_NOUN):
            return False
    return False


def _is_done_in_a_row(comma: _Comma) -> bool:
    """`running, jumping and kicking`; `a woman, holding cups and plates`, but not `likes cats, cooking food and tea`."""
    if _is_doing(comma.before[-1]) or any(map(_is_doing, comma.behind[2:3])):
        return True
    return _AND.isdisjoint(comma.behind[1:2]) and _LIKING.isdisjoint(comma.before)


def _is_doing(key: str) -> bool:
    return key.endswith("ing") and _is_participle(key)


def _is_between_numbers(comma: _Comma) -> bool:
    """`2002, 142 of them`, `in room 5, people`; an age between two commas is none of these, and neither is a day."""
    before, behind = comma.before[-1], comma.behind[0]
    if behind[:1].isdigit():
        return not (before in english.DAYS or _is_free_number(comma))
    is_day_or_age = comma.before[-2:-1] == (",",) or not english.MONTHS.keys().isdisjoint(comma.before[-3:-1])
    is_number = before.isdigit() and not _is_year(before) and not is_day_or_age
    return is_number and (comma.is_before_a_name() or (behind not in _NO_NOUN and _is_plural(behind)))


def _is_free_number(comma: _Comma) -> bool:
    """Whether the number behind stays apart without its comma: an age, an hour, `guests, 5 of them`, `in 2002, 40 of them`."""
    before, number = comma.before[-1], comma.behind[0]
    following = comma.behind[1] if len(comma.behind) > 1 else ""
    if before[:1].isdigit() or before in english.MONTHS:
        return _is_year(before) and comma.before[-2:-1] in {("in",), ("and",), ("since",)} and following.isalpha()
    is_age = number.isdigit() and len(number) < 3 and comma.is_after_a_name() and (following == "," or (comma.names > 1 and not following))
    return is_age or not number.isdigit() or following in _BEHIND_A_COUNT


def _is_year(key: str) -> bool:
    return key.isdigit() and len(key) == 4 and key[0] in "12"


def _is_an_answer(comma: _Comma) -> bool:
    """`No, more came`; `not so, only`."""
    if comma.before[-1] in {"yes", "no"} and comma.ends_a_single_word():
        return comma.behind[0] not in english.PRONOUNS
    return comma.before[-1] in english.ANSWERS or comma.behind[0] in english.ANSWERS - _FOCUSING


def _is_within_a_negation(comma: _Comma) -> bool:
    """`did not move, because`: without the comma that is what was denied."""
    if english.NEGATIONS.isdisjoint(comma.said()):
        return False
    first = comma.behind[1] if comma.behind[0] in _AND and len(comma.behind) > 1 else comma.behind[0]
    is_said = not english.SAYING.isdisjoint(comma.behind[1:4]) or (first in english.RELATIVES and comma.is_after_a_name())
    return not (is_said or first in _BEGINNING or "'s" in comma.next)


def _is_grouping(comma: _Comma) -> bool:
    """An `and` that may join other parts with its comma than without: `tea, and milk or rum`."""
    if comma.behind[0] not in _AND or not comma.behind[1:]:
        return comma.behind[0] in _AND
    is_clause = comma.behind[1] in _DETERMINING and not english.AUXILIARIES.isdisjoint(comma.behind[2:7])
    if is_clause or comma.behind[1] in _CLAUSE or _is_participle(comma.behind[1]) or comma.behind[1].endswith("ly"):
        return False
    return not (_AND | {","}).isdisjoint(comma.before[-6:]) or not _AND.isdisjoint(comma.behind[1:6])


def _is_row(comma: _Comma) -> bool:
    """A list that goes on to its `and`, or two names beside each other."""
    if comma.behind[0] in _AND:
        return False
    are_names = comma.is_after_a_name() and comma.is_before_a_name()
    may_be_names = not comma.has_case and not (comma.behind[0] in _NO_NOUN or _is_participle(comma.behind[0]))
    return _is_listed(comma) or ((are_names or may_be_names) and not _is_opened(comma))


def _is_opened(comma: _Comma) -> bool:
    """Whether two names side by side are no row: `In talks with Tom, Anna was late`, `in May, Anna`, `the Minister, Tom Lee, left`."""
    before, behind = comma.before, comma.behind
    if before[-1] in english.DAYS or before[-1] in english.MONTHS or before[-1].startswith("date ") or "'s" in comma.next:
        return True
    if "," in behind and "," not in before[-4:]:
        closing = behind[:5].index(",") + 1 if "," in behind[:5] else len(behind)
        return ARTICLE in before[-4:] or not english.AUXILIARIES.isdisjoint(behind[closing : closing + 1])
    return before[0] in english.PREPOSITIONS and "," not in before and not english.AUXILIARIES.isdisjoint(behind[1:6])


def _is_of_some(comma: _Comma) -> bool:
    """What stands behind a plural may say which of them: `the employees, who`, `hired in May`, `in Oslo`."""
    noun, behind = comma.before[-1], comma.behind
    if comma.is_after_a_name() and (not comma.ends_a_single_word() or not comma.last[1:].islower()):
        return False
    if not _is_plural(noun) and {"all", "every", "any", "each", "no", "most"}.isdisjoint(comma.before[-4:]):
        return False
    if not {"these", "those"}.isdisjoint(comma.before[-3:-1]):
        return False
    is_subject = "," in behind and english.AUXILIARIES.isdisjoint(comma.before)
    return behind[0] in english.RELATIVES or (is_subject and (behind[0] in _GIVING_PARTS or _is_participle(behind[0])))


def _is_plural(noun: str) -> bool:
    return noun in english.PLURALS or (noun.endswith("s") and not noun.endswith(("ss", "us", "is", "'s")) and len(noun) > 3)


def _is_participle(key: str) -> bool:
    return key.endswith(("ed", "ing")) and len(key) > 4 and key not in english.NO_PARTICIPLES and key != "saying"


def _is_spoken(comma: _Comma) -> bool:
    """`Bob, says Alice, is late`; and `he said, today he came`."""
    if comma.behind[0] in english.ASIDES:
        return False
    if comma.behind[0] in english.SAYING:
        closing = comma.behind[:8].index(",") if "," in comma.behind[:8] else 0
        is_whole = not english.AUXILIARIES.isdisjoint(comma.before) and comma.behind[closing + 1 : closing + 2] == ("of",)
        is_whole |= not _OWNING.isdisjoint(comma.behind[1:2]) and len(comma.behind) - closing == 3 and len(comma.before) > 4
        return (closing > 0 and not is_whole) or len(comma.before) < 3
    return comma.before[-1] in english.SAYING and "," not in comma.before[-6:]


def _is_asked(comma: _Comma) -> bool:
    """`I know, that is bad` and `she asked Bob, who is late`; but `Oslo, that lies in Norway`."""
    if comma.behind[0] == "that" and not comma.is_after_a_name():
        return True
    return comma.behind[0] in _ASKED and not english.ASKING.isdisjoint(comma.before[-6:])


def _is_turned(comma: _Comma) -> bool:
    """`she is, too, tall`, `he is, like Bob, rich`, `he forgot, to be fair, the dog`."""
    is_aside = comma.behind[0] == "to" and "," in comma.behind and comma.behind[1] in {"be", "say", "tell", "put", "quote", "name"}
    return is_aside or (comma.behind[0] in _TURNING and comma.before[-1] in english.SEEMING)


def _is_done(comma: _Comma) -> bool:
    """A participle may be what is done, or who does it: `stop, smoking`, `saw Bob, walking`, `Anna, asked to leave`."""
    before, behind = comma.before, comma.behind
    if behind[0].endswith("ing") and _is_participle(behind[0]):
        return before[-1] in english.CATENATIVES or not english.SEEING.isdisjoint(before)
    if before[-1].endswith("ing") and behind[0] not in _BEHIND_A_PARTICIPLE:
        return before[-1] not in english.NO_PARTICIPLES and (english.AUXILIARIES | english.SAYING).isdisjoint(behind[1:4])
    if behind[0] in english.MADE or not (behind[0].endswith("ed") or behind[0] in english.TOLD):
        return False
    is_subject = comma.is_after_a_name() or "," not in behind
    return (
        is_subject
        and english.AUXILIARIES.isdisjoint(before)
        and not {",", "by"} & {*before, *behind[1:4]}
        and not _BEHIND_WHAT_WAS_DONE.isdisjoint(behind[1:2])
    )


def _is_given(comma: _Comma) -> bool:
    """One noun may be given to another, or made it: `told Anna, the manager`, `told the man, Bob is late`."""
    is_noun = comma.behind[0] in _DETERMINING or comma.is_before_a_name()
    return is_noun and english.SAYING.isdisjoint(comma.behind[1:3]) and not english.DOUBLY.isdisjoint(comma.before[-6:])


def _is_calling_first(comma: _Comma) -> bool:
    """A single word before the comma may be a name that is called: `Bob, come here`."""
    if not comma.ends_a_single_word():
        return False
    word, behind = comma.before[0], comma.behind
    if word in english.OPENERS or (word in english.STARTERS and behind[0] in _NO_NOUN):
        return False
    if behind[0] in _OF_A_NAME or "by" in behind[1:4] or behind[0].isdigit():
        return False
    if "," in behind and (behind[0] in english.PREPOSITIONS | english.ASIDES or behind[0] == "also"):
        return False
    is_held = "," in behind or english.AUXILIARIES.isdisjoint(behind)
    return not (behind[0] in _DETERMINING and is_held and not english.PREPOSITIONS.isdisjoint(behind))


def _is_calling_last(comma: _Comma) -> bool:
    """What ends the sentence may be who is called: `let's eat, Grandma`."""
    tail = comma.tail()
    if not tail:
        return False
    if not english.ADDRESSING.isdisjoint(comma.before) or comma.before[0] in english.GREETING or tail[0] == "my":
        return (tail[0] not in _CALLING_NOBODY or tail[0] == "you") and english.SAYING.isdisjoint(tail[1:3])
    return len(tail) < 3 and not _is_said_of_it(comma, tail)


def _is_said_of_it(comma: _Comma, tail: tuple[str, ...]) -> bool:
    """Whether the one or two last words call nobody: a day, an adverb, who said it, the end of what began before an apposition."""
    if tail[0] in _NO_NOUN or tail[0] in english.TRAILERS or tail[0] in english.DAYS:
        return True
    if tail[0].endswith("ly") and comma.has_case and not comma.is_before_a_name():
        return tail[0] not in english.NO_ADVERBS
    if tail[0].startswith("date ") or tail[0].isdigit() or tail[-1] in english.SAYING or tail[0] == '"':
        return True
    if "," in comma.before and (tail[-1].endswith("ed") or tail[0] in english.DOING):
        return True
    if len(tail) == 2 and comma.is_before_a_name() and comma.before[0].endswith("ing"):
        return True  # `playing as a guard, Jim Hart`
    if len(tail) == 2 and not comma.is_before_a_name():
        return _is_participle(tail[0]) or (comma.has_case and comma.before[-2:-1] == (ARTICLE,))
    return comma.is_before_a_name() and any(key in _OWNING or key.endswith(("'s", "s'")) for key in comma.before[-4:-1])


_BEGINNING = english.PRONOUNS | _DETERMINING | english.AUXILIARIES | english.CONCEDING
_BEHIND_A_PARTICIPLE = _NO_NOUN | _AND | english.CONCEDING
_BEHIND_WHAT_WAS_DONE = _NO_NOUN - english.PRONOUNS
_CALLING_NOBODY = _CLAUSE | english.TRAILERS
_LIKING = english.CATENATIVES - english.AUXILIARIES
_BEHIND_A_COUNT = english.PREPOSITIONS | english.AUXILIARIES | {"am", "pm"}
_OF_A_NAME = english.RELATIVES | english.MADE | {"or", "one"}
_ASKED = english.RELATIVES | {"if", "whether", "what", "why", "how", "that"}
_TURNING = frozenset({"too", "like", "as", "so", "well", "more", "most"})
_FOCUSING = frozenset({"that", "only", "just", "even"})
_OWNING = frozenset({"his", "her", "its", "their", "whose", "'s", "is"})
_MEANINGS = (
    _is_between_numbers,
    _is_an_answer,
    _is_within_a_negation,
    _is_grouping,
    _is_row,
    _is_of_some,
    _is_spoken,
    _is_asked,
    _is_turned,
    _is_done,
    _is_given,
    _is_calling_first,
    _is_calling_last,
)
