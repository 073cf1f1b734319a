"""Frames: what an agent is told about a kind of work (a decision, a task, a fault to find), above all what is worth recording of it.

instructions/*.md      what is shipped, a file a frame
NOUS_FRAMES_FOLDER     a folder of one's own: a file of the same name is told instead, another name is another frame
"""

from importlib.resources import files
from pathlib import Path

from nous.errors import Misconfigured, UserMistake

SHIPPED = ("debug", "decision", "task")
SUFFIX = ".md"


def names(folder: Path | None = None) -> list[str]:
    """Every frame there are instructions for, in alphabetical order. Raises Misconfigured when `folder` cannot be read."""
    return sorted({*SHIPPED, *_own(folder)})


def instructions(frame: str, *, folder: Path | None = None) -> str:
    """What an agent in this frame is told, as Markdown: the file in `folder` (the setting `frames_folder`), or else the one shipped.

    Raises UserMistake for a frame nobody wrote, Misconfigured for a folder or a file that cannot be read or is empty.
    """
    own = _own(folder).get(frame)
    if own:
        return _read(own)
    if frame not in SHIPPED:
        raise UserMistake(f"there is no frame {frame!r}; the frames are {', '.join(names(folder))}")
    return (files(__name__) / "instructions" / f"{frame}{SUFFIX}").read_text("utf-8")


def _own(folder: Path | None) -> dict[str, Path]:
    """The operator's files by frame."""
    if folder is None:
        return {}
    try:
        return {path.stem: path for path in folder.iterdir() if path.suffix == SUFFIX}
    except OSError as error:
        raise Misconfigured(
            f"NOUS_FRAMES_FOLDER is {str(folder)!r}, which cannot be read: {error.strerror}; name a folder of .md files, or leave it unset"
        ) from None


def _read(path: Path) -> str:
    try:
        said = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Misconfigured(
            f"the instructions of frame {path.stem!r} cannot be read from {str(path)!r}: {why}; mend or remove the file"
        ) from None
    if not said.strip():
        raise Misconfigured(f"the instructions of frame {path.stem!r} in {str(path)!r} are empty; write some, or remove the file")
    return said
