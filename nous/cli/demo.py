"""The demo: two weeks of one agent's facts go through the workers, and what became of them is read back from the receipts.

    stack of NOUS_HOME, or one for the duration ─▶ publish the sample ─▶ settled ─▶ Report

Nothing is staged: the report says what the receipts say. Every event of the sample has its id, so a second run changes nothing.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from uuid import UUID

import uvloop
from rich.status import Status

from nous import embedded, guard, log, sample
from nous.errors import UserMistake
from nous.guard import Finding
from nous.settings import Settings
from store import facts, mentions, receipts
from store.database import Database
from store.facts import Fact
from store.mentions import Mention
from store.receipts import Receipt
from workers.runtime import streams
from workers.runtime.look import look, settled

from . import place, screen
from .endings import Incomplete
from .migrate import apply
from .running import alongside, owned

STREAM, WORKER = "fact_learned", "deduplicator"
CHECKERS = ("supersession_checker", "supersession_rechecker")
SETTLE_S = 120.0


@dataclass(frozen=True)
class Pair:
    """What was known and what was heard: how alike they are, what the guard found between them, and the fact the newer one became."""

    known: str
    heard: str
    similarity: float
    reason: str
    findings: tuple[Finding, ...]
    fact_id: UUID


@dataclass(frozen=True)
class Settled:
    """A fact that does not stand by itself any more, the one that does in its place, and since when, if it was ever true."""

    fact_id: UUID
    was: str
    now: str
    until: datetime | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class JudgedPairs:
    """How facts stand to each other since: which mind said so at which cost, and of how many pairs it could not tell."""

    minds: tuple[str, ...]
    tokens: int
    pairs: int
    superseded: tuple[Settled, ...]
    merged: tuple[Settled, ...]
    disputed: tuple[Settled, ...]
    unsure: int


@dataclass(frozen=True)
class Arrivals:
    """What came in."""

    deliveries: int
    events: int
    agents: tuple[str, ...]
    first_day: date
    last_day: date
    vouched_for: Mapping[str, int]


@dataclass(frozen=True)
class Times:
    """How long it took, in seconds."""

    ready_s: float
    settled_s: float


@dataclass(frozen=True)
class Report:
    """What came in and what became of it. `outcomes` counts events, `repeated` the deliveries of an event that had its effect already."""

    came_in: Arrivals
    outcomes: Mapping[str, int]
    repeated: int
    known_before: int
    is_unchanged: bool
    confirmed: tuple[Pair, ...]
    almost_merged: tuple[Pair, ...]
    likely_twins: tuple[Pair, ...]
    judged: JudgedPairs
    reasons: Mapping[str, Mapping[str, int]]
    confirm_similarity: float | None
    check_similarity: float | None
    facts: int
    home: str
    is_running_on: bool
    times: Times


@dataclass(frozen=True)
class Memory:
    """What the store holds of the sample's agents at one moment."""

    told: tuple[Receipt, ...]
    checked: tuple[Receipt, ...]
    rows: Mapping[facts.Key, Fact]
    heard: Mapping[str, Mention]


def run(settings: Settings) -> Report:
    """Run the demo to its report. Raises Incomplete when memory does not settle in time."""
    if place.is_configured(settings):
        raise UserMistake(
            "the demo writes its sample only into the stack in NOUS_HOME, and NOUS_DATABASE_URL or NOUS_REDIS_URL names other servers: "
            f"run it as env -u NOUS_DATABASE_URL -u NOUS_REDIS_URL NOUS_HOME=/tmp/nous-demo {place.command()} demo"
        )
    if "log_level" not in settings.model_fields_set:
        log.configure(log_format=settings.log_format, level="warning")
    started = time.monotonic()
    with screen.err().status("looking for a running stack…") as spinner:
        if place.is_found(settings):
            urls = place.database_url(settings), place.redis_url(settings)
            return uvloop.run(_demonstrate(settings, *urls, spinner, started, is_running_on=True))
        spinner.update(f"starting Postgres and Valkey in {settings.home}…")
        with owned(settings) as stack:
            return uvloop.run(_migrated(settings, stack, spinner, started))


