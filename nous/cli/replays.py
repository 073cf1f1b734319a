"""`nous replays list | drop`: the stores that replays have made, beside the live one."""

from nous.settings import Settings
from store import replays

from . import place, screen


async def list_replays(settings: Settings, *, is_json: bool) -> None:
    """Print the replay stores beside the live one."""
    found = await replays.listed(place.database_url(settings))
    if is_json:
        screen.emit([{"name": one.name, "bytes": one.bytes, "is_whole": one.is_whole} for one in found])
        return
    if not found:
        print(f"No replays. Make one: {place.command()} replay --into try1")
        return
    table = screen.table("replay", "megabytes", "", right=("megabytes",))
    for one in found:
        table.add_row(one.name, f"{one.bytes / 1e6:,.0f}", "" if one.is_whole else "being made" if one.is_used else "never came to its end")
    screen.print_list(table)


async def drop(settings: Settings, name: str) -> None:
    """Drop a replay store. Raises UserMistake when there is none."""
    await replays.drop(place.database_url(settings), name)
    print(f"dropped the replay {name}")
