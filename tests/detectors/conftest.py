"""Synthetic processes for the detectors: `world()` makes one, `look(world)` gives what was found in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.detecting import Look, Make
from support.synthetic import World

from gpudx.detectors import Run, detect_all
from gpudx.facts import derive
from gpudx.model import Finding, Outcome


@pytest.fixture
def world(schema: str) -> Make:
    def make(**options: Any) -> World:
        return World(schema, **options)

    return make


@pytest.fixture
def look(tmp_path: Path) -> Look:
    def findings(world: World, kind: str = "passed", **outcome: Any) -> list[Finding]:
        trace = world.write(tmp_path / "1-0.gdx")
        if kind == "signal":
            outcome.setdefault("signal", "SIGSEGV")
        return list(detect_all(derive(trace), Run(Outcome(kind, "The program ended.", **outcome))))  # type: ignore[arg-type]

    return findings
