"""What becomes of a conversation: its summary and its facts, held against what ought to be known of it.

    LoCoMo sessions ── gold: the session's observations; names and numbers: those of its event_summary
    BEAM batches ───── gold: the plan's facts that a message of the batch carries, without its time anchors

    without a mind   the extractive summary of every one of them: each of its sentences counts as a fact
    recorded         what a small local model wrote about three of them (record.py --episodes), asked by both criteria
    counted          every one of them closed, on a real store, by the real summarizer, with a mind that writes nothing and counts

Covered is a gold fact that a fact is near to (the embedder's check_similarity) and has the names and numbers of (nous.trialling.worth).
Unsupported is a fact whose quote nobody said, which is dropped, or a sentence nobody said. Junk is what nous.junk calls so.

`python -m tests.evals.episodes --data FOLDER --to FILE [--all]` writes the three, or all, as `nous trial` reads them.
"""

import argparse
import asyncio
import itertools
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from events import EpisodeClosed, derived
from nous.errors import Misconfigured
from nous.junk import why_junk
from nous.settings import Settings
from nous.text import form
from nous.trialling import counting, reading, worth
from nous.trialling.counting import Counted
from nous.trialling.criteria import SHIPPED
from nous.trialling.reading import Conversation, Reading
from providers import Embedder
from providers.mind import Mind, Utterance
from providers.zero import ZeroEmbedder
from workers.episodes import extract
from workers.episodes.question import Criterion

from . import worked
from .locomo_questions import ANSWERABLE, load
from .locomo_stream import SAID_AT, conversations
from .vectors import BUNDLED, Known, Lookup, bundled, look_up
from .writing import NotRecorded, RecordedWriter, Silent, Written, recorded

LOCOMO, BEAM, THREE = "LoCoMo sessions", "BEAM batches", "the three recorded"
NO_FACT = "Time Anchor"
BEGINNING_CHARACTERS = 6_000
"""Of a BEAM batch as much is recorded: a small model on two cores reads 150,000 characters in no useful time."""

NEAR = (0.5, 0.6, 0.7, 0.8)
PART_CHARACTERS: int = Settings.model_fields["summary_part_characters"].default
WITHOUT = "without a mind"
CRITERIA = tuple(SHIPPED.values())
HOW_TO_RECORD = "python -m tests.evals.record --episodes --url http://127.0.0.1:18080 --data FOLDER"
_MARK = re.compile(r"\s*->->\s*\d+\s*,\s*\d+\s*$")


@dataclass(frozen=True)
class Talk:
    """One conversation, and the lines of the event_summary of it."""

    set: str
    agent: str
    conversation: Conversation
    events: tuple[str, ...] = ()

    @property
    def wanted(self) -> frozenset[str]:
        """The names and numbers that its summary should have."""
        speakers = self.conversation.speakers
        return frozenset(token for line in self.events for token in worth.telling(line, names=speakers))

    @property
    def wanted_others(self) -> frozenset[str]:
        """Those of them that are no speaker's name."""
        return self.wanted - {token for name in self.conversation.speakers for token in worth.tokens(name)}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Some conversations read in one way. Counts, but for `words`, the mean length of a summary; tokens are those of a recorded mind.

    `others` are names and numbers without the speakers' own, which a summary has anyway that says who speaks. `near` counts the gold facts
    that a fact is as near to as this, whatever its names and numbers.
    """

    embedder: str
    set: str
    by: str
    episodes: int
    unanswered: int
    facts: int
    unsupported: int
    junk: int
    gold: int
    covered: int
    near: dict[float, int]
    wanted: int
    present: int
    wanted_others: int
    present_others: int
    words: float | None
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a mind is asked when all of a set is closed, and when it is closed and said again. Tokens read, estimated."""

    set: str
    episodes: int
    questions: int
    tokens: int
    second_questions: int
    second_tokens: int


@dataclass(frozen=True)
class Episodes:
    """Everything measured. `not_recorded` says in words why there is no recorded mind among the figures."""

    figures: list[Figures]
    asked: list[Asked]
    not_recorded: str | None


