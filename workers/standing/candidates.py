"""Which facts a fact is compared with: likely twins, those of the same subject, and the nearest by content, at most ten.

Most real updates score below every threshold for twins (0.57 to 0.87 on MiniLM, BEAM), so the nearest are taken without one. Facts
that are true now, and those that were still true when this one was claimed: one that arrives late finds what followed it.

What was hidden behind the ten is found by looking again (check.py), when what is known to merge or conflict with it is left out.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from rapidfuzz import fuzz, process

from store import facts, relations, vectors
from store.database import Read
from store.facts import Fact, Key, subject_key
from store.vectors import Asking, Near
from workers.runtime.worker import Kit

CANDIDATES = 10
NAMES_AT_ONCE = 32  # compared with all names of an agent: 13 MB of scores at 50,000
SUBJECT_SIMILARITY = 0.80  # letters in common, in order; the spec's, unless another one was fitted or set

Why = Literal["likely twin", "same subject", "near"]


@dataclass(frozen=True)
class Candidate:
    """A fact to compare with, and the one it is part of; how near it is (cosine), and why it is asked about."""

    fact: Fact
    whole: Fact
    similarity: float
    why: Why


async def find(
    db: Read, kit: Kit, asking: Sequence[Fact], *, again: Collection[Fact] = (), gated: Collection[Fact] = ()
) -> list[list[Candidate]]:
    """For each of these facts its candidates, the most telling first.

    For those that are looked at `again` none that is known to merge or conflict; for those `gated` only likely twins and those of the same
    subject.
    """
    left_out = await _left_out(db, asking, again)
    alike: dict[int, list[Fact]] = {}  # one that leaves out many would have as many more looked for, of every fact of the page
    for fact in asking:
        alike.setdefault(left_out[fact.key].bit_length(), []).append(fact)
    found: dict[Key, list[Candidate]] = {}
    for some in alike.values():
        ranked = await _ranked_for(db, kit, some, limit=CANDIDATES + max(left_out[fact.key] for fact in some))
        telling = [[one for one in ones if one.why != "near" or fact not in gated] for fact, ones in zip(some, ranked, strict=True)]
        bearing = await _known_to_bear(db, [(fact, ones) for fact, ones in zip(some, telling, strict=True) if fact in again])
        for fact, ones in zip(some, telling, strict=True):
            found[fact.key] = [one for one in ones if (fact.key, one.fact.key) not in bearing][:CANDIDATES]
    return [found[fact.key] for fact in asking]


async def _left_out(db: Read, asking: Sequence[Fact], again: Collection[Fact]) -> Counter[Key]:
    """How many of its nearest are no candidates of a fact: its own wordings, and what is known to merge or conflict with it."""
    heard_again = [fact.key for fact in asking if fact.confirmation_count]
    wordings = Counter(whole for part, whole in await facts.parts(db, heard_again) if part != whole)
    return wordings + await relations.count_bearing(db, again)


async def _known_to_bear(db: Read, found: Sequence[tuple[Fact, Sequence[Candidate]]]) -> set[tuple[Key, Key]]:
    """Which of these are known to merge or conflict. Those that say the same and stand apart would fill the ten for good."""
    pairs = {
        (fact.key, one.fact.key): relations.pair(fact.agent_id, fact.text_key, one.fact.text_key) for fact, ones in found for one in ones
    }
    known = await relations.between(db, set(pairs.values()))
    return {keys for keys, pair in pairs.items() if pair in known and known[pair].bears}


async def _ranked_for(db: Read, kit: Kit, asking: Sequence[Fact], *, limit: int) -> list[list[Candidate]]:
    """For each of these facts those near it and those of its subject, the most telling first: of either kind so many."""
    wanted = [Asking(fact.agent_id, fact.fact_id, fact.valid_from) for fact in asking]
    near = await vectors.neighbours(db, kit.registered.table, wanted, limit=limit)
    cutoff = kit.settings.subject_similarity if kit.settings.subject_similarity is not None else SUBJECT_SIMILARITY
    named = await vectors.namesakes(db, kit.registered.table, wanted, await _subjects(db, asking, cutoff), limit=limit)
    keys = {(fact.agent_id, one.fact_id) for fact, *some in zip(asking, near, named, strict=True) for one in chain(*some)}
    rows = await facts.by_key(db, keys)
    wholes = await facts.wholes(db, rows)
    return [
        _ranked(fact, nearest, namesakes, rows, wholes, check_similarity=kit.embedder.check_similarity)
        for fact, nearest, namesakes in zip(asking, near, named, strict=True)
    ]


async def _subjects(db: Read, asking: Sequence[Fact], cutoff: float) -> list[list[str]]:
    """For each fact the folded subjects that are its own or like it."""
    keys = [subject_key(fact.subject) for fact in asking]
    known = await facts.subjects(db, {fact.agent_id for fact in asking if fact.subject})
    wanted: dict[str, set[str]] = {}
    for fact, key in zip(asking, keys, strict=True):
        if key is not None:
            wanted.setdefault(fact.agent_id, set()).add(key)
    alike = {agent: await asyncio.to_thread(similar, names, known.get(agent, ()), cutoff=cutoff) for agent, names in wanted.items()}
    return [sorted({key, *alike[fact.agent_id][key]}) if key is not None else [] for fact, key in zip(asking, keys, strict=True)]


def similar(wanted: Collection[str], names: Sequence[str], *, cutoff: float = SUBJECT_SIMILARITY) -> dict[str, list[str]]:
    """For each name that is `wanted` those of `names` that are spelled much like it: at or above the cutoff of 0 to 1.

    All of them in one call take a tenth of the time (of 50,000 names): for a page of subjects it was seconds, in which a transaction
    asked nothing.
    """
    found: dict[str, list[str]] = {}
    ordered = sorted(wanted)
    for start in range(0, len(ordered), NAMES_AT_ONCE):
        some = ordered[start : start + NAMES_AT_ONCE]
        scores = process.cdist(some, names, scorer=fuzz.ratio, score_cutoff=100 * cutoff, dtype=np.float64)
        found |= {
            name: [names[place] for place in np.nonzero(row >= 100 * cutoff)[0].tolist()] for name, row in zip(some, scores, strict=True)
        }
    return found


def spelled_alike(one: str, other: str) -> float:
    """How much two folded subjects are spelled alike, 0 to 1: what `similar` holds against its cutoff."""
    return float(fuzz.ratio(one, other)) / 100


def _ranked(
    fact: Fact,
    near: Sequence[Near],
    named: Sequence[Near],
    rows: Mapping[Key, Fact],
    wholes: Mapping[Key, Fact],
    *,
    check_similarity: float,
) -> list[Candidate]:
    namesakes = {one.fact_id for one in named}
    similarity = {one.fact_id: one.similarity for one in (*near, *named)}
    found: dict[object, Candidate] = {}
    for fact_id in sorted(
        similarity, key=lambda one: (-_weight(similarity[one], one in namesakes, check_similarity), -similarity[one], str(one))
    ):
        row, whole = rows.get((fact.agent_id, fact_id)), wholes.get((fact.agent_id, fact_id))
        if row is None or whole is None or row.text_key == fact.text_key or whole.fact_id == fact.fact_id:
            continue
        why: Why = "likely twin" if similarity[fact_id] >= check_similarity else "same subject" if fact_id in namesakes else "near"
        found.setdefault(whole.fact_id, Candidate(row, whole, similarity[fact_id], why))
    return list(found.values())


def _weight(similarity: float, is_namesake: bool, check_similarity: float) -> int:
    return 2 if similarity >= check_similarity else int(is_namesake)
