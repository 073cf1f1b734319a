"""The mind that the replicas ask over HTTP: right by rule, and between its good moments everything a service can be.

well ─▶ slow ─▶ well ─▶ 429 ─▶ well ─▶ hangs ─▶ ...    each mood for a while, in an order that the seed gives
"""

import asyncio
import re
from random import Random
from typing import Any

from providers.mind import Relation
from tests.model_server import Answer, Body, Handler, ModelServer, failing, hanging, judging, slow

QUOTE = re.compile(r"I keep the keys in drawer (\d+)\.")
FALLBACK_TITLE = "Where the keys are"


def moods(server: ModelServer) -> dict[str, Handler]:
    """What it may be like, by name."""
    return {
        "slow": slow(1.0, server.healthy),
        "429": failing(429, retry_after="1"),
        "529": failing(529),
        "500": failing(500),
        "cuts the answer": server.cutting(),
        "answers in prose": server.bad("prose"),
        "answers a word that is none": server.bad("a wrong word"),
        "hangs": hanging,
    }


async def moody(server: ModelServer, dice: Random, *, within_s: float) -> list[str]:
    """Each mood once within so many seconds, as long well in between; the moods in their order."""
    order = dice.sample(list(found := moods(server)), len(found))
    share = within_s / (2 * len(order))
    try:
        for name in order:
            await asyncio.sleep(share)
            server.always(found[name])
            await asyncio.sleep(share)
            server.always(server.healthy)
    finally:
        server.always(server.healthy)
    return order


def knowing() -> Answer:
    """How two facts of these lives stand to each other, and what is worth knowing of their conversations."""
    relations = judging(relation)

    def answer(body: Body) -> Any:
        wanted = body["tools"][0]["input_schema"]["properties"]
        return relations(body) if "judgements" in wanted else {name: _remembered(body)[name] for name in wanted}

    return answer


def relation(older: str, newer: str) -> Relation:
    """The same person or team: in the same place or as many, or an update. Anything else has nothing to do with each other."""
    (one, value), (other, another) = stated(older), stated(newer)
    if one is None or one != other:
        return "compatible"
    return "same" if value == another else "updates"


def stated(content: str) -> tuple[str | None, str]:
    """Of whom something is said that changes, and what; None of what stays."""
    words = content.removesuffix(".").split()
    if "lives" in words:
        return (words[0], words[-1]) if words[1] == "lives" else (words[3], words[0])
    if words[-1:] == ["members"]:
        return " ".join(words[:2]), words[3]
    return None, content


def _remembered(body: Body) -> dict[str, Any]:
    said = QUOTE.search(str(body["messages"][0]["content"]))
    facts = [{"content": f"The keys are in drawer {said[1]}", "quote": said[0], "confidence": 0.9, "subject": "keys"}] if said else []
    told = {"title": FALLBACK_TITLE, "summary": "The user said where the keys are.", "outcome": "done", "notes": "The keys."}
    return told | {"lessons": ["Ask first."], "decisions": [], "facts": facts}
