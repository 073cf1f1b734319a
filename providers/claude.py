"""The mind behind Anthropic's Messages API, or any server that speaks it (ANTHROPIC_BASE_URL).

    question ──its turn──▶ request ──▶ answer that fits ──▶ Reply
                 ▲            │  └────▶ one that does not ──shown what is wrong, once──▶ Reply, or NoAnswer
                 │            └───────▶ trouble:
                 │   429, 529, 5xx, 408, 409, no connection    asked again with growing waits, as long as the server asks for
                 │   no answer in time, or too long a wait     MindAway
                 │   401, 402, 403, 404 and their like         MindAway at once, naming what to mend: work waits for a person
                 │   400, 413, 422                             NoAnswer: this question waits, the others go on
                 └── after MindAway nobody asks for 1 s, 2 s, ... 60 s, until something is answered again

Nothing is taken from an answer that is not exactly one: no JSON is picked out of prose, no default filled in, no cut answer mended.
The request names no temperature: since version 2026-10-21 the API takes none.
"""

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Self
from urllib.parse import urlsplit

import anthropic
import structlog
from anthropic.types import MessageParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Request
from pydantic import BaseModel, SecretStr, ValidationError

from nous import clock
from nous.errors import Misconfigured, NousError
from nous.settings import Settings

from .embedder import readable
from .mind import A, MindAway, NoAnswer, Question, Reply, Task

FIRST_WAIT_S = 0.5  # doubles, with jitter
LONGEST_WAIT_S = 8.0  # unless the server asks for more
CONNECT_S = 5.0
FIRST_PAUSE_S = 1.0  # doubles while the model stays away
LONGEST_PAUSE_S = 60.0  # unless the server asks for more
LONGEST_ASKED_PAUSE_S = 600.0
SHOWN_CHARACTERS = 4_000  # of an answer that was none, shown to the model again
FAULT_CHARACTERS = 600  # of what is wrong with it
EXCERPT_CHARACTERS = 200  # of what a server says about its error
TOOL = "answer"
ADDRESS = "https://api.anthropic.com"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")  # the first that is set is used

_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_PRINTABLE = re.compile(r"[\x21-\x7e]+")  # what a header can carry
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)  # matched against the whole text only
# What some servers answer 400 to though every request would get it. Should their words change, each question waits by itself.
_ANY_REQUEST = {
    "tool_choice": "this model takes no forced tool call; set NOUS_MIND_TOOLS=false, or NOUS_MIND_MODEL to one that does",
    "credit balance": "the account has no credit; add some in the Claude Console",
    "usage limit": "the account is at its limit; raise it in the Claude Console",
    "spend limit": "the account is at its limit; raise it in the Claude Console",
}

log = structlog.get_logger()


