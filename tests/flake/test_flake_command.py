"""gpudx flake for real: the incident with the shared kernel cache on PoCL, its twin, planted pytest suites, resuming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.simulated import SLOW

import gpudx
from gpudx import casefile, native
from gpudx.demos.incidents import every
from gpudx.report import render

BUILT = Path(__file__).resolve().parents[2] / "build/native/libgpudx.so"
INCIDENT = "opencl-kernel-cache-flake"
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
LEAN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # starts in half the time
LEAK = "Buffers.LeaveNothingBehind"


@pytest.fixture
def environment() -> dict[str, str]:
    if "GPUDX_LIB" not in os.environ and not (native.PACKAGED / "libgpudx.so").is_file() and not BUILT.is_file():
        pytest.skip("the recorder is not built")
    here = {"PYTHONPATH": str(Path(gpudx.__file__).resolve().parents[1])}
    lib = {} if "GPUDX_LIB" in os.environ or (native.PACKAGED / "libgpudx.so").is_file() else {"GPUDX_LIB": str(BUILT)}
    return {**{k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}, **here, **lib}


def flake(environment: dict[str, str], place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.gpudx("flake", *words, cwd=place, env=environment, timeout=280)


def result(place: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((place / "case" / "case.json").read_text())
    return told


def skip_if_starved(told: dict[str, Any]) -> None:
    """Dozens of runs of an interpreter: on a machine that others keep busy the time is over first, which shows nothing."""
    cores = os.cpu_count() or 1
    if told["stopped"] == "budget used up" and os.getloadavg()[0] > 2 * cores:
        pytest.skip(f"the machine is too busy (load {os.getloadavg()[0]:.0f} on {cores} cores): the budget was used up")


def kinds(place: Path) -> dict[str, str]:
    return {test["name"]: test["kind"] for test in result(place)["flake"]["results"]}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, tuple[Path, dict[str, str]]]:
    from gpudx.cli.demo import build_incident

    place, known = tmp_path_factory.mktemp("incident"), every()[INCIDENT]
    made = {twin: build_incident(known, place / str(twin), twin) for twin in (False, True)}
    return {twin: (one.program, one.environment) for twin, one in made.items()}


def test_the_cache_and_the_exception(
    built: dict[bool, tuple[Path, dict[str, str]]], environment: dict[str, str], tmp_path: Path
) -> None:
    """Eight tests share a cached kernel; one more fails in parallel and never touches it. Real PoCL, a compiled runner."""
    program, more = built[False]
    words = ("--budget", "120s", "--parallel", "--threads={}", "--case", "case", "--", str(program))
    done = flake({**environment, **more}, tmp_path, *words)
    assert done.returncode == 1, done.stderr
    told = kinds(tmp_path)
    assert [*told.values()].count("concurrency-dependent") >= 9, told  # on a busy machine all ten may fail
    (blame,) = result(tmp_path)["flake"]["blames"]
    assert (blame["cause"], blame["kernel"]) == ("kernel-shared-by-threads", "affine")
    assert len(blame["explains"]) == 8 and blame["unexplained"] == [LEAK]
    assert any("kernel affine" in one for one in blame["shared"]) and len(blame["pair"]) in (2, 3)  # 3 on a busy machine
    assert "FLAKY TESTS" in done.stdout and len(done.stdout.splitlines()) <= 25
    text = " ".join(render(casefile.read(tmp_path / "case"), "terminal").split())
    assert f"cannot explain 1: {LEAK}, which never uses kernel affine" in text
    assert "used no GPU object in common" in text and "where 0.001 is allowed" in text
    assert "They do not show its cause" in text and "--threads=1" in text


def test_the_twin_is_green(
    built: dict[bool, tuple[Path, dict[str, str]]], environment: dict[str, str], tmp_path: Path
) -> None:
    program, more = built[True]
    most = () if SLOW else ("--runs", "10")  # two under each condition
    words = (*most, "--budget", "60s", "--parallel", "--threads={}", "--case", "case", "--", str(program))
    done = flake({**environment, **more}, tmp_path, *words)
    assert done.returncode == 0 and "NO TEST FAILED" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_cache_in_python(
    built: dict[bool, tuple[Path, dict[str, str]]], environment: dict[str, str], tmp_path: Path
) -> None:
    """pytest-run-parallel runs each test in eight threads of one process: it fails beside nobody but its own threads."""
    pytest.importorskip("pytest_run_parallel")
    file = built[False][0].parent / "test_library.py"
    words = (*PYTEST, "-p", "pytest_run_parallel.plugin", str(file))
    done = flake(environment | LEAN, tmp_path, "--budget", "200s", "--case", "case", "--", *words)
    assert done.returncode == 1, done.stderr
    told = result(tmp_path)["flake"]
    skip_if_starved(told)
    blame = told["blames"][0]
    assert (blame["cause"], blame["kernel"]) == ("kernel-shared-by-threads", "affine"), told
    (alone,) = blame["unexplained"]
    assert alone.endswith("test_leaves_nothing_behind") and len(blame["explains"]) == 8


ORDER = """
STATE = []
def test_early(): assert not STATE
def test_middle(): pass
def test_leaves_state(): STATE.append(1)
def test_late(): assert 1.0 == 1.0
def test_broken(): assert 3 == 4
"""


def test_who_poisons_whom(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "test_order.py").write_text(ORDER)
    done = flake(environment | LEAN, tmp_path, "--budget", "240s", "--case", "case", "--", *PYTEST, "test_order.py")
    assert done.returncode == 1, done.stderr
    skip_if_starved(result(tmp_path)["flake"])
    told = {test["name"].split("::")[1]: test for test in result(tmp_path)["flake"]["results"]}
    assert told["test_early"]["kind"] == "order-dependent"
    assert told["test_early"]["partners"] == ["test_order.py::test_leaves_state"]
    assert told["test_broken"]["kind"] == "deterministic" and len(told) == 2


def test_any_command(environment: dict[str, str], tmp_path: Path) -> None:
    """A black box: passes or fails. It is counted, and goes on after an interruption."""
    (tmp_path / "app").write_text("#!/bin/sh\necho x >> count\n[ $(($(wc -l < count) % 2)) -eq 0 ]\n")
    (tmp_path / "app").chmod(0o755)
    done = flake(environment, tmp_path, "--runs", "4", "--case", "case", "--", "./app")
    assert done.returncode == 1, done.stderr
    assert set(kinds(tmp_path)) == {"the command"}  # what it is cannot be told from four runs
    first = (tmp_path / "case" / "flake.jsonl").read_text().splitlines()
    with (tmp_path / "case" / "flake.jsonl").open("a") as file:
        file.write('{"condition": "as-is", "ma')  # cut off in the middle of a line
    done = flake(environment, tmp_path, "--resume", "case", "--runs", "3")
    assert done.returncode == 1, done.stderr
    lines = (tmp_path / "case" / "flake.jsonl").read_text().splitlines()
    assert lines[: len(first)] == first and len(lines) in (len(first), len(first) + 3)  # it may be settled by then
    told = forked.gpudx("report", "case", "--format", "markdown", cwd=tmp_path, env=environment)
    assert told.returncode == 0 and "FLAKY TESTS" in told.stdout, told.stderr


def test_an_interruption_keeps_what_was_learned(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "app").write_text("#!/bin/sh\nsleep 0.3\n")
    (tmp_path / "app").chmod(0o755)
    child = forked.start("flake", "--case", "case", "--", "./app", cwd=tmp_path, env=environment)
    limit = time.monotonic() + 60
    journal = tmp_path / "case" / "flake.jsonl"
    while not (journal.is_file() and len(journal.read_text().splitlines()) > 2):
        assert time.monotonic() < limit
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, said = child.communicate(timeout=60)
    assert child.returncode == 130 and "--resume" in said, said
    assert "interrupted" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "There are no tests to run"),
        (("--", "./nowhere"), "no such file"),
        (("--parallel", "-j", "--", "true"), "has no {} for the number"),
        (("--resume", "nowhere"), "There is no study of flaky tests"),
        (("--budget", "soon", "--", "true"), "is not a time"),
    ],
)
def test_mistakes(environment: dict[str, str], tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = flake(environment, tmp_path, *words)
    assert done.returncode in (2, 127) and says in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_help_has_examples(environment: dict[str, str], tmp_path: Path) -> None:
    told = flake(environment, tmp_path, "--help").stdout
    assert "gpudx flake -- pytest tests/gpu" in told and "cargo test" in told
