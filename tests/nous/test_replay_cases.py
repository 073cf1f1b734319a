"""What a replay does with what is seldom: people's decisions, conversations, what failed, what was forgotten."""

import json
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

import workers
from events import CensorAdded, CensorRelaxed, EpisodeRestored, FactJoined, FactRestored, FactRetired, FactSplit, encode
from nous import clock
from nous.replaying import difference
from nous.replaying.tally import Tally
from nous.replaying.wanted import Wanted
from providers.offline import OfflineMind
from recall import sessions
from recall.tools import Tools
from store import archive, facts, forgetting, lineage, receipts, usage
from store import parked as parkings
from store.facts import Fact
from tests.factories import (
    NOON,
    a_censor_triggered,
    a_decision_recorded,
    a_decision_reviewed,
    a_fact_learned,
    a_memory_recalled,
    a_memory_referenced,
    an_id,
)
from tests.nous.living import Living, Replayed, Replaying, alike
from tests.workers.conftest import ScriptedEmbedder
from tests.workers.episodes import DRINKS, LIVES, OSLO, TEA, WritingMind
from workers.runtime import parked
from workers.runtime.worker import Kit

A, HOME, AWAY = "a", "Maria lives in Oslo.", "Maria lives in Bergen."


@pytest.fixture
def mind() -> WritingMind:
    made = WritingMind(LIVES, DRINKS)
    made.says(HOME, "updates", AWAY)
    return made


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def kit(kit: Kit, embedder: ScriptedEmbedder, mind: WritingMind) -> Kit:
    return replace(kit, embedder=embedder, mind=mind)


@pytest.fixture
def living(kit: Kit, redis: Redis) -> Living:
    return Living(kit, redis)


def learned(content: str, hours: int = 0, **over: Any) -> Any:
    return a_fact_learned(**{"agent_id": A, "content": content, "occurred_at": NOON + timedelta(hours=hours)} | over)


def decided(kind: Any, **fields: Any) -> Any:
    return kind.model_validate(
        {"event_id": f"decided {an_id()}", "agent_id": A, "occurred_at": clock.now(), "reason": "so it is", **fields}
    )


def whole(tally: Tally) -> bool:
    """It was all there, and went as it had gone."""
    return tally.is_whole and not (tally.otherwise or tally.extra or tally.missing or tally.unasked)


async def facts_of(kit: Kit) -> dict[str, Fact]:
    async with kit.database.read([A]) as db:
        return {fact.content: fact for fact in await facts.listed(db, agent=A, inactive=True, limit=None)}


# ── what people decide ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_a_person_decided_of_facts_is_decided_again(living, kit, database_url, embedder, mind, replaying: Replaying):
    mind.says("Maria runs.", "same", "Maria is a runner.")
    embedder.alike("Maria has a cat called Mimi.", "Maria has a cat, called Mimi", 0.99)
    for number, content in enumerate((HOME, AWAY, "Maria runs.", "Maria is a runner.", "Maria has a cat called Mimi.")):
        await living.live(learned(content, number))
    wording = learned("Maria has a cat, called Mimi", 9)
    await living.live(wording)
    rows = await facts_of(kit)
    assert (rows[HOME].active, rows["Maria is a runner."].active) == (False, False)
    await living.decide(decided(FactRestored, fact_id=rows[HOME].fact_id, beside=rows[AWAY].fact_id))
    runner, runs = rows["Maria is a runner."], rows["Maria runs."]
    await living.decide(decided(FactSplit, fact_id=runner.fact_id, apart_from=runs.fact_id))
    await living.decide(decided(FactSplit, fact_id=wording.fact_id, apart_from=rows["Maria has a cat called Mimi."].fact_id))
    assert (await facts_of(kit))["Maria has a cat, called Mimi"].active
    again = await replaying(embedder=embedder)
    held = await alike(database_url, again)
    assert {row["outcome"] for row in held["bus.receipts"] if row["worker"] == receipts.OPERATOR} == {"restored", "split"}
    assert whole(again.tally)


