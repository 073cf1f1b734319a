"""A procedure's story as a person reads it: how it is done, how often that worked, and each event that taught or used it."""

from rich.console import Console
from rich.text import Text

from nous.stories.procedure import Story
from store.old_notes import OldNotes

from . import screen, telling


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    known = story.procedure
    console.print(screen.said(known.name or known.brief, "bold"))
    tried = known.success_count + known.failure_count
    worked = f"{known.success_count} of {tried} worked" if tried else "nobody knows how that went"
    console.print(screen.said(f"{known.agent_id} · used {screen.plural(known.activation_count, 'time')}, {worked}", "dim"))
    console.print(Text(str(known.procedure_id), style="dim"))
    for name, said in (("for", known.goals), ("how", known.core_patterns), ("note", known.implementation_notes)):
        for one in said:
            console.print(screen.said(f"{name}: {one}"))
    for old in story.old_notes:
        console.print()
        console.print(screen.said(f"Its notes before they were put together on {screen.moment(old.put_at)} UTC{_undone(old)}:", "bold"))
        for note in old.notes:
            console.print(screen.said(f"was noted: {note}", "dim"))
    telling.print_moments(console, story.moments)


def _undone(old: OldNotes) -> str:
    return f" (put back on {screen.moment(old.undone_at)} UTC)" if old.undone_at else ""
