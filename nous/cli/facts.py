"""`nous facts`: what is remembered, agent by agent."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby, islice
from uuid import UUID

from rich.console import Console, Group
from rich.text import Text

from nous.settings import Settings
from store import facts, mentions
from store.database import Read
from store.facts import Fact
from store.mentions import Mention

from . import place, screen

SHOWN = 100
WIDE = 120  # from here the id has a column of its own
ID_WIDTH = 36
AT_ONCE = 5_000
PIPED = ("fact_id", "agent_id", "heard", "provenance", "content", "inactive")


async def list_facts(settings: Settings, *, agent: str | None, with_inactive: bool, limit: int | None, is_json: bool) -> None:
    """Print facts, oldest first; the first hundred on a terminal and all of them elsewhere, unless `limit` says otherwise."""
    async with place.database(settings) as database, database.overview() as db:
        wanted = SHOWN if limit is None and not is_json and screen.out().is_terminal else limit
        found = await facts.listed(db, agent=agent, inactive=with_inactive, limit=None if wanted is None else wanted + 1)
        shown = sorted(found if wanted is None else found[:wanted], key=_as_claimed)
        heard = await mentions_of(db, shown)
    if is_json:
        screen.emit([as_data(fact, heard[fact.agent_id, fact.fact_id]) for fact in shown])
        return
    console = screen.out()
    if not shown:
        console.print(_nothing(agent, with_inactive=with_inactive))
    elif not console.is_terminal:
        print("\t".join(PIPED))
    for name, mine in groupby(shown, key=lambda fact: fact.agent_id):
        _print_agent(console, name, list(mine), heard)
    if len(found) > len(shown):
        screen.err().print(f"These are the first {len(shown):,}; --limit {len(shown) * 10:,} shows more, --json all.", style="dim")


def _as_claimed(fact: Fact) -> tuple[str, datetime, datetime, UUID]:
    """Its place in the list: agent by agent in the order claimed, what was claimed at once in the order stored."""
    return fact.agent_id, fact.valid_from, fact.created_at, fact.fact_id


async def mentions_of(db: Read, found: Sequence[Fact]) -> dict[facts.Key, list[Mention]]:
    """Every wording of these facts."""
    heard: dict[facts.Key, list[Mention]] = {(fact.agent_id, fact.fact_id): [] for fact in found}
    keys = iter(list(heard))
    while some := list(islice(keys, AT_ONCE)):
        heard |= await mentions.of_facts(db, some)
    return heard


def as_data(fact: Fact, heard: Iterable[Mention]) -> dict[str, object]:
    """A fact for JSON, with every wording it was heard in."""
    told = {name: value for name, value in asdict(fact).items() if name not in {"content_hash", "claimed_by"}}
    return {**told, "confidence": screen.rounded(fact.confidence), "mentions": [mention_as_data(one) for one in heard]}


def mention_as_data(mention: Mention) -> dict[str, object]:
    """A wording for JSON; its `fact_id` is the one it was published under."""
    return {
        "fact_id": mention.mention_id,
        "event_id": mention.event_id,
        "content": mention.content,
        "subject": mention.subject,
        "attribute": mention.attribute,
        "source": mention.source,
        "quote": mention.quote,
        "provenance": mention.provenance,
        "confidence": screen.rounded(mention.confidence),
        "similarity": screen.rounded(mention.similarity),
        "outcome": mention.outcome,
        "occurred_at": mention.occurred_at,
    }


def _print_agent(console: Console, agent: str, mine: Sequence[Fact], heard: dict[facts.Key, list[Mention]]) -> None:
    title = Text.assemble((screen.shown(agent), "bold"), (f"  {screen.plural(len(mine), 'fact')}", "dim"))
    if not console.is_terminal:
        for fact in mine:
            print(_line(fact, len(heard[agent, fact.fact_id])))
        return
    is_wide = console.width >= WIDE
    table = screen.table(*(["fact id"] if is_wide else []), "fact", "heard", "vouched for by", "since", right=("heard",))
    table.columns[1 if is_wide else 0].min_width = ID_WIDTH
    for fact in mine:
        content: Text | Group = _content(fact)
        if not is_wide:
            content = Group(content, Text(str(fact.fact_id), style="dim"))
        ids = [Text(str(fact.fact_id), style="dim", no_wrap=True)] if is_wide else []
        times = len(heard[agent, fact.fact_id])
        table.add_row(*ids, content, _times(times), fact.provenance, Text(f"{fact.valid_from:%Y-%m-%d}", no_wrap=True))
    console.print(title)
    console.print(table)
    console.print()


def _line(fact: Fact, times: int) -> str:
    """One fact for a pipe, its columns apart by tabs."""
    columns = [str(fact.fact_id), screen.shown(fact.agent_id), f"×{times}", fact.provenance, screen.shown(fact.content)]
    return "\t".join([*columns, "" if fact.active else "inactive"]).rstrip("\t")


def _content(fact: Fact) -> Text:
    content = screen.said(fact.content, "" if fact.active else "dim strike")
    if fact.superseded_by:
        content.append(f"  superseded by {fact.superseded_by}", style="dim not strike")
    return content


def _times(times: int) -> Text:
    return Text(f"×{times}", style="bold green" if times > 1 else "dim")


def _nothing(agent: str | None, *, with_inactive: bool) -> str:
    whose = f" of agent {screen.shown(agent)!r}" if agent else ""
    return (
        f"No {'' if with_inactive else 'active '}facts{whose}. Publish one: {place.command()} publish fact_learned agent_id=me content='…'"
    )
