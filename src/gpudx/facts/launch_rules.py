"""Launches against the limits of their device and kernel, where the API's backend knows them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import ModuleType

from gpudx.backends.launch_limits import Launch, resident
from gpudx.facts import Facts, backend_module


def limits_broken(facts: Facts, row: int) -> list[str] | None:
    """Every limit that a launch (a row of Launches) breaks; None when its backend or its device is not known."""
    known = _known(facts, row)
    if known is None:
        return None
    rules, launch = known
    found: list[str] = rules.broken(launch)
    return found


@dataclass(frozen=True)
class Waiting:
    """More blocks than fit on the device: the others start when one of these has ended."""

    blocks: int
    fit: int  # at most


def more_than_fit(facts: Facts, row: int) -> Waiting | None:
    """None where all blocks may be on the device at once, and where that is not known."""
    known = _known(facts, row)
    if known is None:
        return None
    launch = known[1]
    fit = resident(launch)
    return Waiting(prod(launch.grid), fit) if fit and prod(launch.grid) > fit else None


def _known(facts: Facts, row: int) -> tuple[ModuleType, Launch] | None:
    position = int(facts.launches.position[row])
    trace, info = facts.trace, facts.launches.info(row)
    rules = backend_module(trace.info(position).api, "rules")
    device = facts.kernels.device_of(int(facts.launches.queue[row]), position)
    if rules is None or device is None or not hasattr(rules, "broken"):
        return None
    limits = info.limits[0] if info and info.limits else None
    grid, block = facts.launches.grid(row)
    cluster, cooperative = rules.attributes(trace.array(position, "config"))
    launch = rules.Launch(
        grid=grid,
        block=block,
        shared=trace.record(position)["shared_bytes"],
        device=device.numbers,
        kernel={**(limits.numbers if limits else {}), **_settings(facts, row, rules.SETTABLE)},
        most_threads=device.max_work_group_size,
        kernel_threads=limits.max_work_group_size if limits else 0,
        static_shared=limits.local_mem_size if limits else 0,
        units=device.compute_units,
        cluster=cluster,
        cooperative=cooperative or "Cooperative" in trace.info(position).name,
    )
    return rules, launch


def _settings(facts: Facts, row: int, names: Mapping[int, str]) -> dict[str, int]:
    """What the program set for the launched function before the launch: the description may be older than that."""
    trace, position = facts.trace, int(facts.launches.position[row])
    function = int(facts.kernels.functions(facts.launches.kernel_row[[row]])[0])
    found: dict[str, int] = {}
    needed = {"kernel", "attribute", "value"}
    for info in (c for c in trace.schema.doing("other") if needed <= {n for n, _ in c.fields}):
        positions = trace.select(info)
        positions = positions[(positions < position) & (trace.column("status", positions) == 0)]
        kernels = facts.objects.at(trace.field(info, "kernel", positions), positions)
        mine = positions[(facts.kernels.functions(kernels) == function) & (kernels >= 0)]
        for words in (trace.record(int(p)) for p in mine):
            if words["attribute"] in names:
                found[names[words["attribute"]]] = words["value"]
    return found
