"""The model that knows the labels answers each system in the form it asks, and says when it is asked in a form it does not know."""

import json

import pytest

from bench.peers.cases import Case
from bench.peers.model import Knowing, UnknownQuestion, completion, message

OLD, NEW = "Ines lives in Porto.", "Ines moved to Braga."
ONE, OTHER = "Bram commutes by bicycle.", "Bram rides his bike to work."
APART = "Nadia bought a lathe."
KNOWING = Knowing(
    [
        Case("update", "update", OLD, NEW),
        Case("same", "same", ONE, OTHER),
        Case("compatible", "compatible", APART, "Nadia bought a band saw."),
    ]
)


def _asked(text, schema=None):
    form = {"type": "json_schema", "json_schema": {"name": schema}} if schema else {"type": "json_object"}
    return completion({"messages": [{"role": "user", "content": text}], "response_format": form}, KNOWING)


@pytest.mark.parametrize(
    ("said", "known", "stands"),
    [
        (NEW, OLD, "ends"),
        (OLD, NEW, "ended"),
        (OTHER, ONE, "repeats"),
        (OLD.upper(), OLD, "repeats"),
        (APART, "Nadia bought a band saw.", "apart"),
        (NEW, ONE, "apart"),
        ("nobody knows this", "nor this", "apart"),
    ],
)
def test_how_two_facts_stand_is_what_their_label_says(said, known, stands):
    assert KNOWING.stands(said, known) == stands


def test_this_system_is_told_the_relation_of_each_numbered_pair():
    facts = "\n".join(f'<fact id="F{number}" said="x">{text}</fact>' for number, text in enumerate((OLD, NEW, APART), 1))
    asked = f"<facts>\n{facts}\n</facts>\n\npair 1: older F1, newer F2\npair 2: older F1, newer F3\n"
    answer = message({"messages": [{"role": "user", "content": asked}]}, KNOWING)
    assert [judgement["relation"] for judgement in answer["judgements"]] == ["updates", "compatible"]


@pytest.mark.parametrize(("said", "known", "added"), [(OTHER, ONE, []), (NEW, OLD, [NEW]), (APART, OLD, [APART])])
def test_mem0_2_is_told_to_add_all_but_what_it_knows_in_substance(said, known, added):
    memories = json.dumps([{"id": "0", "text": known}])
    asked = f"## Existing Memories\n{memories}\n\n## New Messages\nuser: {said}\n\n\n## Observation Date\n2026-01-01\n\n# Output:"
    assert [one["text"] for one in _asked(asked)["memory"]] == added


def _updating(memories, said):
    known = (
        f"Below is the current content of my memory which I have:\n\n    ```\n    {memories}\n    ```\n\n    "
        if memories
        else "    empty\n"
    )
    new = f"The new retrieved facts are mentioned in the triple backticks.\n\n    ```\n    {[said]}\n    ```\n"
    asked = f"an example:\n```\nnot this\n    ```\n{known}{new}"
    return [(one["event"], one["text"]) for one in _asked(asked)["memory"]]


def test_mem0_1_is_told_to_update_what_is_ended_and_to_leave_what_is_repeated():
    memories = [{"id": "0", "text": OLD}, {"id": "1", "text": ONE}]
    assert _updating(memories, NEW) == [("UPDATE", NEW), ("NONE", ONE)]
    assert _updating(memories, OTHER) == [("NONE", OLD), ("NONE", ONE)]
    assert _updating(memories, APART) == [("NONE", OLD), ("NONE", ONE), ("ADD", APART)]
    assert _updating([], APART) == [("ADD", APART)]


def test_mem0_1_is_told_the_fact_in_a_message():
    assert _asked(f"Input:\nuser: {OLD}\n") == {"facts": [OLD]}


def test_graphiti_gets_the_same_entities_for_two_wordings_and_another_detail_for_an_update():
    assert KNOWING.entities(ONE) == KNOWING.entities(OTHER)
    assert KNOWING.entities(OLD)[0] == KNOWING.entities(NEW)[0]
    assert KNOWING.entities(OLD)[1] != KNOWING.entities(NEW)[1]


def test_graphiti_is_told_what_a_fact_repeats_and_what_it_cannot_be_true_with():
    asked = (
        f"<EXISTING FACTS>\n{[{'idx': 0, 'fact': ONE}]}\n</EXISTING FACTS>\n"
        f"<FACT INVALIDATION CANDIDATES>\n{[{'idx': 1, 'fact': OLD}]}\n</FACT INVALIDATION CANDIDATES>\n<NEW FACT>\n%s\n</NEW FACT>"
    )
    assert _asked(asked % OTHER, "EdgeDuplicate") == {"duplicate_facts": [0], "contradicted_facts": []}
    assert _asked(asked % NEW, "EdgeDuplicate") == {"duplicate_facts": [], "contradicted_facts": [1]}


def test_a_question_in_a_form_that_is_not_known_is_refused():
    with pytest.raises(UnknownQuestion, match="nobody knows how to answer Poem"):
        _asked("Write one.", "Poem")
