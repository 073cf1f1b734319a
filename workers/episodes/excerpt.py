"""An excerpt: the first and the last parts of what was said, in so many characters, and a mark of what was left out between them.

    turn 1 │ turn 2 │ turn 3, which is lo … │  … │ … ng │ turn 11 │ turn 12
    └──────── half of the room ────────┘    mark   └─────── the other half ───────┘

It ends and begins where a turn or a sentence does, and never within the words that a fact of it rests on, so that these are found whole,
or not at all, when they are to be forgotten. Where there is no such place, nothing of that turn stays, unless nothing would stay at all.
Where both ends lie within such words, only the mark stays.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from store import spans
from store.sessions import Turn
from store.transcripts import Transcript

from . import transcript

AROUND_CHARACTERS = 2_000
"""So far from a place, and twice as far as the longest of them is long, words in which it lies are looked for."""
STEPS = 20
"""Words that overlap others, one after another, are followed so often; what is longer does not stay."""


@dataclass(frozen=True)
class Cut:
    """What stays of a row of texts: those before `first` and `first` up to `end`; `last` from `start`, and those behind it."""

    first: int
    end: int
    last: int
    start: int
    left_out: int


def of(said: Transcript, *, most: int, resting: Collection[str]) -> Transcript:
    """The first and last parts, `most` characters in all, but for the mark; all of it where it is no longer. `resting` stays whole."""
    turns = of_turns(said.turns, most=most, resting=resting)
    kept = {one.position for one in turns}
    return Transcript(
        detail=of_text(said.detail, most=most, resting=resting) if said.detail else said.detail,
        turns=turns,
        served={position: told for position, told in said.served.items() if position in kept},
    )


def of_turns(turns: Sequence[Turn], *, most: int, resting: Collection[str]) -> tuple[Turn, ...]:
    """The first and the last of these turns, each as it is or a part of it; the mark stands at the end of the first ones."""
    cut = cut_out([one.content for one in turns], most=most, resting=resting)
    if cut is None:
        return tuple(turns)
    mark = transcript.mark(cut.left_out)
    if cut.first == cut.last:
        only = turns[cut.first]
        said = "\n".join(filter(None, (only.content[: cut.end].rstrip(), mark, only.content[cut.start :].lstrip())))
        return (*turns[: cut.first], replace(only, content=said), *turns[cut.last + 1 :])
    head = [*turns[: cut.first], *_part(turns[cut.first], turns[cut.first].content[: cut.end].rstrip())]
    tail = [*_part(turns[cut.last], turns[cut.last].content[cut.start :].lstrip()), *turns[cut.last + 1 :]]
    if head:
        head[-1] = replace(head[-1], content=f"{head[-1].content}\n{mark}")
    elif tail:
        tail[0] = replace(tail[0], content=f"{mark}\n{tail[0].content}")
    else:
        head = [replace(turns[cut.first], content=mark)]
    return (*head, *tail)


def of_text(text: str, *, most: int, resting: Collection[str]) -> str:
    """The first and the last part of a text; what follows the mark within a turn has the name of its speaker again."""
    places = transcript.contents(text)
    cut = cut_out([text[said:end] for _, said, end in places], most=most, resting=resting)
    if cut is None:
        return text
    head = text[: places[cut.first][1] + cut.end] if cut.end else text[: places[cut.first][0]]
    start, said, _ = places[cut.last]
    tail = text[start:] if not cut.start else f"{text[start:said]}{text[said + cut.start :].lstrip()}"
    if cut.start and not text[said + cut.start : places[cut.last][2]].strip():
        tail = text[places[cut.last][2] :]
    return "\n".join(filter(None, (head.rstrip(), transcript.mark(cut.left_out), tail)))


def _part(turn: Turn, said: str) -> list[Turn]:
    return [replace(turn, content=said)] if said else []


# ── where ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cut_out(texts: Sequence[str], *, most: int, resting: Collection[str]) -> Cut | None:
    """What of these texts stays when `most` characters may; None when all of them may."""
    size = sum(map(len, texts))
    if size <= most:
        return None
    first, end = _head(texts, most // 2, resting)
    last, start = _tail(texts, most // 2, resting)
    kept = sum(map(len, texts[:first])) + end + len(texts[last]) - start + sum(map(len, texts[last + 1 :]))
    return Cut(first, end, last, start, size - kept)


def _head(texts: Sequence[str], room: int, resting: Collection[str]) -> tuple[int, int]:
    for at, text in enumerate(texts):
        if len(text) > room:
            return at, _outside(text, _end(text, room, is_all=at == 0), resting, is_end=True)
        room -= len(text)
    raise ValueError("the texts are no longer than the room for them")


def _tail(texts: Sequence[str], room: int, resting: Collection[str]) -> tuple[int, int]:
    for at in range(len(texts) - 1, -1, -1):
        text = texts[at]
        if len(text) > room:
            start = _start(text, len(text) - room, is_all=at == len(texts) - 1)
            return at, _outside(text, start, resting, is_end=False)
        room -= len(text)
    raise ValueError("the texts are no longer than the room for them")


def _end(text: str, room: int, *, is_all: bool) -> int:
    """Behind the last sentence that fits, or nowhere; within one, behind a word, where nothing else would stay."""
    found = max((one for one in transcript.endings(text) if one <= room), default=0)
    return found or (_behind_a_word(text, room) if is_all else 0)


def _start(text: str, earliest: int, *, is_all: bool) -> int:
    """Where the first sentence begins that fits, or behind all of it; within one, at a word, where nothing else would stay."""
    found = min((one for one in transcript.endings(text) if one >= earliest and text[one:].strip()), default=len(text))
    return _before_a_word(text, earliest) if found == len(text) and is_all else found


def _behind_a_word(text: str, room: int) -> int:
    return next((at for at in range(room, room // 2, -1) if text[at - 1].isspace()), room)


def _before_a_word(text: str, earliest: int) -> int:
    return next((at for at in range(earliest, (earliest + len(text)) // 2) if text[at - 1].isspace()), earliest)


def _outside(text: str, place: int, resting: Collection[str], *, is_end: bool) -> int:
    """The place, or before or behind the words in which it lies."""
    reach = max(AROUND_CHARACTERS, 2 * max(map(len, resting), default=0))
    for _ in range(STEPS):
        begins = max(0, place - reach)
        found = spans.found(text[begins : place + reach], resting)
        around = next(((begins + start, begins + end) for start, end in found if begins + start < place < begins + end), None)
        if around is None:
            return place
        place = around[0] if is_end else around[1]
    return 0 if is_end else len(text)
