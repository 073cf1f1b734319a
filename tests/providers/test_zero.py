"""The embedder that costs nothing."""

import numpy as np

from providers.zero import ZeroEmbedder


async def test_different_texts_are_nearly_orthogonal_however_alike() -> None:
    vectors = await ZeroEmbedder().embed([f"the port is {number}" for number in range(1_000)])
    cosines = vectors @ vectors.T - np.eye(1_000)
    assert np.abs(cosines).max() < 0.3
    assert cosines.std() < 0.05


async def test_the_vector_of_a_text_is_the_same_everywhere_and_for_ever() -> None:
    [vector] = await ZeroEmbedder().embed(["Ken keeps the staging database on port 5433."])
    assert "".join("+" if number > 0 else "-" for number in vector[:32]) == "-+----+-+-+---+-+--+++-++---+---"
