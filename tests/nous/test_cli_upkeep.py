"""`nous upkeep`: what is due is told before anything is done, begun once in its period, and seen afterwards."""

import json
from datetime import timedelta

import pytest

from nous import clock
from nous.settings import Settings
from store import episodes, facts, upkeep_runs
from store.database import Database
from store.outbox import unpublished
from tests.factories import a_fact, an_episode
from tests.nous.conftest import Nous
from workers.upkeep import tasks


async def begun(database: Database, agent: str) -> list[str]:
    """The tasks that were begun for an agent and not announced yet."""
    async with database.read([agent]) as db:
        letters = await unpublished(db, before=clock.later(clock.now(), timedelta(days=1)), limit=1_000)
    return sorted(json.loads(one.body)["task"] for one in letters if (one.agent_id, one.stream) == (agent, "maintenance_due"))


async def heard_of(database: Database, agent: str) -> None:
    async with database.write([agent]) as db:
        await facts.insert(db, [a_fact(agent_id=agent)])


async def database_runs(database: Database) -> list[upkeep_runs.Run]:
    async with database.overview() as db:
        return await upkeep_runs.latest(db)


async def test_a_dry_run_says_of_each_memory_what_and_why_and_begins_nothing(nous: Nous, database: Database) -> None:
    assert (await nous.json("upkeep", "run", "--dry-run"))["due"] == []
    told = await nous("upkeep", "run", "--dry-run")
    assert told.exit_code == 0, told.output
    assert "facts: 0 due" in told.stdout
    assert (await database_runs(database)) == []


async def test_a_dry_run_says_of_a_short_summary_that_it_is_read_first(nous: Nous, database: Database) -> None:
    began = clock.earlier(clock.now(), timedelta(days=100))
    old = {"agent_id": "a", "started_at": began, "ended_at": began, "detail": "User: It is about the harbour.", "settled_by": "closed"}
    async with database.write(["a"]) as db:
        await episodes.put(db, an_episode(**old, summary="About the harbour.", written_by="producer"))
        await episodes.put(db, an_episode(**old, summary="It is about the harbour. " * 9, written_by="producer"))
    told = await nous.json("upkeep", "run", "--dry-run", "--task", "episodes")
    archived = "none of its transcript stays at hand"
    first = "it is read first, because its summary has fewer than 50 characters (left whole where nothing more was said)"
    assert {one["would"] for one in told["due"]} == {archived, f"{first}; the day after {archived}"}
    assert told["waiting"] == {"episodes": []}


@pytest.mark.parametrize("words", [(), ("--now",), ("--dry-run", "--json")])
async def test_of_an_agent_of_whom_nothing_is_kept_nothing_is_begun(nous: Nous, database: Database, words: tuple[str, ...]) -> None:
    await heard_of(database, "harbour-desk")
    refused = await nous("upkeep", "run", "--agent", "harbor-desk", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Nothing is kept of agent 'harbor-desk' (did you mean harbour-desk?)" in " ".join(refused.output.split())
    assert await begun(database, "harbor-desk") == []


async def test_a_dry_run_says_by_which_settings_and_that_workers_have_their_own(nous: Nous) -> None:
    words = ("upkeep", "run", "--dry-run", "--task", "episodes", "--task", "facts")
    told = await nous(*words, NOUS_EPISODE_TRIM_DAYS="7", NOUS_JANITOR="demote", NOUS_JANITOR_USER_STATED="1")
    assert "episodes: 0 due, by NOUS_EPISODE_TRIM_DAYS=7 NOUS_EPISODE_ARCHIVE_DAYS=90" in told.stdout
    assert "NOUS_JANITOR=demote NOUS_JANITOR_ASSISTANT_DERIVED_DAYS=90" in told.stdout
    assert "Workers go by those of their own process" in told.stdout
    by = (await nous.json(*words, NOUS_JANITOR_USER_STATED="1"))["settings"]
    assert (set(by), by["facts"]["NOUS_JANITOR_USER_STATED"]) == ({"episodes", "facts"}, "true")


def test_every_setting_that_decides_a_task_is_a_setting() -> None:
    assert all(set(task.decided_by) <= set(Settings.model_fields) and task.decided_by for task in tasks().values())


async def test_each_task_is_begun_once_in_its_period_and_again_only_if_asked(nous: Nous, database: Database) -> None:
    assert len(json.loads((await nous("upkeep", "run", "--json")).stdout)) <= len(tasks())
    again = await nous("upkeep", "run")
    assert "begun already in this period; again now: " in again.stdout
    assert json.loads((await nous("upkeep", "run", "--json")).stdout) == []
    forced = json.loads((await nous("upkeep", "run", "--now", "--task", "facts", "--json")).stdout)
    assert [one["task"] for one in forced] == ["facts"]


async def test_one_agent_is_looked_after_at_once(nous: Nous, database: Database) -> None:
    await heard_of(database, "mine")
    told = await nous("upkeep", "run", "--agent", "mine", "--task", "facts", "--task", "episodes")
    assert told.stdout == "facts: begun for agent mine\nepisodes: begun for agent mine\n"
    assert await begun(database, "mine") == ["episodes", "facts"]


async def test_the_status_tells_each_task_and_when_it_was_begun_last(nous: Nous) -> None:
    for _ in range(25):
        await nous("upkeep", "run", "--now", "--task", "procedures")
    await nous("upkeep", "run")
    listed = json.loads((await nous("upkeep", "status", "--json")).stdout)
    assert sorted(one["task"] for one in listed) == sorted(tasks())
    told = (await nous("upkeep", "status")).stdout
    assert "\tnever\t" not in told
    assert all(task.does in " ".join(told.split()) for task in tasks().values())


async def test_a_task_that_is_none_is_refused_with_those_there_are(nous: Nous) -> None:
    refused = await nous("upkeep", "run", "--task", "fact")
    assert refused.exit_code != 0
    assert "there is no task 'fact' (did you mean facts?); the tasks are episodes, facts, procedures, transcripts" in " ".join(
        refused.output.split()
    )
