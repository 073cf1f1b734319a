"""The embedders that come with pip and run here: no network, no key, beside the event loop.

    texts ──cut into chunks──▶ threads, one chunk each ──▶ rows, in the order of the texts

A thread runs a model that is loaded here, or waits for one that is loaded apart (apart.py). Two chunks at once are half as fast
again as one chunk on two BLAS threads (the products of one chunk are too small to share), so while an embedder is open, BLAS
stays on one thread in this process and `threads` counts chunks.
"""

import asyncio
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nous.errors import Misconfigured

from .embedder import Profile, Profiled, Vectors, readable, unit

CHUNK_CHARACTERS = 12_000  # about 125 facts, 0.2 s: what a cancelled page leaves running, and what one thread takes at a time
LONGEST_CHARACTERS = 8_000  # a fact's limit; what is longer is cut, so time and memory for one text are bounded

Encode = Callable[[list[str]], NDArray[np.floating]]
"""Runs the model on some texts; safe to call from several threads. Rows need not be of unit length."""


class BundledEmbedder(Profiled):
    """A model of this machine. `load` brings it into memory; a text costs the same alone and in a batch, and gives the same vector."""

    def __init__(self, profile: Profile, load: Callable[[], Encode], *, threads: int = 1) -> None:
        super().__init__(profile)
        self._load = load
        self._threads = threads
        self._held = ExitStack()
        self._executor: ThreadPoolExecutor | None = None
        self._encode: Encode | None = None

    async def open(self) -> None:
        """Load the model and try it. Raises Misconfigured when its package is not installed or gives another dimension."""
        if self._encode is not None:
            return
        with ExitStack() as held:
            model = held.enter_context(ExitStack())
            executor = ThreadPoolExecutor(self._threads, thread_name_prefix=self.name)
            held.callback(executor.shutdown, cancel_futures=True)
            held.enter_context(threadpool_limits(1, user_api="blas"))
            encode = await asyncio.get_running_loop().run_in_executor(executor, self._loaded, model)
            self._executor, self._encode, self._held = executor, encode, held.pop_all()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension). Raises RuntimeError when not open."""
        if self._executor is None or self._encode is None:
            raise RuntimeError(f"the embedder {self.name} is not open; await open() first")
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        loop = asyncio.get_running_loop()
        chunks = _chunks([_bounded(text) for text in texts], self._threads)
        parts = await asyncio.gather(*(loop.run_in_executor(self._executor, self._encode, chunk) for chunk in chunks))
        return unit(np.concatenate(parts), count=len(texts), of=self)

    async def close(self) -> None:
        """Free the threads, after the chunks they are at, and the model."""
        held, self._held = self._held, ExitStack()
        self._executor = self._encode = None
        await asyncio.to_thread(held.close)

    def _loaded(self, held: ExitStack) -> Encode:
        encode = self._load()
        held.callback(getattr(encode, "close", lambda: None))
        got = encode(["the first text a model reads is its slowest"]).shape[1]
        if got != self.dimension:
            raise Misconfigured(
                f"the embedder {self.name} should give vectors of {self.dimension} numbers and gives {got}; another version of its"
                f" package is installed. Install the one in requirements.lock"
            )
        return encode


def _bounded(text: str) -> str:
    text = readable(text[:LONGEST_CHARACTERS])
    if len(text) < LONGEST_CHARACTERS // 18:  # no character is written out as more than 18
        return text
    written_out = unicodedata.normalize("NFKC", text)
    return text if len(written_out) <= LONGEST_CHARACTERS else written_out[:LONGEST_CHARACTERS]


def _chunks(texts: list[str], threads: int) -> Iterator[list[str]]:
    """Consecutive runs of about CHUNK_CHARACTERS, or less where that gives every thread its share."""
    most = min(CHUNK_CHARACTERS, -(-sum(map(len, texts)) // threads))
    chunk: list[str] = []
    characters = 0
    for text in texts:
        if chunk and characters + len(text) > most:
            yield chunk
            chunk, characters = [], 0
        chunk.append(text)
        characters += len(text)
    yield chunk
