"""Facts that several replicas check at one time: what one check could not see, because it looks at a few alone, another sees.

A fact is compared with its nearest ones. Here they are two, and texts lie on a circle, so that a handful of facts hides another.
"""

import math
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from events import FactLearned
from nous import clock
from nous.settings import Settings
from providers.mind import Judgement, Pair, Relation
from providers.zero import ZeroEmbedder
from store import forgetting, lineage
from tests.workers.claims import BERGEN, OSLO, ROME, learned
from tests.workers.conftest import Memory, ScriptedMind
from workers.runtime.life import Life
from workers.runtime.record import Delivery, opened
from workers.runtime.streams import Entry
from workers.standing import candidates, settling

FEW = 2
"""How many a fact is compared with."""

LIKED = ("Maria likes tea.", "Maria likes cake.")
WORDS = ("indeed", "surely", "actually", "certainly", "truly", "really")


class Circle(ZeroEmbedder):
    """Texts on a circle, each at the degrees it was put at; none is near enough to another to be taken for it without a mind."""

    def __init__(self) -> None:
        super().__init__()
        self.confirm_similarity = self.check_similarity = 1.1
        self.degrees: dict[str, float] = {}

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), 512), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            angle = math.radians(self.degrees[text])
            row[:2] = math.cos(angle), math.sin(angle)
        return vectors


class Desks(ScriptedMind):
    """Of texts with a number the same number is the same thing, another one says otherwise; of others it says what it was told."""

    def _judged(self, number: int, pair: Pair) -> Judgement:
        older, newer = number_in(pair.older.content), number_in(pair.newer.content)
        if older is None or newer is None:
            return super()._judged(number, pair)
        return Judgement(pair=number, relation="same" if older == newer else "updates", richer=None, reason="by its number")


RELATIONS: tuple[Relation, ...] = ("same", "refines", "updates", "contradicts", "compatible", "unsure")


class Fickle(ScriptedMind):
    """Says of two texts whatever was drawn for them, always the same: that one is another, which is a third, which the first ends."""

    def __init__(self, seed: int, asked: list[tuple[str, str]]) -> None:
        super().__init__()
        self.seed, self.asked = seed, asked

    def _judged(self, number: int, pair: Pair) -> Judgement:
        self.asked.append((pair.older.content, pair.newer.content))
        relation = random.Random(f"{self.seed} {sorted(self.asked[-1])}").choice(RELATIONS)
        return Judgement(pair=number, relation=relation, richer="newer" if relation == "refines" else None, reason="as it was drawn")


def number_in(content: str) -> str | None:
    """The number it names, if it names one."""
    found = re.search(r"\d+", content)
    return found.group() if found else None


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """No heartbeats: these pages are worked by hand and are of no group."""
    return settings.model_copy(update={"claim_after_s": 600.0})


@pytest.fixture
def embedder() -> Circle:  # type: ignore[override]
    return Circle()


@pytest.fixture
def mind() -> ScriptedMind:
    return Desks()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "CANDIDATES", FEW)


@dataclass
class Check:
    """A page that a replica has thought about and not written yet."""

    life: Life
    thought: list[tuple[Delivery, Any]]

    async def end(self) -> None:
        """Write it, and publish what follows."""
        await self.life.announced(await self.life.write(self.thought, since=time.monotonic()))


async def begin(memory: Memory, worker: str = "supersession_checker", *, limit: int | None = None) -> Check | None:
    """Think about what was published for this worker, the next so many as one page; None when there is nothing."""
    life = memory.benches[worker].life
    found = await memory.redis.xrange(life.stream, min=f"({memory.read.get(life.stream, '0')}", count=limit)
    if not found:
        return None
    memory.read[life.stream] = found[-1][0].decode()
    deliveries, _ = opened(life.worker, [Entry(entry_id.decode(), fields) for entry_id, fields in found], now=clock.now())
    return Check(life, await life.think(deliveries))


async def stored(memory: Memory, claims: Mapping[str, float], embedder: Circle, degrees: float, **over: Any) -> Check:
    """Store claims, each with the hour it was made at, a degree apart from each other; and think about them, as one page."""
    for place, content in enumerate(claims):
        embedder.degrees[content] = degrees + place
    await memory.benches["deduplicator"].work(*(learned(content, hour, **over) for content, hour in claims.items()))
    check = await begin(memory)
    assert check
    return check


async def standing(memory: Memory) -> list[str]:
    return [fact.content for fact in await memory.facts() if fact.active]


def desk(number: int) -> str:
    return f"Maria's desk is number {number}."


