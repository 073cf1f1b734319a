"""A decision's story as a person reads it: what was decided and why, what came of it, and to which episodes it belongs."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from nous.stories.decision import Story

from . import screen, telling


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    known = story.decision
    console.print(screen.said(known.description, "bold"))
    session = [f"session {known.session_id}"] if known.session_id else []
    facets = [known.agent_id, f"decided {screen.moment(known.decided_at)}", known.outcome, f"confidence {screen.rounded(known.confidence)}"]
    console.print(screen.said(" · ".join([*facets, *session]), "dim"))
    console.print(Text(str(known.decision_id), style="dim"))
    for name, said in (("in view of", [known.context]), ("because", known.reasons), ("instead of", known.alternatives)):
        for one in filter(None, said):
            console.print(screen.said(f"{name}: {one}"))
    if known.noise:
        console.print(screen.said(f"reads like a status report: {known.noise}", "yellow"))
    telling.print_moments(console, story.moments)
    if story.linked:
        console.print("\nEpisodes it belongs to, and how that is known:", style="bold")
    for episode, how in story.linked:
        told = episode.title or episode.opening or "(no title yet)"
        line = Text.assemble((f"{how:8}", "cyan"), screen.said(told), (f"  {episode.episode_id}", "dim"))
        console.print(Padding(line, (0, 0, 0, 4), expand=False))
