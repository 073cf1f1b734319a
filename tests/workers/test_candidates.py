"""Subjects that are spelled alike are found for all of a page at once, as if each had been looked for alone."""

import random

from rapidfuzz import fuzz

from workers.standing import candidates


def test_each_name_has_those_that_are_spelled_like_it_whoever_else_is_looked_for() -> None:
    drawn = random.Random(5)
    names = sorted({"".join(drawn.choice("abe ") for _ in range(drawn.randint(2, 9))) for _ in range(400)})
    wanted = [*names[:100], "nobody at all", "ab"]
    found = candidates.similar(wanted, names, cutoff=0.8)
    assert found == {one: [name for name in names if fuzz.ratio(one, name) >= 80] for one in wanted}
    assert found["nobody at all"] == []
    assert sum(map(len, found.values())) > 3 * len(wanted), "or this shows nothing"


def test_where_nobody_is_known_nobody_is_alike() -> None:
    assert candidates.similar(["ann"], []) == {"ann": []}
    assert candidates.similar([], ["ann"]) == {}
