"""Shared by all tests: the helpers in tests/support, and OpenCL programs under the recorder."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support import builds
from support import opencl as opencl_programs


def _as_at_a_terminal() -> None:
    """Runners that start us in the background leave SIGHUP, SIGINT or SIGQUIT ignored, which every child inherits; the
    tests are about programs for which these signals do something."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_as_at_a_terminal()
os.environ.setdefault("GPUDX_CASES", "none")  # the list of cases of whoever runs the tests stays as it is


@pytest.fixture(scope="session")
def shared() -> Path:
    """Where everything is built that several tests need; kept for later runs."""
    return builds.shared_folder()


@pytest.fixture(scope="session")
def opencl(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> opencl_programs.OpenCL:
    """Compiles and records small OpenCL programs."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc)")
    return opencl_programs.make(tmp_path_factory.mktemp("opencl"), shared)


@pytest.fixture(scope="session")
def schema(shared: Path) -> str:
    """The schema text that the recorder of this checkout writes into its traces."""
    return (builds.generated(shared) / "schema.json").read_text()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that take a minute and more are run where they are asked for; one long test must not be the last."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
    if not os.environ.get("GPUDX_SLOW"):
        for item in (item for item in items if item.get_closest_marker("slow")):
            item.add_marker(pytest.mark.skip(reason="takes a minute or more: set GPUDX_SLOW=1"))
