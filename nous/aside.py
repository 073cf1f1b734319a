"""Work for the processor that may take long is done in a thread, and everybody else is served meanwhile.

aside(characters, work, ...) ─┬─ of few ──▶ done here: a thread would take longer than the work
                              └─ of many ─▶ done in a thread
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE_CHARACTERS = 10_000
"""Text of more is worked on in a thread."""


async def aside(characters: int, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` gives, which goes through so many characters. Raises what it raises."""
    if characters <= AT_ONCE_CHARACTERS:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)
