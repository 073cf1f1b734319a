"""What makes two wordings the same text: only differences that never carry meaning are folded.

    raw ──form──▶ one Unicode form, one kind of space, quote, dash and digit
        ──bare──▶ nothing around the text: no bullet, no quotes, no full stop
        ──folded──▶ case folded, word by word ──▶ content hash

A hash hit merges two facts with no further look, so less is folded here than a reader would fold: `-5` and `5`, `3.5` and `35`,
`C` and `C++`, a question and a statement, `Foo.py` and `foo.py`, 5 mW and 5 MW, 10⁵ and 105, `Maße` and `Masse` stay apart.
What stays apart without need (a comma, a dash, `doesn't`) is for the guard to see.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufe0e\ufe0f\ufeff\uffa0"
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
_BULLETS = frozenset("-*•·‣▪●○–—")
_STOPS = ".。।۔።! "
_WRAPS = {'"': '"', "'": "'", "(": ")", "[": "]", "「": "」", "『": "』", "《": "》"}
_WRAPPING = frozenset('"()[]「」『』《》')
_NO_OPENING = str.maketrans("", "", "([")
_NO_CLOSING = str.maketrans("", "", ")]")
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
_CASELESS_MIXTURE = re.compile(
    r"\d[\d.,:]*(?:st|nd|rd|th|am|pm|mg|kg|cm|km|ml|lbs?|oz|ft|hz|khz|mhz|ghz|kwh|kmh|mph)|\d{2,4}s", re.IGNORECASE
)
_CAMEL = re.compile(r"(?<![A-Za-z])[a-z]+[A-Z]")

# Where case is the meaning: it is then kept in the whole text.
_CASE_IS_CONTENT = re.compile(
    r"pass ?(?:word|phrase|code|key)|api.?key|case.?sensitiv|capitali[sz]|upper.?case|lower.?case|passwort|kennwort|mot de passe|contraseñ"
    r"|senha|parola|пароль|κωδικ|şifre|hasło|密码|密碼|口令|パスワード|비밀번호|암호|رمز|כלי?סמ|סיסמ|पासवर्ड|รหัสผ่าน|mật khẩu"
)
_CAMELS_OF_TRADE = frozenset(
    {"iPhone", "iPhones", "iPad", "iPads", "iPod", "iOS", "iCloud", "iMac", "iTunes", "iMessage", "eBay", "macOS", "eBook"}
)
_OTHER_IN_CAPITALS = frozenset({"US", "IT", "WHO", "AIDS"})  # not us, it, who, aids
_OTHER_WHEN_POLITE = frozenset({"Sie", "Ihr", "Ihre", "Ihnen", "Ihrem", "Ihren", "Ihrer", "Ihres", "Lei"})  # you, not they or she
# After a number another case is another unit, except that these small letters are read as most people mean them.
_CASED_UNITS = frozenset(
    {"mw", "mv", "ma", "mj", "mpa", "mm", "nm", "ps", "pb", "kb", "mb", "gb", "tb", "kbps", "mbps", "gbps", "kbit", "mbit", "gbit"}
)
_MEANT_UNITS = {"kb": "KB", "mb": "MB", "gb": "GB", "tb": "TB", "kB": "KB", "kbps": "Kbps", "mbps": "Mbps", "gbps": "Gbps", "l": "L"}


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


def fold_case(text: str) -> str:
    """Full case folding, except that ß stays itself: `in Maßen` is not `in Massen`."""
    if text.isascii():
        return text.lower()
    if "ß" in text or "ẞ" in text:
        return "ß".join(map(fold_case, re.split("[ßẞ]", text)))
    return unicodedata.normalize("NFC", text.casefold()).replace("i\u0307", "i")


def case_is_content(formed: str) -> bool:
    """Whether the text is about how something is spelled, as one about a password is."""
    return _CASE_IS_CONTENT.search(formed.lower()) is not None


def folded(core: str, before: str = "", *, shouting: bool = False) -> str:
    """One word with its case folded, or as it stands where case may be its meaning.

    `core` has no punctuation around it, `before` is the word before it, and all letters of a `shouting` text are capitals.
    """
    if before[-1:].isdigit() and ((len(core) == 1 and core not in "Ii") or core.lower() in _CASED_UNITS):
        return _MEANT_UNITS.get(core, core)
    if core.islower():
        return core if core.isascii() else fold_case(core)
    if not core.isascii() and core.casefold() == core:
        return core
    if core.istitle() and core.isalpha() and core not in _OTHER_WHEN_POLITE:
        return fold_case(core)
    if WORD.fullmatch(core) is None:
        return fold_case(core) if _CASELESS_MIXTURE.fullmatch(core) else core
    if _CAMEL.search(core) and core not in _CAMELS_OF_TRADE:
        return core
    if core in _OTHER_IN_CAPITALS and not shouting and before.lower() != "the":
        return core
    if core in _OTHER_WHEN_POLITE and before:
        return core
    return fold_case(core)


def bare(formed: str) -> str:
    """The text without what is only around it: a bullet, quotes or brackets about the whole, a full stop or an exclamation mark."""
    while formed:
        inner = formed[2:] if formed[:1] in _BULLETS and formed[1:2] == " " and not formed[2:3].isdigit() else formed
        inner = _unstopped(inner) or inner
        if _WRAPS.get(inner[:1]) == inner[-1:] and len(inner) > 2 and _WRAPPING.isdisjoint(inner[1:-1]):
            inner = inner[1:-1].strip()
        if inner == formed:
            break
        formed = inner
    return formed


def _unstopped(text: str) -> str:
    """Without the stops at its end, unless they are part of what is said, as in n! and 5!."""
    inner = text.rstrip(_STOPS)
    is_factorial = "!" in text[len(inner) :] and (inner[-1:].isdigit() or inner[-2:-1] in ("", " "))
    return text if is_factorial else inner


def core_of(chunk: str) -> str:
    """The chunk without the punctuation around it; a bracket that closes what the core opens stays, as in `f(x)`."""
    core = chunk.lstrip(_OPENING)
    end = len(core.rstrip(_CLOSING))
    while end < len(core) and core.count(_OPENED_BY.get(core[end], "\0"), 0, end) > core.count(core[end], 0, end):
        end += 1
    return core[:end]


def normalise(text: str) -> str:
    """`text` for comparing by hash: nothing around it, nothing around its words that is silent, case folded where it is no meaning."""
    formed = form(text)
    if case_is_content(formed):
        return formed.removesuffix(".")
    shouting = formed.isupper()
    chunks, before = [], ""
    for chunk in bare(formed).split(" "):
        if chunk.isalpha():
            chunks.append(before := folded(chunk, before, shouting=shouting))
        elif core := core_of(chunk):
            left, _, right = chunk.partition(core)
            left, right = _audible(left, core, right)
            chunks.append(f"{left}{folded(core, before, shouting=shouting)}{right}")
            before = core
        else:
            chunks.append(chunk)
    return " ".join(chunks)


def _audible(left: str, core: str, right: str) -> tuple[str, str]:
    """What stands before and behind one word, without brackets and without quotes about this word alone."""
    if core[-1].isdigit():
        return left, right
    left, right = left.translate(_NO_OPENING), right.translate(_NO_CLOSING)
    for quote in "\"'":
        if left[:1] == quote and quote in right:
            left, right = left[1:], right.replace(quote, "", 1)
    return left, right


def content_hash(text: str) -> bytes:
    """SHA-256 of the normalised text: equal hashes are one wording."""
    return hashlib.sha256(normalise(text).encode()).digest()


def is_blank(text: str) -> bool:
    """Whether nothing is left of `text` once what cannot be seen is gone."""
    return not form(text)
