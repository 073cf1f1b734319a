"""compose.yaml is what Compose takes, runs everything there is, and gives a worker the time to stop."""

import re
from typing import Any

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

import workers
from nous.cli.serve import is_loopback
from nous.settings import Settings
from tests.conftest import repository
from workers.runtime.streams import ARCHIVIST

RUN_BY_WORKERS = [*workers.table(), ARCHIVIST]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((repository() / "compose.yaml").read_text())["services"]
    return loaded


def test_the_file_follows_the_compose_specification() -> None:
    schema = get_builtin_schema("vendor.compose-spec")
    jsonschema.validate(yaml.safe_load((repository() / "compose.yaml").read_text()), schema)


@pytest.mark.parametrize("name", RUN_BY_WORKERS)
def test_every_worker_is_a_service_that_starts_after_the_migrations(services: dict[str, Any], name: str) -> None:
    assert services[name]["command"] == ["work", name]
    assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert services["migrate"]["command"] == ["migrate"]
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"


@pytest.mark.parametrize("name", RUN_BY_WORKERS)
def test_a_service_that_scales_publishes_no_port_and_has_no_name_of_its_own(services: dict[str, Any], name: str) -> None:
    assert not {"ports", "container_name", "hostname"} & services[name].keys()


@pytest.mark.parametrize("name", RUN_BY_WORKERS)
def test_a_stop_waits_longer_than_work_in_flight_takes(services: dict[str, Any], name: str) -> None:
    assert int(services[name]["stop_grace_period"].removesuffix("s")) > Settings(_env_file=None).graceful_s


def test_every_service_has_a_bound_on_its_memory_and_servers_are_checked_before_use(services: dict[str, Any]) -> None:
    assert all("mem_limit" in service for service in services.values())
    assert all("healthcheck" in services[name] for name in (*RUN_BY_WORKERS, "postgres", "valkey"))


def test_redis_never_throws_away_what_nobody_has_worked(services: dict[str, Any]) -> None:
    command = services["valkey"]["command"]
    assert command[command.index("--appendonly") + 1] == "yes"
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_images_are_of_a_version_that_was_chosen(services: dict[str, Any]) -> None:
    for name in ("postgres", "valkey"):
        tag = services[name]["image"].rpartition(":")[2]
        assert re.match(r"\d+\.\d+", tag), f"{name} is {services[name]['image']}"


def test_the_api_is_published_on_this_machine_alone_and_asks_for_a_token(services: dict[str, Any]) -> None:
    api = services["api"]
    assert api["command"] == ["serve"]
    assert api["ports"] == [f"127.0.0.1:${{API_PORT:-{Settings(_env_file=None).api_port}}}:{Settings(_env_file=None).api_port}"]
    assert not is_loopback(api["environment"]["NOUS_API_HOST"])
    assert "healthcheck" in api
