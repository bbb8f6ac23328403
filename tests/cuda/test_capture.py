"""Captured CUDA launches on the fake driver: what is in the capsule, and that a replay gives the same results."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cuda_kit import OURS, Kit
from support import forked

import gpudx
from gpudx.capsule import file
from gpudx.capsule.model import Buffer


def gpudx_(kit: Kit, *words: object) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in OURS}
    env |= {"LD_LIBRARY_PATH": str(kit.driver), "GPUDX_LIB": str(kit.recorder), "GPUDX_CASES": "none"}
    env["PYTHONPATH"] = str(Path(gpudx.__file__).parents[1])
    return forked.gpudx(*map(str, words), env=env, timeout=240)


@pytest.mark.parametrize("way", ["BY_DLSYM", "BY_PROC_ADDRESS"])
def test_a_launch_and_its_replay(kit: Kit, tmp_path: Path, way: str) -> None:
    program = kit.program("captured", way=way)
    plain = kit.run([program], recorded=False)
    done = gpudx_(kit, "run", "--case", tmp_path / "case", "--capture", "add#2", "--", program)
    assert done.stdout == plain.stdout and done.returncode == 0, done.stderr
    held = file.read(tmp_path / "case" / "add-2.gpucapsule")
    assert (held.api, held.geometry.global_, held.geometry.local) == ("cuda", (5120, 1, 1), (256, 1, 1))
    assert held.codes[0].data.startswith(b"kernel add"), "the image was copied when it was loaded"
    assert [len(one.value) for one in held.arguments] == [8, 8, 8, 4] and len(held.buffers) == 3
    x, y, _ = (one.before[:20000].view(np.float32) for one in held.buffers if one.before is not None)
    assert x[6] == 8 and y[6] == 2 and held.buffers[2].after is not None
    assert held.buffers[2].after[:20000].view(np.float32)[6] == 10
    again = gpudx_(kit, "replay", tmp_path / "case" / "add-2.gpucapsule", "--times", 2)
    assert again.returncode == 0 and again.stdout.startswith("EQUAL"), again.stdout + again.stderr


def test_memory_behind_a_pointer_in_memory(kit: Kit, tmp_path: Path) -> None:
    program = kit.program("captured")
    gpudx_(kit, "run", "-q", "--case", tmp_path / "case", "--capture", "follow", "--", program)
    path = tmp_path / "case" / "follow-1.gpucapsule"
    held = file.read(path)
    assert sorted(one.size for one in held.buffers) == [64, 20000], "the table, and what it points to"
    done = gpudx_(kit, "replay", path)
    assert done.returncode == 0 and done.stdout.startswith("EQUAL"), done.stdout + done.stderr


def test_other_inputs_give_other_results(kit: Kit, tmp_path: Path) -> None:
    program = kit.program("captured")
    gpudx_(kit, "run", "-q", "--case", tmp_path / "case", "--capture", "add", "--", program)
    path = tmp_path / "case" / "add-1.gpucapsule"
    held = file.read(path)
    first = held.buffers[0]
    assert first.before is not None
    content = first.before.copy()
    content[400] ^= 1
    file.write(replace(held, buffers=(replace(first, before=content), *held.buffers[1:])), path)
    done = gpudx_(kit, "replay", path)
    assert done.returncode == 1 and "DIFFERS" in done.stdout


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("sample", "argument 1 has the value of a texture object, and its type is not known: capsules do not hold textures"),
        ("sampled", "argument 1 is a texture object, and capsules do not hold textures and surfaces"),
        ("sized", ""),
    ],
)
def test_a_texture_is_refused(kit: Kit, tmp_path: Path, kernel: str, says: str) -> None:
    program = kit.program("textured")
    for words, expected in (([], says), (["destroyed"], "")):
        case = tmp_path / f"case-{len(words)}"
        done = gpudx_(kit, "run", "--case", case, "--capture", kernel, "--", program, *words)
        assert done.returncode == 0 and expected in done.stderr, done.stderr
        assert bool(list(case.glob("*.gpucapsule"))) == (not expected), done.stderr


def reproduced(kit: Kit, source: Path) -> subprocess.CompletedProcess[str]:
    """The C program, without gpudx."""
    program = source.with_suffix("")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", source, "-o", program, "-ldl", "-lm"], check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(kit.driver)}
    return subprocess.run([program], env=env, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("kernel", ["add", "follow"])
def test_a_launch_as_a_c_program(kit: Kit, tmp_path: Path, kernel: str) -> None:
    """It gives the captured results, also through addresses in memory."""
    from gpudx.backends.cuda.reproducer import c_source

    gpudx_(kit, "run", "-q", "--case", tmp_path / "case", "--capture", kernel, "--", kit.program("captured"))
    held = file.read(tmp_path / "case" / f"{kernel}-1.gpucapsule")
    (tmp_path / "repro.c").write_text(c_source(held, "repro.c", ("It */ fails.",)))
    done = reproduced(kit, tmp_path / "repro.c")
    assert done.returncode == 0, done.stdout + done.stderr
    for one in held.buffers:
        if any(other.address <= word < other.address + other.size for other in held.buffers for word in words_of(one)):
            continue  # it holds addresses, which are others there
        expected = 1469598103934665603
        for byte in one.after.tolist() if one.after is not None else []:
            expected = (expected ^ byte) * 1099511628211 % (1 << 64)
        assert f"{one.size} bytes, hash {expected:016x}" in done.stdout, done.stdout


def words_of(one: Buffer) -> list[int]:
    return [] if one.after is None else one.after[: one.size // 8 * 8].view(np.uint64).tolist()


def test_a_failing_launch_becomes_a_c_program(kit: Kit, tmp_path: Path) -> None:
    """An infinity out of finite numbers: small, with its cause, and without gpudx."""
    gpudx_(kit, "run", "-q", "--case", tmp_path / "case", "--capture", "add", "--", kit.program("captured"))
    path = tmp_path / "case" / "add-1.gpucapsule"
    held = file.read(path)
    typed = tuple(replace(one, type="float*") if one.index < 3 else one for one in held.arguments)
    buffers = []
    for one in held.buffers:
        assert one.before is not None
        content = one.before.copy()
        content[80:84].view(np.float32)[:] = 3e38
        buffers.append(replace(one, before=content))
    file.write(replace(held, arguments=typed, buffers=tuple(buffers)), path)
    done = gpudx_(kit, "shrink", path, "--attempts", 12, "--issue", tmp_path / "issue.md")
    assert done.returncode == 0 and "-ldl -lm" in done.stdout, done.stdout + done.stderr
    assert "cc add-1.min.c -o repro -ldl -lm" in (tmp_path / "issue.md").read_text()
    assert file.read(path.with_suffix(".min.gpucapsule")).bytes < held.bytes
    ran = reproduced(kit, path.with_suffix(".min.c"))
    assert ran.returncode == 1 and "1 NaN or infinite, the first at 20" in ran.stdout, ran.stdout + ran.stderr
