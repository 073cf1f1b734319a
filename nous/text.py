"""What makes two wordings the same text: only differences that never carry meaning are folded.

    raw ──form──▶ one Unicode form, one kind of space, quote, dash and digit
        ──bare──▶ nothing around the text: no bullet, no quotes, no full stop
        ──folded──▶ case folded, word by word ──▶ content hash

A hash hit merges two facts with no further look, so less is folded here than a reader would fold: `-5` and `5`, `3.5` and `35`,
`C` and `C++`, a question and a statement, `Foo.py` and `foo.py`, 5 mW and 5 MW, 10⁵ and 105, `Maße` and `Masse`, `"true"` and `true`,
`git add .` and `git add` stay apart. What stays apart without need (`doesn't`, `5mg`) is for the guard to see.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

REMEMBERED = 4_096  # normalised texts: a fact's words are asked for several times within a page, a subject's all day
REMEMBERED_LENGTH = 500
END_CHARACTERS = 300


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufe0e\ufe0f\ufeff\uffa0"
    "\u0640"  # the Arabic kashida only stretches a word
)
_ONE_SHAPE = {
    "'": "‘’‚‛ʼʻ´׳",
    '"': "“”„‟«»〝〞〟״",
    "-": "‐‑‒–−﹣",
    "—": "―",
    "?": "؟⸮",
    ",": "،٬",
    ";": "؛",
    ".": "٫",
    "%": "٪",
    "~": "〜",
    "...": "…",
}
_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A final Malayalam consonant was once written with a joiner, and without it the word is another: അവൻ is he, അവന് is to him.
_JOINED = re.compile("[കണനരലള]\u0d4d\u200d")
_FINALS = dict(zip("കണനരലള", "ൿൺൻർൽൾ", strict=True))
_HALF_WIDTH = re.compile("[\uff61-\uff9f\uffa1-\uffdc\uffe8-\uffee]+")
_STOPS = ".。।۔।!"
_WRAPS = {'"': '"', "'": "'", "(": ")", "「": "」", "『": "』", "《": "》"}
_OPENING = "\"'([,;¡¿「『《〈【、，"
_CLOSING = "\"')].,;:!?。、「」『』《》〈〉【】।۔።॥"
_OPENED_BY = {")": "(", "]": "["}

# Where Unicode has its combining marks and its digits; between these lie the large blocks of Han and Hangul, which have none.
_BLOCKS = ((0x80, 0x3100), (0xA000, 0xAC00), (0xD7B0, 0x12000), (0x16000, 0x17000), (0x1BC00, 0x20000), (0xE0100, 0xE01F0))


def _ranges(codes: Iterable[int]) -> str:
    """These code points as the inside of a character class."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


_CATEGORY = {code: unicodedata.category(chr(code)) for first, end in _BLOCKS for code in range(first, end)}
_LETTER = f"(?:[^\\W\\d_]|[{_ranges(code for code, category in _CATEGORY.items() if category[0] == 'M')}])"
WORD = re.compile(f"{_LETTER}++(?:['\\-]{_LETTER}++)*+")
# A bullet stands before words; before a number, a sign or a single letter it may be a minus.
_BULLET = re.compile(f"[-*•·‣▪●○–—] (?=\"? ?(?:{_LETTER}{{2}}|[AaI] {_LETTER}{{2}}|[Ii]'{_LETTER}|[Uu]\\.[KNSkns]\\.))")
_PLAIN_WORDS = re.compile(f"{WORD.pattern}(?: {WORD.pattern})*+")
_PLAIN_SENTENCE = re.compile(f"(?:{_LETTER}|[\\d ,.;:'\\-、。।۔])++")
_ORDINARY_SENTENCE = re.compile(f"(?:{_LETTER}|[\\d ,.;:?!'\"()\\-–—、。।۔¡¿$€£%&「」『』《》])++")
_STOPPED = re.compile(f"{_LETTER}|[\\d)\\]}}\"'`%+#°»」』》]")  # what one full stop may stand behind
_ENDING = re.compile(f"(?:^|[ \"'(—,、。¡¿\\-]|(?<=[^\\x00-\\u0dff])){WORD.pattern}(?:[)\"'」』》]*|[.!?]?[\"']+)$")
# Scripts whose words do not stand apart: Thai to Burmese, Khmer, kana, bopomofo, Han.
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u1950-\u1aaf\u3005-\u312f\u31a0-\u31ff\u3400-\u9fff\uf900-\ufaff\U0001b000-\U0003ffff"
UNSPACED = re.compile(f"[{_UNSPACED}]")
# A word that stands apart, or a number.
SPACED = re.compile(f"(?:[^\\W\\d_{_UNSPACED}]++|(?![{_UNSPACED}]){_LETTER})++|\\d[\\d⁰¹²³⁴-⁹₀-₉]*+")
_CAMEL = re.compile(r"(?<![A-Za-z])[a-z]+[A-Z]")

