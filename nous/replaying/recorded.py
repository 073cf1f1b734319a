"""What was recorded in place of what would be computed again: vectors as they were made, answers as they were given.

a text ────▶ its vector in the live store ─▶ that one
                └─ none ─▶ the embedder makes it, and it is counted
a question ─▶ answered before: it stands in the replay store, and comes here never
                ├─ of the offline mind ─▶ it goes by rule, and says the same again
                └─ never asked ─▶ listed; "unsure" of a pair, no answer of a conversation; with --ask, put to the mind that is set
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nous.text import content_hash
from providers.embedder import Embedder, Vectors
from providers.mind import A, Comparison, Judgement, Judgements, Mind, MindAway, Notes, Question, Reply, Task
from providers.offline import OfflineMind
from store import vectors
from store.database import Database
from store.vectors import Vector

from .tally import Tally

OFFLINE = OfflineMind()
UNASKED = "never asked before"


class RecordedEmbedder:
    """An embedder that gives one agent's texts the vectors they had; the real one is opened for the first that has none."""

    def __init__(self, real: Embedder, live: Database, table: str | None, agent: str, tally: Tally) -> None:
        """`table` holds the recorded vectors; None when they are another embedder's."""
        self.real = real
        self.name = real.name
        self.dimension = real.dimension
        self.confirm_similarity = real.confirm_similarity
        self.check_similarity = real.check_similarity
        self.episode_similarity = real.episode_similarity
        self.least_relevance = real.least_relevance
        self._live = live
        self._table = table
        self._agent = agent
        self._tally = tally

    async def open(self) -> None:
        """Nothing yet."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """The recorded vector of each text, or the one it gets now. Raises what the embedder raises, and Outage."""
        known = await self._recorded(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            self._tally.embedded += len(missing)
            await self.real.open()
            known |= dict(zip(missing, await self.real.embed(missing), strict=True))
        return np.stack([known[text] for text in texts])

    async def _recorded(self, texts: Sequence[str]) -> dict[str, Vector]:
        if self._table is None:
            return {}
        async with self._live.read([self._agent]) as db:
            return await vectors.recorded(db, self._table, self._agent, {content_hash(text): text for text in texts})

    async def close(self) -> None:
        """The real one is closed by who made it."""


class RecordedMind:
    """A mind under the name of the one that was asked then; it knows nothing itself, and lists what it is asked."""

    def __init__(self, models: Mapping[Task, str], tally: Tally, *, real: Mind | None = None) -> None:
        """`models` were asked last; `real` is asked what was never asked."""
        self._last = dict(models)
        self._now: dict[Task, str] = dict(models)
        self._tally = tally
        self._real = real

    def be(self, model: str | None, *, has_written: bool) -> None:
        """The mind of this name, for what is done next; where no name is recorded, one that writes if it `has_written`."""
        writing = self._last["writing"] if has_written else OFFLINE.model("writing")
        self._now = {"relation": model or self._last["relation"], "writing": model or writing}

    def be_the_last(self) -> None:
        """The mind that was asked last, for what is done next."""
        self._now = dict(self._last)

    def model(self, task: Task) -> str:
        """Its name."""
        return self._now[task]

    async def ask(self, question: Question[A]) -> Reply[A]:
        """What is known of a question that nobody put before. Raises MindAway and NoAnswer."""
        if isinstance(question.about, Comparison) and self._now["relation"] == OFFLINE.model("relation"):
            return await OFFLINE.ask(question)
        self._tally.unasked[_told(question)] = None
        if self._real:
            return await self._real.ask(question)
        if not isinstance(question.about, Comparison):
            raise MindAway(f"this was {UNASKED}; nous replay --ask puts it")
        unsure: Any = Judgements(
            judgements=[Judgement(pair=number, relation="unsure", reason=UNASKED) for number, _ in enumerate(question.about.pairs, 1)]
        )
        return Reply(unsure)

    async def close(self) -> None:
        """The real one is closed by who made it."""


def _told(question: Question[Any]) -> str:
    about = question.about
    if isinstance(about, Comparison):
        first = about.pairs[0]
        more = f" and {len(about.pairs) - 1} more" if len(about.pairs) > 1 else ""
        return f"how “{first.newer.content}” stands to “{first.older.content}”{more}"
    if isinstance(about, Notes):
        return f"what the {len(about.notes)} notes of “{about.name[:80]}” come to"
    said = about.utterances[0].content if about.utterances else about.notes[0] if about.notes else ""
    return f"what is to be remembered of the conversation that begins “{said[:80]}”"
