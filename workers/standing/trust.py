"""Who vouches for a fact: the best of its claims; an assistant that repeats itself adds nothing."""

from collections.abc import Sequence

from store.mentions import Said

USER = "user_stated"
ASSISTANT = "assistant_derived"
RANK = {ASSISTANT: 0, "episode_summary": 1, USER: 2}


def of(claims: Sequence[Said]) -> tuple[str, float]:
    """Provenance and confidence (0 to 1) of one fact with these claims, in the order they were made."""
    best = max((claim.provenance for claim in claims), key=RANK.__getitem__)
    vouching = [claim for claim in claims if claim.provenance == best]
    if best != ASSISTANT:
        return best, max(claim.confidence for claim in vouching)
    return best, min(claim.confidence for claim in vouching if claim.at == vouching[0].at)
