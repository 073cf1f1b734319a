"""The joint check: a store that is worse than the recorded one is noticed, whichever of its promises it breaks."""

import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis
from rich.console import Console

from nous.embedded import Stack
from providers.zero import ZeroEmbedder
from tests.evals import contexts, conversations, joint, junk_classes
from tests.evals.__main__ import SECTIONS
from tests.evals.cases import Case
from tests.evals.conversations import ReadingMind, tells
from tests.evals.joint import Figure, of_contexts, of_junk, of_recall, outside, recorded, reworded
from tests.evals.junk_classes import CLASSES, class_of
from tests.evals.minds import CompatibleMind, OracleMind
from tests.evals.places import NAMES
from tests.evals.recalling import SERVED, Recalled, Row
from tests.evals.worked import Store

BELLS = Case("made_up", "1", "The bell tower has 4 bells.", "The bell tower has 5 bells now.", "retired", "update")
OVEN = Case("made_up", "2", "who mends the oven? Ida.", "who mends the oven? Ken.", "retired", "update")
TWICE = Case("made_up", "3", "Ken keeps bees.", "Ken is a beekeeper.", "one", "same")


def _share(value: float, better: joint.Better, *, of: int = 200, exact: bool = False) -> Figure:
    return Figure.share("made up", value, of, better, exact=exact)


@pytest.mark.parametrize(
    ("before", "now", "left"),
    [
        (_share(0.6, "more"), _share(0.58, "more"), None),
        (_share(0.6, "more"), _share(0.4, "more"), "worse"),
        (_share(0.6, "more"), _share(0.8, "more"), "better"),
        (_share(0.02, "less"), _share(0.03, "less"), None),
        (_share(0.02, "less"), _share(0.2, "less"), "worse"),
        (_share(0.2, "less"), _share(0.02, "less"), "better"),
        (_share(0.0, "less", exact=True), _share(1 / 200, "less"), "worse"),
        (_share(0.0, "less"), _share(1 / 200, "less"), None),
    ],
)
def test_a_figure_outside_its_recorded_interval_is_worse_or_better_by_its_own_direction(
    before: Figure, now: Figure, left: str | None
) -> None:
    found = outside([before], [now])
    assert [("worse" if one.is_worse else "better") for one in found] == ([left] if left else [])


def test_what_was_recorded_and_is_not_measured_any_more_is_worse_and_what_is_new_is_nothing() -> None:
    (gone,) = outside([_share(0.5, "more")], [replace(_share(0.5, "more"), name="another")])
    assert gone.is_worse
    assert "not measured any more" in str(gone)


def test_recall_that_finds_less_is_noticed() -> None:
    def served(value: float) -> list[Figure]:
        row = Row("made up", "both", SERVED, 700, dict.fromkeys(NAMES, value), 0.7)
        return list(of_recall(Recalled("made up", [row, replace(row, order="cosine alone")], {}, {250: value})))

    assert len(served(0.5)) == len(NAMES) + 2, "of the orders only the one that is served"
    assert not outside(served(0.5), served(0.49))
    fallen = [one.name for one in outside(served(0.5), served(0.4)) if one.is_worse]
    assert "recall, made up, both: recall@10" in fallen
    assert "recall, made up, told in 250 tokens" in fallen
    assert len(fallen) == len(NAMES) + 1


async def test_a_store_that_retires_nothing_is_noticed_by_what_contexts_hold(stack: Stack, database_url: str, redis: Redis) -> None:
    cases = [BELLS, OVEN]
    store, embedder = Store(replace(stack, database_url=database_url), ZeroEmbedder()), ZeroEmbedder()
    good = await contexts.of(store, embedder, cases, OracleMind(cases))
    assert (good.contexts, good.superseded, good.foreign, good.lacking) == (2, 0, 0, 0)
    renamed = [replace(case, key=f"again {case.key}", older=f"{case.older} Still.", newer=f"{case.newer} Still.") for case in cases]
    bad = await contexts.of(store, embedder, renamed, CompatibleMind(), name="of no mind")
    assert (bad.contexts, bad.superseded, bad.foreign) == (2, 2, 0)
    fallen = [one.name for one in outside(_as_if(good, 100), _as_if(bad, 100)) if one.is_worse]
    assert fallen == ["contexts holding a superseded fact, said as facts", "superseded facts among memories told, said as facts"]


async def test_what_conversations_still_say_and_nobody_marks_is_noticed(stack: Stack, database_url: str, redis: Redis) -> None:
    cases = [BELLS, OVEN]
    store, embedder = Store(replace(stack, database_url=database_url), ZeroEmbedder()), ZeroEmbedder()
    good = await conversations.of(store, embedder, cases, ReadingMind(cases))
    assert (good.contexts, good.superseded, good.foreign, good.lacking) == (2, 0, 0, 0)
    bad = await conversations.of(store, embedder, cases, ReadingMind([]), name="of a mind that retires nothing")
    assert (bad.contexts, bad.superseded, bad.foreign) == (2, 2, 0)


