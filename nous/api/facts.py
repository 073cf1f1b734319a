"""What a person decides of a fact: that it is true beside what retired it, that another one ended it, or that it is to be forgotten.

restore ─▶ fact_restored ─▶ what was freed is looked at again by a running worker
retire ──▶ fact_retired ──▶ what ended it is
forget ──▶ what hangs on it is erased everywhere, and its words are looked for (nous/forgetting)
"""

import asyncio
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import AliasChoices, AwareDatetime, Field

from events import Event, FactRestored, FactRetired
from events.base import ShortText
from events.wire import mended
from nous import clock, ids, people
from nous.errors import UserMistake
from nous.forgetting import alike
from nous.forgetting import fact as forgetting
from nous.stories.ids_meant import Meant, fact_meant
from store import embedders, facts
from store.database import Read
from store.facts import Fact

from . import shapes, telling
from .paths import MemoryId
from .problems import Problem, meaning, nothing
from .service import Service
from .shapes import Given, Taken
from .who import Agent, TheService

router = APIRouter(tags=["facts"])

REASON = AliasChoices("reason", "because")
"""The command line calls it --because, and takes --reason."""


class Restore(Taken):
    """Why a fact is true after all."""

    reason: ShortText = Field(min_length=1, validation_alias=REASON, description="Why; it is kept.")


class Restored(Given):
    """A fact that is true beside what had retired it."""

    fact_id: UUID
    beside: UUID
    event_id: str
    is_active: bool
    still_retired_by: UUID | None = Field(description="Another fact that retires it nevertheless; decide that one as well.")


class Retire(Taken):
    """Which fact is true instead, and why."""

    retired_by: str = Field(
        max_length=100,
        validation_alias=AliasChoices("retired_by", "for"),
        description="The fact that is true instead: its id, or as recall tells it. It was claimed later; if not, say it again first.",
    )
    reason: ShortText = Field(min_length=1, validation_alias=REASON, description="Why; it is kept.")


class Retired(Given):
    """A fact that is no longer true since another one was claimed."""

    fact_id: UUID
    retired_by: UUID = Field(description="The fact that is true instead: of several times it was claimed, the one that ended this.")
    valid_to: AwareDatetime = Field(description="When it ceased to be true: when the other was claimed.")
    event_id: str


class Forget(Taken):
    """Why a fact is to be forgotten."""

    reason: ShortText = Field(
        min_length=1, validation_alias=REASON, description="Why, without the words that are to be forgotten: its receipt stays."
    )
    dry_run: bool = Field(default=False, description="Only tell what hangs on it.")


class Forgotten(Given):
    """What was forgotten, or would be."""

    is_done: bool
    is_whole: bool = Field(description="Whether nothing of it is left; if not, `report.left` says what to do.")
    fact_ids: tuple[UUID, ...]
    report: dict[str, Any] = Field(
        description="What was erased where, what holds the `same_words`, and `alike`: facts that nearly say the same, perhaps meant too."
    )


@router.post("/v1/facts/{fact_id}/restore", response_model=Restored)
async def restore(fact_id: MemoryId, why: Restore, agent: Agent, service: TheService) -> Restored:
    """Let a fact that was retired be true again, beside the one that retired it. No mind is asked about these two again."""
    async with service.database.read([agent]) as db:
        meant = await _meant(db, agent, fact_id)
    fact = meant.fact
    if meant.row.forgotten_at or fact.forgotten_at:
        raise nothing("fact")
    if meant.row.merged_into:
        raise Problem(409, f"it was not retired: it is part of {fact.fact_id}")
    if fact.superseded_by is None and (fact.demoted_at or fact.archived_at):
        raise Problem(
            409, f"no fact retired it: upkeep {'archived' if fact.archived_at else 'demoted'} it, and nous fact restore undoes that"
        )
    if fact.superseded_by is None:
        raise Problem(409, "it is true now, so there is nothing to restore")
    told = FactRestored(
        event_id=str(ids.new()),
        agent_id=agent,
        occurred_at=clock.now(),
        fact_id=fact.fact_id,
        beside=fact.superseded_by,
        reason=mended(why.reason),
    )
    now = await _decided(service, told, fact)
    return Restored(
        fact_id=fact.fact_id, beside=told.beside, event_id=told.event_id, is_active=now.active, still_retired_by=now.superseded_by
    )


