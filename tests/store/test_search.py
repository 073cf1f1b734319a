"""Search finds what a look at every memory finds, with both scores, in any language, of one agent only; and nothing that is not true."""

import math
import random
import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from nous.terms import terms
from store import decisions, embedders, episodes, facts, memory_vectors, passages, procedures, vectors
from store.database import Database, Read, Write
from store.embedders import Registered
from store.search import KINDS, Found, search
from store.vectors import Vector
from tests.factories import NOON, a_decision, a_fact, a_procedure, a_vector, an_episode

HOUR = timedelta(hours=1)


@pytest.fixture
async def registered(database: Database) -> Registered:
    async with database.overview() as session:
        return await embedders.active(session)


async def know(db: Write, registered: Registered, said: str, vector: Vector | None = None, *, agent: str = "a", **over: Any) -> uuid.UUID:
    fact = a_fact(agent_id=agent, content=said, **over)
    await facts.insert(db, [fact])
    if vector is not None:
        await vectors.insert(db, registered.table, [(agent, fact.fact_id, vector)])
    return fact.fact_id


async def found(
    db: Read,
    registered: Registered,
    question: str,
    *,
    vector: Vector | None = None,
    kinds: Sequence[Any] = KINDS,
    agent: str = "a",
    **over: Any,
) -> list[Found]:
    return await search(db, agent, kinds, vector=vector, embedder=registered, terms=terms(question), **over)


def bm25(question: Sequence[str], said: dict[uuid.UUID, list[str]]) -> dict[uuid.UUID, float]:
    """As the books have it, one memory after another."""
    mean = sum(map(len, said.values())) / len(said)
    scores = {}
    for memory, its in said.items():
        times = Counter(its)
        score = 0.0
        for term in set(question):
            having = sum(term in others for others in said.values())
            rarity = math.log(1 + (len(said) - having + 0.5) / (having + 0.5))
            score += rarity * times[term] * 2.2 / (times[term] + 1.2 * (0.25 + 0.75 * len(its) / mean))
        scores[memory] = score
    return scores


async def test_it_finds_what_a_look_at_every_memory_finds(db: Write, registered: Registered) -> None:
    drawn = random.Random(7)
    vocabulary = ["tea", "coffee", "oslo", "harbour", "ferry", "violin", "garden", "winter", "letter", "bread"]
    said, directions = {}, {}
    for number in range(300):
        wording = " ".join(drawn.choices(vocabulary, k=drawn.randint(3, 12)))
        direction = a_vector(number)
        said[await know(db, registered, wording, direction, subject=None, text_key=str(number).encode())] = terms(wording)
        directions[list(said)[-1]] = direction
    asked = a_vector(10_000)
    question = "violin bread in winter"
    nearest = sorted(said, key=lambda one: (-float(directions[one] @ asked), one))[:20]
    scores = bm25(terms(question), said)
    worded = sorted((one for one in said if scores[one]), key=lambda one: (-round(scores[one], 6), one))[:20]

    got = await found(db, registered, question, vector=asked, kinds=["fact"], pool=20)
    assert {one.memory_id for one in got} == {*nearest, *worded}
    for one in got:
        assert one.words == pytest.approx(scores[one.memory_id], abs=1e-4)
        assert one.similarity == pytest.approx(float(directions[one.memory_id] @ asked), abs=2e-3)
    assert got == await found(db, registered, question, vector=asked, kinds=["fact"], pool=20)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("我的猫叫咪咪", "猫叫什么名字？"),
        ("彼女はブラックコーヒーが好きです。", "コーヒーは好きですか"),
        ("제 고양이 이름은 미미입니다", "고양이가 있어요?"),
        ("แมวของฉันชื่อมีมี่", "แมวชื่ออะไร"),
        ("Das Kind wohnt in Köln.", "Wo wohnen die Kinder?"),
    ],
)
async def test_without_an_embedder_the_words_find_it_in_any_language(db: Write, registered: Registered, said: str, question: str) -> None:
    await know(db, registered, "Nobody waters the plants")
    wanted = await know(db, registered, said)
    assert [one.memory_id for one in await found(db, registered, question)] == [wanted]


async def test_every_kind_is_found_with_its_line_and_what_vouches_for_it(db: Write, registered: Registered) -> None:
    episode = an_episode(
        agent_id="a",
        title="Ferry",
        summary="The ferry was late",
        written_by="mind",
        brief="The ferry was late",
        detail="User: late again" * 9,
    )
    await episodes.put(db, episode)
    await passages.put(db, "a", episode.episode_id, [("User: the ferry to Oslo was late", NOON)])
    decision = a_decision(agent_id="a", description="Take the ferry", brief="Take the ferry [80% confidence]", noise="status report")
    await decisions.put(db, [decision])
    procedure = a_procedure(agent_id="a", name="Catching the ferry", brief="Catching the ferry: run", core_patterns=("run",))
    await procedures.put(db, [procedure])
    fact = await know(
        db, registered, "The ferry leaves at nine", provenance="user_stated", source=f"episode:{episode.episode_id}", subject="Ferry"
    )
    got = {one.kind: one for one in await found(db, registered, "Which ferry?")}
    assert {kind: (one.memory_id, one.text, one.provenance, one.is_noise, one.episode_id) for kind, one in got.items()} == {
        "fact": (fact, "The ferry leaves at nine", "user_stated", False, episode.episode_id),
        "episode": (episode.episode_id, "The ferry was late", "episode_summary", False, episode.episode_id),
        "decision": (decision.decision_id, decision.brief, "assistant_derived", True, None),
        "procedure": (procedure.procedure_id, procedure.brief, "assistant_derived", False, None),
        "passage": (
            passages.id_of("a", episode.episode_id, 0),
            "User: the ferry to Oslo was late",
            "transcript",
            False,
            episode.episode_id,
        ),
    }
    assert got["episode"].detail_characters == len("User: late again" * 9)
    assert all(one.similarity is None and one.words > 0 for one in got.values())
    for key, vector in (("decision", a_vector(1)), ("procedure", a_vector(2)), ("passage", a_vector(3))):
        what = await memory_vectors.said(db, [("a", key, got[key].memory_id)])  # type: ignore[list-item, index]
        await memory_vectors.put(db, registered, [(one, said, vector) for one, said in what.items()])
    await episodes.put_vector(db, "a", episode.episode_id, "summary", embedder=registered.name, vector=a_vector(4))
    near = await found(db, registered, "", vector=a_vector(3))
    assert {one.kind for one in near} == {"episode", "decision", "procedure", "passage"}
    assert next(one.similarity for one in near if one.kind == "passage") == pytest.approx(1.0, abs=1e-2)


