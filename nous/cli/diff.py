"""`nous diff`: what a replay store holds otherwise than the live one, each with the receipts of both sides."""

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.text import Text

from nous.errors import UserMistake
from nous.replaying import difference
from nous.replaying.difference import Compared, Difference
from nous.settings import Settings
from store import replays
from store.database import Database

from . import place, screen

RECEIPTS_TOLD = 4  # of each side, the latest


async def run(settings: Settings, name: str, *, agent: str | None, limit: int | None, is_json: bool) -> bool:
    """Compare; whether the two are alike. Raises UserMistake."""
    live_url = place.database_url(settings)
    await replays.require_whole(live_url, name)
    replayed = Database(replays.url_of(live_url, name), pool=1)
    try:
        async with place.database(settings) as live:
            agents = await difference.agents(replayed)
            if agent is not None and agent not in agents:
                raise UserMistake(f"nothing of agent {agent!r} was replayed into {name}{screen.meant(agent, agents)}")
            compared = [await difference.compare(live, replayed, one) for one in ([agent] if agent is not None else agents)]
    finally:
        await replayed.close()
    whole = _together(compared)
    if is_json:
        told = [_as_data(one) for one in whole.differences[:limit]]
        screen.emit(
            {"replay": name, "agents": len(compared), "alike": whole.alike, "different": len(whole.differences), "differences": told}
        )
    else:
        _print(screen.out(), name, len(compared), whole, screen.at_most(limit, is_json=False))
    return not whole.differences


def _together(compared: list[Compared]) -> Compared:
    alike: dict[str, int] = {}
    for one in compared:
        for noun, count in one.alike.items():
            alike[noun] = alike.get(noun, 0) + count
    return Compared(alike, [difference for one in compared for difference in one.differences])


def _print(console: Console, name: str, agents: int, whole: Compared, most: int | None) -> None:
    alike = screen.listed(screen.plural(count, noun) for noun, count in whole.alike.items()) if whole.alike else "nothing"
    console.print(f"{screen.plural(agents, 'agent')}: {alike} alike in the live store and in {name}")
    if not whole.differences:
        return
    console.print(f"{screen.plural(len(whole.differences), 'difference')}:")
    for one in whole.differences[:most]:
        _print_one(console, one)
    if most is not None and len(whole.differences) > most:
        screen.say_there_are_more(most)


def _print_one(console: Console, one: Difference) -> None:
    console.print()
    console.print(Text.assemble((f"{one.noun} {one.how}: ", "bold"), screen.said(one.says)))
    console.print(Text(f"  {one.id}  agent {screen.shown(one.agent_id)}", style="dim"))
    if one.how == "otherwise":
        for field, (live, replayed) in one.fields.items():
            console.print(Text(f"  {field.replace('_', ' ')}: {_value(live, one)} live, {_value(replayed, one)} replayed"))
    for side, told in (("live", one.live), ("replayed", one.replayed)):
        for receipt in told[-RECEIPTS_TOLD:]:
            reason = f": {screen.shown(receipt.reason)}" if receipt.reason else ""
            console.print(Text(f"  {side:8}  {receipt.worker} {receipt.outcome}{reason}", style="dim"))


def _value(value: Any, of: Difference) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case UUID() if value in of.words:
            return f"“{screen.shown(of.words[value])}”" if of.words[value] else f"what was forgotten ({value})"
        case datetime():
            return f"{screen.moment(value)} UTC"
        case tuple() | list():
            return screen.listed(f"“{screen.shown(str(one))}”" for one in value) if value else "none"
    return screen.shown(str(value))


def _as_data(one: Difference) -> dict[str, Any]:
    fields = {name: {"live": live, "replayed": replayed} for name, (live, replayed) in one.fields.items()}
    named = {str(fact): words for fact, words in one.words.items()}
    sides = {"live": [asdict(each) for each in one.live], "replayed": [asdict(each) for each in one.replayed]}
    return {
        **{name: getattr(one, name) for name in ("agent_id", "noun", "id", "how", "says")},
        "fields": fields,
        "words": named,
        "receipts": sides,
    }
