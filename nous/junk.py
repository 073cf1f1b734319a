"""Whether what was extracted as a fact is junk: no claim about the world that anybody could use, by its words alone. For measuring.

    too short      under two words, or worth fewer than MIN_LETTERS Latin letters (nous.noise): "Yes.", "Maria."
    a question     it asks and does not say
    no content     nothing but articles, pronouns, auxiliaries and words of politeness: "Thank you so much!"
    status         most of its words tell of progress (nous.noise.WORDS): "The update was completed successfully."
    tautology      it says of a thing what it is called, or of its subject nothing more: "The project is a project."
    echo           half of its runs of four words and more stand in the prompt it answers

The class is bounded and obvious on purpose (spec 004: the upfront floor); whether a claim will ever be of use is not judged. Nothing is
dropped by it. The words of `no content` are known in English, German, French, Spanish, Portuguese, Italian and Dutch; in other languages
only the other rules see anything.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from nous.noise import NOISE_SHARE, WORDS, letters, words_of
from nous.text import form, is_blank

Junk = Literal["too short", "a question", "no content", "status", "tautology", "echo"]
KINDS: tuple[Junk, ...] = get_args(Junk)

MIN_WORDS = 2
MIN_LETTERS = 8
ECHO_WORDS = 4
ECHO_SHARE = 0.5

_ASKING = ("?", "？", "؟")
_QUOTES = " \"'”’»」』)"


def _listed(words: str) -> frozenset[str]:
    return frozenset(words_of(words))


_COPULAS = _listed("is are was were be been am being ist sind war waren bin sein est sont était es son era fue é são foi è sono zijn")
_EMPTY = _COPULAS | _listed(
    """
    a an the this that these those it its he she him her his hers they them their we us our you your i me my mine who which what there here
    and or but so if then of in on at to for from with by as about into up out no not yes do does did done have has had will would can could
    may might should shall must very really just too also well all some any one
    hello hi hey thanks thank please sorry welcome bye goodbye okay ok sure great good nice cool wow much morning evening day see later

    der die das den dem des ein eine einen einem einer und oder aber ich du er sie wir ihr mich dich uns mein dein sein hat haben hatte zu
    von mit auf für hallo danke bitte gern ja nein tschüss guten morgen tag abend gut schön sehr
    le la les un une des du de et ou mais je tu il elle nous vous ils elles mon ton son ce cette ces a ont avec pour bonjour salut merci
    beaucoup oui non bien très au revoir
    el los las uno una unos unas y o pero yo tú él ella nosotros ellos mi su este esta ha han con para hola gracias muchas favor sí muy bien
    adiós buenos días
    os um uma e ou mas eu ele ela nós eles meu seu este esta com para olá obrigado obrigada sim não muito bem tchau bom dia
    il lo gli uno ma io lui lei noi voi loro mio suo questo questa con per ciao grazie prego sì molto bene
    het een en of maar ik jij hij zij wij jullie mijn zijn deze dit met voor hallo dank bedankt ja nee goed dag
    """
)


def why_junk(content: str, *, subject: str | None = None, prompt: str = "") -> Junk | None:
    """Which kind of junk this is; None when it is a claim. `prompt` is what it answers, for echoes."""
    words = list(words_of(content))
    if len(words) < MIN_WORDS or letters(content) < MIN_LETTERS:
        return "too short"
    if form(content).rstrip(_QUOTES).endswith(_ASKING):
        return "a question"
    telling = [word for word in words if word not in _EMPTY]
    if not telling:
        return "no content"
    if sum(word in WORDS for word in telling) / len(telling) > NOISE_SHARE:
        return "status"
    if _is_tautology(words, telling, subject):
        return "tautology"
    return "echo" if prompt and _echoed(words, list(words_of(prompt))) else None


def _is_tautology(words: Sequence[str], telling: Sequence[str], subject: str | None) -> bool:
    """Whether the same stands on both sides of an "is", or nothing beside the subject."""
    if subject and not is_blank(subject) and set(telling) <= set(words_of(subject)):
        return True
    at = next((place for place, word in enumerate(words) if word in _COPULAS), None)
    if at is None:
        return False
    before, after = ({word for word in side if word not in _EMPTY} for side in (words[:at], words[at + 1 :]))
    return bool(before) and before == after


def _echoed(words: Sequence[str], asked: Sequence[str]) -> bool:
    runs, known = _runs(words), set(_runs(asked))
    return bool(runs) and sum(run in known for run in runs) >= ECHO_SHARE * len(runs)


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + ECHO_WORDS]) for at in range(len(words) - ECHO_WORDS + 1)]
