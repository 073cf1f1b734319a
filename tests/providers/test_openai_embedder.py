"""What a server can do wrong, and what each is called here."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from nous import clock
from nous.errors import Misconfigured, Outage, Refused
from providers import EmbeddingMalformed, EmbeddingRefused
from providers.openai_embedder import ATTEMPTS, LONGEST_WAIT_S, REQUESTS_AT_ONCE, TRIAL, OpenAIEmbedder

TEXTS = [f"fact {number}" for number in range(10)]


class Pause:
    """Instead of sleeping: remembers for how long."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture
def pause() -> Pause:
    return Pause()


@pytest.fixture
async def make(server: Any, pause: Pause) -> AsyncIterator[Callable[..., OpenAIEmbedder]]:
    """Makes embedders that ask the server, not open yet; closes them afterwards."""
    made = []

    def of(**changes: Any) -> OpenAIEmbedder:
        made.append(OpenAIEmbedder.configured(server.settings.model_copy(update=changes), pause=pause))
        return made[-1]

    yield of
    for embedder in made:
        await embedder.close()


@pytest.fixture
async def opened(make: Callable[..., OpenAIEmbedder], server: Any) -> OpenAIEmbedder:
    embedder = make(embedder_batch=4)
    await embedder.open()
    server.asked.clear()
    return embedder


