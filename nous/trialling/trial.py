"""A trial: every conversation read by both prompts, counted, probed, and judged.

conversations ─▶ each asked about twice, each question once ─▶ what only one got an answer to is left out of both, and told
                                                           ─▶ measures, each with its interval ─▶ the verdict
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nous.junk import KINDS
from nous.settings import Settings
from providers.embedder import Embedder
from providers.mind import Mind
from workers.episodes.question import Criterion
from workers.runtime.asking import all_through
from workers.runtime.worker import Kit

from . import counting, paired, probing, reading, verdict
from .counting import Counted
from .criteria import Both
from .paired import Measure, Unit
from .reading import Conversation, Pair, Reading
from .verdict import Verdict

Counts = tuple[Counted, Counted]


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. `silent` are transcripts in which nobody said anything, `pairs` those that both prompts got an answer to."""

    model: str
    embedder: str
    criteria: Both
    transcripts: int
    silent: int
    pairs: int
    agents: int
    probes: int
    measures: tuple[Measure, ...]
    covered_only_by: tuple[int, int]
    junk: tuple[Mapping[str, int], Mapping[str, int]]
    unanswered: tuple[Reading, ...]
    verdict: Verdict


async def tried(
    found: Sequence[Conversation], criteria: Both, mind: Mind, embedder: Embedder, settings: Settings, *, advance: Callable[[int], None]
) -> Trial:
    """Ask everything once, count and judge. The embedder must be open; `advance` is called with how many steps of `steps` are done.

    Raises the mind's own error when nothing at all was answered because it is away, Misconfigured when no store can be made for probes.
    """
    voiced = [one for one in found if one.is_voiced]
    async with _store(voiced, settings, embedder) as kit:
        readings = await _read(voiced, criteria, mind, settings, advance)
        _require_an_answer(readings)
        both = reading.paired(readings, criteria)
        pairs = [(one, other) for one, other in both if one.told and other.told]
        placed = await probing.probed(pairs, kit, advance=lambda: advance(1)) if kit else []
    counted = await counting.counted([one for pair in pairs for one in pair], embedder)
    counts = list(zip(counted[::2], counted[1::2], strict=True))
    measures = (*_answered(both), *_counted(counts), *_placed(placed), *_costs(counts))
    return Trial(
        model=mind.model("writing"),
        embedder=embedder.name,
        criteria=criteria,
        transcripts=len(found),
        silent=len(found) - len(voiced),
        pairs=len(pairs),
        agents=len({one.conversation.agent for one, _ in pairs}),
        probes=sum(len(one.conversation.probes) for one, _ in pairs),
        measures=measures,
        covered_only_by=(_only(counts, 0), _only(counts, 1)),
        junk=(_kinds([one for one, _ in counts]), _kinds([other for _, other in counts])),
        unanswered=tuple(one for one in readings if one.told is None),
        verdict=verdict.judged(measures),
    )


def steps(found: Sequence[Conversation]) -> int:
    """How many readings and probes it takes, if everything is answered."""
    return sum(2 + 2 * len(one.probes) for one in found if one.is_voiced)


@asynccontextmanager
async def _store(voiced: Sequence[Conversation], settings: Settings, embedder: Embedder) -> AsyncIterator[Kit | None]:
    """The store for the probes, there before anything is paid for; without a probe none is made."""
    if not any(one.probes for one in voiced):
        yield None
        return
    async with probing.store(settings, embedder) as kit:
        yield kit


async def _read(
    voiced: Sequence[Conversation], criteria: Both, mind: Mind, settings: Settings, advance: Callable[[int], None]
) -> list[Reading]:
    async def read(one: Conversation, criterion: Criterion) -> Reading:
        made = await reading.read(one, criterion, mind, part_characters=settings.summary_part_characters)
        advance(1)
        return made

    return await all_through(read(one, criterion) for one in voiced for criterion in (criteria.a, criteria.b))


def _require_an_answer(readings: Sequence[Reading]) -> None:
    """Raises the mind's error when it was away and nothing was answered."""
    away = [one.away for one in readings if one.away]
    if away and all(one.told is None for one in readings):
        raise away[0]


# ── what is measured ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _answered(both: Sequence[Pair]) -> list[Measure]:
    units = [Unit(one.told is not None, other.told is not None) for one, other in both]
    return [paired.share(verdict.ANSWERED, units, "more")]


def _counted(counts: Sequence[Counts]) -> list[Measure]:
    given = _of(counts, lambda one: one.facts + one.dropped)
    facts = _of(counts, lambda one: one.facts)
    gold = [(one, other) for one, other in counts if one.known.covered]
    lines = [
        paired.count("facts", _units(counts, lambda one: one.facts)),
        paired.share("quote not said", _units(counts, lambda one: one.quote_not_said, given), "less"),
        paired.share("dropped otherwise", _units(counts, lambda one: one.dropped - one.quote_not_said, given), "less"),
        paired.share(verdict.JUNK, _units(counts, lambda one: sum(one.junk.values()), facts), "less"),
        paired.share("duplicates", _units(counts, lambda one: one.duplicates, facts), "less"),
    ]
    if gold:
        whole = _of(gold, lambda one: len(one.known.covered))
        lines.append(paired.share(verdict.COVERED, _units(gold, lambda one: sum(one.known.covered), whole), "more"))
    return lines


def _placed(placed: Sequence[probing.Both]) -> list[Measure]:
    asked = [(one, other) for one, other in placed if one]
    if not asked:
        return []

    def units(name: str) -> list[Unit]:
        sums = [[sum(getattr(each, name) for each in side) for side in both] for both in asked]
        return [Unit(a, b, len(one), len(one)) for (a, b), (one, _) in zip(sums, asked, strict=True)]

    names = {verdict.P_AT_1: "p_at_1", verdict.P_AT_3: "p_at_3", verdict.MRR: "reciprocal"}
    return [paired.share(name, units(field), "more") for name, field in names.items()]


def _costs(counts: Sequence[Counts]) -> list[Measure]:
    return [
        paired.count("questions", _units(counts, lambda one: one.questions), "less"),
        paired.count("tokens in", _units(counts, lambda one: one.tokens_in), "less"),
        paired.count("tokens out", _units(counts, lambda one: one.tokens_out), "less"),
        paired.count("milliseconds", _units(counts, lambda one: one.milliseconds), "less"),
    ]


Wholes = Sequence[tuple[float, float]]


def _of(counts: Sequence[Counts], number: Callable[[Counted], float]) -> Wholes:
    return [(number(one), number(other)) for one, other in counts]


def _units(counts: Sequence[Counts], number: Callable[[Counted], float], wholes: Wholes | None = None) -> list[Unit]:
    each = wholes or [(1, 1)] * len(counts)
    return [Unit(number(one), number(other), *of) for (one, other), of in zip(counts, each, strict=True)]


def _only(counts: Sequence[Counts], side: int) -> int:
    """How many gold facts this side alone covers."""
    return sum(
        both[side] and not both[1 - side] for one, other in counts for both in zip(one.known.covered, other.known.covered, strict=True)
    )


def _kinds(counted: Sequence[Counted]) -> dict[str, int]:
    found = {kind: sum(one.junk.get(kind, 0) for one in counted) for kind in KINDS}
    return {kind: count for kind, count in found.items() if count}
