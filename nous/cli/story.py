"""`nous explain`: how a fact or a censor came to be as it is, told from receipts and mentions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.errors import UserMistake
from nous.settings import Settings
from store import facts, mentions, receipts
from store.censors import Censor
from store.database import Database, Read
from store.facts import Fact
from store.mentions import Mention
from store.receipts import Receipt

from . import censor, ids_meant, place, screen
from .facts import as_data, mention_as_data

BESIDE = 20
CANDIDATES_SHOWN = 3
ALIKE_IN_A_ROW = 3  # of more triggers in a row that only counted, the first and the last are shown
OUTCOME_STYLES = {"stored": "cyan", "confirmed": "green", "escalated": "red", "added": "cyan", "relaxed": "green"}


@dataclass(frozen=True)
class Step:
    """One thing that happened: its receipt, what was said, and the wordings of the candidates it was compared with."""

    receipt: Receipt
    mention: Mention | None
    wordings: Mapping[str, str]

    @property
    def at(self) -> datetime:
        """When it was claimed, or else recorded."""
        return self.receipt.occurred_at or self.receipt.recorded_at

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What it was compared with, nearest first."""
        return [{**one, "content": self.wordings.get(one["fact_id"])} for one in self.receipt.evidence.get("candidates", [])]

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        evidence = {name: value for name, value in self.receipt.evidence.items() if name != "candidates"}
        return {
            "occurred_at": self.receipt.occurred_at,
            "recorded_at": self.receipt.recorded_at,
            "worker": self.receipt.worker,
            "outcome": self.receipt.outcome,
            "reason": self.receipt.reason,
            "about": self.receipt.about,
            "event_id": self.receipt.event_id,
            "stream": self.receipt.stream,
            "entry_id": self.receipt.entry_id,
            "published": list(self.receipt.derived),
            **({"mention": mention_as_data(self.mention)} if self.mention else {}),
            **({"candidates": self.candidates} if "candidates" in self.receipt.evidence else {}),
            "evidence": evidence,
        }


# ── a fact ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def explain_fact(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """Tell a fact's story, whatever id of it was written: its own, one it was published under, or the beginning of either."""
    async with place.database(settings) as database, database.overview() as db:
        key = await _fact_meant(db, written, agent)
        fact = (await facts.by_key(db, [key]))[key]
        heard = (await mentions.of_facts(db, [key]))[key]
        steps = await _steps(
            db, fact, heard, [receipt for receipt in await receipts.about(db, *key) if not receipt.stream.startswith("censor_")]
        )
        beside = await _steps(db, fact, [], await receipts.beside(db, *key, limit=BESIDE))
    if is_json:
        screen.emit(
            {"fact": as_data(fact, heard), "story": [one.as_data() for one in steps], "stored_beside": [one.as_data() for one in beside]}
        )
        return
    _print_fact(screen.out(piped_width=screen.PROSE_WIDTH), fact, heard, steps, beside)


async def _fact_meant(db: Read, written: str, agent: str | None) -> facts.Key:
    span = ids_meant.spanned(written)
    found = await mentions.within(db, span.first, span.last, agent=agent, limit=6)
    if not found:
        whose = f" of agent {agent!r}" if agent else ""
        raise UserMistake(
            f"no fact{whose} came of {written!r}; {place.command()} facts --all shows what there is; what was skipped or parked became none"
        )
    if len(found) > 1:
        which = screen.listed(f"{fact} of {whose!r}" for whose, fact in found[:5])
        raise UserMistake(f"{written!r} fits several facts, {which}; write more of it, or add --agent")
    return found[0]


async def _steps(db: Read, fact: Fact, heard: Iterable[Mention], told: Sequence[Receipt]) -> list[Step]:
    """The receipts in the order they were written, each with its wording and its candidates' wordings."""
    said = {mention.event_id: mention for mention in heard}
    ids = {UUID(one["fact_id"]) for receipt in told for one in receipt.evidence.get("candidates", [])}
    ids |= {receipt.about for receipt in told if receipt.about}
    known = await facts.by_key(db, {(fact.agent_id, one) for one in ids})
    wordings = {str(fact_id): other.content for (_, fact_id), other in known.items()}
    return [Step(receipt, said.get(receipt.event_id), wordings) for receipt in told]


def _print_fact(console: Console, fact: Fact, heard: Sequence[Mention], steps: Sequence[Step], beside: Sequence[Step]) -> None:
    console.print(screen.said(fact.content, "bold"))
    state = "active" if fact.active else f"not active since {screen.moment(fact.valid_to)}" if fact.valid_to else "not active"
    facets = [fact.agent_id, state, f"heard ×{len(heard)}", f"{fact.provenance} {screen.rounded(fact.confidence)}"]
    if fact.subject:
        facets.insert(1, f"about {fact.subject}" + (f", {fact.attribute}" if fact.attribute else ""))
    console.print(screen.said(" · ".join(facets), "dim"))
    console.print(Text(str(fact.fact_id), style="dim"))
    latest = None
    for number, step in enumerate(steps, 1):
        _print_step(console, number, step, is_late=latest is not None and step.at < latest)
        latest = step.at if latest is None else max(latest, step.at)
    if fact.superseded_by:
        console.print(f"\nsuperseded by {fact.superseded_by}")
    if beside:
        console.print("\nStored beside it, as facts of their own:", style="bold")
        for step in beside:
            _print_beside(console, fact, step)


