"""First screens of demos and planted programs, kept as texts. After a change: tools/screens.py, and read the difference.

Cases of the CUDA demos were recorded on an H200 on 2026-11-16: their layout is that of now, their findings are those of then.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import screens  # noqa: E402
from gpudx.report.layout import height  # noqa: E402

KEPT = sorted(screens.SCREENS.glob("*.json"))


@pytest.fixture(autouse=True)
def back() -> object:
    here = os.getcwd()
    yield
    os.chdir(here)


def test_there_are_screens() -> None:
    """Twenty planted programs, and every demo."""
    assert len([one for one in KEPT if not one.stem.startswith("demo-")]) >= 20
    demos = {one.name for one in (ROOT / "incidents").iterdir() if one.is_dir()}
    assert demos <= {one.stem.removeprefix("demo-") for one in KEPT}


@pytest.mark.parametrize("width", screens.WIDTHS)
@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.stem)
def test_screen(kept: Path, width: int) -> None:
    shown = screens.screen(kept, width)
    assert shown == kept.with_suffix(f".{width}.txt").read_text()
    lines = shown.splitlines()
    for other in (width, 100):  # a pipe has 100 columns
        assert height(screens.screen(kept, other).splitlines(), other) <= 25
    words = [line for line in lines if len(line) > width and "gpudx " not in line and "/" not in line]
    assert words == [], "only commands and paths may be longer than the line"
