"""`docs/settings.md`, written from the code: every setting, its default, and what it is for.

python -m tests.nous.settings_table > docs/settings.md
"""

from collections.abc import Iterator
from typing import Any

from nous.settings import Settings

PAGE = """# Settings

Read from the environment. This page is written from the code, and a test holds it against the code:
`python -m tests.nous.settings_table > docs/settings.md`

Names end in their unit where they have one; `_s` is seconds. A list is written as JSON: `["a", "b"]`.

| setting | default | |
|---|---|---|
{rows}

Not among them, because others read them too: `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` (Claude), `NO_COLOR` and `FORCE_COLOR` (the
terminal), `OTEL_EXPORTER_OTLP_ENDPOINT` and its like (traces, [operations.md](operations.md)).
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(rows="\n".join(f"| {' | '.join(row)} |" for row in rows()))


def rows() -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each."""
    for name, field in Settings.model_fields.items():
        yield f"`NOUS_{name.upper()}`", _shown(field.default), field.description or ""


def _shown(default: Any) -> str:
    if default is None or default == () or str(default) in ("", "**********"):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    print(page(), end="")
