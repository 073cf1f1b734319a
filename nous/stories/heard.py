"""A fact with every wording it was heard in, those of what was merged into it among them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice

from store import facts, mentions, versions
from store.database import Read
from store.facts import Fact, Key
from store.mentions import Mention

from .words import rounded

AT_ONCE = 5_000
OURS = {"content_hash", "text_key", "claimed_by"}  # of no use to anybody outside


async def mentions_of(db: Read, keys: Sequence[Key], *, known_at: datetime | None = None) -> dict[Key, list[Mention]]:
    """Every wording of these facts and of all that was merged into them, in the order claimed; what had been heard by `known_at`."""
    heard: dict[Key, list[Mention]] = {key: [] for key in keys}
    left = iter(keys)
    while some := list(islice(left, AT_ONCE)):
        parts = await (versions.parts(db, some, known_at=known_at) if known_at else facts.parts(db, some))
        by_row = await mentions.of_facts(db, {row for row, _ in parts})
        for row, whole in parts:
            heard[whole] += [one for one in by_row.get(row, []) if known_at is None or one.heard_at <= known_at]
    return {key: sorted(ones, key=lambda one: (one.occurred_at, one.event_id)) for key, ones in heard.items()}


def as_data(fact: Fact, heard: Iterable[Mention]) -> dict[str, object]:
    """A fact for JSON, with every wording it was heard in."""
    told = {name: value for name, value in asdict(fact).items() if name not in OURS}
    return {**told, "confidence": rounded(fact.confidence), "mentions": [mention_as_data(one) for one in heard]}


def mention_as_data(mention: Mention) -> dict[str, object]:
    """A wording for JSON; its `fact_id` is the one it was published under."""
    return {
        "fact_id": mention.mention_id,
        "event_id": mention.event_id,
        "content": mention.content,
        "subject": mention.subject,
        "attribute": mention.attribute,
        "source": mention.source,
        "quote": mention.quote,
        "provenance": mention.provenance,
        "confidence": rounded(mention.confidence),
        "similarity": rounded(mention.similarity),
        "outcome": mention.outcome,
        "occurred_at": mention.occurred_at,
    }
