"""The fence around what was recalled: data, never instructions, and never a source of new facts.

    recalled(lines)         what recall puts into a conversation: fenced, so that nothing in it ends the fence or begins a turn
    without_recalled(said)  a turn as it was said, without anything recalled into it

A fact that was recalled is in memory already: extracting it again would confirm it by echo. A fence belongs to one turn. It reaches from
its opening tag to the closing tag that matches it, or to the end of the turn where none does; a closing tag alone hides nothing. So a tag
that somebody mentions, or that a tool prints, neither hides what others say nor joins it to what was said before.

Whoever reads a transcript therefore splits it into turns first and looks for fences in each. For that `recalled` sets a bar before every
line, which no speaker's name begins with: `| User: likes tea` is no turn. Of a fence that was written without bars, a line `User: ...`
is the user's: who is named as the speaker is believed.
"""

import re
from collections.abc import Iterable

OPEN = "<recalled_memory>"
CLOSE = "</recalled_memory>"
BAR = "| "
_TAG = re.compile(r"<\s*+(/?+)\s*+recalled_memory\s*+>", re.IGNORECASE)


def recalled(lines: Iterable[str]) -> str:
    """These lines inside the fence, each behind a bar."""
    inside = (_TAG.sub(r"(\1recalled_memory)", line).splitlines() or [""] for line in lines)
    return "\n".join([OPEN, *(f"{BAR}{line}" for some in inside for line in some), CLOSE])


def without_recalled(said: str) -> str:
    """`said` without every fenced part; one that is never closed reaches to the end."""
    shown: list[str] = []
    start = depth = 0
    for tag in _TAG.finditer(said):
        is_closing = bool(tag[1])
        if depth == 0 and not is_closing:
            shown.append(said[start : tag.start()])
        if depth > 0 or not is_closing:
            depth += -1 if is_closing else 1
            start = tag.end()
    return "".join(shown) if depth else "".join([*shown, said[start:]])
