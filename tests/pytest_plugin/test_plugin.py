"""pytest --gpudx on real PoCL, in processes of their own: the test that made the error is named, not the one that noticed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.opencl import find_recorder

import gpudx

PLUGIN = ("-p", "gpudx.pytest_plugin", "-p", "xdist.plugin", "-p", "no:cacheprovider", "-p", "no:randomly")
# Without the plugins that happen to be installed: they take longer to import than pytest itself.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
SOURCES = Path(gpudx.__file__).parents[1]

HEAD = """
import time
import numpy as np
import pyopencl as cl
import pytest
context = cl.create_some_context(interactive=False)
one, two = cl.CommandQueue(context), cl.CommandQueue(context)
size = 1 << 16
held = {}
"""
# The copy reads what the fill, in another queue, has not written yet. Only the second test looks at the result.
RACE = """
def test_makes_it():
    source, target = cl.Buffer(context, 0, size), cl.Buffer(context, 0, size)
    cl.enqueue_fill_buffer(one, source, np.uint32(1), 0, size).wait()
    gate = cl.UserEvent(context)
    filled = cl.enqueue_fill_buffer(one, source, np.uint32(7), 0, size, wait_for=[gate])
    one.flush()
    cl.enqueue_copy(two, target, source, wait_for=ORDER)
    two.flush()
    time.sleep(0.2)
    gate.set_status(cl.command_execution_status.COMPLETE)
    held.update(source=source, target=target)

