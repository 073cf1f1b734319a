"""The alerts and the dashboards ask for figures there are, and every alert has its section in the runbook."""

import asyncio
import json
import re
import shlex
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis
from starlette.applications import Starlette
from typer.main import get_command

from nous.cli.commands import app
from tests.conftest import repository
from workers.runtime.app import Process
from workers.runtime.health import Health
from workers.runtime.worker import Kit

DEPLOY = repository() / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
TOLD_ALIKE = (
    "stream_lag",
    "stream_pending",
    "oldest_pending_seconds",
    "stream_entries",
    "waiting",
    "parked",
    "outbox_unpublished",
    "unadjudicated",
    "trim_held_seconds",
)
OF_A_HISTOGRAM = ("_bucket", "_count", "_sum")
OF_GRAFANA = {"$__rate_interval": "5m", "$__range": "3h"}


@cache
def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def _questions() -> dict[str, str]:
    """Every PromQL expression, by where it stands."""
    of_rules = {rule["alert"]: rule["expr"] for rule in _rules()}
    of_panels = {
        f"{path.stem}, panel {panel['id']}, {target['refId']}": target["expr"]
        for path in DASHBOARDS
        for panel in json.loads(path.read_text())["panels"]
        for target in panel.get("targets", ())
    }
    return of_rules | of_panels


def _parsed(expression: str) -> promql_parser.Expr:
    for variable, value in OF_GRAFANA.items():
        expression = expression.replace(variable, value)
    return promql_parser.parse(expression)


def _metrics(expression: str) -> set[str]:
    return set(re.findall(r"\bnous_\w+", expression))


@pytest.fixture
async def served(kit: Kit, redis: Redis) -> set[str]:
    """The names of everything /metrics says, whether or not it has happened yet."""
    health = Health()
    health.watch(cast("Process", SimpleNamespace(kit=kit, redis=redis, must_stop=asyncio.Event())))
    transport = httpx.ASGITransport(app=Starlette(routes=health.routes()))
    async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
        told = (await client.get("/metrics")).text
    return {name for family in text_string_to_metric_families(told) for name in _samples(family.name, family.type)}


def _samples(name: str, kind: str) -> list[str]:
    if kind == "histogram":
        return [name + ending for ending in OF_A_HISTOGRAM]
    return [f"{name}_total" if kind == "counter" else name]


async def test_every_figure_that_is_asked_for_is_served(served: set[str]) -> None:
    asked = {name for expression in _questions().values() for name in _metrics(expression)}
    assert asked - served == set()


@pytest.mark.parametrize("where", _questions())
def test_every_question_is_promql(where: str) -> None:
    assert _parsed(_questions()[where]) is not None


def test_what_every_process_tells_alike_is_never_added_up() -> None:
    """A sum over processes would show four times the lag where four processes run."""
    for where, expression in _questions().items():
        assert not re.search(rf"\b(sum|avg|count)\b( by \([^)]*\))? ?\((\w+\()?nous_({'|'.join(TOLD_ALIKE)})", expression), where


def test_every_alert_leads_to_its_section_and_every_section_of_alerts_is_one() -> None:
    headings = re.findall(r"^### (Nous\w+)$", (DEPLOY / "runbook.md").read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in _rules()]
    for rule in _rules():
        assert rule["annotations"]["runbook"] == f"deploy/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in {"critical", "warning"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_has_panels_of_their_own_number_that_do_not_overlap(path: Path) -> None:
    panels = json.loads(path.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_every_command_of_the_runbook_exists() -> None:
    runbook = (DEPLOY / "runbook.md").read_text()
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", runbook, re.DOTALL))
    typed = [*re.findall(r"^nous ([^#\n]+)", blocks, re.MULTILINE), *re.findall(r"`nous ([^`]+)`", runbook)]
    assert typed
    for line in typed:
        _assert_exists(line)


def _assert_exists(line: str) -> None:
    """The words of a command lead from group to group to a command, and its options are that command's."""
    command: Any = get_command(app)
    for word in shlex.split(line):
        if word.startswith("--"):
            assert any(word in option.opts for option in command.params), f"nous {line}: no option {word}"
        elif hasattr(command, "commands"):
            assert word in command.commands, f"nous {line}: no command {word}"
            command = command.commands[word]
