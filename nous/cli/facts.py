"""`nous facts`: what is remembered, agent by agent; or what was true, or had been recorded, at another time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from rich.console import Console, Group
from rich.text import Text

from nous.settings import Settings
from nous.stories.heard import as_data, mentions_of
from store import facts, versions
from store.database import Read
from store.facts import Fact, First, Key
from store.mentions import Mention

from . import listing, place, screen, unheard
from .listing import ID_WIDTH, WIDE

PIPED = ("fact_id", "agent_id", "heard", "provenance", "content", "inactive", "became")


@dataclass(frozen=True)
class Wanted:
    """Which facts: one agent's or all, those that do not stand too, as of a time in the world, as known at a time of ours, pinned ones."""

    agent: str | None = None
    with_inactive: bool = False
    as_of: datetime | None = None
    known_at: datetime | None = None
    only_pinned: bool = False

    async def listed(self, db: Read, *, limit: int | None) -> list[Fact]:
        """At most `limit` of them, agent by agent in the order claimed."""
        whose, inactive, pinned = self.agent, self.with_inactive, self.only_pinned
        if self.known_at is None:
            return await facts.listed(db, agent=whose, inactive=inactive, as_of=self.as_of, limit=limit, pinned=pinned)
        return await versions.listed(
            db, known_at=self.known_at, agent=whose, inactive=inactive, as_of=self.as_of, limit=limit, pinned=pinned
        )

    def __str__(self) -> str:
        """In words, after `no facts`."""
        whose = listing.whose(self.agent)
        true = f" that were true on {screen.moment(self.as_of)} UTC" if self.as_of and not self.with_inactive else ""
        true = f" claimed by {screen.moment(self.as_of)} UTC" if self.as_of and self.with_inactive else true
        known = f", as recorded by {screen.moment(self.known_at)} UTC" if self.known_at else ""
        return f"{whose}{true}{known}"


async def list_facts(settings: Settings, wanted: Wanted, *, limit: int | None, is_json: bool) -> None:
    """Print facts, oldest first; the first hundred on a terminal and all of them elsewhere, unless `limit` says otherwise."""
    async with place.database(settings) as database, database.overview() as db:
        most = screen.at_most(limit, is_json=is_json)
        found = await wanted.listed(db, limit=None if most is None else most + 1)
        shown = found if most is None else found[:most]
        heard = await mentions_of(db, [fact.key for fact in shown], known_at=wanted.known_at)
        first = None if shown else await facts.first(db, agent=wanted.agent)
        unknown = None if shown else await unheard.of(db, wanted.agent)
    if is_json:
        screen.emit([as_data(fact, heard[fact.key]) for fact in shown])
        return
    console = screen.out()
    if not shown:
        console.print(_nothing(wanted, first))
        if unknown:
            console.print(unknown)
    elif not console.is_terminal:
        print("\t".join(PIPED))
    elif wanted.as_of or wanted.known_at:
        console.print(f"Facts{wanted}\n", style="dim")
    for name, mine in groupby(shown, key=lambda fact: fact.agent_id):
        _print_agent(console, name, list(mine), heard, is_past=wanted.as_of is not None)
    if len(found) > len(shown):
        screen.say_there_are_more(len(shown))


def _print_agent(console: Console, agent: str, mine: Sequence[Fact], heard: Mapping[Key, Sequence[Mention]], *, is_past: bool) -> None:
    title = Text.assemble((screen.shown(agent), "bold"), (f"  {screen.plural(len(mine), 'fact')}", "dim"))
    if not console.is_terminal:
        for fact in mine:
            print(_line(fact, len(heard[fact.key])))
        return
    is_wide = console.width >= WIDE
    table = screen.table(*(["fact id"] if is_wide else []), "fact", "heard", "vouched for by", "true since", right=("heard",))
    table.columns[1 if is_wide else 0].min_width = ID_WIDTH
    for fact in mine:
        id_ = Text(str(fact.fact_id), style="dim", no_wrap=is_wide)
        content = Group(*_content(fact, is_past=is_past), *([] if is_wide else [id_]))
        table.add_row(*([id_] if is_wide else []), content, _times(len(heard[fact.key])), fact.provenance, _when(fact))
    console.print(title)
    console.print(table)
    console.print()


def _line(fact: Fact, times: int) -> str:
    """One fact for a pipe, its columns apart by tabs."""
    columns = [str(fact.fact_id), screen.shown(fact.agent_id), f"×{times}", fact.provenance, screen.shown(fact.content)]
    return "\t".join([*columns, "" if fact.active else "inactive", became(fact)]).rstrip("\t")


def _content(fact: Fact, *, is_past: bool) -> list[Text]:
    """What it says, struck out when it is no longer true (unless the past was asked for), and what became of it."""
    said = screen.said(fact.content, "" if fact.active or is_past else "dim strike")
    told = became(fact)
    return [said, *([Text(told, style="yellow" if fact.active else "dim")] if told else [])]


def became(fact: Fact) -> str:
    """What became of it, if anything did."""
    others = (("superseded by", fact.superseded_by), ("merged into", fact.merged_into), ("disputes", fact.disputes))
    return ", ".join([*(f"{how} {other}" for how, other in others if other), *kept_up(fact)])


def kept_up(fact: Fact) -> list[str]:
    """What upkeep did to it, or may not do."""
    told = (("pinned", fact.pinned_at), ("archived", fact.archived_at), ("demoted", None if fact.archived_at else fact.demoted_at))
    return [f"{how} on {at:%Y-%m-%d}" for how, at in told if at]


def _when(fact: Fact) -> Text:
    until = f" to {fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
    return Text(f"{fact.valid_from:%Y-%m-%d}{until}", no_wrap=not until)


def _times(times: int) -> Text:
    return Text(f"×{times}", style="bold green" if times > 1 else "dim")


def _nothing(wanted: Wanted, first: First | None) -> str:
    if wanted.as_of or wanted.known_at:
        return f"No facts{wanted}.{_since(wanted, first)}"
    if wanted.only_pinned:
        return f"No pinned facts{wanted}. Pin one, so that upkeep lets it be: {place.command()} fact pin ID"
    kind = "" if wanted.with_inactive else "active "
    return f"No {kind}facts{wanted}. Publish one: {place.command()} publish fact_learned agent_id=me content='…'"


def _since(wanted: Wanted, first: First | None) -> str:
    """From when on there is something, where the time that was asked about lies before that."""
    if first and wanted.known_at and wanted.known_at < first.recorded_at:
        return f" The first was recorded on {screen.moment(first.recorded_at)} UTC."
    if first and wanted.as_of and wanted.as_of < first.claimed_for:
        return f" The first is true since {screen.moment(first.claimed_for)} UTC."
    return ""
