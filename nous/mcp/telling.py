"""How a memory came to be so, in lines a model reads: what it is, what happened to it in order and why, what was true before and after.

story (nous.stories) ─▶ its words ─▶ a line a moment, and the reasons below it ─▶ the fence
"""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from nous import fence
from nous.stories import censor, evidence, fact, fact_words, wordings
from nous.stories.moment import Moment
from nous.stories.words import moment, spoken
from recall.assembling import harmless

MOST_LINES = 200


def told(kind: str, one: UUID, story: Any) -> str:
    """The story of a memory as text, inside the fence; of a long one its beginning, and how much is left out."""
    lines = [f"[{kind} {one}] {_says(kind, story)}", *_moments(story), *_around(story)]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"and {len(lines) - MOST_LINES:,} lines more, which `nous explain {one}` tells"]
    return fence.recalled(map(_on_one_line, lines))


def _on_one_line(line: str) -> str:
    words = line.lstrip(" ")
    return line[: len(line) - len(words)] + harmless(words)


def _says(kind: str, story: Any) -> str:
    match kind:
        case "fact":
            return str(story.says)
        case "episode":
            return str(story.episode.title or "an episode without a title yet")
        case "decision":
            return str(story.decision.description)
        case "procedure":
            return str(story.procedure.name)
        case _:
            return f"{story.censor.severity}: {story.censor.trigger_pattern} — {story.censor.reason}"


def _moments(story: Any) -> Iterator[str]:
    for one in _in_order(story):
        yield f"{moment(one.at)} {one.happened}{f' by {one.by}' if one.by else ''}"
        yield from (f"    {line}" for line in one.lines)


def _in_order(story: Any) -> Iterable[Moment]:
    if isinstance(story, fact.Story):
        return [Moment(one.at, spoken(one.happened), evidence.by(one.receipt), fact_words.lines(story, one)) for one in story.steps]
    if isinstance(story, censor.Story):
        return [Moment(one.at, spoken(one.happened), evidence.by(one.receipt), evidence.because(one.receipt, {})) for one in story.steps]
    moments: Iterable[Moment] = story.moments
    return moments


def _around(story: Any) -> Iterator[str]:
    """Of a fact, what was true before it, and since."""
    if isinstance(story, fact.Story) and len(story.chain) > 1:
        yield "what was true, the oldest first:"
        for one in story.chain:
            until = moment(one.valid_to) if one.valid_to else "now"
            yield f"    {moment(one.valid_from)} to {until} [fact {one.fact_id}] {wordings.content(one)}"
