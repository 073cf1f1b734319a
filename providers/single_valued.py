"""Where a sentence gives the one value of something that has one at a time, and what kind of value that is.

    Ann ─ lives in ─▶ Oslo                  holder, frame, value
    the deadline of ─ Apollo ─ is ─▶ May 3  an attribute's name about its holder, or behind it
    Ann ─ is employed by ─▶ Acme            any short link, where both claims name the attribute they state

Closed lists, and English: what is not in them (likes, visited, owns, speaks, has, listens on) may hold many values side by side. The
holder has to be the claims' subject or something with a name of its own: the men of two `the man lives in` may be two.
"""

import re
from dataclasses import dataclass
from typing import Literal

from nous.guard import english

Kind = Literal["place", "name", "day", "weekday", "number", "code", "word"]
"""What the value must look like; `place` is a name that may lie within another place."""


@dataclass(frozen=True, slots=True)
class Single:
    """Something with one value at a time.

    What is `personal` anyone has only one of; of deadlines and budgets the user has many, and only a thing has one. What is `lasting` never
    changes: of two values one was never true. `links` are the words that may lead from the holder to it where claims name the attribute.
    """

    kinds: frozenset[Kind]
    links: frozenset[str] = frozenset()
    personal: bool = False
    lasting: bool = False


def phrases(text: str) -> list[str]:
    """The phrases of a list that is written as a text."""
    return text.split("/")


def _links(text: str) -> frozenset[str]:
    return english.words(f"is are am now currently the a an at to : {text}")


_PLACE = Single(frozenset({"place"}), _links("in lives live living resides based located headquartered hosted"), personal=True)
_NAME = Single(
    frozenset({"name"}),
    _links("by for of works work working employed owned led managed assigned married engaged called named"),
    personal=True,
)
_DAY = Single(frozenset({"day", "number"}), _links("on by due set for"))
_DUE = Single(_DAY.kinds | {"weekday"}, _DAY.links)
_MEASURE = Single(frozenset({"number"}), _links("weighs earns pays"), personal=True)
_NUMBER = Single(frozenset({"number"}), _links("on costs runs set priced port"))
_CONTACT = Single(frozenset({"code", "number", "name"}), _links("on in"), personal=True)
_CODE = Single(frozenset({"code", "number", "word"}), _links("on in set runs running pinned called named"))
_CALLING = Single(frozenset({"word", "name"}), _links("as works work working employed"), personal=True)
_STATE = Single(frozenset({"word", "name"}), _links("set in called named"))
_BIRTH_DAY = Single(frozenset({"day", "number"}), _links("was born on in founded"), personal=True, lasting=True)
_BIRTH_PLACE = Single(frozenset({"place"}), _links("was born in at founded"), personal=True, lasting=True)
_BIRTH = Single(_BIRTH_DAY.kinds | _BIRTH_PLACE.kinds, personal=True, lasting=True)
_DATE = Single(frozenset({"day"}))
_SETTING = Single(frozenset({"number", "code", "word"}))


def _listed(*lists: tuple[Single, str]) -> dict[str, Single]:
    return {phrase: single for single, listed in lists for phrase in phrases(listed)}


ATTRIBUTES = _listed(
    (
        _PLACE,
        (
            "lives in/residence/place of residence/home/home city/home town/city/current city/city of residence"
            "/country of residence/location/current location/headquarters/headquarter/hq/headquarters location/based in/capital"
            "/capital city/address/home address"
        ),
    ),
    (
        _NAME,
        (
            "employer/current employer/works at/works for/workplace/company/spouse/husband/wife/married to/fiance/fiancee"
            "/owner/project owner/product owner/assignee/ceo/cto/cfo/chief executive officer/president/prime minister/mayor"
            "/governor/captain/head coach/manager/line manager/team lead/tech lead/project lead/project manager/maintainer/landlord"
        ),
    ),
    (_DUE, "deadline/due date/due"),
    (
        _DAY,
        (
            "release date/launch date/go live date/start date/end date/expiry date/expiration date/renewal date/wedding date"
            "/start time/end time"
        ),
    ),
    (_MEASURE, "age/height/weight/salary/rent/monthly rent/credit score/shoe size"),
    (
        _NUMBER,
        (
            "port/port number/default port/price/cost/budget/monthly budget/weekly budget/total budget/population/headcount"
            "/team size/timeout/request timeout/limit/rate limit/memory limit/quota/daily quota/balance/batch size/page size"
            "/pool size/retention period/retry limit/max retries/max connections/ttl"
        ),
    ),
    (_CONTACT, "email/email address/phone/phone number/mobile number/zip code/postal code/license plate/timezone/time zone"),
    (
        _CODE,
        (
            "version/current version/latest version/release/python version/node version/database version/branch/default branch"
            "/main branch/hostname/ip/ip address/region/aws region/cloud region/base url/repository url"
            "/log level"
        ),
    ),
    (_CALLING, "job/job title/occupation/profession/position/current role/marital status/relationship status/employment status"),
    (
        _STATE,
        (
            "status/project status/order status/ticket status/build status/state/phase/current phase/stage/priority/severity"
            "/subscription plan/database/primary database/package manager/default theme/theme/default language/default currency"
            "/currency"
        ),
    ),
    (_BIRTH_DAY, "birthday/birth date/birthdate/date of birth/dob/birth year/year of birth/founding date/founding year"),
    (_BIRTH_PLACE, "birthplace/birth place/place of birth/born in"),
)

