"""`nous audit`: what is wrong is found, counted and told with what mends it; what is right is healthy; and every look is kept."""

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from nous import clock
from nous.cli.audit import LEAST_BLOCK, Asked, Look
from nous.cli.audit_findings import KINDS, Finding
from nous.cli.audit_page import Redundant, together
from nous.cli.shares import Share
from nous.settings import Settings
from store import audit_sampled, audits, decisions, embedders, episodes, facts, mentions, relations, usage, vectors
from store.audit import Week
from store.audits import Audit
from store.database import Database
from store.facts import Fact
from store.usage import Usage
from tests.conftest import repository
from tests.factories import NOON, a_decision, a_fact, a_mention, a_relation, a_vector, an_episode, an_id
from tests.nous.conftest import Nous

A = "a"
NOUS = str(Path(sys.executable).with_name("nous"))


async def stored(database: Database, new: Sequence[Fact], *, seeds: Sequence[int | None] | None = None) -> None:
    """Facts with a vector each, made of these seeds: the same seed is the same direction; None is no vector."""
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    chosen = seeds if seeds is not None else range(1, len(new) + 1)
    async with database.write({one.agent_id for one in new}) as db:
        await facts.insert(db, new)
        await vectors.insert(db, table, [(*one.key, a_vector(seed)) for one, seed in zip(new, chosen, strict=True) if seed])


async def found(nous: Nous, *words: str) -> dict[str, Any]:
    """Every finding, by its name."""
    result = await nous("audit", "--json", *words)
    assert result.stdout, result.output
    told = json.loads(result.stdout)
    assert told["healthy"] == (result.exit_code == 0)
    return {one["finding"]: one for one in told["findings"]}


async def test_an_empty_store_and_one_of_claims_are_healthy(nous: Nous, database: Database) -> None:
    assert not [one for one in (await found(nous)).values() if one["count"]]
    await stored(database, [a_fact(agent_id=A, content=f"Maria keeps the key number {at} in the kitchen") for at in range(20)])
    result = await nous("audit")
    assert result.exit_code == 0, result.output
    assert "20 true facts of every agent" in result.stdout
    assert "healthy: nothing is above its limit" in result.stdout


@pytest.mark.parametrize("words", [(), ("--history",), ("merges",)])
async def test_an_agent_without_a_name_is_not_everybody(nous: Nous, words: tuple[str, ...]) -> None:
    """As a script says it whose variable is not set."""
    refused = await nous("audit", *words, "--agent", "")
    assert (refused.exit_code, "--agent '' does not do" in refused.output) == (2, True)


async def test_two_facts_as_near_as_one_are_twins_until_somebody_settles_them(nous: Nous, database: Database) -> None:
    one = a_fact(agent_id=A, content="Maria drinks her coffee black", subject="Maria")
    twin = a_fact(agent_id=A, content="Maria takes black coffee", subject="Maria")
    port = a_fact(agent_id=A, content="The server listens on port 5432", subject="server")
    another = a_fact(agent_id=A, content="The server listens on port 5433", subject="server")
    ken = a_fact(agent_id=A, content="Ken takes black coffee", subject="Ken")
    await stored(database, [one, twin, port, another, ken], seeds=[1, 1, 2, 2, 1])
    twins = (await found(nous))["likely_twins"]
    assert {seen["id"] for seen in twins["first"]} <= {str(each.fact_id) for each in (one, twin)}
    assert twins["not_counted"]["told apart by the guard"] == 2
    assert twins["detail"] == {"never asked": twins["count"]}
    assert len({frozenset((seen["id"], seen["other"])) for seen in twins["first"]}) == len(twins["first"])
    assert twins["over"]
    shown = (await nous("audit")).stdout
    assert f"  counted: {twins['count']} never asked" in shown
    assert "as near, and not counted: 2 told apart by the guard" in shown
    async with database.write([A]) as db:
        low, high = sorted((one.text_key, twin.text_key))
        await relations.put(db, [a_relation(agent_id=A, low_key=low, high_key=high, relation="compatible", richer_key=None)])
    settled = (await found(nous))["likely_twins"]
    assert (settled["count"], settled["detail"]) == (0, {})
    assert settled["not_counted"]["settled"] >= 1


