"""`nous explain fact`: how a fact came to be as it is, told from receipts and mentions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.settings import Settings
from store import facts, mentions, receipts
from store.database import Read
from store.facts import Fact
from store.mentions import Mention
from store.receipts import Receipt

from . import place, screen
from .facts import as_data
from .ids_meant import fact_meant
from .step import Step

BESIDE = 20
CANDIDATES_SHOWN = 3


async def explain_fact(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """Tell a fact's story, whatever id of it was written: its own, one it was published under, or the beginning of either."""
    async with place.database(settings) as database, database.overview() as db:
        key = await fact_meant(db, written, agent=agent)
        fact = (await facts.by_key(db, [key]))[key]
        heard = (await mentions.of_facts(db, [key]))[key]
        steps = await _steps(
            db, fact, heard, [receipt for receipt in await receipts.about(db, *key) if not receipt.stream.startswith("censor_")]
        )
        beside = await _steps(db, fact, [], await receipts.beside(db, *key, limit=BESIDE))
        also_became = [
            other for whose, other in await mentions.resolve(db, fact.fact_id) if whose == fact.agent_id and other != fact.fact_id
        ]
    if is_json:
        screen.emit(
            {
                "fact": as_data(fact, heard),
                "story": [one.as_data() for one in steps],
                "also_became": also_became,
                "stored_beside": [one.as_data() for one in beside],
            }
        )
        return
    console = screen.out()
    _print_fact(console, fact, heard, steps)
    if also_became:
        console.print(f"\nPublished under the same id at another time, it became {screen.listed(map(str, also_became))}")
    _print_all_beside(console, fact, beside)


async def _steps(db: Read, fact: Fact, heard: Iterable[Mention], told: Sequence[Receipt]) -> list[Step]:
    """The receipts in the order they were written, each with its wording and its candidates' wordings."""
    said = {mention.event_id: mention for mention in heard}
    ids = {UUID(one["fact_id"]) for receipt in told for one in receipt.evidence.get("candidates", [])}
    ids |= {receipt.about for receipt in told if receipt.about}
    known = await facts.by_key(db, {(fact.agent_id, one) for one in ids})
    wordings = {str(fact_id): other.content for (_, fact_id), other in known.items()}
    return [Step(receipt, said.get(receipt.event_id), wordings) for receipt in told]


def _print_fact(console: Console, fact: Fact, heard: Sequence[Mention], steps: Sequence[Step]) -> None:
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


def _print_step(console: Console, number: int, step: Step, *, is_late: bool) -> None:
    receipt, mention = step.receipt, step.mention
    head = Text.assemble(
        (f"\n{number:>2}  ", "dim"),
        screen.moment(step.at),
        "  ",
        (receipt.outcome, step.style),
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


def _print_all_beside(console: Console, fact: Fact, beside: Sequence[Step]) -> None:
    if beside:
        console.print("\nStored beside it, as facts of their own:", style="bold")
    for step in beside:
        _print_beside(console, fact, step)


def _print_beside(console: Console, fact: Fact, step: Step) -> None:
    mine = next(one for one in step.candidates if one["fact_id"] == str(fact.fact_id))
    content = step.wordings.get(str(step.receipt.about), "")
    line = Text.assemble(
        (f" {mine['similarity']:.3f}  ", "cyan"), screen.said(content), (f"  {screen.shown(mine.get('guard', ''))}", "yellow")
    )
    console.print(Padding(line, (0, 0, 0, 2), expand=False))
    console.print(Padding(Text(str(step.receipt.about), style="dim"), (0, 0, 0, 10), expand=False))
