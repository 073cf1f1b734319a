"""What a small model is asked for the record: our one question answered in one word, and the spec's two yes/no questions.

    one question   the system prompt and the facts as workers/standing/question.py writes them, and the answer one of its six words
    two questions  "are they saying the same thing?" and "does the new one contradict the old?", word for word as spec 002 has them

The model names the next word and its share (the probability of its first token); nothing is sampled, so that asking again says the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import httpx

from providers.mind import Pair, Relation
from workers.standing import question

from .minds import Said

IN_A_WORD = "Answer with one word and nothing else: same, refines, updates, contradicts, compatible or unsure."
RELATIONS: tuple[str, ...] = get_args(Relation)
YES_NO = ("yes", "no")

SAME = """Two facts about the same topic. Are they saying the same thing?

Existing: "{older}"
New: "{newer}"

Answer YES if they convey the same information (even if worded differently).
Answer NO if they contain meaningfully different information.
Answer only YES or NO."""

CONTRADICT = """Do these two facts{about} contradict each other?

Existing: "{older}"
New: "{newer}"

Answer YES if the new fact updates, corrects, or replaces the existing one.
Answer NO if they are compatible (both can be true).
Answer only YES or NO."""

SPEC_SAME, SPEC_CONTRADICT = "spec-same-1", "spec-contradict-1"


@dataclass(frozen=True, slots=True)
class Asking:
    """One question for the record: what it is recorded under, and the words it may be answered with."""

    version: str
    messages: Sequence[Mapping[str, str]]
    words: Sequence[str]


async def ask(client: httpx.AsyncClient, asking: Asking) -> Said:
    """The likeliest of the question's words, and the share of each. Raises httpx.HTTPError and KeyError when the server gives none."""
    body = {"messages": asking.messages, "max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
    answer = await client.post("/v1/chat/completions", json=body)
    answer.raise_for_status()
    tokens = answer.json()["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    shares = dict.fromkeys(asking.words, 0.0)
    for token in tokens:
        if word := _begun(token["token"], asking.words):
            shares[word] += math.exp(token["logprob"])
    return Said(max(shares, key=shares.__getitem__), {word: round(share, 4) for word, share in shares.items()})


def _begun(token: str, words: Sequence[str]) -> str | None:
    """The word that begins with the token, if only one does."""
    start = token.strip().lower()
    found = [word for word in words if start and word.startswith(start)]
    return found[0] if len(found) == 1 else None


def one_question(pair: Pair) -> Asking:
    """Ours."""
    prompt = question.about([pair]).prompt
    system = {"role": "system", "content": f"{prompt.system}\n\n{IN_A_WORD}"}
    return Asking(prompt.version, [system, {"role": "user", "content": prompt.text}], RELATIONS)


def two_questions(pair: Pair) -> tuple[Asking, Asking]:
    """The spec's: whether they say the same, and whether the new one contradicts the old."""
    about = f' about "{pair.newer.subject}"' if pair.newer.subject else ""
    texts = {"older": pair.older.content, "newer": pair.newer.content}
    return _yes_or_no(SPEC_SAME, SAME.format(**texts)), _yes_or_no(SPEC_CONTRADICT, CONTRADICT.format(**texts, about=about))


def _yes_or_no(version: str, text: str) -> Asking:
    return Asking(version, [{"role": "user", "content": text}], YES_NO)
