"""Where words stand in a text, and what is left when they are taken out of it."""

import pytest

from store import spans

TAKEN_OUT = [
    ("I live in Oslo.", ["i live in oslo"], "[forgotten]."),
    ("I LIVE,\u00a0in\n Oslo!", ["I live in Oslo"], "[forgotten]!"),
    ("I live in O\u00adslo, you know", ["I live in Oslo"], "[forgotten], you know"),
    ("Cafe\u0301 at ten", ["café at"], "[forgotten] ten"),
    ("It is at 100, not at 10.", ["at 10"], "It is at 100, not [forgotten]."),
    ("我住在北京，很好", ["住在北京"], "我[forgotten]，很好"),
    ("in Maßen, in Massen", ["in Maßen"], "[forgotten], in Massen"),
    ("User: I live\nAssistant: in Oslo", ["I live in Oslo"], "User: [forgotten]"),
    ("Yes it is. Yes", ["Yes"], "Yes it is. Yes"),
    ("User: Yes.\nUser: yes it is", ["Yes"], "User: [forgotten].\nUser: yes it is"),
    ("one two three four", ["one two three", "two three four"], "[forgotten]"),
    ("nothing of the kind", ["", "...", "something"], "nothing of the kind"),
]


@pytest.mark.parametrize(("text", "wordings", "left"), TAKEN_OUT)
def test_words_are_found_as_people_read_them_and_taken_out_as_they_were_written(text: str, wordings: list[str], left: str) -> None:
    assert spans.redacted(text, wordings) == left
    assert spans.redacted(left, wordings) == left


def test_in_a_json_value_whatever_is_a_text_is_looked_into() -> None:
    value = {"a": ["say it twice", 1, None], "b": {"c": "say it twice, say it twice"}}
    assert spans.redacted_in(value, ["say it twice"]) == {"a": ["[forgotten]", 1, None], "b": {"c": "[forgotten], [forgotten]"}}


def test_stretches_overlap_when_they_share_a_character() -> None:
    assert spans.overlap([(0, 4)], [(3, 9)])
    assert not spans.overlap([(0, 4)], [(4, 9)])
