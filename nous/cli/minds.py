"""The mind a command needs: one that reads and writes, as the settings name it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import providers
from nous.errors import UserMistake
from nous.settings import Settings
from providers.mind import Mind
from providers.offline import OfflineMind


@asynccontextmanager
async def writing(settings: Settings, *, where: str = "") -> AsyncIterator[Mind]:
    """The mind that is set, for the block. Raises UserMistake when none is; `where` says where one is to be set, if not only here."""
    mind = providers.mind(settings)
    try:
        if OfflineMind.is_named(mind.model("writing")):
            raise UserMistake(
                f"this needs a mind that reads, and none is set: set ANTHROPIC_API_KEY{where}, and NOUS_MIND=claude if NOUS_MIND is set"
            )
        yield mind
    finally:
        await mind.close()
