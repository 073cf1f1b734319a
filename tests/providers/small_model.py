"""A model for tests that run one in a process of its own. A text tells it what to do."""

import os

import numpy as np
from numpy.typing import NDArray

from nous.errors import Misconfigured


def load() -> object:
    if os.environ.get("SMALL_MODEL") == "missing":
        raise Misconfigured("the small model is not installed; install it")
    return encode


def encode(texts: list[str]) -> NDArray[np.floating]:
    print("a library that chats on stdout")
    if "die" in texts:
        os.abort()
    if "fail" in texts:
        raise ValueError("cannot read 'fail'")
    return np.array([[len(text) + 1.0, os.getpid()] for text in texts], np.float32)
