"""Facts and their wordings: what is written is what is read, and the table itself refuses what must never be."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from nous.text import content_hash
from store import facts, mentions
from store.database import Write
from store.facts import Fact
from tests.factories import NOON, a_fact, a_mention, an_id
from tests.store.conftest import as_operator, run

HOUR = timedelta(hours=1)


def a_rich_fact(**over: Any) -> Fact:
    """No field as a column's default would have it."""
    fields = {
        "attribute": "desk",
        "provenance": "user_stated",
        "confidence": 0.9,
        "source": "episode:7",
        "active": False,
        "valid_to": NOON + HOUR,
        "claimed_at": NOON + HOUR,
        "confirmation_count": 3,
        "last_confirmed": NOON + HOUR,
        "agent_id": "a",
    }
    return a_fact(**fields | over)


async def test_a_fact_is_read_as_it_was_written_to_the_last_digit(db: Write) -> None:
    survivor = a_fact(agent_id="a")
    fact = a_rich_fact(superseded_by=survivor.fact_id, merged_into=survivor.fact_id, confidence=0.1 + 0.2)
    await facts.insert(db, [survivor, fact])
    assert await facts.by_key(db, [("a", fact.fact_id), ("a", survivor.fact_id)]) == {
        ("a", fact.fact_id): fact,
        ("a", survivor.fact_id): survivor,
    }


async def test_a_key_that_is_not_there_is_left_out_and_no_keys_are_no_facts(db: Write) -> None:
    fact = a_fact(agent_id="a")
    await facts.insert(db, [fact])
    assert list(await facts.by_key(db, [("a", an_id()), ("a", fact.fact_id), ("b", fact.fact_id)])) == [("a", fact.fact_id)]
    assert await facts.by_key(db, []) == {}


async def test_two_agents_may_use_one_id_for_two_facts(db: Write) -> None:
    mine = a_fact(agent_id="a", content="Mine.")
    yours = a_fact(agent_id="b", fact_id=mine.fact_id, content="Yours.")
    await facts.insert(db, [mine, yours])
    assert await facts.by_key(db, [("b", mine.fact_id)]) == {("b", mine.fact_id): yours}


async def test_a_confirmation_changes_trust_counts_and_times_and_never_the_wording(db: Write) -> None:
    fact = a_fact(agent_id="a")
    other, twin = a_fact(agent_id="a"), a_fact(agent_id="b", fact_id=fact.fact_id)
    await facts.insert(db, [fact, other, twin])
    confirmed = replace(
        fact,
        provenance="user_stated",
        confidence=0.95,
        valid_from=NOON - HOUR,
        claimed_at=NOON + HOUR,
        claimed_by="another event",
        confirmation_count=1,
        last_confirmed=NOON + HOUR,
    )
    reworded = replace(confirmed, content="Other words.", content_hash=b"other", subject="Ken", source="elsewhere")
    await facts.confirm(db, [reworded])
    assert await facts.by_key(db, [("a", fact.fact_id), ("a", other.fact_id), ("b", fact.fact_id)]) == {
        ("a", fact.fact_id): confirmed,
        ("a", other.fact_id): other,
        ("b", fact.fact_id): twin,
    }


async def test_facts_are_listed_by_agent_and_then_oldest_first(db: Write) -> None:
    late = a_fact(agent_id="a", valid_from=NOON + HOUR)
    early = a_fact(agent_id="a", valid_from=NOON)
    gone = a_fact(agent_id="a", valid_from=NOON - HOUR, active=False)
    other = a_fact(agent_id="b", valid_from=NOON - 2 * HOUR)
    await facts.insert(db, [late, other, gone, early])
    assert await facts.listed(db, agent=None, inactive=True, limit=None) == [gone, early, late, other]
    assert await facts.listed(db, agent="a", inactive=False, limit=None) == [early, late]
    assert await facts.listed(db, agent="a", inactive=True, limit=2) == [gone, early]
    assert await facts.listed(db, agent="c", inactive=True, limit=None) == []


