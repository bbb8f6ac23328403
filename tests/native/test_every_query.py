"""What a program is told by every query of the OpenCL API, with and without the recorder: the same, on PoCL and on Intel's driver."""

from __future__ import annotations

import difflib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support import opencl
from support.builds import ROOT

from gpudx.lab import kernel_checked

PROGRAM = ROOT / "tests/native/programs/every_query.c"
OPTIONS: dict[str, dict[str, str]] = {
    "recorded": {},
    "fence": {"GPUDX_FENCE": "high"},
    "low fence": {"GPUDX_FENCE": "low", "GPUDX_POISON": "nan"},
    "red zones": {"GPUDX_FENCE": "red", "GPUDX_WATCH": "1", "GPUDX_SERIALISE": "1"},
    "poison": {"GPUDX_POISON": "cb", "GPUDX_CRUMBS": "all", "GPUDX_STACKS": "1"},
    "watch": {"GPUDX_WATCH": "1", "GPUDX_BLOCKING_TRANSFERS": "all"},
}
MOST_LINES = 20
# PoCL holds the last command of a queue. Instruments that put commands of their own into the program's queues end that, and the
# count of the event is one less: the driver's reference, not the program's (OpenCL 3.0 specification, clGetEventInfo: "should be
# considered immediately stale").
HELD_BY_DRIVER = "  value 11d2: 0 [4]"
PUTS_COMMANDS = {"red zones", "watch"}


def told(kit: opencl.OpenCL, environment: Mapping[str, str]) -> list[str]:
    done = subprocess.run(
        [kit.build([PROGRAM])], env=dict(environment), capture_output=True, text=True, errors="replace", timeout=120
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module", params=["pocl", "intel"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared: Path
) -> Iterator[opencl.OpenCL]:
    kit = opencl.make(tmp_path_factory.mktemp("queries"), shared, "intel" if request.param == "intel" else "")
    told(kit, kit.plain_environment)  # the driver's cache has all kernels after this
    yield kit


def differences(kit: opencl.OpenCL, folder: Path, without: str = "", **more: str) -> list[str]:
    both = (told(kit, kit.plain_environment), told(kit, kit.recording(folder) | more))
    plain, recorded = ([line for line in lines if not without or not line.startswith(without)] for lines in both)
    assert len(plain) > 5000 and any(folder.glob("*.gdx")), "it asked, and was recorded"
    return list(difflib.unified_diff(plain, recorded, "plain", "recorded", lineterm="", n=1))[:MOST_LINES]


@pytest.mark.parametrize("options", list(OPTIONS))
def test_every_query_has_the_same_answer(asked: opencl.OpenCL, tmp_path: Path, options: str) -> None:
    without = HELD_BY_DRIVER if options in PUTS_COMMANDS else ""
    assert differences(asked, tmp_path, without, **OPTIONS[options]) == []


def test_with_checks_inside_kernels(asked: opencl.OpenCL, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    with kernel_checked.service(kernel_checked.wanted("opencl"), tmp_path) as variables:
        assert differences(asked, tmp_path / "traces", **variables) == []
