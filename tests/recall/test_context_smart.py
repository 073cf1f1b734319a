"""The context for a question: the spec's list (001, tests/test_context_smart.py) by its names."""

from store import usage
from store.usage import Usage
from tests.factories import NOON
from tests.recall.conftest import Memory
from tests.workers.conftest import ScriptedEmbedder


async def test_greeting_minimal_context(memory: Memory) -> None:
    await memory.fact("Maria says hey to everybody")
    got = await memory.asked("hey")
    assert got.text == ""
    assert got.memories == ()
    assert got.tokens == 0


async def test_decision_frame_expanded_budget(memory: Memory) -> None:
    for number in range(8):
        await memory.decision(f"We chose Redis for queue number {number}, because {'it was asked for by everybody. ' * 20}")
    decided = await memory.asked("Should we use Redis for the queue?")
    talked = await memory.asked("Redis is what we chose for the queue.")
    assert (decided.frame, talked.frame) == ("decision", "conversation")
    of_decisions = {got.frame: sum(one.tokens for one in got.memories if one.kind == "decision") for got in (decided, talked)}
    assert of_decisions["decision"] > 2 * of_decisions["conversation"] > 0
    assert of_decisions["conversation"] <= 500
    assert of_decisions["decision"] <= 3_500


async def test_dedup_removes_redundant(memory: Memory, embedder: ScriptedEmbedder) -> None:
    known, new = "Maria takes her coffee black", "Maria buys her coffee in Oslo"
    turn = "She drinks it very dark."
    embedder.alike(turn, known, 0.9)
    await memory.fact(known)
    kept = await memory.fact(new)
    got = await memory.asked("What about Maria and coffee?", conversation=[turn], explain=True)
    assert [one.memory_id for one in got.memories] == [kept.fact_id]
    assert got.explained is not None
    ended = {one["text"]: one["ended"] for one in got.explained["candidates"]}
    assert ended[known].startswith("said already: cosine 0.90")
    assert ended[new] == "told"


async def test_usage_boost_reranks(memory: Memory) -> None:
    ignored, used = [
        await memory.fact(f"Maria likes coffee from {place}", created_at=NOON.replace(year=2025)) for place in ("Kenya", "Peru")
    ]
    asked = {"as_of": NOON.replace(day=2), "kinds": ["fact"]}
    before = await memory.asked("Which coffee does Maria like?", **asked)
    first, last = before.memories
    assert {first.memory_id, last.memory_id} == {ignored.fact_id, used.fact_id}
    counts = {"compared_at": NOON.replace(day=2), "retrieved": 10, "injected": 10, "compared": 10, "compared_lately": 10.0}
    async with memory.database.write([memory.agent]) as db:
        await usage.put(
            db,
            [
                Usage(memory.agent, "fact", first.memory_id, **counts),
                Usage(memory.agent, "fact", last.memory_id, referenced=10, referenced_lately=10.0, **counts),
            ],
        )
    after = await memory.asked("Which coffee does Maria like?", **asked)
    assert [one.memory_id for one in after.memories] == [last.memory_id, first.memory_id]
