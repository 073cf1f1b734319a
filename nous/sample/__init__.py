"""Two weeks in the life of one agent, as it published them: what a newcomer runs first.

fact_learned.jsonl   one event a line, in the order of arrival; some come late, some twice
README.md            which line is there for what, and what should become of it
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path


def path() -> Path:
    """The file of `fact_learned` events."""
    return Path(str(files(__name__) / "fact_learned.jsonl"))


def events() -> Iterator[dict[str, object]]:
    """Each delivery in the order it arrives, repeated ones included."""
    with path().open(encoding="utf-8") as lines:
        for line in lines:
            event: dict[str, object] = json.loads(line)
            yield event
