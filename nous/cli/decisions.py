"""`nous decisions`: what agents decided, what came of it, and what of it reads like a status report."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from nous.settings import Settings
from store import decisions
from store.decisions import Decision

from . import listing, place, screen
from .listing import Listing

COLUMNS = ("decision_id", "agent_id", "decided", "decision", "noise")


async def list_decisions(settings: Settings, *, agent: str | None, only_noise: bool, limit: int | None, is_json: bool) -> None:
    """Print decisions, the latest first."""
    noise = True if only_noise else None
    await LISTING.print(
        settings,
        lambda db, most: decisions.listed(db, agent=agent, noise=noise, limit=most),
        agent=agent,
        limit=limit,
        nothing=_nothing(agent, only_noise=only_noise),
        is_json=is_json,
    )


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


def _print_table(console: Console, shown: Sequence[Decision]) -> None:
    rows = ((one.decision_id, (screen.said(one.agent_id), screen.moment(one.decided_at), _told(one))) for one in shown)
    listing.print_with_ids(console, "decision", ("agent", "decided", "decision"), rows)


def _told(decision: Decision) -> Text:
    told = screen.said(decision.brief)
    if not decision.noise:
        return told
    return Text.assemble(told, "\n", screen.said(f"reads like a status report: {decision.noise}", "yellow"))


def _nothing(agent: str | None, *, only_noise: bool) -> str:
    whose = listing.whose(agent)
    if only_noise:
        return f"No decisions{whose} that read like status reports."
    how = f"{place.command()} publish decision_recorded agent_id=me decision_id=$(uuidgen) description='…' reasons='…'"
    return f"No decisions{whose}. Record one: {how}"


LISTING = Listing(COLUMNS, _columns, _print_table)
