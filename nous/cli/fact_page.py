"""A fact's story as a person reads it: how it stands, what happened step by step, and what was true before and after."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.stories import fact_words, wordings
from nous.stories.fact import Story
from nous.stories.step import Step
from nous.stories.words import spoken
from store.facts import Fact

from . import screen, telling
from .facts import kept_up

CHAIN_SHOWN = 12
FACTS_SHOWN = 12


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    _print_fact(console, story)
    late = fact_words.late(story)
    for number, step in enumerate(story.steps, 1):
        _print_step(console, number, story, step, is_late=bool(step.mention) and step.receipt.event_id in late)
    _print_chain(console, story)
    _print_merged(console, story)
    if story.also_became:
        became_too = screen.listed(map(str, story.also_became))
        console.print(f"\nPublished under the same id at another time, it became {became_too}")
    _print_all_beside(console, story)


# ── how it stands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_fact(console: Console, story: Story) -> None:
    fact = story.fact
    console.print(screen.said(story.says, "bold"))
    state = "active" if fact.active else f"not active since {screen.moment(fact.valid_to)}" if fact.valid_to else "not active"
    facets = [fact.agent_id, state, f"heard ×{len(story.heard)}", f"{fact.provenance} {screen.rounded(fact.confidence)}"]
    facets += kept_up(fact)
    if fact.subject:
        facets.insert(1, f"about {fact.subject}" + (f", {fact.attribute}" if fact.attribute else ""))
    console.print(screen.said(" · ".join(facets), "dim"))
    console.print(Text(str(fact.fact_id), style="dim"))
    if story.meant.row.fact_id != fact.fact_id and not fact.forgotten_at:
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
            screen.said(wordings.content(fact), "bold" if is_this else "" if fact.active else "dim"),
            (f"  {fact.fact_id}", "dim"),
        )
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


def _print_merged(console: Console, story: Story) -> None:
    if story.merged:
        console.print("\nMerged into it, as other wordings of one fact:", style="bold")
    for fact in story.merged[:FACTS_SHOWN]:
        said = screen.said(fact.wording or wordings.content(fact))
        console.print(Padding(Text.assemble(said, (f"  {fact.fact_id}", "dim")), (0, 0, 0, 4), expand=False))
    if len(story.merged) > FACTS_SHOWN:
        console.print(f"    and {len(story.merged) - FACTS_SHOWN:,} more; --json has them all", style="dim")


# ── what happened ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _print_step(console: Console, number: int, story: Story, step: Step, *, is_late: bool) -> None:
    note = "  it arrived after later ones" if is_late else ""
    telling.print_head(console, number, step.at, spoken(step.happened), aside=step.occurred, note=note)
    telling.print_lines(console, fact_words.lines(story, step))


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
