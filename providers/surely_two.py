"""Whether two values are surely two, and neither one value in two forms nor one within the other.

Oslo, Bergen      two                Norway, Oslo        one may lie within the other
5432, 5433        two                3.11, 3.11.4        one may be the other, told more exactly
May 3, May 10     two                May 3, May 3 2026   one may be the other
done, blocked     two                1,000 and 1000, NYC and New York City, complete and completed may be one
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from nous.guard import english

from .single_valued import Kind, Said, phrases

LONGEST = 5  # words of a value
CHARACTERS = 100  # and its characters
ALIKE = 0.7  # how like two words may be before one may be a form, or a slip, of the other

_NUMBER = re.compile(r"\d+(?:[.,:/\-]\d+)*")
_NOT_OF_A_VALUE = english.words(
    "and or nor but not no never with without of in on at by for from to as than if unless when while who which that whose very"
    " too also both either about around almost nearly over under between up down off out a an the i he she it they we you his her"
    " its their our my your is are was were be been being has have had do does did will would can could may might some any all more"
    " most less"
)

# Places so wide that another place named beside one may lie in it.
WIDE_PLACES = frozenset(
    phrases(
        "africa/america/north america/south america/latin america/asia/europe/australia/oceania/antarctica/scandinavia/the balkans"
        "/balkans/middle east/the middle east/caribbean/the caribbean/eu/the eu/european union/afghanistan/albania/algeria/andorra/angola"
        "/argentina/armenia/austria/azerbaijan/bahamas/the bahamas/bahrain/bangladesh/barbados/belarus/belgium/belize/benin/bhutan"
        "/bolivia/bosnia/bosnia and herzegovina/botswana/brazil/brunei/bulgaria/burkina faso/burma/burundi/cambodia/cameroon/canada"
        "/cape verde/chad/chile/china/colombia/comoros/congo/costa rica/croatia/cuba/cyprus/czechia/czech republic/the czech republic"
        "/denmark/djibouti/dominica/dominican republic/east timor/ecuador/egypt/el salvador/eritrea/estonia/eswatini/ethiopia/fiji"
        "/finland/france/gabon/gambia/georgia/germany/ghana/greece/greenland/grenada/guatemala/guinea/guyana/haiti/honduras/hungary"
        "/iceland/india/indonesia/iran/iraq/ireland/israel/italy/ivory coast/jamaica/japan/jordan/kazakhstan/kenya/kiribati/kosovo/kuwait"
        "/kyrgyzstan/laos/latvia/lebanon/lesotho/liberia/libya/liechtenstein/lithuania/luxembourg/madagascar/malawi/malaysia/maldives"
        "/mali/malta/mauritania/mauritius/mexico/moldova/monaco/mongolia/montenegro/morocco/mozambique/myanmar/namibia/nauru/nepal"
        "/netherlands/the netherlands/holland/new zealand/nicaragua/niger/nigeria/north korea/north macedonia/macedonia/norway/oman"
        "/pakistan/palau/palestine/panama/papua new guinea/paraguay/peru/philippines/the philippines/poland/portugal/qatar/romania/russia"
        "/rwanda/samoa/san marino/saudi arabia/senegal/serbia/seychelles/sierra leone/singapore/slovakia/slovenia/solomon islands/somalia"
        "/south africa/south korea/korea/south sudan/spain/sri lanka/sudan/suriname/sweden/switzerland/syria/taiwan/tajikistan/tanzania"
        "/thailand/togo/tonga/trinidad/tunisia/turkey/türkiye/turkmenistan/tuvalu/uganda/ukraine/united arab emirates/uae/the uae"
        "/united kingdom/uk/the uk/britain/great britain/england/scotland/wales/northern ireland/united states/the united states/usa"
        "/the usa/us/the us/u.s/u.s.a/uruguay/uzbekistan/vanuatu/vatican city/venezuela/vietnam/yemen/zambia/zimbabwe/soviet union/ussr"
        "/yugoslavia/czechoslovakia/hong kong/puerto rico/tibet/alabama/alaska/arizona/arkansas/california/colorado/connecticut/delaware"
        "/florida/hawaii/idaho/illinois/indiana/iowa/kansas/kentucky/louisiana/maine/maryland/massachusetts/michigan/minnesota"
        "/mississippi/missouri/montana/nebraska/nevada/new hampshire/new jersey/new mexico/new york/north carolina/north dakota/ohio"
        "/oklahoma/oregon/pennsylvania/rhode island/south carolina/south dakota/tennessee/texas/utah/vermont/virginia/washington"
        "/west virginia/wisconsin/wyoming/new england/midwest/the midwest/bay area/the bay area/alberta/british columbia/manitoba"
        "/new brunswick/newfoundland/nova scotia/ontario/quebec/saskatchewan/new south wales/queensland/victoria/tasmania/bavaria/saxony"
        "/hesse/brandenburg/lower saxony/north rhine-westphalia/thuringia/tyrol/catalonia/andalusia/galicia/basque country/brittany"
        "/normandy/provence/alsace/corsica/tuscany/lombardy/sicily/sardinia/piedmont/veneto/flanders/wallonia/siberia/crimea/kashmir"
        "/punjab/kerala/tamil nadu/karnataka/maharashtra/gujarat/bengal/west bengal/goa/bali/java/sumatra/hokkaido/okinawa/guangdong"
        "/sichuan/yunnan/manhattan/brooklyn/queens/bronx/the bronx/staten island/long island/silicon valley/hollywood/harlem/kent/essex"
        "/sussex/surrey/devon/cornwall/yorkshire/lancashire/norfolk/suffolk/cumbria/cheshire"
    )
)


def are_two(old: Said, new: Said, kinds: frozenset[Kind]) -> bool:
    """Whether both are values of one of these kinds, of the same form, and surely not the same value or one within the other."""
    if not all(0 < len(value.words) <= LONGEST and sum(map(len, value.written)) <= CHARACTERS for value in (old, new)):
        return False
    return any(_SURELY_TWO[kind](old, new) for kind in sorted(kinds))


def _two_days(old: Said, new: Said) -> bool:
    """Two dates or two months."""
    before, after = _day(old), _day(new)
    if before is None or after is None or before[0] != after[0]:
        return False
    is_another_year = bool(before[2] and after[2] and before[2] != after[2])
    return before[1] != after[1] or is_another_year


def _day(value: Said) -> tuple[str, str, str] | None:
    """What sort of day it is, which, and of what year if that is said."""
    first, *rest = value.words
    if rest and not (len(rest) == 1 and first.startswith("month ") and rest[0].isdigit()):
        return None
    if first.startswith("date "):
        parts = first.removeprefix("date ").split("-")
        return "date", "-".join(parts[-2:]), parts[0] if len(parts) == 3 else ""
    if first.startswith("month ") or (first in english.MONTHS and value.written[0][:1].isupper()):
        return "month", str(english.MONTHS.get(first, first.removeprefix("month "))), "".join(rest)
    return None


def _two_weekdays(old: Said, new: Said) -> bool:
    """Monday and Friday."""
    return english.DAYS.issuperset((*old.words, *new.words)) and old.words[0][:3] != new.words[0][:3]


def _two_numbers(old: Said, new: Said) -> bool:
    """Two numbers in the same dress: `10 MB` and `20 MB`, but not `30 seconds` and `1 minute`."""
    before, after = " ".join(old.words), " ".join(new.words)
    dress = _NUMBER.sub("#", before)
    if dress != _NUMBER.sub("#", after) or "#" not in dress or dress.startswith(("date ", "month ")):
        return False
    pairs = list(zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True))
    if sorted(_parts(before)) == sorted(_parts(after)):
        return False  # 03/04 and 04/03 may be one day
    return not any(one != other and _may_be_one_number(one, other) for one, other in pairs)


def _may_be_one_number(one: str, other: str) -> bool:
    """1,000 and 1000; 3.11 and 3.11.4; 07 and 7."""
    before, after = _parts(one), _parts(other)
    shorter = min(len(before), len(after))
    is_only_grouped = len(before) != len(after) and "".join(re.findall(r"\d", one)) == "".join(re.findall(r"\d", other))
    return before[:shorter] == after[:shorter] or is_only_grouped or _is_the_same_decimal(one, other)


def _is_the_same_decimal(one: str, other: str) -> bool:
    """2.5 and 2.50."""
    return "." in one and "." in other and one.rstrip("0") == other.rstrip("0")


def _parts(text: str) -> list[int]:
    return [int(digits[:CHARACTERS]) for digits in re.findall(r"\d+", text)]


def _two_names(old: Said, new: Said) -> bool:
    """Two names of which neither is a form of the other."""
    return all(_is_a_name(value) for value in (old, new)) and _are_unlike(old, new)


def _two_places(old: Said, new: Said) -> bool:
    """Two names of places, neither of them wide, with or without what they lie in: `Austin, Texas`."""
    before, after = (_parted_by_comma(value) for value in (old, new))
    if len(before) != len(after) or len(before) > 2 or not all(map(_is_a_name, (*before, *after))):
        return False
    return not any(" ".join(value.words) in WIDE_PLACES for value in (before[0], after[0])) and _are_unlike(before[0], after[0])


def _parted_by_comma(value: Said) -> list[Said]:
    if "," not in value.words:
        return [value]
    at = value.words.index(",")
    return [value.upto(at), value.since(at + 1)]


def _is_a_name(value: Said) -> bool:
    return bool(value.words) and all(
        written[:1].isupper() and written.replace("-", "").replace("'", "").replace(".", "").isalpha() and word not in _NOT_OF_A_VALUE
        for word, written in zip(value.words, value.written, strict=True)
    )


def _two_codes(old: Said, new: Said) -> bool:
    """Two addresses, branches or identifiers of one form, neither within the other."""
    if not all(len(value.words) == 1 and re.search(r"[\d_./@:\-]", value.written[0]) for value in (old, new)):
        return False
    before, after = old.written[0].casefold(), new.written[0].casefold()
    plain = [re.sub(r"[^\w]|_", "", code) for code in (before, after)]
    is_one_form = all((sign in before) == (sign in after) for sign in "@/")
    return is_one_form and plain[0] not in plain[1] and plain[1] not in plain[0]


def _two_words(old: Said, new: Said) -> bool:
    """Two plain words or a few, none of which is grammar."""
    plain = all(word.isalpha() and word not in _NOT_OF_A_VALUE for word in (*old.words, *new.words))
    return plain and max(len(old.words), len(new.words)) <= 3 and _are_unlike(old, new)


def _are_unlike(old: Said, new: Said) -> bool:
    """Whether neither is within the other, an abbreviation of it or almost spelled like it."""
    before, after = "".join(old.words), "".join(new.words)
    if before in after or after in before or not set(old.words).isdisjoint(new.words):
        return False
    if _initials(old.words) == after or _initials(new.words) == before:
        return False
    return SequenceMatcher(None, before, after, autojunk=False).ratio() < ALIKE


def _initials(words: Sequence[str]) -> str:
    return "".join(word[0] for word in words)


_SURELY_TWO = {
    "place": _two_places,
    "name": _two_names,
    "day": _two_days,
    "weekday": _two_weekdays,
    "number": _two_numbers,
    "code": _two_codes,
    "word": _two_words,
}
