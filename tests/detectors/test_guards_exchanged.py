"""guards-exchanged: a launch that fits the numbers of its guards only if two of them are exchanged."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "guards-exchanged"
SOURCE = """kernel void heat(global const float *u, global float *v, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  v[y * w + x] = u[y * w + x];
}
kernel void total(global const float *u, global float *rows, int w, int h) {
  int y = get_global_id(0);
  if (y >= h) return;
  rows[y] = u[y * w];
}"""
MACRO = SOURCE.replace("x >= w", "x >= LIMIT").replace("kernel void heat", "#define LIMIT w\nkernel void heat")


def process(
    world: Make,
    w: int,
    h: int,
    items: tuple[int, ...],
    group: tuple[int, ...] = (),
    offset: int = 0,
    source: str = SOURCE,
    total: bool = False,
) -> World:
    made = world()
    made.note("note_source", {"program": made.program}, source)
    arguments = [Arg("float*", "u", space=GLOBAL), Arg("float*", "v", space=GLOBAL), Arg("int", "w"), Arg("int", "h")]
    kernel, field = made.kernel("heat", arguments), made.buffer(4 * 320 * 200)
    made.set_arg(kernel, 0, field)
    made.set_arg(kernel, 1, made.buffer(4 * 320 * 200))
    made.set_arg(kernel, 2, w, size=4)
    made.set_arg(kernel, 3, h, size=4)
    made.launch(kernel, items, group, offset=(offset, 0) if offset else ())
    if total:
        other = made.kernel("total", arguments)
        made.set_arg(other, 0, field)
        made.set_arg(other, 1, made.buffer(4 * 200))
        made.set_arg(other, 2, 320, size=4)
        made.set_arg(other, 3, 200, size=4)
        made.launch(other, (200,))
    return made


def of(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == ID]


@pytest.mark.parametrize(("items", "group"), [((320, 200), ()), ((320, 208), (16, 16))])
def test_exchanged_numbers_are_named(world: Make, look: Look, items: tuple[int, ...], group: tuple[int, ...]) -> None:
    (finding,) = of(look(process(world, 200, 320, items, group)))
    assert "w is 200 and h is 320: the two are swapped" in finding.message
    assert f"Ids from {items[1]} to 319 in dimension 1 are never computed" in finding.message
    assert finding.attribution == "probable" and "or swap dimensions 0 and 1 of the launch" in finding.steps[0]


def test_another_kernel_with_the_same_buffer_decides_which_is_wrong(world: Make, look: Look) -> None:
    (finding,) = of(look(process(world, 200, 320, (320, 208), (16, 16), total=True)))
    assert finding.attribution == "this" and "kernel total (launch 2) is passed w = 320 and h = 200" in finding.evidence[-1].text
    assert finding.steps == ("Swap `w` (argument 2) and `h` (argument 3) where they are set.",)


@pytest.mark.parametrize(
    ("w", "h", "items", "group", "offset", "source"),
    [
        (320, 200, (320, 208), (16, 16), 0, SOURCE),  # fits
        (200, 320, (320, 320), (16, 16), 0, SOURCE),  # large enough for either
        (200, 320, (320, 208), (16, 16), 16, SOURCE),  # a part of the work
        (200, 320, (384, 208), (16, 16), 0, SOURCE),  # neither the one nor the other
        (256, 256, (256, 256), (16, 16), 0, SOURCE),  # a square
        (200, 320, (320, 208), (16, 16), 0, MACRO),  # not understood
    ],
)
def test_correct_launches_are_silent(
    world: Make, look: Look, w: int, h: int, items: tuple[int, ...], group: tuple[int, ...], offset: int, source: str
) -> None:
    assert not of(look(process(world, w, h, items, group, offset, source)))
