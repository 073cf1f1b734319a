"""The page for operators: it shows what is, says what to do, obeys nothing an agent said, and changes nothing."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from markupsafe import escape
from redis.asyncio import Redis

from nous import clock, embedded
from nous.called import command
from nous.cli import page
from nous.settings import Settings
from nous.web import charts, glance
from store import archive, receipts, similarities, spending
from store.database import Database
from store.spending import Spent
from tests.conftest import until
from tests.factories import NOON, a_fact, a_receipt, an_id
from tests.nous.conftest import Nous
from tests.nous.web import PATHS, Web, park, served, store
from tests.system.proxy import Cable
from workers.runtime import streams
from workers.runtime.worker import Kit

BAD = b'{"fact_id": "00000000-0000-0000-0000-000000000001", "agent_id": "a", "event_id": "e-1", "content": 7}'
UNREADABLE = "no JSON \x1b[31m \u202e <b>bold</b>".encode()
ATTACK = "<script>alert(1)</script>\u202e\x1b[31m{{ 7 * 7 }}"


@pytest.fixture
async def web(settings: Settings, database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Web]:
    async with served(settings, database_url, stack.redis_url) as made:
        yield made


# ── what it shows ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_first_page_says_what_is_wrong_and_which_command_mends_it(web: Web, kit: Kit) -> None:
    await park(kit, web.site, [BAD, UNREADABLE])
    page = await web.html("/")
    assert "<h1>It needs a person</h1>" in page
    assert "2 parked by deduplicator" in page
    assert "dead retry --all --worker deduplicator" in page
    assert "No worker is running" in page


async def test_the_page_and_the_commands_come_to_one_verdict(web: Web, kit: Kit, nous: Nous) -> None:
    await park(kit, web.site, [BAD])
    title = (await web.client.get("/?format=json")).json()["verdict"]["title"]
    assert (await nous("status")).stdout.splitlines()[0] == title == (await nous.json("status"))["verdict"]["title"]


async def test_what_names_nobody_is_no_agent_but_an_event(web: Web, kit: Kit, nous: Nous, database: Database, tmp_path: Path) -> None:
    await park(kit, web.site, [BAD, UNREADABLE])
    assert (await web.client.get("/?format=json")).json()["totals"]["agents"] == 1
    async with database.overview() as db:
        assert (await receipts.agents(db), await archive.agents(db)) == (["a"], ["", "a"])
    told = await nous.json("export", str(tmp_path / "all.jsonl"))
    assert (told["events"], told["agents"]) == (2, 1)


@pytest.mark.usefixtures("working")
async def test_the_archivist_stands_among_the_workers_and_is_missed_as_they_are(web: Web, redis: Redis) -> None:
    async def is_missed() -> bool:
        return "Not running: archivist" in await web.html("/live")

    await until(is_missed, what="every worker but the archivist running")
    await redis.xadd("fact_learned", {"data": "{}"})
    await redis.xgroup_create("fact_learned", streams.ARCHIVIST, id="0")
    web.site.glance = glance.Glance(web.site.settings, web.site.database, web.site.redis)
    page = await web.html("/live")
    assert f"{command()} work archivist" in page
    row = page[page.index('<th scope="row">archivist</th>') :].partition("</tr>")[0]
    assert ("(all streams)" in row, '<td data-name="lag" class="number">1</td>' in row, "retrying" in row) == (True, True, False)


async def test_every_page_answers_as_json_when_asked(web: Web, kit: Kit, database: Database) -> None:
    fact = a_fact(agent_id="a", content="Port 22 is open.")
    await store(database, fact)
    await park(kit, web.site, [BAD])
    (parked,) = (await web.client.get("/parked?format=json")).json()["parked"]
    seen = (await web.client.get("/", headers={"Accept": "application/json"})).json()
    assert (seen["settled"], seen["verdict"]["tone"], seen["totals"]["facts"]) == (True, "bad", 1)
    assert [one["fact_id"] for one in (await web.client.get("/facts?q=PORT 22&format=json")).json()["facts"]] == [str(fact.fact_id)]
    assert (await web.client.get(f"/facts/a/{fact.fact_id}?format=json")).json()["fact"]["content"] == "Port 22 is open."
    assert (await web.client.get(f"/parked/{parked['id']}?format=json")).json()["body"] == BAD.decode()
    assert (await web.client.get("/cost?format=json")).json()["bills"] == []
    assert (await web.client.get("/thresholds?format=json")).json()["claims"] == []
    assert (await web.client.get("/explain/ffffffff?format=json")).json()["error"] == "Nothing is there"


async def test_ten_browsers_cost_one_look(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    async def counted(*given: Any) -> Any:
        nonlocal looks
        looks += 1
        return await look(*given)

    look = glance.look
    monkeypatch.setattr(glance, "look", counted)
    monkeypatch.setattr(glance, "LOOK_EVERY_S", 60.0)
    web.site.glance = glance.Glance(web.site.settings, web.site.database, web.site.redis)
    await asyncio.gather(*(web.html("/live") for _ in range(10)))
    assert looks == 1


async def test_a_story_draws_which_fact_retired_which_and_what_was_merged(web: Web, database: Database) -> None:
    now, before, first = (a_fact(agent_id="a", content=f"Mara lives in {city}.") for city in ("Madrid", "Porto", "Lisbon"))
    before = replace(before, active=False, superseded_by=now.fact_id, valid_from=NOON - timedelta(2), valid_to=NOON)
    first = replace(first, active=False, superseded_by=before.fact_id, valid_from=NOON - timedelta(9), valid_to=NOON - timedelta(2))
    twin = a_fact(agent_id="a", content="Mara's home is Madrid.", active=False, merged_into=now.fact_id)
    judged = {
        "fact_id": str(first.fact_id),
        "similarity": 0.8,
        "relation": "updates",
        "decided_by": "mind",
        "reason": "She moved.",
        "why": "near",
    }
    await store(database, now)
    await store(database, before, twin)
    await store(database, first)
    async with database.write(["a"]) as db:
        told = a_receipt(
            agent_id="a", event_id=first.recorded_by, about=before.fact_id, worker="supersession_checker", outcome="superseded"
        )
        await receipts.insert(db, [replace(told, stream="fact_stored", evidence={"candidates": [judged], "model": "a-model"})])
    page = await web.html(f"/facts/a/{before.fact_id}")
    chain = page[page.index('<ol class="chain">') : page.index("How it came to be so")]
    places = [
        chain.index(words) for words in ("Lisbon", "updates, by a-model", "She moved.", "Porto", "Madrid", "Mara&#39;s home is Madrid.")
    ]
    assert places == sorted(places)
    assert chain.count("<strong>retired</strong>") == 2
    assert f"/facts/a/{first.fact_id}" in chain
    assert "/facts?agent=a&amp;as_of=2026-02-27T12%3A00%3A00Z" in chain
    assert "Mara lives in Porto." in await web.html("/facts?agent=a&as_of=2026-02-28")
    assert "Mara lives in Porto." not in await web.html("/facts?agent=a")


async def test_a_parked_delivery_shows_its_body_its_history_and_the_commands(web: Web, kit: Kit) -> None:
    await park(kit, web.site, [BAD, BAD.replace(b"e-1", b"e-2"), UNREADABLE])
    listed = await web.html("/parked?reason=not a valid")
    assert (listed.count('data-name="why"'), "2</strong> " in listed) == (2, True)
    assert "dead retry --all --reason &#39;not a valid&#39;" in listed
    one = (await web.client.get("/parked?agent=a&format=json")).json()["parked"][0]
    page = await web.html(f"/parked/{one['id']}")
    assert f"dead retry {one['id']}" in page
    assert f"dead drop {one['id']} --because" in page
    assert "parked after 1 attempt" in page
    assert "&#34;content&#34;: 7" in page
    assert (await web.client.get(f"/find?q={one['id']}")).url.path == f"/parked/{one['id']}"


async def test_words_are_searched_as_they_are_and_by_meaning_where_an_embedder_is_loaded(web: Web, kit: Kit, database: Database) -> None:
    await store(database, a_fact(agent_id="a", content="100% sure"), a_fact(agent_id="a", content="100 percent sure"))
    found = (await web.client.get("/facts", params={"q": "100%", "format": "json"})).json()
    assert ([one["content"] for one in found["facts"]], found["by_meaning"]) == (["100% sure"], False)
    assert "The embedder of this process is not loaded" in await web.html("/facts?q=100")
    web.site.search_by(kit.embedder)
    assert (await web.client.get("/facts", params={"q": "100%", "format": "json"})).json()["by_meaning"]


async def test_any_id_of_anything_leads_to_its_story_and_words_to_the_search(web: Web, database: Database) -> None:
    fact = a_fact(agent_id="a")
    await store(database, fact)
    assert (await web.client.get(f"/find?q={fact.fact_id}")).url.path == f"/explain/{fact.fact_id}"
    assert escape(fact.content) in await web.html(f"/find?q={fact.fact_id}")
    for handle in (f"f-{fact.fact_id.hex}", f"[f-{fact.fact_id.hex}]"):
        assert escape(fact.content) in await web.html(f"/find?q={handle}")
    assert (await web.client.get("/find?q=p-5b0f0d3e")).url.path == "/explain/p-5b0f0d3e"
    assert (await web.client.get("/find?q=added 2 facts")).url.path == "/facts"
    assert (await web.client.get("/find")).url.path == "/facts"


async def test_cost_is_told_by_day_worker_model_and_agent_and_drawn(web: Web, database: Database) -> None:
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    async with database.notes(["a", "b"]) as db:
        await spending.add(db, Spent("a", hour, "supersession_checker", "a-model", 3, 1_000, 200, Decimal("0.5")))
        await spending.add(db, Spent("b", hour - timedelta(days=3), "episode_summarizer", "a-model", 1, 10, 2, Decimal("1.5")))
    page = await web.html("/cost?days=7")
    assert (page.count('<rect class="bar "'), "$2.00" in page, "1,212" in page) == (2, True, True)
    assert 'role="img"' in page
    assert "$0.5000" in await web.html("/cost?agent=a")
    assert "Nothing was asked of a mind" in await web.html("/cost?agent=c")
    assert "is no number from 1 to 366" in await web.html("/cost?days=x", 400)


async def test_the_histogram_counts_claims_by_similarity_and_marks_the_thresholds(web: Web, database: Database) -> None:
    def compared(similarity: float, outcome: str) -> receipts.Receipt:
        found = [{"fact_id": str(an_id()), "similarity": one} for one in (-0.5, similarity)]
        evidence = {"embedder": "zero", "confirm_similarity": 0.9, "check_similarity": 0.7, "candidates": found}
        return a_receipt(agent_id="a", outcome=outcome, evidence=evidence)

    told = [compared(0.95, "confirmed"), compared(0.95, "stored"), compared(0.8, "stored"), compared(-0.2, "stored")]
    async with database.write(["a"]) as db:
        await receipts.insert(db, [*told, a_receipt(agent_id="a")])
    async with database.overview() as db:
        steps = await similarities.latest(db, agent=None, width=0.02, limit=100)
    assert [(one.outcome, round(one.similarity, 2), one.claims, one.apart) for one in steps] == [
        ("stored", 0.0, 1, 0),
        ("stored", 0.8, 1, 0),
        ("confirmed", 0.94, 1, 0),
        ("stored", 0.94, 1, 1),
    ]
    page = await web.html("/thresholds")
    assert "1 claim stands between the two thresholds" in page
    assert "1 claim above confirm differs" in page
    assert "check 0.700" in page
    assert "confirm 0.900" in page
    assert "No claim was compared" in await web.html("/thresholds?agent=b")


def test_the_columns_of_a_chart_stand_on_the_ground_and_end_at_their_amount() -> None:
    chart = charts.stacked([("a", {"x": 1, "y": 3}), ("b", {}), ("c", {"x": 5})])
    assert [(bar.says, bar.y + bar.height, bar.height) for bar in chart.bars] == [
        ("a: 1 x", charts.HEIGHT, charts.HEIGHT / 5),
        ("a: 3 y", charts.HEIGHT * 4 / 5, charts.HEIGHT * 3 / 5),
        ("c: 5 x", charts.HEIGHT, charts.HEIGHT),
    ]
    assert charts.stacked([]).bars == []


# ── what an agent said is data ────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_an_agent_said_is_shown_and_never_obeyed(web: Web, kit: Kit, database: Database) -> None:
    fact = a_fact(agent_id=ATTACK, content=ATTACK + " " * 3 + "x", subject=ATTACK)
    await store(database, fact)
    await park(kit, web.site, [UNREADABLE, b'{"agent_id": "a<i>\\u202e", "event_id": "\\"><script>", "content": 7}'])
    (one, other) = (await web.client.get("/parked?format=json")).json()["parked"]
    address = (await web.html("/facts")).split('class="fact" href="')[1].split('"')[0]
    for path in (
        "/",
        "/facts?q=<script>",
        "/parked?reason=<script>\u202e",
        address,
        f"/parked/{one['id']}",
        f"/parked/{other['id']}",
        "/parked",
    ):
        page = (await web.client.get(path)).text
        assert "<script>alert" not in page
        assert "<script>" not in page.split("</head>")[1]
        assert not {"\u202e", "\x1b"} & set(page)
    assert escape("<script>alert(1)</script>") in await web.html(address)


async def test_eight_thousand_characters_are_cut_with_a_way_to_see_all(web: Web, kit: Kit, database: Database) -> None:
    fact = a_fact(agent_id="a", content="long " * 1_600)
    await store(database, fact)
    assert len(await web.html("/facts")) < 8_000
    page = await web.html(f"/facts/a/{fact.fact_id}")
    assert "8,000 characters: show all" in page
    assert fact.content in page
    await park(kit, web.site, [b'{"agent_id": "a", "event_id": "e", "content": "' + b"y" * 9_000 + b'"}'])
    (one,) = (await web.client.get("/parked?format=json")).json()["parked"]
    assert "y" * 9_000 not in await web.html(f"/parked/{one['id']}")
    assert "y" * 9_000 in await web.html(f"/parked/{one['id']}?body=whole")


AGENTS = ("a/b?c#d", "..", ".", "a b%2F&=", "Zoë", "a\\b", " ")
MISSING = ("/explain/no-id", "/explain/ffffffff", "/facts/a/nothing", "/parked/ffffffffff", "/event?id=%00", "/nowhere")
ODD = ("/facts?q=%00%ff&agent=%ed%a0%80", "/find?q=%00", "/parked?worker=nobody&reason=%25_")


async def test_the_story_of_a_fact_is_found_whatever_its_agent_is_called(web: Web, database: Database) -> None:
    facts = [a_fact(agent_id=agent) for agent in AGENTS]
    await store(database, *facts)
    pages = (await web.html("/facts")).split('class="fact" href="')[1:]
    told = [await web.html(page.split('"')[0].replace("&amp;", "&")) for page in pages]
    assert all(any(escape(fact.content) in page for page in told) for fact in facts)


async def test_what_is_not_there_is_said_with_what_to_do(web: Web) -> None:
    for path in MISSING:
        page = await web.html(path, 404)
        assert ("Look for it by its words or by its id" in page, "Traceback" in page) == (True, False), path


async def test_odd_bytes_in_an_address_are_no_failure(web: Web) -> None:
    for path in ODD:
        await web.html(path)


async def test_what_cannot_be_answered_as_asked_is_said(web: Web, database: Database) -> None:
    await store(database, a_fact(agent_id="a", fact_id=UUID(int=7 << 120)))
    async with database.write(["a"]) as db:
        await receipts.insert(db, [a_receipt(agent_id="a", event_id="070000-of-an-event")])
    assert "fits a fact and an event" in await web.html("/explain/070000", 400)
    assert "is no time" in await web.html("/facts?as_of=yesterday", 400)
    assert "there are no stories of" in await web.html("/explain/070000?kind=ghost", 400)


# ── it only looks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_no_address_takes_a_method_that_changes_anything(web: Web) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for path in PATHS:
            answer = await web.client.request(method, path)
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_every_session_of_the_page_only_reads(web: Web, kit: Kit, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = a_fact(agent_id="a")
    await store(database, fact)
    await park(kit, web.site, [BAD])
    (one,) = (await web.client.get("/parked?format=json")).json()["parked"]
    web.site.search_by(kit.embedder)
    for writes in ("write", "erase", "notes", "queue", "switching"):
        monkeypatch.setattr(Database, writes, None)
    for path in (*PATHS, f"/parked/{one['id']}", f"/facts/a/{fact.fact_id}", f"/event?agent=a&id={one['event_id']}"):
        assert (await web.client.get(path)).status_code in (200, 404), path


async def test_every_answer_says_what_a_browser_may_do_with_it(web: Web) -> None:
    for path in (*PATHS, "/static/nous.css", "/static/none", "/nowhere"):
        headers = (await web.client.get(path)).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert (await web.client.get("/")).headers["cache-control"] == "no-store"
    page = await web.html("/")
    assert "style=" not in page
    assert 'src="/static/nous.js?v=' in page
    assert (await web.client.get("/static/nous.js")).headers["content-type"].startswith("text/javascript")


async def test_it_answers_to_names_of_this_machine_alone(web: Web) -> None:
    for host in ("127.0.0.1:1", "localhost", "LOCALHOST:80", "[::1]:8377", "[::1]"):
        assert (await web.client.get("/parked", headers={"Host": host})).status_code == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example:80", "evil.example:8377", "127.0.0.1@evil.example", ""):
        assert (await web.client.get("/parked", headers={"Host": host})).status_code == 421, host


async def test_a_taken_port_is_said_and_a_free_one_serves_and_none_is_served_where_none_is_wanted(
    settings: Settings, database_url: str, stack: embedded.Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    async with page.shown(settings, database_url, stack.redis_url, port=0) as nothing:
        assert (nothing, capsys.readouterr().out) == (None, "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with page.shown(settings, database_url, stack.redis_url, port=port), httpx.AsyncClient() as client:
            told = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("page"))
            assert f"(port {port} is not free; NOUS_WEB_PORT chooses another)" in told
            assert (await client.get(told.split()[1])).status_code == 200


# ── what is away ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("away", ["Postgres", "Redis"])
async def test_what_is_away_is_said_in_plain_words_and_the_page_comes_back(
    settings: Settings, database_url: str, stack: embedded.Stack, redis: Redis, away: str
) -> None:
    cables = {"Postgres": Cable(database_url), "Redis": Cable(stack.redis_url)}
    for cable in cables.values():
        await cable.mend()
    async with served(settings, cables["Postgres"].url, cables["Redis"].url) as web:
        await web.html("/")
        await cables[away].cut()
        web.site.glance = glance.Glance(settings, web.site.database, web.site.redis)
        page = await web.html("/", 503)
        assert (f"{away} is away" in page, "Nothing is lost" in page, "Traceback" in page) == (True, True, False)
        part = await web.client.get("/live", headers={"Nous-Part": "true"})
        assert (part.status_code, "<html" in part.text) == (503, False)
        await cables[away].mend()
        web.site.glance = glance.Glance(settings, web.site.database, web.site.redis)
        await web.html("/")
    for cable in cables.values():
        await cable.cut()


async def test_a_page_that_fails_shows_no_traceback(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(web.site.glance, "now", fail)
    page = await web.html("/", 500)
    assert ("This page failed" in page, "a secret" in page, "Traceback" in page) == (True, False, False)