def measure(data: Path) -> Episodes | None:
    """Every measure; None where the folder has neither set."""
    talks = [*locomo(data), *beam(data)]
    if not talks:
        return None
    written, unread = asyncio.run(_read_by_the_record(three(data), recorded()))
    figures: list[Figures] = []
    for name in BUNDLED:
        with suppress(Misconfigured):  # its extra is not installed
            figures += asyncio.run(figured(bundled(name), talks, written))
    return Episodes(figures, asyncio.run(_asked(talks)), unread)


# ── the conversations ─────────────────────────────────────────────────────────────────────────────────────────────────────


def locomo(data: Path) -> Iterator[Talk]:
    """Every session in which something was said."""
    for one in conversations(data):
        spoken = one["conversation"]
        for session, turns in spoken.items():
            if session.startswith("session_") and isinstance(turns, list) and turns:
                began = datetime.strptime(spoken[f"{session}_date_time"], SAID_AT).replace(tzinfo=UTC)
                said = tuple(Utterance(content=turn["text"], speaker=turn["speaker"], said_at=began) for turn in turns)
                observed = one["observation"].get(f"{session}_observation", {})
                gold = tuple(content for some in observed.values() for content, *_ in some)
                told = one["event_summary"].get(f"events_{session}", {})
                events = tuple(line for who, lines in told.items() if who != "date" for line in lines)
                name = f"{one['sample_id']} {session}"
                yield Talk(LOCOMO, one["sample_id"], Conversation(name=name, said=said, began=began, gold=gold), events)


def beam(data: Path, *, beginning: bool = False) -> Iterator[Talk]:
    """Every batch of every chat, or its beginning."""
    for path in sorted(data.glob("**/beam/chat*.json")):
        chat = json.loads(path.read_text("utf-8"))
        for batch in dict.fromkeys(message["batch"] for message in chat["messages"]):
            messages = [message for message in chat["messages"] if message["batch"] == batch]
            yield _batch(f"{path.stem} batch {batch}", chat["plan"], _first(messages) if beginning else messages)


