"""The manifests are what Kubernetes and KEDA take, and run every worker as it wants to be run."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

import events
import workers
from nous.cli.serve import is_loopback
from nous.settings import Settings
from tests.conftest import repository
from tests.deploy.kustomize import Document, build, containers, kustomization, pods
from workers.runtime.streams import ARCHIVIST

KUBERNETES_VERSIONS = ("1.30", "1.36")
FOLDER = repository() / "deploy" / "kubernetes"
RUN_BY_WORKERS = [*workers.table(), ARCHIVIST]
SECRETS = {"nous", "nous-redis"}


@pytest.fixture(scope="module")
def manifests() -> list[Document]:
    return build(FOLDER / "overlays" / "example")


def _of(manifests: list[Document], kind: str, worker: str) -> Document:
    name = f"nous-{worker.replace('_', '-')}"
    (found,) = (one for one in manifests if one["kind"] == kind and one["metadata"]["name"] == name)
    return found


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_every_object_follows_the_schema_of_its_kind(manifests: list[Document], version: str) -> None:
    for one in manifests:
        if not one["apiVersion"].startswith("keda.sh/"):
            kubernetes_validate.validate(one, version, strict=True)


def test_no_object_is_there_twice(manifests: list[Document]) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in manifests]
    assert len(names) == len(set(names))


def test_every_file_of_a_folder_belongs_to_its_kustomization() -> None:
    for folder in (path.parent for path in FOLDER.rglob("kustomization.yaml")):
        made_of = kustomization(folder)
        named = {Path(name).name for name in (*made_of.get("resources", ()), *(patch["path"] for patch in made_of.get("patches", ())))}
        there = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert there == {name for name in named if name.endswith(".yaml")}


@pytest.mark.parametrize("worker", RUN_BY_WORKERS)
def test_every_worker_has_a_deployment_that_is_probed_bounded_and_stopped_gently(manifests: list[Document], worker: str) -> None:
    pod = _of(manifests, "Deployment", worker)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"] == ["work", worker]
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    port = next(one["value"] for one in container["env"] if one["name"] == "NOUS_HTTP_PORT")
    assert [str(one["containerPort"]) for one in container["ports"]] == [port]
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert "memory" in container["resources"]["limits"]
    assert pod["terminationGracePeriodSeconds"] > Settings(_env_file=None).graceful_s


@pytest.mark.parametrize("worker", RUN_BY_WORKERS)
def test_every_worker_has_a_disruption_budget_that_lets_a_node_be_emptied(manifests: list[Document], worker: str) -> None:
    budget, deployment = (_of(manifests, kind, worker)["spec"] for kind in ("PodDisruptionBudget", "Deployment"))
    assert budget["maxUnavailable"] == 1  # minAvailable would hold the node of a worker with one replica for ever
    for selector in (budget["selector"], deployment["selector"]):
        assert selector["matchLabels"].items() <= deployment["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("worker", workers.table())
def test_every_worker_is_scaled_by_the_lag_of_its_group_on_its_stream(manifests: list[Document], worker: str) -> None:
    scaled = _of(manifests, "ScaledObject", worker)["spec"]
    (trigger,) = scaled["triggers"]
    assert trigger["metadata"]["stream"] == workers.table()[worker].on.stream
    assert trigger["metadata"]["consumerGroup"] == worker
    assert scaled["scaleTargetRef"]["name"] == _of(manifests, "Deployment", worker)["metadata"]["name"]


def test_the_archivist_is_scaled_by_streams_there_are(manifests: list[Document]) -> None:
    triggers = [trigger["metadata"] for trigger in _of(manifests, "ScaledObject", ARCHIVIST)["spec"]["triggers"]]
    assert {one["stream"] for one in triggers} <= events.CATALOGUE.keys()
    assert {one["consumerGroup"] for one in triggers} == {ARCHIVIST}


def test_nothing_is_scaled_to_zero_because_a_retry_that_falls_due_is_no_lag(manifests: list[Document]) -> None:
    scaled = [one["spec"] for one in manifests if one["kind"] == "ScaledObject"]
    assert all(1 <= one["minReplicaCount"] < one["maxReplicaCount"] for one in scaled)


def test_keda_objects_have_the_shape_of_their_kind(manifests: list[Document]) -> None:
    """What KEDA's own definitions require, by hand: no package carries them. Every value of a trigger is text."""
    (authentication,) = (one for one in manifests if one["kind"] == "TriggerAuthentication")
    assert all(one.keys() == {"parameter", "name", "key"} for one in authentication["spec"]["secretTargetRef"])
    for one in (one for one in manifests if one["kind"] == "ScaledObject"):
        assert one["spec"].keys() <= {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "advanced", "triggers"}
        for trigger in one["spec"]["triggers"]:
            assert trigger["type"] == "redis-streams"
            assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]
            assert {"stream", "consumerGroup", "lagCount", "activationLagCount"} == trigger["metadata"].keys()
            assert all(isinstance(value, str) for value in trigger["metadata"].values())


def test_secrets_are_only_referred_to(manifests: list[Document]) -> None:
    assert not [one for one in manifests if one["kind"] == "Secret"]
    assert _secrets_named(manifests) == SECRETS


def test_no_container_is_root_or_can_write_to_its_image(manifests: list[Document]) -> None:
    for one in containers(manifests):
        context = one["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
    for pod in pods(manifests):
        assert pod["securityContext"]["runAsNonRoot"] is True


def test_the_migrations_are_a_job_of_the_same_image(manifests: list[Document]) -> None:
    (job,) = (one for one in manifests if one["kind"] == "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["migrate"]
    assert {one["image"] for one in containers(manifests)} == {container["image"]}


def test_upkeep_is_begun_by_a_cron_job_and_by_no_worker(manifests: list[Document]) -> None:
    (job,) = (one["spec"] for one in manifests if one["kind"] == "CronJob")
    (container,) = job["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["upkeep", "run"]
    assert (job["concurrencyPolicy"], job["timeZone"]) == ("Forbid", "Etc/UTC")
    (settings,) = (one["data"] for one in manifests if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "nous")
    assert settings["NOUS_UPKEEP_CLOCK"] == "false"


def _secrets_named(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_secrets_named, value))
    if not isinstance(value, dict):
        return set()
    named = {value[key]["name"] for key in ("secretRef", "secretKeyRef") if key in value}
    named |= {one["name"] for one in value.get("secretTargetRef", ())}
    return named.union(*map(_secrets_named, value.values()))


def test_the_api_is_probed_where_it_listens_asks_for_a_token_and_is_reached_by_its_service(manifests: list[Document]) -> None:
    deployment, budget = _of(manifests, "Deployment", "api"), _of(manifests, "PodDisruptionBudget", "api")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["serve"]
    set_to = {one["name"]: one["value"] for one in container["env"]}
    ports = {one["name"]: str(one["containerPort"]) for one in container["ports"]}
    assert ports == {"api": set_to["NOUS_API_PORT"], "http": set_to["NOUS_HTTP_PORT"]}
    assert ports["api"] != ports["http"]
    assert {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {"http"}
    assert not is_loopback(set_to["NOUS_API_HOST"])
    (service,) = (one for one in manifests if one["kind"] == "Service")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= labels
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    assert [one["targetPort"] for one in service["spec"]["ports"]] == ["api"]
    (policy,) = (one for one in manifests if one["kind"] == "NetworkPolicy")
    assert {str(port["port"]) for rule in policy["spec"]["ingress"] for port in rule["ports"]} == set(ports.values())
