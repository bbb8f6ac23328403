"""argument-size, argument-type, argument-never-set and released-while-bound."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL
from support.synthetic import GLOBAL, Arg
from support.typed import fact, label

SIZE, TYPE, NEVER, BOUND = "argument-size", "argument-type", "argument-never-set", "released-while-bound"


@pytest.mark.parametrize(
    ("mode", "given", "declared", "reason"),
    [
        ("memory", 4096, 8, "a memory argument takes the size of a handle"),
        ("struct", 8, 16, "another layout"),
        ("padding", 12, 16, "4 bytes of padding at its end"),
        ("vector", 12, 16, "float3 takes the space of 4 components"),
        ("int", 4, 8, "4 is the size of an int"),
        ("double", 8, 4, "8 is the size of a double"),
    ],
)
def test_size(opencl: OpenCL, mode: str, given: int, declared: int, reason: str) -> None:
    finding = opencl.run("argument_sizes", mode).only(SIZE)
    assert finding.severity == "error"
    assert (fact(finding, "given"), fact(finding, "declared")) == (str(given), str(declared))
    assert reason in finding.message


def test_right_sizes_are_silent(opencl: OpenCL) -> None:
    assert not opencl.run("argument_sizes", "right").findings


def test_packed_structure(world: Make, look: Look) -> None:
    process = world(source="typedef struct __attribute__((packed)) { char c; float x; } item; kernel void f(item i) {}")
    kernel = process.kernel("f", [Arg("item", "i")])
    process.set_arg(kernel, 0, 1, 8, status=-51)
    (finding,) = [f for f in look(process) if f.id == SIZE]
    assert "takes 5: the kernel's structure is packed, the host's is not" in finding.message
    assert any("CL_INVALID_ARG_SIZE" in e.text for e in finding.evidence)


@pytest.mark.parametrize(
    "source",
    [
        "typedef struct { int a; } __attribute__((aligned(16))) item;",
        "#if 0\ntypedef struct { int a; } item;\n#else\ntypedef struct { int a, b; } item;\n#endif",
        "#pragma pack(1)\ntypedef struct { char c; int a; } item;",
        "typedef struct { REAL x; } item;",
    ],
)
def test_layouts_that_cannot_be_known_are_silent(world: Make, look: Look, source: str) -> None:
    process = world(source=source)
    kernel = process.kernel("f", [Arg("item", "i")])
    process.set_arg(kernel, 0, 1, 16)
    assert not [f for f in look(process) if f.id == SIZE]


def test_integer_for_float(opencl: OpenCL) -> None:
    finding = opencl.run("argument_types", "int for float").only(TYPE)
    assert (finding.severity, finding.attribution) == ("error", "probable")
    assert finding.count == 2
    assert "seems to hold an integer: 1024" in finding.message


SHARPEN = """kernel void sharpen(global const float *in, global float *out, float amount) {
  int i = get_global_id(0);
  out[i] = %s;
}"""


def of_amount(world: Make, look: Look, text: str, bits: int, kind: str = "float") -> list[str]:
    process = world(source=SHARPEN.replace("float amount", f"{kind} amount") % text)
    kernel = process.kernel("sharpen", [Arg("float*", "in", space=GLOBAL), Arg("float*", "out", space=GLOBAL), Arg(kind, "amount")])
    process.set_arg(kernel, 2, bits, size=4)
    return [one.severity for one in look(process) if one.id == TYPE]


@pytest.mark.parametrize("text", ["in[i] * amount", "in[i] + -amount", "pow(in[i], amount)", "in[i] < amount ? 0.0f : in[i]"])
def test_a_whole_number_in_a_float_that_the_kernel_computes_with_is_likely_the_cause(world: Make, look: Look, text: str) -> None:
    assert of_amount(world, look, text, 2) == ["error"]


@pytest.mark.parametrize(
    "text",
    ["amount", "as_float(as_int(in[i]) + as_int(amount))", "((union { float f; int i; }){.f = amount}).i + 1", "in[i] + unknown(amount)"],
)
def test_bits_that_a_kernel_keeps_or_takes_apart_are_a_warning_at_most(world: Make, look: Look, text: str) -> None:
    assert of_amount(world, look, text, 2) == ["warning"]


def test_the_smallest_floats_that_somebody_may_mean_are_a_warning_at_most(world: Make, look: Look) -> None:
    assert of_amount(world, look, "in[i] + amount", 71362) == ["warning"]  # 1e-40


def test_the_bits_of_a_round_float_in_an_integer(world: Make, look: Look) -> None:
    assert of_amount(world, look, "in[i] * amount", 0x40A00000, "int") == ["error"]  # 5.0
    assert of_amount(world, look, "in[i & amount] * amount", 0x40A00000, "int") == ["warning"]
    assert of_amount(world, look, "in[i] * amount", 3, "int") == []


def test_float_for_integer(opencl: OpenCL) -> None:
    finding = opencl.run("argument_types", "float for int").only(TYPE)
    assert finding.severity == "warning"
    assert "seems to hold a float: 1.5" in finding.message


@pytest.mark.parametrize("mode", ["mixed", "gigabyte", "right"])
def test_ordinary_values_are_silent(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("argument_types", mode).of(TYPE)


def test_seeds_and_sizes_are_silent(world: Make, look: Look) -> None:
    process = world()
    process.buffer(1000 << 20)
    kernel = process.kernel("f", [Arg("uint", "seed"), Arg("uint", "bytes"), Arg("float", "zero")])
    process.set_arg(kernel, 0, 0x3DCCCCCD, 4)
    process.set_arg(kernel, 0, 0x9E3779B9, 4)
    process.set_arg(kernel, 1, 1000 << 20, 4)  # as a float: 0.25
    process.set_arg(kernel, 2, 0, 4)
    assert not [f for f in look(process) if f.id == TYPE]


def test_counter_of_a_random_generator_is_silent(world: Make, look: Look) -> None:
    """It began in the range of ordinary floats by chance, and so it stays there."""
    process = world()
    kernel = process.kernel("f", [Arg("int", "counter")])
    for step in range(30):
        process.set_arg(kernel, 0, 0x40BDC23C + step * 0x00400265, 4)
    assert not [f for f in look(process) if f.id == TYPE]


def test_several_unrelated_floats_for_an_integer(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("f", [Arg("int", "count")])
    for bits in (0x3DCCCCCD, 0x42C80000, 0x3E99999A, 0x40490FDB):  # 0.1, 100, 0.3, pi
        process.set_arg(kernel, 0, bits, 4)
    (finding,) = [f for f in look(process) if f.id == TYPE]
    assert "seems to hold a float: 0.1" in finding.message


def test_missing_argument(opencl: OpenCL) -> None:
    finding = opencl.run("never_set", "missing").only(NEVER)
    assert finding.severity == "error"
    assert "argument 2 (int n) had never been set" in finding.message
    assert finding.site is not None and finding.site.status == "CL_INVALID_KERNEL_ARGS"


def test_a_refused_setting_is_the_fault_and_not_the_launch(opencl: OpenCL) -> None:
    run = opencl.run("never_set", "refused")
    assert not [one for one in run.findings if one.id == NEVER]
    finding = run.only("ignored-error")
    assert finding.site is not None and finding.site.status == "CL_INVALID_ARG_VALUE"


def test_arguments_of_another_object_do_not_count(opencl: OpenCL) -> None:
    finding = opencl.run("never_set", "second").only(NEVER)
    assert "argument 0 (float* data), argument 1 (float factor) and argument 2 (int n)" in finding.message


def test_refusal_that_the_program_dealt_with_is_a_warning(opencl: OpenCL) -> None:
    run = opencl.run("never_set", "tolerated")
    assert run.outcome.kind == "passed"
    assert run.only(NEVER).severity == "warning"


def test_all_arguments_set_is_silent(opencl: OpenCL) -> None:
    assert not opencl.run("never_set", "right").findings


def test_released_while_bound(opencl: OpenCL) -> None:
    finding = opencl.run("bound", "wrong").only(BOUND)
    assert finding.severity == "error"
    assert label(finding) == "buffer #1"
    assert finding.site is not None and finding.site.call == "clEnqueueNDRangeKernel"
    assert [site.call for site in finding.others] == ["clReleaseMemObject", "clSetKernelArg"]


@pytest.mark.parametrize("mode", ["set again", "right"])
def test_set_again_or_released_after_the_launch_is_silent(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("bound", mode)
    assert run.outcome.kind == "passed"
    assert not run.errors


def test_released_while_bound_and_address_reused(world: Make, look: Look) -> None:
    process = world()
    first = process.buffer(4096)
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, first)
    process.release(first)
    process.buffer(4096, result=first)
    process.launch(kernel, (64,))
    (finding,) = [f for f in look(process) if f.id == BOUND]
    assert label(finding) == "buffer #1"


def test_reused_address_that_was_set_again_is_silent(world: Make, look: Look) -> None:
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    address = process.handle()
    for _ in range(3):
        process.buffer(4096, result=address)
        process.set_arg(kernel, 0, address)
        process.launch(kernel, (64,))
        process.release(address)
    assert not [f for f in look(process) if f.severity == "error"]


def test_arguments_set_through_an_extension_are_silent(world: Make, look: Look) -> None:
    process = world()
    process.call("clGetExtensionFunctionAddressForPlatform", texts={"function_name": "clSetKernelArgMemPointerINTEL"})
    process.launch(process.kernel("scale", [Arg("float*", "data", GLOBAL)]), (64,))
    assert not [f for f in look(process) if f.id == NEVER]


def test_launch_that_was_accepted_without_its_arguments(world: Make, look: Look) -> None:
    process = world()
    process.launch(process.kernel("scale", [Arg("float*", "data", GLOBAL)]), (64,))
    (finding,) = [f for f in look(process) if f.id == NEVER]
    assert finding.severity == "error"


@pytest.mark.parametrize("sets_its_own", [False, True], ids=["handed over", "shared"])
def test_a_value_of_another_thread_is_the_fault_of_sharing(world: Make, look: Look, sets_its_own: bool) -> None:
    """The other thread releases its buffer between its own setting and this thread's launch."""
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    mine, other = process.buffer(64), process.buffer(64)
    if sets_its_own:
        process.set_arg(kernel, 0, mine, tid=1)
    process.set_arg(kernel, 0, other, tid=2)
    process.release(other, tid=2)
    process.launch(kernel, (16,), tid=1)
    process.launch(kernel, (16,), tid=2)
    found = {(f.id, f.count) for f in look(process)}
    assert ((BOUND, 1) if sets_its_own else (BOUND, 2)) in found  # the launch of the thread whose buffer it is stays one
    assert ("kernel-shared-by-threads" in {name for name, _ in found}) == sets_its_own


@pytest.mark.parametrize("released", [1, 2, 3])
def test_other_arguments_of_the_launch_that_were_released_too(world: Make, look: Look, released: int) -> None:
    process = world()
    kernel = process.kernel("energy", [Arg("float*", name, GLOBAL) for name in ("vel", "pos", "e")])
    buffers = [process.buffer(64) for _ in range(3)]
    for index, buffer in enumerate(buffers):
        process.set_arg(kernel, index, buffer)
    for buffer in buffers[:released]:
        process.release(buffer)
    process.launch(kernel, (16,))
    found = sorted((f for f in look(process) if f.id == BOUND), key=lambda one: fact(one, "argument"))
    texts = [one.text for one in found[0].evidence if "had been released, too" in one.text]
    assert len(found) == released and len(texts) == (released > 1)
    if released == 3:
        assert texts == ["the buffers of argument 1 (float* pos) and argument 2 (float* e) of this launch had been released, too"]
