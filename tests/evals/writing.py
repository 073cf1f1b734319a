"""Minds that write about conversations: one that repeats what a model once wrote, one that has it written down, one that counts.

An answer about a conversation quotes it, and the data may not be copied. So an answer is sealed with the words of its question: whoever
has the data asks the same question and can read it, and in the file stand a digest, a row of bytes, tokens and milliseconds.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256, shake_256
from pathlib import Path
from typing import Any

from providers.mind import A, Mind, NoAnswer, Question, Reply, Task

RECORDED = Path(__file__).parent / "recorded_episodes_qwen2.5-coder-1.5b.jsonl"
CHARACTERS_A_TOKEN = 4
SUMMARY = "Nothing was written about it."
NOTHING = {"title": "An untold conversation", "summary": SUMMARY, "notes": "None.", "facts": []}


class NotRecorded(Exception):
    """A question that is not in the record."""


@dataclass(frozen=True, slots=True)
class Written:
    """One answer as recorded; sealed, or None where the model gave none that fits, and why."""

    sealed: str | None
    why: str
    tokens_in: int
    tokens_out: int
    milliseconds: int


def asked(question: Question[Any]) -> bytes:
    """All that is asked, the version of the prompt among it."""
    prompt = question.prompt
    said = [prompt.version, prompt.system, prompt.text, question.answer.model_json_schema()]
    return json.dumps(said, sort_keys=True).encode()


def digest(question: Question[Any]) -> str:
    """What an answer is recorded under."""
    return sha256(b"question\0" + asked(question)).hexdigest()


def seal(question: Question[Any], answer: Any) -> str:
    """The answer, to be read by whoever can ask the question."""
    return base64.b64encode(_veiled(question, zlib.compress(json.dumps(answer, ensure_ascii=False).encode()))).decode()


def unseal(question: Question[Any], sealed: str) -> Any:
    """What was sealed with this question."""
    return json.loads(zlib.decompress(_veiled(question, base64.b64decode(sealed))))


def _veiled(question: Question[Any], plain: bytes) -> bytes:
    veil = shake_256(b"veil\0" + asked(question)).digest(len(plain))
    return bytes(one ^ other for one, other in zip(plain, veil, strict=True))


def recorded(path: Path = RECORDED) -> dict[str, Written]:
    """Every recorded answer by its question's digest."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {row.pop("question"): Written(**row) for row in rows}


class RecordedWriter:
    """Writes what a model wrote when it was asked, and raises NotRecorded about what it was never asked."""

    def __init__(self, answers: Mapping[str, Written]) -> None:
        self._answers = answers

    def model(self, task: Task) -> str:
        """One name for everything."""
        return "recorded"

    async def ask(self, question: Question[A]) -> Reply[A]:
        """The answer, or the NoAnswer that there was."""
        given = self._answers.get(digest(question))
        if given is None:
            raise NotRecorded
        if given.sealed is None:
            raise NoAnswer(given.why, given.tokens_in, given.tokens_out)
        answer = question.answer.model_validate(unseal(question, given.sealed))
        question.check(answer)
        return Reply(answer, given.tokens_in, given.tokens_out, given.milliseconds)

    async def close(self) -> None:
        """Nothing is open."""


class Recorder(RecordedWriter):
    """Asks a mind what is not recorded yet, and writes its answer down at once. That the mind was away is not written down."""

    def __init__(self, mind: Mind, path: Path = RECORDED) -> None:
        super().__init__(recorded(path))
        self.mind = mind
        self.path = path
        self.asked = 0

    async def ask(self, question: Question[A]) -> Reply[A]:
        """The recorded answer, or the mind's own."""
        try:
            return await super().ask(question)
        except NotRecorded:
            return await self._ask(question)

    async def _ask(self, question: Question[A]) -> Reply[A]:
        self.asked += 1
        try:
            reply = await self.mind.ask(question)
        except NoAnswer as error:
            if error.tokens_out:  # it spoke, and that was no answer; else the server would not take the question
                self._keep(question, Written(None, str(error), error.tokens_in, error.tokens_out, 0))
            raise
        sealed = seal(question, reply.answer.model_dump(mode="json"))
        self._keep(question, Written(sealed, "", reply.tokens_in, reply.tokens_out, reply.milliseconds))
        return reply

    def _keep(self, question: Question[Any], given: Written) -> None:
        row = {"question": digest(question), **{name: getattr(given, name) for name in Written.__slots__}}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


class Silent:
    """Writes that there is nothing to write, and counts what it was asked. Tokens are a quarter of the characters of the prompts."""

    def __init__(self) -> None:
        self.questions = 0
        self.characters = 0

    @property
    def tokens(self) -> int:
        """Read until now, estimated."""
        return self.characters // CHARACTERS_A_TOKEN

    def model(self, task: Task) -> str:
        """One name for everything."""
        return "silent"

    async def ask(self, question: Question[A]) -> Reply[A]:
        """Nothing, in the form that is wanted."""
        self.questions += 1
        characters = len(question.prompt.system) + len(question.prompt.text)
        self.characters += characters
        answer = question.answer.model_validate({name: NOTHING[name] for name in NOTHING if name in question.answer.model_fields})
        question.check(answer)
        return Reply(answer, characters // CHARACTERS_A_TOKEN)

    async def close(self) -> None:
        """Nothing is open."""
