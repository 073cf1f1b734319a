"""An episode's story as a person reads it: how it went and what was learned from it, moment by moment, and the decisions in it."""

from uuid import UUID

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.stories.episode import Story
from store.decisions import Decision
from store.passages import Passage

from . import episode, screen, telling

DROPPED_SHOWN = 5


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    if story.passage:
        _print_passage(console, story.passage)
    episode.print_episode(console, story.episode)
    telling.print_moments(console, story.moments)
    _print_dropped(console, story)
    _print_learned(console, story)
    _print_decisions(console, story)


def _print_passage(console: Console, passage: Passage) -> None:
    """Its own words, before the story of the conversation they stand in."""
    console.print(Text(f"Passage {passage.place + 1}, of {screen.moment(passage.said_at)}, word for word:", style="bold"))
    for line in passage.content.splitlines():
        console.print(Padding(screen.said(line), (0, 0, 0, 4), expand=False))
    console.print(Text("\nIt stands in this conversation:", style="bold"))


def _print_learned(console: Console, story: Story) -> None:
    """What was taken from it and is told at no moment: learned by another version, or by hand."""
    told = {name.partition(":")[2] for one in story.moments for name in _published(one.data)}
    others = [one for one in story.learned if one.event_id not in told]
    if others:
        console.print("\nFacts that name it as their source:", style="bold")
    for one in others:
        console.print(Padding(Text.assemble(screen.said(one.content), (f"  {one.became}", "dim")), (0, 0, 0, 4), expand=False))


def _published(data: object) -> list[str]:
    published = data.get("published", []) if isinstance(data, dict) else []
    return [str(one) for one in published]


def _print_dropped(console: Console, story: Story) -> None:
    if story.dropped:
        console.print("\nFacts that a mind gave and that were not taken:", style="bold")
    for one in story.dropped[:DROPPED_SHOWN]:
        line = Text.assemble(screen.said(str(one["content"])), (f"  from “{screen.shown(str(one['quote']))}”", "dim"))
        console.print(Padding(line, (0, 0, 0, 4), expand=False))
    if len(story.dropped) > DROPPED_SHOWN:
        console.print(f"    and {len(story.dropped) - DROPPED_SHOWN:,} more; --json has them all", style="dim")


def _print_decisions(console: Console, story: Story) -> None:
    if story.linked:
        console.print("\nDecisions that belong to it, and how that is known:", style="bold")
    for one, how in story.linked:
        line = Text.assemble((f"{how:8}", "cyan"), *_described(one))
        console.print(Padding(line, (0, 0, 0, 4), expand=False))


def _described(one: Decision | UUID) -> list[Text]:
    if isinstance(one, UUID):
        return [Text(f"{one}, which nobody has recorded", style="yellow")]
    doubt = f"  reads like a status report: {one.noise}" if one.noise else ""
    return [screen.said(one.description), Text(f"  {one.decision_id}", style="dim"), Text(doubt and screen.shown(doubt), style="yellow")]
