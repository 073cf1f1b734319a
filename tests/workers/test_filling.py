"""Filling: what was there before search is found, and what is written gets its vector, whatever the embedder does meanwhile."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from nous import clock
from nous.errors import Outage
from nous.terms import terms
from providers.embedder import EmbeddingRefused, Vectors
from providers.zero import ZeroEmbedder
from store import decisions, episodes, facts, passages, procedures, sessions, unembedded, versions, wordless
from store.database import Database
from store.search import KINDS, Found, search
from tests.factories import NOON, a_decision, a_fact, a_procedure, a_session, a_turn, a_vector, an_episode
from tests.store.conftest import run
from workers.runtime import filling
from workers.runtime.worker import Kit

UNFILLED = ("heart.facts", "heart.episodes", "brain.decisions", "heart.procedures")


async def found(kit: Kit, question: str, **over: Any) -> list[Found]:
    async with kit.database.read(["a"]) as db:
        given: dict[str, Any] = {"vector": None, "embedder": kit.registered, "terms": terms(question)} | over
        return await search(db, "a", KINDS, **given)


async def lived(database: Database) -> None:
    """One memory of each kind that there was before search, all about a ferry; the fact was confirmed once."""
    fact = a_fact(agent_id="a", content="The ferry leaves at nine", recorded_by="first")
    session = a_session(agent_id="a")
    episode = an_episode(agent_id="a", session_key=session.session_key, title="Ferry", brief="Ferry", settled_by="event-1")
    async with database.write(["a"]) as db:
        await facts.insert(db, [fact])
        await facts.confirm(db, [replace(fact, confirmation_count=1, recorded_at=NOON + timedelta(hours=1), recorded_by="second")])
        await sessions.put(db, session)
        await sessions.add_turn(db, a_turn(session, content="Was the ferry late?"))
        await episodes.put(db, episode)
        await decisions.put(db, [a_decision(agent_id="a", description="Take the ferry")])
        await procedures.put(db, [a_procedure(agent_id="a", name="Catching the ferry")])
        for table in UNFILLED:
            await run(db, f"UPDATE {table} SET words = NULL, word_count = NULL")
        await run(db, "DELETE FROM bus.unembedded")


async def test_what_was_there_before_search_is_found_when_it_is_filled_and_no_fact_gets_a_version(kit: Kit) -> None:
    await lived(kit.database)
    async with kit.database.overview() as db:
        before = await run(db, "SELECT t::text FROM heart.fact_versions t ORDER BY 1")
        assert len(before) == 2
        assert await wordless.count(db) == 4
    assert await found(kit, "ferry") == []
    assert await filling.fill(kit) == 4 + 3
    assert sorted(one.kind for one in await found(kit, "ferry")) == sorted(KINDS)
    near = await found(kit, "", vector=a_vector(1))
    assert {one.kind for one in near} == {"decision", "procedure", "passage"}
    async with kit.database.overview() as db:
        assert await run(db, "SELECT t::text FROM heart.fact_versions t ORDER BY 1") == before
        assert await wordless.count(db) == await unembedded.count(db) == 0
    assert await filling.fill(kit) == 0


async def test_a_change_of_a_fact_still_makes_a_version(kit: Kit) -> None:
    fact = a_fact(agent_id="a")
    async with kit.database.write(["a"]) as db:
        await facts.insert(db, [fact])
        for count in (1, 2):
            await facts.confirm(db, [replace(fact, confirmation_count=count, recorded_at=NOON + timedelta(hours=count))])
    async with kit.database.overview() as db:
        assert await run(db, "SELECT confirmation_count FROM heart.fact_versions ORDER BY version") == [0, 1, 2]
        assert await run(db, "SELECT count(*) FROM heart.fact_versions WHERE recorded_to IS NULL") == [1]
        then = await versions.listed(db, known_at=NOON + timedelta(hours=1), agent="a", inactive=False, limit=9)
    assert [one.confirmation_count for one in then] == [1]


class Unwell(ZeroEmbedder):
    """Away, or one that refuses texts with a word in them."""

    def __init__(self, *, is_away: bool = False, refuses: str = "\0") -> None:
        super().__init__()
        self.is_away, self.refuses = is_away, refuses

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.is_away:
            raise Outage("the embedder", "it is down")
        if any(self.refuses in text for text in texts):
            raise EmbeddingRefused(self.name, length=1, why="it will not")
        return await super().embed(texts)


async def test_while_the_embedder_is_away_the_words_are_found_and_the_vector_comes_when_it_is_back(kit: Kit) -> None:
    async with kit.database.write(["a"]) as db:
        await decisions.put(db, [a_decision(agent_id="a", description="Take the ferry")])
    with pytest.raises(Outage):
        await filling.fill(replace(kit, embedder=Unwell(is_away=True)))
    assert [one.kind for one in await found(kit, "ferry")] == ["decision"]
    with clock.held(clock.now() + 2 * filling.LEASE):
        assert await filling.fill(kit) == 1
    assert [one.kind for one in await found(kit, "", vector=a_vector(1))] == ["decision"]


async def test_a_text_the_embedder_refuses_keeps_no_other_from_its_vector_and_is_asked_for_again(kit: Kit) -> None:
    async with kit.database.write(["a"]) as db:
        await decisions.put(db, [a_decision(agent_id="a", description=said) for said in ("Take the ferry", "Take the forbidden bus")])
    assert await filling.fill(replace(kit, embedder=Unwell(refuses="forbidden"))) == 1
    async with kit.database.overview() as db:
        assert await unembedded.count(db) == 1
    assert await filling.fill(kit) == 0, "not at once"
    with clock.held(clock.now() + filling.REFUSED_WAIT):
        assert await filling.fill(kit) == 1


async def test_what_says_something_new_while_it_is_embedded_gets_the_vector_of_that(kit: Kit) -> None:
    decision = a_decision(agent_id="a", description="Take the ferry")
    async with kit.database.write(["a"]) as db:
        await decisions.put(db, [decision])

    class Changing(ZeroEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            async with kit.database.write(["a"]) as db:
                await decisions.put(db, [replace(decision, description="Take the bus")])
            return np.asarray(await super().embed(texts))

    assert await filling._vectors(replace(kit, embedder=Changing())) == 1
    assert await found(kit, "", vector=a_vector(1)) == []
    assert await filling.fill(kit) == 1
    made = (await kit.embedder.embed(["Take the bus"]))[0]
    assert (await found(kit, "", vector=made))[0].similarity == pytest.approx(1.0, abs=1e-2)


async def test_a_decision_that_is_reviewed_and_says_the_same_is_not_embedded_again(kit: Kit) -> None:
    decision = a_decision(agent_id="a")
    async with kit.database.write(["a"]) as db:
        await decisions.put(db, [decision])
    assert await filling.fill(kit) == 1
    async with kit.database.write(["a"]) as db:
        await decisions.put(db, [replace(decision, outcome="success")])
        assert await unembedded.count(db) == 0


async def test_what_one_process_fills_is_no_other_s_and_is_taken_over_when_that_one_is_gone(kit: Kit) -> None:
    await lived(kit.database)
    now = clock.now()
    async with kit.database.queue() as db:
        while await wordless.take(db, now=now, lease=now + filling.LEASE):
            pass
    assert await filling._words(kit) is None
    with clock.held(now + filling.LEASE):
        assert await filling.fill(kit) == 4 + 3


async def test_a_page_is_of_one_agent_and_of_so_many_bytes_at_most_but_of_one_memory_in_any_case(kit: Kit) -> None:
    async with kit.database.write(["a", "b"]) as db:
        for agent in ("a", "a", "b"):
            await episodes.put(db, an_episode(agent_id=agent, detail="User: hello\n" * 10_000, settled_by="event"))
        await run(db, "UPDATE heart.episodes SET words = NULL, word_count = NULL")
    place = wordless.Place("heart.episodes", ("", UUID(int=0)), NOON)
    async with kit.database.overview() as db:
        one = await wordless.page(db, place, rows=9, most=9, size=100_000)
        both = await wordless.page(db, place, rows=9, most=9, size=300_000)
        last = await wordless.page(db, replace(place, after=both.end), rows=9, most=9, size=300_000)
        assert [{agent for agent, _ in page.keys} for page in (one, both, last)] == [{"a"}, {"a"}, {"b"}]
        assert [len(page.keys) for page in (one, both, last)] == [1, 2, 1]
        assert (await wordless.page(db, replace(place, after=last.end), rows=9, most=9, size=1)).is_last
        assert await wordless.count(db) == 3


async def test_a_memory_that_cannot_be_filled_holds_up_no_other_and_is_come_to_again_in_the_next_round(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with kit.database.write(["a"]) as db:
        await decisions.put(db, [a_decision(agent_id="a", description=said) for said in ("the ferry", "the cursed bus", "the train")])
        await run(db, "UPDATE brain.decisions SET words = NULL, word_count = NULL")
    kept = filling.words.kept

    def cursed(said: str) -> dict[str, object]:
        return {"words": "'" + "x" * 3_000 + "':1", "word_count": 1} if "cursed" in said else kept(said)

    with monkeypatch.context() as patch:
        patch.setattr(filling.words, "kept", cursed)
        await filling.fill(kit)
    assert len(await found(kit, "ferry")) == len(await found(kit, "train")) == 1
    assert await found(kit, "bus") == []
    assert await filling._words(kit) is None, "not at once"
    with clock.held(clock.now() + wordless.NEXT_ROUND):
        await filling.fill(kit)
    assert len(await found(kit, "bus")) == 1


async def test_what_a_process_of_an_older_version_wrote_behind_the_fill_is_filled_a_day_later_and_then_it_ends(kit: Kit) -> None:
    await lived(kit.database)
    await filling.fill(kit)
    async with kit.database.write(["a"]) as db:
        await run(db, "UPDATE heart.facts SET words = NULL, word_count = NULL")
    assert await filling.fill(kit) == 0
    for days, filled in ((1, 1), (2, 0), (3, 0)):
        with clock.held(clock.now() + days * wordless.NEXT_ROUND):
            assert await filling.fill(kit) == filled
    async with kit.database.overview() as db:
        assert await run(db, "SELECT count(*) FROM bus.fills WHERE due_at IS NOT NULL") == [0]


async def test_what_was_forgotten_while_its_passages_were_made_gets_none(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    await lived(kit.database)
    made = filling._made

    def meanwhile(bare: Any, turns: Any) -> Any:
        if turns:
            asyncio.run_coroutine_threadsafe(forget(), loop).result()
        return made(bare, turns)

    async def forget() -> None:
        async with kit.database.write(["a"]) as db:
            (episode,) = await episodes.listed(db, agent="a", inactive=True, limit=None)
            await episodes.put(db, replace(episode, settled_by=None))

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(filling, "_made", meanwhile)
    await filling.fill(kit)
    async with kit.database.overview() as db:
        assert await run(db, "SELECT count(*) FROM heart.passages") == [0]


async def test_a_passage_ends_with_what_was_forgotten_of_its_episode(kit: Kit) -> None:
    await lived(kit.database)
    await filling.fill(kit)
    async with kit.database.overview() as db:
        (episode,) = await run(db, "SELECT episode_id FROM heart.episodes")
    async with kit.database.erase(["a"]) as erasing:
        await passages.erase(erasing, "a", episode)
    async with kit.database.overview() as db:
        assert await run(
            db, "SELECT (SELECT count(*) FROM heart.passages) + (SELECT count(*) FROM heart.memory_vectors WHERE kind = 'passage')"
        ) == [0]
