"""A fact's story: how it came to be as it is, told from receipts, mentions and its versions, back to the words of its source.

A story is of the fact that an id leads to today: with every row that was merged into it, with what other facts did to it, and with
what was true before and after.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from store import answers, facts, forgetting, mentions, receipts, writings
from store.answers import Answer
from store.database import Read
from store.facts import Fact
from store.mentions import Mention
from store.receipts import OPERATOR, Receipt
from store.writings import Put

from . import asked, source, wordings
from .heard import as_data, mentions_of
from .ids_meant import Meant
from .source import Passage
from .step import Step
from .words import moment, one_line

BESIDE = 20


@dataclass(frozen=True)
class Story:
    """A fact, the rows that were merged into it, every wording, what happened, and the facts around it.

    `chain` is what was true before it, itself, and what has been since. `wordings` has every fact that is spoken of. `passages` says where
    the words of a mention stand, and `questions` what a mind was asked to find them, both by the mention's event; `answers` are those of
    minds about this fact and others, by the event that compared them. `forgetting` is the receipt of the decision by which the
    fact was forgotten.
    """

    meant: Meant
    merged: Sequence[Fact]
    heard: Sequence[Mention]
    steps: Sequence[Step]
    chain: Sequence[Fact]
    beside: Sequence[Step]
    also_became: Sequence[UUID]
    wordings: Mapping[str, str]
    passages: Mapping[str, Passage] = field(default_factory=dict)
    questions: Mapping[str, Put] = field(default_factory=dict)
    answers: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    forgetting: Receipt | None = None

    @property
    def fact(self) -> Fact:
        """The fact."""
        return self.meant.fact

    @property
    def says(self) -> str:
        """What the fact says; of one that was forgotten, when that was, who decided it and why, as far as its receipt tells."""
        if self.fact.forgotten_at is None or self.forgetting is None:
            return wordings.content(self.fact)
        why = f", because: {one_line(self.forgetting.reason)}" if self.forgetting.reason else ""
        return f"(forgotten on {moment(self.fact.forgotten_at)} UTC by {self.forgetting.worker}{why})"

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "fact": as_data(self.fact, self.heard),
            "asked_for": self.meant.row.fact_id,
            "merged": [_in_short(one) for one in self.merged],
            "chain": [_in_short(one) for one in self.chain],
            "story": [self._step_as_data(one) for one in self.steps],
            "decisions": [one.as_data() for one in self.steps if one.receipt.worker == OPERATOR],
            "also_became": list(self.also_became),
            "stored_beside": [one.as_data() for one in self.beside],
            **({"forgotten": self._forgotten_as_data()} if self.fact.forgotten_at else {}),
        }

    def _forgotten_as_data(self) -> dict[str, object]:
        by = self.forgetting
        told = {"by": by.worker, "reason": by.reason, "event_id": by.event_id} if by else {}
        return {"at": self.fact.forgotten_at, **told}

    def _step_as_data(self, step: Step) -> dict[str, object]:
        event_id = step.receipt.event_id
        passage, put = (self.passages.get(event_id), self.questions.get(event_id)) if step.mention else (None, None)
        answered = self.answers.get(event_id, ()) if "model" in step.receipt.evidence else ()
        return {
            **step.as_data(),
            **({"source": passage.as_data()} if passage else {}),
            **({"question": asked.as_data(put)} if put else {}),
            **({"answers": [asked.answer_as_data(one) for one in answered]} if answered else {}),
        }


async def told(db: Read, meant: Meant) -> Story:
    """The story of the fact that is meant; needs an overview."""
    agent, fact = meant.fact.agent_id, meant.fact
    parts = await facts.by_key(db, {row for row, _ in await facts.parts(db, [fact.key])})
    rows = {one.fact_id for one in parts.values()}
    heard = (await mentions_of(db, [fact.key]))[fact.key]
    happened = [one for one in await receipts.concerning(db, agent, rows) if one.stream.startswith("fact_") or one.evidence.get("changed")]
    beside = [one for one in await receipts.beside(db, agent, fact.fact_id, limit=BESIDE) if one.about not in rows]
    chain = await facts.chain(db, fact.key)
    words = await wordings.of_receipts(db, agent, [*happened, *beside], [fact, *chain])
    return Story(
        meant=meant,
        merged=sorted((one for one in parts.values() if one != fact), key=lambda one: (one.valid_from, one.created_at)),
        heard=heard,
        steps=_steps(happened, heard, words, rows),
        chain=chain,
        beside=_steps(beside, [], words, ()),
        also_became=await _also_became(db, fact),
        wordings=words,
        passages=await source.of_mentions(db, heard),
        questions=await _questions(db, heard),
        answers=await _answers(db, agent, happened),
        forgetting=await forgetting.decision(db, agent, fact.fact_id) if fact.forgotten_at else None,
    )


async def _also_became(db: Read, fact: Fact) -> list[UUID]:
    """The other facts of its agent that its own id was published for."""
    rows = [key for key in await mentions.resolve(db, fact.fact_id) if key[0] == fact.agent_id]
    return sorted({one.fact_id for one in (await facts.survivors(db, rows)).values()} - {fact.fact_id})


async def _questions(db: Read, heard: Iterable[Mention]) -> dict[str, Put]:
    """The question to a mind that each of these mentions answers."""
    found: dict[str, Put] = {}
    known: dict[str, Sequence[Put]] = {}
    for one in heard:
        if one.source is None or source.episode_of(one.source) is None:
            continue
        if one.source not in known:
            known[one.source] = await writings.about(db, one.agent_id, one.source)
        if put := asked.of_fact(known[one.source], one.content):
            found[one.event_id] = put
    return found


async def _answers(db: Read, agent: str, happened: Iterable[Receipt]) -> dict[str, list[Answer]]:
    """What minds answered about the pairs that these events compared, by event."""
    compared = {one.event_id: one for one in happened if one.about and "model" in one.evidence and one.evidence.get("candidates")}
    pairs = {
        event_id: [(one.about, UUID(candidate["fact_id"])) for candidate in one.evidence["candidates"] if one.about]
        for event_id, one in compared.items()
    }
    rows = await facts.by_key(db, {(agent, fact) for some in pairs.values() for pair in some for fact in pair})
    keys = {fact_id: fact.text_key for (_, fact_id), fact in rows.items()}
    given = await answers.among(db, agent, set(keys.values()))
    return {
        event_id: asked.of_pairs(
            given, [(keys[one], keys[other]) for one, other in some if one in keys and other in keys], compared[event_id].evidence["model"]
        )
        for event_id, some in pairs.items()
    }


def _steps(told: Sequence[Receipt], heard: Iterable[Mention], words: Mapping[str, str], rows: Iterable[UUID]) -> list[Step]:
    said = {mention.event_id: mention for mention in heard}
    mine = frozenset(map(str, rows))
    return [Step(receipt, _said(receipt, said), words, mine) for receipt in told]


def _said(receipt: Receipt, said: Mapping[str, Mention]) -> Mention | None:
    """What was said in the event of this receipt; an event that follows from it may have its id, and says nothing."""
    return said.get(receipt.event_id) if receipt.stream == "fact_learned" else None


def _in_short(fact: Fact) -> dict[str, Any]:
    names = ("fact_id", "content", "active", "valid_from", "valid_to", "superseded_by", "merged_into", "disputes", "archived_at")
    return {name: getattr(fact, name) for name in names}
