"""The dates in a question, as a stretch of time: "in May", "last week", "2023-05-07", "3 days ago", "by July 10", "上个月".

    question, now ─▶ the first date in it ─▶ Span(since, until, words)      since <= moment < until, aware, in UTC
    by, until, before it ─▶ no beginning      since, after it ─▶ no end      where a language says so behind the date, there

A month without its year is the last one that has begun, a weekday the last one before today; in a question about the past that is what is
meant. English `may` is a month only where it is written or used as one. 5/7/2023 is two days, and so is not read at all; where
days or months are more than a calendar has, nothing is read either.
"""

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from nous import text
from nous.fence import without_recalled

from .framing import shortened, unmistaken

FIRST_YEAR, LAST_YEAR = 1900, 2199


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time: from `since` on and before `until`, aware UTC, None where it is open. `words` are those that named it."""

    since: datetime | None
    until: datetime | None
    words: str

    def holds(self, moment: datetime) -> bool:
        """Whether the moment lies in it."""
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)


_Days = tuple[date, date]
"""From the first day to the day after the last."""

_MONTHS = (
    "january jan januar janvier enero janeiro gennaio январь января январе يناير जनवरी มกราคม|"
    "february feb februar février fevrier febrero fevereiro febbraio февраль февраля феврале فبراير फरवरी กุมภาพันธ์|"
    "march mar märz maerz mars marzo março marco март марта марте مارس मार्च มีนาคม|"
    "april apr avril abril aprile апрель апреля апреле أبريل ابريل अप्रैल เมษายน|"
    "may mai mayo maio maggio май мая мае مايو मई พฤษภาคม|"
    "june jun juni juin junio junho giugno июнь июня июне يونيو जून มิถุนายน|"
    "july jul juli juillet julio julho luglio июль июля июле يوليو जुलाई กรกฎาคม|"
    "august aug août aout agosto август августа августе أغسطس अगस्त สิงหาคม|"
    "september sept sep septembre septiembre setembro settembre сентябрь сентября сентябре سبتمبر सितंबर กันยายน|"
    "october oct oktober okt octobre octubre outubro ottobre октябрь октября октябре أكتوبر اكتوبر अक्टूबर ตุลาคม|"
    "november nov novembre noviembre novembro ноябрь ноября ноябре نوفمبر नवंबर พฤศจิกายน|"
    "december dec dezember dez décembre decembre diciembre dezembro dicembre декабрь декабря декабре ديسمبر दिसंबर ธันวาคม"
)
_WEEKDAYS = (
    "monday montag lundi lunes segunda-feira lunedì понедельник الاثنين सोमवार|"
    "tuesday dienstag mardi martes terça-feira martedì вторник الثلاثاء मंगलवार|"
    "wednesday mittwoch mercredi miércoles quarta-feira mercoledì среду среда الأربعاء बुधवार|"
    "thursday donnerstag jeudi jueves quinta-feira giovedì четверг الخميس गुरुवार|"
    "friday freitag vendredi viernes sexta-feira venerdì пятницу пятница الجمعة शुक्रवार|"
    "saturday samstag sonnabend samedi sábado sabato субботу суббота السبت शनिवार|"
    "sunday sonntag dimanche domingo domenica воскресенье الأحد रविवार"
)
_UNITS = {
    "day": "day|days|tag|tage|tagen|jour|jours|día|días|dia|dias|giorno|giorni|день|дня|дней|天|日|يوم|أيام|일|วัน|दिन",
    "week": (
        "week|weeks|woche|wochen|semaine|semaines|semana|semanas|settimana|settimane|неделю|недели|недель|周|星期|週間|أسبوع|أسابيع|주"
        "|สัปดาห์|हफ्ते"
    ),
    "month": (
        "month|months|monat|monate|monaten|mois|mes|meses|mês|mese|mesi|месяц|месяца|месяцев|个月|個月|か月|ヶ月|شهر|أشهر|개월|เดือน|महीने"
    ),
    "year": "year|years|jahr|jahre|jahren|an|ans|année|années|año|años|ano|anos|anno|anni|год|года|лет|年|سنة|سنوات|년|ปี|साल",
}
_NUMBERS = (
    "a an one ein eine einem einer un une una uno um uma один одну 一 واحد 한 หนึ่ง एक"
    "|two zwei deux dos dois duas due два две 两 兩 二 두 สอง दो|three drei trois tres três tre три 三 ثلاثة ثلاث 세 สาม तीन"
    "|four vier quatre cuatro quatro quattro четыре 四 أربعة أربع 네 สี่ चार"
    "|five fünf cinq cinco cinque пять 五 خمسة خمس 다섯 ห้า पाँच पांच|six sechs seis sei шесть 六 ستة ست 여섯 หก छह"
    "|seven sieben sept siete sete sette семь 七 سبعة سبع 일곱 เจ็ด सात|eight acht huit ocho oito otto восемь 八 ثمانية ثماني 여덟 แปด आठ"
    "|nine neun neuf nueve nove девять 九 تسعة تسع 아홉 เก้า नौ|ten zehn dix diez dez dieci десять 十 عشرة عشر 열 สิบ दस"
    "|eleven elf onze once undici одиннадцать 十一|twelve zwölf douze doce doze dodici двенадцать 十二"
)
"""Numbers in words, from one on."""
_RELATIVE = {
    "day:0": "today|heute|aujourd'hui|hoy|hoje|oggi|сегодня|今天|今日|اليوم|오늘|วันนี้|आज",
    "day:-1": "yesterday|gestern|hier|ayer|ontem|ieri|вчера|昨天|昨日|きのう|أمس|البارحة|어제|เมื่อวาน|बीता कल",
    "day:-2": (
        "the day before yesterday|day before yesterday|vorgestern|avant-hier|anteayer|anteontem|l'altro ieri|позавчера|前天|一昨日"
        "|おととい|그저께"
    ),
    "week:0": (
        "this week|diese woche|dieser woche|cette semaine|esta semana|questa settimana|на этой неделе|这周|本周|這週|本週|今週"
        "|هذا الأسبوع|이번 주|สัปดาห์นี้|इस हफ्ते"
    ),
    "week:-1": "last week|letzte woche|letzter woche|vorige woche|la semaine dernière|la semana pasada|semana passada|la settimana scorsa"
    "|settimana scorsa|на прошлой неделе|上周|上週|上星期|上个星期|先週|الأسبوع الماضي|지난주|지난 주|สัปดาห์ที่แล้ว|पिछले हफ्ते|पिछले सप्ताह",
    "month:0": (
        "this month|diesen monat|diesem monat|ce mois-ci|este mes|este mês|questo mese|в этом месяце|这个月|本月|這個月|今月|هذا الشهر"
        "|이번 달|เดือนนี้|इस महीने"
    ),
    "month:-1": (
        "last month|letzten monat|im letzten monat|vorigen monat|le mois dernier|el mes pasado|mês passado|il mese scorso|mese scorso"
        "|в прошлом месяце|上个月|上個月|上月|先月|الشهر الماضي|지난달|지난 달|เดือนที่แล้ว|पिछले महीने"
    ),
    "year:0": "this year|dieses jahr|diesem jahr|cette année|este año|este ano|quest'anno|в этом году|今年|هذا العام|올해|ปีนี้|इस साल",
    "year:-1": (
        "last year|letztes jahr|im letzten jahr|voriges jahr|l'année dernière|l'an dernier|el año pasado|ano passado|l'anno scorso"
        "|в прошлом году|去年|昨年|العام الماضي|السنة الماضية|작년|ปีที่แล้ว|पिछले साल"
    ),
}
_RELATIVE["weekend:-1"] = (
    "last weekend|past weekend|over the weekend|at the weekend|letztes wochenende|letzten wochenende|voriges wochenende"
    "|vergangenes wochenende|am wochenende|le week-end dernier|week-end dernier|weekend dernier|fin de semana pasado"
    "|fim de semana passado|fine settimana scorso|scorso fine settimana|weekend scorso|scorso weekend|прошлые выходные"
    "|прошлых выходных|上周末|上週末|上个周末|先週末|지난 주말|지난주말|نهاية الأسبوع الماضي|สุดสัปดาห์ที่แล้ว|पिछले सप्ताहांत"
)
_MONTH = {name: at for at, names in enumerate(_MONTHS.split("|"), 1) for name in names.split()}
_WEEKDAY = {name: at for at, names in enumerate(_WEEKDAYS.split("|")) for name in names.split()}
_COUNT = {name: at for at, names in enumerate(_NUMBERS.split("|"), 1) for name in names.split()}
_UNIT = {name: unit for unit, names in _UNITS.items() for name in names.split("|")}
_RELATION = {name: told for told, names in _RELATIVE.items() for name in names.split("|")}

_OPEN_BEGIN = (
    "by|until|till|before|up to|prior to|bis|bis zum|vor|avant|avant le|jusqu'au|jusqu'à|jusqu'en|d'ici|antes de|antes del|hasta|hasta el"
    "|até|antes|antes do|entro|prima del|prima di|fino al|до|к|قبل|حتى|ก่อน|จนถึง|ภายใน"
)
_OPEN_END = (
    "since|after|starting|starting in|seit|seit dem|nach|nach dem|ab|depuis|depuis le|après|après le|desde|desde el|después de"
    "|después del|depois de|após|dopo|dopo il|dal|a partire dal|a partir de|à partir de|после|с|со|начиная с|منذ|بعد|ตั้งแต่|หลังจาก|หลัง"
)
_BEFORE = "before|prior to|vor|avant|avant le|antes de|antes del|antes do|antes|prima del|prima di|قبل|ก่อน"
_AFTER = "after|nach|nach dem|après|après le|después de|después del|depois de|após|dopo|dopo il|после|بعد|หลังจาก|หลัง"
_BEHIND = {
    "before": "より前|以前|之前|前(?![半期後后])|이전|전에|전까지|से पहले",
    "until": "为止|為止|まで|까지|तक(?!\\w)",
    "since": "onwards|onward|以来|以來|以降|起(?![きこ])|から|이래|부터|से(?!\\w)",
    "after": "以后|以後|之后|之後|より後|이후|후에|के बाद",
}
"""What says behind a date which end of it is open, in languages that say it there, as parts of one regular expression, in this order."""
_NOT_ITSELF = frozenset(f"{_BEFORE}|{_AFTER}".split("|"))
"""Of these the date itself is not meant: before May ends with April."""
_JOINED = re.compile(r"\s*(?:and|to|und|bis|et|à|au|y|al?|e|ao?|и|по|до|و|إلى|から|到|至|~|-|–)\s*(?:the\s+)?", re.IGNORECASE)
"""What stands between the two ends of one stretch."""
_IN = (
    "between|zwischen|entre|tra|fra|между|to|in|im|en|em|during|since|until|till|before|after|by|of|from|last|this|next|early|late|mid"
    "|seit|bis|vor|nach|depuis|de|a|nel|в"
)


def _any(names: object) -> str:
    """One of these, the longest first."""
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))  # type: ignore[call-overload]


_FREE = re.compile("[\u0600-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts in which a word may carry others
_MAY_BE_OTHERS = "may march mars mar mai april june august jan feb apr jun jul aug sep oct nov dec dez"
_OTHER_WORDS = frozenset(_MAY_BE_OTHERS.split())
"""Months that are also other words, names or parts of either."""
_W, _E = r"(?<!\w)", r"(?!\w)"
_NAME = f"(?P<month>{_any(_MONTH)})\\.?"
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?"
_OF = r"(?:\s+(?:of|de|del|di))?"
_THE_YEAR = r"(?:(?:year|jahr|jahre|année|an|año|ano|anno|عام|سنة)\s+)?"
_OPENED = (
    f"(?:{_W}|(?=[\u0e00-\u0e7f]))(?:(?P<ends>{_any(_OPEN_BEGIN.split('|'))})|(?P<begins>{_any(_OPEN_END.split('|'))}))"
    r"(?:\s+(?:(?:the|den|dem|das|le|el|il|o)\s+|l')?|(?<=[\u0e00-\u0e7f])\s?(?:ปี|เดือน|วันที่)?\s?)"
)
_SINCE = f"(?:{_OPENED})?"
_BEHIND_IT = re.compile("\\s?(?:" + "|".join(f"(?P<{end}>{names})" for end, names in _BEHIND.items()) + r")(?![a-z])", re.IGNORECASE)

_Reader = Callable[[re.Match[str], date], _Days | None]


def span(question: str, now: datetime) -> Span | None:
    """The stretch of time that `question` names, seen from `now` (aware); None when it names none."""
    said = unmistaken(text.form(shortened(without_recalled(question))))
    read = sorted(_read(said, now.astimezone(UTC).date()), key=lambda one: one[:2])
    if not read:
        return None
    (*_, (first, last), found), *others = read
    words = found[0].strip()
    for *_, days, other in others:
        if other.start() > found.end() and days[1] > first and _JOINED.fullmatch(said[found.end() : other.start()]):
            return Span(_moment(first), _moment(days[1]), f"{words} … {other[0].strip()}")
    match _open_end(said, found):
        case "before":
            return Span(None, _moment(first), words)
        case "until":
            return Span(None, _moment(last), words)
        case "since":
            return Span(_moment(first), None, words)
        case "after":
            return Span(_moment(last), None, words)
    return Span(_moment(first), _moment(last), words)


def _open_end(said: str, found: re.Match[str]) -> str | None:
    """What is said before or behind a date: before, until, since or after; None where both its ends are meant."""
    if ends := _group(found, "ends"):
        return "before" if ends.casefold() in _NOT_ITSELF else "until"
    if begins := _group(found, "begins"):
        return "after" if begins.casefold() in _NOT_ITSELF else "since"
    behind = _BEHIND_IT.match(said, found.end())
    return behind.lastgroup if behind else None


def _moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _read(said: str, today: date) -> Iterator[tuple[bool, int, _Days, re.Match[str]]]:
    """Every date there is: those wholly in numbers first, because they are meant whatever stands beside them, and where each begins."""
    for rank, (pattern, reader) in enumerate(_READERS):
        for found in pattern.finditer(said):
            try:
                days = reader(found, today)
            except (ValueError, OverflowError):
                continue
            if days and FIRST_YEAR <= days[0].year <= LAST_YEAR:
                yield rank >= _EXACT, found.start(), days, found


def _group(found: re.Match[str], name: str) -> str | None:
    return found.groupdict().get(name)


# ── what each pattern means ───────────────────────────────────────────────────────────────────────────────────────────────


def _numeric(found: re.Match[str], _today: date) -> _Days:
    """2023-05-07, 2023年5月7日, 7.5.2023 (with dots the day may stand first), and 2023-05 for a whole month."""
    year, month, day = int(found["year"]), int(found["m"]), _group(found, "d")
    return _one_day(date(year, month, int(day))) if day else _whole_month(year, month)


def _without_a_year(found: re.Match[str], today: date) -> _Days:
    """5月7日, 5월 7일, and 5月 for a whole month."""
    return _last_time(int(found["m"]), int(found["d"]) if _group(found, "d") else None, today)


def _named(found: re.Match[str], today: date) -> _Days | None:
    """7 May 2023, May 7th, May 2023, and May where it is surely the month."""
    word = found["month"]
    month, day, year = _MONTH[word.casefold()], _group(found, "day"), _group(found, "year")
    if not (day or year or _is_meant(found, word)):
        return None
    if year:
        return _one_day(date(int(year), month, int(day))) if day else _whole_month(int(year), month)
    return _last_time(month, int(day) if day else None, today)


def _is_meant(found: re.Match[str], word: str) -> bool:
    """Whether this word is a month here: one that may be another word is, where it has a capital behind `in`, `last` or the like."""
    before = found.string[: found.start("month")].rstrip().rpartition(" ")[2].casefold()
    is_placed = before in _IN.split("|") or bool(_group(found, "ends") or _group(found, "begins"))
    if word.casefold() in _OTHER_WORDS:
        return is_placed and (word[0].isupper() or not word.isascii())
    return len(word) > 3 or is_placed


def _year_alone(found: re.Match[str], _today: date) -> _Days | None:
    """2023, and from 2021 to 2023."""
    first, last = int(found["year"]), int(_group(found, "last") or found["year"])
    return (date(first, 1, 1), date(last + 1, 1, 1)) if first <= last else None


def _relative(found: re.Match[str], today: date) -> _Days:
    unit, steps = _RELATION[found["at"].casefold()].split(":")
    return _stretch(unit, int(steps), today)


def _ago(found: re.Match[str], today: date) -> _Days:
    """3 days ago: that day; 2 weeks ago: that week; and so on."""
    return _stretch(_UNIT[found["unit"].casefold()], -_number(found["at"]), today)


def _lately(found: re.Match[str], today: date) -> _Days:
    """The last 3 days: from then to now."""
    first, _ = _stretch(_UNIT[found["unit"].casefold()], -_number(found["at"]), today)
    since = today - timedelta(weeks=_number(found["at"])) if _UNIT[found["unit"].casefold()] == "week" else first
    return since, today + timedelta(1)


def _number(said: str) -> int:
    return _COUNT.get(said.casefold()) or int(said)


def _on_weekday(found: re.Match[str], today: date) -> _Days:
    back = (today.weekday() - _WEEKDAY[found["at"].casefold()]) % 7 or 7
    return _one_day(today - timedelta(back))


def _one_day(day: date) -> _Days:
    return day, day + timedelta(1)


def _whole_month(year: int, month: int) -> _Days:
    first = date(year, month, 1)
    return first, first + timedelta(calendar.monthrange(year, month)[1])


def _last_time(month: int, day: int | None, today: date) -> _Days:
    """The last such month that has begun, or the last such day that is not to come."""
    if day is None:
        return _whole_month(today.year if month <= today.month else today.year - 1, month)
    for year in range(today.year, today.year - 9, -1):  # 29 February
        if day <= calendar.monthrange(year, month)[1] and date(year, month, day) <= today:
            return _one_day(date(year, month, day))
    raise ValueError(f"no year has a day {day} of month {month}")


def _stretch(unit: str, steps: int, today: date) -> _Days:
    """The day, week (from Monday), its end (Saturday and Sunday), month or year so many steps from today's."""
    if unit == "day":
        return _one_day(today + timedelta(steps))
    if unit == "week":
        first = today - timedelta(today.weekday()) + timedelta(weeks=steps)
        return first, first + timedelta(7)
    if unit == "weekend":
        saturday = today - timedelta(today.weekday()) + timedelta(weeks=steps, days=5)
        return saturday, saturday + timedelta(2)
    if unit == "year":
        return date(today.year + steps, 1, 1), date(today.year + steps + 1, 1, 1)
    months = today.year * 12 + today.month - 1 + steps
    return _whole_month(months // 12, months % 12 + 1)


def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(written, re.IGNORECASE)


_NUMBER = (
    rf"(?P<at>(?<!\d)\d{{1,4}}|{_W}(?:{_any(name for name in _COUNT if not _FREE.match(name))}){_E}"
    f"|(?:{_any(name for name in _COUNT if _FREE.match(name))}))"
)
_LAST = "last|past|letzten|vergangenen|derniers|dernières|últimos|últimas|ultimi|ultime|последние|за|最近|過去|过去"
_ANY_YEAR = r"(?:19|20|21)\d\d"
_FROM = "between|from|von|zwischen|de|entre|desde|seit|depuis|tra|fra|dal|с|между|من|بين"
_TO = "and|to|until|till|through|und|bis|et|à|jusqu'en|y|al?|hasta|e|até|fino al|и|по|до|و|إلى|حتى|-"
_UNIT_NAME = f"(?P<unit>{_any(_UNIT)})"
_EXACT = 4
"""How many of the readers below, the first ones, are of whole dates in numbers."""

_READERS: list[tuple[re.Pattern[str], _Reader]] = [
    (_pattern(rf"{_SINCE}(?<!\d){_YEAR}(?P<sign>[-/.])(?P<m>\d{{1,2}})(?P=sign)(?P<d>\d{{1,2}})(?!\d)"), _numeric),
    (_pattern(rf"{_SINCE}(?<!\d){_YEAR}\s?[年년]\s?(?P<m>\d{{1,2}})\s?[月월](?:\s?(?P<d>\d{{1,2}})\s?[日號号일])?"), _numeric),
    (_pattern(rf"{_SINCE}(?<![\d.])(?P<d>\d{{1,2}})\.(?P<m>\d{{1,2}})\.{_YEAR}(?!\d)"), _numeric),
    (_pattern(rf"{_SINCE}(?<![\d-]){_YEAR}-(?P<m>\d{{2}})(?![\d-])"), _numeric),
    (_pattern(rf"{_SINCE}{_W}{_DAY}{_OF}\s+{_NAME}(?:{_OF},?\s+{_YEAR})?{_E}"), _named),
    (_pattern(rf"{_SINCE}{_W}{_NAME}(?:\s+{_DAY}{_E})?(?:{_OF},?\s+{_YEAR})?{_E}"), _named),
    (_pattern(r"(?<!\d)(?P<m>\d{1,2})\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日號号일])?"), _without_a_year),
    (_pattern(f"{_SINCE}{_W}(?P<at>{_any(name for name in _RELATION if not _FREE.match(name))}){_E}"), _relative),
    (_pattern(f"(?P<at>{_any(name for name in _RELATION if _FREE.match(name))})"), _relative),
    (_pattern(rf"{_W}(?:{_LAST})\s?{_NUMBER}\s?{_UNIT_NAME}"), _lately),
    (_pattern(rf"{_SINCE}{_NUMBER}\s+{_UNIT_NAME}\s+(?:ago|earlier|fa|atrás|назад|전|पहले){_E}"), _ago),
    (_pattern(rf"{_NUMBER}\s?{_UNIT_NAME}\s?(?:以前|之前|前|전|ที่แล้ว|ก่อน)"), _ago),
    (_pattern(rf"{_W}(?:vor|il y a|hace|há|قبل)\s+{_NUMBER}\s+{_UNIT_NAME}{_E}"), _ago),
    (_pattern(rf"{_W}(?:last|on|past|am|letzten|ce|le|el|la|lo|na|no|в|во|يوم)\s+(?P<at>{_any(_WEEKDAY)}){_E}"), _on_weekday),
    (_pattern(rf"{_W}(?:{_FROM})\s+(?:the\s+|l')?{_THE_YEAR}{_YEAR}\s*(?:{_TO})\s*(?P<last>{_ANY_YEAR}){_E}"), _year_alone),
    (_pattern(rf"(?<![\w-]){_YEAR}\s?-\s?(?P<last>{_ANY_YEAR})(?![\w-])"), _year_alone),
    (_pattern(rf"{_OPENED}{_THE_YEAR}{_YEAR}{_E}"), _year_alone),
    (_pattern(rf"{_W}(?:in|during|of|im|en|em|nel|в|في|year|jahr|año|ano|anno|année|عام|سنة)\s+{_THE_YEAR}{_YEAR}{_E}"), _year_alone),
    (_pattern(rf"(?<!\d){_YEAR}(?:\s?(?:年|년|году|год)|(?=\s?(?:से|के बाद|तक|onwards?)))"), _year_alone),
]
