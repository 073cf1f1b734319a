"""A check: what a fact may merge or conflict with is asked about, and what follows is written. Two workers run it.

    read    the fact and its candidates; what is known of each pair already
    think   ask about the others: kept answers first, then the mind; no transaction is open
    write   under the agent's lock: relate, settle, and say what became of each

A fact for which some pair is still open is not settled: it stays stored and recallable, and waits for its answer.

It was compared with the nearest few as they stood when it was read. Where one of them stands no longer when it is written, whoever
retired or merged that, or conflicts with it and took the place of another, something else may have been hidden behind it: the fact
is looked at again (account.py), without what is known to conflict with it, until nothing new does. So of two that conflict, and
both stand in the end, neither was ever hidden from the other by what conflicts with it too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from events import FactStored, FactUnsettled
from nous import clock
from store import facts, receipts, relations
from store.answers import Answer
from store.database import Read, Write
from store.facts import Fact, Key
from store.relations import CONFLICTING, Relation
from workers.runtime.asking import Open
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, RetryLater

from . import candidates, counsel, settling
from .account import About, Account
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

    @property
    def conflicts(self) -> bool:
        """Whether the two are known or said not to be true at one time."""
        said = self.known.relation if self.known else self.answer.relation if isinstance(self.answer, Answer) else None
        return said in CONFLICTING


@dataclass(frozen=True)
class Considered:
    """A fact, if it is there, and everything it was compared with; `seen` numbers the agent's latest receipt at that moment.

    `is_missing` is whether some of what it was compared with was forgotten since.
    """

    fact: Fact | None
    compared: Sequence[Comparing] = ()
    seen: int = 0
    is_missing: bool = False

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
        gated = {rows[event.agent_id, event.fact_id] for event in events if _is_gated(event) and _is_compared(event, rows)}
        found = dict(zip(asked, await candidates.find(db, kit, asked, gated=gated), strict=True)) if asked else {}
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
    """Whether the nearest of other subjects were asked about already, and would only cost another question."""
    return isinstance(event, FactUnsettled) and event.why != "asked_again"


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
    jobs = await _without_forgotten(db, jobs)
    answered = [job for job in jobs if job.thought.fact and not job.thought.open]
    accounts: dict[str, Account] = {}
    await relations.put(db, _relations(answered, kit, now))
    linked = await relations.linked(db, {(job.event.agent_id, job.thought.fact.text_key) for job in answered if job.thought.fact})
    linked |= {(job.event.agent_id, job.thought.fact.text_key) for job in answered if job.thought.fact and job.thought.is_missing}
    for agent in sorted({agent for agent, _ in linked}):
        change = await settling.find(db, agent, {key for owner, key in linked if owner == agent})
        about = [_about(job, job.thought.fact, change) for job in answered if job.event.agent_id == agent and job.thought.fact]
        accounts[agent] = account = Account(change, about)
        await settling.write(db, kit.registered.table, change, due_to=account.event_id, now=now)
    return [_ending(job, accounts.get(job.event.agent_id), kit) for job in jobs]


def _about(job: Job[Any, Considered], fact: Fact, change: Change) -> About:
    compared = job.thought.compared
    is_crowded = len(compared) == candidates.CANDIDATES and any(one.conflicts for one in compared)
    may_have_hidden = job.thought.is_missing or is_crowded or any(_stands_no_longer(one.candidate, change) for one in compared)
    return About(job.event, fact.fact_id, is_compared=bool(compared), may_have_hidden=may_have_hidden)


def _stands_no_longer(candidate: Candidate, change: Change) -> bool:
    return candidate.whole.is_so and not change.after.get(candidate.whole.fact_id, candidate.whole).is_so


async def _without_forgotten(db: Read, jobs: Sequence[Job[Any, Considered]]) -> list[Job[Any, Considered]]:
    """What was answered about a fact that was forgotten meanwhile counts for nothing, and is written nowhere."""
    asked = {fact.key for job in jobs for fact in (job.thought.fact, *(one.candidate.fact for one in job.thought.compared)) if fact}
    gone = await facts.forgotten(db, asked)
    if not gone:
        return list(jobs)
    return [replace(job, thought=_spared(job.thought, gone)) for job in jobs]


def _spared(thought: Considered, gone: Collection[Key]) -> Considered:
    if thought.fact is None or thought.fact.key in gone:
        return Considered(thought.fact)
    left = [one for one in thought.compared if one.candidate.fact.key not in gone]
    return replace(thought, compared=left, is_missing=len(left) < len(thought.compared))


def _relations(jobs: Iterable[Job[Any, Considered]], kit: Kit, now: datetime) -> list[Relation]:
    """The relations that follow from the answers; of two jobs that were answered for one pair, the first's."""
    found: dict[relations.Pair, Relation] = {}
    for job in jobs:
        for one in job.thought.compared:
            if isinstance(one.answer, Answer):
                relation = related(one.matter, one.answer, event_id=job.event.event_id, now=now, many_valued=kit.settings.many_valued)
                if relation:
                    found.setdefault((relation.agent_id, relation.low_key, relation.high_key), relation)
    return list(found.values())


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
