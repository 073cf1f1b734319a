"""Thresholds as they were fitted: of one embedder, under its name, with the date and the figures. The latest of a name holds.

    shipped with the embedder  ◀─ over it ─  fitted for it (here)  ◀─ over it ─  set in the environment (NOUS_...)  ──▶ what holds

nous calibrate --thresholds --apply ──put──▶ a row more ──configured──▶ every process that starts with that embedder
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import text

from nous.errors import Misconfigured
from nous.settings import Settings

from .database import Read, Switch

NAMES = ("confirm_similarity", "check_similarity", "episode_similarity", "subject_similarity", "repeated_overlap")
OF_AN_EMBEDDER = NAMES[:3]
"""Those that are cosines, and mean nothing under another embedder."""


@dataclass(frozen=True)
class FittedThresholds:
    """Thresholds by their names (one that was not fitted is not among them), of which embedder, by which figures, and when."""

    embedder: str
    values: Mapping[str, float]
    fitted_at: datetime
    figures: Mapping[str, Any] = field(default_factory=dict)


async def put(db: Switch, fitted: FittedThresholds) -> None:
    """Let these hold for the embedder from the next start on; those before stay, to be looked at. For the tables' owner."""
    await db.execute(
        text(
            f"INSERT INTO heart.thresholds (embedder, {', '.join(NAMES)}, figures, fitted_at)"
            f" VALUES (:embedder, {', '.join(f':{name}' for name in NAMES)}, CAST(:figures AS jsonb), :fitted_at)"
        ),
        {
            "embedder": fitted.embedder,
            "figures": json.dumps(dict(fitted.figures)),
            "fitted_at": fitted.fitted_at,
            **{name: fitted.values.get(name) for name in NAMES},
        },
    )


async def latest(db: Read) -> dict[str, FittedThresholds]:
    """What holds for each embedder for which anything was ever fitted."""
    rows = await db.execute(
        text(
            f"SELECT DISTINCT ON (embedder) embedder, {', '.join(NAMES)}, figures::text AS figures, fitted_at FROM heart.thresholds"
            " ORDER BY embedder, version DESC"
        )
    )
    return {
        row.embedder: FittedThresholds(
            row.embedder,
            {name: float(value) for name in NAMES if (value := getattr(row, name)) is not None},
            row.fitted_at,
            json.loads(row.figures),
        )
        for row in rows
    }


async def configured(db: Read, settings: Settings, *, embedder: str) -> Settings:
    """The settings with the thresholds that hold for this embedder: what is set stays, what was fitted for it comes in where nothing is.

    Raises Misconfigured when what is set was fitted for another embedder.
    """
    fitted = await latest(db)
    _require_its_own(settings, embedder, fitted)
    mine = fitted[embedder].values if embedder in fitted else {}
    return settings.model_copy(update={name: value for name, value in mine.items() if getattr(settings, name) is None})


def _require_its_own(settings: Settings, embedder: str, fitted: Mapping[str, FittedThresholds]) -> None:
    """Refuse thresholds of another embedder: those that say so, and those that are, to the last digit, what was fitted for it."""
    chosen = {name: value for name in OF_AN_EMBEDDER if (value := getattr(settings, name)) is not None}
    owner = settings.thresholds_of or _fitted_for(chosen, embedder, fitted)
    if not owner or owner == embedder:
        return
    named = ", ".join(f"NOUS_{name.upper()}" for name in chosen) or "NOUS_THRESHOLDS_OF"
    says = "NOUS_THRESHOLDS_OF says" if settings.thresholds_of else "nous calibrate kept"
    raise Misconfigured(
        f"the thresholds set here ({named}) are those of the embedder {owner!r}, as {says}, and the embedder is {embedder!r}; one pair of"
        f" sentences scores 0.88 under one model and 0.99 under another. Unset them, and to have them fitted for this one run:"
        f" nous calibrate --thresholds --apply. If they are meant for it, say so: NOUS_THRESHOLDS_OF={embedder}"
    )


def _fitted_for(chosen: Mapping[str, float], embedder: str, fitted: Mapping[str, FittedThresholds]) -> str:
    """The other embedder for which exactly these were fitted, where there are several and they are not this one's too."""
    alike = [
        one.embedder for one in fitted.values() if len(chosen) > 1 and all(one.values.get(name) == value for name, value in chosen.items())
    ]
    return "" if embedder in alike or not alike else alike[0]
