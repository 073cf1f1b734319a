"""Ids that follow from what an event says, so that saying it twice gives the same id."""

import uuid

NAMESPACE = uuid.UUID("0d6e6d1e-3c38-5d6f-9a43-5b7d3f0a4c52")


def derived(*parts: str) -> str:
    """The same id for the same parts, always; parts are kept apart, so ("ab", "c") and ("a", "bc") differ."""
    return str(uuid.uuid5(NAMESPACE, "\x1f".join(f"{len(part)}:{part}" for part in parts)))
