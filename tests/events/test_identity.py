"""Ids that follow from what a retrying producer repeats; and what is written down reads back the same."""

import json
from datetime import UTC, datetime, timedelta, timezone
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzz
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel

from events import (
    CATALOGUE,
    CensorTriggered,
    DecisionRecorded,
    EpisodeClosed,
    Event,
    FactConfirmed,
    FactLearned,
    FactStored,
    decode,
    derived,
    encode,
)
from tests.factories import a_fact_learned

ENTRY, ANOTHER = "1772366400000-0", "1772366400000-1"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID, OTHER = "5f0c1a52-6f3e-4c1b-9d57-0a4d3c1e8b21", "0b9d4f6c-8f0e-4d3a-bb53-5b8f2f0f7a10"

MINIMAL: dict[type[Event], dict[str, Any]] = {
    FactLearned: {"fact_id": ID, "content": "Tea at four.", "agent_id": "agent-7"},
    EpisodeClosed: {"episode_id": ID, "agent_id": "agent-7"},
    CensorTriggered: {"censor_id": ID, "was_blocked": True, "agent_id": "agent-7"},
    DecisionRecorded: {"decision_id": ID, "description": "Postgres", "reasons": ["one thing to run"], "agent_id": "agent-7"},
}

SAME: list[tuple[type[Event], dict[str, Any]]] = [
    (FactLearned, {}),
    (FactLearned, {"confidence": 0.9}),
    (FactLearned, {"subject": None}),
    (FactLearned, {"quote": "She said: tea at four."}),
    (EpisodeClosed, {}),
    (DecisionRecorded, {}),
]
DIFFERENT: list[tuple[type[Event], dict[str, Any]]] = [
    (FactLearned, {"content": "Tea at five."}),
    (FactLearned, {"agent_id": "agent-8"}),
    (FactLearned, {"fact_id": OTHER}),
    (FactLearned, {"occurred_at": "2026-02-28T12:00:00Z"}),
    (EpisodeClosed, {"agent_id": "agent-8"}),
    (EpisodeClosed, {"episode_id": OTHER}),
    (EpisodeClosed, {"transcript": "Hello."}),
    (EpisodeClosed, {"occurred_at": "2026-02-28T12:00:00Z"}),
    (CensorTriggered, {}),
    (CensorTriggered, {"was_blocked": False}),
    (DecisionRecorded, {"description": "MongoDB"}),
    (DecisionRecorded, {"reasons": ["speed"]}),
    (DecisionRecorded, {"stakes": "low"}),
    (DecisionRecorded, {"decision_id": OTHER}),
    (DecisionRecorded, {"agent_id": "agent-8"}),
]


def the_id(kind: type[Event], entry: str, **over: Any) -> str:
    return decode(kind, json.dumps(MINIMAL[kind] | over).encode(), entry).event_id


def named(row: tuple[type[Event], dict[str, Any]]) -> str:
    return f"{row[0].stream} with {', '.join(row[1]) or 'nothing'} changed"


@pytest.mark.parametrize("row", SAME, ids=named)
def test_a_retry_published_again_is_the_same_event(row: tuple[type[Event], dict[str, Any]]) -> None:
    kind, over = row
    assert the_id(kind, ANOTHER, **over) == the_id(kind, ENTRY)


@pytest.mark.parametrize("row", DIFFERENT, ids=named)
def test_what_is_said_anew_is_another_event(row: tuple[type[Event], dict[str, Any]]) -> None:
    kind, over = row
    assert the_id(kind, ANOTHER, **over) != the_id(kind, ENTRY)


@pytest.mark.parametrize("kind", MINIMAL, ids=lambda kind: kind.stream)
def test_one_entry_delivered_twice_is_the_same_event(kind: type[Event]) -> None:
    assert the_id(kind, ENTRY) == the_id(kind, ENTRY)


@pytest.mark.parametrize("kind", MINIMAL, ids=lambda kind: kind.stream)
def test_a_producer_s_own_id_is_kept(kind: type[Event]) -> None:
    assert the_id(kind, ENTRY, event_id="mine") == the_id(kind, ANOTHER, event_id="mine") == "mine"


def test_a_fact_and_a_censor_of_the_same_words_are_two_events() -> None:
    fields = {**MINIMAL[FactLearned], **MINIMAL[CensorTriggered]}
    assert len({decode(kind, json.dumps(fields).encode(), ENTRY).event_id for kind in (FactLearned, CensorTriggered)}) == 2


def test_ids_are_made_the_same_way_for_ever() -> None:
    assert the_id(FactLearned, ENTRY) == "9a4113eb-b24b-51cf-97ce-286a2bdcca65"
    assert derived("a", "b") == "24c24f4c-6f5c-51e4-b2ea-e16e14bffaa1"


