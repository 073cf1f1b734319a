"""A transcript: who said what, and when. Whatever was recalled into a turn is taken out of it, and out of no other (nous.fence), and so is
the mark of what is not at hand (excerpt.py).

    turns as they were reported ──┐
    a text: "User: ...", lines ───┴─▶ utterances ──▶ parts of at most so many characters, cut between turns

In a text a line may begin with a speaker, before or behind an ISO time: `[2026-03-01T10:00Z] Caroline: ...`. Which labels are speakers
is settled for the whole text, so that `Model: X200` in what a user wrote stays in what the user wrote: of each role one label, and names
only where no `User:` or the like says who speaks. A text without any is one utterance that nobody in particular made. A text cannot tell
where a tool's output ends if that has a line `User: ...` itself; turns that are reported can.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from events import Provenance
from nous.fence import without_recalled
from nous.text import fold_case, form, is_blank
from providers.mind import Utterance
from store.sessions import Turn
from store.transcripts import Transcript

USERS = ("user", "human", "customer", "client", "用户", "客户", "usuario", "utilisateur", "nutzer", "ユーザー", "사용자", "пользователь")
ASSISTANTS = ("assistant", "ai", "bot", "agent", "model", "chatbot", "助手", "asistente", "assistent", "アシスタント", "ассистент")
TOOLS = ("tool", "tools", "system", "function", "observation")
_FROM_ASSISTANTS = ("message", "response", "reply")
_FROM_TOOLS = ("call", "calls", "use", "input", "output", "outputs", "result", "results", "response", "responses", "message", "prompt")
_MAY_FOLLOW: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(USERS, USERS),
    **dict.fromkeys(ASSISTANTS, (*ASSISTANTS, *_FROM_ASSISTANTS)),
    **dict.fromkeys(TOOLS, _FROM_TOOLS),
}
"""Words that may stand behind a role which is then still no name: `AI assistant`, `Tool result`."""

NAME_WORDS = 4
OVERHEAD_CHARACTERS = 60
"""What a turn takes in a question beside its words."""

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?"
_LABEL = re.compile(
    rf"^[ \t]*+\**+(?:\[?(?P<before>{_TIME})\]?[ \t]*+[-–—|]?[ \t]*+)?+\**+"
    r"(?P<speaker>[^\W\d_](?:[^\n:：]{0,38}?[^\n:： \t*])??)"
    rf"[ \t*]*+(?:[\[(](?P<after>{_TIME})[\])][ \t*]*+)?+(?P<colon>:(?!//)|：)\**+[ \t]*+",
    re.MULTILINE,
)
_MARK = re.compile(r"\n?\[… [\d,]+ characters are put away …\]\n?")
_LINE_END = re.compile(r"\n+")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*+\s+|[。！？।]+[」』”]?\s*")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]+")
_WORDS = re.compile(r"(?:[^\W\d_]++ ?)*+")


# ── who speaks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def voucher(speaker: str | None) -> Provenance | None:
    """Who vouches for what this speaker says: the user, the assistant, the episode if nobody knows; None of a tool, which nobody does."""
    if not speaker:
        return "episode_summary"
    role = _role(speaker)
    if role in TOOLS:
        return None
    return "assistant_derived" if role in ASSISTANTS else "user_stated"


def _role(speaker: str) -> str:
    """The role of `User`, `Agent 2`, `AI assistant`, `Tool (bash)`, `tool_result`; empty for `Caroline`, `Agent Smith`, `Model railway`."""
    formed = fold_case(form(speaker))
    found = _WORD.search(formed)
    if found is None or found[0] not in _MAY_FOLLOW:
        return ""
    behind = _WORDS.match(formed[found.end() :].lstrip())
    return found[0] if behind is None or set(behind[0].split()) <= set(_MAY_FOLLOW[found[0]]) else ""


# ── from turns, from a text ───────────────────────────────────────────────────────────────────────────────────────────────


def of(said: Transcript) -> tuple[Utterance, ...]:
    """What was said, from its turns, or where there are none from the text that came."""
    return of_turns(said.turns) if said.turns else of_text(said.detail or "")


def of_turns(turns: Iterable[Turn]) -> tuple[Utterance, ...]:
    """What was said in these turns."""
    return _spoken(Utterance(content=turn.content, speaker=turn.speaker, said_at=turn.said_at) for turn in turns)


def of_text(transcript: str) -> tuple[Utterance, ...]:
    """What was said, from a text with or without speakers."""
    labels = _speaking(list(_LABEL.finditer(transcript)))
    first = labels[0].start() if labels else len(transcript)
    ends = [*(label.start() for label in labels[1:]), len(transcript)]
    said = (_labelled(label, transcript[label.end() : end]) for label, end in zip(labels, ends, strict=False))
    return _spoken([Utterance(content=transcript[:first]), *said])


def _spoken(said: Iterable[Utterance]) -> tuple[Utterance, ...]:
    """These without what was recalled into them, and none that is blank then."""
    own = (replace(one, content=_without_mark(without_recalled(one.content)).strip()) for one in said)
    return tuple(one for one in own if not is_blank(one.content))


def mark(characters: int) -> str:
    """What stands where so many characters were left out."""
    return f"[… {characters:,} characters are put away …]"


def _without_mark(text: str) -> str:
    return _MARK.sub("\n", text) if "[… " in text else text


def contents(transcript: str) -> list[tuple[int, int, int]]:
    """Where the utterances of a text stand: from where with the label, from where without it, up to where."""
    labels = _speaking(list(_LABEL.finditer(transcript)))
    starts = [(label.start(), label.end()) for label in labels]
    if not starts or starts[0][0] > 0:
        starts = [(0, 0), *starts]
    ends = [*(start for start, _ in starts[1:]), len(transcript)]
    return [(start, said, end) for (start, said), end in zip(starts, ends, strict=True)]


def endings(text: str) -> list[int]:
    """Where lines and sentences of a text end, in order."""
    return sorted({found.end() for ending in (_LINE_END, _SENTENCE_END) for found in ending.finditer(text)})


def _labelled(label: re.Match[str], content: str) -> Utterance:
    return Utterance(content=content, speaker=label["speaker"].strip(" \t*"), said_at=_moment(label["before"] or label["after"]))


def _moment(stated: str | None) -> datetime | None:
    """The time a line states, taken as UTC where it names no zone; None for one that no calendar has."""
    if stated is None:
        return None
    try:
        moment = datetime.fromisoformat(stated)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _speaking(labels: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Those of these labels that say who speaks."""
    times = Counter(label["speaker"] for label in labels)
    roles = {speaker: role for speaker in times if (role := _role(speaker))}
    users, assistants = _spoken_for(times, roles, USERS), _spoken_for(times, roles, ASSISTANTS)
    is_role = {speaker: role in (users, assistants, *TOOLS) for speaker, role in roles.items()}
    is_name = {speaker: not users and speaker not in roles and _is_name(speaker) for speaker in times}

    def speaks(label: re.Match[str]) -> bool:
        speaker = label["speaker"]
        is_marked = label["before"] or label["after"] or times[speaker] > 1 or label is labels[0]
        is_spaced = label["colon"] == "：" or label[0][-1:].isspace() or label.string[label.end() : label.end() + 1] in ("", "\n")
        return is_role.get(speaker, False) or bool(is_name[speaker] and is_marked and is_spaced)

    return [label for label in labels if speaks(label)]


