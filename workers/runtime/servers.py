"""Which servers a Redis client talks to: one, or those of a cluster; and over how many partitions it spreads what it writes.

    redis://host:6379                          one server
    redis+cluster://host:6379,another:6379     a cluster, found through whichever of these answers (rediss+cluster: with TLS)

The client of a cluster follows its keys when they move, so everything else treats both alike.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff

CLUSTER = "+cluster"
CONNECTIONS_AT_MOST = 1_000  # to each server of a cluster: one waits for each key that is read
DEFAULT_PORT = 6379


class Server(Redis):
    """A client of one server."""

    partitions = 0
    is_told = False


class Cluster(RedisCluster):
    """A client of a cluster."""

    partitions = 0
    is_told = False


def connect(url: str, *, partitions: int = 0) -> Redis:
    """A client that rides out a restart or a failover, and writes to so many partitions of each stream. Raises ValueError for no URL."""
    client: Any = _cluster(url) if is_cluster_url(url) else Server.from_url(url, **options())
    client.partitions = partitions
    return cast("Redis", client)


def options() -> dict[str, Any]:
    """Retries for FastStream's client and ours: a read-only or loading server is waited for, not hammered."""
    return {
        "retry": Retry(ExponentialWithJitterBackoff(base=0.05, cap=1), 5),
        "retry_on_error": [
            exceptions.ConnectionError,
            exceptions.TimeoutError,
            exceptions.ReadOnlyError,
            exceptions.BusyLoadingError,
        ],
        "socket_connect_timeout": 5,
        "health_check_interval": 30,
    }


def is_cluster_url(url: str) -> bool:
    """Whether a URL names a cluster."""
    return urlsplit(url).scheme.endswith(CLUSTER)


def first_and_others(url: str) -> tuple[str, list[tuple[str, int]]]:
    """The URL of the first server that the URL of a cluster names, as redis:// or rediss://, and where the others are."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    login, at, hosts = place.rpartition("@")
    first, *others = hosts.split(",")
    return f"{scheme.removesuffix(CLUSTER)}://{login}{at}{first}{slash}{path}", [_host_and_port(one) for one in others if one]


def check(url: str) -> None:
    """Raises ValueError, or what redis-py raises, when this is no URL of a server or a cluster. Connects to nothing."""
    if is_cluster_url(url):
        _cluster(url)
    else:
        Redis.from_url(url).connection_pool.make_connection()  # type: ignore[no-untyped-call]  # and opens none


def partitions(redis: Redis) -> int:
    """Over how many partitions this client spreads each stream it writes to; 0 for none."""
    return int(getattr(redis, "partitions", 0))


async def once(redis: Redis, tell: Callable[[Redis], Awaitable[None]]) -> None:
    """Do this the first time it is asked of a client that writes to partitions."""
    if partitions(redis) and not redis.is_told:  # type: ignore[attr-defined]  # it is one of ours
        await tell(redis)
        redis.is_told = True  # type: ignore[attr-defined]


def is_cluster(redis: Redis) -> bool:
    """Whether the keys are on several servers."""
    return isinstance(redis, RedisCluster)


def by_slot(redis: Redis, keys: Sequence[str]) -> list[list[str]]:
    """These keys of a cluster, in runs that one command may name."""
    runs: dict[int, list[str]] = {}
    for key in keys:
        runs.setdefault(cast("Any", redis).keyslot(key), []).append(key)
    return list(runs.values())


@asynccontextmanager
async def each(redis: Redis) -> AsyncIterator[list[Redis]]:
    """A client of each server by itself, replicas too, for the block: for what is a server's business and no key's."""
    if not is_cluster(redis):
        yield [redis]
        return
    cluster = cast("Any", redis)
    await cluster.initialize()
    login = {name: cluster.connection_kwargs.get(name) for name in ("username", "password")}
    clients = [Redis(host=node.host, port=node.port, **login, **options()) for node in cluster.get_nodes()]
    try:
        yield clients
    finally:
        for one in clients:
            await one.aclose()


def _cluster(url: str) -> Cluster:
    first, others = first_and_others(url)
    read: dict[str, Any] = dict(parse_url(first))
    if read.pop("connection_class", None) is SSLConnection:
        read["ssl"] = True
    read.setdefault("port", DEFAULT_PORT)
    nodes = [ClusterNode(host, port) for host, port in others]
    return Cluster(**read, startup_nodes=nodes, max_connections=CONNECTIONS_AT_MOST, **options())


def _host_and_port(place: str) -> tuple[str, int]:
    read = urlsplit(f"//{place}")
    return read.hostname or "", read.port or DEFAULT_PORT
