"""image-format: images that are read or written with functions for other channels."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "image-format"
RGBA, UNORM_INT8, SIGNED_INT16, UNSIGNED_INT8, FLOAT = 0x10B5, 0x10D2, 0x10D8, 0x10DA, 0x10DE
SOURCE = """kernel void tone(read_only image2d_t in, global float4 *out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  out[at.y * get_global_size(0) + at.x] = READ(in, at);
}"""


def process(world: Make, function: str, channels: int) -> World:
    made = world()
    made.note("note_source", {"program": made.program}, SOURCE.replace("READ", function))
    kernel = made.kernel("tone", [Arg("image2d_t", "in", space=GLOBAL, access=1), Arg("float4*", "out", space=GLOBAL)])
    image = made.handle()
    format_of = RGBA.to_bytes(4, "little") + channels.to_bytes(4, "little")
    made.call("clCreateImage", arrays={"format": format_of}, context=made.context, result=image)
    made.set_arg(kernel, 0, image)
    made.set_arg(kernel, 1, made.buffer(16 * 64))
    made.launch(kernel, (8, 8))
    return made


def of(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == ID]


@pytest.mark.parametrize(
    ("function", "channels", "names"),
    [
        ("read_imagef", UNSIGNED_INT8, ("CL_UNSIGNED_INT8", "CL_UNORM_INT8", "read_imageui")),
        ("read_imageui", FLOAT, ("CL_FLOAT", "CL_UNSIGNED_INT32", "read_imagef")),
        ("read_imageui", SIGNED_INT16, ("CL_SIGNED_INT16", "CL_UNSIGNED_INT16", "read_imagei")),
    ],
)
def test_a_function_for_other_channels(world: Make, look: Look, function: str, channels: int, names: tuple[str, str, str]) -> None:
    (finding,) = of(look(process(world, function, channels)))
    assert f"with {function}, but the image has channels of the type {names[0]}" in finding.message
    assert finding.steps == (f"Create the image as {names[1]}, or use {names[2]}.",) and finding.root is not None


@pytest.mark.parametrize(
    ("function", "channels"),
    [("read_imagef", UNORM_INT8), ("read_imagef", FLOAT), ("read_imageui", UNSIGNED_INT8), ("read_imagei", SIGNED_INT16)],
)
def test_functions_that_fit_are_silent(world: Make, look: Look, function: str, channels: int) -> None:
    assert not of(look(process(world, function, channels)))
