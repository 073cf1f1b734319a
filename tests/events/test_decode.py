"""Every body has a clear outcome: an event, or one sentence that says what is wrong and what to send instead."""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from faststream.redis.parser import BinaryMessageFormatV1
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzz
from hypothesis import strategies as st

from events import (
    CATALOGUE,
    MAX_BODY_BYTES,
    CensorTriggered,
    DecisionRecorded,
    EpisodeClosed,
    Event,
    FactLearned,
    MalformedEvent,
    body_of,
    decode,
    encode,
    entry_time,
)

ENTRY = "1772366400000-0"  # 2026-03-01T12:00:00Z
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID = "5f0c1a52-6f3e-4c1b-9d57-0a4d3c1e8b21"
EMOJI = "\U0001f600"

# As the spec writes them, and nothing else.
FACT: dict[str, Any] = {"fact_id": ID, "content": "Tea at four.", "subject": None, "agent_id": "agent-7"}
EPISODE: dict[str, Any] = {"episode_id": ID, "agent_id": "agent-7"}
CENSOR: dict[str, Any] = {"censor_id": ID, "was_blocked": True, "agent_id": "agent-7"}


def body(minimal: dict[str, Any], **over: Any) -> bytes:
    return json.dumps(minimal | over).encode()


def without(minimal: dict[str, Any], name: str) -> bytes:
    return json.dumps({key: value for key, value in minimal.items() if key != name}).encode()


def extended(minimal: dict[str, Any], tail: bytes) -> bytes:
    """The minimal body with JSON appended as it is written, for what `json.dumps` would not write."""
    return body(minimal)[:-1] + b", " + tail + b"}"


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return extended(FACT | EPISODE, b'"x": ' + opening * depth + b"1" + closing * depth)


def outcome(kind: type[Event], raw: bytes) -> Event | MalformedEvent:
    try:
        return decode(kind, raw, ENTRY)
    except MalformedEvent as malformed:
        return malformed


