"""launch-refused and index-overflow."""

from __future__ import annotations

from typing import Any

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL
from support.synthetic import GLOBAL, LOCAL, Arg

REFUSED, OVERFLOW = "launch-refused", "index-overflow"
NARROW = "kernel void add(global float *out, int rows, int columns) { int i = get_global_id(0) * columns; out[i] = 1; }"
WIDE = NARROW.replace("int i = get_global_id(0)", "size_t i = (size_t)get_global_id(0)")


@pytest.mark.parametrize(
    ("mode", "parts"),
    [
        ("group", ["a work-group ", "the device allows"]),
        ("dimension", ["a work-group has", "the device allows"]),
        ("remainder", ["the global size in dimension 0 is 100, not a multiple of the local size 64"]),
        ("required", ["the kernel requires work-groups of 8 x 1 x 1, the launch has 4 x 1 x 1"]),
        ("dims", ["the number of dimensions is not 1, 2 or 3"]),
    ],
)
def test_refused(opencl: OpenCL, mode: str, parts: list[str]) -> None:
    finding = opencl.run("refused", mode).only(REFUSED)
    assert finding.severity == "error"
    assert all(part in finding.message for part in parts)
    rounded = "Round the global size up to 128 = 2 x 64, and let the kernel skip ids from 100 on."
    divides = "Or choose a local size that divides 100, for example 50."
    assert finding.steps == (rounded, divides) if mode == "remainder" else rounded not in finding.steps


def test_no_limit_broken_is_said(opencl: OpenCL) -> None:
    finding = opencl.run("refused", "unset").only(REFUSED)
    assert finding.severity == "info"
    assert "break none of the limits" in finding.message


def test_trying_out_sizes_is_no_fault(opencl: OpenCL) -> None:
    assert opencl.run("refused", "tuned").only(REFUSED).severity == "info"


def test_accepted_launch_is_silent(opencl: OpenCL) -> None:
    assert not opencl.run("refused", "right").of(REFUSED)


def _broken(process: Any, look: Any, *launch: Any, **kernel: Any) -> int:
    made = process.kernel("f", [Arg("float*", "data", GLOBAL), Arg("float*", "room", LOCAL)], **kernel)
    process.set_arg(made, 0, process.buffer(4096))
    process.set_arg(made, 1, 0, 40000, local=True)
    process.launch(made, *launch, status=-54)
    (finding,) = [f for f in look(process, "exit") if f.id == REFUSED]
    return len(finding.evidence) - 1 if finding.severity == "error" else 0  # the last is the driver's answer


@pytest.mark.parametrize(
    ("launch", "kernel", "broken"),
    [
        (((2048,), (256,)), {"most": 128}, 1),  # the kernel's limit
        (((4096,), (2048,)), {}, 1),  # the device's limit, which implies that of the dimension
        (((100, 100), (8, 8)), {}, 2),  # both dimensions
        (((64,), (64,)), {"local": 20000}, 1),  # local memory
        (((64,), ()), {"required": (8, 8, 1)}, 1),  # required, and none given
        (((0,), (8,)), {}, 1),
        (((64,), (64,)), {}, 0),
    ],
)
def test_every_limit_and_no_other(world: Make, look: Look, launch: Any, kernel: Any, broken: int) -> None:
    assert _broken(world(), look, *launch, **kernel) == broken


@pytest.mark.parametrize(
    ("version", "options", "told"),
    [
        ("OpenCL 1.2 x", "", True),
        ("OpenCL 2.0 x", "", True),
        ("OpenCL 2.0 x", "-cl-std=CL2.0", False),
        ("OpenCL 2.0 x", "-cl-std=CL2.0 -cl-uniform-work-group-size", True),
        ("OpenCL 3.0 x", "-cl-std=CL3.0", False),  # only the driver knows, and another limit explains it
    ],
)
def test_remainder_depends_on_the_version(world: Make, look: Look, version: str, options: str, told: bool) -> None:
    process = world(version=version, options=options)
    assert _broken(process, look, (100,), (64,), most=32) == 1 + told


