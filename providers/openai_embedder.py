"""An embedder behind the OpenAI-compatible HTTP API: POST {url}/embeddings with {"model", "input": [...]}.

    answer                               at start         later
    no connection, 429, 5xx, not JSON    Outage           Outage, after a few tries
    no answer in time                    Outage           Outage, at once: the time is spent
    401, 403, 404                        Misconfigured    Outage: someone changed the server, and work waits until it is put right
    not a vector for each text, or       Misconfigured    Outage, likewise
    of another dimension
    400, 413, 422                        Misconfigured    the batch is halved until the text at fault is found: EmbeddingRefused
    NaN, zero                            Misconfigured    EmbeddingMalformed

The last two are a text's fault only while a short text of ours gets its vector; when that gets none either, it is an Outage.

Tries are few and short, and all requests and tries of one call share one time limit, because whoever asked can wait better: it
holds no connection while it does, and counts no Outage. What it does count is a page that outlasts NOUS_TIME_LIMIT_S, so the limit
here has to be the shorter one.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import Self

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, SecretStr, ValidationError

from nous import clock
from nous.errors import Misconfigured, NousError, Outage
from nous.settings import Settings

from .embedder import EmbeddingMalformed, EmbeddingRefused, Profile, Profiled, Vectors, readable, unit

ATTEMPTS = 3
FIRST_WAIT_S = 0.25  # doubles, with jitter
LONGEST_WAIT_S = 5.0  # a server that asks for more is away: the caller waits, and nothing is held meanwhile
REQUESTS_AT_ONCE = 4
TRIAL = "The first text is a trial."
EXCERPT_CHARACTERS = 200  # of what a server says about its error

_PRINTABLE = re.compile(r"[\x21-\x7e]*")  # what a header can carry


class OpenAIEmbedder(Profiled):
    """Vectors from a server. Its dimension and thresholds come from the settings and are checked by the first text at start."""

    def __init__(
        self,
        profile: Profile,
        *,
        url: str,
        model: str,
        api_key: SecretStr,
        batch: int,
        timeout_s: float,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        super().__init__(profile)
        self._url, self._where = _endpoint(url)
        self._model = model
        self._api_key = api_key
        self._batch = batch
        self._timeout_s = timeout_s
        self._pause = pause
        self._client: httpx.AsyncClient | None = None
        self._turns = asyncio.Semaphore(REQUESTS_AT_ONCE)

    @classmethod
    def configured(cls, settings: Settings, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Self:
        """From the settings. Raises Misconfigured that names the setting when one is missing or cannot work."""
        if not settings.embedder_model:
            raise Misconfigured("NOUS_EMBEDDER is openai and no model is named; set NOUS_EMBEDDER_MODEL to the name its server knows it by")
        if not settings.embedder_dimension:
            raise Misconfigured(
                f"how long the vectors of {settings.embedder_model} are is not set, and the store makes its column by it; set"
                f" NOUS_EMBEDDER_DIMENSION (the model's description says it; the start will check it)"
            )
        if settings.confirm_similarity is None or settings.check_similarity is None or settings.episode_similarity is None:
            raise Misconfigured(
                f"the thresholds of {settings.embedder_model} are not set. Thresholds belong to an embedder: one pair of sentences scores"
                f" 0.88 under one model and 0.99 under another, so no default can be right. Set NOUS_CONFIRM_SIMILARITY,"
                f" NOUS_CHECK_SIMILARITY and NOUS_EPISODE_SIMILARITY, or have them fitted, with the settings that hold here: nous calibrate"
                f" --thresholds --apply (docs/calibration.md)"
            )
        if settings.time_limit_s <= settings.embedder_timeout_s:
            raise Misconfigured(
                f"NOUS_TIME_LIMIT_S ({settings.time_limit_s:g} s) is no longer than NOUS_EMBEDDER_TIMEOUT_S"
                f" ({settings.embedder_timeout_s:g} s), so a slow server would count as a failure of the events it is asked about;"
                f" raise the first or lower the second"
            )
        return cls(
            Profile(
                name=f"openai:{settings.embedder_model}",
                dimension=settings.embedder_dimension,
                confirm_similarity=settings.confirm_similarity,
                check_similarity=settings.check_similarity,
                episode_similarity=settings.episode_similarity,
            ),
            url=settings.embedder_url,
            model=settings.embedder_model,
            api_key=settings.embedder_api_key,
            batch=settings.embedder_batch,
            timeout_s=settings.embedder_timeout_s,
            pause=pause,
        )

    async def open(self) -> None:
        """Connect and try one text. Raises Misconfigured (key, address, model, dimension), or Outage: wait and open again."""
        if self._client is not None:
            return
        self._client = httpx.AsyncClient(base_url=self._url, headers=_authorization(self._api_key), timeout=None)  # noqa: S113 - see _deadline
        try:
            await self._try_out(self._deadline())
        except BaseException:
            await self.close()
            raise

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension). Raises RuntimeError when not open."""
        try:
            return await self._vectors([readable(text) for text in texts], self._deadline())
        except Misconfigured as error:
            raise Outage(self._where, f"it worked at the start, and now {error}") from error

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _deadline(self) -> float:
        """When a call that begins now has had its time. httpx would measure from one byte to the next, and each request anew."""
        return asyncio.get_running_loop().time() + self._timeout_s

    async def _try_out(self, deadline: float) -> None:
        """Raises Misconfigured when there is no vector for a short text either, so that no other text is at fault."""
        try:
            unit(await self._ask([TRIAL], deadline), count=1, of=self)
        except (_Refusal, EmbeddingMalformed) as error:
            raise Misconfigured(
                f"{self._where} gives no vector even for a short text ({error.why}); check NOUS_EMBEDDER_URL and"
                f" NOUS_EMBEDDER_MODEL ({self._model})"
            ) from error

    async def _vectors(self, texts: list[str], deadline: float) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        try:
            return unit(await self._ask_in_batches(texts, deadline), count=len(texts), of=self)
        except (EmbeddingRefused, EmbeddingMalformed):
            await self._try_out(deadline)
            raise

    async def _ask_in_batches(self, texts: list[str], deadline: float) -> NDArray[np.float64]:
        batches = [texts[start : start + self._batch] for start in range(0, len(texts), self._batch)]
        try:
            async with asyncio.TaskGroup() as group:
                parts = [group.create_task(self._ask_or_halve(batch, deadline)) for batch in batches]
        except ExceptionGroup as several:
            raise several.exceptions[0] from several
        return np.concatenate([part.result() for part in parts])

    async def _ask_or_halve(self, texts: list[str], deadline: float) -> NDArray[np.float64]:
        """The rows for `texts`; a refusal is narrowed down to the one text that causes it."""
        try:
            return await self._ask(texts, deadline)
        except _Refusal as refusal:
            if len(texts) == 1:
                raise EmbeddingRefused(self.name, length=len(texts[0]), why=refusal.why) from refusal
        half = len(texts) // 2
        left = await self._ask_or_halve(texts[:half], deadline)
        return np.concatenate([left, await self._ask_or_halve(texts[half:], deadline)])

    async def _ask(self, texts: list[str], deadline: float) -> NDArray[np.float64]:
        """One answer, asked for again when what went wrong may pass. Raises Outage when it did not, and at `deadline`."""
        before = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with asyncio.timeout_at(deadline), self._turns:
                    return await self._ask_once(texts)
            except TimeoutError as error:
                raise Outage(
                    self._where,
                    f"nothing for {len(texts)} texts within the {self._timeout_s:g} s of a call (NOUS_EMBEDDER_TIMEOUT_S){before};"
                    f" if that lasts, lower NOUS_PAGE or raise the limit",
                ) from error
            except _Passing as passing:
                wait_s = max(FIRST_WAIT_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0), passing.wait_s)
                too_long = wait_s > LONGEST_WAIT_S or asyncio.get_running_loop().time() + wait_s >= deadline
                if attempt == ATTEMPTS or too_long:
                    raise Outage(self._where, passing.why) from passing
                before = f", and before that {passing.why}"
            await self._pause(wait_s)
        raise AssertionError("the last attempt returns or raises")

    async def _ask_once(self, texts: list[str]) -> NDArray[np.float64]:
        if self._client is None:
            raise RuntimeError(f"the embedder {self.name} is not open; await open() first")
        try:
            answer = await self._client.post("embeddings", json={"model": self._model, "input": texts})
        except httpx.RequestError as error:
            raise _Passing(f"{type(error).__name__} {error}".strip()) from error
        if answer.status_code != httpx.codes.OK:
            raise self._trouble(answer)
        return self._rows(answer, len(texts))

    def _trouble(self, answer: httpx.Response) -> NousError:
        """What a status other than 200 means."""
        status = answer.status_code
        said = f"{status} {answer.reason_phrase}"
        if status in {401, 403}:
            return Misconfigured(
                f"{self._where} answers {said}; the key is missing, wrong, or not for this model. Check NOUS_EMBEDDER_API_KEY"
            )
        said += f": {self._excerpt(answer)}"
        if status in {404, 405} or answer.is_redirect:
            return Misconfigured(
                f"{self._where} answers {said}; check NOUS_EMBEDDER_URL (what comes before /embeddings) and"
                f" NOUS_EMBEDDER_MODEL ({self._model})"
            )
        if status in {400, 413, 422}:
            return _Refusal(said)
        return _Passing(said, wait_s=_retry_after_s(answer))

    def _rows(self, answer: httpx.Response, count: int) -> NDArray[np.float64]:
        """The answer's vectors in the order of the texts, whatever order they came in."""
        try:
            rows = _Answer.model_validate_json(answer.content).data
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            if first["type"] == "json_invalid":
                kind = answer.headers.get("content-type", "of no type")
                raise _Passing(f"200, but the body ({kind}) is not JSON; if that lasts, check NOUS_EMBEDDER_URL") from error
            place = ".".join(map(str, first["loc"])) or "the body"
            raise self._no_vectors(f"{place}: {first['msg']}; it says {self._excerpt(answer)}") from error
        rows.sort(key=lambda row: row.index)
        if [row.index for row in rows] != list(range(count)):
            raise self._no_vectors(f"{count} texts were asked about and {len(rows)} vectors came, or not one for each")
        for row in rows:
            if len(row.embedding) != self.dimension:
                raise Misconfigured(
                    f"{self._where}: {self._model} gives vectors of {len(row.embedding)} numbers and {self.dimension} were expected;"
                    f" set NOUS_EMBEDDER_DIMENSION to {len(row.embedding)}, or NOUS_EMBEDDER_MODEL to the model that was meant"
                )
        return np.array([row.embedding for row in rows], np.float64)

    def _no_vectors(self, why: str) -> Misconfigured:
        return Misconfigured(
            f"{self._where} answers 200 without a vector for each text ({why}); check NOUS_EMBEDDER_URL and"
            f" NOUS_EMBEDDER_MODEL ({self._model})"
        )

    def _excerpt(self, answer: httpx.Response) -> str:
        """The beginning of what the server says, on one line, without our key should it echo that."""
        said, key = " ".join(answer.text.split()), self._api_key.get_secret_value().strip()
        return (said.replace(key, "(the key)") if key else said)[:EXCERPT_CHARACTERS] or "(no words)"


