"""What gives a text its vector, and what every such thing promises.

    texts ──embed──▶ one row each, in order: float32, of unit length, finite      (so a dot product is the cosine)

An embedder's name, dimension and thresholds travel together: the same two sentences score 0.88 under one model and 0.99 under
another, so a threshold means nothing without the model it was measured on, and the name is stored with every vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nous.errors import Misconfigured, NousError, Refused

Vectors = NDArray[np.float32]
"""Shape (texts, dimension), each row of unit length."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their cosine similarity."""

    @property
    def name(self) -> str:
        """Stored with every vector; vectors of two names are never compared."""

    @property
    def dimension(self) -> int:
        """Numbers in one vector."""

    @property
    def confirm_similarity(self) -> float:
        """Cosine at and above which two facts may be the same one, if the guard agrees."""

    @property
    def check_similarity(self) -> float:
        """Cosine at and above which a new fact is said to have a likely twin."""

    @property
    def episode_similarity(self) -> float:
        """Cosine above which two conversations that begin with such words begin alike: the second one opens no episode of its own."""

    @property
    def least_relevance(self) -> float:
        """Below it, as ranking counts relevance, a memory hardly bears on a question; 0.0 where nobody measured it."""

    async def open(self) -> None:
        """Load or reach the model and try one text; harmless when open already.

        Raises Misconfigured when it can never work (a package or setting is missing, the dimension is another), Outage when the
        model is away for now: then wait and open again.
        """

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, in order: shape (len(texts), dimension), float32, finite. Safe to call concurrently.

        Raises Outage when the model is away for now or talks nonsense, EmbeddingRefused when it will not have one of the texts, and
        EmbeddingMalformed when what it gives for one of them is no direction.
        """

    async def close(self) -> None:
        """Let go of the model or the connection; harmless when closed already."""


class EmbeddingRefused(Refused):
    """The embedder will not have one text, now or later; the other texts of the batch are not at fault."""

    def __init__(self, embedder: str, *, length: int, why: str) -> None:
        super().__init__(
            f"the embedder {embedder} refuses a text of {length:,} characters: {why}. Most likely it is longer than the model"
            f" reads; let the server truncate, or serve a model with a longer context"
        )


class EmbeddingMalformed(NousError):
    """The embedder answered, and not with one usable vector for each text; nothing of the answer was taken."""

    def __init__(self, embedder: str, why: str) -> None:
        super().__init__(f"the embedder {embedder} answered, but {why}; none of its vectors was taken")
        self.why = why


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What travels together: an embedder's name, the length of its vectors, and the cosines measured on it.

    Raises Misconfigured unless 0 <= check_similarity <= confirm_similarity <= 1.
    """

    name: str
    dimension: int
    confirm_similarity: float
    check_similarity: float
    episode_similarity: float
    least_relevance: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.check_similarity <= self.confirm_similarity <= 1:
            raise Misconfigured(
                f"the embedder {self.name} would confirm from {self.confirm_similarity} and check from {self.check_similarity}, and"
                f" neither may be outside 0 to 1 nor the second above the first; set NOUS_CONFIRM_SIMILARITY and"
                f" NOUS_CHECK_SIMILARITY together, or neither"
            )


class Profiled:
    """The part all embedders share: each carries its profile on itself."""

    def __init__(self, profile: Profile) -> None:
        self.name = profile.name
        self.dimension = profile.dimension
        self.confirm_similarity = profile.confirm_similarity
        self.check_similarity = profile.check_similarity
        self.episode_similarity = profile.episode_similarity
        self.least_relevance = profile.least_relevance


def readable(text: str) -> str:
    """`text` with lone surrogates replaced: they have no bytes, and no tokenizer and no JSON takes them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def unit(raw: NDArray[np.floating], *, count: int, of: Profiled) -> Vectors:
    """`raw` as `count` vectors of unit length, float32. Raises EmbeddingMalformed for another shape and for NaN, infinity or zero."""
    if raw.shape != (count, of.dimension):
        raise EmbeddingMalformed(of.name, f"the vectors' shape is {raw.shape} and ({count}, {of.dimension}) was expected")
    lengths: NDArray[np.float64] = np.linalg.norm(raw.astype(np.float64), axis=1)
    unusable = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if unusable.size:
        raise EmbeddingMalformed(of.name, f"vector {unusable[0]} of {count} has the length {lengths[unusable[0]]}, which has no direction")
    return np.asarray(raw / lengths[:, None], np.float32)
