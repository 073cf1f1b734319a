"""The embedders under test, and a real embeddings server on loopback that can be told to misbehave."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest

from nous.settings import Settings
from providers import Embedder, embedder

Reply: TypeAlias = "tuple[int, dict[str, str], Any]"  # status, headers, body
Handler: TypeAlias = "Callable[[list[str]], Awaitable[Reply]]"


class EmbeddingsServer:
    """Healthy, until it is told what to do with the next requests (`then`), or with all of them (`always`)."""

    dimension = 48
    model = "made-up-model"
    key = "sk-very-secret"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self._planned: list[Handler] = []
        self._otherwise: Handler = self.healthy
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def settings(self) -> Settings:
        """Settings of an embedder that asks this server."""
        return Settings(
            embedder="openai",
            embedder_url=self.url,
            embedder_model=self.model,
            embedder_dimension=self.dimension,
            embedder_api_key=self.key,
            confirm_similarity=0.9,
            check_similarity=0.8,
            episode_similarity=0.8,
        )

    def rows(self, texts: list[str]) -> list[dict[str, Any]]:
        """What a healthy server says of `texts`: in order, and not of unit length, as with many real ones."""

        def numbers(text: str) -> list[float]:
            return [byte - 127.5 for byte in hashlib.blake2b(text.encode(), digest_size=self.dimension).digest()]

        return [{"object": "embedding", "index": index, "embedding": numbers(text)} for index, text in enumerate(texts)]

    async def healthy(self, texts: list[str]) -> Reply:
        return 200, {}, {"object": "list", "data": self.rows(texts)}

    def then(self, status: int, body: Any = "", *, times: int = 1, **headers: str) -> None:
        """The next requests get this reply. A bytes body goes out as it is, anything else as JSON."""

        async def reply(texts: list[str]) -> Reply:
            return status, {name.replace("_", "-"): value for name, value in headers.items()}, body

        self._planned += [reply] * times

    def always(self, handler: Handler) -> None:
        self._otherwise = handler

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                assert (request, body["model"]) == ("POST /v1/embeddings HTTP/1.1", self.model)
                self.headers.append(headers)
                writer.write(_on_the_wire(*await self._reply(body["input"])))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, texts: list[str]) -> Reply:
        self.asked.append(texts)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await (self._planned.pop(0) if self._planned else self._otherwise)(texts)
        finally:
            self.at_once -= 1


def _on_the_wire(status: int, headers: dict[str, str], body: Any) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **headers}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + raw


@asynccontextmanager
async def _serving() -> AsyncIterator[EmbeddingsServer]:
    server = EmbeddingsServer()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture(scope="session", autouse=True)
def _loopback_without_proxy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    """A healthy server, told by the test to be otherwise."""
    async with _serving() as server:
        yield server


@pytest.fixture(scope="session", params=["use-multilingual-v3", "minilm-l6-v2", "openai", "zero"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    """Each embedder in turn, open."""
    async with _serving() as server:
        if request.param == "openai":
            settings = server.settings.model_copy(update={"embedder_batch": 3})
        else:
            settings = Settings(embedder=request.param, embedder_threads=2)
        chosen = embedder(settings)
        await chosen.open()
        try:
            yield chosen
        finally:
            await chosen.close()
