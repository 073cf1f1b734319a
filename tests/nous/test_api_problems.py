"""What went wrong is said once, in one sentence, for HTTP and for tools alike."""

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from nous.api import problems
from nous.errors import Contended, Misconfigured, Outage, UserMistake


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    question: str
    budget: int


def not_valid(**fields: object) -> ValidationError:
    with pytest.raises(ValidationError) as wrong:
        Asked.model_validate(fields)
    return wrong.value


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (problems.nothing("fact"), "there is no fact of that id"),
        (UserMistake("the frame is none; leave it out"), "the frame is none; leave it out"),
        (Outage("the database", "connection refused"), "the database is not answering: connection refused"),
        (Contended("two writers met"), "two writers met"),
        (Misconfigured("password=secret does not do"), "this server is not set up to do that"),
        (RuntimeError("password=secret"), "nobody expected this"),
        (not_valid(question=7, budget=1), "question: Input should be a valid string"),
        (
            not_valid(a=1, b=2),
            "question: Field required; budget: Field required; a: Extra inputs are not permitted; and 1 more",
        ),
    ],
)
def test_what_went_wrong_is_one_sentence_that_shows_nothing_of_the_inside(error: Exception, said: str) -> None:
    assert problems.told(error) == said
