"""A model that knows the labels, and answers in the form each system asks for. So no system is judged by a poor model.

    ours       a judgement of each numbered pair                                   Messages API, tool call
    mem0 2     what to add of a message, given the ten nearest memories            chat completion, JSON object
    mem0 1     the facts in a message; then what to do with the five nearest       chat completion, JSON object, twice
    graphiti   entities; which of them are known; facts between them; which of those they repeat or end      JSON by schema

To each it gives the answer that system's own prompt asks for and that does it most good: mem0 1 is told to update what is outdated, though
its prompt has it delete a contradiction, after which nothing is added; graphiti gets the same two entities for two wordings of one fact.
"""

import ast
import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from providers.mind import Relation
from tests.model_server import judging

from .cases import Case, normal

Body: TypeAlias = dict[str, Any]
Stands = Literal["repeats", "ends", "ended", "apart"]
"""How what is said stands to what is known: it repeats it, ends it, was ended by it, or is another fact."""

WORDS_OF_A_NAME = 3
MEM0_UPDATING = "The new retrieved facts are mentioned in the triple backticks"


class UnknownQuestion(ValueError):
    """A system asked in a form that is not known here: its prompts changed with its version."""


class Knowing:
    """The labels, by the words of the pairs."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._of = {normal(text): case for case in cases for text in (case.first, case.second)}

    def stands(self, said: str, known: str) -> Stands:
        """How `said` stands to `known`."""
        if normal(said) == normal(known):
            return "repeats"
        case = self._of.get(normal(said))
        if case is None or case is not self._of.get(normal(known)) or case.kind == "compatible":
            return "apart"
        if case.kind == "update":
            return "ends" if normal(said) == normal(case.second) else "ended"
        return "repeats"

    def relation(self, older: str, newer: str) -> Relation:
        """The same as the one question of this system asks it."""
        relations: dict[Stands, Relation] = {"repeats": "same", "ends": "updates", "ended": "updates", "apart": "compatible"}
        return relations[self.stands(newer, older)]

    def entities(self, said: str) -> tuple[str, str]:
        """Whom or what a fact is about, and what it says of that: one pair of names for two wordings of one fact."""
        case = self._of.get(normal(said))
        if case is None:
            return _ends(said, said)
        about, detail = _ends(case.first, case.first if case.kind == "same" else said)
        return case.subject or about, detail


def _ends(first: str, said: str) -> tuple[str, str]:
    """The first words of one text and the last ones of another, as names that differ."""
    beginning, end = first.rstrip(".").split()[:WORDS_OF_A_NAME], said.rstrip(".").split()[-WORDS_OF_A_NAME:]
    about, detail = " ".join(beginning), " ".join(end)
    return (about, detail) if normal(about) != normal(detail) else (about, f"the {detail}")


def message(body: Body, knowing: Knowing) -> Body:
    """The tool's input for a request to the Messages API."""
    answer: Body = judging(knowing.relation)(body)
    return answer


def completion(body: Body, knowing: Knowing) -> Body:
    """The JSON object for a request to the chat completions API. Raises UnknownQuestion."""
    asked = [str(turn["content"]) for turn in body["messages"]]
    schema = body.get("response_format", {}).get("json_schema", {}).get("name")
    if schema in _GRAPHITI:
        return _GRAPHITI[schema](asked[-1], knowing)
    if "## Existing Memories\n" in asked[-1]:
        return _mem0_adding(asked[-1], knowing)
    if asked[-1].startswith("Input:\n"):
        return {"facts": _said(asked[-1].removeprefix("Input:\n"))}
    if MEM0_UPDATING in asked[-1]:
        return _mem0_updating(asked[-1], knowing)
    raise UnknownQuestion(f"nobody knows how to answer {schema or 'a question without a schema'}: {asked[-1][:200]!r}")


# ── mem0 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _said(messages: str) -> list[str]:
    return [line.removeprefix("user: ") for line in messages.splitlines() if line.startswith("user: ")]


def _mem0_adding(asked: str, knowing: Knowing) -> Body:
    """Version 2: everything is an addition, and what is known in substance is skipped."""
    known = [memory["text"] for memory in json.loads(_between(asked, "## Existing Memories\n", "\n\n## "))]
    said = _said(_between(asked, "## New Messages\n", "\n\n## "))
    new = [text for text in said if all(knowing.stands(text, memory) != "repeats" for memory in known)]
    return {"memory": [{"id": str(number), "text": text, "attributed_to": "user"} for number, text in enumerate(new)]}