# Where case is the meaning: it is then kept in the whole text.
_CASE_IS_CONTENT = re.compile(
    r"pass ?(?:word|phrase|code|key)|api.?key|case.?sensitiv|capitali[sz](?![mt])|upper.?case|lower.?case|passwort|kennwort|mot de passe"
    r"|contraseñ|senha|parola|пароль|κωδικ|şifre|hasło|密码|密碼|口令|パスワード|비밀번호|암호|رمز|כלי?סמ|סיסמ|पासवर्ड|รหัสผ่าน|mật khẩu"
)
# So it is where one of these is given its value (`the token is Hunter`), but not in `a key vote` and `the code review`.
_KEYED = r"(?<![a-z])(?:secret|token|key|code|user ?name|invite|licen[cs]e)s?(?![a-z])"
_MAY_BE_KEYED = ("secret", "token", "key", "code", "user", "invite", "licen")  # a text without any of these need not be searched further
_OWNED = r"(?:an?|the|her|his|its|their|my|our|your)"
_NO_VALUE = (
    r"(?:a|an|the|that|this|what|whether|why|how|when|where|in|on|at|by|to|for|of|with|from|not|no|been|being|also|still|only|very|more|most"
    r"|too|so|about|under|now)(?![^ ,.;!?])"
)
_IS_GIVEN = re.compile(
    rf"{_KEYED}(?: [^ ]+){{0,4}}? ?[:=]|{_KEYED}(?: [^ ]+){{0,4}}? (?:says|shows|contains|starts|begins|ends) "
    rf"|{_KEYED}(?: [^ ]+){{0,4}}? (?:is|are|was|were|be|reads?|equals?|=|called|named|becomes?|became|remains?) (?!{_NO_VALUE})"
    rf"|(?<![a-z])(?:set|reset|chang|updat|rotat|switch|renam)[a-z]* (?:[^ ]+ )?{_KEYED}(?: [^ ]+){{0,3}}? to (?!{_NO_VALUE})"
    rf"|{_KEYED}(?: [^ ]+){{0,2}}? [\"'`(\[]|[\"'`)\]] (?:[^ ]+ ){{0,2}}{_KEYED}"
    rf"|(?:(?:is|are|was|were|be)|[^ ],) {_OWNED} (?:[^ ]+ ){{0,2}}{_KEYED}(?=[.,;!?]|$)|(?<![^ ])as (?:[^ ]+ ){{0,3}}{_KEYED}"
)
_IS_BESIDE_A_NAME = re.compile(rf"(?i:{_KEYED})[^\w ]* [^ ]*[A-Z\d]|[\w,] [A-Z][^ ]* (?i:{_KEYED})")
_IS_BESIDE_A_NUMBER = re.compile(rf"{_KEYED}[^\w ]* [^ ]*\d")
_CAMELS_OF_TRADE = frozenset(
    {"iPhone", "iPhones", "iPad", "iPads", "iPod", "iOS", "iCloud", "iMac", "iTunes", "iMessage", "eBay", "macOS", "eBook"}
)
# In a text not all in capitals these words and the short ones below are names of their own in capitals (IT, US, CO, PIN, RAM); the
# acronyms, and any other two or three letters (XP, NBC), are no words in small letters.
_OTHER_IN_CAPITALS = _words(
    "AIDS RAID REST SOAP SWIFT BASIC RUST JAVA LISP CASE DASH SAGE SMART START LASER STEM CARE FAST SAFE MIND NICE PACE TIPS"
)
_SHORT_WORDS = _words(
    "ad ah ai am an as at ax be by do ed eh ex go ha he hi ho id if in is it la lo ma me mu my no of oh on or ow ox pa pi re so to uh um un"
    " up us we ye yo"
    " act add ago aid aim air all and any app are arm art ask ate bad bag ban bar bat bed bee bet big bit bow box boy bus but"
    " buy cab cam can cap car cat cog cop cow cry cup cut day den did die dim dip dog dos dot dry due eat ebb egg elf end era"
    " fan far fat fee few fig fin fir fit fix fly for fox fun gas gel gem get god got gum gun guy had ham has hat her him his"
    " hit hot how hub ice ill ink inn ion its jam jar jet job joy key kin kit lab law lay led leg let lid lie lip log lot low"
    " mad man map mat may men met mix mob mom mug nap net new nil nod nor not now nut oak odd off oil old one ore our out own"
    " pad pal pan pat paw pay pea pen pet pie pig pin pit pod pop pot put ram ran rap rat raw ray red rib rid rim rip rod rom"
    " row rub rug run sad sap sat saw sea see set sew she sim sin sip sir sit six ski sky sob son spa spy sum sun tab tag tan"
    " tap tar tax tea ten the tie tin tip toe ton too top toy try tub two use van vat vet via war was way web wet who why win"
    " wit won yes yet you zip zoo"
)
# Symbols that are others in another case: carbon monoxide and cobalt, megabytes and megabits.
_SYMBOLS = _words("co cs cn hf ni np os pb po sb sc sn mb gb kb tb kw mw gw mv kv mg ml db hz ah wh") - {"os"}
_ACRONYMS = _words(
    "USA UK TV TVS CEO CEOS CTO CFO API APIS URL URLS SQL GPS PDF PDFS HTML CSS HTTP JSON XML GPU CPU SSD USB DVD DVDS IBM DNA RNA PHD MRI"
    " NYC BBC CNN NBA NFL FBI CIA FAQ VPN DNS SSH TCP UDP OK"
)
_OTHER_WHEN_POLITE = frozenset({"Sie", "Ihr", "Ihre", "Ihnen", "Ihrem", "Ihren", "Ihrer", "Ihres", "Lei"})  # you, not they or she
# After a number another case is another unit, except for these; what is short enough to be a unit, or made like one, keeps its case.
_CASELESS_UNITS = _words("kg kgs km kms cm cms am pm lb lbs oz ft hz khz ghz kwh kmh mph mcg min mins hr hrs sec secs yr yrs")
_NO_UNITS = _words(
    "of to in on at and or the for his her are was is he she by we be but not men per has had new old day up out off who all an as no so"
    " if it my go do me film"
)
_MADE_LIKE_A_UNIT = re.compile(
    r"(?:da|[yzafpnuµμmcdhkgtpe]i?)?"
    r"(?:bits?|bytes?|b|bps|ibps|hz|wh?|va|v|ah?|j|pa|ev|bar|n|f|h|ω|ohm|s|t|m|g|l|k|mol|cal|lm|lx|bq|sv|gy|ci|px|wp|flops|ips|pc)"
)
# Not plainly a word, and yet of one meaning in any case: an ordinal, `30-year`, `L.F.C.`, `R&D`, the name of a host, `C++`.
_CASELESS = re.compile(
    r"\d[\d.,:]*(?:st|nd|rd|th|am|pm|kg|cm|km|lbs?|oz|ft|hz|khz|ghz|kwh|kmh|mph)|[12]\d\d0s|\d+'s"
    rf"|\d[\d.,]*(?:-(?!{_MADE_LIKE_A_UNIT.pattern}(?:-|$))[a-z]{{3,}})+"
    r"|(?:u\.s|u\.k|u\.n|e\.u|d\.c|a\.i|t\.v|f\.c|[ap]\.m|ph\.d|e\.g|i\.e|(?:[a-z]\.){2,}[a-z])(?:\.?'s)?"
    r"|[a-z]+&[a-z]+(?:'s)?|[a-z]{2,}\.'s|\.[a-z]{2,4}|(?:https?://)?(?:[a-z\d\-]+\.)+(?:com|org|net|edu|gov)(?:'s|/)?|c\+\+|[cf]#|(?:asp)?\.net|(?:node|vue|next|react)\.js",
    re.IGNORECASE,
)
_MODEL = re.compile(r"[A-Z]+-?\d{1,4}")  # PS4, PG-13, but behind these it may be a value
_BEFORE_A_VALUE = _words(
    "is are was were be to as named called = digest checksum hash commit variable option flag id column cell field value serial number"
    " plate reference ref pin hex sha"
)
_MEANT_UNITS = {"kb": "KB", "gb": "GB", "tb": "TB", "kB": "KB", "kbps": "Kbps", "mbps": "Mbps", "gbps": "Gbps", "l": "L"}
_NUMBER_WORDS = _words("one two three four five six seven eight nine ten twenty thirty forty fifty hundred thousand million billion")
# Quotes about these make a string of a value.
_VALUES = _words("true false null none nil undefined nan yes no on off")
# `listens on port 5432!`, `is up by 18%!` and `since Apollo 17!` end in a number that the sign does not multiply, but not `n is 5!`; and
# `pages 1, 2...` goes on.
_NO_FACTORIAL = re.compile(r"[^\W\d_]{2,}[,?]? [^\W\d_]{2,}[,?]?(?: \S+)? (?:\d{3,}|\d[\d,]*\.\d+)$")
_NEVER_A_FACTORIAL = re.compile(r"[$€£¥]\d[\d.,]*|\d[\d.,]*(?:%|st|nd|rd|th|TH)|\d{4}[-–]\d+|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+")
_A_FEW = re.compile(r"\S*[^\W\d_]['\"]?[,?]? \d+")
_RECKONED = re.compile(
    r"[+*^=×÷<>]| [/\-] |(?<![\w'.])[b-hj-z](?![\w'.])|(?<![a-z])(?:is|are|was|were|be|of|to|from|since|by|than|pages?|chapters?|steps?"
    r"|levels?|numbers?|values?|answers?|results?|plus|minus|times|equals?|comput\w+|calculat\w+|evaluat\w+|factorials?|solv\w+),? \d+$"
    r"|factorial|permutation|combination",
    re.IGNORECASE,
)
_PLAIN_END = re.compile(
    rf"(?:(?:^|[ \"'(])(?:{WORD.pattern}|\d[\d.]*)[,;:)\"']*){{2}} (?:{WORD.pattern}[,;:)\"']*[.]?[\"')]*|[A-Za-z\d.]+\.(?:com|org|net))$",
    re.IGNORECASE,
)
# A stop that stands alone ends a sentence cut up into its words (`He lives in Oslo .`), unless it may be a folder (`Run docker build .`).
_CUT_UP = re.compile(r" [,;:)] |(?<![a-z])(?:is|are|was|were|be|been|has|had|does|did|the|an?|of|in|on|at) |n't ", re.IGNORECASE)
_COMMANDED = re.compile(
    r"[^\w ,;:'\"().?!&–—-]|(?<!\S)-+\w"
    r"|(?<![a-z])(?:runs?|ran|running|execut(?:es?|ed|ing)|types|typed|typing|commands?|invok\w+|calls?|enters?|shell|terminal|git|hg|svn|docker|podman|rm|cd|ls|cp|mv|ln|find|grep|rg|du|npm|npx|yarn|pnpm|pip|uv|go|cargo|make|rsync|scp|tar|code|open"
    r"|eslint|prettier|ruff|black|isort|flake8|pytest|mypy|jest|tsc|terraform|ansible|kubectl|helm|chmod|chown|zip|prefix|suffix|delimiter"
    r"|separator|path|folder|directory)(?![a-z])(?: \S+){0,3}$",
    re.IGNORECASE,
)
# A sign that stands alone behind these is meant: `the prefix is !`.
_NAMING = _words("is are was be as with by to for of and or the a an sign character prefix operator delimiter separator")


