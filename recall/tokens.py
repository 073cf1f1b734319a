"""How many tokens a text takes: about, while memories are ranked, and surely, before they are told.

    approximate(text)   no tokenizer: a token for four letters of the Latin alphabet, one for each character of most others
    counted(text)       a real tokenizer, and the margin by which Claude's may count more

Claude's tokenizer is not public. A budget is held against `o200k_base`, whose vocabulary comes with the package toktok-rs, times MARGIN.
The margin is of two published figures: Claude 3.5's tokenizer makes 16 % more tokens of English articles than GPT-4o's, which is
o200k_base (Vantage, "Hidden costs in AI deployment", 2025; 21 % of mathematics, 30 % of Python), and the one of Opus 4.7, Sonnet 5 and
their successors about 30 % more than that (Anthropic's documentation of token counting). NOUS_RECALL_TOKEN_MARGIN sets another.
"""

import math

import toktok

ENCODING = "o200k_base"
MARGIN = 1.51
"""1.16 times 1.30: prose, on the newer tokenizers."""

LONGEST_WORD = 400
"""Characters without a space that are counted in one go; longer ones are counted in pieces, each of which may be a token more."""

CHARACTERS_OF_A_TOKEN = 4  # of Latin letters (spec 003)


def approximate(text: str) -> int:
    """About how many tokens: fast, and for ordering and first cuts only."""
    if text.isascii():
        return len(text) // CHARACTERS_OF_A_TOKEN + 1 if text else 0
    wide = sum(character > "\u02ff" for character in text)
    return (len(text) - wide) // CHARACTERS_OF_A_TOKEN + wide + 1


def counted(text: str, *, margin: float = MARGIN) -> int:
    """How many tokens a budget is charged for `text`: those of o200k_base, and the margin. No text takes none."""
    return counted_all([text], margin=margin)[0]


def counted_all(texts: list[str], *, margin: float = MARGIN) -> list[int]:
    """`counted` of each."""
    parts = [_parts(text) for text in texts]
    counts = iter(toktok.batch_count([part for some in parts for part in some], ENCODING, 1))
    return [math.ceil(sum(next(counts) for _ in some) * margin) for some in parts]


def _parts(text: str) -> list[str]:
    """The text, or where a word of it is longer than words are, its pieces: the tokenizer takes the square of a word's length."""
    if all(len(word) <= LONGEST_WORD for word in text.split()):
        return [text]
    return [text[at : at + LONGEST_WORD] for at in range(0, len(text), LONGEST_WORD)]


def fitting(text: str, most: int, *, margin: float = MARGIN) -> str:
    """The longest beginning of `text` that `counted` charges no more than `most` for."""
    room = int(max(most, 0) / margin)
    cut: str = toktok.truncate(text, room, ENCODING)[0]
    while cut and counted(cut, margin=margin) > most:  # the beginning of a text may be cut into more tokens than it was
        room -= 1
        cut = toktok.truncate(cut, max(room, 0), ENCODING)[0]
    return cut
