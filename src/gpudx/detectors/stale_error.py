"""The error of an earlier call was read after a launch, and taken for the launch's.

A launch with <<<...>>> returns nothing, so programs ask for the last error behind it. What they get is the last error of the thread: since
HIP 7 (and always in CUDA) also one that a call long before the launch had returned, and that nobody looked at.

Example:

    hipHostRegister(host, bytes, 0);                     // hipErrorHostMemoryAlreadyRegistered; not checked
    ...
    scale<<<grid, block>>>(x, n);
    if (hipGetLastError() != hipSuccess) fail("launch of scale failed");

Fix it by checking the status of each call where it is made. If a failure is expected, clear it there with hipGetLastError().

Only reported if the program stopped after it, the launch itself succeeded, and the error was not asked for in between.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._failures import only_tidied
from gpudx.detectors._words import place_of, site_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "stale-error"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="The error of an earlier call was taken for that of a launch",
    refutes_if="The program ends the same way when the earlier call succeeds.",
    fix=("Check the status of the named call where it is made.",),
    fix_of=(("hip", "If that failure is expected, clear it right there with hipGetLastError()."),),
    predicts=(("recorded", "the launch succeeds, and the last error is that of a call before it"),),
    kind=FIXED,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the last error that the program asked for before it ended."""
    asked = facts.trace.select(facts.trace.schema.doing("last_error"))
    asked = asked[(facts.trace.column("status", asked) != 0) & ~np.isin(asked, facts.errors.position)]
    if not run.failed or not len(asked):
        return
    last = int(asked[-1])
    failed = _source(facts, last)
    launch = _launch_between(facts, failed, last) if failed is not None else None
    if failed is not None and launch is not None and only_tidied(facts, last, _thread(facts, last)):
        yield _finding(facts, failed, launch, last)


def _thread(facts: Facts, position: int) -> int:
    return int(facts.trace.column("tid", np.array([position]))[0])


def _source(facts: Facts, asked: int) -> int | None:
    """The last call of the thread that failed with this status; None where the error was asked for since."""
    trace = facts.trace
    same = (trace.column("tid") == _thread(facts, asked)) & (trace.column("status") == trace.column("status")[asked])
    before = np.flatnonzero(same & ~trace.is_note)
    before = before[before < asked]
    if not len(before) or trace.info(int(before[-1])).does == "last_error":
        return None
    return int(before[-1])


def _launch_between(facts: Facts, failed: int, asked: int) -> int | None:
    """The last launch of the thread since then; it succeeded, or its own status would be the last."""
    launches = facts.launches
    mine = facts.trace.column("tid", launches.position) == _thread(facts, asked)
    rows = np.flatnonzero(mine & (launches.position > failed) & (launches.position < asked) & (launches.status == 0))
    return int(rows[-1]) if len(rows) else None


def _finding(facts: Facts, failed: int, launch: int, asked: int) -> Finding:
    site, reader = site_of(facts, failed), facts.sites.at(asked)
    launched = facts.sites.at(int(facts.launches.position[launch]))
    name = facts.errors.status_name(failed)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{site.call} (call {site.number}{place_of(site)}) failed with {name}, and the program did not look at it. {reader.call} "
            f"returned that error behind the launch of kernel {launched.kernel} (call {launched.number}), which had not failed."
        ),
        evidence=(
            Evidence(f"{site.call} returned {name}", (site.number,)),
            Evidence(f"{launched.call}{place_of(launched)} launched kernel {launched.kernel} without an error", (launched.number,)),
            Evidence(f"{reader.call}{place_of(reader)} returned {name}: the last error of this thread", (reader.number,)),
        ),
        site=site,
        others=(launched, reader),
        causes=(ID,),
        facts=(("call", site.call), ("status", name), ("kernel", launched.kernel or "?")),
        certainty="observed",
        because="The error was there before the launch, which succeeded, and the program stopped when it read it.",
    )
