"""Trials, the arithmetic: intervals and chance of paired measures, places of probes, and what the verdict goes by."""

from collections.abc import Mapping

import pytest

from nous.trialling import paired, verdict
from nous.trialling.paired import LEAST, Measure, Unit
from nous.trialling.probing import Placed, places
from nous.trialling.verdict import GATES, Stands, Word


def units(differences: list[int]) -> list[Unit]:
    """One conversation each, of one probe: better by b, worse, or alike."""
    return [Unit(a=float(one < 0), b=float(one > 0)) for one in differences]


def test_a_share_is_one_of_all_conversations_together() -> None:
    made = paired.share("junk", [Unit(1, 0, 2, 2), Unit(0, 0, 8, 0)], "less")
    assert (made.shares, made.difference, made.gain) == ((0.1, 0), -0.1, 0.1)
    assert (made.higher, made.lower) == (0, 1)


def test_the_interval_is_that_of_the_difference_and_the_same_every_time() -> None:
    made = paired.share("p@1", units([1] * 6 + [0] * 4 + [-1] * 2), "more")
    assert made.difference == pytest.approx(1 / 3)
    assert made.low < 0 < made.difference < made.high
    assert made == paired.share("p@1", units([1] * 6 + [0] * 4 + [-1] * 2), "more")
    sure = paired.share("p@1", units([1] * 60 + [0] * 40 + [-1] * 20), "more")
    assert 0 < sure.low < 1 / 3 < sure.high < made.high, "more conversations, a narrower interval"


@pytest.mark.parametrize(
    ("higher", "lower", "chance"), [(0, 0, 1), (3, 3, 1), (5, 0, 2 / 32), (6, 0, 2 / 64), (0, 6, 2 / 64), (5, 1, 14 / 64)]
)
def test_chance_is_the_exact_sign_test(higher: int, lower: int, chance: float) -> None:
    assert paired.chance_of(higher, lower) == chance


def test_many_conversations_are_no_trouble_to_chance() -> None:
    assert paired.chance_of(3_000, 2_000) < 1e-9


@pytest.mark.parametrize("differing", [LEAST - 1, LEAST])
def test_five_conversations_that_all_go_one_way_may_be_chance_and_six_are_not(differing: int) -> None:
    made = paired.share("p@1", units([1] * differing), "more")
    assert made.low == made.high == 1
    assert made.is_told_apart == (differing == LEAST)


@pytest.mark.parametrize(
    ("said", "answers", "placed"),
    [
        ([], 1, Placed(0, 0, 0)),
        ([{0}], 1, Placed(1, 1, 1)),
        ([set(), {0}], 1, Placed(0, 1, 1 / 2)),
        ([set(), set(), set(), {0}], 1, Placed(0, 0, 1 / 4)),
        ([{0}, {0}, {1}], 2, Placed(1, 1, 1)),
        ([{0}, {0}, {0}], 2, Placed(1, 1 / 2, 1)),  # what is said again answers nothing more
        ([{0}, {1}, {2}], 5, Placed(1, 1, 1)),  # three places have room for three
        ([{0, 1, 2, 3}], 4, Placed(1, 1, 1)),
    ],
)
def test_the_places_of_a_probe(said: list[set[int]], answers: int, placed: Placed) -> None:
    assert places([frozenset(one) for one in said], answers) == placed


MANY = 30
BETTER, WORSE, ALIKE, PERHAPS_WORSE = [1] * MANY, [-1] * MANY, [0] * MANY, [-1, *[0] * (MANY - 1)]


def measured(**otherwise: list[int]) -> list[Measure]:
    """What would be shipped, but for these; `no` conversations where the list is empty."""
    found = {"p@3": BETTER, "MRR": BETTER, **dict.fromkeys(("p@1", "gold covered", "junk", "answered"), ALIKE), **otherwise}
    made = []
    for name, differences in found.items():
        turned = [-one for one in differences] if name == "junk" else differences
        made.append(paired.share(name, units(turned), "less" if name == "junk" else "more"))
    return made


@pytest.mark.parametrize(
    ("otherwise", "word", "stands"),
    [
        ({}, "ship", {}),
        ({"MRR": ALIKE}, "not enough to tell", {"MRR": "open"}),
        ({"MRR": WORSE}, "do not ship", {"MRR": "broken"}),
        ({"p@3": PERHAPS_WORSE}, "not enough to tell", {"p@3": "open"}),
        ({"p@1": PERHAPS_WORSE}, "not enough to tell", {"p@1": "open"}),
        ({"p@1": WORSE}, "do not ship", {"p@1": "broken"}),
        ({"gold covered": WORSE}, "do not ship", {"gold covered": "broken"}),
        ({"junk": WORSE}, "do not ship", {"junk": "broken"}),
        ({"junk": BETTER}, "ship", {}),
        ({"answered": PERHAPS_WORSE}, "not enough to tell", {"answered": "open"}),
        ({"gold covered": BETTER[:5]}, "not enough to tell", {"gold covered": "open"}),
        ({"gold covered": []}, "not enough to tell", {"gold covered": "open"}),
        ({"gold covered": [], "p@1": WORSE}, "do not ship", {"gold covered": "open", "p@1": "broken"}),
    ],
)
def test_the_verdict_goes_by_every_gate(otherwise: dict[str, list[int]], word: Word, stands: Mapping[str, Stands]) -> None:
    judged = verdict.judged(measured(**otherwise))
    assert judged.word == word
    assert {one.measure: one.stands for one in judged.gates} == {name: stands.get(name, "met") for name in GATES}


def test_what_was_not_measured_is_no_reason_to_ship() -> None:
    judged = verdict.judged([])
    assert judged.word == "not enough to tell"
    assert judged.gates[0].why == "no transcript has probes, and 6 are the least"