@router.post("/v1/facts/{fact_id}/retire", response_model=Retired)
async def retire(fact_id: MemoryId, why: Retire, agent: Agent, service: TheService) -> Retired:
    """Let a fact be no longer true since another one was claimed; `restore` undoes it. No mind is asked about these two again."""
    async with service.database.read([agent]) as db:
        meant, by = await _meant(db, agent, fact_id), await _meant(db, agent, why.retired_by)
    for one in (meant, by):
        if one.row.forgotten_at or one.fact.forgotten_at:
            raise nothing("fact")
        if one.row.merged_into:
            raise Problem(409, f"{one.row.fact_id} is part of {one.fact.fact_id}; name that one")
    told = FactRetired(
        event_id=str(ids.new()),
        agent_id=agent,
        occurred_at=clock.now(),
        fact_id=meant.fact.fact_id,
        retired_by=by.fact.fact_id,
        reason=mended(why.reason),
    )
    now = await _decided(service, told, meant.fact)
    return Retired.model_validate(
        {"fact_id": now.fact_id, "retired_by": now.superseded_by, "valid_to": now.valid_to, "event_id": told.event_id}
    )


@router.post("/v1/facts/{fact_id}/forget", response_model=Forgotten)
async def forget(fact_id: MemoryId, why: Forget, agent: Agent, service: TheService) -> Forgotten:
    """Erase a fact with all that it comes from and that comes from it. It does not come back. Said again, it finishes what was begun.

    It takes as long as workers take to be through with its events; a client that leaves meanwhile does not stop it.
    """
    async with service.database.read([agent]) as db:
        meant = await _meant(db, agent, fact_id)
    if meant.fact.forgotten_at:
        return _told(await _to_the_end(forgetting.again(service.stores, meant.fact)))
    whole = await forgetting.hanging_on(service.database, meant.fact)
    forgetting.hold_to_a_reason(why.reason, whole)
    near = await alike.found(service.database, whole, service.recall.embedder)
    if why.dry_run:
        named = [f"{stream}:{event_id}" for stream, event_id in sorted(whole.events)]
        episodes = [one.episode.episode_id for one in whole.episodes]
        told = {"events": named, "episodes": episodes, "alike": [one.as_data() for one in near]}
        return Forgotten(is_done=False, is_whole=False, fact_ids=tuple(whole.fact_ids), report=shapes.plain(told))
    return _told(await _to_the_end(forgetting.forget(service.stores, meant.fact, whole, reason=mended(why.reason), alike=near)))


async def _decided(service: Service, told: Event, fact: Fact) -> Fact:
    """The fact as it is once this is decided and told. Raises Problem 409 when there is nothing to decide."""
    async with service.database.write([fact.agent_id]) as db:
        registered = await embedders.active(db)
        try:
            decided = await people.decide(db, told, table=registered.table)
        except UserMistake as refused:
            raise Problem(409, str(refused)) from None
        now = (await facts.by_key(db, [fact.key]))[fact.key]
    await telling.send(service, decided.letters)
    return now


async def _to_the_end(done: Any) -> forgetting.Forgotten:
    """What is being erased is erased, whoever still waits for it."""
    result: forgetting.Forgotten = await asyncio.shield(asyncio.ensure_future(done))
    return result


def _told(done: forgetting.Forgotten) -> Forgotten:
    is_whole = not done.outcome.left
    return Forgotten(is_done=True, is_whole=is_whole, fact_ids=tuple(done.fact_ids), report=shapes.plain(done.as_data()))


async def _meant(db: Read, agent: str, written: str) -> Meant:
    """The fact of this id. Raises Problem 404 and 409; NotAnId."""
    with meaning("fact"):
        return await fact_meant(db, written, agent=agent)
