"""How facts stand, as a person sees and decides it: what became of them, what was true when, their story, what minds cost."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

import pytest
from redis.asyncio import Redis

from nous import clock, embedded
from nous.cli.moments import typed
from nous.errors import UserMistake
from providers.mind import MindAway
from providers.offline import OfflineMind
from store import decisions, outbox, receipts
from store.database import Database
from tests.conftest import until
from tests.factories import a_decision
from tests.nous.conftest import Nous, PortsAreAlike, at_work, contents
from tests.nous.conftest import learned as claimed
from tests.store.conftest import run
from tests.workers.conftest import ScriptedMind
from workers.runtime import filling
from workers.runtime.worker import Kit

OSLO, BERGEN, ROME = "Maria lives in Oslo.", "Maria lives in Bergen.", "Maria lives in Rome."
AGAIN = "Oslo is where Maria lives."
OFFLINE = OfflineMind().model("relation")
OPEN, SAID_OTHERWISE = "The port is not open.", "The port isn't open."


@pytest.fixture
def mind() -> ScriptedMind:
    made = ScriptedMind()
    for one, other in ((OSLO, BERGEN), (OSLO, ROME), (BERGEN, ROME)):
        made.says(one, "updates", other)
    made.says(OSLO, "same", AGAIN)
    return made


@pytest.fixture
async def working(nous: Nous, kit: Kit, stack: embedded.Stack, mind: ScriptedMind) -> AsyncIterator[None]:
    """Every worker, asking the scripted mind."""
    async with at_work(replace(kit, embedder=PortsAreAlike(), mind=mind), stack):
        yield


async def learned(nous: Nous, *claims: tuple[str, int], **fields: str) -> dict[str, str]:
    """Claim these one after another, each on its day of March 2026, and give the published ids by content."""
    return {content: await claimed(nous, content, day, **fields) for content, day in claims}


# ── what is remembered, and what became of the rest ───────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_what_is_superseded_or_merged_is_hidden_and_all_says_what_became_of_it(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (AGAIN, 2), (BERGEN, 3))
    (bergen,) = await nous.json("facts")
    assert (bergen["content"], bergen["superseded_by"], bergen["merged_into"], bergen["disputes"]) == (BERGEN, None, None, None)
    oslo, again, _ = await nous.json("facts", "--all")
    assert (oslo["superseded_by"], oslo["valid_from"][:10], oslo["valid_to"][:10]) == (told[BERGEN], "2026-03-01", "2026-03-03")
    assert (again["merged_into"], again["active"], again["valid_to"]) == (told[OSLO], False, None)
    assert [one["content"] for one in oslo["mentions"]] == [OSLO, AGAIN]
    assert [one["content"] for one in again["mentions"]] == [AGAIN]
    _, *lines = (await nous("facts", "--all")).stdout.splitlines()
    assert [line.split("\t")[5:] for line in lines] == [
        ["inactive", f"superseded by {told[BERGEN]}"],
        ["inactive", f"merged into {told[OSLO]}"],
        [],
    ]


@pytest.mark.usefixtures("working")
async def test_what_an_assistant_says_against_the_user_stays_and_says_what_it_disputes(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1))
    told |= await learned(nous, (BERGEN, 2), provenance="assistant_derived")
    _, disputing = await nous.json("facts")
    assert (disputing["active"], disputing["disputes"]) == (True, told[OSLO])
    assert (await nous("facts")).stdout.splitlines()[-1].endswith(f"{BERGEN}\t\tdisputes {told[OSLO]}")
    shown = (await nous("explain", "fact", told[BERGEN])).stdout
    assert f"disputes {told[OSLO]}: “{OSLO}”" in shown
    assert f"because: an assistant said so, and the user stated {told[OSLO]} “{OSLO}”" in shown


@pytest.mark.usefixtures("working")
async def test_a_terminal_of_eighty_columns_shows_what_became_of_it_and_never_more(nous: Nous) -> None:
    await learned(nous, (OSLO, 1), (BERGEN, 3))
    for columns in ("80", "160"):
        shown = (await nous("facts", "--all", FORCE_COLOR="1", COLUMNS=columns)).stdout
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert max(map(len, plain.splitlines())) <= int(columns)
        assert ("superseded by" in plain, "2026-03-01 to" in plain) == (True, True)
    assert "\x1b[3" not in (await nous("facts", "--all", FORCE_COLOR="1", NO_COLOR="1")).stdout


# ── another time ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_as_of_asks_the_world_known_at_asks_the_memory_and_both_ask_both(nous: Nous) -> None:
    await learned(nous, (OSLO, 1), (AGAIN, 2))
    before_bergen = clock.now().isoformat()
    await learned(nous, (BERGEN, 3))
    assert await contents(nous, "--as-of", "2026-02-28T23:59:59Z") == []
    assert await contents(nous, "--as-of", "2026-03-01T00:00:00Z") == [OSLO]
    assert await contents(nous, "--as-of", "2026-03-02T23:59:59Z") == [OSLO]
    assert await contents(nous, "--as-of", "2026-03-03T01:00:00+01:00") == [BERGEN]
    assert await contents(nous, "--as-of", "2026-03-02T12:00Z", "--all") == [OSLO, AGAIN]
    assert await contents(nous, "--known-at", before_bergen) == [OSLO]
    assert await contents(nous, "--known-at", before_bergen, "--all") == [OSLO, AGAIN]
    assert await contents(nous, "--known-at", before_bergen, "--as-of", "2026-03-09T00:00Z") == [OSLO]
    assert await contents(nous, "--as-of", "2026-03-09T00:00Z") == [BERGEN]
    assert await contents(nous, "--known-at", "2026-03-09T00:00Z") == []
    (then,) = await nous.json("facts", "--known-at", before_bergen)
    assert (then["active"], then["superseded_by"], then["valid_to"], len(then["mentions"])) == (True, None, None, 2)


@pytest.mark.usefixtures("working")
async def test_what_had_not_been_merged_yet_is_known_as_two_facts_with_a_wording_each(nous: Nous, mind: ScriptedMind) -> None:
    mind.says(OSLO, "unsure", AGAIN)
    await learned(nous, (OSLO, 1), (AGAIN, 2))
    before, told = clock.now().isoformat(), await nous.json("facts")
    assert [len(fact["mentions"]) for fact in told] == [1, 1]
    await nous("publish", "fact_learned", "agent_id=a", f"content={BERGEN}", "subject=Maria", "occurred_at=2026-03-03T00:00Z")
    await nous("wait")
    assert await nous.json("facts", "--known-at", before) == told


@pytest.mark.usefixtures("working")
async def test_a_time_before_everything_says_when_the_first_was_recorded_or_became_true(nous: Nous) -> None:
    await learned(nous, (OSLO, 3), (AGAIN, 4))
    (fact,) = await nous.json("facts")
    recorded = fact["created_at"][:16].replace("T", " ")
    known = (await nous("facts", "--known-at", "2026-01-01T00:00Z")).stdout
    assert known == f"No facts, as recorded by 2026-01-01 00:00 UTC. The first was recorded on {recorded} UTC.\n"
    true = (await nous("facts", "--as-of", "2026-01-01T00:00Z")).stdout
    assert true == "No facts that were true on 2026-01-01 00:00 UTC. The first is true since 2026-03-03 00:00 UTC.\n"
    assert "The first" not in (await nous("facts", "--agent", "nobody", "--as-of", "2026-01-01T00:00Z")).stdout


@pytest.mark.usefixtures("working")
async def test_a_story_is_in_the_order_of_working_and_says_when_what_was_claimed(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 3), (AGAIN, 2))
    story = (await nous("explain", "fact", told[OSLO])).stdout
    heads = re.findall(r"^ ?\d+  (\S+ \S+)  (\w+)  \(claimed (\S+) 00:00\)", story, re.MULTILINE)
    assert [at for at, _, _ in heads] == sorted(at for at, _, _ in heads)
    assert {"2026-03-02", "2026-03-03"} == {claimed for _, _, claimed in heads}
    assert {at[:10] for at, _, _ in heads}.isdisjoint({"2026-03-02", "2026-03-03"})


async def test_a_date_alone_is_its_midnight_in_utc_and_says_so(nous: Nous) -> None:
    result = await nous("facts", "--as-of", "2026-03-01")
    assert (result.exit_code, result.stdout) == (0, "No facts that were true on 2026-03-01 00:00 UTC.\n")
    assert result.stderr == "note: --as-of 2026-03-01 is taken as 2026-03-01T00:00Z, its midnight in UTC\n"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("2026-03-01T09:00", "has no time zone, so it is no one moment; write 2026-03-01T09:00Z for UTC"),
        ("2026-03-01 09:00", "has no time zone"),
        ("yesterday", "is no time; write it as 2026-03-01T09:30Z"),
        ("2026-02-30", "is no time"),
        ("0001-01-01T00:00+14:00", "is outside the years 1 to 9999"),
    ],
)
@pytest.mark.parametrize("option", ["--as-of", "--known-at"])
async def test_a_time_that_is_no_one_moment_is_a_mistake(nous: Nous, option: str, written: str, told: str) -> None:
    result = await nous("facts", option, written)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert f"nous: {option} '{written}' {told}" in result.stderr


def test_a_moment_is_read_with_its_offset() -> None:
    assert typed("--as-of", "2026-03-01t11:30:00+02:00") == datetime.fromisoformat("2026-03-01T09:30:00+00:00")
    assert typed("--as-of", None) is None
    with pytest.raises(UserMistake):
        typed("--as-of", "")


# ── ids and stories ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_an_id_that_was_merged_leads_to_the_fact_it_is_part_of(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (AGAIN, 2))
    for written in (told[AGAIN], told[AGAIN][:8]):
        story = await nous.json("explain", "fact", written)
        assert (story["fact"]["fact_id"], story["asked_for"]) == (told[OSLO], told[AGAIN])
    assert [one["content"] for one in story["fact"]["mentions"]] == [OSLO, AGAIN]
    assert [(one["fact_id"], one["content"]) for one in story["merged"]] == [(told[AGAIN], AGAIN)]
    assert [(one["worker"], one["happened"]) for one in story["story"]] == [
        ("deduplicator", "stored"),
        ("supersession_checker", "kept"),
        ("deduplicator", "stored"),
        ("supersession_checker", "merged"),
    ]
    shown = (await nous("explain", "fact", told[AGAIN])).stdout
    assert f"{told[AGAIN]} is part of it: “{AGAIN}”" in shown
    assert "Merged into it, as other wordings of one fact:" in shown


@pytest.mark.usefixtures("working")
async def test_a_story_tells_what_another_fact_did_to_it_why_and_at_what_cost(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (BERGEN, 3))
    story = await nous.json("explain", "fact", told[OSLO])
    *_, retired = story["story"]
    assert (retired["about"], retired["outcome"], retired["happened"]) == (told[BERGEN], "superseded", "retired")
    (change,) = retired["changes"]
    assert (change["fact_id"], change["now"]["superseded_by"], change["was"]["active"]) == (told[OSLO], told[BERGEN], True)
    (candidate,) = [one for one in retired["candidates"] if one["fact_id"] == told[OSLO]]
    assert {name: candidate[name] for name in ("content", "relation", "why", "reason", "decided_by")} == {
        "content": OSLO,
        "relation": "updates",
        "why": "same subject",
        "reason": "as it was told",
        "decided_by": "scripted",
    }
    assert (retired["evidence"]["model"], retired["evidence"]["tokens_in"]) == ("scripted", 100)
    shown = (await nous("explain", "fact", told[OSLO])).stdout
    assert f"superseded by {told[BERGEN]}: “{BERGEN}”" in shown
    assert f"about “{BERGEN}” ({told[BERGEN]})" in shown
    assert re.search(rf"updates  “{OSLO}” \(same subject, [-0-9.]+\), by scripted: as it was told", shown)
    assert "mind: scripted, 100 tokens in, 10 out, 0.0 s" in shown
    assert f"this fact: superseded by “{BERGEN}”, true until 2026-03-03 00:00" in shown


@pytest.mark.usefixtures("working")
async def test_a_story_shows_what_was_true_before_and_after(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (BERGEN, 3), (ROME, 5))
    for content in (OSLO, BERGEN, ROME):
        chain = (await nous.json("explain", "fact", told[content]))["chain"]
        assert [(one["content"], one["valid_from"][:10], (one["valid_to"] or "now")[:10]) for one in chain] == [
            (OSLO, "2026-03-01", "2026-03-03"),
            (BERGEN, "2026-03-03", "2026-03-05"),
            (ROME, "2026-03-05", "now"),
        ]
    shown = (await nous("explain", "fact", told[BERGEN])).stdout.splitlines()
    start = shown.index("What was true, oldest first:")
    assert shown[start + 1 : start + 4] == [
        f"    2026-03-01 00:00 to 2026-03-03 00:00  {OSLO}  {told[OSLO]}",
        f"  ▶ 2026-03-03 00:00 to 2026-03-05 00:00  {BERGEN}  {told[BERGEN]}",
        f"    2026-03-05 00:00 to now               {ROME}  {told[ROME]}",
    ]


# ── what a person decides ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_a_restored_fact_is_true_beside_the_one_that_had_retired_it_for_ever(nous: Nous, database: Database, redis: Redis) -> None:
    told = await learned(nous, (OSLO, 1), (BERGEN, 3))
    decided = await nous.json("fact", "restore", told[OSLO][:8], "--because", "she has two homes")
    assert (decided["outcome"], decided["fact"]["fact_id"], decided["fact"]["active"]) == ("restored", told[OSLO], True)
    assert (decided["other"]["fact_id"], decided["still_retired_by"]) == (told[BERGEN], None)
    async with database.overview() as db:
        receipt = (await receipts.of_agent(db, "a", receipts.OPERATOR))[-1]
    assert (receipt.stream, receipt.outcome, receipt.reason, str(receipt.about)) == (
        "fact_restored",
        "restored",
        "she has two homes",
        told[OSLO],
    )
    assert (receipt.evidence["before"]["active"], receipt.evidence["after"]["active"]) == (False, True)
    assert (receipt.event_id, [name.partition(":")[0] for name in receipt.derived]) == (
        decided["event_id"],
        ["fact_restored", "fact_unsettled"],
    )
    published = [json.loads(fields[b"data"]) for stream in ("fact_restored", "fact_unsettled") for _, fields in await redis.xrange(stream)]
    assert [one["fact_id"] for one in published][::2] == [told[OSLO]] * len(published[::2])
    await learned(nous, (OSLO, 7))
    assert sorted(await contents(nous)) == [BERGEN, OSLO]


@pytest.mark.usefixtures("working")
async def test_a_decision_is_part_of_the_stories_of_both_facts(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (BERGEN, 3))
    assert (await nous("fact", "restore", told[OSLO], "--because", "she has two homes")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    for content in (OSLO, BERGEN):
        (decided,) = (await nous.json("explain", "fact", told[content]))["decisions"]
        assert (decided["outcome"], decided["reason"], decided["worker"]) == ("restored", "she has two homes", "operator")
        shown = (await nous("explain", "fact", told[content])).stdout
        assert "because: she has two homes" in shown
        assert "by a person: she has two homes" in shown or content == BERGEN
    assert "What was true, oldest first" not in shown


@pytest.mark.usefixtures("working")
async def test_a_fact_that_yet_another_one_retires_stays_retired_and_the_command_says_so(nous: Nous) -> None:
    told = await learned(nous, (BERGEN, 3), (ROME, 5), (OSLO, 1))
    result = await nous("fact", "restore", told[OSLO], "--because", "it was never Bergen")
    assert result.stdout.splitlines()[0] == f"restored “{OSLO}” beside “{BERGEN}”; no mind is asked about these two again"
    assert f"is still retired, by “{ROME}” ({told[ROME]}); if that is wrong too, decide it as well: nous fact restore" in result.stdout
    again = await nous.json("fact", "restore", told[OSLO], "--because", "nor Rome")
    assert (again["other"]["fact_id"], again["still_retired_by"], again["fact"]["active"]) == (told[ROME], None, True)


@pytest.mark.usefixtures("working")
async def test_a_restored_fact_is_looked_at_again_and_may_be_retired_by_what_followed(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (BERGEN, 3), (ROME, 5))
    result = await nous("fact", "restore", told[OSLO], "--because", "it was never Bergen")
    assert f"compared with its likely twins, and with what else is said of Maria: “{ROME}”" in result.stdout
    assert (await nous("wait")).exit_code == 0
    story = await nous.json("explain", "fact", told[OSLO])
    assert story["fact"]["superseded_by"] == told[ROME]
    assert [one["happened"] for one in story["story"]] == ["stored", "kept", "retired", "restored", "retired"]
    assert (await nous("fact", "restore", told[OSLO], "--because", "nor Rome")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    assert await contents(nous) == [OSLO, ROME]


@pytest.mark.usefixtures("working")
@pytest.mark.parametrize("named", [AGAIN, OSLO], ids=["by the wording's id", "by the fact's, which has one"])
async def test_a_merged_wording_is_split_off_again_for_ever(nous: Nous, named: str) -> None:
    told = await learned(nous, (OSLO, 1), (AGAIN, 2))
    assert len(await nous.json("facts")) == 1
    result = await nous("fact", "split", told[named], "--because", "another Maria")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[:2] == [
        f"split “{AGAIN}” from “{OSLO}”; no mind is asked about these two again",
        f"  {told[AGAIN]}  is true since 2026-03-02 00:00 UTC",
    ]
    await nous("wait")
    await learned(nous, (AGAIN, 4))
    assert [(fact["content"], len(fact["mentions"])) for fact in await nous.json("facts")] == [(OSLO, 1), (AGAIN, 2)]


@pytest.mark.usefixtures("working")
async def test_a_wording_that_was_confirmed_and_never_a_fact_is_split_off_with_a_vector_of_its_own(nous: Nous) -> None:
    told = await learned(nous, (OPEN, 1), (SAID_OTHERWISE, 2))
    (fact,) = await nous.json("facts", "--all")
    assert [one["outcome"] for one in fact["mentions"]] == ["stored", "confirmed"]
    split = await nous.json("fact", "split", told[SAID_OTHERWISE][:10], "--because", "another port")
    assert (split["fact"]["fact_id"], split["fact"]["content"], split["fact"]["active"]) == (told[SAID_OTHERWISE], SAID_OTHERWISE, True)
    assert (await nous("wait")).exit_code == 0
    assert [fact["content"] for fact in await nous.json("facts")] == [OPEN, SAID_OTHERWISE]
    assert (await nous.json("explain", "fact", told[SAID_OTHERWISE]))["fact"]["fact_id"] == told[SAID_OTHERWISE]
    await learned(nous, (SAID_OTHERWISE, 4))
    assert [len(fact["mentions"]) for fact in await nous.json("facts")] == [1, 2]


@pytest.mark.usefixtures("working")
async def test_of_several_wordings_one_is_to_be_named_and_all_are_listed(nous: Nous, mind: ScriptedMind) -> None:
    home = "Maria's home is Oslo."
    for other in (OSLO, AGAIN):
        mind.says(other, "same", home)
    told = await learned(nous, (OSLO, 1), (AGAIN, 2), (home, 3))
    result = await nous("fact", "split", told[OSLO], "--because", "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"nous: {told[OSLO]} has several wordings that can be split off; name one: {told[AGAIN]} “{AGAIN}” and {told[home]} “{home}”\n"
    )
    assert (await nous("fact", "split", told[home], "--because", "x")).exit_code == 0
    assert await contents(nous) == [OSLO, home]


@pytest.mark.usefixtures("working")
async def test_a_decision_that_cannot_be_made_is_one_sentence(nous: Nous) -> None:
    told = await learned(nous, (OSLO, 1), (AGAIN, 2), (BERGEN, 3))
    for words, sentence in (
        (["restore", told[BERGEN]], f"{told[BERGEN]} is true now, so there is nothing to restore"),
        (["restore", told[AGAIN]], f"{told[AGAIN]} was not retired: it is part of {told[OSLO]}; nous fact split {told[AGAIN]} "),
        (["split", told[BERGEN]], f"{told[BERGEN]} was only ever said in these words, so there is nothing to split off"),
        (["restore", "abcdef"], "no fact came of 'abcdef'"),
        (["split", told[OSLO], "--agent", "b"], "no fact of agent 'b' came of"),
    ):
        result = await nous("fact", *words, "--because", "x")
        assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
        assert result.stderr.startswith(f"nous: {sentence}")
    for words in (["fact", "restore", told[OSLO]], ["fact", "split", told[OSLO]]):
        assert "--because does not do: it is empty" in (await nous(*words, "--because", " ")).stderr
    long = await nous("fact", "restore", told[OSLO], "--because", "x" * 1_001)
    assert (long.exit_code, "--because does not do: string should have at most 1000 characters" in long.stderr) == (2, True)


@pytest.mark.usefixtures("working")
async def test_the_letters_of_a_decision_wait_in_the_outbox_while_redis_is_away(nous: Nous, database: Database) -> None:
    told = await learned(nous, (OSLO, 1), (BERGEN, 3))
    result = await nous("fact", "restore", told[OSLO], "--because", "x", NOUS_REDIS_URL="redis://127.0.0.1:1")
    assert result.exit_code == 0
    async with database.overview() as db:
        assert await outbox.count_unpublished(db) == 2


@pytest.mark.parametrize("verb", ["restored", "split"])
async def test_a_decision_is_made_by_command_not_published(nous: Nous, verb: str) -> None:
    result = await nous("publish", f"fact_{verb}", "a=b")
    assert f"only the command nous fact {verb.removesuffix('d')} publishes it" in result.stderr


# ── minds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_answers_show_who_asked_which_mind_how_often_and_what_it_cost(nous: Nous) -> None:
    assert (await nous("answers", "--days", "3")).stdout.startswith("Nothing was asked of a mind since ")
    assert (await nous("answers", "--agent", "b")).stdout.startswith("Nothing was asked of a mind for agent 'b' since ")
    assert "Nothing is kept of agent 'b'." in (await nous("answers", "--agent", "b")).stdout
    await learned(nous, (OSLO, 1), (BERGEN, 3), (ROME, 5))
    told = await nous.json("answers", "--days", "1", "--agent", "a")
    (bill,) = told["bills"]
    assert bill == {
        "day": f"{clock.now():%Y-%m-%d}",
        "worker": "supersession_checker",
        "agent_id": "a",
        "model": "scripted",
        "questions": 2,
        "tokens_in": 200,
        "tokens_out": 20,
        "cost": pytest.approx(0.0009),
    }
    assert told["total"] == {"questions": 2, "tokens_in": 200, "tokens_out": 20, "cost": pytest.approx(0.0009)}
    assert told["since"] == f"{clock.now():%Y-%m-%d}T00:00:00+00:00"
    assert (await nous.json("answers", "--agent", "b"))["bills"] == []
    _, line, total = (await nous("answers")).stdout.splitlines()
    assert line.split("\t")[1:] == ["supersession_checker", "a", "scripted", "2", "200", "20", "0.0009"]
    assert total.split("\t") == ["total", "", "", "", "2", "200", "20", "0.0009"]
    shown = (await nous("answers", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="80")).stdout
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 80


@pytest.mark.usefixtures("working")
async def test_the_offline_mind_is_said_to_be_free(nous: Nous, mind: ScriptedMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedMind, "model", lambda self, task: OFFLINE)
    await learned(nous, (OSLO, 1), (BERGEN, 3))
    assert "by the offline mind, which is free" in (await nous("answers")).stderr


@pytest.mark.usefixtures("working")
async def test_status_says_what_waits_for_the_mind_and_wait_waits_for_it(nous: Nous, mind: ScriptedMind) -> None:
    await learned(nous, (OSLO, 1))
    mind.broken = MindAway("529 overloaded")
    await nous("publish", "fact_learned", "agent_id=a", f"content={BERGEN}", "subject=Maria")

    async def is_waiting() -> bool:
        seen = await nous.json("status")
        return bool(seen["unadjudicated"] == 1 and not any(one["pending"] for one in seen["workers"]))

    await until(is_waiting, what="the check that waits")
    seen = await nous.json("status")
    assert (seen["settled"], seen["unadjudicated"], seen["unsure"]) == (False, 1, 0)
    assert {one["worker"]: (one["retrying"], one["unadjudicated"]) for one in seen["workers"]}["supersession_checker"] == (1, 1)
    shown = (await nous("status")).stdout
    assert "1 check of facts waits for the mind; what was learned and said is kept and can be recalled meanwhile, and it is" in shown
    assert shown.count("529 overloaded") == 1
    waited = await nous("wait", "--timeout", "0")
    assert (waited.exit_code, "supersession_checker: 1 retrying" in waited.stderr) == (1, True)
    assert await contents(nous) == [OSLO, BERGEN]


@pytest.mark.usefixtures("working")
async def test_status_counts_the_pairs_no_mind_could_tell_about_and_nobody_waits_for_them(nous: Nous, mind: ScriptedMind) -> None:
    mind.says(OSLO, "unsure", BERGEN)
    await learned(nous, (OSLO, 1), (BERGEN, 3))
    assert (await nous.json("status"))["unsure"] == 1
    assert (
        "1 pair unsure: no mind could tell, and both facts stay; once another mind is set: nous fact recheck"
        in (await nous("status")).stdout
    )
    assert (await nous("wait", "--timeout", "5")).exit_code == 0


@pytest.mark.usefixtures("working")
async def test_pairs_that_were_judged_by_rule_alone_are_said_to_want_a_key_and_not_another_mind(
    nous: Nous, mind: ScriptedMind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScriptedMind, "model", lambda self, task: OFFLINE)
    mind.says(OSLO, "unsure", BERGEN)
    await learned(nous, (OSLO, 1), (BERGEN, 3))
    seen = await nous.json("status")
    assert (seen["unsure"], seen["unsure_by_rule"]) == (1, 1)
    shown = (await nous("status")).stdout
    assert "1 pair judged by rule only, and both facts stay; with ANTHROPIC_API_KEY set, nous fact recheck has them judged" in shown
    assert "no mind could tell" not in shown


async def test_status_says_that_search_is_being_filled_and_how_much_is_left(nous: Nous, kit: Kit) -> None:
    async with kit.database.write(["agent-7"]) as db:
        await decisions.put(db, [a_decision(agent_id="agent-7") for _ in range(2)])
        await run(db, "UPDATE brain.decisions SET words = NULL, word_count = NULL")
        await run(db, "DELETE FROM bus.unembedded")
    assert (await nous.json("status"))["search"] == {"without_words": 2, "without_vector": 0}
    told = " ".join((await nous("status")).stdout.split())
    assert "2 memories of before search have no words yet; running workers fill them in; until then" in told
    await filling.fill(kit)
    assert (await nous.json("status"))["search"] == {"without_words": 0, "without_vector": 0}
    assert "no words yet" not in (await nous("status")).stdout


@pytest.mark.usefixtures("working")
async def test_what_no_mind_could_tell_is_asked_of_another_one(nous: Nous, mind: ScriptedMind, monkeypatch: pytest.MonkeyPatch) -> None:
    mind.says(OSLO, "unsure", BERGEN)
    told = await learned(nous, (OSLO, 1), (BERGEN, 3))
    mind.says(OSLO, "updates", BERGEN)
    monkeypatch.setattr(ScriptedMind, "model", lambda self, task: OFFLINE)  # the mind of the command, too
    assert await nous.json("fact", "recheck") == {"model": OFFLINE, "facts": [{"agent_id": "a", "fact_id": told[BERGEN]}]}
    assert (await nous("wait")).exit_code == 0
    assert await contents(nous) == [BERGEN]
    assert (await nous.json("status"))["unsure"] == 0
    assert (await nous("fact", "recheck", "--agent", "a")).stdout == (
        "nothing to check again: the offline mind, which judges by rule, has judged all of them already;"
        " with ANTHROPIC_API_KEY set, nous fact recheck has Claude judge those it could not tell about\n"
    )