@pytest.mark.parametrize("subject", ["Maria", None])
async def test_what_is_hidden_by_facts_that_arrive_late_and_are_retired_meanwhile_is_found_all_the_same(
    memory: Memory, embedder: Circle, subject: str | None
) -> None:
    """What retires them is of the past itself, so that nothing that stands has retired anything."""
    await (await stored(memory, {desk(8): 8}, embedder, 1.5, subject=subject)).end()
    await (await stored(memory, {desk(9): 9}, embedder, 90, subject=subject)).end()
    await memory.settle()
    assert await standing(memory) == [desk(9)]
    late = await stored(memory, {desk(1): 1, desk(2): 2, desk(3): 3}, embedder, 0, subject=subject)
    newest = await stored(memory, {desk(20): 20}, embedder, 0, subject=subject)
    await late.end()
    await newest.end()
    assert (await memory.outcomes())[-1] == "kept", "it saw none but those, and others had retired them"
    await memory.settle()
    assert await standing(memory) == [desk(20)]


async def test_what_is_hidden_by_wordings_that_are_merged_meanwhile_is_found_all_the_same(memory: Memory, embedder: Circle) -> None:
    await (await stored(memory, {desk(7): 1}, embedder, 90)).end()
    await (await stored(memory, {f"Maria sits at desk 7, {word}.": 2 + hour / 10 for hour, word in enumerate(WORDS)}, embedder, 0)).end()
    await memory.settle()
    assert await standing(memory) == [desk(7)]


async def test_what_is_hidden_by_compatible_facts_that_are_retired_meanwhile_is_found_all_the_same(
    memory: Memory, embedder: Circle, mind: ScriptedMind
) -> None:
    for liked in LIKED:
        mind.says(liked, "updates", "Maria likes nothing.")
    await (await stored(memory, {desk(5): 5}, embedder, 90)).end()
    await (await stored(memory, dict.fromkeys(LIKED, 1), embedder, 0)).end()
    check = await stored(memory, {desk(7): 7}, embedder, 2)
    await (await stored(memory, {"Maria likes nothing.": 3}, embedder, 0.5)).end()
    await memory.settle()
    await check.end()
    await memory.settle()
    assert sorted(await standing(memory)) == ["Maria likes nothing.", desk(7)]


@pytest.mark.parametrize("subject", ["Maria", None])
async def test_what_is_true_again_by_a_late_claim_of_the_user_is_compared_with_what_was_claimed_meanwhile(
    memory: Memory, embedder: Circle, mind: ScriptedMind, subject: str | None
) -> None:
    """While it was retired, by a word of the assistant, nothing was compared with it."""
    for one, other in ((OSLO, BERGEN), (BERGEN, ROME), (OSLO, ROME)):
        mind.says(one, "updates", other)
    assistant = {"provenance": "assistant_derived"}
    for at, (content, hour, over) in enumerate([(OSLO, 1, assistant), (BERGEN, 2, assistant), (ROME, 3, {})]):
        await (await stored(memory, {content: hour}, embedder, at * 10, subject=subject, **over)).end()
        await memory.settle()
    await memory.learn(learned(OSLO, 1.5, subject=subject))
    assert await standing(memory) == [ROME]
    again = await memory.benches["deduplicator"].published("fact_unsettled")
    assert [one["why"] for one in again if one["why"] != "retired_another"] == ["claimed_again", "freed"]


async def test_what_is_hidden_by_what_is_forgotten_meanwhile_is_found_all_the_same(memory: Memory, embedder: Circle) -> None:
    await (await stored(memory, {desk(5): 5}, embedder, 90)).end()
    await (await stored(memory, dict.fromkeys(LIKED, 1), embedder, 0)).end()
    check = await stored(memory, {desk(7): 7}, embedder, 0.5)
    kit = memory.benches["supersession_checker"].kit
    async with kit.database.erase(["agent-1"]) as db:
        liked = [fact.fact_id for fact in await memory.facts() if "likes" in fact.content]
        await forgetting.erase(db, await lineage.of(db, "agent-1", fact_ids=liked), by="the decision", now=clock.now())
    await check.end()
    await memory.settle()
    assert await standing(memory) == [desk(7)]


async def test_what_nothing_bears_on_is_written_with_what_something_does_and_looked_at_again_where_it_may_have_missed_another(
    memory: Memory, embedder: Circle, mind: ScriptedMind
) -> None:
    for liked in LIKED:
        mind.says(liked, "updates", "Maria likes nothing.")
    await (await stored(memory, dict.fromkeys(LIKED, 1), embedder, 0)).end()
    await (await stored(memory, {"Maria likes nothing.": 3, "Maria has a cat.": 4}, embedder, 0)).end()
    assert await memory.outcomes() == ["kept", "kept", "superseded", "kept"]
    again = await memory.benches["deduplicator"].published("fact_unsettled")
    assert {one["why"] for one in again} == {"may_have_missed"}, "the cat was compared with what the other retired"
    assert len(again) == 2
    await memory.settle()
    assert sorted(await standing(memory)) == ["Maria has a cat.", "Maria likes nothing."]


# ── any claims, in any order, any of them at one time ─────────────────────────────────────────────────────────────────────────

