"""useless-clamp: unsigned differences that are clamped at zero."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "useless-clamp"
CLAMPED = """kernel void dilate(global const uchar *in, global uchar *out, const uint h, const uint r) {
  uint y = get_global_id(0);
  if (y >= h) return;
  uchar m = 0;
  for (uint yy = max(y - r, 0u); yy <= min(y + r, h - 1); ++yy) m = max(m, in[yy]);
  out[y] = m;
}"""
GUARDED = CLAMPED.replace("if (y >= h) return;", "if (y >= h || y < r) return;")
SIGNED = CLAMPED.replace("max(y - r, 0u)", "max((int)y - (int)r, 0)")


def process(world: Make, source: str, r: int, offset: int = 0) -> World:
    made = world()
    made.note("note_source", {"program": made.program}, source)
    pointers = [Arg("uchar*", "in", space=GLOBAL), Arg("uchar*", "out", space=GLOBAL)]
    kernel = made.kernel("dilate", [*pointers, Arg("uint", "h"), Arg("uint", "r")])
    made.set_arg(kernel, 0, made.buffer(90))
    made.set_arg(kernel, 1, made.buffer(90))
    made.set_arg(kernel, 2, 90, size=4)
    made.set_arg(kernel, 3, r, size=4)
    made.launch(kernel, (90,), offset=(offset,) if offset else ())
    return made


def of(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == ID]


def test_a_clamp_of_an_unsigned_difference(world: Make, look: Look) -> None:
    (finding,) = of(look(process(world, CLAMPED, 3)))
    assert "computes `max(y - r, 0u)`, which is `y - r`" in finding.message and "y = 0 and r = 3 it is 4,294,967,293" in finding.message
    assert finding.attribution == "probable" and "y > r ? y - r : 0" in finding.steps[0]


@pytest.mark.parametrize(("source", "r", "offset"), [(CLAMPED, 0, 0), (CLAMPED, 3, 3), (GUARDED, 3, 0), (SIGNED, 3, 0)])
def test_differences_that_do_not_wrap_are_silent(world: Make, look: Look, source: str, r: int, offset: int) -> None:
    assert not of(look(process(world, source, r, offset)))