class _Row(BaseModel):
    index: int
    embedding: list[float | None]  # null is how servers write NaN, which JSON has no word for


class _Answer(BaseModel):
    data: list[_Row]


class _Passing(NousError):
    """May be over soon; `wait_s` is what the server asked for."""

    def __init__(self, why: str, *, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.wait_s = wait_s


class _Refusal(NousError):
    """The server will not have this batch."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _endpoint(url: str) -> tuple[httpx.URL, str]:
    """Where to post, and its name for messages (which leaves out a password). Raises Misconfigured for what is no web address."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise Misconfigured("NOUS_EMBEDDER_URL is no web address; one looks like http://127.0.0.1:8080/v1")
    return parsed, f"the embedder at {parsed.copy_with(username=None, password=None, query=None)}"


def _authorization(api_key: SecretStr) -> dict[str, str]:
    key = api_key.get_secret_value().strip()
    if not _PRINTABLE.fullmatch(key):
        raise Misconfigured("NOUS_EMBEDDER_API_KEY has a space, a line break or a letter outside ASCII in it; copy the key again")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _retry_after_s(answer: httpx.Response) -> float:
    """Seconds the server asks to wait (it may say so as a date); 0 when it does not say, or not legibly."""
    asked = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", asked):
        return float(asked)
    try:
        return max(0.0, (parsedate_to_datetime(asked) - clock.now()).total_seconds())
    except (ValueError, TypeError):
        return 0.0
