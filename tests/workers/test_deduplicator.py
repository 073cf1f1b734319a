"""What is known is confirmed, what is new is stored, in doubt it is stored; nothing an agent said is lost."""

import itertools
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from sqlalchemy import text

from events import FactLearned
from nous.text import content_hash
from store import mentions
from store.facts import Fact
from store.mentions import Said
from tests.workers.conftest import Bench, ScriptedEmbedder
from workers.deduplicator import Claim, _new_fact, confirm
from workers.standing import trust
from workers.standing.slots import moment

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OLD = "The shop opens at nine on Mondays"
NEW = "On Mondays the shop's doors open at nine"


def learned(content: str, **over: Any) -> FactLearned:
    """A claim, every field defaulted."""
    fields: dict[str, Any] = {
        "event_id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"event of {content} {over}")),
        "agent_id": "agent-1",
        "fact_id": uuid.uuid5(uuid.NAMESPACE_OID, f"{content} {over}"),
        "content": content,
        "occurred_at": NOON,
        "provenance": "user_stated",
        "confidence": 0.8,
    }
    return FactLearned(**(fields | over))


# ── by similarity ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_similarity_above_0_95_confirms_existing_and_creates_no_row(deduplicator: Bench, embedder: ScriptedEmbedder) -> None:
    old, new = "The doors do not lock", "The doors don't lock"
    embedder.alike(old, new, 0.97)
    await deduplicator.work(learned(old))
    await deduplicator.work(learned(new))
    (fact,) = await deduplicator.facts()
    assert (fact.content, fact.confirmation_count) == (old, 1)
    assert await deduplicator.outcomes() == ["stored", "confirmed"]


async def test_similarity_0_85_to_0_95_is_stored_at_once_with_a_likely_twin_and_left_to_the_question(
    deduplicator: Bench, embedder: ScriptedEmbedder
) -> None:
    """Whether a mind says same or different is asked about what is stored here, not before."""
    embedder.alike(OLD, NEW, 0.90)
    await deduplicator.work(learned(OLD))
    await deduplicator.work(learned(NEW))
    old, new = sorted(await deduplicator.facts(), key=lambda fact: fact.content != OLD)
    assert (old.content, new.content) == (OLD, NEW)
    assert old.active
    assert new.active
    twin = [event for event in await deduplicator.published("fact_stored") if event.get("likely_twin")]
    assert [(event["fact_id"], event["likely_twin"], round(event["similarity"], 2)) for event in twin] == [
        (str(new.fact_id), str(old.fact_id), 0.9)
    ]


async def test_similarity_below_0_85_stores_new(deduplicator: Bench, embedder: ScriptedEmbedder) -> None:
    embedder.alike(OLD, NEW, 0.80)
    await deduplicator.work(learned(OLD))
    await deduplicator.work(learned(NEW))
    assert await deduplicator.outcomes() == ["stored", "stored"]
    assert all("likely_twin" not in event for event in await deduplicator.published("fact_stored"))


async def test_no_existing_facts_stores_new(deduplicator: Bench) -> None:
    await deduplicator.work(learned(OLD))
    (fact,) = await deduplicator.facts()
    assert (fact.content, fact.confirmation_count, fact.active) == (OLD, 0, True)


async def test_learning_a_duplicate_fact_confirms_existing_and_adds_no_row(deduplicator: Bench) -> None:
    await deduplicator.work(learned(OLD))
    await deduplicator.work(learned(OLD, event_id="again"))
    assert [fact.confirmation_count for fact in await deduplicator.facts()] == [1]


# ── the guard ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The database listens on port 5432", "The database listens on port 5433"),
        ("The export feature is enabled", "The export feature is not enabled"),
        ("Alice manages Bob", "Bob manages Alice"),
        ("The dose is 10 mg", "The dose is 5 mg"),
        ("The review is on October 15th", "The review is on October 16th"),
        ("小明管理小红", "小红管理小明"),
        ("该功能已启用", "该功能未启用"),
        ("The train leaves earlier", "The train leaves later"),
    ],
)
async def test_a_near_miss_at_0_99_is_stored_and_says_what_differs(
    deduplicator: Bench, embedder: ScriptedEmbedder, old: str, new: str
) -> None:
    embedder.alike(old, new, 0.99)
    await deduplicator.work(learned(old))
    await deduplicator.work(learned(new))
    assert {fact.content for fact in await deduplicator.facts()} == {old, new}
    _, receipt = await deduplicator.receipts()
    assert receipt.reason is not None
    assert receipt.reason.startswith("almost merged: similarity 0.990")
    assert "≠" in receipt.reason


