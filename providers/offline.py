"""The mind without a model: it judges by rule, at once and for nothing, and is sure or "unsure".

    the same words in the same order                                        same
    the same sentence about the same but for the one value it can have      updates; contradicts if it can never have changed
      and but for `now`, `currently`, `these days`                          updates
    "is" and "is not", all else the same                                    contradicts; updates if it is "no longer"
    anything else                                                           unsure, with what differs

Two values said at one time hold side by side, and so do two of what may have many. A place and one it may lie in, a value told more
exactly, other words for one thing: "unsure" costs a question to another mind, any other wrong answer costs a fact.
"""

from dataclasses import dataclass, replace
from typing import Any

from nous.guard import Kind, Verdict, agree, english
from nous.guard.alike import ARTICLE
from nous.guard.reading import Reading, read_both
from nous.text import normalise

from . import at_present, single_valued
from .mind import A, Claim, Comparison, Judgement, Judgements, NoAnswer, Pair, Question, Relation, Reply, Task
from .single_valued import Said
from .surely_two import are_two

RULES = 2
"""Their version. Its name has it, so that under other rules it is another mind, and what this one could not tell can be asked again."""
REASON = 400  # characters a reason may have
SENTENCE = 60  # words of a sentence that a rule looks at
VALUES: frozenset[Kind] = frozenset({"number", "date", "name", "code", "word"})
"""The kinds of difference that two values may show."""

_ANYBODY = english.words("a an some any another one two three several many")
_GONE = ("no", "longer")
# Where a negation may deny something else than all that follows it.
_OF_DEGREE = english.CLAUSES | english.words(
    "always all every each entirely fully completely very too so quite really exactly necessarily both often usually enough much many more"
    " most less any anything anyone anymore ever yet until some sometimes"
)


class OfflineMind:
    """Judges by rule. Whoever wants more than "unsure" needs a model."""

    def model(self, task: Task) -> str:  # noqa: ARG002
        """One name for everything."""
        return f"offline-{RULES}"

    @staticmethod
    def is_named(model: str) -> bool:
        """Whether a model's name is that of this mind, under these rules or others."""
        return model.startswith("offline-")

    async def ask(self, question: Question[A]) -> Reply[A]:
        """One judgement for each pair; never raises Outage. Raises NoAnswer for a question that is no comparison."""
        if not isinstance(question.about, Comparison) or question.answer is not Judgements:
            raise NoAnswer("the offline mind only compares facts; set ANTHROPIC_API_KEY for a mind that writes")
        answer: Any = Judgements(judgements=[_judge(number, pair) for number, pair in enumerate(question.about.pairs, 1)])
        return Reply(answer)

    async def close(self) -> None:
        """Nothing is open."""


def _judge(number: int, pair: Pair) -> Judgement:
    relation, reason = _relation(pair.older, pair.newer)
    return Judgement(pair=number, relation=relation, reason=reason if len(reason) <= REASON else f"{reason[:REASON]}…")


def _relation(old: Claim, new: Claim) -> tuple[Relation, str]:
    if old.subject and new.subject and normalise(old.subject) != normalise(new.subject):
        return "unsure", f"said of {new.subject!r} and of {old.subject!r}, which may be two"
    if old.attribute and new.attribute and not single_valued.same_attribute(old.attribute, new.attribute):
        return "unsure", f"one says {old.attribute!r}, the other {new.attribute!r}"
    verdict = agree(old.content, new.content)
    if verdict.agrees:
        return "same", "the same words in the same order"
    if doubt := _doubt(old, new):
        return "unsure", f"{doubt}; they differ in: {verdict}"
    relation, reason = _by_their_difference(old, new, verdict)
    return (relation, reason) if relation != "unsure" else _at_present(old, new) or (relation, reason)


