"""The sample keeps what its README promises: every kind of line is there, and nothing is there by accident."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from events import FactLearned
from nous import ids, sample
from nous.guard import agree
from nous.text import is_blank, normalise

README = sample.path().with_name("README.md")
ROW = re.compile(r"^\| (?P<kind>[^|]+?) \| (?P<count>\d+) \| (?P<lines>[\d/, ]+) \|", re.MULTILINE)

DELIVERIES = list(sample.events())
BY_NUMBER = {str(event["event_id"]).removeprefix("sample-"): FactLearned.model_validate(event) for event in DELIVERIES}
PROMISED = {row["kind"]: [tuple(entry.split("/")) for entry in row["lines"].split(", ")] for row in ROW.finditer(README.read_text("utf-8"))}

KINDS = {
    "reworded, one text",
    "reworded, same words",
    "paraphrased",
    "updated",
    "near miss",
    "trivial",
    "blank",
    "there and back",
    "delivered twice",
    "sent again",
    "late",
    "user first, then assistant",
    "assistant first, then user",
    "many at once",
    "other scripts",
}
SCRIPTS = {"ARABIC", "CJK", "CYRILLIC", "DEVANAGARI", "GREEK", "HANGUL", "HIRAGANA", "KATAKANA", "THAI"}

Pair = tuple[FactLearned, FactLearned]


def pairs(*kinds: str) -> list[Pair]:
    return [(BY_NUMBER[old], BY_NUMBER[new]) for kind in kinds for old, new in PROMISED[kind]]


def singles(kind: str) -> list[FactLearned]:
    return [BY_NUMBER[number] for (number,) in PROMISED[kind]]


def wordings(some: Iterable[Pair]) -> list[tuple[str, str]]:
    return [(old.content, new.content) for old, new in some]


def scripts(text: str) -> set[str]:
    """The first words of the Unicode names of the letters and pictures in `text`, Latin aside."""
    telling = [character for character in text if character.isalpha() or unicodedata.category(character) == "So"]
    return {"emoji" if not character.isalpha() else unicodedata.name(character).split()[0] for character in telling} - {"LATIN"}


def test_every_line_says_who_learned_what_from_whom_and_when() -> None:
    needed = {"event_id", "fact_id", "agent_id", "content", "provenance", "confidence", "source", "occurred_at"}
    known = needed | {"subject", "attribute", "quote"}
    assert [event for event in DELIVERIES if not needed <= event.keys() <= known] == []
    assert {event["agent_id"] for event in DELIVERIES} == {"harbour-desk"}


def test_the_file_is_one_line_an_event_in_plain_utf_8() -> None:
    raw = sample.path().read_bytes()
    assert raw.endswith(b"}\n")
    assert raw.count(b"\n") == len(DELIVERIES)
    assert b"\r" not in raw
    assert b"\x00" not in raw


def test_events_are_numbered_in_order_of_first_arrival() -> None:
    first_arrivals = list(dict.fromkeys(str(event["event_id"]) for event in DELIVERIES))
    assert first_arrivals == [f"sample-{number:03}" for number in range(1, len(first_arrivals) + 1)]


def test_an_event_comes_twice_only_where_promised_and_then_unchanged() -> None:
    times = Counter(str(event["event_id"]) for event in DELIVERIES)
    twice = {event.event_id for event in singles("delivered twice")}
    assert {event_id: count for event_id, count in times.items() if count > 1} == dict.fromkeys(twice, 2)
    for event_id in twice:
        first, second = [event for event in DELIVERIES if event["event_id"] == event_id]
        assert first == second


def test_a_fact_id_is_derived_from_its_event_unless_the_fact_is_sent_again() -> None:
    again = {new.event_id: old for old, new in pairs("sent again")}
    for event in BY_NUMBER.values():
        original = again.get(event.event_id, event)
        assert event.fact_id == ids.derived("sample", original.event_id)
        assert event.content == original.content


def test_times_are_aware_and_span_two_weeks_of_waking_hours() -> None:
    stamps = [str(event["occurred_at"]) for event in DELIVERIES]
    moments = [datetime.fromisoformat(stamp) for stamp in stamps]
    assert all(moment.tzinfo is not None for moment in moments)
    assert min(moments) >= datetime(2026, 3, 1, 23, tzinfo=UTC)
    assert timedelta(days=12) < max(moments) - min(moments) < timedelta(days=14)
    assert all(7 <= moment.hour <= 21 for moment in moments)
    assert {stamp[-1] == "Z" for stamp in stamps} == {True, False}, "both UTC and an offset are shown"


def test_lines_are_in_order_of_time_except_the_late_ones() -> None:
    late, latest = [], datetime.min.replace(tzinfo=UTC)
    for event in BY_NUMBER.values():
        if event.occurred_at < latest:
            late.append(event.event_id)
        latest = max(latest, event.occurred_at)
    assert late == [event.event_id for event in singles("late")]


def test_the_readme_names_every_kind_and_counts_right() -> None:
    rows = {row["kind"]: int(row["count"]) for row in ROW.finditer(README.read_text("utf-8"))}
    assert rows.keys() == KINDS
    assert rows == {kind: len(lines) for kind, lines in PROMISED.items()}
    assert f"{len(DELIVERIES)} deliveries of {len(BY_NUMBER)} events" in " ".join(README.read_text("utf-8").split())


def test_the_first_seven_kinds_do_not_overlap() -> None:
    first_seven = ("reworded, one text", "reworded, same words", "paraphrased", "updated", "near miss", "trivial", "blank")
    pairs_listed = [entry for kind in first_seven for entry in PROMISED[kind]]
    assert len(pairs_listed) == len(set(pairs_listed))


def test_a_pair_names_the_older_claim_first() -> None:
    for kind, lines in PROMISED.items():
        if len(lines[0]) == 2:
            assert [(kind, old.event_id) for old, new in pairs(kind) if old.occurred_at >= new.occurred_at] == []


@pytest.mark.parametrize(("old", "new"), wordings(pairs("reworded, one text")))
def test_a_reworded_text_differs_only_in_form(old: str, new: str) -> None:
    assert old != new
    assert normalise(old) == normalise(new)


@pytest.mark.parametrize(("old", "new"), wordings(pairs("reworded, same words")))
def test_the_same_words_differ_in_punctuation_that_only_the_guard_looks_through(old: str, new: str) -> None:
    assert normalise(old) != normalise(new)
    assert agree(old, new).agrees


@pytest.mark.parametrize(("old", "new"), wordings(pairs("paraphrased", "updated", "near miss")))
def test_what_must_not_be_merged_unasked_is_refused_by_hash_and_guard(old: str, new: str) -> None:
    assert normalise(old) != normalise(new)
    assert not agree(old, new).agrees


def test_an_update_is_about_the_same_thing() -> None:
    assert [new.event_id for old, new in pairs("updated") if (old.subject, old.attribute) != (new.subject, new.attribute)] == []


def test_what_comes_back_was_replaced_in_between() -> None:
    for old, new in pairs("there and back"):
        between = [e for e in BY_NUMBER.values() if e.subject == old.subject and old.occurred_at < e.occurred_at < new.occurred_at]
        assert any(not agree(old.content, event.content).agrees for event in between)
    assert any(old.content == new.content for old, new in pairs("there and back")), "one comes back word for word"


def test_no_two_lines_say_the_same_unless_the_table_says_so() -> None:
    """Whatever hash or guard would merge is promised, so the README can say how many facts are left."""
    confirming = ("reworded, one text", "reworded, same words", "there and back", "sent again")
    promised = {frozenset((old.event_id, new.event_id)) for old, new in pairs(*confirming)}
    stated = [event for event in BY_NUMBER.values() if not is_blank(event.content)]
    same = {
        frozenset((old.event_id, new.event_id))
        for old, new in combinations(stated, 2)
        if normalise(old.content) == normalise(new.content) or agree(old.content, new.content).agrees
    }
    assert same <= promised
    assert (
        f"**{len(stated) - len(same)} facts stored, {len(same)} confirmations, {len(BY_NUMBER) - len(stated)} skipped**"
        in README.read_text("utf-8")
    )


def test_only_the_promised_lines_are_blank_and_one_is_empty() -> None:
    assert [event for event in BY_NUMBER.values() if is_blank(event.content)] == singles("blank")
    assert sorted(event.content == "" for event in singles("blank")) == [False, True]


def test_assistants_repeat_users_and_users_repeat_assistants() -> None:
    for old, new in pairs("user first, then assistant"):
        assert old.provenance == "user_stated"
        assert new.provenance in {"assistant_derived", "episode_summary"}
    for old, new in pairs("assistant first, then user"):
        assert (old.provenance, new.provenance) == ("assistant_derived", "user_stated")
    assert {event.provenance for event in BY_NUMBER.values()} == {"user_stated", "assistant_derived", "episode_summary"}


def test_many_values_of_one_attribute_stand_side_by_side() -> None:
    values = Counter((event.subject, event.attribute) for event in singles("many at once"))
    assert values == {("Tove", "pets"): 3, ("Tove", "languages spoken"): 2}


def test_every_other_script_is_there_and_listed() -> None:
    assert [event for event in BY_NUMBER.values() if scripts(event.content)] == singles("other scripts")
    assert SCRIPTS | {"emoji"} <= set().union(*(scripts(event.content) for event in singles("other scripts")))


def test_unicode_forms_survived_every_editor() -> None:
    contents = [event.content for event in BY_NUMBER.values()]
    decomposed = [text for text in contents if unicodedata.normalize("NFC", text) != text]
    assert len(decomposed) == 3, "a Latin, a Greek and a Korean line are decomposed on purpose"
    for mark in ("\u00a0", "\u0000", "２４", "१५", "10⁵"):
        assert any(mark in text for text in contents), f"{mark!r} is gone"
