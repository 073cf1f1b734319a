"""Where an event stands when its stream is spread: the same for every producer, in every language."""

import pytest

from events import partitions


@pytest.mark.parametrize(
    ("agent", "of_four", "of_eight"),
    [("agent-1", 1, 1), ("agent-2", 3, 3), ("agent-7", 0, 4), ("Zoë", 2, 2), ("", 0, 0)],
)
def test_the_partition_of_an_agent_never_changes(agent: str, of_four: int, of_eight: int) -> None:
    assert (partitions.partition(agent, 4), partitions.partition(agent, 8)) == (of_four, of_eight)


def test_agents_are_spread_evenly() -> None:
    counts = [0] * 8
    for number in range(8_000):
        counts[partitions.partition(f"agent-{number}", 8)] += 1
    assert min(counts) > 900
    assert max(counts) < 1_100


def test_a_stream_that_is_not_spread_is_its_own_key() -> None:
    assert partitions.key("fact_learned", "agent-1", 0) == "fact_learned"
    assert partitions.keys("fact_learned", 0) == ["fact_learned"]


def test_every_key_of_a_stream_is_known_from_how_many_there_are() -> None:
    assert partitions.keys("fact_learned", 2) == ["fact_learned", "fact_learned:{0}", "fact_learned:{1}"]
    assert {partitions.key("fact_learned", f"agent-{number}", 2) for number in range(20)} == {"fact_learned:{0}", "fact_learned:{1}"}


@pytest.mark.parametrize("key", ["fact_learned", "fact_learned:{3}", "fact_learned:{12}"])
def test_an_entry_is_found_again_by_the_id_it_is_written_down_with(key: str) -> None:
    name = partitions.named(key, "1700000000000-5")
    assert partitions.placed("fact_learned", name) == (key, "1700000000000-5")
    assert partitions.stream_of(key) == "fact_learned"


def test_entries_of_two_keys_never_have_the_same_id() -> None:
    assert len({partitions.named(key, "1700000000000-0") for key in partitions.keys("fact_learned", 8)}) == 9
