"""What fits: never a token more than there is, the best first, and what is long cut at the end of a sentence."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from recall import tokens
from recall.fitting import Fitted, fitted
from recall.plans import SECTIONS, Section

SENTENCES = "The first sentence tells where she lives now. The second one tells how she takes her coffee. The third is about her cat."


@dataclass(frozen=True)
class Piece:
    section: Section
    text: str
    around: str = "[f-00000001 2026-03-01 user 90%] "


def fit(pieces: list[Piece], room: int, sections: dict[Section, int] | None = None) -> Fitted[Piece]:
    return fitted(pieces, tokens=room, sections=sections or {}, cost=tokens.counted, beginning=tokens.fitting)


def test_the_best_come_first_and_a_smaller_one_may_still_fit_behind_one_that_did_not() -> None:
    small, large = Piece("facts", "Short."), Piece("facts", "Oslo " * 200)
    found = fit([small, large, small], 100)
    assert [piece for piece, _ in found.told] == [small, small]
    ((left, why),) = found.left_out
    assert left == large
    assert why.startswith("budget: ")


def test_what_is_long_is_cut_at_the_end_of_a_sentence_and_says_so() -> None:
    ((piece, price),) = fit([Piece("episodes", SENTENCES)], 55).told
    assert piece.text == "The first sentence tells where she lives now. …"
    assert price <= 55


def test_a_section_never_takes_more_than_its_own_budget() -> None:
    pieces = [Piece("decisions", f"We chose option {number}.") for number in range(9)] + [Piece("facts", "She lives in Oslo.")]
    found = fit(pieces, 1_000, {"decisions": 70})
    assert sum(price for piece, price in found.told if piece.section == "decisions") <= 70
    assert found.told[-1][0].section == "facts"
    assert all("decisions" in why for _, why in found.left_out)


@given(
    st.lists(st.builds(Piece, st.sampled_from(SECTIONS), st.text(max_size=400) | st.just(SENTENCES))),
    st.integers(0, 600),
    st.dictionaries(st.sampled_from(SECTIONS), st.integers(0, 300)),
)
def test_no_budget_is_ever_exceeded_and_nothing_disappears(pieces: list[Piece], room: int, sections: dict[Section, int]) -> None:
    found = fit(pieces, room, sections)
    assert sum(price for _, price in found.told) <= room
    for section, most in sections.items():
        assert sum(price for piece, price in found.told if piece.section == section) <= most
    assert len(found.told) + len(found.left_out) == len(pieces)
    assert all(price == tokens.counted(piece.around + piece.text) for piece, price in found.told)
