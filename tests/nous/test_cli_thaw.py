"""What an old episode is to a person: what of it is at hand, how it came to that, how it is had whole again, and how it is forgotten."""

from dataclasses import replace
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from nous import clock
from nous.errors import UserMistake
from recall import sessions
from recall.tools import Tools
from store import episodes, passages, transcripts
from store.database import Database
from store.episodes import Episode
from tests.nous.conftest import Nous
from tests.nous.living import Living
from tests.nous.test_replay_ageing import A, spoke, upkeep
from tests.store.conftest import run
from tests.workers.ageing import BEGAN, SENTENCES
from tests.workers.conftest import ScriptedEmbedder
from tests.workers.episodes import DRINKS, LIVES, OSLO, TEA, WritingMind
from workers.runtime.worker import Kit

DAY = timedelta(days=1)
MIDDLE = [(f"{at}. {SENTENCES * 4}", SENTENCES * 3) for at in range(8)]
BECAUSE = ("--because", "she asks for it")


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind(LIVES, DRINKS, lessons=[])


@pytest.fixture
def kit(kit: Kit, mind: WritingMind) -> Kit:
    return replace(kit, embedder=ScriptedEmbedder(), mind=mind)


@pytest.fixture
def living(kit: Kit, redis: Redis) -> Living:
    return Living(kit, redis)


async def aged(living: Living, *, days: float) -> Episode:
    """A conversation in whose middle she says where she lives, so many days after it."""
    told = [(f"Good morning. {SENTENCES * 4}", SENTENCES), *MIDDLE[:4], (f"{OSLO} {SENTENCES}", "Noted."), *MIDDLE[4:], (TEA, "Noted.")]
    await spoke(living, "chat", told)
    await upkeep(living, "episodes", days=days)
    return await the_one(living)


async def the_one(living: Living) -> Episode:
    async with living.kit.database.read([A]) as db:
        return (await episodes.listed(db, agent=A, inactive=True, limit=None))[0]


async def turns(database: Database) -> list[str]:
    async with database.overview() as db:
        return await run(db, "SELECT content FROM heart.turns ORDER BY said_at, position")


async def test_an_episode_says_what_of_it_is_at_hand_and_how_it_is_had_whole(nous: Nous, living: Living, database: Database) -> None:
    row = await aged(living, days=31)
    shown = " ".join((await nous("episode", "show", str(row.episode_id)[:8])).stdout.split())
    assert "characters are put away …]" in shown
    away = f"all of it is put away: found by recall in its own words, and had whole by: nous episode thaw {row.episode_id} --because"
    assert f"trimmed: of what was said the first and last parts are at hand; {away}" in shown
    await upkeep(living, "episodes", days=91)
    shown = " ".join((await nous("episode", "show", str(row.episode_id)[:8])).stdout.split())
    assert f"archived: of what was said nothing is at hand; {away}" in shown
    assert away in " ".join((await nous("session", "show", "chat", "--agent", A)).stdout.split())
    thawed = await nous("episode", "thaw", str(row.episode_id)[:8], *BECAUSE)
    assert thawed.exit_code == 0, thawed.output
    assert thawed.stdout.startswith(f"episode {row.episode_id} of {A}: all that was said is at hand, ")
    assert any(OSLO in one for one in await turns(database))
    kept = (await the_one(living)).whole_until
    assert kept
    assert timedelta(days=29) < kept - clock.now() < timedelta(days=31)
    again = await nous("episode", "thaw", str(row.episode_id), *BECAUSE)
    assert (again.exit_code, "to keep it so, say until when" in " ".join(again.output.split())) == (2, True)
    for until, code in (("2999-01-01", 0), ("2020-01-01", 2), ("soon", 2)):
        assert (await nous("episode", "thaw", str(row.episode_id), *BECAUSE, "--until", until)).exit_code == code, until
    assert str((await the_one(living)).whole_until).startswith("2999-01-01")
    shorter = await nous("episode", "thaw", str(row.episode_id), *BECAUSE, "--until", "2998-01-01")
    undo = f"nous episode thaw {row.episode_id} --because '…' --until 2999-01-01T00:00:00+00:00"
    assert f"before, it was to stay whole until 2999-01-01 00:00; to put that back: {undo}" in shorter.stdout


