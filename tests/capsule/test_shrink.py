"""gpudx shrink: the same fault in a smaller launch, and a C program that shows it without gpudx."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.opencl import OpenCL
from test_capsule_file import sample
from test_capsules import gpudx_

from gpudx.capsule import file
from gpudx.capsule.model import Argument, Buffer, Capsule, Code, Geometry
from gpudx.capsule.shrink import chunks, shrink

pytest.importorskip("clang.cindex")
PROGRAM = Path(__file__).parent / "gather.c"


@pytest.mark.timeout(300)
def test_the_fault_stays(opencl: OpenCL, tmp_path: Path) -> None:
    case = tmp_path / "case"
    gpudx_(opencl, "run", "-q", "--case", case, "--capture", "gather", "--", opencl.build([PROGRAM]))
    given = case / "gather-1.gpucapsule"
    done = gpudx_(opencl, "shrink", given, "--budget", "4m", "--attempts", 10, "--issue", tmp_path / "issue.md", "--json")
    assert done.returncode == 0, done.stderr
    small = file.read(case / "gather-1.min.gpucapsule")
    said = json.loads(done.stdout)
    assert said["source"] == str(case / "gather-1.min.c") and said["work_items"] == small.geometry.items
    assert small.geometry.items < 20_000 and small.bytes < 320_000
    assert (case / "gather-1.min.gpucapsule").stat().st_size < given.stat().st_size
    code = small.code("source")
    assert code and b"i <= n" in code.data, "what is wrong with it is still there"
    issue = (tmp_path / "issue.md").read_text()
    assert (
        issue.startswith("# Kernel gather wrote 4 bytes right past the end of argument 0 `y`")
        and "cc gather-1.min.c" in issue
    )
    program = opencl.built("repro", "cc", f"-I{opencl.include}", case / "gather-1.min.c", *opencl.loader.link, "-lm")
    ran = subprocess.run([program], env=opencl.plain_environment, capture_output=True, text=True, timeout=100)
    assert "4 bytes past its end were changed, the first 0 bytes past it" in ran.stdout and ran.returncode == 1


def test_what_does_not_fail(opencl: OpenCL, tmp_path: Path) -> None:
    case = tmp_path / "case"
    gpudx_(opencl, "run", "-q", "--case", case, "--capture", "gather", "--", opencl.build([PROGRAM]), "right")
    done = gpudx_(opencl, "shrink", case / "gather-1.gpucapsule")
    assert done.returncode == 1 and "does not fail in a replay" in done.stdout
    done = gpudx_(opencl, "shrink", case / "gather-1.gpucapsule", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["capsule"] is None
    assert not list(case.glob("*.min.*"))
    bare = tmp_path / "bare.gpucapsule"
    file.write(sample().without_data(), bare)
    done = gpudx_(opencl, "shrink", bare)
    assert done.returncode == 2 and "--no-data" in done.stderr and done.stderr.count("\n") == 1


def big() -> Capsule:
    content = (np.arange(40_000) % 250 + 1).astype(np.uint8)
    source = b"#define A 1\nint f(int a) { return a; }\nkernel void k(global int *x, int n) { x[0] = f(n); }\n"
    arguments = (
        Argument(0, "buffer", buffer=0, type="int*", name="x"),
        Argument(1, "value", value=(10_000).to_bytes(4, "little"), type="int", name="n"),
    )
    buffers = (Buffer(0, 40_000, 1, before=content, after=content),)
    return Capsule("opencl", "k", 1, (Code("source", source),), Geometry((10_240,), (64,)), arguments, buffers)


def test_everything_goes_that_the_failure_does_not_need() -> None:
    small, log = shrink(big(), lambda one: True, 20)
    code = small.code("source")
    assert (small.geometry.items, small.bytes) == (64, 16) and log.tried
    assert (
        code and b"int f" not in code.data and small.buffers[0].before is not None and not small.buffers[0].before.any()
    )
    assert small.buffers[0].after is None, "results belong to other inputs"


def test_nothing_goes_that_it_needs() -> None:
    small, _ = shrink(big(), lambda one: False, 20)
    assert replace(small, buffers=()) == replace(big(), buffers=())


def test_extents_and_numbers_go_together() -> None:
    """Items, n and the buffer keep their distances."""

    def fails(one: Capsule) -> bool:
        n = int.from_bytes(one.arguments[1].value, "little")
        return one.buffers[0].size == n * 4 and one.geometry.items - n == 240

    small, _ = shrink(big(), fails, 20)
    assert small.geometry.items < 2000


def test_pieces_of_a_source() -> None:
    text = "#define X(a) {\nint f(void) { if (1) { } }\n/* } */ typedef struct { int a; } s; // }\nkernel void k(int a) {}\n"
    found = chunks(text)
    assert "".join(found) == text.rstrip("\n") or "".join(found) == text
    assert [one.strip().split("\n")[-1][:12] for one in found] == [
        "#define X(a)",
        "int f(void) ",
        "/* } */ type",
        "kernel void ",
    ]


def flat(arguments: tuple[Argument, ...], contents: tuple[np.ndarray, ...], *sizes: int) -> Capsule:
    buffers = tuple(Buffer(at, one.nbytes, 1, before=one.view(np.uint8)) for at, one in enumerate(contents))
    return Capsule("opencl", "k", 1, (Code("source", b"kernel void k() {}"),), Geometry(sizes), arguments, buffers)


def test_products_of_extents_go_together() -> None:
    """A width, a height, and a buffer of width x height."""

    def fails(one: Capsule) -> bool:
        w, h = (int.from_bytes(a.value, "little") for a in one.arguments[1:])
        return one.geometry.global_ == (w, h) and one.buffers[0].size == w * h * 4

    numbers = tuple(Argument(at, "value", value=n.to_bytes(4, "little"), type="int") for at, n in ((1, 512), (2, 128)))
    given = flat((Argument(0, "buffer", buffer=0, type="float*"), *numbers), (np.zeros(512 * 128, np.float32),), 512, 128)
    small, _ = shrink(given, fails, 20)
    assert small.geometry.items <= 16 and small.bytes <= 64


def test_indexes_become_smaller_with_what_they_index() -> None:
    """One index lies behind the end, and that is the failure: that it does, and by how much."""

    def fails(one: Capsule) -> bool:
        at, x = one.buffers
        first = one.geometry.offset[0] if one.geometry.offset else 0
        values = at.before[: at.size // 4 * 4].view(np.int32) if at.before is not None else np.zeros(0)
        used = values[first : first + one.geometry.items]
        return len(used) == one.geometry.items and (used - x.size // 4).max() == 2 and (used >= x.size // 4).sum() == 1

    at = (np.arange(1 << 14) * 7919 % (1 << 14)).astype(np.int32)
    at[5000] = (1 << 14) + 2
    arguments = (Argument(0, "buffer", buffer=0, type="int*"), Argument(1, "buffer", buffer=1, type="float*"))
    given = flat(arguments, (at, np.zeros(1 << 14, np.float32)), 1 << 14)
    small, _ = shrink(given, fails, 30)
    assert small.bytes < given.bytes // 100, (small.geometry, [one.size for one in small.buffers])
