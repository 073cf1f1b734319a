"""`nous calibrate --thresholds`: the curve is told, what is kept is kept under the embedder's name, and every start goes by it."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import providers
from nous import clock
from nous.cli import calibrate_pairs, calibrate_thresholds
from nous.cli.calibrate_fit import AIMS, Aim, Fit, Scored, fitted_threshold
from nous.errors import Misconfigured
from nous.settings import Settings
from providers.embedder import Profile, Vectors
from providers.offline import OfflineMind
from providers.zero import PROFILE, ZeroEmbedder
from recall.asking import Wish, read
from recall.overlap import REPEATED
from recall.tools import Tools
from store import audits, embedders, facts, thresholds, vectors
from store.database import Database
from store.thresholds import FittedThresholds
from tests.factories import a_fact, a_vector
from tests.nous.conftest import Nous
from workers.runtime.app import kit
from workers.runtime.calibrated import calibrated
from workers.standing import candidates

ZERO = Settings(embedder="zero")
NOUS = Path(sys.executable).with_name("nous")


class Scripted(ZeroEmbedder):
    """A text's direction is the number at its end, in degrees: how near two are is known."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        made = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(made, texts, strict=True):
            angle = np.radians(float(text.rsplit(maxsplit=1)[-1]))
            row[0], row[1] = np.cos(angle), np.sin(angle)
        return made


