"""A text taken apart into its sentences, and cut at the end of one.

A sentence ends in a stop and a space, in a stop of a script that needs no space, or with its line. `3.5`, `e.g. this` and `app.py` go on.
"""

import re

LONGEST_SENTENCES = 2_000
"""Sentences of a text that are told apart; what follows is the last one's."""

_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^\sa-z])|(?<=[。！？｡।॥۔؟])[」』”’)）]*\s*|\n\s*")
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|z\.B|bzw|No|Nr|ca|approx)\.$")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, none of them empty."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if len(found) >= LONGEST_SENTENCES:
            break
        said = text[start : end.end()].strip()
        if said and not _ABBREVIATED.search(said[-12:]):
            found.append(said)
            start = end.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def cut_at_a_sentence(text: str, beginning: str) -> str:
    """`beginning`, which `text` begins with, cut back to the last end of a sentence in it; nothing where there is none."""
    if beginning == text:
        return text
    last = max((end.end() for end in _END.finditer(beginning + "\n") if end.end() <= len(beginning)), default=0)
    return beginning[:last].rstrip()
