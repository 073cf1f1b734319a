"""Reacting: one file a worker; `runtime/` is the life of a delivery, the same for all of them.

A worker is a module of this folder that has a `worker`. Adding one is adding its file; nothing else is to be told of it.
"""

import importlib
import pkgutil
from functools import cache
from typing import Any

from workers.runtime.worker import Worker


@cache
def table() -> dict[str, Worker[Any, Any]]:
    """Every worker by its name, in alphabetical order."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__) if not found.ispkg)
    found = (module.worker for module in modules if hasattr(module, "worker"))
    return {worker.name: worker for worker in sorted(found, key=lambda one: one.name)}


def consumers() -> dict[str, tuple[str, ...]]:
    """The workers on each stream."""
    streams: dict[str, tuple[str, ...]] = {}
    for worker in table().values():
        streams[worker.on.stream] = (*streams.get(worker.on.stream, ()), worker.name)
    return streams
