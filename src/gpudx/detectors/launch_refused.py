"""A launch was refused because of its sizes.

The status names only the group of limits, not which limit was broken, or by how much. Every limit that was recorded is compared
with the launch, and each one that it breaks is listed with its numbers: work-group size against device and kernel, each
dimension, divisibility, a work-group size that the kernel requires, local memory, empty sizes. If none is broken, the report
shows this instead of guessing.

Example:

    size_t local[2] = {64, 64};                          // 4096 work-items; the kernel can have 1024
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL);

Fix it by asking the kernel (clGetKernelWorkGroupInfo), not the device, for the largest work-group, and by rounding
the global size up to a multiple of the local one, with a bounds check in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._handled import is_missed, is_one_size_of_many, launch_dealt_with, was_done, was_done_before
from gpudx.detectors._words import site_of
from gpudx.facts import Facts
from gpudx.facts.kernels import Device, DeviceLimits
from gpudx.facts.launch_rules import limits_broken
from gpudx.facts.open_calls import fatal_call
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.model.finding import Severity
from gpudx.text import plural

ID = "launch-refused"
LOWER = "the kernel's own limit may be lower than the device's."
LESS_LOCAL = "Use less local memory in each work-group: a smaller tile, or fewer of them."
CAUSE = Cause(
    id=ID,
    title="A launch asked for more than the device or the kernel allows",
    refutes_if="The sizes are within every limit that the device reports.",
    fix=("Choose sizes that the kernel and the device allow.",),
    fix_of=(
        ("opencl", f"Query clGetKernelWorkGroupInfo(CL_KERNEL_WORK_GROUP_SIZE): {LOWER}"),
        ("cuda", f"Query cudaFuncGetAttributes (maxThreadsPerBlock): {LOWER}"),
        ("hip", f"Query hipFuncGetAttributes (maxThreadsPerBlock): {LOWER}"),
    ),
    predicts=(("recorded", "the launch call fails"),),
    kind=FIXED,
)
Sizes = tuple[int, ...]
NOT_DONE = "The driver refused the launch, no later launch of this kernel succeeded, and the program used what it should have written."
MOST_GROUP = 1024  # that is proposed


@dataclass(frozen=True)
class _Launch:
    """A launch with everything that limits it. Sizes that were not given are 0."""

    sizes: Sizes
    groups: Sizes
    device: Device
    limits: DeviceLimits | None
    local_arguments: int
    whole_groups: bool | None
    may_be_empty: bool

    @property
    def items(self) -> int:
        """Work-items of one group; 0 when the program left it to the driver."""
        return prod(g or 1 for g in self.groups) if any(self.groups) else 0


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function, sizes and status; repeats are counted."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status != 0) & np.isin(launches.position, facts.errors.own))
    died = np.flatnonzero(launches.position == (-1 if fatal_call(facts) is None else fatal_call(facts)))
    for some in (rows, died):
        functions = facts.kernels.functions(launches.kernel_row[some])
        for part in groups(some, functions, launches.status[some], *launches.sizes(some)):
            found = _finding(facts, run, int(part[0]), len(part))
            if found:
                yield found
    yield from _accepted(facts)


def _accepted(facts: Facts) -> Iterator[Finding]:
    """Launches with more local memory than the device has, which some drivers for CPUs run all the same."""
    launches, local = facts.launches, facts.trace.schema.argument_flags.get("local", 0)
    table = launches.arguments
    large = np.zeros(len(launches), np.int64)
    dynamic = (table.flags & local) != 0
    np.add.at(large, table.launch[dynamic], table.size[dynamic].astype(np.int64))
    rows = np.flatnonzero((launches.status == 0) & (large > 0))
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows]), large[rows]):
        launch = None if launches.by_address[part[0]] else _launch(facts, int(part[0]))
        found = list(_local_memory(launch)) if launch else []
        if found:
            yield _described(facts, int(part[0]), len(part), found, "error", (LESS_LOCAL,))


def _launch(facts: Facts, row: int) -> _Launch | None:
    launches, position = facts.launches, int(facts.launches.position[row])
    device = facts.kernels.device_of(int(launches.queue[row]), position)
    info, kernel_row = launches.info(row), int(launches.kernel_row[row])
    if device is None:
        return None
    limits = next((one for one in (info.limits if info else ()) if one.device == device.handle), None)
    local = facts.trace.schema.argument_flags["local"]
    dynamic = sum(int(a["size"]) for a in launches.values(row) if a["flags"] & local)
    return _Launch(
        *launches.geometry(row),
        device,
        limits,
        dynamic,
        facts.kernels.whole_groups(kernel_row, device, position),
        facts.kernels.empty_launches(device),
    )


def broken(launch: _Launch) -> list[str]:
    """Every limit that the launch breaks, with its numbers."""
    found = [*_empty(launch), *_group_size(launch), *_dimensions(launch), *_required(launch), *_local_memory(launch)]
    if launch.whole_groups or (launch.whole_groups is None and not found):
        found += _remainder(launch)
    return found


def _empty(launch: _Launch) -> Iterator[str]:
    for i, size in enumerate(launch.sizes):
        if size >> 63 and not (launch.groups[i] and size % launch.groups[i]):
            yield f"the global size in dimension {i} is {size:,}, which is {size - (1 << 64):,} as a signed number"
    given = [i for i in range(3) if launch.sizes[i] or launch.groups[i]]
    last = given[-1] if given else 0
    for i in range(last + 1):
        if not launch.sizes[i] and not launch.may_be_empty:
            yield (
                f"the global size in dimension {i} is 0, or was not passed"
                if not given
                else f"the global size in dimension {i} is 0"
            )
        if any(launch.groups) and not launch.groups[i]:
            yield f"the local size in dimension {i} is 0"
    if not given and launch.may_be_empty:
        yield "no global size was passed, or the number of dimensions is not 1, 2 or 3"


def _group_size(launch: _Launch) -> Iterator[str]:
    shape = " x ".join(str(g) for g in launch.groups if g)
    text = f"a work-group{f' of {shape}' if ' ' in shape else ''} has {plural(launch.items, 'work-item')}"
    if launch.items > launch.device.max_work_group_size > 0:
        yield f"{text}, but the device allows {launch.device.max_work_group_size:,}"
    elif launch.limits and launch.items > launch.limits.max_work_group_size > 0:
        yield f"{text}, but the kernel can have {launch.limits.max_work_group_size:,} on this device"


def _dimensions(launch: _Launch) -> Iterator[str]:
    whole = launch.device.max_work_group_size
    for i, (size, most) in enumerate(zip(launch.groups, launch.device.max_item_sizes, strict=False)):
        if size > most > 0 and not most >= whole > 0:  # else the limit of the whole work-group says it
            yield f"the local size in dimension {i} is {size:,}, but the device allows {most:,}"


def _required(launch: _Launch) -> Iterator[str]:
    required = launch.limits.required if launch.limits else ()
    if not any(required):
        return
    wanted = " x ".join(map(str, required))
    if not any(launch.groups):
        yield f"the kernel requires work-groups of {wanted}, and no local size was passed"
    elif tuple(g or 1 for g in launch.groups) != tuple(r or 1 for r in required):
        given = " x ".join(str(g or 1) for g in launch.groups)
        yield f"the kernel requires work-groups of {wanted}, the launch has {given}"


def _local_memory(launch: _Launch) -> Iterator[str]:
    own = launch.limits.local_mem_size if launch.limits else 0
    if own + launch.local_arguments > launch.device.local_mem_size > 0:
        yield (
            f"it needs {plural(own + launch.local_arguments, 'byte')} of local memory ({own:,} in the kernel, {launch.local_arguments:,} "
            f"as arguments), but the device has {launch.device.local_mem_size:,}"
        )


def _remainder(launch: _Launch) -> Iterator[str]:
    for i, (size, group) in enumerate(zip(launch.sizes, launch.groups, strict=True)):
        if group and size % group:
            negative = f" ({size - (1 << 64):,} as a signed number)" if size >> 63 else ""
            yield f"the global size in dimension {i} is {size:,}{negative}, not a multiple of the local size {group:,}"


def _finding(facts: Facts, run: Run, row: int, count: int) -> Finding | None:
    steps: tuple[str, ...] = ()
    found = limits_broken(facts, row)
    if found is None:
        launch = None if facts.launches.by_address[row] else _launch(facts, row)
        if launch is None:
            return None
        found, steps = broken(launch), _steps(launch)
    if not found and not facts.launches.done[row]:
        return None  # it died for another reason
    lost = run.failed or _never_done(facts, row)
    tried = not run.failed and (was_done(facts, row) or was_done_before(facts, row) or is_one_size_of_many(facts, row))
    harmless = not found or tried or launch_dealt_with(facts, row)
    described = _described(facts, row, count, found, "info" if harmless else "error" if lost else "warning", steps)
    certain = bool(found) and facts.launches.done[row] and not harmless and _never_done(facts, row)
    return replace(described, certainty="observed", because=NOT_DONE) if certain else described


def _never_done(facts: Facts, row: int) -> bool:
    """Did no later launch of this kernel succeed, although what it should have written was used afterwards?"""
    launches, position = facts.launches, int(facts.launches.position[row])
    functions = facts.kernels.functions(launches.kernel_row)
    if ((functions == functions[row]) & (launches.status == 0) & (launches.position > position)).any():
        return False
    return is_missed(facts, row)


def _steps(launch: _Launch) -> tuple[str, ...]:
    """What to change, where another limit than a size is broken."""
    if any(_required(launch)):
        wanted = " x ".join(map(str, launch.limits.required if launch.limits else ()))
        return (f"Launch it with work-groups of {wanted}, or change reqd_work_group_size in the kernel.",)
    if any(_local_memory(launch)):
        return (LESS_LOCAL,)
    uneven = next(((size, group) for size, group in zip(launch.sizes, launch.groups, strict=True) if group and size % group), None)
    return tuple(_rounded(*uneven)) if uneven and not uneven[0] >> 63 else ()


def _rounded(size: int, group: int) -> Iterator[str]:
    """Both ways to make the one a multiple of the other."""
    divisor = next(one for one in range(min(group, size, MOST_GROUP), 0, -1) if size % one == 0)
    whole = -(-size // group) * group
    yield f"Round the global size up to {whole:,} = {whole // group:,} x {group:,}, and let the kernel skip ids from {size:,} on."
    yield f"Or choose a local size that divides {size:,}, for example {divisor:,}."


def _described(
    facts: Facts, row: int, count: int, found: list[str], severity: Severity, steps: tuple[str, ...] = ()
) -> Finding:
    site = site_of(facts, int(facts.launches.position[row]))
    evidence = [Evidence(text, (site.number,)) for text in found]
    evidence.append(Evidence(_answer(site.status), (site.number,)))
    what = "; ".join(found) if found else "its sizes break none of the limits that were recorded"
    return Finding(
        id=ID,
        severity=severity,
        message=f"The launch of kernel {site.kernel} {_ended(site.status)}: {what}.",
        evidence=tuple(evidence),
        site=site,
        count=count,
        causes=(ID,) if found else (),
        steps=steps,
        facts=(("kernel", site.kernel or "?"), ("status", site.status or "?"), ("limits", what)),
    )


def _ended(status: str | None) -> str:
    if status == "in flight":
        return "crashed in the driver"
    return f"was refused with {status}" if status else "asks for more than the device has, which this driver did not refuse"


def _answer(status: str | None) -> str:
    if status == "in flight":
        return "the launch call never returned"
    return f"the driver returned {status}" if status else "the driver accepted the launch; another driver refuses it"
