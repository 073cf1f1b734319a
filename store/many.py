"""Many rows in one statement: they travel as one JSON text, and Postgres reads each value as its column's type.

Row by row, Postgres starts the statement and reads the admitted agents anew for every row, and the driver binds every value by
itself. An array for each column costs the driver twice the time of this: it looks at each element of each (measured).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic_core import to_json


def columns(kind: Any) -> tuple[str, ...]:
    """The columns of a dataclass that is a row."""
    return tuple(one.name for one in fields(kind))


def inserting(table: str, names: Sequence[str], *, order: Sequence[str] = ()) -> str:
    """A statement that adds the rows of `packed`, in the `order` of these columns; what to do ON CONFLICT may follow."""
    ordered = f" ORDER BY {', '.join(f'q.{name}' for name in order)}" if order else ""
    return f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(f'q.{name}' for name in names)} FROM {these(table)}{ordered}"


def upserting(table: str, names: Sequence[str], *, key: Sequence[str], fixed: Sequence[str] = ()) -> str:
    """A statement that adds the rows of `packed`, or writes them over those of the same `key`, but for the `fixed` columns."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in (*key, *fixed))
    return f"{inserting(table, names)} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"


def reading(table: str, names: Sequence[str], *, key: str) -> str:
    """A statement that gives these columns of the rows whose (agent_id, key) are among the :agents and :ids, arrays of one length.

    Each is looked up by itself, one look at the index (docs/performance.md).
    """
    return (
        f"SELECT {', '.join(f'f.{name}' for name in names)} FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, id)"
        f" CROSS JOIN LATERAL (SELECT * FROM {table} f WHERE f.agent_id = q.agent_id AND f.{key} = q.id OFFSET 0) f"
    )


def these(table: str) -> str:
    """What to select from: the rows of `packed` as rows of the table, under the name q; a column they do not have is NULL."""
    return f"json_populate_recordset(CAST(NULL AS {table}), CAST(:rows AS json)) AS q"


def in_order(table: str, source: str, *, key: Sequence[str]) -> str:
    """`source` (which calls its rows q) joined to the rows of the table with its `key`, each locked in the order of the key.

    For statements that change many rows and hold no lock of an agent: two that take the same rows in one order never lock each other out.
    """
    same = " AND ".join(f"held.{name} = q.{name}" for name in key)
    order = ", ".join(f"held.{name}" for name in key)
    return f"(SELECT q.* FROM {source} JOIN {table} held ON {same} ORDER BY {order} FOR UPDATE OF held) AS q"


def packed(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The parameter of such a statement."""
    return {"rows": to_json([{name: _written(value) for name, value in row.items()} for row in rows], inf_nan_mode="strings").decode()}


def apart(keys: Collection[tuple[Any, ...]], *names: str) -> dict[str, Any]:
    """The parameters of a statement that unnests keys: an array of each of their parts, under these names."""
    return {name: [key[place] for key in keys] for place, name in enumerate(names)}


def _written(value: object) -> object:
    return f"\\x{value.hex()}" if isinstance(value, bytes) else value
