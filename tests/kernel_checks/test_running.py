"""Programs under gpudx run --sanitize: they see what they would see without, faults are found, correct twins are not accused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from planted_score import every, score  # noqa: E402
from support import forked  # noqa: E402
from support.opencl import find_intel  # noqa: E402
from support.simulated import SLOW  # noqa: E402

from gpudx.kernel_checks.rewriting import ALL  # noqa: E402


@pytest.fixture(scope="module", params=["pocl", "intel"])
def platform(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "pocl":
        return {}
    intel = find_intel()
    if intel is None:
        pytest.skip("Intel's OpenCL runtime is not installed (intel-opencl-rt)")
    return {name: intel.environment[name] for name in ("OCL_ICD_VENDORS", "LD_LIBRARY_PATH")}


def run(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, timeout=600, env={**os.environ, "PYOPENCL_NO_CACHE": "1", **env}
    )


def sanitized(
    case: Path, *program: str, env: dict[str, str], checks: str = "opencl", more: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    words = ["run", f"--sanitize={checks}", *more, "--case", case, "--", sys.executable, *program]
    return forked.gpudx(*words, env={**os.environ, "PYOPENCL_NO_CACHE": "1", **env}, timeout=600)


def findings(case: Path) -> list[dict[str, object]]:
    return [
        one
        for one in json.loads((case / "case.json").read_text())["findings"]
        if str(one["id"]).startswith("kernel-check-")
    ]


@pytest.mark.timeout(600)
def test_a_program_sees_the_same(tmp_path: Path, platform: dict[str, str]) -> None:
    program = str(HERE / "programs" / "queries.py")
    plain = run([sys.executable, program], platform)
    checked = sanitized(tmp_path / "case", program, env=platform)
    assert plain.stdout and plain.returncode == 3
    assert checked.stdout == plain.stdout
    assert checked.returncode == 3
    assert findings(tmp_path / "case") == []
    case = json.loads((tmp_path / "case" / "case.json").read_text())
    tool = next(one for one in case["instruments"] if one["name"].startswith("kernel checks"))
    assert tool["state"] == "live" and tool["saw"].startswith("2 kernels of 1 program rewritten")


@pytest.mark.timeout(600)
def test_memory_that_is_no_plain_buffer(tmp_path: Path, platform: dict[str, str]) -> None:
    program = str(HERE / "programs" / "objects.py")
    plain = run([sys.executable, program], platform)
    checked = sanitized(tmp_path / "case", program, env=platform)
    assert plain.stdout.splitlines()[-1].startswith("binary"), plain.stderr
    assert checked.stdout == plain.stdout
    wanted = {"tail_faulty", "tile_faulty"} | ({"shared_faulty"} if "shared" in plain.stdout else set())
    found = findings(tmp_path / "case")
    assert {one["site"]["kernel"] for one in found} == wanted  # type: ignore[index]
    assert {one["id"] for one in found} == {"kernel-check-bounds"}
    case = json.loads((tmp_path / "case" / "case.json").read_text())
    why = r"1 OpenCL program \(kernels? [\w, ]+\) ran without checks: it is made from a binary, not from source\."
    assert any(re.fullmatch(why, one) for one in case["not_checked"]), case["not_checked"]
    assert any("table keeps its value between launches" in text for text in case["not_checked"]) == ("kept" in plain.stdout)
    assert re.search(r"1 OpenCL program .{1,80} ran without checks: ", " ".join(checked.stderr.split()))


@pytest.mark.timeout(600)
def test_a_program_that_is_compiled_and_linked(tmp_path: Path, platform: dict[str, str]) -> None:
    checked = sanitized(tmp_path / "case", str(HERE / "programs" / "linked.py"), env=platform)
    assert checked.returncode == 0, checked.stderr
    assert "parts_faulty [0, 0, 2, 4, 6, 8, 10]" in checked.stdout and "header [1, 1, 1, 1, 1, 1, 1]" in checked.stdout
    found = {(one["site"]["kernel"], one["access"]["source"]) for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert found == {("alone_faulty", "kernel source:1"), ("parts_faulty", "linked source 2:3")}
    case = json.loads((tmp_path / "case" / "case.json").read_text())
    assert not any("ran without checks" in one for one in case["not_checked"])


@pytest.mark.timeout(600)
def test_correct_kernels_of_unusual_kinds(tmp_path: Path, platform: dict[str, str]) -> None:
    program = str(HERE / "programs" / "unusual.py")
    plain = run([sys.executable, program], platform)
    checked = sanitized(tmp_path / "case", program, env=platform)
    assert plain.returncode == 0 and checked.stdout == plain.stdout, plain.stderr
    assert re.search(r"(\d+) kernels of \1 programs rewritten, (\d+) of \2 accesses checked\.", checked.stderr)
    assert findings(tmp_path / "case") == []
    case = json.loads((tmp_path / "case" / "case.json").read_text())
    assert not [text for text in case["not_checked"] if "ran without checks" in text]


@pytest.mark.timeout(600)
def test_hostile_sources_give_the_same_logs_and_results(tmp_path: Path, platform: dict[str, str]) -> None:
    words = [str(HERE / "programs" / "hostile.py"), str(tmp_path)]
    plain = run([sys.executable, *words], platform)
    checked = sanitized(tmp_path / "case", *words, env=platform)
    assert plain.returncode == 0 and checked.stdout == plain.stdout, plain.stderr
    assert findings(tmp_path / "case") == []
    case = json.loads((tmp_path / "case" / "case.json").read_text())
    reasons = {text.partition(": it ")[2] for text in case["not_checked"] if "ran without checks" in text}
    assert reasons == {"uses trigraphs.", "uses digraphs.", "uses the name gdx, or names that begin with gdx_."}


def results(output: str) -> list[str]:
    """The lines of planted_host.py; a kernel prints, too."""
    return re.findall(r"^\w+ \d+ [0-9a-f]{12}$", output, re.M)


@pytest.mark.early
@pytest.mark.timeout(900)
def test_planted_faults_are_found_and_twins_are_not_accused(tmp_path: Path, platform: dict[str, str]) -> None:
    """A tenth of them on PoCL, half as many on the second device, whose compiler is slow; GPUDX_SLOW=1 asks for all. Twins have the same
    results as without checks."""
    chosen = every()[:: 1 if SLOW else 20 if platform else 10]
    found, missed, accused = [], [], []
    for checks in ("opencl", ",".join(ALL)):  # what sizes prove is left out with the usual checks only
        wanted = {one.name for one in chosen if (one.file == "nan_loops") == (checks != "opencl")}
        files = sorted({one.file for one in chosen if one.name in wanted})
        host, words = str(HERE / "planted_host.py"), [*(str(HERE / "planted" / f"{name}.cl") for name in files), "--", *wanted]
        plain = run([sys.executable, host, "right", *words], platform)
        checked = sanitized(tmp_path / checks[:6], host, *words, env=platform, checks=checks, more=("-q",))
        assert results(checked.stdout) == results(plain.stdout) and (results(plain.stdout) or not wanted), plain.stderr
        for out, some in zip((found, missed, accused), score(tmp_path / checks[:6], files), strict=True):
            out += [one for one in some if one.partition(":")[0].rpartition("/")[2] in wanted]
    assert accused == []
    assert len(found) >= 0.97 * len(chosen), missed


def test_only_the_named_kernel(tmp_path: Path) -> None:
    files = [str(HERE / "planted" / "bounds_global.cl"), "--", "copy_tail", "read_next"]
    sanitized(tmp_path / "case", str(HERE / "planted_host.py"), *files, env={}, more=("--kernel", "copy_tail_faulty"))
    assert {one["site"]["kernel"] for one in findings(tmp_path / "case")} == {"copy_tail_faulty"}  # type: ignore[index]


def test_without_libclang_one_sentence_names_the_package(tmp_path: Path) -> None:
    (tmp_path / "clang").mkdir()
    (tmp_path / "clang" / "__init__.py").write_text("")
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    words = [sys.executable, "-m", "gpudx", "run", "--sanitize=opencl", "--", sys.executable, "-c", "pass"]
    done = run(words, {"PYTHONPATH": path})  # in an interpreter that has not imported libclang yet
    assert done.returncode == 2
    assert "pip install 'gpudx[opencl]'" in done.stderr and len(done.stderr.strip().splitlines()) == 1
