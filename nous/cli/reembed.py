"""`nous reembed`: give every fact a vector of another embedder, and let that one be the store's.

nothing named  which embedders have vectors here, and whose are in use
--to NAME      filled beside the old ones, which serve until the switch (reembed_fill.py)
--check        what that would take and change (reembed_check.py); nothing is written
--drop NAME    the vectors that are not in use any more
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import get_args

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import providers
from nous.errors import Misconfigured, UserMistake
from nous.settings import EmbedderName, Settings
from providers import Embedder
from store import embedders, thresholds
from store.database import Database
from store.embedders import Registered
from workers.runtime.calibrated import calibrated

from . import place, reembed_check, screen
from .reembed_fill import Filled, Filling


async def show(settings: Settings, *, is_json: bool) -> None:
    """Say which embedders have vectors here."""
    async with place.database(settings) as database, database.overview() as db:
        active = await embedders.active(db)
        sizes = [(one, await embedders.size(db, one)) for one in await embedders.known(db)]
    if is_json:
        screen.emit([{"embedder": one.name, "dimension": one.dimension, "facts": size, "active": one == active} for one, size in sizes])
        return
    table = screen.table("embedder", "numbers", "facts with a vector", "", right=("numbers", "facts with a vector"))
    for one, size in sizes:
        table.add_row(screen.said(one.name), f"{one.dimension:,}", f"{size:,}", "in use" if one == active else "")
    screen.print_list(table)


async def to(settings: Settings, written: str, *, batch: int, is_json: bool) -> None:
    """Fill the table of this embedder, and switch to it."""
    chosen = _chosen(settings, written)
    async with place.database(settings) as database:
        embedder = providers.embedder(await _calibrated(database, chosen))
        used, target = await _prepared(database, embedder)
        began = time.monotonic()
        try:
            await embedder.open()
            with _progress() as advance:
                filled = await Filling(database, embedder, target, batch, advance).run()
        finally:
            await embedder.close()
    told = Told(chosen, embedder, used, filled, time.monotonic() - began)
    if is_json:
        screen.emit(told.as_json())
    else:
        for line in told.sentences():
            print(line)


async def check(settings: Settings, written: str, *, is_json: bool) -> None:
    """Say what filling the table of this embedder would take, and which pairs would be judged otherwise. Nothing is written."""
    async with place.database(settings) as database:
        embedder = providers.embedder(await _calibrated(database, _chosen(settings, written)))
        async with database.overview() as db:
            used = await embedders.active(db)
        before = _of_the_store(await calibrated(database, settings), used)
        try:
            await embedder.open()
            found = await reembed_check.look(database, before, used, embedder)
        finally:
            await embedder.close()
    if is_json:
        screen.emit(reembed_check.as_json(found))
    else:
        reembed_check.tell(found, f"{place.command()} reembed --to {written}")


async def drop(settings: Settings, written: str, *, is_json: bool) -> None:
    """Remove the vectors of an embedder that is not in use."""
    async with place.database(settings) as database:
        async with database.overview() as db:
            found = _named(settings, written, await embedders.known(db))
            size = await embedders.size(db, found)
        async with database.switching() as switch:
            if await embedders.active(switch) == found:
                raise UserMistake(
                    f"the vectors of {found.name} are in use; another embedder has to take over first: nous reembed --to NAME"
                )
            await embedders.drop(switch, found)
    if is_json:
        screen.emit({"dropped": found.name, "facts": size})
    else:
        print(f"dropped {screen.plural(size, 'vector')} of {found.name}")


# ── which embedder is meant ───────────────────────────────────────────────────────────────────────────────────────────────

NAMES: Sequence[EmbedderName] = get_args(EmbedderName)


def _chosen(settings: Settings, written: str) -> Settings:
    """These settings with that embedder. Raises UserMistake."""
    if written not in NAMES:
        raise UserMistake(f"there is no embedder {written!r}{screen.meant(written, NAMES)}; the embedders are {screen.listed(NAMES)}")
    return settings.model_copy(update={"embedder": written})


async def _calibrated(database: Database, chosen: Settings) -> Settings:
    """These settings with the thresholds of the embedder they name now; those set for the one before it do not come along."""
    if chosen.thresholds_of not in ("", providers.unfitted(chosen).name):
        chosen = chosen.model_copy(update={**dict.fromkeys(thresholds.NAMES), "thresholds_of": ""})
    return await calibrated(database, chosen)


def _of_the_store(settings: Settings, used: Registered) -> Embedder:
    """The embedder whose vectors are in use, with its thresholds. Raises UserMistake when the settings name another one."""
    embedder = providers.embedder(settings)
    if embedder.name != used.name:
        raise UserMistake(
            f"the vectors in use are of {used.name} and NOUS_EMBEDDER here says {settings.embedder}; --check compares thresholds, so run it"
            " with the settings of the workers"
        )
    return embedder


def _named(settings: Settings, written: str, known: Sequence[Registered]) -> Registered:
    """The embedder that is known to the store by this name, or that this setting stands for. Raises UserMistake."""
    names = {written}
    if written in NAMES:
        with suppress(Misconfigured):  # of one that a server gives, only the name in the store may be left
            names.add(providers.unfitted(_chosen(settings, written)).name)
    found = next((one for one in known if one.name in names), None)
    if found is None:
        raise UserMistake(f"the store has no vectors of {written!r}; it has those of {screen.listed(one.name for one in known)}")
    return found


async def _prepared(database: Database, embedder: Embedder) -> tuple[Registered, Registered]:
    """The embedder in use, and the one that is meant, which has its table from now on. Raises Misconfigured."""
    async with database.overview() as db:
        used = await embedders.active(db)
        known = {one.name: one for one in await embedders.known(db)}
    if embedder.name not in known:
        async with database.switching() as switch:
            await embedders.register(await switch.connection(), embedder.name, embedder.dimension)
        async with database.overview() as db:
            known = {one.name: one for one in await embedders.known(db)}
    target = known[embedder.name]
    embedders.require(target, name=embedder.name, dimension=embedder.dimension)
    return used, target


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _progress() -> Iterator[Callable[[int, int], object]]:
    """A bar on a terminal; elsewhere the log has a line a round."""
    console = screen.err()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("embedding", total=None)
        yield lambda done, left: bar.update(task, completed=done, total=done + left)


class Told:
    """What came of it, and what a person has to do now."""

    def __init__(self, chosen: Settings, embedder: Embedder, used: Registered, filled: Filled, seconds: float) -> None:
        self.chosen = chosen
        self.embedder = embedder
        self.used = used
        self.filled = filled
        self.seconds = seconds

    @property
    def is_switched(self) -> bool:
        """Whether another one was in use before."""
        return self.used.name != self.embedder.name

    @property
    def thresholds(self) -> dict[str, float]:
        """What holds with these settings."""
        names = ("confirm_similarity", "check_similarity", "episode_similarity")
        return {name: getattr(self.embedder, name) for name in names}

    @property
    def overridden(self) -> list[str]:
        """The thresholds that are set here, and were set for the embedder before it, most likely."""
        is_bundled = self.chosen.embedder != "openai"
        return [f"NOUS_{name.upper()}" for name in self.thresholds if is_bundled and getattr(self.chosen, name) is not None]

    def as_json(self) -> dict[str, object]:
        """For a machine."""
        return {
            "embedder": self.embedder.name,
            "before": self.used.name,
            "switched": self.is_switched,
            "made": self.filled.made,
            "seconds": screen.rounded(self.seconds),
            "set": {"NOUS_EMBEDDER": self.chosen.embedder},
            "thresholds": self.thresholds,
            "thresholds_set": self.overridden,
        }

    def sentences(self) -> list[str]:
        """For a person."""
        nous = place.command()
        made = f"{screen.plural(self.filled.made, 'vector')} made in {self.seconds:.1f} s"
        if not self.is_switched:
            return [f"{self.embedder.name} is the store's embedder already; {made}"]
        confirm, check, episode = (f"{value:g}" for value in self.thresholds.values())
        lines = [
            f"switched from {self.used.name} to {self.embedder.name}: {made}; the old ones are kept",
            f"  thresholds  confirmed from {confirm}, a likely twin from {check}, conversations begin alike above {episode}",
        ]
        if self.overridden:
            lines.append(f"  note        {screen.listed(self.overridden)} is set here; a threshold belongs to one embedder, so unset it")
        return [
            *lines,
            f"  now         set NOUS_EMBEDDER={self.chosen.embedder} for workers and commands, and start them again",
            "              those that run with the old one stop at their next write; what they leave waits, and nothing is lost",
            f"  later       {nous} reembed --drop {self.used.name} removes the old vectors; until then --to the old one goes back quickly",
        ]