@pytest.mark.parametrize(
    ("subject", "key"),
    [(" MARIA  Lopez ", "maria lopez"), ("Ｍａｒｉａ\u200b", "maria"), ("小明", "小明"), ("", None), (" \u3000", None), (None, None)],
)
async def test_a_subject_is_folded_into_its_key(db: Write, subject: str | None, key: str | None) -> None:
    fact = a_fact(agent_id="a", subject=subject)
    await facts.insert(db, [fact])
    assert await run(db, "SELECT subject_key FROM heart.facts WHERE fact_id = :id", id=fact.fact_id) == [key]
    assert (await facts.by_key(db, [("a", fact.fact_id)]))["a", fact.fact_id].subject == subject


async def test_two_active_facts_of_an_agent_never_say_the_same_of_the_same(db: Write) -> None:
    words = "Tea at four."
    await facts.insert(
        db,
        [
            a_fact(agent_id="a", content=words),
            a_fact(agent_id="b", content=words),
            a_fact(agent_id="a", content=words, active=False),
            a_fact(agent_id="a", content=words, active=False),
        ],
    )
    with pytest.raises(IntegrityError, match="uq_facts_active_text"):
        await facts.insert(db, [a_fact(agent_id="a", content="tea at  FOUR")])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "superseded and active": ({"active": True, "superseded_by": ...}, "ck_facts_superseded"),
    "superseded by nothing that exists": ({"active": False, "superseded_by": an_id()}, "fk_facts_superseded_by"),
    "merged into nothing that exists": ({"active": False, "merged_into": an_id()}, "fk_facts_merged_into"),
    "vouched for by nobody known": ({"provenance": "guessed"}, "ck_facts_provenance"),
    "more than certain": ({"confidence": 1.01}, "ck_facts_confidence"),
    "not a number": ({"confidence": float("nan")}, "ck_facts_confidence"),
}


@pytest.mark.parametrize(("over", "constraint"), REFUSED.values(), ids=REFUSED.keys())
async def test_the_table_refuses_a_fact_that_cannot_be(db: Write, over: dict[str, Any], constraint: str) -> None:
    other = a_fact(agent_id="a")
    await facts.insert(db, [other])
    fields = {name: other.fact_id if value is ... else value for name, value in over.items()}
    with pytest.raises(IntegrityError, match=constraint):
        await insert_as_at_commit(db, a_fact(agent_id="a", **fields))


async def insert_as_at_commit(db: Write, fact: Fact) -> None:
    """What a fact points to may come later in the transaction, and is looked for at its end."""
    await facts.insert(db, [fact])
    await db.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))


async def test_a_fact_is_never_superseded_by_another_agent_s(db: Write) -> None:
    foreign = a_fact(agent_id="b")
    await facts.insert(db, [foreign])
    with pytest.raises(IntegrityError, match="fk_facts_superseded_by"):
        await insert_as_at_commit(db, a_fact(agent_id="a", active=False, superseded_by=foreign.fact_id))


# ── mentions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_every_wording_of_a_fact_is_kept_as_it_was_said_in_the_order_of_the_claims(db: Write) -> None:
    fact, other = a_fact(agent_id="a"), a_fact(agent_id="a")
    await facts.insert(db, [fact, other])
    last = a_mention(fact, occurred_at=NOON + HOUR)
    second = a_mention(fact, event_id="event-b", occurred_at=NOON, content="Said  OTHERWISE!", quote="She said so.", similarity=0.1 + 0.2)
    first = a_mention(fact, event_id="event-a", occurred_at=NOON, outcome="stored")
    elsewhere = a_mention(other)
    await mentions.insert(db, [last, elsewhere, second, first])
    assert await mentions.of_facts(db, [("a", fact.fact_id), ("a", other.fact_id), ("b", fact.fact_id)]) == {
        ("a", fact.fact_id): [first, second, last],
        ("a", other.fact_id): [elsewhere],
    }


async def test_words_heard_before_lead_to_every_fact_they_became(db: Write) -> None:
    old, new, other = a_fact(agent_id="a", active=False), a_fact(agent_id="a"), a_fact(agent_id="b")
    await facts.insert(db, [old, new, other])
    await mentions.insert(db, [a_mention(fact, content="Tea at four.") for fact in (old, new, new, other)])
    heard, unheard = content_hash("tea at four"), content_hash("Tea at five.")
    assert await mentions.by_content(db, [("a", heard), ("b", heard), ("a", unheard)]) == {
        ("a", heard): {old.fact_id, new.fact_id},
        ("b", heard): {other.fact_id},
    }


