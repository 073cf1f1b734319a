"""Templates, and how anything is written on a page.

Everything a template prints is escaped, and control characters and those that turn the direction of text are shown as �: what an agent
said is data. Ids in it become links to their stories.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from nous.called import command
from nous.stories.evidence import by
from nous.stories.wordings import content
from nous.stories.words import Line, moment, plural, spoken, visible

MOST_IN_A_ROW = 280
"""Characters of what somebody said, where it stands among others."""

STATIC = {
    "nous.css": (__package__, "static/nous.css", "text/css"),
    "nous.js": (__package__, "static/nous.js", "text/javascript"),
    "icon.svg": (__package__, "static/icon.svg", "image/svg+xml"),
}

_ID = re.compile(r"\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b")
_OUTCOMES = {
    "good": {"confirmed", "revived", "restored", "split", "relaxed", "stored", "recorded", "summarized"},
    "wait": {"waiting", "unsure", "superseded", "disputed", "not worked yet", "put aside", "recorded as noise", "worked again", "merged"},
    "bad": {"parked", "retired", "escalated", "dropped"},
}


@cache
def static(name: str) -> tuple[bytes, str]:
    """A static file and its media type; KeyError for what is none."""
    package, path, kind = STATIC[name]
    return files(package).joinpath(path).read_bytes(), kind


def html(template: str, shown: Mapping[str, object]) -> str:
    """The page."""
    return _environment().get_template(template).render(shown)


def as_json(data: object) -> str:
    """Data for machines."""
    return json.dumps(data, ensure_ascii=False, indent=2, default=_plain) + "\n"


def address(path: str, **query: object) -> str:
    """An address of this page; what is None or empty is left out of its query."""
    given = {name: str(value) for name, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


def fact_address(agent: str, fact_id: UUID | str) -> str:
    """Where a fact's story is. An agent that is called as a folder is cannot stand in a path."""
    if agent.strip(".") and "\\" not in agent:
        return f"/facts/{quote(agent, safe='')}/{fact_id}"
    return address(f"/explain/{fact_id}", kind="fact", agent=agent)


def event_address(agent: str, event_id: str) -> str:
    """Where an event's story is."""
    return address("/event", agent=agent, id=event_id)


def agent_named(agent: str) -> str:
    """Whose it is; a body that says nothing readable of that is nobody's."""
    return agent or "(unknown)"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("nous.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    made.filters.update(
        linked=_linked,
        line=_line,
        moment=moment,
        iso=_iso,
        spoken=spoken,
        said=content,
        by=by,
        count=_count,
        duration=duration,
        tone=_tone,
        agent=agent_named,
    )
    made.globals.update(
        address=address,
        fact_address=fact_address,
        event_address=event_address,
        static=_static_address,
        plural=plural,
        command=command(),
        most=MOST_IN_A_ROW,
    )
    return made


def _safe(value: object) -> object:
    """What a template prints: words of which none steers the page. Lines and tabs stay, as they do nothing but lay out."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(visible(line) for line in value.expandtabs(2).split("\n"))


def _linked(words: str, agent: str | None = None) -> Markup:
    """Words whose ids are links to their stories."""
    link = Markup('<a href="{}">{}</a>')
    parts = _ID.split(str(_safe(words)))  # every second is an id
    return Markup("").join(
        link.format(address(f"/explain/{one}", agent=agent), one) if at % 2 else escape(one) for at, one in enumerate(parts)
    )


def _line(line: Line, agent: str | None = None) -> Markup:
    """A line of a story."""
    parts = (Markup('<span class="{}">{}</span>').format(tone, _linked(words, agent)) for words, tone in line.parts)
    return Markup("").join(parts)


def _tone(happened: str) -> str:
    """How an outcome looks."""
    return next((tone for tone, outcomes in _OUTCOMES.items() if happened in outcomes), "plain")


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _count(number: float | Decimal | None) -> str:
    return "–" if number is None else f"{number:,}"


def duration(seconds: float | None) -> str:
    """So long, in the largest unit that fits."""
    if seconds is None:
        return "–"
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit * 2:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.0f} s"


@cache
def _static_address(name: str) -> str:
    """It may be kept for ever: other contents have another address."""
    return f"/static/{name}?v={sha256(static(name)[0]).hexdigest()[:12]}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return str(value)