def _spoken_for(times: Mapping[str, int], roles: Mapping[str, str], among: Sequence[str]) -> str:
    """The one of these roles that labels most lines, the more usual one of two; empty when none does."""
    count: Counter[str] = Counter()
    for speaker, role in roles.items():
        count[role] += times[speaker]
    return max((role for role in among if count[role]), key=lambda role: (count[role], -among.index(role)), default="")


def _is_name(speaker: str) -> bool:
    """One to four words that begin with a capital, or with a letter of a script that has none."""
    words = speaker.strip(" \t*").split()
    return 0 < len(words) <= NAME_WORDS and all(word[0].isalpha() and not word[0].islower() for word in words)


# ── in parts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def parts(said: Sequence[Utterance], characters: int) -> list[tuple[Utterance, ...]]:
    """The utterances in runs of at most so many characters; one that is longer is cut, and no character is lost."""
    found: list[list[Utterance]] = [[]]
    size = 0
    for one in said:
        for piece in _pieces(one.content, characters):
            weight = len(piece) + OVERHEAD_CHARACTERS
            if found[-1] and size + weight > characters:
                found.append([])
                size = 0
            found[-1].append(replace(one, content=piece))
            size += weight
    return [tuple(some) for some in found if some]


def _pieces(text: str, at_most: int) -> Iterator[str]:
    start = 0
    while len(text) - start > at_most:
        end = _end(text, start, start + at_most)
        yield text[start:end]
        start = end
    yield text[start:]


def _end(text: str, start: int, limit: int) -> int:
    """Behind the last line, sentence or word that ends in the second half; at the limit where none does."""
    half = start + (limit - start) // 2
    for ending in (_LINE_END, _SENTENCE_END, _SPACE):
        if last := max((found.end() for found in ending.finditer(text, half, limit)), default=0):
            return last
    return limit