def _at_present(old: Claim, new: Claim) -> tuple[Relation, str] | None:
    """What the two say of one value, once it is left out that it is so now; None when that is nothing sure."""
    before, after = (replace(one, content=at_present.without(one.content)) for one in (old, new))
    if (before, after) == (old, new) or (verdict := agree(before.content, after.content)).agrees:
        return None
    relation, reason = _by_their_difference(before, after, verdict)
    return (relation, reason) if relation == "updates" and "negation" not in {one.kind for one in verdict.findings} else None


def _doubt(old: Claim, new: Claim) -> str:
    """Why these two cannot be two values of one thing, each in its time."""
    if bool(old.subject) != bool(new.subject):
        return "only one of the two says whom it is about"
    if new.said_at <= old.said_at:
        return "both were said at one time"
    return ""


def _by_their_difference(old: Claim, new: Claim, verdict: Verdict) -> tuple[Relation, str]:
    kinds = {finding.kind for finding in verdict.findings}
    sides = _sides(old, new)
    if len(sides.before.words) + len(sides.behind.words) > SENTENCE:
        return "unsure", f"too long for a rule; they differ in: {verdict}"
    if kinds == {"negation"} and (relation := _denied(sides, _subject(new))):
        return relation, f"word for word the same but for: {verdict}"
    stated = single_valued.attribute(new.attribute) if old.attribute and new.attribute else None
    if old.attribute and new.attribute and stated is None:
        return "unsure", f"{new.attribute!r} may have many values; they differ in: {verdict}"
    single = single_valued.single(sides.before, sides.behind, subject=_subject(new), stated=stated) if kinds <= VALUES else None
    if single and are_two(sides.old, sides.new, single.kinds):
        return "contradicts" if single.lasting else "updates", f"the same sentence but for the one value it can have: {verdict}"
    return "unsure", f"no rule is sure, and no model was asked; they differ in: {verdict}"


@dataclass(frozen=True, slots=True)
class _Sides:
    """What two sentences begin with, where they differ, and what both end with."""

    before: Said
    old: Said
    new: Said
    behind: Said


def _sides(old: Claim, new: Claim) -> _Sides:
    left, right = map(_said, read_both(old.content, new.content), (old, new))
    shorter = min(len(left.words), len(right.words))
    start = next((at for at in range(shorter) if left.words[at] != right.words[at]), shorter)
    end = next((at for at in range(shorter - start) if left.words[-1 - at] != right.words[-1 - at]), shorter - start)
    stop = len(right.words) - end
    return _Sides(right.upto(start), left.upto(len(left.words) - end).since(start), right.upto(stop).since(start), right.since(stop))


def _said(reading: Reading, claim: Claim) -> Said:
    """The words of a reading: articles as they stand, and `located`, which the guard passes over, put back."""
    words = [piece.lower() if key == ARTICLE else key.lower() for key, piece in zip(reading.keys, reading.pieces, strict=True)]
    if " is located in " in claim.content and words.count("is") == 1 and words[words.index("is") :][1:2] == ["in"]:
        words[words.index("is")] = "is located"
    return Said(tuple(words), reading.pieces)


def _subject(claim: Claim) -> tuple[str, ...] | None:
    """The words of the subject as a sentence would have them; `a man` is nobody in particular."""
    words = tuple(map(single_valued.unowned, normalise(claim.subject or "").split()))
    return words if words and words[0] not in _ANYBODY else None


def _denied(sides: _Sides, subject: tuple[str, ...] | None) -> Relation | None:
    """`is` against `is not`, about one holder, in the present, and with nothing behind that the negation may belong to instead."""
    if sides.old.words and sides.new.words:
        return None
    denial = sides.old.words or sides.new.words
    is_all = bool(sides.behind.words) and all(word.isalnum() and word not in _OF_DEGREE for word in sides.behind.words)
    is_said_of_one = sides.before.words[-1:] in {("is",), ("are",)} and single_valued.is_a_holder(
        sides.before.upto(-1), subject, personal=subject is not None
    )
    if denial not in {("not",), _GONE} or not is_all or not is_said_of_one:
        return None
    return "updates" if denial == _GONE else "contradicts"
