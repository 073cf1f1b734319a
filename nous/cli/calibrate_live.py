"""What other thresholds would change in a store that lives: pairs of a sample that are above now, and that would be above then.

    some facts, a few agents' whole ─▶ every pair of one agent    confirm, check
    the subjects of those agents ────▶ every pair of one agent    subject
    some conversations ──────────────▶ those within 48 hours      episode

Nothing is written; what was merged or kept apart stays as it was decided.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from store import audit_sampled, embedders, facts, reembedding
from store.database import Database
from store.embedders import Registered

SAMPLE = 1_000
SUBJECTS_OF_AN_AGENT = 500

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Live:
    """How near pairs of the store are, by the threshold that judges them; what of is told."""

    of: str
    scores: Scores
    is_above: bool

    def above(self, threshold: float | None) -> int | None:
        """How many pairs a threshold takes for one."""
        if threshold is None:
            return None
        return int((self.scores > threshold).sum() if self.is_above else (self.scores >= threshold).sum())


async def look(database: Database, embedder: str) -> Mapping[str, Live]:
    """Pairs of the store by the name of the threshold; those of cosine only where its vectors are this embedder's."""
    async with database.overview() as db:
        used = await embedders.active(db)
        sampled = await reembedding.sample(db, used, limit=SAMPLE)
        subjects = await facts.subjects(db, {one.agent_id for one in sampled})
    names = Live(f"pairs of subjects of {len(subjects)} agents", _spelled(subjects), is_above=False)
    found = {"subject_similarity": names}
    if used.name != embedder:
        return found
    near = np.concatenate([np.zeros(0, np.float32), *_pairs(sampled)])
    facts_of = f"pairs of {len(sampled):,} sampled facts"
    found |= {name: Live(facts_of, near, is_above=False) for name in ("confirm_similarity", "check_similarity")}
    return found | {"episode_similarity": await _openings(database, used)}


async def _openings(database: Database, used: Registered) -> Live:
    async with database.overview() as db:
        near = await audit_sampled.openings(db, used, limit=SAMPLE)
    return Live("pairs of sampled conversations within 48 hours", np.array(near, np.float32), is_above=True)


def _pairs(sampled: list[reembedding.Sampled]) -> Iterator[Scores]:
    """The cosine of every pair of facts of one agent."""
    for _, ones in groupby(sampled, lambda one: one.agent_id):
        rows = np.stack([one.vector for one in ones])
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        yield np.asarray((rows @ rows.T)[np.triu_indices(len(rows), k=1)], np.float32)


def _spelled(subjects: Mapping[str, list[str]]) -> Scores:
    """How much every pair of subjects of one agent is spelled alike."""
    found: list[Scores] = [np.zeros(0, np.float32)]
    for names in subjects.values():
        some = sorted(names)[:SUBJECTS_OF_AN_AGENT]
        made = process.cdist(some, some, scorer=fuzz.ratio, dtype=np.float32)
        found.append(np.asarray(made[np.triu_indices(len(some), k=1)] / 100, np.float32))
    return np.concatenate(found)
