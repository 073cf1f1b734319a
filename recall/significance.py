"""Which conversations become episodes: noise stays out, nothing is lost, and no model judges.

    a turn begins ──▶ why_open ─┬─ a reason ──▶ an episode is opened, if the session has none and it is no duplicate
                                └─ None ─────▶ nothing yet; the next turn is looked at again
    the session ends ─▶ is_trivial ─┬─ yes ──▶ its episode is put aside, and can be restored
                                    └─ no ───▶ closed, and summarised

The rules and their numbers are the spec's (000, A2 and A4). The first turn always opens an episode, so that the start of a conversation
which turns out to matter is never missing; what stays small is put aside at the end. A second turn is enough: the spec's test 2 says
otherwise, its own final rule does not, and docs/decisions/0013 says which was followed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from nous import text

MIN_CHARACTERS = 200
"""Of both sides together (spec 000)."""

PHRASES = ("remember this", "remember that", "don't forget", "save this")
_SAVED_THING = r"(?!\s+(?!(?:for|to|in|please|now|and|so|because|as|if|when|before|somewhere|forever|down)\b)\w)"
_ASKED = re.compile("|".join(rf"\b{phrase}\b" + (_SAVED_THING if phrase == "save this" else "") for phrase in PHRASES))


@dataclass(frozen=True, slots=True)
class Session:
    """What a session is known by so far. `turns` counts finished ones; characters are code points."""

    turns: int = 0
    tools: frozenset[str] = field(default_factory=frozenset)
    user_characters: int = 0
    assistant_characters: int = 0
    asked_to_remember: bool = False

    @property
    def characters(self) -> int:
        """Said by both sides."""
        return self.user_characters + self.assistant_characters


def why_open(session: Session, *, prior_turns: int = 1) -> str | None:
    """Why a turn that begins deserves an episode; None while it does not.

    `prior_turns` is after how many finished turns a conversation counts by itself; where more than one are asked for, two hundred
    characters after the first are enough.
    """
    if session.turns == 0:
        return "the first turn of a session"
    if session.asked_to_remember:
        return "it was asked to remember"
    if session.tools:
        return "tools were used"
    if session.turns >= prior_turns:
        return "it goes on"
    if session.characters >= MIN_CHARACTERS:
        return f"{session.characters} characters were said"
    return None


def is_trivial(session: Session) -> bool:
    """Whether the episode of a session that ends is noise: one short turn, without tools, and not to be remembered."""
    is_short = session.turns <= 1 and session.characters < MIN_CHARACTERS
    return is_short and not session.tools and not session.asked_to_remember


def asks_to_remember(said: str, *, phrases: Iterable[str] = ()) -> bool:
    """Whether a user asks for something to be remembered, in the words of `PHRASES` or of these; "save this file" is about a file.

    Phrases in letters are whole words; those of scripts without spaces are found anywhere.
    """
    wanted = [text.form(phrase).casefold().strip() for phrase in phrases]
    lines = [text.form(line).casefold() for line in dict.fromkeys(said.splitlines())]
    return any(_ASKED.search(line) or any(_is_in(phrase, line) for phrase in wanted) for line in lines)


def _is_in(phrase: str, heard: str) -> bool:
    if not phrase:
        return False
    bounds = [r"\b" if _is_spaced(end) else "" for end in (phrase[0], phrase[-1])]
    return bool(re.search(f"{bounds[0]}{re.escape(phrase)}{bounds[1]}", heard))


def _is_spaced(character: str) -> bool:
    """Whether words of its script stand apart; those of Han, the kanas, Thai, Lao, Khmer and Burmese do not."""
    return character.isalnum() and not text.UNSPACED.match(character)
