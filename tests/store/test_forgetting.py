"""What forgetting does to each table, and what tombstones keep away."""

from datetime import timedelta

import asyncpg
import pytest

from nous.text import content_hash
from store import agents, archive, facts, forgetting, forgotten, leftovers, lineage, mentions, old_notes, procedures, receipts, relations
from store.archive import Archived
from store.database import Database, Write
from store.facts import Fact
from store.forgotten import Arrival, Tombstone
from store.relations import Relation
from tests.factories import NOON, a_fact, a_mention, a_procedure, a_receipt, a_relation
from tests.store.conftest import run

SAID = "Maria keeps the spare key under the third flowerpot."


async def stored(database: Database, agent: str, **over: object) -> Fact:
    fact = a_fact(agent_id=agent, **over)
    async with database.write([agent]) as db:
        await facts.insert(db, [fact])
        await mentions.insert(db, [a_mention(fact, event_id=fact.stored_by, outcome="stored")])
    return fact


async def erased(database: Database, fact: Fact) -> lineage.Lineage:
    async with database.erase([fact.agent_id]) as db:
        whole = await lineage.of(db, fact.agent_id, fact_ids=[fact.fact_id])
        await forgetting.erase(db, whole, by="the decision", now=NOON)
    return whole


def between(one: Fact, other: Fact, relation: str) -> Relation:
    agent, low, high = relations.pair(one.agent_id, one.text_key, other.text_key)
    return a_relation(agent_id=agent, low_key=low, high_key=high, relation=relation, reason=SAID)


def archived(agent: str, event_id: str, *, at: timedelta = timedelta(), body: bytes = b"{}") -> Archived:
    return Archived(agent, event_id, "fact_learned", archive.digest(body), body, "1-0", NOON + at, NOON + at)


async def test_what_is_forgotten_is_listed_nowhere_and_matched_by_nothing_and_its_row_holds_its_place(database: Database) -> None:
    fact = await stored(database, "listed", content=SAID)
    await erased(database, fact)
    async with database.read(["listed"]) as db:
        assert await facts.listed(db, agent="listed", inactive=True, limit=None) == []
        assert await facts.by_text(db, "listed", [fact.text_key]) == []
        assert await mentions.by_content(db, [("listed", content_hash(SAID))]) == {}
        assert await facts.subjects(db, ["listed"]) == {}
        (row,) = (await facts.by_key(db, [fact.key])).values()
        (said,) = await mentions.said(db, "listed", [fact.fact_id])
        assert (row.content, row.subject, row.active, row.forgotten_at) == ("", None, False, NOON)
        assert said.event_id == fact.stored_by
        assert await facts.forgotten(db, [fact.key]) == {fact.key}
        assert await forgotten.events(db, "listed", "fact_learned", [fact.stored_by]) == {fact.stored_by}


@pytest.mark.parametrize(
    "kept_up", [{"pinned_at": NOON}, {"demoted_at": NOON, "demoted_to": 0.5}, {"archived_at": NOON, "active": False, "reinstated_at": NOON}]
)
async def test_what_was_pinned_demoted_or_archived_is_forgotten_like_any_other_and_never_comes_back(
    database: Database, kept_up: dict[str, object]
) -> None:
    fact = await stored(database, "kept-up", content=SAID, **kept_up)
    await erased(database, fact)
    async with database.read(["kept-up"]) as db:
        (row,) = (await facts.by_key(db, [fact.key])).values()
        assert (row.active, row.is_so, row.pinned_at, row.demoted_to, row.archived_at, row.reinstated_at) == (False, False, *[None] * 4)
        assert await facts.listed(db, agent="kept-up", inactive=True, limit=None, pinned=True) == []


async def test_old_notes_go_with_their_agent_and_are_told_where_a_forgotten_fact_stands_in_them(database: Database) -> None:
    one = a_procedure(agent_id="noted")
    async with database.write(["noted"]) as db:
        await procedures.put(db, [one])
        await old_notes.put(db, [old_notes.OldNotes("noted", one.procedure_id, "piled", (SAID,), ("Look.",), (), None, NOON)])
    async with database.overview() as overview:
        (found,) = (await leftovers.search(overview, [SAID], agent="noted")).found
    assert (found.table, found.columns, found.ids["procedure_id"]) == ("heart.old_notes", ("notes",), str(one.procedure_id))
    async with database.erase(["noted", forgotten.agent_key("noted")]) as db:
        assert (await agents.erase(db, "noted", by="the decision", now=NOON))["heart.old_notes"] == 1


async def test_what_a_forgotten_text_contradicted_is_still_contradicted_under_a_key_that_no_text_has(database: Database) -> None:
    gone, other, same = [await stored(database, "related", subject=name) for name in ("one", "two", "three")]
    fourth = await stored(database, "related", subject="four")
    rows = [between(gone, other, "contradicts"), between(gone, same, "same"), between(same, fourth, "updates")]
    async with database.write(["related"]) as db:
        await relations.put(db, rows)
    await erased(database, gone)
    async with database.read(["related"]) as db:
        assert await relations.touching(db, "related", [gone.text_key]) == []
        (left,) = await relations.touching(db, "related", [other.text_key])
        (row,) = (await facts.by_key(db, [gone.key])).values()
        assert (left.relation, left.reason, row.text_key in (left.low_key, left.high_key)) == ("contradicts", "forgotten", True)
        kinds = {one.relation for one in await relations.touching(db, "related", [row.text_key])}
        assert kinds == {"contradicts", "updates"}


