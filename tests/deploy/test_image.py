"""The image has every package, is pinned, and runs as nobody in particular; and only settings there are are set anywhere."""

import re
import tomllib

from nous.settings import Settings
from tests.conftest import repository

OF_COMPOSE = {"NOUS_POSTGRES_PASSWORD"}
OF_THE_TESTS = {"NOUS_TEST_REDIS_SERVER"}


def test_the_image_has_every_package_and_nothing_is_kept_from_the_build() -> None:
    packages = tomllib.loads((repository() / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    dockerfile, let_through = ((repository() / name).read_text() for name in ("deploy/Dockerfile", ".dockerignore"))
    for folder in {name.partition(".")[0] for name in packages}:
        assert f"COPY {folder} {folder}\n" in dockerfile
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
        assert all(f"!{name}\n" in let_through for name in copied.split()), copied


def test_the_image_installs_what_is_locked_and_nothing_else() -> None:
    installs = re.findall(r"pip install (.+)$", (repository() / "deploy/Dockerfile").read_text(), re.MULTILINE)
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "-r requirements.lock" in installs[0]
    assert "--no-deps" in installs[1]


def test_the_image_runs_as_the_user_the_manifests_name() -> None:
    dockerfile = (repository() / "deploy/Dockerfile").read_text()
    (user,) = re.findall(r"^USER (\d+):\1$", dockerfile, re.MULTILINE)
    assert f"runAsUser: {user}\n" in (repository() / "deploy/kubernetes/base/every-worker.yaml").read_text()


def test_every_setting_named_in_the_deployment_files_exists() -> None:
    known = {f"NOUS_{name.upper()}" for name in Settings.model_fields} | OF_COMPOSE | OF_THE_TESTS
    named = {
        name
        for path in [repository() / "compose.yaml", *(repository() / "deploy").rglob("*")]
        if path.is_file()
        for name in re.findall(r"NOUS_[A-Z_]+", path.read_text())
    }
    assert named - known == set()
    assert named
