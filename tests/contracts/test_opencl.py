"""Contracts over a program that runs on a real driver (PoCL), with the names and types that the driver tells."""

from __future__ import annotations

from pathlib import Path

from stating import held
from support.opencl import OpenCL

RULES = ("bytes(data) >= n * 4", "factor == 0.5", "threads.x == 64", "queue == 1")


def test_a_broken_contract(opencl: OpenCL, tmp_path: Path) -> None:
    run = opencl.run("stated")
    assert run.outcome.kind == "passed" and not run.errors, run.output
    (found,) = held(tmp_path, run.facts, "sca*", *RULES, more='why = "one value per element"').findings
    assert found.message == (
        'Launch 2 of kernel scale breaks its contract "bytes(data) >= n * 4" (4,096 is not >= 4,100): one value per element.'
    )
    assert found.evidence[0].text == "launch 2 was passed data = buffer #1 (4,096 bytes), factor = 0.5, n = 1,025"
    assert found.site is not None and found.site.argument_name == "data" and "common.h:" in (found.site.source or "")


def test_contracts_that_hold(opencl: OpenCL, tmp_path: Path) -> None:
    run = opencl.run("stated", "right")
    assert run.outcome.kind == "passed" and not run.findings, run.output
    checked = held(tmp_path, run.facts, "scale", *RULES)
    assert not checked.findings and checked.instrument.saw.startswith(
        "1 contract with 4 requirements checked against 3 launches"
    )
    shapes = ("bytes(room) == 64", "shared == 64", "grid.x == 4 and block.x == 16", "launch == 4")
    assert not held(tmp_path, run.facts, "shared_sum", *shapes).findings


def test_names_are_suggested(opencl: OpenCL, tmp_path: Path) -> None:
    (found,) = held(tmp_path, opencl.run("stated", "right").facts, "scale", "faktor > 0").findings
    assert "kernel scale has no argument faktor; did you mean factor? (it has data, factor, n)" in found.message
    assert found.id == "contract-not-checked" and found.severity == "warning"
