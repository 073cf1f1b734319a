"""Vectors of texts that were embedded before are not asked for again: a turn of a conversation is embedded once, whoever asks next.

    texts ─▶ known ones from here, the others in one call of the embedder ─┬─▶ one vector each
                                                                           └─ it failed a moment ago: nobody waits for it, for QUIET_S;
                                                                              then one does, and the others once it answered him
    one_allowance ─▶ whatever is embedded within it takes so long at most, together

Kept in this process, the last used ones, by the embedder's name and the text; a text that is long is kept by its hash.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from nous.errors import NousError, Outage
from providers.embedder import Embedder
from store.vectors import Vector

KEPT = 8_192
"""Vectors that are kept: 16 MB of 512 numbers each."""

QUIET_S = 5.0
"""After a failure nobody waits for the embedder, for so long."""


@dataclass
class _Allowance:
    left_s: float


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def one_allowance(within_s: float) -> Iterator[None]:
    """Whatever the block has embedded, it waits so long at most for all of it: who is answered waits once, not at each step."""
    token = _allowance.set(_Allowance(within_s))
    try:
        yield
    finally:
        _allowance.reset(token)


class Vectors:
    """An embedder that remembers."""

    def __init__(self, embedder: Embedder, *, kept: int = KEPT) -> None:
        self.embedder = embedder
        self._kept = kept
        self._known: OrderedDict[tuple[str, bytes], Vector] = OrderedDict()
        self._quiet_until = 0.0

    async def of(self, texts: Sequence[str], *, within_s: float) -> list[Vector]:
        """One vector for each text, of unit length, in order.

        Raises Outage when the embedder is away, takes longer or failed a moment ago, and what else its `embed` raises.
        """
        keys = [(self.embedder.name, hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()) for text in texts]
        found = {key: self._known[key] for key in keys if key in self._known}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            found |= dict(zip(missing, await self._embedded(list(missing.values()), within_s), strict=True))
        for key in keys:
            self._known[key] = found[key]
            self._known.move_to_end(key)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return [found[key] for key in keys]

    async def _embedded(self, texts: list[str], within_s: float) -> list[Vector]:
        allowance = _allowance.get() or _Allowance(within_s)
        within_s, began = min(within_s, allowance.left_s), time.monotonic()
        if began < self._quiet_until or within_s <= 0:
            raise Outage(f"the embedder {self.embedder.name}", "it failed a moment ago, and is asked again by itself")
        if self._quiet_until:
            self._quiet_until = began + within_s  # the others wait for what this one finds
        try:
            made = await self._asked(texts, within_s)
        except Outage:
            self._quiet_until = time.monotonic() + QUIET_S
            raise
        finally:
            allowance.left_s -= time.monotonic() - began
        self._quiet_until = 0.0
        return made

    async def _asked(self, texts: list[str], within_s: float) -> list[Vector]:
        try:
            async with asyncio.timeout(within_s):
                await self.embedder.open()
                return list(await self.embedder.embed(texts))
        except TimeoutError:
            raise Outage(f"the embedder {self.embedder.name}", f"no vector within {within_s:.3g} s") from None


async def tried(vectors: Vectors, texts: Sequence[str], *, within_s: float) -> tuple[list[Vector] | None, str]:
    """The vectors, or None and why there are none: recall does without."""
    try:
        return await vectors.of(texts, within_s=within_s), ""
    except NousError as error:
        return None, str(error)
