"""One trace, from whoever published an event through everything that follows from it; and nothing of it changes what is stored."""

import json
from collections.abc import Callable, Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from redis.asyncio import Redis

from events import encode
from nous.errors import Misconfigured
from tests.factories import NOON, a_censor_triggered, a_fact_learned
from tests.workers.conftest import Bench, Memory
from workers.runtime import traces
from workers.runtime.streams import Entry

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    made = InMemorySpanExporter()
    with traces.made_by(traces.provider_for(SimpleSpanProcessor(made))):
        yield made


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


async def bodies(redis: Redis, stream: str) -> list[bytes]:
    return [fields[b"data"] for _, fields in await redis.xrange(stream)]


async def test_a_trace_goes_from_publish_through_the_deduplicator_and_fact_stored_to_the_checker(
    memory: Memory, redis: Redis, exporter: InMemorySpanExporter
) -> None:
    event = a_fact_learned(agent_id="agent-1")
    body = traces.published(event.stream, event.agent_id, event.event_id, encode(event))
    await memory.benches["deduplicator"].life.work([Entry("1893456000000-0", {b"data": body})])
    await memory.settle()
    spans = by_name(exporter)
    assert set(spans) == {"publish fact_learned", "process deduplicator", "process supersession_checker"}
    root = spans["publish fact_learned"].context
    assert {span.context.trace_id for span in spans.values()} == {root.trace_id}
    assert {spans[name].parent.span_id for name in ("process deduplicator", "process supersession_checker")} == {root.span_id}
    (stored,) = await bodies(redis, "fact_stored")
    assert json.loads(stored)["traceparent"] == f"00-{root.trace_id:032x}-{root.span_id:016x}-01"
    told = spans["process deduplicator"].attributes
    assert told["messaging.system"] == "redis"
    assert (told["messaging.destination.name"], told["messaging.consumer.group.name"]) == ("fact_learned", "deduplicator")
    assert (told["nous.event_id"], told["nous.agent_id"], told["nous.outcome"]) == (event.event_id, "agent-1", "stored")
    assert spans["process supersession_checker"].attributes["nous.caused_by"] == event.event_id
    assert spans["process deduplicator"].kind is SpanKind.CONSUMER


async def test_a_producers_own_trace_is_continued_and_its_traceparent_left_as_it_is(
    deduplicator: Bench, redis: Redis, exporter: InMemorySpanExporter
) -> None:
    event = a_fact_learned(agent_id="agent-1", traceparent=PARENT)
    assert traces.published(event.stream, event.agent_id, event.event_id, encode(event)) == encode(event)
    await deduplicator.work(event)
    (span,) = exporter.get_finished_spans()
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == tuple(PARENT.split("-")[1:3])
    assert json.loads((await bodies(redis, "fact_stored"))[0])["traceparent"] == PARENT


async def test_a_producer_that_did_not_sample_its_trace_has_no_spans_here(deduplicator: Bench, exporter: InMemorySpanExporter) -> None:
    await deduplicator.work(a_fact_learned(agent_id="agent-1", traceparent=PARENT[:-1] + "0"))
    assert exporter.get_finished_spans() == ()


@pytest.mark.parametrize("traceparent", [None, PARENT, "nonsense"])
async def test_the_events_that_follow_are_the_same_bytes_whether_anybody_traces_or_not(
    bench: Callable[[str], Bench], redis: Redis, traceparent: str | None
) -> None:
    event = a_fact_learned(agent_id="agent-1", traceparent=traceparent, occurred_at=NOON)
    twin = event.model_copy(update={"agent_id": "agent-2"})
    await bench("deduplicator").work(event)
    exporter = InMemorySpanExporter()
    with traces.made_by(traces.provider_for(SimpleSpanProcessor(exporter))):
        await bench("deduplicator").work(twin)
    assert len(exporter.get_finished_spans()) == 1
    untraced, traced = (json.loads(body) for body in await bodies(redis, "fact_stored"))
    assert untraced.get("traceparent") == traced.get("traceparent") == traceparent
    assert untraced.keys() == traced.keys()


async def test_publishing_an_event_again_is_the_same_body_in_the_same_trace(exporter: InMemorySpanExporter) -> None:
    event = a_fact_learned(agent_id="agent-1")
    once, again = (traces.published(event.stream, "agent-1", event.event_id, encode(event)) for _ in range(2))
    other = traces.published(event.stream, "agent-1", "another", encode(event))
    assert once == again != other
    first, second, third = exporter.get_finished_spans()
    assert first.context.trace_id == second.context.trace_id != third.context.trace_id


def test_nobody_who_does_not_trace_changes_a_body() -> None:
    event = a_fact_learned()
    assert traces.published(event.stream, event.agent_id, event.event_id, encode(event)) == encode(event)


async def test_what_is_parked_has_one_span_that_says_why(bench: Callable[[str], Bench], exporter: InMemorySpanExporter) -> None:
    escalator = bench("censor_escalator")
    await escalator.work(a_censor_triggered(agent_id="agent-1", traceparent=PARENT))
    await escalator.life.work([Entry("1893456000001-0", {b"data": b"no json"})])
    given_up, malformed = exporter.get_finished_spans()
    assert {span.attributes["nous.outcome"] for span in (given_up, malformed)} == {"parked"}
    assert f"{given_up.context.trace_id:032x}" == PARENT.split("-")[1]
    assert (malformed.status.status_code, malformed.parent) == (StatusCode.ERROR, None)
    assert malformed.status.description
    assert malformed.status.description.startswith("the body is not JSON")


async def test_it_is_switched_on_by_the_standard_variable_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in traces.SWITCHES:
        monkeypatch.delenv(name, raising=False)
    assert not traces.is_wanted()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert traces.is_wanted()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not traces.is_wanted()


async def test_traces_that_are_asked_for_without_the_packages_are_a_mistake_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(Misconfigured, match=r"extra `otel`"):
        async with traces.exported():
            pass