# What says without any attribute that the one value comes next.
FRAMES = _listed(
    (_PLACE, "lives in/live in/now lives in/currently lives in/resides in/is based in/are based in/is located in/are located in"),
    (_PLACE, "is headquartered in/are headquartered in/is now based in/is currently based in"),
    (_NAME, "works at/works for/now works at/now works for/currently works at/currently works for/is employed by/is employed at"),
    (_NAME, "is married to/is engaged to"),
    (_MEASURE, "weighs"),
    (_NUMBER, "runs on port/is on port/is running on port/has a population of/costs"),
    (_DATE, "is due/is due on/is now due on"),
    (_SETTING, "is set to/is now set to/is currently set to"),
    (_BIRTH, "was born in/was born on/was founded in/was founded on"),
)
_LONGEST_FRAME = max(len(phrase.split()) for phrase in FRAMES)
_COPULAS = phrases("is now set to/is set to/is set at/is now/is currently/is/:")
_PLACE_COPULAS = phrases("is now in/are now in/is in/are in")
_LONGEST_NAME = max(len(phrase.split()) for phrase in ATTRIBUTES)
_CURRENT = english.words("current latest new present")
_CURRENCIES = english.words("$ € £ ¥ ₹")

# What may follow the value without changing what it is the value of.
_UNITS = english.words(
    "years year old of age months weeks days hours minutes seconds ms second minute hour day week month per a % kg lb g km m cm mm feet"
    " KB MB GB TB kb mb gb tb dollars euros pounds yen usd eur gbp k am pm requests users people inhabitants residents items rows records"
    " connections threads workers replicas nodes seats pages words characters tokens calls retries attempts points tall now today currently"
)
_HOURS = english.words("am pm")
_AGED = {("years", "old"), ("year", "old"), ("years", "of", "age")}

# Who may hold a value without being the claims' subject: something with a name, and these words about it.
_KINDS_OF_HOLDER = english.words(
    "project app application service server database cluster instance api team company repo repository module package library worker queue"
    " website site store product contract invoice ticket report release sprint meeting exam course flat apartment office branch system"
)
_ABOUT_A_HOLDER = _KINDS_OF_HOLDER | english.words("the of")
_NOT_A_NAME = _KINDS_OF_HOLDER | english.words(
    "a an the this that these those it its he his she her they their we our i my you your one two three some someone somebody something any"
    " anyone anybody anything every everyone everybody everything each all both either neither no none nobody nothing many most much more"
    " few several another other others such who whose what which where when why how if unless while because although though and or but so"
    " maybe perhaps possibly probably usually often sometimes once then there here now today tomorrow yesterday only even just also not"
    " never people users students customers employees members men women children friends man woman boy girl person child"
    " friend sister brother colleague neighbor cousin uncle aunt son daughter in on at by for from with as of per after before during until"
)
_ITSELF = english.words("it its they their the this")
_PERSON = english.words("user he she i we you my your his her our")
_NAME_OF_ITS_OWN = re.compile(r"\d|_|\w[./@]\w|\w[A-Z]")


@dataclass(frozen=True, slots=True)
class Said:
    """A stretch of a sentence: its words folded, and as they were written."""

    words: tuple[str, ...]
    written: tuple[str, ...]

    def upto(self, end: int) -> "Said":
        return Said(self.words[:end], self.written[:end])

    def since(self, start: int) -> "Said":
        return Said(self.words[start:], self.written[start:])


def attribute(name: str) -> Single | None:
    """What is known of an attribute as claims name it, in any case and with any joints; None if it may have many values."""
    return ATTRIBUTES.get(_named(name))


def same_attribute(one: str, other: str) -> bool:
    """Whether two claims name the same attribute."""
    return _named(one) == _named(other)


def _named(name: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).casefold().split())


