"""return-before-barrier: a return that divides a group before a barrier, and returns that do not."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "return-before-barrier"
RETURNS = """kernel void smooth(global const float *in, global float *out, const int n) {
  local float tile[64];
  const int i = get_global_id(0), l = get_local_id(0);
  if (i >= n) { return; }
  tile[l] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[63 - l];
}"""
BEFORE = RETURNS.replace("if (i >= n) { return; }", "").replace("out[i]", "if (i >= n) return; out[i]")
WORKS = RETURNS.replace("if (i >= n) { return; }", "").replace("tile[l] = in[i]", "if (i < n) tile[l] = in[i]")
EITHER = RETURNS.replace("if (i >= n) { return; }", "if (l > 63 || n <= i) return;")
BOTH = RETURNS.replace("if (i >= n) { return; }", "if (i >= n && n == 0) return;")


def process(world: Make, source: str, n: int, items: int, group: int) -> World:
    made = world()
    made.note("note_source", {"program": made.program}, source)
    arguments = [Arg("float*", "in", space=GLOBAL), Arg("float*", "out", space=GLOBAL), Arg("int", "n")]
    kernel = made.kernel("smooth", arguments)
    made.set_arg(kernel, 0, made.buffer(4 * items))
    made.set_arg(kernel, 1, made.buffer(4 * items))
    made.set_arg(kernel, 2, n, size=4)
    made.launch(kernel, (items,), (group,) if group else ())
    return made


def of(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.id == ID]


@pytest.mark.parametrize("source", [RETURNS, EITHER])
def test_a_divided_group(world: Make, look: Look, source: str) -> None:
    (finding,) = of(look(process(world, source, 5000, 5056, 64)))
    assert "from 5,000 on return before it (n is 5,000), and the group from 4,992 to 5,055 is divided" in finding.message
    assert finding.access is not None and finding.access.source == "kernel source:4"
    assert finding.causes == ("barrier-misuse",) and "8 of the 64 work-items" in finding.evidence[0].text


@pytest.mark.parametrize(
    ("source", "n", "items", "group"),
    [
        (RETURNS, 4992, 5056, 64),  # whole groups return
        (RETURNS, 5056, 5056, 64),  # none returns
        (RETURNS, 5000, 5056, 0),  # the driver chose the groups
        (BEFORE, 5000, 5056, 64),  # behind the barrier
        (WORKS, 5000, 5056, 64),
        (BOTH, 5000, 5056, 64),  # not understood
    ],
)
def test_groups_that_stay_together_are_silent(world: Make, look: Look, source: str, n: int, items: int, group: int) -> None:
    assert not of(look(process(world, source, n, items, group)))
