"""`nous reembed`: every fact gets a vector of the other embedder, the switch is whole or not at all, and the way back is short."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import UUID

import numpy as np
import pytest

from nous.errors import Misconfigured
from store import embedders, episodes, facts, vectors
from store.database import Database
from store.embedders import Registered
from store.facts import Fact
from tests.conftest import until
from tests.factories import a_fact, an_episode
from tests.nous.conftest import Nous
from tests.providers.conftest import EmbeddingsServer, Reply
from tests.store.conftest import run
from workers.runtime.worker import Kit

AGENTS = ("a", "b")
THRESHOLDS = {"NOUS_CONFIRM_SIMILARITY": "0.9", "NOUS_CHECK_SIMILARITY": "0.8", "NOUS_EPISODE_SIMILARITY": "0.8"}


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    made = EmbeddingsServer()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def other(nous: Nous, server: EmbeddingsServer) -> str:
    """The name the store knows this server's embedder by; commands know it from now on."""
    nous.env |= THRESHOLDS | {
        "NOUS_EMBEDDER_URL": server.url,
        "NOUS_EMBEDDER_MODEL": server.model,
        "NOUS_EMBEDDER_DIMENSION": str(server.dimension),
    }
    return f"openai:{server.model}"


async def stored(database: Database, kit: Kit, new: Sequence[Fact]) -> None:
    """Facts as they are stored, with their vectors."""
    made = await kit.embedder.embed([one.wording for one in new])
    async with database.write(AGENTS) as db:
        await facts.insert(db, new)
        await vectors.insert(db, kit.registered.table, [(*one.key, row) for one, row in zip(new, made, strict=True)])
        for one in new:
            if not one.active:
                await vectors.mark(db, kit.registered.table, one.agent_id, current=(), past=[one.fact_id])


async def table_of(database: Database, name: str) -> Registered:
    async with database.overview() as db:
        return next(one for one in await embedders.known(db) if one.name == name)


async def marks(database: Database, name: str) -> dict[UUID, bool]:
    """Every fact with a vector of this embedder, and whether the vector says that it is true now."""
    registered = await table_of(database, name)
    async with database.overview() as db:
        return dict(await run(db, f"SELECT fact_id, current FROM {registered.table}"))


async def in_use(database: Database) -> str:
    async with database.overview() as db:
        return (await embedders.active(db)).name


async def test_every_fact_gets_a_vector_of_its_own_words_and_the_store_goes_by_the_new_embedder(
    nous: Nous, database: Database, kit: Kit, server: EmbeddingsServer, other: str
) -> None:
    true, richer = a_fact(agent_id="a"), a_fact(agent_id="b", content="Mimi is a grey cat", own_content="Mimi is a cat")
    retired = a_fact(agent_id="a", active=False, superseded_by=true.fact_id, valid_to=true.valid_from)
    merged = a_fact(agent_id="a", active=False, merged_into=true.fact_id)
    part_of_the_past = a_fact(agent_id="a", active=False, merged_into=retired.fact_id)
    await stored(database, kit, [true, retired, merged, part_of_the_past, richer])
    told = await nous.json("reembed", "--to", "openai", "--batch", "2")
    assert (told["before"], told["embedder"], told["made"], told["switched"]) == ("zero", other, 5, True)
    assert told["set"] == {"NOUS_EMBEDDER": "openai"}
    assert told["thresholds"] == {"confirm_similarity": 0.9, "check_similarity": 0.8, "episode_similarity": 0.8}
    assert await in_use(database) == other
    assert await marks(database, other) == {
        true.fact_id: True,
        richer.fact_id: True,
        merged.fact_id: True,
        retired.fact_id: False,
        part_of_the_past.fact_id: False,
    }
    asked = np.array(server.rows(["Mimi is a cat"])[0]["embedding"], np.float32)
    registered = await table_of(database, other)
    async with database.read(["b"]) as db:
        [[near]] = await vectors.nearest(db, registered.table, [("b", asked)], limit=1, floor=0)
    assert (near.fact_id, near.similarity) == (richer.fact_id, pytest.approx(1, abs=1e-3))


