"""A kernel was launched with an argument that was never set.

Arguments belong to the kernel object: a second object of the same kernel begins with none, and an argument whose
setting was refused is not set either. The driver refuses the launch, or runs it with whatever is there.

Example:

    cl_kernel second = clCreateKernel(program, "scale", &status);   // the arguments of the first are not copied
    clEnqueueNDRangeKernel(queue, second, 1, NULL, &n, NULL, 0, NULL, NULL);

Fix it by setting every argument on this kernel object before its first launch, and by checking each setting.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._handled import launch_dealt_with
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import several

ID = "argument-never-set"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="A kernel was launched with an argument that was never set",
    refutes_if="A call set this argument on this kernel object before the launch.",
    fix=(
        (
            "Set every argument on this kernel object before its first launch; arguments belong to the "
            "object, not to the name."
        ),
    ),
    predicts=(("recorded", "the launch is refused or uses undefined values"),),
    kind=FIXED,
)
LOOKED_AT = 8  # launches of one function, for one whose arguments are known to be missing
ASKED = 10_000  # questions for extension functions that are looked at
KEPT = 256  # native/opencl/arguments.c: a launch is recorded with so many arguments at most
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function; repeats are counted."""
    launches = facts.launches
    declared = launches.declared.arguments(launches.kernel_row)
    checked = (declared > 0) & (declared <= KEPT) & _set_one_by_one(facts)
    missing = checked & (_given(facts) < declared)
    refused = checked & ~missing & (launches.status != 0)
    for rows in (np.flatnonzero(missing), np.flatnonzero(refused)):
        for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
            found = _first(facts, part)
            if found:
                yield _finding(facts, run, *found, len(part) if missing[part[0]] else 1)


def _set_one_by_one(facts: Facts) -> NDArray[np.bool_]:
    """Launches of APIs in which arguments are set by calls of their own, all of which are recorded."""
    ways = {c.api for c in facts.trace.schema.doing("set_arg")}
    right = np.array([c.api in ways for c in facts.trace.schema.calls])
    chosen = right[facts.trace.call[facts.launches.position]]
    return chosen & (facts.launches.status != 0) if _other_setters(facts) else chosen


def _other_setters(facts: Facts) -> bool:
    """Did the program ask for a function of an extension that sets arguments? Only the driver knows what it set then."""
    asks = tuple(c for c in facts.trace.schema.calls if "function_name" in c.arrays)
    names = (facts.trace.array(int(p), "function_name") for p in facts.trace.select(asks)[:ASKED])
    return any(b"KernelArg" in name for name in names)


def _given(facts: Facts) -> I64:
    """How many arguments each launch had; each index is recorded once."""
    return np.bincount(facts.launches.arguments.launch, minlength=len(facts.launches))


def _first(facts: Facts, part: I64) -> tuple[int, dict[int, int | None]] | None:
    """The first launch with unset arguments: its row, and per index the refused setting, or None if there is none."""
    for row in map(int, part[:LOOKED_AT]):
        unset = _unset(facts, row)
        if any(at is None for at in unset.values()):  # where every setting was tried and refused, these calls are the fault
            return row, unset
    return None


def _unset(facts: Facts, row: int) -> dict[int, int | None]:
    info = facts.launches.info(row)
    given = {int(a["index"]) for a in facts.launches.values(row)}
    failed = int(facts.launches.status[row]) != 0
    lost = any(gap.kind == "overwritten" for gap in facts.trace.gaps)
    if info is None or (not given and not failed and lost):
        return {}  # nothing was kept of this object, and the driver saw nothing wrong
    tried, set_ = _settings(facts, row)
    never: dict[int, int | None] = {i: None for i in range(info.num_args) if i not in given and i not in set_}
    refused: dict[int, int | None] = {i: at for i, at in tried.items() if i not in set_ and i < info.num_args}
    return dict(sorted({**never, **(refused if failed else {})}.items()))


def _settings(facts: Facts, row: int) -> tuple[dict[int, int], set[int]]:
    """Before the launch, on its kernel object: the last refused setting of each argument, and what was set for good."""
    sets, launches = facts.set_args, facts.launches
    until = int(np.searchsorted(sets.position, launches.position[row]))
    rows = np.flatnonzero(sets.kernel_row[:until] == launches.kernel_row[row])
    good = sets.status[rows] == 0
    tried = {int(i): int(rows[~good][sets.index[rows[~good]] == i][-1]) for i in np.unique(sets.index[rows[~good]])}
    return tried, {int(i) for i in np.unique(sets.index[rows[good]])}


def _finding(facts: Facts, run: Run, row: int, unset: dict[int, int | None], count: int) -> Finding:
    launches = facts.launches
    kernel_row, only = int(launches.kernel_row[row]), next(iter(unset)) if len(unset) == 1 else None
    site = facts.sites.at(int(launches.position[row]), argument=only)
    names = [argument(facts, kernel_row, index) for index in unset]
    attempts = [int(facts.set_args.position[at]) for at in unset.values() if at is not None]
    tried = f"; the last attempt (call {attempts[0] + 1}) was refused" if attempts else ""
    message = f"Kernel {site.kernel} was launched although {several(names)} had never been set{tried}."
    evidence = [
        Evidence(f"no setting of {name} on this kernel object succeeded before the launch", (site.number,))
        for name in names[:8]
    ]
    evidence += [
        Evidence(f"call {at + 1} was refused with {facts.errors.status_name(at)}", (at + 1,)) for at in attempts[:8]
    ]
    if site.status:
        evidence.append(Evidence(f"the launch ended with {site.status}", (site.number,)))
    again = int(launches.status[row]) != 0 and launch_dealt_with(facts, row)
    tolerated = again or (int(launches.status[row]) != 0 and not run.failed)
    return Finding(
        id=ID,
        severity="info" if again else "warning" if tolerated else "error",
        message=message,
        evidence=tuple(evidence),
        site=site,
        others=tuple(site_of(facts, at) for at in attempts[:8]),
        count=count,
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("arguments", ",".join(map(str, unset)))),
        certainty="observed" if int(launches.status[row]) and not tolerated else "recorded",
        because=f"The driver refused the launch with {site.status}, so its work was not done." if site.status else "",
    )
