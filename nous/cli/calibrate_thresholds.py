"""`nous calibrate --thresholds`: the thresholds of the configured embedder, fitted to labelled pairs, told, and kept if asked to.

    shipped pairs, --pairs FILE, merges a person judged ─▶ scored by the embedder ─▶ each threshold fitted to its aim ─▶ the curve, the
    chosen point with its interval, what it would change in the store ─▶ with --apply a row of heart.thresholds under the embedder's name

What is kept holds for every process that starts with that embedder from then on; what is set in the environment still goes before it.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import providers
from nous import clock, guard
from nous.errors import Misconfigured, UserMistake
from nous.settings import Settings
from providers import Embedder
from recall.overlap import REPEATED, overlap
from recall.repeated import Said
from store import audits, thresholds
from store.audits import JudgedMerge
from store.database import Database
from store.facts import subject_key
from store.thresholds import NAMES, OF_AN_EMBEDDER, FittedThresholds
from workers.runtime.calibrated import calibrated
from workers.standing import candidates

from . import calibrate_live, calibrate_pairs, place, screen
from .calibrate_fit import AIMS, Fit, Point, Scored, fitted_threshold
from .calibrate_live import Live
from .calibrate_pairs import Pair

STARTS = (
    "stop {nous} up (Ctrl-C) and run it again, or each {nous} work, {nous} serve and {nous} mcp",
    "docker compose restart",
    "kubectl -n nous rollout restart deployment",
)
"""By which whatever goes by thresholds takes those that were kept."""

AT_ONCE = 1_000
"""Pairs that are compared at once: their vectors are all that is held of them."""


@dataclass(frozen=True)
class Asked:
    """What is to be fitted, to what. `only` names thresholds to keep; all that could be fitted where there are none."""

    files: Sequence[str] = ()
    without_shipped: bool = False
    languages: Sequence[str] = ()
    only: Sequence[str] = ()
    applies: bool = False


@dataclass(frozen=True)
class Made:
    """What came of it: `now` is what holds, and `kept` what was written down."""

    embedder: str
    pairs: Mapping[str, int]
    now: Mapping[str, float | None]
    fits: Sequence[Fit]
    live: Mapping[str, Live] | None
    proposed: Mapping[str, float]
    kept: Mapping[str, float] | None
    overridden: Sequence[str]


async def run(settings: Settings, asked: Asked, *, is_json: bool) -> bool:
    """Fit and tell; with `applies` keep it. Whether everything that was asked for came of it. Raises UserMistake and Misconfigured."""
    require_known(asked.only)
    given = [] if asked.without_shipped else calibrate_pairs.shipped()
    given += [pair for file in asked.files for pair in calibrate_pairs.of_file(file)]
    given = calibrate_pairs.in_languages(given, asked.languages)
    async with _store(settings, is_needed=asked.applies) as database:
        judged = await _judged(database) if database else []
        pairs = [*given, *calibrate_pairs.of_merges(judged)]
        if not pairs:
            raise UserMistake("there is no pair to fit to: no file was named, no merge was judged, and the shipped pairs were left out")
        embedder = providers.unfitted(settings)
        now = await in_force(settings, database)
        fits = await _fits(embedder, pairs)
        unset = settings.model_copy(update=dict.fromkeys(NAMES))
        proposed = _proposed(fits, asked.only, held=await in_force(unset, database), settings=settings)
        if asked.applies:
            _require_startable(settings, {**now, **proposed})
        live = await calibrate_live.look(database, embedder.name) if database else None
        is_applied = database is not None and asked.applies and bool(proposed)
        if database and is_applied:
            await _keep(database, embedder.name, proposed, fits)
    made = Made(
        embedder=embedder.name,
        pairs=Counter("judged merge" if pair.is_merged else pair.kind for pair in pairs),
        now=now,
        fits=fits,
        live=live,
        proposed=proposed,
        kept=proposed if is_applied else None,
        overridden=[f"NOUS_{name.upper()}" for name in proposed if getattr(settings, name) is not None],
    )
    _tell(made, asked, is_json=is_json)
    return is_applied or not asked.applies


def require_known(only: Sequence[str]) -> None:
    """Refuse what is no threshold. Raises UserMistake."""
    for name in only:
        if name not in NAMES:
            raise UserMistake(f"--only {name!r} is no threshold{screen.meant(name, NAMES)}; they are {screen.listed(NAMES)}")


@asynccontextmanager
async def _store(settings: Settings, *, is_needed: bool) -> AsyncIterator[Database | None]:
    """The store, for the block; without one there is still something to fit, if nothing is to be kept."""
    if not is_needed and not place.is_found(settings):
        yield None
        return
    async with place.database(settings) as database:
        yield database


async def _judged(database: Database) -> list[JudgedMerge]:
    async with database.overview() as db:
        return await audits.judged(db, agent=None)


async def in_force(settings: Settings, database: Database | None) -> dict[str, float | None]:
    """What holds now: as set, as fitted before, or as shipped; None where nothing does yet."""
    bare = settings.model_copy(update={"thresholds_of": ""})
    if database is not None:
        bare = await calibrated(database, bare)
    values: dict[str, float | None] = {name: getattr(bare, name) for name in NAMES}
    try:
        shipped = providers.embedder(bare.model_copy(update=dict.fromkeys(NAMES)))
    except Misconfigured:  # of a model nobody has fitted yet there is nothing to compare with
        shipped = None
    if shipped is not None:
        values |= {name: getattr(shipped, name) for name in OF_AN_EMBEDDER if values[name] is None}
    if values["subject_similarity"] is None:
        values["subject_similarity"] = candidates.SUBJECT_SIMILARITY
    if values["repeated_overlap"] is None:
        values["repeated_overlap"] = REPEATED
    return values


# ── fitting ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _fits(embedder: Embedder, pairs: Sequence[Pair]) -> list[Fit]:
    of_kind: dict[str, list[Pair]] = {kind: [pair for pair in pairs if pair.kind == kind] for kind in calibrate_pairs.KINDS}
    await embedder.open()
    try:
        with _progress("comparing pairs", len(pairs)) as compared:
            scored = {kind: await _scored(embedder, kind, some, compared) for kind, some in of_kind.items()}
    finally:
        await embedder.close()
    unbiased = _without_merges(scored["fact"], of_kind["fact"])
    fits = []
    with _progress("fitting thresholds", len(AIMS)) as made:
        for aim in AIMS:
            # what was merged was near to begin with: it says whether a confirmation is right, and nothing of how many are missed
            fits.append(fitted_threshold(aim, unbiased if aim.name == "check_similarity" else scored[aim.kind]))
            made(1)
    return fits


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """How much was done of it, on a terminal."""
    console = screen.err()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def _without_merges(scored: Scored, pairs: Sequence[Pair]) -> Scored:
    kept = np.array([not pair.is_merged for pair in pairs], bool)
    return Scored(scored.scores[kept], scored.is_one[kept], scored.agrees[kept])


async def _scored(embedder: Embedder, kind: str, pairs: Sequence[Pair], compared: Callable[[int], None]) -> Scored:
    """How near each pair is, as what decides about it measures that, and whether the guard lets it be one; some at a time."""
    scores, agrees = np.zeros(len(pairs)), np.ones(len(pairs), bool)
    for at in range(0, len(pairs), AT_ONCE):
        some = slice(at, at + AT_ONCE)
        scores[some], agrees[some] = await _measured(embedder, kind, pairs[some])
        compared(len(pairs[some]))
    return Scored(scores, np.array([pair.is_one for pair in pairs], bool), agrees)


async def _measured(embedder: Embedder, kind: str, pairs: Sequence[Pair]) -> tuple[Sequence[float], Sequence[bool]]:
    if kind == "subject":
        keys = [(subject_key(pair.one) or "", subject_key(pair.other) or "") for pair in pairs]
        return [candidates.spelled_alike(*both) for both in keys], [True] * len(pairs)
    if kind == "repeat":
        agrees = [Said([pair.other], None, 1.0, overlap=-1.0).already(pair.one, None) is not None for pair in pairs]
        return [overlap(pair.one, pair.other) if lets else 0.0 for pair, lets in zip(pairs, agrees, strict=True)], agrees
    agrees = [kind != "fact" or guard.agree(pair.one, pair.other).agrees for pair in pairs]
    return await _cosines(embedder, pairs), agrees


async def _cosines(embedder: Embedder, pairs: Sequence[Pair]) -> list[float]:
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.one, pair.other)))
    made = dict(zip(texts, await embedder.embed(texts), strict=True))
    return [float(made[pair.one] @ made[pair.other]) for pair in pairs]


def _proposed(fits: Sequence[Fit], only: Sequence[str], *, held: Mapping[str, float | None], settings: Settings) -> dict[str, float]:
    """The thresholds to keep. That of likely twins is never above that of confirming, whichever of the two was fitted or asked for:

    neither where the environment says nothing (`held`: what is kept or shipped), nor where it says from what on is confirmed (`settings`).
    """
    chosen = {fit.aim.name: fit.chosen for fit in fits if fit.chosen is not None and (not only or fit.aim.name in only)}
    if not {"confirm_similarity", "check_similarity"} & chosen.keys():
        return chosen
    confirm, check = (chosen.get(name, held[name]) for name in ("confirm_similarity", "check_similarity"))
    highest = min((value for value in (confirm, settings.confirm_similarity) if value is not None), default=1.0)
    if check is not None and check > highest:
        chosen["check_similarity"] = highest
    return chosen


def _require_startable(settings: Settings, then: Mapping[str, float | None]) -> None:
    """Refuse to keep what no process could start with that has the environment of this one. Raises UserMistake."""
    check = settings.check_similarity
    confirm = then["confirm_similarity"] if settings.confirm_similarity is None else settings.confirm_similarity
    if check is not None and confirm is not None and check > confirm:
        raise UserMistake(
            f"nothing was kept: confirm_similarity would be {confirm:g}, and NOUS_CHECK_SIMILARITY={check:g} is set here, goes before what"
            f" is kept, and must not be above it; no process with both would start. Unset it, or set it to {confirm:g} or less, and run"
            " this again"
        )


async def _keep(database: Database, embedder: str, proposed: Mapping[str, float], fits: Sequence[Fit]) -> None:
    async with database.switching() as db:
        before = (await thresholds.latest(db)).get(embedder)
        values = {**(before.values if before else {}), **proposed}
        figures = {fit.aim.name: _figures(fit, proposed[fit.aim.name]) for fit in fits if fit.aim.name in proposed}
        await thresholds.put(db, FittedThresholds(embedder, values, clock.now(), figures))


def _figures(fit: Fit, kept: float) -> dict[str, object]:
    at = fit.at(kept)
    return {"pairs": fit.pairs, "one": fit.one, "interval": fit.interval, "precision": at.precision.value, "recall": at.recall.value}


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tell(made: Made, asked: Asked, *, is_json: bool) -> None:
    if is_json:
        screen.emit(_as_data(made))
        return
    screen.say(f"{made.embedder}: {', '.join(screen.plural(count, kind + ' pair') for kind, count in made.pairs.items())}")
    for fit in made.fits:
        _tell_fit(made, fit)
    print()
    _tell_choice(made)
    _tell_end(made, asked)


def _tell_fit(made: Made, fit: Fit) -> None:
    now = made.now[fit.aim.name]
    print()
    screen.say(f"{screen.spoken(fit.aim.name)}: {fit.aim.why}")
    if fit.pairs:
        has_guard = fit.aim.kind == "fact"
        guarded = ("with the guard: one", "two") if has_guard else ()
        names = ("above" if fit.aim.is_above else "from", "precision", "recall", *guarded)
        table = screen.table(*names, "", right=names)
        for point in _shown(fit, now):
            marks = [what for what, value in (("chosen", fit.chosen), ("now", now)) if value is not None and _is_at(point, value)]
            cells = (f"{point.guarded_one:,}", f"{point.guarded_two:,}") if has_guard else ()
            table.add_row(f"{point.threshold:.2f}", str(point.precision), str(point.recall), *cells, ", ".join(marks))
        screen.print_list(table)
    if fit.reason:
        screen.say(f"not fitted: {fit.reason}")


def _is_at(point: Point, value: float) -> bool:
    return abs(point.threshold - value) < 0.005


def _shown(fit: Fit, now: float | None) -> list[Point]:
    """Every tenth threshold, those around the one that was chosen, and the one that holds."""
    around = [] if fit.chosen is None else [fit.chosen + step / 100 for step in (-3, -2, -1, 0, 1, 2, 3)]
    wanted = [*(tenth / 10 for tenth in range(3, 10)), *around, *([] if now is None else [now])]
    return [point for point in fit.curve if any(_is_at(point, value) for value in wanted)]


def _tell_choice(made: Made) -> None:
    table = screen.table("threshold", "now", "fitted", "95 % interval", "in the store", "above now", "then", right=("now", "fitted"))
    for fit in made.fits:
        name, live = fit.aim.name, (made.live or {}).get(fit.aim.name)
        then = made.proposed.get(name, made.now[name])
        table.add_row(
            screen.spoken(name),
            _number(made.now[name]),
            _number(made.proposed.get(name)),
            "" if fit.interval is None else f"{fit.interval[0]:.2f} to {fit.interval[1]:.2f}",
            "" if live is None else live.of,
            "" if live is None else _count(live.above(made.now[name])),
            "" if live is None else _count(live.above(then)),
        )
    screen.print_list(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _tell_end(made: Made, asked: Asked) -> None:
    nous = place.command()
    twins, fit = made.proposed.get("check_similarity"), next(one for one in made.fits if one.aim.name == "check_similarity")
    if twins is not None and twins != fit.chosen:
        screen.say(f"check similarity goes to {twins:.2f} with confirm similarity: twins are never looked for above what is confirmed")
    if made.kept is not None:
        tell_when_taken(f"kept for {made.embedder}")
        screen.say(f"undone by: {nous} calibrate --thresholds --reset, by which those that are shipped hold again")
    elif not made.proposed:
        print("nothing could be fitted, and nothing was changed")
    else:
        more = "" if asked.applies else f"; {nous} calibrate --thresholds --apply keeps them in the store, for every replica"
        screen.say(f"nothing was changed{more}")
        values = " ".join(f"NOUS_{name.upper()}={value:g}" for name, value in made.proposed.items())
        screen.say(f"or, where they are set in the environment: NOUS_THRESHOLDS_OF={made.embedder} {values}")
    if made.overridden:
        screen.say(f"note: set here, and going before what is kept: {screen.listed(made.overridden)}")


def tell_when_taken(done: str) -> None:
    """Say of what was done that it holds from the next start on, and how processes are started again."""
    screen.say(f"{done}, and taken at a start: workers, APIs and MCP servers that run now go by the old ones until then")
    screen.say(f"start them again: {', or '.join(start.format(nous=place.command()) for start in STARTS)}")


def _as_data(made: Made) -> dict[str, object]:
    return {
        "embedder": made.embedder,
        "pairs": dict(made.pairs),
        "thresholds": [
            {
                "threshold": fit.aim.name,
                "aim": fit.aim.why,
                "now": made.now[fit.aim.name],
                "fitted": fit.chosen,
                "proposed": made.proposed.get(fit.aim.name),
                "interval": fit.interval,
                "reason": fit.reason or None,
                "pairs": fit.pairs,
                "one": fit.one,
                "curve": [_point_as_data(point) for point in fit.curve],
                "live": _live_as_data(made, fit),
            }
            for fit in made.fits
        ],
        "kept": made.kept,
        "taken_at": "the next start of each process" if made.kept is not None else None,
        "overridden": list(made.overridden),
    }


def _live_as_data(made: Made, fit: Fit) -> dict[str, object] | None:
    live, now = (made.live or {}).get(fit.aim.name), made.now[fit.aim.name]
    if live is None:
        return None
    return {
        "of": live.of,
        "pairs": len(live.scores),
        "above_now": live.above(now),
        "above_then": live.above(made.proposed.get(fit.aim.name, now)),
    }


def _point_as_data(point: Point) -> dict[str, object]:
    def share(one: object) -> object:
        return None if one is None else screen.rounded(float(str(one)))

    return {
        "threshold": point.threshold,
        "precision": share(point.precision.value),
        "precision_interval": [screen.rounded(end) for end in point.precision.interval],
        "recall": share(point.recall.value),
        "recall_interval": [screen.rounded(end) for end in point.recall.interval],
        "guarded_one": point.guarded_one,
        "guarded_two": point.guarded_two,
    }
