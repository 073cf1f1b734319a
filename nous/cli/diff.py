"""`nous diff`: what a replay store holds otherwise than the live one, each with the receipts of both sides."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from nous.replaying import difference
from nous.replaying.difference import Compared, Difference
from nous.settings import Settings
from store import replays
from store.database import Database
from store.receipts import Receipt

from . import place, screen

RECEIPTS_TOLD = 4


async def run(settings: Settings, name: str, *, agent: str | None, limit: int | None, is_json: bool) -> bool:
    """Compare; whether the two are alike."""
    live_url = place.database_url(settings)
    await replays.require(live_url, name)
    replayed = Database(replays.url_of(live_url, name), pool=1)
    try:
        async with place.database(settings) as live:
            agents = [agent] if agent else await difference.agents(replayed)
            compared = [await difference.compare(live, replayed, one) for one in agents]
    finally:
        await replayed.close()
    whole = _together(compared)
    if is_json:
        screen.emit(
            {"replay": name, "agents": len(agents), "alike": whole.alike, "differences": [_as_data(one) for one in whole.differences]}
        )
    else:
        _print(screen.out(piped_width=screen.PROSE_WIDTH), name, len(agents), whole, screen.at_most(limit, is_json=False))
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
    console.print(Text.assemble((f"{one.noun} {one.how}  ", "bold"), screen.said(one.says)))
    console.print(Text(f"  {one.id}  agent {screen.shown(one.agent_id)}", style="dim"))
    if one.how == "otherwise":
        for field, (live, replayed) in one.fields.items():
            console.print(Text(f"  {field}: {_value(live)} live, {_value(replayed)} replayed"))
    for side, told in (("live", one.live), ("replayed", one.replayed)):
        for receipt in told[-RECEIPTS_TOLD:]:
            reason = f": {screen.shown(receipt.reason)}" if receipt.reason else ""
            console.print(Text(f"  {side:8}  {receipt.worker} {receipt.outcome}{reason}", style="dim"))


def _value(value: Any) -> str:
    return "none" if value is None else screen.shown(str(value))


def _as_data(one: Difference) -> dict[str, Any]:
    return {
        "agent_id": one.agent_id,
        "noun": one.noun,
        "id": one.id,
        "how": one.how,
        "says": one.says,
        "fields": {name: {"live": live, "replayed": replayed} for name, (live, replayed) in one.fields.items()},
        "receipts": {"live": [_receipt(each) for each in one.live], "replayed": [_receipt(each) for each in one.replayed]},
    }


def _receipt(one: Receipt) -> dict[str, Any]:
    return asdict(one)
