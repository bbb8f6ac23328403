"""refused-value, no-device, wrong-context-handle, buffer-used-while-mapped, empty-launch, and launch limits without a refusal."""

from __future__ import annotations

import struct

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, LOCAL, Arg, World

from gpudx.model import Finding

INVALID, NOT_FOUND, INVALID_GROUP, MISALIGNED, INVALID_CONTEXT = -30, -1, -54, -13, -34
POINTER = Arg("int*", "x", GLOBAL)


def of(found: list[Finding], name: str) -> list[Finding]:
    return [one for one in found if one.id == name]


def read(process: World, buffer: int, offset: int, size: int, **more: int) -> int:
    fields = {"queue": process.queue, "buffer": buffer, "blocking": 1, "offset": offset, "size": size, "ptr": 0x5000}
    return process.call("clEnqueueReadBuffer", **{**fields, **more})


# ---- refused-value ----


def test_a_refused_read_says_both_sizes(world: Make, look: Look) -> None:
    process = world()
    read(process, process.buffer(4096), 0, 1 << 20, status=INVALID)
    (finding,) = of(look(process, "exit", exit_code=1), "refused-value")
    assert "requests 1,048,576 bytes of buffer #1, which has 4,096 bytes" in finding.message
    assert finding.causes == ("copy-range",)
    assert finding.severity == "error"


def test_a_negative_size_is_shown_as_such(world: Make, look: Look) -> None:
    process = world()
    read(process, process.buffer(64), 0, (1 << 64) - 8, status=INVALID)
    (finding,) = of(look(process, "exit", exit_code=1), "refused-value")
    assert "-8 as a signed number" in finding.message


@pytest.mark.parametrize("fields", [{"offset": 0, "size": 4096}, {"offset": 4000, "size": 96}])
def test_a_read_that_fits_and_was_refused_for_another_reason_is_not_explained(
    world: Make, look: Look, fields: dict[str, int]
) -> None:
    process = world()
    read(process, process.buffer(4096), **fields, status=INVALID)
    assert not of(look(process, "exit", exit_code=1), "refused-value")


def test_a_fill_whose_offset_is_no_multiple_of_its_pattern(world: Make, look: Look) -> None:
    process = world()
    words = {"queue": process.queue, "buffer": process.buffer(4096), "pattern_size": 16, "size": 1024}
    process.call("clEnqueueFillBuffer", **words, offset=24, status=INVALID)
    (finding,) = of(look(process, "exit", exit_code=1), "refused-value")
    assert "the offset 24 is not a multiple of the pattern's 16 bytes" in finding.message
    assert finding.causes == ("refused-value",)


def test_a_part_that_ends_behind_its_buffer(world: Make, look: Look) -> None:
    process = world()
    region = {"create_info": struct.pack("<2Q", 4096, 4096)}
    process.call("clCreateSubBuffer", buffer=process.buffer(6000), arrays=region, status=INVALID)
    (finding,) = of(look(process, "exit", exit_code=1), "refused-value")
    assert "4,096 bytes from byte 4,096 on of buffer #1, which has 6,000 bytes" in finding.message


REFUSED, NO_ACCESS, HOST_READ_ONLY, HOST_WRITE_ONLY = -59, 1 << 9, 1 << 8, 1 << 7


