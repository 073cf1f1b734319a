"""What every embedder promises, held against each of them, the fake included."""

import asyncio

import numpy as np
import pytest

from providers import Embedder

FACTS = [
    "Maria's standup moved from 9:00 to 9:30 on Tuesdays because of the Lisbon office.",
    "Ken keeps the staging database on port 5433.",
    "我喜欢在早上喝咖啡。",
    "تحب ليلى القهوة في الصباح",
    "Tea.",
    "The quarterly report is due on the 14th, and it goes to Anna first, then to the board, then to the auditors in Zürich. " * 8,
    "Ken keeps the staging database on port 5432.",
    "x = {'a': [1, 2, 3]}  # a comment",
]

HOSTILE = {
    "empty": "",
    "white space": " \t\n\u3000" * 50,
    "8,000 emoji": "\U0001f600" * 8_000,
    "8,000 characters that each write out as 18": "\ufdfa" * 8_000,
    "8,000 letters without a space": "a" * 8_000,
    "8,000 Chinese characters": "我喜欢在早上喝咖啡吗" * 800,
    "a megabyte": "word " * 200_000,
    "NUL": "before\0after",
    "lone surrogates": "before \ud800 after \udfff",
    "combining marks": "e" + "\u0301" * 4_000,
    "invisible": "\u200b\u200d\ufeff",
}


async def test_vectors_are_float32_of_unit_length_and_finite(opened: Embedder) -> None:
    vectors = await opened.embed(FACTS)
    assert vectors.shape == (len(FACTS), opened.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(FACTS)), abs=1e-5)


async def test_no_texts_give_no_vectors(opened: Embedder) -> None:
    vectors = await opened.embed([])
    assert vectors.shape == (0, opened.dimension)
    assert vectors.dtype == np.float32


async def test_a_vector_does_not_depend_on_its_batch_and_stays_in_its_place(opened: Embedder) -> None:
    together = await opened.embed(FACTS * 20)
    alone = np.concatenate([await opened.embed([fact]) for fact in FACTS])
    assert (together * np.tile(alone, (20, 1))).sum(axis=1).min() > 0.9999


async def test_the_same_text_is_nearer_to_itself_than_to_any_other(opened: Embedder) -> None:
    first, second = await opened.embed(FACTS), await opened.embed(FACTS[::-1])
    cosines = first @ second[::-1].T
    assert cosines.argmax(axis=1).tolist() == list(range(len(FACTS)))
    assert cosines.diagonal().min() > 0.9999


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_text_has_a_vector_too(opened: Embedder, text: str) -> None:
    [vector] = await opened.embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_batches_embedded_at_the_same_time_are_not_mixed_up(opened: Embedder) -> None:
    several = await asyncio.gather(*(opened.embed(FACTS[start:]) for start in range(len(FACTS))))
    alone = await opened.embed(FACTS)
    for start, vectors in enumerate(several):
        assert (vectors * alone[start:]).sum(axis=1).min() > 0.9999


async def test_name_dimension_and_thresholds_come_together(opened: Embedder) -> None:
    assert opened.name
    assert opened.dimension > 0
    assert 0 < opened.check_similarity <= opened.confirm_similarity <= 1
    assert 0 < opened.episode_similarity <= 1


async def test_opening_twice_and_closing_twice_is_harmless(opened: Embedder) -> None:
    before = await opened.embed(FACTS[:1])
    await opened.open()
    await opened.close()
    await opened.close()
    await opened.open()
    after = await opened.embed(FACTS[:1])
    assert (before * after).sum() > 0.9999