async def test_a_passage_is_told_in_its_own_words_beside_the_story_of_its_conversation(nous: Nous, living: Living) -> None:
    row = await aged(living, days=91)
    async with living.kit.database.read([A]) as db:
        passage = next(one for one in await passages.of_episode(db, A, row.episode_id) if OSLO in one.content)
    shown = (await nous("explain", f"t-{str(passage.passage_id)[:8]}")).stdout
    assert shown.startswith(f"Passage {passage.place + 1}, of ")
    assert OSLO in shown[: shown.index("It stands in this conversation:")]
    assert str(row.episode_id) in shown
    told = await nous.json("explain", "passage", str(passage.passage_id))
    assert told["passage"]["content"] == passage.content
    assert "passage" not in await nous.json("explain", "episode", str(row.episode_id))


async def test_every_list_says_how_much_there_is_of_what_was_said(nous: Nous, living: Living) -> None:
    row = await aged(living, days=1)
    for task, days, state in (
        ("episodes", 2, "whole"),
        ("episodes", 31, "trimmed"),
        ("episodes", 91, "archived"),
        ("transcripts", 0, "let go of"),
    ):
        await upkeep(living, task, days=days or (clock.now() - BEGAN) / DAY + 366)
        listed = [line.split("\t") for line in (await nous("episodes")).stdout.splitlines()]
        assert (listed[0][3:5], listed[1][3:5]) == (["state", "transcript"], ["summarised", state])
        (told,) = await nous.json("episodes")
        shown = await nous.json("episode", "show", str(row.episode_id))
        story = await nous.json("explain", "episode", str(row.episode_id))
        of_session = await nous.json("session", "show", "chat", "--agent", A)
        assert {one["transcript_state"] for one in (told, shown["episode"], story["episode"], of_session["episode"])} == {state}
        assert f"summarised · transcript {state} · " in (await nous("episode", "show", str(row.episode_id))).stdout
        assert f"; transcript {state}" in (await nous("session", "show", "chat", "--agent", A)).stdout


async def test_what_became_of_it_is_told_step_by_step_and_the_words_of_a_fact_are_found_while_they_are_kept(
    nous: Nous, living: Living
) -> None:
    row = await aged(living, days=31)
    await upkeep(living, "episodes", days=91)
    (fact,) = [one["fact_id"] for one in await nous.json("facts") if one["content"] == LIVES["content"]]
    told = await nous.json("explain", "fact", fact)
    assert OSLO in next(step["source"]["said"]["content"] for step in told["story"] if "source" in step)
    page = " ".join((await nous("explain", "episode", str(row.episode_id))).stdout.split())
    assert "aged: nothing before, trimmed since" in page
    assert "aged: trimmed before, archived since" in page
    assert "put away: " in page
    await nous("episode", "thaw", str(row.episode_id), *BECAUSE)
    await upkeep(living, "episodes", days=5_000)
    await upkeep(living, "transcripts", days=6_000)
    page = " ".join((await nous("explain", "episode", str(row.episode_id))).stdout.split())
    assert "aged: archived before, nothing since" in page
    assert "she asks for it" in page
    story = (await nous.json("explain", "episode", str(row.episode_id)))["story"]
    assert [one["happened"] for one in story if one.get("worker") in ("episode_ager", "operator")][:3] == ["trimmed", "archived", "thawed"]


async def test_a_fact_is_forgotten_from_what_was_put_away_too(nous: Nous, living: Living, database: Database) -> None:
    row = await aged(living, days=31)
    assert not any(OSLO in one for one in await turns(database)), "it stands in what was put away alone"
    (fact,) = [one["fact_id"] for one in await nous.json("facts") if one["content"] == LIVES["content"]]
    done = await nous("fact", "forget", fact, *BECAUSE, "--yes", "--json")
    assert done.exit_code == 0, done.output
    async with database.read([A]) as db:
        kept = await transcripts.cold(db, A, row.episode_id)
    assert kept
    assert "Oslo" not in str(kept.transcript)
    assert "[forgotten]" in str(kept.transcript)
    await living.settle()
    now = await the_one(living)
    assert (bool(now.summary), now.aged) == (True, "trimmed"), "it is summarised again, from all that is left of it"
    await nous("episode", "thaw", str(row.episode_id), *BECAUSE)
    said = await turns(database)
    assert not any("Oslo" in one for one in said)
    assert [one.startswith("[forgotten]") for one in said].count(True) == 1
    async with database.overview() as db:
        assert await run(db, "SELECT count(*) FROM heart.passages WHERE content LIKE '%Oslo%'") == [0]