@pytest.mark.parametrize(
    ("flags", "call", "more", "says"),
    [
        (NO_ACCESS, "clEnqueueReadBuffer", {}, "CL_MEM_HOST_NO_ACCESS, so the host can neither read, write nor map it"),
        (HOST_WRITE_ONLY, "clEnqueueReadBuffer", {}, "CL_MEM_HOST_WRITE_ONLY, so the host cannot read it"),
        (HOST_READ_ONLY, "clEnqueueWriteBuffer", {}, "CL_MEM_HOST_READ_ONLY, so the host cannot write it"),
        (HOST_READ_ONLY, "clEnqueueMapBuffer", {"flags": 2}, "CL_MEM_HOST_READ_ONLY, so the host cannot write it"),
        (HOST_READ_ONLY, "clEnqueueReadBuffer", {}, ""),
        (HOST_WRITE_ONLY, "clEnqueueWriteBuffer", {}, ""),
        (HOST_READ_ONLY, "clEnqueueMapBuffer", {"flags": 1}, ""),
        (0, "clEnqueueReadBuffer", {}, ""),
    ],
)
def test_memory_that_the_host_may_not_access(world: Make, look: Look, flags: int, call: str, more: dict[str, int], says: str) -> None:
    process = world()
    buffer = process.create("clCreateBuffer", context=process.context, flags=1 | flags, size=64)
    fields = {"queue": process.queue, "buffer": buffer, "blocking": 1, "offset": 0, "size": 64, **more}
    process.call(call, **fields, **({} if "Map" in call else {"ptr": 0x5000}), status=REFUSED)
    found = of(look(process, "exit", exit_code=1), "refused-value")
    assert [one.message.partition("created with ")[2].rstrip(".") for one in found] == ([says] if says else [])


# ---- no-device ----


def test_no_device_of_the_wanted_kind(schema: str, look: Look) -> None:
    process = World(schema)
    process._calls.clear()
    process.call("clGetDeviceIDs", device_type=4, num_entries=1, status=NOT_FOUND)
    (finding,) = of(look(process, "exit", exit_code=1), "no-device")
    assert "no device of type GPU" in finding.message


def test_a_program_that_finds_another_device_is_silent(world: Make, look: Look) -> None:
    process = world()  # it has a context
    process.call("clGetDeviceIDs", device_type=4, num_entries=1, status=NOT_FOUND)
    assert not of(look(process, "exit", exit_code=1), "no-device")


# ---- wrong-context-handle ----


def foreign(world: Make) -> tuple[World, int]:
    process = world()
    other = process.create("clCreateContext")
    return process, process.create("clCreateBuffer", context=other, flags=1, size=64)


def test_a_buffer_of_another_context(world: Make, look: Look) -> None:
    process, buffer = foreign(world)
    kernel = process.kernel("twice", [POINTER])
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, [16])
    read(process, buffer, 0, 64, status=INVALID_CONTEXT)
    (finding,) = of(look(process, "exit", exit_code=1), "wrong-context-handle")
    assert "belongs to context #2, in a queue of context #1" in finding.message
    assert finding.site is not None and (finding.site.kernel, finding.site.argument) == ("twice", 0)
    assert [one.status for one in finding.others] == ["CL_INVALID_CONTEXT"]


def test_a_refused_copy_of_a_buffer_of_another_context(world: Make, look: Look) -> None:
    process, buffer = foreign(world)
    words = {"queue": process.queue, "src_buffer": buffer, "dst_buffer": process.buffer(64), "size": 64}
    process.call("clEnqueueCopyBuffer", **words, status=INVALID_CONTEXT)
    (finding,) = of(look(process, "exit", exit_code=1), "wrong-context-handle")
    assert finding.message.startswith("clEnqueueCopyBuffer (call ") and "belongs to context #2, in a queue of context #1" in finding.message
    assert finding.root is None, "the line to change is where it is used; where it was made stands beside it"
    assert "in context #2" in finding.evidence[0].text


def test_a_copy_that_is_refused_for_another_reason_is_silent(world: Make, look: Look) -> None:
    process, _ = foreign(world)
    words = {"queue": process.queue, "src_buffer": process.buffer(64), "dst_buffer": process.buffer(64), "size": 128}
    process.call("clEnqueueCopyBuffer", **words, status=INVALID)
    assert not of(look(process, "exit", exit_code=1), "wrong-context-handle")


def test_two_contexts_with_their_own_buffers_are_silent(world: Make, look: Look) -> None:
    process, _ = foreign(world)
    read(process, process.buffer(64), 0, 64)
    assert not of(look(process), "wrong-context-handle")


# ---- buffer-used-while-mapped ----


