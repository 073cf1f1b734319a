"""A client of the HTTP service, for agents written in Python: needs httpx (`pip install nous-memory-events[client]`).

    async with Client("http://127.0.0.1:8378", token="nous_...") as memory:
        turn = await memory.begin("chat-1", "Which database did we choose?")     before the turn: turn.context goes into the prompt
        await memory.result(turn, "Postgres, for its row security.")             after it
        await memory.end("chat-1")

    a call ─▶ its ids are made ─▶ sent ─┬─ answered ───────────────────────────────▶ typed (answers.py)
                  the same ids ▲        ├─ cut off, 429, 502, 503, 504 ─▶ later ─┐
                               └────────┼───────────────────────────────────────┘  at most `tries` times
                                        └─ refused, or never answered ─────────────▶ Refused, Unanswered

Whatever is sent again is sent under the same event_id, turn and recall_id, so it has one effect however often it arrives.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote
from uuid import UUID

import httpx

from .answers import Answer, Closed, Context, Expanded, Explained, Kept, Reported, Result, Standing, Turn
from .base import Event
from .decisions import DecisionRecorded
from .facts import FactLearned

AGAIN = {429, 502, 503, 504}
FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 10.0

A = TypeVar("A", bound=Answer)


class MemoryProblem(Exception):
    """What went wrong, in the service's own words. `status` is 0 when it was never answered."""

    def __init__(self, detail: str, *, status: int = 0, title: str = "") -> None:
        super().__init__(f"{title} ({status}): {detail}" if title else detail)
        self.status = status
        self.title = title
        self.detail = detail


class Refused(MemoryProblem):
    """The service answered that it does not do; sent again it would answer the same."""


class Unanswered(MemoryProblem):
    """It is away, or too busy, after every try. What was sent may have arrived; sending it again under the same ids is harmless."""


