"""`nous audit`: how healthy a store is, by looking alone. No mind is asked and nothing is changed, but for the row that keeps the figures.

    every check by itself, in a transaction of its own ─▶ findings, each beside its limit ─▶ told, and kept for --history
    likely twins, junk, redundant: of facts drawn by chance, until the sample or the time is over

Memory does not grow with the store: figures, and a few ids of each finding. What is sampled says so, with its interval.
"""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from rich.progress import BarColumn, Progress, TextColumn

import providers
from nous import clock, guard
from nous.junk import why_junk
from nous.settings import Settings
from providers import single_valued
from store import audit, audit_sampled, audits, embedders
from store.audit import Found, Seen, Week
from store.audit_sampled import Drawn, Twin
from store.audits import EVERYBODY, Audit
from store.database import Database
from store.embedders import Registered
from store.usage import ENOUGH_COMPARED
from workers.episodes import question
from workers.episodes.question import POSITIVE
from workers.runtime.calibrated import calibrated

from . import audit_page, named, place, screen, unheard
from .audit_findings import KINDS, Finding, limits
from .audit_page import RECENT_WEEKS, Looked, Redundant
from .shares import Share

SAMPLE = 2_000
JUNK_SAMPLE = 20_000
WEEK_SAMPLE = 100
WEEKS = 12
SECONDS = 40.0
LONGEST_CHAIN = 20
FIRST = 5
ATTRIBUTES_LOOKED_AT = 10_000
LEAST_BLOCK = 8
BLOCK_TAKES_S = 10.0  # at most, and at most half of the time that is left: a statement has 30 s


@dataclass(frozen=True)
class Asked:
    """What is to be looked at, and how thoroughly: `seconds` is for all that is compared pair by pair."""

    agent: str | None = None
    sample: int = SAMPLE
    seconds: float = SECONDS
    longest: int = LONGEST_CHAIN
    fail_on: Sequence[str] = ()


async def run(settings: Settings, asked: Asked, *, is_json: bool) -> bool:
    """Look, tell, and keep the figures; whether nothing is above its limit. Raises UserMistake."""
    most = limits(asked.fail_on)
    agent = None if asked.agent is None else named.valid(asked.agent)
    async with place.database(settings) as database:
        async with database.overview() as db:
            await unheard.refuse(db, agent)
        with _progress() as step:
            looked = await Look(settings, database, replace(asked, agent=agent), step).at_everything()
        looked = replace(looked, findings=[replace(one, limit=most[one.kind.name]) for one in looked.findings])
        kept = Audit(agent or EVERYBODY, looked.taken_at, looked.is_healthy, looked.as_figures())
        async with database.notes([kept.agent_id]) as db:
            await audits.put(db, kept)
        async with database.overview() as db:
            before = (await audits.listed(db, agent=kept.agent_id, limit=2))[1:]
    if is_json:
        screen.emit(looked.as_data())
    else:
        audit_page.tell(looked, before[0] if before else None)
    return looked.is_healthy


async def history(settings: Settings, *, agent: str | None, limit: int | None, is_json: bool) -> None:
    """Tell the audits that were made, the latest first. Raises UserMistake."""
    most = screen.at_most(limit, is_json=is_json)
    async with place.database(settings) as database, database.overview() as db:
        whose = EVERYBODY if agent is None else named.valid(agent)
        await unheard.refuse(db, agent)
        found = await audits.listed(db, agent=whose, limit=most or 1_000_000)
    if is_json:
        screen.emit([{"agent_id": one.agent_id or None, "taken_at": one.taken_at, "healthy": one.healthy, **one.figures} for one in found])
    else:
        audit_page.tell_history(found)


