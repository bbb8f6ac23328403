"""Breadcrumbs on a real GPU: planted faults and hangs are named in the first run, and correct programs stay what they are."""

from __future__ import annotations

import pytest
from test_on_gpu import Gpu, Ran, gpu  # noqa: F401 - a fixture

pytestmark = pytest.mark.gpu


def planted(ran: Ran) -> tuple[int, str]:
    _, number, kind, _ = ran.recorded[1].split()
    return int(number), kind


@pytest.mark.parametrize("seed", range(6))
def test_a_fault_is_named_in_the_first_run(gpu: Gpu, seed: int) -> None:  # noqa: F811
    ran = gpu.run("crumbs_planted", "--crumbs=all", plainly=False, words=("fault", str(seed)))
    _, kind = planted(ran)
    assert ran.recorded[0] == 1 and "device-error-reported" in ran.errors
    if kind == "launch":
        assert "faulty" in ran.best["guilty"]["kernel"] and ran.best["status"] in ("confirmed", "likely"), ran.best


@pytest.mark.parametrize("seed", range(3))
def test_a_hang_is_named(gpu: Gpu, seed: int) -> None:  # noqa: F811
    ran = gpu.run("crumbs_planted", "--crumbs=all", "--timeout", "4", plainly=False, words=("hang", str(seed)))
    _, kind = planted(ran)
    assert ran.recorded[0] == 124 and ran.best["cause"] == "hang"
    if kind == "launch":
        assert "endless" in ran.best["guilty"]["kernel"], ran.best


@pytest.mark.parametrize("crumbs", ["--crumbs=all", "--crumbs=off", "--stall=20"])
@pytest.mark.parametrize("name", ["multi_stream", "graph_capture", "async_alloc"])
def test_correct_programs_are_the_same(gpu: Gpu, name: str, crumbs: str) -> None:  # noqa: F811
    ran = gpu.run(name, crumbs)
    assert ran.recorded == ran.plain[:2] and not ran.errors


WAYS = ("legacy", "per-thread", "priority", "green", "green-current", "remade", "captured", "forked")


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_stream_and_context(gpu: Gpu, way: str) -> None:  # noqa: F811
    """Correct, it stays what it is; the launch that faults is named."""
    correct = gpu.run("crumbs_ways", "--crumbs=all", words=(way, "none"))
    if correct.plain[0] == 77:
        pytest.skip(f"{way}: not supported here")
    assert correct.plain[:2] == (0, "wait: cudaSuccess\ndone\n") and correct.recorded == correct.plain[:2] and not correct.errors
    faulty = gpu.run("crumbs_ways", "--crumbs=all", words=(way, "fault"))
    assert faulty.recorded == faulty.plain[:2] and faulty.recorded[0] == 1
    assert "faulty" in faulty.best["guilty"]["kernel"], faulty.best


@pytest.mark.parametrize("way", ["priority", "green", "green-current"])
def test_a_hang_in_every_kind_of_context(gpu: Gpu, way: str) -> None:  # noqa: F811
    ran = gpu.run("crumbs_ways", "--crumbs=all", "--timeout", "5", plainly=False, words=(way, "hang"))
    if ran.recorded[0] == 77:
        pytest.skip(f"{way}: not supported here")
    assert ran.best["cause"] == "hang" and "endless" in ran.best["guilty"]["kernel"], ran.best
