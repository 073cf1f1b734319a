"""A step of a fact's story in lines: what was said and where, why, what was compared, what a mind answered, what changed."""

from collections import Counter

from . import asked, evidence
from .fact import Story
from .step import Step
from .words import Line, line, listed, one_line, plural, quoted, rounded


def lines(story: Story, step: Step) -> list[Line]:
    """All that is worth a line of it."""
    told = [*_said(story, step), *_because(step), *evidence.compared(step.receipt, step.wordings), *_asked(story, step)]
    return [*told, *evidence.changed(step.changes, step.wordings), *_from(step)]


def late(story: Story) -> set[str]:
    """The events of mentions that arrived after later claims."""
    latest, found = None, set()
    for step in story.steps:
        if step.mention:
            if latest and step.occurred_at < latest:
                found.add(step.receipt.event_id)
            latest = step.occurred_at if latest is None else max(latest, step.occurred_at)
    return found


def _said(story: Story, step: Step) -> list[Line]:
    """The words of this mention, where they come from, and what a mind was asked to find them."""
    mention = step.mention
    if mention is None:
        return []
    told_by = f"{mention.provenance} {rounded(mention.confidence)}"
    origin = [told_by, *([f"from {one_line(mention.source)}"] if mention.source else []), f"as {mention.mention_id}"]
    told = [line(quoted(mention.content) if mention.content else "its words are forgotten"), line(", ".join(origin), "faint")]
    passage, put = story.passages.get(mention.event_id), story.questions.get(mention.event_id)
    if passage:
        told += passage.lines()
    elif mention.quote:
        told.append(line(f"resting on {quoted(mention.quote)}", "faint"))
    return [*told, *([line(f"found by {asked.in_short(put)}", "faint")] if put else [])]


def _because(step: Step) -> list[Line]:
    """Why; and of which fact, when the receipt is about another one."""
    receipt = step.receipt
    about = []
    if step.is_about_another and receipt.about:
        other = step.wordings.get(str(receipt.about), str(receipt.about))
        about.append(line(f"about {quoted(other)} ({receipt.about})"))
    return [*about, *evidence.because(receipt, step.wordings), *evidence.parked_before(receipt)]


def _asked(story: Story, step: Step) -> list[Line]:
    """Which mind answered, by which prompt and at what cost: of what it answered before, what that had cost."""
    given = story.answers.get(step.receipt.event_id, ())
    if not given:
        return evidence.asked(step.receipt)
    prompts = listed(sorted({one.prompt for one in given}))
    return evidence.asked(step.receipt, f", prompt {prompts}, ${sum(one.cost for one in given):.4f} for {plural(len(given), 'pair')}")


def _from(step: Step) -> list[Line]:
    receipt = step.receipt
    entry = f", entry {receipt.entry_id}" if receipt.entry_id else ""
    told = [line(f"event {receipt.event_id}{entry}, by {receipt.worker}", "faint")]
    if receipt.derived:
        published = Counter(name.partition(":")[0] for name in receipt.derived)
        named = (f"{name} ×{count}" if count > 1 else name for name, count in published.items())
        told.append(line(f"published {listed(named)}", "faint"))
    return told
