"""What an operator sees in Postgres, by plain SQL and not through the code that is under test; each look over a connection of its own."""

from typing import Any

import asyncpg


class Eyes:
    """Looks at every agent's memory and changes nothing."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def rows(self, query: str, *values: object) -> list[Any]:
        """What a query finds."""
        connection = await asyncpg.connect(self._url, timeout=10, server_settings={"application_name": "chaos"})
        try:
            await connection.execute("SET ROLE nous_operator")
            return list(await connection.fetch(query, *values))
        finally:
            await connection.close()

    async def value(self, query: str, *values: object) -> Any:
        """The one value it finds."""
        return (await self.rows(query, *values))[0][0]