def _mem0_updating(asked: str, knowing: Knowing) -> Body:
    """Version 1: each memory as it stays or is changed, and what is new."""
    before, _, after = asked.rpartition(MEM0_UPDATING)
    _, found, known = before.rpartition("current content of my memory")
    said: list[str] = _fenced(after)
    memories: list[dict[str, str]] = _fenced(known) if found else []
    answer: list[Body] = []
    settled: set[str] = set()
    for memory in memories:
        stands = {text: knowing.stands(text, memory["text"]) for text in said}
        newer = next((text for text, how in stands.items() if how == "ends"), None)
        settled |= {text for text, how in stands.items() if how != "apart"}
        changed = {"text": newer, "event": "UPDATE", "old_memory": memory["text"]} if newer else {"text": memory["text"], "event": "NONE"}
        answer.append({"id": memory["id"], **changed})
    new = [text for text in said if text not in settled]
    answer += [{"id": str(len(memories) + number), "text": text, "event": "ADD"} for number, text in enumerate(new)]
    return {"memory": answer}


def _fenced(text: str) -> Any:
    return ast.literal_eval(_between(text, "```\n", "\n    ```").strip())


# ── graphiti ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _entities(asked: str, knowing: Knowing) -> Body:
    said = next(_between(asked, f"<{tag}>\n", f"\n</{tag}>") for tag in ("TEXT", "CURRENT MESSAGE") if f"<{tag}>\n" in asked)
    names = knowing.entities(said.strip())
    return {"extracted_entities": [{"name": name, "entity_type_id": 0, "episode_indices": [0]} for name in names]}


def _resolutions(asked: str, knowing: Knowing) -> Body:
    """Entities of the same name are one."""
    entities = json.loads(_between(asked, "<ENTITIES>\n", "\n</ENTITIES>"))
    known = {
        normal(one["name"]): one["candidate_id"] for one in json.loads(_between(asked, "<EXISTING ENTITIES>\n", "\n</EXISTING ENTITIES>"))
    }
    return {
        "entity_resolutions": [
            {"id": one["id"], "name": one["name"], "duplicate_candidate_id": known.get(normal(one["name"]), -1)} for one in entities
        ]
    }


def _facts(asked: str, knowing: Knowing) -> Body:
    said = _between(asked, "<CURRENT_MESSAGE>\n", "\n</CURRENT_MESSAGE>").strip()
    at = _between(asked, "<REFERENCE_TIME>\n", "  #").strip()
    about, detail = knowing.entities(said)
    fact = {"source_entity_name": about, "target_entity_name": detail, "relation_type": "SAID_OF", "fact": said}
    return {"edges": [{**fact, "valid_at": at.replace(" ", "T").replace("+00:00", "Z"), "invalid_at": None, "episode_indices": [0]}]}


def _repeated_and_ended(asked: str, knowing: Knowing) -> Body:
    repeatable = ast.literal_eval(_between(asked, "<EXISTING FACTS>\n", "\n</EXISTING FACTS>"))
    others = ast.literal_eval(_between(asked, "<FACT INVALIDATION CANDIDATES>\n", "\n</FACT INVALIDATION CANDIDATES>"))
    said = _between(asked, "<NEW FACT>\n", "\n</NEW FACT>").strip()
    repeated = [fact["idx"] for fact in repeatable if knowing.stands(said, fact["fact"]) == "repeats"]
    exclusive = [fact["idx"] for fact in (*repeatable, *others) if knowing.stands(said, fact["fact"]) in ("ends", "ended")]
    return {"duplicate_facts": repeated, "contradicted_facts": exclusive}  # which of the two ends the other, it decides by their dates


def _moments(asked: str, knowing: Knowing) -> Body:
    at = _between(asked, "<REFERENCE TIME>\n", "\n</REFERENCE TIME>").strip()
    return {"valid_at": at.replace("+00:00", "Z"), "invalid_at": None}


def _summaries(asked: str, knowing: Knowing) -> Body:
    entities = json.loads(_between(asked, "<ENTITIES>\n", "\n</ENTITIES>"))
    return {"summaries": [{"name": one["name"], "summary": str(one["summary"])[:200]} for one in entities]}


_GRAPHITI: dict[str, Callable[[str, Knowing], Body]] = {
    "ExtractedEntities": _entities,
    "NodeResolutions": _resolutions,
    "ExtractedEdges": _facts,
    "EdgeDuplicate": _repeated_and_ended,
    "EdgeTimestamps": _moments,
    "SummarizedEntities": _summaries,
}


def _between(text: str, start: str, end: str) -> str:
    """What stands between the two. Raises UnknownQuestion."""
    _, found, rest = text.partition(start)
    inside, closed, _ = rest.partition(end)
    if not found or not closed:
        raise UnknownQuestion(f"{start!r} ... {end!r} is not in {text[:200]!r}")
    return inside
