"""Dates in a question: which stretch of time is meant, seen from Wednesday 11 March 2026."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.dates import span

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


def days(question: str) -> tuple[str | None, str | None] | None:
    """The first day and the day after the last."""
    found = span(question, NOW)
    return found and tuple(moment and moment.date().isoformat() for moment in (found.since, found.until))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What was said on 2023-05-07?", ("2023-05-07", "2023-05-08")),
        ("What was said in 2023-05?", ("2023-05-01", "2023-06-01")),
        ("What happened in 2023?", ("2023-01-01", "2024-01-01")),
        ("What did Caroline do on 8 May, 2023?", ("2023-05-08", "2023-05-09")),
        ("What did she do on May 7th?", ("2025-05-07", "2025-05-08")),
        ("Who came in April?", ("2025-04-01", "2025-05-01")),
        ("What did we do in May?", ("2025-05-01", "2025-06-01")),
        ("What did we do in February?", ("2026-02-01", "2026-03-01")),
        ("and this month?", ("2026-03-01", "2026-04-01")),
        ("last week", ("2026-03-02", "2026-03-09")),
        ("yesterday evening", ("2026-03-10", "2026-03-11")),
        ("last Friday", ("2026-03-06", "2026-03-07")),
        ("3 days ago", ("2026-03-08", "2026-03-09")),
        ("the last 2 days", ("2026-03-09", "2026-03-12")),
        ("2 months ago", ("2026-01-01", "2026-02-01")),
        ("By July 10, what had we done?", (None, "2025-07-11")),
        ("What was known before May 2023?", (None, "2023-05-01")),
        ("What came after May 2023?", ("2023-06-01", None)),
        ("What has changed since March?", ("2026-03-01", None)),
        ("What has changed since yesterday?", ("2026-03-10", None)),
        ("the notes from last week", ("2026-03-02", "2026-03-09")),
        ("photos from May 7", ("2025-05-07", "2025-05-08")),
        ("between May 3 and May 7", ("2025-05-03", "2025-05-08")),
        ("from May 2023 to July 2023", ("2023-05-01", "2023-08-01")),
        ("29 February", ("2024-02-29", "2024-03-01")),
        ("Was war am 7. Mai 2023?", ("2023-05-07", "2023-05-08")),
        ("Was haben wir vor 3 Tagen gemacht?", ("2026-03-08", "2026-03-09")),
        ("le 14 juillet", ("2025-07-14", "2025-07-15")),
        ("¿Qué pasó el 7 de mayo de 2023?", ("2023-05-07", "2023-05-08")),
        ("há 2 dias", ("2026-03-09", "2026-03-10")),
        ("la settimana scorsa", ("2026-03-02", "2026-03-09")),
        ("что было в мае 2023", ("2023-05-01", "2023-06-01")),
        ("2023年5月7日发生了什么", ("2023-05-07", "2023-05-08")),
        ("上个月发生了什么", ("2026-02-01", "2026-03-01")),
        ("昨日何をした", ("2026-03-10", "2026-03-11")),
        ("지난주에 무슨 일이", ("2026-03-02", "2026-03-09")),
        ("ماذا حدث أمس", ("2026-03-10", "2026-03-11")),
        ("เมื่อวานเกิดอะไรขึ้น", ("2026-03-10", "2026-03-11")),
        ("पिछले हफ्ते क्या हुआ", ("2026-03-02", "2026-03-09")),
        ("two weeks ago", ("2026-02-23", "2026-03-02")),
        ("a month ago", ("2026-02-01", "2026-03-01")),
        ("the last three days", ("2026-03-08", "2026-03-12")),
        ("last weekend", ("2026-03-07", "2026-03-09")),
        ("Was war letztes Wochenende?", ("2026-03-07", "2026-03-09")),
        ("上周末做了什么", ("2026-03-07", "2026-03-09")),
        ("vor zwei Wochen", ("2026-02-23", "2026-03-02")),
        ("il y a deux semaines", ("2026-02-23", "2026-03-02")),
        ("hace dos semanas", ("2026-02-23", "2026-03-02")),
        ("há duas semanas", ("2026-02-23", "2026-03-02")),
        ("due settimane fa", ("2026-02-23", "2026-03-02")),
        ("две недели назад", ("2026-02-23", "2026-03-02")),
        ("两周前", ("2026-02-23", "2026-03-02")),
        ("三日前", ("2026-03-08", "2026-03-09")),
        ("Qu'est-ce qu'on a fait hier ?", ("2026-03-10", "2026-03-11")),
        ("昨日起きたこと", ("2026-03-10", "2026-03-11")),
        ("今年前半", ("2026-01-01", "2027-01-01")),
        ("between 2021 and 2023", ("2021-01-01", "2024-01-01")),
        ("2021-2023", ("2021-01-01", "2024-01-01")),
    ],
)
def test_a_date_becomes_a_stretch_of_time(question: str, meant: tuple[str | None, str | None]) -> None:
    assert days(question) == meant


BEFORE, UNTIL = (None, "2024-01-01"), (None, "2025-01-01")
SINCE, AFTER = ("2022-01-01", None), ("2023-01-01", None)


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        *[(said, SINCE) for said in ("since 2022", "starting in 2022", "2022 onwards", "seit 2022", "seit dem Jahr 2022", "ab 2022")],
        *[(said, SINCE) for said in ("depuis 2022", "depuis l'année 2022", "à partir de 2022", "desde 2022", "desde el año 2022")],
        *[(said, SINCE) for said in ("a partir de 2022", "dal 2022", "с 2022 года", "منذ 2022", "منذ عام 2022", "2022年以来")],
        *[(said, SINCE) for said in ("2022年から", "2022년부터", "ตั้งแต่ปี 2022", "2022 से")],
        *[(said, AFTER) for said in ("after 2022", "nach 2022", "après 2022", "después de 2022", "depois de 2022", "após 2022")],
        *[(said, AFTER) for said in ("dopo il 2022", "после 2022", "بعد 2022", "2022年之后", "2022년 이후", "หลังปี 2022", "2022 के बाद")],
        *[(said, BEFORE) for said in ("before 2024", "prior to 2024", "vor 2024", "avant 2024", "antes de 2024", "antes del 2024")],
        *[(said, BEFORE) for said in ("prima del 2024", "قبل 2024", "2024年之前", "2024年以前", "2024년 이전", "ก่อนปี 2024", "2024 से पहले")],
        *[(said, UNTIL) for said in ("until 2024", "by 2024", "up to 2024", "bis 2024", "jusqu'en 2024", "d'ici 2024", "hasta 2024")],
        *[
            (said, UNTIL)
            for said in ("até 2024", "fino al 2024", "entro 2024", "до 2024", "حتى 2024", "2024年まで", "2024년까지", "2024 तक")
        ],
    ],
)
def test_a_year_is_open_at_the_end_that_the_words_leave_open_in_every_language(question: str, meant: tuple[str | None, str | None]) -> None:
    assert days(question) == meant
    assert days(f"Maria: {question}?") == meant


@pytest.mark.parametrize(
    "question",
    [
        "Was steht hier in der Datei?",
        "2000 onions",
        "I have 2022 files",
        "a week of one",
        "I may go",
        "May I ask you?",
        "who may march on?",
        "port 5432",
        "5/7/2023",
        "2023-13-45",
        "9999 years ago",
        "Who is April?",
        "31 June",
        "",
    ],
)
def test_what_is_no_date_or_two_is_not_read(question: str) -> None:
    assert span(question, NOW) is None


def test_the_first_date_is_what_is_meant_and_a_whole_one_before_any() -> None:
    assert days("last week or yesterday?") == ("2026-03-02", "2026-03-09")
    assert days("yesterday's note about 2023-05-07") == ("2023-05-07", "2023-05-08")


def test_a_day_begins_at_its_first_moment_and_ends_before_the_next() -> None:
    found = span("2023-05-07", NOW)
    assert found is not None
    assert found.holds(datetime(2023, 5, 7, tzinfo=UTC))
    assert not found.holds(datetime(2023, 5, 8, tzinfo=UTC))


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["by", "until", "in", "May", "31", "2023", "last", "week", "ago", "3", "days", "0", "月", "年", "-"])).map(
        " ".join
    )
)
def test_nothing_that_is_said_is_too_much(said: str) -> None:
    found = span(said, NOW)
    assert found is None or found.since is None or found.until is None or found.since < found.until
