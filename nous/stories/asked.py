"""What a mind was asked, what it answered, and what that cost."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from nous.text import normalise
from store.answers import Answer
from store.writings import Put

from .moment import Moment
from .words import Line, line, plural, quoted


def written(put: Put) -> Moment:
    """The moment a question about an episode was answered, or was asked while it is not."""
    return Moment(
        put.answered_at or put.asked_at, "answered" if put.answer else "asked", put.worker, _told(put), {"question": as_data(put)}
    )


def as_data(put: Put) -> dict[str, object]:
    """A question and its answer for JSON."""
    return asdict(put)


def in_short(put: Put) -> str:
    """Who was asked by which prompt, and what that cost."""
    if put.answer is None:
        return f"{put.model}, prompt {put.prompt}, asked {plural(put.asked, 'time')} and not answered yet"
    again = "" if put.asked == 1 else f", asked {plural(put.asked, 'time')}"
    return f"{put.model}, prompt {put.prompt}, {cost(put.tokens_in, put.tokens_out, put.cost, put.milliseconds)}{again}"


def cost(tokens_in: int, tokens_out: int, dollars: Decimal, milliseconds: int) -> str:
    """Tokens, US dollars and seconds."""
    return f"{tokens_in:,} tokens in, {tokens_out:,} out, ${dollars:.4f}, {milliseconds / 1000:.1f} s"


def of_fact(puts: Sequence[Put], content: str) -> Put | None:
    """The question whose answer has a fact of these words; the first of several."""
    wanted = normalise(content)
    return next((one for one in puts if any(normalise(str(fact["content"])) == wanted for fact in facts_in(one))), None)


def facts_in(put: Put) -> list[dict[str, Any]]:
    """The facts of an answer, each with the quote it gave."""
    return list((put.answer or {}).get("facts", ()))


def of_pairs(answers: Collection[Answer], pairs: Collection[tuple[bytes, bytes]], model: str) -> list[Answer]:
    """What this mind answered about pairs of texts, whichever of two is older."""
    wanted = {frozenset(pair) for pair in pairs}
    return [one for one in answers if one.model == model and frozenset((one.older_key, one.newer_key)) in wanted]


def answer_as_data(answer: Answer) -> dict[str, object]:
    """What was answered about two texts, for JSON."""
    return {name: value for name, value in asdict(answer).items() if name not in ("agent_id", "older_key", "newer_key")}


def _told(put: Put) -> list[Line]:
    given = put.answer or {}
    lines = [line(f"mind: {in_short(put)}", "faint")]
    if title := given.get("title"):
        lines.append(line(f"title: {quoted(title)}"))
    if facts := facts_in(put):
        lines.append(line(f"{plural(len(facts), 'fact')} given"))
    return lines
