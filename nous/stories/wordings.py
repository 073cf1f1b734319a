"""What the facts say that receipts name by their ids; of one that was forgotten, that it was."""

from collections.abc import Iterable
from uuid import UUID

from store import facts
from store.database import Read
from store.facts import Fact
from store.receipts import Receipt

from .words import moment


async def of_receipts(db: Read, agent: str, told: Iterable[Receipt], known: Iterable[Fact] = ()) -> dict[str, str]:
    """What every fact says, by its id, that these receipts and facts speak of."""
    known = list(known)
    ids = {one for receipt in told for one in _spoken_of(receipt)}
    ids |= {one for fact in known for one in (fact.superseded_by, fact.disputes) if one}
    rows = await facts.by_key(db, {(agent, one) for one in ids})
    return {str(fact.fact_id): content(fact) for fact in (*rows.values(), *known)}


def content(fact: Fact) -> str:
    """What a fact says; of one that was forgotten, when that was."""
    return f"(forgotten on {moment(fact.forgotten_at)} UTC)" if fact.forgotten_at else fact.content


def _spoken_of(receipt: Receipt) -> set[UUID]:
    evidence = receipt.evidence
    named = [one["fact_id"] for one in (*evidence.get("candidates", []), *evidence.get("changed", []))]
    for one in evidence.get("changed", []):
        named += [one["now"].get(name) for name in ("superseded_by", "merged_into", "disputes")]
    named.append(evidence.get("other"))
    return {UUID(one) for one in named if one} | ({receipt.about} if receipt.about else set())
