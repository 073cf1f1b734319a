"""A Messages API on loopback that answers as a test tells it to, over real HTTP.

    async with ModelServer(lambda body: {"judgements": [...]}) as server:     answers every question with that, until told otherwise
        server.then(failing(529), server.bad("prose"))                        the next two requests
        server.always(slow(0.2, server.healthy))                              all others
        server.asked[0].body                                                  what was asked, and when

For other processes it is `python -m tests.model_server --relation unsure --fault 529`, which prints its address.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import count
from typing import Any, Self, TypeAlias, get_args

from providers.mind import Judgements, Relation

Body: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Body], Any]  # what a right answer to a request is: the tool's input, or the JSON in the text
Handler: TypeAlias = "Callable[[Body], Awaitable[Sent]]"

TOKENS_IN = {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3}
TOKENS_OUT = 10
PROSE = 'The two facts are the same, I believe. {"judgements": [{"pair": 1, "relation": "same"}]} would say so.'
KNOWN = {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "metadata", "stop_sequences", "thinking", "output_config"}

_numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request; `at` is monotonic."""

    body: Body
    headers: dict[str, str]
    at: float


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One response. A bytes body goes out as it is, anything else as JSON; `cut` breaks the connection in the middle of it."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = ""
    cut: bool = False


# ── what a server may do ──────────────────────────────────────────────────────────────────────────────────────────────


def failing(status: int, message: str = "made up", **headers: str) -> Handler:
    """Answers with this status; `retry_after="2"` is a header."""

    async def handler(body: Body) -> Sent:
        said = {"type": "error", "error": {"type": "api_error", "message": message}}
        return Sent(status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=said)

    return handler


def slow(seconds: float, then: Handler) -> Handler:
    """Does what `then` does, after so long."""

    async def handler(body: Body) -> Sent:
        await asyncio.sleep(seconds)
        return await then(body)

    return handler


def holding(until: asyncio.Event, then: Handler) -> Handler:
    """Does what `then` does, once the event is set."""

    async def handler(body: Body) -> Sent:
        await until.wait()
        return await then(body)

    return handler


