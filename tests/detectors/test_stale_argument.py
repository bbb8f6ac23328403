"""stale-argument: arguments that kept the value of an earlier launch, and arguments that are meant to stay."""

from __future__ import annotations

from typing import Any

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome

ID = "stale-argument"
N = 1024
CONST = 1
HOST = 0x7F0000001000
EXIT = Outcome("exit", "", exit_code=1)


def _of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == ID]


def _read(world: World, buffer: int, size: int = 4 * N) -> int:
    return world.call("clEnqueueReadBuffer", queue=world.queue, buffer=buffer, blocking=1, size=size, ptr=HOST)


def _write(world: World, buffer: int, size: int) -> int:
    return world.call("clEnqueueWriteBuffer", queue=world.queue, buffer=buffer, blocking=1, size=size, ptr=HOST)


def _gather(world: World, *, renewed: bool = False, new_source: bool = True, read_all: bool = True, caller: int = 0) -> int:
    """Three launches, whose output is set for the first one only; gives the position of that call."""
    kernel = world.kernel("gather", [Arg("float*", "src", GLOBAL, qualifiers=CONST), Arg("float*", "dst", GLOBAL)])
    sources = [world.buffer(4 * N) for _ in range(3)]
    results = [world.buffer(4 * N, caller=caller * number) for number in range(3)]
    setter = 0
    for number, (source, result) in enumerate(zip(sources, results, strict=True)):
        _write(world, source, 4 * N)
        world.set_arg(kernel, 0, source if new_source else sources[0])
        if renewed or not number:
            setter = world.set_arg(kernel, 1, result)
        world.launch(kernel, (N,))
    for result in results if read_all else results[:1]:
        _read(world, result)
    return setter


def test_an_output_that_was_set_for_the_first_launch_only(world: Make, look: Look) -> None:
    process = world()
    setter = _gather(process)
    found = look(process, "exit", exit_code=1)
    (finding,) = _of(found)
    assert finding.site is not None and finding.site.number == setter + 1
    assert "buffer #4 as argument 1 (float* dst) in all 3 launches" in finding.message
    assert "Buffer #5 and buffer #6, which the program reads back, were never passed to a launch." in finding.message
    first = diagnose(found, EXIT)[0]
    assert (first.cause, first.status) == (ID, "confirmed")


def test_outputs_that_are_meant_are_silent(world: Make, look: Look) -> None:
    """Set each time; one output for all, which is what is read back; the same inputs each time; buffers of another line."""
    for options in ({"renewed": True}, {"read_all": False}, {"new_source": False}, {"caller": 0x1000}):
        process = world()
        _gather(process, **options)
        assert not _of(look(process, "exit", exit_code=1)), options


def test_a_program_that_passes_is_silent(world: Make, look: Look) -> None:
    process = world()
    _gather(process)
    assert not _of(look(process, "passed"))


def _batches(world: World, *sizes: int, number: int = N, renewed: bool = False) -> None:
    kernel = world.kernel("sum", [Arg("float*", "x", GLOBAL, qualifiers=CONST), Arg("float*", "part", GLOBAL), Arg("int", "n")])
    data, part = world.buffer(4 * N), world.buffer(64)
    world.set_arg(kernel, 0, data)
    world.set_arg(kernel, 1, part)
    for turn, size in enumerate(sizes):
        _write(world, data, 4 * size)
        if renewed or not turn:
            world.set_arg(kernel, 2, size if renewed else number, size=4)
        world.launch(kernel, (64,))
        _read(world, part, 64)


def test_a_number_that_stayed_while_the_write_became_shorter(world: Make, look: Look) -> None:
    process = world()
    _batches(process, N, N, 400)
    found = look(process, "exit", exit_code=1)
    (finding,) = _of(found)
    assert "(launch 3) was passed 1,024 as argument 2 (int n)" in finding.message
    assert "had written only 400 elements of argument 0 (float* x)" in finding.message
    assert diagnose(found, EXIT)[0].status == "likely"


def test_numbers_that_are_meant_are_silent(world: Make, look: Look) -> None:
    """Set each time; the same size each time; a number that is not that of the elements; a first write that is short."""
    cases: tuple[tuple[tuple[int, ...], dict[str, int]], ...] = (
        ((N, N, 400), {"renewed": 1}),
        ((N, N, N), {}),
        ((N, N, 400), {"number": 7}),
        ((400, N, N), {}),
    )
    for sizes, options in cases:
        process = world()
        _batches(process, *sizes, **options)  # type: ignore[arg-type]
        assert not _of(look(process, "exit", exit_code=1)), (sizes, options)


# ---- buffers that only the host exchanges ----

RELAX = """kernel void relax(global const float *in, global float *out) {
  int i = get_global_id(0);
  out[i] = 0.5f * in[i];
}"""
IN_PLACE = RELAX.replace("out[i] =", "out[i] +=")


def _sweeps(
    make: Make, source: str = RELAX, *, count: int = 4, renewed: bool = False, written: bool = False, back: int = 0, turned: bool = False
) -> World:
    """`back`: which of the two buffers is read back. `turned`: another kernel object wrote the one that the launches read."""
    world = make()
    world.note("note_source", {"program": world.program}, source)
    kernel = world.kernel("relax", [Arg("float*", "in", GLOBAL, qualifiers=CONST), Arg("float*", "out", GLOBAL)])
    pair = [world.buffer(4 * N), world.buffer(4 * N)]
    _write(world, pair[0], 4 * N)
    if turned:
        other = world.kernel("relax", [Arg("float*", "in", GLOBAL, qualifiers=CONST), Arg("float*", "out", GLOBAL)])
        for index in (0, 1):
            world.set_arg(other, index, pair[1 - index])
        world.launch(other, (N,))
    for number in range(count):
        for index in (0, 1) if renewed or not number else ():
            world.set_arg(kernel, index, pair[(index + number) % 2])
        world.launch(kernel, (N,))
        if written:
            _write(world, pair[0], 4 * N)
    _read(world, pair[back])
    return world