def _one_form() -> dict[int, str]:
    """Each character that is only another shape of a plainer one, with the plainer one."""
    table = dict.fromkeys(map(ord, _INVISIBLE), "") | dict.fromkeys(map(ord, _SPACES), " ") | _FULL_WIDTH
    table |= {ord(shape): plain for plain, shapes in _ONE_SHAPE.items() for shape in shapes}
    table |= {code: str(unicodedata.digit(chr(code))) for code, category in _CATEGORY.items() if category == "Nd"}
    for code in (*range(0xFB50, 0xFDFC), *range(0xFE70, 0xFEFD)):  # Arabic presentation forms
        table[code] = unicodedata.normalize("NFKC", chr(code)).replace("\u0640", "")
    return table


_ONE_FORM = _one_form()
_OTHER_SHAPES = frozenset(map(chr, (*_ONE_FORM, *range(0xD800, 0xE000), *range(0xFF61, 0xFFEF))))


def form(text: str) -> str:
    """`text` in one Unicode form, its case kept: what cannot be seen goes, what only looks different is made alike."""
    text = _CONTROL.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if not _OTHER_SHAPES.isdisjoint(text):
            text = _SURROGATE.sub("\ufffd", text)
            text = _JOINED.sub(lambda final: _FINALS[final[0][0]], text)
            text = _HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
            text = unicodedata.normalize("NFC", text.translate(_ONE_FORM))
    return " ".join(text.split())