@pytest.mark.parametrize(
    "again",
    [
        "THE CAFÉ CLOSES AT TEN",
        "The  cafe\u0301 closes at ten.",
        "The café closes\u00a0at ten",
        "  the Café closes at ten",
        "The café\x00 closes at ten",
    ],
)
async def test_the_same_words_in_other_casing_spacing_punctuation_or_unicode_form_merge_without_a_vector(
    deduplicator: Bench, embedder: ScriptedEmbedder, again: str
) -> None:
    await deduplicator.work(learned("The café closes at ten"))
    await deduplicator.work(learned(again.replace("\x00", ""), event_id="again"))
    (fact,) = await deduplicator.facts()
    assert fact.confirmation_count == 1
    assert embedder.embedded == ["The café closes at ten"]


async def test_an_active_fact_the_guard_agrees_with_is_confirmed_before_a_nearer_one_that_was_retired(
    deduplicator: Bench, embedder: ScriptedEmbedder
) -> None:
    retired, active, said = "She can't swim", "She can not swim", "She cannot swim"
    embedder.alike(said, retired, 0.99)
    embedder.alike(said, active, 0.97)
    other = "Another fact took its place"
    await deduplicator.work(learned(retired), learned(other, occurred_at=NOON + timedelta(days=1)))
    await _retire(deduplicator, retired, by=other, at=NOON + timedelta(days=1))
    embedder.confirm_similarity = 0.999
    await deduplicator.work(learned(active))
    embedder.confirm_similarity = 0.95
    await deduplicator.work(learned(said, occurred_at=NOON + timedelta(days=2)))
    assert await deduplicator.outcomes() == ["stored", "stored", "stored", "confirmed"]
    confirmed = [fact for fact in await deduplicator.facts() if fact.confirmation_count]
    assert [(fact.content, fact.active) for fact in confirmed] == [(active, True)]


async def test_the_same_words_about_another_subject_or_attribute_are_another_fact(deduplicator: Bench) -> None:
    said = "Prefers dark mode."
    await deduplicator.work(*(learned(said, subject=name, event_id=name, fact_id=uuid.uuid4()) for name in ("Alice", "Bob", "alice")))
    await deduplicator.work(learned(said, subject="Carol", event_id="carol", fact_id=uuid.uuid4()))
    await deduplicator.work(learned(said, subject="BOB", event_id="bob again", fact_id=uuid.uuid4()))
    await deduplicator.work(learned(said, event_id="nobody named", fact_id=uuid.uuid4()))
    counts = sorted((fact.subject, fact.confirmation_count) for fact in await deduplicator.facts())
    assert [name for name, _ in counts] == ["Alice", "Bob", "Carol"]
    assert sum(count for _, count in counts) == 3
    await deduplicator.work(learned("1234", attribute="pin"), learned("1234", attribute="port"))
    assert len(await deduplicator.facts()) == 5


async def test_the_longest_subject_the_contract_allows_is_stored(deduplicator: Bench) -> None:
    await deduplicator.work(learned(OLD, subject="名" * 1000))
    assert await deduplicator.outcomes() == ["stored"]


# ── promises ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_merge_keeps_every_wording_with_its_source(deduplicator: Bench, kit: Any) -> None:
    await deduplicator.work(learned(OLD, source="conversation:1"), learned(OLD.upper(), source="conversation:2"))
    (fact,) = await deduplicator.facts()
    async with kit.database.read(["agent-1"]) as db:
        heard = await mentions.of_facts(db, [("agent-1", fact.fact_id)])
    assert {(one.content, one.source, one.outcome) for one in heard["agent-1", fact.fact_id]} == {
        (OLD, "conversation:1", "stored"),
        (OLD.upper(), "conversation:2", "confirmed"),
    }


async def test_a_published_fact_id_resolves_through_its_mention_to_the_fact_it_became(deduplicator: Bench, kit: Any) -> None:
    first, second = learned(OLD), learned(OLD.upper())
    await deduplicator.work(first, second)
    async with kit.database.overview() as db:
        assert await mentions.resolve(db, second.fact_id) == [("agent-1", first.fact_id)]


