"""What English writes in two ways without meaning two things; every list here only lets more pairs agree."""

import re


def listed(text: str) -> list[str]:
    """The words of a list that is written as a text, in order."""
    return text.split()


def words(text: str) -> frozenset[str]:
    """The same where the order does not matter."""
    return frozenset(text.split())


# A text counts as English when these outweigh the words of its neighbours; `a` is a preposition or a verb in half of Europe.
_SURE = words(
    "the and of with from that this these she they their them his would could should been which user users lives works likes wants"
    " prefers uses said says because into than then there when where who whose your you my our being does did its about after before"
    " playing using wearing working living called people person"
)
_LIKELY = words("a is was are were has have had for in on at to by as it he be or not an")
_NEIGHBOURS = words(
    "der die das und ist nicht ein eine den dem von mit auf zu im el la los las del es que un una por para con le les des et est dans"
    " il di che lo gli per sono non o os um uma em não na no do da het een de van op niet en och att är det er og til jest nie się w z"
    " az egy és ve bir bu va har si ca nu cu mai hij zij je ik men wat yn ar"
)


def is_english(words: set[str]) -> bool:
    """Whether these lower-case words are surely an English text."""
    return 2 * len(_SURE & words) + len(_LIKELY & words) - 2 * len(_NEIGHBOURS & words) >= 2


ARTICLES = frozenset({"a", "an", "the"})
# Before these an article is a word like any other: few is not a few, in a week not in the week, a number of not the number of.
ARTICLE_MATTERS_BEFORE = words(
    "few little bit lot only most more less least last next past previous following other another same second 1st 2nd 3rd 4th 5th"
    " number majority minority couple half quarter time better worse best worst one and or is was are were to in second minute hour"
    " day week month year decade century moment while hundred thousand million dozen total average sole"
)

CONTRACTIONS = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
} | {f"{verb}n't": (verb, "not") for verb in words("do does did is are was were has have had would could should must need might")}
CONTRACTIONS |= {
    f"{word}'{end}": (word, full)
    for end, full, words in (
        ("m", "am", "i"),
        ("re", "are", "you we they who there what where how"),
        ("ve", "have", "i you we they who would could should might must"),
        ("ll", "will", "i you he she it we they who that there this what"),
    )
    for word in words.split()
}
CONTRACTIONS |= {f"{word}'s": (word, "'s") for word in words("he she it that there here what where who how when")}
# `'s` is `is`, or `has` before these
HAS_BEFORE = frozenset({"been", "got", "had"})

# One word, written in two ways.
ONE_WORD = {
    british: american
    for pair in words(
        "somebody/someone anybody/anyone everybody/everyone nobody/no-one mum/mom mums/moms tv/television tvs/televisions okay/ok"
        " fridge/refrigerator sofa/couch e-mail/email e-mails/emails colour/color colours/colors coloured/colored favourite/favorite"
        " favourites/favorites favour/favor flavour/flavor flavours/flavors neighbour/neighbor neighbours/neighbors"
        " neighbourhood/neighborhood labour/labor behaviour/behavior behaviours/behaviors honour/honor humour/humor rumour/rumor"
        " harbour/harbor centre/center centres/centers theatre/theater theatres/theaters travelling/traveling travelled/traveled"
        " traveller/traveler cancelled/canceled cancelling/canceling modelling/modeling labelled/labeled organise/organize"
        " organises/organizes organised/organized organising/organizing organisation/organization organisations/organizations"
        " realise/realize realises/realizes realised/realized recognise/recognize recognised/recognized specialise/specialize"
        " specialises/specializes specialised/specialized optimise/optimize optimised/optimized optimising/optimizing"
        " optimisation/optimization analyse/analyze analysed/analyzed analysing/analyzing apologise/apologize apologised/apologized"
        " summarise/summarize summarised/summarized prioritise/prioritize prioritised/prioritized customise/customize"
        " customised/customized finalise/finalize finalised/finalized minimise/minimize minimised/minimized jewellery/jewelry"
        " aluminium/aluminum defence/defense licence/license moustache/mustache pyjamas/pajamas cosy/cozy sceptical/skeptical"
        " catalogue/catalog dialogue/dialog fulfil/fulfill enrol/enroll enrolment/enrollment"
    )
    for british, american in [pair.split("/")]
}