def mapped(world: Make, *, flags: int = 2, unmap: bool = False, offset: int = 0) -> World:
    process = world()
    buffer, pointer = process.buffer(4096), 0x70000000
    words = {"queue": process.queue, "buffer": buffer, "blocking": 1, "flags": flags}
    process.call("clEnqueueMapBuffer", **words, offset=offset, size=1024, result=pointer)
    if unmap:
        process.call("clEnqueueUnmapMemObject", queue=process.queue, mem=buffer, mapped=pointer)
    read(process, buffer, 0, 1024)
    return process


def test_a_copy_of_a_buffer_that_is_mapped_for_writing(world: Make, look: Look) -> None:
    (finding,) = of(look(mapped(world)), "buffer-used-while-mapped")
    assert finding.severity == "error"
    assert "it was never unmapped" in finding.message


@pytest.mark.parametrize("more", [{"flags": 1}, {"unmap": True}, {"offset": 2048}])
def test_mapped_for_reading_unmapped_or_elsewhere_is_silent(world: Make, look: Look, more: dict[str, int]) -> None:
    assert not of(look(mapped(world, **more)), "buffer-used-while-mapped")


# ---- empty-launch ----


@pytest.mark.parametrize(("size", "ending", "count"), [(0, "exit", 1), (0, "passed", 0), (64, "exit", 0)])
def test_a_launch_without_work_items(world: Make, look: Look, size: int, ending: str, count: int) -> None:
    process = world()
    buffer, kernel = process.buffer(64), process.kernel("rest", [POINTER])
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, [size])
    read(process, buffer, 0, 64)
    assert len(of(look(process, ending), "empty-launch")) == count


# ---- launches that no status explains ----


