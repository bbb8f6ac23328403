"""lossy-halving: a reduction over a group whose size is no power of two, and reductions that leave nothing out."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg

LOOP = "for (uint s = %s / 2; s > 0; s %s) { if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }"
IN_KERNEL = "kernel void total(global int *o) { local int t[256]; uint l = get_local_id(0), n = get_local_size(0); %s o[0] = t[0]; }"
HELPER = "void tree(local int *t, uint l, uint many) { " + LOOP % ("many", ">>= 1") + " }\n"
BY_SIZE, BY_NAME = (IN_KERNEL % (LOOP % (size, "/= 2")) for size in ("get_local_size(0)", "n"))
BY_HELPER = HELPER + IN_KERNEL % "tree(t, l, n);"
FIXED = IN_KERNEL % (LOOP % ("256", "/= 2"))
OTHER = HELPER + IN_KERNEL % "tree(t, l, 64);"
CAREFUL = IN_KERNEL % (LOOP % ("n", "/= 2")).replace("t[l] += t[l + s];", "t[l] += t[l + s]; if (l == 0 && s % 2) t[0] += t[s - 1];")
ROUNDED_UP = IN_KERNEL % "for (uint s = (n + 1) / 2; s > 0; s = s > 1 ? (s + 1) / 2 : 0) { if (l + s < n) t[l] += t[l + s]; }"


@pytest.mark.parametrize(
    ("source", "group", "element"),
    [
        (BY_SIZE, 96, 2),
        (BY_NAME, 100, 24),
        (BY_HELPER, 96, 2),
        (BY_HELPER, 7, 6),
        (BY_SIZE, 128, None),
        (BY_SIZE, 0, None),  # the driver chose it
        (FIXED, 96, None),
        (OTHER, 96, None),
        (CAREFUL, 96, None),
        (ROUNDED_UP, 96, None),
    ],
)
def test_elements_that_a_reduction_leaves_out(world: Make, look: Look, source: str, group: int, element: int | None) -> None:
    process = world()
    process.note("note_source", {"program": process.program}, source)
    kernel = process.kernel("total", [Arg("int*", "o", space=GLOBAL)])
    process.set_arg(kernel, 0, process.buffer(64))
    process.launch(kernel, (group * 4 or 384,), (group,) if group else ())
    found = [one for one in look(process, "exit", exit_code=1) if one.id == "lossy-halving"]
    assert [f"element {element} is left out" in one.message for one in found] == ([] if element is None else [True])
    assert all(one.severity == "error" and one.attribution == "probable" for one in found)
