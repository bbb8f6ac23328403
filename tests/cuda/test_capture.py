"""Captured CUDA launches on the fake driver: what is in the capsule, and that a replay gives the same results."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cuda_kit import OURS, Kit
from support import forked

import gpudx
from gpudx.capsule import file


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
    from dataclasses import replace

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
