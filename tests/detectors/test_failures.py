"""ignored-error, failed-call and read-before-write."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL
from support.synthetic import World

INVALID_NAME = -46
IGNORED, FAILED, UNWRITTEN, REJECTED = "ignored-error", "failed-call", "read-before-write", "kernel-does-not-build"


def test_failed_build_and_its_followers(opencl: OpenCL) -> None:
    run = opencl.run("ignored", "build")
    finding = run.only(IGNORED)
    assert run.outcome.kind != "passed"
    assert finding.severity == "error"
    assert finding.site is not None and finding.site.call == "clBuildProgram"
    assert [site.call for site in finding.others][:2] == ["clCreateKernel", "clSetKernelArg"]


def test_program_that_stops_at_the_failure(opencl: OpenCL) -> None:
    run = opencl.run("ignored", "checked")
    assert not run.of(IGNORED)
    assert run.only(FAILED).site == run.only(REJECTED).site
    finding = run.only(REJECTED)
    assert finding.site is not None and finding.site.call == "clBuildProgram" and finding.certainty == "observed"
    assert "ignored.c:12: use of undeclared identifier 'nonsense'" in finding.message, "the line of the file that has the text"
    texts = [e.text for e in finding.evidence]
    assert any(text.startswith("built by clBuildProgram (call") and "ignored.c:" in text for text in texts)
    assert not any("went on" in text or "died" in text for text in texts), "it stopped at the failure"
    assert not any("kernel void f" in text for text in texts), "the line is on the screen"


def test_a_program_that_goes_on_without_its_kernel(opencl: OpenCL) -> None:
    """The kernel that was not created, and, where the driver does not refuse it, the call that was passed NULL."""
    run = opencl.run("ignored", "build")
    finding = run.only(REJECTED)
    texts = [e.text for e in finding.evidence]
    assert any(text.startswith("the program continued, and clCreateKernel (call") and "returned no kernel" in text for text in texts)
    assert any("Check the status of clBuildProgram (call" in step for step in finding.steps)
    died = [text for text in texts if "which was passed NULL as its kernel" in text]
    assert bool(died) == (run.outcome.kind == "signal"), run.outcome


def test_build_options_that_the_driver_refuses(world: Make, look: Look) -> None:
    process = world()
    process.call("clBuildProgram", texts={"options": "-cl-fast-math"}, program=process.program, status=-43)
    (finding,) = [f for f in look(process, "exit", exit_code=1) if f.id == REJECTED]
    assert "does not accept the build options '-cl-fast-math'" in finding.message


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("error: /cache/tempfile_HDu.cl:2:17: use of undeclared identifier 'y'\nerror: Device failed to build", "line 2: use of "),
        ("1:2:9: error: unknown type name 'half9'\n1:3:1: error: expected ';'", "line 2: unknown type name 'half9'"),
        ("<kernel>:2:5: error: expected expression\n", "line 2: expected expression"),
        ('"/tmp/OCL1T1.cl", line 2: error: identifier "y" is undefined', 'line 2: identifier "y" is undefined'),
        ("In file included from 1:1:\n./sizes.h:7:2: fatal error: 'tile.h' file not found", "./sizes.h:7: 'tile.h' file not found"),
        ("ptxas error   : Entry function 'add' uses too much shared data (0xd000 bytes, 0xc000 max)", "uses too much shared data"),
        ("", "The driver did not build a kernel's source"),
        ("warning: unused variable\n1:2:9: warning: implicit conversion", "The driver did not build a kernel's source"),
    ],
)
def test_the_first_error_of_a_build_log(world: Make, look: Look, log: str, said: str) -> None:
    process = world(source="kernel void add(global int *x) {\n\tx[0] = y;\n}\n")
    process.call("clBuildProgram", program=process.program, status=-11)
    process.note("note_build_log", {"program": process.program}, text=log)
    (finding,) = [f for f in look(process, "exit", exit_code=1) if f.id == REJECTED]
    assert said in finding.message, finding.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-I . -DRADIUS=2 -DLIMIT=2f", "in `LIMIT`, which the option -DLIMIT=2f defines"),
        ("-D LIMIT=2f -DLIMITS=3", "in `LIMIT`, which the option -DLIMIT=2f defines"),
        ("-DLIMITS=2f", "line 2: invalid digit 'f' in decimal constant (clBuildProgram"),
        ("", "line 2: invalid digit 'f' in decimal constant (clBuildProgram"),
    ],
)
def test_the_option_that_defines_what_does_not_compile(world: Make, look: Look, options: str, said: str) -> None:
    process = world(source="kernel void add(global float *x) {\n\tx[0] = LIMIT;\n}\n")
    process.call("clBuildProgram", program=process.program, status=-11, texts={"options": options})
    log = "error: /cache/tempfile_u9.cl:2:9 <Spelling=<command line>:6:20>: invalid digit 'f' in decimal constant\n1 error generated."
    process.note("note_build_log", {"program": process.program}, text=log)
    (finding,) = [f for f in look(process, "exit", exit_code=1) if f.id == REJECTED]
    assert said in finding.message and "tempfile" not in str(finding), finding.message


def _padded(length: int, last: str) -> str:
    """Options of this length that end with these."""
    return f"-I {'d' * (length - len(last) - 4)} {last}"


@pytest.mark.parametrize(
    ("options", "buffer"),
    [
        (_padded(63, "-DREAL=floa"), 64),
        (_padded(199, "-DREAL=floa"), 200),
        (_padded(62, "-DREAL=floa"), 0),  # one more character fits
        (_padded(63, "-DREAL=floa -DN=4"), 0),  # the end is not what is wrong
        (_padded(15, "-DREAL=floa"), 0),
    ],
)
def test_options_that_fill_a_buffer_may_be_cut_off(world: Make, look: Look, options: str, buffer: int) -> None:
    process = world(source="kernel void add(global float *x) {\n\tREAL s = x[0];\n}\n")
    process.call("clBuildProgram", program=process.program, status=-11, texts={"options": options})
    log = "error: /cache/tempfile_u9.cl:2:2 <Spelling=<command line>:6:14>: use of undeclared identifier 'floa'\n1 error generated."
    process.note("note_build_log", {"program": process.program}, text=log)
    (finding,) = [f for f in look(process, "exit", exit_code=1) if f.id == REJECTED]
    told = [one.text for one in finding.evidence if "characters long" in one.text]
    assert [f"which fills a buffer of {buffer} bytes, and end with -DREAL=floa" in one for one in told] == [True] * bool(buffer)
    assert ("may have cut them off" in " ".join(finding.steps)) == bool(buffer)


def test_a_build_that_fails_and_one_that_replaces_it_are_silent(world: Make, look: Look) -> None:
    process = world()
    process.call("clBuildProgram", program=process.program, status=-11)
    process.note("note_build_log", {"program": process.program}, text="1:1:1: error: no subgroups here")
    process.call("clBuildProgram", program=process.program)
    assert not [f for f in look(process, "exit", exit_code=1) if f.id == REJECTED]


@pytest.mark.parametrize(
    ("mode", "severity"), [("copy", "warning"), ("copy and fail", "error"), ("argument", "warning")]
)
def test_refused_call_and_the_program_goes_on(opencl: OpenCL, mode: str, severity: str) -> None:
    run = opencl.run("ignored", mode)
    assert run.only(IGNORED).severity == severity
    assert not run.of(FAILED)


@pytest.mark.parametrize("mode", ["argument again", "probe", "right"])
def test_failures_that_were_dealt_with_are_silent(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("ignored", mode)
    assert run.outcome.kind == "passed"
    assert not run.findings


def test_probing_is_not_blamed_for_a_later_failure(opencl: OpenCL) -> None:
    run = opencl.run("ignored", "probe and fail")
    assert run.outcome.kind == "exit"
    assert not run.errors


def test_thousands_of_followers_are_one_finding(world: Make, look: Look) -> None:
    process = world()
    process.call("clCreateBuffer", context=process.context, size=1 << 50, status=-61)
    for _ in range(5000):
        process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=0, size=64, status=-38)
    (finding,) = [f for f in look(process, "exit") if f.id == IGNORED]
    assert "5,000 later calls failed" in finding.message
    assert (
        "clCreateBuffer failed with CL_INVALID_BUFFER_SIZE and the program continued; 5,000 later calls"
        in finding.message
    )


def test_doing_it_by_other_means_is_not_ignoring(world: Make, look: Look) -> None:
    """A buffer cannot be mapped, so it is read instead."""
    process = world()
    buffer = process.buffer(64)
    process.call("clEnqueueFillBuffer", queue=process.queue, buffer=buffer, size=64)
    process.call("clEnqueueMapBuffer", queue=process.queue, buffer=buffer, size=64, status=-12)
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=buffer, size=64)
    assert not look(process, "exit")


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("wrong", "Buffer #1 was read by clEnqueueReadBuffer before anything had written it"),
        ("copied", "Buffer #1 was read by clEnqueueCopyBuffer"),
        ("argument", "Buffer #1 was passed to kernel copy as argument 0 (float* in), which is read only,"),
    ],
)
def test_read_before_write(opencl: OpenCL, mode: str, text: str) -> None:
    finding = opencl.run("unwritten", mode).only(UNWRITTEN)
    assert finding.severity == "warning"
    assert text in finding.message


@pytest.mark.parametrize("mode", ["fill", "write", "host", "map", "part", "whole", "launch"])
def test_written_buffers_are_silent(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("unwritten", mode).findings


# ---- kernel-not-found ----


SOURCE = """
#define TILE 16
__attribute__((reqd_work_group_size(TILE, 1, 1))) kernel void scale_rows(global float *a) {}
__kernel __attribute__((vec_type_hint(float4))) void sum(global float *a) { scale(a); }
"""


def asks_for(process: World, name: str, status: int = 0) -> None:
    process.call("clCreateKernel", texts={"kernel_name": name}, program=process.program, result=0, status=status)


def test_a_kernel_that_the_source_does_not_have(world: Make, look: Look) -> None:
    process = world(source=SOURCE)
    asks_for(process, "scale_row", INVALID_NAME)
    (finding,) = [f for f in look(process, "exit", exit_code=1) if f.id == "kernel-not-found"]
    assert "no kernel 'scale_row'" in finding.message and "'scale_rows' is the nearest name" in finding.message
    assert finding.evidence[0].text == "the kernels of its source: scale_rows and sum"


@pytest.mark.parametrize(
    "source",
    [
        '#include "kernels.h"\n' + SOURCE,
        "#define K __kernel\nK void scale_row(global int *a) {}\nkernel void f(global int *a) {}",
        "#define NAME(x) scale_##x\nkernel void NAME(row)(global int *a) {}",
        "",
    ],
)
def test_names_that_cannot_be_read_are_not_missed(world: Make, look: Look, source: str) -> None:
    process = world(source=source)
    asks_for(process, "scale_row", INVALID_NAME)
    assert not [f for f in look(process, "exit", exit_code=1) if f.id == "kernel-not-found"]


def test_a_second_name_that_is_there_is_silent(world: Make, look: Look) -> None:
    process = world(source=SOURCE)
    asks_for(process, "sum_fast", INVALID_NAME)
    process.create("clCreateKernel", texts={"kernel_name": "sum"}, program=process.program)
    assert not [f for f in look(process, "exit", exit_code=1) if f.id == "kernel-not-found"]


def test_a_program_that_continues_without_a_kernel_and_fails(opencl: OpenCL) -> None:
    one = opencl.run("caught_build", "misspelled").only(REJECTED)
    assert one.severity == "error" and "The program continued without kernel extra." in one.message
    assert any("no line of the source uses what the option -DGIAN=2.0f defines" in e.text for e in one.evidence)
    assert one.steps == ("Write -DGAIN=2.0f in the build options.",)


def test_a_function_that_the_device_may_not_have_is_a_warning(opencl: OpenCL) -> None:
    assert opencl.run("caught_build", "function").only(REJECTED).severity == "warning"


@pytest.mark.parametrize("mode", ["right", "passed", "tried"])
def test_a_build_that_is_tried_is_silent(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("caught_build", mode).of(REJECTED)
