"""The figures stand on these rules: what counts as one fact, what as two, and that nothing is measured when there is no data."""

import json
from pathlib import Path

import pytest

from tests.evals.__main__ import main
from tests.evals.pairs import SETS, PairSet, Relation

ROWS: dict[str, list[tuple[Relation | None, dict[str, object]]]] = {
    "pararel_x": [("same", {"label": "same"}), ("differ", {"label": "contradict"}), ("differ", {"label": "compatible"})],
    "sick_x": [
        ("same", {"label": "same?", "score": 4.5}),
        (None, {"label": "same?", "score": 4.4}),
        ("differ", {"label": "compatible", "score": 4.9}),
    ],
    "stsb_x": [("same", {"score": 5.0}), (None, {"score": 4.8}), ("differ", {"score": 3.0})],
    "mrpc_x": [("same", {"label": "same"}), ("differ", {"label": "compatible"})],
    "breaking_nli_x": [("same", {"label": "same?"}), ("differ", {"label": "contradict"})],
    "locomo_near_x": [("same", {"label": "same"}), ("differ", {"label": "refine"}), (None, {"label": None})],
    "fever_edits_x": [("differ", {"label": "contradict"})],
    "beam_updates_x": [("differ", {"label": "update"})],
    "beam_compatible_x": [("differ", {"label": "compatible"})],
    "situatedqa_updates_x": [("differ", {"q": "who mends the bells"})],
}


@pytest.mark.parametrize("pair_set", SETS, ids=lambda pair_set: pair_set.name)
def test_what_counts_as_one_fact_and_as_two(pair_set: PairSet, tmp_path: Path) -> None:
    for stem, rows in ROWS.items():
        path = tmp_path / "anywhere" / f"{stem}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(json.dumps({"old": f"{stem} {at}", "new": "b"} | row) for at, (_, row) in enumerate(rows)), "utf-8")
    found = list(pair_set.pairs(tmp_path))
    stem = f"{pair_set.name}_x"
    assert [pair.relation for pair in found] == [relation for relation, _ in ROWS[stem] if relation]
    if stem == "situatedqa_updates_x":
        assert found[0].old == "who mends the bells? situatedqa_updates_x 0."


@pytest.mark.parametrize("where", ["nowhere", ""])
def test_without_data_it_says_so_in_one_line(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / where)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("nothing measured: ")
    assert said.count("\n") == 1
