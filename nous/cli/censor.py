"""`nous censor add | list | relax`: what a person decides about a warning."""

from typing import Any
from uuid import UUID

from events import CensorAdded, CensorRelaxed, Severity
from nous import ids, people
from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories import ids_meant
from store import censors
from store.censors import DEFAULT_ESCALATION_THRESHOLD, Censor
from store.database import Database

from . import decision, place, screen, unheard

OPTIONS = {"agent_id": "--agent", "trigger_pattern": "--pattern", "escalation_threshold": "--threshold", "censor_id": "--id"}


async def add(
    settings: Settings,
    *,
    agent: str,
    pattern: str,
    reason: str,
    severity: Severity,
    threshold: int | None,
    censor: UUID | None,
    is_json: bool,
) -> None:
    """Add a censor and say its id."""
    if not pattern.strip():
        raise UserMistake("--pattern does not do: it is empty, and a censor watches for something")
    told = decision.event(
        CensorAdded,
        agent,
        OPTIONS,
        censor_id=censor or ids.new(),
        trigger_pattern=pattern,
        reason=reason,
        severity=severity,
        escalation_threshold=threshold or DEFAULT_ESCALATION_THRESHOLD,
    )
    async with place.database(settings) as database:
        async with database.write({agent}) as db:
            decided = await people.decide(db, told, table="")
        await decision.send(settings, database, decided.letters)
    added = decided.after
    if is_json:
        screen.emit(as_data(added))
    else:
        print(f"added censor {added.censor_id} for {screen.shown(agent)}: {severity}{_hardens(added)}")


async def list_censors(settings: Settings, *, agent: str | None, is_json: bool) -> None:
    """Print every censor, or one agent's."""
    async with place.database(settings) as database, database.overview() as db:
        found = await censors.listed(db, agent=agent)
        unknown = None if found else await unheard.of(db, agent)
    if is_json:
        screen.emit([as_data(one) for one in found])
        return
    console = screen.out()
    if not found:
        whose = f" of agent {agent!r}" if agent else ""
        console.print(f"No censors{whose}. Add one: {place.command()} censor add --agent me --pattern 'rm -rf' --reason 'it deletes'")
        if unknown:
            console.print(unknown)
        return
    table = screen.table("censor id", "agent", "severity", "fired", "false", "watches for", "because", right=("false",))
    table.columns[0].no_wrap = True
    for one in found:
        table.add_row(
            str(one.censor_id),
            screen.said(one.agent_id),
            one.severity,
            fired(one),
            str(one.false_positive_count),
            screen.said(one.trigger_pattern),
            screen.said(one.reason if one.relaxed_reason is None else f"{one.reason} (relaxed: {one.relaxed_reason})"),
        )
    screen.print_list(table)


async def relax(settings: Settings, *, censor: str, reason: str, agent: str | None, is_json: bool) -> None:
    """Turn a block back into a warning that counts from here."""
    async with place.database(settings) as database:
        known = await the_one(database, censor, agent)
        told = decision.event(CensorRelaxed, known.agent_id, OPTIONS, censor_id=known.censor_id, reason=reason)
        async with database.write({known.agent_id}) as db:
            decided = await people.decide(db, told, table="")
        await decision.send(settings, database, decided.letters)
    relaxed = decided.after
    if is_json:
        screen.emit(as_data(relaxed))
    else:
        print(f"censor {relaxed.censor_id} warns again{_hardens(relaxed)}")


async def the_one(database: Database, censor: str, agent: str | None) -> Censor:
    """The censor a person means by an id or the beginning of one. Raises UserMistake."""
    async with database.overview() as db:
        return await ids_meant.censor_meant(db, censor, agent=agent)


def as_data(censor: Censor) -> dict[str, Any]:
    """A censor for JSON."""
    return {name: getattr(censor, name) for name in Censor.__dataclass_fields__}


def fired(censor: Censor) -> str:
    """Of a warning: how often since counting began, and at how many it blocks. Of what blocks already: how often in all."""
    if censor.severity == "warn":
        return f"{censor.activation_count - censor.counted_from} of {censor.escalation_threshold}"
    return f"{censor.activation_count} in all"


def _hardens(censor: Censor) -> str:
    if censor.severity != "warn":
        return ""
    return f"; it blocks once it has fired {screen.plural(censor.escalation_threshold, 'time')}{' more' if censor.counted_from else ''}"