@dataclass
class Look:
    """One look at a store."""

    settings: Settings
    database: Database
    asked: Asked
    step: Callable[[str], None]
    now: datetime = field(default_factory=clock.now)

    async def at_everything(self) -> Looked:
        """Every check, one after another."""
        began = time.monotonic()
        self.step("counting")
        async with self.database.overview() as db:
            used = await embedders.active(db)
            others = [one for one in await embedders.known(db) if one != used]
            active, rows = await audit.facts(db, agent=self.asked.agent)
        async with self.database.overview() as db:
            ages = await audit.by_provenance_and_age(db, agent=self.asked.agent, now=self.now)
        floor = await self._floor(used)
        findings = [
            await self._twins(used, floor, active),
            await self._without_vector(used),
            await self._not_in_use(used, others),
            *await self._links(),
            *await self._chains(),
            await self._contradictions(),
            await self._junk(active),
            await self._never_drawn_on(),
        ]
        weeks = await self._weeks(used, floor)
        findings.append(_recently(weeks))
        return Looked(
            agent=self.asked.agent,
            taken_at=self.now,
            seconds=time.monotonic() - began,
            embedder=used.name,
            confirm_similarity=floor,
            active=active,
            rows=rows,
            ages=ages,
            findings=findings,
            weeks=weeks,
        )

    async def _floor(self, used: Registered) -> float:
        """From which cosine on two facts are as near as one: what the workers of this store confirm from."""
        embedder = providers.embedder(await calibrated(self.database, self.settings))
        embedders.require(used, name=embedder.name, dimension=embedder.dimension)
        return embedder.confirm_similarity

    # ── compared pair by pair ─────────────────────────────────────────────────────────────────────────────────────────────

    async def _twins(self, used: Registered, floor: float, active: int) -> Finding:
        self.step("twins")
        async with self.database.overview() as db:
            drawn = await audit_sampled.sampled(db, agent=self.asked.agent, limit=self.asked.sample)
        looked_at, found = 0, list[Twin]()
        async for page, near in self._compared(used, floor, drawn, within_s=self.asked.seconds / 2):
            looked_at += len(page)
            found += near
        kinds = Counter(map(_standing, found))
        open_ones = [one for one in found if _standing(one) in UNSETTLED]
        pairs: dict[frozenset[UUID], Seen] = {}
        for one in open_ones:
            earlier, later = (one.other_id, one.fact_id) if one.claimed_later else (one.fact_id, one.other_id)
            pairs.setdefault(frozenset((earlier, later)), Seen(one.agent_id, earlier, later))
        share = Share(len(open_ones), looked_at)
        return Finding(
            KINDS["likely_twins"],
            share,
            is_sampled=looked_at < active,
            estimate=round((share.value or 0) * active),
            detail={name: count for name, count in kinds.items() if name in UNSETTLED},
            not_counted={name: count for name, count in kinds.items() if name not in UNSETTLED},
            first=list(pairs.values())[:FIRST],
        )

    async def _compared(
        self, used: Registered, floor: float, drawn: Sequence[Drawn], *, within_s: float
    ) -> AsyncIterator[tuple[Sequence[Drawn], list[Twin]]]:
        """These facts block by block, each with the twins of it, until they or the time are over; the first block is always compared.

        Blocks are cut from the order of chance in which the facts were drawn, across all agents, so that however many are compared when
        the time is over, those are drawn by chance too. In a block agent by agent: the vectors of one are read once for all of its facts.
        """
        until, at, size = time.monotonic() + within_s, 0, LEAST_BLOCK
        while at < len(drawn) and (at == 0 or time.monotonic() < until):
            block, began = drawn[at : at + size], time.monotonic()
            near = [twin for agent, facts in _by_agent(block).items() for twin in await self._twins_of(used, floor, agent, facts)]
            yield block, near
            at += size
            now = time.monotonic()
            a_second = len(block) / max(now - began, 0.001)
            size = max(LEAST_BLOCK, min(4 * size, int(a_second * min((until - now) / 2, BLOCK_TAKES_S))))

    async def _twins_of(self, used: Registered, floor: float, agent: str, facts: Sequence[UUID]) -> list[Twin]:
        async with self.database.overview() as db:
            return await audit_sampled.twins(db, used, agent, facts, floor=floor)

    async def _weeks(self, used: Registered, floor: float) -> list[Redundant]:
        self.step("added week by week")
        since = self.now - timedelta(weeks=WEEKS)
        async with self.database.overview() as db:
            weeks = await audit.weeks(db, agent=self.asked.agent, since=since, until=self.now)
        return [await self._redundant(used, floor, week) for week in weeks]

    async def _redundant(self, used: Registered, floor: float, week: Week) -> Redundant:
        if not week.active:
            return Redundant(week, 0, 0)
        async with self.database.overview() as db:
            drawn = await audit_sampled.sampled(
                db, agent=self.asked.agent, limit=WEEK_SAMPLE, since=week.begins, until=week.begins + timedelta(weeks=1)
            )
        looked_at, twins = 0, 0
        async for page, near in self._compared(used, floor, drawn, within_s=self.asked.seconds / 2 / WEEKS):
            looked_at += len(page)
            twins += sum(one.is_later and _standing(one) in UNSETTLED for one in near)
        return Redundant(week, looked_at, twins)

    # ── looked at whole ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _without_vector(self, used: Registered) -> Finding:
        self.step("vectors")
        async with self.database.overview() as db:
            found = await audit.without_vector(db, used, agent=self.asked.agent, first=FIRST)
        return Finding(KINDS["without_vector"], Share(found.count, found.of), first=found.first)

    async def _not_in_use(self, used: Registered, others: Sequence[Registered]) -> Finding:
        counts = {}
        for one in (used, *others):
            async with self.database.overview() as db:
                counts[one.name] = await audit.vectors_of(db, one, agent=self.asked.agent)
        every = sum(counts.values())
        unused = every - counts.pop(used.name)
        return Finding(KINDS["vectors_not_in_use"], Share(unused, every), detail={name: count for name, count in counts.items() if count})

    async def _links(self) -> list[Finding]:
        self.step("links")
        found: dict[str, Found] = {}
        for link in audit.LINKS:
            async with self.database.overview() as db:
                found[link] = await audit.dangling(db, link, agent=self.asked.agent, first=FIRST)
        unrecorded = found.pop("decision_of_episode")
        share = Share(sum(one.count for one in found.values()), sum(one.of for one in found.values()))
        first = [seen for one in found.values() for seen in one.first][:FIRST]
        detail = {link: one.count for link, one in found.items() if one.count}
        return [
            Finding(KINDS["dangling_links"], share, detail=detail, first=first),
            Finding(KINDS["unrecorded_decisions"], Share(unrecorded.count, unrecorded.of), first=unrecorded.first),
        ]

    async def _chains(self) -> list[Finding]:
        self.step("chains")
        longest = self.asked.longest
        async with self.database.overview() as db:
            ends = await audit.long_chains(db, agent=self.asked.agent, longest=longest, first=audit.LOOKED_AT_IDS)
            rings = await audit.rings(db, ends.first, longest=longest, first=audit.LOOKED_AT_IDS) if ends.count else Found(0, 0)
        in_ring = {(one.agent_id, one.id) for one in rings.first}
        others = [one for one in ends.first if (one.agent_id, one.id) not in in_ring]
        return [
            Finding(KINDS["rings"], Share(rings.count, ends.of), first=rings.first[:FIRST]),
            Finding(KINDS["long_chains"], Share(ends.count - rings.count, ends.of), first=others[:FIRST]),
        ]

    async def _contradictions(self) -> Finding:
        self.step("contradictions")
        async with self.database.overview() as db:
            said = await audit.attributes(db, agent=self.asked.agent, limit=ATTRIBUTES_LOOKED_AT)
            names = [name for name in said if single_valued.attribute(name) and name not in self.settings.many_valued]
            found = await audit.contradictions(db, names, agent=self.asked.agent, first=FIRST)
        return Finding(KINDS["contradictions"], Share(found.count, found.of), first=found.first)

    async def _junk(self, active: int) -> Finding:
        self.step("junk")
        async with self.database.overview() as db:
            drawn = await audit_sampled.sampled(db, agent=self.asked.agent, limit=JUNK_SAMPLE)
        prompt = question.facts_by(POSITIVE)
        kinds = [(one, why_junk(one.content, subject=one.subject, prompt=prompt)) for one in drawn]
        found = [one for one, kind in kinds if kind]
        share = Share(len(found), len(drawn))
        return Finding(
            KINDS["junk"],
            share,
            is_sampled=len(drawn) < active,
            estimate=round((share.value or 0) * active),
            detail=dict(Counter(kind for _, kind in kinds if kind)),
            first=[Seen(one.agent_id, one.fact_id) for one in found[:FIRST]],
        )

    async def _never_drawn_on(self) -> Finding:
        self.step("use")
        async with self.database.overview() as db:
            found = await audit.never_drawn_on(db, agent=self.asked.agent, compared=ENOUGH_COMPARED, first=FIRST)
        return Finding(KINDS["never_drawn_on"], Share(found.count, found.of), first=found.first)


