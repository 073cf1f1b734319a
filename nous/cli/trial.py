"""`nous trial`: two prompts on the same transcripts, by the mind that is set now; and whether one may take the other's place.

    files ─▶ conversations (trial_files) ─▶ both prompts, each question once (nous.trialling) ─▶ a table, or JSON ─▶ the verdict

The live store is neither read nor written.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import providers
from nous.settings import Settings
from nous.trialling import criteria, paired, trial
from nous.trialling.criteria import Both
from nous.trialling.paired import Measure
from nous.trialling.reading import Conversation
from nous.trialling.trial import Trial
from nous.trialling.verdict import COVERED, MRR, P_AT_1, P_AT_3
from providers import Embedder
from providers.mind import Mind

from . import minds, screen
from .trial_files import conversations

_MEANS = (P_AT_1, P_AT_3, MRR)


async def run(settings: Settings, files: Sequence[str], *, a: str, b: str, is_json: bool) -> bool:
    """Try both prompts and print the figures; whether b may be shipped. Raises UserMistake when no mind is set or a prompt is none."""
    both, found = criteria.both(a, b), conversations(files)
    async with minds.writing(settings) as mind:
        made = await _tried(settings, mind, both, found)
    if is_json:
        screen.emit(as_json(made, a, b))
    else:
        _print(made)
    return made.verdict.word == "ship"


async def _tried(settings: Settings, mind: Mind, both: Both, found: Sequence[Conversation]) -> Trial:
    """The embedder is open before anything is paid for, and the store for the probes there."""
    async with _embedder(settings) as embedder:
        with _progress(trial.steps(found)) as advance:
            return await trial.tried(found, both, mind, embedder, settings, advance=advance)


@asynccontextmanager
async def _embedder(settings: Settings) -> AsyncIterator[Embedder]:
    embedder = providers.embedder(settings)
    await embedder.open()
    try:
        yield embedder
    finally:
        await embedder.close()


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    console = screen.err()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("readings and probes", total=total)
        yield lambda count: bar.advance(task, count)


# ── what is printed ───────────────────────────────────────────────────────────────────────────────────────────────────────


def as_json(made: Trial, a: str, b: str) -> dict[str, Any]:
    """The figures for a machine; shares beside their counts."""
    return {
        "model": made.model,
        "embedder": made.embedder,
        "a": {"name": a, "version": made.criteria.a.version},
        "b": {"name": b, "version": made.criteria.b.version},
        "transcripts": made.transcripts,
        "silent": made.silent,
        "pairs": made.pairs,
        "agents": made.agents,
        "probes": made.probes,
        "measures": [_measure(one) for one in made.measures],
        "intervals": {"level": paired.LEVEL, "resamples": paired.RESAMPLES, "seed": paired.SEED, "of": "transcripts"},
        "covered_only_by": dict(zip("ab", made.covered_only_by, strict=True)),
        "junk": dict(zip("ab", made.junk, strict=True)),
        "unanswered": [
            {
                "transcript": one.conversation.name,
                "prompt": one.criterion.version,
                "why": one.why,
                "tokens_in": one.tokens_in,
                "tokens_out": one.tokens_out,
            }
            for one in made.unanswered
        ],
        "verdict": {"is": made.verdict.word, "gates": [asdict(one) for one in made.verdict.gates]},
    }


def _measure(one: Measure) -> dict[str, Any]:
    return {
        "measure": one.name,
        "a": screen.rounded(one.a),
        "b": screen.rounded(one.b),
        "of": one.of,
        "shares": one.shares and [screen.rounded(share) for share in one.shares],
        "difference": screen.rounded(one.difference),
        "interval": [screen.rounded(one.low), screen.rounded(one.high)],
        "higher": one.higher,
        "lower": one.lower,
        "chance": screen.rounded(one.chance),
        "transcripts": one.units,
        "better": one.better,
    }


def _print(made: Trial) -> None:
    a, b = made.criteria.a.version, made.criteria.b.version
    print(f"{screen.plural(made.pairs, 'transcript')} read twice by {made.model}: a is {a}, b is {b}")
    if made.silent:
        print(f"not asked about: {screen.plural(made.silent, 'transcript')} in which nobody said anything")
    if made.pairs:
        table = screen.table("", *_NUMBERS, right=_NUMBERS)
        for one in made.measures:
            table.add_row(one.name, *_sides(one), *_difference(one), str(one.higher), str(one.lower), _chance(one.chance))
        screen.out().print(table)
        _print_notes(made)
    for left_out in made.unanswered:
        where, version = screen.shown(left_out.conversation.name), left_out.criterion.version
        screen.err().print(f"no answer: {where} asked by {version}: {screen.shown(left_out.why)}")
    _print_verdict(made)


_NUMBERS = ("a", "b", "b - a", "at 95 %", "higher in", "lower in", "by chance")


def _sides(one: Measure) -> tuple[str, ...]:
    if one.of is None or one.shares is None:
        return f"{one.a:,.0f}", f"{one.b:,.0f}"
    if one.name in _MEANS:
        return tuple(f"{share:.3f}" for share in one.shares)
    return tuple(_shown(part, whole) for part, whole in zip((one.a, one.b), one.of, strict=True))


def _shown(part: float, whole: float) -> str:
    return f"{part:,.0f} of {whole:,.0f}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def _difference(one: Measure) -> tuple[str, str]:
    digits = "+,.0f" if one.of is None else "+.3f"
    return format(one.difference, digits), f"{one.low:{digits}} to {one.high:{digits}}"


def _chance(chance: float) -> str:
    return "< 0.01" if chance < 0.01 else f"{chance:.2f}"


def _print_notes(made: Trial) -> None:
    names = {one.name for one in made.measures}
    if COVERED in names:
        only_a, only_b = made.covered_only_by
        print(f"gold facts that only one covers: {only_a:,} a, {only_b:,} b")
    else:
        print("no transcript has gold facts, so coverage was not measured")
    if MRR in names:
        print(f"{screen.plural(made.probes, 'probe')} put to what {screen.plural(made.agents, 'agent')} would remember by each")
    else:
        print("no transcript has probes, so recall was not measured")
    for side, junk in zip("ab", made.junk, strict=True):
        if junk:
            print(f"junk by {side}: {', '.join(f'{kind} {count:,}' for kind, count in junk.items())}")
    print(
        f"differences are b minus a, of shares where there are any; intervals by {paired.RESAMPLES:,} draws of the transcripts"
        f" (seed {paired.SEED}); by chance: sign test"
    )


def _print_verdict(made: Trial) -> None:
    print(f"verdict: {made.verdict.word}")
    for one in made.verdict.gates:
        print(f"  {one.stands:<6}  {one.measure} is to be {one.wanted}: {one.why}")