def test_the_tables_of_contexts_are_of_make_eval_too() -> None:
    found = contexts.Contexts(contexts=4, told=9, superseded=1, superseded_facts=1, foreign=0, lacking=2)
    console = Console(width=140, record=True, file=io.StringIO())
    for section in (SECTIONS["contexts"], SECTIONS["conversations"]):
        section.report(found, console, curves=False)
        assert section.as_json(found)["lacking"] == 2
    told = " ".join(console.export_text().split())
    assert "said in conversations" in told
    assert told.count("holding a superseded fact │ 1 of 4 │ 0.2500") == 2


def test_a_mark_in_the_line_before_it_tells_that_it_is_no_longer_so() -> None:
    assert tells(f"User: {BELLS.older}", BELLS)
    assert not tells(f"User: (no longer so; since then: {BELLS.newer}) {BELLS.older}", BELLS)
    assert tells(f"User: {BELLS.older} (no longer so)", BELLS)
    assert not tells(f"User: {BELLS.newer}", BELLS)


def _as_if(found: contexts.Contexts, times: int) -> list[Figure]:
    """The same shares of more contexts: two prove nothing."""
    return list(of_contexts(contexts.Contexts(**{name: count * times for name, count in asdict(found).items()})))


def test_one_fact_of_another_agent_and_a_missing_current_one_are_noticed() -> None:
    own, retired, current, foreign = uuid4(), uuid4(), uuid4(), uuid4()

    def context(*told: UUID) -> list[Figure]:
        one = contexts.counted(told, retired=[retired], current=current, own=[own, retired, current])
        hundred = {
            name: 100 * count
            for name, count in asdict(contexts.counted([own, current], retired=[retired], current=current, own=[own, current])).items()
        }
        return list(of_contexts(contexts.Contexts(**{name: count + hundred[name] for name, count in asdict(one).items()})))

    before = context(own, current)
    assert not outside(before, context(own, current))
    (leak,) = outside(before, context(own, current, foreign))
    assert (leak.name, leak.is_worse) == ("contexts holding another agent's fact, said as facts", True)


async def test_a_store_that_keeps_what_it_knew_twice_is_noticed(stack: Stack, database_url: str, redis: Redis) -> None:
    store = Store(replace(stack, database_url=database_url), ZeroEmbedder())
    good = await reworded(store, [TWICE], OracleMind([TWICE]))
    bad = await reworded(store, [replace(TWICE, older="Ida owns a boat.", newer="Ida is a boat owner.")], CompatibleMind(), name="again")
    assert (good.value, bad.value) == (0.0, 1.0)
    assert outside([replace(good, high=0.1)], [bad])[0].is_worse


def test_more_junk_of_any_of_the_four_classes_is_noticed() -> None:
    claims = [(f"Maria owns {number} bees and a boat.", None) for number in range(200)]
    before = list(of_junk("a store", claims))
    assert [one.value for one in before] == [0.0] * len(CLASSES)
    for name in CLASSES:
        said = [(line.said, None) for line in junk_classes.lines() if line.junk == name]
        fallen = [one.name for one in outside(before, list(of_junk("a store", [*claims, *said]))) if one.is_worse]
        assert fallen == [f"junk, {name}, a store"]


def test_the_four_classes_are_told_from_each_other_and_from_claims() -> None:
    lines = junk_classes.lines()
    assert len({line.said for line in lines}) == len(lines)
    for name in CLASSES:
        own = [class_of(line.said) for line in lines if line.junk == name]
        assert len(own) >= 12
        assert own.count(name) / len(own) >= 0.9
    claims = [class_of(line.said) for line in lines if line.junk is None]
    assert len(claims) >= 48
    assert sum(one is not None for one in claims) <= 2, "nouns that are verbs too: call forwarding, open water"


def test_the_command_fails_when_something_fell_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    said, previous = ["--data", str(tmp_path / "data")], tmp_path / "previous.json"
    now = [_share(0.6, "more")]
    monkeypatch.setattr(joint, "SECTIONS", [lambda data: iter(now)])  # what is measured is another test's
    assert joint.main([*said, "--previous", str(previous), "--record"]) == 0
    assert recorded(previous)[0] == now[0]
    assert joint.main([*said, "--previous", str(previous)]) == 0
    assert "nothing is worse than recorded" in capsys.readouterr().out
    now[0] = _share(0.9, "more")
    assert joint.main([*said, "--previous", str(previous)]) == 0
    assert "better than recorded" in capsys.readouterr().out
    now[0] = _share(0.3, "more")
    assert joint.main([*said, "--previous", str(previous)]) == 1
    assert "made up: 0.3000, worse than recorded (0.6000" in capsys.readouterr().out
    assert joint.main([*said, "--previous", str(previous), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["outside"][0]["is_worse"] is True


@pytest.mark.parametrize("where", ["nowhere", ""])
def test_without_data_it_says_so_in_one_line(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert joint.main(["--data", str(tmp_path / where)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("nothing measured: ")
    assert said.count("\n") == 1


def test_no_agent_hears_one_text_in_two_pairs() -> None:
    again = replace(BELLS, key="4", older=BELLS.newer, newer="The bell tower has 6 bells.")
    shared = [list(one.cases) for one in contexts.shared_out([BELLS, again, OVEN])]
    assert shared == [[BELLS, OVEN], [again]]


def test_what_was_recorded_names_no_words_of_the_data() -> None:
    for one in recorded():
        assert 0 <= one.low <= one.value <= one.high <= 1
        assert len(one.name) < 100