CLAIMS = 30
NUMBERED = [wording.format(number) for wording in ("Maria's desk is number {}.", "Desk {}", "Place {}", "Seat {}") for number in range(8)]
NAMED = [f"{who} has {what}." for who in ("Maria", "Ken", "The office") for what in ("moved", "stayed", "called", "waited", "slept")]
AT_REST_WITHIN = 1_000
"""Pages; it takes a hundred."""
ALL_AT_A_TIME = 1_000
"""As many candidates as there are facts: nothing is hidden."""


@dataclass(frozen=True)
class Claim:
    """A desk by its number, in one of several wordings."""

    content: str
    hour: float
    provenance: str
    subject: str | None

    def told(self, agent: str) -> FactLearned:
        """As its agent publishes it."""
        return learned(self.content, self.hour, provenance=self.provenance, subject=self.subject, agent_id=agent)


class Story:
    """Claims of a user and of an assistant, some made again; where each wording lies on the circle is drawn too, and of whom it is."""

    def __init__(self, seed: int, embedder: Circle, subjects: Sequence[str | None], texts: Sequence[str] = NUMBERED) -> None:
        self.dice = random.Random(seed)
        self.subjects, self.texts = subjects, texts
        self.subject_of: dict[str, str | None] = {}
        self.claims = [self._claim(number / 3) for number in range(CLAIMS)]
        embedder.degrees |= {claim.content: self.dice.uniform(0, 360) for claim in self.claims}

    def _claim(self, hour: float) -> Claim:
        content = self.dice.choice(self.texts)
        provenance = self.dice.choice(["user_stated", "assistant_derived", "assistant_derived"])
        return Claim(content, hour, provenance, self.subject_of.setdefault(content, self.dice.choice(self.subjects)))

    async def all_at_once(self, memory: Memory, agent: str) -> None:
        """Claims come in any order; up to four pages are thought about at one time, and written in any order."""
        left = self.dice.sample(self.claims, len(self.claims))
        begun: list[Check] = []
        for _ in range(AT_REST_WITHIN):
            some = [left.pop() for _ in range(min(len(left), self.dice.choice([0, 1, 4])))]
            if some:
                await memory.benches["deduplicator"].work(*(claim.told(agent) for claim in some))
            for worker in self.dice.sample(["supersession_checker", "supersession_rechecker"], 2):
                if len(begun) < 4 and (check := await begin(memory, worker, limit=self.dice.choice([1, 3, 20]))):
                    begun.append(check)
            if begun:
                await begun.pop(self.dice.randrange(len(begun))).end()
            elif not left:
                return
        pytest.fail(f"it did not come to rest within {AT_REST_WITHIN} pages")


async def stands(memory: Memory, agent: str) -> list[tuple[str | None, datetime, bool]]:
    """What is true now, whichever of its wordings tells it: its number, when it was last claimed, whether it disputes another.

    Since when it is true may differ: of what is of the past only some was compared.
    """
    return sorted(
        (number_in(fact.content), fact.claimed_at, fact.disputes is not None) for fact in await memory.facts(agent) if fact.active
    )


@pytest.mark.parametrize(
    "subjects", [("Maria",), (None,), ("Maria", "her workplace", None)], ids=["of one subject", "of none", "of several"]
)
@pytest.mark.parametrize("seed", range(8))
async def test_whatever_is_checked_at_one_time_with_whatever_else_what_stands_is_what_follows_of_one_claim_after_another(
    memory: Memory, embedder: Circle, monkeypatch: pytest.MonkeyPatch, seed: int, subjects: Sequence[str | None]
) -> None:
    story = Story(seed, embedder, subjects)
    await story.all_at_once(memory, "agent-1")
    monkeypatch.setattr(candidates, "CANDIDATES", ALL_AT_A_TIME)
    for claim in story.claims:
        await memory.learn(claim.told("agent-2"))
    assert await stands(memory, "agent-1") == await stands(memory, "agent-2")


@pytest.mark.parametrize("few", [FEW, 10])
@pytest.mark.parametrize("seed", range(6))
async def test_whatever_a_mind_says_of_each_pair_memory_comes_to_rest_and_then_nothing_is_left_to_change(
    memory: Memory, embedder: Circle, mind: ScriptedMind, monkeypatch: pytest.MonkeyPatch, seed: int, few: int
) -> None:
    """One is another, which is a third, which the first ends: looked at again for ever, that filled a process's time (seen)."""
    monkeypatch.setattr(mind, "_judged", Fickle(seed, mind.asked)._judged)
    monkeypatch.setattr(candidates, "CANDIDATES", few)
    story = Story(seed, embedder, ("Maria", None), NAMED)
    await story.all_at_once(memory, "agent-1")
    texts = {fact.text_key for fact in await memory.facts()}
    async with memory.benches["deduplicator"].kit.database.read(["agent-1"]) as db:
        assert not (await settling.find(db, "agent-1", texts)).changed