async def test_what_a_person_merged_and_retired_is_so_again_and_so_is_what_they_took_back(
    living, kit, database_url, mind, replaying: Replaying
):
    mind.says(HOME, "compatible", AWAY)
    told = (HOME, AWAY, "Maria runs.", "Maria is a runner.", "Maria swims.", "Maria is a swimmer.")
    for number, content in enumerate(told):
        await living.live(learned(content, number))
    ids = {content: row.fact_id for content, row in (await facts_of(kit)).items()}
    await living.decide(decided(FactRetired, fact_id=ids[HOME], retired_by=ids[AWAY]))
    await living.decide(decided(FactJoined, fact_id=ids["Maria is a runner."], joined_with=ids["Maria runs."]))
    await living.decide(decided(FactJoined, fact_id=ids["Maria swims."], joined_with=ids["Maria is a swimmer."]))
    await living.decide(decided(FactSplit, fact_id=ids["Maria is a swimmer."], apart_from=ids["Maria swims."]))
    rows = await facts_of(kit)
    assert (rows[HOME].superseded_by, rows["Maria is a runner."].merged_into) == (ids[AWAY], ids["Maria runs."])
    assert rows["Maria is a swimmer."].active
    again = await replaying()
    held = await alike(database_url, again)
    assert {row["outcome"] for row in held["bus.receipts"] if row["worker"] == receipts.OPERATOR} == {"retired", "merged", "split"}
    assert whole(again.tally)
    by_time = await replaying(order="occurred")
    assert by_time.tally.failed == []
    async with by_time.database.read([A]) as db:
        found = {one.fact_id: one for one in await facts.listed(db, agent=A, inactive=True, limit=None)}
    names = ("active", "superseded_by", "merged_into", "valid_from", "valid_to")
    assert [[getattr(found[one.fact_id], name) for name in names] for one in rows.values()] == [
        [getattr(one, name) for name in names] for one in rows.values()
    ]


async def test_censors_that_people_added_and_relaxed_are_as_they_were(living, database_url, replaying: Replaying):
    censor = an_id()
    added = decided(CensorAdded, censor_id=censor, trigger_pattern="rm -rf", severity="warn", escalation_threshold=2)
    await living.decide(added)
    for _ in range(2):
        await living.live(a_censor_triggered(agent_id=A, censor_id=censor))
    await living.decide(decided(CensorRelaxed, censor_id=censor))
    await living.live(a_censor_triggered(agent_id=A, censor_id=censor))
    again = await replaying()
    held = await alike(database_url, again)
    assert [(row["severity"], row["activation_count"], row["counted_from"]) for row in held["heart.censors"]] == [("warn", 3, 2)]
    assert whole(again.tally)


async def test_what_was_put_aside_as_noise_and_restored_is_restored_again(living, kit, database_url, replaying: Replaying):
    tools = Tools(kit.database, kit.embedder, kit.settings)
    await sessions.start_turn(tools, A, "chat", "Hello")
    await sessions.end_turn(tools, A, "chat", "Hi!")
    ended = await sessions.end_session(tools, A, "chat", reflection="They only greeted.")
    assert ended.episode
    assert ended.became == "put_aside"
    await living.decide(decided(EpisodeRestored, episode_id=ended.episode.episode_id))
    again = await replaying()
    held = await alike(database_url, again)
    assert [(row["active"], bool(row["summary"])) for row in held["heart.episodes"]] == [(True, True)]
    assert whole(again.tally)


# ── conversations ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("has_mind", [True, False], ids=["with a mind", "with none"])
async def test_a_conversation_reported_turn_by_turn_is_summarised_again_as_it_was(kit, redis, database_url, replaying: Replaying, has_mind):
    kit = kit if has_mind else replace(kit, mind=OfflineMind())
    living, tools = Living(kit, redis), Tools(kit.database, kit.embedder, kit.settings)
    for number, (said, answered) in enumerate(((f"{OSLO} {TEA}", "Noted."), ("Shall we plan the trip?", "Let us begin with the dates."))):
        at = NOON + timedelta(minutes=number)
        await sessions.start_turn(tools, A, "chat", said, at=at)
        await sessions.end_turn(tools, A, "chat", answered, used=["search"], at=at)
    ended = await sessions.end_session(tools, A, "chat", reflection="Ask for the dates first.", outcome="planned")
    await living.send(ended.letters)
    again = await replaying()
    held = await alike(database_url, again)
    assert len(held["heart.facts"]) == (2 if has_mind else 0)
    assert held["heart.episodes"][0]["summary"]
    assert whole(again.tally)


# ── what failed, and what was said oddly ──────────────────────────────────────────────────────────────────────────────────


async def test_what_was_no_event_is_parked_again_for_the_same_reason(living, database_url, replaying: Replaying):
    await living.say("fact_learned", json.dumps({"agent_id": A, "event_id": "bad", "content": 7}))
    await living.say("fact_learned", json.dumps({"agent_id": A, "content": "It has no fact_id."}))
    await living.settle()
    again = await replaying()
    held = await alike(database_url, again)
    assert [row["ending"] for row in held["bus.receipts"]] == ["parked", "parked"]
    assert whole(again.tally)