EVENTS: dict[str, tuple[type[Event], bytes, dict[str, Any]]] = {
    "a minimal fact": (
        FactLearned,
        body(FACT),
        {
            "fact_id": UUID(ID),
            "content": "Tea at four.",
            "subject": None,
            "agent_id": "agent-7",
            "provenance": "assistant_derived",
            "confidence": 0.5,
            "occurred_at": NOON,
            "caused_by": None,
        },
    ),
    "a minimal episode": (EpisodeClosed, body(EPISODE), {"episode_id": UUID(ID), "transcript": None, "decision_ids": ()}),
    "a minimal censor": (CensorTriggered, body(CENSOR), {"censor_id": UUID(ID), "was_blocked": True, "false_positive": False}),
    "a subject": (FactLearned, body(FACT, subject="Maria"), {"subject": "Maria"}),
    "null is absent": (FactLearned, body(FACT, confidence=None, event_id=None, occurred_at=None), {"confidence": 0.5, "occurred_at": NOON}),
    "a field that is not known": (FactLearned, body(FACT, colour="blue", stream="elsewhere"), {"agent_id": "agent-7"}),
    "NUL and half a character in a list": (
        DecisionRecorded,
        body({"agent_id": "agent-7", "decision_id": FACT["fact_id"], "description": "d"}, reasons=["a\0b", "c\ud800"]),
        {"reasons": ("ab", "c\ufffd")},
    ),
    "NUL in the content": (FactLearned, body(FACT, content="a\0b\0"), {"content": "ab"}),
    "a lone high surrogate": (FactLearned, body(FACT, content="a\ud800b"), {"content": "a\ufffdb"}),
    "a lone low surrogate": (FactLearned, body(FACT, content="\udfff"), {"content": "\ufffd"}),
    "surrogates the wrong way round": (FactLearned, body(FACT, content="\ude00\ud83d"), {"content": "\ufffd\ufffd"}),
    "surrogates as raw bytes": (FactLearned, body(FACT, content="~").replace(b"~", b"\xed\xa0\x80"), {"content": "\ufffd"}),
    "a pair of surrogates": (FactLearned, extended(FACT, b'"content": "\\ud83d\\ude00"'), {"content": EMOJI}),
    "a name that is a surrogate": (FactLearned, extended(FACT, b'"\\ud800": 1'), {"content": "Tea at four."}),
    "8,000 emoji": (FactLearned, body(FACT, content=EMOJI * 8_000), {"content": EMOJI * 8_000}),
    "8,000 emoji as UTF-8": (FactLearned, json.dumps(FACT | {"content": EMOJI * 8_000}, ensure_ascii=False).encode(), {}),
    "Chinese": (FactLearned, body(FACT, content="我喜欢在早上喝咖啡"), {"content": "我喜欢在早上喝咖啡"}),
    "Japanese": (FactLearned, body(FACT, content="猫の名前はミミです"), {"content": "猫の名前はミミです"}),
    "Arabic": (FactLearned, body(FACT, content="تحب ليلى القهوة"), {"content": "تحب ليلى القهوة"}),
    "Thai": (FactLearned, body(FACT, content="ฉันชอบกาแฟ"), {"content": "ฉันชอบกาแฟ"}),
    "a byte order mark": (FactLearned, b"\xef\xbb\xbf" + body(FACT), {"content": "Tea at four."}),
    "empty content": (FactLearned, body(FACT, content=""), {"content": ""}),
    "white space content": (FactLearned, body(FACT, content=" \n\t\u3000"), {"content": " \n\t\u3000"}),
    "SQL in the agent": (FactLearned, body(FACT, agent_id="a'; DROP TABLE heart.facts;--"), {"agent_id": "a'; DROP TABLE heart.facts;--"}),
    "an agent of 128 characters": (FactLearned, body(FACT, agent_id="界" * 128), {"agent_id": "界" * 128}),
    "an agent with spaces": (FactLearned, body(FACT, agent_id=" a b "), {"agent_id": " a b "}),
    "a key twice: the last counts": (FactLearned, extended(FACT, b'"agent_id": "second"'), {"agent_id": "second"}),
    "a time with an offset": (
        FactLearned,
        body(FACT, occurred_at="2026-03-01T08:00:00+02:00"),
        {"occurred_at": NOON - timedelta(hours=6)},
    ),
    "the zero time of a clock that was never set, which Postgres' driver would take for infinite": (
        FactLearned,
        body(FACT, occurred_at="0001-01-01T00:00:00Z"),
        {"occurred_at": datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC)},
    ),
    "a time in the future": (FactLearned, body(FACT, occurred_at="2199-01-01T00:00:00Z"), {"occurred_at": NOON + timedelta(minutes=5)}),
    "a time four minutes ahead": (
        FactLearned,
        body(FACT, occurred_at="2026-03-01T12:04:00Z"),
        {"occurred_at": NOON + timedelta(minutes=4)},
    ),
    "confidence 0 and 1": (FactLearned, extended(FACT, b'"confidence": 1'), {"confidence": 1.0}),
    "an id in capitals": (FactLearned, body(FACT, fact_id=ID.upper()), {"fact_id": UUID(ID)}),
    "an event_id of its own": (FactLearned, body(FACT, event_id="mine"), {"event_id": "mine"}),
    "nesting where nobody looks": (FactLearned, nested(500), {"content": "Tea at four."}),
    "a transcript of 1 MiB": (EpisodeClosed, body(EPISODE, transcript="x" * 2**20), {"transcript": "x" * 2**20}),
    "a transcript of 1 MiB in Chinese, escaped": (EpisodeClosed, body(EPISODE, transcript="界" * (2**20 // 3)), {}),
}

MALFORMED: dict[str, tuple[type[Event], bytes, str]] = {
    "not JSON": (FactLearned, b"hello", "the body is not json (at character 1); it begins: hello"),
    "an empty body": (FactLearned, b"", "the body is not JSON"),
    "half of a body": (FactLearned, body(FACT)[:-9], "the body is not JSON"),
    "a list": (FactLearned, b"[]", "the body is a JSON list, and an event is a JSON object; it begins: []"),
    "a text": (FactLearned, b'"hello"', "the body is a JSON str"),
    "null": (FactLearned, b"null", "the body is null, and an event is a JSON object"),
    "not UTF-8": (FactLearned, b'{"content": "\xff"}', "the body is no text (at byte 14); publish JSON as utf-8"),
    "nested too deeply": (FactLearned, nested(100_000), "nested too deeply"),
    "objects nested too deeply": (EpisodeClosed, nested(100_000, b'{"a":', b"}"), "nested too deeply"),
    "a number of 5,000 digits": (FactLearned, extended(FACT, b'"x": ' + b"9" * 5_000), "the body is not JSON (a number in it is too long)"),
    "no fact_id": (FactLearned, without(FACT, "fact_id"), "fact_id: field required"),
    "no content": (FactLearned, without(FACT, "content"), "content: field required"),
    "no agent_id": (FactLearned, without(FACT, "agent_id"), "agent_id: field required"),
    "nothing": (FactLearned, b"{}", "agent_id: field required; fact_id: field required; content: field required"),
    "no episode_id": (EpisodeClosed, without(EPISODE, "episode_id"), "episode_id: field required"),
    "no was_blocked": (CensorTriggered, without(CENSOR, "was_blocked"), "was_blocked: field required"),
    "null where a value is required": (FactLearned, body(FACT, content=None), "content: field required"),
    "8,001 characters": (FactLearned, body(FACT, content=EMOJI * 8_001), "content: string should have at most 8000 characters"),
    "a list as content": (FactLearned, body(FACT, content=["tea"]), "content: input should be a valid string, got ['tea']"),
    "a number as agent": (FactLearned, body(FACT, agent_id=7), "agent_id: input should be a valid string, got 7"),
    "a fact_id that is none": (FactLearned, body(FACT, fact_id="fact-1"), "fact_id: is no UUID, got 'fact-1'"),
    "a number as fact_id": (FactLearned, body(FACT, fact_id=7), "fact_id"),
    "provenance of its own": (FactLearned, body(FACT, provenance="guessed"), "provenance: input should be 'user_stated'"),
    "was_blocked maybe": (CensorTriggered, body(CENSOR, was_blocked="maybe"), "was_blocked: input should be a valid boolean"),
    "confidence NaN": (FactLearned, extended(FACT, b'"confidence": NaN'), "confidence: input should be less than or equal to 1, got nan"),
    "confidence infinite": (FactLearned, extended(FACT, b'"confidence": 1e999'), "confidence"),
    "confidence 1.1": (FactLearned, body(FACT, confidence=1.1), "confidence: input should be less than or equal to 1, got 1.1"),
    "confidence -0.1": (FactLearned, body(FACT, confidence=-0.1), "confidence: input should be greater than or equal to 0, got -0.1"),
    "confidence of 400 digits": (FactLearned, body(FACT, confidence=10**400), "confidence"),
    "confidence in words": (FactLearned, body(FACT, confidence="high"), "confidence: input should be a valid number"),
    "a count beyond Postgres": (EpisodeClosed, body(EPISODE, turn_count=2**31), "turn_count: input should be less than or equal to"),
    "a count below zero": (EpisodeClosed, body(EPISODE, tool_count=-1), "tool_count: input should be greater than or equal to 0"),
    "a naive time": (
        FactLearned,
        body(FACT, occurred_at="2026-03-01T12:00:00"),
        "occurred_at: input should have timezone info, got '2026-03-01T12:00:00'; add Z or an offset such as +02:00",
    ),
    "a date": (FactLearned, body(FACT, occurred_at="2026-03-01"), "add Z or an offset such as +02:00"),
    "a time in words": (FactLearned, body(FACT, occurred_at="noon"), "occurred_at: is no time, such as 2026-03-01T09:30Z, got 'noon'"),
    "a time before the year 1": (FactLearned, body(FACT, occurred_at="0001-01-01T00:00:00+14:00"), "outside the years 1 to 9999"),
    "a time after the year 9999": (FactLearned, body(FACT, occurred_at="9999-12-31T23:59:59-14:00"), "outside the years 1 to 9999"),
    "a naive start": (EpisodeClosed, body(EPISODE, started_at="2026-03-01T12:00:00"), "started_at: input should have timezone info"),
    "an empty agent": (FactLearned, body(FACT, agent_id=""), "agent_id: string should have at least 1 character"),
    "a blank agent": (FactLearned, body(FACT, agent_id="  "), "agent_id: is blank or has a control character, got '  '"),
    "an agent of ideographic space": (FactLearned, body(FACT, agent_id="\u3000\u00a0"), "agent_id: is blank or has a control character"),
    "an agent of 129 characters": (FactLearned, body(FACT, agent_id="a" * 129), "agent_id: string should have at most 128 characters"),
    "an agent with a line feed": (FactLearned, body(FACT, agent_id="a\nb"), "agent_id: is blank or has a control character, got 'a\\nb'"),
    "an agent with DEL": (FactLearned, body(FACT, agent_id="a\x7f"), "agent_id: is blank or has a control character"),
    "an agent with a C1 control": (FactLearned, body(FACT, agent_id="a\x85"), "agent_id: is blank or has a control character"),
    "an agent with NUL": (FactLearned, body(FACT, agent_id="agent-7\0"), "agent_id has a NUL character or a lone surrogate"),
    "an agent with a surrogate": (FactLearned, body(FACT, agent_id="agent-7\ud800"), "agent_id has a NUL character or a lone surrogate"),
    "an event_id with NUL": (FactLearned, body(FACT, event_id="mine\0"), "event_id has a NUL character or a lone surrogate"),
    "an event_id of 129 characters": (FactLearned, body(FACT, event_id="e" * 129), "event_id: string should have at most 128 characters"),
    "an empty event_id": (FactLearned, body(FACT, event_id=""), "event_id: string should have at least 1 character"),
    "one byte more than 4 MiB": (FactLearned, b" " * (MAX_BODY_BYTES + 1), "the body has 4,194,305 bytes and the limit is 4,194,304"),
}


@pytest.mark.parametrize(("kind", "raw", "fields"), EVENTS.values(), ids=EVENTS.keys())
def test_it_is_an_event(kind: type[Event], raw: bytes, fields: dict[str, Any]) -> None:
    event = decode(kind, raw, ENTRY)
    assert {name: getattr(event, name) for name in fields} == fields


@pytest.mark.parametrize(("kind", "raw", "sentence"), MALFORMED.values(), ids=MALFORMED.keys())
def test_it_is_malformed_and_the_sentence_says_why(kind: type[Event], raw: bytes, sentence: str) -> None:
    with pytest.raises(MalformedEvent) as caught:
        decode(kind, raw, ENTRY)
    said = str(caught.value)
    assert sentence.lower() in said.lower()
    assert len(said) < 400, "a sentence, not the body"
    assert said.isprintable(), "what is said is kept in Postgres and shown on a terminal"


def test_a_body_of_50_mb_is_refused_before_it_is_read() -> None:
    with pytest.raises(MalformedEvent, match="the body has 50,000,000 bytes and the limit is 4,194,304"):
        decode(FactLearned, b"[" * 50_000_000, ENTRY)  # not even JSON: nobody has looked


@pytest.mark.parametrize("kind", [FactLearned, EpisodeClosed])
def test_nesting_at_the_limit_of_the_interpreter_is_an_event_or_malformed(kind: type[Event]) -> None:
    limit = sys.getrecursionlimit()
    told = [outcome(kind, nested(depth)) for depth in range(limit - 100, limit + 10)]
    assert {type(one) for one in told} == {kind, MalformedEvent}


@pytest.mark.parametrize(
    ("says", "agent_id", "event_id"),
    [
        ({"event_id": "mine", "confidence": 7}, "agent-7", "mine"),
        ({"agent_id": "a" * 129, "event_id": "mine"}, "", "mine"),
        ({"agent_id": "a\nb", "event_id": "mine"}, "", "mine"),
        ({"agent_id": "agent-7\0", "event_id": "mine"}, "", ""),
        ({"agent_id": 7, "event_id": "mine"}, "", "mine"),
        ({"event_id": "e" * 129}, "agent-7", ""),
        ({"event_id": ["mine"]}, "agent-7", ""),
    ],
)
def test_a_malformed_event_is_laid_at_the_door_of_the_agent_it_names_and_never_of_one_with_a_similar_name(
    says: dict[str, Any], agent_id: str, event_id: str
) -> None:
    with pytest.raises(MalformedEvent) as caught:
        decode(FactLearned, body(FACT, **says), ENTRY)
    assert (caught.value.agent_id, caught.value.event_id) == (agent_id, event_id)


# ── what an entry holds ───────────────────────────────────────────────────────────────────────────────────────────────────


def envelope(payload: bytes, **headers: str) -> bytes:
    return asyncio.run(BinaryMessageFormatV1.encode(message=payload, reply_to=None, headers=headers, correlation_id="7"))


@pytest.mark.parametrize(
    "fields",
    [
        {b"data": body(FACT)},
        {b"data": body(FACT), b"source": b"elsewhere"},
        {b"data": body(FACT), b"__data__": b"something else"},
        {b"__data__": body(FACT)},
        {b"__data__": envelope(body(FACT))},
        {b"__data__": envelope(body(FACT), traceparent="00-1", tenant="\u0101\u4e16")},
    ],
    ids=["data", "data and more", "data before __data__", "__data__ as JSON", "__data__ as FastStream wraps it", "wrapped with headers"],
)
def test_an_entry_holds_its_event_under_data_or_as_faststream_publishes_it(fields: dict[bytes, bytes]) -> None:
    assert decode(FactLearned, body_of(fields), ENTRY) == decode(FactLearned, body(FACT), ENTRY)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "the entry has no data field (its fields: none)"),
        ({b"payload": b"{}"}, "its fields: 'payload'); publish one field 'data' holding a JSON object"),
        ({b"a\0\xff\n": b""}, "its fields: 'a\\x00\ufffd\\n')"),
        ({str(n).encode(): b"" for n in range(10_000)}, "its fields: '0', '1', '10', '100', '1000')"),
        ({b"__data__": envelope(body(FACT))[:17]}, "the FastStream envelope points at byte 0 of 17"),
        ({b"__data__": envelope(body(FACT))[:20]}, "it was cut on the way"),
    ],
    ids=["nothing", "another field", "a name that cannot be shown", "many names", "a cut header", "a cut envelope"],
)
def test_an_entry_without_an_event_is_malformed(fields: dict[bytes, bytes], sentence: str) -> None:
    with pytest.raises(MalformedEvent) as caught:
        body_of(fields)
    assert sentence in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("entry", ["99999999999999999-0", "18446744073709551615-18446744073709551615", "253402300799999-1"])