def test_more_local_memory_than_the_device_has_though_the_driver_accepts_it(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("stage", [Arg("float*", "tile", 0x119C)])
    process.set_arg(kernel, 0, 0, 65536, local=True)
    process.launch(kernel, [64], [64])
    (finding,) = of(look(process), "launch-refused")
    assert "which this driver did not refuse" in finding.message


def test_as_much_local_memory_as_there_is_is_silent(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("stage", [Arg("float*", "tile", 0x119C)])
    process.set_arg(kernel, 0, 0, 49152, local=True)
    process.launch(kernel, [64], [64])
    assert not of(look(process), "launch-refused")


@pytest.mark.parametrize(("again", "severity"), [(False, "error"), (True, "info")])
def test_a_refused_launch_whose_result_is_used_unless_it_is_made_again(
    world: Make, look: Look, again: bool, severity: str
) -> None:
    process = world()
    buffer, kernel = process.buffer(64), process.kernel("negate", [POINTER])
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, [4096], [4096], status=INVALID_GROUP)
    if again:
        process.launch(kernel, [4096], [64])
    read(process, buffer, 0, 64)
    (finding,) = of(look(process), "launch-refused")
    assert finding.severity == severity


# ---- refused-value: flags, pointers, lists, pitches and arguments ----


def refused(look: Look, process: World) -> str:
    (finding,) = of(look(process, "exit", exit_code=1), "refused-value")
    return finding.message


@pytest.mark.parametrize(
    ("flags", "host_ptr", "says"),
    [
        (0x20, 0, "CL_MEM_COPY_HOST_PTR needs a host pointer, and it is null"),
        (0x1, 0x5000, "a host pointer is passed, but the flags have neither"),
        (0x6, 0, "CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY exclude each other"),
        (0x18, 0x5000, "CL_MEM_USE_HOST_PTR and CL_MEM_ALLOC_HOST_PTR exclude each other"),
    ],
)
def test_flags_and_host_pointer(world: Make, look: Look, flags: int, host_ptr: int, says: str) -> None:
    process = world()
    process.call("clCreateBuffer", context=process.context, flags=flags, size=64, host_ptr=host_ptr, status=-37)
    assert says in refused(look, process)


def test_good_flags_that_were_refused_for_another_reason_are_not_explained(world: Make, look: Look) -> None:
    process = world()
    process.call("clCreateBuffer", context=process.context, flags=0x24, size=64, host_ptr=0x5000, status=-4)
    assert not of(look(process, "exit", exit_code=1), "refused-value")


@pytest.mark.parametrize(
    ("index", "size", "value", "says"),
    [
        (2, 4, 0x5000, "there is no argument 2: the kernel has 2 (0 to 1)"),
        (1, 64, 0x5000, "argument 1 is local memory, which takes a size in bytes and a null value"),
        (1, 0, 0, "argument 1 is local memory, and its size is 0"),
    ],
)
def test_refused_arguments(world: Make, look: Look, index: int, size: int, value: int, says: str) -> None:
    process = world()
    kernel = process.kernel("add", [POINTER, Arg("float*", "tile", LOCAL)])
    process.call("clSetKernelArg", kernel=kernel, index=index, size=size, pointer=value, status=-49)
    assert says in refused(look, process)


def test_lists_of_events(world: Make, look: Look) -> None:
    process = world()
    words = {"queue": process.queue, "buffer": process.buffer(64), "blocking": 1, "size": 64, "ptr": 0x5000}
    process.call("clEnqueueReadBuffer", **words, arrays={"waits": struct.pack("<2Q", 0x7000, 0)}, status=-57)
    assert "event 1 of the wait list is null" in refused(look, process)


def test_an_overlapping_copy(world: Make, look: Look) -> None:
    process = world()
    one = process.buffer(4096)
    sides = {"src_buffer": one, "dst_buffer": one, "src_offset": 0, "dst_offset": 100}
    process.call("clEnqueueCopyBuffer", queue=process.queue, **sides, size=200, status=-8)
    assert "source (bytes 0 to 199) and destination (from byte 100 on) overlap" in refused(look, process)


def test_pitches(world: Make, look: Look) -> None:
    process = world()
    arrays = {"region": struct.pack("<3Q", 256, 4, 1), "buffer_origin": bytes(24), "host_origin": bytes(24)}
    words = {"queue": process.queue, "buffer": process.buffer(4096), "ptr": 0x5000, "buffer_row_pitch": 128, "host_row_pitch": 256}
    process.call("clEnqueueReadBufferRect", **words, arrays=arrays, status=INVALID)
    assert refused(look, process).endswith("a row of 256 bytes does not fit the buffer row pitch of 128.")


def test_an_address_that_was_never_mapped(world: Make, look: Look) -> None:
    process = world()
    process.call("clEnqueueUnmapMemObject", queue=process.queue, mem=process.buffer(64), mapped=0x1230, status=INVALID)
    assert "0x1230 is not an address that a map of this program returned" in refused(look, process)


@pytest.mark.parametrize(("offset", "found"), [(0, 1), (3072, 0)])
def test_a_second_part_does_not_replace_a_copy_that_was_refused(world: Make, look: Look, offset: int, found: int) -> None:
    """The rest of a block that wraps begins elsewhere; one that is tried again with less begins at the same byte."""
    process = world()
    words = {"queue": process.queue, "src_buffer": process.buffer(2048), "dst_buffer": process.buffer(4096)}
    process.call("clEnqueueCopyBuffer", **words, src_offset=0, dst_offset=3072, size=2048, status=INVALID)
    process.call("clEnqueueCopyBuffer", **words, src_offset=0, dst_offset=offset, size=1024)
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=words["dst_buffer"], size=4096)
    assert len(of(look(process, "passed"), "refused-value")) == found


# ---- arguments-overlap ----


def part_of(process: World, buffer: int, origin: int, size: int) -> int:
    return process.create("clCreateSubBuffer", buffer=buffer, arrays={"create_info": struct.pack("<2Q", origin, size)})


@pytest.mark.parametrize(
    ("first", "second", "space", "found"),
    [
        ((0, 1024), (256, 1024), POINTER, 1),
        ((0, 1024), (256, 1024), Arg("int*", "x", GLOBAL, qualifiers=1), 0),  # both only read
        ((0, 1024), (1024, 1024), POINTER, 0),
        ((0, 1024), (0, 1024), POINTER, 0),
        ((0, 1024), (0, 256), POINTER, 0),  # the head of the other
        ((256, 256), (0, 1024), POINTER, 0),  # the outer one is written
    ],
)
def test_parts_of_one_buffer(
    world: Make, look: Look, first: tuple[int, int], second: tuple[int, int], space: Arg, found: int
) -> None:
    process = world()
    whole = process.buffer(4096)
    kernel = process.kernel("step", [Arg("int*", "src", GLOBAL, qualifiers=1), space])
    process.set_arg(kernel, 0, part_of(process, whole, *first))
    process.set_arg(kernel, 1, part_of(process, whole, *second))
    process.launch(kernel, (64,))
    findings = of(look(process, "exit", exit_code=1), "arguments-overlap")
    assert len(findings) == found
    if found:
        assert "they share 768 bytes" in findings[0].message and findings[0].root is not None
        assert [f.severity for f in of(look(process, "passed"), "arguments-overlap")] == ["warning"]


