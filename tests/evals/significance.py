"""Which conversations are remembered: every session of LoCoMo ought to be, and no small talk of one turn, of which nothing may be lost.

    sessions, utterance by utterance, one agent a conversation ──▶ recall.sessions on a real store ──▶ their ends counted
    small talk, one session each, one agent for all of it ───────▶ the same, and each restored once

Who speaks first in a LoCoMo session is taken as the user, the other as the assistant; no tools are used. All is reported within minutes,
not on its day, so that a session that begins like an earlier one is taken for a duplicate, and has to come back.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from events import EpisodeRestored
from nous import clock, embedded, ids, log
from nous.errors import Misconfigured
from nous.settings import Settings
from providers import Embedder
from recall import ending
from recall import sessions as reporting
from recall.ending import Ended
from recall.tools import Tools
from store import sessions
from store.database import Database
from store.migrate import migrate

from .locomo_stream import conversations
from .small_talk import SMALL_TALK, Exchange
from .vectors import BUNDLED, bundled

SMALL_TALKER = "small talk"


@dataclass(frozen=True)
class Kept:
    """Counts of sessions. `begun_alike` had no episode after their first turn, for another began with the same words."""

    embedder: str
    sessions: int
    begun_alike: int
    kept: int
    small_talk: int
    put_aside: int
    restored_whole: int


@dataclass(frozen=True)
class Spoken:
    """One session of a conversation: who said what."""

    agent: str
    session_id: str
    said: tuple[tuple[str, str], ...]


def measure(data: Path) -> list[Kept] | None:
    """Both bundled embedders, each on a store of its own; None where the folder has no LoCoMo conversations."""
    spoken = [session for conversation in conversations(data) for session in sessions_of(conversation)]
    if not spoken:
        return None
    log.configure(log_format="auto", level="error")
    measured = []
    for name in BUNDLED:
        with suppress(Misconfigured):  # its extra is not installed
            measured.append(asyncio.run(_measured(bundled(name), spoken)))
    return measured


def report(measured: Sequence[Kept], console: Console, *, curves: bool) -> None:
    """Print the table."""
    table = Table(title="Which conversations are remembered", title_justify="left")
    names = ["embedder", "LoCoMo sessions", "begun alike", "kept", "small talk of one turn", "put aside", "restored whole"]
    for name in names:
        table.add_column(name, justify="left" if name == "embedder" else "right")
    for one in measured:
        table.add_row(*map(str, asdict(one).values()))
    console.print(table)


def as_json(measured: Sequence[Kept]) -> list[dict[str, Any]]:
    """The table for a machine."""
    return [asdict(one) for one in measured]


def sessions_of(conversation: dict[str, Any]) -> Iterator[Spoken]:
    """Every session in which something was said; a conversation may have dates of others."""
    for name, turns in conversation["conversation"].items():
        if name.startswith("session_") and isinstance(turns, list) and turns:
            said = tuple((turn["speaker"], turn["text"]) for turn in turns)
            yield Spoken(conversation["sample_id"], name, said)


async def counted(tools: Tools, spoken: Sequence[Spoken], small_talk: Sequence[Exchange] = SMALL_TALK) -> Kept:
    """Report all of it, and count what became of it."""
    begun_alike = kept = put_aside = restored_whole = 0
    for one in spoken:
        first, *rest = one.said
        begun = await reporting.start_turn(tools, one.agent, one.session_id, first[1])
        begun_alike += begun.episode_id is None
        for speaker, said in rest:
            report = reporting.start_turn if speaker == first[0] else reporting.end_turn
            await report(tools, one.agent, one.session_id, said)
        kept += (await reporting.end_session(tools, one.agent, one.session_id)).became == "closed"
    for number, exchange in enumerate(small_talk):
        await reporting.start_turn(tools, SMALL_TALKER, str(number), exchange.said)
        await reporting.end_turn(tools, SMALL_TALKER, str(number), exchange.answered)
        ended = await reporting.end_session(tools, SMALL_TALKER, str(number))
        put_aside += ended.became == "put_aside"
        restored_whole += await _is_restored_whole(tools.database, ended, exchange)
    return Kept(tools.embedder.name, len(spoken), begun_alike, kept, len(small_talk), put_aside, restored_whole)


async def _is_restored_whole(database: Database, ended: Ended, exchange: Exchange) -> bool:
    """Whether its episode can be restored, and every word is there. It is put aside again: what was restored makes duplicates."""
    if ended.episode is None:
        return False
    told = EpisodeRestored(
        event_id=str(ids.new()), agent_id=SMALL_TALKER, occurred_at=clock.now(), episode_id=ended.episode.episode_id, reason="measured"
    )
    with suppress(_NotKept):
        async with database.write([SMALL_TALKER]) as db:
            _, after, follows = await ending.restore(db, told)
            turns = await sessions.turns(db, SMALL_TALKER, ended.session.session_key)
            is_whole = after.active and bool(follows) and [turn.content for turn in turns] == [exchange.said, exchange.answered]
            raise _NotKept
    return is_whole


class _NotKept(Exception):
    """Nothing of this transaction is to stay."""


async def _measured(chosen: Embedder, spoken: Sequence[Spoken]) -> Kept:
    with tempfile.TemporaryDirectory(prefix="nous-eval-") as folder, embedded.running(Path(folder) / "home", durable=False) as stack:
        await migrate(stack.database_url, embedder=chosen.name, dimension=chosen.dimension)
        database = Database(stack.database_url, pool=2)
        try:
            return await counted(Tools(database, chosen, Settings()), spoken)
        finally:
            await database.close()
            await chosen.close()
