"""A check: what a fact may merge or conflict with is asked about, and what follows is written. Two workers run it.

    read    the fact and its candidates; what is known of each pair already
    think   ask about the others: kept answers first, then the mind; no transaction is open
    write   under the agent's lock: relate, settle, and say what became of each

A fact for which some pair is still open is not settled: it stays stored and recallable, and waits for its answer.

It was compared with the nearest few as they stood when it was read. Something else may have been hidden behind them, where one of them
stands no longer when it is written, whoever retired, merged or forgot it, or where several bear on it: in the life of an agent one
new fact meets one old one, and several at once are a burst. Then the fact is looked at again (account.py), without what is known to
merge or conflict with it, until nothing new does. A look is followed by another only when it found what was not known when it read, or
somebody else changed what stands: so there is a last one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from events import FactStored, FactUnsettled
from nous import clock
from store import facts, receipts, relations
from store.answers import Answer
from store.database import Read, Write
from store.facts import Fact, Key
from store.relations import Relation
from workers.runtime.asking import Open
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, RetryLater

from . import candidates, counsel, settling
from .account import Account, Concern
from .candidates import Candidate
from .counsel import Matter
from .settling import Change
from .verdicts import related

OUTCOMES = ("kept", "merged", "superseded", "retired", "disputed", "revived", "unsure")

Checked = FactStored | FactUnsettled


@dataclass(frozen=True)
class Comparing:
    """A fact and one candidate: what was known of the two, or what was answered."""

    candidate: Candidate
    matter: Matter
    known: Relation | None
    answer: Answer | Open | None = None


@dataclass(frozen=True)
class Considered:
    """A fact, if it is there, and everything it was compared with; `seen` numbers the agent's latest receipt at that moment."""

    fact: Fact | None
    compared: Sequence[Comparing] = ()
    seen: int = 0

    @property
    def open(self) -> Open | None:
        """Why it cannot be settled yet; the longest wait of its pairs."""
        waiting = [one.answer for one in self.compared if isinstance(one.answer, Open)]
        return max(waiting, key=lambda one: one.wait, default=None)


# ── think ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def consider(events: Sequence[Checked], kit: Kit, *, worker: str) -> list[Considered]:
    """Each event's fact with its candidates and an answer for each pair."""
    agents = {event.agent_id for event in events}
    async with kit.database.snapshot(agents) as db:
        seen = await receipts.last_seq(db, agents)
        rows = await facts.survivors(db, {(event.agent_id, event.fact_id) for event in events})
        asked = [rows[event.agent_id, event.fact_id] for event in events if _is_compared(event, rows)]
        again = {rows[event.agent_id, event.fact_id] for event in events if isinstance(event, FactUnsettled) and _is_compared(event, rows)}
        gated = again - {rows[event.agent_id, event.fact_id] for event in events if _is_compared(event, rows) and not _is_gated(event)}
        found = dict(zip(asked, await candidates.find(db, kit, asked, again=again, gated=gated), strict=True)) if asked else {}
        known = await _known(db, found)
    wanted = [Considered(fact, [_compared(fact, one, known) for one in ones], seen.get(fact.agent_id, 0)) for fact, ones in found.items()]
    answers = await counsel.ask(
        [one.matter for considered in wanted for one in considered.compared if one.known is None], kit, worker=worker
    )
    answered = {considered.fact: _with_answers(considered, answers) for considered in wanted}
    return [
        answered.get(fact, Considered(fact, seen=seen.get(fact.agent_id, 0)))
        if (fact := rows.get((event.agent_id, event.fact_id)))
        else Considered(None)
        for event in events
    ]


def _is_compared(event: Checked, rows: dict[Key, Fact]) -> bool:
    """A claim made again brings no new pair: what it changes follows from what is known."""
    is_there = (event.agent_id, event.fact_id) in rows
    return is_there and not (isinstance(event, FactUnsettled) and event.why == "claimed_again")


