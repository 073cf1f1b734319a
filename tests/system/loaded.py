"""What the fork server has loaded before it forks replicas, so that a replica starts in milliseconds and not in seconds."""

import ssl

import pgvector.asyncpg  # noqa: F401

import providers.claude  # noqa: F401
import tests.system.replica  # noqa: F401
import workers
from store import database

workers.table()
database.engine("postgresql://nobody@127.0.0.1/none", pool=1)
_certificates = ssl.create_default_context()
ssl.create_default_context = lambda *_, **__: _certificates  # type: ignore[assignment]
