"""A model in a process of its own: it and the event loop never wait for one another's turn at the interpreter.

    chunk of texts ──JSON──▶ stdin  ┐
    its rows ◀──float32── stdout    ┘ one chunk at a time; as many processes as chunks may be worked at once

In one process a worker reached two thirds of its embedder's speed, apart from it nine tenths (measured, docs/performance.md). The
process ends when its stdin does, so it outlives nobody, not even a worker that was killed. What kills it is told as a failure of
the texts it had, so the one at fault is found by working each alone; the next chunk gets a new process.
"""

import importlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import IO

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nous.errors import Misconfigured, NousError, Outage

from .bundled import Encode

END_S = 5.0  # a process that has not ended by then, after its stdin has, is killed

_HEAD = struct.Struct(">cQ")  # what follows, and how many bytes of it
_TEXTS, _ROWS, _MISCONFIGURED, _FAILED = b"t", b"r", b"m", b"f"


class ModelFailed(NousError):
    """The model's process failed at these texts, or died of them."""


def loading(module: str, *, processes: int) -> Callable[[], "Pool"]:
    """What a BundledEmbedder loads: the `load` of this module, by its full name, in so many processes."""
    return lambda: Pool(module, processes)


class Pool:
    """Encodes in whichever process is free; safe to call from several threads. Raises ModelFailed, and Outage when none can be started."""

    def __init__(self, module: str, processes: int) -> None:
        """Raises Misconfigured when the model cannot be loaded."""
        self._models = [Model(module) for _ in range(processes)]
        self._free: SimpleQueue[Model] = SimpleQueue()
        with ExitStack() as failed:
            failed.callback(self.close)
            for model in self._models:
                model.start()
                self._free.put(model)
            failed.pop_all()

    def __call__(self, texts: list[str]) -> NDArray[np.floating]:
        """A row for each text."""
        model = self._free.get()
        try:
            return model.encode(texts)
        finally:
            self._free.put(model)

    def close(self) -> None:
        """End the processes."""
        for model in self._models:
            model.end()


class Model:
    """One process with the model in it."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until the model is loaded. Raises Misconfigured, or Outage when the machine gives no process."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - no shell, our own words
                [sys.executable, "-m", __name__, self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C is for the worker, which then ends this one
            )
        except OSError as error:
            raise Outage("the embedder's process", str(error)) from error
        self._answer()

    def encode(self, texts: list[str]) -> NDArray[np.floating]:
        """A row for each text; in a new process if the last one died."""
        if self._process is None or self._process.poll() is not None:
            self.end()
            self.start()
        assert self._process is not None  # noqa: S101 - started
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        with suppress(BrokenPipeError):  # it died this very moment; the answer says so
            _send(self._process.stdin, _TEXTS, json.dumps(texts).encode())
        return np.frombuffer(self._answer(), np.float32).reshape(len(texts), -1)

    def end(self) -> None:
        """End it; it ends by itself once its stdin does."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                pipe and pipe.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _answer(self) -> bytes:
        assert self._process is not None  # noqa: S101 - started
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        kind, said = _receive(self._process.stdout)
        if kind == _ROWS:
            return said
        if kind == _MISCONFIGURED:
            self.end()
            raise Misconfigured(said.decode())
        if kind == _FAILED:
            raise ModelFailed(said.decode())
        process = self._process
        self.end()
        raise ModelFailed(f"the process of {self._module} died (exit code {process.returncode}); the next texts get a new one")


def _send(pipe: IO[bytes], kind: bytes, said: bytes) -> None:
    pipe.write(_HEAD.pack(kind, len(said)))
    pipe.write(said)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[bytes, bytes]:
    """What was said and its kind; no kind when the other side is gone."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return b"", b""
    kind, size = _HEAD.unpack(head)
    said = pipe.read(size)
    return (kind, said) if len(said) == size else (b"", b"")


# ── the process ───────────────────────────────────────────────────────────────────────────────────────────────────────


def serve(module: str) -> None:
    """Load the model and encode what comes on stdin, until it ends, or until nobody hears the answers any more."""
    try:
        _serve(module)
    except BrokenPipeError:
        os._exit(0)  # at once: what is left to be written would fail again when Python ends


def _serve(module: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever stops the worker stops this
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    encode = _loaded(module, answers)
    while encode is not None:
        kind, said = _receive(sys.stdin.buffer)
        if not kind:
            return
        try:
            rows = np.ascontiguousarray(encode(json.loads(said)), np.float32)
        except Exception as error:
            _send(answers, _FAILED, f"{type(error).__name__}: {error}".encode())
        else:
            _send(answers, _ROWS, rows.tobytes())


def _loaded(module: str, answers: IO[bytes]) -> Encode | None:
    threadpool_limits(1, user_api="blas")
    try:
        encode: Encode = importlib.import_module(module).load()
    except Misconfigured as error:
        _send(answers, _MISCONFIGURED, str(error).encode())
        return None
    _send(answers, _ROWS, b"")
    return encode


if __name__ == "__main__":
    serve(sys.argv[1])