def _overflow(
    process: Any, look: Any, *, rows: int, columns: int, size: int, kind: str = "int", ended: str = "passed"
) -> list[Any]:
    kernel = process.kernel("add", [Arg("float*", "out", GLOBAL), Arg(kind, "rows"), Arg(kind, "columns")])
    process.set_arg(kernel, 0, process.buffer(size))
    process.set_arg(kernel, 1, rows, 4)
    process.set_arg(kernel, 2, columns, 4)
    process.launch(kernel, (64,))
    process.header["ended"] = ended == "passed"
    return [f for f in look(process, ended) if f.id == OVERFLOW]


def test_product_passes_32_bits(world: Make, look: Look) -> None:
    (finding,) = _overflow(world(source=NARROW), look, rows=50000, columns=50000, size=10_000_000_000)
    assert finding.severity == "warning"
    assert "rows = 50,000 and columns = 50,000, whose product 2,500,000,000 exceeds 2^31" in finding.message


@pytest.mark.parametrize("source", [WIDE, ""])
def test_a_run_that_passed_is_not_warned_without_a_narrow_index(world: Make, look: Look, source: str) -> None:
    """int arguments of kernels that index in 64 bits are correct, and most sources are not known."""
    assert not _overflow(world(source=source), look, rows=50000, columns=50000, size=10_000_000_000)


@pytest.mark.parametrize(("source", "severity"), [(NARROW, "error"), (WIDE, "warning"), ("", "warning")])
def test_crash_after_it_makes_it_an_error(world: Make, look: Look, source: str, severity: str) -> None:
    found = _overflow(world(source=source), look, rows=50000, columns=50000, size=10_000_000_000, ended="signal")
    assert [f.severity for f in found] == [severity]


@pytest.mark.parametrize(
    "sizes",
    [
        {"rows": 40000, "columns": 40000, "size": 6_400_000_000},  # 1.6e9 elements: the index fits
        {"rows": 65536, "columns": 65536, "size": 3 << 30},  # the product counts nothing here
        {"rows": 50000, "columns": 50000, "size": 10_000_000_000, "kind": "uint"},  # fits into an unsigned index
        {"rows": 50000, "columns": 50000, "size": 1 << 20},
    ],
)
def test_products_that_fit_are_silent(world: Make, look: Look, sizes: dict[str, Any]) -> None:
    assert not _overflow(world(source=NARROW), look, **sizes)


def test_64_bit_arguments_are_silent(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("add", [Arg("float*", "out", GLOBAL), Arg("long", "rows"), Arg("long", "columns")])
    process.set_arg(kernel, 0, process.buffer(10_000_000_000))
    for index in (1, 2):
        process.set_arg(kernel, index, 50000, 8)
    process.launch(kernel, (64,))
    assert not [f for f in look(process) if f.id == OVERFLOW]


@pytest.mark.parametrize(("same", "written", "quiet"), [(True, False, True), (False, False, False), (True, True, False)])
def test_the_largest_size_that_a_program_tries_comes_last(world: Any, look: Any, same: bool, written: bool, quiet: bool) -> None:
    """`same`: it was launched with the same arguments before; `written`: and given new data since."""
    process = world()
    kernel = process.kernel("f", [Arg("float*", "in", GLOBAL, qualifiers=1), Arg("float*", "out", GLOBAL), Arg("float*", "room", LOCAL)])
    source, target = process.buffer(4096), process.buffer(4096)
    process.set_arg(kernel, 0, source)
    process.set_arg(kernel, 1, target if same else process.buffer(4096))
    process.set_arg(kernel, 2, 0, 512, local=True)
    process.launch(kernel, (4096,), (64,))
    if written:
        process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=source, blocking=1, size=4096, ptr=0x5000)
    process.set_arg(kernel, 1, target)
    process.set_arg(kernel, 2, 0, 16384, local=True)
    process.launch(kernel, (4096,), (2048,), status=-54)
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=target, blocking=1, size=4096, ptr=0x5000)
    (finding,) = [f for f in look(process, "passed") if f.id == REFUSED]
    assert (finding.severity == "info") is quiet
