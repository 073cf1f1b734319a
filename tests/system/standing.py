"""What holds of every memory at rest, whatever was killed on the way to it."""

from typing import Any

from redis.asyncio import Redis

from store import embedders, facts
from store.database import Database
from store.facts import Fact
from tests.conftest import until
from tests.system.conftest import rows
from workers.runtime import streams
from workers.standing import settling

WORKERS = {"fact_learned": "deduplicator", "fact_stored": "supersession_checker", "fact_unsettled": "supersession_rechecker"}
"""The workers that decide how facts stand, each on its stream; what one publishes the next reads."""

VERSIONED = (
    "content, subject, attribute, provenance, confidence, source, active, superseded_by, merged_into, disputes, valid_from, valid_to,"
    " claimed_at, claimed_by, confirmation_count, last_confirmed"
)


async def all_settled(redis: Redis, database: Database, *, within_s: float = 60) -> None:
    """Wait until no stream has anything unread or pending, and nothing waits or is unpublished."""

    async def is_settled() -> bool:
        for stream, worker in WORKERS.items():
            state = await streams.group_state(redis, stream, worker)
            if state.lag or state.pending:
                return False
        return not await rows(database, "SELECT 1 FROM bus.retries UNION ALL SELECT 1 FROM bus.outbox WHERE published_at IS NULL")

    await until(is_settled, within_s=within_s, what="every stream settled")


async def check(database: Database, *agents: str) -> dict[str, list[Fact]]:
    """Assert what holds of any memory at rest; returns every fact of these agents."""
    found = {}
    async with database.read(agents) as db:
        for agent in agents:
            found[agent] = await facts.listed(db, agent=agent, inactive=True, limit=None)
    for stood in found.values():
        _check_facts(stood)
    await _check_tables(database)
    for agent, stood in found.items():
        async with database.read([agent]) as db:
            change = await settling.find(db, agent, {fact.text_key for fact in stood})
        assert not _changed(change), "it stands as its claims and relations say: settling again changes nothing"
        assert not change.moved
    return found


def _changed(change: Any) -> list[Fact]:
    return [fact for fact_id, fact in change.after.items() if change.before.get(fact_id) != fact]


def _check_facts(stood: list[Fact]) -> None:
    by_id = {fact.fact_id: fact for fact in stood}
    for fact in stood:
        assert fact.active == (fact.superseded_by is None and fact.merged_into is None), "active, or why it is not"
        assert not (fact.superseded_by and fact.merged_into)
        if fact.merged_into:
            assert by_id[fact.merged_into].merged_into is None, "merged into a fact that stands for itself"
        if fact.superseded_by:
            by = by_id[fact.superseded_by]
            assert by.merged_into is None
            assert (by.claimed_at, by.claimed_by) > (fact.claimed_at, fact.claimed_by), "retired by a later claim, so no cycle can be"


async def _check_tables(database: Database) -> None:
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    wrong = {
        "a vector that is not as current as its fact": f"""
            SELECT v.fact_id FROM {table} v JOIN heart.facts f USING (agent_id, fact_id)
            LEFT JOIN heart.facts w ON w.agent_id = f.agent_id AND w.fact_id = f.merged_into
            WHERE v.current <> coalesce(w.active, f.active)""",
        "a fact without its vector": f"""
            SELECT f.fact_id FROM heart.facts f LEFT JOIN {table} v USING (agent_id, fact_id) WHERE v.fact_id IS NULL""",
        "a version that is not what the fact is": f"""
            SELECT f.fact_id FROM heart.facts f LEFT JOIN heart.fact_versions v
            ON v.agent_id = f.agent_id AND v.fact_id = f.fact_id AND v.recorded_to IS NULL AND v.recorded_from = f.recorded_at
            WHERE v.fact_id IS NULL OR (SELECT to_jsonb(was) FROM (SELECT {_of("v")}) was)
            IS DISTINCT FROM (SELECT to_jsonb(is_) FROM (SELECT {_of("f")}) is_)""",
        "an event with more than one receipt": "SELECT event_id FROM bus.receipts GROUP BY worker, agent_id, event_id HAVING count(*) > 1",
        "a parked event": "SELECT event_id FROM bus.receipts WHERE ending = 'parked'",
        "two active facts of one text": "SELECT 1 FROM heart.facts WHERE active GROUP BY agent_id, text_key HAVING count(*) > 1",
        "a mention of a fact that is not there": """
            SELECT m.event_id FROM heart.fact_mentions m LEFT JOIN heart.facts f USING (agent_id, fact_id) WHERE f.fact_id IS NULL""",
        "claims that are not counted once": """
            SELECT f.fact_id FROM heart.facts f WHERE f.merged_into IS NULL AND f.confirmation_count + 1 <> (
            SELECT count(*) FROM heart.fact_mentions m JOIN heart.facts p USING (agent_id, fact_id)
            WHERE m.agent_id = f.agent_id AND f.fact_id IN (p.fact_id, p.merged_into))""",
        "a stored fact nobody checked": f"""
            SELECT s.about FROM bus.receipts s WHERE s.outcome = 'stored' AND NOT EXISTS (SELECT FROM bus.receipts r
            WHERE r.agent_id = s.agent_id AND r.worker = '{WORKERS["fact_stored"]}' AND 'fact_stored:' || r.event_id = ANY(s.derived))""",
    }
    assert {what: found for what, query in wrong.items() if (found := await rows(database, query))} == {}


def _of(table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in VERSIONED.split(", "))
