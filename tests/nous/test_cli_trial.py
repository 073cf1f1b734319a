"""`nous trial`: two prompts on the same transcripts through the real client; each question once, nothing invented, nothing written."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from providers import claude
from tests.model_server import Body, ModelServer, failing, remembering
from tests.nous.conftest import Nous
from workers.episodes import exclusion, question

TALK = "User: I live in Oslo. I only drink green tea. Thanks!\nAssistant: You should book flight SK 4610."
LIVES = {"content": "The user lives in Oslo.", "quote": "I live in Oslo.", "confidence": 0.9, "subject": "the user"}
DRINKS = {"content": "The user drinks only green tea.", "quote": "I only drink green tea.", "confidence": 0.9}
THANKS = {"content": "Thank you so much!", "quote": "Thanks!", "confidence": 0.2}
INVENTED = {"content": "The user owns a boat.", "quote": "I own a boat.", "confidence": 0.9}
GOLD = [LIVES["content"], DRINKS["content"], "The user flies to Bergen on 3 May."]
OFFLINE = {"NOUS_MIND": "offline"}


def asked_by(body: Body) -> str:
    """Which of the two prompts this request has."""
    return "exclusion" if exclusion.EXCLUDED[0] in str(body["system"]) else "positive"


def by_prompt(positive: list[Any], exclusive: list[Any]) -> Callable[[Body], Any]:
    """Answers with these facts, by the prompt."""
    fields = {"title": "A talk", "summary": "They talked.", "outcome": "done", "lessons": [], "decisions": [], "notes": "Notes."}
    answers = {"positive": remembering(**fields, facts=positive), "exclusion": remembering(**fields, facts=exclusive)}
    return lambda body: answers[asked_by(body)](body)


@pytest.fixture
async def server(nous: Nous, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    async with ModelServer(by_prompt([LIVES, DRINKS, INVENTED], [LIVES, THANKS])) as server:
        nous.env |= server.environment
        nous.env.pop("NOUS_DATABASE_URL")
        nous.env.pop("NOUS_REDIS_URL")
        yield server


def written(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return str(path)


def measures(told: Any) -> dict[str, tuple[int, int]]:
    return {line["measure"]: (line["positive"], line["exclusion"]) for line in told["measures"]}


async def test_both_prompts_are_asked_once_about_each_transcript_and_counted_side_by_side(
    nous: Nous, server: ModelServer, tmp_path: Path
) -> None:
    file = written(
        tmp_path / "talks.jsonl",
        {"transcript": TALK, "gold": GOLD, "started_at": "2026-03-01T10:00Z"},
        {"transcript": "Tool: 3 files"},
        {"transcript": TALK, "gold": GOLD[:1], "started_at": "2026-03-01T10:00Z"},
    )
    told = await nous.json("trial", file)
    assert sorted(asked_by(one.body) for one in server.asked) == ["exclusion", "positive"]
    assert len({str(one.body["messages"]) for one in server.asked}) == 1, "nothing but the criterion differs"
    assert (told["transcripts"], told["silent"], told["pairs"], told["unanswered"]) == (2, 1, 1, [])
    assert told["prompts"] == {"positive": question.VERSION, "exclusion": exclusion.VERSION}
    found = measures(told)
    assert found["facts"] == (2, 2)
    assert found["quote not said"] == (1, 0)
    assert found["gold covered"] == (2, 1)
    assert found["junk"] == (0, 1)
    assert (found["questions"], found["tokens in"], found["tokens out"]) == ((1, 1), (123, 123), (10, 10))
    assert told["covered_only_by"] == {"positive": 1, "exclusion": 0}
    assert told["junk"] == {"positive": {}, "exclusion": {"no content": 1}}
    [gold] = [line for line in told["measures"] if line["measure"] == "gold covered"]
    assert (gold["shares"], gold["difference"], gold["higher"], gold["lower"]) == ([0.6667, 0.3333], 1, 1, 0)
    assert not (tmp_path / "home").exists(), "it needs no store"


async def test_a_person_reads_the_same_in_a_table(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    written(tmp_path / "talks.jsonl", {"transcript": TALK})
    shown = await nous("trial", str(tmp_path))
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith(f"1 transcript read twice by {'claude-sonnet-4-6'}, asked by {question.VERSION} and {exclusion.VERSION}")
    assert "gold covered" not in shown.stdout
    assert "no transcript has gold facts, so coverage was not measured" in shown.stdout
    assert f"junk by {exclusion.VERSION}: no content 1" in shown.stdout


async def test_a_long_transcript_is_read_in_parts_by_both(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    long = "\n".join(f"User: Line {number} of what I say." for number in range(60))
    told = await nous.json("trial", written(tmp_path / "long.jsonl", {"transcript": long}), NOUS_SUMMARY_PART_CHARACTERS="3000")
    parts = [one.body for one in server.asked if "one part of a long conversation" in str(one.body["system"])]
    assert len(parts) == 4
    assert measures(told)["questions"] == (3, 3)


async def test_what_gets_no_answer_is_left_out_of_both_sides_and_told(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    file = written(tmp_path / "talks.jsonl", {"transcript": TALK}, {"transcript": "User: I keep bees."})

    async def refuses_one(body: Body) -> Any:
        is_refused = asked_by(body) == "exclusion" and "bees" in str(body["messages"])
        return await (server.bad("prose") if is_refused else server.healthy)(body)

    server.always(refuses_one)
    shown = await nous("trial", file, "--json")
    assert shown.exit_code == 1
    told = json.loads(shown.stdout)
    assert (told["pairs"], measures(told)["facts"]) == (1, (2, 2))
    [unanswered] = told["unanswered"]
    assert (unanswered["transcript"], unanswered["prompt"]) == (f"{file}:2", "exclusion")
    assert "is no answer, twice" in unanswered["why"]
    assert unanswered["tokens_in"] == 246, "what brought no answer was paid for too"


async def test_a_model_that_is_away_ends_it_in_one_sentence(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    server.always(failing(401))
    shown = await nous("trial", written(tmp_path / "talks.jsonl", {"transcript": TALK}))
    assert shown.exit_code == 3
    assert shown.stderr.count("is not answering") == 1
    assert "ANTHROPIC_API_KEY was refused" in shown.stderr


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\u0085"])
async def test_a_line_ends_where_it_ends_whatever_stands_inside_its_strings(
    nous: Nous, server: ModelServer, tmp_path: Path, inside: str
) -> None:
    rows = [{"transcript": f"User: I keep bees.{inside}Assistant: Good."}, {"transcript": TALK}]
    path = tmp_path / "talks.jsonl"
    path.write_bytes("\ufeff".encode() + "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())
    told = await nous.json("trial", str(path))
    assert (told["transcripts"], told["pairs"]) == (2, 2)


async def test_when_a_transcript_began_is_told_in_utc(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    path = written(tmp_path / "talks.jsonl", {"transcript": TALK, "started_at": "2026-03-01T01:00+14:00"})
    await nous.json("trial", path)
    assert all("It began at 2026-02-28 11:00 (UTC)." in str(one.body["messages"]) for one in server.asked)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("", "there is no transcript in"),
        ("{", "line 1: invalid json"),
        ('{"transcript": "User: hi", "golds": []}', "line 1: golds: extra inputs are not permitted"),
        ('\n{"gold": []}', "line 2: transcript: field required"),
        ('{"transcript": "User: hi", "started_at": "2026-03-01T10:00"}', "line 1: started_at: "),
    ],
)
async def test_a_line_that_is_no_transcript_is_named_before_anything_is_asked(
    nous: Nous, server: ModelServer, tmp_path: Path, lines: str, why: str
) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text(lines, "utf-8")
    shown = await nous("trial", str(path))
    assert shown.exit_code == 2
    assert why in shown.stderr
    assert server.asked == []


async def test_a_place_without_transcripts_is_named(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place, why in ((tmp_path / "none.jsonl", "cannot be read: no such file"), (tmp_path / "empty", "there is no .jsonl file below")):
        shown = await nous("trial", str(place))
        assert shown.exit_code == 2
        assert why in shown.stderr
        assert "Traceback" not in shown.stderr


async def test_without_a_mind_it_says_what_to_set(nous: Nous, tmp_path: Path) -> None:
    shown = await nous("trial", written(tmp_path / "talks.jsonl", {"transcript": TALK}), **OFFLINE)
    assert shown.exit_code == 2
    assert "set ANTHROPIC_API_KEY, and NOUS_MIND=claude if NOUS_MIND is set" in shown.stderr
    assert os.sep not in shown.stderr.partition("set ANTHROPIC_API_KEY")[2]


async def test_files_are_looked_at_before_the_mind_is(nous: Nous) -> None:
    told = await nous("trial", "nosuch.jsonl", **OFFLINE)
    assert (told.exit_code, told.stderr) == (2, "nous: nosuch.jsonl cannot be read: no such file or directory\n")


async def test_a_line_that_is_not_utf_8_is_named(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(b'{"transcript": "User: hello"}\n{"transcript": "User: caf\xe9"}\n')
    told = await nous("trial", str(file))
    assert (told.exit_code, "odd.jsonl line 2 is not UTF-8" in told.stderr, server.asked) == (2, True, [])
