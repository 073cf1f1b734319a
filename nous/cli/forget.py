"""`nous fact forget`: what hangs on a fact is told, and asked about, and then all of it is forgotten (nous/forgetting)."""

from collections.abc import Sequence

from rich.text import Text

import providers
from nous.errors import UserMistake
from nous.forgetting import alike
from nous.forgetting import fact as forgetting
from nous.forgetting.alike import Alike
from nous.forgetting.fact import Forgotten
from nous.settings import Settings
from nous.stories.ids_meant import fact_meant
from store.database import Database
from store.lineage import Lineage
from workers.runtime.calibrated import calibrated

from . import place, screen
from .forgetting import confirm, listed_counts, print_left, stores_of

SHOWN = 12


async def forget(settings: Settings, written: str, *, reason: str, agent: str | None, is_dry: bool, is_sure: bool, is_json: bool) -> bool:
    """Forget a fact; whether nothing is left of it."""
    forgetting.hold_to_a_reason(reason, named="--because")
    async with place.database(settings) as database:
        async with database.overview() as db:
            fact = (await fact_meant(db, written, agent=agent)).fact
        stores = stores_of(settings, database)
        if fact.forgotten_at:
            return _tell(await forgetting.again(stores, fact), is_json=is_json)
        whole = await forgetting.hanging_on(database, fact)
        forgetting.hold_to_a_reason(reason, whole, named="--because")
        near = await _alike(settings, database, whole)
        if is_dry or not is_sure:
            _print_plan(whole, near, is_json=is_json and is_dry)
        if is_dry:
            return True
        if not confirm("Forget all of this? It does not come back.", is_sure=is_sure):
            raise UserMistake("nothing was forgotten")
        return _tell(await forgetting.forget(stores, fact, whole, reason=reason, alike=near), is_json=is_json)


async def _alike(settings: Settings, database: Database, whole: Lineage) -> Sequence[Alike]:
    """What nearly says the same; no embedder is loaded for it."""
    embedder = providers.embedder(await calibrated(database, settings))
    try:
        return await alike.found(database, whole, embedder)
    finally:
        await embedder.close()


# ── printing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_plan(whole: Lineage, near: Sequence[Alike], *, is_json: bool) -> None:
    if is_json:
        screen.emit(
            {
                "agent_id": whole.agent_id,
                "facts": [{"fact_id": one.fact_id, "content": one.content, "active": one.active} for one in whole.facts],
                "events": [f"{stream}:{event_id}" for stream, event_id in sorted(whole.events)],
                "reworded": [f"{stream}:{event_id}" for stream, event_id in sorted(whole.reworded)],
                "episodes": [one.episode.episode_id for one in whole.episodes],
                "alike": [one.as_data() for one in near],
            }
        )
        return
    console = screen.out()
    console.print(screen.said(f"To be forgotten of {whole.agent_id}:", "bold"))
    for fact in whole.facts[:SHOWN]:
        console.print(Text("  ").append(screen.said(f"{fact.fact_id} “{screen.shown(fact.content)}”")))
    if len(whole.facts) > SHOWN:
        console.print(f"  and {len(whole.facts) - SHOWN:,} more facts; --dry-run --json lists all")
    console.print(f"  {screen.plural(len(whole.mentions), 'mention')}, {screen.plural(len(whole.events), 'event')}")
    for told in whole.episodes:
        console.print(f"  the words in episode {told.episode.episode_id}; it is summarised again from what is left")
    _print_alike(near)


def _print_alike(near: Sequence[Alike]) -> None:
    if near:
        print("these say nearly the same, and stay; forget them too if they are meant:")
    for one in near:
        print(f"  {one.fact_id} “{screen.shown(one.content)}”: {place.command()} fact forget {one.fact_id} --because '…'")


def _tell(done: Forgotten, *, is_json: bool) -> bool:
    is_whole = not done.outcome.left
    if is_json:
        screen.emit(done.as_data())
        return is_whole
    when = f" on {screen.moment(done.fact.forgotten_at)} UTC" if done.fact.forgotten_at else ""
    print(f"forgotten{when}: {screen.plural(len(done.fact_ids), 'fact')} of {screen.shown(done.fact.agent_id)}")
    print(f"  erased: {listed_counts(done.counts)}, Redis entries {done.outcome.entries:,}")
    for one in done.outcome.files:
        print(f"  {one}")
    if done.outcome.replays:
        print(f"  erased in replay stores too: {', '.join(done.outcome.replays)}")
    for episode in done.episodes:
        print(f"  the words were taken out of episode {episode}, which is summarised again if it was before")
    if not done.is_checked:
        print("  its words are known no more, so what is left was looked for by the ids of its events")
    elif is_whole:
        print("  its words were looked for in every table and in Redis: nothing of it is left")
    if done.same:
        print("these other things hold the same words, and do not come from it:")
        for one in done.same:
            print(f"  {one}")
        print(f"what is no fact goes with its agent: {place.command()} agent forget {screen.shown(done.fact.agent_id)} --because '…'")
    _print_alike(done.alike)
    print_left(done.outcome, f"{place.command()} fact forget {done.fact.fact_id} --because '…'")
    return is_whole
