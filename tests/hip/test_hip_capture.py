"""Captured HIP launches on the simulated runtime, in the shapes of HIP 5 and 7: what is in the capsule, and that a replay gives the same
results."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hip_kit import Kit
from support import forked

from gpudx.capsule import file
from gpudx.capsule.model import Buffer, Capsule, Code, Geometry
from gpudx.lab.build import Built

ADD, FOLLOW, SCALED = "_Z3addPKfS0_Pfi", "_Z6followPPflf", "_Z6scaled4ViewPf"
N = 5000


@pytest.fixture(params=["5", "7"])
def shaped(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both shapes of the runtime: without and with memory at chosen addresses."""
    monkeypatch.setenv("GPUDX_HIP_SIM_SHAPE", request.param)
    return str(request.param)


def gpudx_(kit: Kit, built: Built, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HIP_", "LD_"))}
    env = clean | {"GPUDX_LIB": str(kit.recorder), "GPUDX_CASES": "none", "GPUDX_HIP_SIM_DELAY_MS": "0"} | built.environment | more
    return forked.gpudx(*map(str, words), env=env, timeout=240)


def captured(kit: Kit, built: Built, folder: Path, launch: str, *words: object, **more: str) -> tuple[Path, str]:
    """The path of the capsule, and what gpudx said. The program does what it does without gpudx."""
    plain = kit.run_hip(built, *map(str, words), record=False, **more)
    done = gpudx_(kit, built, "run", "--case", folder, "--capture", launch, "--", built.program, *words, **more)
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode), done.stderr
    kernel, _, number = launch.partition("#")
    return folder / f"{kernel}-{number or 1}.gpucapsule", done.stderr


def memory(held: Capsule) -> list[Buffer]:
    """All of it but the variable of the module."""
    return [one for one in held.buffers if one.symbol != "weights"]