async def test_what_a_person_dropped_is_not_worked(living, kit, redis, database_url, replaying: Replaying):
    await living.live(a_decision_reviewed(agent_id=A))
    for _ in range(5):
        await living.pass_(timedelta(hours=1))
    async with kit.database.overview() as db:
        waiting = await parkings.listed(db, parkings.Wanted(agent=A))
    assert [len(one.done) async for one in parked.drop(kit.database, redis, waiting, because="a test")] == [1]
    again = await replaying()
    held = await alike(database_url, again)
    assert [(row["outcome"], row["reason"]) for row in held["bus.receipts"]] == [("dropped", "a test")]
    assert whole(again.tally)


async def test_what_is_given_up_is_given_up_again(living, database_url, replaying: Replaying):
    first = learned("One thing.")
    await living.live(first, learned("Another thing.", 1, fact_id=first.fact_id))
    again = await replaying()
    held = await alike(database_url, again)
    assert [row["outcome"] for row in held["bus.receipts"] if row["worker"] == "deduplicator"] == ["stored", "parked"]
    assert whole(again.tally)


async def test_what_failed_and_was_retried_by_a_person_has_its_effect_where_it_had_it(
    living, kit, redis, database_url, replaying: Replaying, monkeypatch: pytest.MonkeyPatch
):
    event = a_decision_recorded(agent_id=A)
    table = workers.table()

    async def fails(*_: object) -> None:
        raise RuntimeError("a bug of ours")

    with monkeypatch.context() as patch:
        patch.setattr(living.lives["decision_recorder"], "worker", replace(table["decision_recorder"], write=fails))
        await living.live(event)
        for _ in range(4):
            await living.pass_(timedelta(hours=1))
    async with kit.database.read([A]) as db:
        assert [one.ending for one in await receipts.about(db, A, event.decision_id)] == []
        assert await receipts.is_parked(db, "decision_recorder", (A, event.event_id), (await redis.xrange(event.stream))[0][0].decode())
    again = await replaying()  # the bug is mended: what was parked is worked
    assert (again.tally.otherwise, [one.outcome for one in again.made]) == (1, ["recorded"])
    await living.live(learned("Something else."))
    async with kit.database.overview() as db:
        waiting = await parkings.listed(db, parkings.Wanted(agent=A))
    assert [len(one.done) async for one in parked.retry(kit.database, redis, waiting)] == [1]
    await living.pass_(timedelta(hours=1))
    await alike(database_url, await replaying())


async def test_a_review_that_came_before_its_decision_is_applied_after_it(living, database_url, replaying: Replaying):
    decision = a_decision_recorded(agent_id=A)
    await living.live(a_decision_reviewed(agent_id=A, decision_id=decision.decision_id, occurred_at=NOON + timedelta(hours=1)))
    await living.say(decision.stream, encode(decision))
    await living.settle()
    await living.pass_(timedelta(seconds=1))
    for order in ("applied", "arrived"):
        again = await replaying(order=order)
        assert [row["outcome"] for row in (await alike_but_receipts(database_url, again))["brain.decisions"]] == ["success"]
        assert again.tally.is_whole


async def alike_but_receipts(url: str, again: Replayed) -> dict[str, list[Any]]:
    from tests.nous.living import dump

    there, here = await dump(url), await dump(again.url)
    assert {name: rows for name, rows in here.items() if name != "bus.receipts"} == {
        name: rows for name, rows in there.items() if name != "bus.receipts"
    }
    return here


async def test_a_review_whose_decision_never_came_is_parked_in_the_end(living, database_url, replaying: Replaying):
    await living.live(a_decision_reviewed(agent_id=A))
    for _ in range(5):
        await living.pass_(timedelta(hours=1))
    again = await replaying()
    held = await alike(database_url, again)
    assert [row["outcome"] for row in held["bus.receipts"]] == ["parked"]
    assert whole(again.tally)


async def test_of_two_bodies_under_one_id_the_one_that_had_its_effect_is_replayed(living, kit, database_url, replaying: Replaying):
    one, other = (
        encode(learned(content, event_id="twice", fact_id=uuid.UUID(int=number))) for number, content in enumerate(("One.", "Other."), 1)
    )
    entry = await living.say("fact_learned", other)
    await living.settle()
    await living.say("fact_learned", one, f"{int(entry.split('-')[0]) + 5}-0")
    await living.settle()
    async with kit.database.read([A]) as db:
        assert len(await archive.of_event(db, A, "twice")) == 2
    held = await alike(database_url, await replaying())
    assert [row["content"] for row in held["heart.facts"]] == ["Other."]


