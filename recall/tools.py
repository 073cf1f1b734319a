"""What sessions are kept with and memory is asked with: the store, the embedder, the settings, and a mind where there is one."""

from dataclasses import dataclass
from functools import cached_property

from nous.settings import Settings
from providers.embedder import Embedder
from providers.mind import Mind
from store.database import Database

from .kept import Kept
from .vectors import Vectors


@dataclass(frozen=True)
class Tools:
    """The embedder need not be open yet; without a mind, the part of a long memory is found by similarity alone."""

    database: Database
    embedder: Embedder
    settings: Settings
    mind: Mind | None = None

    @cached_property
    def vectors(self) -> Vectors:
        """The embedder, which is not asked twice for one text."""
        return Vectors(self.embedder)

    @cached_property
    def parts(self) -> Kept:
        """The parts of long memories that were found within the last hour."""
        return Kept()
