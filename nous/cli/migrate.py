"""`nous migrate`: bring the database to the shape this version needs, with a table for the embedder in use."""

import providers
from nous.settings import Settings
from store import migrate as store_migrate

from . import place, screen


async def migrate(settings: Settings, *, is_json: bool) -> None:
    """Apply what is missing and say what it was."""
    applied = await apply(settings, place.database_url(settings))
    if is_json:
        screen.emit({"applied": applied})
    elif applied:
        print(f"applied {screen.plural(len(applied), 'migration')}: {', '.join(applied)}")
    else:
        print("nothing to apply: the database is current")


async def apply(settings: Settings, database_url: str) -> list[str]:
    """Apply what is missing to this database; the revisions applied. The embedder is named, not opened."""
    embedder = providers.unfitted(settings)
    return await store_migrate.migrate(database_url, embedder=embedder.name, dimension=embedder.dimension)
