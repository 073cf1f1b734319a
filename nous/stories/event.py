"""An event's story: what came and when, what each worker made of it, where it waits, what led to it and what followed from it.

Told of the raw bodies in the archive where it is there; of an event that is not, from receipts, retries and the outbox.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import workers
from events import FactLearned, MalformedEvent, entry_time
from nous.called import command
from store import archive, mentions, receipts, writings
from store.database import Read
from store.receipts import Receipt
from store.writings import Put

from . import asked, evidence, lineage, source, wordings
from .ids_meant import MOST, SHORTEST, NothingMeant, SeveralMeant, way_out
from .lineage import Happening
from .moment import Moment, in_order, of_receipt
from .source import Passage
from .subject import waits
from .words import Line, line, listed, one_line, plural

BODY_CHARACTERS = 200
_ENTRY = re.compile(r"[0-9]{10,16}-[0-9]{1,19}")
NOT_TOLD = {"event_id", "agent_id", "caused_by", "traceparent", "occurred_at"}


@dataclass(frozen=True)
class Story:
    """An event, what it follows from (the first first), and its moments. `passage` is where the words stand that it began with."""

    event: Happening
    causes: Sequence[Happening]
    moments: Sequence[Moment]
    passage: Passage | None = None

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "event": {
                "agent_id": self.event.agent_id,
                "event_id": self.event.event_id,
                "streams": self.event.streams,
                "is_archived": bool(self.event.came),
            },
            "came": [_came_as_data(stream, body, self._arrived(stream, body)) for stream, body in self.event.bodies],
            "caused_by": [{**one.as_data(), "derived": [f"{s}:{e}" for s, e in one.published]} for one in self.causes],
            "source": self.passage.as_data() if self.passage else None,
            "story": [one.as_data() for one in self.moments],
            "derived": [one.as_data() for one in self.event.follows],
            "all_derived": self.event.is_whole,
        }

    def _arrived(self, stream: str, body: bytes) -> tuple[str, datetime] | None:
        return next(((one.entry_id, one.arrived_at) for one in self.event.came if (one.stream, one.body) == (stream, body)), None)


async def meant(db: Read, written: str, *, agent: str | None) -> tuple[str, str]:
    """(agent_id, event_id) of the event a person means by its id or the beginning of it; needs an overview. Raises UserMistake."""
    wanted = written.strip()
    found = await _named(db, wanted, agent)
    exact = [key for key in found if key[1] == wanted or _ENTRY.fullmatch(wanted)]
    keys = exact or (found if len(wanted) >= SHORTEST else [])
    if len(keys) == 1:
        return keys[0]
    if not keys:
        whose = f"agent {agent!r} has" if agent else "there is"
        short = f", and fewer than {SHORTEST} characters mean no event by its beginning" if len(wanted) < SHORTEST else ""
        raise NothingMeant(f"{whose} no event {written!r}{short}; {command()} publish --ids prints the id of what it sends")
    which = listed(f"{one} of {whose!r}" for whose, one in keys[:5])
    if _ENTRY.fullmatch(wanted):
        raise SeveralMeant(f"several events came as entry {wanted} of their streams, {which}; write one of these ids")
    raise SeveralMeant(f"{written!r} fits several events, {which}; {way_out({one for _, one in keys}, {one for one, _ in keys})}")


async def told(db: Read, key: tuple[str, str]) -> Story:
    """The story of this event, by (agent_id, event_id); needs an overview."""
    agent, event_id = key
    event = await lineage.with_all_that_followed(db, await lineage.of(db, agent, event_id))
    causes = await lineage.what_led_to(db, event)
    words = await wordings.of_receipts(db, agent, event.receipts)
    questions = await _questions(db, event.receipts)
    moments = [
        *_came(event),
        *(_ended(one, words, questions.get(one.worker, ())) for one in event.receipts),
        *map(waits, event.waiting),
    ]
    return Story(event, causes, [*in_order(moments), *_unworked(event)], await _passage(db, [*causes, event]))


async def _named(db: Read, written: str, agent: str | None) -> list[tuple[str, str]]:
    """Every event that this is the id of, or else begins the id of, by its receipts and in the archive; or that came as this entry."""
    if _ENTRY.fullmatch(written) and (entries := await _come_as(db, written, agent)):
        return entries
    worked = await receipts.events_named(db, written, agent=agent, limit=MOST)
    came = await archive.named(db, written, agent=agent, limit=MOST)
    return sorted({*worked, *((one.agent_id, one.event_id) for one in came)})


async def _come_as(db: Read, entry_id: str, agent: str | None) -> list[tuple[str, str]]:
    """The archived events that came as this stream entry; entries of several streams may have one id."""
    try:
        at = entry_time(entry_id)
    except MalformedEvent:
        return []
    return sorted({(one.agent_id, one.event_id) for one in await archive.come_as(db, entry_id, at, agent=agent, limit=MOST)})


# ── what came ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _came(event: Happening) -> list[Moment]:
    """Each different body, when it came first."""
    moments = []
    for number, one in enumerate(event.came):
        lines = [*told_in(one.body), line(f"{one.stream}, entry {one.entry_id}", "faint")]
        happened = "came" if number == 0 else "came again, in other words"
        data = {"stream": one.stream, "entry_id": one.entry_id, "body": _body(one.body)}
        moments.append(Moment(one.arrived_at, happened, "", lines, data))
    return moments


def told_in(body: bytes) -> list[Line]:
    """What a body says, field by field; of long ones the beginning."""
    read = lineage.fields(body)
    if not read:
        return [line(f"no JSON object: {_short(body.decode(errors='backslashreplace'))}", "telling")]
    lines = [
        Line(((f"{name}: ", "faint"), (_short(value), "plain")))
        for name, value in read.items()
        if name not in NOT_TOLD and value not in (None, [], "")
    ]
    at = [line(f"occurred at {read['occurred_at']}", "faint")] if read.get("occurred_at") else []
    return [*lines, *at]


def _short(value: object) -> str:
    said = one_line("; ".join(map(str, value)) if isinstance(value, list) else str(value))
    return said if len(said) <= BODY_CHARACTERS else f"{said[:BODY_CHARACTERS].rstrip()}… ({plural(len(said), 'character')})"


def _body(body: bytes) -> object:
    return lineage.fields(body) or body.decode(errors="backslashreplace")


def _came_as_data(stream: str, body: bytes, arrived: tuple[str, datetime] | None) -> dict[str, object]:
    entry_id, at = arrived or (None, None)
    return {"stream": stream, "entry_id": entry_id, "arrived_at": at, "body": _body(body)}


# ── what workers made of it ───────────────────────────────────────────────────────────────────────────────────────────────


def _ended(receipt: Receipt, words: Mapping[str, str], questions: Sequence[Put]) -> Moment:
    put = [line(f"mind: {asked.in_short(one)}", "faint") for one in questions]
    return of_receipt(receipt, [*evidence.in_words(receipt, words), *put])


async def _questions(db: Read, ended: Sequence[Receipt]) -> dict[str, list[Put]]:
    """What each worker asked a mind about the episode that a receipt is about."""
    found: dict[str, list[Put]] = {}
    for one in ended:
        if one.about and one.evidence.get("questions"):
            put = await writings.about(db, one.agent_id, f"{source.OF_AN_EPISODE}{one.about}")
            found[one.worker] = [each for each in put if each.model == one.evidence.get("model")]
    return found


def _unworked(event: Happening) -> list[Moment]:
    """Where it is expected, and has neither ended nor waits; such a worker may be on it right now."""
    at = event.at
    over = {one.worker for one in event.receipts} | {one.worker for one in event.waiting}
    missing = [(worker, stream) for stream in event.streams for worker in workers.consumers().get(stream, ()) if worker not in over]
    return [
        Moment(at, "not worked yet", worker, [line(f"{command()} status says how far it is")], {"stream": stream})
        for worker, stream in missing
        if at
    ]


# ── back to the words ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def _passage(db: Read, chain: Sequence[Happening]) -> Passage | None:
    """Where the words stand that the first fact_learned of these was taken from."""
    ids = [one.event_id for one in chain if FactLearned.stream in one.streams]
    if not ids:
        return None
    said = {one.event_id: one for one in await mentions.of_events(db, chain[0].agent_id, ids)}
    passages = await source.of_mentions(db, [said[one] for one in ids if one in said])
    return next((passages[one] for one in ids if one in passages), None)
