"""Refusals that a program deals with, and the nearest ones that it does not: only these explain a failure."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, LOCAL, Arg, World

from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome

WORK_GROUP_SIZE, KERNEL_ARGS, VALUE, ARG_INDEX, ARG_SIZE, MISALIGNED = -54, -52, -30, -49, -51, -13
SOURCE = """
kernel void sum(global const float *in, global float *out, local float *room) { out[get_group_id(0)] = in[get_global_id(0)]; }
kernel void paint(global float *out) { out[get_global_id(0)] = 1; }
kernel void sum_slowly(global const float *in, global float *out) { out[get_global_id(0)] = in[get_global_id(0)]; }
kernel void scale(global float *out) { out[get_global_id(0)] *= 2; }
"""
IN, OUT, ROOM = Arg("float*", "in", GLOBAL, qualifiers=1), Arg("float*", "out", GLOBAL), Arg("float*", "room", LOCAL)


def of(found: list[Finding], *names: str) -> list[Finding]:
    return [one for one in found if one.id in names]


def serious(found: list[Finding]) -> set[str]:
    return {one.id for one in found if one.severity != "info"}


class Summing:
    """A kernel that sums into a buffer."""

    def __init__(self, world: Make) -> None:
        self.process: World = world(source=SOURCE)
        self.kernel = self.process.kernel("sum", [IN, OUT, ROOM])
        self.source, self.target = self.process.buffer(4096, host_ptr=1 << 40), self.process.buffer(4096)
        for index, one in enumerate((self.source, self.target)):
            self.process.set_arg(self.kernel, index, one)

    def tries(self, local: int, refused: bool) -> None:
        self.process.set_arg(self.kernel, 2, 0, local * 4, local=True)
        self.process.launch(self.kernel, (1024,), (local,), status=WORK_GROUP_SIZE if refused else 0)

    def reads(self, what: int = 0) -> None:
        self.process.call("clEnqueueReadBuffer", queue=self.process.queue, buffer=what or self.target, size=4096, blocking=1)

    def by(self, name: str) -> None:
        kernel = self.process.kernel(name, [OUT])
        self.process.set_arg(kernel, 0, self.target)
        self.process.launch(kernel, (1024,))

    def ends(self) -> None:
        self.process.release(self.target)


# ---- programs that test refusals ----


@pytest.mark.parametrize(("statuses", "explains"), [((VALUE, KERNEL_ARGS, ARG_SIZE, MISALIGNED), False), ((VALUE,) * 4, True)])
def test_a_program_that_provokes_refusals_of_many_kinds(world: Make, look: Look, statuses: tuple[int, ...], explains: bool) -> None:
    one = Summing(world)
    for number, status in enumerate(statuses):
        words = {"queue": one.process.queue, "buffer": one.target, "size": 4096}
        one.process.call("clEnqueueFillBuffer", **words, status=status, caller=0x1000 + 16 * number)
    one.tries(96, refused=True)
    one.by("scale")
    one.reads()
    one.tries(96, refused=True)  # the last thing that it does
    found = look(one.process, "exit", exit_code=5)
    assert bool(serious(found)) is explains
    assert bool([entry for entry in diagnose(found, Outcome("exit", "")) if entry.status == "likely"]) is explains


# ---- launches ----


def test_an_autotuner_whose_last_sizes_are_refused(world: Make, look: Look) -> None:
    one = Summing(world)
    for local, refused in ((3, True), (64, False), (100, True), (256, False), (1 << 14, True), (1 << 20, True)):
        one.tries(local, refused)
        if not refused:
            one.reads()
    one.ends()
    assert not serious(look(one.process, "exit", exit_code=1))


def test_an_autotuner_that_builds_its_kernel_anew_and_whose_last_sizes_are_refused(world: Make, look: Look) -> None:
    one = Summing(world)
    for local, refused in ((64, False), (256, False), (1 << 14, True), (1 << 20, True)):
        one.process.build(SOURCE)
        kernel = one.process.kernel("paint", [OUT])
        one.process.set_arg(kernel, 0, one.target)
        one.process.launch(kernel, (1024,), (local,), status=WORK_GROUP_SIZE if refused else 0)
        if not refused:
            one.reads()
    one.ends()
    assert not serious(look(one.process))


@pytest.mark.parametrize(("read", "silent"), [(False, True), (True, False)])
def test_one_size_of_many_is_refused_in_a_program_that_passes(world: Make, look: Look, read: bool, silent: bool) -> None:
    """Each size comes with a number of its own; nothing reads what the refused launch should have left behind, or something does."""
    one = Summing(world)
    kernel = one.process.kernel("paint", [OUT, Arg("int", "tile")])
    one.process.set_arg(kernel, 0, one.target)
    for local, refused in ((16, False), (64, False), (1 << 14, True)):
        one.process.set_arg(kernel, 1, local, size=4)
        one.process.launch(kernel, (1024,), (local,), status=WORK_GROUP_SIZE if refused else 0)
        if not refused or read:
            one.reads()
    one.ends()
    assert bool(serious(look(one.process))) is not silent


def test_a_loop_of_sizes_of_which_none_is_taken(world: Make, look: Look) -> None:
    one = Summing(world)
    for local in (1 << 16, 1 << 14, 3):
        one.tries(local, True)
    one.ends()
    assert {"launch-refused", "failed-call"} <= serious(look(one.process, "exit", exit_code=1))


@pytest.mark.parametrize(("launches", "beside", "silent"), [(3, "paint", False), (2, "paint", True), (3, "sum_slowly", True)])
def test_launches_that_are_all_refused_and_whose_result_is_used(
    world: Make, look: Look, launches: int, beside: str, silent: bool
) -> None:
    """A kernel that fills a part of the result does not do the work of the refused one; one that is given all that it was given may."""
    one = Summing(world)
    other = one.process.kernel(beside, [IN, OUT] if beside == "sum_slowly" else [OUT])
    for index, memory in enumerate([one.source, one.target] if beside == "sum_slowly" else [one.target]):
        one.process.set_arg(other, index, memory)
    for _ in range(launches):
        one.tries(96, refused=True)
        one.process.launch(other, (1024,))
        one.reads()
    one.ends()
    assert bool(serious(look(one.process))) is not silent


def test_the_real_launch_is_refused_after_one_that_warms_up(world: Make, look: Look) -> None:
    one = Summing(world)
    one.tries(64, False)
    one.tries(3, True)
    one.ends()
    assert {"launch-refused", "failed-call"} <= serious(look(one.process, "exit", exit_code=1))


@pytest.mark.parametrize(("then", "explains"), [("paint", False), ("scale", True), ("read", True), ("read the input", False)])
def test_a_refused_launch_whose_result_is_used(world: Make, look: Look, then: str, explains: bool) -> None:
    """Another kernel writes the buffer anew, reads it too, or the host does; or only the input is used again."""
    one = Summing(world)
    one.tries(3, True)
    if then == "read":
        one.reads()
    elif then == "read the input":
        one.reads(one.source)
        other = one.process.kernel("paint", [OUT])
        one.process.set_arg(other, 0, one.process.buffer(64))
        one.process.launch(other, (16,))
    else:
        one.by(then)
    found = look(one.process, "exit", exit_code=1)
    assert bool(of(found, "launch-refused") and "launch-refused" in serious(found)) == explains
    assert ("ignored-error" in serious(found)) == explains


@pytest.mark.parametrize(("again", "severity"), [(True, "info"), (False, "error")])
def test_arguments_that_are_set_after_a_launch_was_refused(world: Make, look: Look, again: bool, severity: str) -> None:
    """A probe launches with arguments unset, and with an argument that the kernel does not have."""
    one = Summing(world)
    one.process.set_arg(one.kernel, 3, 0, 4, status=ARG_INDEX)
    del one.process._held[one.kernel].arguments[3]
    one.process.launch(one.kernel, (1024,), status=KERNEL_ARGS)
    if again:
        one.tries(64, False)
    one.reads()
    found = look(one.process, "exit", exit_code=1)
    (never,) = of(found, "argument-never-set")
    assert never.severity == severity and "argument 2" in never.message and "argument 3" not in never.message
    assert (serious(found) & {"ignored-error", "launch-refused"} == set()) == again
    (value,) = of(found, "refused-value")
    assert value.severity == ("warning" if again else "error") and "there is no argument 3" in value.message


@pytest.mark.parametrize("again", [True, False])
def test_a_size_that_is_corrected_before_the_first_launch_that_is_taken(world: Make, look: Look, again: bool) -> None:
    process = world()
    kernel = process.kernel("f", [Arg("float*", "out", GLOBAL), Arg("int4", "v")])
    process.set_arg(kernel, 1, 0, 12)
    process.launch(kernel, (64,), status=KERNEL_ARGS)
    process.set_arg(kernel, 0, process.buffer(4096))
    if again:
        process.set_arg(kernel, 1, 0, 16)
    process.launch(kernel, (64,))
    assert bool(of(look(process, "passed"), "argument-size")) != again


@pytest.mark.parametrize(("before", "sizes", "told"), [(True, (256, 0), False), (True, (0,), True), (False, (0,), True)])
def test_an_empty_tail(world: Make, look: Look, before: bool, sizes: tuple[int, ...], told: bool) -> None:
    """What an earlier launch wrote needs no tail; a fill is no launch."""
    process = world()
    buffer, kernel = process.buffer(4096), process.kernel("mark", [Arg("float*", "out", GLOBAL)])
    if before:
        process.call("clEnqueueFillBuffer", queue=process.queue, buffer=buffer, size=4096)
    process.set_arg(kernel, 0, buffer)
    for size in sizes:
        process.launch(kernel, (size,))
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=buffer, size=4096, blocking=1)
    assert bool(of(look(process, "exit", exit_code=1), "empty-launch")) == told


# ---- copies and fills ----


@pytest.mark.parametrize(("read", "explains"), [((1024, 64), False), ((0, 4), True), ((0, 2048), True)])
def test_a_refused_fill_whose_bytes_are_read(world: Make, look: Look, read: tuple[int, int], explains: bool) -> None:
    process = world()
    buffer = process.buffer(2048, host_ptr=1 << 40)
    process.call("clEnqueueFillBuffer", queue=process.queue, buffer=buffer, pattern_size=3, offset=0, size=30, status=VALUE)
    words = {"queue": process.queue, "buffer": buffer, "blocking": 1}
    process.call("clEnqueueReadBuffer", **words, offset=read[0], size=read[1])
    found = serious(look(process, "exit", exit_code=1))
    assert ({"ignored-error", "refused-value"} <= found) == explains and bool(found) == explains


@pytest.mark.parametrize(("offset", "explains"), [(0, False), (512, True)])
def test_a_refused_read_that_is_made_again(world: Make, look: Look, offset: int, explains: bool) -> None:
    """Of bytes from 400 on; with another part of the buffer it is not made again."""
    process = world()
    buffer = process.buffer(1024, host_ptr=1 << 40)
    words = {"queue": process.queue, "buffer": buffer, "blocking": 1}
    process.call("clEnqueueReadBuffer", **words, offset=400, size=8192, status=VALUE)
    other = process.buffer(64, host_ptr=1 << 40)
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=other, size=64, blocking=1)
    process.call("clEnqueueReadBuffer", **words, offset=offset, size=1024 - offset)
    assert ("ignored-error" in serious(look(process, "exit", exit_code=1))) == explains


# ---- what came of a failure ----


def test_two_refusals_with_one_buffer_are_two(world: Make, look: Look) -> None:
    process = world()
    buffer = process.buffer(1024, host_ptr=1 << 40)
    read = {"queue": process.queue, "buffer": buffer, "blocking": 1}
    process.call("clEnqueueReadBuffer", **read, size=8192, status=VALUE)
    process.call("clEnqueueReadBuffer", **read, offset=4, size=8192, status=VALUE, caller=77)
    process.call("clCreateSubBuffer", buffer=buffer, status=MISALIGNED, result=0)
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=buffer, size=64, blocking=1)
    (finding,) = of(look(process, "exit", exit_code=1), "ignored-error")
    assert "because of it" not in finding.message


@pytest.mark.parametrize(("status", "follows"), [(KERNEL_ARGS, True), (WORK_GROUP_SIZE, False)])
def test_a_launch_without_its_argument_follows(world: Make, look: Look, status: int, follows: bool) -> None:
    process = world()
    kernel = process.kernel("paint", [OUT])
    process.call("clSetKernelArg", kernel=kernel, index=0, size=2, pointer=1 << 40, status=ARG_SIZE)
    process.launch(kernel, (1024,), status=status)
    (finding,) = [one for one in look(process, "exit", exit_code=1) if one.id == "ignored-error" and "clSetKernelArg" in one.message]
    assert ("1 later call failed because of it: clEnqueueNDRangeKernel" in finding.message) == follows


@pytest.mark.parametrize(("again", "told"), [("before", False), ("after", True)])
def test_a_refused_write_that_is_made_with_less(world: Make, look: Look, again: str, told: bool) -> None:
    """A later write deals with it only if nothing has read the old content by then."""
    one = Summing(world)
    kernel = one.process.kernel("scale", [OUT])
    one.process.set_arg(kernel, 0, one.target)
    write = {"queue": one.process.queue, "buffer": one.target, "blocking": 1}
    one.process.call("clEnqueueWriteBuffer", **write, size=4096)
    one.process.call("clEnqueueWriteBuffer", **write, size=8192, status=VALUE)
    if again == "before":
        one.process.call("clEnqueueWriteBuffer", **write, size=2048)
    one.process.launch(kernel, (1024,))
    one.reads()
    one.process.call("clEnqueueWriteBuffer", **write, size=2048)
    one.process.launch(kernel, (512,))
    one.reads()
    one.ends()
    assert ("ignored-error" in serious(look(one.process))) == told


@pytest.mark.parametrize(("sizes", "severity"), [([8, 4], "info"), ([], "error")], ids=["memory that nobody used", "arguments not known"])
def test_a_refused_launch_whose_memory_is_not_known_may_be_missed(schema: str, look: Look, sizes: list[int], severity: str) -> None:
    cuda = CudaWorld(schema)
    memory, unused = cuda.alloc(4096), cuda.alloc(4096)
    cuda.launch(cuda.kernel("_Z5scalePfi", sizes), [unused, 1024][: len(sizes)], block=(2048, 1, 1), status=1)
    cuda.launch(cuda.kernel("_Z4fillPfi", [8, 4]), [memory, 1024])
    cuda.sync()
    cuda.call("cuMemcpyDtoH_v2", dst=0x5000, src=memory, size=4096)
    (one,) = of(look(cuda, "exit", exit_code=1), "launch-refused")
    assert one.severity == severity
