"""Correct programs on a second driver, Intel's for CPUs: what the recorder adds harms none of them.

Intel's driver copies in threads of its own, and keeps using memory for a moment after its buffer was released.
All other OpenCL tests run on it with GPUDX_TEST_OPENCL=intel.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support import opencl as programs
from support.opencl import OpenCL
from support.simulated import crossed

WAYS: tuple[dict[str, str], ...] = (
    {},
    {"GPUDX_FENCE": "high"},
    {"GPUDX_FENCE": "low"},
    {"GPUDX_FENCE": "red", "GPUDX_POISON": "cb"},
    {"GPUDX_WATCH": "1", "GPUDX_SERIALISE": "1"},
)


@pytest.fixture(scope="session")
def intel(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> OpenCL:
    return programs.make(tmp_path_factory.mktemp("intel"), shared, "intel")


@pytest.mark.parametrize(
    ("name", "way"),
    crossed(["fenced", "many_buffers", "objects", "argument_sizes", "host_memory"], WAYS),
    ids=lambda given: given if isinstance(given, str) else " ".join(given.values()) or "recorded",
)
def test_correct_programs(intel: OpenCL, name: str, way: dict[str, str]) -> None:
    if name == "many_buffers" and "GPUDX_WATCH" in way:
        pytest.skip("thousands of buffers, each read back at every wait: it takes minutes")
    run = intel.run(name, "right", **way)
    assert run.outcome.kind == "passed", run.output
    assert not run.errors


def test_a_write_past_the_end_meets_the_fence(intel: OpenCL) -> None:
    run = intel.run("fenced", "page", GPUDX_FENCE="high")
    assert run.outcome.signal == "SIGSEGV"
    assert any("past the end" in f.message for f in run.findings), [f.message for f in run.findings]


@pytest.mark.parametrize("mode", ["unmapped", "remapped"])
def test_an_argument_that_the_driver_never_reads(intel: OpenCL, mode: str) -> None:
    assert intel.run("unharmed", mode).outcome.kind == "passed"


def test_arguments_are_described_by_the_source(intel: OpenCL) -> None:
    """The driver describes them only for programs that ask for it, and nobody asks on their behalf."""
    kernels = intel.run("unharmed", "right").facts.kernels
    (info,) = (i for infos in kernels.described.values() for i in infos if i.name == "scale")
    assert [(a.type, a.name) for _, a in sorted(info.args.items())] == [
        ("float*", "data"),
        ("float", "factor"),
        ("int", "n"),
    ]
