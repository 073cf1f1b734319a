"""`docs/events.md` is what the code says."""

import json
import re

import pytest

from events import CATALOGUE, Event, MalformedEvent, body_of, decode
from tests.conftest import repository
from tests.events import table


def test_the_page_is_written_from_the_code() -> None:
    kept = (repository() / "docs" / "events.md").read_text()
    assert kept == table.page(), "run: python -m tests.events.table > docs/events.md"


@pytest.mark.parametrize("kind", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_every_event_says_who_publishes_it_and_what_each_field_means(kind: type[Event]) -> None:
    assert table.publishers(kind)
    assert [name for name, field in kind.model_fields.items() if not field.description] == []


def test_every_field_of_every_event_is_in_the_table() -> None:
    rows = [name.strip("*`") for name, *_ in table.rows()]
    own = [name for kind in CATALOGUE.values() for name in (kind.stream, *kind.model_fields) if name not in Event.model_fields]
    assert rows == ["every event", *Event.model_fields, *own]


@pytest.mark.parametrize("kind", table.EXAMPLES, ids=lambda kind: kind.stream)
def test_what_the_table_calls_required_is_all_that_decode_asks_for(kind: type[Event]) -> None:
    required = {name.strip("`") for name, _, presence, _ in table.fields_of(kind, list(kind.model_fields)) if presence == "required"}
    asked = {name: value for name, value in table.EXAMPLES[kind].items() if name in required}
    assert decode(kind, json.dumps(asked).encode(), "1-0").agent_id == "agent-7"
    for name in asked:
        with pytest.raises(MalformedEvent, match=f"{name}: field required"):
            decode(kind, json.dumps({key: value for key, value in asked.items() if key != name}).encode(), "1-0")


def test_the_commands_on_the_page_publish_events() -> None:
    commands = re.findall(r"^redis-cli XADD (\w+) '\*' data '(.+)'$", table.page(), re.MULTILINE)
    assert [stream for stream, _ in commands] == ["fact_learned", "episode_closed", "censor_triggered"]
    for stream, body in commands:
        assert decode(CATALOGUE[stream], body_of({b"data": body.encode()}), "1-0").agent_id == "agent-7"
