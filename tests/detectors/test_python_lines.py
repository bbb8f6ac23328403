"""Launches of a Python program on a real driver: the guilty one is shown with its Python line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from support.opencl import PROGRAMS, OpenCL, Recorded

from gpudx.diagnose import diagnose

PROGRAM = PROGRAMS / "pyopencl_refused.py"
LINE = next(i for i, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "# the launch" in line)

FROM_SOURCE = {"PYOPENCL_NO_CACHE": "1"}  # the warning about a build log names another line where an earlier run left a binary


@pytest.fixture(scope="module")
def run(opencl: OpenCL) -> Recorded:
    opencl.record([sys.executable, PROGRAM], **FROM_SOURCE)  # Intel's compiler says something only of what its cache does not have
    return opencl.record([sys.executable, PROGRAM], GPUDX_STACKS="1", **FROM_SOURCE)


def test_the_guilty_launch_has_its_python_line(run: Recorded) -> None:
    finding = run.only("launch-refused")
    assert finding.site and finding.site.source == f"{PROGRAM}:{LINE}"
    best = diagnose(run.findings, run.outcome)[0]
    assert best.guilty and best.guilty.source == f"{PROGRAM}:{LINE}"
    python = [line for line in best.guilty.host_stack if line.endswith("(python)")]
    assert f"pyopencl_refused.py:{LINE} in scale (python)" in python
    assert python[-1].endswith("in <module> (python)")
    assert len(best.guilty.host_stack) > len(python)


def test_every_launch_of_two_threads_has_it(run: Recorded) -> None:
    facts = run.facts
    assert len(set(facts.launches.tid.tolist())) == 3
    found = [facts.stacks.at(int(position)) for position in facts.launches.position]
    assert {stack.source for stack in found if stack} == {f"{PROGRAM}:{LINE}"}
    assert all(stack and stack.addresses for stack in found)


def test_the_program_shows_the_same_as_without(opencl: OpenCL, run: Recorded) -> None:
    plain = opencl.record([sys.executable, PROGRAM], **FROM_SOURCE)
    assert (plain.output, replace(plain.outcome, duration_s=0)) == (run.output, replace(run.outcome, duration_s=0))
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    alone = subprocess.run([sys.executable, PROGRAM], env={**opencl.plain_environment, **FROM_SOURCE}, text=True, check=False, **both)
    assert (alone.stdout, alone.returncode) == (run.output, run.outcome.exit_code)


def test_python_is_not_asked_unless_asked_for(opencl: OpenCL) -> None:
    facts = opencl.record([sys.executable, PROGRAM]).facts
    stacks = [facts.stacks.at(int(position)) for position in facts.launches.position]
    assert all(stack and stack.addresses and not stack.python for stack in stacks)
    sources = [facts.sites.at(int(position)).source or "" for position in facts.launches.position]
    assert not any(".c:" in source or ".h:" in source for source in sources)  # the interpreter's lines are nobody's
