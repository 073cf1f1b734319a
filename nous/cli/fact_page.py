"""A fact's story as a person reads it: how it stands, what happened step by step, and what was true before and after."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from store.facts import Fact

from . import screen
from .fact_story import Story
from .step import Step

CANDIDATES_SHOWN = 3
CHAIN_SHOWN = 12
FACTS_SHOWN = 12
TELLING = {"same": 0, "refines": 0, "updates": 0, "contradicts": 0, "unsure": 1, "compatible": 2}
"""Which relations to show first."""


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    _print_fact(console, story)
    latest = None
    for number, step in enumerate(story.steps, 1):
        _print_step(console, number, step, is_late=bool(step.mention and latest and step.at < latest))
        if step.mention:
            latest = step.at if latest is None else max(latest, step.at)
    _print_chain(console, story)
    _print_merged(console, story)
    if story.also_became:
        became_too = screen.listed(map(str, story.also_became))
        console.print(f"\nPublished under the same id at another time, it became {became_too}")
    _print_all_beside(console, story)


# ── how it stands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_fact(console: Console, story: Story) -> None:
    fact = story.fact
    console.print(screen.said(fact.content, "bold"))
    state = "active" if fact.active else f"not active since {screen.moment(fact.valid_to)}" if fact.valid_to else "not active"
    facets = [fact.agent_id, state, f"heard ×{len(story.heard)}", f"{fact.provenance} {screen.rounded(fact.confidence)}"]
    if fact.subject:
        facets.insert(1, f"about {fact.subject}" + (f", {fact.attribute}" if fact.attribute else ""))
    console.print(screen.said(" · ".join(facets), "dim"))
    console.print(Text(str(fact.fact_id), style="dim"))
    if story.meant.row.fact_id != fact.fact_id:
        console.print(screen.said(f"{story.meant.row.fact_id} is part of it: “{story.meant.row.wording}”", "magenta"))
    for how, other in (("superseded by", fact.superseded_by), ("disputes", fact.disputes)):
        if other:
            console.print(screen.said(f"{how} {other}: “{story.wordings[str(other)]}”", "yellow"))


def _print_chain(console: Console, story: Story) -> None:
    """What was true when; the nearest of a long chain."""
    chain = list(story.chain)
    if len(chain) < 2:
        return
    here = chain.index(story.fact)
    start = max(0, min(here - CHAIN_SHOWN // 2, len(chain) - CHAIN_SHOWN))
    shown = chain[start : start + CHAIN_SHOWN]
    more = f", {len(shown)} of {len(chain)} here" if len(shown) < len(chain) else ""
    console.print(f"\nWhat was true, oldest first{more}:", style="bold")
    for fact in shown:
        is_this = fact.fact_id == story.fact.fact_id
        until = screen.moment(fact.valid_to) if fact.valid_to else "now"
        line = Text.assemble(
            ("▶ " if is_this else "  "),
            (f"{screen.moment(fact.valid_from)} to {until:16}  ", "cyan"),
            screen.said(fact.content, "bold" if is_this else "" if fact.active else "dim"),
            (f"  {fact.fact_id}", "dim"),
        )
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


def _print_merged(console: Console, story: Story) -> None:
    if story.merged:
        console.print("\nMerged into it, as other wordings of one fact:", style="bold")
    for fact in story.merged[:FACTS_SHOWN]:
        console.print(Padding(Text.assemble(screen.said(fact.wording), (f"  {fact.fact_id}", "dim")), (0, 0, 0, 4), expand=False))
    if len(story.merged) > FACTS_SHOWN:
        console.print(f"    and {len(story.merged) - FACTS_SHOWN:,} more; --json has them all", style="dim")


# ── what happened ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_step(console: Console, number: int, step: Step, *, is_late: bool) -> None:
    head = Text.assemble(
        (f"\n{number:>2}  ", "dim"),
        screen.moment(step.at),
        "  ",
        (step.happened, step.style),
        ("  it arrived after later ones" if is_late else "", "yellow"),
    )
    console.print(head)
    for line in [*_said(step), *_because(step), *_compared(step), *_asked(step), *_changed(step), *_from(step)]:
        console.print(Padding(line, (0, 0, 0, 4), expand=False))


def _said(step: Step) -> list[Text]:
    mention = step.mention
    if mention is None:
        return []
    told_by = f"{mention.provenance} {screen.rounded(mention.confidence)}"
    origin = [told_by, *([f"from {mention.source}"] if mention.source else []), f"as {mention.mention_id}"]
    return [screen.said(f"“{screen.shown(mention.content)}”"), screen.said(", ".join(origin), "dim")]


def _because(step: Step) -> list[Text]:
    """Why; and of which fact, when the receipt is about another one."""
    receipt = step.receipt
    lines = []
    if step.is_about_another and receipt.about:
        other = step.wordings.get(str(receipt.about), str(receipt.about))
        lines.append(screen.said(f"about “{other}” ({receipt.about})"))
    if receipt.reason:
        lines.append(screen.said(f"because: {_in_words(receipt.reason, step.wordings)}"))
    return lines


def _in_words(reason: str, wordings: Mapping[str, str]) -> str:
    """The reason, with what a fact says beside each id that it names."""
    for fact_id, content in wordings.items():
        reason = reason.replace(fact_id, f"{fact_id} “{content}”")
    return reason


def _compared(step: Step) -> list[Text]:
    """What it was compared with: by a mind, how the two stand; by the deduplicator, those that came near, or the nearest."""
    if any("relation" in one for one in step.candidates):
        return _all_judged(step)
    floor = step.receipt.evidence.get("check_similarity", 0)
    near = [one for one in step.candidates if one["similarity"] >= floor]
    if not near:
        return [_candidate(one, "nothing near; the nearest was ") for one in step.candidates[:1]]
    more = [Text(f"and {len(near) - CANDIDATES_SHOWN} more", style="dim")] if len(near) > CANDIDATES_SHOWN else []
    return [*(_candidate(one, "near ") for one in near[:CANDIDATES_SHOWN]), *more]


def _all_judged(step: Step) -> list[Text]:
    """The most telling, and of the others how many stand how."""
    ranked = sorted((one for one in step.candidates if "relation" in one), key=lambda one: TELLING.get(one["relation"], 0))
    left = Counter(one["relation"] for one in ranked[CANDIDATES_SHOWN:])
    rest = ", ".join(f"{count} more {relation}" for relation, count in left.items())
    return [*map(_judged, ranked[:CANDIDATES_SHOWN]), *([Text(f"and {rest}", style="dim")] if rest else [])]


def _candidate(one: Mapping[str, Any], how: str) -> Text:
    wording = screen.shown(one["content"] or one["fact_id"])
    finding = (f"  {screen.shown(one['guard'])}", "yellow") if one.get("guard") else ""
    return Text.assemble((f"{how}{one['similarity']:.3f} “{wording}”", "dim"), finding)


def _judged(one: Mapping[str, Any]) -> Text:
    wording = screen.shown(one["content"] or one["fact_id"])
    is_telling = TELLING.get(one["relation"], 0) == 0
    said = f": {screen.shown(one['reason'])}" if one.get("reason") else ""
    return Text.assemble(
        (one["relation"], "yellow" if is_telling else "dim"),
        (f"  “{wording}” ({one['why']}, {one['similarity']:.3f}), by {one['decided_by']}{said}", "dim"),
    )


def _asked(step: Step) -> list[Text]:
    """Which mind answered and what that took."""
    evidence = step.receipt.evidence
    if "model" not in evidence or not evidence.get("candidates"):
        return []
    tokens_in, tokens_out = evidence.get("tokens_in", 0), evidence.get("tokens_out", 0)
    if not tokens_in and not tokens_out:
        return [Text(f"mind: {evidence['model']}, no tokens", style="dim")]
    took = f"{evidence.get('milliseconds', 0) / 1000:.1f} s"
    return [Text(f"mind: {evidence['model']}, {tokens_in:,} tokens in, {tokens_out:,} out, {took}", style="dim")]


def _changed(step: Step) -> list[Text]:
    """How this fact stands since, where the receipt does not say it already."""
    return [screen.said(f"this fact: {words}", "yellow") for one in step.changes if (words := _in_short(one, step.wordings))]


def _in_short(change: Mapping[str, Any], wordings: Mapping[str, str]) -> str:
    now = change["now"]
    told = []
    for name, how in (("superseded_by", "superseded by"), ("merged_into", "merged into"), ("disputes", "disputes")):
        if now.get(name):
            told.append(f"{how} “{wordings.get(now[name], now[name])}”")
    if now.get("active"):
        told.append("active")
    if now.get("valid_to"):
        told.append(f"true until {now['valid_to'][:16].replace('T', ' ')}")
    if change["was"] and now.get("content"):
        told.append(f"worded “{now['content']}”")
    return ", ".join(told)


def _from(step: Step) -> list[Text]:
    receipt = step.receipt
    entry = f", entry {receipt.entry_id}" if receipt.entry_id else ""
    lines = [screen.said(f"event {receipt.event_id}{entry}, by {receipt.worker}", "dim")]
    if receipt.derived:
        published = Counter(name.partition(":")[0] for name in receipt.derived)
        named = (f"{name} ×{count}" if count > 1 else name for name, count in published.items())
        lines.append(screen.said(f"published {screen.listed(named)}", "dim"))
    return lines


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_all_beside(console: Console, story: Story) -> None:
    if story.beside:
        console.print("\nStored beside it, as facts of their own:", style="bold")
    for step in story.beside:
        _print_beside(console, story.fact, step)


def _print_beside(console: Console, fact: Fact, step: Step) -> None:
    mine = next(one for one in step.candidates if one["fact_id"] == str(fact.fact_id))
    content = step.wordings.get(str(step.receipt.about), "")
    line = Text.assemble(
        (f" {mine['similarity']:.3f}  ", "cyan"), screen.said(content), (f"  {screen.shown(mine.get('guard', ''))}", "yellow")
    )
    console.print(Padding(line, (0, 0, 0, 2), expand=False))
    console.print(Padding(Text(str(step.receipt.about), style="dim"), (0, 0, 0, 10), expand=False))
