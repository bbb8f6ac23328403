"""A planted CUDA race on a real GPU: delayed it shows in every run, with the missing order in none."""

from __future__ import annotations

import pytest
from order_kit import Kit, asked, play_cuda
from test_planted_on_gpu import kit_on_gpu

pytestmark = pytest.mark.gpu
RUNS = 5


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return kit_on_gpu(tmp_path_factory)


@pytest.mark.parametrize("mode", ["no-event", "sync-of-wrong-stream"])
def test_held_it_shows_and_the_missing_order_mends_it(kit: Kit, mode: str) -> None:
    """What a plain run of it computes is left to chance, so only runs with the delay are judged."""
    named = play_cuda(kit, "cuda_streams", (mode, "bug"))
    finding = next(one for one in named.findings if one.id == "unordered-access")
    for _ in range(RUNS):
        held = play_cuda(kit, "cuda_streams", (mode, "judged"), **asked(finding, "hold"))
        fixed = play_cuda(kit, "cuda_streams", (mode, "judged"), **asked(finding, "hold", "edge"))
        assert (held.code, held.output) == (1, "wrong\n")
        assert (fixed.code, fixed.output) == (0, "right\n")


def test_twin_stays_right(kit: Kit) -> None:
    finding = next(
        one for one in play_cuda(kit, "cuda_streams", ("no-event", "bug")).findings if one.pair and one.pair.hold
    )
    for which in (("hold",), ("edge",), ("hold", "edge")):
        played = play_cuda(kit, "cuda_streams", ("no-event", "twin"), **asked(finding, *which))
        assert (played.code, played.output) == (0, "right\n")
