"""Launches taken out of a program and run alone: on PoCL, and on Intel's driver where it is installed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support import forked
from support import opencl as opencl_programs
from support.opencl import OpenCL
from support.simulated import crossed

import gpudx
from gpudx.capsule import file

PROGRAM = Path(__file__).parent / "launches.c"
DRIVERS = "[pi]*.icd"  # PoCL's and Intel's, not Oclgrind's
KERNELS = ("axpy#3", "total", "halves", "chase", "shifted", "maybe")


@pytest.fixture(scope="module", params=["pocl", "intel"])
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared: Path) -> OpenCL:
    driver = "intel" if request.param == "intel" else ""
    return opencl_programs.make(tmp_path_factory.mktemp("capsules"), shared, driver)


def gpudx_(device: OpenCL, *words: object) -> subprocess.CompletedProcess[str]:
    env = {
        **device.plain_environment,
        "GPUDX_LIB": str(device.recorder),
        "GPUDX_CASES": "none",
        "PYTHONPATH": str(Path(gpudx.__file__).parents[1]),
    }
    return forked.gpudx(*map(str, words), env=env, timeout=240)


def captured(device: OpenCL, case: Path, what: str, *more: object) -> tuple[Path, str]:
    program = device.build([PROGRAM])
    plain = subprocess.run([program, *more], env=device.plain_environment, capture_output=True, text=True, timeout=240)
    done = gpudx_(device, "run", "--case", case, "--capture", what, "--", program, *more)
    assert done.stdout == plain.stdout and done.returncode == plain.returncode, done.stderr
    (path,) = case.glob("*.gpucapsule")
    return path, done.stderr


@pytest.mark.parametrize(("what", "device"), sorted(crossed(KERNELS, ("pocl", "intel")), key=lambda pair: pair[1]), indirect=["device"])
def test_a_captured_launch_gives_the_same_results(device: OpenCL, tmp_path: Path, what: str) -> None:
    name, _, number = what.partition("#")
    path, said = captured(device, tmp_path / "case", what, name)
    assert "gpudx replay" in said
    held = file.read(path)
    assert (held.kernel, held.launch, held.outcome.ending) == (name, int(number or 1), "completed")
    changed = [one for one in held.buffers if one.after is not None and (one.before != one.after).any()]
    assert changed, "the launch wrote something"
    done = gpudx_(device, "replay", path)
    assert done.returncode == 0 and done.stdout.startswith("EQUAL"), done.stdout + done.stderr


def test_other_code_gives_other_results(device: OpenCL, tmp_path: Path) -> None:
    from dataclasses import replace

    path, _ = captured(device, tmp_path / "case", "axpy#2", "axpy")
    held = file.read(path)
    code = held.codes[0]
    wrong = replace(code, data=code.data.replace(b"p.a * x[i]", b"(i % 64 == 5 ? 0 : p.a * x[i])"))
    file.write(replace(held, codes=(wrong,)), path)
    done = gpudx_(device, "replay", path)
    assert done.returncode == 1 and done.stdout.startswith("DIFFERS"), done.stdout + done.stderr
    assert f"next: gpudx replay {path} --sanitize" in done.stdout
    assert "argument 0 (float* y): 64 of 4,096 elements differ" in done.stdout
    assert "every 64th element" in done.stdout


def test_a_crash_is_a_crash_again(device: OpenCL, tmp_path: Path) -> None:
    path, _ = captured(device, tmp_path / "case", "wild", "wild")
    assert file.read(path).outcome.ending == "crashed"
    done = gpudx_(device, "replay", path)
    assert done.returncode == 0 and "CRASHED with SIGSEGV while launching" in done.stdout, done.stdout + done.stderr
    assert "as captured" in done.stdout


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> dict[str, OpenCL]:
    """PoCL, Intel's driver, and "both" behind one loader."""
    folder = tmp_path_factory.mktemp("drivers")
    pocl, intel = (opencl_programs.make(folder, shared, driver) for driver in ("", "intel"))
    paths = [one.loader.environment.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors") for one in (pocl, intel)]
    if not all(Path(path).is_file() or any(Path(path).glob(DRIVERS)) for path in paths):
        pytest.skip("no loader here has both drivers")
    vendors = folder / "vendors"
    vendors.mkdir()
    for at, path in enumerate(paths):
        named = next(Path(path).glob(DRIVERS)).read_text() if Path(path).is_dir() else path
        (vendors / f"{at}.icd").write_text(named)
    environment = {**intel.loader.environment, "OCL_ICD_VENDORS": str(vendors)}
    both = OpenCL(folder, shared, opencl_programs.Loader(intel.loader.link, environment), intel.recorder)
    return {"pocl": pocl, "intel": intel, "both": both}


def test_another_driver_gives_the_same(drivers: dict[str, OpenCL], tmp_path: Path) -> None:
    path, _ = captured(drivers["pocl"], tmp_path / "case", "total", "total")
    assert "Portable" in file.read(path).device.platform
    done = gpudx_(drivers["both"], "replay", path, "--device", "Intel(R) OpenCL")
    assert done.returncode == 0 and "EQUAL" in done.stdout and "Intel(R) OpenCL" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("there", "here"), [("pocl", "Intel(R) OpenCL"), ("intel", "pocl")])