def one_line(text: str) -> str:
    """`text` word for word on one line: any space is one space, control characters and halves of characters go."""
    return " ".join(_SURROGATE.sub("", _CONTROL.sub("", text)).split())


def fold_case(text: str) -> str:
    """Full case folding, except that ß and İ stay themselves: `in Maßen` is not `in Massen`, and `İLİK` is not `ILIK`."""
    if text.isascii():
        return text.lower()
    if "İ" in text:
        return "İ".join(map(fold_case, text.split("İ")))
    if "ß" in text or "ẞ" in text:
        return "ß".join(map(fold_case, re.split("[ßẞ]", text)))
    return unicodedata.normalize("NFC", text.casefold()).replace("i\u0307", "i")


def one_i(formed: str) -> str:
    """A text that has ı is one with two letters i: İ is the capital of one, I of the other."""
    return formed.replace("İ", "i").replace("I", "ı") if "ı" in formed else formed


def case_is_content(formed: str) -> bool:
    """Whether the text is about how something is spelled, as one about a password is."""
    lowered = formed.lower()
    if _CASE_IS_CONTENT.search(lowered):
        return True
    if not any(word in lowered for word in _MAY_BE_KEYED):
        return False
    if _IS_GIVEN.search(lowered):
        return True
    beside = _IS_BESIDE_A_NUMBER if formed.isupper() else _IS_BESIDE_A_NAME
    return beside.search(lowered if formed.isupper() else formed) is not None


