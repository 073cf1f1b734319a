"""`nous procedures`: how agents do things, and how often that worked."""

from dataclasses import asdict

from rich.text import Text

from nous.settings import Settings
from store import procedures
from store.procedures import Procedure

from . import place, screen

COLUMNS = ("procedure_id", "agent_id", "used", "worked", "failed", "last_used", "procedure")
WIDE = 120  # from here the id has a column of its own
ID_WIDTH = 36


async def list_procedures(settings: Settings, *, agent: str | None, limit: int | None, is_json: bool) -> None:
    """Print procedures by name; the first hundred on a terminal and all of them elsewhere, unless `limit` says otherwise."""
    most = screen.at_most(limit, is_json=is_json)
    async with place.database(settings) as database, database.overview() as db:
        found = await procedures.listed(db, agent=agent, limit=None if most is None else most + 1)
    shown = found if most is None else found[:most]
    if is_json:
        screen.emit([as_data(one) for one in shown])
        return
    console = screen.out()
    if not shown:
        whose = f" of agent {screen.shown(agent)!r}" if agent else ""
        how = f"{place.command()} publish procedure_learned agent_id=me procedure_id=$(uuidgen) name='…' core_patterns='…'"
        console.print(f"No procedures{whose}. Teach one: {how}")
    elif console.is_terminal:
        _print_table(shown)
    else:
        print("\t".join(COLUMNS))
        for one in shown:
            print("\t".join(_columns(one)))
    if len(found) > len(shown):
        screen.say_there_are_more(len(shown))


def as_data(procedure: Procedure) -> dict[str, object]:
    """A procedure for JSON, with the share of its uses that worked."""
    share = procedure.effectiveness
    return {**asdict(procedure), "effectiveness": None if share is None else screen.rounded(share)}


def _columns(procedure: Procedure) -> tuple[str, ...]:
    """One procedure for a pipe."""
    counts = (procedure.activation_count, procedure.success_count, procedure.failure_count)
    who = (str(procedure.procedure_id), screen.shown(procedure.agent_id))
    return (*who, *map(str, counts), _last_used(procedure), screen.shown(procedure.brief))


def _last_used(procedure: Procedure) -> str:
    return screen.moment(procedure.last_activated) if procedure.last_activated else "never"


def _uses(procedure: Procedure) -> str:
    """How often it was used, and how many of the uses of which that is known worked."""
    known = procedure.success_count + procedure.failure_count
    return f"×{procedure.activation_count}{f', {procedure.success_count} of {known} worked' if known else ''}"


def _print_table(shown: list[Procedure]) -> None:
    console = screen.out()
    is_wide = console.width >= WIDE
    table = screen.table(*(["procedure id"] if is_wide else []), "agent", "used", "last used", "procedure")
    table.columns[-1].min_width = ID_WIDTH
    for one in shown:
        id_ = Text(str(one.procedure_id), style="dim", no_wrap=is_wide)
        told = screen.said(one.brief) if is_wide else Text.assemble(screen.said(one.brief), "\n", id_)
        table.add_row(*([id_] if is_wide else []), screen.said(one.agent_id), _uses(one), _last_used(one), told)
    console.print(table)
