"""`nous explain fact`: how a fact came to be as it is, told from receipts, mentions and its versions.

A story is of the fact that an id leads to today: with every row that was merged into it, with what other facts did to it, and with
what was true before and after.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from nous.settings import Settings
from store import facts, mentions, receipts
from store.database import Read
from store.facts import Fact
from store.mentions import Mention
from store.receipts import OPERATOR, Receipt

from . import place, screen
from .facts import as_data, mentions_of
from .ids_meant import Meant, fact_meant
from .step import Step

BESIDE = 20


@dataclass(frozen=True)
class Story:
    """A fact, the rows that were merged into it, every wording, what happened, and the facts around it.

    `chain` is what was true before it, itself, and what has been since. `wordings` has every fact that is spoken of.
    """

    meant: Meant
    merged: Sequence[Fact]
    heard: Sequence[Mention]
    steps: Sequence[Step]
    chain: Sequence[Fact]
    beside: Sequence[Step]
    also_became: Sequence[UUID]
    wordings: Mapping[str, str]

    @property
    def fact(self) -> Fact:
        """The fact."""
        return self.meant.fact

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "fact": as_data(self.fact, self.heard),
            "asked_for": self.meant.row.fact_id,
            "merged": [_in_short(one) for one in self.merged],
            "chain": [_in_short(one) for one in self.chain],
            "story": [one.as_data() for one in self.steps],
            "decisions": [one.as_data() for one in self.steps if one.receipt.worker == OPERATOR],
            "also_became": list(self.also_became),
            "stored_beside": [one.as_data() for one in self.beside],
        }


async def explain_fact(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """Tell a fact's story, whatever id of it was written: its own, one it was published under, or the beginning of either."""
    async with place.database(settings) as database, database.overview() as db:
        story = await told(db, await fact_meant(db, written, agent=agent))
    if is_json:
        screen.emit(story.as_data())
        return
    from .fact_page import print_story

    print_story(screen.out(), story)


async def told(db: Read, meant: Meant) -> Story:
    """The story of the fact that is meant."""
    agent, fact = meant.fact.agent_id, meant.fact
    parts = await facts.by_key(db, {row for row, _ in await facts.parts(db, [fact.key])})
    rows = {one.fact_id for one in parts.values()}
    heard = (await mentions_of(db, [fact.key]))[fact.key]
    happened = [one for one in await receipts.concerning(db, agent, rows) if not one.stream.startswith("censor_")]
    beside = [one for one in await receipts.beside(db, agent, fact.fact_id, limit=BESIDE) if one.about not in rows]
    chain = await facts.chain(db, fact.key)
    wordings = await _wordings(db, agent, [*happened, *beside], [fact, *chain])
    return Story(
        meant=meant,
        merged=sorted((one for one in parts.values() if one != fact), key=lambda one: (one.valid_from, one.created_at)),
        heard=heard,
        steps=_steps(happened, heard, wordings, rows),
        chain=chain,
        beside=_steps(beside, [], wordings, ()),
        also_became=await _also_became(db, fact),
        wordings=wordings,
    )


async def _also_became(db: Read, fact: Fact) -> list[UUID]:
    """The other facts of its agent that its own id was published for."""
    rows = [key for key in await mentions.resolve(db, fact.fact_id) if key[0] == fact.agent_id]
    return sorted({one.fact_id for one in (await facts.survivors(db, rows)).values()} - {fact.fact_id})


def _steps(told: Sequence[Receipt], heard: Iterable[Mention], wordings: Mapping[str, str], rows: Iterable[UUID]) -> list[Step]:
    said = {mention.event_id: mention for mention in heard}
    mine = frozenset(map(str, rows))
    return [Step(receipt, _said(receipt, said), wordings, mine) for receipt in told]


def _said(receipt: Receipt, said: Mapping[str, Mention]) -> Mention | None:
    """What was said in the event of this receipt; an event that follows from it may have its id, and says nothing."""
    return said.get(receipt.event_id) if receipt.stream == "fact_learned" else None


async def _wordings(db: Read, agent: str, told: Iterable[Receipt], known: Iterable[Fact]) -> dict[str, str]:
    """What every fact says that these receipts and facts speak of."""
    ids = {one for receipt in told for one in _spoken_of(receipt)}
    ids |= {one for fact in known for one in (fact.superseded_by, fact.disputes) if one}
    rows = await facts.by_key(db, {(agent, one) for one in ids})
    return {str(fact.fact_id): fact.content for fact in (*rows.values(), *known)}


def _spoken_of(receipt: Receipt) -> set[UUID]:
    evidence = receipt.evidence
    named = [one["fact_id"] for one in (*evidence.get("candidates", []), *evidence.get("changed", []))]
    for one in evidence.get("changed", []):
        named += [one["now"].get(name) for name in ("superseded_by", "merged_into", "disputes")]
    named.append(evidence.get("other"))
    return {UUID(one) for one in named if one} | ({receipt.about} if receipt.about else set())


def _in_short(fact: Fact) -> dict[str, Any]:
    names = ("fact_id", "content", "active", "valid_from", "valid_to", "superseded_by", "merged_into", "disputes")
    return {name: getattr(fact, name) for name in names}
