"""What is put away comes back as it was, to the byte; what is at hand is what was kept; and nothing else is touched."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy.exc import ProgrammingError

from store import episodes, passages, sessions, transcripts
from store.database import Database, erasing
from store.episodes import Episode
from store.transcripts import Transcript
from tests.factories import NOON, a_session, a_turn, an_episode, an_id
from tests.store.conftest import run

A = "agent-7"
HARD = ["", " \n\t", "咖啡", "🦊👩‍👩‍👧", "e\u0301 é", "\u202eابت", "\"\\ ' \r\n", "{}", "null", "a" * 10_000, "\u0001\u007f"]


@pytest.fixture
async def row(database: Database) -> Episode:
    """An episode with a session, and another conversation beside it."""
    made = None
    async with database.write([A]) as db:
        for _ in range(2):
            session = a_session(session_key=an_id(), session_id=str(an_id()))
            made = an_episode(episode_id=an_id(), session_key=session.session_key)
            await sessions.put(db, session)
            await episodes.put(db, made)
            for at, content in enumerate(HARD, 1):
                said_at = datetime(2026, 3, 1, 12, 0, 0, 123456 + at, tzinfo=UTC)
                turn = a_turn(session, position=at, content=content, said_at=said_at, turn_id=f"t{at}" if at % 2 else None)
                await sessions.add_turn(db, turn)
        await run(db, 'UPDATE heart.turns SET served = \'{"recall_id": "é", "memories": [1.50, null]}\' WHERE position IN (1, 4)')
    assert made
    return made


async def the_turns(database: Database) -> list[str]:
    async with database.overview() as db:
        return await run(db, "SELECT to_jsonb(t)::text FROM heart.turns t ORDER BY session_key, position")


async def test_a_transcript_comes_back_as_it_was_to_the_byte(database: Database, row: Episode) -> None:
    before = await the_turns(database)
    async with database.write([A]) as db:
        said = await transcripts.at_hand(db, row)
        size = await transcripts.put_away(db, (A, row.episode_id), said, at=NOON)
        kept = await transcripts.cold(db, A, row.episode_id)
        assert kept == transcripts.Cold(A, row.episode_id, said, said.characters, size, NOON)
        assert await transcripts.held(db, A, row.episode_id) == transcripts.Held(said.characters, size, NOON)
        assert said.bytes > size
        async with erasing(db) as erase:
            await transcripts.keep_at_hand(erase, row, Transcript(), there=said)
        assert (await transcripts.at_hand(db, row)) == Transcript()
        assert await transcripts.whole(db, replace(row, aged="archived")) == said
        async with erasing(db) as erase:
            await transcripts.keep_at_hand(erase, row, said, there=Transcript())
            await transcripts.let_go(erase, A, row.episode_id)
        assert await transcripts.cold(db, A, row.episode_id) is await transcripts.held(db, A, row.episode_id) is None
    assert await the_turns(database) == before


async def test_some_of_it_at_hand_is_that_and_the_other_conversation_is_as_it_was(database: Database, row: Episode) -> None:
    before = await the_turns(database)
    async with database.write([A]) as db:
        said = await transcripts.at_hand(db, row)
        some = replace(said, turns=(replace(said.turns[0], content="cut"), said.turns[-1]))
        async with erasing(db) as erase:
            await transcripts.keep_at_hand(erase, row, some, there=said)
        assert (await transcripts.at_hand(db, row)).turns == some.turns
        assert await transcripts.next_position(db, A, row.session_key or an_id()) == len(HARD) + 1
    others = [one for one in await the_turns(database) if str(row.session_key) not in one]
    assert others == [one for one in before if str(row.session_key) not in one]


async def test_what_was_put_away_first_keeps_its_time_when_more_is_added(database: Database, row: Episode) -> None:
    async with database.write([A]) as db:
        for days in (0, 30):
            await transcripts.put_away(db, (A, row.episode_id), Transcript(f"day {days}"), at=NOON + timedelta(days=days))
        kept = await transcripts.cold(db, A, row.episode_id)
        assert kept
        assert (kept.transcript.detail, kept.put_away_at) == ("day 30", NOON)
        assert [one.episode_id async for one in transcripts.all_cold(db, agent=A)] == [row.episode_id]
        assert await transcripts.expired(db, A, before=NOON, after=None, limit=9) == [(row.episode_id, NOON)]
        assert await transcripts.expired(db, A, before=NOON, after=row.episode_id, limit=9) == []
        assert await transcripts.expired(db, A, before=NOON - timedelta(microseconds=1), after=None, limit=9) == []


async def test_all_that_is_put_away_is_read_a_few_at_a_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "BYTES_AT_ONCE", 100)
    made = sorted(an_id() for _ in range(5))
    async with database.write(["pages"]) as db:
        for one in made:
            await episodes.put(db, an_episode(agent_id="pages", episode_id=one))
            await transcripts.put_away(db, ("pages", one), Transcript("before"), at=NOON)
        read: list[tuple[UUID, str | None]] = []
        async for one in transcripts.all_cold(db, agent="pages"):
            read.append((one.episode_id, one.transcript.detail))
            if len(read) == 1:
                for other in made:
                    await transcripts.put_away(db, ("pages", other), Transcript("since"), at=NOON)
    assert read == [(one, "before" if at < 3 else "since") for at, one in enumerate(made)]


async def test_only_for_the_block_may_a_worker_erase_and_only_what_its_transaction_is_for(database: Database, row: Episode) -> None:
    async with database.write([A]) as db, erasing(db) as erase:
        await transcripts.keep_at_hand(erase, row, Transcript(), there=await transcripts.at_hand(db, row))
    left = await the_turns(database)
    assert not any(str(row.session_key) in one for one in left)
    assert left
    async with database.write(["another"]) as db, erasing(db):
        await run(db, "DELETE FROM heart.turns")
    with pytest.raises(ProgrammingError, match="permission denied"):
        await _erase_behind_the_block(database)
    assert await the_turns(database) == left


async def _erase_behind_the_block(database: Database) -> None:
    async with database.write([A]) as db:
        async with erasing(db):
            pass
        await run(db, "DELETE FROM heart.turns")


async def test_passages_that_are_made_anew_take_the_place_of_those_that_say_something_else(database: Database, row: Episode) -> None:
    async with database.write([A]) as db:
        await passages.put(db, A, row.episode_id, [(one, NOON) for one in ("one", "two", "three")])
        async with erasing(db) as erase:
            await passages.remake(erase, A, row.episode_id, [("one", NOON), ("zwei", NOON)])
        assert [one.content for one in await passages.of_episode(db, A, row.episode_id)] == ["one", "zwei"]
        assert await run(db, "SELECT count(*) FROM heart.passages") == [2]
        waiting = set(await run(db, "SELECT memory_id FROM bus.unembedded"))
        assert waiting == {passages.id_of(A, row.episode_id, at) for at in (0, 1)}
        async with erasing(db) as erase:
            await passages.remake(erase, A, row.episode_id, [])
        assert await run(db, "SELECT count(*) FROM heart.passages") == await run(db, "SELECT count(*) FROM bus.unembedded") == [0]
