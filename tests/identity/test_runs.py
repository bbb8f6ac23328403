"""Who ran, with what, end to end: real programs on a real OpenCL device (PoCL), asked through the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from identity_kit import DAY, Git
from support import forked
from support.opencl import ROOT, OpenCL

MAIN = ROOT / "incidents/stale-binary/main.c"
MARK = "PROBE enter buffer_rows"
PYTHON = """
import pyopencl as cl
import helper
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
queue.finish()
helper.say()
"""

Case = dict[str, Any]
Gpudx = Callable[..., Case]


@pytest.fixture
def app(opencl: OpenCL, tmp_path: Path) -> Path:
    """The program of an incident, with its own copy of the source, in a folder of its own."""
    return _app(opencl, tmp_path)


def _app(opencl: OpenCL, tmp_path: Path, *flags: str) -> Path:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(MAIN, folder / "main.c")
    words = ["cc", "-g", *flags, f"-I{opencl.include}", "main.c", "-o", "app", *opencl.loader.link]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "app"


@pytest.fixture
def gpudx(opencl: OpenCL, tmp_path: Path) -> Gpudx:
    """Runs a command under gpudx; gives case.json, with what it said in "stderr"."""

    def run(*words: str | Path, probes: tuple[str, ...] = (), **environment: str) -> Case:
        case = tmp_path / f"case-{time.monotonic_ns()}"
        asked = [word for probe in probes for word in ("--probe", probe)]
        env = {**os.environ, **opencl.loader.environment, "POCL_CACHE_DIR": str(opencl.kernels), **environment}
        done = forked.gpudx("run", *asked, "--case", case, "--", *words, env=env, timeout=100)
        told: Case = json.loads((case / "case.json").read_text())
        told["stderr"], told["folder"] = done.stderr, case
        return told

    return run


def probes(case: Case) -> dict[str, str]:
    return {probe["text"]: probe["state"] for probe in case["identity"]["probes"]}


def ids(case: Case) -> set[str]:
    return {finding["id"] for finding in case["findings"]}


def program(case: Case, name: str = "app") -> Case:
    (found,) = [one for one in case["identity"]["objects"] if one["path"].endswith(f"/{name}")]
    return found  # type: ignore[no-any-return]


def test_a_correct_program(gpudx: Gpudx, app: Path, opencl: OpenCL) -> None:
    asked = (
        MARK,
        "sym:twice",
        "sym:buffer_rows",
        "main.c:43",
        "NOT IN IT AT ALL",
        "sym:no_such_function",
        "main.c:9999",
    )
    case = gpudx(app, probes=asked)
    assert probes(case) == {
        MARK: "fired",
        "twice": "fired",  # a kernel, by its launches
        "buffer_rows": "present",
        "main.c:43": "present",
        "NOT IN IT AT ALL": "absent",
        "no_such_function": "absent",
        "main.c:9999": "absent",
    }
    one = program(case)
    assert one["own"] and one["executable"] and len(one["sha256"]) == 64 and one["build_id"]
    assert "-g" in one["built"]["compilers"][0] and one["built"]["sources"] >= 1 and not one["built"]["newer"]
    assert any(opencl.loader.driver in one["path"] for one in case["identity"]["objects"])
    assert case["identity"]["drivers"][0]["api"] == "opencl"
    assert case["stderr"].startswith("gpudx: CONFIRMED probe-absent")


def test_without_probes_a_correct_program_is_only_noted(gpudx: Gpudx, app: Path) -> None:
    case = gpudx(app)
    assert not case["diagnosis"] and ids(case) <= {"environment-note"}


def test_in_the_program_but_not_reached(gpudx: Gpudx, app: Path) -> None:
    case = gpudx(app, probes=("writing the model",))
    assert probes(case) == {"writing the model": "not reached"}
    assert "probe-not-reached" in ids(case) and not case["diagnosis"]


def test_a_text_that_is_put_together_when_it_is_written(gpudx: Gpudx, app: Path) -> None:
    case = gpudx(app, probes=("last row: 28670", "last row: 5"))
    assert probes(case) == {"last row: 28670": "fired", "last row: 5": "unknown"}


def test_a_stripped_program(gpudx: Gpudx, opencl: OpenCL, tmp_path: Path) -> None:
    """Symbols and lines cannot be known; texts can."""
    case = gpudx(_app(opencl, tmp_path, "-s"), probes=("sym:buffer_rows", "main.c:43", "NOT IN IT AT ALL", MARK))
    assert probes(case) == {
        "buffer_rows": "unknown",
        "main.c:43": "unknown",
        "NOT IN IT AT ALL": "absent",
        MARK: "fired",
    }


def test_deleted_while_it_ran(gpudx: Gpudx, app: Path) -> None:
    case = gpudx("sh", "-c", f"exec 3< {app}; (sleep 0.01; rm {app}) & {app}; wait", probes=("NOT IN IT AT ALL",))
    if program(case)["unknown"] == "":
        pytest.skip("it ended before it was deleted")
    assert probes(case) == {"NOT IN IT AT ALL": "unknown"} and not case["diagnosis"]
    assert any("not known" in text for text in case["not_checked"])


def test_killed_before_it_could_say_what_it_had_loaded(gpudx: Gpudx, opencl: OpenCL, tmp_path: Path) -> None:
    app = _app(opencl, tmp_path)
    text = (
        (app.parent / "main.c")
        .read_text()
        .replace("    return rows[ROWS - 1] ==", "    fflush(stdout);\n    raise(9);\n    return rows[ROWS - 1] ==")
    )
    (app.parent / "main.c").write_text("#include <signal.h>\n" + text)
    words = ["cc", "-g", f"-I{opencl.include}", "main.c", "-o", "app", *opencl.loader.link]
    subprocess.run(words, cwd=app.parent, check=True)
    case = gpudx(app, probes=("NOT IN IT AT ALL", MARK))
    assert case["outcome"]["signal"] == "SIGKILL"
    assert probes(case) == {"NOT IN IT AT ALL": "unknown", MARK: "fired"}


def test_no_gpu_call_means_no_list_of_libraries(gpudx: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "main.c", "-o", "plain"], cwd=tmp_path, check=True)
    assert probes(gpudx(tmp_path / "plain", probes=("NOT IN IT AT ALL",))) == {"NOT IN IT AT ALL": "unknown"}


def test_an_edit_that_was_never_built(gpudx: Gpudx, opencl: OpenCL, tmp_path: Path) -> None:
    app = _app(opencl, tmp_path, "-DBEFORE_THE_PROBE")
    os.utime(app, (time.time() - DAY, time.time() - DAY))
    case = gpudx(app)
    assert "object-older-than-sources" in ids(case)
    assert case["diagnosis"][0]["cause"] == "copy-range", "an old program is no reason to hide where it failed"


def test_a_build_that_fails(gpudx: Gpudx, opencl: OpenCL, tmp_path: Path) -> None:
    app = _app(opencl, tmp_path)
    os.utime(app, (time.time() - DAY, time.time() - DAY))
    os.utime(app.parent / "main.c", (time.time() - 2 * DAY, time.time() - 2 * DAY))
    (app.parent / "Makefile").write_text("all:\n\tfalse\n")
    case = gpudx("sh", "-c", f"cd {app.parent}; make -s all 2>/dev/null; ./app")
    assert "build-left-old-program" in ids(case) and not case["diagnosis"]
    assert case["identity"]["steps"][0]["status"] == 2


def test_a_build_that_runs_the_program_itself(gpudx: Gpudx, opencl: OpenCL, tmp_path: Path) -> None:
    app = _app(opencl, tmp_path, "-DBEFORE_THE_PROBE")
    for name in ("app", "main.c"):
        os.utime(app.parent / name, (time.time() - DAY, time.time() - DAY))
    (app.parent / "Makefile").write_text("all:\n\t./app\n")
    assert "build-left-old-program" not in ids(gpudx("make", "-C", app.parent))


def test_a_committed_program(gpudx: Gpudx, app: Path, git: Git) -> None:
    git(app.parent, "init", "-q")
    git(app.parent, "add", "-A")
    git(app.parent, "commit", "-qm", "one")
    case = gpudx(app)
    # The OpenCL headers it was built with may come from a checkout of gpudx, which is another tree.
    (tree,) = (one for one in case["identity"]["trees"] if one["root"] == str(app.parent))
    assert len(tree["head"]) == 40 and tree["dirty"] is False and not tree["unknown"]
    assert "committed-executable" in ids(case)
    (app.parent / "main.c").write_text("changed")
    assert {one["root"]: one["dirty"] for one in gpudx(app)["identity"]["trees"]}[str(app.parent)] is True


def test_a_repository_that_git_does_not_trust(gpudx: Gpudx, app: Path, git: Git) -> None:
    git(app.parent, "init", "-q")
    case = gpudx(app, GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert "safe.directory" in case["identity"]["trees"][0]["unknown"]
    assert any("safe.directory" in text for text in case["not_checked"])


def test_a_repository_without_a_commit(gpudx: Gpudx, app: Path, git: Git) -> None:
    git(app.parent, "init", "-q")
    assert "has no commit" in gpudx(app)["identity"]["trees"][0]["unknown"]


def test_without_git(gpudx: Gpudx, app: Path, git: Git, tmp_path: Path) -> None:
    git(app.parent, "init", "-q")
    (tmp_path / "bin").mkdir()
    assert "git is not installed" in gpudx(app, PATH=str(tmp_path / "bin"))["identity"]["trees"][0]["unknown"]


def test_python(gpudx: Gpudx, tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    (tmp_path / "main.py").write_text(PYTHON)
    (tmp_path / "helper.py").write_text(
        'def say():\n    print("PROBE helper")\n\n\ndef never():\n    print("PROBE never")\n'
    )
    asked = ("PROBE helper", "PROBE never", "PROBE nowhere", "sym:never", "main.py:3")
    case = gpudx(sys.executable, tmp_path / "main.py", probes=asked)
    assert list(probes(case).values()) == ["fired", "not reached", "absent", "present", "present"]
    assert any(text.startswith("Python 3.") for text in case["identity"]["interpreters"])
    loaded = {one["name"].lower(): one for one in case["identity"]["packages"] if one["loaded"]}
    assert "pyopencl" in loaded and loaded["pyopencl"]["version"][0].isdigit()


def test_settings_are_told_with_their_meaning(gpudx: Gpudx, app: Path) -> None:
    case = gpudx(app, CUDA_LAUNCH_BLOCKING="1", POCL_SOMETHING_NEW="2")
    told = {one["name"]: one for one in case["identity"]["settings"]}
    assert "waits for each launch" in told["CUDA_LAUNCH_BLOCKING"]["meaning"] and told["CUDA_LAUNCH_BLOCKING"]["source"]
    assert told["POCL_SOMETHING_NEW"]["meaning"] == "a setting of PoCL"
    assert all("libgpudx" not in one["value"] for one in case["identity"]["settings"])


def test_no_driver_is_registered(gpudx: Gpudx, app: Path, tmp_path: Path) -> None:
    case = gpudx(app, OCL_ICD_VENDORS=str(tmp_path))
    (said,) = (one["message"] for one in case["findings"] if one["severity"] == "warning")
    assert said == f"No OpenCL driver is registered in {tmp_path}: install the driver."


def test_show(gpudx: Gpudx, app: Path) -> None:
    case = gpudx(app, probes=(MARK,))
    out = forked.gpudx("show", case["folder"], "identity", "--csv").stdout
    assert out.startswith("what,name,version,built,sha256,build_id,said\nprobe,PROBE enter buffer_rows,fired")
    assert f"executable,{app},," in out
