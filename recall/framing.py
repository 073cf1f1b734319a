"""Which of six frames a turn is in: what kind of work it begins, told by its words alone.

    named by the caller ─▶ that one
    words of a fault ─▶ debug    of a choice to make ─▶ decision    of making something up ─▶ creative    of getting something done ─▶ task
    none of these ─▶ question, if it asks something    otherwise ─▶ conversation, unless the caller says otherwise

What was decided is asked for in a question; only a choice that is still to be made is the decision frame. No model is asked (spec 001, D1).
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from nous.errors import UserMistake
from nous.terms import language

from . import languages
from .hearing import Phrases

Frame = Literal["conversation", "question", "task", "decision", "creative", "debug"]
FRAMES: tuple[Frame, ...] = get_args(Frame)

LOOKED_AT_CHARACTERS = 2_000
"""Of a long turn its beginning and its end tell what it is for; what lies between is what it is about."""

_ASKING = Phrases(languages.ASKING)
_ASKING_ANYWHERE = Phrases(languages.ASKING_ANYWHERE)
_MADE_UP = Phrases(languages.FRAMES["made up"])
_TOLD_BY: dict[Frame, Phrases] = {
    "debug": Phrases(languages.FRAMES["debug"]),
    "decision": Phrases(languages.FRAMES["decision"]),
    "creative": Phrases(languages.FRAMES["creative"]),
    "task": Phrases(languages.FRAMES["task"]),
}
_OTHERWISE_MEANT = Phrases(languages.NO_PHRASE_IN_THEM)
_HIER = re.compile(r"(?<!\w)hier(?!\w)", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?。！？؟।])\s*+|,\s++|[，、]\s*+|[;:]\s++")
_OPEN_QUESTION = re.compile(
    r"\b(?:what|where|when|who|whom|how|why)\b[^.!?;:,]*?\b(?:should|shall) (?:i|we)\b(?! (?:use|choose|pick|prefer))", re.IGNORECASE
)
"""`What should we have for dinner?` asks for something; `should we take the train?` and `which one should we take?` want a choice made."""
_OPENERS = Phrases("please|can you|could you|would you|ok|okay|now|then|and|bitte|kannst du|peux-tu|puedes|você pode|puoi|можешь")


@dataclass(frozen=True, slots=True)
class Framing:
    """The frame of a turn, and what told it."""

    frame: Frame
    why: str


def named(frame: str) -> Frame:
    """The frame of this name. Raises UserMistake when there is none."""
    for one in FRAMES:
        if one == frame:
            return one
    raise UserMistake(f"there is no frame {frame[:80]!r}; the frames are {', '.join(FRAMES)}; leave it out and it is told by the words")


def shortened(heard: str) -> str:
    """The beginning and the end of a long text."""
    if len(heard) <= 2 * LOOKED_AT_CHARACTERS:
        return heard
    return f"{heard[:LOOKED_AT_CHARACTERS]} … {heard[-LOOKED_AT_CHARACTERS:]}"


def unmistaken(heard: str) -> str:
    """Without words that would be taken for others: terms that have a phrase in them, and `hier` where it is German, not French."""
    heard = _OTHERWISE_MEANT.without(heard)
    return _HIER.sub(" ", heard) if _HIER.search(heard) and language(heard) == "german" else heard


def framing(heard: str, *, frame: str | None = None, otherwise: Frame = "conversation") -> Framing:
    """The frame of a turn, of which `heard` is what hearing.heard gives; `otherwise` where its words tell none.

    Raises UserMistake for a `frame` that is none.
    """
    if frame is not None:
        return Framing(named(frame), "named by the caller")
    heard = unmistaken(shortened(heard))
    choosing = _OPEN_QUESTION.sub(" ", heard)
    for told in ("debug", "decision", "creative"):
        if found := _TOLD_BY[named(told)].first(choosing if told == "decision" else heard):
            return Framing(named(told), f"says {found[0]!r}")
    if task := _task(heard):
        made_up = _MADE_UP.first(heard)
        return Framing("creative", f"says {task!r} and {made_up[0]!r}") if made_up else Framing("task", f"says {task!r}")
    if asks(heard):
        return Framing("question", "asks something")
    return Framing(otherwise, "neither asks nor sets about anything")


def asks(heard: str) -> bool:
    """Whether it asks something: a question mark, a question word at the beginning of a part, or one where words do not stand apart."""
    if any(sign in heard for sign in "?？؟⸮"):
        return True
    heard = _OTHERWISE_MEANT.without(heard)
    parts = [part for part in _SENTENCE_ENDS.split(heard) if part]
    return any(_ASKING.begins(part) for part in parts) or _ASKING_ANYWHERE.first(heard) is not None


def _task(heard: str) -> str | None:
    """What sets about a task: such a word at the beginning of a part, or anywhere in a script whose words do not stand apart."""
    for part in _SENTENCE_ENDS.split(heard):
        if not part:
            continue
        opener = _OPENERS.begins(part)
        start = part[opener.end() :].lstrip() if opener else part
        is_polite = opener is not None
        found = _TOLD_BY["task"].begins(start) or (_TOLD_BY["task"].first(part) if _is_unspaced(part) else None)
        if found and (is_polite or start[found.end() :].strip(" .!?")):
            if found[0] in languages.NEVER_A_TASK_ALONE and asks(part) and not is_polite:
                continue
            return found[0]
    return None


def _is_unspaced(part: str) -> bool:
    """Whether most of it is of a script whose words are told apart by nobody's spaces."""
    letters = [one for one in part if one.isalpha()]
    return bool(letters) and sum(one > "\u0e00" for one in letters) > len(letters) / 2