def folded(core: str, before: str = "", *, shouting: bool = False, stopped: bool = False) -> str:
    """One word with its case folded, or as it stands where case may be its meaning.

    `core` has no punctuation around it, `before` is the word before it with what stands behind that, all letters of a `shouting` text
    are capitals, and a full stop stands behind a `stopped` word.
    """
    if unit := _as_a_unit(core, before):
        return unit
    if core.islower():
        return core if core.isascii() else fold_case(core)
    if not core.isascii() and (core.casefold() == core or UNSPACED.search(core)):
        return core  # `我用Python` is more than one word, which the guard takes apart
    if not shouting and not (stopped and len(core) == 1) and _is_a_name_in_capitals(core, before):
        return core
    if core.istitle() and core.isalpha() and core not in _OTHER_WHEN_POLITE:
        return fold_case(core)
    if WORD.fullmatch(core) is None:
        return fold_case(core) if _is_caseless(core, before) else core
    if _CAMEL.search(core) and core not in _CAMELS_OF_TRADE:
        return core
    if core in _OTHER_WHEN_POLITE and before:
        return core
    return fold_case(core)


def _is_caseless(core: str, before: str) -> bool:
    """Whether what is not plainly a word means the same in any case."""
    return _CASELESS.fullmatch(core) is not None or (before.lower() not in _BEFORE_A_VALUE and _MODEL.fullmatch(core) is not None)


