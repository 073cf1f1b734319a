"""How this person runs `nous` from here, so that what they are told to type works when they type it."""

import shlex
import shutil
import sys
from pathlib import Path


def command() -> str:
    """By name when their shell finds it, else by the path they used."""
    used = Path(sys.argv[0])
    found = shutil.which("nous")
    if used.name != "nous" or (found and Path(found).resolve() == used.resolve()):
        return "nous"
    here = Path.cwd()
    return shlex.quote(str(used.relative_to(here) if used.is_absolute() and used.is_relative_to(here) else used))
