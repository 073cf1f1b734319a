"""The mind without a model: sure or "unsure", and sure of one thing only, that two wordings are the same words."""

from nous.guard import agree
from nous.text import normalise

from .mind import Answer, Claim, Judgement, Question


class OfflineMind:
    """Judges by rule, at once and for nothing. Whoever wants more than "same" and "unsure" needs a model."""

    name = "offline"

    async def relate(self, question: Question) -> Answer:
        """One judgement for each candidate; never raises Outage."""
        return Answer(tuple(_judge(candidate, question.new) for candidate in question.candidates))


def _judge(old: Claim, new: Claim) -> Judgement:
    if old.subject and new.subject and normalise(old.subject) != normalise(new.subject):
        return Judgement("unsure", f"said of {new.subject!r} and of {old.subject!r}, which may be two")
    verdict = agree(old.content, new.content)
    if verdict.agrees:
        return Judgement("same", "the same words in the same order")
    return Judgement("unsure", f"no rule is sure, and no model was asked; they differ in: {verdict}")