def test_an_entry_id_that_no_clock_made_is_malformed(entry: str) -> None:
    with pytest.raises(MalformedEvent, match="lies beyond the year 9998; leave ids to the broker"):
        decode(FactLearned, body(FACT), entry)


def test_the_entry_s_own_time_is_in_its_id_to_the_millisecond() -> None:
    assert entry_time("1772366400123-7") == NOON + timedelta(milliseconds=123)
    assert entry_time("0-1") == datetime(1970, 1, 1, tzinfo=UTC)


# ── whatever is sent ──────────────────────────────────────────────────────────────────────────────────────────────────────

ANY_TEXT = st.text(st.characters(), max_size=30)  # lone surrogates, NUL and all
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
NAMES = sorted({name for kind in CATALOGUE.values() for name in kind.model_fields})
OBJECTS = st.dictionaries(st.sampled_from(NAMES) | ANY_TEXT, ANY_JSON, max_size=4)
FUZZ = fuzz(max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@FUZZ
@given(kind=st.sampled_from(list(CATALOGUE.values())), minimal=st.sampled_from([{}, FACT, EPISODE, CENSOR]), over=OBJECTS)
def test_any_object_is_an_event_that_can_be_kept_or_malformed_with_a_reason_that_can_be_kept(
    kind: type[Event], minimal: dict[str, Any], over: dict[str, Any]
) -> None:
    told = outcome(kind, body(minimal, **over))
    if isinstance(told, MalformedEvent):
        assert (str(told) + told.agent_id).isprintable()
        assert "\0" not in told.event_id
        return
    kept = encode(told)
    assert decode(kind, kept, ENTRY) == told
    assert b"\\u0000" not in kept


@FUZZ
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedEvent):
        decode(FactLearned, body_of({b"__data__": raw}), ENTRY)
