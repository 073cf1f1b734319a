"""The figures stand on these rules: what counts as one fact, what as two, and that nothing is measured when there is no data."""

import asyncio
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis
from rich.console import Console

from nous.cli.trial_files import conversations
from nous.embedded import Stack
from nous.settings import Settings
from nous.trialling import exclusion as excluding
from nous.trialling.reading import Probe
from providers.mind import A, Mind, NoAnswer, Question, Reply, Task
from providers.zero import ZeroEmbedder
from recall.tools import Tools
from store.database import Database
from tests.evals import asking, decision_noise, episodes, one_question, outcomes, record, significance, superseding, writing
from tests.evals.__main__ import main
from tests.evals.cases import READERS, Case, moment, seeded
from tests.evals.minds import RECORDED, CompatibleMind, Counted, OracleMind, RecordedMind, digest, recorded
from tests.evals.pairs import SETS, PairSet, Relation
from tests.evals.small_talk import SMALL_TALK
from tests.evals.worked import Store
from tests.model_server import ModelServer
from workers.episodes import question as written
from workers.standing import question

ROWS: dict[str, list[tuple[Relation | None, dict[str, object]]]] = {
    "pararel_x": [("same", {"label": "same"}), ("differ", {"label": "contradict"}), ("differ", {"label": "compatible"})],
    "sick_x": [
        ("same", {"label": "same?", "score": 4.5}),
        (None, {"label": "same?", "score": 4.4}),
        ("differ", {"label": "compatible", "score": 4.9}),
    ],
    "stsb_x": [("same", {"score": 5.0}), (None, {"score": 4.8}), ("differ", {"score": 3.0})],
    "mrpc_x": [("same", {"label": "same"}), ("differ", {"label": "compatible"})],
    "breaking_nli_x": [("same", {"label": "same?"}), ("differ", {"label": "contradict"})],
    "locomo_near_x": [("same", {"label": "same"}), ("differ", {"label": "refine"}), (None, {"label": None})],
    "fever_edits_x": [("differ", {"label": "contradict"})],
    "beam_updates_x": [("differ", {"label": "update"})],
    "beam_compatible_x": [("differ", {"label": "compatible"})],
    "situatedqa_updates_x": [("differ", {"q": "who mends the bells"})],
}


@pytest.mark.parametrize("pair_set", SETS, ids=lambda pair_set: pair_set.name)
def test_what_counts_as_one_fact_and_as_two(pair_set: PairSet, tmp_path: Path) -> None:
    for stem, rows in ROWS.items():
        path = tmp_path / "anywhere" / f"{stem}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(json.dumps({"old": f"{stem} {at}", "new": "b"} | row) for at, (_, row) in enumerate(rows)), "utf-8")
    found = list(pair_set.pairs(tmp_path))
    stem = f"{pair_set.name}_x"
    assert [pair.relation for pair in found] == [relation for relation, _ in ROWS[stem] if relation]
    if stem == "situatedqa_updates_x":
        assert found[0].old == "who mends the bells? situatedqa_updates_x 0."


@pytest.mark.parametrize("where", ["nowhere", ""])
def test_without_data_it_says_so_in_one_line(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / where)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("nothing measured: ")
    assert said.count("\n") == 1


# ── supersession ──────────────────────────────────────────────────────────────────────────────────────────────────────────


OLD, NEW = "The bell tower has 4 bells.", "The bell tower has 5 bells now."
BELLS = Case("made_up", "made_up:1", OLD, NEW, "retired", "update")
TEA = Case("made_up", "made_up:2", "Ida drinks tea.", "Ida mends clocks.", "both", "compatible")
TWICE = Case("made_up", "made_up:3", "Ken keeps bees.", "Ken is a beekeeper.", "one", "same")
CLOCKS = Case("made_up", "made_up:4", "Ida owns a clock.", "Ida owns an old clock.", "one", "refine")


@pytest.mark.parametrize(
    ("stated", "beginning"),
    [
        ("1980", "1980-01-01"),
        ("March 2017", "2017-03-01"),
        ("December 21, 2020", "2020-12-21"),
        ("30th May 2019", "2019-05-30"),
        ("20 Sept 2018", "2018-09-20"),
        ("1984-85", None),
        ("", None),
        (None, None),
    ],
)
def test_a_date_begins_as_exactly_as_it_is_given(stated: str | None, beginning: str | None) -> None:
    found = moment(stated)
    assert (found and f"{found:%Y-%m-%d}") == beginning