def test_buffers_that_only_the_host_exchanges(world: Make, look: Look) -> None:
    (finding,) = _of(look(_sweeps(world), "passed"))
    assert "launched 4 times with the same arguments, so that each launch computes the same as the first" in finding.message
    assert finding.attribution == "probable" and "set arguments 0 and 1 again" in finding.steps[0]


@pytest.mark.parametrize(
    "how",
    [
        {"renewed": True},
        {"back": 1},  # a measurement: what the launches wrote is read back
        {"turned": True},  # a benchmark of several kernels on the same buffers
        {"written": True},  # new data for each launch
        {"source": IN_PLACE},  # each launch adds to what is there
        {"source": "kernel void other() {}"},  # not known what the kernel does
        {"count": 2},
    ],
)
def test_launches_that_are_repeated_on_purpose_are_silent(world: Make, look: Look, how: dict[str, Any]) -> None:
    assert not [one for one in _of(look(_sweeps(world, **how), "passed")) if "computes the same" in one.message]


# ---- numbers of one name ----


def _passes(
    world: World, *, renewed: bool = False, start: int = 0, step: int = 4, name: str = "shift", shared: bool = True, kind: str = "int"
) -> tuple[int, World]:
    """`count` and `scatter` in turn. `start`: the number in the first pass, which `scatter` keeps; gives the call that sets it."""
    count = world.kernel("count", [Arg("uint*", "hist", GLOBAL), Arg("int", "shift")])
    scatter = world.kernel("scatter", [Arg("uint*", "hist", GLOBAL), Arg("uint*", "out", GLOBAL), Arg(kind, name)])
    hist, own, out = world.buffer(4 * N), world.buffer(4 * N), world.buffer(4 * N)
    world.set_arg(count, 0, hist)
    world.set_arg(scatter, 0, hist if shared else own)
    world.set_arg(scatter, 1, out)
    setter = world.set_arg(scatter, 2, start, size=4)
    for turn in range(4):
        world.set_arg(count, 1, start + step * turn, size=4)
        world.launch(count, (64,))
        if renewed and turn:
            world.set_arg(scatter, 2, start + step * turn, size=4)
        world.launch(scatter, (64,))
    _read(world, out)
    return setter, world


def test_a_number_of_one_name_that_only_one_kernel_gets_anew(world: Make, look: Look) -> None:
    setter, process = _passes(world())
    found = look(process, "exit", exit_code=1)
    (finding,) = _of(found)
    assert finding.site is not None and finding.site.number == setter + 1 and finding.severity == "warning"
    assert "works on the same buffer, was passed 4, 8 and 12 as `shift` after that." in finding.message
    assert diagnose(found, EXIT)[0].status == "inconclusive"


@pytest.mark.parametrize(
    "how",
    [
        {"renewed": True},
        {"step": 0},  # the same for both
        {"name": "plane"},
        {"kind": "float"},
        {"shared": False},
        {"start": N, "step": -256},  # a number of elements, of which the other kernel takes fewer each time
    ],
)
def test_numbers_of_other_names_and_uses_are_silent(world: Make, look: Look, how: dict[str, Any]) -> None:
    assert not _of(look(_passes(world(), **how)[1], "exit", exit_code=1))


def _jobs(world: World, *, skipped: tuple[int, ...] = (2,), unused: bool = True, sizes: tuple[int, ...] = (512, 1024, 1024, 2048)) -> None:
    """A launch for each job, with data of its own; the data of some is not set. `unused`: nothing else uses that."""
    kernel = world.kernel("count", [Arg("uchar*", "data", GLOBAL, qualifiers=CONST), Arg("uint*", "bins", GLOBAL)])
    data = [world.buffer(size, host_ptr=HOST) for size in sizes]
    world.set_arg(kernel, 1, world.buffer(4 * N))
    for number, one in enumerate(data):
        if number not in skipped:
            world.set_arg(kernel, 0, one)
        world.launch(kernel, (N,))
    if not unused:
        for one in data:
            _read(world, one, 512)


def test_a_launch_that_kept_the_buffer_of_the_one_before(world: Make, look: Look) -> None:
    process = world()
    _jobs(process)
    (finding,) = _of(look(process, "exit", exit_code=1))
    assert "Launch 3 of kernel count was passed argument 0 (uchar* data) of the launch before" in finding.message
    assert "which the program filled, was never used" in finding.message


@pytest.mark.parametrize(
    "how", [{"skipped": ()}, {"unused": False}, {"sizes": (512, 1024, 4096, 2048)}, {"skipped": (1, 2, 3)}]
)
def test_arguments_that_are_kept_on_purpose(world: Make, look: Look, how: dict[str, Any]) -> None:
    process = world()
    _jobs(process, **how)
    assert not _of(look(process, "exit", exit_code=1))


def test_a_program_that_passed_may_fill_what_it_does_not_use(world: Make, look: Look) -> None:
    process = world()
    _jobs(process)
    assert not _of(look(process))
