"""Everybody a table names: found by hopping along its index from one agent to the next, however many rows each has."""


def in_(table: str) -> str:
    """A query of the agents that have a row, in order; the table has an index that begins with `agent_id`."""
    return (
        f"WITH RECURSIVE one(agent_id) AS (SELECT min(agent_id) FROM {table} UNION ALL SELECT"
        f" (SELECT min(t.agent_id) FROM {table} t WHERE t.agent_id > one.agent_id) FROM one WHERE one.agent_id IS NOT NULL)"
        " SELECT agent_id FROM one WHERE agent_id IS NOT NULL ORDER BY 1"
    )
