"""What this process counts and times, for Prometheus. A call site is one line; the names and labels are the contract of docs/operations.md.

    outcome, failure, page, embedding, question ──▶ REGISTRY ──▶ GET /metrics

What is counted is counted after the commit, a page at a time, so that it costs a page of 256 less than a thousandth of its time.
What all processes share (lag, pending, parked, ...) is not counted here but looked at when somebody asks (shared.py).
"""

import time
from collections import Counter as Counted
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import takewhile
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics

from nous.guard.findings import KINDS

from .record import Ended
from .worker import Done, GiveUp, RetryLater, Skip

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SECONDS_TO_A_RECEIPT = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400)
SECONDS_TO_AN_ANSWER = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
COSINES = (0.3, 0.5, 0.6, 0.65, 0.7, 0.75, *(round(0.8 + at / 100, 2) for at in range(21)))

Result = Literal["answered", "no_answer", "away", "over_budget"]
"""How a question to a mind ended."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each counter began: a line more for each
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

OUTCOMES = Counter("nous_outcomes_total", "How deliveries ended.", ("worker", "outcome"), registry=REGISTRY)
FAILED = Counter("nous_deliveries_failed_total", "Attempts alone that failed and were counted.", ("worker",), registry=REGISTRY)
RECEIPT_S = Histogram(
    "nous_publication_to_receipt_seconds",
    "From the entry's own time to its receipt.",
    ("worker",),
    buckets=SECONDS_TO_A_RECEIPT,
    registry=REGISTRY,
)
PAGE_S = Histogram("nous_page_seconds", "What a page takes that nothing delays.", ("worker",), buckets=SECONDS, registry=REGISTRY)
SIMILARITY = Histogram(
    "nous_similarity", "Cosine of a claim's nearest fact, by what became of the claim.", ("outcome",), buckets=COSINES, registry=REGISTRY
)
FINDINGS = Counter("nous_guard_findings_total", "What the guard found to differ in texts that are alike.", ("finding",), registry=REGISTRY)
QUESTIONS = Counter("nous_mind_questions_total", "Questions to a mind.", ("worker", "model", "result"), registry=REGISTRY)
TOKENS = Counter("nous_mind_tokens_total", "Tokens that minds read and wrote.", ("model", "direction"), registry=REGISTRY)
COST = Counter("nous_mind_cost_dollars_total", "US dollars, at the prices that are set.", ("model",), registry=REGISTRY)
MIND_S = Histogram(
    "nous_mind_seconds", "From a question to its answer or failure.", ("model",), buckets=SECONDS_TO_AN_ANSWER, registry=REGISTRY
)
EMBED_S = Histogram("nous_embed_seconds", "What the embedder takes for the texts of a page.", buckets=SECONDS, registry=REGISTRY)
HTTP_S = Histogram(
    "nous_http_request_seconds", "What a request to the API takes.", ("route", "method", "status"), buckets=SECONDS, registry=REGISTRY
)


def ended(worker: str, endings: Sequence[Ended], *, now_ms: float) -> Mapping[str, int]:
    """These deliveries have their receipts, or wait; how many ended in which outcome. What is given up is counted where it is parked."""
    outcomes = Counted(outcome(one) for one in endings)
    for name, count in outcomes.items():
        if name != "parked":
            OUTCOMES.labels(worker, name).inc(count)
    observe_s = RECEIPT_S.labels(worker).observe
    for one in endings:
        if not isinstance(one.ending, RetryLater):
            observe_s(max(now_ms - _published_ms(one.delivery.entry_id), 0.0) / 1000)
            if isinstance(one.ending, Done) and "confirm_similarity" in one.ending.evidence:
                _compared(one.ending.outcome, one.ending.evidence["candidates"])
    return outcomes


def outcome(one: Ended) -> str:
    """The word for how a delivery ended, as the metrics, the spans and the log have it."""
    match one.ending:
        case Done(outcome=named):
            return named
        case Skip():
            return "skipped"
        case RetryLater():
            return "retried"
        case GiveUp():
            return "parked"


def set_aside(worker: str, deliveries: int) -> None:
    """So many deliveries are tried again, each alone: they failed, or replicas died on them."""
    OUTCOMES.labels(worker, "retried").inc(deliveries)


def failed(worker: str, *, is_last: bool) -> None:
    """A delivery worked alone failed; it is tried again unless that was the last attempt."""
    FAILED.labels(worker).inc()
    if not is_last:
        OUTCOMES.labels(worker, "retried").inc()


def parked(worker: str) -> None:
    """A delivery waits for a person."""
    OUTCOMES.labels(worker, "parked").inc()


def page(worker: str, seconds: float) -> None:
    """A page was worked to its end."""
    PAGE_S.labels(worker).observe(seconds)


def asked(
    worker: str, model: str, result: Result, *, tokens_in: int = 0, tokens_out: int = 0, cost: Decimal = Decimal(0), seconds: float = 0.0
) -> None:
    """A mind was asked, or was not because that would have gone over the budget; what was spent counts whatever came of it."""
    QUESTIONS.labels(worker, model, result).inc()
    if result == "over_budget":
        return
    TOKENS.labels(model, "in").inc(tokens_in)
    TOKENS.labels(model, "out").inc(tokens_out)
    COST.labels(model).inc(float(cost))
    MIND_S.labels(model).observe(seconds)


def answered(route: str, method: str, status: int, seconds: float) -> None:
    """A request to the API was answered."""
    HTTP_S.labels(route, method, str(status)).observe(seconds)


@contextmanager
def embedding() -> Iterator[None]:
    """Times the embedder for the block, when it succeeds."""
    started = time.perf_counter()
    yield
    EMBED_S.observe(time.perf_counter() - started)


def _compared(outcome: str, candidates: Sequence[Mapping[str, Any]]) -> None:
    """What the deduplicator saw near a claim, nearest first, as its receipt has it; the guard has looked at the first few."""
    if not candidates:
        return
    SIMILARITY.labels(outcome).observe(min(candidates[0]["similarity"], 1.0))
    for candidate in takewhile(lambda one: "guard" in one, candidates):
        for finding in candidate["guard"].split("; "):
            kind = finding.partition(" ")[0]
            if kind in KINDS:
                FINDINGS.labels(kind).inc()


def _published_ms(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])