def near(degrees: float) -> float:
    return float(np.cos(np.radians(degrees)))


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty facts that are one within 20 degrees, sixty that are two from 25 degrees on; and too few of anything else."""
    monkeypatch.setattr(providers, "embedder", lambda settings: _fitted(settings))
    made = [("same", at / 3) for at in range(60)] + [("update", 25 + at) for at in range(60)]
    lines = [{"one": f"it is {at} 0", "other": f"it is {at} {angle}", "relation": relation} for at, (relation, angle) in enumerate(made)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, [*lines, {"kind": "subject", "one": "Ann", "other": "Anna", "relation": "different"}])))
    return path


def _fitted(settings: Settings) -> Scripted:
    made = Scripted()
    for name in thresholds.OF_AN_EMBEDDER:
        if (value := getattr(settings, name)) is not None:
            setattr(made, name, value)
    return made


def by_its_profile(settings: Settings) -> Profile:
    """The profile a process starts with, which refuses twins above what is confirmed."""
    return providers._fitted(PROFILE, settings)


def by_name(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["threshold"]: one for one in told["thresholds"]}


def as_in_windows(pairs: Path) -> str:
    """With a byte-order mark, its ends of lines, and ends of lines that stand within strings."""
    more = '{"one": "a\u2028b 0", "other": "a\x85b 0", "relation": "same"}'
    return "\ufeff" + pairs.read_text().replace("\n", "\r\n") + f"\r\n\r\n{more}"


async def in_force(database: Database, settings: Settings = ZERO) -> Settings:
    return await calibrated(database, settings)


# ── fitting ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_thresholds_are_fitted_told_with_their_curve_and_nothing_is_changed(nous: Nous, database: Database, pairs: Path) -> None:
    told = await nous.json("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs))
    found = by_name(told)
    confirm, check = found["confirm_similarity"], found["check_similarity"]
    assert told["pairs"] == {"fact": 120, "subject": 1}
    assert confirm["fitted"] == pytest.approx(near(35), abs=0.011)
    assert check["fitted"] == pytest.approx(near(18), abs=0.011)
    assert confirm["interval"][0] <= confirm["fitted"] <= confirm["interval"][1]
    assert (confirm["now"], check["now"]) == (0.95, 0.85)
    point = next(one for one in check["curve"] if one["threshold"] == 0.93)
    assert point["recall"] == 1.0
    assert point["recall_interval"][0] < 1.0 <= point["recall_interval"][1]
    assert found["subject_similarity"]["fitted"] is None
    assert "20 of each are the least" in found["subject_similarity"]["reason"]
    assert told["kept"] is None
    assert await in_force(database) == ZERO


async def test_the_guard_looks_at_the_whole_of_a_pair_as_it_does_where_facts_are_confirmed(nous: Nous, pairs: Path) -> None:
    notes = "Maria drinks her coffee black. " * 40
    with pairs.open("a") as file:
        file.write("\n" + json.dumps({"one": f"{notes}The port is 5", "other": f"{notes}The port is 6", "relation": "update"}))
    found = by_name(await nous.json("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs)))
    assert found["confirm_similarity"]["pairs"] == 121
    assert {point["guarded_two"] for point in found["confirm_similarity"]["curve"]} == {0}


async def test_pairs_come_from_standard_input_as_any_program_writes_them(nous: Nous, pairs: Path) -> None:
    result = await nous("calibrate", "--thresholds", "--without-shipped", "--pairs", "-", "--json", stdin=as_in_windows(pairs))
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["pairs"] == {"fact": 121, "subject": 1}
    nothing = await nous("calibrate", "--thresholds", "--pairs", "-", stdin=b"\n{\xe9")
    assert "line 2 of standard input is no pair: it is not UTF-8" in " ".join(nothing.output.split())


async def test_a_few_pairs_at_once_come_to_the_same_as_all_of_them(nous: Nous, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs))
    at_once = await nous.json(*words)
    monkeypatch.setattr(calibrate_thresholds, "AT_ONCE", 7)
    assert await nous.json(*words) == at_once


async def test_likely_twins_are_never_looked_for_above_what_is_confirmed(nous: Nous, pairs: Path) -> None:
    found = by_name(await nous.json("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs)))
    assert found["check_similarity"]["fitted"] > found["confirm_similarity"]["fitted"]
    assert found["check_similarity"]["proposed"] == found["confirm_similarity"]["proposed"]


async def test_what_is_confirmed_falls_below_the_twins_in_force_and_takes_them_along_so_that_every_process_starts(
    nous: Nous, database: Database, pairs: Path
) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--only", "confirm_similarity")
    shown = " ".join((await nous(*words)).stdout.split())
    assert "goes to 0.82 with confirm similarity" in shown
    kept = (await nous.json(*words, "--apply"))["kept"]
    assert kept == {"confirm_similarity": pytest.approx(near(35), abs=0.011), "check_similarity": kept["confirm_similarity"]}
    assert by_its_profile(await in_force(database)).check_similarity == kept["check_similarity"]
    await keep(database, "zero", confirm_similarity=0.97, check_similarity=0.96)
    assert (await nous.json(*words, "--apply"))["kept"] == kept
    async with database.overview() as db:
        latest = (await thresholds.latest(db))["zero"]
    assert latest.values == kept
    assert latest.figures["check_similarity"]["recall"] == 1.0


async def test_twins_are_looked_for_no_higher_than_confirmed_where_the_environment_says_so_and_where_it_does_not(
    nous: Nous, database: Database, pairs: Path
) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--only", "check_similarity", "--apply")
    await keep(database, "zero", confirm_similarity=0.9)
    result = await nous(*words, NOUS_CONFIRM_SIMILARITY="0.99")
    assert result.exit_code == 0, result.output
    assert (await in_force(database)).check_similarity == 0.9
    assert (await nous(*words, NOUS_CONFIRM_SIMILARITY="0.88")).exit_code == 0
    assert (await in_force(database)).check_similarity == 0.88


async def test_what_no_process_of_this_environment_could_start_with_is_not_kept(nous: Nous, database: Database, pairs: Path) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--apply")
    result = await nous(*words, NOUS_CHECK_SIMILARITY="0.9")
    assert result.exit_code == 2
    assert "NOUS_CHECK_SIMILARITY=0.9 is set here" in " ".join(result.output.split())
    assert await in_force(database) == ZERO


async def test_twins_that_could_not_be_fitted_are_taken_along_too_and_a_store_that_holds_the_two_the_wrong_way_is_mended(
    nous: Nous, database: Database, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_twins(aim: Aim, scored: Scored) -> Fit:
        made = fitted_threshold(aim, scored)
        return replace(made, chosen=None, interval=None) if aim.name == "check_similarity" else made

    monkeypatch.setattr(calibrate_thresholds, "fitted_threshold", without_twins)
    await keep(database, "zero", confirm_similarity=0.7)
    told = await nous.json("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--apply")
    assert by_name(told)["check_similarity"]["now"] == 0.85
    assert told["kept"]["check_similarity"] == told["kept"]["confirm_similarity"]


async def test_what_is_kept_holds_for_every_start_and_the_environment_goes_before_it(nous: Nous, database: Database, pairs: Path) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--apply")
    kept = (await nous.json(*words))["kept"]
    assert set(kept) == {"confirm_similarity", "check_similarity"}
    held = await in_force(database)
    assert (held.confirm_similarity, held.check_similarity, held.episode_similarity) == (*kept.values(), None)
    assert (await in_force(database, Settings(embedder="zero", confirm_similarity=0.99))).confirm_similarity == 0.99
    result = await nous(*words, "--only", "check_similarity", NOUS_CHECK_SIMILARITY="0.7")
    assert "going before what is kept: NOUS_CHECK_SIMILARITY" in " ".join(result.stdout.split())
    async with database.overview() as db:
        latest = (await thresholds.latest(db))["zero"]
    assert set(latest.values) == set(kept)
    assert latest.figures["check_similarity"]["pairs"] == 120


async def test_what_is_kept_says_that_running_processes_take_it_at_their_next_start_and_how_they_are_started_again(
    nous: Nous, pairs: Path
) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--apply")
    shown = " ".join((await nous(*words)).stdout.split())
    assert "kept for zero, and taken at a start: workers, APIs and MCP servers that run now go by the old ones until then" in shown
    assert "start them again: stop nous up (Ctrl-C) and run it again, or each nous work, nous serve and nous mcp" in shown
    assert (await nous.json(*words))["taken_at"] == "the next start of each process"
    assert (await nous.json(*words[:-1]))["taken_at"] is None


async def test_what_was_kept_is_undone_whole_or_one_by_one_and_what_is_shipped_holds_again(
    nous: Nous, database: Database, pairs: Path
) -> None:
    words = ("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs), "--apply")
    assert "undone by: nous calibrate --thresholds --reset" in (await nous(*words)).stdout
    result = await nous("calibrate", "--thresholds", "--reset", "--only", "check_similarity")
    assert "check similarity: " in result.stdout
    assert "was kept, 0.85, as shipped, holds again" in result.stdout
    assert "and taken at a start" in result.stdout
    held = await in_force(database)
    told = await nous.json("calibrate", "--thresholds", "--reset") if held.confirm_similarity else {"reset": {}}
    assert {*told["reset"]} <= {"confirm_similarity"}
    assert await in_force(database) == ZERO
    for more, why in (
        ((), "what is shipped holds"),
        (("--only", "similarity"), "is no threshold"),
        (("--agent", "a"), "--reset fits nothing"),
    ):
        refused = await nous("calibrate", "--thresholds", "--reset", *more)
        assert (refused.exit_code, why in refused.output) == (2, True)


async def test_it_is_told_what_would_change_in_the_store(nous: Nous, database: Database, pairs: Path) -> None:
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    alike = [a_fact(agent_id="a", subject=name) for name in ("Ann", "Anne")]
    one, other = a_vector(1), a_vector(2)
    async with database.write(["a"]) as db:
        await facts.insert(db, alike)
        made = [one, one + 0.5 * other]
        await vectors.insert(db, table, [(*fact.key, vector) for fact, vector in zip(alike, made, strict=True)])
    cosine = float(made[0] @ made[1] / np.linalg.norm(made[1]))
    found = by_name(await nous.json("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs)))
    live = found["confirm_similarity"]["live"]
    assert 0.82 < cosine < 0.95
    assert (live["pairs"], live["above_now"], live["above_then"]) == (1, 0, 1)
    assert found["subject_similarity"]["live"]["above_now"] == 1


async def test_merges_a_person_judged_count_for_what_is_confirmed_and_not_for_what_is_missed(
    nous: Nous, database: Database, pairs: Path
) -> None:
    whole = a_fact(agent_id="a", content="it is here 0")
    parts = [a_fact(agent_id="a", content=f"it is there {at}", active=False, merged_into=whole.fact_id) for at in (1, 2)]
    async with database.write(["a"]) as db:
        await facts.insert(db, [whole, *parts])
    async with database.overview() as db:
        found = await audits.merges(db, (await embedders.active(db)).table, agent=None, limit=9)
    async with database.notes(["a"]) as db:
        for merge in found:
            await audits.judge(db, merge, is_one=merge.part.endswith("1"), now=clock.now())
    told = await nous.json("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs))
    assert told["pairs"]["judged merge"] == 2
    by = by_name(told)
    assert (by["confirm_similarity"]["pairs"], by["check_similarity"]["pairs"]) == (122, 120)


async def test_a_person_reads_the_curve_the_choice_and_what_to_do_next(nous: Nous, pairs: Path) -> None:
    shown = " ".join((await nous("calibrate", "--thresholds", "--without-shipped", "--pairs", str(pairs))).stdout.split())
    assert "zero: 120 fact pairs, 1 subject pair" in shown
    assert "chosen" in shown
    assert "calibrate --thresholds --apply keeps them in the store, for every replica" in shown
    assert "NOUS_THRESHOLDS_OF=zero NOUS_CONFIRM_SIMILARITY=" in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "say what to fit"),
        (("--thresholds", "--ranking", "questions.jsonl"), "say what to fit"),
        (("--thresholds", "--only", "confirm_similar"), "is no threshold (did you mean confirm_similarity?)"),
        (("--thresholds", "--language", "xx"), "there is no pair in 'xx'"),
        (("--thresholds", "--without-shipped"), "there is no pair to fit to"),
        (("--thresholds", "--pairs", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
    ],
)
async def test_what_cannot_be_meant_is_a_mistake_in_a_sentence(nous: Nous, words: tuple[str, ...], why: str) -> None:
    result = await nous("calibrate", *words)
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())


async def test_a_line_that_is_no_pair_is_named(nous: Nous, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"one": "a", "other": "b", "relation": "same"}\n{"one": "a", "other": "b", "relation": "alike"}\n')
    result = await nous("calibrate", "--thresholds", "--pairs", str(path))
    assert result.exit_code == 2
    assert f"line 2 of {path} is no pair: relation" in " ".join(result.output.split())


def test_the_shipped_pairs_are_enough_for_every_threshold_and_in_many_languages() -> None:
    made = calibrate_pairs.shipped()
    for aim in AIMS:
        labels = [pair.is_one for pair in made if pair.kind == aim.kind]
        assert min(sum(labels), len(labels) - sum(labels)) >= 20, aim.name
    assert len({pair.lang for pair in made if pair.lang}) >= 10
    assert len({(pair.kind, pair.one, pair.other) for pair in made}) == len(made)
    assert all(pair.one != pair.other for pair in made)


def test_a_threshold_that_nothing_reaches_is_not_made_up() -> None:
    chance = np.random.default_rng(1)
    scores, is_one = chance.random(200), chance.random(200) < 0.5
    fit = fitted_threshold(AIMS[0], Scored(scores, is_one, np.ones(200, bool)))
    assert fit.chosen is None
    assert fit.reason == "no threshold reaches 85% on these pairs"


# ── whose thresholds they are ─────────────────────────────────────────────────────────────────────────────────────────────


async def keep(database: Database, embedder: str, **values: float) -> None:
    async with database.switching() as db:
        await thresholds.put(db, FittedThresholds(embedder, values, clock.now()))


async def test_thresholds_of_another_embedder_do_not_hold_for_this_one(database: Database) -> None:
    await keep(database, "another", confirm_similarity=0.8, check_similarity=0.5)
    assert await in_force(database) == ZERO


async def test_a_start_with_thresholds_of_another_embedder_is_refused_with_what_to_run(database: Database, database_url: str) -> None:
    settings = Settings(embedder="zero", confirm_similarity=0.9, thresholds_of="minilm-l6-v2-int8")
    with pytest.raises(Misconfigured, match=r"NOUS_CONFIRM_SIMILARITY.*'minilm-l6-v2-int8'.*'zero'.*nous calibrate --thresholds --apply"):
        await in_force(database, settings)
    own = Settings(embedder="zero", confirm_similarity=0.9, thresholds_of="zero")
    assert (await in_force(database, own)).confirm_similarity == 0.9


@pytest.mark.parametrize("command", [("recall", "Where?", "--agent", "a"), ("audit",), ("reembed", "--to", "zero", "--check")])
async def test_every_command_that_compares_refuses_them(nous: Nous, command: tuple[str, ...]) -> None:
    result = await nous(*command, NOUS_THRESHOLDS_OF="another", NOUS_CONFIRM_SIMILARITY="0.9")
    assert result.exit_code == 2
    assert "are those of the embedder 'another'" in result.output


@pytest.mark.parametrize("command", [("work", "deduplicator"), ("serve",)])
async def test_every_process_that_serves_refuses_them(nous: Nous, command: tuple[str, ...]) -> None:
    env = os.environ | nous.env | {"NOUS_THRESHOLDS_OF": "another", "NOUS_CONFIRM_SIMILARITY": "0.9", "NOUS_API_PORT": "0"}
    process = await asyncio.create_subprocess_exec(NOUS, *command, env=env, stdout=PIPE, stderr=PIPE)
    _, told = await process.communicate()
    assert process.returncode == 2, told.decode()
    assert "are those of the embedder 'another'" in told.decode()


async def test_values_that_were_fitted_for_another_embedder_to_the_digit_are_refused_unless_they_are_said_to_be_meant(
    database: Database,
) -> None:
    await keep(database, "another", confirm_similarity=0.91, check_similarity=0.77)
    copied: dict[str, Any] = {"confirm_similarity": 0.91, "check_similarity": 0.77}
    with pytest.raises(Misconfigured, match=r"'another', as nous calibrate kept.*NOUS_THRESHOLDS_OF=zero"):
        await in_force(database, Settings(embedder="zero", **copied))
    assert (await in_force(database, Settings(embedder="zero", thresholds_of="zero", **copied))).check_similarity == 0.77
    await keep(database, "zero", **copied)
    assert (await in_force(database, Settings(embedder="zero", **copied))).check_similarity == 0.77


async def test_the_latest_fit_holds_and_an_embedder_without_thresholds_starts_once_it_has_some(database: Database) -> None:
    settings = Settings(embedder="openai", embedder_model="new", embedder_dimension=8)
    with pytest.raises(Misconfigured, match="nous calibrate --thresholds --apply"):
        providers.embedder(await in_force(database, settings))
    for confirm in (0.8, 0.9):
        await keep(database, "openai:new", confirm_similarity=confirm, check_similarity=0.7, episode_similarity=0.75)
    made = providers.embedder(await in_force(database, settings))
    assert (made.name, made.confirm_similarity, made.check_similarity) == ("openai:new", 0.9, 0.7)


async def test_a_worker_s_embedder_has_what_was_kept(database: Database, database_url: str) -> None:
    await keep(database, "zero", confirm_similarity=0.88, check_similarity=0.66)
    settings = await in_force(database)
    async with kit(settings, database_url, providers.embedder(settings), OfflineMind()) as tools:
        assert (tools.embedder.confirm_similarity, tools.embedder.check_similarity) == (0.88, 0.66)


async def test_subjects_and_words_go_by_what_was_kept_too(database: Database, database_url: str) -> None:
    await keep(database, "zero", subject_similarity=0.98, repeated_overlap=0.2)
    settings = await in_force(database)
    facts_of = [a_fact(agent_id="a", subject=name) for name in ("Katharina Vogel", "Katarina Vogel")]
    async with kit(settings, database_url, providers.embedder(settings), OfflineMind()) as tools:
        async with database.write(["a"]) as db:
            await facts.insert(db, facts_of)
            made = [a_vector(at) for at in (1, 2)]
            await vectors.insert(db, tools.registered.table, [(*one.key, row) for one, row in zip(facts_of, made, strict=True)])
        loose = replace(tools, settings=settings.model_copy(update={"subject_similarity": None}))
        async with database.read(["a"]) as db:
            why = [[one.why for one in (await candidates.find(db, which, facts_of[:1]))[0]] for which in (tools, loose)]
    assert why == [["near"], ["same subject"]]
    asked = await read(
        Tools(database, providers.embedder(settings), settings),
        "a",
        "What do we know?",
        ["Maria drinks tea in the garden under the old apple tree."],
        Wish(),
    )
    words = replace(asked.said, vectors=None)
    assert words.already("Maria drinks tea at noon", None) is not None
    assert replace(words, overlap=REPEATED).already("Maria drinks tea at noon", None) is None
