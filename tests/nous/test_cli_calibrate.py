"""`nous calibrate --ranking`: what is fitted is told with its figures, kept only when asked to and only when it is better."""

import json
import uuid
from pathlib import Path

import pytest

from providers.zero import ZeroEmbedder
from recall.ranking import Weights
from store import embedders, facts, vectors, weights
from store.database import Database
from tests.factories import a_fact
from tests.nous.conftest import Nous

QUESTIONS = 24


@pytest.fixture
async def questions(database: Database, tmp_path: Path) -> Path:
    """A fact for each question that says its words, beside one that says them twice and is nobody's word but an assistant's."""
    embedder = ZeroEmbedder()
    lines = []
    async with database.overview() as session:
        table = (await embedders.active(session)).table
    async with database.write(["a"]) as db:
        for number in range(QUESTIONS):
            thing = f"jar{number:02}"
            said = [
                a_fact(agent_id="a", content=f"The {thing} stands in the cellar under the stairs", subject=None, provenance="user_stated"),
                a_fact(agent_id="a", content=f"{thing} {thing}", subject=None, provenance="assistant_derived", confidence=0.9),
            ]
            await facts.insert(db, said)
            made = await embedder.embed([one.content for one in said])
            await vectors.insert(db, table, [("a", one.fact_id, vector) for one, vector in zip(said, made, strict=True)])
            lines.append({"agent_id": "a", "question": f"Where is {thing}?", "relevant": [str(said[0].fact_id)]})
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


async def in_force(database: Database, agent: str) -> weights.FittedWeights | None:
    async with database.read([agent]) as db:
        return await weights.of(db, agent)


async def test_what_was_fitted_is_told_and_kept_only_when_asked_to(nous: Nous, database: Database, questions: Path) -> None:
    told = await nous.json("calibrate", "--ranking", str(questions))
    assert told["better"]
    assert not told["applied"]
    assert told["figures"]["after"]["mrr"] > told["figures"]["before"]["mrr"]
    assert await in_force(database, "a") is None
    result = await nous("calibrate", "--ranking", str(questions))
    assert "nothing was changed; --apply keeps them for every agent without weights of its own" in " ".join(result.stdout.split())

    kept = await nous.json("calibrate", "--ranking", str(questions), "--apply")
    fitted = await in_force(database, "a")
    assert kept["applied"]
    assert fitted is not None
    assert fitted.questions == QUESTIONS
    assert fitted.figures["after"] == told["figures"]["after"]
    assert Weights.of(fitted.weights) == Weights.of(kept["weights"]) != Weights()


async def test_an_agent_s_own_weights_hold_for_it_alone_and_go_before_everybody_s(nous: Nous, database: Database, questions: Path) -> None:
    await nous.json("calibrate", "--ranking", str(questions), "--agent", "a", "--apply")
    assert (await in_force(database, "a")) is not None
    assert await in_force(database, "b") is None
    async with database.write([weights.EVERYBODY]) as db:
        mine = await in_force(database, "a")
        assert mine is not None
        await weights.put(db, weights.FittedWeights(weights.EVERYBODY, {"words": 0.3}, {}, 1, mine.fitted_at))
    for agent, whose in (("a", "a"), ("b", weights.EVERYBODY)):
        found = await in_force(database, agent)
        assert found is not None
        assert found.agent_id == whose


async def test_what_was_kept_is_undone_an_agent_s_own_and_everybody_s(nous: Nous, database: Database, questions: Path) -> None:
    result = await nous("calibrate", "--ranking", str(questions), "--agent", "a", "--apply")
    assert "undone by: nous calibrate --reset --agent a" in result.stdout
    await nous.json("calibrate", "--ranking", str(questions), "--apply")
    assert "a ranks as every agent without weights of its own does" in (await nous("calibrate", "--reset", "--agent", "a")).stdout
    found = await in_force(database, "a")
    assert found is not None
    assert found.agent_id == weights.EVERYBODY
    again = await nous("calibrate", "--reset", "--agent", "a")
    assert (again.exit_code, "no ranking was kept for agent 'a'" in again.output) == (2, True)
    assert "every agent ranks as shipped" in (await nous("calibrate", "--reset")).stdout
    assert await in_force(database, "a") is None
    for words in (("--agent", "nobody"), ("--apply",)):
        assert (await nous("calibrate", "--reset", *words)).exit_code == 2


async def test_what_is_no_better_is_not_kept(nous: Nous, database: Database, questions: Path) -> None:
    await nous.json("calibrate", "--ranking", str(questions), "--apply")
    result = await nous("calibrate", "--ranking", str(questions), "--apply")
    assert result.exit_code == 1
    assert "not worth taking" in result.stdout
    async with database.overview() as db:
        found = await weights.of(db, "a")
    assert found is not None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "questions.jsonl is no question"),
        (json.dumps({"agent_id": "a", "question": "?", "relevant": []}), "relevant"),
        (json.dumps({"agent_id": "a", "question": "?", "relevant": [str(uuid.UUID(int=1))]}), "20 are the least to fit on"),
    ],
)
async def test_a_file_that_cannot_be_fitted_on_is_a_mistake_said_with_its_line(nous: Nous, tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(line)
    result = await nous("calibrate", "--ranking", str(path))
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())
