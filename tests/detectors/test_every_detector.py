"""What all detectors have in common."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.detectors import Run, detect_all, every
from gpudx.facts import derive
from gpudx.model import Outcome

HOSTILE = "<script>alert(1)</script>\x1b[31m\x00\n\u202e\udcff"


@pytest.mark.parametrize("detector", every(), ids=lambda d: d.__name__.rpartition(".")[2])
def test_detector_has_a_page_and_an_id(detector: ModuleType) -> None:
    assert detector.__name__.rpartition(".")[2].replace("_", "-") == detector.ID
    page = detector.__doc__ or ""
    assert "Example:" in page and ("Fix it" in page or "Fix it" in page)
    assert page.splitlines()[0].endswith(".")
    assert not re.search(r"\b(fix|should)", detector.ID), "names state the fault, not the cure"


def test_hostile_names_are_data(world: Make, look: Look) -> None:
    """Names come through as they are; making them harmless is the business of reports."""
    process = world()
    name = HOSTILE.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    kernel = process.kernel(name, [Arg("float*", f"data{name}", GLOBAL), Arg("int", "n")])
    process.buffer(294912)
    process.set_arg(kernel, 0, 294912)
    process.launch(kernel, (64,), status=-52)
    found = look(process, "exit")
    assert {f.id for f in found} >= {"value-is-not-a-handle", "argument-never-set", "failed-call"}
    assert any(f.site is not None and f.site.kernel == name for f in found)
    assert all(f.fingerprint and f.message.endswith(".") for f in found)


def test_empty_process_is_silent(world: Make, look: Look) -> None:
    assert not look(world())
    assert not look(world(), "exit")


def test_same_fault_has_the_same_fingerprint(schema: str, tmp_path: Path) -> None:
    """Addresses, threads and call numbers differ between runs; the fault does not."""
    prints = []
    for run in range(2):
        process = World(schema)
        for _ in range(run * 5):
            process.buffer(128)
        process.buffer(294912)
        kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
        process.set_arg(kernel, 0, 294912, tid=run + 1)
        trace = process.write(tmp_path / f"{run}.gdx")
        prints.append([f.fingerprint for f in detect_all(derive(trace), Run(Outcome("passed", "")))])
    assert prints[0] == prints[1] and len(prints[0]) == 1
