"""The settings of a start, with the thresholds that the store keeps for the embedder they name; the one place where these come together.

settings ─▶ which embedder? ─▶ what was fitted for it in this store ─▶ the settings, their thresholds filled in ─▶ the embedder
                                └─ what is set was fitted for another one ─▶ refused, with the command that fits
"""

import providers
from nous.settings import Settings
from store import thresholds
from store.database import Database


async def calibrated(database: Database, settings: Settings) -> Settings:
    """Them. Raises Misconfigured when what is set was fitted for another embedder, Outage when Postgres is away."""
    name = providers.unfitted(settings).name
    async with database.read(()) as db:
        return await thresholds.configured(db, settings, embedder=name)
