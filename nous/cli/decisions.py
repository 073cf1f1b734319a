"""`nous decisions`: what agents decided, what came of it, and what of it reads like a status report."""

from dataclasses import asdict

from rich.text import Text

from nous.settings import Settings
from store import decisions
from store.decisions import Decision

from . import place, screen

COLUMNS = ("decision_id", "agent_id", "decided", "decision", "noise")
WIDE = 120  # from here the id has a column of its own
ID_WIDTH = 36


async def list_decisions(settings: Settings, *, agent: str | None, only_noise: bool, limit: int | None, is_json: bool) -> None:
    """Print decisions, the latest first; the first hundred on a terminal and all of them elsewhere, unless `limit` says otherwise."""
    most = screen.at_most(limit, is_json=is_json)
    async with place.database(settings) as database, database.overview() as db:
        found = await decisions.listed(db, agent=agent, noise=True if only_noise else None, limit=None if most is None else most + 1)
    shown = found if most is None else found[:most]
    if is_json:
        screen.emit([asdict(one) for one in shown])
        return
    console = screen.out()
    if not shown:
        console.print(_nothing(agent, only_noise=only_noise))
    elif console.is_terminal:
        _print_table(shown)
    else:
        for line in (COLUMNS, *map(_columns, shown)):
            print("\t".join(line).rstrip("\t"))
    if len(found) > len(shown):
        screen.say_there_are_more(len(shown))


def _columns(decision: Decision) -> tuple[str, ...]:
    """One decision for a pipe."""
    noise = screen.shown(decision.noise) if decision.noise else ""
    return (
        str(decision.decision_id),
        screen.shown(decision.agent_id),
        screen.moment(decision.decided_at),
        screen.shown(decision.brief),
        noise,
    )


def _print_table(shown: list[Decision]) -> None:
    console = screen.out()
    is_wide = console.width >= WIDE
    table = screen.table(*(["decision id"] if is_wide else []), "agent", "decided", "decision")
    table.columns[-1].min_width = ID_WIDTH
    table.columns[-2].no_wrap = True
    for one in shown:
        id_ = Text(str(one.decision_id), style="dim", no_wrap=is_wide)
        told = screen.said(one.brief)
        if one.noise:
            told = Text.assemble(told, "\n", screen.said(f"reads like a status report: {one.noise}", "yellow"))
        if not is_wide:
            told = Text.assemble(told, "\n", id_)
        table.add_row(*([id_] if is_wide else []), screen.said(one.agent_id), screen.moment(one.decided_at), told)
    console.print(table)


def _nothing(agent: str | None, *, only_noise: bool) -> str:
    whose = f" of agent {screen.shown(agent)!r}" if agent else ""
    if only_noise:
        return f"No decisions{whose} that read like status reports."
    how = f"{place.command()} publish decision_recorded agent_id=me decision_id=$(uuidgen) description='…' reasons='…'"
    return f"No decisions{whose}. Record one: {how}"
