"""A year of one busy agent, aged: `python -m tests.evals.year --data FOLDER [--json]`. What room it gives back, and what it costs recall.

    LoCoMo's conversations as they are, and copies of them with other names ──▶ one agent's year, its sessions spread over it
    recall over facts, turns and both ──▶ upkeep as it runs (planner, ager) ─┬─ as it is set ────────────▶ the same recall,
                                                                             └─ without aged passages ───▶ rows and bytes of each table

Asked are questions of the conversations that kept their names; all the others are what such an agent also remembers. Bytes are those of
tables without dead rows (VACUUM FULL before both).
"""

import argparse
import asyncio
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
from rich.console import Console
from rich.progress import track
from rich.table import Table

from events import MaintenanceDue
from nous import ids
from nous.settings import Settings
from nous.terms import terms
from providers import Embedder
from providers.offline import OfflineMind
from recall.ranking import Weights, rank
from recall.remembering import Tools, remember
from recall.tokens import counted
from store import episodes, facts, passages, sessions, transcripts, vectors
from store.episodes import Episode
from store.search import search
from store.sessions import Session, Turn
from workers.episodes import extract, transcript
from workers.episodes import passages as cutting
from workers.runtime import filling
from workers.upkeep import tasks

from . import folder, recalling, worked
from .locomo_questions import UNANSWERABLE, Conversation, Memory, Question, load, words_of
from .locomo_stream import conversations as raw_conversations
from .places import NAMES, Shown, interval, within, worth
from .recalling import AROUND_A_MEMORY, OVER
from .vectors import BUNDLED, bundled
from .worked import Store, Work

