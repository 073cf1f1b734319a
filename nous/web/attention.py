"""What an operator should know at once, the worst first, and what to do about it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from nous.called import command
from nous.stories.verdict import Tone, verdict
from nous.stories.words import listed, plural
from workers.runtime.look import Look, Standing
from workers.runtime.retention import Kept

from .glance import Seen
from .rendering import address, duration


@dataclass(frozen=True)
class Note:
    """One thing to know: in a sentence, with what to type and where to look."""

    tone: Tone
    says: str
    do: str = ""
    see: str = ""


@dataclass(frozen=True)
class Attention:
    """How it all stands, in a few words, and every note."""

    tone: Tone
    title: str
    notes: Sequence[Note]

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"tone": self.tone, "title": self.title, "notes": [asdict(one) for one in self.notes]}


def attention(seen: Seen) -> Attention:
    """How it stands, and what to know about it, the worst first."""
    stands = verdict(seen.look, seen.streams)
    return Attention(stands.tone, stands.title, sorted(_notes(seen), key=lambda one: ("bad", "wait", "good").index(one.tone)))


def _notes(seen: Seen) -> Iterator[Note]:
    yield from _absent(seen.look)
    for worker in seen.look.workers:
        yield from _of_worker(worker)
    yield from _of_minds(seen.look)
    if seen.look.outbox:
        yield Note("wait", f"{plural(seen.look.outbox, 'derived event')} to publish; a running worker does it within seconds")
    for one in seen.streams:
        yield from _of_stream(one)


def _absent(look: Look) -> Iterator[Note]:
    everyone = (*look.workers, look.archivist)
    idle = [one.worker for one in everyone if not one.is_alive]
    if len(idle) == len(everyone):
        yield Note("bad", "No worker is running: what is published waits", f"{command()} work")
    elif idle:
        yield Note("bad", f"Not running: {listed(idle)}", f"{command()} work {' '.join(idle)}")


def _of_worker(one: Standing) -> Iterator[Note]:
    if one.parked:
        again = f"{command()} dead retry --all --worker {one.worker}"
        told = f"{one.parked:,} parked by {one.worker}: it could not work {'it' if one.parked == 1 else 'them'}. Once the cause is mended:"
        yield Note("bad", told, again, address("/parked", worker=one.worker))
    if one.held:
        soon = f"within {math.ceil(one.until_taken_s)} s" if one.is_alive else "once one is running"
        yield Note("wait", f"{one.worker}: {one.held:,} held by a replica that is silent; taken over by another {soon}")
    if one.waits_for and one.retrying > one.unadjudicated:
        yield Note(
            "wait", f"{one.worker}: {one.retrying - one.unadjudicated:,} tried again by itself; the longest because: {one.waits_for}"
        )


def _of_minds(look: Look) -> Iterator[Note]:
    if look.mind:
        what = f"{plural(look.unadjudicated, 'check')} of facts and episodes wait{'s' if look.unadjudicated == 1 else ''} for the mind"
        yield Note(
            "wait", f"{what} and {'is' if look.unadjudicated == 1 else 'are'} asked again by itself; the longest because: {look.mind}"
        )
    if look.by_rule:
        told = f"{plural(look.by_rule, 'pair')} of facts were judged by rule only, and both stay. With ANTHROPIC_API_KEY set:"
        yield Note("good", told, f"{command()} fact recheck")
    if unsure := look.unsure - look.by_rule:
        told = f"{plural(unsure, 'pair')} of facts: no mind could tell, and both stay. Once another mind is set:"
        yield Note("good", told, f"{command()} fact recheck")


def _of_stream(one: Kept) -> Iterator[Note]:
    if one.held_s and one.needed_by:
        told = f"{one.stream} cannot be trimmed for {duration(one.held_s)} now: {one.needed_by} has not passed its oldest entry"
        yield Note("bad", f"{told}. If that worker is gone for good:", f"{command()} group drop {one.stream} {one.needed_by}")
