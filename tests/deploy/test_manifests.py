"""The ways to run it outside name every worker, and only commands and settings there are."""

import re
from pathlib import Path
from typing import Any

import yaml

import workers
from nous.settings import Settings
from tests.conftest import repository


def _documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def test_compose_runs_every_worker_and_the_migrations_first() -> None:
    services = _documents(repository() / "compose.yaml")[0]["services"]
    for name in workers.table():
        assert services[name]["command"] == ["work", name]
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert services["migrate"]["command"] == ["migrate"]


def test_kubernetes_runs_every_worker() -> None:
    documents = _documents(repository() / "deploy" / "kubernetes" / "nous.yaml")
    args = [document["spec"]["template"]["spec"]["containers"][0]["args"] for document in documents]
    assert sorted(args) == sorted([["migrate"], *(["work", name] for name in workers.table())])


def test_every_setting_named_in_the_deployment_files_exists() -> None:
    known = {f"NOUS_{name.upper()}" for name in Settings.model_fields} | {"NOUS_POSTGRES_PASSWORD"}
    named = {
        name
        for path in [repository() / "compose.yaml", *(repository() / "deploy").rglob("*")]
        if path.is_file()
        for name in re.findall(r"NOUS_[A-Z_]+", path.read_text())
    }
    assert named <= known
    assert named