def test_what_ought_to_become_of_the_older_fact(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "beam_updates": [{"old": "a", "new": "b", "key": "chat/1"}],
        "beam_compatible": [{"old": "a", "new": "c"}],
        "pararel": [{"old": "a", "new": label, "label": label} for label in ("same", "contradict", "compatible")],
        "situatedqa_updates": [
            {"q": "who mends the bells", "old": "Ida", "old_start": "1980", "new": "Ken", "new_start": "May 1981"},
            {"q": "when", "old": "a", "old_start": "1980", "new": "b", "new_start": "1980"},
            {"q": "when", "old": "a", "old_start": "1981", "new": "b", "new_start": "1980"},
            {"q": "when", "old": "a", "old_start": None, "new": "b", "new_start": "1980"},
        ],
        "locomo_near": [
            {"old": "a", "new": "b", "old_session": 3, "new_session": 3, "speaker": "Ida", "label": label}
            for label in ("same", "refine", "update", "compatible", None)
        ],
    }
    for name, some in rows.items():
        (tmp_path / f"{name}_x.jsonl").write_text("\n".join(map(json.dumps, some)), "utf-8")
    found = {name: read(tmp_path) for name, read in READERS.items()}
    assert {name: [case.effect for case in cases] for name, cases in found.items()} == {
        "beam_updates": ["retired"],
        "beam_compatible": ["both"],
        "pararel": ["retired", "both"],
        "situatedqa_updates": ["retired"],
        "locomo_near": ["one", "one", "retired", "both"],
    }
    assert found["beam_updates"][0].key == "chat/1"
    assert found["pararel"][0].key == "pararel_x:2", "a row is named by its place in its file"
    assert found["situatedqa_updates"][0].newer == "who mends the bells? Ken."
    assert all(case.older_at < case.newer_at for cases in found.values() for case in cases)


def test_a_sample_is_the_same_every_time_and_bounded_for_each_effect() -> None:
    cases = [Case("made_up", str(number), "a", "b", "retired" if number % 3 else "both", "") for number in range(30)]
    chosen = seeded(cases, 5)
    assert chosen == seeded(cases, 5)
    assert [case.effect for case in chosen].count("both") == [case.effect for case in chosen].count("retired") == 5
    assert set(seeded(cases, 3)) < set(chosen), "a smaller sample is part of a larger one"


async def _says(mind: Mind, *cases: Case) -> list[str]:
    reply = await mind.ask(question.about([case.pair() for case in cases]))
    return [judgement.relation for judgement in reply.answer.judgements]


async def test_the_oracle_answers_from_the_labels_and_finds_all_else_compatible() -> None:
    assert await _says(OracleMind([BELLS, TEA, TWICE]), BELLS, TEA, TWICE, CLOCKS) == ["updates", "compatible", "same", "compatible"]
    assert await _says(OracleMind([CLOCKS]), CLOCKS) == ["refines"]


async def test_a_recorded_mind_repeats_what_was_said_and_is_unsure_of_what_was_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    key = digest(question.VERSION, OLD, NEW)
    path.write_text(json.dumps({"question": key, "said": "contradicts", "shares": {}}), "utf-8")
    mind = RecordedMind(recorded(path))
    assert await _says(mind, BELLS, TEA) == ["contradicts", "unsure"]
    assert (mind.was_asked(BELLS, question.VERSION), mind.was_asked(BELLS, "another version")) == (True, False)
    assert recorded(tmp_path / "none.jsonl") == {}


async def test_a_counted_mind_counts_questions_pairs_and_characters() -> None:
    mind = Counted(CompatibleMind())
    assert await _says(mind, BELLS, TEA) == ["compatible", "compatible"]
    assert (mind.questions, mind.pairs) == (1, 2)
    assert mind.characters > len(question.SYSTEM) + len(OLD) + len(NEW)


def test_what_is_recorded_holds_no_text() -> None:
    words = {"same", "refines", "updates", "contradicts", "compatible", "unsure", "yes", "no"}
    for line in RECORDED.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert set(row) == {"question", "said", "shares"}
        assert re.fullmatch("[0-9a-f]{64}", row["question"])
        assert {row["said"], *row["shares"]} <= words


