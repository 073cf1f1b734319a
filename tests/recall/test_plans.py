"""Plans: the spec's numbers, and another plan for an agent or a call."""

from datetime import UTC, datetime

import pytest

from nous.errors import Misconfigured
from recall.framing import FRAMES, Frame
from recall.intent import signals
from recall.plans import PASSAGES, Overrides, Plan, furthest_window, overrides, plan

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


def planned(question: str = "Where does Maria work?", *, frame: Frame | None = None, other: Overrides | None = None) -> Plan:
    return plan(signals(question, frame=frame), question, NOW, overrides=other)


def test_each_frame_has_the_specs_budget_and_window() -> None:
    made = {frame: planned(frame=frame) for frame in FRAMES}
    assert {frame: one.tokens for frame, one in made.items()} == {
        "conversation": 3_000,
        "question": 6_000,
        "task": 8_000,
        "decision": 12_000,
        "creative": 6_000,
        "debug": 10_000,
    }
    assert [made[frame].window for frame in ("conversation", "question", "task", "decision", "creative", "debug")] == [3, 5, 5, 8, 4, 6]


def test_a_conversation_fetches_decisions_and_facts_alone_and_little_of_them() -> None:
    made = planned("Maria has moved.")
    assert made.kinds == ("fact", "decision")
    assert made.sections == {"decisions": 500, "facts": 500, "procedures": 0, "episodes": 0}


def test_without_a_hint_five_of_each_are_wanted() -> None:
    limits = {query.kind: query.limit for query in planned("Does Maria work?").queries}
    assert limits == {"fact": 5, "episode": 5, "decision": 5, "procedure": 5, "passage": PASSAGES}


def test_as_many_passages_are_wanted_as_bring_what_was_said_unless_another_kind_is_asked_for() -> None:
    assert {query.kind: query.limit for query in planned("What is her hobby?").queries}["passage"] == PASSAGES
    assert {query.kind: query.limit for query in planned("How do I deploy?").queries}["passage"] == 3


def test_dates_are_read_where_they_tell_which_memories_are_meant() -> None:
    question = "Shall it be 2023-05-07?"
    assert {frame for frame in FRAMES if planned(question, frame=frame).when} == {"question", "task", "debug"}


def test_the_whole_question_is_planned_for_however_it_is_said() -> None:
    assert planned("to be or not to be?").queries


def test_an_agent_may_have_another_plan_and_what_it_does_not_name_stays() -> None:
    said = {
        "*": {"window": {"question": 9}, "sections": {"question": {"decisions": 100, "facts": 700}}},
        "agent-7": {"tokens": {"question": 400}, "limit": {"fact": 12}, "skip": ["passage"], "sections": {"question": {"decisions": 0}}},
    }
    made = planned("Does Maria work?", other=overrides(said, "agent-7"))
    assert (made.tokens, made.window) == (400, 9)
    assert made.sections == {"decisions": 0, "facts": 700}
    assert {query.kind: query.limit for query in made.queries} == {"fact": 12, "procedure": 5, "episode": 5}
    assert planned(other=overrides(said, "agent-8")).tokens == 6_000


def test_a_call_goes_over_the_agents_plan() -> None:
    of_agent = overrides({"agent-7": {"tokens": {"question": 400, "task": 50}}}, "agent-7")
    both = Overrides(tokens={"question": 300}, otherwise=2).over(of_agent)
    assert both.tokens == {"question": 300, "task": 50}
    assert {query.limit for query in planned("Does Maria work?", other=both).queries} == {2}


@pytest.mark.parametrize("said", [{"tokens": {"chess": 1}}, {"tokens": {"question": -1}}, {"limits": {}}, {"skip": ["feelings"]}])
def test_a_plan_that_cannot_be_meant_names_the_setting_and_the_place(said: dict[str, object]) -> None:
    with pytest.raises(Misconfigured, match="NOUS_RECALL_PLANS does not do for 'agent-7'"):
        overrides({"agent-7": said}, "agent-7")


def test_as_many_turns_are_read_as_any_frame_looks_back() -> None:
    assert furthest_window(Overrides()) == 8
    assert furthest_window(Overrides(window={"question": 100})) == 100
