"""Where an event stands when its stream is spread over partitions, so that several Redis servers share it; whoever publishes can know.

    fact_learned                        always read: a plain XADD is right, with partitions and without
    fact_learned:{0} … fact_learned:{7}   with 8 partitions, by the CRC-32 of the agent's id modulo 8

    entry 1700000000000-0 of fact_learned:{3} ──▶ written down as 1700000000000-0@3: an entry id is unique in its key alone

What stands in braces decides which server of a cluster has a key, so all streams of a partition, and what is parked of them, share one.
"""

import zlib

_TAG = ":{"
_AT = "@"


def partition(agent_id: str, partitions: int) -> int:
    """The partition of an agent, of so many: CRC-32 (IEEE, as in zlib) of the id in UTF-8, modulo their number."""
    return zlib.crc32(agent_id.encode("utf-8", "surrogatepass")) % partitions


def key(stream: str, agent_id: str, partitions: int) -> str:
    """The Redis key that an event of an agent is added to; the stream itself when it is not spread."""
    return _spread(stream, partition(agent_id, partitions)) if partitions else stream


def keys(stream: str, partitions: int) -> list[str]:
    """Every key of a stream that is spread over so many: the plain one first."""
    return [stream, *(_spread(stream, number) for number in range(partitions))]


def stream_of(key: str) -> str:
    """The stream that a key is part of."""
    return key.partition(_TAG)[0]


def named(key: str, entry_id: str) -> str:
    """An entry's id as it is written down: unique in its stream, over all of its keys."""
    _, _, tag = key.partition(_TAG)
    return f"{entry_id}{_AT}{tag.partition('}')[0]}" if tag else entry_id


def placed(stream: str, name: str) -> tuple[str, str]:
    """The key and the id there of an entry, from its id as it is written down."""
    entry_id, _, number = name.partition(_AT)
    return _spread(stream, int(number)) if number else stream, entry_id


def _spread(stream: str, number: int) -> str:
    return f"{stream}{_TAG}{number}}}"