def _is_gated(event: Checked) -> bool:
    """Whether the nearest of other subjects were asked about already, and one more of them would only cost another question."""
    return isinstance(event, FactUnsettled) and event.why == "retired_another"


async def _known(db: Read, found: dict[Fact, list[Candidate]]) -> dict[relations.Pair, Relation]:
    pairs = {relations.pair(fact.agent_id, fact.text_key, one.fact.text_key) for fact, ones in found.items() for one in ones}
    return await relations.between(db, pairs)


def _compared(fact: Fact, candidate: Candidate, known: dict[relations.Pair, Relation]) -> Comparing:
    pair = relations.pair(fact.agent_id, fact.text_key, candidate.fact.text_key)
    return Comparing(candidate, counsel.matter(fact, candidate.fact), known.get(pair))


def _with_answers(considered: Considered, given: dict[tuple[str, bytes, bytes], Answer | Open]) -> Considered:
    compared = [one if one.known else Comparing(one.candidate, one.matter, None, given[one.matter.key]) for one in considered.compared]
    return replace(considered, compared=compared)


# ── write ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def settle(db: Write, jobs: Sequence[Job[Any, Considered]], kit: Kit) -> list[Ending]:
    """Relate what was answered, settle what that concerns, and say what became of each fact."""
    now = clock.now()
    gone = await _forgotten(db, jobs)
    behind = await _behind(db, jobs) - {_key(job) for job in jobs if job.thought.fact and job.thought.fact.key in gone}
    jobs = [replace(job, thought=_spared(job.thought, gone)) for job in jobs] if gone else jobs
    answered = [job for job in jobs if job.thought.fact and not job.thought.open]
    accounts: dict[str, Account] = {}
    found = _relations(answered, kit, now)
    await relations.put(db, list(found.values()))
    linked = await relations.linked(db, {(job.event.agent_id, job.thought.fact.text_key) for job in answered if job.thought.fact})
    linked |= {(job.event.agent_id, job.thought.fact.text_key) for job in answered if job.thought.fact and _key(job) in behind}
    for agent in sorted({agent for agent, _ in linked}):
        change = await settling.find(db, agent, {key for owner, key in linked if owner == agent})
        concerned = [
            _concern(job, job.thought.fact, change, found, behind) for job in answered if job.event.agent_id == agent and job.thought.fact
        ]
        accounts[agent] = account = Account(change, concerned)
        await settling.write(db, kit.registered.table, change, due_to=account.event_id, now=now)
    return [_ending(job, accounts.get(job.event.agent_id), kit) for job in jobs]


def _key(job: Job[Any, Considered]) -> receipts.Key:
    return job.event.agent_id, job.event.event_id


async def _behind(db: Read, jobs: Sequence[Job[Any, Considered]]) -> set[receipts.Key]:
    """The events of facts that were compared with what stands no longer: another retired, merged or forgot it since."""
    stood = {_key(job): {one.candidate.whole.key for one in job.thought.compared if one.candidate.whole.is_so} for job in jobs}
    still = await facts.still_so(db, set().union(*stood.values()))
    return {key for key, compared in stood.items() if not compared <= still}


def _concern(
    job: Job[Any, Considered],
    fact: Fact,
    change: Change,
    found: Mapping[relations.Pair, Relation],
    behind: Collection[receipts.Key],
) -> Concern:
    may_have_missed = _key(job) in behind or _is_crowded(job.thought, found) or _is_behind(fact, job.thought, change)
    return Concern(job.event, fact, is_compared=bool(job.thought.compared), may_have_missed=may_have_missed)


def _is_behind(fact: Fact, thought: Considered, change: Change) -> bool:
    """Whether what it was compared with is retired or merged now, by another than itself: by one of the same page."""
    by = change.after.get(fact.fact_id, fact).merged_into or fact.fact_id
    now = [change.after.get(one.candidate.whole.fact_id) for one in thought.compared if one.candidate.whole.is_so]
    return any(one is not None and not one.is_so and by not in (one.superseded_by, one.merged_into) for one in now)


