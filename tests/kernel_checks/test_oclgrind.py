"""--sanitize=oclgrind: what Oclgrind's log says, and the two opinions of one program."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from support import forked

from gpudx.diagnose import simulated_runs
from gpudx.evidence.oclgrind_reports import read, was_cut
from gpudx.model import Access, Case, Evidence, Finding, Instrument, Outcome

HERE = Path(__file__).parent
LOG = """
Invalid write of size 4 at global memory address 0x200000000007c
\tKernel: shift
\tEntity: Global(31,0,0) Local(15,0,0) Group(1,0,0)
\t  store float %mul, float addrspace(1)* %arrayidx3, align 4
\tAt line 4 (column 12) of input.cl:
\t  out[i] = in[i] * 2.0f;

Read-write data race at local memory address 0x100000000001c
\tKernel: sum

\tFirst entity:  Global(8,0,0) Local(8,0,0) Group(0,0,0)
\t  %1 = load float
\tAt line 10 (column 10) of input.cl:
\t  a[l] = t[15 - l];

\tSecond entity: Global(7,0,0) Local(7,0,0) Group(0,0,0)
\t  store float %0
\tAt line 9 (column 8) of input.cl:
\t  t[l] = a[l];

Work-group divergence detected (barrier):
\tKernel: meet
\tOnly 8 out of 16 work-items executed barrier
\tAt line 3 (column 5) of input.cl:
\t  barrier(CLK_LOCAL_MEM_FENCE);
"""


def test_a_log_is_read() -> None:
    bounds, race, barrier = read(LOG + LOG)
    assert (bounds.kind, bounds.kernel, bounds.does, bounds.width, bounds.lines) == (
        "bounds",
        "shift",
        "write",
        4,
        (4,),
    )
    assert (bounds.item, bounds.local, bounds.group) == ((31, 0, 0), (15, 0, 0), (1, 0, 0))
    assert (race.kind, race.kernel, race.space, race.lines) == ("race", "sum", "local", (10, 9))
    assert (barrier.kind, barrier.kernel, barrier.lines) == ("barrier", "meet", (3,))
    assert was_cut("1000 errors generated - suppressing further errors") and not was_cut(LOG)


@pytest.mark.parametrize("text", ["", "\n\n", "nonsense\n\tKernel: k\n", "Invalid write of size x at global memory"])
def test_what_is_no_report_gives_none(text: str) -> None:
    assert read(text) == []


def case(*findings: Finding, tool: str) -> Case:
    return Case(
        directory="",
        command=("app",),
        created="",
        version="",
        findings=findings,
        instruments=(Instrument(tool, "live", ""),),
        outcome=Outcome("exit", "exit status 0", exit_code=0),
    )


def finding(id: str, kernel: str, line: int) -> Finding:
    return Finding(
        id,
        "error",
        f"{id} in {kernel}.",
        (Evidence("seen"),),
        facts=(("line", str(line)),),
        access=Access(kernel=kernel),
    )


def test_two_that_agree_and_two_that_do_not() -> None:
    ours = case(
        finding("kernel-check-bounds", "a", 4), finding("kernel-check-race", "b", 5), tool="kernel checks (bounds)"
    )
    theirs = case(finding("oclgrind-bounds", "a", 4), finding("oclgrind-barrier", "c", 6), tool="Oclgrind")
    joined = simulated_runs.joined(ours, theirs)
    said = {(one.id, one.access.kernel if one.access else "") for one in joined.findings}
    assert ("oclgrind-barrier", "c") in said and ("oclgrind-bounds", "a") not in said
    agreed = next(one for one in joined.findings if one.id == "kernel-check-bounds")
    assert agreed.evidence[-1].text.endswith("in this kernel at the same line")
    split = sorted(one.message for one in joined.findings if one.id == simulated_runs.SPLIT)
    assert len(split) == 2 and "kernel b" in split[1] and "Oclgrind does not" in split[1] and "kernel c" in split[0]


def test_a_simulation_that_did_not_end_disagrees_with_nothing() -> None:
    from dataclasses import replace

    ours = case(finding("kernel-check-race", "b", 5), tool="kernel checks (races)")
    theirs = replace(case(tool="Oclgrind"), outcome=Outcome("timeout", "stopped"))
    assert [one.id for one in simulated_runs.joined(ours, theirs).findings] == ["kernel-check-race"]


@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="Oclgrind is not installed")
@pytest.mark.timeout(300)
def test_a_program_on_both(tmp_path: Path) -> None:
    pytest.importorskip("clang.cindex")
    pytest.importorskip("pyopencl")
    words = ["run", "--sanitize=oclgrind", "--case", tmp_path / "case", "--"]
    program = [sys.executable, str(HERE / "planted_host.py"), str(HERE / "planted" / "bounds_global.cl"), "--", "copy_tail"]
    done = forked.gpudx(*words, *program, env={**os.environ, "PYOPENCL_NO_CACHE": "1"}, timeout=280)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "case" / "case.json").read_text())
    found = [one for one in made["findings"] if one["id"] == "kernel-check-bounds"]
    assert [one["site"]["kernel"] for one in found] == ["copy_tail_faulty"]
    assert "Oclgrind reports" in found[0]["evidence"][-1]["text"]
    tool = next(one for one in made["instruments"] if one["name"] == "Oclgrind")
    assert tool["state"] == "live" and "2 launches simulated" in tool["saw"]
    assert not [one for one in made["findings"] if one["id"] == simulated_runs.SPLIT]