async def raised(awaitable: Awaitable[object], kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        await awaitable
    return str(caught.value)


async def test_the_request_is_the_one_of_the_api(opened: OpenAIEmbedder, server: Any) -> None:
    await opened.embed(["hello"])
    assert server.asked == [["hello"]]
    assert server.headers[-1]["authorization"] == f"Bearer {server.key}"
    assert opened.name == f"openai:{server.model}"


async def test_without_a_key_none_is_sent(make: Callable[..., OpenAIEmbedder], server: Any) -> None:
    await make(embedder_api_key=type(server.settings.embedder_api_key)("")).open()
    assert "authorization" not in server.headers[-1]


async def test_texts_go_in_batches_of_at_most_the_setting_and_few_at_once(opened: OpenAIEmbedder, server: Any) -> None:
    many = [f"fact {number}" for number in range(100)]
    busy = asyncio.Event()

    async def once_busy(texts: list[str]) -> Any:
        if server.at_once == REQUESTS_AT_ONCE:
            busy.set()
        await busy.wait()
        return await server.healthy(texts)

    server.always(once_busy)
    vectors = await opened.embed(many)
    assert sorted(text for batch in server.asked for text in batch) == sorted(many)
    assert max(map(len, server.asked)) == 4
    assert server.most_at_once == REQUESTS_AT_ONCE
    assert (vectors[37] @ (await opened.embed([many[37]]))[0]) == pytest.approx(1, abs=1e-5)


async def test_rows_are_taken_by_index_and_not_as_they_come(opened: OpenAIEmbedder, server: Any) -> None:
    expected = await opened.embed(TEXTS)

    async def shuffled(texts: list[str]) -> Any:
        return 200, {}, {"data": server.rows(texts)[::-1]}

    server.always(shuffled)
    assert np.array_equal(await opened.embed(TEXTS), expected)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_asked_again_with_growing_waits(opened: OpenAIEmbedder, server: Any, pause: Pause, status: int) -> None:
    server.then(status, times=ATTEMPTS - 1)
    assert (await opened.embed(["a"])).shape == (1, server.dimension)
    assert len(server.asked) == ATTEMPTS
    first, second = pause.waits
    assert 0 < first <= 0.25 <= second <= 0.5


async def test_what_does_not_pass_is_an_outage_with_the_servers_words(opened: OpenAIEmbedder, server: Any, pause: Pause) -> None:
    server.then(503, {"error": {"message": "loading the model"}}, times=ATTEMPTS)
    message = await raised(opened.embed(["a"]), Outage)
    assert f"the embedder at {server.url} is not answering: 503" in message
    assert "loading the model" in message
    assert len(server.asked) == ATTEMPTS
    assert len(pause.waits) == ATTEMPTS - 1


async def test_retry_after_is_honoured_in_seconds_and_as_a_date(opened: OpenAIEmbedder, server: Any, pause: Pause) -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    server.then(429, retry_after="2.5")
    server.then(429, retry_after=format_datetime(now.replace(second=4), usegmt=True))
    with clock.held(now):
        await opened.embed(["a"])
    assert pause.waits == [2.5, 4.0]


@pytest.mark.parametrize("asked", ["soon", "nan", "-7", "Thu, 32 Jan 2026"])
async def test_an_illegible_retry_after_is_an_ordinary_wait(opened: OpenAIEmbedder, server: Any, pause: Pause, asked: str) -> None:
    server.then(429, retry_after=asked)
    await opened.embed(["a"])
    assert 0 < pause.waits[0] <= 0.25


async def test_a_server_that_asks_for_a_long_wait_is_away(opened: OpenAIEmbedder, server: Any, pause: Pause) -> None:
    server.then(429, retry_after=str(LONGEST_WAIT_S + 1))
    await raised(opened.embed(["a"]), Outage)
    assert pause.waits == []


async def test_no_answer_in_time_is_an_outage_at_once(make: Callable[..., OpenAIEmbedder], server: Any, pause: Pause) -> None:
    embedder = make(embedder_timeout_s=0.05)
    await embedder.open()
    let_go = asyncio.Event()

    async def stuck(texts: list[str]) -> Any:
        await let_go.wait()
        return await server.healthy(texts)

    server.always(stuck)
    assert "NOUS_EMBEDDER_TIMEOUT_S" in await raised(embedder.embed(["a"]), Outage)
    assert pause.waits == []
    let_go.set()


async def test_all_tries_of_a_call_share_one_time_limit(make: Callable[..., OpenAIEmbedder], server: Any) -> None:
    embedder = make(embedder_timeout_s=1.0)
    await embedder.open()
    server.asked.clear()

    async def late_gateway(texts: list[str]) -> Any:
        await asyncio.sleep(0.6)
        return 504, {}, "upstream timed out"

    server.always(late_gateway)
    message = await raised(embedder.embed(["a"]), Outage)
    assert "NOUS_EMBEDDER_TIMEOUT_S" in message
    assert "upstream timed out" in message
    assert len(server.asked) < ATTEMPTS


@pytest.mark.parametrize("refuses", [False, True], ids=["batch after batch", "half after half"])
async def test_all_requests_of_a_call_share_one_time_limit(make: Callable[..., OpenAIEmbedder], server: Any, refuses: bool) -> None:
    embedder = make(embedder_timeout_s=0.5, embedder_batch=64 if refuses else 1)
    await embedder.open()

    async def slow(texts: list[str]) -> Any:
        await asyncio.sleep(0.3)
        return (413, {}, "payload too large") if refuses else await server.healthy(texts)

    server.always(slow)
    assert "NOUS_EMBEDDER_TIMEOUT_S" in await raised(embedder.embed(TEXTS), Outage)


async def test_no_wait_outlasts_the_time_limit(make: Callable[..., OpenAIEmbedder], server: Any, pause: Pause) -> None:
    embedder = make(embedder_timeout_s=LONGEST_WAIT_S - 1)
    await embedder.open()
    server.then(429, retry_after=str(LONGEST_WAIT_S - 0.5))
    assert "429" in await raised(embedder.embed(["a"]), Outage)
    assert pause.waits == []


async def test_a_server_that_is_down_at_start_is_an_outage(make: Callable[..., OpenAIEmbedder]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        down = make(embedder_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        assert "ConnectError" in await raised(down.open(), Outage)


async def test_a_server_that_goes_down_later_is_an_outage(opened: OpenAIEmbedder, server: Any) -> None:
    async def hang_up(texts: list[str]) -> Any:
        raise ConnectionResetError

    server.always(hang_up)
    await server.stop()
    assert "ConnectError" in await raised(opened.embed(["a"]), Outage)


async def test_a_start_that_failed_can_be_tried_again(make: Callable[..., OpenAIEmbedder], server: Any) -> None:
    embedder = make()
    server.then(503, times=ATTEMPTS)
    await raised(embedder.open(), Outage)
    await embedder.open()
    assert (await embedder.embed(TEXTS)).shape == (len(TEXTS), server.dimension)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_misconfigured_at_start_and_never_shown(make: Callable[..., OpenAIEmbedder], server: Any, status: int) -> None:
    server.then(status, {"error": f"wrong key: {server.key}"})
    message = await raised(make().open(), Misconfigured)
    assert "NOUS_EMBEDDER_API_KEY" in message
    assert server.key not in message


async def test_a_key_that_stops_working_later_is_waited_for(opened: OpenAIEmbedder, server: Any) -> None:
    server.then(401)
    assert "NOUS_EMBEDDER_API_KEY" in await raised(opened.embed(["a"]), Outage)


async def test_a_server_that_echoes_the_key_does_not_put_it_in_a_message(opened: OpenAIEmbedder, server: Any) -> None:
    server.then(500, f"upstream rejected Bearer {server.key}", times=ATTEMPTS)
    message = await raised(opened.embed(["a"]), Outage)
    assert "upstream rejected" in message
    assert server.key not in message


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ключ"])
async def test_a_key_that_fits_no_header_is_refused_unseen(make: Callable[..., OpenAIEmbedder], server: Any, key: str) -> None:
    message = await raised(make(embedder_api_key=type(server.settings.embedder_api_key)(key)).open(), Misconfigured)
    assert "NOUS_EMBEDDER_API_KEY" in message
    assert key not in message
    assert server.asked == []


async def test_white_space_around_a_key_is_not_part_of_it(make: Callable[..., OpenAIEmbedder], server: Any) -> None:
    await make(embedder_api_key=type(server.settings.embedder_api_key)(f" {server.key}\n")).open()
    assert server.headers[-1]["authorization"] == f"Bearer {server.key}"


@pytest.mark.parametrize("status", [404, 405, 307])
async def test_a_wrong_address_or_model_is_misconfigured_at_start(make: Callable[..., OpenAIEmbedder], server: Any, status: int) -> None:
    server.then(status, "no such model", location="/elsewhere")
    message = await raised(make().open(), Misconfigured)
    assert "NOUS_EMBEDDER_URL" in message
    assert "NOUS_EMBEDDER_MODEL" in message
    assert "no such model" in message


async def test_another_dimension_is_misconfigured_at_start(make: Callable[..., OpenAIEmbedder]) -> None:
    message = await raised(make(embedder_dimension=768).open(), Misconfigured)
    assert "48 numbers and 768 were expected" in message
    assert "set NOUS_EMBEDDER_DIMENSION to 48" in message


async def test_another_dimension_later_is_waited_for(opened: OpenAIEmbedder, server: Any) -> None:
    server.then(200, {"data": [{"index": 0, "embedding": [0.5] * 3}]})
    assert "3 numbers and 48 were expected" in await raised(opened.embed(["a"]), Outage)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refused_text_is_found_in_its_batch_and_named_by_its_length(
    make: Callable[..., OpenAIEmbedder], server: Any, status: int
) -> None:
    embedder = make(embedder_batch=64)
    await embedder.open()

    async def short_only(texts: list[str]) -> Any:
        return (status, {}, "too long") if max(map(len, texts)) > 100 else await server.healthy(texts)

    server.always(short_only)
    message = await raised(embedder.embed([*TEXTS * 3, *TEXTS[:7], "a" * 5_000, *TEXTS]), EmbeddingRefused)
    assert "5,000 characters" in message
    assert "too long" in message
    assert "aaaa" not in message


def test_a_refused_text_is_refused_for_good() -> None:
    assert issubclass(EmbeddingRefused, Refused)


async def test_a_batch_too_large_as_a_whole_is_asked_in_halves(make: Callable[..., OpenAIEmbedder], server: Any) -> None:
    embedder = make(embedder_batch=64)
    await embedder.open()
    expected = await embedder.embed(TEXTS)

    async def three_at_most(texts: list[str]) -> Any:
        return (413, {}, "payload too large") if len(texts) > 3 else await server.healthy(texts)

    server.always(three_at_most)
    assert np.array_equal(await embedder.embed(TEXTS), expected)


NO_VECTORS = {
    "an error": lambda rows: {"error": {"message": "no backend is free"}},
    "another API": lambda rows: {"embeddings": [row["embedding"] for row in rows]},
    "no object": lambda rows: [row["embedding"] for row in rows],
    "one too few": lambda rows: {"data": rows[:-1]},
    "one too many": lambda rows: {"data": [*rows, {**rows[0], "index": len(rows)}]},
    "all for one text": lambda rows: {"data": [{**row, "index": 0} for row in rows] * 2},
    "counted from 1": lambda rows: {"data": [{**row, "index": row["index"] + 1} for row in rows]},
    "none": lambda rows: {"data": []},
    "null for each": lambda rows: {"data": [{**row, "embedding": None} for row in rows]},
    "empty": lambda rows: {"data": [{**row, "embedding": []} for row in rows]},
    "too short": lambda rows: {"data": [{**row, "embedding": [0.5] * 3} for row in rows]},
    "of several lengths": lambda rows: {"data": [{**row, "embedding": row["embedding"][: 48 - row["index"]]} for row in rows[::-1]]},
    "base64": lambda rows: {"data": [{**row, "embedding": "AAAA"} for row in rows]},
    "words": lambda rows: {"data": "rows"},
    "null": lambda rows: {"data": None},
}

NO_DIRECTION = {
    "zero": lambda row: {**row, "embedding": [0.0] * 48},
    "null": lambda row: {**row, "embedding": [None] * 48},
    "one null": lambda row: {**row, "embedding": [None, *row["embedding"][1:]]},
    "NaN": lambda row: {**row, "embedding": [float("nan")] * 48},
    "infinite": lambda row: {**row, "embedding": [1e999] * 48},
}


@pytest.mark.parametrize("spoil", NO_VECTORS.values(), ids=NO_VECTORS.keys())
async def test_anything_but_a_vector_for_each_text_is_waited_for(opened: OpenAIEmbedder, server: Any, spoil: Any) -> None:
    server.then(200, spoil(server.rows(TEXTS[:4])))
    message = await raised(opened.embed(TEXTS[:4]), Outage)
    assert "NOUS_EMBEDDER_URL" in message or "NOUS_EMBEDDER_DIMENSION" in message
    assert (await opened.embed(TEXTS)).shape == (len(TEXTS), server.dimension)


async def test_an_answer_without_vectors_is_quoted(opened: OpenAIEmbedder, server: Any) -> None:
    server.then(200, {"error": {"message": f"no backend is free for {server.key}"}})
    message = await raised(opened.embed(["a"]), Outage)
    assert "no backend is free" in message
    assert server.key not in message


@pytest.mark.parametrize("spoil", NO_DIRECTION.values(), ids=NO_DIRECTION.keys())
async def test_a_vector_of_no_direction_costs_its_text(opened: OpenAIEmbedder, server: Any, spoil: Any) -> None:
    async def spoilt(texts: list[str]) -> Any:
        return 200, {}, {"data": [spoil(row) if text == TEXTS[2] else row for text, row in zip(texts, server.rows(texts), strict=True)]}

    server.always(spoilt)
    assert "vector 2 of 10" in await raised(opened.embed(TEXTS), EmbeddingMalformed)
    assert (await opened.embed(TEXTS[3:])).shape == (7, server.dimension)


async def _spoils_all(server: Any, texts: list[str]) -> Any:
    return 200, {}, {"data": [NO_DIRECTION["NaN"](row) for row in server.rows(texts)]}


async def _refuses_all(server: Any, texts: list[str]) -> Any:
    return 400, {}, "unknown model"


@pytest.mark.parametrize("to_all", [_spoils_all, _refuses_all])
async def test_no_text_is_at_fault_while_a_short_one_gets_no_vector_either(opened: OpenAIEmbedder, server: Any, to_all: Any) -> None:
    server.always(lambda texts: to_all(server, texts))
    assert "even for a short text" in await raised(opened.embed(TEXTS), Outage)
    assert server.asked[-1] == [TRIAL]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, "unknown model", "unknown model"),
        (200, {"embeddings": []}, "Field required"),
        (200, {"data": []}, "1 texts were asked about and 0 vectors came"),
        (200, {"data": [{"index": 0, "embedding": [0.0] * 48}]}, "no direction"),
    ],
)
async def test_a_server_that_embeds_not_even_the_trial_is_misconfigured_at_start(
    make: Callable[..., OpenAIEmbedder], server: Any, status: int, body: Any, said: str
) -> None:
    server.then(status, body)
    message = await raised(make().open(), Misconfigured)
    assert said in message
    assert "NOUS_EMBEDDER_MODEL" in message


