"""What reads like a status report, by the spec's cases 16 to 22 (000), and the same in scripts the spec did not think of."""

import pytest

from nous.noise import LETTERS_PER_WORD, MIN_LETTERS, WORDS, letters, why_noise, words_of

REASON = ("it is cheaper to run",)

# ── the spec's cases ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_case_16_a_short_status_report_without_reasons_is_noise() -> None:
    assert why_noise("Git clone success") == "it is worth 17 letters, under 20, and no reason is given"


def test_case_17_a_real_decision_with_alternatives_is_none() -> None:
    assert why_noise("Use Postgres with pgvector rather than a separate vector database") is None


def test_case_18_more_than_half_noise_words_without_reasons_are_noise() -> None:
    assert why_noise("Status update: completed and confirmed") == (
        "4 of its 5 words tell of progress (completed, confirmed, status, update), and no reason is given"
    )


def test_case_19_noise_words_with_reasons_are_none() -> None:
    assert why_noise("Status update: completed and confirmed", REASON) is None


@pytest.mark.parametrize("empty", ["", "  \n ", "\u200b", "...", "✅ !!"])
@pytest.mark.parametrize("reasons", [(), REASON])
def test_case_20_an_empty_description_is_noise_whatever_its_reasons(empty: str, reasons: tuple[str, ...]) -> None:
    assert why_noise(empty, reasons) == "it says nothing"


def test_case_21_a_normal_description_with_reasons_is_none() -> None:
    assert why_noise("Deploy on Fridays only before noon", REASON) is None


@pytest.mark.parametrize("said", ["Completed. Done! (Finished) success", "“Completed”, done; finished… success?"])
def test_case_22_a_word_counts_with_punctuation_attached(said: str) -> None:
    assert "4 of its 4 words" in (why_noise(said) or "")


# ── the edges of the rule ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_twenty_letters_are_enough_and_nineteen_are_not() -> None:
    assert why_noise("a" * (MIN_LETTERS - 1))
    assert why_noise("a" * MIN_LETTERS) is None


def test_half_is_not_more_than_half() -> None:
    assert why_noise("completed completed finished migration rollout") is None, "each word counts once, as in the spec"


@pytest.mark.parametrize("reasons", [(" ",), ("", "\u200b")])
def test_a_reason_that_says_nothing_is_none(reasons: tuple[str, ...]) -> None:
    assert why_noise("Git clone success", reasons)
    assert why_noise("Git clone success", (*reasons, *REASON)) is None


# ── any language ──────────────────────────────────────────────────────────────────────────────────────────────────────────

REPORTS = {
    "English": "Progress update: finished, checked, all done",
    "German": "Status: fertig, geprüft und erfolgreich abgeschlossen",
    "French": "Statut : terminé, vérifié et confirmé avec succès",
    "Spanish": "Actualización de estado: terminado y verificado con éxito",
    "Portuguese": "Status: concluído, verificado e confirmado com sucesso",
    "Russian": "Статус: готово, проверено, успешно завершено",
    "Arabic": "تم التحديث، تم الفحص، الحالة مكتملة بنجاح",
    "Hindi": "काम सफलतापूर्वक पूरा हो गया, पुष्टि हो गई",
    "Chinese": "任务已完成，状态更新成功，已确认",
    "Japanese": "更新が完了しました。ステータス確認済み",
    "Korean": "상태 업데이트 완료, 확인했습니다, 성공",
    "Thai": "อัปเดตสถานะเสร็จแล้ว ตรวจสอบแล้ว",
}
CHOICES = {
    "English": "Keep the monolith and split off billing only",
    "German": "Postgres statt MongoDB als einzige Datenbank",
    "French": "Garder le monolithe plutôt que les microservices",
    "Spanish": "Usar colas en vez de llamadas directas entre servicios",
    "Portuguese": "Manter o monólito em vez de dividir em microsserviços",
    "Russian": "Оставляем монолит и выносим только биллинг",
    "Arabic": "نستخدم بوستغرس بدلا من قاعدة بيانات منفصلة للمتجهات",
    "Hindi": "अलग सर्वर के बजाय एक ही डेटाबेस का उपयोग करेंगे",
    "Chinese": "选择单体架构而不是微服务",
    "Japanese": "マイクロサービスではなくモノリスを維持する",
    "Korean": "마이크로서비스 대신 모놀리스를 유지한다",
    "Thai": "ใช้ฐานข้อมูลเดียวแทนการแยกหลายเซิร์ฟเวอร์",
}


@pytest.mark.parametrize("language", REPORTS)
def test_a_report_is_noise_in_every_language_of_the_list(language: str) -> None:
    assert "tell of progress" in (why_noise(REPORTS[language]) or "")


@pytest.mark.parametrize("language", CHOICES)
def test_a_choice_is_none_in_every_language_of_the_list_however_few_its_characters(language: str) -> None:
    assert why_noise(CHOICES[language]) is None


def test_words_of_other_scripts_are_whole_and_those_that_do_not_stand_apart_are_cut() -> None:
    assert list(words_of("पूरा हो गया।")) == ["पूरा", "हो", "गया"], "a vowel sign is part of its word"
    assert list(words_of("用Python已完成部署")) == ["用", "python", "已完成", "部署"]
    assert list(words_of("release 2.0 is done")) == ["release", "2", "0", "is", "done"]


def test_every_word_of_the_list_is_found_as_it_is_typed() -> None:
    assert [word for word in WORDS if list(words_of(word)) != [word]] == []


ARTICLE_1 = {
    "English": "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act"
    " towards one another in a spirit of brotherhood.",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、"
    "互いに同胞の精神をもって行動しなければならない。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로"
    " 형제애의 정신으로 행동하여야 한다.",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в"
    " отношении друг друга в духе братства.",
    "Arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.",
}
"""Of the Universal Declaration of Human Rights."""


@pytest.mark.parametrize("language", ARTICLE_1)
def test_one_text_is_worth_about_as_many_letters_in_any_script(language: str) -> None:
    assert 0.6 < letters(ARTICLE_1[language]) / letters(ARTICLE_1["English"]) < 1.2


def test_an_english_word_has_about_as_many_letters_as_is_said() -> None:
    said = ARTICLE_1["English"]
    assert round(len(said) / len(list(words_of(said)))) == LETTERS_PER_WORD
