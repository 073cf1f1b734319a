"""How a command ends: 0 done, 1 not all of it, 2 a mistake in one sentence, 3 something outside is away, 130 Ctrl-C."""

import errno
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from nous.errors import Contended, Misconfigured, NousError, Outage, UserMistake

INCOMPLETE = 1
MISTAKE = 2
AWAY = 3
INTERRUPTED = 130


class Incomplete(NousError):
    """Nobody made a mistake, and still not all of it was done."""


class Away(NousError):
    """Something outside is gone, and the sentence says what to do about it."""


class Commands(TyperGroup):
    """A group of commands whose errors are sentences."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what goes wrong is told in a sentence, never shown as a traceback."""
        try:
            return super().invoke(ctx)
        except (UserMistake, Misconfigured) as error:
            _tell(str(error))
            raise typer.Exit(MISTAKE) from None
        except Incomplete as error:
            _tell(str(error))
            raise typer.Exit(INCOMPLETE) from None
        except (Outage, Contended) as error:
            _tell(f"{error}; try again when it is back")
            raise typer.Exit(AWAY) from None
        except Away as error:
            _tell(str(error))
            raise typer.Exit(AWAY) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            _tell("there is no space left where this is written to; make some, and run it again")
            raise typer.Exit(AWAY) from None
        except Exception as error:
            if _is_typers_own(error):
                raise
            _tell_surprise(error)
            raise typer.Exit(INCOMPLETE) from None


def _tell(sentence: str) -> None:
    print(f"nous: {sentence}", file=sys.stderr)


def _tell_surprise(error: Exception) -> None:
    from .place import settings

    if settings().log_level == "debug":
        traceback.print_exception(error)
    first = (str(error).strip() or "no more is said").splitlines()[0]
    _tell(f"nobody expected this: {type(error).__name__}: {first}; NOUS_LOG_LEVEL=debug shows where it happened, please report it")


def _is_typers_own(error: Exception) -> bool:
    """Usage errors, exits and broken pipes, which typer ends in its own way."""
    return type(error).__module__.startswith("typer") or isinstance(error, BrokenPipeError)
