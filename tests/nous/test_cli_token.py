"""Tokens, as a person makes, lists and ends them."""

import json

from store import tokens
from store.database import Database
from tests.nous.conftest import Nous


async def test_a_token_is_printed_once_alone_on_standard_output_and_never_listed(nous: Nous, database: Database) -> None:
    made = await nous("token", "new", "--agent", "a", "--name", "laptop", "--days", "30")
    assert made.exit_code == 0
    secret = made.stdout.strip()
    assert secret.startswith("nous_")
    assert "speaks for 'a' until" in made.stderr
    listed = await nous("token", "list")
    assert "laptop" in listed.output
    assert secret not in listed.output + json.dumps(await nous.json("token", "list"))
    async with database.overview() as db:
        found = await tokens.held(db, secret)
    assert found is not None
    assert found.agent_id == "a"


async def test_a_token_is_revoked_by_the_beginning_of_its_id(nous: Nous) -> None:
    made = await nous.json("token", "new", "--agent", "a")
    await nous.json("token", "new", "--agent", "b")
    ended = await nous.json("token", "revoke", made["token_id"][:8])
    assert (ended["token_id"], ended["revoked_at"] is not None) == (made["token_id"], True)
    assert [(one["agent_id"], one["revoked_at"] is not None) for one in await nous.json("token", "list")] == [("a", True), ("b", False)]


async def test_what_does_not_do_is_told_in_a_sentence(nous: Nous) -> None:
    for words, said in (
        (("new", "--agent", " "), "--agent ' ' does not do"),
        (("new", "--agent", "x" * 129), "an agent has 1 to 128 characters"),
        (("new", "--agent", "a", "--name", "x" * 201), "--name has 201 characters and the limit is 200"),
        (("revoke", "ffffffff"), "there is no token 'ffffffff'; nous token list shows them"),
    ):
        told = await nous("token", *words)
        assert (told.exit_code, said in told.output) == (2, True), told.output


async def test_no_tokens_is_said_with_how_to_make_one(nous: Nous) -> None:
    assert "No tokens of agent 'a'. Make one: nous token new" in (await nous("token", "list", "--agent", "a")).output