async def test_one_event_delivered_many_times_in_one_page_and_in_later_ones_counts_once(deduplicator: Bench) -> None:
    event = learned(OLD)
    await deduplicator.work(event, event, event)
    await deduplicator.work(event)
    assert [fact.confirmation_count for fact in await deduplicator.facts()] == [0]
    assert await deduplicator.outcomes() == ["stored"]


@pytest.mark.parametrize("content", ["", "   ", "\n\t\u3000", "\u200b\ufeff"])
async def test_empty_content_is_skipped_with_a_reason(deduplicator: Bench, content: str) -> None:
    await deduplicator.work(learned(content))
    (receipt,) = await deduplicator.receipts()
    assert (receipt.ending, receipt.reason) == ("skip", "the content is empty")
    assert await deduplicator.facts() == []


async def test_a_fact_id_that_stands_for_other_content_is_parked_and_changes_nothing(deduplicator: Bench) -> None:
    taken = learned(OLD)
    await deduplicator.work(taken)
    await deduplicator.work(learned(NEW, fact_id=taken.fact_id))
    assert [fact.content for fact in await deduplicator.facts()] == [OLD]
    _, receipt = await deduplicator.receipts()
    assert receipt.ending == "parked"
    assert "already stands for other content" in (receipt.reason or "")
    assert await deduplicator.redis.xlen("fact_learned.parked") == 1


async def test_two_events_of_one_page_that_take_one_id_for_different_content_do_not_meet(deduplicator: Bench) -> None:
    taken = learned(OLD)
    await deduplicator.work(taken, learned(NEW, fact_id=taken.fact_id), learned("An innocent neighbour"))
    assert sorted(await deduplicator.outcomes()) == ["parked", "stored", "stored"]


async def test_the_same_fact_id_of_two_agents_is_two_facts(deduplicator: Bench) -> None:
    shared = uuid.uuid4()
    await deduplicator.work(learned(OLD, fact_id=shared), learned(NEW, fact_id=shared, agent_id="agent-2"))
    assert [fact.content for fact in await deduplicator.facts("agent-1")] == [OLD]
    assert [fact.content for fact in await deduplicator.facts("agent-2")] == [NEW]


async def test_an_agents_fact_never_matches_or_confirms_anothers_also_when_the_content_is_the_same(
    deduplicator: Bench, embedder: ScriptedEmbedder
) -> None:
    embedder.alike(OLD, NEW, 0.99)
    await deduplicator.work(learned(OLD), learned(OLD, agent_id="agent-2"))
    await deduplicator.work(learned(NEW, agent_id="agent-2"), learned(OLD, agent_id="agent-3"))
    assert await deduplicator.outcomes("agent-1") == ["stored"]
    assert await deduplicator.outcomes("agent-2") == ["stored", "stored"]
    assert await deduplicator.outcomes("agent-3") == ["stored"]
    (fact,) = await deduplicator.facts("agent-1")
    assert fact.confirmation_count == 0
    (receipt,) = await deduplicator.receipts("agent-3")
    assert receipt.evidence["candidates"] == []


async def test_agent_ids_with_sql_quotes_and_braces_in_them_are_only_names(deduplicator: Bench) -> None:
    names = ["x'; DROP TABLE heart.facts; --", '{"a","b"}', "a,b", "back\\slash", "名前", "agent-1\u00a0"]
    await deduplicator.work(*(learned(OLD, agent_id=name) for name in names))
    for name in names:
        assert [fact.agent_id for fact in await deduplicator.facts(name)] == [name]


async def test_the_receipt_names_the_candidates_their_scores_the_embedder_and_the_thresholds(
    deduplicator: Bench, embedder: ScriptedEmbedder
) -> None:
    embedder.alike(OLD, NEW, 0.90)
    old = learned(OLD)
    await deduplicator.work(old)
    await deduplicator.work(learned(NEW))
    _, receipt = await deduplicator.receipts()
    assert receipt.evidence["embedder"] == "zero"
    assert (receipt.evidence["confirm_similarity"], receipt.evidence["check_similarity"]) == (0.95, 0.85)
    (candidate,) = receipt.evidence["candidates"]
    assert candidate["fact_id"] == str(old.fact_id)
    assert candidate["similarity"] == pytest.approx(0.90, abs=0.002)


