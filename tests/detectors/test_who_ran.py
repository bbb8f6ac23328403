"""Findings about who ran, with what: each loud where it is sure, and silent where it might be wrong.

What only a GPU shows (drivers, device code) is written by hand, in the recorder's format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look
from support.device_images import CUBIN, PTX, entry, fat
from test_cuda_images import load

from gpudx.detectors import Run, detect_all, examine_all
from gpudx.facts import derive
from gpudx.model import Driver, Finding, Identity, LoadedObject, Making, Outcome, Probe, Setting, Source, Step
from gpudx.model.finding import Severity

NOW = 1_800_000_000.0
DAY = 86_400.0
APP = LoadedObject(
    "/srv/app",
    (7,),
    executable=True,
    own=True,
    sha256="a" * 64,
    build_id="ab",
    modified=NOW - DAY,
    started=NOW,
    tree="/srv",
)
SHELL = LoadedObject("/usr/bin/bash", (6,), executable=True, sha256="b" * 64, modified=NOW - 99 * DAY, started=NOW - 9)
PASSED, FAILED = Run(Outcome("passed", "")), Run(Outcome("exit", "", 1))
MAKE = Step("/usr/bin/make", 5, NOW - 8, NOW - 4, 0, False)


def look(identity: Identity, run: Run = FAILED) -> list[Finding]:
    return list(examine_all(identity, run))


def only(identity: Identity, name: str, severity: Severity, run: Run = FAILED) -> Finding:
    (found,) = [f for f in look(identity, run) if f.id == name]
    assert found.severity == severity and found.message.endswith(".")
    return found


def of(*objects: LoadedObject, **more: object) -> Identity:
    return Identity(objects=objects, **more)  # type: ignore[arg-type]


def stale(why: str) -> LoadedObject:
    return replace(APP, built=Making(("/srv",), ("GNU C",), 3, (Source("/srv/main.c", NOW - 60, why),)))  # type: ignore[arg-type]


def test_nothing_known_is_silent() -> None:
    assert not look(Identity()) and not look(of(APP, SHELL))


# ---- object-older-than-sources ----


@pytest.mark.parametrize("why", ["edited", "committed"])
def test_older_than_its_sources(why: str) -> None:
    found = only(of(stale(why)), "object-older-than-sources", "warning")
    assert "app, which ran" in found.message and "main.c was changed 23 hours after" in found.message


def test_another_checksum_is_an_error_only_where_something_failed() -> None:
    only(of(stale("content")), "object-older-than-sources", "error", FAILED)
    only(of(stale("content")), "object-older-than-sources", "warning", PASSED)


@pytest.mark.parametrize("why", ["checked out", "copied"])
def test_times_of_checkouts_and_copies_are_silent(why: str) -> None:
    assert not look(of(stale(why)))


def test_files_of_the_system_are_silent() -> None:
    assert not look(of(replace(stale("edited"), own=False)))


# ---- build-left-old-program ----


def test_a_build_that_failed() -> None:
    found = only(of(APP, steps=(replace(MAKE, status=2),)), "build-left-old-program", "warning")
    assert "make ended with status 2" in found.message and "had been built 23 hours before" in found.message


def test_a_build_that_did_nothing_while_sources_are_newer() -> None:
    found = only(of(stale("edited"), steps=(MAKE,)), "build-left-old-program", "warning")
    assert "make compiled nothing" in found.message


@pytest.mark.parametrize(
    "step",
    [
        MAKE,  # up to date
        replace(MAKE, status=None),  # its end was not seen
        replace(MAKE, status=2, ended=NOW + 5),  # it ran the program itself, and failed because that failed
        replace(MAKE, status=2, ended=0.0),
        replace(MAKE, status=2, began=NOW - 2 * DAY, ended=NOW - 2 * DAY),  # before the program was written
    ],
)
def test_builds_that_are_none_of_its_business(step: Step) -> None:
    assert not look(of(APP, SHELL, steps=(step,)))


def test_a_later_build_that_went_well_clears_an_earlier_one() -> None:
    assert not look(
        of(APP, steps=(replace(MAKE, status=2), replace(MAKE, began=NOW - 3, ended=NOW - 2, compiled=True)))
    )


def test_a_program_that_was_written_by_the_build() -> None:
    assert not look(of(replace(APP, modified=NOW - 5), steps=(replace(MAKE, status=2),)))


# ---- committed-executable ----


def test_a_committed_program() -> None:
    assert (
        "is a committed file of /srv"
        in only(of(replace(APP, committed=True)), "committed-executable", "warning").message
    )


def test_a_committed_library_is_silent() -> None:
    assert not look(of(replace(APP, committed=True, executable=False)))


# ---- environment-note: mixed libraries ----


def copies(*names: str, pids: tuple[int, ...] = (7, 7)) -> Identity:
    return of(*(LoadedObject(name, (pid,), sha256=name[-1] * 64) for name, pid in zip(names, pids, strict=False)))


@pytest.mark.parametrize(
    "names",
    [
        ("/a/libcudart.so.11.8.89", "/b/libcudart-9335f6a2.so.12.4.2"),
        ("/usr/lib/libOpenCL.so.1.0.0", "/venv/libOpenCL-1f.so.2"),
        ("/usr/lib/libstdc++.so.6.0.30", "/conda/libstdc++.so.6.0.33"),
    ],
)
def test_two_copies(names: tuple[str, str]) -> None:
    assert "2 different copies" in only(copies(*names), "environment-note", "warning").message


@pytest.mark.parametrize(
    ("names", "pids"),
    [
        (("/a/libcudart.so.12", "/b/libcudart.so.13"), (7, 8)),  # of two processes
        (("/a/libcudart.so.2", "/b/libcudart.so.2"), (7, 7)),  # the same content
        (("/a/libcublas.so.12", "/a/libcublasLt.so.13"), (7, 7)),  # two libraries
        (("/a/libopenblas-1.so", "/b/libopenblas-2.so"), (7, 7)),  # no runtime of a GPU
    ],
)
def test_copies_that_do_no_harm(names: tuple[str, str], pids: tuple[int, int]) -> None:
    assert not look(copies(*names, pids=pids))


# ---- environment-note: drivers, settings ----


def test_a_driver_that_is_not_there() -> None:
    missing = Driver("opencl", "/gone/libx.so", "", "/etc/x.icd names the driver /gone/libx.so, which is not there")
    only(of(drivers=(missing,)), "environment-note", "warning", FAILED)
    only(of(drivers=(missing,)), "environment-note", "info", PASSED)
    assert not look(of(drivers=(Driver("opencl", "cpu", "PoCL"),)))


def test_settings_are_a_note() -> None:
    one = Setting("CUDA_LAUNCH_BLOCKING", "1", "each launch waits", "a guide")
    found = only(of(settings=(one,)), "environment-note", "info")
    assert found.message.startswith("CUDA_LAUNCH_BLOCKING was set") and "each launch waits" in found.evidence[0].text


# ---- probes ----


def probe(state: str, **more: object) -> Identity:
    return of(
        APP,
        probes=(Probe("MARK", "text", state, "Neither app nor anything else that ran has the probe 'MARK'.", **more),),
    )  # type: ignore[arg-type]


def test_an_absent_probe() -> None:
    found = only(probe("absent"), "probe-absent", "error")
    assert found.causes == ("probe-absent",) and "proves nothing" in found.message


def test_an_absent_probe_that_the_sources_have() -> None:
    found = only(probe("absent", sources=("/srv/main.c:3",)), "probe-absent", "error")
    assert found.causes == ("stale-executable",) and "main.c:3" in found.message


def test_a_probe_that_was_not_reached_is_a_note() -> None:
    only(probe("not reached"), "probe-not-reached", "info")


@pytest.mark.parametrize("state", ["present", "fired", "unknown"])
def test_other_answers_are_no_finding(state: str) -> None:
    assert not look(probe(state))


# ---- of device code and drivers: written by hand ----

HOPPER = {"capability_major": 9, "capability_minor": 0, "driver_version": 12080}
MAPS = "7f0000000000-7f0000001000 r-xp 00000000 00:00 1 /x/{}\n"


@pytest.fixture
def driven(schema: str, tmp_path: Path) -> Callable[..., list[str]]:
    def run(library: str) -> list[str]:
        trace = CudaWorld(schema, device=HOPPER).write(tmp_path / "1-0.gdx")
        trace.__dict__["maps"] = MAPS.format(library)
        return [f.message for f in detect_all(derive(trace), PASSED) if f.id == "environment-note"]

    return run


def test_a_driver_that_is_too_old(driven: Callable[..., list[str]]) -> None:
    (message,) = driven("libcudart.so.13.0.88")
    assert "The driver has version 12.8, the runtime 13.0" in message


@pytest.mark.parametrize(
    "name", ["libcudart.so.12.9.37", "libcudart.so.11.8.89", "libcudart_static.so.13", "libc.so.6"]
)
def test_a_driver_that_is_new_enough(driven: Callable[..., list[str]], name: str) -> None:
    assert not driven(name)


def test_only_source_for_this_device(schema: str, look: Look) -> None:
    world = CudaWorld(schema, device=HOPPER)
    load(world, fat([entry(PTX, 80), entry(CUBIN, 75)]))
    (found,) = [f for f in look(world) if f.id == "code-compiled-at-load"]
    assert (
        found.severity == "info" and "code for sm_75, PTX for compute_80" in found.message and "sm_90" in found.message
    )


@pytest.mark.parametrize("codes", [[(CUBIN, 90)], [(PTX, 80), (CUBIN, 90)], [(CUBIN, 75)], [(PTX, 100)]])
def test_compiled_code_or_none_at_all(schema: str, look: Look, codes: list[tuple[int, int]]) -> None:
    world = CudaWorld(schema, device=HOPPER)
    load(world, fat([entry(*code) for code in codes]))
    assert not [f for f in look(world) if f.id == "code-compiled-at-load"]
