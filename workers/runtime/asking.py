"""Asking a mind: what every question goes through, whatever it is about.

    over budget ──────────────▶ open: it waits for the next hour
    leased: written down as asked, the asker's alone ─▶ the mind ─┬─ an answer ─▶ kept, with what it cost
                                                                  └─ none ──────▶ let go of, paid for, open

No transaction is open while the mind thinks. A question is one asker's alone for as long as that lives; when it is killed before the
answer is kept, another asks once more, and that is counted. How questions and answers are kept is for whoever asks.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

import structlog

from nous import clock
from nous.errors import Contended, Outage
from providers.mind import A, MindAway, NoAnswer, Question, Reply
from store import spending
from store.spending import Spent

from . import metrics
from .patience import repeating
from .worker import Kit

WAIT_FOR_AN_OUTAGE = timedelta(seconds=15)
WAIT_FOR_SENSE = timedelta(minutes=1)
WAIT_FOR_ANOTHER = timedelta(seconds=1)
LISTEN_S = 0.05
LISTEN_CAP_S = 1.0
KEEP_PAUSES_S = (0.1, 0.5, 2.0, 5.0)

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Open:
    """There is no answer yet; `exactly` when it is known how long that lasts."""

    why: str
    wait: timedelta
    exactly: bool = False


UNHEARD = Open("somebody else asked about it, and there is no answer yet", WAIT_FOR_ANOTHER)


class Asker:
    """One question of an agent on its way to a mind.

    `hold(held, until)` makes what is under the lease that ends at `held` the asker's until then, or anybody's (None).
    """

    def __init__(
        self, kit: Kit, *, agent: str, worker: str, model: str, hold: Callable[[datetime, datetime | None], Awaitable[None]]
    ) -> None:
        self.kit = kit
        self.agent = agent
        self.worker = worker
        self.model = model
        self.lease = clock.now()
        self._hold = hold

    async def over_budget(self) -> Open | None:
        """Why nothing is asked for this agent before the next hour, if that is so."""
        hour, settings = _hour(clock.now()), self.kit.settings
        async with self.kit.database.queue() as db:
            own, total = await spending.tokens(db, hour=hour, agent=self.agent)
        until = hour + timedelta(hours=1) - clock.now()
        if own < settings.mind_agent_tokens_per_hour and total < settings.mind_tokens_per_hour:
            return None
        metrics.asked(self.worker, self.model, "over_budget")
        if own >= settings.mind_agent_tokens_per_hour:
            return Open(
                f"agent {self.agent!r} has spent its {settings.mind_agent_tokens_per_hour:,} tokens of this hour", until, exactly=True
            )
        return Open(f"all agents together have spent their {settings.mind_tokens_per_hour:,} tokens of this hour", until, exactly=True)

    def begin(self) -> datetime:
        """Until when the question is the asker's alone, from now."""
        self.lease = self._next_lease()
        return self.lease

    async def put(self, question: Question[A]) -> Reply[A] | Open:
        """Ask, the lease renewed meanwhile; what brought no answer was paid for too."""
        started = time.monotonic()
        try:
            async with repeating(self._renew, every_s=self.kit.settings.claim_after_s / 3, log=log):
                reply = await self.kit.mind.ask(question)
        except (NoAnswer, MindAway) as error:
            self._count("no_answer" if isinstance(error, NoAnswer) else "away", error.tokens_in, error.tokens_out, started)
            await self._let_go()
            async with self.kit.database.queue() as db:
                await spending.add(db, self.spent(error.tokens_in, error.tokens_out))
            return Open(str(error), WAIT_FOR_SENSE if isinstance(error, NoAnswer) else WAIT_FOR_AN_OUTAGE)
        except BaseException:
            await asyncio.shield(self._let_go())
            raise
        self._count("answered", reply.tokens_in, reply.tokens_out, started)
        return reply

    def spent(self, tokens_in: int, tokens_out: int) -> Spent:
        """What the question cost, for the budget and the bill."""
        return Spent(
            agent_id=self.agent,
            hour=_hour(clock.now()),
            worker=self.worker,
            model=self.model,
            questions=1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=self.cost(tokens_in, tokens_out),
        )

    def cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        """US dollars."""
        settings = self.kit.settings
        return Decimal(str((tokens_in * settings.mind_price_in + tokens_out * settings.mind_price_out) / 1_000_000))

    def _count(self, result: metrics.Result, tokens_in: int, tokens_out: int, started: float) -> None:
        cost, seconds = self.cost(tokens_in, tokens_out), time.monotonic() - started
        metrics.asked(self.worker, self.model, result, tokens_in=tokens_in, tokens_out=tokens_out, cost=cost, seconds=seconds)

    async def _renew(self) -> None:
        await self._hold_until(self._next_lease())

    async def _let_go(self) -> None:
        with suppress(Outage, Contended):
            await self._hold_until(None)

    async def _hold_until(self, until: datetime | None) -> None:
        await self._hold(self.lease, until)
        self.lease = until or self.lease

    def _next_lease(self) -> datetime:
        return clock.now() + timedelta(seconds=self.kit.settings.claim_after_s)


async def kept(keep: Callable[[], Awaitable[T]]) -> T:
    """What `keep` writes down is paid for, and not thrown away because the database was busy or away for a moment."""
    pauses_s = iter(KEEP_PAUSES_S)
    while True:
        try:
            return await keep()
        except (Outage, Contended):
            if (pause_s := next(pauses_s, None)) is None:
                raise
            await asyncio.sleep(pause_s)


async def all_through(askings: Iterable[Awaitable[T]]) -> list[T]:
    """What each of them gives; what one of them raises is raised when all are through and their answers kept."""
    through = await asyncio.gather(*askings, return_exceptions=True)
    if failed := next((one for one in through if isinstance(one, BaseException)), None):
        raise failed
    return [one for one in through if not isinstance(one, BaseException)]


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
