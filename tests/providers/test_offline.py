"""The mind without a model: sure of what a rule can see, and unsure of all else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from nous.guard import agree
from providers.mind import Claim, Comparison, Judgement, Judgements, Mind, NoAnswer, Pair, Prompt, Question, Relation
from providers.offline import RULES, OfflineMind
from providers.single_valued import ATTRIBUTES, attribute, same_attribute

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
CLAIM = Claim(content="Ken keeps staging on port 5432.", said_at=MONDAY, provenance="user_stated")
PROMPT = Prompt(version="1", system="", text="", max_tokens=1)


async def judge(*pairs: Pair) -> list[Judgement]:
    mind: Mind = OfflineMind()
    question = Question(task="relation", about=Comparison(pairs), prompt=PROMPT, answer=Judgements)
    return (await mind.ask(question)).answer.judgements


async def compare(old: str, new: str, subject: str | None = None, attribute: str | None = None) -> Judgement:
    older = replace(CLAIM, content=old, subject=subject, attribute=attribute)
    [judgement] = await judge(Pair(older, replace(older, content=new, said_at=MONDAY + timedelta(days=1))))
    return judgement


@pytest.mark.parametrize("content", ["Ken keeps staging on port 5432.", "ken keeps staging on port 5432"])
async def test_the_same_words_are_the_same(content: str) -> None:
    assert (await compare(CLAIM.content, content)).relation == "same"


UPDATES = [
    # a frame, and a holder with a name or the subject for one
    ("Ann lives in Oslo.", "Ann lives in Bergen.", None, None),
    ("Ann Smith now lives in Oslo.", "Ann Smith now lives in Bergen.", None, None),
    ("She lives in Oslo.", "She lives in Bergen.", "Ann", None),
    ("Lives in Oslo", "Lives in Bergen", "Ann", None),
    ("The user lives in Austin, Texas.", "The user lives in Denver, Colorado.", "user", None),
    ("Ann works at Acme.", "Ann works at Initech.", "Ann", None),
    ("Ann is 34 years old.", "Ann is 35 years old.", None, None),
    ("Ann is married to Bob.", "Ann is married to Carl.", None, None),
    ("Acme Corp is headquartered in Oslo.", "Acme Corp is headquartered in Bergen.", None, None),
    ("The payments-api service runs on port 5432.", "The payments-api service runs on port 5433.", None, None),
    ("Staging runs on port 5432.", "Staging runs on port 5433.", "staging", None),
    ("max_connections is set to 100", "max_connections is set to 200", None, None),
    ("Springfield has a population of 30,720.", "Springfield has a population of 31,100.", "Springfield", None),
    # an attribute's name
    ("The deadline for Apollo is March 3.", "The deadline for Apollo is March 10.", None, None),
    ("Apollo's deadline is March 3.", "Apollo's deadline is April 10.", None, None),
    ("The Apollo project deadline is March 3.", "The Apollo project deadline is March 10.", "Apollo", None),
    ("The deadline is March 3.", "The deadline is March 10.", "Apollo", None),
    ("The budget for Apollo is $500.", "The budget for Apollo is $800.", None, None),
    ("Apollo's budget is 500 euros", "Apollo's budget is 800 euros", None, None),
    ("The capital of Elbonia is Mudville.", "The capital of Elbonia is Dryburg.", None, None),
    ("The current version of Nous is 1.2.0.", "The current version of Nous is 1.3.0.", None, None),
    ("Ann's email address is ann@acme.com.", "Ann's email address is ann@initech.com.", None, None),
    ("Ann's phone number is 555-1234", "Ann's phone number is 555-9999", None, None),
    ("The rate limit of the Foo API is 100 requests per minute", "The rate limit of the Foo API is 200 requests per minute", None, None),
    ("The CEO of Acme is Ann.", "The CEO of Acme is Bob.", "Acme", "ceo"),
    # any short link, where both claims name the attribute
    ("Ann is employed by Acme.", "Ann is employed by Initech.", "Ann", "Employer"),
    ("Ann is a teacher.", "Ann is a nurse.", "Ann", "job-title"),
    ("Ann is single.", "Ann is married.", "Ann", "marital_status"),
    ("Apollo is blocked.", "Apollo is done.", "Apollo", "status"),
    ("Apollo is due on Friday.", "Apollo is due on Monday.", "Apollo", "due_date"),
    ("The default branch is main", "The default branch is develop", "nous", "defaultBranch"),
    ("Email: ann@acme.com", "Email: ann@initech.com", "Ann", "email"),
    # what is said to be so now
    ("Ann lives in Oslo.", "Ann lives in Bergen now.", "Ann", "home"),
    ("Ann lives in Oslo.", "Ann lives in Bergen right now.", "Ann", None),
    ("Ann lives in Oslo.", "Ann lives in Bergen, at the moment.", "Ann", None),
    ("Ann lives in Oslo.", "Ann lives in Bergen these days", "Ann", None),
    ("Ann works at Acme.", "Currently, Ann works at Initech.", "Ann", None),
    ("Ann works at Acme.", "These days Ann works at Initech.", "Ann", None),
    ("Ann lives in Oslo now.", "Ann now lives in Bergen.", "Ann", None),
    ("Ann is employed by Acme.", "Ann is currently employed by Initech.", "Ann", "employer"),
    ("Apollo's budget is 500 euros.", "Apollo's budget is 800 euros today.", None, None),
    ("The CEO of Acme is Ann.", "The CEO of Acme is Bob now.", "Acme", "ceo"),
    # what is no longer, and what is again
    ("Ann is a vegetarian.", "Ann is no longer a vegetarian.", "Ann", "diet"),
    ("The user is no longer a vegetarian.", "The user is a vegetarian.", "user", None),
]


@pytest.mark.parametrize(("old", "new", "subject", "attribute"), UPDATES)
async def test_another_value_of_what_has_one_at_a_time_updates(old: str, new: str, subject: str | None, attribute: str | None) -> None:
    assert (await compare(old, new, subject, attribute)).relation == "updates"
    assert (await compare(new, old, subject, attribute)).relation == "updates"


@pytest.mark.parametrize(
    ("old", "new", "subject"),
    [
        ("Ann was born in 1990.", "Ann was born in 1991.", None),
        ("Ann was born on May 3.", "Ann was born on May 4.", "Ann"),
        ("Ann's birthday is May 3.", "Ann's birthday is June 3.", None),
        ("Ann was born in Oslo.", "Ann was born in Bergen.", "Ann"),
        ("The cache is enabled.", "The cache is not enabled.", "cache"),
        ("Ann isn't a vegetarian.", "Ann is a vegetarian.", "Ann"),
    ],
)
async def test_two_values_of_what_never_changes_and_is_against_is_not_contradict(old: str, new: str, subject: str | None) -> None:
    assert (await compare(old, new, subject)).relation == "contradicts"
    assert (await compare(new, old, subject)).relation == "contradicts"


UNSURE = [
    # what may have many values
    ("Ann likes tea.", "Ann likes coffee.", "Ann", None),
    ("Ann likes tea.", "Ann likes coffee.", "Ann", "likes"),
    ("Ann speaks French.", "Ann speaks German.", "Ann", "language"),
    ("Ann visited Rome.", "Ann visited Paris.", "Ann", "location"),
    ("Ann owns a Volvo.", "Ann owns a Saab.", "Ann", None),
    ("Ann bought 3 books.", "Ann bought 4 books.", "Ann", None),
    ("Ann knows Bob.", "Ann knows Carl.", "Ann", None),
    ("Ann plays chess.", "Ann plays golf.", "Ann", None),
    ("Ann studied in Oslo.", "Ann studied in Bergen.", "Ann", None),
    ("Ann moved to Oslo.", "Ann moved to Bergen.", "Ann", "lives_in"),
    ("Ann lived in Oslo.", "Ann lived in Bergen.", "Ann", "lives_in"),
    ("Ann's sister is Eva.", "Ann's sister is Maja.", "Ann", "sister"),
    ("nginx listens on port 80.", "nginx listens on port 443.", "nginx", None),
    ("Ann is allergic to Nuts.", "Ann is allergic to Milk.", "Ann", "allergies"),
    # another holder, or one who may be another
    ("Ann lives in Oslo.", "Eva lives in Oslo.", None, None),
    ("Ann lives in Oslo.", "Eva lives in Bergen.", None, None),
    ("She lives in Oslo.", "She lives in Bergen.", None, None),
    ("A man lives in Oslo.", "A man lives in Bergen.", "a man", None),
    ("The man lives in Oslo.", "The man lives in Bergen.", None, None),
    ("Ann's brother lives in Oslo.", "Ann's brother lives in Bergen.", "Ann", "lives_in"),
    ("Ann knows someone who lives in Oslo.", "Ann knows someone who lives in Bergen.", "Ann", None),
    ("One of the Smiths lives in Oslo.", "One of the Smiths lives in Bergen.", None, None),
    ("The deadline is March 3.", "The deadline is March 10.", None, None),
    ("The deadline is March 3.", "The deadline is March 10.", "user", "deadline"),
    ("Dinner costs $50.", "Dinner costs $80.", None, None),
    ("Oslo is the capital of Norway.", "Bergen is the capital of Norway.", None, None),
    # the difference is not the value
    ("Ann has 2 cats and 3 dogs.", "Ann has 2 cats and 4 dogs.", "Ann", None),
    ("Ann lives in Oslo with 2 cats.", "Ann lives in Oslo with 3 cats.", "Ann", "lives_in"),
    ("Ann lives in Oslo with Bob.", "Ann lives in Oslo with Carl.", "Ann", "lives_in"),
    ("Ann lives in Oslo in June.", "Ann lives in Oslo in July.", "Ann", "lives_in"),
    ("Ann lives in Oslo and works at Acme.", "Ann lives in Oslo and works at Initech.", "Ann", "lives_in"),
    ("Ann lives in fear.", "Ann lives in Oslo.", "Ann", "lives_in"),
    ("Ann lives in a flat.", "Ann lives in a house.", "Ann", "lives_in"),
    ("Ann was born in Oslo.", "Ann was born in 1990.", "Ann", None),
    ("Ann works at night.", "Ann works at Acme.", "Ann", "employer"),
    # only part of the time, or under a condition
    ("Ann works at Acme part-time.", "Ann works at Initech part-time.", "Ann", "employer"),
    ("Ann lives in Oslo on weekdays.", "Ann lives in Bergen on weekdays.", "Ann", "lives_in"),
    ("If it rains, the port is 80.", "If it rains, the port is 81.", "api", "port"),
    ("Ann may live in Oslo.", "Ann may live in Bergen.", "Ann", "lives_in"),
    # what may be one value, or one within the other
    ("Ann lives in Norway.", "Ann lives in Oslo.", "Ann", "lives_in"),
    ("Ann lives in Brooklyn.", "Ann lives in New York.", "Ann", "lives_in"),
    ("Ann lives in LA.", "Ann lives in Los Angeles.", "Ann", "lives_in"),
    ("Ann lives in Zürich.", "Ann lives in Zurich.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Ann lives in Oslo, Norway.", "Ann", "lives_in"),
    ("Ann is an engineer.", "Ann is a software engineer.", "Ann", "job"),
    ("Ann is married to Bob Smith.", "Ann is married to Robert Smith.", "Ann", "spouse"),
    ("The version of Nous is 3.11.", "The version of Nous is 3.11.4.", None, None),
    ("The limit of Nous is 2.5.", "The limit of Nous is 2.50.", None, None),
    ("Nous's timeout is 60 seconds.", "Nous's timeout is 1 minute.", None, None),
    ("Apollo's deadline is May 3.", "Apollo's deadline is May 3, 2026.", None, None),
    ("Apollo's deadline is Friday.", "Apollo's deadline is May 3.", None, None),
    ("Apollo's deadline is 03/04/2026.", "Apollo's deadline is 04/03/2026.", None, None),
    ("Apollo's deadline is 3 days away.", "Apollo's deadline is 2 days away.", None, None),
    ("Apollo is complete.", "Apollo is completed.", "Apollo", "status"),
    ("Ann lives in Oslo.", "Ann lives in Oslo and Bergen.", "Ann", "lives_in"),
    # what says more than that it is so now, or is the value
    ("Ann lives in Oslo.", "Ann lives in Bergen for now.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Ann lived in Bergen until now.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Ann lives in Bergen now and then.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Only now Ann lives in Bergen.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Ann will live in Bergen from now on.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Ann lives in Oslo now.", "Ann", "lives_in"),
    ("Ann likes tea.", "Ann likes coffee now.", "Ann", "likes"),
    ("Ann visited Rome.", "Ann visited Paris today.", "Ann", "location"),
    ("Ann lives in Oslo with Bob.", "Ann lives in Oslo with Carl now.", "Ann", "lives_in"),
    ("Ann lives in Norway.", "Ann lives in Oslo now.", "Ann", "lives_in"),
    ("Apollo is due on Friday.", "Apollo is due today.", "Apollo", "due_date"),
    ("Apollo's deadline is May 3.", "Apollo's deadline is today.", None, None),
    ("Ann is a vegetarian.", "Ann is not a vegetarian now.", "Ann", "diet"),
    ("Ann's brother lives in Oslo.", "Ann's brother lives in Bergen now.", "Ann", "lives_in"),
    # negations
    ("Ann does not live in Oslo.", "Ann does not live in Bergen.", "Ann", "lives_in"),
    ("Ann no longer works at Acme.", "Ann no longer works at Initech.", "Ann", "employer"),
    ("Ann lives in Oslo.", "Ann does not live in Oslo.", "Ann", "lives_in"),
    ("Ann was a vegetarian.", "Ann was not a vegetarian.", "Ann", None),
    ("Ann likes tea.", "Ann doesn't like tea.", "Ann", None),
    ("A man is running.", "A man is not running.", None, None),
    ("Ann is always late.", "Ann is not always late.", "Ann", None),
    ("Ann is happy because she won.", "Ann is not happy because she won.", "Ann", None),
    ("The cache is enabled.", "The cache is not disabled.", "cache", None),
    # roles, order, questions, quotes, script
    ("Alice manages Bob.", "Bob manages Alice.", "Alice", "manager"),
    ("Does Ann live in Oslo?", "Does Ann live in Bergen?", "Ann", "lives_in"),
    ("Where does Ann live? Oslo.", "Where does Ann live? Bergen.", "Ann", "lives_in"),
    ("Ann lives in Oslo.", "Ann lives in Oslo?", "Ann", "lives_in"),
    ('Bob said "the port is 80".', 'Bob said "the port is 81".', "api", "port"),
    ("Bob said that Ann lives in Oslo.", "Bob said that Ann lives in Bergen.", "Ann", "lives_in"),
    ('Ann works at "Acme or Initech".', 'Ann works at "Acme or Globex".', "Ann", "employer"),
    ("Ann lives in Moscow.", "Ann lives in Москва.", "Ann", "lives_in"),
    # other languages, of which no rule here knows how many values a verb may have
    ("Ann wohnt in Oslo.", "Ann wohnt in Bergen.", "Ann", None),
    ("Ann mag Tee.", "Ann mag Kaffee.", "Ann", "likes"),
    ("Ann wohnt nicht in Oslo.", "Ann wohnt nicht in Bergen.", "Ann", "lives_in"),
    ("Ana vive en Lima con Pablo.", "Ana vive en Lima con Pedro.", "Ana", "lives_in"),
    ("Anne aime le thé.", "Anne aime le café.", "Anne", None),
    ("Anna fala francês.", "Anna fala alemão.", "Anna", None),
    ("Анна любит чай.", "Анна любит кофе.", "Анна", None),
    ("Анна не живёт в Осло.", "Анна не живёт в Бергене.", "Анна", "lives_in"),
    ("آنا تحب الشاي.", "آنا تحب القهوة.", "آنا", None),
    ("安娜喜欢茶。", "安娜喜欢咖啡。", "安娜", None),
    ("アンナは猫を2匹飼っている。", "アンナは猫を3匹飼っている。", "アンナ", None),
    ("안나는 차를 좋아한다.", "안나는 커피를 좋아한다.", "안나", None),
    ("अन्ना को चाय पसंद है।", "अन्ना को कॉफ़ी पसंद है।", "अन्ना", None),
    ("Anna çay sever.", "Anna kahve sever.", "Anna", None),
    ("แอนนาชอบชา", "แอนนาชอบกาแฟ", "แอนนา", None),
    # nothing, and too much
    ("", "Ann lives in Oslo.", "Ann", "lives_in"),
    ("Ann lives in Oslo " + "and so on " * 700, "Ann lives in Bergen " + "and so on " * 700, "Ann", "lives_in"),
    ("Ann lives in " + "Oslo" * 900, "Ann lives in " + "Bergen" * 900, "Ann", "lives_in"),
    ("words " * 1300, "others " * 1100, "Ann", "lives_in"),
]


@pytest.mark.parametrize(("old", "new", "subject", "attribute"), UNSURE)
async def test_what_may_be_two_facts_or_one_is_unsure_with_what_differs(
    old: str, new: str, subject: str | None, attribute: str | None
) -> None:
    for judgement in (await compare(old, new, subject, attribute), await compare(new, old, subject, attribute)):
        assert judgement.relation == "unsure"
        assert judgement.reason


async def test_a_reason_names_what_differs() -> None:
    assert "word tea ≠ coffee" in (await compare("Ann likes tea.", "Ann likes coffee.")).reason
    assert "number 5432 ≠ 5433" in (await compare("Staging runs on port 5432", "Staging runs on port 5433", "staging")).reason


@pytest.mark.parametrize(("old", "new"), [("Ann", "Bob"), ("Ann", None), (None, "Ann")])
async def test_a_value_of_another_or_perhaps_another_subject_is_no_update(old: str | None, new: str | None) -> None:
    older = replace(CLAIM, content="Ann lives in Oslo.", subject=old)
    newer = replace(CLAIM, content="Ann lives in Bergen.", subject=new, said_at=MONDAY + timedelta(days=1))
    [judgement] = await judge(Pair(older, newer))
    assert judgement.relation == "unsure"


async def test_the_same_words_about_two_subjects_are_unsure() -> None:
    alice, bob = replace(CLAIM, subject="Alice"), replace(CLAIM, subject="Bob")
    [two, one] = await judge(Pair(alice, bob), Pair(alice, replace(CLAIM, subject="alice")))
    assert two.relation == "unsure"
    assert "Alice" in two.reason
    assert one.relation == "same"


async def test_values_of_two_attributes_are_no_update() -> None:
    older = replace(CLAIM, content="Ann is single.", subject="Ann", attribute="marital_status")
    newer = replace(older, content="Ann is busy.", attribute="status", said_at=MONDAY + timedelta(days=1))
    [judgement] = await judge(Pair(older, newer))
    assert judgement.relation == "unsure"
    assert "marital_status" in judgement.reason


@pytest.mark.parametrize("later", [timedelta(0), timedelta(days=-1)])
async def test_values_said_at_one_time_hold_side_by_side(later: timedelta) -> None:
    older = replace(CLAIM, content="Ann works at Acme.", subject="Ann")
    [judgement] = await judge(Pair(older, replace(older, content="Ann works at Initech.", said_at=MONDAY + later)))
    assert judgement.relation == "unsure"
    assert "at one time" in judgement.reason


async def test_there_is_one_judgement_for_each_pair_in_their_order() -> None:
    other = replace(CLAIM, content="Something else.")
    judgements = await judge(Pair(other, CLAIM), Pair(CLAIM, CLAIM), Pair(other, CLAIM))
    assert [(judgement.pair, judgement.relation) for judgement in judgements] == [(1, "unsure"), (2, "same"), (3, "unsure")]
    assert await judge() == []


async def test_what_is_no_comparison_gets_no_answer() -> None:
    question = Question(task="relation", about=Comparison(()), prompt=PROMPT, answer=Judgement)
    with pytest.raises(NoAnswer, match="ANTHROPIC_API_KEY"):
        await OfflineMind().ask(question)


async def test_same_is_said_only_where_the_guard_agrees() -> None:
    for old, new, subject, named in (*UPDATES, *UNSURE):
        assert not agree(old, new).agrees
        assert (await compare(old, new, subject, named)).relation != "same"


@pytest.mark.parametrize("name", ["lives in", "lives_in", "Lives-In", " livesIn ", "LIVES_IN"])
def test_an_attribute_is_known_however_it_is_joined(name: str) -> None:
    assert attribute(name) is ATTRIBUTES["lives in"]
    assert same_attribute(name, "lives_in")


@pytest.mark.parametrize(
    "name", ["", "likes", "languages", "pets", "skills", "children", "visited", "hobbies", "allergies", "favorite_food"]
)
def test_what_may_have_many_values_is_not_in_the_list(name: str) -> None:
    assert attribute(name) is None


def test_every_listed_attribute_can_be_found_by_its_name() -> None:
    assert all(attribute(name) is single for name, single in ATTRIBUTES.items())


def test_the_relations_are_a_closed_list() -> None:
    assert get_args(Relation) == ("same", "refines", "updates", "contradicts", "compatible", "unsure")


def test_its_name_has_the_version_of_its_rules_so_that_other_rules_are_another_mind() -> None:
    name = OfflineMind().model("relation")
    assert name == f"offline-{RULES}"
    assert OfflineMind.is_named(name)
    assert OfflineMind.is_named("offline-99")
    assert not OfflineMind.is_named("claude-sonnet-4-6")
