"""What a program is told by every query of the OpenCL API, with and without the recorder: the same, on PoCL and on Intel's driver."""

from __future__ import annotations

import difflib
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support import opencl
from support.builds import ROOT
from support.simulated import crossed

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
HELD_BY_DRIVER = ("  value 11d2: 0 [4]",)
# It also keeps a released queue that has been used, and with it a reference to the context: here that of the fills.
KEPT_BY_DRIVER = ("  value 1080: 0 [4]",)
LEFT_OUT = {
    "red zones": HELD_BY_DRIVER,
    "watch": HELD_BY_DRIVER,
    "poison": KEPT_BY_DRIVER,
    "low fence": KEPT_BY_DRIVER,
}
STEADY = {"POCL_MEMORY_LIMIT": "2"}  # GiB; else PoCL tells what the machine has at the moment
# Checked programs are more programs: each has a reference to the context, and Intel's driver numbers what it compiles, with more
# digits in the binaries of those that come later.
MORE_PROGRAMS = (*HELD_BY_DRIVER, *KEPT_BY_DRIVER, "  value 1165: 0 [8]", "binary: 0 1 0")
DRIVERS = ("pocl", "intel")


def told(kit: opencl.OpenCL, environment: Mapping[str, str]) -> list[str]:
    done = subprocess.run(
        [kit.build([PROGRAM])],
        env={**environment, **STEADY},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    return done.stdout.splitlines()


@dataclass(frozen=True)
class Asked:
    """A driver, and what it answers without the recorder."""

    kit: opencl.OpenCL
    plain: list[str]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Callable[[str], Asked]:
    """Asks a driver, once."""

    @cache
    def asked(driver: str) -> Asked:
        kit = opencl.make(tmp_path_factory.mktemp("queries"), shared, "intel" if driver == "intel" else "")
        told(kit, kit.plain_environment)  # the driver's cache has all kernels after this
        return Asked(kit, told(kit, kit.plain_environment))

    return asked


def differences(asked: Asked, folder: Path, without: tuple[str, ...] = (), **more: str) -> str:
    both = (asked.plain, told(asked.kit, asked.kit.recording(folder) | more))
    plain, recorded = ([line for line in lines if not line.startswith(without)] for lines in both)
    assert len(plain) > 5000 and any(folder.glob("*.gdx")), "it asked, and was recorded"
    return "\n".join(list(difflib.unified_diff(plain, recorded, "plain", "recorded", lineterm="", n=1))[:MOST_LINES])


@pytest.mark.parametrize(("options", "driver"), crossed(list(OPTIONS), DRIVERS))
def test_every_query_has_the_same_answer(
    ask: Callable[[str], Asked], tmp_path: Path, options: str, driver: str
) -> None:
    assert differences(ask(driver), tmp_path, LEFT_OUT.get(options, ()), **OPTIONS[options]) == ""


@pytest.mark.parametrize("driver", DRIVERS)
def test_with_checks_inside_kernels(ask: Callable[[str], Asked], tmp_path: Path, driver: str) -> None:
    (tmp_path / "traces").mkdir()
    with kernel_checked.service(kernel_checked.wanted("opencl"), tmp_path) as variables:
        assert differences(ask(driver), tmp_path / "traces", MORE_PROGRAMS, **variables) == ""
