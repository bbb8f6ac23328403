"""Both ways into a program, as a layer of the OpenCL loader and as symbols in front of it, see the same calls."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path

import pytest
from native_kit import PROGRAMS, ROOT, Kit, Ran, Way
from support.builds import tell

from gpudx.backends.opencl.entry import LOADER, loader_for
from gpudx.trace import Trace

TWINS = ["opencl-set-rows-q4_0", "opencl-shared-kernel"]
WAYS: tuple[Way, ...] = ("layer", "symbols")

PYTHON_PROGRAM = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void twice(global float *a, float by) { a[get_global_id(0)] *= by; }").build()
host = np.arange(64, dtype=np.float32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
kernel = cl.Kernel(program, "twice")
for i in range(5):
    kernel(queue, (64,), None, buffer, np.float32(2))
cl.enqueue_copy(queue, host, buffer)
queue.finish()
print(host.sum())
"""


@cache
def has_opencl() -> bool:
    """Can programs be linked with the system's OpenCL loader, and does it find a device?"""
    text = (
        "#include <CL/cl.h>\nint main(void) { cl_uint n = 0; cl_platform_id p; "
        "return clGetPlatformIDs(1, &p, &n) || !n || clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, 0, &n) || !n; }"
    )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "has-opencl"
        flags = ["-x", "c", "-", "-o", program, "-w", "-lOpenCL"]
        built = subprocess.run(["cc", *flags], input=text, text=True, capture_output=True, check=False)
        return built.returncode == 0 and subprocess.run([program], check=False).returncode == 0


needs_opencl = pytest.mark.skipif(
    not has_opencl(), reason="no OpenCL of the system to link with (Debian: ocl-icd-opencl-dev, pocl-opencl-icd)"
)


def sequences(trace: Trace) -> list[tuple[str, ...]]:
    """The calls of each thread, in order; threads in no order. Notes are the recorder's own."""
    threads: dict[int, list[str]] = {}
    for position, tid in enumerate(trace.column("tid")):
        call = trace.info(position)
        if call.api == "opencl":
            threads.setdefault(int(tid), []).append(call.name)
    return sorted(tuple(calls) for calls in threads.values())


def three_ways(kit: Kit, command: list[str | Path]) -> dict[Way, Ran]:
    """Plain, as a layer, as symbols: what the user sees is the same."""
    all_ways: tuple[Way, ...] = ("plain", *WAYS)
    runs = {way: kit.run(command, way, keep="all", timeout=120) for way in all_ways}
    assert runs["layer"].seen == runs["plain"].seen
    assert runs["symbols"].seen == runs["plain"].seen
    return runs


@needs_opencl
@pytest.mark.parametrize("name", TWINS)
def test_twins_of_the_incidents(kit: Kit, name: str) -> None:
    folder = ROOT / "incidents" / name
    described = tomllib.loads((folder / "incident.toml").read_text())
    sources = [folder / source for source in described["sources"]]
    libs = [f"-l{lib}" for lib in described["libs"]]
    program = kit.built(name, "cc", "-std=gnu11", "-O1", "-w", *described["twin_flags"], *sources, *libs)
    runs = three_ways(kit, [program])
    assert runs["plain"].returncode == 0
    seen = {way: sequences(runs[way].trace()) for way in WAYS}
    assert seen["layer"] == seen["symbols"]
    assert sum(len(calls) for calls in seen["layer"]) > 20
    assert [runs[way].trace().entries for way in WAYS] == [1, 2]


@needs_opencl
@pytest.mark.skipif(not Path("/usr/include/CL/cl.h").exists(), reason="the Khronos OpenCL headers are not installed")
def test_everything_a_real_driver_supports(kit: Kit) -> None:
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wno-deprecated-declarations"]
    program = kit.built("real_calls", "cc", *flags, PROGRAMS / "real_calls.c", "-lOpenCL")
    runs = three_ways(kit, [program])
    assert runs["plain"].returncode == 0
    seen = {way: sequences(runs[way].trace()) for way in WAYS}
    assert seen["layer"] == seen["symbols"]
    (calls,) = seen["layer"]
    called = set(re.findall(r"\b(cl[A-Z]\w+)\(", (PROGRAMS / "real_calls.c").read_text()))
    supported = set(re.findall(r"\b(cl[A-Z]\w+)", runs["plain"].stdout)) | {"clGetKernelArgInfo"}
    assert supported <= set(calls)
    assert set(calls) <= called
    check_words(runs["layer"].trace())


def check_words(trace: Trace) -> None:
    """Some records of programs/real_calls.c, word by word."""

    def records(name: str) -> list[dict[str, int]]:
        info = trace.schema.by_name(name)
        assert info
        return [trace.record(int(p)) for p in trace.select(info)]

    queue = records("clCreateCommandQueueWithProperties")[0]["result"]
    first = records("clCreateBuffer")[0]
    assert (first["size"], first["flags"]) == (256, 1 | 32)
    write = records("clEnqueueWriteBuffer")[0]
    assert (write["queue"], write["buffer"], write["offset"], write["size"]) == (queue, first["result"], 0, 32)
    assert write["event"] == records("clEnqueueCopyBuffer")[0]["src_buffer"] * 0 + write["event"] != 0
    launches = records("clEnqueueNDRangeKernel")
    assert [(r["global_x"], r["local_x"]) for r in launches] == [(64, 8), (64, 0), (16, 0)]
    failed = [r for r in records("clCreateKernel") if not r["result"]]
    assert len(failed) == 1
    positions = trace.select(trace.schema.doing("launch"))
    owner, arguments = trace.arguments(positions)
    sizes = [[int(s) for s in arguments["size"][owner == i]] for i in range(len(positions))]
    assert sizes == [[8, 4], [8, 4], [8, 64, 64], [8]]


def test_a_python_program(kit: Kit) -> None:
    pytest.importorskip("pyopencl")
    runs = three_ways(kit, [sys.executable, "-c", PYTHON_PROGRAM])
    if runs["plain"].returncode:
        pytest.skip("pyopencl finds no device here")
    traces = {way: [t for t in runs[way].traces() if t.entries] for way in WAYS}
    if not traces["layer"]:
        pytest.skip("the loader in pyopencl knows no layers")
    assert sequences(traces["layer"][0]) == sequences(traces["symbols"][0])
    names = [name for calls in sequences(traces["symbols"][0]) for name in calls]
    assert names.count("clEnqueueNDRangeKernel") == 5


@pytest.mark.parametrize("flag", ["--enable-new-dtags", "--disable-new-dtags"])  # RUNPATH, RPATH
def test_the_loader_that_a_program_names_itself_is_the_one_that_is_asked_for_layers(tmp_path: Path, flag: str) -> None:
    (tmp_path / "own").mkdir()
    loader = tmp_path / "own" / LOADER
    loader.touch()
    (tmp_path / "app.c").write_text("int main(void) { return 0; }\n")
    for name, path in (("named", "/nowhere:$ORIGIN/own"), ("other", "/nowhere")):
        tell("cc", f"-Wl,{flag},-rpath,{path}", tmp_path / "app.c", "-o", tmp_path / name)
    assert loader_for(tmp_path / "named", {}) == loader
    assert loader_for(tmp_path / "other", {}) != loader
    (tmp_path / "damaged").write_bytes((tmp_path / "named").read_bytes()[:900])
    assert loader_for(tmp_path / "damaged", {}) != loader
    assert loader_for(tmp_path / "app.c", {"LD_LIBRARY_PATH": str(tmp_path / "own")}) == loader
