"""`nous trial`: two prompts on the same transcripts through the real client; each question once, nothing invented, nothing written."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from nous.embedded import programs
from nous.trialling import criteria, exclusion
from providers import claude
from tests.model_server import Body, ModelServer, failing, remembering
from tests.nous.conftest import Nous
from workers.episodes import question

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
    return {line["measure"]: (line["a"], line["b"]) for line in told["measures"]}


async def tried(nous: Nous, *words: str, **env: str) -> Any:
    """What a trial that has no reason to ship prints with `--json`."""
    shown = await nous("trial", *words, "--json", **env)
    assert shown.exit_code == 1, shown.output
    return json.loads(shown.stdout)


async def test_both_prompts_are_asked_once_about_each_transcript_and_counted_side_by_side(
    nous: Nous, server: ModelServer, tmp_path: Path
) -> None:
    file = written(
        tmp_path / "talks.jsonl",
        {"transcript": TALK, "gold": GOLD, "started_at": "2026-03-01T10:00Z"},
        {"transcript": "Tool: 3 files"},
        {"transcript": TALK, "gold": GOLD[:1], "started_at": "2026-03-01T10:00Z"},
    )
    told = await tried(nous, file)
    assert sorted(asked_by(one.body) for one in server.asked) == ["exclusion", "positive"]
    assert len({str(one.body["messages"]) for one in server.asked}) == 1, "nothing but the criterion differs"
    assert (told["transcripts"], told["silent"], told["pairs"], told["unanswered"]) == (2, 1, 1, [])
    assert told["a"] == {"name": "positive", "version": question.VERSION}
    assert told["b"] == {"name": "exclusion", "version": exclusion.VERSION}
    found = measures(told)
    assert found["facts"] == (2, 2)
    assert found["quote not said"] == (1, 0)
    assert found["gold covered"] == (2, 1)
    assert found["junk"] == (0, 1)
    assert (found["questions"], found["tokens in"], found["tokens out"]) == ((1, 1), (123, 123), (10, 10))
    assert told["covered_only_by"] == {"a": 1, "b": 0}
    assert told["junk"] == {"a": {}, "b": {"no content": 1}}
    [gold] = [line for line in told["measures"] if line["measure"] == "gold covered"]
    assert (gold["shares"], gold["difference"], gold["higher"], gold["lower"]) == ([0.6667, 0.3333], -0.3333, 0, 1)
    assert not (tmp_path / "home").exists(), "it needs no store"


async def test_a_person_reads_the_same_in_a_table(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    written(tmp_path / "talks.jsonl", {"transcript": TALK})
    shown = await nous("trial", str(tmp_path))
    assert shown.exit_code == 1, shown.output
    assert shown.stdout.startswith(f"1 transcript read twice by claude-sonnet-4-6: a is {question.VERSION}, b is {exclusion.VERSION}\n")
    assert not any(line.startswith(("gold covered", "p@1")) for line in shown.stdout.splitlines())
    assert "no transcript has gold facts, so coverage was not measured" in shown.stdout
    assert "no transcript has probes, so recall was not measured" in shown.stdout
    assert "junk by b: no content 1" in shown.stdout
    assert "verdict: not enough to tell" in shown.stdout
    assert "only 1 transcript has facts, and 6 are the least" in shown.stdout


async def test_a_long_transcript_is_read_in_parts_by_both(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    long = "\n".join(f"User: Line {number} of what I say." for number in range(60))
    told = await tried(nous, written(tmp_path / "long.jsonl", {"transcript": long}), NOUS_SUMMARY_PART_CHARACTERS="3000")
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
    assert (unanswered["transcript"], unanswered["prompt"]) == (f"{file}:2", exclusion.VERSION)
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
    told = await tried(nous, str(path))
    assert (told["transcripts"], told["pairs"]) == (2, 2)


async def test_when_a_transcript_began_is_told_in_utc(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    path = written(tmp_path / "talks.jsonl", {"transcript": TALK, "started_at": "2026-03-01T01:00+14:00"})
    await tried(nous, path)
    assert all("It began at 2026-02-28 11:00 (UTC)." in str(one.body["messages"]) for one in server.asked)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("", "there is no transcript in"),
        ("{", "line 1 of {} is no transcript: invalid json"),
        ('{"transcript": "User: hi"}\n{"transcript": "\\ud800"}', "half of a character without its other half"),
        ('{"transcript": "User: hi", "golds": []}', "line 1 of {} is no transcript: golds: extra inputs are not permitted"),
        ('\n{"gold": []}', "line 2 of {} is no transcript: transcript: field required"),
        ('{"transcript": "User: hi", "started_at": "2026-03-01T10:00"}', "line 1 of {} is no transcript: started_at: "),
        ('{"transcript": "User: hi", "agent_id": "a\\u0000"}', "line 1 of {} is no transcript: agent_id: "),
        (f'{{"transcript": "User: {"hi " * 400_000}"}}', "transcript: string should have at most 1048576 characters"),
        ('{"transcript": "User: hi", "probes": [{"question": "Who?"}]}', "line 1 of {} is no transcript: probes.0.answers: field required"),
        (
            '{"transcript": "User: hi", "probes": [{"question": "Who?", "answers": []}]}',
            "line 1 of {} is no transcript: probes.0.answers: list should have",
        ),
        (
            '{"transcript": "User: hi", "probes": [{"question": " ", "answers": ["Ida."]}]}',
            "line 1 of {} is no transcript: probes.0.question: it is empty",
        ),
    ],
)
async def test_a_line_that_is_no_transcript_is_named_before_anything_is_asked(
    nous: Nous, server: ModelServer, tmp_path: Path, lines: str, why: str
) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text(lines, "utf-8")
    shown = await nous("trial", str(path))
    assert shown.exit_code == 2
    assert why.format(path) in " ".join(shown.stderr.split())
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
    assert (told.exit_code, f"line 2 of {file} is no transcript: it is not UTF-8" in told.stderr, server.asked) == (2, True, [])


# ── a prompt of one's own, probes, and the verdict ────────────────────────────────────────────────────────────────────────

OWN = "give what holds for good about people and things.\n"
CITIES = ["Oslo", "Bergen", "Turin", "Ghent", "Porto", "Cork", "Lodz"]


def lives_in(city: str) -> dict[str, Any]:
    return {"content": f"The user lives in {city}.", "quote": f"I live in {city}.", "confidence": 0.9, "subject": "the user"}


def a_talk(city: str, *, agent: str) -> dict[str, Any]:
    gold = lives_in(city)["content"]
    probe = {"question": f"Does the user live in {city}?", "answers": [gold]}
    return {"transcript": f"User: I live in {city}. Thanks!", "gold": [gold], "probes": [probe], "agent_id": agent}


def told_by_own_prompt(*, is_right: bool) -> Callable[[Body], Any]:
    """One of the two prompts has each city told as it is, the other only thanks."""

    def answer(body: Body) -> Any:
        [city] = [one for one in CITIES if one in str(body["messages"])]
        is_own = "holds for good" in str(body["system"])
        return by_prompt([lives_in(city) if is_own == is_right else THANKS], [])(body)

    return answer


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "lasting.txt"
    path.write_text(OWN, "utf-8")
    return str(path)


@pytest.fixture
def talks(tmp_path: Path) -> str:
    return written(tmp_path / "talks.jsonl", *(a_talk(city, agent=f"agent {place % 2}") for place, city in enumerate(CITIES)))


async def test_a_prompt_by_which_recall_answers_what_it_did_not_is_to_be_shipped(
    nous: Nous, server: ModelServer, talks: str, own: str
) -> None:
    server.answer = told_by_own_prompt(is_right=True)
    told = await nous.json("trial", talks, "--b", own)
    assert told["verdict"]["is"] == "ship"
    assert {one["stands"] for one in told["verdict"]["gates"]} == {"met"}
    found = {line["measure"]: line for line in told["measures"]}
    assert [found[name]["shares"] for name in ("gold covered", "junk")] == [[0, 1], [1, 0]]
    of_junk = found["junk"]
    assert (of_junk["difference"], of_junk["interval"], of_junk["lower"], of_junk["chance"]) == (-1, [-1, -1], 7, 0.0156)
    for name in ("p@1", "p@3", "MRR"):
        without, with_ = found[name]["shares"]
        assert without == 0
        assert with_ > 0.5
        assert found[name]["interval"][0] > 0
    assert (told["probes"], told["agents"]) == (7, 2)


async def test_a_prompt_that_loses_what_was_known_is_not_to_be_shipped(nous: Nous, server: ModelServer, talks: str, own: str) -> None:
    server.answer = told_by_own_prompt(is_right=False)
    shown = await nous("trial", talks, "--a", "positive", "--b", own)
    assert shown.exit_code == 1, shown.output
    assert "verdict: do not ship" in shown.stdout
    assert "broken  MRR is to be better: worse" in shown.stdout
    assert "7 probes put to what 2 agents would remember by each" in shown.stdout


async def test_one_conversation_is_not_enough_to_tell_however_it_ends(nous: Nous, server: ModelServer, tmp_path: Path, own: str) -> None:
    server.answer = told_by_own_prompt(is_right=True)
    told = await tried(nous, written(tmp_path / "one.jsonl", a_talk("Oslo", agent="a")), "--b", own)
    assert told["verdict"]["is"] == "not enough to tell"
    assert {one["why"] for one in told["verdict"]["gates"] if one["measure"] == "MRR"} == {
        "only 1 transcript has probes, and 6 are the least"
    }


async def test_the_same_answers_give_the_same_figures_and_no_live_store_is_needed(
    nous: Nous, server: ModelServer, talks: str, own: str
) -> None:
    server.answer = told_by_own_prompt(is_right=True)
    nous.env["NOUS_DATABASE_URL"] = "postgresql://nobody@127.0.0.1:1/none"
    once, again = [await nous.json("trial", talks, "--b", own) for _ in range(2)]
    for told in (once, again):
        told["measures"] = [one for one in told["measures"] if one["measure"] != "milliseconds"]
    assert once == again


async def test_where_no_store_can_be_made_for_the_probes_nothing_is_paid_for(
    nous: Nous, server: ModelServer, talks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "POSTGRES_MAJOR", "1")
    shown = await nous("trial", talks)
    assert shown.exit_code not in (0, 1)
    assert "brought no Postgres 1 or Valkey for this platform" in shown.stderr
    assert server.asked == []


async def test_what_only_one_prompt_got_an_answer_to_is_in_neither_store(nous: Nous, server: ModelServer, talks: str, own: str) -> None:
    server.answer = told_by_own_prompt(is_right=True)

    async def refuses_one(body: Body) -> Any:
        is_refused = "holds for good" not in str(body["system"]) and "Oslo" in str(body["messages"])
        return await (server.bad("prose") if is_refused else server.healthy)(body)

    server.always(refuses_one)
    told = await nous.json("trial", talks, "--b", own)
    assert (told["pairs"], told["probes"], len(told["unanswered"])) == (6, 6, 1)
    [answered] = [line for line in told["measures"] if line["measure"] == "answered"]
    assert (answered["a"], answered["b"], answered["of"]) == (6, 7, [7, 7])


async def test_a_fact_that_is_told_again_counts_as_a_duplicate(nous: Nous, server: ModelServer, tmp_path: Path) -> None:
    rows = [
        {"transcript": TALK, "agent_id": agent, "started_at": f"2026-03-0{day}T10:00Z"} for agent, day in (("a", 1), ("a", 2), ("b", 3))
    ]
    found = measures(await tried(nous, written(tmp_path / "talks.jsonl", *rows)))
    assert (found["facts"], found["duplicates"]) == ((6, 6), (2, 2)), "what another agent was told is no repetition"


def test_the_version_of_a_prompt_of_ones_own_follows_its_words(own: str) -> None:
    first, path = criteria.named(own), Path(own)
    path.write_text(f"\ufeff{OWN}\n", "utf-8")
    assert criteria.named(own) == first, "what is around the words is none of them"
    path.write_text(OWN.replace("good", "long"), "utf-8")
    changed = criteria.named(own)
    assert first.version != changed.version
    assert {one.version.rpartition("-")[0] for one in (first, changed)} == {"lasting"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "as a file it cannot be read: no such file or directory"),
        (" \n", "is empty; write what decides what is a fact"),
        (question.POSITIVE.words, "are the same words, so there is nothing to compare"),
    ],
)
async def test_a_prompt_that_is_none_is_named_before_anything_is_asked(
    nous: Nous, server: ModelServer, tmp_path: Path, content: str | None, why: str
) -> None:
    path = tmp_path / "own.txt"
    if content is not None:
        path.write_text(content, "utf-8")
    shown = await nous("trial", written(tmp_path / "talks.jsonl", {"transcript": TALK}), "--b", str(path))
    assert shown.exit_code == 2
    assert why in shown.stderr
    assert server.asked == []