class ClaudeMind:
    """Answers from a model, each held against its type and its question's check. Safe to ask concurrently."""

    def __init__(
        self,
        client: anthropic.AsyncAnthropic,
        *,
        key_name: str,
        model: str,
        relation_model: str,
        timeout_s: float,
        concurrency: int,
        tools: bool,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._client = client
        self._key_name = key_name
        self._model = model
        self._relation_model = relation_model
        self._timeout_s = timeout_s
        self._tools = tools
        self._pause = pause
        self._turns = asyncio.Semaphore(concurrency)
        self._rest = _Rest()

    @classmethod
    def configured(cls, settings: Settings, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Self:
        """From the settings and Anthropic's own variables. Raises Misconfigured that names the one that is missing or cannot work."""
        key_name, key = _key()
        client = anthropic.AsyncAnthropic(
            api_key=key.get_secret_value() if key_name == KEYS[0] else None,
            auth_token=key.get_secret_value() if key_name != KEYS[0] else None,
            base_url=_address(),
            max_retries=0,  # there is one policy, ours
            timeout=anthropic.Timeout(settings.mind_timeout_s, connect=CONNECT_S),
        )
        return cls(
            client,
            key_name=key_name,
            model=settings.mind_model,
            relation_model=settings.mind_relation_model,
            timeout_s=settings.mind_timeout_s,
            concurrency=settings.mind_concurrency,
            tools=settings.mind_tools,
            pause=pause,
        )

    def model(self, task: Task) -> str:
        """The model asked for this."""
        return self._relation_model if task == "relation" and self._relation_model else self._model

    def paused_for(self) -> float:
        """Seconds for which every question is still turned away, after the model was away; 0 when it is asked."""
        return self._rest.left_s()

    async def ask(self, question: Question[A]) -> Reply[A]:
        """An answer that fits. The time limit and the milliseconds begin with the question's turn. Raises MindAway and NoAnswer."""
        self._rest.check()
        async with self._turns:
            self._rest.check()
            return await self._ask(question)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(self, question: Question[A]) -> Reply[A]:
        since, spent, rests = time.monotonic(), _Spent(), self._rest.count
        try:
            answer = await self._answer_in_time(question, spent)
        except _Away as away:
            if self._rest.count == rests:  # one of several that failed together speaks for all
                self._rest.begin(away)
            raise MindAway(away.why, spent.tokens_in, spent.tokens_out) from away
        except _Hopeless as hopeless:
            self._rest.end()
            raise NoAnswer(hopeless.why, spent.tokens_in, spent.tokens_out) from hopeless
        self._rest.end()
        milliseconds = round((time.monotonic() - since) * 1000)
        model = self.model(question.task)
        log.debug("mind.answered", model=model, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, ms=milliseconds)
        return Reply(answer, spent.tokens_in, spent.tokens_out, milliseconds)

    async def _answer_in_time(self, question: Question[A], spent: "_Spent") -> A:
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                return await self._answer(question, spent, limit)
        except TimeoutError as error:
            before = f", and before that {spent.trouble}" if spent.trouble else ""
            raise _Away(
                f"no answer from {self.model(question.task)} within {self._timeout_s:g} s (NOUS_MIND_TIMEOUT_S){before}; if that lasts,"
                f" raise the limit or name a faster model"
            ) from error

    async def _answer(self, question: Question[A], spent: "_Spent", limit: asyncio.Timeout) -> A:
        """The first answer, or the second, which is asked for with the first and its fault in view. Raises _Away and _Hopeless."""
        request = self._request(question)
        first = await self._said(request, question.task, spent, limit)
        try:
            return _read(first, question)
        except _Unfit as unfit:
            fault = unfit.why
        again: Request = {**request, "messages": [*request["messages"], *self._objection(first, fault)]}
        second = await self._said(again, question.task, spent, limit)
        try:
            answer = _read(second, question)
        except _Unfit as unfit:
            raise _Hopeless(f"what {request['model']} said is no answer, twice: first {fault}; then {unfit.why}") from unfit
        log.info("mind.repaired", model=request["model"], task=question.task, fault=fault)
        return answer

    # ── what is sent ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _request(self, question: Question[A]) -> Request:
        schema = question.schema
        system = question.prompt.system if self._tools else f"{question.prompt.system}\n\n{_in_text(schema)}"
        request: Request = {
            "model": self.model(question.task),
            "max_tokens": question.prompt.max_tokens,
            "system": [{"type": "text", "text": readable(system), "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": readable(question.prompt.text)}],
        }
        if self._tools:
            request["tools"] = [{"name": TOOL, "description": "Give the answer.", "input_schema": schema}]
            request["tool_choice"] = {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True}
        return request

    def _objection(self, said: "_Message", fault: str) -> list[MessageParam]:
        """The model's own answer, as text in both ways of asking so that it can be cut, and what is wrong with it."""
        how = f"by calling the tool {TOOL}" if self._tools else "as one JSON object and nothing else"
        return [
            {"role": "assistant", "content": _bounded(said.words, SHOWN_CHARACTERS) or "(nothing)"},
            {"role": "user", "content": f"This is no answer to the question: {fault}. Give the whole answer again, {how}."},
        ]

    async def _said(self, request: Request, task: Task, spent: "_Spent", limit: asyncio.Timeout) -> "_Message":
        """What the model says, asked for again while what goes wrong may pass and there is time. Raises _Away and _Hopeless."""
        wait_s = FIRST_WAIT_S
        while True:
            try:
                said = await self._said_once(request, task)
            except _Passing as passing:
                spent.trouble = passing.why
                this_s = max(wait_s * random.uniform(0.5, 1.0), passing.wait_s)
                if this_s >= _left_s(limit):
                    raise _Away(passing.why, wait_s=passing.wait_s) from passing
            else:
                spent.add(said)
                return said
            await self._pause(this_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def _said_once(self, request: Request, task: Task) -> "_Message":
        try:
            answer = await self._client.messages.with_raw_response.create(**request)
        except anthropic.APIStatusError as error:
            raise self._trouble(error, task) from error
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            raise _Passing(f"{self._where()}: {type(cause).__name__} {self._excerpt(str(cause))}") from error
        response = answer.http_response
        try:
            return _Message.model_validate(json.loads(response.content))
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("content-type", "of no type")
            raise _Passing(
                f"{self._where()} answers {response.status_code}, but its body ({kind}) is no message; if that lasts, check"
                f" ANTHROPIC_BASE_URL"
            ) from error

    # ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────────────

    def _trouble(self, error: anthropic.APIStatusError, task: Task) -> "_Passing | _Away | _Hopeless":
        """What a status other than 200 means."""
        status = error.status_code
        said = f"{status}: {self._excerpt(str(error.api_message or error.message))}"
        if status in {408, 409, 429} or status >= 500:
            return _Passing(f"{self._where()} answers {said}", wait_s=_retry_after_s(error.response.headers.get("retry-after", "")))
        mend = self._mend(status, said, task)
        if mend is None:
            return _Hopeless(f"{self.model(task)} will not take the question ({said})")
        return _Away(mend)

    def _mend(self, status: int, said: str, task: Task) -> str | None:
        """What a person must mend before any question is answered; None when the fault is this question's."""
        model = self.model(task)
        variable = "NOUS_MIND_MODEL" if model == self._model else "NOUS_MIND_RELATION_MODEL"
        if status == 401:
            return f"the API key in {self._key_name} was refused ({said}); put a valid key there and start the workers again"
        if status == 402:
            return f"the account of the API key in {self._key_name} is not paid for ({said}); see to it in the Claude Console"
        if status == 403:
            return f"the API key in {self._key_name} may not use {model} ({said}); allow it in the Claude Console, or change {variable}"
        if status in {404, 405, 407} or status < 400:
            return f"{self._where()} knows no {model} ({said}); check {variable} and ANTHROPIC_BASE_URL"
        return next((f"{mend} ({said})" for words, mend in _ANY_REQUEST.items() if words in said.lower()), None)

    def _where(self) -> str:
        return str(self._client.base_url.copy_with(username=None, password=None, query=None)).rstrip("/")

    def _excerpt(self, said: str) -> str:
        """The beginning of what a server says, on one line, without our key should it echo that."""
        said = " ".join(said.split())
        for key in filter(None, (self._client.api_key, self._client.auth_token)):
            said = said.replace(key, "(the key)")
        return _bounded(said, EXCERPT_CHARACTERS) or "(no words)"


# ── what was said ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _Block(BaseModel):
    type: str
    text: Any = None
    input: Any = None


class _Usage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage = _Usage()

    @property
    def words(self) -> str:
        """The input of the tool called, as JSON, else the text. Two calls are two lines, which is no JSON."""
        calls = [json.dumps(block.input, ensure_ascii=False) for block in self.content if block.type == "tool_use"]
        return readable("\n".join(calls or [str(block.text) for block in self.content if block.type == "text"])).strip()


def _read(said: _Message, question: Question[A]) -> A:
    """The answer, if it is one. Raises _Unfit that says what is wrong, in words for the model and for people."""
    if said.stop_reason in _CUT:
        raise _Unfit(f"it was cut at its limit ({question.prompt.max_tokens} tokens at most), so it has to be shorter")
    if said.stop_reason == "refusal":
        raise _Unfit("it was a refusal")
    fenced = _FENCED.fullmatch(said.words)
    try:
        answer = question.answer.model_validate_json(fenced[1] if fenced else said.words, extra="forbid")
        question.check(answer)
    except ValidationError as error:
        raise _Unfit(_bounded(_faults(error), FAULT_CHARACTERS)) from error
    except ValueError as error:
        raise _Unfit(_bounded(str(error), FAULT_CHARACTERS)) from error
    return answer


def _faults(error: ValidationError) -> str:
    """Each fault with its place, without what was there: that may be anyone's words."""
    faults = error.errors(include_input=False, include_context=False, include_url=False)
    if faults[0]["type"] == "json_invalid":
        return f"it is not one JSON object and nothing else ({faults[0]['msg']})"
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'the answer'}: {fault['msg']}" for fault in faults)


def _in_text(schema: dict[str, Any]) -> str:
    return (
        "Answer with one JSON object and nothing else, no words before or after it. It must fit this JSON schema: "
        f"{json.dumps(schema, ensure_ascii=False)}"
    )


def _bounded(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


# ── what a question goes through ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Spent:
    """Tokens of every request of a question, and the trouble it had last."""

    tokens_in: int = 0
    tokens_out: int = 0
    trouble: str = ""

    def add(self, said: _Message) -> None:
        usage = said.usage
        self.tokens_in += usage.input_tokens + (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        self.tokens_out += usage.output_tokens


class _Rest:
    """While the model is away nobody asks, so that a page of questions waits out one time limit and not one each."""

    def __init__(self) -> None:
        self.count = 0
        self._next_s = FIRST_PAUSE_S
        self._until = 0.0  # monotonic
        self._why = ""

    def check(self) -> None:
        """Raises MindAway with what was found last, during the rest."""
        if self.left_s() > 0:
            raise MindAway(self._why)

    def left_s(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def begin(self, away: "_Away") -> None:
        for_s = max(self._next_s, min(away.wait_s, LONGEST_ASKED_PAUSE_S))
        self.count += 1
        self._next_s = min(self._next_s * 2, LONGEST_PAUSE_S)
        self._until = time.monotonic() + for_s
        self._why = away.why
        log.warning("mind.delayed", reason=away.why, next=f"asked again in {for_s:.1f} s at the earliest")

    def end(self) -> None:
        self._next_s, self._until = FIRST_PAUSE_S, 0.0


class _Unfit(NousError):
    """What was said is no answer to the question."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Hopeless(NousError):
    """One question gets no answer, this time."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Away(NousError):
    """No question gets an answer for now; `wait_s` is what the server asked for."""

    def __init__(self, why: str, *, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.wait_s = wait_s


class _Passing(_Away):
    """May be over soon."""


def _left_s(limit: asyncio.Timeout) -> float:
    until = limit.when()
    assert until is not None  # noqa: S101 - it has a limit
    return until - asyncio.get_running_loop().time()


def _retry_after_s(asked: str) -> float:
    """Seconds the server asks to wait (it may say so as a date); 0 when it does not say, or not legibly."""
    if re.fullmatch(r"\d{1,9}(\.\d+)?", asked.strip()):
        return float(asked)
    try:
        return max(0.0, (parsedate_to_datetime(asked) - clock.now()).total_seconds())
    except (ValueError, TypeError):
        return 0.0


# ── Anthropic's own variables ─────────────────────────────────────────────────────────────────────────────────────────


def _key() -> tuple[str, SecretStr]:
    """The variable that is set, and the key in it."""
    for name in KEYS:
        key = SecretStr(os.environ.get(name, "").strip())
        if not key:
            continue
        if not _PRINTABLE.fullmatch(key.get_secret_value()):
            raise Misconfigured(f"{name} has a space, a line break or a letter outside ASCII in it; copy the key again")
        return name, key
    raise Misconfigured(
        f"NOUS_MIND is claude and there is no API key; set {KEYS[0]}, or NOUS_MIND=offline to go without a model (then only equal"
        f" wordings are merged)"
    )


def _address() -> str:
    """ANTHROPIC_BASE_URL, or where Anthropic is."""
    address = os.environ.get("ANTHROPIC_BASE_URL", "").strip() or ADDRESS
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Misconfigured(f"ANTHROPIC_BASE_URL is no web address; one looks like {ADDRESS}")
    return address
