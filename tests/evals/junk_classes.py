"""The four classes of noise that the spec's floor refuses (004), recognised by their words; for measuring, nothing is dropped by it.

    workflow noise         what was done on the way: "The build passed.", and what nous.junk calls a status
    tautology              it says nothing of its subject (nous.junk: a tautology, no content, too short)
    ephemeral state        true for a moment: "Maria is typing right now."
    procedural fragment    a step out of its procedure, no claim: "Then restart the server."

English, as the sets are that it is used on. How well it tells them apart from claims: junk_classes.jsonl, lines written for this, of
which the figures are in docs/quality.md. A question and an echo are no class of the four, and are left to nous.junk.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from nous.junk import why_junk

JunkClass = Literal["workflow noise", "tautology", "ephemeral state", "procedural fragment"]
CLASSES: tuple[JunkClass, ...] = get_args(JunkClass)
LINES = Path(__file__).with_suffix(".jsonl")

_OF_KIND: dict[str, JunkClass] = {"status": "workflow noise", "tautology": "tautology", "no content": "tautology", "too short": "tautology"}

_WORKFLOW = re.compile(
    r"^(?:the |all |our |my |i |we |assistant |the assistant |the agent )?(?:\w+ )?(?:tests?|build|builds|pipeline|deploy|deployment|"
    r"migration|script|command|commit|job|task|file|files|lint|search|query|request|call|upload|download|tool|branch|patch|check|checks|"
    r"changes|installation|run)s? (?:\w+ )?(?:(?:has|have|was|were|is|are) )?(?:been )?(?:\w+ly )?"
    r"(?:passed|passes|passing|failed|succeeded|ran|finished|completed|merged|pushed|pulled|saved|returned|executed|queued|retried|"
    r"created|deleted|uploaded|downloaded|green|done|timed out|started|running)\b"
    r"|^(?:i|we|the assistant|the agent|assistant) (?:have |has |had |just |then |also |will now |am going to )*"
    r"(?:ran|run|executed|called|opened|read|searched|checked|looked|invoked|used the|queried|fetched|committed|pushed|retried|"
    r"verified|responded|replied|answered|acknowledged|summarised|summarized|apologi[sz]ed)\b",
    re.IGNORECASE,
)
_EPHEMERAL = re.compile(
    r"\b(?:right now|just now|at the moment|at this (?:very )?moment|a moment ago|in a (?:minute|second|moment)|for the moment|one moment|"
    r"as we speak|still (?:loading|waiting|running|typing|thinking|compiling|downloading)|"
    r"(?:is|are|am|'s|'m|'re) (?:currently |now |just )?(?:waiting(?! (?:for|to))|loading|typing|thinking(?! (?:of|about))|running late|"
    r"restarting|compiling|rebooting|"
    r"logging in|on hold|offline|idle)\b|(?:is|are) (?:currently |now )(?:open|closed|down|up|empty|full|busy|selected)\b|"
    r"\bbrb\b|back in (?:a|five|ten|\d+) )",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"^\W*(?:step \d+\b|\d+[.)]\s|(?:first|then|next|finally|now|after that|afterwards|lastly|"
    r"once (?:that is|that's|it is|it's|you)\b[^,]*),?\s)",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"^\W*(?:please |just |simply |always |make sure to |be sure to |you (?:can|should|need to|have to|must) |let's |let us )?"
    r"(?:run|open|click|install|check|restart|press|select|add|remove|set|copy|edit|save|paste|download|upload|configure|enable|disable|"
    r"create|delete|go to|type|enter|execute|import|export|update|replace|rename|move|build|deploy|scroll|navigate|log in|sign in|unplug|"
    r"plug|stir|preheat|mix|pour|bake|repeat|see|refer|ensure|verify|use|call|pass|wrap|make sure|commit|push|pull|rebase|merge)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Line:
    """One line of the set: its class, None for a claim."""

    said: str
    junk: JunkClass | None


def class_of(content: str, *, subject: str | None = None) -> JunkClass | None:
    """Which of the four classes this is; None for a claim, a question and an echo."""
    said = content.strip()
    kind = why_junk(said, subject=subject)
    if kind in _OF_KIND:
        return _OF_KIND[kind]
    if kind is not None:
        return None
    if _WORKFLOW.search(said):
        return "workflow noise"
    if _EPHEMERAL.search(said):
        return "ephemeral state"
    if _IMPERATIVE.search(_ORDINAL.sub("", said)):
        return "procedural fragment"
    return None


def lines() -> list[Line]:
    """The set."""
    return [Line(**json.loads(line)) for line in LINES.read_text("utf-8").splitlines()]
