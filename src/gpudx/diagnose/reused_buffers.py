"""A buffer that is too small for a launch, and that was made for another one: a pool of the program handed it out again.

The line that allocated it is right then, for what it was asked for. What is wrong is the size for which a buffer was chosen, before it was
set as the argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpudx.diagnose.surface import pid_of
from gpudx.facts import Facts
from gpudx.facts.set_arguments import setter
from gpudx.model import Evidence, Finding, Site
from gpudx.text import plural

UNDERSIZED = "undersized-buffer"
MADE = re.compile(r"(\(buffer #\d+, [^()]*allocated at [^()]*)\)")


@dataclass(frozen=True)
class _Use:
    """Of a buffer by an earlier launch (a row of Launches)."""

    launch: int
    argument: int


def told(findings: Sequence[Finding], processes: Sequence[Facts]) -> tuple[Finding, ...]:
    """The findings, with those of such buffers as what they are."""
    by_pid = {facts.trace.pid: facts for facts in processes}
    return tuple(_told(one, facts) if (facts := by_pid.get(pid_of(one))) else one for one in findings)


def _told(finding: Finding, facts: Facts) -> Finding:
    site = finding.site
    if finding.causes[:1] != (UNDERSIZED,) or site is None or site.launch is None or site.argument is None:
        return finding
    earlier = _other_use(facts, site.launch - 1, site.argument)
    if earlier is None:
        return finding
    chosen = _setter(facts, site.launch - 1, site.argument)
    name = f"`{site.argument_name}`" if site.argument_name else f"argument {site.argument}"
    where = f"Check the size for which the buffer of {name} is chosen, before {chosen.call} (call {chosen.number})" if chosen else ""
    return replace(
        finding,
        message=MADE.sub(r"\1 for another use)", finding.message, count=1),
        evidence=(*_evidence(facts, earlier, site.launch - 1), *finding.evidence),
        root=chosen or finding.root,
        steps=(*([f"{where}: it was made for another use."] if where else []), *finding.steps),
    )


def _setter(facts: Facts, launch: int, argument: int) -> Site | None:
    """Where the argument is set, not who called that: there the buffer has just been chosen."""
    site = setter(facts, launch, argument)
    return replace(site, source=site.through, through=None) if site and site.through else site


def _other_use(facts: Facts, launch: int, argument: int) -> _Use | None:
    """The first use of the buffer, by an earlier launch and as another argument, where the kernel had another buffer here until then, and
    other numbers. Two buffers that take turns keep their numbers."""
    launches, given = facts.launches, facts.launches.arguments
    memory = next((int(one["object"]) for one in launches.values(launch) if one["index"] == argument), -1)
    functions = facts.kernels.functions(launches.kernel_row)
    before = np.flatnonzero((functions == functions[launch]) & (np.arange(len(functions)) < launch) & (launches.status == 0))
    mine = np.flatnonzero((given.object == memory) & (given.launch < launch))
    if memory < 0 or not len(before) or not len(mine):
        return None
    used = [_Use(int(given.launch[at]), int(given.index[at])) for at in mine]
    as_now = any(functions[one.launch] == functions[launch] and one.argument == argument for one in used)
    last = int(before[-1])
    if as_now or used[0].launch > last or _numbers(facts, last) == _numbers(facts, launch):
        return None
    return used[0]


def _numbers(facts: Facts, launch: int) -> tuple[object, ...]:
    """What the launch was given beside memory: its shape and its scalars."""
    scalars = [one["bytes"] for one in facts.launches.values(launch) if int(one["object"]) < 0]
    return (facts.launches.geometry(launch)[0], *scalars)


def _evidence(facts: Facts, earlier: _Use, launch: int) -> list[Evidence]:
    site = facts.sites.at(int(facts.launches.position[earlier.launch]), argument=earlier.argument)
    name = f" `{site.argument_name}`" if site.argument_name else ""
    table, position = facts.objects.table, facts.launches.position[launch]
    made = facts.objects.rows_of("buffer")
    largest = int(table["size"][made[table["born"][made] < position]].max(initial=0))
    first = f"the buffer was made for another use: launch {site.launch} was passed it as argument {earlier.argument}{name}"
    return [
        Evidence(first, (site.number,)),
        Evidence(f"the largest buffer that was created before launch {launch + 1} has {plural(largest, 'byte')}"),
    ]
