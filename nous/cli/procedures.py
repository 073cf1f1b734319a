"""`nous procedures`: how agents do things, and how often that worked."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from nous.settings import Settings
from store import procedures
from store.procedures import Procedure

from . import listing, place, screen
from .listing import Listing

COLUMNS = ("procedure_id", "agent_id", "used", "worked", "failed", "last_used", "procedure")


async def list_procedures(settings: Settings, *, agent: str | None, limit: int | None, is_json: bool) -> None:
    """Print procedures by name."""
    how = f"{place.command()} publish procedure_learned agent_id=me procedure_id=$(uuidgen) name='…' core_patterns='…'"
    await LISTING.print(
        settings,
        lambda db, most: procedures.listed(db, agent=agent, limit=most),
        agent=agent,
        limit=limit,
        nothing=f"No procedures{listing.whose(agent)}. Teach one: {how}",
        is_json=is_json,
    )


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


def _print_table(console: Console, shown: Sequence[Procedure]) -> None:
    rows = ((one.procedure_id, (screen.said(one.agent_id), _uses(one), _last_used(one), screen.said(one.brief))) for one in shown)
    listing.print_with_ids(console, "procedure", ("agent", "used", "last used", "procedure"), rows)


LISTING = Listing(COLUMNS, _columns, _print_table, as_data)