def contents(held: Capsule, argument: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Before and after, as floats, of the buffer that an argument points to."""
    (one,) = [b for b in held.buffers if b.address == int.from_bytes(held.arguments[argument].value, "little")]
    assert one.before is not None and one.after is not None
    return one.before.view(np.float32), one.after.view(np.float32)


def test_a_launch_and_its_replay(kit: Kit, tmp_path: Path, shaped: str) -> None:
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", f"{ADD}#2")
    held = file.read(path)
    assert (held.api, held.geometry.global_, held.geometry.local) == ("hip", (5120, 1, 1), (256, 1, 1))
    assert held.device.name == "simulated AMD device 0" and held.device.version.startswith("gfx90a")
    assert [(one.kind, one.data[:24]) for one in held.codes] == [("code object", b"__CLANG_OFFLOAD_BUNDLE__")]
    assert [one.type for one in held.arguments] == ["float const*", "float const*", "float*", "int"] and len(memory(held)) == 3
    assert contents(held, 0)[0][6] == 8 and contents(held, 1)[0][6] == 2 and contents(held, 2)[1][6] == 10
    again = gpudx_(kit, program, "replay", path, "--times", 2)
    assert again.returncode == 0 and again.stdout.startswith("EQUAL"), again.stdout + again.stderr
    assert ("since HIP 6" in again.stdout) == (shaped == "5"), again.stdout


@pytest.mark.parametrize("kernel", [FOLLOW, SCALED])
def test_addresses_in_memory_and_in_structures(kit: Kit, tmp_path: Path, shaped: str, kernel: str) -> None:
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", kernel)
    held = file.read(path)
    sizes = {FOLLOW: [64, 4 * N], SCALED: [32, 4 * N, 4 * N]}
    assert sorted(one.size for one in memory(held)) == sizes[kernel], "what the table and the structure point to, too"
    done = gpudx_(kit, program, "replay", path)
    assert done.returncode == 0 and done.stdout.startswith("EQUAL"), done.stdout + done.stderr


KERNELS = {
    "batch": "multiply_batch",
    "bounds": "softplus",
    "csr": "spmv",
    "flip": "transpose",
    "mixes": "mix",
    "quads": "sum_quads",
    "retire": "accumulate",
    "rows": "scale_rows",
    "scores": "scores_f32",
    "slices": "sums",
    "squares": "square",
    "table": "map",
    "tables": "gather",
    "upload": "total_i32",
    "views": "sum_rows",
    "workspace": "partial",
}


@pytest.mark.parametrize(("name", "shape"), [(name, "57"[number % 2]) for number, name in enumerate(KERNELS)])
def test_kernels_of_other_programs(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shape: str) -> None:
    """Indices in memory, structures with pointers, several dimensions: each replays to what it gave."""
    monkeypatch.setenv("GPUDX_HIP_SIM_SHAPE", shape)
    program, case = kit.hip_program(name), tmp_path / "case"
    gpudx_(kit, program, "run", "--case", case, "--capture", KERNELS[name], "--", program.program, "right")
    (path,) = case.glob("*.gpucapsule")
    held = file.read(path)
    assert held.outcome.ending == "completed" and held.buffers
    done = gpudx_(kit, program, "replay", path)
    assert done.returncode == 0 and done.stdout.startswith("EQUAL"), done.stdout + done.stderr


@pytest.mark.parametrize(("name", "kernel"), [("rows", "scale_rows"), ("table", "map")])
def test_faults_of_other_programs(kit: Kit, tmp_path: Path, shaped: str, name: str, kernel: str) -> None:
    """Host memory in a parameter and in a structure is no device memory in a replay either."""
    program, case = kit.hip_program(name), tmp_path / "case"
    gpudx_(kit, program, "run", "--case", case, "--capture", kernel, "--", program.program)
    (path,) = case.glob("*.gpucapsule")
    assert file.read(path).outcome.ending == "failed"
    done = gpudx_(kit, program, "replay", path)
    assert done.returncode == 0 and "FAILED with status 700" in done.stdout, done.stdout + done.stderr


def test_other_data_gives_other_results(kit: Kit, tmp_path: Path) -> None:
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", ADD)
    held = file.read(path)
    first = memory(held)[0]
    assert first.before is not None
    content = first.before.copy()
    content[402] ^= 1
    changed = replace(first, before=content)
    file.write(replace(held, buffers=tuple(changed if one is first else one for one in held.buffers)), path)
    done = gpudx_(kit, program, "replay", path)
    assert done.returncode == 1 and done.stdout.startswith("DIFFERS") and "argument 2 (float*)" in done.stdout, done.stdout
    assert "--sanitize" not in done.stdout, "HIP has none"


def test_modules(kit: Kit, tmp_path: Path, shaped: str) -> None:
    """Code objects whose memory is gone at the launch, and such that the runtime read from a file."""
    program, code = kit.hip_program("captured"), kit.code_object_of("captured")
    for number, expected in ((1, 6.0 + 2), (2, 2.0 + 2)):
        path, _ = captured(kit, program, tmp_path / f"case-{number}", f"{ADD}#{number}", "module", code)
        held = file.read(path)
        assert held.codes[0].data == code.read_bytes()[: len(held.codes[0].data)] and len(held.codes[0].data) > 1000
        assert contents(held, 2)[1][6] == expected
        done = gpudx_(kit, program, "replay", path)
        assert done.returncode == 0 and done.stdout.startswith("EQUAL"), done.stdout + done.stderr


def test_variables_of_the_module(kit: Kit, tmp_path: Path, shaped: str) -> None:
    """What the program wrote to them, not what they are compiled with."""
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", "_Z8weightedPKfPf", "variables")
    held = file.read(path)
    (one,) = [b for b in held.buffers if b.symbol]
    assert one.symbol == "weights" and one.before is not None and one.after is not None
    assert one.before.view(np.float32).tolist() == [10, 20, 30, 40] and one.after.view(np.float32).tolist() == [11, 21, 31, 41]
    done = gpudx_(kit, program, "replay", path, "--times", 2)
    assert done.returncode == 0 and done.stdout.startswith("EQUAL"), done.stdout + done.stderr


@pytest.mark.parametrize(("how", "said"), [({}, "FAILED with status 700"), ({"GPUDX_HIP_SIM_FAULT": "abort"}, "CRASHED with SIGABRT")])
def test_a_fault_is_as_captured(kit: Kit, tmp_path: Path, shaped: str, how: dict[str, str], said: str) -> None:
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", ADD, "fault", **how)
    held = file.read(path)
    assert held.outcome.ending == ("crashed" if how else "failed") and all(one.after is None for one in held.buffers)
    done = gpudx_(kit, program, "replay", path, **how)
    assert done.returncode == 0 and said in done.stdout and "as captured" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("launch", "words", "says"),
    [
        ("sample", ("texture",), "argument 1 has the value of a texture object, and its type is not known"),
        ("sample#2", ("texture",), ""),
        ("sample", ("by-pointer",), "calls before hipLaunchByPtr gave its arguments"),
        (ADD, ("graph",), "a stream is being captured into a graph"),
        (f"{ADD}#2", ("error",), "an error of an earlier call stands, and capturing would hide it"),
        (ADD, ("cut",), "its last blocks are smaller than the others"),
    ],
)
def test_what_is_refused(kit: Kit, tmp_path: Path, launch: str, words: tuple[str, ...], says: str) -> None:
    program = kit.hip_program("captured")
    more = (kit.code_object_of("captured"),) if "cut" in words else ()
    path, said = captured(kit, program, tmp_path / "case", launch, *words, *more)
    assert says in said and path.exists() == (not says), said


def test_nothing_is_captured_without_the_option(kit: Kit, tmp_path: Path) -> None:
    program = kit.hip_program("captured")
    done = gpudx_(kit, program, "run", "--case", tmp_path / "case", "--", program.program)
    assert "captured launch" not in done.stderr and not list((tmp_path / "case").rglob("*.raw"))
    assert not list((tmp_path / "case").glob("*.gpucapsule"))


def test_the_limit(kit: Kit, tmp_path: Path) -> None:
    program = kit.hip_program("captured")
    done = gpudx_(kit, program, "run", "--case", tmp_path / "case", "--capture", ADD, "--capture-limit", 50000, "--", program.program)
    assert "more memory than --capture-limit allows" in done.stderr and not list((tmp_path / "case").glob("*.gpucapsule"))


def test_instruments_around_a_replay(kit: Kit, tmp_path: Path, shaped: str) -> None:
    """A launch that goes beyond its buffers without being noticed, and one that does not."""
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", ADD)
    held = file.read(path)
    beyond = replace(held.arguments[3], value=(N + 100).to_bytes(4, "little"))
    file.write(replace(held, arguments=(*held.arguments[:3], beyond)), tmp_path / "beyond.gpucapsule")
    assert gpudx_(kit, program, "replay", tmp_path / "beyond.gpucapsule").stdout.startswith("EQUAL")
    for capsule, found in ((tmp_path / "beyond.gpucapsule", True), (path, False)):
        case = tmp_path / f"fenced-{found}"
        gpudx_(kit, program, "replay", capsule, "--fence", "--poison", "--case", case)
        errors = [one["id"] for one in json.loads((case / "case.json").read_text())["findings"] if one["severity"] == "error"]
        assert bool(errors) == found, errors


def test_the_other_commands(kit: Kit, tmp_path: Path) -> None:
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", ADD)
    shown = gpudx_(kit, program, "replay", path, "--info")
    assert "launch 1 of this kernel (hip)" in shown.stdout and "code: code object (" in shown.stdout
    bench = gpudx_(kit, program, "bench", path, "-D", "X=1")
    assert "variants are OpenCL sources, and this is a HIP launch" in bench.stdout + bench.stderr
    sanitized = gpudx_(kit, program, "replay", path, "--sanitize")
    assert sanitized.returncode == 2 and "HIP" in sanitized.stderr, sanitized.stderr


def test_the_guilty_launch_of_a_case(kit: Kit, tmp_path: Path) -> None:
    program = kit.hip_program("captured")
    gpudx_(kit, program, "run", "--case", tmp_path / "broken", "--", program.program, "fault")
    done = gpudx_(kit, program, "capture", tmp_path / "broken", "--case", tmp_path / "taken")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "taken").glob("*.gpucapsule")
    assert file.read(path).outcome.ending == "failed"


def test_a_smaller_launch(kit: Kit, tmp_path: Path) -> None:
    """An infinity out of finite numbers stays, and there is no C program."""
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", ADD)
    held, buffers = file.read(path), []
    for one in held.buffers:
        assert one.before is not None
        content = one.before.copy()
        if one.size > 100:
            content[80:84].view(np.float32)[:] = 3e38
        buffers.append(replace(one, before=content))
    file.write(replace(held, buffers=tuple(buffers)), path)
    done = gpudx_(kit, program, "shrink", path, "--attempts", 20)
    assert done.returncode == 0 and "There is no C program of a HIP launch" in done.stderr, done.stdout + done.stderr
    assert file.read(path.with_suffix(".min.gpucapsule")).bytes < held.bytes and not list(tmp_path.rglob("*.min.c"))


@pytest.mark.parametrize("wrong", ["code", "sizes", "kernel", "arguments"])
def test_a_hostile_capsule(kit: Kit, tmp_path: Path, wrong: str) -> None:
    """It ends with a sentence, or in the player's process."""
    program = kit.hip_program("captured")
    path, _ = captured(kit, program, tmp_path / "case", ADD)
    held = file.read(path)
    changed = {
        "code": replace(held, codes=(Code("code object", b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 4096),)),
        "sizes": replace(held, geometry=Geometry((5120,), (256,))),
        "kernel": replace(held, kernel="_Z5otherv"),
        "arguments": replace(held, arguments=tuple(replace(one, value=b"\x01" * 8) for one in held.arguments)),
    }[wrong]
    file.write(changed, path)
    done = gpudx_(kit, program, "replay", path)
    assert "Traceback" not in done.stdout + done.stderr
    says = {"code": "was compiled for other devices", "sizes": "its sizes are not those of a HIP launch"}
    assert says.get(wrong, "") in done.stderr and done.returncode == (2 if wrong in says else 1), done.stdout + done.stderr
