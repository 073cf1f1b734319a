"""Who said what and when, from turns and from texts; in parts, without losing a character; and which words a fact rests on."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nous.fence import recalled
from providers.mind import Utterance
from tests.factories import a_session, a_turn
from workers.episodes import extract, transcript
from workers.episodes.question import CHARACTERS_FOR_ONE_MORE_FACT, SHORT_CHARACTERS, Extracted, most_facts
from workers.episodes.sources import Said, sourced
from workers.episodes.transcript import of_text, of_turns, parts, voucher

TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def speakers(text: str) -> list[tuple[str | None, str]]:
    return [(one.speaker, one.content) for one in of_text(text)]


# ── who speaks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("speaker", "vouches"),
    [
        ("user", "user_stated"),
        ("Human", "user_stated"),
        ("customer", "user_stated"),
        ("Caroline", "user_stated"),
        ("用户", "user_stated"),
        ("Assistant", "assistant_derived"),
        ("AI", "assistant_derived"),
        ("bot", "assistant_derived"),
        ("agent-7", "assistant_derived"),
        ("model", "assistant_derived"),
        ("AI assistant", "assistant_derived"),
        ("Assistant response", "assistant_derived"),
        ("🤖 Assistant (beta)", "assistant_derived"),
        ("Ai Weiwei", "user_stated"),
        ("Agent Smith", "user_stated"),
        ("System Administrator", "user_stated"),
        ("tool", None),
        ("Function call", None),
        ("Tool Result (2)", None),
        ("system prompt", None),
        ("Observation 3", None),
        ("tool_result", None),
        ("Tool (bash)", None),
        ("system", None),
        (None, "episode_summary"),
        ("", "episode_summary"),
    ],
)
def test_a_user_and_a_named_person_state_an_assistant_derives_and_a_tool_vouches_for_nothing(
    speaker: str | None, vouches: str | None
) -> None:
    assert voucher(speaker) == vouches


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("User: hi\nAssistant: hello", [("User", "hi"), ("Assistant", "hello")]),
        ("User: a list:\n- one\n\nAssistant: yes", [("User", "a list:\n- one"), ("Assistant", "yes")]),
        (
            "Caroline: hi\nMelanie: hey\nCaroline: so\nMelanie: yes",
            [(n, w) for n, w in zip(["Caroline", "Melanie"] * 2, ["hi", "hey", "so", "yes"], strict=True)],
        ),
        ("用户：我住在东京\n助手：好的", [("用户", "我住在东京"), ("助手", "好的")]),
        ("**User:** hi\n**Assistant:** hello", [("User", "hi"), ("Assistant", "hello")]),
        ("Tool (bash): 3 files\nAssistant: three", [("Tool (bash)", "3 files"), ("Assistant", "three")]),
        ("Function call: ls\nTool Result: 3 files\nUser: hi", [("Function call", "ls"), ("Tool Result", "3 files"), ("User", "hi")]),
        ("Ai Weiwei: hi\nAgent Smith: hello\nAgent Smith: so", [("Ai Weiwei", "hi"), ("Agent Smith", "hello"), ("Agent Smith", "so")]),
        ("System Administrator: hi\nthere", [("System Administrator", "hi\nthere")]),
        ("**Caroline** (2026-03-01T10:00Z) : hi", [("Caroline", "hi")]),
        ("Utilisateur\u00a0: bonjour", [("Utilisateur\u00a0", "bonjour")]),
        ("before\nUser: hi", [(None, "before"), ("User", "hi")]),
        ("Just words, no speaker: none.", [(None, "Just words, no speaker: none.")]),
        ("", []),
        ("  \n\t ", []),
    ],
)
def test_a_line_that_begins_with_a_speaker_is_a_turn_and_a_text_without_one_is_one_turn(
    text: str, found: list[tuple[str | None, str]]
) -> None:
    assert speakers(text) == found


def test_a_label_that_is_no_speaker_of_this_text_stays_in_what_was_said() -> None:
    own = "My car.\nModel: X200\nCustomer: ACME\nNote: red\nSystem requirements: none\nsee https://x.example: there"
    text = f"User: {own}\nAssistant: I see."
    assert speakers(text) == [
        ("User", own),
        ("Assistant", "I see."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "[2026-03-01T10:00:00Z] Caroline: hi",
        "2026-03-01 10:00 Caroline: hi",
        "[2026-03-01T12:00+02:00] - Caroline: hi",
        "Caroline (2026-03-01T10:00Z): hi",
    ],
)
def test_a_turn_has_the_time_its_line_states(line: str) -> None:
    assert of_text(line) == (Utterance(content="hi", speaker="Caroline", said_at=TEN),)


@pytest.mark.parametrize("time", ["2026-02-30T10:00Z", "0001-01-01T00:00+09:00", "2026-03-01T25:00"])
def test_a_time_that_no_calendar_has_is_no_time(time: str) -> None:
    assert of_text(f"[{time}] User: hi") == (Utterance(content="hi", speaker="User"),)


def test_what_was_recalled_into_a_conversation_is_not_part_of_it() -> None:
    fenced = recalled(["- User: likes tea", "</recalled_memory> really"])
    assert speakers(f"User: hi\n{fenced}\nmore\nAssistant: {fenced}yes") == [("User", "hi\n\nmore"), ("Assistant", "yes")]
    session = a_session()
    assert of_turns([a_turn(session, content=f"{fenced} hi"), a_turn(session, content=fenced)]) == (
        Utterance(content="hi", speaker="user", said_at=TEN.replace(hour=12)),
    )


def test_a_fence_that_is_only_opened_hides_the_rest_of_its_own_turn_and_no_other() -> None:
    text = f"User: what is <recalled_memory>?\nAssistant: a tag\nUser: {recalled(['- tea'])}my desk is 12"
    assert speakers(text) == [("User", "what is"), ("Assistant", "a tag"), ("User", "my desk is 12")]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (
            "User: what is <recalled_memory>?\nAssistant: it ends with </recalled_memory>. You live in Rome.",
            [("User", "what is"), ("Assistant", "it ends with </recalled_memory>. You live in Rome.")],
        ),
        (
            "Tool: <recalled_memory>\n3 rows\nUser: I live in Oslo.\nTool: 2 rows\n</recalled_memory>\ndone\nUser: bye",
            [("User", "I live in Oslo."), ("Tool", "2 rows\n</recalled_memory>\ndone"), ("User", "bye")],
        ),
        ("User: it is </recalled_memory>, I think\nAssistant: yes", [("User", "it is </recalled_memory>, I think"), ("Assistant", "yes")]),
    ],
    ids=["mentioned by both", "printed by a tool", "a closing tag alone"],
)
def test_a_tag_hides_nobody_else_s_words_and_gives_them_to_nobody_else(text: str, turns: list[tuple[str | None, str]]) -> None:
    assert speakers(text) == turns


@pytest.mark.parametrize(
    "inside", ["User: I live in Rome.", "- tea\nAssistant: noted", "**[2026-03-01T10:00Z] Caroline:** hi", "用户：你好"]
)
def test_a_line_that_was_recalled_is_nobody_s_turn(inside: str) -> None:
    assert speakers(f"User: hi\n{recalled([inside, inside])}\nmore\nAssistant: yes") == [("User", "hi\n\nmore"), ("Assistant", "yes")]
    assert speakers(f"Caroline: hi\n{recalled([inside, inside])}\nCaroline: more") == [("Caroline", "hi"), ("Caroline", "more")]


MEBI = 2**20


@pytest.mark.parametrize(
    "run",
    ["*", ".", "!", "…", " ", "<", '"', "\t", "**", "。", ":", "< "],
    ids=["stars", "stops", "marks", "dots", "spaces", "tags", "quotes", "tabs", "pairs", "chinese", "colons", "open tags"],
)
@pytest.mark.parametrize(
    ("before", "behind"), [("", "a"), ("<", "a"), ("A", "a"), ("User:", "a"), ("a.", "a"), ("[2026-03-01T10:00Z]", "a")]
)
def test_a_mebibyte_of_one_sign_is_read_and_cut_without_loss(before: str, run: str, behind: str) -> None:
    text = f"{before}{run * (MEBI // len(run))}{behind}"
    said = of_text(text)
    own = text.removeprefix("User:") if before == "User:" else text
    if before == "User:" and run in ("*", "**"):
        own = behind
    assert "".join(piece.content for part in parts(said, 40_000) for piece in part) == own.strip()


# ── in parts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.text(alphabet="ab. \n。x", max_size=300), max_size=8), st.integers(min_value=100, max_value=400))
def test_parts_lose_no_character_and_are_no_longer_than_they_may_be(contents: list[str], at_most: int) -> None:
    said = [Utterance(content=content, speaker=str(number)) for number, content in enumerate(contents)]
    cut = parts(said, at_most)
    pieces = [piece for part in cut for piece in part]
    for one in said:
        assert "".join(piece.content for piece in pieces if piece.speaker == one.speaker) == one.content
    assert all(sum(len(piece.content) for piece in part) <= at_most for part in cut)


def test_parts_are_cut_between_turns_and_a_long_turn_behind_a_sentence() -> None:
    said = [Utterance(content="a" * 500), Utterance(content="b" * 500), Utterance(content=f"{'c' * 700}. {'d' * 900}")]
    assert [[piece.content[:1] + piece.content[-2:] for piece in part] for part in parts(said, 1_000)] == [
        ["aaa"],
        ["bbb"],
        ["c. "],
        ["ddd"],
    ]


def test_one_line_of_two_hundred_thousand_characters_is_cut_into_parts() -> None:
    line = "x" * 199_990 + " port 5432"
    cut = parts(of_text(line), 40_000)
    assert len(cut) == 5
    assert "".join(piece.content for part in cut for piece in part) == line


def test_a_short_episode_yields_five_facts_and_a_longer_one_more() -> None:
    def most(characters: int) -> int:
        return most_facts([Utterance(content="x" * characters)])

    assert (most(0), most(SHORT_CHARACTERS), most(SHORT_CHARACTERS + CHARACTERS_FOR_ONE_MORE_FACT)) == (5, 5, 6)
    assert most(40_000) == 23


# ── what a fact rests on ──────────────────────────────────────────────────────────────────────────────────────────────────

TALK = of_text(
    "[2026-03-01T10:00Z] User: I  live in\nOSLO, at “Number 100”.\n"
    "[2026-03-01T10:05Z] Assistant: You live in Oslo; the flight is at 9:40.\n"
    "Tool: the admin password is hunter2\n"
    "User: 我住在东京。\n"
    "User: And then\n"
    "User: I moved to Bergen."
)


@pytest.mark.parametrize(
    ("quote", "vouches"),
    [
        ("I live in Oslo", "user_stated"),
        ("live in oslo", "user_stated"),  # both said it
        ('at "Number 100"', "user_stated"),
        ("the flight is at 9:40.", "assistant_derived"),
        ("我住在东京", "user_stated"),
        ("and then I moved to Bergen", "episode_summary"),
        ("I live in Rome", None),
        ("the admin password is hunter2", None),
        ("number 10", None),
        ("live in Os", None),
        ("I", None),
        ("", None),
        ("…", None),
    ],
)
def test_a_quote_counts_if_somebody_whose_words_count_said_it_in_whole_words(quote: str, vouches: str | None) -> None:
    source = Said(TALK).source(quote)
    assert (source.provenance if source else None) == vouches


def test_a_quote_has_the_time_of_its_turn() -> None:
    source = Said(TALK).source("the flight is at 9:40")
    assert source is not None
    assert source.said_at == TEN.replace(minute=5)


def test_a_fact_is_dropped_and_counted_when_nobody_said_it_when_it_is_empty_too_long_or_one_too_many() -> None:
    def fact(content: str, quote: str = "I live in Oslo") -> Extracted:
        return Extracted(content=content, quote=quote, confidence=1)

    given = [fact("1"), fact("2", "I live in Rome"), fact("\x00 "), fact("x" * 8_001), fact("1."), fact("3"), fact("4")]
    kept, dropped = sourced(given, Said(TALK), most=2)
    assert [one.fact.content for one in kept] == ["1", "3"]
    assert dropped == {"quote not said": 1, "empty": 1, "too long": 1, "over the limit": 1}


# ── without a mind ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_mind_the_user_s_first_sentence_is_the_title_and_both_ends_and_names_are_the_summary() -> None:
    filler = "\n".join(f"Assistant: well, that is {word} to hear." for word in ("good", "nice", "fine") for _ in range(40))
    ends = (
        "Assistant: Hello.\nUser: I moved to Oslo. It rains.",
        "Assistant: then Anna paid 40 euros.\nTool: 77 rows\nUser: See you on May 3.",
    )
    text = f"{ends[0]}\n{filler}\n{ends[1]}"
    title, summary = extract.extracted(of_text(text))
    assert title == "I moved to Oslo."
    assert summary.startswith("Assistant: Hello. User: I moved to Oslo.")
    assert summary.endswith("then Anna paid 40 euros. User: See you on May 3.")
    assert "77" not in summary
    assert len(summary.split()) <= extract.SUMMARY_WORDS * 1.2


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("用户：我叫王芳，住在上海。我喜欢喝茶。", "我叫王芳，住在上海。"),
        ("x" * 200_000, "x" * (extract.TITLE_CHARACTERS - 1) + "…"),
        ("🙂🙂", "🙂🙂"),
        ("المستخدم يسكن في أوسلو. وهو طبيب.", "المستخدم يسكن في أوسلو."),
    ],
)
def test_without_a_mind_any_script_gets_a_title_and_a_bounded_summary(text: str, begins: str) -> None:
    title, summary = extract.extracted(transcript.of_text(text))
    assert title == begins
    assert 0 < len(summary) < 1_500


def test_without_a_mind_a_summary_of_words_without_end_is_bounded() -> None:
    lines = "\n".join(f"{number}{'x' * 500}" for number in range(200))
    title, summary = extract.extracted(of_text(lines))
    assert len(title) <= extract.TITLE_CHARACTERS
    assert len(summary) <= extract.SUMMARY_CHARACTERS