def test_a_launch_that_fails_on_one_driver(drivers: dict[str, OpenCL], tmp_path: Path, there: str, here: str) -> None:
    path, _ = captured(drivers[there], tmp_path / "case", "unlike", "unlike")
    assert file.read(path).outcome.ending == ("crashed" if there == "pocl" else "completed")
    assert gpudx_(drivers["both"], "replay", path).returncode == 0, "as captured"
    done = gpudx_(drivers["both"], "replay", path, "--device", here)
    assert done.returncode == 1 and done.stdout.startswith("RAN" if there == "pocl" else "CRASHED"), done.stdout + done.stderr
    hint = next(line for line in done.stdout.splitlines() if "the same launch with the same data" in line)
    assert hint.index("Portable") < hint.index("completes on") < hint.index("Intel(R) OpenCL"), hint


@pytest.mark.parametrize("investigated", [False, True])
def test_the_guilty_launch_of_a_case(opencl: OpenCL, tmp_path: Path, investigated: bool) -> None:
    program = opencl.build([PROGRAM])
    gpudx_(opencl, "run", "-q", "--sanitize=bounds", "--case", tmp_path / "case", "--", program, "wild")
    if investigated:  # its traces are those of its runs
        first = tmp_path / "case/runs/001-recorded"
        first.mkdir(parents=True)
        (tmp_path / "case/traces").rename(first / "traces")
    done = gpudx_(opencl, "capture", tmp_path / "case", "--case", tmp_path / "again", "--json")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "again").glob("wild-1.gpucapsule")
    said = json.loads(done.stdout)
    assert said == {"case": f"{tmp_path}/again", "kernel": "wild", "launch": 1, "capsules": [str(path)], "problems": []}
    assert file.read(path).outcome.note == "the program crashed with SIGSEGV"


def test_instruments_look_at_a_replay(opencl: OpenCL, tmp_path: Path) -> None:
    path, _ = captured(opencl, tmp_path / "case", "wild", "wild")
    done = gpudx_(opencl, "replay", path, "--sanitize=bounds", "--case", tmp_path / "checked")
    assert "wild" in done.stderr and "argument 0" in done.stderr, done.stderr
    assert "CONFIRMED" in done.stderr and "player" not in done.stderr, "next steps name what a user types"


def test_what_a_capsule_holds(opencl: OpenCL, tmp_path: Path) -> None:
    path, _ = captured(opencl, tmp_path / "case", "halves", "halves")
    shown = gpudx_(opencl, "replay", path, "--info").stdout
    assert "contents: included" in shown and "-DSCALE=3" in shown
    done = gpudx_(
        opencl, "run", "--case", tmp_path / "bare", "--capture", "halves", "--no-data", "--", opencl.build([PROGRAM])
    )
    (bare,) = (tmp_path / "bare").glob("*.gpucapsule")
    assert "contents: left out" in gpudx_(opencl, "replay", bare, "--info").stdout, done.stderr
    assert all(one.before is None for one in file.read(bare).buffers)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--no-data", "--", "true"], "add --capture KERNEL"),
        (["run", "--capture", "a#0", "--", "true"], "KERNEL#3"),
        (["run", "--capture", "a", "--sanitize=bounds", "--", "true"], "exclude each other"),
        (["run", "--capture", "a", "--capture-limit", "x", "--", "true"], "512M"),
        (["replay", "nothing.gpucapsule"], "gpudx run --capture"),
    ],
)
def test_wrong_use_is_one_sentence(opencl: OpenCL, words: list[str], says: str) -> None:
    done = gpudx_(opencl, *words)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


def test_a_launch_that_never_comes(opencl: OpenCL, tmp_path: Path) -> None:
    done = gpudx_(
        opencl, "run", "--case", tmp_path / "case", "--capture", "axpy#9", "--", opencl.build([PROGRAM]), "axpy"
    )
    assert "launch 9 of axpy was not captured: the program did not make it" in done.stderr
    assert not list((tmp_path / "case").glob("*.gpucapsule"))


def test_a_limit_is_kept(opencl: OpenCL, tmp_path: Path) -> None:
    words = ["--capture", "axpy", "--capture-limit", "1K", "--", opencl.build([PROGRAM]), "axpy"]
    done = gpudx_(opencl, "run", "--case", tmp_path / "case", *words)
    assert done.returncode == 0 and "--capture-limit" in done.stderr
    assert not list((tmp_path / "case").glob("*.gpucapsule"))
