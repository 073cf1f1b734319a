"""A title and a summary without a mind, cut out of what was said: word for word, in any script, and no facts.

title    the first sentence of the user's, or of anybody's
summary  sentences of both ends, then those with a number or a name, at most 150 words, in their order
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nous.text import UNSPACED
from providers.mind import Utterance

from .transcript import voucher

TITLE_WORDS = 10
SUMMARY_WORDS = 150
SENTENCE_CHARACTERS = 300
TITLE_CHARACTERS = 80
SUMMARY_CHARACTERS = 2_000  # where words are long, or no words
AT_EACH_END = 2

_SENTENCES = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？।])\s*|\n+")
_TELLING = re.compile(r"\d|(?<=[^\W\d_,] )(?!I\b)[^\W\d_a-z]\w*[a-z]")
_WORD_CHARACTERS = 2  # of a script without spaces


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: int
    speaker: str | None
    words: str

    @property
    def length(self) -> int:
        """In words."""
        return len(self.words.split()) + len(UNSPACED.findall(self.words)) // _WORD_CHARACTERS


def extracted(said: Sequence[Utterance]) -> tuple[str, str]:
    """Title and summary of what was said; somebody whose words count must have said something."""
    sentences = _said(said)
    first = next((one for one in sentences if voucher(one.speaker) == "user_stated"), sentences[0])
    return title(first.words), _bounded(_told(_chosen(sentences)), SUMMARY_CHARACTERS)


def chosen(said: Sequence[Utterance]) -> list[Utterance]:
    """The sentences that the summary is made of, in its order, and who says them."""
    return [Utterance(content=one.words, speaker=one.speaker) for one in _chosen(_said(said))]


def _said(said: Sequence[Utterance]) -> list[_Sentence]:
    spoken = [one for one in said if voucher(one.speaker)]
    return list(_sentences(spoken)) or [_Sentence(0, one.speaker, _bounded(one.content, SENTENCE_CHARACTERS)) for one in spoken[:1]]


def _sentences(said: Sequence[Utterance]) -> Iterator[_Sentence]:
    """Each sentence with a word in it, the first time it is said; the number of a list's item is none."""
    seen: set[str] = set()
    for one in said:
        for found in _SENTENCES.split(one.content):
            words = _bounded(" ".join(found.split()), SENTENCE_CHARACTERS)
            if words not in seen and any(character.isalpha() for character in words):
                yield _Sentence(len(seen), one.speaker, words)
                seen.add(words)


def _chosen(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    ends = {*range(AT_EACH_END), *range(len(sentences) - AT_EACH_END, len(sentences))}
    by_worth = sorted(sentences, key=lambda one: (one.place not in ends, not _TELLING.search(one.words), one.place))
    chosen: list[_Sentence] = []
    left = SUMMARY_WORDS
    for one in by_worth:
        if one.length <= left or not chosen:
            chosen.append(one)
            left -= one.length
    return sorted(chosen, key=lambda one: one.place)


def _told(sentences: Sequence[_Sentence]) -> str:
    """The sentences, each speaker named where another begins to speak."""
    told: list[str] = []
    speaker: str | None = None
    for one in sentences:
        told.append(f"{one.speaker}: {one.words}" if one.speaker and one.speaker != speaker else one.words)
        speaker = one.speaker
    return " ".join(told)


def title(words: str) -> str:
    """The beginning of these words, short enough for a title."""
    shown = words.split()
    cut = " ".join(shown[:TITLE_WORDS])
    return _bounded(cut if len(shown) <= TITLE_WORDS else f"{cut}…", TITLE_CHARACTERS)


def _bounded(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
