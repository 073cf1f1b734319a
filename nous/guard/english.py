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
COORDINATES = words("point points position positions coordinate coordinates pixel location cell cells range x y (")
PLACING = COORDINATES | words("at to from is are")

# `said that she` is `said she`.
SAYING = words(
    "said says say saying thinks think thought believes believe believed knows know knew mentioned mentions reported reports stated"
    " states noted notes claimed claims feels felt hopes hoped"
)
# Before and behind these a comma may decide what is meant.
CLAUSES = words(
    "because since as if unless though although while when where who whom whose which that so but and or nor than until before after no not"
    " yes never only just even however then without with"
)
ANSWERS = words("yes no not never only just even than that")
NEGATIONS = words("not no never none nobody nothing hardly neither nor without")
# With these a clause or a phrase begins, so that a comma before them parts no list and no compound.
RELATIVES = words("who whom whose which where that when")
PREPOSITIONS = words(
    "in on at by to from for of with without within about against amid among amongst around before after during despite behind beside"
    " between beyond into near off onto out outside over per since through throughout toward towards under until up upon via across along"
    " above below like as"
)
LINKS = words("but yet because since as if unless though although while whereas when where before after until so than including such")
AUXILIARIES = words(
    "is are was were be been am has have had does do did can could will would shall should may might must isn't aren't wasn't weren't"
)
BEFORE_NOUNS = words("a an the this these those his her its their our my your another some each every all both")
CONCEDING = words("irrespective regardless although though despite whereas")
PRONOUNS = words("he she they we i it you there this that these those")
MADE = words(
    "based born created developed founded formed built located established released produced written directed published aged started"
    " originated manufactured owned headquartered compared used"
)
OPENERS = words(
    "however meanwhile obviously lately finally fortunately unfortunately therefore moreover furthermore nevertheless nonetheless instead"
    " recently currently originally eventually usually sometimes today yesterday tomorrow additionally consequently"
)
STARTERS = words("1st 2nd 3rd first second third still rather then now so well but and or also here there yes no later again")
# At the end these name nobody, though nothing else stands there.
TRAILERS = words("too however though then today yesterday tomorrow instead respectively apparently together alone")
DOING = words(
    "likes loves hates lives works prefers wants uses plays owns knows speaks drives eats drinks studies teaches runs goes comes takes"
    " makes gets keeps spoke left came went won lost ran fell rose led met sold bought took made got kept knew began became wrote drove"
    " ate drank taught slept flew paid sent built found felt stood sat"
)
TOLD = words("told sent paid left found held kept made sold bought brought taught fed hit put cut read set lost won led met caught")
ASIDES = words("however meanwhile therefore though instead moreover furthermore nevertheless nonetheless")
BEHIND_A_NAME = words("jr sr inc ltd llc corp co phd esq")
TIMES = words(
    "week month year today yesterday tomorrow morning afternoon evening night weekend ago summer winter spring autumn fall season"
)
ASKING = words("ask asks asked tell tells told know knows knew wonder wonders wondered show shows showed see sees saw remember remembers")
NO_ADVERBS = words("family fly ally bully reply supply assembly italy july jelly belly")
SEEMING = AUXILIARIES | words("look looks looked seem seems seemed feel feels felt sound sounds sounded act acts acted run runs ran")
ADDRESSING = words("let's you your dear please")
GREETING = words("let please thanks thank hello hi hey dear call come go stop listen look tell ask")
TITLES = words(
    "mr mrs ms dr prof sgt lt col gen capt rep sen gov rev st jr sr inc co corp ltd vs no jan feb mar apr jun jul aug sep sept oct nov"
    " dec am pm"
)
# Behind these one noun may be what is done to another: `told Anna, the manager` and `stop, smoking`, `saw him, walking`.
DOUBLY = words(
    "make makes made name names named call calls called elect elects elected appoint appoints appointed consider considers considered"
    " give gives gave given show shows showed shown tell tells told send sends sent offer offers offered bring brings brought buy buys"
    " bought pay pays paid ask asks asked teach teaches taught hand hands handed get gets got leave leaves left find finds found keep"
    " keeps kept cook cooks cooked want wants wanted feed feeds fed"
)
CATENATIVES = words(
    "stop stops stopped start starts started begin begins began like likes liked love loves loved hate hates hated enjoy enjoys enjoyed"
    " finish finishes finished keep keeps kept avoid avoids avoided remember remembers remembered forget forgets forgot regret regrets"
    " regretted try tries tried quit quits mind minds consider considers considered prefer prefers preferred continue continues continued"
    " resume resumes resumed suggest suggests suggested recommend recommends recommended practice practices practiced go goes went mean"
    " means meant risk risks be is are was were dislike dislikes disliked miss misses missed need needs needed imagine imagines admit"
    " admits admitted deny denies denied"
)
SEEING = words(
    "see sees saw seen watch watches watched hear hears heard notice notices noticed find finds found catch catches caught spots spotted"
    " meet meets met leave leaves left keep keeps kept feel feels felt"
)
NO_PARTICIPLES = words(
    "including during following regarding according morning evening everything nothing something anything king ring thing darling"
)
SPEAKING = SAYING | words(
    "told tells added adds wrote writes asked asks admitted uttering saying called titled replied explained announced"
)
STATES = words(
    "alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas kentucky"
    " louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon"
    " pennsylvania tennessee texas utah vermont washington wisconsin wyoming md va calif mass conn fla pa ill tenn mich minn ariz ontario"
    " quebec alberta england scotland wales ireland uk usa us canada mexico france germany spain portugal italy austria switzerland"
    " belgium netherlands denmark norway sweden finland iceland poland hungary romania bulgaria greece turkey ukraine russia egypt nigeria"
    " ghana morocco tunisia algeria kenya ethiopia uganda tanzania brazil argentina chile peru colombia venezuela ecuador bolivia uruguay"
    " japan china korea taiwan vietnam thailand malaysia singapore indonesia philippines pakistan bangladesh nepal iran iraq syria lebanon"
    " australia"
)
# A list may hold these beside each other, and no compound does.
TRADES = words(
    "singer songwriter singer-songwriter actor actress model musician author writer poet lawyer engineer teacher director producer"
    " composer dancer comedian politician journalist professor scientist painter sculptor photographer rapper guitarist pianist chef nurse"
)
NATIONS = STATES | words("america africa asia europe georgia virginia jordan israel india new south north east west central united")
COLOURS = words("red orange yellow green blue purple pink brown black white grey gray gold silver beige tan violet navy maroon turquoise")
PLURALS = words("people men women children staff police users employees those ones all both some many few others anyone everyone anybody")
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
