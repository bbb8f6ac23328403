"""Work-items in the opposite order: what a source becomes, what is left alone, and that correct kernels compute the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")

from support.opencl import OpenCL

from gpudx.kernel_checks.opposite_order import may_print_otherwise, opposite
from gpudx.kernel_checks.suspects import Suspect, edited

HERE = Path(__file__).parent
HEAD = "__kernel void k(__global int *out, __local int *s) { %s }"


def why_not(source: str, options: str = "", *, even: bool = True) -> str:
    found = opposite(source, options, ("k",), even=even)
    return found if isinstance(found, str) else ""


def test_lines_stay_and_ids_are_renumbered() -> None:
    source = HEAD % "out[get_global_id(0)] = get_local_id(0);"
    change = opposite(source, "", ("k",), even=True)
    assert isinstance(change, Suspect)
    head, _, rest = edited(source, change.edits).partition("#line 1\n")
    assert rest == source and "#define get_local_id(d) (get_local_size(d) - 1 - get_local_id(d))" in head
    assert "linear" not in head
    newer = opposite(source, "-cl-std=CL2.0", ("k",), even=True)
    assert isinstance(newer, Suspect) and "get_global_linear_id()" in newer.edits[0].text


@pytest.mark.parametrize(
    ("source", "options", "expected"),
    [
        (HEAD % "out[0] = get_sub_group_local_id();", "-cl-std=CL2.0", "get_sub_group_local_id()"),
        (HEAD % "out[get_local_id(0)] = work_group_broadcast(out[0], get_local_id(0));", "-cl-std=CL2.0", "work_group_broadcast()"),
        (HEAD % "out[get_local_id(0)] = work_group_scan_inclusive_add(1);", "-cl-std=CL2.0", "work_group_scan_inclusive_add()"),
        ("#define get_global_id(d) 0\n" + HEAD % "out[0] = get_global_id(0);", "", "defines get_global_id itself"),
        ("size_t get_global_id(uint d);\n" + HEAD % "out[0] = get_global_id(0);", "", "itself"),
        (HEAD % "out[0] = ;", "", "cannot be read"),
    ],
)
def test_what_is_left_alone(source: str, options: str, expected: str) -> None:
    assert expected in why_not(source, options)


def test_what_another_kernel_calls_does_not_matter_unless_it_is_launched() -> None:
    source = HEAD % "out[0] = 1;" + "\n__kernel void other(__global int *out) { out[0] = get_sub_group_local_id(); }"
    assert not why_not(source, "-cl-std=CL2.0")
    assert isinstance(opposite(source, "-cl-std=CL2.0", ("k", "other"), even=True), str)


@pytest.mark.parametrize(
    ("body", "options", "fits"),
    [
        ("out[get_group_id(0)] = 1;", "-cl-std=CL2.0", False),
        ("s[0] = 1;", "-cl-std=CL3.0", False),
        ("out[get_group_id(0)] = 1;", "", True),  # before 2.0, such a launch is refused
    ],
)
def test_groups_of_unequal_sizes(body: str, options: str, fits: bool) -> None:
    assert (not why_not(HEAD % body, options, even=False)) is fits
    assert not why_not("__kernel void k(__global int *out) { out[get_global_id(0)] = 1; }", options, even=False)


def test_what_may_print_in_another_order() -> None:
    for body, expected in (("atomic_add(out, 1);", True), ('printf("%d", out[0]);', True), ("out[0] = 1;", False)):
        assert may_print_otherwise(HEAD % body, "", ("k",)) is expected
    assert may_print_otherwise("void add(__global int *out) { atomic_inc(out); }\n" + HEAD % "add(out);", "", ("k",))


@pytest.mark.builds
@pytest.mark.timeout(280)
def test_correct_kernels_compute_the_same(opencl: OpenCL) -> None:
    """Reductions, scans, tiles, images, copies, three dimensions with offsets; the work-item that is first is another one."""
    pytest.importorskip("pyopencl")
    env = {**os.environ, **opencl.loader.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(HERE / "programs/opposite_order.py")]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=270)
    assert done.returncode == 0, done.stderr
    said = [line.split()[-4:] for line in done.stdout.splitlines()]
    assert said == [["8", "first", "1", "64"]] * 2 + [["9", "first", "1", "64"]] * 2, done.stdout