async def test_while_the_new_embedder_is_away_the_old_one_serves_and_nothing_is_embedded_twice(
    nous: Nous, database: Database, kit: Kit, server: EmbeddingsServer, other: str
) -> None:
    new = [a_fact(agent_id="a") for _ in range(12)]
    await stored(database, kit, new)
    asked: list[str] = []

    async def refusing_after_six(texts: list[str]) -> Reply:
        asked.extend(texts)
        return await server.healthy(texts) if len(asked) <= 7 else (401, {}, "no longer")

    async def recording(texts: list[str]) -> Reply:
        asked.extend(texts)
        return await server.healthy(texts)

    server.always(refusing_after_six)
    running = asyncio.create_task(nous("reembed", "--to", "openai", "--batch", "3"))

    async def has_begun() -> bool:
        async with database.overview() as db:
            known = {one.name: one for one in await embedders.known(db)}
            return other in known and await embedders.size(db, known[other]) == 6

    await until(has_begun, what="six vectors")
    assert await in_use(database) == "zero"
    before = list(asked)
    asked.clear()
    server.always(recording)
    await running
    assert not set(asked) & set(before[1:7])
    told = await nous.json("reembed", "--to", "openai")
    assert (told["made"], told["switched"]) == (0, False)
    assert await in_use(database) == other
    assert set(await marks(database, other)) == {one.fact_id for one in new}


async def test_back_again_only_what_came_since_is_embedded_and_what_changed_is_marked(
    nous: Nous, database: Database, kit: Kit, other: str
) -> None:
    old = [a_fact(agent_id="a") for _ in range(3)]
    await stored(database, kit, old)
    await nous.json("reembed", "--to", "openai")
    new, registered = a_fact(agent_id="a"), await table_of(database, other)
    async with database.write(["a"]) as db:
        await facts.insert(db, [new])
        await vectors.insert(db, registered.table, [(*new.key, np.ones(registered.dimension, np.float32))])
        await facts.change(db, [dataclasses.replace(old[0], active=False, superseded_by=new.fact_id, valid_to=new.valid_from)])
        await vectors.mark(db, registered.table, "a", current=(), past=[old[0].fact_id])
    told = await nous.json("reembed", "--to", "zero")
    assert (told["made"], told["switched"]) == (1, True)
    assert await marks(database, "zero") == await marks(database, other) == {one.fact_id: one is not old[0] for one in (*old, new)}


async def test_an_episode_s_first_words_and_its_summary_get_vectors_again_when_the_summary_changes(
    nous: Nous, database: Database, kit: Kit, server: EmbeddingsServer, other: str
) -> None:
    episode = an_episode(agent_id="a", opening="Which database?", summary="Postgres it is.", written_by="mind")

    async def summarized(summary: str) -> None:
        async with database.write(["a"]) as db:
            await episodes.put(db, dataclasses.replace(episode, summary=summary))
            for part, words in (("opening", episode.opening or ""), ("summary", summary)):
                (vector,) = await kit.embedder.embed([words])
                await episodes.put_vector(db, "a", episode.episode_id, part, embedder="zero", vector=vector)  # type: ignore[arg-type]

    await summarized("Postgres it is.")
    assert (await nous.json("reembed", "--to", "openai"))["made"] == 2
    await nous.json("reembed", "--to", "zero")
    await summarized("SQLite after all.")
    server.asked.clear()
    assert (await nous.json("reembed", "--to", "openai"))["made"] == 2
    assert "SQLite after all." in [text for texts in server.asked for text in texts]
    async with database.overview() as db:
        assert sorted(await run(db, "SELECT part, vector_dims(vector) FROM heart.episode_vectors WHERE embedder = :name", name=other)) == [
            ("opening", server.dimension),
            ("summary", server.dimension),
        ]


async def test_a_text_the_new_embedder_will_not_have_keeps_the_old_one_in_use_and_is_named(
    nous: Nous, database: Database, kit: Kit, server: EmbeddingsServer, other: str
) -> None:
    new = [a_fact(agent_id="a") for _ in range(5)] + [a_fact(agent_id="a", content="far too long")]
    await stored(database, kit, new)

    async def refusing(texts: list[str]) -> Reply:
        return (413, {}, "too long") if "far too long" in texts else await server.healthy(texts)

    server.always(refusing)
    shown = await nous("reembed", "--to", "openai")
    assert shown.exit_code == 1
    assert f"1 of the texts get no vector from {other}, so nothing was switched; the first is fact {new[-1].fact_id}" in shown.output
    assert await in_use(database) == "zero"
    assert set(await marks(database, other)) == {one.fact_id for one in new[:-1]}


async def test_what_is_forgotten_has_no_words_and_gets_no_vector(nous: Nous, database: Database, kit: Kit, other: str) -> None:
    left, gone = a_fact(agent_id="a"), dataclasses.replace(a_fact(agent_id="a", active=False), content="")
    async with database.write(["a"]) as db:
        await facts.insert(db, [left, gone])
    assert (await nous.json("reembed", "--to", "openai"))["made"] == 1