async def test_the_likeliest_word_is_taken_by_how_its_first_token_begins() -> None:
    tokens = {"upd": 0.5, " Updates": 0.1, "comp": 0.2, "u": 0.1, "": 0.1}
    top = [{"token": token, "logprob": math.log(share)} for token, share in tokens.items()]
    served = {"choices": [{"logprobs": {"content": [{"top_logprobs": top}]}}]}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=served))
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
        said = await asking.ask(client, asking.one_question(BELLS.pair()))
    assert said.word == "updates"
    assert (said.shares["updates"], said.shares["compatible"], said.shares["unsure"]) == (0.6, 0.2, 0.0)


def test_the_specs_two_questions_name_the_subject_if_there_is_one() -> None:
    _, contradict = asking.two_questions(BELLS.pair())
    assert contradict.messages[0]["content"].startswith("Do these two facts contradict each other?")
    _, contradict = asking.two_questions(replace(BELLS, subject="the tower").pair())
    assert contradict.messages[0]["content"].startswith('Do these two facts about "the tower" contradict each other?')


def test_shares_order_pairs_by_chance_fully_or_not_at_all() -> None:
    assert one_question.ordered([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert one_question.ordered([0.5], [0.5, 0.5]) == 0.5
    assert one_question.ordered([], [0.5]) is None


async def test_the_real_workers_bring_pairs_to_what_their_labels_say_in_every_order(stack: Stack, database_url: str, redis: Redis) -> None:
    cases = [BELLS, TEA, TWICE, CLOCKS]
    runs = [outcomes.Run("made up", cases, order) for order in outcomes.ORDERS]
    store = Store(replace(stack, database_url=database_url), ZeroEmbedder())
    became = await outcomes.of(store, runs, OracleMind(cases))
    assert became == [["retired", "both", "one", "one"]] * 3
    figure = superseding._figure("made up", "oracle", runs[0], became[0], not_asked=0)
    assert (figure.retired, figure.wrong_way, figure.retired_wrongly, figure.merged_wrongly) == (1, 0, 0, 0)
    assert (figure.precision, figure.recall) == (1.0, 1.0)


# ── the decision filter ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_decision_filter_is_measured_on_sixty_of_each_in_ten_languages() -> None:
    lines = decision_noise.lines()
    assert len({line.said for line in lines}) == len(lines) == 120
    for kind in ("decision", "status"):
        languages = [line.language for line in lines if line.kind == kind]
        assert sorted(languages) == sorted(sorted(set(languages)) * 6)
        assert len(set(languages)) == 10
    assert all(bool(line.reason) == (line.kind == "decision") for line in lines)


def test_no_decision_with_a_reason_is_doubted_and_a_folder_without_data_measures_nothing(tmp_path: Path) -> None:
    assert decision_noise.measure(tmp_path) is None
    (tmp_path / "pararel_dev.jsonl").touch()
    measured = decision_noise.measure(tmp_path) or []
    counted = {(row.rule, row.lines): (row.noise, row.count) for row in measured if row.lines != "commit subjects"}
    assert counted["as built", "decisions with their reason"] == (0, 60)
    assert counted["as built", "the same without"] < counted["the spec's, to the letter", "the same without"]
    assert counted["as built", "status lines"] > counted["the spec's, to the letter", "status lines"]
    assert decision_noise.as_json(measured)[0]["share"] == 0


# ── significance ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_kept_of_conversations_is_counted_by_the_real_sessions(database: Database, settings: Settings) -> None:
    said = [
        {"speaker": who, "text": text}
        for who, text in (("Ida", "Hey Ken!"), ("Ken", "Hey Ida!"), ("Ida", "I keep bees."), ("Ken", "Nice."))
    ]
    turns = {"session_1": said, "session_2": said, "session_3": [], "session_3_date_time": "", "session_4": said[:2]}
    conversation = {"sample_id": "made up", "conversation": turns}
    spoken = list(significance.sessions_of(conversation))
    assert [one.session_id for one in spoken] == ["session_1", "session_2", "session_4"], "one in which nobody spoke is none"
    kept = await significance.counted(Tools(database, ZeroEmbedder(), settings), spoken, SMALL_TALK[:2])
    assert (kept.sessions, kept.begun_alike, kept.kept) == (3, 2, 2), "session 4 is one short turn"
    assert (kept.small_talk, kept.put_aside, kept.restored_whole) == (2, 2, 2)


# ── conversations ─────────────────────────────────────────────────────────────────────────────────────────────────────────

SESSION = [
    {"speaker": "Ida", "dia_id": "D1:1", "text": "I keep bees. 1. They hum all day."},
    {"speaker": "Ken", "dia_id": "D1:2", "text": "I moved to Oslo in 2019."},
]
CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "session_1": SESSION,
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2_date_time": "1:56 pm on 9 May, 2023",
    },
    "observation": {"session_1_observation": {"Ida": [["Ida: I keep bees.", "D1:1"]], "Ken": [["Ken owns 3 boats.", "D1:2"]]}},
    "event_summary": {"events_session_1": {"Ida": [], "Ken": ["Ken moves to Oslo in 2019."], "date": "8 May, 2023"}},
    "qa": [
        {"question": "What does Ida keep?", "answer": "Bees", "evidence": ["D1:1"], "category": 4},
        {"question": "What does Ida fly?", "adversarial_answer": "A kite", "evidence": ["D1:1"], "category": 5},
    ],
}
PLAN = [
    {"batch": 1, "bullet": 1, "label": "Time Anchor", "text": "March 15, 2024"},
    {"batch": 1, "bullet": 2, "label": "Preference Statement", "text": "I prefer tea."},
    {"batch": 1, "bullet": 3, "label": "Preference Statement", "text": "I prefer trains."},
    {"batch": 1, "bullet": 4, "label": "Preference Statement", "text": "Nobody carries it."},
]
MESSAGES = [
    {"role": "user", "content": "Hi. ->-> 1,1", "batch": 1, "index": "1,1", "time": "March-15-2024"},
    {"role": "user", "content": "I prefer tea. ->-> 1,2", "batch": 1, "index": "1,2", "time": None},
    {"role": "assistant", "content": "x" * 6_000, "batch": 1, "index": None, "time": None},
    {"role": "user", "content": "I prefer trains. ->-> 1,3", "batch": 1, "index": "1,3", "time": None},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for folder in ("locomo", "beam"):
        (tmp_path / folder).mkdir()
    (tmp_path / "locomo" / "locomo_x.json").write_text(json.dumps([CONVERSATION]), "utf-8")
    (tmp_path / "beam" / "chat01.json").write_text(json.dumps({"plan": PLAN, "messages": MESSAGES}), "utf-8")
    return tmp_path


def test_a_session_and_a_batch_are_conversations_with_the_gold_they_carry(data: Path) -> None:
    [session] = episodes.locomo(data)
    assert (session.conversation.gold, session.wanted) == (("Ida: I keep bees.", "Ken owns 3 boats."), {"ken", "oslo", "2019"})
    assert session.wanted_others == {"oslo", "2019"}
    assert f"{session.conversation.began:%Y-%m-%d %H:%M}" == "2023-05-08 13:56"
    [batch] = episodes.beam(data)
    assert batch.conversation.gold == ("I prefer tea.", "I prefer trains.")
    assert episodes.as_text(batch.conversation).startswith("User: Hi.\nUser: I prefer tea.\nAssistant: x"), (
        "the mark of the gold is taken out"
    )
    assert [talk.conversation.name for talk in episodes.three(data)] == ["conv-1 session_1", "chat01 batch 1"]
    assert episodes.three(data)[1].conversation.gold == ("I prefer tea.",), "of a batch only the beginning"


async def test_without_a_mind_each_sentence_of_the_summary_counts_as_a_fact(data: Path) -> None:
    [figure] = await episodes.figured(ZeroEmbedder(), list(episodes.locomo(data)), [])
    assert (figure.by, figure.episodes, figure.facts, figure.unsupported, figure.junk) == ("without a mind", 1, 3, 0, 0)
    assert (figure.gold, figure.covered) == (2, 1)
    assert (figure.wanted, figure.present, figure.wanted_others, figure.present_others) == (3, 3, 2, 2)


def _writer(asked: Question[A]) -> dict[str, object]:
    """What it writes about SESSION; asked to leave things out, it cannot."""
    if "do not extract" in asked.prompt.system:
        raise NoAnswer("twice nothing", 5, 7)
    facts = [
        {"content": "Ida: I keep bees.", "quote": "I keep bees.", "confidence": 1},
        {"content": "Ken flies.", "quote": "I fly.", "confidence": 1},
    ]
    return {"title": "Bees", "summary": "Ken moved to Oslo.", "facts": facts}


class Scripted:
    """Writes what `_writer` says."""

    def __init__(self) -> None:
        self.questions = 0

    def model(self, task: Task) -> str:
        return "scripted"

    async def ask(self, question: Question[A]) -> Reply[A]:
        self.questions += 1
        return Reply(question.answer.model_validate(_writer(question)), 100, 10, 5)

    async def close(self) -> None: ...


async def test_what_a_mind_wrote_is_recorded_once_sealed_and_counted_from_the_record(data: Path, tmp_path: Path) -> None:
    talks, path, mind = list(episodes.locomo(data)), tmp_path / "recorded.jsonl", Scripted()
    for _ in range(2):
        await episodes.readings(talks, writing.Recorder(mind, path))
    assert mind.questions == 2, "each question once, the one without an answer too"
    assert not any(words in path.read_text("utf-8") for words in ("bees", "Ken", "Oslo"))
    assert await episodes._read_by_the_record(talks, {}) == (
        [],
        f"no mind's answers about conversations are recorded yet; record them with: {episodes.HOW_TO_RECORD}",
    )
    read, unread = await episodes._read_by_the_record(talks, writing.recorded(path))
    assert unread is None
    figures = {figure.by: figure for figure in (await episodes.figured(ZeroEmbedder(), talks, read))[2:]}
    positive, exclusion = (figures[f"recorded, {version}"] for version in (written.VERSION, excluding.VERSION))
    assert (positive.facts, positive.unsupported, positive.gold, positive.covered) == (2, 1, 2, 1)
    assert (positive.wanted, positive.present, positive.words, positive.tokens_in, positive.tokens_out) == (3, 2, 4, 100, 10)
    assert (exclusion.episodes, exclusion.unanswered, exclusion.facts, exclusion.words) == (1, 1, 0, None)


async def test_a_local_model_is_asked_through_the_real_client_and_not_shown_a_real_key(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fields = tmp_path / "recorded.jsonl", {"title": "Talk", "summary": "They talked.", "facts": []}
    async with ModelServer(lambda body: fields) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        assert await record._record_episodes(server.url, "a-model", data, path) == 0
        assert await record._record_episodes(server.url, "a-model", data, path) == 0
        assert not any(server.key in value for one in server.asked for value in one.headers.values())
        assert [one.body["model"] for one in server.asked] == ["a-model"] * 4, "two conversations by two criteria, once"
        assert not any(one.body.get("tools") for one in server.asked)
    assert {(given.why, given.tokens_out) for given in writing.recorded(path).values()} == {("", 10)}
    read, unread = await episodes._read_by_the_record(episodes.three(data), writing.recorded(path))
    assert (len(read), unread) == (4, None)


def test_what_is_recorded_about_conversations_holds_no_text() -> None:
    lines = writing.RECORDED.read_text("utf-8").splitlines() if writing.RECORDED.exists() else []
    for line in lines:
        row = json.loads(line)
        assert set(row) == {"question", "sealed", "why", "tokens_in", "tokens_out", "milliseconds"}
        assert re.fullmatch("[0-9a-f]{64}", row["question"])
        assert re.fullmatch("[0-9A-Za-z+/]+=*", row["sealed"] or "none")


async def test_a_second_run_over_the_same_conversations_asks_nothing(stack: Stack, database_url: str, redis: Redis, data: Path) -> None:
    store = Store(replace(stack, database_url=database_url), ZeroEmbedder())
    asked = await episodes.asked(store, "made up", [*episodes.locomo(data), *episodes.beam(data)])
    assert (asked.episodes, asked.questions, asked.second_questions, asked.second_tokens) == (2, 2, 0, 0)
    assert asked.tokens > 1_500


def test_the_tables_of_conversations_say_in_words_what_is_not_recorded(data: Path) -> None:
    figures = asyncio.run(episodes.figured(ZeroEmbedder(), list(episodes.locomo(data)), []))
    console = Console(width=140, record=True, file=io.StringIO())
    episodes.report(episodes.Episodes(figures, [], "nothing is recorded yet"), console, curves=True)
    assert "nothing is recorded yet" in console.export_text()


def test_conversations_are_written_as_the_trial_reads_them(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    assert episodes.main(["--data", str(data), "--to", str(file), "--all"]) == 0
    read = conversations([str(file)])
    assert [one.gold for one in read] == [("Ida: I keep bees.", "Ken owns 3 boats."), ("I prefer tea.", "I prefer trains.")]
    assert [one.speaker for one in read[0].said] == ["Ida", "Ken"]
    assert read[0].probes == (Probe("What does Ida keep?", ("Ida: I keep bees.",)),), "what was never said has no answer"
    assert [one.agent for one in read] == ["conv-1", "chat01 batch 1"]