def _print_step(console: Console, number: int, step: Step, *, is_late: bool) -> None:
    receipt, mention = step.receipt, step.mention
    head = Text.assemble(
        (f"\n{number:>2}  ", "dim"),
        screen.moment(step.at),
        "  ",
        (receipt.outcome, OUTCOME_STYLES.get(receipt.outcome, "bold")),
        ("  it arrived after later ones" if is_late else "", "yellow"),
    )
    console.print(head)
    lines = []
    if mention:
        lines.append(screen.said(f"“{screen.shown(mention.content)}”"))
        told_by = f"{mention.provenance} {screen.rounded(mention.confidence)}"
        origin = [told_by, *([f"from {mention.source}"] if mention.source else []), f"as {mention.mention_id}"]
        lines.append(screen.said(", ".join(origin), "dim"))
    if receipt.reason:
        lines.append(screen.said(f"because: {receipt.reason}"))
    lines += _compared(step)
    lines.append(
        screen.said(f"event {receipt.event_id}{f', entry {receipt.entry_id}' if receipt.entry_id else ''}, by {receipt.worker}", "dim")
    )
    if receipt.derived:
        lines.append(screen.said(f"published {screen.listed(name.partition(':')[0] for name in receipt.derived)}", "dim"))
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 4), expand=False))


def _compared(step: Step) -> list[Text]:
    """The candidates that came near, or the nearest when none did."""
    floor = step.receipt.evidence.get("check_similarity", 0)
    near = [one for one in step.candidates if one["similarity"] >= floor]
    if not near:
        return [_candidate(one, "nothing near; the nearest was ") for one in step.candidates[:1]]
    more = [Text(f"and {len(near) - CANDIDATES_SHOWN} more", style="dim")] if len(near) > CANDIDATES_SHOWN else []
    return [*(_candidate(one, "near ") for one in near[:CANDIDATES_SHOWN]), *more]


def _candidate(one: Mapping[str, Any], how: str) -> Text:
    wording = screen.shown(one["content"] or one["fact_id"])
    finding = (f"  {screen.shown(one['guard'])}", "yellow") if one.get("guard") else ""
    return Text.assemble((f"{how}{one['similarity']:.3f} “{wording}”", "dim"), finding)


def _print_beside(console: Console, fact: Fact, step: Step) -> None:
    mine = next(one for one in step.candidates if one["fact_id"] == str(fact.fact_id))
    content = step.wordings.get(str(step.receipt.about), "")
    line = Text.assemble(
        (f" {mine['similarity']:.3f}  ", "cyan"), screen.said(content), (f"  {screen.shown(mine.get('guard', ''))}", "yellow")
    )
    console.print(Padding(line, (0, 0, 0, 2), expand=False))
    console.print(Padding(Text(str(step.receipt.about), style="dim"), (0, 0, 0, 10), expand=False))


# ── a censor ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def explain_censor(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """Tell a censor's story: who added it, every time it fired, what hardened it and who relaxed it."""
    async with place.database(settings) as database:
        known = await censor.the_one(database, written, agent)
        told = await _told_of(database, known)
    steps = [Step(receipt, None, {}) for receipt in told]
    if is_json:
        screen.emit({"censor": censor.as_data(known), "story": [one.as_data() for one in steps]})
        return
    _print_censor(screen.out(piped_width=screen.PROSE_WIDTH), known, steps)


async def _told_of(database: Database, known: Censor) -> list[Receipt]:
    async with database.overview() as db:
        told = await receipts.about(db, known.agent_id, known.censor_id)
    return [receipt for receipt in told if receipt.stream.startswith("censor_")]  # a fact may have the same id


def _print_censor(console: Console, known: Censor, steps: Sequence[Step]) -> None:
    console.print(screen.said(known.trigger_pattern, "bold"))
    counts = f"fired {known.activation_count}, false positives {known.false_positive_count}, blocks at {known.escalation_threshold}"
    console.print(screen.said(f"{known.agent_id} · {known.severity} · {counts} · because: {known.reason}", "dim"))
    console.print(Text(str(known.censor_id), style="dim"))
    console.print()
    for run in _runs(steps):
        if len(run) > ALIKE_IN_A_ROW:
            _print_firing(console, run[0])
            console.print(f"    … {len(run) - 2:,} more times", style="dim")
            _print_firing(console, run[-1])
        else:
            for step in run:
                _print_firing(console, step)


def _runs(steps: Iterable[Step]) -> list[list[Step]]:
    """Steps in a row that only counted stand together; any other stands alone."""
    runs: list[list[Step]] = []
    for step in steps:
        if runs and step.receipt.outcome == runs[-1][0].receipt.outcome == "counted":
            runs[-1].append(step)
        else:
            runs.append([step])
    return runs


def _print_firing(console: Console, step: Step) -> None:
    receipt, evidence = step.receipt, step.receipt.evidence
    facets = []
    if "activation_count" in evidence:
        facets.append(f"fired {evidence['activation_count']}")
    if evidence.get("matched_text"):
        facets.append(f"on “{screen.shown(evidence['matched_text'])}”")
    if receipt.reason:
        facets.append(f"because: {receipt.reason}")
    outcome = (f"{receipt.outcome.replace('_', ' '):15}", OUTCOME_STYLES.get(receipt.outcome, "bold"))
    console.print(
        Text.assemble(
            f"{screen.moment(step.at)}  ", outcome, screen.shown("; ".join(facets)) if facets else "", (f"  {receipt.event_id}", "dim")
        )
    )
