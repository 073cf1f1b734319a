"""The fence around what was recalled: data, never instructions, and never a source of new facts.

    recalled(lines)       what recall puts into a conversation: fenced, so that nothing in it can end the fence
    without_recalled(said)  a turn as it was said, without anything recalled into it
    without_fences(said)    a whole transcript without what stands between fences; one that is never closed is left to its turn

A fact that was recalled is in memory already: extracting it again would confirm it by echo. A fence that somebody only opens, by
mention or by mischief, hides the rest of that one turn and no other.
"""

import re
from collections.abc import Iterable

OPEN = "<recalled_memory>"
CLOSE = "</recalled_memory>"
_TAG = re.compile(r"<\s*(/?)\s*recalled_memory\s*>", re.IGNORECASE)
_OPENED = r"<\s*recalled_memory\s*>"
_FENCED = re.compile(rf"{_OPENED}(?:(?!{_OPENED}).)*?<\s*/\s*recalled_memory\s*>", re.IGNORECASE | re.DOTALL)
_UNCLOSED = re.compile(rf"{_OPENED}.*", re.IGNORECASE | re.DOTALL)


def recalled(lines: Iterable[str]) -> str:
    """These lines inside the fence."""
    return "\n".join([OPEN, *(_TAG.sub(r"(\1recalled_memory)", line) for line in lines), CLOSE])


def without_recalled(said: str) -> str:
    """`said` without every fenced part; one that is never closed reaches to the end."""
    return _UNCLOSED.sub("", without_fences(said))


def without_fences(said: str) -> str:
    """`said` without the parts whose fence is closed."""
    return _FENCED.sub("", said)
