"""What a turn is after: the spec's list (001, tests/test_intent.py) by its names, and the same in every language."""

from datetime import UTC, datetime

import pytest

from nous.errors import UserMistake
from recall.framing import FRAMES
from recall.intent import signals
from recall.plans import Plan, plan

NOON = datetime(2026, 3, 11, 12, tzinfo=UTC)


def planned(question: str, **how: str) -> Plan:
    return plan(signals(question, **how), question, NOON)


# ── the spec's list ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_greeting_detection() -> None:
    assert signals("hey").is_greeting
    assert set(planned("hey").skipped) == {"decision", "fact", "procedure", "episode", "passage"}


def test_question_detection() -> None:
    assert signals("should we use Redis?").is_question


def test_temporal_recency() -> None:
    assert signals("what happened yesterday").recency == 0.8


def test_memory_type_hints_decision() -> None:
    assert signals("what did I decide").dominant == "decision"


def test_memory_type_hints_procedure() -> None:
    assert signals("how do I deploy").dominant == "procedure"


def test_plan_greeting_skips_all() -> None:
    assert planned("hey").queries == ()
    assert set(planned("hey").sections.values()) == {0}


def test_plan_decision_frame_budget() -> None:
    made = planned("should we use Redis?")
    assert made.frame == "decision"
    assert made.sections == {"decisions": 3_500, "procedures": 2_000}


def test_plan_hint_biased_limits() -> None:
    limits = {query.kind: query.limit for query in planned("what did I decide about caching?").queries}
    assert limits == {"decision": 8, "fact": 3, "procedure": 3, "episode": 3, "passage": 3}


# ── in every language ─────────────────────────────────────────────────────────────────────────────────────────────────────

