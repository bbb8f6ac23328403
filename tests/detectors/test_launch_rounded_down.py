"""launch-rounded-down: the last elements have no work-item, and the kernel's guard shows that a larger launch was meant."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.backends.opencl.plain_indices import guards
from gpudx.model import Finding

ID = "launch-rounded-down"
GUARDED = """kernel void scale(global float *x, int w, int h) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c >= w || r >= h) return;
  x[r * w + c] *= 2;
}"""
UNGUARDED = "kernel void scale(global float *x, int w, int h) { x[get_global_id(1) * w + get_global_id(0)] *= 2; }"


def process(world: Make, source: str, sizes: tuple[int, ...], groups: tuple[int, ...], w: int, h: int, offset: int = 0) -> World:
    made = world()
    made.note("note_source", {"program": made.program}, source)
    kernel = made.kernel("scale", [Arg("float*", "x", space=GLOBAL), Arg("int", "w"), Arg("int", "h")])
    made.set_arg(kernel, 0, made.buffer(4 * w * h))
    made.set_arg(kernel, 1, w, size=4)
    made.set_arg(kernel, 2, h, size=4)
    made.launch(kernel, sizes, groups)
    if offset:
        made.launch(kernel, sizes, groups, offset=(offset, 0))
    return made


def of(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == ID]


def test_a_launch_that_was_rounded_down(world: Make, look: Look) -> None:
    (finding,) = of(look(process(world, GUARDED, (992, 992), (16, 16), 1000, 1004)))
    assert "never runs for ids 992 to 999 in dimension 0 (w is 1,000) and ids 992 to 1,003 in dimension 1 (h is 1,004)" in finding.message
    assert finding.attribution == "probable"


@pytest.mark.parametrize(
    ("source", "sizes", "groups", "w", "h"),
    [
        (GUARDED, (1008, 1008), (16, 16), 1000, 1004),  # rounded up
        (GUARDED, (1000, 1004), (8, 4), 1000, 1004),  # fits
        (UNGUARDED, (992, 992), (16, 16), 1000, 1004),  # nothing shows that more was meant
        (GUARDED, (512, 512), (16, 16), 1000, 1004),  # a part, on purpose
        (GUARDED, (992, 992), (), 1000, 1004),  # no groups were asked for
    ],
)
def test_correct_launches_are_silent(
    world: Make, look: Look, source: str, sizes: tuple[int, ...], groups: tuple[int, ...], w: int, h: int
) -> None:
    assert not of(look(process(world, source, sizes, groups, w, h)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int i = get_global_id(0); if (i < n) a[i] = 0;", {0: {"n"}}),
        ("const int i = get_global_id(1); if (n > i) a[i] = 0;", {1: {"n"}}),
        ("int i = get_global_id(0), j = get_global_id(1); if (i >= n || m <= j) return; a[j * n + i] = 0;", {0: {"n"}, 1: {"m"}}),
        ("int i = get_global_id(0); if (i << n) a[i] = 0;", {}),
        ("int i = get_global_id(0); if (i <= n) a[i] = 0;", {}),
        ("int i = get_global_id(0); i += 4; if (i < n) a[i] = 0;", {}),
        ("for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] = 0;", {}),
        ("int i = get_global_id(0); if (i < a[0]) a[i] = n;", {}),
    ],
)
def test_guards_are_read_from_the_source(body: str, expected: dict[int, set[str]]) -> None:
    source = f"kernel void k(global int *a, int n, int m) {{ {body} }}"
    assert guards(source, "k") == {axis: frozenset(names) for axis, names in expected.items()}


def test_another_launch_may_do_the_rest(world: Make, look: Look) -> None:
    assert not of(look(process(world, GUARDED, (992, 992), (16, 16), 1000, 1004, offset=992)))
