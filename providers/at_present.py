"""A sentence without the words that only say that it is true now: of another value of one thing, they are no part of it.

    Mara lives in Bergen now.   Currently, Mara lives in Bergen.   Mara now lives in Bergen. ─▶ Mara lives in Bergen.

English, and a closed list. What says for how long, from when or how little (for now, until now, only now, now and then), and what may be
the value itself (it is today, due today), stays.
"""

import re

_SINGLE = "now|currently|nowadays|presently"
_SEVERAL = "right now|at present|at the moment|these days|as of now|as of today|at this time"
_AT_THE_END = re.compile(rf",? (?P<said>{_SEVERAL}|{_SINGLE}|today)(?P<end>[.!]?\s*)$")
_AT_THE_START = re.compile(rf"^(?P<said>{_SEVERAL}|{_SINGLE}|today)(?P<comma>,)? (?P<next>\S)", re.IGNORECASE)
_WITHIN = re.compile(r" (?:now|currently) (?=[a-z])")
_HOLDS = re.compile(
    r"\b(?:is|are|was|were|be|been|am|due|on|by|for|from|since|until|till|to|than|before|after|only|just|even|not|never|no|and|or|but|every"
    r"|up|in|at|of|as|if|when|while|once|any|both|then|here|how|why)$",
    re.IGNORECASE,
)
_NO_SUBJECT = re.compile(r"^(?:is|are|was|were|has|have|had|will|would|and|or|that|then|only|not|just)\b", re.IGNORECASE)
_TURNS = re.compile(r"\b(?:only|just|not|never|until|till|from|by|for|even|than|before|and|or|but|if|when)$", re.IGNORECASE)
_GOES_ON = re.compile(r"^(?:and|or|but|then|than|on|that|only|not|no|never)\b", re.IGNORECASE)


def without(text: str) -> str:
    """The sentence without them; as it is where there is none, or where they may be more than that."""
    for shorter in (_without_the_last(text), _without_the_first(text), _without_one_within(text)):
        if shorter is not None:
            return shorter
    return text


def _without_the_last(text: str) -> str | None:
    found = _AT_THE_END.search(text)
    if found is None or _HOLDS.search(text[: found.start()]):
        return None
    return text[: found.start()] + found["end"]


def _without_the_first(text: str) -> str | None:
    found = _AT_THE_START.match(text)
    if found is None or _NO_SUBJECT.match(text[found.start("next") :]):
        return None
    return found["next"].upper() + text[found.end() :]


def _without_one_within(text: str) -> str | None:
    found = _WITHIN.search(text)
    if found is None or _TURNS.search(text[: found.start()]) or _GOES_ON.match(text[found.end() :]):
        return None
    return text[: found.start()] + " " + text[found.end() :]