def single(before: Said, behind: Said, *, subject: tuple[str, ...] | None, stated: Single | None) -> Single | None:
    """What has its one value between `before` and `behind`, or None if that is not certain.

    `subject` is what both claims are about, `stated` the single-valued attribute that both of them name.
    """
    if not _UNITS.issuperset(behind.words):
        return None
    if before.words[-1:] == ("is",) and behind.words in _AGED and is_a_holder(before.upto(-1), subject, personal=True):
        return _MEASURE
    if before.words[-1:] and before.words[-1] in _CURRENCIES:
        before = before.upto(-1)
    found = _linked(before, subject, stated) or _by_name(before, subject) or _framed(before, subject)
    return None if found and "day" in found.kinds and not _HOURS.issuperset(behind.words) else found


def _linked(before: Said, subject: tuple[str, ...] | None, stated: Single | None) -> Single | None:
    """Ann is employed by, where both claims say that this is her employer."""
    if stated is None:
        return None
    at = len(before.words)
    while at and before.words[at - 1] in stated.links:
        at -= 1
    return stated if at < len(before.words) and is_a_holder(before.upto(at), subject, personal=stated.personal) else None


def _by_name(before: Said, subject: tuple[str, ...] | None) -> Single | None:
    """The deadline of Apollo is; Apollo's deadline is; Apollo's headquarters are in."""
    for copula in (*_PLACE_COPULAS, *_COPULAS):
        length = len(copula.split())
        if " ".join(before.words[-length:]) == copula:
            named = before.upto(-length)
            found = _named_last(named, subject) or _named_first(named, subject)
            return found if found and (copula in _COPULAS or "place" in found.kinds) else None
    return None


def _named_last(named: Said, subject: tuple[str, ...] | None) -> Single | None:
    """Apollo's current deadline."""
    for length in range(min(_LONGEST_NAME, len(named.words)), 0, -1):
        found = ATTRIBUTES.get(" ".join(named.words[-length:]))
        holder = named.upto(-length)
        if holder.words[-1:] and holder.words[-1] in _CURRENT:
            holder = holder.upto(-1)
        if found and is_a_holder(holder, subject, personal=found.personal):
            return found
    return None


def _named_first(named: Said, subject: tuple[str, ...] | None) -> Single | None:
    """The current deadline of Apollo."""
    start = int(named.words[:1] == ("the",))
    start += bool(named.words[start:]) and named.words[start] in _CURRENT
    for end in range(min(start + _LONGEST_NAME, len(named.words) - 1), start, -1):
        found = ATTRIBUTES.get(" ".join(named.words[start:end]))
        if found and named.words[end] in {"of", "for"}:
            return found if is_a_holder(named.since(end + 1), subject, personal=found.personal, begins=False) else None
    return None


def _framed(before: Said, subject: tuple[str, ...] | None) -> Single | None:
    """Ann lives in."""
    for length in range(min(_LONGEST_FRAME, len(before.words)), 0, -1):
        frame = FRAMES.get(" ".join(before.words[-length:]))
        if frame and is_a_holder(before.upto(-length), subject, personal=frame.personal):
            return frame
    return None


def is_a_holder(holder: Said, subject: tuple[str, ...] | None, *, personal: bool = False, begins: bool = True) -> bool:
    """Whether this is the subject, or has a name of its own.

    A capital that `begins` the sentence makes a name only before what is said of the named: Dinner costs, but does not live in Oslo.
    """
    words = tuple(map(unowned, holder.words))
    if not personal and not _PERSON.isdisjoint((*words, *(subject or ()))):
        return False
    if subject and (_ITSELF | _PERSON).union(subject).issuperset(words):
        return True
    names = [_is_a_name(word, written) for word, written in zip(words, holder.written, strict=True)]
    if begins and not personal and names[:1] == [True]:
        is_sure = holder.words[0] != words[0] or _NAME_OF_ITS_OWN.search(holder.written[0]) or any(names[1:])
        if not is_sure and words[0].rpartition("-")[2] not in _KINDS_OF_HOLDER:
            return False
    return any(names) and all(is_name or word in _ABOUT_A_HOLDER for word, is_name in zip(words, names, strict=True))


def _is_a_name(word: str, written: str) -> bool:
    """`Ann`, `max_connections`, `payments-api`, and of persons the user."""
    if word in _NOT_A_NAME or not written[:1].isalnum():
        return False
    is_made = _NAME_OF_ITS_OWN.search(written) is not None and not written.isdigit()
    is_joined = "-" in word and word.rpartition("-")[2] in _KINDS_OF_HOLDER
    return word == "user" or written[:1].isupper() or is_made or is_joined


def unowned(word: str) -> str:
    """`Ann's` without its ending."""
    return word.removesuffix("'s").removesuffix("'")