async def _migrated(settings: Settings, stack: embedded.Stack, spinner: Status, started: float) -> Report:
    await apply(settings, stack.database_url)
    return await _demonstrate(settings, stack.database_url, stack.redis_url, spinner, started, is_running_on=False)


async def _demonstrate(
    settings: Settings, database_url: str, redis_url: str, spinner: Status, started: float, *, is_running_on: bool
) -> Report:
    deliveries = list(sample.events())
    database, redis = Database(database_url, pool=1), streams.connect(redis_url, partitions=settings.stream_partitions)
    async with AsyncExitStack() as open_:
        open_.push_async_callback(redis.aclose)
        open_.push_async_callback(database.close)
        spinner.update("starting the workers…")
        if not all(one.is_alive for one in (await look(settings, database, redis)).workers):
            await open_.enter_async_context(alongside(settings, database_url, redis_url))
        before = await _remembered(database, deliveries)
        spinner.update(f"publishing {len(deliveries)} deliveries and waiting until memory is settled…")
        published = time.monotonic()
        await streams.append(redis, [(STREAM, str(one["agent_id"]), json.dumps(one).encode()) for one in deliveries])
        is_settled, left = await settled(settings, database, redis, timeout_s=SETTLE_S, on_outage=partial(place.still_there, settings))
        if not is_settled:
            raise Incomplete(f"memory did not settle within {SETTLE_S:.0f} s: {'; '.join(left)}; run it again, it goes on from there")
        times = Times(ready_s=published - started, settled_s=time.monotonic() - published)
        return _report(settings, deliveries, before, await _remembered(database, deliveries), is_running_on=is_running_on, times=times)


async def _remembered(database: Database, deliveries: Sequence[Mapping[str, object]]) -> Memory:
    agents, events = _agents(deliveries), {str(one["event_id"]) for one in deliveries}
    async with database.overview() as db:
        told = [receipt for agent in agents for receipt in await receipts.of_agent(db, agent, WORKER) if receipt.event_id in events]
        checked = [receipt for agent in agents for name in CHECKERS for receipt in await receipts.of_agent(db, agent, name)]
        rows = {fact.key: fact for agent in agents for fact in await facts.listed(db, agent=agent, inactive=True, limit=None)}
        heard = await mentions.of_facts(db, list(rows))
    ours = {(receipt.agent_id, receipt.about) for receipt in told}
    return Memory(
        told=tuple(told),
        checked=tuple(receipt for receipt in checked if (receipt.agent_id, receipt.about) in ours),
        rows=rows,
        heard={one.event_id: one for ones in heard.values() for one in ones},
    )


# ── the report, from what is remembered ───────────────────────────────────────────────────────────────────────────────────


def _report(
    settings: Settings,
    deliveries: Sequence[Mapping[str, object]],
    before: Memory,
    after: Memory,
    *,
    is_running_on: bool,
    times: Times,
) -> Report:
    known_before = len(before.told)
    stored = [(receipt, _twin(receipt, after)) for receipt in after.told if receipt.outcome == "stored"]
    pairs = [(receipt, pair) for receipt, pair in stored if pair]
    return Report(
        came_in=_arrivals(deliveries),
        outcomes=_counted(receipt.outcome for receipt in after.told),
        repeated=len(deliveries) - (len(after.told) - known_before),
        known_before=known_before,
        is_unchanged=before == after,
        confirmed=tuple(pair for receipt in after.told if receipt.outcome == "confirmed" and (pair := _confirmation(receipt, after))),
        almost_merged=tuple(pair for receipt, pair in pairs if receipt.evidence.get("almost_merged")),
        likely_twins=tuple(pair for receipt, pair in pairs if not receipt.evidence.get("almost_merged")),
        judged=_judged(after, {str(one["event_id"]) for one in deliveries}),
        reasons={name: _counted(one.reason or "" for one in after.told if one.outcome == name) for name in ("skipped", "parked")},
        confirm_similarity=_threshold("confirm_similarity", after),
        check_similarity=_threshold("check_similarity", after),
        facts=sum(fact.active for fact in after.rows.values()),
        home=str(settings.home),
        is_running_on=is_running_on,
        times=times,
    )


