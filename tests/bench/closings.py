"""Episodes that close all at once while a mind takes five seconds for each answer."""

from events import EpisodeClosed, derived
from nous import clock, ids
from tests.model_server import ModelServer, remembering, slow

ANSWER_S = 5.0
AT_ONCE = 20
LONG = 4
"""So many of them are read in parts."""
WORKERS = ("episode_summarizer", "deduplicator", "supersession_checker")

_SAID = "I live in Oslo"
_TURN = "User: {words}\nAssistant: " + "I see; is there anything more that I should know about it before we go on? " * 4 + "\n"
_SHORT_TURNS = 4
_LONG_TURNS = 250  # 80,000 characters and their overhead: three parts and the whole, four questions
_TOLD = {
    "title": "Somebody tells of moving to another town",
    "summary": "They told where they live now and what they like, and nothing was left open.",
    "notes": "They live in Oslo.",
    "outcome": "done",
    "lessons": [],
    "decisions": [],
    "facts": [{"content": "The user lives in Oslo.", "quote": _SAID, "confidence": 0.9, "subject": "user"}],
}


def closings(turn: int) -> list[EpisodeClosed]:
    """Twenty episodes, each of an agent nobody has heard of; the long ones stand among the others."""
    every = AT_ONCE // LONG
    return [_closing(f"{turn}-{number}", _LONG_TURNS if number % every == 0 else _SHORT_TURNS) for number in range(AT_ONCE)]


def _closing(name: str, turns: int) -> EpisodeClosed:
    return EpisodeClosed(
        event_id=derived("bench", "closing", name),
        agent_id=f"told-{name}",
        occurred_at=clock.now(),
        episode_id=ids.derived("bench", "episode", name),
        transcript=_TURN.format(words=f"{_SAID}, in street {name}.") + _TURN.format(words="Go on.") * turns,
    )


def mind() -> ModelServer:
    """A server that has something to say of each of them, after five seconds."""
    server = ModelServer(remembering(**_TOLD))
    server.always(slow(ANSWER_S, server.healthy))
    return server