async def test_a_writer_that_began_with_the_other_embedder_is_refused_inside_its_transaction(
    nous: Nous, database: Database, kit: Kit, other: str
) -> None:
    async with database.write(["a"]) as db:
        await embedders.hold(db, kit.registered)
    await nous.json("reembed", "--to", "openai")
    with pytest.raises(Misconfigured, match=f"are of the embedder '{other}' since it was changed.*began with 'zero'; set NOUS_EMBEDDER"):
        async with database.write(["a"]) as db:
            await embedders.hold(db, kit.registered)


async def test_the_switch_waits_for_open_writes_and_those_that_come_wait_for_it(database: Database, database_url: str) -> None:
    order: list[str] = []
    watching = Database(database_url, pool=1)

    async def switch() -> None:
        async with database.switching():
            order.append("switch")

    async def write() -> None:
        async with database.write(["b"]):
            order.append("later write")

    async def waiting(count: int) -> bool:
        async with watching.overview() as db:
            found = await run(
                db,
                "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database"
                " WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()",
            )
        return bool(found == [count])

    async with database.write(["a"]):
        switching = asyncio.create_task(switch())
        await until(partial(waiting, 1), what="the switch waiting")
        writing = asyncio.create_task(write())
        await until(partial(waiting, 2), what="the later write waiting")
        order.append("open write")
    await asyncio.gather(switching, writing)
    await watching.close()
    assert order == ["open write", "switch", "later write"]


async def test_the_old_vectors_are_dropped_on_request_and_never_those_in_use(nous: Nous, database: Database, kit: Kit, other: str) -> None:
    await stored(database, kit, [a_fact(agent_id="a")])
    await nous.json("reembed", "--to", "openai")
    for name in ("openai", other):
        shown = await nous("reembed", "--drop", name)
        assert (shown.exit_code, f"the vectors of {other} are in use" in shown.output) == (2, True)
    assert [(one["embedder"], one["facts"], one["active"]) for one in await nous.json("reembed")] == [
        ("zero", 1, False),
        (other, 1, True),
    ]
    assert await nous.json("reembed", "--drop", "zero") == {"dropped": "zero", "facts": 1}
    assert [one["embedder"] for one in await nous.json("reembed")] == [other]
    shown = await nous("reembed", "--drop", "zero")
    assert (shown.exit_code, "no vectors of 'zero'" in shown.output) == (2, True)


async def test_check_writes_nothing_and_shows_which_pairs_would_be_judged_otherwise(
    nous: Nous, database: Database, kit: Kit, server: EmbeddingsServer, other: str
) -> None:
    alike = [a_fact(agent_id="a", content=f"The port is {number}") for number in (80, 443)]
    await stored(database, kit, [*alike, a_fact(agent_id="a"), a_fact(agent_id="b", content="The port is 22")])

    async def ports_are_alike(texts: list[str]) -> Reply:
        return await server.healthy(["port" if "port" in text else text for text in texts])

    server.always(ports_are_alike)
    told = await nous.json("reembed", "--to", "openai", "--check")
    assert (told["texts"], told["sampled"], told["pairs"]) == (4, 4, [{"now": "apart", "then": "confirm", "pairs": 1}])
    assert {one["content"] for one in told["changed"][0]["facts"]} == {one.content for one in alike}
    assert told["changed"][0]["then"] == {"band": "confirm", "similarity": 1.0}
    assert [one["embedder"] for one in await nous.json("reembed")] == ["zero"]
    shown = await nous("reembed", "--to", "openai", "--check")
    assert "4 texts to embed" in shown.stdout
    assert "nothing was written; to do it: nous reembed --to openai" in shown.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "minilm"], "there is no embedder 'minilm' (did you mean minilm-l6-v2?)"),
        (["--check"], "--check says what a change would take, so it needs --to NAME too"),
        (["--to", "zero", "--drop", "zero"], "--to and --drop were both given"),
        (["--to", "openai"], "set NOUS_EMBEDDER_MODEL"),
    ],
)
async def test_a_mistake_is_told_in_a_sentence(nous: Nous, words: list[str], sentence: str) -> None:
    shown = await nous("reembed", *words)
    assert (shown.exit_code, sentence in " ".join(shown.output.split())) == (2, True), shown.output


async def test_a_threshold_that_was_set_for_the_other_embedder_is_pointed_out(nous: Nous, other: str) -> None:
    await nous.json("reembed", "--to", "openai")
    shown = await nous("reembed", "--to", "zero")
    assert "NOUS_CONFIRM_SIMILARITY, NOUS_CHECK_SIMILARITY and NOUS_EPISODE_SIMILARITY" in " ".join(shown.stdout.split())
    assert "set NOUS_EMBEDDER=zero for workers and commands, and start them again" in shown.stdout
