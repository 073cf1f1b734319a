"""`nous trial`: the positive question against the exclusion list, on the same transcripts, by the mind that is set now.

    {"transcript": "...", "gold": ["fact", ...], "started_at": "..."}, a line each ──▶ both prompts, each question once ──▶ figures, paired

No store is read or written. What gets no answer is left out of both sides and told; what was answered until then is still measured.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import providers
from events.base import Moment
from nous import clock
from nous.errors import UserMistake
from nous.settings import Settings
from nous.text import is_blank
from providers import Embedder
from providers.mind import Mind
from workers.episodes import transcript, trial
from workers.episodes.trial import CRITERIA, STYLES, Conversation, Measured, Reading, Style
from workers.runtime.asking import all_through

from . import minds, screen


class Row(BaseModel):
    """One line of a file of transcripts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    transcript: str
    gold: list[str] = []
    started_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of both prompts: its sums, and in how many transcripts it is higher or lower by the positive question.

    `of` is what it is a share of, where it is one.
    """

    measure: str
    positive: int
    exclusion: int
    higher: int
    lower: int
    of: tuple[int, int] | None = None

    @property
    def difference(self) -> int:
        """By how much the positive question has more."""
        return self.positive - self.exclusion


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    model: str
    embedder: str | None
    transcripts: int
    silent: int
    pairs: int
    lines: list[Line]
    covered_only_by: dict[str, int]
    junk: dict[str, dict[str, int]]
    unanswered: list[Reading]


async def run(settings: Settings, files: Sequence[str], *, is_json: bool) -> bool:
    """Try both prompts and print the figures; whether everything was answered. Raises UserMistake when no mind is set."""
    found = conversations(files)
    async with minds.writing(settings) as mind:
        made = await tried(settings, mind, found)
    if is_json:
        screen.emit(as_json(made))
    else:
        _print(made)
    return not made.unanswered


async def tried(settings: Settings, mind: Mind, found: Sequence[Conversation]) -> Trial:
    """Ask everything once, and count. Raises Outage when nothing at all was answered because the mind is away."""
    voiced = [one for one in found if one.is_voiced]
    has_gold = any(one.gold for one in voiced)
    async with _embedder(settings, is_wanted=has_gold) as embedder:
        readings = await _read(settings, mind, voiced)
        pairs = trial.answered_by_both(readings)
        counts = await trial.measured([one for both in pairs for one in both], embedder)
    unanswered = [one for one in readings if one.told is None]
    away = [one.away for one in unanswered if one.away]
    if away and len(away) == len(readings):
        raise away[0]
    counted = list(zip(counts[::2], counts[1::2], strict=True))
    return Trial(
        model=mind.model("writing"),
        embedder=embedder.name if has_gold else None,
        transcripts=len(found),
        silent=len(found) - len(voiced),
        pairs=len(pairs),
        lines=_lines(counted),
        covered_only_by={
            "positive": _only(counted, lambda one, other: one and not other),
            "exclusion": _only(counted, lambda one, other: other and not one),
        },
        junk={style: _kinds([both[place] for both in counted]) for place, style in enumerate(STYLES)},
        unanswered=unanswered,
    )


@asynccontextmanager
async def _embedder(settings: Settings, *, is_wanted: bool) -> AsyncIterator[Embedder]:
    """The embedder, open before anything is paid for if there is gold to compare with."""
    embedder = providers.embedder(settings)
    if is_wanted:
        await embedder.open()
    try:
        yield embedder
    finally:
        await embedder.close()


async def _read(settings: Settings, mind: Mind, voiced: Sequence[Conversation]) -> list[Reading]:
    with _progress(len(voiced) * len(STYLES)) as advance:

        async def read(one: Conversation, style: Style) -> Reading:
            made = await trial.read(one, style, mind, part_characters=settings.summary_part_characters)
            advance()
            return made

        return await all_through(read(one, style) for one in voiced for style in STYLES)


# ── what is read ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def conversations(files: Sequence[str]) -> list[Conversation]:
    """Every transcript of these files and folders; one that is there twice is asked about once. Raises UserMistake naming the line."""
    now = clock.now()
    found: dict[tuple[str, object], Conversation] = {}
    for path in _paths(files):
        for number, row in _rows(path):
            key = (row.transcript, row.started_at)
            gold = dict.fromkeys([*(found[key].gold if key in found else ()), *(one for one in row.gold if not is_blank(one))])
            said = found[key].said if key in found else transcript.of_text(row.transcript)
            name = found[key].name if key in found else f"{path}:{number}"
            found[key] = Conversation(name=name, said=said, began=row.started_at or now, gold=tuple(gold))
    if not found:
        raise UserMistake(f'there is no transcript in {screen.listed(files)}; write one JSON object a line: {{"transcript": "User: ..."}}')
    return list(found.values())


def _paths(files: Sequence[str]) -> Iterator[Path]:
    for name in files:
        path = Path(name)
        if path.is_dir():
            below = sorted(path.rglob("*.jsonl"))
            if not below:
                raise UserMistake(f"there is no .jsonl file below {name}")
            yield from below
        else:
            yield path


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        read = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        lines = read.decode("utf-8-sig").split("\n")  # splitlines would cut at U+2028 and U+0085, which stand inside strings
    except OSError as error:
        raise UserMistake(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise UserMistake(f"{path} line {number} is not UTF-8; no question was asked") from None
    for number, line in enumerate(lines, 1):
        if not is_blank(line):
            yield number, _row(f"{path} line {number}", line)


def _row(place: str, line: str) -> Row:
    try:
        return Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UserMistake(f"{place}: {f'{where}: ' if where else ''}{screen.plainly(first['msg'])}; no question was asked") from None


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, nothing elsewhere."""
    console = screen.err()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda: bar.advance(task)


