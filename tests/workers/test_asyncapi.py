"""The published contract is the code's."""

import json

import workers
from tests.conftest import repository
from workers.runtime import asyncapi


def test_the_asyncapi_document_is_what_fastream_makes_of_the_code() -> None:
    kept = (repository() / "docs" / "asyncapi.json").read_text()
    assert kept == f"{asyncapi.document()}\n", "run: python -m workers.runtime.asyncapi > docs/asyncapi.json"


def test_it_names_every_worker_with_its_stream_and_asks_producers_for_no_more_than_the_contract_does() -> None:
    document = json.loads(asyncapi.document())
    for worker in workers.table().values():
        channel = document["channels"][f"{worker.on.stream}:{worker.name}"]
        assert channel["address"] == worker.on.stream
        assert channel["bindings"]["redis"]["groupName"] == worker.name
    assert set(document["components"]["schemas"]["FactLearned"]["required"]) == {"agent_id", "fact_id", "content"}