async def test_claims_of_one_page_see_those_before_them(deduplicator: Bench, embedder: ScriptedEmbedder) -> None:
    old, new = "The boat is blue today", "The boat, is blue today"
    embedder.alike(old, new, 0.98)
    await deduplicator.work(learned(old), learned(new), learned(new.upper()))
    (fact,) = await deduplicator.facts()
    assert fact.confirmation_count == 2


async def test_the_second_pass_over_a_stream_adds_no_row_and_needs_no_vector(deduplicator: Bench, embedder: ScriptedEmbedder) -> None:
    events = [learned(f"Jar {number} holds {number * 3} beans") for number in range(60)]
    await deduplicator.work(*events, pages=3)
    embedded = len(embedder.embedded)
    await deduplicator.work(*(event.model_copy(update={"event_id": f"again {event.event_id}"}) for event in events), pages=2)
    assert len(await deduplicator.facts()) == 60
    assert len(embedder.embedded) == embedded == 60


# ── facts that are no longer active ───────────────────────────────────────────────────────────────────────────────────────


async def _retire(bench: Bench, content: str, *, by: str, at: datetime) -> None:
    async with bench.kit.database.write(["agent-1"]) as db:
        await db.execute(
            text(
                "UPDATE heart.facts SET active = false, valid_to = :at, superseded_by ="
                " (SELECT fact_id FROM heart.facts WHERE content_hash = :by) WHERE content_hash = :content"
            ),
            {"at": at, "by": content_hash(by), "content": content_hash(content)},
        )


async def test_a_claim_newer_than_what_superseded_it_is_a_new_row_so_that_a_b_a_works(deduplicator: Bench) -> None:
    a, b = "Rosa lives in Porto", "Rosa lives in Lagos"
    await deduplicator.work(learned(a), learned(b, occurred_at=NOON + timedelta(days=1)))
    await _retire(deduplicator, a, by=b, at=NOON + timedelta(days=1))
    await deduplicator.work(learned(a, event_id="moved back", fact_id=uuid.uuid4(), occurred_at=NOON + timedelta(days=2)))
    assert sorted((fact.content, fact.active) for fact in await deduplicator.facts()) == [(b, True), (a, False), (a, True)]


async def test_a_fact_that_is_true_again_under_the_id_it_had_before_is_a_new_row_with_an_id_of_its_own(deduplicator: Bench) -> None:
    a, b = learned("Rosa lives in Porto"), learned("Rosa lives in Lagos", occurred_at=NOON + timedelta(days=1))
    await deduplicator.work(a, b)
    await _retire(deduplicator, a.content, by=b.content, at=NOON + timedelta(days=1))
    await deduplicator.work(learned(a.content, event_id="moved back", fact_id=a.fact_id, occurred_at=NOON + timedelta(days=2)))
    active = [fact for fact in await deduplicator.facts() if fact.active and fact.content == a.content]
    assert [fact.fact_id == a.fact_id for fact in active] == [False]
    assert await deduplicator.outcomes() == ["stored", "stored", "stored"]


async def test_a_claim_dated_inside_the_validity_of_a_superseded_fact_only_adds_a_mention(deduplicator: Bench) -> None:
    a, b = "Rosa lives in Porto", "Rosa lives in Lagos"
    await deduplicator.work(learned(a), learned(b, occurred_at=NOON + timedelta(days=2)))
    await _retire(deduplicator, a, by=b, at=NOON + timedelta(days=2))
    await deduplicator.work(learned(a, event_id="told late", fact_id=uuid.uuid4(), occurred_at=NOON + timedelta(days=1)))
    assert sorted((fact.content, fact.active, fact.confirmation_count) for fact in await deduplicator.facts()) == [
        (b, True, 0),
        (a, False, 0),
    ]
    assert (await deduplicator.outcomes())[-1] == "mentioned"


