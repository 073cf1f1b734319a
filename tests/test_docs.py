"""The documents keep up with the code."""

import re
from typing import get_args

import pytest
from fastapi import FastAPI
from typer.testing import CliRunner

import events
import workers
from events.client import Client
from nous.api.application import ROUTERS
from nous.cli import app, publish
from nous.errors import UserMistake
from nous.settings import Settings
from recall.ending import Became
from tests.conftest import repository
from tests.events import table
from tests.nous import settings_table


def test_the_readme_table_lists_every_worker_with_its_stream_and_what_it_does() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", (repository() / "README.md").read_text(), re.MULTILINE)
    assert rows == [(worker.name, worker.on.stream, worker.does) for worker in workers.table().values()]


def test_every_link_of_the_documents_leads_somewhere() -> None:
    pages = (repository() / folder for folder in ("docs", "examples"))
    for document in [*repository().glob("*.md"), *(page for folder in pages for page in folder.rglob("*.md"))]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_wheel_that_a_document_has_made_is_left_where_git_looks_away() -> None:
    pages = [*repository().glob("*.md"), *(repository() / "docs").rglob("*.md")]
    told = [command for page in pages for command in re.findall(r"pip wheel [^`\n]+", page.read_text())]
    assert told
    assert all("-w dist " in one for one in told), told
    assert "dist/" in (repository() / ".gitignore").read_text().splitlines()


def test_every_setting_a_document_or_a_message_names_exists() -> None:
    known = {f"NOUS_{name.upper()}" for name in Settings.model_fields}
    known |= {"NOUS_EVAL_DATA", "NOUS_POSTGRES_PASSWORD", "NOUS_TEST_REDIS_SERVER"}
    sources = [*repository().glob("*.md"), *(repository() / "docs").rglob("*.md")]
    sources += [
        path for folder in ("events", "store", "providers", "recall", "workers", "nous") for path in (repository() / folder).rglob("*.py")
    ]
    named = {name for path in sources for name in re.findall(r"\bNOUS_[A-Z_]+[A-Z]\b", path.read_text())}
    assert named - known == set()


def test_the_page_of_settings_is_what_the_code_says() -> None:
    kept = (repository() / "docs" / "settings.md").read_text()
    assert kept == settings_table.page(), "run: python -m tests.nous.settings_table > docs/settings.md"


@pytest.mark.parametrize("line", re.findall(r"^nous (\w+(?: \w+)?)", (repository() / "README.md").read_text(), re.MULTILINE))
def test_every_command_of_the_readme_is_one(line: str) -> None:
    shown = CliRunner().invoke(app, [*line.split(), "--help"])
    assert shown.exit_code == 0, shown.output


def test_agents_publish_what_the_page_of_events_says_they_do() -> None:
    with pytest.raises(UserMistake) as told:
        publish.publish_one(Settings(), "nothing", [], is_json=False)
    named = re.findall(r"\w+_\w+", str(told.value).partition("agents publish")[2])
    assert named == [kind.stream for kind, who in table.FROM_OUTSIDE.items() if who.startswith("agents")]
    assert set(named) == events.FROM_AGENTS


def test_every_worker_has_a_test_of_its_own_or_one_of_its_family() -> None:
    """test_deduplicator.py; test_supersession.py for both of supersession_checker and supersession_rechecker."""
    tests = {path.stem for path in (repository() / "tests" / "workers").glob("test_*.py")}
    for name in workers.table():
        assert {f"test_{name}", f"test_{name.rpartition('_')[0]}"} & tests, name


def test_the_page_of_the_api_lists_every_route_and_no_other() -> None:
    described = FastAPI(routes=[route for routes in ROUTERS for route in routes.router.routes]).openapi()["paths"]
    page = (repository() / "docs" / "api.md").read_text()
    listed = set(re.findall(r"^\| `(\w+) (/v1/\S+)` \|", page, re.MULTILINE))
    assert listed == {(method.upper(), path) for path, methods in described.items() for method in methods}


def test_the_page_of_the_api_says_everything_an_end_may_become() -> None:
    page = (repository() / "docs" / "api.md").read_text()
    assert [one for one in get_args(Became) if f"`{one}`" not in page] == []


def test_the_page_of_the_api_says_all_that_the_client_does_and_leads_to_what_needs_no_code() -> None:
    page = (repository() / "docs" / "api.md").read_text()
    methods = {name for name, one in vars(Client).items() if not name.startswith("_") and callable(one)} - {"close"}
    assert set(re.findall(r"`(\w+)`", page.partition("| method |")[2].partition("Whatever is cut off")[0])) == methods
    assert "](mcp.md)" in page


def test_the_page_of_the_api_names_every_field_that_a_body_must_have() -> None:
    page = (repository() / "docs" / "api.md").read_text()
    described = FastAPI()
    for routes in ROUTERS:
        described.include_router(routes.router)
    schema = described.openapi()
    bodies = [way["requestBody"] for ways in schema["paths"].values() for way in ways.values() if "requestBody" in way]
    named = [body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2] for body in bodies]
    needed = {(name, field) for name in named for field in schema["components"]["schemas"][name].get("required", ())}
    assert ("Restore", "reason") in needed
    assert {(name, field) for name, field in needed if f'"{field}": ' not in page} == set()


def test_why_a_person_decides_so_is_taken_under_either_name_by_every_command_that_asks() -> None:
    commands = [
        *(("fact", verb) for verb in ("restore", "split", "forget")),
        ("agent", "forget"),
        ("episode", "restore"),
        *(("censor", verb) for verb in ("add", "relax")),
    ]
    for words in commands:
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).output
        assert "--because" in shown, words
        assert "--reason" in shown, words