async def test_no_kinds_no_terms_and_no_vector_find_nothing(db: Write, registered: Registered) -> None:
    await know(db, registered, "The ferry leaves at nine", a_vector(1))
    assert await found(db, registered, "ferry", kinds=[]) == []
    assert await found(db, registered, "?!") == []
    assert await found(db, registered, "zeppelin") == []


async def test_what_is_retired_merged_put_aside_or_another_s_is_not_found(db: Write, registered: Registered) -> None:
    kept = await know(db, registered, "The ferry leaves at ten", a_vector(1))
    await know(db, registered, "The ferry leaves at nine", a_vector(2), active=False, superseded_by=kept, valid_to=NOON + HOUR)
    await know(db, registered, "A ferry leaves at ten", a_vector(3), active=False, merged_into=kept)
    await know(db, registered, "The ferry leaves at eleven", a_vector(4), agent="b")
    aside = an_episode(agent_id="a", title="Ferry", brief="Ferry", active=False, put_aside="trivial")
    await episodes.put(db, aside)
    await passages.put(db, "a", aside.episode_id, [("User: the ferry", NOON)])
    for vector in (a_vector(1), None):
        assert [one.memory_id for one in await found(db, registered, "ferry", vector=vector)] == [kept]


async def test_as_of_finds_what_was_true_then_and_a_range_limits_the_time(db: Write, registered: Registered) -> None:
    new = await know(db, registered, "The ferry leaves at ten", valid_from=NOON + HOUR)
    old = await know(db, registered, "The ferry leaves at nine", valid_from=NOON, active=False, superseded_by=new, valid_to=NOON + HOUR)
    for moment, expected in ((NOON - HOUR, []), (NOON, [old]), (NOON + HOUR, [new])):
        assert [one.memory_id for one in await found(db, registered, "ferry", as_of=moment)] == expected
    assert [one.memory_id for one in await found(db, registered, "ferry", since=NOON, until=NOON + HOUR)] == [new]
    assert await found(db, registered, "ferry", since=NOON + 2 * HOUR) == []
    assert await found(db, registered, "ferry", until=NOON) == []
    whole, part = await found(db, registered, "ferry"), await found(db, registered, "ferry", until=NOON + 9 * HOUR)
    assert whole == part, "a time range does not change a score"


async def test_words_follow_the_wording_that_is_shown(db: Write, registered: Registered) -> None:
    fact = a_fact(agent_id="a", content="The boat leaves at nine")
    await facts.insert(db, [fact])
    shown = fact.__class__(**{**vars(fact), "content": "The ferry leaves at nine sharp", "own_content": fact.content})
    await facts.change(db, [shown])
    assert [one.memory_id for one in await found(db, registered, "ferry sharp")] == [fact.fact_id]
    assert await found(db, registered, "boat") == []


@pytest.mark.parametrize("said", ["\x00' | ! & 'x", "it''s:*5 \\ 'quoted", "a" * 8_000, "漢字" * 4_000, "tea:A & coffee | (", "%_'); DROP"])
async def test_nothing_that_is_typed_breaks_the_statement(db: Write, registered: Registered, said: str) -> None:
    wanted = await know(db, registered, said.replace("\x00", ""))
    got = await found(db, registered, said)
    assert [one.memory_id for one in got] == [wanted]


async def test_a_passage_that_is_made_again_says_what_was_said_last(db: Write, registered: Registered) -> None:
    episode = an_episode(agent_id="a", title="Ferry", brief="Ferry")
    await episodes.put(db, episode)
    await passages.put(db, "a", episode.episode_id, [("User: the ferry", NOON), ("User: the harbour", NOON)])
    await passages.put(db, "a", episode.episode_id, [("User: the violin", NOON)])
    assert [one.text for one in await found(db, registered, "ferry harbour violin", kinds=["passage"])] == ["User: the violin"]
    assert [one.content for one in await passages.of_episode(db, "a", episode.episode_id)] == ["User: the violin"]


@pytest.mark.parametrize("first", ["а", "\U00010428"])
async def test_a_memory_of_more_long_words_than_a_tsvector_holds_is_kept_and_found_by_those_it_begins_with(
    db: Write, registered: Registered, first: str
) -> None:
    said = " ".join("".join(chr(ord(first) + int(digit)) for digit in f"{number:05}") + first * 60 for number in range(10_500))
    decision = a_decision(agent_id="a", description=said)
    episode = an_episode(agent_id="a", title="Long", summary=said, written_by="mind", brief="Long")
    await decisions.put(db, [decision])
    await episodes.put(db, episode)
    await passages.put(db, "a", episode.episode_id, [(said, NOON)])
    got = await found(db, registered, said[:65])
    assert {one.kind for one in got} == {"decision", "episode", "passage"}
    assert all(one.words > 0 for one in got)