async def test_a_page_instead_of_json_may_pass(opened: OpenAIEmbedder, server: Any) -> None:
    server.then(200, b"<html>back soon</html>", content_type="text/html")
    assert (await opened.embed(["a"])).shape == (1, server.dimension)
    server.then(200, b"<html>back soon</html>", times=ATTEMPTS)
    assert "NOUS_EMBEDDER_URL" in await raised(opened.embed(["a"]), Outage)


async def test_one_failing_batch_fails_the_whole_and_leaves_the_embedder_working(opened: OpenAIEmbedder, server: Any) -> None:
    server.then(200, {"data": []})
    await raised(opened.embed(TEXTS), Outage)
    assert (await opened.embed(TEXTS)).shape == (len(TEXTS), server.dimension)


async def test_embedding_before_open_says_so(make: Callable[..., OpenAIEmbedder]) -> None:
    assert "await open() first" in await raised(make().embed(["a"]), RuntimeError)


async def test_messages_leave_out_a_password_in_the_address(make: Callable[..., OpenAIEmbedder], server: Any) -> None:
    server.then(503, times=ATTEMPTS)
    message = await raised(make(embedder_url=server.url.replace("//", "//user:hidden@") + "?token=hidden").open(), Outage)
    assert "hidden" not in message


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080/v1", "ftp://host/v1", "http://", "http://host:port/"])
def test_what_is_no_web_address_is_refused(make: Callable[..., OpenAIEmbedder], url: str) -> None:
    with pytest.raises(Misconfigured, match="NOUS_EMBEDDER_URL"):
        make(embedder_url=url)


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ({"embedder_model": ""}, "NOUS_EMBEDDER_MODEL"),
        ({"embedder_dimension": 0}, "NOUS_EMBEDDER_DIMENSION"),
        ({"confirm_similarity": None}, "NOUS_CONFIRM_SIMILARITY"),
        ({"check_similarity": None}, "NOUS_CHECK_SIMILARITY"),
        ({"episode_similarity": None}, r"NOUS_EPISODE_SIMILARITY, or have them fitted.*nous calibrate --thresholds --apply"),
        ({"check_similarity": 0.95}, "NOUS_CHECK_SIMILARITY"),
        ({"time_limit_s": 30.0}, r"NOUS_TIME_LIMIT_S \(30 s\).*NOUS_EMBEDDER_TIMEOUT_S \(30 s\)"),
        ({"embedder_timeout_s": 90.0}, r"NOUS_TIME_LIMIT_S \(60 s\).*NOUS_EMBEDDER_TIMEOUT_S \(90 s\)"),
    ],
)
def test_a_setting_that_is_missing_or_cannot_work_is_named(
    make: Callable[..., OpenAIEmbedder], missing: dict[str, Any], named: str
) -> None:
    with pytest.raises(Misconfigured, match=named):
        make(**missing)
