"""What was just said is not told again, and what only resembles it is."""

from collections.abc import Sequence

import numpy as np
import pytest

from recall.repeated import Said, statements

THRESHOLD = 0.8


def said(*texts: str) -> Said:
    """Without an embedder."""
    return Said(statements(texts, window=5), None, THRESHOLD)


def test_what_was_asked_is_no_statement_and_a_memory_that_resembles_it_is_told() -> None:
    assert statements(["Where does Maria live?", "And where does she work?"], window=5) == []
    assert said("Does Maria take her coffee black?").already("Maria takes her coffee black", None) is None


def test_only_the_last_turns_count() -> None:
    said = [f"This is sentence {number}." for number in range(8)]
    assert statements(said, window=3) == said[2:]  # three turns of a user and an assistant
    assert statements(said, window=0) == []


def test_a_long_turn_is_looked_at_sentence_by_sentence_and_as_a_whole() -> None:
    assert statements(["Maria lives in Oslo. She has a cat. Does she?"], window=1) == [
        "Maria lives in Oslo.",
        "She has a cat.",
        "Maria lives in Oslo. She has a cat.",
    ]


def test_what_was_recalled_into_a_turn_was_not_said_in_it() -> None:
    assert statements(["<recalled_memory>\n| Maria lives in Oslo.\n</recalled_memory>\nI see."], window=1) == ["I see."]


@pytest.mark.parametrize(
    ("turn", "memory"),
    [
        ("Maria takes her coffee black.", "Maria takes her coffee black"),
        ("By the way, Maria takes her coffee black, always.", "Maria takes her coffee black"),
        ("玛丽喝黑咖啡。", "玛丽喝黑咖啡"),
        ("Maria trinkt ihren Kaffee schwarz.", "Maria trinkt Kaffee schwarz"),
    ],
)
def test_without_an_embedder_the_same_words_are_a_repetition(turn: str, memory: str) -> None:
    repeat = said(turn).already(memory, None)
    assert repeat is not None
    assert repeat.measure == "overlap"
    assert repeat.nearness > 0.5


@pytest.mark.parametrize(
    ("turn", "memory"),
    [
        ("The server listens on port 5433.", "The server listens on port 5432"),
        ("Maria does not take her coffee black.", "Maria takes her coffee black"),
        ("The meeting is on October 16th.", "The meeting is on October 15th"),
        ("The dose is 10 ml.", "The dose is 10 mg"),
        ("Bob manages Alice.", "Alice manages Bob"),
        ("Maria lives in Bergen now.", "Maria lives in Oslo now"),
        ("I bought a boat.", "Maria takes her coffee black"),
    ],
)
@pytest.mark.parametrize("cosine", [None, 0.99])
def test_another_number_date_unit_role_name_or_a_not_is_no_repetition(turn: str, memory: str, cosine: float | None) -> None:
    if cosine is None or turn == "I bought a boat.":
        assert said(turn).already(memory, None) is None
    else:
        of_turn, of_memory = near(cosine)
        assert Said([turn], [of_turn], THRESHOLD).already(memory, of_memory) is None


def test_with_an_embedder_its_own_threshold_decides() -> None:
    for cosine, is_repeated in ((0.79, False), (0.81, True)):
        of_turn, of_memory = near(cosine)
        repeat = Said(["She drinks it very dark."], [of_turn], THRESHOLD).already("Maria takes her coffee black", of_memory)
        assert (repeat is not None) == is_repeated


def test_a_turn_that_differs_does_not_hide_one_that_says_it() -> None:
    far, vector = near(0.95)
    turns = ["The server listens on port 5433.", "The server listens on port 5432."]
    assert Said(turns, [far, far], THRESHOLD).already("The server listens on port 5432", vector) is not None


def near(cosine: float) -> Sequence[np.ndarray]:
    """Two directions at this cosine."""
    return np.array([1, 0], np.float32), np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)