GREETING, ASKED_AFTER_IT, DECIDED, DONE_HOW, HAPPENED_YESTERDAY = range(5)
SAID = {
    "English": (
        "Hello!",
        "Hi, which database did we choose?",
        "What did we decide?",
        "How do I deploy the app?",
        "what happened yesterday",
    ),
    "German": (
        "Guten Tag!",
        "Hallo, welche Datenbank war es?",
        "Was haben wir beschlossen?",
        "Wie kann ich das ausrollen?",
        "Was war gestern",
    ),
    "French": ("Bonjour !", "Bonjour, où habite Marie ?", "Qu'avons-nous décidé ?", "Comment faire le déploiement ?", "récemment, quoi ?"),
    "Spanish": ("¡Hola!", "Hola, ¿dónde vive María?", "¿Qué decidimos?", "¿Cómo hago el despliegue?", "¿Qué pasó ayer?"),
    "Portuguese": ("Bom dia!", "Olá, onde mora a Maria?", "O que decidimos?", "Como faço o deploy?", "O que aconteceu ontem?"),
    "Italian": ("Buongiorno!", "Ciao, dove abita Maria?", "Cosa abbiamo deciso?", "Come faccio il deploy?", "Che è successo ieri?"),
    "Russian": ("Привет!", "Привет, где живёт Мария?", "Что мы решили?", "Как сделать релиз?", "Что было вчера?"),
    "Chinese": ("你好！", "你好，玛丽住在哪里", "我们决定了什么", "怎么部署应用", "昨天发生了什么"),
    "Japanese": (
        "こんにちは！",
        "こんにちは、マリアはどこに住んでいますか",
        "何を決めましたか",
        "どうやってデプロイしますか",
        "昨日何があった",
    ),
    "Arabic": ("مرحبا!", "مرحبا، أين تعيش ماريا؟", "ماذا قررنا؟", "كيف يمكن النشر؟", "ماذا حدث أمس؟"),
    "Korean": (
        "안녕하세요!",
        "안녕하세요, 마리아는 어디에 살아요?",
        "우리가 무엇을 결정했어?",
        "어떻게 배포해요?",
        "어제 무슨 일이 있었어?",
    ),
    "Thai": ("สวัสดีครับ", "สวัสดีครับ มาเรียอยู่ที่ไหน", "เราตัดสินใจอะไร", "ทำอย่างไรจึงจะติดตั้ง", "เมื่อวานเกิดอะไรขึ้น"),
    "Hindi": ("नमस्ते!", "नमस्ते, मारिया कहाँ रहती है?", "हमने क्या फैसला किया?", "मैं कैसे करूँ?", "कल क्या हुआ?"),
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_a_greeting_is_one_in_every_language_and_is_none_with_a_question_behind_it(said: tuple[str, ...]) -> None:
    assert signals(said[GREETING]).is_greeting
    asked = signals(said[ASKED_AFTER_IT])
    assert not asked.is_greeting
    assert asked.is_question
    assert planned(said[ASKED_AFTER_IT]).queries


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_what_is_asked_for_is_heard_in_every_language(said: tuple[str, ...]) -> None:
    assert signals(said[DECIDED]).dominant == "decision"
    assert signals(said[DECIDED]).frame == "question"
    assert signals(said[DONE_HOW]).hints.get("procedure")
    assert signals(said[HAPPENED_YESTERDAY]).recency == 0.8


@pytest.mark.parametrize(
    ("said", "recency"),
    [("what do we use right now?", 1.0), ("what did we do this week?", 0.8), ("and last week?", 0.5), ("a while ago", 0.3), ("ever?", 0.0)],
)
def test_the_newest_is_wanted_as_much_as_the_words_say(said: str, recency: float) -> None:
    assert signals(said).recency == recency


@pytest.mark.parametrize(
    "said", ["hi Anna", "Hello Anna Smith!", "hey there", "hi 👋", "thanks a lot!", "Hi team, good morning", "你好小明", "yo"]
)
def test_a_greeting_with_a_name_or_a_picture_is_still_one(said: str) -> None:
    assert signals(said).is_greeting


@pytest.mark.parametrize(
    "said",
    [
        "hey, database?",
        "hi, rm -rf everything please",
        "good morning, I broke the build",
        "Hello, what can you do?",
        "hit me",
        "history of the project",
        "yoga on Monday",
        "hi port 5432",
        "hi postgres",
        "Ola Nordmann",
        "Yo Yo Ma",
        "",
        "?",
    ],
)
def test_what_says_more_than_a_greeting_is_none(said: str) -> None:
    assert not signals(said).is_greeting


@pytest.mark.parametrize("said", ["Ola Nordmann", "hello", "Hi Anna", "thanks", "你好"])
def test_a_search_is_no_greeting_whatever_it_begins_with(said: str) -> None:
    assert not signals(said, otherwise="question").is_greeting
    assert planned(said, otherwise="question").queries
    assert [query.kind for query in plan(signals(said), said, NOON, kinds=frozenset({"fact"})).queries] == ["fact"]


@pytest.mark.parametrize(
    ("said", "recency"),
    [
        ("今何をしていますか", 1.0),
        ("今週は何をした", 0.8),
        ("今月の予定", 0.5),
        ("今年の予定", 0.0),
        ("今後の予定", 0.0),
        ("今天做什么", 1.0),
        ("hier soir on a mangé quoi", 0.8),
        ("Was steht hier in der Datei?", 0.0),
    ],
)
def test_of_words_that_begin_alike_the_longest_is_heard_and_a_word_in_its_own_language(said: str, recency: float) -> None:
    assert signals(said).recency == recency


@pytest.mark.parametrize(
    ("said", "frame"),
    [
        ("Maria lives in Oslo now.", "conversation"),
        ("Will moved to Oslo.", "conversation"),
        ("Where does Maria live?", "question"),
        ("What song did we listen to?", "question"),
        ("What did we decide about Redis?", "question"),
        ("Please deploy the app to staging", "task"),
        ("Refactor the parser, then add tests", "task"),
        ("Should we use Redis or Postgres?", "decision"),
        ("What should we use for the queue?", "decision"),
        ("What should I not cook for Ines?", "question"),
        ("When should we have dinner?", "question"),
        ("Postgres vs SQLite for this", "decision"),
        ("Write a poem about Mara", "creative"),
        ("Let's brainstorm names", "creative"),
        ("The build fails with a traceback", "debug"),
        ("Why doesn't the login work? It does not work since Monday", "debug"),
        ("我们应该用 Redis 吗", "decision"),
        ("写一首关于海的诗", "creative"),
        ("程序报错了", "debug"),
        ("请部署到服务器", "task"),
        ("Sollten wir Redis nehmen?", "decision"),
        ("Schreib ein Gedicht über das Meer", "creative"),
        ("Der Build schlägt fehl", "debug"),
        ("What error budget did we set?", "question"),
        ("What error did we get?", "debug"),
        ("静かな部屋です", "conversation"),
    ],
)
def test_the_words_tell_the_frame(said: str, frame: str) -> None:
    assert signals(said).frame == frame


@pytest.mark.parametrize("frame", FRAMES)
def test_the_caller_may_name_the_frame(frame: str) -> None:
    assert signals("Where does Maria live?", frame=frame).frame == frame


def test_a_frame_that_is_none_is_a_mistake_that_names_those_there_are() -> None:
    with pytest.raises(UserMistake, match="'chess'; the frames are conversation, question"):
        signals("Your move", frame="chess")


@pytest.mark.parametrize(
    ("said", "entities"),
    [
        ('What did Maria Lopez say about "blue ocean" in Oslo?', {"Maria Lopez", "blue ocean", "Oslo"}),
        ("does app.config.py listen on port5432?", {"app.config.py", "port5432"}),
        ("我们用Redis还是「大象」", {"Redis", "大象"}),
        ("マリアさんはどこですか", {"マリア"}),
        ("what happened on 2023-05-07", {"2023-05-07"}),
        ("Где живёт Мария Иванова?", {"Мария Иванова"}),
        ("ask @anna why read_file and oneWord fail in 3-way merges", {"@anna", "read_file", "oneWord", "3-way"}),
    ],
)
def test_names_dates_and_identifiers_are_heard(said: str, entities: set[str]) -> None:
    assert entities <= set(signals(said).entities)


def test_topic_words_are_at_most_ten_in_the_order_they_were_said_and_no_little_words() -> None:
    words = signals("What do we know about the cache of the payment gateway, and its timeouts?").keywords
    assert words[:3] == ("know", "cache", "payment")
    assert len(signals(" ".join(f"topic{number}" for number in range(50))).keywords) == 10


def test_what_was_recalled_into_a_turn_tells_nothing() -> None:
    said = "hello <recalled_memory>\n| what did we decide about Redis? The build fails.\n</recalled_memory>"
    assert signals(said) == signals("hello")
