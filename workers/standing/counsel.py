"""Asking the mind about pairs: what was answered before is not asked again, what would go over the budget waits.

    pair ─┬─ answered before by this model ────────────────────────────▶ that answer
          ├─ over budget, mind away, no answer to be had ──────────────▶ open: why, and how long to wait
          ├─ another loop or replica asks it now ▶ its answer awaited ─▶ that answer, or open
          └─ asked: written down as asked ▶ the mind ▶ its answer kept ▶ answer

No transaction is open while the mind thinks. A question is one asker's alone for as long as that lives; when it is killed before the
answer is kept, another asks once more, and that is counted.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

import structlog

from nous import clock
from nous.errors import Contended, NousError, Outage
from providers.mind import Claim, Judgement, MindAway, NoAnswer, Pair
from store import answers, spending
from store.answers import Answer, Asked
from store.facts import Fact
from store.spending import Spent
from workers.runtime.patience import repeating
from workers.runtime.worker import Kit

from . import question

PAIRS_AT_ONCE = 120  # 40 took 327 questions for 1,000 facts that come session by session, 120 take 176 (measured, docs/quality.md)
CHARACTERS_AT_ONCE = 60_000
WAIT_FOR_AN_OUTAGE = timedelta(seconds=15)
WAIT_FOR_SENSE = timedelta(minutes=1)
WAIT_FOR_ANOTHER = timedelta(seconds=1)
LISTEN_S = 0.05
LISTEN_CAP_S = 1.0
KEEP_PAUSES_S = (0.1, 0.5, 2.0, 5.0)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Matter:
    """Two facts of one agent to be judged, the older claim first."""

    older: Fact
    newer: Fact

    @property
    def key(self) -> answers.Pair:
        """What its answer is kept under."""
        return self.older.agent_id, self.older.text_key, self.newer.text_key

    def as_pair(self) -> Pair:
        """For the mind."""
        return Pair(_claim(self.older), _claim(self.newer))


@dataclass(frozen=True, slots=True)
class Open:
    """A pair that has no answer yet; `exactly` when it is known how long that lasts."""

    why: str
    wait: timedelta
    exactly: bool = False


def matter(one: Fact, other: Fact) -> Matter:
    """The two in the order of their latest claims."""
    older, newer = sorted((one, other), key=lambda fact: (fact.claimed_at, fact.claimed_by))
    return Matter(older, newer)


async def ask(matters: Iterable[Matter], kit: Kit, *, worker: str) -> dict[answers.Pair, Answer | Open]:
    """An answer for each pair, with what it cost now, or why there is none yet. Raises Outage and Contended for Postgres alone."""
    wanted = {one.key: one for one in matters}
    model = kit.mind.model("relation")
    async with kit.database.read({agent for agent, _, _ in wanted}) as db:
        kept = await answers.kept(db, wanted, prompt=question.VERSION, model=model)
    found: dict[answers.Pair, Answer | Open] = {key: replace(answer, tokens_in=0, tokens_out=0) for key, answer in kept.items()}
    while left := [one for key, one in wanted.items() if key not in found]:
        questions = [_Asking(some, kit, worker, model) for some in _questions(left)]
        for given in await _all_put(questions, at_once=kit.settings.mind_concurrency):
            found |= given
        if theirs := [key for key in wanted if key not in found]:
            found |= await _heard(theirs, kit, model)
    return found


async def _all_put(questions: Sequence["_Asking"], *, at_once: int) -> list[Mapping[answers.Pair, Answer | Open]]:
    """Each looks at the budget when it is its turn; what one of them raises is raised when all are through and their answers kept."""
    turns = asyncio.Semaphore(at_once)

    async def in_turn(asking: "_Asking") -> Mapping[answers.Pair, Answer | Open]:
        async with turns:
            return await asking.put()

    put = await asyncio.gather(*map(in_turn, questions), return_exceptions=True)
    if failed := next((one for one in put if isinstance(one, BaseException)), None):
        raise failed
    return [one for one in put if not isinstance(one, BaseException)]


async def _heard(keys: Collection[answers.Pair], kit: Kit, model: str) -> dict[answers.Pair, Answer | Open]:
    """What others are asking: their answers, once all have come; open where they got none, or take too long. Nothing of those who died."""
    loop, pause_s = asyncio.get_running_loop(), LISTEN_S
    until = loop.time() + kit.settings.mind_timeout_s
    while True:
        async with kit.database.read({agent for agent, _, _ in keys}) as db:
            leases = await answers.leases(db, keys, prompt=question.VERSION, model=model)
            given = await answers.kept(db, keys, prompt=question.VERSION, model=model)
        dead = {key for key, lease in leases.items() if lease <= clock.now()}
        if leases.keys() == dead or loop.time() > until:
            break
        await asyncio.sleep(pause_s)
        pause_s = min(LISTEN_CAP_S, pause_s * 2)
    unheard = Open("somebody else asked about it, and there is no answer yet", WAIT_FOR_ANOTHER)
    return {
        key: replace(given[key], tokens_in=0, tokens_out=0) if key in given else unheard for key in keys if key in given or key not in dead
    }


def _questions(matters: Sequence[Matter]) -> Iterator[list[Matter]]:
    """The pairs in questions of one agent each, bounded in pairs and in characters; all of a new fact's together, it is written once."""
    some: list[Matter] = []
    told: dict[bytes, int] = {}
    for one in sorted(matters, key=lambda one: (one.newer.agent_id, one.newer.text_key, one.older.text_key)):
        added = {fact.text_key: len(fact.wording) for fact in (one.older, one.newer)}
        is_full = len(some) == PAIRS_AT_ONCE or sum((told | added).values()) > CHARACTERS_AT_ONCE
        if some and (is_full or some[0].older.agent_id != one.older.agent_id):
            yield some
            some, told = [], {}
        some.append(one)
        told |= added
    if some:
        yield some


