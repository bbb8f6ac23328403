"""gpudx run --nan: the launch, the element and the line of the first NaN; silence where every number is finite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.opencl import OpenCL
from test_capsules import gpudx_

from gpudx.capsule import file

PROGRAM = Path(__file__).parent / "nans.c"
# What is stored, its type, what it makes, and the first element that has it: x is i - 3.
ORIGINS = [
    ("sqrt(x)", "float", "NaN", 0),
    ("x / x", "double", "NaN", 3),
    ("log(x - 200)", "float", "NaN", 0),
    ("exp(x)", "float", "infinity", 92),
    ("acos(x)", "double", "NaN", 0),
    ("1 / (x - 5)", "float", "infinity", 8),
    ("fmod(x, x - 7)", "float", "NaN", 10),
    ("pow(x, 0.5f)", "float", "NaN", 0),
    ("exp(x * 400) - exp(x * 401)", "double", "NaN", 5),
    ("asin(x * 0.01f)", "float", "NaN", 104),
    ("rsqrt(x)", "float", "NaN", 0),
    ("x * x * 1e38f * x", "float", "infinity", 0),  # (-3)^2 * 1e38 is too large already
    ("atanh(x * 0.1f)", "float", "NaN", 14),
    ("tgamma(x)", "float", "NaN", 0),
    ("i == 77 ? NAN : x", "float", "NaN", 77),
]
QUICK = 2


def searched(opencl: OpenCL, case: Path, *words: str, how: str = "--nan") -> str:
    done = gpudx_(opencl, "run", "--case", case, how, "--", opencl.build([PROGRAM]), *words)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("expression", "type_", "kind", "element"),
    [pytest.param(*one, marks=[pytest.mark.slow] if at >= QUICK else []) for at, one in enumerate(ORIGINS)],
)
def test_the_origin(opencl: OpenCL, tmp_path: Path, expression: str, type_: str, kind: str, element: int) -> None:
    said = searched(opencl, tmp_path / "case", expression, type_)
    found = json.loads((tmp_path / "case" / "first-nan.json").read_text())
    assert (found["kernel"], found["of_kernel"], found["launch"], found["kind"]) == ("guilty", 1, 5, kind), said
    assert found["element"] == element and "its inputs had none: " in said
    assert file.read(tmp_path / "case" / "guilty-1.gpucapsule").launch == 1


def test_every_third_launch_and_then_each(opencl: OpenCL, tmp_path: Path) -> None:
    said = searched(opencl, tmp_path / "case", "log(x)", how="--nan=7")
    assert "running again" in said and "launch 1 of guilty (launch 5 of the program)" in said
    assert "line 7" in said, "the checks inside the kernel name the line"


def test_a_kernel_that_also_leaves_its_buffer(opencl: OpenCL, tmp_path: Path) -> None:
    said = searched(opencl, tmp_path / "case", "sqrt(x) + in[i + 1000]")
    assert "FIRST NaN: launch 1 of guilty" in said
    assert "a fault that comes first: Kernel guilty read 4 bytes" in said and "`in[i + 1000]`" in said


def test_silence(opencl: OpenCL, tmp_path: Path) -> None:
    said = searched(opencl, tmp_path / "case", "x * 2 + 1")
    assert "no launch made a NaN or an infinity: 8 of 8 launches looked at" in said
    assert not (tmp_path / "case" / "first-nan.json").exists()


def test_numbers_that_only_look_like_one(opencl: OpenCL, tmp_path: Path) -> None:
    """The same bits in a buffer of integers are no NaN."""
    said = searched(opencl, tmp_path / "case", "0x7fc00000 + i", "int")
    assert "no launch made a NaN" in said


@pytest.mark.timeout(200)
@pytest.mark.parametrize("how", ["--nan", "--values"])
def test_a_long_chain_of_launches_that_are_held(opencl: OpenCL, tmp_path: Path, how: str) -> None:
    """A launch that the program itself holds is not waited for, so nothing is put into its queue: thousands of markers that each wait for
    all before them took minutes."""
    done = gpudx_(opencl, "run", "--case", tmp_path / "case", how, "--", opencl.build([PROGRAM.with_name("held.c")]), "3000")
    assert done.returncode == 0 and done.stdout == "3000\n", done.stderr
    assert how == "--values" or "no launch made a NaN or an infinity: 1,499 of 3,000 launches looked at" in done.stderr