async def test_a_published_id_stands_for_the_words_it_was_used_for_agent_by_agent(db: Write) -> None:
    mine, yours, shared = a_fact(agent_id="a"), a_fact(agent_id="b"), an_id()
    await facts.insert(db, [mine, yours])
    await mentions.insert(db, [a_mention(mine, mention_id=shared), a_mention(yours, mention_id=shared)])
    assert await mentions.by_mention_id(db, [("a", shared), ("b", shared), ("a", an_id())]) == {
        ("a", shared): mine.content_hash,
        ("b", shared): yours.content_hash,
    }
    assert await mentions.resolve(await as_operator(db), shared) == [("a", mine.fact_id), ("b", yours.fact_id)]


async def test_the_beginning_of_a_published_id_finds_what_it_may_mean(db: Write) -> None:
    mine, yours = a_fact(agent_id="a"), a_fact(agent_id="b")
    await facts.insert(db, [mine, yours])
    ids = [UUID(f"5f0c1a52-{middle}-4c1b-9d57-0a4d3c1e8b21") for middle in ("0000", "ffff")]
    beyond = UUID("5f0c1a53-0000-4c1b-9d57-0a4d3c1e8b21")
    await mentions.insert(db, [a_mention(mine, mention_id=one) for one in (*ids, beyond)])
    await mentions.insert(db, [a_mention(yours, mention_id=ids[0])])
    first, last = UUID("5f0c1a52" + "0" * 24), UUID("5f0c1a52" + "f" * 24)
    assert await mentions.within(db, first, last, agent="a", limit=9) == [("a", mine.fact_id)]
    assert await mentions.within(db, first, last, agent="c", limit=9) == []
    db = await as_operator(db)
    assert await mentions.within(db, first, last, agent=None, limit=9) == [("a", mine.fact_id), ("b", yours.fact_id)]
    assert await mentions.within(db, first, last, agent=None, limit=1) == [("a", mine.fact_id)]
    assert await mentions.within(db, beyond, beyond, agent="b", limit=9) == []


@pytest.mark.parametrize(
    ("ask", "nothing"),
    [
        (lambda db: mentions.by_content(db, []), {}),
        (lambda db: mentions.by_mention_id(db, []), {}),
        (lambda db: mentions.of_facts(db, []), {}),
        (lambda db: mentions.resolve(db, an_id()), []),
        (lambda db: mentions.insert(db, []), None),
        (lambda db: facts.insert(db, []), None),
        (lambda db: facts.confirm(db, []), None),
    ],
)
async def test_nothing_asked_is_nothing_found(db: Write, ask: Callable[[Write], Awaitable[Any]], nothing: Any) -> None:
    assert await ask(db) == nothing


async def test_an_event_has_one_mention(db: Write) -> None:
    fact = a_fact(agent_id="a")
    await facts.insert(db, [fact])
    with pytest.raises(IntegrityError, match="pk_fact_mentions"):
        await mentions.insert(db, [a_mention(fact, event_id="once"), a_mention(fact, event_id="once")])


@pytest.mark.parametrize(
    ("over", "constraint"), [({"outcome": "guessed"}, "ck_fact_mentions_outcome"), ({"fact_id": an_id()}, "fk_fact_mentions_fact")]
)
async def test_the_table_refuses_a_mention_that_cannot_be(db: Write, over: dict[str, Any], constraint: str) -> None:
    fact = a_fact(agent_id="a")
    await facts.insert(db, [fact])
    with pytest.raises(DBAPIError, match=constraint):
        await mentions.insert(db, [a_mention(fact, **over)])


async def test_every_script_is_kept_as_it_is(db: Write) -> None:
    texts = ["", " \t", "我喜欢咖啡", "قهوة ‏العربية", "ฉันชอบกาแฟ", "\U0001f600" * 8_000, "e\u0301", "';--", "{}", "\\", "\u202e"]
    said = [a_fact(agent_id="a", content=text or " ", active=False) for text in texts]
    await facts.insert(db, said)
    await mentions.insert(db, [a_mention(fact) for fact in said])
    found = await facts.by_key(db, [("a", fact.fact_id) for fact in said])
    assert [found["a", fact.fact_id].content for fact in said] == [fact.content for fact in said]