class _Asking:
    """One question on its way, the asker's alone for as long as it lives."""

    def __init__(self, matters: Sequence[Matter], kit: Kit, worker: str, model: str) -> None:
        self.matters = matters
        self.kit = kit
        self.worker = worker
        self.model = model
        self.agent = matters[0].older.agent_id
        self.lease = clock.now()

    async def put(self) -> Mapping[answers.Pair, Answer | Open]:
        """Ask, unless that would go over the budget, and keep what is answered; says nothing of pairs that another asks now."""
        if over := await self._over_budget():
            return dict.fromkeys((one.key for one in self.matters), over)
        meanwhile = await self._write_down()
        return {**meanwhile, **(await self._ask() if self.matters else {})}

    async def _ask(self) -> Mapping[answers.Pair, Answer | Open]:
        try:
            async with repeating(self._renew, every_s=self.kit.settings.claim_after_s / 3, log=log):
                reply = await self.kit.mind.ask(question.about([one.as_pair() for one in self.matters]))
        except (NoAnswer, MindAway) as error:
            await self._let_go()
            await self._spend(error.tokens_in, error.tokens_out)
            return self._open(error, WAIT_FOR_SENSE if isinstance(error, NoAnswer) else WAIT_FOR_AN_OUTAGE)
        except BaseException:
            await asyncio.shield(self._let_go())
            raise
        return await self._keep(reply.answer.judgements, reply.tokens_in, reply.tokens_out, reply.milliseconds)

    def _open(self, error: NousError, wait: timedelta) -> dict[answers.Pair, Answer | Open]:
        return dict.fromkeys((one.key for one in self.matters), Open(str(error), wait))

    async def _over_budget(self) -> Open | None:
        hour = _hour(clock.now())
        async with self.kit.database.queue() as db:
            own, total = await spending.tokens(db, hour=hour, agent=self.agent)
        settings, until = self.kit.settings, hour + timedelta(hours=1) - clock.now()
        if own >= settings.mind_agent_tokens_per_hour:
            return Open(
                f"agent {self.agent!r} has spent its {settings.mind_agent_tokens_per_hour:,} tokens of this hour", until, exactly=True
            )
        if total >= settings.mind_tokens_per_hour:
            return Open(f"all agents together have spent their {settings.mind_tokens_per_hour:,} tokens of this hour", until, exactly=True)
        return None

    async def _write_down(self) -> Mapping[answers.Pair, Answer]:
        """What was answered before its turn came is not asked, and what another asks now is left to it."""
        now, keys = clock.now(), [one.key for one in self.matters]
        self.lease = self._next_lease()
        async with self.kit.database.notes([self.agent]) as db:
            ours = await answers.ask(db, [self._asked(one, now) for one in self.matters], lease=self.lease)
            meanwhile = await answers.kept(db, keys, prompt=question.VERSION, model=self.model)
        self.matters = [one for one in self.matters if one.key in ours]
        return meanwhile

    async def _renew(self) -> None:
        await self._hold_until(self._next_lease())

    async def _let_go(self) -> None:
        with suppress(Outage, Contended):
            await self._hold_until(None)

    async def _hold_until(self, until: datetime | None) -> None:
        keys = [one.key for one in self.matters]
        async with self.kit.database.notes([self.agent]) as db:
            await answers.lease(db, keys, prompt=question.VERSION, model=self.model, held=self.lease, until=until)
        self.lease = until or self.lease

    def _next_lease(self) -> datetime:
        return clock.now() + timedelta(seconds=self.kit.settings.claim_after_s)

    def _asked(self, one: Matter, now: datetime) -> Asked:
        agent, older, newer = one.key
        return Asked(
            agent_id=agent,
            older_key=older,
            newer_key=newer,
            prompt=question.VERSION,
            model=self.model,
            worker=self.worker,
            older=one.older.wording,
            newer=one.newer.wording,
            asked_at=now,
        )

    async def _keep(
        self, judgements: Sequence[Judgement], tokens_in: int, tokens_out: int, milliseconds: int
    ) -> dict[answers.Pair, Answer | Open]:
        now = clock.now()
        shares = zip(_shares(tokens_in, len(judgements)), _shares(tokens_out, len(judgements)), strict=True)
        by_number = sorted(judgements, key=lambda one: one.pair)
        given = [
            self._answer(one, judgement, share, milliseconds, now)
            for one, judgement, share in zip(self.matters, by_number, shares, strict=True)
        ]
        return {**await self._written(given, self._spent(tokens_in, tokens_out))}

    async def _written(self, given: Sequence[Answer], spent: Spent) -> Mapping[answers.Pair, Answer]:
        """What is paid for is not thrown away because the database was busy or away for a moment."""
        pauses_s = iter(KEEP_PAUSES_S)
        while True:
            try:
                async with self.kit.database.notes([self.agent]) as db:
                    await answers.keep(db, given)
                    await spending.add(db, spent)
                    return await answers.kept(db, [one.key for one in self.matters], prompt=question.VERSION, model=self.model)
            except (Outage, Contended):
                if (pause_s := next(pauses_s, None)) is None:
                    raise
                await asyncio.sleep(pause_s)

    def _answer(self, one: Matter, judgement: Judgement, share: tuple[int, int], milliseconds: int, now: datetime) -> Answer:
        agent, older, newer = one.key
        return Answer(
            agent_id=agent,
            older_key=older,
            newer_key=newer,
            prompt=question.VERSION,
            model=self.model,
            relation=judgement.relation,
            richer=judgement.richer if judgement.relation == "refines" else None,
            reason=judgement.reason,
            tokens_in=share[0],
            tokens_out=share[1],
            cost=self._cost(*share),
            milliseconds=milliseconds,
            answered_at=now,
        )

    async def _spend(self, tokens_in: int, tokens_out: int) -> None:
        """What brought no answer was paid for too."""
        async with self.kit.database.queue() as db:
            await spending.add(db, self._spent(tokens_in, tokens_out))

    def _spent(self, tokens_in: int, tokens_out: int) -> Spent:
        return Spent(
            agent_id=self.agent,
            hour=_hour(clock.now()),
            worker=self.worker,
            model=self.model,
            questions=1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=self._cost(tokens_in, tokens_out),
        )

    def _cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        settings = self.kit.settings
        return Decimal(str((tokens_in * settings.mind_price_in + tokens_out * settings.mind_price_out) / 1_000_000))


def _shares(whole: int, count: int) -> list[int]:
    """`whole` in `count` nearly equal parts that add up to it."""
    return [whole // count + (at < whole % count) for at in range(count)]


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _claim(fact: Fact) -> Claim:
    return Claim(
        content=fact.wording,
        said_at=fact.claimed_at,
        provenance=fact.provenance,  # type: ignore[arg-type]
        subject=fact.subject,
        attribute=fact.attribute,
    )