async def test_what_was_let_go_of_is_called_so_and_cannot_be_had_whole(nous: Nous, living: Living) -> None:
    row = await aged(living, days=31)
    await upkeep(living, "transcripts", days=31 + 365)
    shown = " ".join((await nous("episode", "show", str(row.episode_id))).stdout.split())
    assert "summarised · transcript let go of" in shown
    assert "the first and last parts are at hand; the rest was let go of 2021-" in shown
    assert "episode thaw" not in shown
    assert "let go of: " in " ".join((await nous("explain", "episode", str(row.episode_id))).stdout.split())
    refused = await nous("episode", "thaw", str(row.episode_id), *BECAUSE)
    assert (refused.exit_code, "nobody can have it whole again" in " ".join(refused.output.split())) == (2, True)


async def told_again(living: Living, said: str, *, moment: bool) -> None:
    """The turn that said where she lives, under its old id."""
    at = BEGAN + timedelta(minutes=5) if moment else None
    await sessions.start_turn(Tools(living.kit.database, living.kit.embedder, living.kit.settings), A, "chat", said, at=at, turn_id="t5")


@pytest.mark.parametrize("days", [1, 31, 91, 31 + 365], ids=["whole", "trimmed", "archived", "let go of"])
async def test_words_that_were_forgotten_do_not_come_back_with_their_turn_and_leave_no_digest(
    nous: Nous, living: Living, database: Database, days: int
) -> None:
    row = await aged(living, days=min(days, 91))
    if days > 91:
        await upkeep(living, "transcripts", days=91 + days)
    (fact,) = [one["fact_id"] for one in await nous.json("facts") if one["content"] == LIVES["content"]]
    done = await nous("fact", "forget", fact, *BECAUSE, "--yes", "--json")
    assert done.exit_code == 0, done.output
    await living.settle()
    if days == 1:
        await upkeep(living, "episodes", days=91)
    for moment in (True, False):
        with pytest.raises(UserMistake, match="words of it were forgotten since"):
            await told_again(living, f"{OSLO} {SENTENCES}", moment=moment)
    async with database.overview() as db:
        assert await run(db, "SELECT count(*) FROM heart.turns WHERE content LIKE '%Oslo%'") == [0]
        kept = await run(db, "SELECT digest FROM heart.turns_known WHERE turn_id = 't5' AND speaker = 'user'")
        assert kept == [None]
        (others,) = await run(db, "SELECT count(digest) FROM heart.turns_known")
        assert bool(others) == (days <= 91), "of what was let go of nobody can tell which turn said it"
    assert (await the_one(living)).episode_id == row.episode_id


async def test_the_same_words_in_what_was_put_away_of_another_conversation_are_told(nous: Nous, living: Living, mind: WritingMind) -> None:
    await aged(living, days=31)
    mind.facts = []
    await spoke(
        living, "another", [(f"Good evening. {SENTENCES * 8}", SENTENCES * 8), (f"A song: {LIVES['content']}", SENTENCES * 30), *MIDDLE]
    )
    await upkeep(living, "episodes", days=91)
    (fact,) = [one["fact_id"] for one in await nous.json("facts") if one["content"] == LIVES["content"]]
    done = await nous("fact", "forget", fact, *BECAUSE, "--yes")
    assert "heart.transcripts_cold (packed): episode_id" in " ".join(done.stdout.split())


async def test_a_forgotten_agent_leaves_nothing_put_away(nous: Nous, living: Living, database: Database) -> None:
    await aged(living, days=91)
    done = await nous("agent", "forget", A, "--because", "its user left", "--yes", "--json")
    assert done.exit_code == 0, done.output
    async with database.overview() as db:
        for table in ("heart.transcripts_cold", "heart.turns", "heart.turns_known", "heart.passages", "heart.memory_usage"):
            assert await run(db, f"SELECT count(*) FROM {table}") == [0], table