# ── what is counted ───────────────────────────────────────────────────────────────────────────────────────────────────────

Both = tuple[Measured, Measured]


def _lines(counted: Sequence[Both]) -> list[Line]:
    facts, gold = (_sums(counted, count) for count in (lambda one: one.facts, lambda one: len(one.known.covered)))
    given = _sums(counted, lambda one: one.facts + one.dropped)
    lines = [
        _line(counted, "facts", lambda one: one.facts),
        _line(counted, "quote not said", lambda one: one.quote_not_said, of=given),
        _line(counted, "dropped otherwise", lambda one: one.dropped - one.quote_not_said, of=given),
        _line(counted, "gold covered", lambda one: sum(one.known.covered), of=gold),
        _line(counted, "junk", lambda one: sum(one.junk.values()), of=facts),
        _line(counted, "questions", lambda one: one.questions),
        _line(counted, "tokens in", lambda one: one.tokens_in),
        _line(counted, "tokens out", lambda one: one.tokens_out),
        _line(counted, "milliseconds", lambda one: one.milliseconds),
    ]
    return [line for line in lines if line.measure != "gold covered" or any(gold)]


def _line(counted: Sequence[Both], measure: str, count: Callable[[Measured], int], *, of: tuple[int, int] | None = None) -> Line:
    positive, exclusion = _sums(counted, count)
    each = [(count(one), count(other)) for one, other in counted]
    return Line(measure, positive, exclusion, sum(one > other for one, other in each), sum(one < other for one, other in each), of)


def _sums(counted: Sequence[Both], count: Callable[[Measured], int]) -> tuple[int, int]:
    return sum(count(one) for one, _ in counted), sum(count(other) for _, other in counted)


def _only(counted: Sequence[Both], is_so: Callable[[bool, bool], bool]) -> int:
    return sum(is_so(*both) for one, other in counted for both in zip(one.known.covered, other.known.covered, strict=True))


def _kinds(measured: Sequence[Measured]) -> dict[str, int]:
    kinds = dict.fromkeys(kind for one in measured for kind in one.junk)
    return {kind: sum(one.junk.get(kind, 0) for one in measured) for kind in kinds}


# ── what is printed ───────────────────────────────────────────────────────────────────────────────────────────────────────


def as_json(made: Trial) -> dict[str, Any]:
    """The figures for a machine; shares beside their counts."""
    return {
        "model": made.model,
        "prompts": {style: CRITERIA[style].version for style in STYLES},
        "embedder": made.embedder,
        "transcripts": made.transcripts,
        "silent": made.silent,
        "pairs": made.pairs,
        "measures": [{**asdict(line), "difference": line.difference, "shares": _shares(line)} for line in made.lines],
        "covered_only_by": made.covered_only_by,
        "junk": made.junk,
        "unanswered": [
            {
                "transcript": one.conversation.name,
                "prompt": one.style,
                "why": one.why,
                "tokens_in": one.tokens_in,
                "tokens_out": one.tokens_out,
            }
            for one in made.unanswered
        ],
    }


def _shares(line: Line) -> list[float | None] | None:
    if line.of is None:
        return None
    return [screen.rounded(part / whole) if whole else None for part, whole in zip((line.positive, line.exclusion), line.of, strict=True)]


def _print(made: Trial) -> None:
    versions = " and ".join(CRITERIA[style].version for style in STYLES)
    print(f"{screen.plural(made.pairs, 'transcript')} read twice by {made.model}, asked by {versions}")
    if made.silent:
        print(f"not asked about: {screen.plural(made.silent, 'transcript')} in which nobody said anything")
    if made.pairs:
        table = screen.table("", "positive", "exclusion", "difference", "higher in", "lower in", right=_NUMBERS)
        for line in made.lines:
            shown = [_shown(count, whole) for count, whole in zip((line.positive, line.exclusion), line.of or (None, None), strict=True)]
            table.add_row(line.measure, *shown, f"{line.difference:+,}", str(line.higher), str(line.lower))
        screen.out().print(table)
        _print_notes(made)
    for one in made.unanswered:
        screen.err().print(
            f"no answer: {screen.shown(one.conversation.name)} asked by {CRITERIA[one.style].version}: {screen.shown(one.why)}"
        )


_NUMBERS = ("positive", "exclusion", "difference", "higher in", "lower in")


def _print_notes(made: Trial) -> None:
    if made.embedder:
        only = made.covered_only_by
        print(f"gold facts that only one covers: {only['positive']:,} the positive question, {only['exclusion']:,} the exclusion list")
    else:
        print("no transcript has gold facts, so coverage was not measured")
    for style in STYLES:
        if made.junk[style]:
            print(f"junk by {CRITERIA[style].version}: {', '.join(f'{kind} {count:,}' for kind, count in made.junk[style].items())}")


def _shown(count: int, whole: int | None) -> str:
    return f"{count:,}" if whole is None else f"{count:,} of {whole:,}" + (f" ({100 * count / whole:.0f} %)" if whole else "")
