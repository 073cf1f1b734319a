"""`nous audit merges`: facts that were merged, shown to a person one pair at a time, and what they say of each is kept.

merges nobody judged ─▶ drawn by chance ─▶ the two wordings ─▶ y, n, s, b, q ─▶ a row of heart.merge_verdicts ─▶ nous calibrate --thresholds
--again: those judged ─▶ the latest first ─┘                   │  └─ b ─▶ the one before is asked again, and the later answer holds
                                                               └─ n ─▶ the command that makes two facts of them again
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from nous import clock
from nous.settings import Settings
from store import audits, embedders
from store.audits import Merge
from store.database import Database

from . import asked, named, place, screen, unheard
from .shares import Share

VERDICTS: Mapping[str, bool] = {"y": True, "yes": True, "n": False, "no": False}
SKIP, BACK, QUIT = ("s", "skip"), ("b", "back"), ("q", "quit")
QUESTION = "one fact? y, n, s to skip, b to go back, q to quit: "


async def run(settings: Settings, *, sample: int, agent: str | None, is_again: bool, is_json: bool) -> None:
    """Show so many merges and keep what is said of them; with `is_json` they are only printed. Raises UserMistake."""
    whose = None if agent is None else named.valid(agent)
    async with place.database(settings) as database:
        async with database.overview() as db:
            await unheard.refuse(db, whose)
            found = await audits.merges(db, (await embedders.active(db)).table, agent=whose, limit=sample, is_judged=is_again)
        if is_json:
            screen.emit([_as_data(one) for one in found])
            return
        if not found:
            screen.say(_nothing(is_again=is_again))
            return
        _introduce(found, is_again=is_again)
        said = await _ask_about_all(database, found)
    _tell(said)


def _nothing(*, is_again: bool) -> str:
    if is_again:
        return f"no merge was judged yet; {place.command()} audit merges shows those to judge"
    return f"no merge is left that nobody judged; {place.command()} audit merges --again shows those that were, to say otherwise"


def _introduce(found: Sequence[Merge], *, is_again: bool) -> None:
    """What is shown, and what is not."""
    which = "that you or others judged, the latest first" if is_again else "that nobody judged, drawn by chance"
    screen.say(
        f"{screen.plural(len(found), 'merge')} {which}: a fact that was merged into another, or a claim that was confirmed in other words."
        " Claims in the very words of the fact are one with it whatever is near, and are not shown. What you say is kept at once;"
        " said again, the later holds"
    )


async def _ask_about_all(database: Database, found: Sequence[Merge]) -> dict[int, bool]:
    """What was said of each, by its place in the list."""
    said: dict[int, bool] = {}
    at = 0
    while at < len(found):
        merge = found[at]
        _show(merge, at + 1, len(found), said.get(at, merge.is_one))
        answer = _answer()
        if answer in QUIT:
            break
        if answer in BACK:
            if at == 0:
                print("  this is the first")
            at = max(at - 1, 0)
            continue
        if answer in VERDICTS:
            said[at] = VERDICTS[answer]
            await _keep(database, merge, is_one=said[at])
        at += 1
    return said


async def _keep(database: Database, merge: Merge, *, is_one: bool) -> None:
    async with database.notes([merge.agent_id]) as db:
        await audits.judge(db, merge, is_one=is_one, now=clock.now())
    if not is_one:
        print(f"  to make two facts of them again: {place.command()} fact split {merge.part_id} --because '…'")


def _show(merge: Merge, number: int, total: int, was: bool | None) -> None:
    alike = "" if merge.similarity is None else f", cosine {merge.similarity:.3f}"
    before = "" if was is None else f"; said before: {'one fact' if was else 'two'}"
    print(f"\n{number} of {total}  {screen.shown(merge.agent_id)}, {merge.how}{alike}{before}")
    screen.say(f"{screen.moment(merge.began_at)}  {screen.shown(merge.whole)}", indent=2)
    screen.say(f"{screen.moment(merge.claimed_at)}  {screen.shown(merge.part)}", indent=2)


def _answer() -> str:
    """What the person says, in one of the words that are known; the end of the input quits."""
    known = (*VERDICTS, *SKIP, *BACK, *QUIT)
    while True:
        line = asked.line(QUESTION, otherwise="--json prints the merges")
        if line is None:
            print()
            return QUIT[0]
        if (answer := line.strip().lower()) in known:
            return answer
        print(f"  {screen.shown(line)[:40]!r} is none of the answers: y (one fact), n (two), s (skip), b (back), q (quit)")


def _tell(said: Mapping[int, bool]) -> None:
    counts = Counter(said.values())
    judged = Share(counts[True], len(said))
    if not said:
        print("nothing was kept")
        return
    print(f"\nkept: {counts[True]:,} said to be one fact, {counts[False]:,} to be two; merges that were right: {judged}")
    screen.say(f"{place.command()} calibrate --thresholds goes by what was kept; to say otherwise: {place.command()} audit merges --again")


def _as_data(merge: Merge) -> dict[str, object]:
    return {**vars(merge), "similarity": None if merge.similarity is None else screen.rounded(merge.similarity)}
