"""forgotten-buffer: one buffer for two arguments while another one, which fits, is never used."""

from __future__ import annotations

from typing import Any

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "forgotten-buffer"
SOURCE = """kernel void linear(global const float *w, global const float *bias, global float *y, int in) {
  int o = get_global_id(0);
  float a = bias[o];
  for (int i = 0; i < in; ++i) a += w[o * in + i];
  y[o] = a;
}"""


def process(make: Make, *, right: bool = False, used: bool = False, filled: bool = True, size: int = 256) -> World:
    world = make()
    world.note("note_source", {"program": world.program}, SOURCE)
    arguments = [Arg("float*", "w", GLOBAL, qualifiers=1), Arg("float*", "bias", GLOBAL, qualifiers=1), Arg("float*", "y", GLOBAL)]
    kernel = world.kernel("linear", [*arguments, Arg("int", "in")])
    weights, bias = world.buffer(4 * 64 * 32), world.buffer(size)
    for memory, bytes_ in ((weights, 4 * 64 * 32), (bias, size)):
        if filled or memory == weights:
            world.call("clEnqueueWriteBuffer", queue=world.queue, buffer=memory, blocking=1, size=bytes_, ptr=0x5000)
    if used:
        world.call("clEnqueueReadBuffer", queue=world.queue, buffer=bias, blocking=1, size=size, ptr=0x5000)
    world.set_arg(kernel, 0, weights)
    world.set_arg(kernel, 1, bias if right else weights)
    world.set_arg(kernel, 2, world.buffer(256))
    world.set_arg(kernel, 3, 32, size=4)
    world.launch(kernel, (64,))
    return world


def of(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == ID]


def test_a_buffer_that_is_passed_in_place_of_another(world: Make, look: Look) -> None:
    (finding,) = of(look(process(world), "passed"))
    assert "passed buffer #1 as argument 1 `bias` and as argument 0 `w`, and buffer #2, which fits argument 1 `bias`" in finding.message
    assert finding.attribution == "probable" and finding.root is not None and finding.root.call == "clSetKernelArg"


@pytest.mark.parametrize("how", [{"right": True}, {"used": True}, {"filled": False}, {"size": 512}])
def test_buffers_that_are_used_or_do_not_fit_are_silent(world: Make, look: Look, how: dict[str, Any]) -> None:
    assert not of(look(process(world, **how), "passed"))
