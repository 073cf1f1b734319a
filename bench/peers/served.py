"""The embedder and the model over HTTP on loopback, for whoever is measured; a process of its own, so that it takes nobody's turn.

    POST /v1/embeddings          vectors of the bundled embedder            ┐
    POST /v1/chat/completions    the model, as OpenAI's API answers         ├─▶ tally
    POST /v1/messages            the model, as Anthropic's API answers      ┘
    GET  /tally                  what was asked since it was last looked at, which also begins anew

`python -m bench.peers.served CASES` prints its address; CASES is a file with the pairs as JSON. It answers at once: what is measured is the
memory, and a real model would add to each call what it takes to think.
"""

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nous.settings import Settings
from providers import embedder
from recall.tokens import counted
from tests.model_server import call

from . import model
from .cases import Case

START_S = 60.0
KEY = "nobody-looks-at-this"


@dataclass
class Tally:
    """What was asked. Tokens are those of o200k_base, of the prompts with their schemas and of the answers."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    texts_embedded: int = 0
    unknown: str = ""

    def note(self, asked: Sequence[str], answered: str) -> dict[str, int]:
        """One call of the model; what it is said to have used."""
        used = {"in": sum(map(_tokens, asked)), "out": _tokens(answered)}
        self.calls += 1
        self.tokens_in += used["in"]
        self.tokens_out += used["out"]
        return used


def application(cases: Sequence[Case]) -> Starlette:
    """The server, with the bundled embedder and a model that knows these labels."""
    knowing, chosen = model.Knowing(cases), embedder(Settings())
    tally = Tally()

    @asynccontextmanager
    async def open_embedder(_: Starlette) -> Any:
        await chosen.open()
        yield
        await chosen.close()

    async def embeddings(request: Request) -> Response:
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        tally.texts_embedded += len(texts)
        vectors = await chosen.embed(texts)
        rows = [{"object": "embedding", "index": at, "embedding": [float(x) for x in vector]} for at, vector in enumerate(vectors)]
        return JSONResponse({"object": "list", "data": rows, "model": body["model"], "usage": {"prompt_tokens": 0, "total_tokens": 0}})

    async def completions(request: Request) -> Response:
        body = await request.json()
        try:
            said = json.dumps(model.completion(body, knowing), ensure_ascii=False)
        except model.UnknownQuestion as error:
            tally.unknown = tally.unknown or str(error)
            return JSONResponse({"error": {"message": str(error), "type": "invalid_request_error"}}, 400)
        asked = [str(turn["content"]) for turn in body["messages"]] + [json.dumps(body.get("response_format", {}))]
        used = tally.note(asked, said)
        usage = {"prompt_tokens": used["in"], "completion_tokens": used["out"], "total_tokens": used["in"] + used["out"]}
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        of = {"id": f"chatcmpl-{tally.calls}", "object": "chat.completion", "created": 0, "model": body["model"]}
        return JSONResponse({**of, "choices": [choice], "usage": usage})

    async def messages(request: Request) -> Response:
        body = await request.json()
        block = call(model.message(body, knowing))
        system = body.get("system", "")
        asked = [system if isinstance(system, str) else json.dumps(system), json.dumps(body.get("tools", []))]
        asked += [str(turn["content"]) for turn in body["messages"]]
        used = tally.note(asked, json.dumps(block["input"]))
        of = {"id": f"msg_{tally.calls}", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
        usage = {"input_tokens": used["in"], "output_tokens": used["out"]}
        return JSONResponse({**of, "content": [block], "stop_reason": "tool_use", "usage": usage})

    async def look(_: Request) -> Response:
        seen = asdict(tally)
        tally.__init__()  # type: ignore[misc]
        return JSONResponse(seen)

    routes = [
        Route("/v1/embeddings", embeddings, methods=["POST"]),
        Route("/v1/chat/completions", completions, methods=["POST"]),
        Route("/v1/messages", messages, methods=["POST"]),
        Route("/tally", look),
    ]
    return Starlette(routes=routes, lifespan=open_embedder)


@contextmanager
def serving(cases: Sequence[Case]) -> Iterator[str]:
    """The server for the block; its address. Raises RuntimeError when it does not start."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([asdict(case) for case in cases], file, default=datetime.isoformat)
        file.flush()
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.peers.served", file.name], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError(f"the model server ended with exit code {process.wait(START_S)} instead of starting")
            yield address
        finally:
            process.terminate()
            process.wait(START_S)


@lru_cache(maxsize=256)
def _tokens(text: str) -> int:
    return counted(text, margin=1.0)


def main() -> None:
    """Serve until stopped."""
    rows = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    moments = ("first_at", "second_at")
    cases = [Case(**{**row, **{name: datetime.fromisoformat(row[name]) for name in moments}}) for row in rows]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(application(cases), log_level="warning", access_log=False))
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        server.run(sockets=[listening])


if __name__ == "__main__":
    main()