def test_notices_it():
    one.finish()
    two.finish()
    got = np.empty(size // 4, np.uint32)
    cl.enqueue_copy(two, got, held["target"])
    assert (got == 7).all()
"""
CRASH = """
def test_before():
    pass

def test_crashes():
    program = cl.Program(context, "kernel void k(global int *a) { a[0] = 1; }").build()
    cl.Kernel(program, "k").set_arg(0, np.uint64(0x48000))  # a size where a buffer belongs
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    if importlib.util.find_spec("pyopencl") is None or find_recorder() is None:
        pytest.skip("needs pyopencl[pocl] and the recorder")
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    ours = {"PYTHONPATH": str(SOURCES), "GPUDX_LIB": str(find_recorder()), "GPUDX_CASES": "none", "PYTEST_ADDOPTS": ""}
    env = {**os.environ, **ours, **ALONE, **environment}
    command = [sys.executable, "-m", "pytest", *PLUGIN, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=200)


def section(text: str) -> str:
    """What the report of the failing test says."""
    return " ".join(text.partition("- gpudx -")[2].partition("\n===")[0].split())


def test_the_test_that_made_it_is_named(tests: Path) -> None:
    (tests / "test_gpu.py").write_text(HEAD + RACE.replace("ORDER", "None"))
    done = run(tests, "--gpudx", "--gpudx-case", "case", "--junitxml=junit.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    told = section(done.stdout)
    assert "unordered-access: clEnqueueCopyBuffer" in told
    assert (
        "It was caused in test_gpu.py::test_makes_it, not in this test; it is not shown that this test failed because of it."
        in told
    )
    assert "\ntest_gpu.py::test_makes_it: LIKELY unordered-access\n" in done.stdout
    assert f"gpudx: case: {tests}/case" in done.stdout
    case = json.loads((tests / "case/case.json").read_text())
    assert [f["part"] for f in case["findings"] if f["severity"] == "error"] == ["test_gpu.py::test_makes_it"]


def test_correct_tests_and_other_failures_are_left_alone(tests: Path) -> None:
    more = "\ndef test_of_its_own():\n    assert 1 == 2\n"
    (tests / "test_gpu.py").write_text(HEAD + RACE.replace("ORDER", "[filled]") + more)
    done = run(tests, "--gpudx")
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert not section(done.stdout) and "GPU faults" not in done.stdout
    assert "gpudx: no fault found; case:" in done.stdout
    assert done.stderr == ""


def test_faults_of_tests_that_passed(tests: Path) -> None:
    (tests / "test_gpu.py").write_text(HEAD + RACE.replace("ORDER", "None").replace("assert", "held['x'] ="))
    lenient, strict = run(tests, "--gpudx"), run(tests, "--gpudx", "--gpudx-strict")
    assert (lenient.returncode, strict.returncode) == (0, 1)
    for done in (lenient, strict):
        assert "2 passed" in done.stdout
        assert "\ntest_gpu.py::test_makes_it: CONFIRMED unordered-access\n" in done.stdout
    (tests / "gpudx.toml").write_text('[[suppress]]\nrule = "unordered-access"\nreason = "known"\n')
    accepted = run(tests, "--gpudx", "--gpudx-strict")
    assert accepted.returncode == 0 and "Suppressed by gpudx.toml: unordered-access, once (known)." in accepted.stdout


def test_a_crash_names_its_test(tests: Path) -> None:
    (tests / "test_gpu.py").write_text(HEAD + CRASH)
    done = run(tests, "--gpudx")
    assert done.returncode == -11
    assert "value-is-not-a-handle" in done.stderr
    assert "this call was made in test_gpu.py::test_crashes" in " ".join(done.stderr.split())


def test_workers_are_recorded(tests: Path) -> None:
    pytest.importorskip("xdist")
    (tests / "test_gpu.py").write_text(HEAD + RACE.replace("ORDER", "None"))
    (tests / "test_crash.py").write_text(HEAD + CRASH)
    # A worker that dies is replaced, and runs the same test again: once is enough.
    done = run(tests, "--gpudx", "-n", "2", "--dist", "loadfile", "--max-worker-restart", "1")
    assert "crashed while running" in done.stdout, done.stdout + done.stderr
    assert "It was caused in test_gpu.py::test_makes_it, not in this test" in section(done.stdout)
    summary = done.stdout.partition("GPU faults by test")[2]
    assert "test_crash.py::test_crashes" in summary and "value-is-not-a-handle" in summary
    assert "test_gpu.py::test_makes_it" in summary


def test_without_the_option_nothing_happens(tests: Path) -> None:
    (tests / "test_it.py").write_text(
        """
import os
def test_it():
    assert "GPUDX_DIR" not in os.environ
    assert "libgpudx" not in open("/proc/self/maps").read()
"""
    )
    done = run(tests)
    assert done.returncode == 0 and "gpudx:" not in done.stdout + done.stderr
    assert not (tests / "gpudx-cases").exists()


@pytest.mark.parametrize("option", ["--gpudx-strict", "--gpudx-case=there"])
def test_options_of_a_recording_that_was_not_asked_for(tests: Path, option: str) -> None:
    """They did nothing, silently: CI believed its tests were watched."""
    (tests / "test_it.py").write_text("def test_it(): pass\n")
    done = run(tests, option)
    assert done.returncode == 4 and "does nothing without --gpudx" in done.stderr and "add --gpudx" in done.stderr


def test_pytest_inside_a_program_is_refused(tests: Path) -> None:
    (tests / "test_it.py").write_text("def test_it(): pass\n")
    (tests / "runner.py").write_text(
        "import sys, pytest\nsys.exit(pytest.main(['-p', 'gpudx.pytest_plugin', '--gpudx', 'test_it.py']))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCES), "GPUDX_LIB": str(find_recorder())}
    done = subprocess.run([sys.executable, "runner.py"], cwd=tests, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4 and "gpudx run -- " in done.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "3")])
def test_serial_tests_do_not_meet(tests: Path, workers: tuple[str, ...]) -> None:
    (tests / "test_it.py").write_text(
        """
import os, pathlib, time, pytest
@pytest.mark.gpu_serial
@pytest.mark.parametrize("n", range(6))
def test_alone(n):
    flag = pathlib.Path(__file__).with_name("flag")
    os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    time.sleep(0.05)
    flag.unlink()
"""
    )
    done = run(tests, "--strict-markers", *workers)
    assert done.returncode == 0, done.stdout


def test_an_interrupt_ends_both(tests: Path) -> None:
    (tests / "test_it.py").write_text("import time\ndef test_it():\n    open('ready', 'w')\n    time.sleep(60)\n")
    env = {**os.environ, "PYTHONPATH": str(SOURCES), "GPUDX_LIB": str(find_recorder()), "GPUDX_CASES": "none"}
    env |= ALONE
    command = [sys.executable, "-m", "pytest", *PLUGIN, "--gpudx"]
    process = subprocess.Popen(command, cwd=tests, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(200):
        if (tests / "ready").exists():
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 2 and "KeyboardInterrupt" in output
