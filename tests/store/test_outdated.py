"""Retired facts are found in a text by their own words, and by nobody else's."""

import random
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from store import facts, outdated
from store.database import Database
from store.facts import Fact
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


WORDS = ("tea", "Tea", "likes", "(green)", "ünder", "never", "5mg", "the", "house", "住在", "奥斯陆", "'s", "a", "blue-ish")


@pytest.mark.parametrize("as_of", [None, NOON + timedelta(hours=2)])
async def test_what_is_found_is_what_looking_at_every_fact_finds(database: Database, agent: str, as_of: datetime | None) -> None:
    made = _at_random(agent)
    async with database.write([agent]) as db:
        await facts.insert(db, made)
    drawn, found = random.Random(9), 0
    async with database.read([agent]) as db:
        for _ in range(20):
            said = "\n".join(
                " ".join(drawn.choices(WORDS, k=3))
                + f" {one.content.upper().replace('Ü', 'ü') if drawn.random() < 0.5 else one.content}, ok"
                for one in drawn.sample(made, 12)
            )
            wanted = [one.content for one in sorted(made, key=lambda one: one.fact_id) if _is_gone(one, made, said, as_of)]
            told = [one.wordings[0] for one in await outdated.in_text(db, agent, said, as_of=as_of)]
            assert told == wanted
            found += len(told)
    assert found > 100, "or this shows nothing"


def _at_random(agent: str) -> list[Fact]:
    """Short and long ones in several scripts, many in the same words; true, retired at some hour, archived, and parts of others."""
    drawn, made = random.Random(4), list[Fact]()
    for number in range(300):
        content = " ".join(drawn.choices(WORDS, k=drawn.randint(1, 7)))
        if made and number % 4 == 0:
            content = drawn.choice(made).content.swapcase().replace("Ü", "ü")
        fact = a_fact(agent_id=agent, content=content, subject=f"somebody {number}", valid_from=NOON - timedelta(days=1))
        what = drawn.choice(("so", "retired", "retired", "retired", "archived", "part"))
        whole = drawn.choice(made).fact_id if made and what == "part" else None
        if what != "so":
            fact = replace(fact, active=False, merged_into=whole)
        if what == "retired":
            fact = replace(fact, valid_to=NOON + timedelta(hours=drawn.randint(0, 4)))
        if what == "archived":
            fact = replace(fact, archived_at=NOON)
        made.append(fact)
    return [one for one in made if not one.merged_into or not _by_id(made)[one.merged_into].merged_into]


def _by_id(made: list[Fact]) -> dict[object, Fact]:
    return {one.fact_id: one for one in made}


def _is_gone(one: Fact, made: list[Fact], said: str, as_of: datetime | None) -> bool:
    """By the rule, said once more in the plainest way."""

    def is_true(fact: Fact | None) -> bool:
        if fact is None or (as_of is not None and fact.merged_into):
            return False
        return fact.is_so or (as_of is not None and fact.valid_to is not None and fact.valid_to > as_of)

    if one.active or one.merged_into or is_true(one) or len(one.content) < 4:
        return False
    if one.content.lower() not in " ".join(said.lower().split()):
        return False
    same = [other for other in made if other.content.lower() == one.content.lower()]
    return not any(is_true(other) or is_true(_by_id(made).get(other.merged_into)) for other in same)
