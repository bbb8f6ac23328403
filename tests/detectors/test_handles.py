"""value-is-not-a-handle, use-of-released-object and host-pointer-as-buffer."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL
from support.synthetic import GLOBAL, Arg
from support.typed import decoded, fact

VALUE, RELEASED, HOST = "value-is-not-a-handle", "use-of-released-object", "host-pointer-as-buffer"
REFUSED = "Intel's driver refuses what is no handle, and does not crash"
GONE = pytest.mark.pocl("Intel's driver ends an object with its last release, also while other objects hold it")


@pytest.mark.parametrize(
    ("mode", "origin", "text"),
    [
        ("dead", "dead", "buffer #3 to kernel scale as argument 0 (float* data) after it had been released (clReleaseMemObject, call"),
        ("foreign", "foreign", "the handle of queue #1"),
        ("size", "size", "the byte size of buffer #2"),
        ("number", "number", "a number that was also passed as argument 2 of kernel copy"),
        ("small", "small", "the number 7"),
        ("wild", "unmapped", "an address at which the process has no memory"),
    ],
)
def test_value_is_decoded(opencl: OpenCL, mode: str, origin: str, text: str) -> None:
    finding = opencl.run("not_a_handle", mode).only(VALUE)
    assert finding.severity == "error"
    assert fact(finding, "origin") == origin
    assert text in finding.message
    assert finding.site is not None
    assert (finding.site.call, finding.site.kernel, finding.site.argument) == ("clSetKernelArg", "scale", 0)
    assert finding.site.argument_name == "data"
    assert finding.site.source and "/not_a_handle.c:" in finding.site.source  # beyond the wrapper that sets every argument
    assert finding.site.through and "/common.h:" in finding.site.through


def test_right_value_is_silent(opencl: OpenCL) -> None:
    assert not opencl.run("not_a_handle", "right").findings


@pytest.mark.pocl(REFUSED)
def test_crash_and_value_name_the_same_site(opencl: OpenCL) -> None:
    run = opencl.run("not_a_handle", "size")
    crash, value = run.only("crash-in-call"), run.only(VALUE)
    assert run.outcome.signal == "SIGSEGV"
    assert crash.site == value.site
    assert crash.causes[0] == VALUE
    assert decoded(crash).startswith("value 0x48000 + 0x")


@pytest.mark.pocl(REFUSED)
def test_launch_that_fails_with_the_value_is_named(opencl: OpenCL) -> None:
    run = opencl.run("not_a_handle", "launch")
    assert run.outcome.kind != "passed"
    assert [site.call for site in run.only(VALUE).others] == ["clEnqueueNDRangeKernel"]


@pytest.mark.parametrize(
    ("mode", "call", "kind"),
    [
        ("buffer", "clEnqueueWriteBuffer", "Buffer #1"),
        ("kernel", "clSetKernelArg", "Kernel #1"),
        ("twice", "clReleaseKernel", "Kernel #1"),
    ],
)
def test_released_object(opencl: OpenCL, mode: str, call: str, kind: str) -> None:
    finding = opencl.run("released_object", mode).only(RELEASED)
    assert finding.severity == "error"
    assert finding.message.startswith(f"{kind} had been released")
    assert finding.site is not None and finding.site.call == call
    assert finding.others[0].call.startswith("clRelease")


@pytest.mark.parametrize(
    "mode", [*(pytest.param(mode, marks=GONE) for mode in ("context", "program", "parent")), "retained", "right"]
)
def test_objects_that_others_hold_are_silent(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("released_object", mode)
    assert run.outcome.kind == "passed"
    assert not run.errors


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("stack", "an address on the program's stack"),
        ("heap", "the host memory that a memory object was made from"),
        ("mapped", "the address that a map call returned"),
        ("handle", "was passed buffer #1 itself for argument 0 (float* data) of kernel scale"),
    ],
)
def test_host_pointer(opencl: OpenCL, mode: str, text: str) -> None:
    run = opencl.run("host_pointer", mode)
    finding = run.only(HOST)
    assert finding.severity == "error"
    assert text in finding.message
    assert not run.of(VALUE)


def test_buffer_made_from_host_memory_is_silent(opencl: OpenCL) -> None:
    assert not opencl.run("host_pointer", "right").errors


# ---- what a driver at hand does not show ----


def test_handle_that_was_never_recorded_is_no_error(world: Make, look: Look) -> None:
    """An object made through an extension: the driver accepts it, so it is one."""
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, 0x7F1234567000)
    process.launch(kernel, (64,))
    assert not [f for f in look(process) if f.severity == "error"]


def test_unrecorded_handle_that_is_set_twice_is_not_taken_for_a_number(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    for _ in range(2):
        process.set_arg(kernel, 0, 0x7F1234567000)
    assert not [f for f in look(process) if f.severity == "error"]


def test_object_that_came_with_an_error_may_be_released(world: Make, look: Look) -> None:
    process = world()
    handle = process.create("clCreateContext", num_devices=1)
    process.call("clReleaseContext", context=handle)
    process.create("clCreateContextFromType", device_type=4, status=-1, result=handle)
    process.call("clReleaseContext", context=handle)
    assert not look(process)
    process.call("clReleaseContext", context=handle)
    assert [finding.id for finding in look(process)] == ["use-of-released-object"]


def test_repeats_are_counted(world: Make, look: Look) -> None:
    process = world()
    process.buffer(294912)
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    for _ in range(100):
        process.set_arg(kernel, 0, 294912)
    (finding,) = [f for f in look(process) if f.id == VALUE]
    assert finding.count == 100


def test_offset_of_a_copy_is_decoded(world: Make, look: Look) -> None:
    process = world()
    buffer = process.buffer(1 << 20)
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=buffer, offset=0x8010, size=64)
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, 0x8010)
    (finding,) = [f for f in look(process) if f.id == VALUE]
    assert fact(finding, "origin") == "offset"
    assert "the offset that clEnqueueWriteBuffer was passed before" in finding.message


def test_queue_given_as_buffer(world: Make, look: Look) -> None:
    process = world()
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=process.queue, size=64, status=-38)
    (finding,) = [f for f in look(process) if f.id == VALUE]
    assert "as buffer, which is the handle of queue #1, not a memory object" in finding.message


def test_null_handles_are_left_to_the_errors(world: Make, look: Look) -> None:
    process = world()
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=0, size=64, status=-38)
    assert not [f for f in look(process) if f.id in (VALUE, RELEASED)]


def test_address_of_a_dead_object_of_another_kind_is_unknown(world: Make, look: Look) -> None:
    """The driver may have put something there that was not recorded."""
    process = world()
    address = process.kernel("other", [])
    process.call("clReleaseKernel", kernel=address)
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, address)
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=address, size=64)
    assert not [f for f in look(process) if f.severity == "error"]