class Client:
    """Memory of one agent: that of the token, or without one, on the service's own machine, the `agent` that is named.

    `timeout_s` is for one try; `tries` is how often something is sent at most. Usable by several tasks at once.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8378",
        *,
        token: str | None = None,
        agent: str | None = None,
        timeout_s: float = 60.0,
        tries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {"Nous-Agent": quote(agent, safe="")} if agent else {}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout_s, transport=transport)
        self._tries = max(1, tries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    # ── conversations ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def begin(
        self,
        session: str,
        user: str,
        *,
        turn: str | None = None,
        frame: str | None = None,
        budget: int | None = None,
        at: datetime | None = None,
        explain: bool = False,
    ) -> Turn:
        """A turn begins: keep what the user said, and get what is remembered that bears on it. Raises Refused and Unanswered."""
        fields = {"user": user, "turn": turn or _new_id(), "frame": frame, "budget": budget, "at": at, "explain": explain}
        return await self._post(Turn, f"/v1/sessions/{_in_path(session)}/turns", fields)

    async def result(
        self, turn: Turn, assistant: str, *, tools: Sequence[str] = (), cited: Sequence[str] = (), at: datetime | None = None
    ) -> Result:
        """The turn has ended: keep the answer, and learn what it drew on. `cited` are handles or ids. Raises Refused and Unanswered."""
        path = f"/v1/sessions/{_in_path(turn.session_id)}/turns/{_in_path(turn.turn)}/result"
        return await self._post(Result, path, {"assistant": assistant, "tools": list(tools), "cited": list(cited), "at": at})

    async def end(self, session: str, *, reflection: str | None = None, outcome: str | None = None, at: datetime | None = None) -> Closed:
        """The session is over: it is summarised, or was too little and is put aside. Raises Refused and Unanswered."""
        path = f"/v1/sessions/{_in_path(session)}/end"
        return await self._post(Closed, path, {"reflection": reflection, "outcome": outcome, "at": at})

    # ── recall, and single memories ───────────────────────────────────────────────────────────────────────────────────────

    async def recall(
        self,
        question: str,
        *,
        conversation: Sequence[str] = (),
        frame: str | None = None,
        budget: int | None = None,
        as_of: datetime | date | None = None,
        kinds: Sequence[str] | None = None,
        explain: bool = False,
    ) -> Context:
        """What is remembered that bears on a question, without a session. Raises Refused and Unanswered."""
        fields = {
            "question": question,
            "conversation": list(conversation),
            "frame": frame,
            "budget": budget,
            "as_of": as_of,
            "kinds": None if kinds is None else list(kinds),
            "explain": explain,
            "recall_id": _new_id(),
        }
        return await self._post(Context, "/v1/recall", fields)

    async def memory(self, memory_id: UUID | str) -> Kept:
        """A memory with every field. Raises Refused and Unanswered."""
        return await self._get(Kept, f"/v1/memories/{_in_path(memory_id)}")

    async def expand(self, memory_id: UUID | str, question: str = "", *, from_line: int = 1) -> Expanded:
        """All that stands behind a memory, and what of it bears on a question; what is very long goes on from its `next_line`.

        Raises Refused and Unanswered.
        """
        return await self._get(Expanded, f"/v1/memories/{_in_path(memory_id)}/expand", question=question, from_line=str(from_line))

    async def explain(self, memory_id: UUID | str) -> Explained:
        """How a memory came to be so. Raises Refused and Unanswered."""
        return await self._get(Explained, f"/v1/memories/{_in_path(memory_id)}/explain")

    # ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def learn(self, content: str, **fields: Any) -> Reported:
        """Keep a fact; `fields` are others of FactLearned, such as subject and provenance. Raises Refused and Unanswered."""
        return await self.send(FactLearned, content=content, **fields)

    async def decide(self, description: str, **fields: Any) -> Reported:
        """Keep a decision; `fields` are others of DecisionRecorded, such as reasons. Raises Refused and Unanswered."""
        return await self.send(DecisionRecorded, **{"description": description, "decision_id": _new_id(), **fields})

    async def send(self, event: type[Event], **fields: Any) -> Reported:
        """Publish one event of this class, with these fields and an event_id if it has none. Raises Refused and Unanswered."""
        data = _written({"event_id": _new_id(), **fields})
        body = {"events": [{"event": event.stream, "data": data}]}
        answer = await self._asked("POST", "/v1/events", json=body)
        return Reported.model_validate(answer["events"][0])

    async def became(self, event_id: str, *, wait_s: float = 0) -> Standing:
        """What became of an event, once it is settled or after so many seconds (30 at most). Raises Refused and Unanswered."""
        return await self._get(Standing, f"/v1/events/{_in_path(event_id)}", wait=str(wait_s))

    # ── sending ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _post(self, answer: type[A], path: str, fields: Mapping[str, Any]) -> A:
        return answer.model_validate(await self._asked("POST", path, json=_written(fields)))

    async def _get(self, answer: type[A], path: str, **query: str) -> A:
        return answer.model_validate(await self._asked("GET", path, params=query))

    async def _asked(self, method: str, path: str, **what: Any) -> Any:
        """What is answered, asked again while that may help. Raises Refused and Unanswered."""
        for again in range(self._tries):
            is_last = again + 1 == self._tries
            try:
                response = await self._http.request(method, path, **what)
            except httpx.TransportError as error:
                if is_last:
                    raise Unanswered(
                        f"{self._http.base_url} does not answer ({type(error).__name__}: {error}), asked {self._tries} times;"
                        " see that nous serve runs there, and send it again"
                    ) from error
                await asyncio.sleep(_wait_s(again, None))
                continue
            if response.is_success:
                return response.json()
            if is_last or response.status_code not in AGAIN:
                raise _problem(response)
            await asyncio.sleep(_wait_s(again, response.headers.get("retry-after")))
        raise AssertionError("the last try answers or raises")


def _problem(response: httpx.Response) -> MemoryProblem:
    """What the service said went wrong, or whoever answered in its place."""
    try:
        said = response.json()
        title, detail = str(said["title"]), str(said["detail"])
    except (ValueError, TypeError, KeyError):
        title, detail = "Not an answer of the service", response.text[:200] or response.reason_phrase
    kind = Unanswered if response.status_code in AGAIN else Refused
    return kind(detail, status=response.status_code, title=title)


def _wait_s(again: int, told: str | None) -> float:
    """How long to wait: as long as was told, or else twice as long each time, and never the same as others do."""
    if told and told.isdigit():
        return min(LONGEST_WAIT_S, float(told))
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * (1 << again))
    return longest / 2 + longest / 2 * secrets.randbelow(1_000) / 1_000


def _written(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields for JSON; what is None is left out."""
    return {name: _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, date):  # a moment too
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _new_id() -> str:
    return str(UUID(bytes=secrets.token_bytes(16), version=4))


def _in_path(one: object) -> str:
    """An id as one part of a path; what is nothing but dots would be taken for a way up."""
    written = quote(str(one), safe="")
    return written if written.strip(".") else written.replace(".", "%2E")
