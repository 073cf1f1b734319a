"""Terms: what says the same is found by the same, in any language; and whatever was typed has terms that can be kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nous.terms import LONGEST_TERM, MOST_TERMS, terms

FOUND_BY = {
    "english": ("Where did Melanie's children go hiking?", "Melanie hikes with her child every Sunday."),
    "german": ("Wo wohnen die Kinder?", "Das Kind wohnt in Köln."),
    "french": ("Où habitent ses enfants ?", "Son enfant habite à Lyon."),
    "spanish": ("¿Dónde viven los niños?", "El niño vive en Madrid."),
    "portuguese": ("Onde moram os meninos?", "O menino mora em Lisboa."),
    "italian": ("Dove abitano i ragazzi?", "Il ragazzo abita a Roma."),
    "russian": ("Где живут дети Марии?", "Мария и её дети в Осло."),
    "greek": ("Πού είναι ο σκύλος;", "Ο σκύλος της Μαρίας κοιμάται."),
    "arabic": ("ما اسم القطة؟", "قطة ماريا اسمها ميمي"),
    "hindi": ("उसकी बिल्ली का नाम क्या है?", "बिल्ली का नाम मीमी है"),
    "chinese": ("我的猫叫什么？", "我的猫叫咪咪"),
    "japanese": ("何のコーヒーが好き？", "彼女はブラックコーヒーが好きです。"),
    "korean": ("고양이 이름이 뭐예요?", "제 고양이는 미미입니다"),
    "thai": ("แมวของฉันชื่ออะไร", "แมวของฉันชื่อมีมี่"),
}


@pytest.mark.parametrize("language", FOUND_BY)
def test_a_question_shares_terms_with_what_answers_it_in_every_language(language: str) -> None:
    question, answer = FOUND_BY[language]
    assert len(set(terms(question)) & set(terms(answer))) >= 1, (terms(question), terms(answer))


@pytest.mark.parametrize("said", ["To be, or not to be", "The Who", "Who is it?", "它", "C", "5", "И кто он"])
def test_little_words_are_not_lost_where_there_is_nothing_else(said: str) -> None:
    assert terms(said)


def test_little_words_are_left_out_where_something_else_is_said() -> None:
    assert terms("What did Caroline research?") == ["carolin", "research"]


def test_accents_case_and_shortened_words_make_no_difference() -> None:
    assert terms("CAFÉ") == terms("cafe") == ["cafe"]
    assert "ecol" in terms("le CAFÉ de l'école")
    assert terms("Melanie's desk") == terms("MELANIE’S desk") == ["melani", "desk"]


def test_numbers_keep_their_digits_and_parts_of_a_name_in_code_stand_alone() -> None:
    assert terms("NOUS_HOME listens on port 5432 at 2026-03-01") == ["nous", "home", "listen", "port", "5432", "2026", "03", "01"]


@pytest.mark.parametrize("said", ["", " ", "\x00", "\ud800", "!?", "…", "🙂"])
def test_what_says_nothing_has_no_terms(said: str) -> None:
    assert terms(said) == []


def test_a_text_without_a_space_is_bounded() -> None:
    assert [len(term) for term in terms("a" * 8_000)] == [LONGEST_TERM]
    assert len(terms("漢字" * 4_000)) == 7_999
    assert len(terms("漢字" * 40_000)) == MOST_TERMS


@settings(max_examples=200)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=200))
def test_whatever_was_typed_has_terms_of_letters_marks_and_digits_that_utf_8_can_hold(said: str) -> None:
    for term in terms(said):
        assert 0 < len(term) <= LONGEST_TERM * 2
        assert "'" not in term
        assert "\\" not in term
        assert "\x00" not in term
        term.encode()