def _first(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    sizes = itertools.accumulate(len(message["content"]) for message in messages)
    return [message for message, size in zip(messages, sizes, strict=True) if size <= BEGINNING_CHARACTERS]


def _batch(name: str, plan: Sequence[dict[str, Any]], messages: Sequence[dict[str, Any]]) -> Talk:
    """These messages as one conversation, with the gold they carry. The mark that says so is taken out."""
    stated = next((message["time"] for message in messages if message["time"]), None)
    began = datetime.strptime(stated or "January-01-2024", "%B-%d-%Y").replace(tzinfo=UTC)
    carried = {message["index"] for message in messages if message["index"]}
    gold = tuple(one["text"] for one in plan if f"{one['batch']},{one['bullet']}" in carried and one["label"] != NO_FACT)
    said = tuple(Utterance(content=_MARK.sub("", message["content"]), speaker=message["role"].title()) for message in messages)
    return Talk(BEAM, name, Conversation(name=name, said=said, began=began, gold=gold))


def three(data: Path) -> list[Talk]:
    """Those that are recorded: the first session of two LoCoMo conversations, and of the BEAM batches the beginning that carries most."""
    firsts = {talk.agent: talk for talk in reversed(list(locomo(data)))}
    sessions = [firsts[agent] for agent in sorted(firsts)][:2]
    return [*sessions, *sorted(beam(data, beginning=True), key=lambda talk: -len(talk.conversation.gold))[:1]]


# ── read by the record ────────────────────────────────────────────────────────────────────────────────────────────────────


async def _read_by_the_record(talks: Sequence[Talk], answers: dict[str, Written]) -> tuple[list[tuple[Talk, Reading]], str | None]:
    """What was recorded about these, by both criteria; and in words what is not, if that is so."""
    read = await readings(talks, RecordedWriter(answers))
    missing = len(talks) * len(CRITERIA) - len(read)
    if not missing:
        return read, None
    if not read:
        return [], f"no mind's answers about conversations are recorded yet; record them with: {HOW_TO_RECORD}"
    return read, f"{missing} of {len(talks) * len(CRITERIA)} readings are not recorded; record them with: {HOW_TO_RECORD}"


async def readings(talks: Sequence[Talk], mind: Mind) -> list[tuple[Talk, Reading]]:
    """Each conversation read by each criterion, one after the other; without those that are not recorded."""
    found = []
    for talk in talks:
        for criterion in CRITERIA:
            with suppress(NotRecorded):
                found.append((talk, await reading.read(talk.conversation, criterion, mind, part_characters=PART_CHARACTERS)))
    return found


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def figured(chosen: Embedder, talks: Sequence[Talk], written: Sequence[tuple[Talk, Reading]]) -> list[Figures]:
    """Both sets and the three without a mind, and the three as they were recorded."""
    shown = list({id(talk): talk for talk, _ in written}.values())
    texts = [text for talk in (*talks, *shown) for text in (*talk.conversation.gold, *_sentences(talk))]
    lookup = await look_up(chosen, [*texts, *(fact for _, one in written for fact in one.facts)])
    sets = {name: [talk for talk in talks if talk.set == name] for name in (LOCOMO, BEAM)} | {THREE: shown}
    found = [
        _summed(chosen.name, name, WITHOUT, [_without_a_mind(talk, lookup, chosen) for talk in some]) for name, some in sets.items() if some
    ]
    for criterion in CRITERIA:
        own = [(talk, one) for talk, one in written if one.criterion == criterion]
        answered = [(talk, one) for talk, one in own if one.told]
        counts = await counting.counted([one for _, one in answered], Known(chosen, lookup))
        counted = [_by_a_mind(talk, one, count) for (talk, one), count in zip(answered, counts, strict=True)]
        if own:
            found.append(_summed(chosen.name, THREE, _by(criterion), counted, unanswered=len(own) - len(answered)))
    return found


def _by(criterion: Criterion) -> str:
    return f"recorded, {criterion.version}"


@dataclass(frozen=True, kw_only=True)
class _Counted:
    facts: int
    unsupported: int
    junk: int
    known: worth.Known
    wanted: int
    present: int
    wanted_others: int
    present_others: int
    words: int
    tokens_in: int = 0
    tokens_out: int = 0


def _sentences(talk: Talk) -> list[str]:
    """Those of the extractive summary, each with who says it, since that is whom it is about."""
    return [f"{one.speaker}: {one.content}" for one in extract.chosen(talk.conversation.said)]


def _without_a_mind(talk: Talk, lookup: Lookup, chosen: Embedder) -> _Counted:
    conversation, sentences = talk.conversation, extract.chosen(talk.conversation.said)
    said = [form(one.content) for one in conversation.said]
    _, summary = extract.extracted(conversation.said)
    present, wanted = worth.present(talk.wanted, summary)
    present_others, wanted_others = worth.present(talk.wanted_others, summary)
    facts = _sentences(talk)
    vectors = dict(zip((*conversation.gold, *facts), lookup.of((*conversation.gold, *facts)), strict=True))
    return _Counted(
        facts=len(sentences),
        unsupported=sum(not any(form(one.content.removesuffix("…")) in turn for turn in said) for one in sentences),
        junk=sum(why_junk(one.content) is not None for one in sentences),
        known=worth.known(conversation.gold, facts, vectors, at_least=chosen.check_similarity, names=conversation.speakers),
        wanted=wanted,
        present=present,
        wanted_others=wanted_others,
        present_others=present_others,
        words=len(summary.split()),
    )


def _by_a_mind(talk: Talk, one: Reading, count: Counted) -> _Counted:
    summary = one.told.summary if one.told else ""
    present, wanted = worth.present(talk.wanted, summary)
    present_others, wanted_others = worth.present(talk.wanted_others, summary)
    return _Counted(
        facts=count.facts + count.quote_not_said,
        unsupported=count.quote_not_said,
        junk=sum(count.junk.values()),
        known=count.known,
        wanted=wanted,
        present=present,
        wanted_others=wanted_others,
        present_others=present_others,
        words=len(summary.split()),
        tokens_in=count.tokens_in,
        tokens_out=count.tokens_out,
    )


def _summed(embedder: str, name: str, by: str, counted: Sequence[_Counted], *, unanswered: int = 0) -> Figures:
    return Figures(
        embedder=embedder,
        set=name,
        by=by,
        episodes=len(counted) + unanswered,
        unanswered=unanswered,
        facts=sum(one.facts for one in counted),
        unsupported=sum(one.unsupported for one in counted),
        junk=sum(one.junk for one in counted),
        gold=sum(len(one.known.covered) for one in counted),
        covered=sum(sum(one.known.covered) for one in counted),
        near={at: sum(cosine >= at for one in counted for cosine in one.known.nearest) for at in NEAR},
        wanted=sum(one.wanted for one in counted),
        present=sum(one.present for one in counted),
        wanted_others=sum(one.wanted_others for one in counted),
        present_others=sum(one.present_others for one in counted),
        words=sum(one.words for one in counted) / len(counted) if counted else None,
        tokens_in=sum(one.tokens_in for one in counted),
        tokens_out=sum(one.tokens_out for one in counted),
    )


# ── what a mind is asked ──────────────────────────────────────────────────────────────────────────────────────────────────


async def _asked(talks: Sequence[Talk]) -> list[Asked]:
    async with worked.store(ZeroEmbedder(), ()) as empty:
        store = worked.Store(empty.stack, ZeroEmbedder())  # passages get vectors too, of words nobody knows beforehand
        return [await asked(store, name, some) for name in (LOCOMO, BEAM) if (some := [talk for talk in talks if talk.set == name])]


async def asked(store: worked.Store, name: str, talks: Sequence[Talk]) -> Asked:
    """Close all of these, then each once more, and the same words as another episode."""
    mind = Silent()
    async with store.working(mind, chain=["episode_summarizer"]) as work:
        await work.through([_closed(talk) for talk in talks])
        questions, tokens = mind.questions, mind.tokens
        await work.through([event for talk in talks for event in (_closed(talk, "again"), _closed(talk, "again", "another"))])
    return Asked(
        set=name,
        episodes=len(talks),
        questions=questions,
        tokens=tokens,
        second_questions=mind.questions - questions,
        second_tokens=mind.tokens - tokens,
    )


def _closed(talk: Talk, time: str = "first", episode: str = "one") -> EpisodeClosed:
    name = talk.conversation.name
    return EpisodeClosed(
        event_id=derived("closed", name, time, episode),
        episode_id=UUID(derived("episode", name, episode)),
        agent_id=talk.agent,
        occurred_at=talk.conversation.began,
        started_at=talk.conversation.began,
        transcript=as_text(talk.conversation),
    )


def as_text(conversation: Conversation) -> str:
    """The conversation as a transcript, a turn a line, with its time where that is known."""
    return "\n".join(f"{_at(one)}{one.speaker}: {one.content}" for one in conversation.said)


def _at(one: Utterance) -> str:
    return f"[{one.said_at:%Y-%m-%dT%H:%M}Z] " if one.said_at else ""


# ── printed ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def report(measured: Episodes, console: Console, *, curves: bool) -> None:
    """The tables, and in words what is not recorded."""
    _report_facts(measured.figures, console, curves=curves)
    _report_summaries([row for row in measured.figures if row.embedder == measured.figures[0].embedder], console)
    if measured.not_recorded:
        console.print(measured.not_recorded)
    _report_asked(measured.asked, console)


def _report_facts(figures: Sequence[Figures], console: Console, *, curves: bool) -> None:
    thresholds = NEAR if curves else ()
    table = Table(title="facts of a conversation", title_justify="left")
    for heading in ("embedder", "conversations", "read"):
        table.add_column(heading)
    for heading in ("episodes", "facts", "unsupported", "junk", "gold", "covered", *(f"near {at}" for at in thresholds)):
        table.add_column(heading, justify="right")
    for row in figures:
        shares = (_share(row.unsupported, row.facts), _share(row.junk, row.facts - _dropped(row)))
        gold = (f"{row.gold:,}", _share(row.covered, row.gold), *(_share(row.near[at], row.gold) for at in thresholds))
        table.add_row(row.embedder, row.set, row.by, str(row.episodes), f"{row.facts:,}", *shares, *gold)
    console.print(table)


def _report_summaries(figures: Sequence[Figures], console: Console) -> None:
    table = Table(title="summary of a conversation", title_justify="left")
    for heading in ("conversations", "read"):
        table.add_column(heading)
    for heading in ("episodes", "no answer", "words", "names and numbers", "present", "others", "present", "tokens in", "tokens out"):
        table.add_column(heading, justify="right")
    for row in figures:
        counts = (str(row.episodes), str(row.unanswered), "" if row.words is None else f"{row.words:.0f}")
        wanted = (str(row.wanted), _share(row.present, row.wanted), str(row.wanted_others), _share(row.present_others, row.wanted_others))
        tokens = ("", "") if row.by == WITHOUT else (f"{row.tokens_in:,}", f"{row.tokens_out:,}")
        table.add_row(row.set, row.by, *counts, *wanted, *tokens)
    console.print(table)


def _report_asked(measured: Sequence[Asked], console: Console) -> None:
    table = Table(title="what a mind is asked about conversations", title_justify="left")
    table.add_column("conversations")
    for heading in ("episodes", "questions", "tokens read an episode", "questions the second time", "tokens the second time"):
        table.add_column(heading, justify="right")
    for row in measured:
        each = f"{row.tokens / row.episodes:,.0f}"
        table.add_row(row.set, str(row.episodes), str(row.questions), each, str(row.second_questions), str(row.second_tokens))
    console.print(table)


def as_json(measured: Episodes) -> dict[str, Any]:
    """The same for a machine."""
    return {
        "figures": [asdict(row) for row in measured.figures],
        "asked": [{**asdict(row), "tokens_per_episode": row.tokens / row.episodes} for row in measured.asked],
        "not_recorded": measured.not_recorded,
    }


def _dropped(row: Figures) -> int:
    """Of a mind's facts those without a quote are dropped, and no junk of the memory; sentences are all in the summary."""
    return 0 if row.by == WITHOUT else row.unsupported


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


# ── for nous trial ────────────────────────────────────────────────────────────────────────────────────────────────────────


def main(arguments: list[str]) -> int:
    """Write conversations as `nous trial` reads them."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.episodes", description="Write conversations for nous trial.")
    parser.add_argument("--data", default=os.environ.get("NOUS_EVAL_DATA"), help="the data folder (default: NOUS_EVAL_DATA)")
    parser.add_argument("--to", required=True, help="the file to write; keep it out of the repository, it holds the data")
    parser.add_argument("--all", action="store_true", help="all of them, not the three that are recorded")
    options = parser.parse_args(arguments)
    if not options.data or not Path(options.data).is_dir():
        print("nothing written: name the data folder with --data or NOUS_EVAL_DATA")
        return 0
    data = Path(options.data)
    asked = probes(data)
    rows = [_row(talk, asked.get(talk.conversation.name, [])) for talk in ([*locomo(data), *beam(data)] if options.all else three(data))]
    Path(options.to).write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    print(f"{len(rows)} conversations written")
    return 0


def _row(talk: Talk, asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    one = talk.conversation
    row = {"transcript": as_text(one), "gold": one.gold, "started_at": one.began.isoformat(), "agent_id": talk.agent}
    return {**row, "probes": asked} if asked else row


def probes(data: Path) -> dict[str, list[dict[str, Any]]]:
    """LoCoMo's questions by the session that has the last of their evidence; their answers are the observations that rest on it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in load(data):
        for question in one.questions:
            answers = [fact.content for fact in one.facts if fact.turns & question.evidence]
            if answers and question.category in ANSWERABLE:
                session = max(int(turn.removeprefix("D").partition(":")[0]) for turn in question.evidence)
                found.setdefault(f"{one.name} session_{session}", []).append({"question": question.words, "answers": answers})
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
