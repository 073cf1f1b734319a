"""`nous agent forget`: everything of an agent is erased, in every table, in replay stores and in Redis; what stays is a hash of its name.

What was published before that and arrives after it is refused. What the agent says later is a new memory.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import events
from events import AgentForgotten
from nous import clock
from nous.errors import Contended, Outage, UserMistake
from nous.forgetting.fact import hold_to_a_reason
from nous.forgetting.stores import Outcome, beside, from_redis, send
from nous.settings import Settings
from store import agents, forgotten, leftovers
from store.database import Database
from workers.runtime import erasing

from . import decision, place, screen
from .forgetting import confirm, listed_counts, print_left, stores_of

OPTIONS: dict[str, str] = {}


async def forget(settings: Settings, agent: str, *, reason: str, is_dry: bool, is_sure: bool, is_json: bool) -> bool:
    """Forget an agent whole; whether nothing is left of it."""
    hold_to_a_reason(reason, named="--because")
    if agent in reason:
        raise UserMistake("--because does not do: it names the agent, and its receipt stays while the name does not; say why without it")
    async with place.database(settings) as database:
        async with database.overview() as db:
            sizes = await agents.sizes(db, agent)
            before = (await forgotten.agents(db, [agent])).get(agent)
        if not sizes and before is None and not await _in_redis(settings, agent):
            raise UserMistake(f"nothing is kept of an agent {agent!r}; {place.command()} facts lists agents with their facts")
        if is_dry or not is_sure:
            _print_plan(agent, sizes, is_json=is_json and is_dry)
        if is_dry:
            return True
        if not confirm(f"Forget all of {screen.shown(agent)}? It does not come back.", is_sure=is_sure):
            raise UserMistake("nothing was forgotten")
        counts, outcome = await _forget(settings, database, agent, reason, before=None if sizes else before)
    return _tell(agent, counts, outcome, is_json=is_json)


async def _forget(
    settings: Settings, database: Database, agent: str, reason: str, *, before: datetime | None
) -> tuple[Mapping[str, int], Outcome]:
    """Erase it; one of which no row is left was forgotten `before`, and only Redis may hold more of it."""
    key, outcome, counts, stores = forgotten.agent_key(agent), Outcome(), {}, stores_of(settings, database)
    told = decision.event(AgentForgotten, key, OPTIONS, occurred_at=await _now(settings))

    async def in_replay(store: Database) -> int:
        async with store.erase([agent, key]) as db:
            return sum((await agents.erase(db, agent, by=told.event_id, now=told.occurred_at)).values())

    await beside(stores, outcome, in_replay)
    if before is None:
        async with database.erase([agent, key]) as db:
            counts = await agents.erase(db, agent, by=told.event_id, now=told.occurred_at)
            letters = await decision.record(
                db, told, outcome="forgotten", about=UUID(told.event_id), reason=reason, evidence={"erased": counts}
            )
        await send(stores, letters)
    at = before or told.occurred_at
    await from_redis(stores, outcome, lambda stream, owner, _event, entry: owner == agent and _is_before(stream, entry, at))
    await _check(settings, database, agent, at, outcome)
    return counts, outcome


def _is_before(stream: str, entry_id: str, at: datetime) -> bool:
    """Whether an entry is of what was forgotten; what workers made of it may have been published a little later."""
    published = datetime.fromtimestamp(int(entry_id.partition("-")[0]) / 1000, UTC)
    return published <= (at if stream in events.FROM_AGENTS else at + forgotten.STRAGGLING)


async def _now(settings: Settings) -> datetime:
    """By the later of our clock and that of Redis, from which entries have their time."""
    try:
        async with place.redis(settings) as redis:
            theirs = datetime.fromtimestamp(await erasing.now_ms(redis) / 1000, UTC) + timedelta(milliseconds=1)
    except Outage:
        return clock.now()
    return max(clock.now(), theirs)


async def _in_redis(settings: Settings, agent: str) -> bool:
    """Whether Redis holds an event of the agent."""
    async with place.redis(settings) as redis:
        return any(one.agent == agent for one in await erasing.search(redis, [one.encode() for one in leftovers.written([agent])]))


async def _check(settings: Settings, database: Database, agent: str, at: datetime, outcome: Outcome) -> None:
    """Look for rows of the agent, and for its name, everywhere."""
    async with database.overview() as db:
        sizes = await agents.sizes(db, agent)
        found = await leftovers.search(db, [agent], agent="")
    if sizes:
        outcome.left.append(f"rows that came meanwhile ({listed_counts(sizes)}): what it said since is a new memory")
    outcome.left += [f"its name, in a row of nobody's: {one.table} ({', '.join(one.columns)}) {dict(one.ids)}" for one in found.found]
    outcome.left += [f"{table} is closed to nous_operator, so nobody could look into it" for table in found.closed]
    try:
        async with place.redis(settings) as redis:
            standing = await erasing.search(redis, [one.encode() for one in leftovers.written([agent])])
    except (Outage, Contended) as error:
        outcome.left.append(f"Redis could not be searched: {error}")
        return
    for one in standing:
        stream = one.key.removesuffix(".parked")
        if one.agent == agent and stream in events.CATALOGUE and one.entry_id and _is_before(stream, one.entry_id, at):
            outcome.left.append(f"Redis: {one.key}, entry {one.entry_id}")


def _print_plan(agent: str, sizes: Mapping[str, int], *, is_json: bool) -> None:
    if is_json:
        screen.emit({"agent_id": agent, "rows": sizes})
        return
    console = screen.out()
    console.print(screen.said(f"To be forgotten, all of {agent}:", "bold"))
    for table, rows in sizes.items():
        console.print(f"  {table} {rows:,}")


def _tell(agent: str, counts: Mapping[str, int], outcome: Outcome, *, is_json: bool) -> bool:
    is_whole = not outcome.left
    if is_json:
        screen.emit({"agent_id": agent, "kept_as": forgotten.agent_key(agent), "erased": counts, **outcome.as_data(), "is_whole": is_whole})
        return is_whole
    print(f"forgotten: all of {screen.shown(agent)}")
    print(f"  erased: {listed_counts(dict(counts))}, Redis entries {outcome.entries:,}")
    for one in outcome.files:
        print(f"  {one}")
    if outcome.replays:
        print(f"  erased in replay stores too: {', '.join(outcome.replays)}")
    print(f"  what stays is a hash of its name, {forgotten.agent_key(agent)}, so that what was published before is refused")
    if is_whole:
        print("  no row of it is left in any table, and no entry in Redis")
    print_left(outcome, f"{place.command()} agent forget {screen.shown(agent)} --because '…'")
    return is_whole
