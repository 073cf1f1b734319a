"""A fact is erased with all that it comes from and that comes from it, and its words are looked for everywhere.

    what hangs on it ─▶ replay stores ─▶ the live store ─▶ Redis ─▶ what wrote meanwhile ─▶ the check

What merely holds the same words, or nearly says the same (alike.py), is told, with how to forget it, and left alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from events import EpisodeClosed, Event, FactForgotten
from nous import clock, ids
from nous.called import command
from nous.errors import Contended, Outage, UserMistake
from nous.people import record
from nous.stories import words
from store import forgetting, leftovers, lineage, spans
from store.database import Database
from store.episodes import Episode
from store.facts import Fact
from store.leftovers import Leftover
from store.lineage import EventKey, Lineage
from store.outbox import Letter
from workers.runtime import erasing
from workers.runtime.erasing import Standing

from .alike import Alike
from .stores import Outcome, Stores, beside, from_redis, send


@dataclass
class Forgotten:
    """What was forgotten, and what the check found: `same` holds the same words and is no part of it, `alike` nearly says the same."""

    fact: Fact
    counts: dict[str, int]
    fact_ids: Sequence[UUID]
    events: Sequence[EventKey]
    episodes: Sequence[UUID]
    outcome: Outcome = field(default_factory=Outcome)
    same: list[str] = field(default_factory=list)
    is_checked: bool = True
    alike: Sequence[Alike] = ()

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "fact_id": self.fact.fact_id,
            "agent_id": self.fact.agent_id,
            "forgotten": [*self.fact_ids],
            "events": [f"{stream}:{event_id}" for stream, event_id in self.events],
            "episodes": [*self.episodes],
            "erased": self.counts,
            **self.outcome.as_data(),
            "same_words": self.same,
            "alike": [one.as_data() for one in self.alike],
            "is_checked": self.is_checked,
            "is_whole": not self.outcome.left,
        }


async def hanging_on(database: Database, fact: Fact) -> Lineage:
    """What is forgotten with a fact, as it is now."""
    async with database.read([fact.agent_id]) as db:
        return await lineage.of(db, fact.agent_id, fact_ids=[fact.fact_id])


def hold_to_a_reason(reason: str, planned: Lineage | None = None, *, named: str = "the reason") -> None:
    """Raises UserMistake for an empty reason, and for one that says what is to be forgotten: its receipt stays."""
    if not reason.strip():
        raise UserMistake(f"{named} does not do: it is empty, and what is forgotten does not come back, so its receipt says why")
    if planned and spans.found(reason, planned.wordings):
        raise UserMistake(f"{named} does not do: it says what is to be forgotten, and its receipt stays; say why in other words")


async def forget(stores: Stores, fact: Fact, planned: Lineage, *, reason: str, alike: Sequence[Alike] = ()) -> Forgotten:
    """Forget a fact with its lineage, as it was `planned`; `alike` nearly says the same, and is told.

    Raises UserMistake for a reason that will not do, and when more hangs on it by now.
    """
    hold_to_a_reason(reason, planned)
    database = stores.database
    outcome, now = Outcome(), clock.now()
    told = _told(fact, planned, now)

    async def in_replay(store: Database) -> int:
        async with store.erase([fact.agent_id]) as db:
            whole = await lineage.elsewhere(db, planned)
            erased = await forgetting.erase(db, whole, by=told.event_id, now=now)
            return sum(erased.counts.values()) + await forgetting.sweep(db, planned)

    await beside(stores, outcome, in_replay)
    if (here := await _erase(database, fact, planned, told, reason)) is None:
        return await again(stores, fact)
    whole, counts, letters = here
    await send(stores, letters)
    episodes = [one.episode.episode_id for one in whole.episodes]
    done = Forgotten(fact, dict(counts), whole.fact_ids, sorted(whole.events), episodes, outcome, alike=alike)
    meant = frozenset((*whole.events, *whole.reworded))
    reworded = frozenset(whole.reworded)
    await from_redis(
        stores,
        outcome,
        lambda stream, owner, event_id, _entry: owner == fact.agent_id and (stream, event_id) in meant,
        lambda stream, event_id, body: lineage.without_words(body, event_id, whole.wordings) if (stream, event_id) in reworded else None,
    )
    async with database.erase([fact.agent_id]) as db:
        await forgetting.sweep(db, whole)
    await _check(stores, whole, done)
    return done


async def _erase(
    database: Database, fact: Fact, planned: Lineage, told: FactForgotten, reason: str
) -> tuple[Lineage, Mapping[str, int], Sequence[Letter]] | None:
    """Erase it from the live store, with the receipt that says so; None when somebody else was quicker. Raises UserMistake."""
    async with database.erase([fact.agent_id]) as db:
        whole = await lineage.of(db, fact.agent_id, fact_ids=[fact.fact_id])
        if fact.fact_id not in whole.fact_ids:
            return None
        if more := set(whole.fact_ids) - set(planned.fact_ids):
            raise UserMistake(f"meanwhile {words.plural(len(more), 'more fact')} came to hang on it, and nothing was forgotten; look again")
        told = _told(fact, whole, told.occurred_at, event_id=told.event_id)
        erased = await forgetting.erase(db, whole, by=told.event_id, now=told.occurred_at)
        letters = await record(
            db,
            told,
            outcome="forgotten",
            about=fact.fact_id,
            reason=reason,
            evidence={
                "facts": [str(one) for one in whole.fact_ids],
                "events": [f"{stream}:{event_id}" for stream, event_id in sorted(whole.events)],
                "reworded": [f"{stream}:{event_id}" for stream, event_id in sorted(whole.reworded)],
                "episodes": [str(one.episode.episode_id) for one in whole.episodes],
                "erased": erased.counts,
            },
            follows=[_closed(told, one) for one in erased.to_summarize],
        )
    return whole, erased.counts, letters


def _told(fact: Fact, whole: Lineage, now: datetime, *, event_id: str | None = None) -> FactForgotten:
    named = tuple(f"{stream}:{one}" for stream, one in sorted(whole.events | whole.reworded))
    fields = {"fact_id": fact.fact_id, "fact_ids": tuple(whole.fact_ids), "event_ids": named, "occurred_at": now}
    named_as = {"event_id": event_id or str(ids.new()), "agent_id": fact.agent_id}
    return FactForgotten.model_validate({**named_as, **fields})


def _closed(told: Event, episode: Episode) -> EpisodeClosed:
    """The episode is closed again, and so is summarised again from what is left of it, with a mind or without."""
    return EpisodeClosed.following(told, of=str(episode.episode_id), episode_id=episode.episode_id, occurred_at=episode.ended_at)


async def again(stores: Stores, fact: Fact) -> Forgotten:
    """Finish what was begun: the words are known no more, so what is erased, and looked for, is what its receipt names.

    Raises UserMistake when it went with all of its agent.
    """
    database = stores.database
    async with database.read([fact.agent_id]) as db:
        receipt = await forgetting.decision(db, fact.agent_id, fact.fact_id)
    if receipt is None:
        raise UserMistake(f"{fact.fact_id} was forgotten on {words.moment(fact.forgotten_at or clock.now())} UTC, with all of its agent")
    named = [_key(one) for one in (*receipt.evidence["events"], *receipt.evidence["reworded"])]
    outcome, meant = Outcome(), frozenset(named)
    learned = [event_id for stream, event_id in named if stream == "fact_learned"]

    async def in_replay(store: Database) -> int:
        async with store.erase([fact.agent_id]) as db:
            there = await lineage.of(db, fact.agent_id, event_ids=learned)
            return sum((await forgetting.erase(db, there, by=receipt.event_id, now=clock.now())).counts.values()) if there.facts else 0

    await beside(stores, outcome, in_replay)
    async with database.erase([fact.agent_id]) as db:
        late = await forgetting.sweep_events(db, fact.agent_id, receipt.event_id)
    await from_redis(stores, outcome, lambda stream, owner, event_id, _entry: owner == fact.agent_id and (stream, event_id) in meant)
    return Forgotten(
        fact,
        {"bus": late} if late else {},
        [UUID(one) for one in receipt.evidence["facts"]],
        named,
        [UUID(one) for one in receipt.evidence["episodes"]],
        outcome,
        is_checked=False,
    )


def _key(written: str) -> EventKey:
    stream, _, event_id = written.partition(":")
    return stream, event_id


# ── the check ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _check(stores: Stores, whole: Lineage, done: Forgotten) -> None:
    """Look for the words everywhere: what of it is still there goes to what is left, what only says the same is told."""

    async def look(store: Database) -> int:
        async with store.overview() as db:
            found = await leftovers.search(db, whole.wordings, agent=whole.agent_id)
        _sort(found.found, whole, done, where="")
        done.outcome.left += [f"{table} is closed to nous_operator, so nobody could look into it" for table in found.closed]
        return 0

    await look(stores.database)
    await beside(stores, done.outcome, look, names=set(done.outcome.replays))
    try:
        async with stores.redis() as redis:
            shapes = [one.encode() for one in leftovers.written(one for one in whole.wordings if not spans.is_few(one))]
            standing = await erasing.search(redis, shapes)
    except (Outage, Contended) as error:
        done.outcome.left.append(f"Redis could not be searched: {error}")
        return
    mine = {event_id for _, event_id in (*whole.events, *whole.reworded)}
    for one in standing:
        if one.agent in (None, whole.agent_id):
            (done.outcome.left if one.event_id in mine else done.same).append(_in_redis(one))


def _sort(found: Iterable[Leftover], whole: Lineage, done: Forgotten, *, where: str) -> None:
    for one in found:
        told = f"{where}{_in_table(one)}"
        if _is_of(one, whole):
            done.outcome.left.append(told)
        elif told not in done.same:
            done.same.append(told)


def _is_of(one: Leftover, whole: Lineage) -> bool:
    """Whether the row hangs on what was forgotten."""
    episodes = {str(told.episode.episode_id) for told in whole.episodes}
    sessions = {str(told.episode.session_key) for told in whole.episodes}
    ids = one.ids
    return (
        one.table == "bus.answers"
        or ids.get("fact_id") in {str(fact) for fact in whole.fact_ids}
        or ids.get("episode_id") in episodes
        or ids.get("session_key") in sessions
        or ids.get("about", "").removeprefix(lineage.EPISODE) in episodes
        or (ids.get("stream"), ids.get("event_id")) in whole.events | whole.reworded
    )


def _in_table(one: Leftover) -> str:
    named = ", ".join(f"{name} {value}" for name, value in one.ids.items() if name != "agent_id")
    fact = one.ids.get("fact_id")
    way = f"; it is of another fact: {command()} fact forget {fact} --because '…'" if fact else ""
    return f"{one.table} ({', '.join(one.columns)}): {named}{way}"


def _in_redis(one: Standing) -> str:
    entry = f", entry {one.entry_id}" if one.entry_id else ""
    return f"Redis: {one.key}{entry}{f', event {one.event_id}' if one.event_id else ''}; a stream is trimmed once all are through with it"