@pytest.mark.parametrize(
    ("one", "other"), [(("ab", "c"), ("a", "bc")), (("a",), ("a", "")), (("1:a",), ("a",)), (("a\x1f1:b",), ("a", "b"))]
)
def test_the_parts_of_an_id_are_kept_apart(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert derived(*one) != derived(*other)


def test_what_follows_from_an_event_follows_once_and_says_from_which() -> None:
    cause = a_fact_learned(traceparent="00-1")
    once, twice = (FactStored.following(cause, fact_id=cause.fact_id, content=cause.content) for _ in range(2))
    assert once == twice
    assert (once.agent_id, once.caused_by, once.occurred_at, once.traceparent) == (
        cause.agent_id,
        cause.event_id,
        cause.occurred_at,
        "00-1",
    )
    other = FactConfirmed.following(cause, fact_id=cause.fact_id, mention_id=cause.fact_id, confirmation_count=1, similarity=1)
    assert other.event_id not in {once.event_id, cause.event_id}


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stream_is_named_after_its_event() -> None:
    assert {stream: kind.__name__ for stream, kind in CATALOGUE.items()} == {
        "maintenance_due": "MaintenanceDue",
        "episode_aged": "EpisodeAged",
        "fact_unused": "FactUnused",
        "notes_piled_up": "NotesPiledUp",
        "transcript_expired": "TranscriptExpired",
        "fact_learned": "FactLearned",
        "episode_closed": "EpisodeClosed",
        "censor_triggered": "CensorTriggered",
        "decision_recorded": "DecisionRecorded",
        "decision_reviewed": "DecisionReviewed",
        "procedure_learned": "ProcedureLearned",
        "procedure_used": "ProcedureUsed",
        "memory_recalled": "MemoryRecalled",
        "memory_referenced": "MemoryReferenced",
        "fact_stored": "FactStored",
        "fact_confirmed": "FactConfirmed",
        "fact_superseded": "FactSuperseded",
        "fact_merged": "FactMerged",
        "fact_unsettled": "FactUnsettled",
        "episode_summarized": "EpisodeSummarized",
        "episode_unsettled": "EpisodeUnsettled",
        "censor_escalated": "CensorEscalated",
        "fact_restored": "FactRestored",
        "fact_split": "FactSplit",
        "fact_joined": "FactJoined",
        "fact_retired": "FactRetired",
        "procedure_restored": "ProcedureRestored",
        "fact_pinned": "FactPinned",
        "fact_unpinned": "FactUnpinned",
        "fact_reinstated": "FactReinstated",
        "fact_forgotten": "FactForgotten",
        "agent_forgotten": "AgentForgotten",
        "episode_restored": "EpisodeRestored",
        "episode_thawed": "EpisodeThawed",
        "censor_added": "CensorAdded",
        "censor_relaxed": "CensorRelaxed",
    }


def test_a_new_event_gets_its_stream_by_itself() -> None:
    class MemoryRecalledAgain(Event):
        """One more."""

    assert MemoryRecalledAgain.stream == "memory_recalled_again"


def test_every_event_of_the_contract_is_in_the_catalogue() -> None:
    assert {kind for kind in Event.__subclasses__() if kind.__module__.startswith("events.")} == set(CATALOGUE.values())


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_an_event_cannot_be_changed(kind: type[Event]) -> None:
    assert kind.model_config["frozen"] is True


# ── round trip ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=128)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2026, 2, 27), timezones=OFFSETS)  # noqa: DTZ001 - hypothesis adds the zone
OF_TYPE: dict[type, st.SearchStrategy[Any]] = {
    UUID: st.uuids(),
    str: TEXT,
    bool: st.booleans(),
    int: st.integers(1, 2**31 - 1),
    float: st.floats(0, 1),
    AwareDatetime: MOMENTS,
    NoneType: st.none(),
}


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Valid values of a field's type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is Annotated:
        return values(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.builds(annotation, **{name: values(field.annotation) for name, field in annotation.model_fields.items()})
    if NoneType in arguments:
        return st.one_of([values(one) for one in arguments])
    return OF_TYPE[annotation]


def events(kind: type[Event]) -> st.SearchStrategy[Event]:
    fields = {name: values(field.annotation) for name, field in kind.model_fields.items()}
    return st.fixed_dictionaries(fields | {"agent_id": NAME, "event_id": NAME, "caused_by": st.none() | NAME}).map(kind.model_validate)


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_what_is_encoded_decodes_to_the_same_event(kind: type[Event]) -> None:
    @fuzz(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(events(kind))
    def check(event: Event) -> None:
        assert decode(kind, encode(event), ENTRY) == event

    check()


def test_a_publication_says_nothing_of_what_is_absent() -> None:
    assert set(json.loads(encode(a_fact_learned(subject=None)))) == {
        "event_id",
        "agent_id",
        "occurred_at",
        "fact_id",
        "content",
        "provenance",
        "confidence",
    }
