"""The embedder is waited for once: by a request altogether so long, and after a failure for a while by nobody."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from nous.errors import Outage
from providers.embedder import Vectors as Made
from providers.zero import ZeroEmbedder
from recall import vectors
from recall.vectors import Vectors, one_allowance

BRIEFLY_S = 0.02


class Moody(ZeroEmbedder):
    """It dawdles for ever, or is away, until it is well."""

    def __init__(self, *, is_away: bool = False) -> None:
        super().__init__()
        self.is_well, self.is_away, self.asked = False, is_away, 0
        self.is_asked_again = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Made:
        self.asked += 1
        if self.asked > 1:
            self.is_asked_again.set()
        if self.is_away and not self.is_well:
            raise Outage("the embedder", "connection refused")
        if not self.is_well:
            await asyncio.Event().wait()
        return await super().embed(texts)


@pytest.mark.parametrize("is_away", [False, True], ids=["dawdles", "is away"])
async def test_after_a_failure_nobody_waits_for_it_and_once_it_is_well_all_have_it(is_away: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Moody(is_away=is_away)
    asked = Vectors(embedder)
    for _ in range(3):
        with pytest.raises(Outage):
            await asked.of(["tea"], within_s=BRIEFLY_S)
    assert embedder.asked == 1
    monkeypatch.setattr(vectors, "QUIET_S", 0.0)
    monkeypatch.setattr(asked, "_quiet_until", 1e-9)  # its quiet is over
    with pytest.raises(Outage):
        await asked.of(["tea"], within_s=BRIEFLY_S)
    embedder.is_well = True
    for said in ("tea", "rum"):
        assert len(await asked.of([said], within_s=60)) == 1
    assert embedder.asked == 4


async def test_one_looks_whether_it_is_well_and_the_others_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "QUIET_S", 0.0)
    embedder = Moody()
    asked = Vectors(embedder)
    with pytest.raises(Outage):
        await asked.of(["tea"], within_s=BRIEFLY_S)
    looking = asyncio.create_task(asked.of(["tea"], within_s=60))
    await asyncio.wait_for(embedder.is_asked_again.wait(), 20)
    with pytest.raises(Outage, match="it failed a moment ago"):
        await asked.of(["rum"], within_s=60)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    assert embedder.asked == 2


async def test_what_is_embedded_within_one_allowance_shares_it(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = iter([1.0, 1.7, 2.0, 2.5, 3.0])
    monkeypatch.setattr(vectors, "time", SimpleNamespace(monotonic=lambda: next(passed)))
    embedder = Moody()
    embedder.is_well = True
    asked = Vectors(embedder)
    with one_allowance(1.0):
        await asked.of(["tea"], within_s=5)
        await asked.of(["rum"], within_s=5)
        with pytest.raises(Outage):
            await asked.of(["water"], within_s=5)
    assert embedder.asked == 2


async def test_what_is_known_takes_nothing_of_it() -> None:
    embedder = Moody()
    embedder.is_well = True
    asked = Vectors(embedder)
    await asked.of(["tea"], within_s=60)
    embedder.is_well = False
    with pytest.raises(Outage):
        await asked.of(["rum"], within_s=BRIEFLY_S)
    assert len(await asked.of(["tea"], within_s=BRIEFLY_S)) == 1