async def test_what_said_neither_its_id_nor_its_time_has_the_ones_that_followed_from_its_entry(living, database_url, replaying: Replaying):
    for content in ("Tea.", "Coffee.", "Tea."):
        await living.say(
            "fact_learned", json.dumps({"agent_id": A, "fact_id": str(uuid.uuid5(uuid.NAMESPACE_OID, content)), "content": content})
        )
    await living.settle()
    again = await replaying()
    await alike(database_url, again)
    assert whole(again.tally)


# ── minds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_offline_mind_is_asked_again_where_its_answer_is_not_on_record_for_it_goes_by_rule(
    kit, redis, database_url, replaying: Replaying
):
    offline = OfflineMind()
    await Living(replace(kit, mind=offline), redis).live(
        learned("Maria has two cats."), learned("Maria has two  cats!", 1), learned(HOME, 2)
    )
    connection = await asyncpg.connect(database_url)
    await connection.execute("DELETE FROM bus.answers")
    await connection.close()
    assert whole((await replaying(model=offline.model("relation"))).tally)


# ── use ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_how_often_memories_were_told_and_of_use_is_counted_again_and_compared(living, kit, database_url, replaying: Replaying):
    oslo, bergen = learned(HOME), learned(AWAY, 1)
    named = [{"kind": "fact", "id": one.fact_id} for one in (oslo, bergen)]
    await living.live(
        oslo,
        a_memory_recalled(agent_id=A, memories=named[:1]),
        bergen,  # what was told of Oslo counts for it from now on
        a_memory_recalled(agent_id=A, memories=named),
        a_memory_referenced(agent_id=A, memories=({**named[1], "how": "cited"},)),
    )
    again = await replaying()
    kept = await alike(database_url, again)
    assert [(row["retrieved"], row["compared"]) for row in kept["heart.memory_usage"]] == [(1, 0), (1, 1)]
    assert whole(again.tally)
    compared = await difference.compare(kit.database, again.database, A)
    assert (compared.alike["use"], compared.differences) == (2, [])
    unheard = await replaying(wanted=Wanted(streams=frozenset({"fact_learned", "memory_recalled"})))
    (differs,) = (await difference.compare(kit.database, unheard.database, A)).differences
    assert (differs.noun, differs.id, differs.says, differs.how) == ("use", bergen.fact_id, "fact", "otherwise")
    assert differs.fields == {"compared": (1, 0), "referenced": (1, 0)}


async def test_a_forgotten_fact_s_use_does_not_come_back_with_recalls_that_name_it(living, kit, replaying: Replaying):
    sings, paints = learned("Maria sings."), learned("Maria paints.", 1)
    named = [{"kind": "fact", "id": one.fact_id} for one in (sings, paints)]
    await living.live(sings, paints, a_memory_recalled(agent_id=A, memories=named), a_memory_recalled(agent_id=A, memories=named[:1]))
    async with kit.database.erase([A]) as db:
        await forgetting.erase(db, await lineage.of(db, A, fact_ids=[sings.fact_id]), by="forget", now=clock.now())
    again = await replaying()
    async with again.database.read([A]) as db:
        assert [(one.memory_id, one.retrieved) for one in await usage.listed(db, A)] == [(paints.fact_id, 1)]
    assert not (await difference.compare(kit.database, again.database, A)).differences
    assert again.tally.is_whole
    assert [(made.outcome, made.live) for made in again.made if made.outcome != made.live] == [("skipped", "counted")]


# ── forgotten ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_forgotten_fact_does_not_come_back_and_what_it_had_retired_stays_retired(living, kit, mind, replaying: Replaying):
    mind.says("Maria lives in Rome.", "updates", AWAY)
    await living.live(learned(HOME), learned(AWAY, 1), learned("Maria lives in Rome.", 2), learned("Maria sings.", 3))
    bergen = (await facts_of(kit))[AWAY]
    async with kit.database.erase([A]) as db:
        gone = await lineage.of(db, A, fact_ids=[bergen.fact_id])
        await forgetting.erase(db, gone, by="forget", now=clock.now())
    again = await replaying()
    async with again.database.read([A]) as db:
        oslo = next(fact for fact in await facts.listed(db, agent=A, inactive=True, limit=None) if fact.content == HOME)
        forgotten_row = (await facts.by_key(db, {(A, bergen.fact_id)}))[A, bergen.fact_id]
    assert (oslo.active, oslo.superseded_by) == (False, bergen.fact_id)
    assert (forgotten_row.content, forgotten_row.active, forgotten_row.superseded_by) == ("", False, bergen.superseded_by)
    assert not (await difference.compare(kit.database, again.database, A)).differences
    assert again.tally.is_whole
