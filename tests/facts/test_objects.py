"""The table of objects: lives, references, owners, sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.opencl import OpenCL
from support.synthetic import Arg, World

from gpudx.facts import Facts, derive
from gpudx.facts.objects import NEVER, Objects


@pytest.fixture
def process(schema: str) -> World:
    return World(schema)


def _objects(process: World, path: Path) -> Objects:
    return derive(process.write(path / "1-0.gdx")).objects


def _row(objects: Objects, label: str) -> int:
    return next(row for row in range(len(objects)) if objects.label(row) == label)


def _at(objects: Objects, handle: int, position: int) -> str | None:
    row = int(objects.live_at(np.array([handle], np.uint64), np.array([position]))[0])
    return objects.label(row) if row >= 0 else None


def test_handle_is_reused(process: World, tmp_path: Path) -> None:
    handle = process.buffer(100)
    first = process.release(handle)
    process.buffer(200, result=handle)
    last = process.release(handle)
    objects = _objects(process, tmp_path)
    assert [int(objects.table["size"][_row(objects, f"buffer #{n}")]) for n in (1, 2)] == [100, 200]
    assert _at(objects, handle, first) == "buffer #1"
    assert _at(objects, handle, first + 1) is None, "the creating call has no handle yet"
    assert _at(objects, handle, first + 2) == "buffer #2"
    assert _at(objects, handle, last + 1) is None


def test_references_are_counted(process: World, tmp_path: Path) -> None:
    handle = process.buffer(100)
    process.call("clRetainMemObject", mem=handle)
    process.release(handle)
    last = process.release(handle)
    objects = _objects(process, tmp_path)
    assert int(objects.table["died"][_row(objects, "buffer #1")]) == last


def test_refused_release_ends_nothing(process: World, tmp_path: Path) -> None:
    process.release(process.buffer(100), status=-38)
    objects = _objects(process, tmp_path)
    assert objects.table["died"][_row(objects, "buffer #1")] == NEVER


def test_object_that_came_with_an_error_lives(process: World, tmp_path: Path) -> None:
    """PoCL 3.1 returns a context beside CL_DEVICE_NOT_FOUND, at the address of an earlier one, and counts its references."""
    handle = process.create("clCreateContext", num_devices=1)
    process.call("clReleaseContext", context=handle)
    process.create("clCreateContextFromType", device_type=4, status=-1, result=handle)
    last = process.call("clReleaseContext", context=handle)
    assert _at(_objects(process, tmp_path), handle, last) == "context #3"  # the world has one of its own


def test_released_twice_died_once(process: World, tmp_path: Path) -> None:
    handle = process.buffer(100)
    first = process.release(handle)
    process.release(handle)
    objects = _objects(process, tmp_path)
    assert int(objects.table["died"][_row(objects, "buffer #1")]) == first


def test_reference_lent_by_another_object_prolongs_the_life(process: World, tmp_path: Path) -> None:
    """The program drops its context, asks a queue for it, and retains it again."""
    process.call("clReleaseContext", context=process.context)
    process.call("clRetainContext", context=process.context)
    last = process.call("clReleaseContext", context=process.context)
    objects = _objects(process, tmp_path)
    assert int(objects.table["died"][_row(objects, "context #1")]) == last


def test_threads_that_overlap(process: World, tmp_path: Path) -> None:
    """A buffer is made in one thread while another releases its predecessor: the driver gives the address on."""
    handle = process.buffer(100)
    process.call("clCreateBuffer", context=process.context, size=200, result=handle, tid=1, begin=100_000, ticks=1000)
    process.call("clReleaseMemObject", mem=handle, tid=2, begin=100_100, ticks=10)
    use = process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=handle, size=8, begin=200_000)
    objects = _objects(process, tmp_path)
    assert int(objects.table["died"][_row(objects, "buffer #1")]) == use - 1
    assert objects.table["died"][_row(objects, "buffer #2")] == NEVER
    assert _at(objects, handle, use) == "buffer #2"
    assert _at(objects, handle, use - 1) == "buffer #1"


def test_owners_keep_objects_valid(process: World, tmp_path: Path) -> None:
    kernel = process.kernel("scale", [Arg("int", "n")])
    released = process.call("clReleaseProgram", program=process.program)
    process.call("clReleaseKernel", kernel=kernel)
    gone = process.call("clFlush", queue=process.queue)
    objects = _objects(process, tmp_path)
    assert _at(objects, process.program, released + 1) == "program #1"
    assert _at(objects, process.program, gone) is None


def test_copied_kernel_holds_the_program(process: World, tmp_path: Path) -> None:
    kernel = process.kernel("scale", [Arg("int", "n")])
    copy = process.create("clCloneKernel", source_kernel=kernel)
    process.call("clReleaseKernel", kernel=kernel)
    process.call("clReleaseProgram", program=process.program)
    end = process.call("clFlush", queue=process.queue)
    facts = derive(process.write(tmp_path / "1-0.gdx"))
    objects = facts.objects
    assert objects.label(int(objects.table["owner"][_row(objects, "kernel #2")])) == "program #1"
    assert (_at(objects, process.program, end), _at(objects, kernel, end)) == ("program #1", None)
    assert facts.kernels.name(int(objects.at(np.array([copy], np.uint64), np.array([end]))[0])) == "scale"


def test_functions_are_numbered_by_program_and_name(process: World, tmp_path: Path) -> None:
    for name in ("scale", "copy", "scale"):
        process.kernel(name, [])
    facts = derive(process.write(tmp_path / "1-0.gdx"))
    rows = facts.objects.rows_of("kernel")
    assert facts.kernels.functions(np.append(rows, -1)).tolist() == [0, 1, 0, -1]


def test_driver_that_gives_the_same_object_out_again(process: World, tmp_path: Path) -> None:
    """Two calls make the same sampler: it lives until both are released."""
    handle = process.create("clCreateSampler", context=process.context)
    process.create("clCreateSampler", context=process.context, result=handle)
    first = process.call("clReleaseSampler", sampler=handle)
    last = process.call("clReleaseSampler", sampler=handle)
    objects = _objects(process, tmp_path)
    assert _at(objects, handle, first + 1) is not None
    assert _at(objects, handle, last + 1) is None


def test_image_made_from_a_buffer_holds_it(process: World, tmp_path: Path) -> None:
    buffer = process.buffer(4096)
    desc = bytes(64) + buffer.to_bytes(8, "little")
    image = process.create("clCreateImage", context=process.context, arrays={"desc": desc})
    released = process.release(buffer)
    last = process.release(image)
    objects = _objects(process, tmp_path)
    assert objects.label(int(objects.table["parent"][_row(objects, "image #1")])) == "buffer #1"
    assert _at(objects, buffer, released + 1) == "buffer #1"
    assert _at(objects, buffer, last + 1) is None


def test_list_of_freed_pointers_is_not_taken_for_an_event(process: World, tmp_path: Path) -> None:
    pointer = process.create("clSVMAlloc", context=process.context, size=64)
    process.call(
        "clEnqueueSVMFree",
        queue=process.queue,
        num_svm=1,
        event=0x1234,
        arrays={"svm_list": pointer.to_bytes(8, "little")},
    )
    objects = _objects(process, tmp_path)
    assert 0x1234 not in objects.table["handle"].tolist()


@pytest.fixture(scope="module")
def recorded(opencl: OpenCL) -> Facts:
    run = opencl.run("objects")
    assert run.outcome.kind == "passed", run.output
    assert not run.findings
    return run.facts


def test_sub_buffer_of_a_real_driver(recorded: Facts) -> None:
    objects = recorded.objects
    part = objects.table[_row(objects, "subbuffer #1")]
    assert (int(part["offset"]), int(part["size"])) == (4096, 1024)
    assert objects.label(int(part["parent"])) == "buffer #1"


def test_everything_was_released(recorded: Facts) -> None:
    objects = recorded.objects
    alive = [objects.label(row) for row in range(len(objects)) if objects.table["died"][row] == NEVER]
    assert [label for label in alive if not label.startswith("device")] == []
