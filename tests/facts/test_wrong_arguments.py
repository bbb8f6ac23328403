"""Which buffer an argument may have been meant to be passed: a result that nobody reads, and results that somebody does."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.synthetic import GLOBAL, Arg, World

from gpudx.facts import derive
from gpudx.facts.redirects import ARGUMENT, redirects

SOURCE = """
kernel void project(global const float *x, global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }
kernel void weigh(global const float *v, global float *out) { out[get_global_id(0)] = 2 * v[get_global_id(0)]; }
"""
CONST = 4


@pytest.mark.parametrize("right", [False, True])
def test_a_result_that_nobody_reads_may_be_meant(schema: str, tmp_path: Path, right: bool) -> None:
    process = World(schema)
    process.note("note_source", {"program": process.program}, SOURCE)
    project = process.kernel("project", [Arg("float*", "x", GLOBAL, qualifiers=CONST), Arg("float*", "y", GLOBAL)])
    weigh = process.kernel("weigh", [Arg("float*", "v", GLOBAL, qualifiers=CONST), Arg("float*", "out", GLOBAL)])
    x, key, value, out = process.buffer(4096, host_ptr=1 << 40), *(process.buffer(4096) for _ in range(3))
    for kernel, given, target in ((project, x, key), (project, x, value), (weigh, value if right else key, out)):
        process.set_arg(kernel, 0, given)
        process.set_arg(kernel, 1, target)
        process.launch(kernel, (1024,))
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=out, size=4096, blocking=1)
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=key, size=4096, blocking=1)
    facts = derive(process.write(tmp_path / "1-0.gdx"))
    found = [one for one in redirects(facts) if one.kind == ARGUMENT and one.group.name == "weigh"]
    assert [facts.objects.table["handle"][one.others[0][1]] for one in found] == ([] if right else [value])
