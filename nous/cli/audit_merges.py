"""`nous audit merges`: facts that were merged, shown to a person one pair at a time, and what they say of each is kept.

merges nobody judged ─▶ drawn by chance ─▶ the two wordings ─▶ y, n, s, q ─▶ a row of heart.merge_verdicts ─▶ nous calibrate --thresholds
                                                            └─ n ─▶ the command that makes two facts of them again
"""

from collections import Counter
from collections.abc import Mapping

from nous import clock
from nous.settings import Settings
from store import audits, embedders
from store.audits import Merge
from store.database import Database

from . import asked, named, place, screen
from .shares import Share

VERDICTS: Mapping[str, bool] = {"y": True, "yes": True, "n": False, "no": False}
SKIP, QUIT = ("s", "skip"), ("q", "quit")


async def run(settings: Settings, *, sample: int, agent: str | None, is_json: bool) -> None:
    """Show so many merges and keep what is said of them; with `is_json` they are only printed. Raises UserMistake."""
    whose = None if agent is None else named.valid(agent)
    async with place.database(settings) as database:
        async with database.overview() as db:
            found = await audits.merges(db, (await embedders.active(db)).table, agent=whose, limit=sample)
        if is_json:
            screen.emit([_as_data(one) for one in found])
            return
        if not found:
            print("no merge is left that nobody judged")
            return
        said = await _ask_about_all(database, found)
    _tell(said)


async def _ask_about_all(database: Database, found: list[Merge]) -> Counter[str]:
    said: Counter[str] = Counter()
    for number, merge in enumerate(found, 1):
        _show(merge, number, len(found))
        answer = _answer()
        if answer in QUIT:
            break
        if answer in SKIP:
            said["skipped"] += 1
            continue
        is_one = VERDICTS[answer]
        said["one" if is_one else "two"] += 1
        async with database.notes([merge.agent_id]) as db:
            await audits.judge(db, merge, is_one=is_one, now=clock.now())
        if not is_one:
            print(f"  to make two facts of them again: {place.command()} fact split {merge.part_id} --because '…'")
    return said


def _show(merge: Merge, number: int, total: int) -> None:
    alike = "" if merge.similarity is None else f", cosine {merge.similarity:.3f}"
    print(f"\n{number} of {total}  {screen.shown(merge.agent_id)}, {merge.how}{alike}")
    print(f"  {screen.moment(merge.began_at)}  {screen.shown(merge.whole)}")
    print(f"  {screen.moment(merge.claimed_at)}  {screen.shown(merge.part)}")


def _answer() -> str:
    """What the person says, in one of the words that are known; the end of the input quits."""
    while True:
        line = asked.line("one fact? y, n, s to skip, q to quit: ", otherwise="--json prints the merges")
        if line is None:
            print()
            return QUIT[0]
        if (answer := line.strip().lower()) in (*VERDICTS, *SKIP, *QUIT):
            return answer


def _tell(said: Counter[str]) -> None:
    judged = Share(said["one"], said["one"] + said["two"])
    if not judged.of:
        print("nothing was kept")
        return
    print(f"\nkept: {said['one']:,} one fact, {said['two']:,} two; merges that were right: {judged}")
    print(f"{place.command()} calibrate --thresholds goes by what was kept")


def _as_data(merge: Merge) -> dict[str, object]:
    return {**vars(merge), "similarity": None if merge.similarity is None else screen.rounded(merge.similarity)}
