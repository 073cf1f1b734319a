"""Forgetting, as a person has it done, with every worker running: what is gone, what stays, what is refused afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

import workers
from nous import embedded
from nous.forgetting import fact as forget
from nous.forgetting import stores as forgetting
from store import agents, facts, forgotten, mentions, replays
from store.database import Database
from tests.factories import a_fact as a_row
from tests.factories import a_mention
from tests.nous.conftest import Nous, PortsAreAlike, at_work, contents, learned
from tests.store.conftest import run
from tests.workers.episodes import AGENT, DRINKS, LIVES, OSLO, TALK, TEA, WritingMind, a_fact
from workers.runtime.app import Process
from workers.runtime.worker import Kit

HOME, AWAY, LATER = "Maria lives in Oslo.", "Maria lives in Bergen.", "Maria lives in Rome."
WHY = ("--because", "she asked for it", "--yes")


@pytest.fixture
def mind() -> WritingMind:
    made = WritingMind(LIVES, DRINKS)
    for one, other in ((HOME, AWAY), (AWAY, LATER), (HOME, LATER)):
        made.says(one, "updates", other)
    return made


@pytest.fixture
async def working(nous: Nous, kit: Kit, stack: embedded.Stack, mind: WritingMind) -> AsyncIterator[None]:
    """Every worker, asking the scripted mind."""
    async with at_work(replace(kit, embedder=PortsAreAlike(), mind=mind), stack):
        yield


async def forgotten_(nous: Nous, fact: str, exit_code: int = 0) -> Any:
    result = await nous("fact", "forget", fact, *WHY, "--json")
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


@pytest.mark.usefixtures("working")
async def test_what_a_forgotten_fact_had_retired_stays_retired_whatever_is_settled_later(nous: Nous) -> None:
    await learned(nous, HOME, 1)
    bergen = await learned(nous, AWAY, 2)
    done = await forgotten_(nous, bergen)
    assert (done["is_whole"], done["same_words"], done["forgotten"]) == (True, [], [bergen])
    assert (await contents(nous), await contents(nous, "--all")) == ([], [HOME])
    await learned(nous, HOME, 1, event_id="the same day again")
    assert await contents(nous) == []
    await learned(nous, LATER, 5)
    assert await contents(nous) == [LATER]


@pytest.mark.usefixtures("working")
async def test_why_a_fact_was_pinned_is_forgotten_with_it(nous: Nous, database: Database) -> None:
    oslo = await learned(nous, HOME, 1)
    assert (await nous("fact", "pin", oslo, "--because", f"we rely on it: {HOME}")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    done = await forgotten_(nous, oslo)
    assert (done["is_whole"], done["same_words"]) == (True, [])
    assert await stored(database, "SELECT pinned_at FROM heart.facts") == [None]


EPISODE = "11111111-1111-1111-1111-111111111111"
CLOSED = ("publish", "episode_closed", f"episode_id={EPISODE}", f"agent_id={AGENT}", f"transcript={TALK}")


async def the_fact(nous: Nous, content: str) -> str:
    (found,) = [one["fact_id"] for one in await nous.json("facts") if one["content"] == content]
    return str(found)


async def stored(database: Database, query: str) -> list[Any]:
    async with database.overview() as db:
        return await run(db, query)


@pytest.mark.usefixtures("working")
async def test_the_words_of_an_episode_go_with_a_fact_and_what_is_left_of_it_is_summarised_again_and_teaches_nothing_twice(
    nous: Nous, redis: Redis, database: Database, mind: WritingMind
) -> None:
    mind.fields["summary"] = f"She said: {OSLO}"
    await nous(*CLOSED)
    assert (await nous("wait")).exit_code == 0
    mind.fields["summary"] = "She spoke of tea."
    done = await forgotten_(nous, await the_fact(nous, LIVES["content"]))
    assert (done["is_whole"], done["left"], done["same_words"], done["episodes"]) == (True, [], [], [EPISODE])
    assert (await nous("wait")).exit_code == 0
    ((detail, summary),) = await stored(database, "SELECT detail, summary FROM heart.episodes")
    assert (detail, summary) == (TALK.replace("I live in Oslo", "[forgotten]"), "She spoke of tea.")
    assert await contents(nous) == [DRINKS["content"]]
    assert len((await nous.json("facts"))[0]["mentions"]) == 1
    assert await redis.xlen("fact_stored") == 1
    await nous(*CLOSED)
    assert (await nous("wait")).exit_code == 0
    assert await stored(database, "SELECT count(*) FROM bus.events WHERE position('in Oslo'::bytea IN body) > 0") == [0]
    assert await contents(nous, "--all") == [DRINKS["content"]]


@pytest.mark.usefixtures("working")
async def test_facts_that_rest_on_the_same_words_are_told_before_and_go_too(nous: Nous, mind: WritingMind) -> None:
    mind.facts.append(a_fact("Maria lives somewhere and drinks tea.", f"{OSLO} {TEA}"))
    await nous(*CLOSED)
    assert (await nous("wait")).exit_code == 0
    lives = await the_fact(nous, LIVES["content"])
    planned = await nous.json("fact", "forget", lives, "--because", "she asked", "--dry-run")
    assert {one["content"] for one in planned["facts"]} == {LIVES["content"], DRINKS["content"], "Maria lives somewhere and drinks tea."}
    assert len(await contents(nous)) == 3
    assert len((await forgotten_(nous, lives))["forgotten"]) == 3
    assert await contents(nous, "--all") == []


@pytest.mark.usefixtures("working")
async def test_the_same_event_is_refused_and_the_same_words_in_a_new_event_are_a_new_memory_also_under_the_same_id(nous: Nous) -> None:
    first = await learned(nous, HOME, 1, event_id="first")
    await forgotten_(nous, first)
    await learned(nous, HOME, 1, event_id="first", fact_id=first)
    assert await contents(nous, "--all") == []
    await learned(nous, HOME, 1, event_id="second", fact_id=first)
    (again,) = await nous.json("facts")
    assert (again["content"], again["active"], again["fact_id"] != first) == (HOME, True, True)
    assert (await nous.json("fact", "forget", first, "--because", "again", "--dry-run"))["facts"][0]["fact_id"] == again["fact_id"]


@pytest.mark.usefixtures("working")
async def test_what_only_holds_the_same_words_is_told_and_left_alone(nous: Nous) -> None:
    home = await learned(nous, HOME, 1)
    await nous("publish", "decision_recorded", f"description=Write to her: {HOME}", "agent_id=a", f"decision_id={EPISODE}")
    assert (await nous("wait")).exit_code == 0
    done = await forgotten_(nous, home)
    assert (done["is_whole"], done["left"]) == (True, [])
    assert any(f"brain.decisions (brief, description): decision_id {EPISODE}" in one for one in done["same_words"])
    assert [one["decision_id"] for one in await nous.json("decisions")] == [EPISODE]


async def test_an_entry_that_a_group_still_holds_is_not_deleted_and_running_it_again_finishes(
    nous: Nous, redis: Redis, kit: Kit, stack: embedded.Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(Process(list(workers.table().values()), kit, stack.redis_url).run(stop))
    home = await learned(nous, HOME, 1)
    stop.set()
    await running
    await redis.xgroup_create("fact_learned", "slow", id="0")
    monkeypatch.setattr(forgetting, "REDIS_PATIENCE_S", 0.5)
    done = await forgotten_(nous, home, exit_code=1)
    assert (done["is_whole"], "not read by the group slow" in done["left"][0]) == (False, True)
    assert await redis.xlen("fact_learned") == 1
    await redis.xgroup_destroy("fact_learned", "slow")
    again = await nous("fact", "forget", home, *WHY)
    assert again.exit_code == 0, again.output
    assert "forgotten on " in again.stdout
    assert await redis.xlen("fact_learned") == 0


@pytest.mark.usefixtures("working")
async def test_nobody_is_asked_where_nobody_can_answer_and_the_reason_never_holds_the_words(nous: Nous) -> None:
    home = await learned(nous, HOME, 1)
    unsure = await nous("fact", "forget", home, "--because", "she asked")
    assert (unsure.exit_code, "add --yes" in unsure.stderr) == (2, True)
    telling = await nous("fact", "forget", home, "--because", f"it said {HOME}", "--yes")
    assert (telling.exit_code, "say why in other words" in telling.stderr) == (2, True)
    assert await contents(nous) == [HOME]


@pytest.mark.usefixtures("working")
async def test_a_forgotten_fact_is_called_forgotten_wherever_it_is_asked_about(nous: Nous) -> None:
    home = await learned(nous, HOME, 1)
    await forgotten_(nous, home)
    for words in (("fact", "restore", home, "--because", "no"), ("fact", "split", home, "--because", "no")):
        refused = await nous(*words)
        assert (refused.exit_code, "was forgotten on" in refused.stderr) == (2, True)
    told = await nous("explain", "fact", home)
    assert told.exit_code == 0, told.output
    assert "UTC by operator, because: she asked for it)" in told.stdout
    assert "was forgotten since" in told.stdout
    assert [one for one in (HOME, "(nothing)") if one in told.stdout] == []
    story = await nous.json("explain", "fact", home)
    assert (story["forgotten"]["by"], story["forgotten"]["reason"]) == ("operator", "she asked for it")


@pytest.mark.usefixtures("working")
async def test_the_story_of_what_a_forgotten_fact_retired_says_that_it_was_forgotten(nous: Nous) -> None:
    home = await learned(nous, HOME, 1)
    await forgotten_(nous, await learned(nous, AWAY, 2))
    told = await nous("explain", "fact", home)
    assert ("(forgotten on " in told.stdout, "(nothing)" in told.stdout) == (True, False), told.stdout


@pytest.mark.usefixtures("working")
async def test_replay_stores_forget_it_too_with_its_words_in_what_they_took_as_given(nous: Nous, database_url: str, template: str) -> None:
    home = await learned(nous, HOME, 1, event_id="in both")
    store = Database(await beside(database_url, template), pool=1)
    row = a_row(agent_id="a", content=f"{HOME} Still.", stored_by="in both")
    async with store.write(["a"]) as db:
        await facts.insert(db, [row])
        await mentions.insert(db, [a_mention(row, event_id="in both", content=HOME)])
    done = await forgotten_(nous, home)
    assert (done["replays"], done["is_whole"]) == (["beside"], True)
    async with store.read(["a"]) as db:
        assert await facts.listed(db, agent="a", inactive=True, limit=None) == []
        assert await forgotten.events(db, "a", "fact_learned", ["in both"]) == {"in both"}
    await store.close()
    await replays.give_up(database_url, "beside")


@pytest.mark.usefixtures("working")
async def test_a_replay_of_only_a_part_gives_up_the_words_of_answers_it_took_as_given(
    nous: Nous, database: Database, database_url: str, template: str
) -> None:
    await learned(nous, HOME, 1)
    away = await learned(nous, AWAY, 2)
    url = await beside(database_url, template)
    store = Database(url, pool=1)
    await replays.copy_given(database, store, "a")
    assert await stored(store, "SELECT newer FROM bus.answers") == [AWAY]
    done = await forgotten_(nous, away)
    assert (done["replays"], done["is_whole"], done["left"]) == (["beside"], True, [])
    assert await stored(store, "SELECT newer FROM bus.answers") == []
    await store.close()
    await replays.give_up(database_url, "beside")


@pytest.mark.usefixtures("working")
async def test_a_replay_that_could_not_be_looked_into_forgets_when_the_command_is_run_again(
    nous: Nous, database_url: str, template: str
) -> None:
    home = await learned(nous, HOME, 1, event_id="in both")
    url = await beside(database_url, template)
    store = Database(url, pool=1)
    row = a_row(agent_id="a", content=HOME, stored_by="in both")
    async with store.write(["a"]) as db:
        await facts.insert(db, [row])
        await mentions.insert(db, [a_mention(row, event_id="in both", content=HOME)])
    owner = await asyncpg.connect(url)
    await owner.execute("ALTER TABLE heart.fact_versions RENAME TO as_it_was_before_a_migration")
    done = await forgotten_(nous, home, exit_code=1)
    assert "replay beside could not be looked into" in done["left"][0]
    await owner.execute("ALTER TABLE heart.as_it_was_before_a_migration RENAME TO fact_versions")
    await owner.close()
    assert (await forgotten_(nous, home))["replays"] == ["beside"]
    assert await stored(store, "SELECT content FROM heart.facts") == [""]
    await store.close()
    await replays.give_up(database_url, "beside")


@pytest.mark.usefixtures("working")
async def test_forgotten_by_two_at_once_it_is_decided_once_and_both_say_so(
    nous: Nous, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await learned(nous, HOME, 1)
    quicker: list[Any] = []

    async def beside_and_another(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(forget, "beside", forgetting.beside)
        quicker.append(await forgotten_(nous, home))

    monkeypatch.setattr(forget, "beside", beside_and_another)
    done = await forgotten_(nous, home)
    assert [quicker[0]["forgotten"], done["forgotten"]] == [[home], [home]]
    assert len(await stored(database, "SELECT event_id FROM bus.receipts WHERE stream = 'fact_forgotten'")) == 1


async def beside(database_url: str, template: str) -> str:
    """An empty replay store of this name, and where it is."""
    url = replays.url_of(database_url, "beside")
    owner = await asyncpg.connect(database_url)
    await owner.execute(f'CREATE DATABASE "{url.rpartition("/")[2]}" TEMPLATE {template}')
    await owner.close()
    return url


# ── an agent ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_all_of_an_agent_goes_however_much_it_is_and_nothing_of_another(nous: Nous, redis: Redis, database: Database) -> None:
    await learned(nous, HOME, 1, agent_id="gone-agent")
    await learned(nous, HOME, 1, agent_id="other")
    await nous("publish", "episode_closed", f"episode_id={EPISODE}", "agent_id=gone-agent", f"transcript={TALK}")
    assert (await nous("wait")).exit_code == 0
    async with database.write(["gone-agent"]) as db:
        await facts.insert(db, [a_row(agent_id="gone-agent") for _ in range(agents.ROWS_AT_ONCE + 2)])
    result = await nous("agent", "forget", "gone-agent", *WHY, "--json")
    assert result.exit_code == 0, result.output
    done = json.loads(result.stdout)
    assert (done["is_whole"], done["left"], done["erased"]["heart.facts"] > agents.ROWS_AT_ONCE) == (True, [], True)
    async with database.overview() as db:
        assert await agents.sizes(db, "gone-agent") == {}
        assert (await agents.sizes(db, "other"))["heart.facts"] == 1
    for stream in ("fact_learned", "fact_stored", "episode_closed"):
        assert all(b"gone-agent" not in fields[b"data"] for _, fields in await redis.xrange(stream))
    await learned(nous, AWAY, 2, agent_id="gone-agent")
    assert await contents(nous, "--agent", "gone-agent") == [AWAY]
    assert await contents(nous, "--agent", "other") == [HOME]


async def test_an_agent_nobody_knows_cannot_be_forgotten(nous: Nous) -> None:
    unknown = await nous("agent", "forget", "nobody-at-all", *WHY)
    assert (unknown.exit_code, "nothing is kept of an agent 'nobody-at-all'" in unknown.stderr) == (2, True)


@pytest.mark.usefixtures("working")
async def test_what_nearly_says_the_same_is_told_before_and_after_and_left_alone(nous: Nous) -> None:
    fact = await learned(nous, "The port of staging is 8080.", 1, subject="staging")
    near = await learned(nous, "Staging listens on port 8080.", 2, subject="staging")
    await learned(nous, "Maria drinks tea.", 3)
    dry = await nous.json("fact", "forget", fact, *WHY, "--dry-run")
    assert [(one["fact_id"], one["content"]) for one in dry["alike"]] == [(near, "Staging listens on port 8080.")]
    told = await nous("fact", "forget", fact, *WHY, "--dry-run")
    assert "these say nearly the same, and stay; forget them too if they are meant" in told.stdout
    assert f"nous fact forget {near} --because" in told.stdout
    done = await forgotten_(nous, fact)
    assert [one["fact_id"] for one in done["alike"]] == [near]
    assert near in [one["fact_id"] for one in await nous.json("facts")]
    assert (await forgotten_(nous, near))["alike"] == []