async def test_a_third_mention_of_a_merged_fact_lands_on_the_one_that_survived(deduplicator: Bench) -> None:
    a, b = learned("Rosa lives in Porto"), learned("Porto is where Rosa lives")
    await deduplicator.work(a, b)
    async with deduplicator.kit.database.write(["agent-1"]) as db:
        await db.execute(
            text("UPDATE heart.facts SET active = false, merged_into = :a WHERE fact_id = :b"), {"a": a.fact_id, "b": b.fact_id}
        )
    await deduplicator.work(learned(b.content, event_id="third", fact_id=uuid.uuid4()))
    counts = {fact.fact_id: fact.confirmation_count for fact in await deduplicator.facts()}
    assert counts == {a.fact_id: 1, b.fact_id: 0}


# ── trust ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

CLAIMS = [
    learned(OLD, event_id="a", provenance="assistant_derived", confidence=0.9, occurred_at=NOON),
    learned(OLD, event_id="b", provenance="assistant_derived", confidence=0.99, occurred_at=NOON + timedelta(hours=1)),
    learned(OLD, event_id="c", provenance="user_stated", confidence=0.6, occurred_at=NOON + timedelta(hours=2)),
    learned(OLD, event_id="d", provenance="user_stated", confidence=0.7, occurred_at=NOON - timedelta(hours=1)),
    learned(OLD, event_id="e", provenance="episode_summary", confidence=1.0, occurred_at=NOON + timedelta(hours=3)),
]


ARRIVAL: dict[str, Any] = {
    "fact_id": uuid.UUID(int=0),
    "created_at": NOON,
    "source": None,
    "stored_by": "",
    "recorded_at": NOON,
    "recorded_by": "",
}
"""What depends on which claim came first."""


def test_any_order_of_the_same_claims_confirms_to_the_same_row() -> None:
    tied = [*CLAIMS, learned(OLD, event_id="f", provenance="assistant_derived", confidence=0.2, occurred_at=NOON)]
    assistants = [claim for claim in tied if claim.provenance == "assistant_derived"]
    for claims in (tied, assistants):
        rows = {replace(reduce(confirm, rest, new_fact(first)), **ARRIVAL) for first, *rest in itertools.permutations(claims)}
        assert len(rows) == 1
        [row] = rows
        assert (row.provenance, row.confidence) == trust.of(sorted(map(said, claims), key=moment)), "settling counts the same"


def said(event: FactLearned) -> Said:
    return Said(event.event_id, event.fact_id, event.fact_id, event.occurred_at, event.provenance, event.confidence)


def new_fact(event: FactLearned) -> Fact:
    return _new_fact(Claim(event, content_hash(event.content), None), event.fact_id)


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::7])
async def test_any_order_of_the_same_claims_ends_in_the_same_trust_counts_and_times(deduplicator: Bench, order: tuple[int, ...]) -> None:
    for place in order[:2]:
        await deduplicator.work(CLAIMS[place])
    await deduplicator.work(*(CLAIMS[place] for place in order[2:]))
    (fact,) = await deduplicator.facts()
    assert (fact.provenance, round(fact.confidence, 3)) == ("user_stated", 0.7)
    assert fact.confirmation_count == 4
    assert (fact.valid_from, fact.claimed_at, fact.claimed_by) == (NOON - timedelta(hours=1), NOON + timedelta(hours=3), "e")


@pytest.mark.parametrize(
    ("known", "heard", "expected"),
    [
        (("assistant_derived", 0.4), ("user_stated", 0.9), ("user_stated", 0.9)),
        (("user_stated", 0.9), ("assistant_derived", 1.0), ("user_stated", 0.9)),
        (("episode_summary", 0.5), ("episode_summary", 0.8), ("episode_summary", 0.8)),
        (("assistant_derived", 0.5), ("assistant_derived", 0.9), ("assistant_derived", 0.5)),
        (("episode_summary", 0.9), ("user_stated", 0.3), ("user_stated", 0.3)),
    ],
)
async def test_confirming_takes_the_better_claim_and_an_assistant_repeating_itself_adds_no_trust(
    deduplicator: Bench, known: tuple[str, float], heard: tuple[str, float], expected: tuple[str, float]
) -> None:
    await deduplicator.work(learned(OLD, provenance=known[0], confidence=known[1]))
    (fact,) = await deduplicator.facts()
    after = confirm(fact, learned(OLD, event_id="later", provenance=heard[0], confidence=heard[1], occurred_at=NOON + timedelta(days=1)))
    assert (after.provenance, round(after.confidence, 3)) == expected
    assert after.confirmation_count == 1
