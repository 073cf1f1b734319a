"""The worked example of CONTRIBUTING.md works as written."""

import re
import sys
import types
from collections.abc import Callable, Iterator

import pytest

import workers
from tests.conftest import repository
from tests.workers.conftest import Bench


def _blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (repository() / "CONTRIBUTING.md").read_text(), re.DOTALL)


@pytest.fixture
def certifier() -> Iterator[None]:
    """The example's file, as if it stood in workers/."""
    module = types.ModuleType("workers.certifier")
    sys.modules[module.__name__] = module
    exec(compile(_blocks()[0], "workers/certifier.py", "exec"), module.__dict__)
    workers.table()["certifier"] = module.worker
    yield
    del workers.table()["certifier"]
    del sys.modules[module.__name__]


async def test_the_example_worker_passes_the_example_test(certifier: None, bench: Callable[[str], Bench]) -> None:
    written: dict[str, Callable[[Callable[[str], Bench]], object]] = {}
    exec(compile(_blocks()[1], "tests/workers/test_certifier.py", "exec"), written)
    assert workers.table()["certifier"].name == "certifier"
    await written["test_the_tenth_confirmation_is_certified_once"](bench)  # type: ignore[misc]