async def hanging(body: Body) -> Sent:
    """Says nothing until the server stops."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def sending(sent: Sent) -> Handler:
    """Answers with exactly this."""

    async def handler(body: Body) -> Sent:
        return sent

    return handler


def message(*content: Body, stop_reason: str = "end_turn") -> Sent:
    """A response with these blocks in it."""
    usage = {**TOKENS_IN, "output_tokens": TOKENS_OUT}
    of = {"id": f"msg_{next(_numbers)}", "type": "message", "role": "assistant", "model": "made-up-model"}
    return Sent(body={**of, "content": list(content), "stop_reason": stop_reason, "stop_sequence": None, "usage": usage})


def text(said: str) -> Body:
    """A block of text."""
    return {"type": "text", "text": said}


def call(given: Any) -> Body:
    """A block that calls the tool."""
    return {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": "answer", "input": given}


def given(body: Body, answer: Any) -> Body:
    """The answer as the request wants it: a tool call, or JSON in text."""
    return call(answer) if body.get("tools") else text(json.dumps(answer))


def _list_in(right: Any) -> str:
    """The list in a right answer that says most: the judgements, or the facts."""
    return next(name for name in ("judgements", "facts", "lessons") if name in right)


def _first_changed(right: Any, **changes: Any) -> Any:
    name = _list_in(right)
    first, *others = right[name]
    return {**right, name: [{**first, **changes} if isinstance(first, dict) else changes, *others]}


_WRONG = {"judgements": {"relation": "identical"}, "facts": {"confidence": "certain"}, "lessons": {"lesson": "none"}}

BAD: dict[str, Callable[[Body, Any], Sent]] = {
    "prose": lambda body, right: message(text(PROSE)),
    "prose around a fenced block": lambda body, right: message(text(f"Not this:\n```json\n{json.dumps(right)}\n```\nI am not sure.")),
    "broken JSON": lambda body, right: message(text(json.dumps(right)[:-2])),
    "a bad escape": lambda body, right: message(text('{"judgements": [], "reason": "C:\\dir"}')),
    "two answers": lambda body, right: message(given(body, right), given(body, right)),
    "an echoed schema": lambda body, right: message(given(body, Judgements.model_json_schema())),
    "an answer in an envelope": lambda body, right: message(given(body, {"input": right})),
    "a list": lambda body, right: message(text(json.dumps(right[_list_in(right)]))),
    "a wrong word": lambda body, right: message(given(body, _first_changed(right, **_WRONG[_list_in(right)]))),
    "a word too many": lambda body, right: message(given(body, _first_changed(right, certainty=0.9))),
    "an empty list": lambda body, right: message(given(body, {_list_in(right): []})),
    "nothing": lambda body, right: message(),
    "null": lambda body, right: message(text("null")),
    "cut at max_tokens": lambda body, right: message(text(json.dumps(right)[: len(json.dumps(right)) // 2]), stop_reason="max_tokens"),
    "cut where it still fits": lambda body, right: message(given(body, right), stop_reason="max_tokens"),
    "a refusal": lambda body, right: message(text("I cannot help with that."), stop_reason="refusal"),
    "a silent refusal": lambda body, right: message(stop_reason="refusal"),
}
"""Answers that are none, made from the request and the right answer, of whichever type it is."""


# ── the server ────────────────────────────────────────────────────────────────────────────────────────────────────────


class ModelServer:
    """Healthy, until it is told what to do with the next requests (`then`), or with all of them (`always`)."""

    key = "sk-ant-very-secret"

    def __init__(self, answer: Answer | None = None, *, port: int = 0) -> None:
        self.answer = answer or one_for_each("unsure")
        self.asked: list[Asked] = []
        self.in_flight = self.most_in_flight = 0
        self._port = port
        self._planned: list[Handler] = []
        self._otherwise: Handler = self.healthy
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to ask this server."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": self.key, "NO_PROXY": "127.0.0.1"}

    @property
    def is_deserted(self) -> bool:
        """Whether nobody is connected: whatever a dead process had sent has been read."""
        return not self._connections

    async def healthy(self, body: Body) -> Sent:
        """The right answer, or a 400 where the API would give one."""
        wrong = _wrong(body)
        return await failing(400, wrong)(body) if wrong else message(given(body, self.answer(body)))

    def bad(self, name: str) -> Handler:
        """One of the answers that are none."""

        async def handler(body: Body) -> Sent:
            return BAD[name](body, self.answer(body))

        return handler

    def cutting(self) -> Handler:
        """Breaks the connection in the middle of the right answer."""

        async def handler(body: Body) -> Sent:
            return Sent(body=(await self.healthy(body)).body, cut=True)

        return handler

    def then(self, *handlers: Handler) -> None:
        """What happens to the next requests, one each."""
        self._planned += handlers

    def always(self, handler: Handler) -> None:
        """What happens to every request for which nothing is planned."""
        self._otherwise = handler

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop at once, whatever hangs."""
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchanged(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchanged(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; whether the connection still stands."""
        request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        if request != "POST /v1/messages HTTP/1.1":
            writer.write(_on_the_wire(await failing(404, f"no such place: {request}")({})))
            return True
        body = json.loads(raw)
        self.asked.append(Asked(body=body, headers=headers, at=time.monotonic()))
        sent = await self._decided(body)
        wire = _on_the_wire(sent)
        writer.write(wire[: len(wire) - 40] if sent.cut else wire)
        await writer.drain()
        return not sent.cut

    async def _decided(self, body: Body) -> Sent:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await (self._planned.pop(0) if self._planned else self._otherwise)(body)
        finally:
            self.in_flight -= 1


def _wrong(body: Body) -> str:
    """Why the API would answer 400, as far as it is known here; empty when it would not."""
    for name in body.keys() - KNOWN:
        return f"{name}: Extra inputs are not permitted"
    for name in ("model", "max_tokens", "messages"):
        if not body.get(name):
            return f"{name}: Field required"
    turns = body["messages"]
    if len(turns) % 2 == 0 or any(turn["role"] != ("user", "assistant")[place % 2] for place, turn in enumerate(turns)):
        return "messages: roles must alternate, and the last must be the user's"
    if not all(turn["content"] for turn in turns):
        return "messages: text content blocks must be non-empty"
    return ""


def _on_the_wire(sent: Sent) -> bytes:
    raw = sent.body if isinstance(sent.body, bytes) else json.dumps(sent.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(raw)), **sent.headers}
    lines = [f"HTTP/1.1 {sent.status} Said", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + raw


def away(server: ModelServer) -> dict[str, Handler]:
    """What a server may do to every request so that nobody is answered for a while."""
    return {
        "slow": slow(30, server.healthy),
        "hanging": hanging,
        "cut": server.cutting(),
        "429 with retry-after": failing(429, retry_after="120"),
        "500": failing(500),
        "529": failing(529),
        "401": failing(401),
        "400 for want of credit": failing(400, "Your credit balance is too low"),
        "a page of HTML": sending(replace(message(), body=b"<html>busy</html>")),
    }


# ── for other processes ───────────────────────────────────────────────────────────────────────────────────────────────


def one_for_each(relation: Relation) -> Answer:
    """The same judgement of every pair that the lines behind the facts number, or of one."""

    def answer(body: Body) -> Any:
        asked = str(body["messages"][0]["content"]).rpartition("</facts>")[2]
        numbers = re.findall(r"^pair (\d+):", asked, re.MULTILINE)
        judgement = {"relation": relation, "reason": "scripted"} | ({"richer": "newer"} if relation == "refines" else {})
        return {"judgements": [{"pair": pair, **judgement} for pair in range(1, max(map(int, numbers), default=1) + 1)]}

    return answer


def pairs_in(body: Body) -> list[tuple[str, str]]:
    """The wordings of the older and the newer fact of each pair that is asked about."""
    written, _, asked = str(body["messages"][0]["content"]).rpartition("</facts>")
    words = {number: unescape(said) for number, said in re.findall(r'^<fact id="(F\d+)"[^>]*>(.*?)</fact>$', written, re.M | re.S)}
    return [(words[older], words[newer]) for older, newer in re.findall(r"^pair \d+: older (F\d+), newer (F\d+)$", asked, re.M)]


def judging(judge: Callable[[str, str], Relation]) -> Answer:
    """Of each pair what `judge` says of its older and its newer wording; the newer refines, if one does."""

    def answer(body: Body) -> Any:
        given = [judge(older, newer) for older, newer in pairs_in(body)]
        richer = [{"richer": "newer"} if relation == "refines" else {} for relation in given]
        return {
            "judgements": [
                {"pair": pair, "relation": relation, "reason": "scripted", **more}
                for pair, (relation, more) in enumerate(zip(given, richer, strict=True), 1)
            ]
        }

    return answer


def remembering(**fields: Any) -> Answer:
    """What is to be remembered of a conversation: these fields, as far as the question wants them; it must force a tool call."""

    def answer(body: Body) -> Any:
        return {name: fields[name] for name in body["tools"][0]["input_schema"]["properties"]}

    return answer


def saying(words: str) -> Handler:
    """Says this, whatever it is asked."""

    async def handler(body: Body) -> Sent:
        wrong = _wrong(body)
        return await failing(400, wrong)(body) if wrong else message(text(words))

    return handler


async def _run(arguments: argparse.Namespace) -> None:
    async with ModelServer(one_for_each(arguments.relation), port=arguments.port) as server:
        if arguments.says:
            server.always(saying(arguments.says))
        elif arguments.fault.isdigit():
            server.always(failing(int(arguments.fault)))
        elif arguments.fault:
            server.always(hanging if arguments.fault == "hanging" else server.bad(arguments.fault))
        print(server.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--relation", choices=get_args(Relation), default="unsure", help="said of every pair")
    parser.add_argument("--says", default="", help="these words instead of a judgement, whatever is asked")
    parser.add_argument("--fault", default="", help=f"instead of an answer: a status such as 529, hanging, {', '.join(BAD)}")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
