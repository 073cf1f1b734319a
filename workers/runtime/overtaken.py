"""An event that arrived before the one it is about: its agent published both, and streams have no order among each other."""

from datetime import timedelta

from .worker import Kit, RetryLater


def wait_for(missing: str, kit: Kit) -> RetryLater:
    """Look again, for longer than it takes until a dead replica's work is done by another; then it is parked, because it may never come.

    `missing` says what there is not, and what to do about it, for whoever finds it parked.
    """
    return RetryLater(timedelta(seconds=kit.settings.claim_after_s / 3), missing, together=True, exactly=True, counted=True)
