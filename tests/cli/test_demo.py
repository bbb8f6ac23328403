"""gpudx demo: builds an incident, runs it, and compares the diagnosis with the expected one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cli_kit import Gpudx
from sample_cases import DIAGNOSIS, FULL, PASSED

from gpudx.demos import incidents
from gpudx.errors import UserError
from gpudx.model import Outcome

DESCRIPTION = """
name = "crash"
title = "It crashes"
story = "First sentence. Second sentence."
backend = "none"
sources = ["main.c"]
flags = []
libs = ["m"]
twin_flags = ["-DTWIN"]
run = ["7"]
[expect]
cause = "some-cause"
kernel = "restore"
argument = 1
outcomes = ["exit:7"]
"""
MAIN = """#include <stdlib.h>
int main(int count, char **words)
{
#ifdef TWIN
    return 0;
#endif
    return atoi(words[1]);
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "incidents/crash"
    place.mkdir(parents=True)
    (place / "incident.toml").write_text(DESCRIPTION)
    (place / "main.c").write_text(MAIN)
    return tmp_path / "incidents"


@pytest.fixture
def demo(gpudx_cli: Gpudx, folder: Path) -> Gpudx:
    """gpudx demo over the folder above."""
    return lambda *words, **more: gpudx_cli("demo", *words, STAND_IN_INCIDENTS=str(folder), **more)


def test_as_expected(demo: Gpudx, tmp_path: Path) -> None:
    done = demo("crash", "--case", "case", finds="confirmed")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("gpudx: crash: It crashes\ngpudx: First sentence.\ngpudx: CONFIRMED some-cause  ")
    assert done.stderr.endswith("gpudx: as expected: some-cause\n")
    assert "case: " in done.stderr and (tmp_path / "case").is_dir()
    assert (tmp_path / "case/build/crash").is_file()
    assert (tmp_path / "case/case.json").is_file()


def test_the_default_runs_everywhere() -> None:
    from gpudx.cli.demo import DEFAULT
    from gpudx.demos.incidents import every

    assert every()[DEFAULT].backend == "opencl"


def test_a_driver_without_a_compiler_runs_the_demo_without_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pyopencl's own on processors that it does not know; doctor lists the same demo."""
    from gpudx.backends import linking, opencl
    from gpudx.cli import demo, doctor

    known = linking("opencl")
    assert known is not None
    bare = replace(known, ready=lambda: False, bundled=lambda: None, runs_without_kernels=lambda: True)
    monkeypatch.setattr(opencl, "LINKING", bare)
    assert demo._default() == demo.WITHOUT_TOOLS
    pytest.importorskip("pyopencl")
    first, *rest = doctor._demos({}).lines
    assert demo.WITHOUT_TOOLS in first and demo.DEFAULT not in first
    assert f"{demo.DEFAULT} lacks: C compiler, OpenCL devices" in rest


def test_list(demo: Gpudx) -> None:
    assert demo("--list").stdout.split(maxsplit=1) == ["crash", "It crashes\n"]


def test_not_as_expected(demo: Gpudx) -> None:
    done = demo("crash")
    assert done.returncode == 1
    assert "not as expected: expected some-cause, found no cause" in done.stderr


def test_the_twin(demo: Gpudx) -> None:
    done = demo("crash", "--twin")
    assert done.returncode == 0, done.stderr
    assert "as expected: no fault" in done.stderr
    assert demo("crash", "--twin", finds="likely").returncode == 1


def test_an_analysis_that_fails(demo: Gpudx) -> None:
    done = demo("crash", finds="bug")
    assert done.returncode == 1
    assert "the analysis failed" in done.stderr


def test_mistakes(demo: Gpudx, folder: Path, tmp_path: Path) -> None:
    done = demo("nothing")
    assert done.returncode == 2 and "choose one of crash" in done.stderr
    (folder / "crash/main.c").write_text("int main(void){return nothing;}")
    done = demo("crash")
    assert done.returncode == 2 and "cannot be built" in done.stderr
    done = demo("crash", CC="no-such-compiler")
    assert done.returncode == 2 and "C compiler" in done.stderr


@pytest.mark.parametrize("text", ["name = ", "name = 'x'", DESCRIPTION.replace('story = "First', 'story = 1 # "')])
def test_descriptions_that_are_none(folder: Path, text: str) -> None:
    (folder / "crash/incident.toml").write_text(text)
    with pytest.raises(UserError, match="does not describe an incident"):
        incidents.every(folder)


def test_no_incidents(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="reinstall"):
        incidents.every(tmp_path)


def test_differences(folder: Path) -> None:
    incident = incidents.every(folder)["crash"]
    expect = {"cause": DIAGNOSIS.cause, "call": "clSetKernelArg", "kernel": "restore_q4_0", "argument": 1}
    fitting = replace(
        incident, expect={**expect, "value": "0x48000", "allocation_size": 294912, "outcomes": ["signal:SIGSEGV"]}
    )
    assert incidents.differences(fitting, FULL, False) == []
    other = replace(incident, expect={**expect, "kernel": "x", "allocation_size": 1, "outcomes": ["exit:1", "exit:2"]})
    assert incidents.differences(other, FULL, False) == [
        "expected the program to end with exit:1 or exit:2, it ended with signal:SIGSEGV",
        "expected kernel x, found restore_q4_0",
        "expected allocation_size 1, found 294912",
    ]
    assert incidents.differences(fitting, PASSED, True) == []
    assert len(incidents.differences(fitting, FULL, True)) == 3
    assert Outcome("timeout", "").word == "timeout"


def test_the_incidents_of_the_source_tree() -> None:
    for name, incident in incidents.every(Path(__file__).resolve().parents[2] / "incidents").items():
        assert incident.folder.name == name
        assert all((incident.folder / source).is_file() for source in incident.sources)
        assert incident.title and incident.story and incident.expect["cause"]


def test_no_driver_is_said_before_anything_is_built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not asked of an API whose programs the build links, nor of one without a device."""
    from gpudx import backends
    from gpudx.cli.demo import _require_driver
    from gpudx.lab import probe

    incident = incidents.every(folder)["crash"]
    missing = probe.Found(backends.tools()["cuda"][0], "not found")
    monkeypatch.setattr(probe, "look_for", lambda tool: missing)
    with pytest.raises(UserError, match="needs a working NVIDIA driver"):
        _require_driver(replace(incident, backend="cuda"))
    _require_driver(replace(incident, backend="hip"))
    _require_driver(incident)
    monkeypatch.setattr(probe, "look_for", lambda tool: replace(missing, state="found"))
    _require_driver(replace(incident, backend="cuda"))
