"""A build step failed or did nothing, and an old program was run after it.

Scripts build and then run, and many continue when the build fails, or name a target that is always up to date. They then run
what an earlier build left, without any message.

Example:

    make -s build || true        // "build" is a folder: nothing is out of date
    ./bin/app                    // last week's program

Fix it by letting the script end when the build fails (set -e), and by declaring targets that are not files .PHONY.

Reported for make, ninja, cmake, cargo and similar tools, if the recorder saw them end before a program of the user's was
started that is older than the build. A build that succeeded and compiled nothing is reported only if the program is older than
its sources: otherwise it was up to date. Single compiler runs are not judged: configuration scripts try compilers and expect
some to fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._ages import OLDER, before, name_of, span
from gpudx.model import Evidence, Finding, Identity, LoadedObject, Step

ID = "build-left-old-program"


def examine(identity: Identity, run: Run) -> Iterator[Finding]:
    """One finding for each program, about the last build step before it."""
    wanted = any(probe.state == "absent" and probe.sources for probe in identity.probes)
    for one in identity.executables():
        steps = [step for step in identity.steps if before(step, one)]
        if one.own and steps and (steps[-1].status or _did_nothing(steps[-1], one, wanted)):
            yield _finding(one, steps[-1])


def _did_nothing(step: Step, program: LoadedObject, wanted: bool) -> bool:
    stale = bool(program.built and program.built.stale)
    return step.status == 0 and not step.compiled and (stale or wanted)


def _finding(one: LoadedObject, step: Step) -> Finding:
    tool, name = name_of(step.tool), name_of(one.path)
    did = f"ended with status {step.status}" if step.status else "compiled nothing"
    age = span(step.began - one.modified)
    return Finding(
        id=ID,
        severity="warning",
        message=f"{tool} {did}, and {name}, which was run after it, had been built {age} before: let the script stop when the build fails.",
        evidence=(
            Evidence(f"{step.tool} (process {step.pid}) {did} before {one.path} was started"),
            Evidence(f"{one.path} was last written {age} before that build began"),
        ),
        causes=("stale-executable",),
        facts=(("tool", tool), ("program", name), ("status", str(step.status))),
        scope="program",
        certainty="inferred",
        because=OLDER,
    )
