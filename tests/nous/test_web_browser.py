"""The page for operators as a person sees it: in a real browser, headless, which follows what happens by itself.

Debian's Chromium and its driver; `.ci/run` installs them. Without them this fails: nobody would know that the page is blank.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from events import encode
from nous import embedded
from nous.settings import Settings
from store import receipts
from store.database import Database
from tests.conftest import until
from tests.factories import a_fact, a_fact_learned, a_receipt
from tests.nous.conftest import at_work
from tests.nous.web import Web, park, served, store
from workers.runtime.worker import Kit

WITHIN_S = 60.0
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in programs.items() if path is None]:
        pytest.fail(f"{' and '.join(missing)} not found; on Debian: apt-get install --no-install-recommends chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = str(programs["chromium"])
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(programs["chromedriver"])))
    yield driver
    driver.quit()


@pytest.fixture
async def archiving(kit: Kit, stack: embedded.Stack) -> AsyncIterator[None]:
    """Every worker and the archivist."""
    async with at_work(kit, stack, archives=True):
        yield


@pytest.fixture
async def web(settings: Settings, kit: Kit, database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Web]:
    async with served(settings, database_url, stack.redis_url) as made:
        made.site.search_by(kit.embedder)
        yield made


async def look(browser: webdriver.Chrome, what: Callable[[webdriver.Chrome], Any]) -> Any:
    """What the browser sees; it has a thread, for the page is served by this one."""
    return await asyncio.to_thread(what, browser)


def text(browser: webdriver.Chrome) -> str:
    """What stands on the page."""
    return browser.find_element(By.TAG_NAME, "main").text


async def opened(browser: webdriver.Chrome, web: Web, path: str) -> str:
    """What stands on the page there; what the browser said of the page before is forgotten."""
    await look(browser, lambda one: one.get("about:blank"))
    await complaints(browser)
    await look(browser, lambda one: one.get(str(web.client.base_url).rstrip("/") + path))
    return str(await look(browser, text))


async def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the browser's console says: an error of a script, or something the policy refused."""
    return [str(entry["message"]) for entry in await look(browser, lambda one: one.get_log("browser"))]


async def test_the_first_page_follows_what_happens_and_says_when_its_server_is_gone(
    browser: webdriver.Chrome, web: Web, redis: Redis, database: Database, tmp_path: Path, archiving: None
) -> None:
    async def is_told(words: str) -> bool:
        return words in await look(browser, text)

    async def is_not_told(words: str) -> bool:
        return not await is_told(words)

    await opened(browser, web, "/")
    await until(lambda: is_told("All work is done"), within_s=WITHIN_S, what="a settled page")
    assert await is_told("0 active facts")
    await redis.xadd("fact_learned", {"data": encode(a_fact_learned(agent_id="a"))})
    await redis.xadd("fact_learned", {"data": "no JSON"})
    await until(lambda: is_told("1 parked by deduplicator"), within_s=WITHIN_S, what="the parked event on the page")
    assert await look(browser, lambda one: one.title) == "It needs a person · Nous"
    assert await complaints(browser) == []

    picture = tmp_path / "overview.png"
    assert await look(browser, lambda one: one.save_screenshot(str(picture)))
    assert picture.stat().st_size > 10_000

    web_is_gone = "window.reached = window.fetch; window.fetch = () => Promise.reject(new TypeError('gone'))"
    await look(browser, lambda one: one.execute_script(web_is_gone))
    await until(lambda: is_told("Nothing is heard of the server any more"), within_s=WITHIN_S, what="the page saying that it is old")
    await look(browser, lambda one: one.execute_script("window.fetch = window.reached"))
    await until(lambda: is_not_told("Nothing is heard"), within_s=WITHIN_S, what="the page saying that it is heard of again")


async def test_what_changes_on_the_first_page_takes_neither_focus_nor_selection_nor_scrolling(
    browser: webdriver.Chrome, web: Web, kit: Kit
) -> None:
    def stands(one: webdriver.Chrome) -> Any:
        return one.execute_script("return [document.activeElement.getAttribute('href'), String(getSelection()), scrollY]")

    async def is_told(words: str) -> bool:
        return words in await look(browser, text)

    bodies = [b"no JSON", b"no JSON either"]
    await park(kit, web.site, bodies[:1])
    await opened(browser, web, "/")
    chosen = (
        "document.body.style.minHeight = '4000px'; window.scrollTo(0, 300);"
        "getSelection().selectAllChildren(document.querySelector('.notes code'));"
        "document.querySelector('[data-name=parked] a').focus({preventScroll: true})"
    )
    await look(browser, lambda one: one.execute_script(chosen))
    before = await look(browser, stands)
    await park(kit, web.site, bodies)
    await until(lambda: is_told("2 parked by deduplicator"), within_s=WITHIN_S, what="the second parked event on the page")
    assert await look(browser, stands) == before
    assert (before[0], bool(before[1]), before[2]) == ("/parked?worker=deduplicator", True, 300)
    assert await complaints(browser) == []


async def test_a_search_finds_a_fact_and_its_story_draws_the_chain(browser: webdriver.Chrome, web: Web, database: Database) -> None:
    new = a_fact(agent_id="a", content="Mara lives in Madrid. <script>window.taken = true</script>")
    old = a_fact(agent_id="a", content="Mara lives in Porto.", active=False, superseded_by=new.fact_id, valid_to=new.valid_from)
    await store(database, new)
    await store(database, old)

    await opened(browser, web, "/")

    def search(one: webdriver.Chrome) -> None:
        one.find_element(By.ID, "find").send_keys("Madrid\n")

    await look(browser, search)
    link = (By.PARTIAL_LINK_TEXT, "Mara lives in Madrid.")
    await until(lambda: look(browser, lambda one: one.find_elements(*link)), within_s=WITHIN_S, what="the fact among what was found")
    await look(browser, lambda one: one.find_element(*link).click())
    told = await until(
        lambda: look(browser, lambda one: [box.text for box in one.find_elements(By.CSS_SELECTOR, ".chain .box")][1:] and text(one)),
        what="the chain",
    )
    assert told.index("Porto") < told.index("retired") < told.rindex("Madrid")
    assert "<script>" in told
    arrows = await look(browser, lambda one: [each.size["height"] for each in one.find_elements(By.CSS_SELECTOR, ".chain .arrow svg")])
    assert (len(arrows), min(arrows) > 20) == (1, True)
    assert await look(browser, lambda one: one.execute_script("return window.taken")) is None
    assert await complaints(browser) == []


async def test_every_page_fits_a_telephone(browser: webdriver.Chrome, web: Web, database: Database) -> None:
    fact = a_fact(agent_id="a" * 128, content="w" * 400, subject="s" * 300)
    await store(database, fact)
    async with database.write([fact.agent_id]) as db:
        await receipts.insert(db, [_parked(fact.agent_id)])
    narrow = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    await look(browser, lambda one: one.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow))
    handle = (await web.client.get("/parked?format=json")).json()["parked"][0]["id"]
    for path in (
        "/",
        "/parked",
        f"/parked/{handle}",
        "/facts",
        f"/facts/{fact.agent_id}/{fact.fact_id}",
        "/cost",
        "/thresholds",
        "/nowhere",
    ):
        await opened(browser, web, path)
        assert await look(browser, lambda one: one.execute_script("return document.documentElement.scrollWidth")) <= 390, path
    await look(browser, lambda one: one.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {}))


def _parked(agent: str) -> receipts.Receipt:
    return a_receipt(agent_id=agent, event_id="e" * 200, ending="parked", outcome="parked", reason="r" * 300)
