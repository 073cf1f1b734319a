"""Whether two very similar sentences say the same thing: the same words in the same order, or it is not certain.

Cosine cannot tell `port 5432` from `port 5433`, or who manages whom, so a fact is merged without a question only when this agrees.
A false agreement would lose a fact, a false disagreement costs one question: what is not known to be harmless is a difference.

    text ──words──▶ words folded, the rest as it stands ──alike──▶ numbers and dates of one form ──walking──▶ in step, or parted
                                                                                                     parted ──findings──▶ named

Nothing here knows a language it needs: lists of English words only let more through, and any other script is compared as it stands.
"""

from dataclasses import dataclass

from .findings import DECISIVE, Finding, Kind, differences
from .reading import read_both
from .walking import in_step

__all__ = ["DECISIVE", "Finding", "Kind", "Verdict", "agree"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found to differ; nothing found is agreement."""

    findings: tuple[Finding, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the two texts are certain to say the same."""
        return not self.findings

    @property
    def decisive(self) -> tuple[Finding, ...]:
        """The findings no mind may overrule: another number, date, unit or role, or a negation on one side only."""
        return tuple(finding for finding in self.findings if finding.kind in DECISIVE)

    def __str__(self) -> str:
        return "; ".join(map(str, self.findings)) or "agrees"


def agree(old: str, new: str) -> Verdict:
    """Compare two texts; symmetric, and every text agrees with itself."""
    before, after = read_both(old, new)
    return Verdict() if in_step(before, after) else Verdict(differences(before, after))
