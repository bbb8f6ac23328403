"""The user's line: wrappers that only pass their parameters on are skipped, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_cases import FULL

from gpudx.model import Access, Diagnosis, Evidence, Finding, Guilty, Site
from gpudx.report import Page, lines, source_line
from gpudx.report.source_line import SourceLine

WRAPPER = """#include "gpu.h"
static cl_context context;
void gpu_set(cl_kernel kernel, int index, size_t size, const void *value)
{
    check(clSetKernelArg(kernel, index, size, value));
}
"""
DECIDES = """void set_rows(cl_kernel kernel, int index)
{
    size_t rows = 7;
    check(clSetKernelArg(kernel, index, sizeof rows, &rows));
}
"""
CALLER = "int main(void)\n{\n    gpu_set(k, 1, 8, &extra->d);\n    set_rows(k, 2);\n}\n"


def shown(folder: Path, file: str, line: int, function: str, caller: int) -> SourceLine | None:
    stack = (
        "libpocl.so+0x1",
        f"{function} at {file}:{line} (app)",
        f"main at main.c:{caller} (app)",
        "__libc_start_main at libc-start.c:10 (libc.so.6)",
    )
    guilty = Guilty("opencl", "clSetKernelArg", source=f"{folder / file}:{line}", host_stack=stack)
    entry = replace(FULL.diagnosis[0], guilty=guilty, root=None, access=None, victim=None)
    return source_line.of(FULL, entry)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("gpu.c", WRAPPER), ("rows.c", DECIDES), ("main.c", CALLER)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_wrapper_is_skipped(folder: Path) -> None:
    found = shown(folder, "gpu.c", 5, "gpu_set", 3)
    assert found and found.line == 3 and found.function == "main" and found.place.endswith("main.c:3")
    assert found.around(1) == [(2, "{"), (3, "    gpu_set(k, 1, 8, &extra->d);"), (4, "    set_rows(k, 2);")]


MEMBERS = """typedef struct { int n, ny, nz; cl_mem data; } Grid;
void upload(cl_kernel k, const Grid *g, const void *from)
{
    check(clEnqueueWriteBuffer(queue, g->data, CL_TRUE, 0, g->n * sizeof from, from, 0, NULL, NULL));
    check(clSetKernelArg(k, 3, sizeof(int), &g->nz));
    check(clEnqueueWriteBuffer(queue, g->data, CL_TRUE, 0, g->n, from, 0, NULL, NULL));
}
"""


@pytest.mark.parametrize(("line", "expected"), [(4, 4), (5, 5), (6, 3)])
def test_a_helper_that_computes_with_members_is_the_line_to_change(folder: Path, line: int, expected: int) -> None:
    """Passing a member on, as the last one does, decides nothing."""
    (folder / "grid.c").write_text(MEMBERS)
    found = shown(folder, "grid.c", line, "upload", 3)
    assert found and found.line == expected


OWNER = """class Field {
public:
    Field &operator=(const Field &other)
    {
        drop();
        memory = other.memory;
        return *this;
    }
    ~Field() { drop(); }
    void clear() { drop(); }
private:
    void drop() { if (memory) clReleaseMemObject(memory); memory = nullptr; }
    cl_mem memory;
};
void step(Field &a)
{
    a = a.next();
}
"""
INNER, NATIVE_TAIL = "Field::drop at field.cpp:12 (app)", "step at field.cpp:17 (app)"


@pytest.mark.parametrize(
    ("frames", "call", "line", "function"),
    [
        (("Field::~Field at field.cpp:9 (app)",), "clReleaseMemObject", 17, "step"),
        (("Field::~Field at field.cpp:9 (app)", "std::erase at unique_ptr.h:85 (app)"), "clReleaseMemObject", 17, "step"),
        (("Field::operator= at field.cpp:5 (app)",), "clReleaseMemObject", 5, "Field::operator="),
        (("Field::clear at field.cpp:10 (app)",), "clReleaseMemObject", 12, "Field::drop"),  # who calls it is not the language's doing
        (("Field::~Field at field.cpp:9 (app)",), "clFinish", 12, "Field::drop"),
    ],
)
def test_an_object_that_ended_is_shown_where_it_ended(folder: Path, frames: tuple[str, ...], call: str, line: int, function: str) -> None:
    (folder / "field.cpp").write_text(OWNER)
    root = Site(call, 9, 1, 1, "opencl", source=f"{folder / 'field.cpp'}:12", host_stack=(INNER, *frames, NATIVE_TAIL))
    entry = replace(FULL.diagnosis[0], root=root, access=None, victim=None)
    found = source_line.of(FULL, entry)
    assert found and (found.line, found.function) == (line, function)


HIP = """__global__ void scale(float *x, int n, float by);
void run_scale(float *x, int n, hipStream_t s) { hipLaunchKernelGGL(scale, dim3(n), dim3(64), 0, s, x, n); }
static float *floats(size_t count)
{
    void *memory;
    check(hipMalloc(&memory, count * sizeof(float)), "hipMalloc");
    return (float *)memory;
}
static float *rows(size_t count)
{
    size_t bytes = count * 4;
    void *memory;
    hipMalloc(&memory, bytes);
    return (float *)memory;
}
"""


@pytest.mark.parametrize(("line", "function"), [(2, "run_scale"), (6, "floats")])
def test_a_wrapper_that_launches_or_allocates_is_skipped(folder: Path, line: int, function: str) -> None:
    """A kernel is passed like a variable, and the pointer is only filled."""
    (folder / "gpu.hip").write_text(HIP)
    found = shown(folder, "gpu.hip", line, function, 3)
    assert found and found.function == "main"


def test_a_size_that_the_function_computes_is_its_own(folder: Path) -> None:
    (folder / "gpu.hip").write_text(HIP)
    found = shown(folder, "gpu.hip", 13, "rows", 3)
    assert found and found.function == "rows"


def test_a_function_that_decides_something_stays(folder: Path) -> None:
    found = shown(folder, "rows.c", 4, "set_rows", 4)
    assert found and found.line == 4 and found.function == "set_rows"


PYTHON = """import numpy as np
def launch(queue, kernel, count, *args):
    kernel(queue, ((count + 31) // 32 * 32,), (32,), *args)
    queue.flush()
def sized(queue, kernel, a):
    count = len(a) // 2
    kernel(queue, (count,), None, a)
class Blur:
    def step(self, queue):
        self.kernel(queue, (64,), None, self.a, self.b)
def main():
    launch(q, blur, n, weights, padded)
def histogram(bins, count):
    total = np.zeros(count)
    return total.scatter_add_(0, bins, np.ones_like(bins))
"""


@pytest.mark.parametrize(("line", "function", "expected"), [(3, "launch", 12), (7, "sized", 7), (10, "step", 10), (15, "histogram", 15)])
def test_a_wrapper_in_python(folder: Path, line: int, function: str, expected: int) -> None:
    (folder / "blur.py").write_text(PYTHON)
    stack = (f"blur.py:{line} in {function} (python)", "blur.py:12 in main (python)", "_start+0x21 (python3.11)")
    guilty = Guilty("opencl", "clEnqueueNDRangeKernel", source=f"{folder / 'blur.py'}:{line}", host_stack=stack)
    entry = replace(FULL.diagnosis[0], guilty=guilty, root=None, access=None, victim=None)
    found = source_line.of(FULL, entry)
    assert found and found.line == expected


def test_headers_of_the_system_are_nobodys_line() -> None:
    guilty = Guilty("opencl", "clEnqueueNDRangeKernel", source="/usr/include/CL/opencl.hpp:8613")
    entry = replace(FULL.diagnosis[0], guilty=guilty, root=None, access=None, victim=None)
    assert source_line.of(FULL, entry) is None


@pytest.mark.parametrize(("source", "place"), [("<kernel>:2", "<kernel>:2"), ("line 2", "line 2 of the kernel source")])
def test_a_line_of_a_kernel_that_is_in_no_file(source: str, place: str) -> None:
    entry: Diagnosis = replace(FULL.diagnosis[0], root=None, access=Access(kernel="add", source=source))
    text = ["kernel void add(global int *x) {", "  x[get_global_id(0)] += 1;", "}"]
    found = source_line.of(FULL, entry, lambda case, kernel: text if kernel == "add" else [])
    assert found and found.function == "add, launched at gpu.c:212" and (2, text[1]) in found.around(0)
    assert found.place == place


def test_files_that_do_not_look_like_sources_are_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("password\n")
    guilty = Guilty("opencl", "clFinish", source=f"{tmp_path}/secret.txt:1")
    entry = replace(FULL.diagnosis[0], guilty=guilty, root=None, access=None, victim=None)
    assert source_line.of(FULL, entry) is None


def test_lines_for_editors_open_the_users_line(folder: Path) -> None:
    stack = ("gpu_set at gpu.c:5 (app)", "main at main.c:3 (app)")
    site = Site("clSetKernelArg", 7, 1, 1, "opencl", source=f"{folder}/gpu.c:5", host_stack=stack)
    finding = Finding("value-is-not-a-handle", "error", "It is a size.", (Evidence("seen"),), site=site)
    (line,) = lines.render(replace(FULL, findings=(finding,)), Page()).splitlines()
    assert line == f"{folder}/main.c:3: error: value-is-not-a-handle It is a size."


def test_a_function_that_passes_memory_of_its_own_is_no_wrapper(tmp_path: Path) -> None:
    """`tmp->data()` is a variable's, not a function's."""
    text = "static void fetch(Queue &q, Buffer &b)\n{\n    auto tmp = f();\n    q.enqueueReadBuffer(b, CL_FALSE, 0, 8, tmp->data());\n}\n"
    (tmp_path / "fetch.cpp").write_text(text)
    (tmp_path / "main.c").write_text("int main()\n{\n    fetch(q, b);\n}\n")
    found = shown(tmp_path, "fetch.cpp", 4, "fetch", 3)
    assert found and found.place.endswith("fetch.cpp:4")


@pytest.mark.parametrize(
    ("parameter", "place"),
    [
        ("std::shared_ptr<Mesh> mesh", "upload.cpp:3"),
        ("std::vector<float> mesh", "upload.cpp:3"),
        ("const std::vector<float> &mesh", "main.c:3"),
        ("std::shared_ptr<Mesh> &mesh", "main.c:3"),
        ("Mesh *mesh", "main.c:3"),
    ],
)
def test_a_function_that_has_a_copy_of_what_it_passes_on_is_no_wrapper(tmp_path: Path, parameter: str, place: str) -> None:
    """Its end may free it, as where a copy that is not waited for reads it."""
    text = f"void upload({parameter})\n{{\n    check(clEnqueueWriteBuffer(mesh->data()));\n}}\n"
    (tmp_path / "upload.cpp").write_text(text)
    (tmp_path / "main.c").write_text(CALLER)
    found = shown(tmp_path, "upload.cpp", 3, "upload", 3)
    assert found is not None and found.place.endswith(place)