def _as_a_unit(core: str, before: str) -> str:
    """One name for what may be a unit behind a number, with its case where another case would be another unit; else nothing."""
    if not (before[-1:].isdigit() and before[0] not in "$€£¥₹") and before.lower() not in _NUMBER_WORDS:
        return ""
    small = core.lower()
    if small == "a" and before.isalpha():  # 5 million a year
        return ""
    if small in _CASELESS_UNITS and core not in {"Am", "Pm"}:
        return small
    if small in _NO_UNITS or core in "Ii" or (len(core) > 2 and _MADE_LIKE_A_UNIT.fullmatch(small) is None):
        return ""
    return _MEANT_UNITS.get(core, core.replace("µ", "μ"))


def _is_a_name_in_capitals(core: str, before: str) -> bool:
    """Whether a single letter, or a word in capitals, stands for something else than the same in small letters."""
    if len(core) == 1:
        return bool(before) and core != "I"
    if not core.isupper() or not core.isalpha() or core in _ACRONYMS:
        return False
    if core == "US" and (before.lower() in {"", "the"} or before.endswith(",")):  # no place for a pronoun
        return False
    return core in _OTHER_IN_CAPITALS or core.lower() in _SHORT_WORDS or core.lower() in _SYMBOLS


def bare(formed: str) -> str:
    """The text without what is only around it: a bullet, quotes or brackets about plain words, a full stop or an exclamation mark."""
    while formed:
        inner = formed[2:] if _BULLET.match(formed) else formed
        inner = _unstopped(inner) or inner
        if len(inner) > 2 and _WRAPS.get(inner[0]) == inner[-1] and _is_plain(inner[1:-1], inner[0]):
            inner = inner[1:-1].strip()
        if inner == formed:
            break
        formed = inner
    return formed


def _is_plain(inner: str, wrap: str) -> bool:
    """Whether quotes or brackets about this may go: words only, or in quotes also a sentence with numbers."""
    inner = inner.strip().rstrip(".!。।۔")
    if _PLAIN_WORDS.fullmatch(inner):
        return inner.lower() not in _VALUES
    if wrap == '"' and inner.count(" ") > 2:  # no value has so many words
        return True
    if wrap == "(" or _PLAIN_SENTENCE.fullmatch(inner) is None:
        return False
    return (inner.count(" ") > 1 or not inner.isascii()) and inner.count("'") == len(re.findall(r"(?<=\w)'(?=\w)", inner))


def _unstopped(text: str) -> str:
    """Without the stops at its end, unless they are part of what is said, as in n!, 5!, `user.save!` and `git add .`."""
    inner = text.rstrip(_STOPS)
    stops = text[len(inner) :]
    if not stops or not inner:
        return text
    if inner.endswith(" "):
        return inner.rstrip() if _is_silent(stops, inner.rstrip()) else text
    if len(stops) == 1 and stops != "!":
        return inner if _STOPPED.match(inner[-1]) else text
    return inner if _is_ordinary(inner) else text


