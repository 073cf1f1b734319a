"""Asking a mind to write: what was answered before is not asked again, what would go over the budget waits.

    question ─┬─ answered before by this model ──────────────────▶ that answer, for nothing
              ├─ over budget, mind away, no answer to be had ────▶ open: why, and how long to wait
              ├─ another loop or replica asks it now ▶ awaited ──▶ that answer, or open
              └─ asked: written down as asked ▶ the mind ▶ kept ─▶ answer

Answers are kept per agent, model, prompt version and all that was asked (bus.writings).
"""

import asyncio
import hashlib
import json
from datetime import datetime
from typing import Generic

from nous import clock
from providers.mind import A, Question, Reply
from store import spending, writings
from store.writings import Written
from workers.runtime import asking
from workers.runtime.asking import LISTEN_CAP_S, LISTEN_S, UNHEARD, Asker, Open
from workers.runtime.worker import Kit


class Scribe:
    """Asks for one worker; each question looks at the budget when it is its turn."""

    def __init__(self, kit: Kit, *, worker: str) -> None:
        self.kit = kit
        self.worker = worker
        self.model = kit.mind.model("writing")

    async def ask(self, question: Question[A], *, agent: str, about: str) -> Reply[A] | Open:
        """The answer, with what it cost now, or why there is none yet. `about` names what it is about, as `episode:<id>`.

        Raises Outage and Contended for Postgres alone.
        """
        asking_ = _Asking(self, question, agent, about)
        while True:
            if given := await asking_.kept():
                return given
            async with self.kit.questions:
                put = await asking_.put()
            if found := put or await asking_.heard():
                return found


class _Asking(Generic[A]):
    """One question on its way, the asker's alone for as long as it lives."""

    def __init__(self, scribe: Scribe, question: Question[A], agent: str, about: str) -> None:
        self.kit = scribe.kit
        self.question = question
        self.agent = agent
        self.about = about
        self.key = writings.Question(agent, _key(question), question.prompt.version, scribe.model)
        self.asker = Asker(scribe.kit, agent=agent, worker=scribe.worker, model=scribe.model, hold=self._hold)

    async def kept(self) -> Reply[A] | None:
        """The answer that was given before, if one was."""
        async with self.kit.database.read([self.agent]) as db:
            given = await writings.kept(db, self.key)
        return Reply(self._answer(given)) if given else None

    async def put(self) -> Reply[A] | Open | None:
        """Ask, unless that would go over the budget, and keep what is answered; None when it is answered, or another asks it now."""
        if over := await self.asker.over_budget():
            return over
        now, lease = clock.now(), self.asker.begin()
        async with self.kit.database.notes([self.agent]) as db:
            is_ours = await writings.ask(db, self.key, worker=self.asker.worker, about=self.about, now=now, lease=lease)
        if not is_ours:
            return None
        reply = await self.asker.put(self.question)
        return reply if isinstance(reply, Open) else await self._keep(reply)

    async def heard(self) -> Reply[A] | Open | None:
        """What another is asking: its answer once it has come; open where it got none, or takes too long; None when it died."""
        loop, pause_s = asyncio.get_running_loop(), LISTEN_S
        until = loop.time() + self.kit.settings.mind_timeout_s
        while loop.time() < until:
            async with self.kit.database.read([self.agent]) as db:
                lease = await writings.asked_until(db, self.key)
                given = await writings.kept(db, self.key)
            if given:
                return Reply(self._answer(given))
            if lease is None:
                return UNHEARD
            if lease <= clock.now():
                return None
            await asyncio.sleep(pause_s)
            pause_s = min(LISTEN_CAP_S, pause_s * 2)
        return UNHEARD

    async def _keep(self, reply: Reply[A]) -> Reply[A]:
        given = Written(
            answer=reply.answer.model_dump(mode="json"),
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cost=self.asker.cost(reply.tokens_in, reply.tokens_out),
            milliseconds=reply.milliseconds,
            answered_at=clock.now(),
        )
        spent = self.asker.spent(reply.tokens_in, reply.tokens_out)

        async def keep() -> Written:
            async with self.kit.database.notes([self.agent]) as db:
                await writings.keep(db, self.key, given)
                await spending.add(db, spent)
                return await writings.kept(db, self.key) or given

        first = await asking.kept(keep)
        return Reply(self._answer(first), reply.tokens_in, reply.tokens_out, reply.milliseconds)

    async def _hold(self, held: datetime, until: datetime | None) -> None:
        async with self.kit.database.notes([self.agent]) as db:
            await writings.lease(db, self.key, held=held, until=until)

    def _answer(self, given: Written) -> A:
        return self.question.answer.model_validate(given.answer)


def _key(question: Question[A]) -> bytes:
    """A hash of all that is asked."""
    asked = [question.prompt.system, question.prompt.text, question.schema]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).digest()