async def test_twins_that_differ_far_behind_their_beginning_are_told_apart_as_the_workers_tell_them_apart(
    nous: Nous, database: Database
) -> None:
    notes = "Maria drinks her coffee black. " * 40
    await stored(database, [a_fact(agent_id=A, content=f"{notes}The server listens on port {port}") for port in (5432, 5433)], seeds=[1, 1])
    twins = (await found(nous))["likely_twins"]
    assert (twins["count"], twins["not_counted"]) == (0, {"told apart by the guard": 2})


async def test_what_was_compared_when_the_time_is_over_was_drawn_by_chance_from_every_agent(nous: Nous, database: Database) -> None:
    large = [a_fact(agent_id=A, fact_id=UUID(int=at), content=f"Maria has seen the film {at}") for at in range(60)]
    small = [a_fact(agent_id=f"b{at % 20}", fact_id=UUID(int=100 + at), content=f"Ken has read the book {at}") for at in range(60)]
    await stored(database, large, seeds=[at // 2 + 1 for at in range(60)])
    await stored(database, small)
    async with database.overview() as db:
        drawn = await audit_sampled.sampled(db, agent=None, limit=120)
        used = await embedders.active(db)
    look = Look(Settings(embedder="zero"), database, Asked(), lambda _: None)
    pages = [page async for page, _ in look._compared(used, 0.9, drawn, within_s=0.0)]
    assert pages == [drawn[:LEAST_BLOCK]]
    assert len({one.agent_id for one in pages[0]}) > 2
    every = [(page, near) async for page, near in look._compared(used, 0.9, drawn, within_s=60.0)]
    assert [one for page, _ in every for one in page] == drawn
    assert {twin.fact_id for _, near in every for twin in near} == {one.fact_id for one in large}


async def test_a_fact_without_a_vector_is_found_and_the_command_makes_it(nous: Nous, database: Database) -> None:
    bare = a_fact(agent_id=A, content="Maria lives in Oslo")
    await stored(database, [bare, a_fact(agent_id=A, content="Maria likes her work")], seeds=[None, 1])
    without = (await found(nous))["without_vector"]
    assert (without["count"], without["of"], without["over"]) == (1, 2, True)
    assert without["first"] == [{"agent_id": A, "id": str(bare.fact_id)}]
    shown = " ".join((await nous("audit")).stdout.split())
    assert "reembed --to NAME" in shown
    assert (await nous("reembed", "--to", "zero")).exit_code == 0
    assert (await found(nous))["without_vector"]["count"] == 0


async def test_what_was_looked_at_is_counted_where_nothing_was_found(nous: Nous, database: Database) -> None:
    episode, decision = an_episode(agent_id=A), an_id()
    old = a_fact(agent_id=A, source=f"episode:{episode.episode_id}")
    retired = a_fact(agent_id=A, active=False, valid_to=NOON, superseded_by=old.fact_id)
    await stored(database, [old, retired])
    async with database.write([A]) as db:
        await episodes.put(db, episode)
        await decisions.put(db, [a_decision(agent_id=A, decision_id=decision)])
        await episodes.link_decisions(db, A, episode.episode_id, {decision: "named"})
        await usage.put(db, [Usage(A, "fact", old.fact_id, retrieved=9, injected=9, compared=5, referenced=1)])
    told = await found(nous)
    looked_at = {
        "without_vector": 1,
        "vectors_not_in_use": 2,
        "dangling_links": 3,
        "unrecorded_decisions": 1,
        "rings": 1,
        "long_chains": 1,
        "never_drawn_on": 1,
    }
    assert {name: (told[name]["count"], told[name]["of"]) for name in looked_at} == {name: (0, of) for name, of in looked_at.items()}


async def test_vectors_of_an_embedder_that_was_in_use_are_told_beside_all_there_are(nous: Nous, database: Database) -> None:
    two = [a_fact(agent_id=A) for _ in range(2)]
    await stored(database, two)
    async with database.switching() as db:
        await embedders.register(await db.connection(), "before", 512)
    async with database.overview() as db:
        before = next(one for one in await embedders.known(db) if one.name == "before")
    async with database.write([A]) as db:
        await vectors.insert(db, before.table, [(*two[0].key, a_vector(1))])
    told = (await found(nous))["vectors_not_in_use"]
    assert (told["count"], told["of"], told["detail"]) == (1, 3, {"before": 1})


async def test_links_to_what_is_not_there_are_found_whatever_they_lead_to(nous: Nous, database: Database, database_url: str) -> None:
    kept = an_episode(agent_id=A)
    there = a_fact(agent_id=A, source=f"episode:{kept.episode_id}")
    lost = a_fact(agent_id=A, source=f"episode:{an_id()}")
    by_hand = a_fact(agent_id=A, source="episode: the one in March")
    gone, retired = an_id(), a_fact(agent_id=A, active=False, valid_to=NOON)
    await stored(database, [there, lost, by_hand, retired])
    known, unknown = an_id(), an_id()
    async with database.write([A]) as db:
        await episodes.put(db, kept)
        await decisions.put(db, [a_decision(agent_id=A, decision_id=known)])
        await episodes.link_decisions(db, A, kept.episode_id, {known: "named", unknown: "named"})
    owner = await asyncpg.connect(database_url)
    await owner.execute("SELECT set_config('nous.agents', '{a}', false)")
    await owner.execute("ALTER TABLE heart.facts DROP CONSTRAINT fk_facts_superseded_by")
    await owner.execute("SET ROLE nous_worker")
    await owner.execute("UPDATE heart.facts SET superseded_by = $1 WHERE fact_id = $2", gone, retired.fact_id)
    await owner.close()
    told = await found(nous)
    assert told["dangling_links"]["detail"] == {"superseded_by": 1, "source": 1}
    assert {(seen["id"], seen["other"]) for seen in told["dangling_links"]["first"]} == {
        (str(retired.fact_id), str(gone)),
        (str(lost.fact_id), str(lost.source).partition(":")[2]),
    }
    assert (told["dangling_links"]["count"], told["dangling_links"]["of"]) == (2, 3)
    assert (told["unrecorded_decisions"]["count"], told["unrecorded_decisions"]["of"]) == (1, 2)
    assert not told["unrecorded_decisions"]["over"]


async def test_what_was_retired_in_a_ring_or_again_and_again_is_found(nous: Nous, database: Database) -> None:
    made = [a_fact(agent_id=A, active=False, valid_to=NOON) for _ in range(6)]
    row = [replace(one, superseded_by=next_.fact_id) for one, next_ in pairwise(made)]
    last = replace(made[-1], active=True, valid_to=None)
    ring = [a_fact(agent_id=A, active=False, valid_to=NOON) for _ in range(3)]
    turning = [replace(one, superseded_by=ring[(at + 1) % 3].fact_id) for at, one in enumerate(ring)]
    await stored(database, [*row, last, *turning])
    healthy = await found(nous, "--longest", "8")
    assert (healthy["long_chains"]["count"], healthy["rings"]["count"]) == (0, 3)
    assert (healthy["long_chains"]["of"], healthy["rings"]["of"]) == (8, 8)
    told = await found(nous, "--longest", "4")
    assert told["long_chains"]["first"] == [{"agent_id": A, "id": str(last.fact_id)}]
    assert {seen["id"] for seen in told["rings"]["first"]} == {str(one.fact_id) for one in ring}
    assert told["rings"]["over"]


async def test_two_values_of_one_thing_are_a_contradiction_unless_both_may_be_or_it_is_a_dispute(nous: Nous, database: Database) -> None:
    oslo, rome = (
        a_fact(agent_id=A, content=f"Maria lives in {city}", subject=name, attribute=attribute)
        for city, name, attribute in (("Oslo", "Maria", "residence"), ("Rome", "maria", "Residence"))
    )
    norse, latin = (
        a_fact(agent_id=A, content=f"Maria speaks {tongue}", subject="Maria", attribute="languages") for tongue in ("Norse", "Latin")
    )
    acme = a_fact(agent_id=A, content="Ken works at Acme", subject="Ken", attribute="employer", provenance="user_stated")
    bolt = a_fact(
        agent_id=A, content="Ken works at Bolt", subject="Ken", attribute="employer", provenance="assistant_derived", disputes=acme.fact_id
    )
    await stored(database, [oslo, rome, norse, latin, acme, bolt])
    told = (await found(nous))["contradictions"]
    assert (told["count"], told["of"]) == (1, 2)
    assert {told["first"][0]["id"], told["first"][0]["other"]} == {str(oslo.fact_id), str(rome.fact_id)}
    async with database.write([A]) as db:
        low, high = sorted((oslo.text_key, rome.text_key))
        two_homes = a_relation(agent_id=A, low_key=low, high_key=high, relation="compatible", richer_key=None, decided_by="person")
        await relations.put(db, [two_homes])
    assert (await found(nous))["contradictions"]["count"] == 0


async def test_junk_is_counted_by_its_kind(nous: Nous, database: Database) -> None:
    said = ["Yes.", "The project is a project.", "What is the name of the cat?", "Maria lives in Oslo with her sister"]
    await stored(database, [a_fact(agent_id=A, content=one, subject=None) for one in said])
    told = (await found(nous))["junk"]
    assert (told["count"], told["of"], told["over"]) == (3, 4, True)
    assert told["detail"] == {"too short": 1, "tautology": 1, "a question": 1}


async def test_what_was_held_against_answers_and_never_drawn_on_is_told_and_fails_nothing_unless_asked_to(
    nous: Nous, database: Database
) -> None:
    used, unused, unseen = new = [a_fact(agent_id=A) for _ in range(3)]
    await stored(database, new)
    async with database.write([A]) as db:
        await usage.put(
            db,
            [
                Usage(A, "fact", used.fact_id, retrieved=9, injected=9, compared=5, referenced=1),
                Usage(A, "fact", unused.fact_id, retrieved=9, injected=9, compared=5),
                Usage(A, "fact", unseen.fact_id, retrieved=9, injected=9),
            ],
        )
    told = await found(nous)
    assert (told["never_drawn_on"]["count"], told["never_drawn_on"]["of"]) == (1, 2)
    assert not told["never_drawn_on"]["over"]
    asked = await found(nous, "--fail-on", "never_drawn_on=0.4")
    assert asked["never_drawn_on"]["over"]


async def test_what_was_added_twice_is_counted_by_week_with_its_trend(nous: Nous, database: Database) -> None:
    now = clock.now()
    early, late = now - timedelta(days=40), now - timedelta(days=2)
    first = [a_fact(agent_id=A, content=f"Maria owns the house number {at} in Lyon", created_at=early) for at in range(30)]
    again = [a_fact(agent_id=A, content=f"In Lyon Maria has house {at}", created_at=late) for at in range(10)]
    merged = [a_fact(agent_id=A, active=False, merged_into=first[at].fact_id, created_at=late) for at in range(20)]
    await stored(database, [*first, *again, *merged], seeds=[*range(1, 31), *range(1, 11), *range(101, 121)])
    result = await nous("audit", "--json")
    told = json.loads(result.stdout)
    weeks = [week for week in told["redundant_by_week"] if week["added"]]
    assert [(week["added"], week["merged_since"], week["twins"], week["redundant"]) for week in weeks] == [(30, 0, 0, 0), (30, 20, 10, 30)]
    assert told["redundant_trend"] == "rising"
    redundant = next(one for one in told["findings"] if one["finding"] == "redundant_added")
    assert (redundant["count"], redundant["of"], redundant["over"]) == (30, 30, True)


async def test_facts_are_counted_by_who_vouches_for_them_and_by_age(nous: Nous, database: Database) -> None:
    now = clock.now()
    ages = {"user_stated": 1, "assistant_derived": 400}
    await stored(database, [a_fact(agent_id=A, provenance=who, claimed_at=now - timedelta(days=days)) for who, days in ages.items()])
    told = json.loads((await nous("audit", "--json")).stdout)["facts"]
    assert (told["active"], told["rows"]) == (2, 2)
    assert told["by_provenance_and_age"]["user_stated"]["under a week"] == 1
    assert told["by_provenance_and_age"]["assistant_derived"]["older"] == 1


async def test_every_look_is_kept_an_agent_s_apart_from_everybody_s(nous: Nous, database: Database) -> None:
    assert "no audit was made yet" in (await nous("audit", "--history")).stdout
    await stored(database, [a_fact(agent_id=A, content="Yes.")])
    for words in ((), ("--fail-on", "nothing"), ("--agent", A)):
        await nous("audit", *words)
    all_of_them = await nous.json("audit", "--history")
    assert [(one["agent_id"], one["healthy"]) for one in all_of_them] == [(None, True), (None, False)]
    assert all_of_them[0]["junk"]["count"] == 1
    assert [one["agent_id"] for one in await nous.json("audit", "--history", "--agent", A)] == [A]
    assert "1 (100.0%)" in (await nous("audit", "--history")).stdout
    assert (await nous("agent", "forget", A, "--because", "its user left", "--yes")).exit_code == 0
    assert (await nous("audit", "--history", "--agent", A)).exit_code == 2  # nothing is kept of it


async def test_another_agent_s_trouble_is_not_this_agent_s(nous: Nous, database: Database) -> None:
    await stored(database, [a_fact(agent_id=A, content="Yes.")], seeds=[None])
    await stored(database, [a_fact(agent_id="b", content="Ken lives in Oslo with his sister")])
    assert not [name for name, one in (await found(nous, "--agent", "b")).items() if one["count"]]


@pytest.mark.parametrize("words", [(), ("--history",), ("merges",)])
async def test_an_agent_of_which_nothing_is_kept_is_not_healthy_but_a_mistake(
    nous: Nous, database: Database, words: tuple[str, ...]
) -> None:
    await stored(database, [a_fact(agent_id="harbour-desk")])
    refused = await nous("audit", *words, "--agent", "harbor-desk")
    assert refused.exit_code == 2
    assert "Nothing is kept of agent 'harbor-desk' (did you mean harbour-desk?)" in refused.output
    assert await nous.json("audit", "--history") == []
    async with database.notes(["harbor-desk"]) as db:  # as it was left by looking, when that was not refused yet
        await audits.put(db, Audit("harbor-desk", NOON, True, {}))
    assert (await nous("upkeep", "run", "--now", "--agent", "harbor-desk")).exit_code == 2


@pytest.mark.parametrize(
    "claims",
    [{"Oslo": [(9, "a"), (1, "c")], "Rome": [(5, "b")]}, {"Oslo": [(5, "b")], "Rome": [(5, "a")]}],
    ids=["one again after the other", "both at one moment"],
)
async def test_what_mends_a_finding_can_be_done_and_undone_and_names_the_first_pair(
    nous: Nous, database: Database, claims: dict[str, list[tuple[int, str]]]
) -> None:
    """Each claim is so many days old and of this event: Rome was last claimed before Oslo."""
    oslo, rome = (_claimed(f"Maria lives in {city}", its) for city, its in claims.items())
    await stored(database, [oslo, rome], seeds=[1, 1])
    async with database.write([A]) as db:
        told_again = [(fact, *one) for fact, its in zip((oslo, rome), claims.values(), strict=True) for one in its]
        await mentions.insert(
            db, [a_mention(fact, event_id=event, occurred_at=NOON - timedelta(days=days)) for fact, days, event in told_again]
        )
    told = (await found(nous))["contradictions"]
    one, other = rome.fact_id, oslo.fact_id
    assert told["first"] == (await found(nous))["likely_twins"]["first"] == [{"agent_id": A, "id": str(one), "other": str(other)}]
    ways = [way["do"] for way in told["mend"]]
    assert ways[1:3] == [f"nous fact retire {one} --for {other} --because '…'", f"nous fact merge {one} {other} --because '…'"]
    assert not [way for kind in KINDS.values() for way in kind.mend if "forget" in way.do + way.when]
    shown = (await nous("audit")).stdout
    assert f"\n    nous fact retire {one} --for {other} --because '…'\n      where the first is over" in shown
    assert "nous audit --fail-on NAME=LIMIT" in shown
    retired = await nous("fact", "retire", str(one), "--for", str(other), "--because", "she moved back")
    assert retired.exit_code == 0, retired.output
    assert (await found(nous))["contradictions"]["count"] == 0


async def test_what_no_command_can_end_is_named_last(nous: Nous, database: Database) -> None:
    """A user's claim that an assistant's later one stands beside: only the user can say which is true."""
    home, employer = {"agent_id": A, "attribute": "residence"}, {"agent_id": A, "attribute": "employer"}
    later = {"claimed_at": NOON + timedelta(days=1)}
    theirs, guessed = a_fact(**home, provenance="user_stated"), a_fact(**home, provenance="assistant_derived", **later)
    old, new = a_fact(**employer, provenance="user_stated"), a_fact(**employer, provenance="user_stated", **later)
    await stored(database, [theirs, guessed, old, new])
    named = (await found(nous))["contradictions"]["first"]
    assert [(one["id"], one["other"]) for one in named] == [
        (str(old.fact_id), str(new.fact_id)),
        (str(theirs.fact_id), str(guessed.fact_id)),
    ]


def _claimed(content: str, claims: Sequence[tuple[int, str]]) -> Fact:
    """Where Maria lives, by these claims, the first first: each so many days old, and its event."""
    (began, first), (last, latest) = claims[0], claims[-1]
    return a_fact(
        agent_id=A,
        content=content,
        attribute="residence",
        valid_from=NOON - timedelta(days=began),
        stored_by=first,
        claimed_at=NOON - timedelta(days=last),
        claimed_by=latest,
    )


@pytest.mark.parametrize(
    ("written", "why"),
    [("twins", "likely_twins"), ("junk=much", "a limit is a number"), ("junk=-1", "a limit is a number")],
)
async def test_a_limit_that_does_not_do_is_a_mistake(nous: Nous, written: str, why: str) -> None:
    result = await nous("audit", "--fail-on", written)
    assert result.exit_code == 2
    assert why in result.output


async def test_an_embedder_that_is_not_the_store_s_is_refused(nous: Nous) -> None:
    result = await nous("audit", NOUS_EMBEDDER="use-multilingual-v3")
    assert result.exit_code == 2
    assert "the store's vectors are of the embedder 'zero'" in result.output


def test_the_page_of_audits_lists_every_finding_with_its_limit() -> None:
    page = (repository() / "docs" / "audit.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| .+ \| ?([\d %]*) ?\|$", page, re.MULTILINE)
    assert {name: limit.strip() for name, limit in listed} == {name: _written(kind.limit) for name, kind in KINDS.items()}


def _written(limit: float | None) -> str:
    return "" if limit is None else f"{100 * limit:g} %" if limit else "0"


def test_a_few_of_a_sample_are_above_no_limit_that_chance_alone_may_pass() -> None:
    few = Finding(KINDS["junk"], Share(2, 20), is_sampled=True, limit=0.05)
    assert not few.is_over
    assert replace(few, share=Share(200, 2_000)).is_over
    assert replace(few, is_sampled=False).is_over


def a_week(*, added: int, merged: int = 0, looked_at: int, twins: int) -> Redundant:
    return Redundant(Week(NOON, added, merged, added - merged), looked_at, twins)


def test_what_was_sampled_of_a_week_is_as_sure_as_the_sample_and_not_as_what_was_added() -> None:
    few = together([a_week(added=10_000, looked_at=10, twins=2)])
    assert (few.count, few.of) == (2_000, 10_000)
    assert few.interval[0] < 0.10
    assert few.interval[1] == pytest.approx(Share(2, 10).interval[1], abs=0.01)
    assert not Finding(KINDS["redundant_added"], few, is_sampled=True, limit=0.10).is_over
    many = together([a_week(added=10_000, looked_at=100, twins=20) for _ in range(4)])
    assert many.value == pytest.approx(0.2)
    assert many.interval == pytest.approx(Share(80, 400).interval, abs=0.01)
    assert Finding(KINDS["redundant_added"], many, is_sampled=True, limit=0.10).is_over


def test_a_week_of_which_nothing_was_looked_at_may_be_all_or_nothing() -> None:
    assert together([a_week(added=1_000, looked_at=0, twins=0)]).interval == (0.0, 1.0)
    assert together([]).interval == (0.0, 1.0)


def test_a_limit_that_is_a_number_is_held_against_how_many_there_are_in_all_and_not_in_the_sample() -> None:
    twins = Finding(KINDS["likely_twins"], Share(50, 2_000), is_sampled=True, estimate=25_000, limit=10_000)
    assert twins.is_over
    assert not replace(twins, limit=24_000).is_over
    assert replace(twins, estimate=50, limit=49).is_over
    assert not Finding(KINDS["redundant_added"], together([a_week(added=100, looked_at=10, twins=2)]), is_sampled=True, limit=19).is_over


# ── merges ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def merged(database: Database) -> tuple[Fact, Fact, Fact]:
    """A fact, a row that was merged into it, and another claim of it in other words."""
    whole = a_fact(agent_id=A, content="Maria lives in Oslo", subject="Maria")
    part = a_fact(agent_id=A, content="Maria's home is Oslo", subject="Maria", active=False, merged_into=whole.fact_id)
    heard = a_fact(agent_id=A, content="Oslo is where Maria lives", subject="Maria")
    await stored(database, [whole, part], seeds=[1, 1])
    async with database.write([A]) as db:
        said = a_mention(whole, content=heard.content, content_hash=heard.content_hash, mention_id=heard.fact_id)
        await mentions.insert(
            db,
            [
                a_mention(whole, mention_id=whole.fact_id, event_id=whole.stored_by),
                a_mention(part, mention_id=part.fact_id, event_id=part.stored_by),
                replace(said, outcome="confirmed", similarity=0.96, event_id="said-again"),
            ],
        )
    return whole, part, heard


async def test_merges_are_shown_and_what_a_person_says_is_kept_and_never_asked_again(nous: Nous, database: Database) -> None:
    whole, part, heard = await merged(database)
    listed = await nous.json("audit", "merges")
    assert {(one["part_id"], one["part"], one["whole"], one["how"]) for one in listed} == {
        (str(part.fact_id), part.content, whole.content, "merged"),
        (str(heard.fact_id), heard.content, whole.content, "confirmed"),
    }
    assert {one["how"]: one["similarity"] for one in listed} == {"merged": pytest.approx(1, abs=1e-3), "confirmed": 0.96}
    wrong = "n" if listed[0]["how"] == "merged" else "y"
    right = "y" if wrong == "n" else "n"
    shown = await nous.typed("audit", "merges", said=f"perhaps\n{wrong}\n{right}\n")
    assert "1 of 2" in shown.stdout
    assert f"fact split {part.fact_id} --because" in shown.stdout
    assert "'perhaps' is none of the answers: y (one fact), n (two)" in shown.stdout
    assert "2 merges that nobody judged" in shown.stdout
    assert "Claims in the very words of the fact are one with it" in shown.stdout
    assert "kept: 1 said to be one fact, 1 to be two" in shown.stdout
    assert "no merge is left that nobody judged" in (await nous("audit", "merges")).stdout


async def test_an_answer_that_was_mistyped_is_given_again_at_once_or_later(nous: Nous, database: Database) -> None:
    await merged(database)
    shown = await nous.typed("audit", "merges", said="b\nn\nb\ny\ny\n")
    assert "this is the first" in shown.stdout
    assert "; said before: two" in shown.stdout
    assert "kept: 2 said to be one fact, 0 to be two" in shown.stdout
    assert {one["is_one"] for one in await nous.json("audit", "merges", "--again")} == {True}
    again = await nous.typed("audit", "merges", "--again", said="n\nq\n")
    assert "; said before: one fact" in again.stdout
    (latest, before) = await nous.json("audit", "merges", "--again")
    assert (latest["is_one"], before["is_one"]) == (False, True)
    assert await nous.json("audit", "merges") == []


async def test_skipping_and_quitting_keep_nothing_and_the_pair_comes_again(nous: Nous, database: Database) -> None:
    await merged(database)
    for said in ("s\nq\n", "", "q\n"):
        assert "nothing was kept" in (await nous.typed("audit", "merges", said=said)).stdout
    assert len(await nous.json("audit", "merges", "--sample", "9")) == 2
    assert len(await nous.json("audit", "merges", "--sample", "1")) == 1


async def test_what_was_said_before_a_ctrl_c_is_kept_and_one_is_enough(nous: Nous, database: Database) -> None:
    await merged(database)
    env = os.environ | nous.env
    process = await asyncio.create_subprocess_exec(NOUS, "audit", "merges", env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert process.stdin
    assert process.stdout
    try:
        async with asyncio.timeout(30):
            await process.stdout.readuntil(b"q to quit: ")
            process.stdin.write("♥\n".encode("utf-16") + b"\ny\n")
            await process.stdout.readuntil(b"2 of 2")
            await process.stdout.readuntil(b"q to quit: ")
            process.send_signal(signal.SIGINT)
            _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, err) == (130, b"")
    assert len(await nous.json("audit", "merges")) == 1


async def test_where_standard_input_is_closed_nobody_is_asked_and_that_is_said(nous: Nous, database: Database) -> None:
    await merged(database)
    shell = await asyncio.create_subprocess_shell(f"{NOUS} audit merges <&-", env=os.environ | nous.env, stdout=PIPE, stderr=PIPE)
    _, err = await shell.communicate()
    assert (shell.returncode, err) == (2, b"nous: standard input is closed, so nobody can be asked: --json prints the merges\n")


async def test_a_merge_that_was_judged_wrong_is_undone_by_the_command_it_names(nous: Nous, database: Database) -> None:
    _, part, _ = await merged(database)
    result = await nous("fact", "split", str(part.fact_id), "--because", "two homes", "--agent", A)
    assert result.exit_code == 0, result.output
    assert part.content in {one["content"] for one in await nous.json("facts", "--agent", A)}


@pytest.mark.parametrize(
    "words", [("dead", "list"), ("dead", "list", "--counts"), ("censor", "list"), ("token", "list"), ("facts",), ("answers",)]
)
async def test_an_empty_list_of_an_agent_of_which_nothing_is_kept_says_so(nous: Nous, database: Database, words: tuple[str, ...]) -> None:
    await stored(database, [a_fact(agent_id="harbour-desk")])
    shown = await nous(*words, "--agent", "harbor-desk")
    assert (shown.exit_code, "(did you mean harbour-desk?)" in " ".join(shown.stdout.split())) == (0, True)
    assert "Nothing is kept" not in (await nous(*words, "--agent", "harbour-desk")).stdout
