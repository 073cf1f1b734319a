"""Asking the person at the terminal while a command is under way: the end of the input is an answer, and Ctrl-C ends the command.

line(question) ─▶ what was typed, or None at the end of the input
confirm(question) ─▶ yes or no

While an answer is awaited nothing else runs, so Ctrl-C would be noted and come too late: it interrupts at once here.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from nous.errors import UserMistake


def line(question: str, *, otherwise: str) -> str | None:
    """What is answered, as typed; None at the end of the input. Raises UserMistake, with what to do `otherwise`, when there is no input."""
    _require_input(otherwise)
    with _interrupting():
        print(question, end="", flush=True)
        said = sys.stdin.buffer.readline()
    return said.decode(sys.stdin.encoding, "replace") if said else None


def confirm(question: str, *, otherwise: str) -> bool:
    """Whether the person says yes. Raises UserMistake, with what to do `otherwise`, when there is no input."""
    _require_input(otherwise)
    with _interrupting():
        return typer.confirm(question)


def _require_input(otherwise: str) -> None:
    if sys.stdin is None:  # closed by the shell, as <&- does
        raise UserMistake(f"standard input is closed, so nobody can be asked: {otherwise}")


@contextmanager
def _interrupting() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
