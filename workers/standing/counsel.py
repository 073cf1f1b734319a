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
from dataclasses import dataclass, replace
from datetime import datetime

from nous import clock
from providers.mind import Claim, Judgement, Judgements, Pair, Reply
from store import answers, spending
from store.answers import Answer, Asked
from store.facts import Fact
from workers.runtime import asking
from workers.runtime.asking import LISTEN_CAP_S, LISTEN_S, UNHEARD, Asker, Open
from workers.runtime.worker import Kit

from . import question

PAIRS_AT_ONCE = 120  # 40 took 327 questions for 1,000 facts that come session by session, 120 take 176 (measured, docs/quality.md)
CHARACTERS_AT_ONCE = 60_000


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
        for given in await asking.all_through(one.in_turn() for one in questions):
            found |= given
        if theirs := [key for key in wanted if key not in found]:
            found |= await _heard(theirs, kit, model)
    return found


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
    return {
        key: replace(given[key], tokens_in=0, tokens_out=0) if key in given else UNHEARD for key in keys if key in given or key not in dead
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
        self.model = model
        self.agent = matters[0].older.agent_id
        self.asker = Asker(kit, agent=self.agent, worker=worker, model=model, hold=self._hold)

    async def in_turn(self) -> Mapping[answers.Pair, Answer | Open]:
        """Ask when it is its turn, unless that would go over the budget, and keep what is answered.

        Says nothing of pairs that another asks now.
        """
        async with self.kit.questions:
            return await self._put()

    async def _put(self) -> Mapping[answers.Pair, Answer | Open]:
        if over := await self.asker.over_budget():
            return dict.fromkeys(self._keys, over)
        meanwhile = await self._write_down()
        return {**meanwhile, **(await self._ask() if self.matters else {})}

    @property
    def _keys(self) -> list[answers.Pair]:
        return [one.key for one in self.matters]

    async def _ask(self) -> Mapping[answers.Pair, Answer | Open]:
        reply = await self.asker.put(question.about([one.as_pair() for one in self.matters]))
        return dict.fromkeys(self._keys, reply) if isinstance(reply, Open) else await self._kept(reply)

    async def _write_down(self) -> Mapping[answers.Pair, Answer]:
        """What was answered before its turn came is not asked, and what another asks now is left to it."""
        now, lease = clock.now(), self.asker.begin()
        async with self.kit.database.notes([self.agent]) as db:
            ours = await answers.ask(db, [self._asked(one, now) for one in self.matters], lease=lease)
            meanwhile = await answers.kept(db, self._keys, prompt=question.VERSION, model=self.model)
        self.matters = [one for one in self.matters if one.key in ours]
        return meanwhile

    async def _hold(self, held: datetime, until: datetime | None) -> None:
        async with self.kit.database.notes([self.agent]) as db:
            await answers.lease(db, self._keys, prompt=question.VERSION, model=self.model, held=held, until=until)

    def _asked(self, one: Matter, now: datetime) -> Asked:
        agent, older, newer = one.key
        return Asked(
            agent_id=agent,
            older_key=older,
            newer_key=newer,
            prompt=question.VERSION,
            model=self.model,
            worker=self.asker.worker,
            older=one.older.wording,
            newer=one.newer.wording,
            asked_at=now,
        )

    async def _kept(self, reply: Reply[Judgements]) -> Mapping[answers.Pair, Answer]:
        given, spent = self._answers(reply), self.asker.spent(reply.tokens_in, reply.tokens_out)

        async def keep() -> Mapping[answers.Pair, Answer]:
            async with self.kit.database.notes([self.agent]) as db:
                await answers.keep(db, given)
                await spending.add(db, spent)
                return await answers.kept(db, self._keys, prompt=question.VERSION, model=self.model)

        return await asking.kept(keep)

    def _answers(self, reply: Reply[Judgements]) -> list[Answer]:
        """An answer for each pair, with its share of what the question cost."""
        judgements = sorted(reply.answer.judgements, key=lambda one: one.pair)
        shares = zip(_shares(reply.tokens_in, len(judgements)), _shares(reply.tokens_out, len(judgements)), strict=True)
        now = clock.now()
        return [
            self._answer(one, judgement, share, reply.milliseconds, now)
            for one, judgement, share in zip(self.matters, judgements, shares, strict=True)
        ]

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
            cost=self.asker.cost(*share),
            milliseconds=milliseconds,
            answered_at=now,
        )


def _shares(whole: int, count: int) -> list[int]:
    """`whole` in `count` nearly equal parts that add up to it."""
    return [whole // count + (at < whole % count) for at in range(count)]


def _claim(fact: Fact) -> Claim:
    return Claim(
        content=fact.wording,
        said_at=fact.claimed_at,
        provenance=fact.provenance,  # type: ignore[arg-type]
        subject=fact.subject,
        attribute=fact.attribute,
    )