def _arrivals(deliveries: Sequence[Mapping[str, object]]) -> Arrivals:
    events = {str(one["event_id"]): one for one in deliveries}
    days = sorted(datetime.fromisoformat(str(one["occurred_at"])).date() for one in events.values())
    return Arrivals(
        deliveries=len(deliveries),
        events=len(events),
        agents=_agents(deliveries),
        first_day=days[0],
        last_day=days[-1],
        vouched_for=_counted(str(one["provenance"]) for one in events.values()),
    )


def _agents(deliveries: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    return tuple(sorted({str(one["agent_id"]) for one in deliveries}))


def _confirmation(receipt: Receipt, after: Memory) -> Pair | None:
    fact, mention = _fact(receipt, after), after.heard.get(receipt.event_id)
    if fact is None or mention is None:
        return None
    return Pair(fact.content, mention.content, mention.similarity, receipt.reason or "", (), fact.fact_id)


def _twin(receipt: Receipt, after: Memory) -> Pair | None:
    """The fact that stood nearest when this one was stored, if its receipt names a twin."""
    twin = receipt.evidence.get("twin")
    near = next((one for one in receipt.evidence.get("candidates", []) if one["fact_id"] == twin), None)
    fact, known = _fact(receipt, after), after.rows.get((receipt.agent_id, UUID(twin))) if twin else None
    if not (near and fact and known):
        return None
    findings = guard.agree(known.content, fact.content).findings
    return Pair(known.content, fact.content, near["similarity"], near.get("guard", ""), findings, fact.fact_id)


def _judged(after: Memory, events: set[str]) -> JudgedPairs:
    """How the facts that these events began stand to others."""
    ours = [fact for fact in after.rows.values() if fact.stored_by in events]
    return JudgedPairs(
        minds=tuple(sorted({receipt.evidence["model"] for receipt in after.checked if receipt.evidence.get("candidates")})),
        tokens=sum(receipt.evidence.get("tokens_in", 0) + receipt.evidence.get("tokens_out", 0) for receipt in after.checked),
        pairs=len(_pairs(after)),
        superseded=_settled(ours, after, "superseded_by"),
        merged=_settled(ours, after, "merged_into"),
        disputed=_settled(ours, after, "disputes"),
        unsure=sum(relation == "unsure" for relation in _pairs(after).values()),
    )


def _pairs(after: Memory) -> dict[frozenset[str], str]:
    """Every pair of facts that was compared, with what was said of it last."""
    return {
        frozenset((str(receipt.about), one["fact_id"])): one["relation"]
        for receipt in sorted(after.checked, key=lambda receipt: (receipt.agent_id, receipt.seq))
        for one in receipt.evidence.get("candidates", [])
        if "relation" in one
    }


def _settled(ours: Iterable[Fact], after: Memory, how: str) -> tuple[Settled, ...]:
    """Those that gave way to another fact in this way, oldest first."""
    found = []
    for fact in sorted(ours, key=lambda fact: (fact.valid_to or fact.valid_from, fact.created_at)):
        other = after.rows.get((fact.agent_id, getattr(fact, how)))
        if other:
            findings = guard.agree(fact.wording, other.wording).findings
            found.append(Settled(fact.fact_id, fact.wording, other.wording, fact.valid_to, findings))
    return tuple(found)


def _threshold(name: str, after: Memory) -> float | None:
    """The threshold of the last receipt that used one."""
    return next((receipt.evidence[name] for receipt in reversed(after.told) if name in receipt.evidence), None)


def _counted(words: Iterable[str]) -> dict[str, int]:
    """Each word with how often it comes, the most frequent first."""
    return dict(Counter(words).most_common())


def _fact(receipt: Receipt, after: Memory) -> Fact | None:
    return after.rows.get((receipt.agent_id, receipt.about)) if receipt.about else None