def _is_crowded(thought: Considered, found: Mapping[relations.Pair, Relation]) -> bool:
    """Whether several of as many as it may be compared with merge or conflict with it; a look again leaves out what was known to."""
    told = [one.known or found.get(relations.pair(*one.matter.key)) for one in thought.compared]
    return len(told) == candidates.CANDIDATES and sum(one is not None and one.bears for one in told) > 1


async def _forgotten(db: Read, jobs: Sequence[Job[Any, Considered]]) -> set[Key]:
    """Facts that were forgotten while they were thought about."""
    asked = {fact.key for job in jobs for fact in (job.thought.fact, *(one.candidate.fact for one in job.thought.compared)) if fact}
    return await facts.forgotten(db, asked)


def _spared(thought: Considered, gone: Collection[Key]) -> Considered:
    """What was answered about a fact that was forgotten meanwhile counts for nothing, and is written nowhere."""
    if thought.fact is None or thought.fact.key in gone:
        return Considered(thought.fact)
    return replace(thought, compared=[one for one in thought.compared if one.candidate.fact.key not in gone])


def _relations(jobs: Iterable[Job[Any, Considered]], kit: Kit, now: datetime) -> dict[relations.Pair, Relation]:
    """The relations that follow from the answers; of two jobs that were answered for one pair, the first's."""
    found: dict[relations.Pair, Relation] = {}
    for job in jobs:
        for one in job.thought.compared:
            if isinstance(one.answer, Answer):
                relation = related(one.matter, one.answer, event_id=job.event.event_id, now=now, many_valued=kit.settings.many_valued)
                if relation:
                    found.setdefault((relation.agent_id, relation.low_key, relation.high_key), relation)
    return found


# ── what became of each ───────────────────────────────────────────────────────────────────────────────────────────────────


def _ending(job: Job[Any, Considered], account: Account | None, kit: Kit) -> Ending:
    event, thought = job.event, job.thought
    if thought.fact is None:
        return GiveUp(
            f"agent {event.agent_id!r} has no fact {event.fact_id}; it was probably published by hand: publish fact_learned instead"
        )
    if thought.open:
        return RetryLater(thought.open.wait, thought.open.why, together=True, exactly=thought.open.exactly)
    became = account.became(thought.fact) if account else None
    outcome, reason = became or _unsure(thought) or ("kept", None)
    return Done(
        outcome,
        about=thought.fact.fact_id,
        reason=reason,
        evidence=_evidence(thought, kit) | {"changed": account.as_evidence(event) if account else []},
        publishes=account.publishes(event) if account else (),
    )


def _unsure(thought: Considered) -> tuple[str, str] | None:
    """Whether the mind could not tell of a pair that looks alike; of the merely nearest it often cannot, and need not."""
    unsure = [
        one
        for one in thought.compared
        if isinstance(one.answer, Answer) and one.answer.relation == "unsure" and one.candidate.why != "near"
    ]
    return ("unsure", f"the mind could not tell of {len(unsure)} of {len(thought.compared)}") if unsure else None


def _evidence(thought: Considered, kit: Kit) -> dict[str, Any]:
    answered = [one.answer for one in thought.compared if isinstance(one.answer, Answer)]
    return {
        "model": kit.mind.model("relation"),
        "candidates": [_as_evidence(one) for one in thought.compared],
        "seen": thought.seen,
        "tokens_in": sum(one.tokens_in for one in answered),
        "tokens_out": sum(one.tokens_out for one in answered),
        "milliseconds": max((one.milliseconds for one in answered), default=0),
    }


def _as_evidence(one: Comparing) -> dict[str, Any]:
    found = {"fact_id": str(one.candidate.fact.fact_id), "similarity": round(one.candidate.similarity, 4), "why": one.candidate.why}
    if one.known:
        return {**found, "relation": one.known.relation, "reason": one.known.reason, "decided_by": one.known.model or "a person"}
    if isinstance(one.answer, Answer):
        return {**found, "relation": one.answer.relation, "reason": one.answer.reason, "decided_by": one.answer.model}
    return found
