"""OpenTelemetry: one trace from whoever published an event through everything that follows from it. Costs nothing until it is switched on.

    producer's span ─ traceparent ─▶ fact_learned ─ copied ─▶ fact_stored ─ copied ─▶ ...
          ├── process deduplicator            ├── process supersession_checker
          └── siblings: every span of a delivery is a child of the producer's (docs/decisions/0018)

Switched on by the standard OTEL_EXPORTER_OTLP_ENDPOINT. A span is made when its delivery has ended, with the times of its page, so that
nothing is carried through the work, and no event's body depends on whether anybody traces.
"""

import asyncio
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import nous
from nous import clock
from nous.errors import Misconfigured

from . import metrics
from .record import Delivery, Ended
from .worker import GiveUp

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

SWITCHES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
LAST_EXPORT_S = 5.0

_PROPAGATOR = TraceContextTextMapPropagator()
_root_ids: ContextVar[tuple[int, int] | None] = ContextVar("nous_root_ids", default=None)
_tracer: Tracer | None = None


def is_wanted() -> bool:
    """Whether the environment says where traces go."""
    return any(os.environ.get(name) for name in SWITCHES) and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


@asynccontextmanager
async def exported() -> AsyncIterator[None]:
    """Export traces for the block, if the environment says where to; the last are sent at its end. Raises Misconfigured."""
    if not is_wanted():
        yield
        return
    with made_by(provider := _provider()):
        try:
            yield
        finally:
            try:
                async with asyncio.timeout(LAST_EXPORT_S):
                    await asyncio.to_thread(provider.force_flush, int(LAST_EXPORT_S * 1000))
            except TimeoutError:
                pass
            provider.shutdown()


@contextmanager
def made_by(provider: "TracerProvider") -> Iterator[None]:
    """Make spans with this provider for the block."""
    global _tracer
    before, _tracer = _tracer, provider.get_tracer("nous", nous.__version__)
    try:
        yield
    finally:
        _tracer = before


def provider_for(processor: "SpanProcessor") -> "TracerProvider":
    """A provider as OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER say, whose spans go through `processor`."""
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        def generate_trace_id(self) -> int:
            told = _root_ids.get()
            return told[0] if told else super().generate_trace_id()

        def generate_span_id(self) -> int:
            told = _root_ids.get()
            return told[1] if told else super().generate_span_id()

    standard = {SERVICE_VERSION: nous.__version__}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        standard[SERVICE_NAME] = "nous"
    made = TracerProvider(id_generator=Ids(), resource=Resource.create(standard))
    made.add_span_processor(processor)
    return made


# ── spans ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ended(worker: str, endings: Sequence[Ended], *, since: float) -> None:
    """A span for each of these deliveries; they were taken up at `since` (time.monotonic)."""
    if _tracer is not None:
        for one in endings:
            if not isinstance(one.ending, GiveUp):  # its span is made where it is parked
                _delivery(_tracer, worker, one.delivery, metrics.outcome(one), since)


def set_aside(worker: str, failures: Sequence[tuple[Delivery, str]], *, since: float) -> None:
    """A span for each delivery whose page failed, and why."""
    if _tracer is not None:
        for delivery, why in failures:
            _delivery(_tracer, worker, delivery, "retried", since, why=why)


def unsettled(worker: str, stream: str, outcome: str, key: tuple[str, str], entry_id: str, body: bytes, why: str) -> None:
    """A span for a delivery that failed alone, or is parked, and why."""
    if _tracer is not None:
        attributes = _attributes(worker, stream, outcome, key, entry_id)
        _make(_tracer, f"process {worker}", SpanKind.CONSUMER, _traceparent(body), attributes, time.monotonic(), why=why)


def published(stream: str, agent_id: str, event_id: str, body: bytes) -> bytes:
    """The body as it is sent: with a trace of its own, unless nobody traces or it is part of one already.

    The trace follows from agent and event, so an event that is published again is the same event in the same trace.
    """
    if _tracer is None or (fields := _fields(body)) is None or fields.get("traceparent"):
        return body
    digest = hashlib.blake2b(f"{len(agent_id)}:{agent_id}{stream}:{event_id}".encode(), digest_size=24, person=b"nous-trace").digest()
    token = _root_ids.set((int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big")))
    try:
        attributes = {"messaging.operation.type": "send", **_messaging(stream), "nous.agent_id": agent_id, "nous.event_id": event_id}
        span = _tracer.start_span(f"publish {stream}", Context(), SpanKind.PRODUCER, attributes)
    finally:
        _root_ids.reset(token)
    span.end()
    context = span.get_span_context()
    traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags.sampled):02x}"
    return json.dumps({**fields, "traceparent": traceparent}).encode()


def _delivery(tracer: Tracer, worker: str, delivery: Delivery, outcome: str, since: float, *, why: str | None = None) -> None:
    event = delivery.event
    attributes = _attributes(worker, event.stream, outcome, delivery.key, delivery.entry_id)
    if event.caused_by:
        attributes["nous.caused_by"] = event.caused_by
    _make(tracer, f"process {worker}", SpanKind.CONSUMER, event.traceparent, attributes, since, why=why)


def _make(
    tracer: Tracer, name: str, kind: SpanKind, parent: str | None, attributes: dict[str, Any], since: float, *, why: str | None
) -> None:
    """A span from `since` (time.monotonic) to now. One whose parent cannot be read begins a trace of its own."""
    context = _PROPAGATOR.extract({"traceparent": parent}, Context()) if parent else Context()
    now_ns = int(clock.now().timestamp() * 1_000_000) * 1_000
    span = tracer.start_span(name, context, kind, attributes, start_time=now_ns - int((time.monotonic() - since) * 1e9))
    if why is not None:
        span.set_status(StatusCode.ERROR, why)
    span.end(now_ns)


def _attributes(worker: str, stream: str, outcome: str, key: tuple[str, str], entry_id: str) -> dict[str, Any]:
    return {
        "messaging.operation.type": "process",
        "messaging.consumer.group.name": worker,
        "messaging.message.id": entry_id,
        **_messaging(stream),
        "nous.agent_id": key[0],
        "nous.event_id": key[1],
        "nous.outcome": outcome,
    }


def _messaging(stream: str) -> dict[str, str]:
    return {"messaging.system": "redis", "messaging.destination.name": stream}


def _traceparent(body: bytes) -> str | None:
    found = (_fields(body) or {}).get("traceparent")
    return found if isinstance(found, str) else None


def _fields(body: bytes) -> dict[str, Any] | None:
    """The JSON object of a body; None when it is none."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _provider() -> "TracerProvider":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise Misconfigured(
            f"OTEL_EXPORTER_OTLP_ENDPOINT asks for traces and what sends them is not installed ({error}); install the extra `otel`"
            " (pip install '.[otel]'), or unset the variable"
        ) from None
    return provider_for(BatchSpanProcessor(OTLPSpanExporter()))
