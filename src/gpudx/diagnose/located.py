"""Addresses that a log tells of, looked up in a recorded run: which buffer, and which launches could reach it.

A log and a record belong together only where they are of the same run: addresses differ from run to run. That cannot be seen in an
address, so every sentence says of which run it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudx.backends.tool import Fault
from gpudx.detectors import device_fault_printed
from gpudx.diagnose.wave_faults import joined
from gpudx.evidence.reading import Event, Log
from gpudx.facts import Facts
from gpudx.facts.running import graphs_at_fault, running_at_fault
from gpudx.model import Finding

NOWHERE = "in no memory that it recorded"
SHOWN = 3  # launches that may have been running


def located(log: Log, runs: Sequence[tuple[str, Facts]]) -> Log:
    """The same log, with notes about each fault whose address is told. `runs` are named as the user gave them."""
    return replace(log, told=tuple(replace(one, event=_event(one.event, runs)) for one in log.told))


def _event(event: Event, runs: Sequence[tuple[str, Facts]]) -> Event:
    fault = event.fault
    if fault is None:
        return event
    notes = [note for name, facts in runs if (found := joined(fault, facts)) for note in _joined(name, found)]
    if fault.address is None and not fault.kernel:
        notes = [note for name, facts in runs for note in _running(name, facts)]
    if not notes and fault.address is not None:
        found_at = Fault(fault.address, max(fault.span, 1), fault.does)
        notes = [note for name, facts in runs for note in _notes(name, facts, found_at)]
    return replace(event, notes=(*notes, *event.notes))  # first: this is what the user asked for


def _joined(name: str, found: Finding) -> Iterator[str]:
    """Launch and buffer, and how the kernel computed the address."""
    yield f"in the run of {name}: {found.message}"
    if found.access is not None and found.access.origin is not None:
        yield f"in the run of {name}: the machine code {found.access.origin.words}"


def _running(name: str, facts: Facts) -> Iterator[str]:
    """Of a fault without address and kernel: the launches that can have made it."""
    rows = running_at_fault(facts, len(facts.trace)).tolist()
    graphs = len(graphs_at_fault(facts, len(facts.trace)))
    if len(rows) + graphs > 1:
        yield f"in the run of {name}, {len(rows) + graphs:,} launches may have been running"
    for row in rows[-SHOWN:][::-1]:
        which = "was the only launch that may have been running" if len(rows) + graphs == 1 else "may have been running"
        yield f"in the run of {name}, launch {row + 1} of kernel {facts.launches.name(row)} {which}"


def _notes(name: str, facts: Facts, fault: Fault) -> Iterator[str]:
    end = len(facts.trace)
    told, where = device_fault_printed.located(facts, end, fault)
    passed = told.site is not None and told.site.argument is not None
    if told.allocation is None and fault.address >= fault.bytes and not passed:
        yield f"in the run of {name}, {fault.address:#x} is {NOWHERE}"
        return
    yield f"in the run of {name}, {fault.address:#x} is {where}"
    for site in filter(None, (told.site, *told.others)):
        which = f" as argument {site.argument}" if site.argument is not None else ""
        yield f"launch {site.launch} of kernel {site.kernel} got it{which}, and no wait had shown that it was complete"
