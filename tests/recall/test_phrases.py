"""A phrase in a script without spaces is found anywhere, whatever block of Unicode its letters are in."""

import pytest

from recall.significance import asks_to_remember


@pytest.mark.parametrize(
    ("phrase", "said", "asks"),
    [
        ("記住𠮷", "請記住𠮷野家", True),
        ("別忘々", "別忘々了", True),
        ("nhớ kỹ", "hãy nhớ kỹ nhé", True),
        ("nhớ k", "hãy nhớ kỹ nhé", False),
    ],
)
def test_a_phrase_is_found_as_its_script_writes_words(phrase: str, said: str, asks: bool) -> None:
    assert asks_to_remember(said, phrases=[phrase]) is asks
