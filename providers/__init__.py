"""Models behind two small protocols: an embedder gives a text its vector, a mind says how two facts stand to each other.

embedder   the protocol, its errors, and what all share
├── bundled            runs here, apart: each thread with a process of its own (apart), and in it one of
│   ├── use_multilingual   16 languages, the default
│   └── minilm             English first, an extra
├── openai_embedder    any server with that API
└── zero               a hash, for tests and benchmarks
mind       the protocol, its questions and its errors
├── claude             a model behind Anthropic's API
└── offline            no model: by rule, and seldom sure
"""

import os
from dataclasses import replace
from typing import assert_never

from nous.settings import Settings

from .embedder import Embedder, EmbeddingMalformed, EmbeddingRefused, Profile
from .mind import Mind, MindAway, NoAnswer

__all__ = [
    "Embedder",
    "EmbeddingMalformed",
    "EmbeddingRefused",
    "Mind",
    "MindAway",
    "NoAnswer",
    "Profile",
    "embedder",
    "mind",
    "unfitted",
    "writes",
]


def embedder(settings: Settings) -> Embedder:
    """The embedder that NOUS_EMBEDDER names, not open yet, with the settings' thresholds where they are set.

    Raises Misconfigured when the settings cannot work. Only the chosen one's libraries are imported, and its model waits for `open`.
    """
    match settings.embedder:
        case "use-multilingual-v3":
            from .use_multilingual import PROFILE

            return _bundled(PROFILE, settings, "providers.use_multilingual")
        case "minilm-l6-v2":
            from .minilm import PROFILE

            return _bundled(PROFILE, settings, "providers.minilm")
        case "openai":
            from .openai_embedder import OpenAIEmbedder

            return OpenAIEmbedder.configured(settings)
        case "zero":
            from . import zero

            return zero.ZeroEmbedder(_fitted(zero.PROFILE, settings))
    assert_never(settings.embedder)


def unfitted(settings: Settings) -> Embedder:
    """As `embedder`, also where nobody has fitted its thresholds yet: for what compares nothing by them, or is about to fit them."""
    if settings.embedder != "openai":
        return embedder(settings)
    names = ("confirm_similarity", "check_similarity", "episode_similarity")
    return embedder(settings.model_copy(update=dict.fromkeys(names, 1.0)))


def mind(settings: Settings) -> Mind:
    """The mind that NOUS_MIND names. Raises Misconfigured when it is Claude and there is no key. Only what it needs is imported."""
    if writes(settings):
        from .claude import ClaudeMind

        return ClaudeMind.configured(settings)
    from .offline import OfflineMind

    return OfflineMind()


def writes(settings: Settings) -> bool:
    """Whether the mind that NOUS_MIND names is one that writes."""
    return settings.mind == "claude" or (settings.mind == "auto" and _has_key())


def _has_key() -> bool:
    return any(os.environ.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))


def _bundled(profile: Profile, settings: Settings, module: str) -> Embedder:
    from .apart import loading
    from .bundled import BundledEmbedder

    threads = settings.embedder_threads
    return BundledEmbedder(_fitted(profile, settings), loading(module, processes=threads), threads=threads)


def _fitted(profile: Profile, settings: Settings) -> Profile:
    """`profile` with the thresholds an operator set."""
    confirm, check, episode = settings.confirm_similarity, settings.check_similarity, settings.episode_similarity
    return replace(
        profile,
        confirm_similarity=profile.confirm_similarity if confirm is None else confirm,
        check_similarity=profile.check_similarity if check is None else check,
        episode_similarity=profile.episode_similarity if episode is None else episode,
    )