AGENT = "busy"
BEGAN, NOW = datetime(2023, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
YEAR = NOW - BEGAN
COPIES, QUESTIONS, SEED = 20, 240, 11
TOLD = (500, 2_000)
ENDS = 60  # characters of a turn's beginning and end that a passage is known by
TABLES = tuple(
    f"heart.{name}"
    for name in ("episodes", "turns", "turns_known", "passages", "memory_vectors", "episode_vectors", "transcripts_cold", "facts")
)
LATER = ("after", "after, no passages")
_SYLLABLES = ("Ba", "Ke", "Lo", "Mi", "Nu", "Ra", "Sa", "To", "Vi", "Ze", "Do", "Fe", "Ga")


@dataclass(frozen=True)
class Day:
    """One conversation of a day: what was said, the evidence that each turn is (of a copy none), and the facts, each with its evidence."""

    name: str
    began: datetime
    said: tuple[tuple[str, str], ...]
    turns: tuple[str, ...]
    facts: tuple[Memory, ...]

    @property
    def ended(self) -> datetime:
        """When nobody said anything more."""
        return self.began + timedelta(hours=1)

    @property
    def episode_id(self) -> UUID:
        """The episode it becomes."""
        return ids.derived("episode", self.name)

    def fact_id(self, at: int) -> UUID:
        """The id of its fact of this place."""
        return ids.derived("fact", self.name, str(at))

    def evidence_of(self, passage: str) -> frozenset[str]:
        """The turns that a passage of it has a part of."""
        held = zip(self.turns, self.said, strict=False)
        return frozenset(turn for turn, (_, words) in held if words[:ENDS] in passage or words[-ENDS:] in passage)


@dataclass(frozen=True)
class Looked:
    """Recall at one moment: figures by what was searched, what is told in so many tokens, and rows and bytes by table."""

    figures: Mapping[str, Mapping[str, float]]
    told: Mapping[int, float]
    rows: Mapping[str, int]
    bytes: Mapping[str, int]


def main(arguments: list[str]) -> int:
    """Measure and print; 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.year", description="A year of one busy agent, before and after ageing.")
    folder.add_to(parser)
    parser.add_argument("--copies", type=int, default=COPIES, help="how often the conversations are repeated with other names")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="questions asked, drawn by a seed")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    data = folder.found(options.data)
    if data is None or not (found := load(data)):
        folder.say_it_has_nothing(options.data)
        return 0
    looks = asyncio.run(measured(bundled(BUNDLED[0]), data, found, copies=options.copies, questions=options.questions))
    if options.json:
        print(json.dumps({name: vars(one) for name, one in looks.items()}, indent=1))
    else:
        report(looks, options.questions)
    return 0


async def measured(chosen: Embedder, data: Path, found: Sequence[Conversation], *, copies: int, questions: int) -> dict[str, Looked]:
    """Before ageing, after it, and after it in a second store that keeps no passages of what has aged."""
    asked = [
        replace(one, evidence=frozenset(f"{talk.name} {turn}" for turn in one.evidence))
        for talk in found
        for one in talk.questions
        if one.category != UNANSWERABLE
    ]
    asked = random.Random(SEED).sample(asked, min(questions, len(asked)))
    days = list(year(data, found, copies=copies))
    looks: dict[str, Looked] = {}
    for after, is_found in (("after", True), ("without", False)):
        async with worked.store(chosen, ()) as store:
            await chosen.open()
            try:
                live = Store(store.stack, chosen)
                async with live.working(OfflineMind(), chain=("upkeep_planner", "episode_ager"), episode_aged_passages=is_found) as work:
                    await _lived(work, days)
                    if not looks:
                        looks["before"] = await _look(work, chosen, asked, days)
                    await _aged(work)
                    looks[after] = await _look(work, chosen, asked, days)
            finally:
                await chosen.close()
    return looks


# ── the year ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def year(data: Path, found: Sequence[Conversation], *, copies: int) -> Iterator[Day]:
    """Its sessions: those of each conversation in their order, spread over the year; a copy's are a little later than the original's."""
    for talk, raw in zip(found, raw_conversations(data), strict=True):
        said = raw["conversation"]
        numbers = sorted(int(key.split("_")[1]) for key in said if re.fullmatch(r"session_\d+", key) and isinstance(said[key], list))
        speakers = sorted({turn["speaker"] for number in numbers for turn in said[f"session_{number}"]})
        by_session = _facts_by_session(talk)
        for copy in range(copies + 1):
            names = {one: one if copy == 0 else _name(f"{talk.name} {one} {copy}") for one in speakers}
            for at, number in enumerate(numbers):
                began = BEGAN + YEAR * ((at + copy / (copies + 1)) / len(numbers))
                turns = said[f"session_{number}"]
                yield Day(
                    f"{talk.name} {copy} {number}",
                    began,
                    said=tuple((names[turn["speaker"]], _renamed(" ".join(words_of(turn).split()), names)) for turn in turns),
                    turns=() if copy else tuple(f"{talk.name} {turn['dia_id']}" for turn in turns),
                    facts=tuple(_as_said(one, names, began, talk.name if copy == 0 else None) for one in by_session.get(number, ())),
                )


def _as_said(one: Memory, names: Mapping[str, str], began: datetime, talk: str | None) -> Memory:
    """A fact with these names; of the original conversation with its evidence."""
    turns = frozenset(f"{talk} {turn}" for turn in one.turns) if talk else frozenset()
    return Memory(_renamed(one.content, names), names.get(one.subject or "", one.subject), began, turns)


def _facts_by_session(talk: Conversation) -> dict[int, list[Memory]]:
    found: dict[int, list[Memory]] = {}
    for one in talk.facts:
        number = min((int(turn[1:].split(":")[0]) for turn in one.turns), default=1)
        found.setdefault(number, []).append(one)
    return found


def _name(of: str) -> str:
    drawn = random.Random(of)
    return "".join(drawn.sample(_SYLLABLES, 4)).capitalize()


def _renamed(words: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b(" + "|".join(map(re.escape, names)) + r")\b", lambda found: names[found[1]], words)


async def _lived(work: Work, days: Sequence[Day]) -> None:
    """Remember the year."""
    for number, one in enumerate(track(days, "the year", console=Console(stderr=True))):
        await _remembered(work, one, number)
    while await filling.fill(work.kit):
        pass


async def _remembered(work: Work, one: Day, number: int) -> None:
    episode = one.episode_id
    session = Session(
        agent_id=AGENT,
        session_key=ids.derived("session", one.name),
        session_id=one.name,
        started_at=one.began,
        last_at=one.began,
        heard_at=one.began,
        ended_at=one.ended,
        ending="ended",
        episode_id=episode,
    )
    turns = [
        Turn(AGENT, session.session_key, at, speaker, words, one.began + timedelta(seconds=at), str(at))
        for at, (speaker, words) in enumerate(one.said, 1)
    ]
    said = transcript.of_turns(turns)
    title, summary = extract.extracted(said)
    row = Episode(
        agent_id=AGENT,
        episode_id=episode,
        trigger="user_message",
        session_key=session.session_key,
        started_at=one.began,
        created_at=one.began,
        recorded_at=one.began,
        recorded_by=f"closed {number}",
        title=title,
        summary=summary,
        written_by="extract",
        ended_at=one.ended,
        brief=summary,
        settled_by=f"closed {number}",
    )
    own = [
        replace(recalling.a_fact(one.name, at, memory), agent_id=AGENT, source=f"episode:{episode}", fact_id=one.fact_id(at))
        for at, memory in enumerate(one.facts)
    ]
    directions = await work.kit.embedder.embed([*(fact.content for fact in own), summary])
    async with work.kit.database.write([AGENT]) as db:
        await sessions.put(db, session)
        await episodes.put(db, row)
        await transcripts.put_turns(db, turns, {})
        await episodes.put_vector(db, AGENT, episode, "summary", embedder=work.kit.embedder.name, vector=directions[-1])
        await passages.put(db, AGENT, episode, [(words, at) for words, at in cutting.cut(said, began=one.began)])
        await facts.insert(db, own)
        rows = [(AGENT, fact.fact_id, vector) for fact, vector in zip(own, directions, strict=False)]
        await vectors.insert(db, work.kit.registered.table, rows)


async def _aged(work: Work) -> None:
    """A day of upkeep after another until nothing is due any more."""
    cause = MaintenanceDue(event_id="aged", agent_id=AGENT, occurred_at=NOW, task="episodes", period="2024-01-01")
    await work.through([cause])
    while True:
        async with work.kit.database.read([AGENT]) as db:
            left = await tasks()["episodes"].due(db, cause, Settings(), 1)
        if not left:
            break
        await asyncio.sleep(0.5)
    while await filling.fill(work.kit):
        pass


# ── looked at ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _look(work: Work, chosen: Embedder, asked: Sequence[Question], days: Sequence[Day]) -> Looked:
    rows, sizes = await _space(work)
    shown = await _shown(work, days)
    figures: dict[str, list[dict[str, float]]] = {over: [] for over in OVER}
    told: dict[int, list[float]] = {most: [] for most in TOLD}
    tools = Tools(work.kit.database, chosen, work.kit.settings.model_copy(update={"recall_token_margin": 1.0}))
    for question in track(asked, "asked", console=Console(stderr=True)):
        (vector,) = await chosen.embed([question.words])
        said = terms(question.words)
        for over, kinds in OVER.items():
            async with work.kit.database.read([AGENT]) as db:
                found = await search(db, AGENT, kinds, vector=vector, embedder=work.kit.registered, terms=said)
            order = rank(found, weights=Weights(), recency=0.0, boosts={}, now=NOW, terms=len(set(said)))
            seen = [Shown(counted(one.found.text, margin=1.0) + AROUND_A_MEMORY, shown.get(one.found.key, frozenset())) for one in order]
            able = sum(bool(turns & question.evidence) for key, turns in shown.items() if key[0] in kinds)
            figures[over].append(worth(seen, question.evidence, able=able))
        for most in TOLD:
            answer = await remember(tools, AGENT, question.words, frame="question", budget=most, as_of=NOW)
            order_told = [Shown(0, shown.get((one.kind, one.memory_id), frozenset())) for one in answer.memories]
            told[most].append(within(order_told, question.evidence, most))
    means = {over: {name: sum(one[name] for one in some) / len(some) for name in NAMES} for over, some in figures.items()}
    return Looked(means, {most: sum(some) / len(some) for most, some in told.items()}, rows, sizes)


async def _shown(work: Work, days: Sequence[Day]) -> dict[tuple[str, UUID], frozenset[str]]:
    """By (kind, memory_id) the evidence that a memory at hand shows."""
    shown: dict[tuple[str, UUID], frozenset[str]] = {}
    for one in days:
        if one.turns:
            shown |= {("fact", one.fact_id(at)): fact.turns for at, fact in enumerate(one.facts)}
            async with work.kit.database.read([AGENT]) as db:
                kept = await passages.of_episode(db, AGENT, one.episode_id)
            shown |= {("passage", passage.passage_id): one.evidence_of(passage.content) for passage in kept}
    return shown


async def _space(work: Work) -> tuple[dict[str, int], dict[str, int]]:
    """Rows and bytes of each table, indexes and long values too, without dead rows."""
    connection = await asyncpg.connect(work.database_url)
    try:
        rows, sizes = {}, {}
        for table in TABLES:
            await connection.execute(f"VACUUM FULL {table}")
            rows[table] = await connection.fetchval(f"SELECT count(*) FROM {table}")
            sizes[table] = await connection.fetchval(f"SELECT pg_total_relation_size('{table}')")
        return rows, sizes
    finally:
        await connection.close()


def report(looks: Mapping[str, Looked], questions: int) -> None:
    """The tables."""
    console, before, later = Console(width=140), looks["before"], [looks["after"], looks["without"]]
    table = Table("", "before", *LATER, box=None, header_style="bold", title=f"recall, {questions} questions", title_justify="left")
    for over in before.figures:
        for name in ("recall@1", "recall@10", "MRR", "nDCG@10", "in 2000"):
            was, now = before.figures[over][name], [one.figures[over][name] for one in later]
            low, high = interval(was, questions)
            table.add_row(f"{over}: {name}", f"{was:.3f} ({low:.3f} to {high:.3f})", *(f"{one:.3f}" for one in now))
    for most in before.told:
        table.add_row(f"told in {most:,} tokens", *(f"{one.told[most]:.3f}" for one in (before, *later)))
    console.print(table)
    space = Table("table", "rows before", *LATER, "MB before", *LATER, box=None, header_style="bold")
    for name in before.rows:
        rows = [f"{one.rows[name]:,}" for one in (before, *later)]
        space.add_row(name, *rows, *(f"{one.bytes[name] / 1e6:.1f}" for one in (before, *later)))
    space.add_row("all", "", "", "", *(f"{sum(one.bytes.values()) / 1e6:.1f}" for one in (before, *later)))
    console.print(space)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
