"""Retired facts are found in a text by their own words, and by nobody else's."""

from datetime import timedelta

import pytest

from store import facts, outdated
from store.database import Database
from tests.factories import NOON, a_fact

DARK, LIGHT = "Prefers dark mode.", "Prefers light mode."
SAID = f"User: well, PREFERS dark mode. And tea.\nAssistant: {LIGHT}"


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


async def _kept(database: Database, agent: str, *, active: str | None = None) -> None:
    """Ann's dark mode was retired by her light mode; with `active`, somebody of that name prefers it dark still."""
    light = a_fact(agent_id=agent, content=LIGHT, subject="Ann")
    dark = a_fact(agent_id=agent, content=DARK, subject="Ann", active=False, valid_to=NOON, superseded_by=light.fact_id)
    others = [a_fact(agent_id=agent, content=DARK, subject=active)] if active else []
    async with database.write([agent]) as db:
        await facts.insert(db, [light, dark, *others])


async def test_a_retired_fact_is_found_by_its_words_in_any_case_with_what_is_true_instead(database: Database, agent: str) -> None:
    await _kept(database, agent)
    async with database.read([agent]) as db:
        (found,) = await outdated.in_text(db, agent, SAID)
        assert (found.episode_id, found.wordings, found.instead) == (None, (DARK,), LIGHT)
        assert await outdated.in_text(db, agent, "User: I prefer it dark.") == []
        assert await outdated.in_text(db, agent, "") == []


async def test_asked_of_the_time_when_it_was_so_it_is_not_found(database: Database, agent: str) -> None:
    await _kept(database, agent)
    async with database.read([agent]) as db:
        assert await outdated.in_text(db, agent, SAID, as_of=NOON - timedelta(hours=1)) == []
        assert await outdated.in_text(db, agent, SAID, as_of=NOON + timedelta(hours=1))


async def test_words_that_are_still_so_of_somebody_else_are_left_alone(database: Database, agent: str) -> None:
    await _kept(database, agent, active="Bo")
    async with database.read([agent]) as db:
        assert await outdated.in_text(db, agent, SAID) == []


@pytest.mark.parametrize("said", [DARK.lower(), f"  {DARK}"])
async def test_nor_where_it_is_another_wording_of_what_is_so(database: Database, agent: str, said: str) -> None:
    await _kept(database, agent)
    whole = a_fact(agent_id=agent, content="Bo likes it dark.", subject="Bo")
    part = a_fact(agent_id=agent, content=said.strip(), subject="Bo", active=False, merged_into=whole.fact_id)
    async with database.write([agent]) as db:
        await facts.insert(db, [whole, part])
    async with database.read([agent]) as db:
        assert await outdated.in_text(db, agent, SAID) == []


async def test_words_that_are_broken_over_lines_are_found(database: Database, agent: str) -> None:
    await _kept(database, agent)
    async with database.read([agent]) as db:
        assert len(await outdated.in_text(db, agent, "User: prefers\n  dark  mode.")) == 1


async def test_another_agents_are_not_found(database: Database, agent: str) -> None:
    await _kept(database, agent)
    async with database.read(["another"]) as db:
        assert await outdated.in_text(db, "another", SAID) == await outdated.in_text(db, agent, SAID) == []
