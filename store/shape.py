"""Whether a database has the shape this version needs. One that is newer is fit: migrations come before the code that needs them."""

from pathlib import Path

from sqlalchemy import text

from nous.errors import Misconfigured

from .database import Read

LATEST = max(path.stem[1:5] for path in (Path(__file__).parent / "migrations" / "versions").glob("m[0-9]*.py"))
"""The newest revision this version knows: the number in the name of its file."""


async def require(db: Read) -> None:
    """Raises Misconfigured when migrations are missing; needs an overview."""
    revision = (await db.execute(text("SELECT max(version_num) FROM bus.alembic_version"))).scalar_one()
    if revision is None or revision < LATEST:
        raise Misconfigured(f"the database is at revision {revision} and this version needs {LATEST}; run: nous migrate")