_TEENS = listed("three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_TENS = dict(zip(listed("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10), strict=True))
NUMBERS = {"zero": "0", "two": "2"} | {word: str(value) for value, word in enumerate(_TEENS, 3)}
NUMBERS |= {word: str(value) for word, value in _TENS.items()}
NUMBERS |= {f"{ten}-{one}": str(_TENS[ten] + value) for ten in _TENS for value, one in enumerate(("one", "two", *_TEENS[:7]), 1)}
ORDINALS = dict(
    zip(listed("first third fourth fifth sixth seventh eighth ninth tenth"), listed("1st 3rd 4th 5th 6th 7th 8th 9th 10th"), strict=True)
)
CERTAIN = NUMBERS | ORDINALS | {"&": "and"}

# After a number: the unit, however it is written. Nothing is converted.
UNITS = {
    name: unit
    for unit, names in {
        "mg": "milligram milligrams mgs",
        "kg": "kilogram kilograms kilogramme kilogrammes kgs",
        "km": "kilometer kilometers kilometre kilometres kms",
        "cm": "centimeter centimeters centimetre centimetres cms",
        "mm": "millimeter millimeters millimetre millimetres",
        "ml": "milliliter milliliters millilitre millilitres mls",
        "GB": "gigabyte gigabytes",
        "MB": "megabyte megabytes",
        "TB": "terabyte terabytes",
        "ms": "millisecond milliseconds",
        "hours": "hrs",
        "hour": "hr",
        "minutes": "min mins",
        "seconds": "sec secs",
        "years": "yrs",
        "lb": "lbs",
        "feet": "ft",
        "%": "percent pct",
    }.items()
    for name in names.split()
}

_MONTHS = listed("january february march april may june july august september october november december")
MONTHS = {name: number for number, name in enumerate(_MONTHS, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
# A day before its month is a date after these; elsewhere it may be a count, as in `sold 12 March tickets`.
BEFORE_A_DATE = words("on by until till from since before after of for between and is was to due dated born through")
DAYS = words("monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun")

# A plain day before its month also wants one of these behind it, unless the text ends there.
BEHIND_A_DATE = words("and or but at in on by to from with until because when where as is was he she they it we i the")

# At the start of a text `the` may go before these: notes leave it out. And before these names after a preposition.
NOTED = words(
    "user assistant agent client customer team company project app application system server service database website api deadline"
    " meeting office budget"
)
NAMED = words("University Institute Museum Academy Ministry Netherlands Philippines UK US USA EU UN U.S U.K")
PLACES = words("at in of from with for to by near")
# Before these a comma in a number parts thousands, as it does before a noun in the plural; behind PLACING it may part two numbers.
CURRENCIES = words("$ € £ ¥ ₹ ₽ ₩ ₺ ₫ ₴")
COUNTED = words("people men women children kg km mg g m cm ml")
PLACING = words("at to from point points position positions coordinate coordinates pixel location cell cells range x y is are")

# `said that she` is `said she`.
SAYING = words(
    "said says say saying thinks think thought believes believe believed knows know knew mentioned mentions reported reports stated"
    " states noted notes claimed claims feels felt hopes hoped"
)
# Before and behind these a comma may decide what is meant.
CLAUSES = words(
    "because since as if unless though although while when where who whom whose which that so but and or nor than until before after no not"
    " yes never only even just however then without with"
)
PLAYING = words("play plays played playing")
SUBJECTS = words("he she they we i")

# Before these a dash between two words only pauses; before any other it may say `to`, as in breakfast – dinner.
PAUSED_BEFORE = words(
    "a an the and but so yet because since although though which who whose where when while if he she it they we i you his her its their"
    " our my your this that these those especially including mostly mainly even"
)

# Words that stand in a row of their own kind: between two of them a hyphen says `to`.
IN_A_ROW = (
    frozenset(MONTHS)
    | DAYS
    | frozenset(NUMBERS)
    | frozenset(ORDINALS)
    | words(
        "one hundred thousand million billion half spring summer autumn fall winter morning noon afternoon evening night midnight dawn dusk"
        " north south east west northeast northwest southeast southwest left right low medium high small large start end yes no on off in"
        " out up down not all none non ex re un co more most less least only very old new win loss lost true"
        " false"
    )
)
_PARTS = re.compile(r"[a-z]{2,}(?:-[a-z]{2,})+")


def is_open_compound(word: str) -> bool:
    """Whether this hyphened word may as well be written apart: `long-term`, but not `man-eating`, `mon-fri` or `two-hundred`."""
    return _PARTS.fullmatch(word) is not None and not any(part in IN_A_ROW or part.endswith(("ing", "ed")) for part in word.split("-"))
