"""Real traces to read and to damage."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "native"))

from native_kit import Kit

Make = Callable[..., Path]


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Kit:
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc) here")
    return Kit(tmp_path_factory.mktemp("traces"), shared)


@pytest.fixture(scope="session")
def small(kit: Kit) -> Path:
    """A few calls."""
    return kit.run([kit.program("calls")], "symbols").trace().path


@pytest.fixture(scope="session")
def crashed(kit: Kit) -> Path:
    """A program that launched kernels, then died in the driver."""
    return kit.run([kit.program("launches"), "crash"], "symbols").trace().path


@pytest.fixture(scope="session")
def threaded(kit: Kit) -> Path:
    """Three threads with calls, objects and notes, in a ring that wrapped."""
    driver = kit.linked("core_driver")
    return kit.run([driver, "threads", "3", "6000"], "linked", keep=str(512 << 10)).trace().path
