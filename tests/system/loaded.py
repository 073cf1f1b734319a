"""What the fork server has loaded before it forks replicas, so that a replica starts in milliseconds and not in seconds."""

import importlib
import ssl

import pgvector.asyncpg  # noqa: F401

import providers.claude  # noqa: F401
import tests.system.replica  # noqa: F401
import workers
from store import database

LOADED_WHEN_USED = ("anyio._backends._asyncio", "httpcore2", "truststore")
"""What FastStream and the anthropic client import as they begin to work, which takes longer than all the rest of a start."""

for name in LOADED_WHEN_USED:
    importlib.import_module(name)
workers.table()
database.engine("postgresql://nobody@127.0.0.1/none", pool=1)
_certificates = ssl.create_default_context()
ssl.create_default_context = lambda *_, **__: _certificates  # type: ignore[assignment]
