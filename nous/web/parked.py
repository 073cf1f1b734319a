"""What is parked: the latest first, counted by reason; each with its body, all that happened to it, and the commands that settle it."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import workers
from nous.called import command
from nous.errors import UserMistake
from nous.stories.ids_meant import NothingMeant
from nous.stories.words import listed, plural
from store import parked, receipts, retries
from store.parked import Parked, Wanted
from store.retries import Retry
from workers.runtime.parked import Body, Entries

from .answers import Answer, Asked
from .rendering import address

if TYPE_CHECKING:
    from .site import Site

LISTED = 100
BODY_SHOWN = 4_000  # characters, until the whole is asked for


@dataclass(frozen=True)
class Do:
    """A command that a person may want now, and when they would."""

    when: str
    command: str


async def page(site: "Site", asked: Asked) -> Answer:
    """The list."""
    wanted = Wanted(worker=asked.words("worker"), agent=asked.words("agent"), reason=asked.words("reason"))
    async with site.database.overview() as db:
        found = await parked.listed(db, wanted, limit=LISTED + 1)
        classes = await receipts.parked_classes(db)
    shown = {
        "wanted": wanted,
        "is_narrowed": any((wanted.worker, wanted.agent, wanted.reason)),
        "found": found[:LISTED],
        "is_cut": len(found) > LISTED,
        "classes": sorted(((count, *names, _piece(names[1])) for names, count in classes.items()), key=lambda one: (-one[0], one[1:])),
        "total": sum(classes.values()),
        "workers": list(workers.table()),
        "do": f"{command()} dead retry --all{_narrowed(wanted)}",
        "whole_list": f"{command()} dead list{_narrowed(wanted)}",
    }
    counts = [{"worker": worker, "reason": reason, "parked": count} for (worker, reason), count in classes.items()]
    return Answer("parked.html", shown, {"parked": [as_data(one) for one in found[:LISTED]], "counts": counts})


async def one(site: "Site", asked: Asked) -> Answer:
    """One delivery."""
    async with site.database.overview() as db:
        delivery = _the_one(await parked.named(db, asked["handle"], Wanted(agent=asked.words("agent"))), asked["handle"])
        others = [told for told in await receipts.of_events(db, [delivery.agent_id], [delivery.event_id]) if told.worker != delivery.worker]
        waiting = [row for row in await retries.of_events(db, delivery.agent_id, [delivery.event_id]) if row.worker == delivery.worker]
    body = await Entries(site.redis).body(delivery, site.database)
    text = _readable(body) if body else ""
    is_whole = asked.words("body") == "whole" or len(text) <= BODY_SHOWN
    shown = {
        "one": delivery,
        "state": state(delivery),
        "others": others,
        "happened": list(_happened(delivery, waiting)),
        "body": body,
        "body_text": text if is_whole else text[:BODY_SHOWN],
        "body_left": 0 if is_whole else len(text) - BODY_SHOWN,
        "whole": address(f"/parked/{delivery.handle}", body="whole"),
        "then": _then(delivery, body),
    }
    content = None if body is None else body.content.decode(errors="backslashreplace")
    return Answer("parked_one.html", shown, {**as_data(delivery), "body": content, "body_found_in": body and body.found_in})


def state(one: Parked) -> str:
    """How it stands: parked, worked again, dropped, or how it ended after it was parked."""
    if one.waits:
        return "worked again"
    return "parked" if one.is_parked else "dropped" if one.is_dropped else one.outcome


def as_data(one: Parked) -> dict[str, object]:
    """It for JSON, without its body."""
    names = ("worker", "stream", "agent_id", "event_id", "entry_id", "reason", "attempts", "history")
    return {"id": one.handle, "state": state(one), "parked_at": one.recorded_at, **{name: getattr(one, name) for name in names}}


def _the_one(found: Sequence[Parked], written: str) -> Parked:
    if not found:
        raise NothingMeant(f"no delivery {written!r} is parked, or was")
    if len(found) > 1:
        raise UserMistake(f"{written!r} fits several: {listed(one.handle for one in found[:5])}; write more of one of these ids")
    return found[0]


def _piece(reason: str) -> str | None:
    """What the list is narrowed by for this class of reasons: the longest piece that stands in all of them word for word."""
    return None if reason == "other" else max(reason.split("…"), key=len).strip()


def _narrowed(wanted: Wanted) -> str:
    """The same filter for the command line."""
    given = (("--worker", wanted.worker), ("--agent", wanted.agent), ("--reason", wanted.reason))
    return "".join(f" {option} {shlex.quote(value)}" for option, value in given if value)


def _happened(one: Parked, waiting: Sequence[Retry]) -> Iterator[tuple[datetime, str, str]]:
    """Every time it was parked, dropped, retried, and how it stands, in order: when, what, why."""
    for past in one.history:
        yield datetime.fromisoformat(past["at"]), _with_attempts(past["what"], past.get("attempts")), past.get("reason") or ""
        if past.get("retried_at"):
            yield datetime.fromisoformat(past["retried_at"]), "retried", "a person wished it"
    yield one.recorded_at, _with_attempts(one.outcome, one.attempts), one.reason
    if one.evidence.get("retried_at"):
        yield datetime.fromisoformat(one.evidence["retried_at"]), "retried", "a person wished it"
    for row in waiting:
        yield row.due_at, f"due for attempt {row.attempts + 1}", row.reason if row.attempts else ""


def _with_attempts(what: str, attempts: Any) -> str:
    return f"{what} after {plural(attempts, 'attempt')}" if isinstance(attempts, int) else what


def _readable(body: Body) -> str:
    """A JSON body with a line for each field; any other as it is."""
    text = body.content.decode(errors="backslashreplace")
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _then(one: Parked, body: Body | None) -> tuple[str, list[Do]]:
    """What a person can do now: in a sentence, and as commands."""
    again, drop = f"{command()} dead retry {one.handle}", f"{command()} dead drop {one.handle} --because '…'"
    if one.waits:
        return "It waits for its next attempt, and needs nobody.", []
    if one.is_dropped:
        return "It was dropped: nobody wanted it.", [Do("To have it worked after all", again)]
    if not one.is_parked:
        return "It is settled, and there is nothing left to do.", []
    unwanted = Do("If nobody wants it", drop)
    if one.worker not in workers.table():
        return f"No worker is called {one.worker} in this version; retried, it waits for the version that has it.", [
            Do("Then", again),
            unwanted,
        ]
    if body is None:
        return "Its body is neither in Redis nor in the archive: it has to be published again, under the same event_id.", [unwanted]
    mended = Do(f"Once the cause is mended ({one.worker} alone works it again, under the same event id)", again)
    return "It waits for a person.", [mended, unwanted]