async def test_receipts_of_its_events_are_emptied_and_others_say_its_id_and_no_word_of_it(database: Database) -> None:
    fact = await stored(database, "told", content=SAID)
    beside = await stored(database, "told")
    evidence = {"candidates": [{"fact_id": str(fact.fact_id), "similarity": 0.9, "reason": SAID}, {"fact_id": "x", "reason": "other"}]}
    async with database.write(["told"]) as db:
        await receipts.insert(
            db,
            [
                a_receipt(agent_id="told", event_id=fact.stored_by, about=fact.fact_id, reason=SAID, evidence={"changed": [SAID]}),
                a_receipt(agent_id="told", event_id=beside.stored_by, about=beside.fact_id, reason="plain", evidence=evidence),
            ],
        )
    await erased(database, fact)
    async with database.read(["told"]) as db:
        emptied, other = await receipts.of_events(db, ["told"], [fact.stored_by, beside.stored_by])
    assert (emptied.outcome, emptied.reason, emptied.evidence, emptied.ending, emptied.seq) == ("forgotten", None, {}, "done", 1)
    kept = [{"fact_id": str(fact.fact_id), "similarity": 0.9}, {"fact_id": "x", "reason": "other"}]
    assert (other.reason, other.evidence) == ("plain", {"candidates": kept})


async def test_an_erased_event_is_archived_no_more_and_another_of_its_agent_is(database: Database) -> None:
    fact = await stored(database, "archived", content=SAID)
    async with database.notes(["archived"]) as db:
        await archive.insert(db, [archived("archived", fact.stored_by, body=SAID.encode())])
    await erased(database, fact)
    async with database.notes(["archived"]) as db:
        assert await archive.insert(db, [archived("archived", fact.stored_by, body=b"other"), archived("archived", "another")]) == 1


async def test_what_was_published_before_its_agent_was_forgotten_is_refused_and_what_follows_from_it(database: Database) -> None:
    async with database.erase(["whole", forgotten.agent_key("whole")]) as db:
        await agents.erase(db, "whole", by="the decision", now=NOON)
    hour = timedelta(hours=1)
    before, after = [Arrival("whole", one, "fact_learned", NOON + at) for one, at in (("b", -hour), ("a", hour))]
    orphan = Arrival("whole", "o", "fact_stored", NOON + timedelta(seconds=1), caused_by="b")
    other = Arrival("another", "b", "fact_learned", NOON - hour)
    async with database.read(["whole", "another"]) as db:
        assert await forgotten.refused(db, [before, after, orphan, other]) == {before, orphan}
    async with database.notes(["whole"]) as db:
        assert await archive.insert(db, [archived("whole", "b", at=-hour), archived("whole", "a", at=hour)]) == 1


async def test_what_an_agent_cost_stays_under_nobody_s_name(database: Database, owner: asyncpg.Connection) -> None:
    for _ in range(2):
        await owner.execute("INSERT INTO bus.spending VALUES ('spender', now()::date, 'w', 'm', 1, 10, 20, 0.5)")
        async with database.erase(["spender", forgotten.agent_key("spender")]) as db:
            await agents.erase(db, "spender", by="the decision", now=NOON)
    rows = await owner.fetch("SELECT agent_id, questions, tokens_in, cost::text FROM bus.spending")
    assert [tuple(row) for row in rows] == [("", 2, 20, "1.000000")]


async def test_words_are_found_in_every_kind_of_column_of_every_table_and_told_by_ids(
    database: Database, owner: asyncpg.Connection
) -> None:
    fact = await stored(database, "searched", content=f'He said "{SAID}"\\')
    async with database.notes(["searched"]) as db:
        await archive.insert(db, [archived("searched", "e", body=SAID.encode())])
    await owner.execute("CREATE TABLE heart.later (agent_id text, notes jsonb)")
    await owner.execute("GRANT SELECT ON heart.later TO nous_operator")
    await owner.execute("INSERT INTO heart.later VALUES ('searched', jsonb_build_object('deep', $1::text))", SAID)
    async with database.overview() as db:
        found = (await leftovers.search(db, [SAID], agent="searched")).found
        quoted = (await leftovers.search(db, [fact.content], agent="searched")).found
        elsewhere = (await leftovers.search(db, [SAID], agent="somebody")).found
    await owner.execute("DROP TABLE heart.later")
    tables = {"bus.events", "heart.fact_mentions", "heart.fact_versions", "heart.facts", "heart.later"}
    assert ({one.table for one in found}, elsewhere) == (tables, ())
    assert {one.table for one in quoted} == {"heart.fact_mentions", "heart.fact_versions", "heart.facts"}
    (event,) = [one for one in found if one.table == "bus.events"]
    assert (event.columns, event.ids["event_id"]) == (("body",), "e")


async def test_the_eraser_reaches_every_table_of_an_agent_s_and_sees_only_the_agents_it_names(
    database: Database, owner: asyncpg.Connection
) -> None:
    named = await owner.fetch(
        "SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'agent_id'"
        " WHERE n.nspname IN ('heart', 'brain', 'bus') AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    )
    for row in named:
        assert await owner.fetchval("SELECT has_table_privilege('nous_eraser', $1, 'SELECT, INSERT, UPDATE, DELETE')", row["name"]), row
    await stored(database, "kept")
    async with database.erase(["somebody"]) as db:
        assert await run(db, "SELECT agent_id FROM heart.facts") == []
        await run(db, "DELETE FROM heart.fact_mentions")
    async with database.read(["kept"]) as db:
        assert len(await run(db, "SELECT 1 FROM heart.fact_mentions")) == 1


async def test_a_worker_reads_tombstones_and_makes_none(db: Write) -> None:
    with pytest.raises(Exception, match="permission denied"):
        await forgotten.insert(db, [Tombstone("a", "e", "s", "b", NOON)])  # type: ignore[arg-type]
