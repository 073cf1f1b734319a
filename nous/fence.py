"""The fence around what was recalled: data, never instructions, and never a source of new facts.

    recalled(lines)       what recall puts into a conversation: fenced, so that nothing in it can end the fence
    without_recalled(said)  a turn or transcript as it was said, without anything recalled into it

A fact that was recalled is in memory already: extracting it again would confirm it by echo.
"""

import re
from collections.abc import Iterable

OPEN = "<recalled_memory>"
CLOSE = "</recalled_memory>"
_TAG = re.compile(r"<\s*(/?)\s*recalled_memory\s*>", re.IGNORECASE)
_FENCED = re.compile(r"<\s*recalled_memory\s*>.*?(?:<\s*/\s*recalled_memory\s*>|\Z)", re.IGNORECASE | re.DOTALL)


def recalled(lines: Iterable[str]) -> str:
    """These lines inside the fence."""
    return "\n".join([OPEN, *(_TAG.sub(r"(\1recalled_memory)", line) for line in lines), CLOSE])


def without_recalled(said: str) -> str:
    """`said` without every fenced part; one that is never closed reaches to the end."""
    return _FENCED.sub("", said)