# ── pure rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────

UNSETTLED = ("never asked", "unsure")


def _by_agent(drawn: Sequence[Drawn]) -> dict[str, list[UUID]]:
    of_agent: dict[str, list[UUID]] = {}
    for one in drawn:
        of_agent.setdefault(one.agent_id, []).append(one.fact_id)
    return of_agent


def _standing(twin: Twin) -> str:
    """How two facts that are as near as one stand: settled, said of something else, told apart by the guard, unsure, never asked."""
    if twin.known and twin.known != "unsure":
        return "settled"
    if twin.is_about_another:
        return "of another subject"
    if guard.agree(twin.content, twin.other).decisive:
        return "told apart by the guard"
    return twin.known or "never asked"


def _recently(weeks: Sequence[Redundant]) -> Finding:
    """What was redundant of all that was added in the last weeks."""
    recent = [one for one in weeks[-RECENT_WEEKS:] if one.week.added]
    return Finding(
        KINDS["redundant_added"],
        audit_page.together(recent),
        is_sampled=True,
        detail={
            "merged since": sum(one.week.merged for one in recent),
            "beside a twin, estimated": sum(one.estimated for one in recent),
        },
    )


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What is looked at, on a terminal."""
    console = screen.err()
    columns = TextColumn("{task.description}"), BarColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("looking", total=None)
        yield lambda what: bar.update(task, description=what)
