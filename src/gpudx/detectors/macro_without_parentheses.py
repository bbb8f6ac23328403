"""A macro stands for an expression without parentheses, and the source uses it beside an operator that binds tighter.

A macro is replaced by its text. Compilers say nothing about it.

Example:

    clBuildProgram(program, 1, &device, "-DPITCH=64+2", NULL, NULL);

    out[y * PITCH + x] = 0;        // out[y * 64+2 + x]

Fix it by parentheses around the value: -DPITCH=(64+2).

Reported for build options and for `#define` in the source, where the value is a plain expression and the use is in the source of the same
program, outside of other macros.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.bare_macros import BareMacro, bare_macros
from gpudx.facts.build_macros import Build, Builds
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "macro-without-parentheses"
CAUSE = Cause(
    id=ID,
    title="A macro is an expression without parentheses, used beside an operator that binds tighter",
    refutes_if="The source is meant to use the value's parts so.",
    fix=("Put parentheses around the value of the macro.",),
    predicts=(("recorded", "results are those of the other expression, although no call fails"),),
    settled_by="a run with parentheses around the value",
    kind=FIXED,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per macro; builds after the first are counted."""
    found: dict[str, list[tuple[Build, BareMacro]]] = {}
    for build in Builds(facts).all() if any(map(len, facts.kernels.sources.values())) else []:
        for one in bare_macros(build):
            found.setdefault(one.name, []).append((build, one))
    for several in found.values():
        yield _finding(facts, *several[0], len(several), run.outcome.failed)


def _finding(facts: Facts, build: Build, one: BareMacro, count: int, failed: bool) -> Finding:
    site = facts.sites.at(build.position)
    place = facts.kernel_files.place(build.text, one.line)
    line = f"{place[0]}:{place[1]}" if place else f"line {one.line} of the source"
    given = f"The build option -D{one.name}={one.value}" if one.by_option else f"#define {one.name} {one.value}"
    return Finding(
        id=ID,
        severity="error" if failed else "warning",
        message=f"{given} has no parentheses around its value: `{one.used}` is `{one.becomes}`.",
        evidence=(
            Evidence(f"`{one.used}` is at {line.rpartition('/')[2]}", (site.number,)),
            Evidence(f"the options of {site.call} are `{build.options.strip()[:200]}`", (site.number,)),
        ),
        site=site,
        count=count,
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        because="The source uses a part of the value only; that the whole is meant is not shown.",
        steps=(one.step,),
        facts=(("macro", one.name),),
    )
