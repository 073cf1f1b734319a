"""Small JSON files that only their owner may read, replaced as a whole or not at all."""

import json
import os
from pathlib import Path


def read(path: Path) -> dict[str, str]:
    """What the file keeps; raises FileNotFoundError."""
    kept: dict[str, str] = json.loads(path.read_text())
    return kept


def write(path: Path, kept: dict[str, str]) -> None:
    """Keep this; it is on the disk when this returns."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(kept, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
