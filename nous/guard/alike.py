"""Keys of one meaning made one: articles, numbers in words, thousands, months and days, and words that say nothing where they stand.

Only what is certain. `sold 12 March tickets` and `sold March 12 tickets` are two facts, and so are `in a week` and `in the week`.
"""

import re

from . import english

ARTICLE = "a / the"  # the key of an article that may be swapped for another

_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_SURE_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3}){2,}|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3},000|\d{1,3}(?:,\d{3})+-[a-z][a-z-]+")
_DAY = re.compile(r"(0?[1-9]|[12]\d|3[01])(st|nd|rd|th)?")
_ISO_DATE = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_YEAR = re.compile(r"[12]\d{3}")

ELIDED = frozenset({"'s", "that", "located"})


def without_elided(keys: list[str], pieces: list[str]) -> tuple[list[str], list[str]]:
    """Without the words that say nothing where they stand: `said that she`, `is located in`; and `'s` by its full name."""
    kept: list[int] = []
    for at, key in enumerate(keys):
        before, behind = keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""
        if key == "'s":
            keys[at] = "has" if behind in english.HAS_BEFORE else "is"
        silent = (key == "that" and before in english.SAYING and behind in english.SUBJECTS) or (
            key == "located" and before in {"is", "are"} and behind in {"in", "at", "on"}
        )
        if not silent:
            kept.append(at)
    return [keys[at] for at in kept], [pieces[at] for at in kept]


def as_in_english(keys: list[str], pieces: list[str]) -> list[str]:
    """Number words, thousands, `&` and articles made alike, as far as they are certain."""
    alike = [english.CERTAIN.get(key, key) for key in keys]
    for at, key in enumerate(keys):
        if key in english.ARTICLES and _is_article(alike, pieces, at):
            alike[at] = ARTICLE
        elif "," in key and _is_in_thousands(alike, at):
            alike[at] = key.replace(",", "")
        elif "-" in key and (number := english.NUMBERS.get(key.partition("-")[0])) and key == alike[at]:
            alike[at] = number + key[key.index("-") :]
    return alike


def _is_in_thousands(keys: list[str], at: int) -> bool:
    """Whether the commas in this part thousands, since two numbers are not written so, or since something is counted."""
    if _SURE_THOUSANDS.fullmatch(keys[at]):
        return at == 0 or keys[at - 1] not in english.COORDINATES
    return _THOUSANDS.fullmatch(keys[at]) is not None and _is_a_count(keys, at)


def _is_a_count(keys: list[str], at: int) -> bool:
    """Whether the comma in this number parts thousands: `1,200 users` and `$1,200`, but not `the point 10,200`."""
    before, behind = keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""
    return (
        before in english.CURRENCIES
        or (before == "?" and not behind)
        or (before not in english.PLACING and ((behind.isalpha() and behind[-1:] == "s" and len(behind) > 3) or behind in english.COUNTED))
    )


def _is_article(keys: list[str], pieces: list[str], at: int) -> bool:
    """Whether `a` or `the` stands before what it may be swapped before, and is no name, as in `they chose A team`."""
    behind = keys[at + 1] if at + 1 < len(keys) else ""
    is_name = pieces[at] == "A" and at > 0 and pieces[at - 1][:1].islower()
    return behind[:1].isalnum() and not is_name and behind not in english.ARTICLE_MATTERS_BEFORE


def with_dates(keys: list[str], pieces: list[str]) -> tuple[list[str], list[str]]:
    """Month and day, in either order and however written, as one key; with the year when it stands there."""
    dated_keys: list[str] = []
    dated_pieces: list[str] = []
    at = 0
    while at < len(keys):
        key, taken = _date(keys, at)
        dated_keys.append(key)
        dated_pieces.append(pieces[at] if taken == 1 else " ".join(pieces[at : at + taken]))
        at += taken
    return dated_keys, dated_pieces


def _date(keys: list[str], at: int) -> tuple[str, int]:
    """The key at `at`, or the date that begins there; and how many keys it takes."""
    key = keys[at]
    if len(key) == 10 and (iso := _ISO_DATE.fullmatch(key)):
        return _dated(int(iso[2]), int(iso[3]), iso[1]), 1
    if key in english.MONTHS:
        return _month_first(keys, at)
    if key[0].isdigit() or key in (ARTICLE, "the"):
        return _day_first(keys, at)
    return key, 1


def _month_first(keys: list[str], at: int) -> tuple[str, int]:
    """October 15, October the 15th, October 15th 2023; and Oct 2023."""
    month, behind = english.MONTHS[keys[at]], keys[at + 1 : at + 6]
    skipped = int(behind[:1] in ([ARTICLE], ["the"]))
    if len(behind) > skipped and (day := _DAY.fullmatch(behind[skipped])):
        comma = int(behind[skipped + 1 : skipped + 2] == [","])
        year = _year(behind[skipped + 1 + comma :])
        if year and not _ends_a_date(behind[skipped + 2 + comma :]):
            year = ""  # October 15, 2000 people came
        return _dated(month, int(day[1]), year), 2 + skipped + (1 + comma if year else 0)
    return (f"month {month}", 1) if _year(behind) else (keys[at], 1)


def _day_first(keys: list[str], at: int) -> tuple[str, int]:
    """15 October, the 15th of October, 15th October 2023; a plain day only where it cannot be a count."""
    skipped = int(keys[at] in (ARTICLE, "the"))
    day, *behind = keys[at + skipped : at + skipped + 4] or [""]
    is_day = _DAY.fullmatch(day)
    if is_day is None or (skipped and not is_day[2]):
        return keys[at], 1
    of = int(behind[:1] == ["of"] and bool(is_day[2]))
    month, year = english.MONTHS.get("".join(behind[of : of + 1])), _year(behind[of + 1 :])
    if month is None or not (is_day[2] or year or _is_plain_date(keys, at)):
        return keys[at], 1
    return _dated(month, int(is_day[1]), year), 2 + skipped + of + bool(year)


def _is_plain_date(keys: list[str], at: int) -> bool:
    """Whether `12 March` here is a day: `on 12 March`, but not `sold 12 March tickets`."""
    before = keys[at - 1] if at else "on"
    if before == "," and at > 1 and keys[at - 2] in english.DAYS:
        before = keys[at - 2]
    return (before in english.BEFORE_A_DATE or before in english.DAYS) and _ends_a_date(keys[at + 2 : at + 3])


def _ends_a_date(behind: list[str]) -> bool:
    """Whether what stands behind cannot be what is counted."""
    return not behind or behind[0] in english.BEHIND_A_DATE or behind[0] in {",", ".", ";", "?", "!", ")", '"', "—"}


def _year(keys: list[str]) -> str:
    return keys[0] if keys and _YEAR.fullmatch(keys[0]) else ""


def _dated(month: int, day: int, year: str) -> str:
    return f"date {year + '-' if year else ''}{month}-{day}"
