"""What the README has somebody type works as it stands, one line after another, with what the README asks for and nothing else."""

import json
import re
import shlex

import pytest

from events import FactLearned, decode
from tests.conftest import repository
from tests.nous.conftest import Nous, contents

README = (repository() / "README.md").read_text()
PUBLISH = README.partition("## Publish\n")[2].partition("A conversation is reported")[0]
LINES = re.findall(r"^nous (publish .+?)(?:\s+#.*)?$", PUBLISH, re.MULTILINE)


@pytest.mark.usefixtures("working")
async def test_what_is_published_by_the_first_lines_is_there_for_those_that_follow(nous: Nous, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository())
    typed = [shlex.split(line) for line in LINES if "--file" not in line]
    for words in typed:
        result = await nous(*words)
        assert result.exit_code == 0, result.output
    assert (await nous("wait")).exit_code == 0
    assert await contents(nous) == ["Mara takes her coffee black", "Mara never takes her coffee black"]
    (explained,) = re.findall(r"^nous (explain fact \w+)", README, re.MULTILINE)
    assert "Mara takes her coffee black" in (await nous(*explained.split())).stdout


def test_the_first_line_to_publish_with_needs_nothing_that_is_not_installed() -> None:
    first = re.findall(r"^(\S+) ", PUBLISH.partition("```sh\n")[2], re.MULTILINE)[0]
    assert first == "nous"


def test_what_another_language_publishes_is_an_event() -> None:
    (body,) = re.findall(r"XADD fact_learned '\*' data '(.+)'", PUBLISH)
    assert isinstance(decode(FactLearned, json.dumps(json.loads(body)).encode(), "1-0"), FactLearned)