def test_a_part_that_begins_inside_another_one_counts_if_the_run_failed(world: Make, look: Look) -> None:
    process = world()
    whole = process.buffer(4096)
    kernel = process.kernel("step", [Arg("int*", "src", GLOBAL, qualifiers=1), POINTER])
    process.set_arg(kernel, 0, part_of(process, whole, 0, 1024))
    process.set_arg(kernel, 1, part_of(process, whole, 256, 256))
    process.launch(kernel, (64,))
    (finding,) = of(look(process, "exit", exit_code=1), "arguments-overlap")
    assert "they share 256 bytes" in finding.message
    assert not of(look(process, "passed"), "arguments-overlap")


# ---- refusals that the program deals with ----

ARG_SIZE, NO_KERNEL, BUILD_FAILED = -51, -46, -11


@pytest.mark.parametrize(
    ("again", "launched", "names"),
    [(True, True, []), (True, False, []), (False, True, ["argument-size"]), (False, False, ["argument-size"])],
)
def test_a_refused_argument_that_is_set_again(world: Make, look: Look, again: bool, launched: bool, names: list[str]) -> None:
    """A program may try one size after another; what counts is what the launch gets."""
    process = world()
    kernel = process.kernel("scale", [POINTER, Arg("int", "n")])
    process.set_arg(kernel, 0, process.buffer(64))
    process.set_arg(kernel, 1, 16, 8, status=ARG_SIZE)
    if again:
        process.set_arg(kernel, 1, 16, 4)
    if launched:
        process.launch(kernel, [16])
    assert [one.id for one in look(process) if one.severity == "error"] == names


@pytest.mark.parametrize(("used", "severity"), [(True, "warning"), (False, "info")])
def test_a_refused_launch_that_nobody_missed(world: Make, look: Look, used: bool, severity: str) -> None:
    """A search for the largest group: nothing reads what the refused launch should have written."""
    process = world()
    kernel, other = process.kernel("tune", [POINTER]), process.kernel("work", [POINTER])
    scratch, data = process.buffer(65536), process.buffer(65536)
    process.set_arg(kernel, 0, scratch)
    process.launch(kernel, [16384], [16384], status=INVALID_GROUP)
    process.set_arg(kernel, 0, data)
    process.set_arg(other, 0, data)
    process.launch(kernel, [64], [64])
    process.launch(other, [64], [64])
    read(process, scratch if used else data, 0, 64)
    (finding,) = of(look(process), "launch-refused")
    assert finding.severity == severity


@pytest.mark.parametrize("reused", [True, False])
def test_a_failed_build_and_a_kernel_of_another_program(world: Make, look: Look, reused: bool) -> None:
    """The driver gives the second program the handle of the first, which was released: that its kernel is missing has another reason."""
    process = world()
    first = process.create("clCreateProgramWithSource", context=process.context)
    process.call("clBuildProgram", program=first, status=BUILD_FAILED)
    if reused:
        process.call("clReleaseProgram", program=first)
        process.create("clCreateProgramWithSource", context=process.context, result=first)
        process.call("clBuildProgram", program=first)
    process.call("clCreateKernel", program=first, status=NO_KERNEL)
    kernel = process.kernel("work", [POINTER])
    process.set_arg(kernel, 0, process.buffer(64))
    process.launch(kernel, [16])
    followed = [one for one in look(process) if "failed because of it" in one.message]
    assert bool(followed) is not reused
