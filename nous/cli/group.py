"""`nous group list | drop`: consumer groups, which of them holds its stream back, and removing one whose reader is gone for good.

a stream is trimmed up to what every group has passed ─▶ a group that nobody reads with holds it for ever ─▶ dropped by a person
"""

import sys
from dataclasses import asdict, dataclass

import events
import workers
from nous.errors import UserMistake
from nous.settings import Settings
from workers.runtime import retention, streams
from workers.runtime.retention import Group

from . import place, screen

LATELY_S = 600.0


@dataclass(frozen=True)
class Dropped:
    """A group that is gone, and what it had been given and not acknowledged."""

    stream: str
    group: str
    pending: int
    lag: int


async def list_groups(settings: Settings, *, is_json: bool) -> None:
    """Print every group, those that hold a stream back first."""
    async with place.redis(settings) as redis:
        found = [one for stream in events.CATALOGUE for one in await retention.groups(redis, stream)]
    found.sort(key=lambda one: (-one.holds, one.stream, one.name))
    if is_json:
        screen.emit([{**asdict(one), "is_ours": _is_ours(one.stream, one.name)} for one in found])
        return
    if not found:
        print(f"No consumer groups: no worker has run on this Redis yet. Start them: {place.command()} work")
        return
    table = screen.table("stream", "group", "lag", "pending", "heard of", "holds back", right=("lag", "pending", "holds back"))
    for one in found:
        cells = [one.stream, one.name, f"{one.lag:,}", f"{one.pending:,}", _heard(one), f"{one.holds:,}"]
        table.add_row(*map(screen.shown, cells), style="yellow" if _is_strange(one) else "")
    screen.print_list(table)
    strangers = [one for one in found if _is_strange(one) and not _is_heard_lately(one)]
    if strangers:
        first = strangers[0]
        silent = f"{screen.plural(len(strangers), 'group')} of no worker here, and silent. If its reader is gone for good:"
        print(f"{silent}\n  {place.command()} group drop {first.stream} {screen.shown(first.name)}", file=sys.stderr)


async def drop(settings: Settings, stream: str, group: str, *, is_forced: bool, is_json: bool) -> None:
    """Remove a group. Raises UserMistake when there is none, and when somebody may still read with it."""
    if stream not in events.CATALOGUE:
        raise UserMistake(f"there is no stream {stream!r}{screen.meant(stream, events.CATALOGUE)}")
    async with place.redis(settings) as redis:
        there = {one.name: one for one in await retention.groups(redis, stream)}
        if group not in there:
            raise UserMistake(f"{stream} has no group {group!r}{screen.meant(group, there)}; {place.command()} group list shows them")
        if not is_forced:
            _refuse(there[group])
        await streams.drop_group(redis, stream, group)
    one = there[group]
    if is_json:
        screen.emit(asdict(Dropped(stream, group, one.pending, one.lag)))
        return
    print(f"dropped the group {screen.shown(group)} of {stream}; it holds the stream back no more")
    if one.pending or one.lag:
        print(f"  {one.pending:,} entries were given to it and not acknowledged, {one.lag:,} were not read; the archivist keeps them all")
    if _is_ours(stream, group):
        print("  it is made again when its worker runs, and reads all that stands in the stream; no event has a second effect")


def _refuse(one: Group) -> None:
    if _is_ours(one.stream, one.name):
        raise UserMistake(
            f"{one.name} works on {one.stream}, and makes its group again when it runs; if it lags, run more of it:"
            f" {place.command()} work {one.name} (--force drops the group all the same)"
        )
    if _is_heard_lately(one):
        raise UserMistake(
            f"somebody read {one.stream} with the group {one.name} {one.heard_s:.0f} s ago, and would lose its place; stop that first"
            " (--force drops the group all the same)"
        )


def _is_ours(stream: str, group: str) -> bool:
    """Whether it is the group of a worker that listens, or of the archivist."""
    return group == streams.ARCHIVIST or group in workers.consumers().get(stream, ())


def _is_strange(one: Group) -> bool:
    return not _is_ours(one.stream, one.name)


def _is_heard_lately(one: Group) -> bool:
    return one.heard_s is not None and one.heard_s < LATELY_S


def _heard(one: Group) -> str:
    if one.heard_s is None:
        return "never"
    return f"{one.heard_s / 60:,.0f} min ago" if one.heard_s >= 90 else f"{one.heard_s:.0f} s ago"
