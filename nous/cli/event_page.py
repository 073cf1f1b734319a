"""An event's story as a person reads it: what led to it, what came, what became of it, and the tree of what followed."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.stories import evidence
from nous.stories.event import Story
from nous.stories.lineage import Happening
from nous.stories.words import line as worded
from nous.stories.words import moment, quoted, spoken

from . import screen, telling

GIST_CHARACTERS = 60
FOLLOWED_SHOWN = 12  # of one event, whatever followed each of them


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    event = story.event
    console.print(Text(" and ".join(event.streams) or "an event", style="bold"))
    archived = "" if event.came else " · not archived: this is what receipts and queues say of it"
    console.print(screen.said(f"{event.agent_id or '(no agent)'}{archived}", "dim"))
    console.print(screen.said(event.event_id, "dim"))
    if story.causes:
        console.print("\nWhat led to it, the first first:", style="bold")
    for one in story.causes:
        _print_happening(console, one, "    ")
    if story.passage:
        console.print("\nThe words it rests on:", style="bold")
        telling.print_lines(console, story.passage.lines())
    telling.print_moments(console, story.moments)
    if event.follows:
        console.print("\nWhat followed from it:", style="bold")
    _print_followed(console, event, "    ")


def _print_followed(console: Console, event: Happening, indent: str) -> None:
    for one in event.follows[:FOLLOWED_SHOWN]:
        _print_happening(console, one, indent)
        _print_followed(console, one, indent + "  ")
    if len(event.follows) > FOLLOWED_SHOWN or not event.is_whole:
        console.print(f"{indent}and more; --json has them", style="dim")


def _print_happening(console: Console, one: Happening, indent: str) -> None:
    at = f"{moment(one.at)}  " if one.at else ""
    ended = [(spoken(receipt.outcome), evidence.by(receipt)) for receipt in one.receipts]
    ended += [("waiting", retry.worker) for retry in one.waiting]
    line = Text.assemble(at, (", ".join(one.streams) or "an event", "cyan"), "  ")
    for number, (outcome, worker) in enumerate(ended):
        line.append_text(Text.assemble(", " if number else "", (outcome, telling.style(outcome)), (f" by {worker}", "dim")))
    if not ended:
        line.append("not worked yet" if one.is_heard else "no worker listens to it", style="dim")
    if one.gist:
        line.append_text(screen.told(worded(f"  {quoted(one.gist, most=GIST_CHARACTERS)}")))
    console.print(Padding(line, (0, 0, 0, len(indent)), expand=False))
    console.print(Padding(screen.said(one.event_id, "dim"), (0, 0, 0, len(indent) + 2), expand=False))
