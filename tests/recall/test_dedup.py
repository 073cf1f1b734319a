"""Leaving out what was just said: the spec's list (001, tests/test_dedup.py) by its names. More in test_repeated.py."""

import pytest

from recall.asking import Asked, Wish, read
from recall.tools import Tools
from tests.workers.conftest import ScriptedEmbedder

MEMORY, TURN, OTHER = "Maria takes her coffee black", "She drinks it very dark.", "The weather is fine."


async def asked(tools: Tools, *conversation: str) -> Asked:
    return await read(tools, "agent-7", "What do we know?", conversation, Wish())


async def is_redundant(tools: Tools, *conversation: str) -> bool:
    (vector,) = await tools.vectors.of([MEMORY], within_s=5)
    return (await asked(tools, *conversation)).said.already(MEMORY, vector) is not None


async def test_no_dedup_without_messages(tools: Tools) -> None:
    assert (await asked(tools)).said.texts == []
    assert not await is_redundant(tools)


async def test_redundant_memory_filtered(tools: Tools, embedder: ScriptedEmbedder) -> None:
    embedder.alike(TURN, MEMORY, 0.9)
    assert await is_redundant(tools, TURN)


async def test_novel_memory_kept(tools: Tools, embedder: ScriptedEmbedder) -> None:
    embedder.alike(TURN, MEMORY, 0.5)
    assert not await is_redundant(tools, TURN, OTHER)


async def test_fallback_keyword_overlap(tools: Tools, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    from nous.errors import Outage

    async def away(texts: object) -> None:
        raise Outage("the embedder", "it is away")

    monkeypatch.setattr(embedder, "embed", away)
    heard = await asked(tools, f"{MEMORY}!", OTHER)
    assert heard.said.vectors is None
    assert "it is away" in heard.doubt
    assert heard.said.already(MEMORY, None) is not None
    assert heard.said.already("The server is in Oslo", None) is None


async def test_a_turn_is_embedded_once_however_often_it_is_among_the_last(tools: Tools, embedder: ScriptedEmbedder) -> None:
    for _ in range(3):
        await asked(tools, TURN, OTHER)
    assert embedder.embedded.count(TURN) == embedder.embedded.count(OTHER) == 1