def _is_silent(stops: str, inner: str) -> bool:
    """Whether stops that stand alone behind a space only end the sentence."""
    is_named = inner.rpartition(" ")[2].lower() in _NAMING
    if stops == ".":
        return not is_named and _CUT_UP.search(inner) is not None and _COMMANDED.search(inner) is None
    return (not is_named if "!" in stops else len(stops) > 2) and _is_ordinary(inner)


def _is_ordinary(inner: str) -> bool:
    """Whether this is a plain sentence that ends in a word or in no factorial, so that `!` or three dots behind it only colour it."""
    end = _end_of(inner)
    if _PLAIN_END.search(end) and inner.count(" ") > 5:
        return True
    ending = _ENDING.search(end)
    letters = ending[0].strip(" \"'()—,-.?!") if ending else ""
    return (len(letters) > 1 or letters[-1:] > "\u2e7f" or _ends_in_no_factorial(inner)) and _ORDINARY_SENTENCE.fullmatch(inner) is not None


def _end_of(text: str) -> str:
    """The last words of a text, which tell how it ends; searching all of a long one takes seconds (measured: 10 s of 8,000 characters)."""
    end = text[-END_CHARACTERS:]
    return end[max(end.find(" "), 0) :] if len(text) > END_CHARACTERS else text


def _ends_in_no_factorial(inner: str) -> bool:
    if _NO_FACTORIAL.search(_end_of(inner)):
        return True
    words = inner.rsplit(" ", 3)
    if len(words) < 4 or _NEVER_A_FACTORIAL.fullmatch(words[-1]):
        return len(words) == 4
    return _A_FEW.fullmatch(f"{words[-2]} {words[-1]}") is not None and _RECKONED.search(inner) is None


def core_of(chunk: str) -> str:
    """The chunk without the punctuation around it; a bracket that closes what the core opens stays, as in `f(x)`."""
    core = chunk.lstrip(_OPENING)
    end = len(core.rstrip(_CLOSING))
    left_open = {closing: core.count(opening, 0, end) - core.count(closing, 0, end) for closing, opening in _OPENED_BY.items()}
    while end < len(core) and left_open.get(core[end], 0) > 0:
        left_open[core[end]] -= 1
        end += 1
    return core[:end]


def unended(formed: str) -> str:
    """A text in which every character counts, without its full stop."""
    return formed if formed.endswith((" .", "..")) or formed == "." else formed.removesuffix(".")


def normalise(text: str) -> str:
    """`text` for comparing by hash: nothing around it, and case folded where it is no meaning."""
    return _remembered(text) if len(text) <= REMEMBERED_LENGTH else _normalised(text)


def _normalised(text: str) -> str:
    formed = form(text)
    if case_is_content(formed):
        return unended(formed)
    formed = one_i(bare(formed))
    shouting = formed.isupper()
    chunks, before = [], ""
    for chunk in formed.split(" "):
        if chunk.isalpha():
            chunks.append(folded(chunk, before, shouting=shouting))
            before = chunk
        elif core := core_of(chunk):
            left, _, right = chunk.partition(core)
            chunks.append(f"{left}{folded(core, before, shouting=shouting, stopped=right.startswith('.'))}{right}")
            before = f"{core}{right}"
        else:
            chunks.append(chunk)
    return " ".join(chunks)


_remembered = lru_cache(maxsize=REMEMBERED)(_normalised)


def content_hash(text: str) -> bytes:
    """SHA-256 of the normalised text: equal hashes are one wording."""
    return hashlib.sha256(normalise(text).encode()).digest()


def is_blank(text: str) -> bool:
    """Whether nothing is left of `text` once what cannot be seen is gone."""
    return not form(text)
