"""Vectors of many texts from one embedder, kept in the temporary folder so that a second run is quick."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nous.settings import EmbedderName, Settings
from providers import Embedder, embedder
from providers.embedder import Profile, Profiled, Vectors

BUNDLED: tuple[EmbedderName, ...] = tuple(name for name in get_args(EmbedderName) if name in {"use-multilingual-v3", "minilm-l6-v2"})
AT_ONCE = 256


class Lookup:
    """The vectors of some texts, by text."""

    def __init__(self, texts: list[str], vectors: Vectors) -> None:
        self._row = {text: row for row, text in enumerate(texts)}
        self._vectors = vectors

    def cosines(self, pairs: Iterable[tuple[str, str]]) -> NDArray[np.float32]:
        """The similarity of each pair."""
        rows = np.array([(self._row[old], self._row[new]) for old, new in pairs], np.intp).reshape(-1, 2)
        return np.asarray((self._vectors[rows[:, 0]] * self._vectors[rows[:, 1]]).sum(axis=1), np.float32)

    def of(self, texts: Iterable[str]) -> Vectors:
        """The vector of each text."""
        return self._vectors[[self._row[text] for text in texts]]


class Known(Profiled):
    """An embedder that looks vectors up instead of making them, for workers to run with."""

    def __init__(self, chosen: Embedder, lookup: Lookup) -> None:
        super().__init__(
            Profile(
                name=chosen.name,
                dimension=chosen.dimension,
                confirm_similarity=chosen.confirm_similarity,
                check_similarity=chosen.check_similarity,
                episode_similarity=chosen.episode_similarity,
                least_relevance=chosen.least_relevance,
            )
        )
        self._lookup = lookup

    async def open(self) -> None:
        """Nothing is loaded."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors."""
        return self._lookup.of(texts)

    async def close(self) -> None:
        """Nothing is open."""


def bundled(name: EmbedderName) -> Embedder:
    """One of the embedders that come with pip, with its own thresholds."""
    return embedder(Settings(embedder=name, embedder_threads=2, confirm_similarity=None, check_similarity=None, episode_similarity=None))


async def look_up(chosen: Embedder, texts: Iterable[str]) -> Lookup:
    """The vectors of `texts`, from the last run where it has them. Opens and closes the embedder."""
    wanted = sorted(set(texts))
    kept = _kept(chosen)
    digests = [sha256(text.encode("utf-8", "replace")).digest() for text in wanted]
    missing = [row for row, digest in enumerate(digests) if digest not in kept]
    if missing:
        await chosen.open()
        try:
            with _progress(chosen.name, len(missing)) as advance:
                for start in range(0, len(missing), AT_ONCE):
                    rows = missing[start : start + AT_ONCE]
                    made = await chosen.embed([wanted[row] for row in rows])
                    kept |= {digests[row]: vector for row, vector in zip(rows, made, strict=True)}
                    advance(len(rows))
        finally:
            await chosen.close()
        _keep(chosen, kept)
    return Lookup(wanted, np.array([kept[digest] for digest in digests], np.float32).reshape(len(wanted), chosen.dimension))


def _file(chosen: Embedder) -> Path:
    return Path(tempfile.gettempdir()) / "nous-evals" / f"{chosen.name}.npz"


def _kept(chosen: Embedder) -> dict[bytes, NDArray[np.float32]]:
    if not _file(chosen).exists():
        return {}
    with np.load(_file(chosen)) as stored:
        return {digest.tobytes(): vector for digest, vector in zip(stored["digests"], stored["vectors"], strict=True)}


def _keep(chosen: Embedder, kept: dict[bytes, NDArray[np.float32]]) -> None:
    digests = np.frombuffer(b"".join(kept), np.uint8).reshape(len(kept), 32)
    _file(chosen).parent.mkdir(parents=True, exist_ok=True)
    np.savez(_file(chosen), digests=digests, vectors=np.array(list(kept.values())))


@contextmanager
def _progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(f"embedding with {name}", total=total)
        yield lambda count: bar.advance(task, count)
