"""`make peers`, or `python -m bench.peers [--data FOLDER] [--json]`: the table of docs/peers.md, from one run."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import asyncpg
import psutil
from rich.console import Console
from rich.table import Table

from nous import clock, log
from tests.bench.stand import Stand, standing

from . import cases as pairs
from . import driven, ours
from .driven import PEERS, Outcome, Peer, PeerFailed
from .judged import Counts, counted
from .served import serving

PAIRS_OF_A_SET = 30
WRITERS = (1, 2)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A system with so many writers. `others` is how many cores everybody else used meanwhile; `failed` says why there are no figures."""

    system: str
    version: str
    writers: int
    facts_said: int
    counts: Counts | None = None
    seconds_per_1000: float | None = None
    processor_s_per_1000: float | None = None
    bytes_per_fact: float | None = None
    tally: dict[str, Any] | None = None
    trouble: list[str]
    reached_for: list[str]
    others: float = 0.0
    failed: str = ""


def main(arguments: list[str]) -> int:
    """Measure and print; 0 whatever the figures are, 1 when a system could not be measured, 2 when none of the peers is installed."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description="Other memory systems beside this one.")
    parser.add_argument("--data", type=Path, help="folder of public pair sets, as for make eval; the pairs of this repository when absent")
    parser.add_argument("--pairs", type=int, default=PAIRS_OF_A_SET, help="at most so many of each set and kind (default: %(default)s)")
    parser.add_argument("--only", action="append", help="measure only systems whose name has this in it; may be given several times")
    parser.add_argument("--writers", type=int, choices=WRITERS, action="append", help="only with so many writers")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    systems = (ours.NAME, ours.ONE_AT_A_TIME, *(peer.name for peer in PEERS))
    chosen = [name for name in systems if any(part in name for part in options.only or [""])]
    if missing := [peer.name for peer in PEERS if peer.name in chosen and not peer.is_installed]:
        print(f"not installed: {', '.join(missing)}; run `make peers`, which installs them", file=sys.stderr)
        return 2
    log.configure(log_format="auto", level="error")
    said = pairs.seated(pairs.of_data(options.data, options.pairs) if options.data else pairs.small())
    rows = asyncio.run(_rows(said, chosen, options.writers or WRITERS))
    if options.json:
        print(
            json.dumps(
                {
                    "date": f"{clock.now():%Y-%m-%d}",
                    "cores": psutil.cpu_count(),
                    "pairs": _kinds(said),
                    "rows": [asdict(row) for row in rows],
                },
                indent=1,
            )
        )
    else:
        console = Console(width=None if sys.stdout.isatty() else 200)
        console.print(_table(rows), _below(said, rows), sep="\n", markup=False)
    return 1 if any(row.failed for row in rows) else 0


async def _rows(said: Sequence[pairs.Case], chosen: Sequence[str], writers: Sequence[int]) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="nous-peers-") as folder, serving(said) as address:
        async with standing(Path(folder) / "home") as stand:
            with Console(stderr=True).status("measuring", refresh_per_second=2) as status:
                for count in writers:
                    for name in (name for name in chosen if count > 1 or name != ours.ONE_AT_A_TIME):
                        status.update(f"measuring {name}, writers: {count}")
                        rows.append(await _row(stand, name, said, count, address, Path(folder)))
    return rows


async def _row(stand: Stand, name: str, said: Sequence[pairs.Case], writers: int, address: str, folder: Path) -> Row:
    rounds = pairs.rounds(said, writers)
    facts_said = sum(map(len, rounds))
    try:
        outcome = await _outcome(stand, name, rounds, writers, address, folder)
    except (PeerFailed, TimeoutError) as error:
        failed = str(error) or "it was not done in time"
        return Row(system=name, version="", writers=writers, facts_said=facts_said, trouble=[], reached_for=[], failed=failed)
    return Row(
        system=name,
        version=outcome.version,
        writers=writers,
        facts_said=facts_said,
        counts=counted(said, outcome.told),
        seconds_per_1000=outcome.seconds / facts_said * 1_000,
        processor_s_per_1000=outcome.processor_s / facts_said * 1_000,
        bytes_per_fact=outcome.stored_bytes / facts_said,
        tally=outcome.tally,
        trouble=outcome.trouble,
        reached_for=outcome.reached_for,
        others=outcome.others,
    )


async def _outcome(stand: Stand, name: str, rounds: Sequence[pairs.Round], writers: int, address: str, folder: Path) -> Outcome:
    if name in (ours.NAME, ours.ONE_AT_A_TIME):
        return await ours.measured(stand, rounds, address=address, page=1 if name == ours.ONE_AT_A_TIME else None)
    peer: Peer = next(peer for peer in PEERS if peer.name == name)
    number = PEERS.index(peer)
    url = await _database(stand, f"peer_{number}_{writers}")
    return await driven.measured(peer, rounds, address=address, database_url=url, folder=folder / f"peer-{number}-{writers}")


async def _database(stand: Stand, name: str) -> str:
    """An empty database with pgvector on the same Postgres; its URL."""
    connection = await asyncpg.connect(stand.stack.database_url)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
    return f"{stand.stack.database_url.rpartition('/')[0]}/{name}"


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _table(rows: Sequence[Row]) -> Table:
    headings = ("twins, same words", "twins, other words", "updates lost", "of them both gone", "facts lost")
    speed = ("s per 1,000 facts", "processor s", "bytes a fact")
    asked = ("model calls a fact", "tokens a fact, in", "out", "texts embedded a fact", "errors")
    table = Table("system", "writers", *headings, *speed, *asked, box=None, header_style="bold")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(row.system, str(row.writers), *(_cells(row) if not row.failed else ["failed"]))
    return table


def _cells(row: Row) -> list[str]:
    assert row.counts is not None
    assert row.tally is not None
    counts, each = row.counts, {name: row.tally[name] / row.facts_said for name in ("calls", "tokens_in", "tokens_out", "texts_embedded")}
    return [
        f"{counts.twins_word_for_word} of {counts.word_for_word}",
        f"{counts.twins_in_other_words} of {counts.same}",
        f"{counts.updates_lost} of {counts.updates}",
        str(counts.both_gone),
        f"{counts.facts_lost} of {counts.facts}",
        f"{row.seconds_per_1000:,.1f}",
        f"{row.processor_s_per_1000:,.1f}",
        f"{row.bytes_per_fact:,.0f}",
        f"{each['calls']:.2f}",
        f"{each['tokens_in']:,.0f}",
        f"{each['tokens_out']:,.0f}",
        f"{each['texts_embedded']:.2f}",
        str(len(row.trouble)),
    ]


def _below(said: Sequence[pairs.Case], rows: Sequence[Row]) -> str:
    lines = [
        f"\n{clock.now():%Y-%m-%d}, {psutil.cpu_count()} cores; pairs: "
        + ", ".join(f"{count} {kind}" for kind, count in _kinds(said).items())
    ]
    lines.append("versions: " + "; ".join(dict.fromkeys(f"{row.system} {row.version}" for row in rows if row.version)))
    lines.append("beside each, others used " + ", ".join(f"{row.others:.1f}" for row in rows) + " cores")
    lines += [f"{row.system}, writers {row.writers}: {row.failed}" for row in rows if row.failed]
    lines += [
        f"{row.system}, writers {row.writers}, the first of {len(row.trouble)} errors: {row.trouble[0]}" for row in rows if row.trouble
    ]
    lines += [
        f"{row.system}, writers {row.writers}, reached for {', '.join(sorted(set(row.reached_for)))}" for row in rows if row.reached_for
    ]
    return "\n".join(lines)


def _kinds(said: Sequence[pairs.Case]) -> dict[str, int]:
    return {kind: sum(case.kind == kind for case in said) for kind in pairs.KINDS}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
