"""Parts that were found are kept for an hour, and none of a memory that is another since."""

from datetime import timedelta

from nous import clock
from recall.kept import KEPT_FOR, Kept
from tests.factories import NOON


def key(memory: str = "1", version: str = "1", question: str = "where?") -> tuple[str, ...]:
    return ("a", "episode", memory, version, question)


def test_what_was_found_in_a_memory_before_something_of_it_was_forgotten_goes_with_the_next_part_of_it() -> None:
    kept = Kept()
    for one in (key(), key(question="when?"), key(memory="2")):
        kept.put(one, "behind the stove")
    kept.put(key(version="2"), "[forgotten]")
    assert [*kept._known] == [key(memory="2"), key(version="2")]


def test_what_is_older_than_an_hour_goes_with_the_next_part_of_any() -> None:
    kept = Kept()
    with clock.held(NOON):
        kept.put(key(), "behind the stove")
    with clock.held(NOON + KEPT_FOR - timedelta.resolution):
        kept.put(key(memory="2"), "under the mat")
        assert kept.get(key()) == "behind the stove"
    with clock.held(NOON + KEPT_FOR):
        kept.put(key(memory="3"), "at home")
    assert [*kept._known] == [key(memory="2"), key(memory="3")]
