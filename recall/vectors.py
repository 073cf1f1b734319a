"""Vectors of texts that were embedded before are not asked for again: a turn of a conversation is embedded once, whoever asks next.

    texts ─▶ known ones from here, the others in one call of the embedder ─▶ one vector each

Kept in this process, the last used ones, by the embedder's name and the text; a text that is long is kept by its hash.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from nous.errors import NousError, Outage
from providers.embedder import Embedder
from store.vectors import Vector

KEPT = 8_192
"""Vectors that are kept: 16 MB of 512 numbers each."""


class Vectors:
    """An embedder that remembers."""

    def __init__(self, embedder: Embedder, *, kept: int = KEPT) -> None:
        self.embedder = embedder
        self._kept = kept
        self._known: OrderedDict[tuple[str, bytes], Vector] = OrderedDict()

    async def of(self, texts: Sequence[str], *, within_s: float) -> list[Vector]:
        """One vector for each text, of unit length, in order.

        Raises Outage when the embedder is away or takes longer, and what else its `embed` raises.
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
        try:
            async with asyncio.timeout(within_s):
                await self.embedder.open()
                return list(await self.embedder.embed(texts))
        except TimeoutError:
            raise Outage(f"the embedder {self.embedder.name}", f"no vector within {within_s:g} s") from None


async def tried(vectors: Vectors, texts: Sequence[str], *, within_s: float) -> tuple[list[Vector] | None, str]:
    """The vectors, or None and why there are none: recall does without."""
    try:
        return await vectors.of(texts, within_s=within_s), ""
    except NousError as error:
        return None, str(error)
