"""The faults of devices that a text tells of, for joining with the record of the run that printed it."""

from __future__ import annotations

from dataclasses import replace

from gpudx.evidence._head import Source
from gpudx.evidence._lines import chunks
from gpudx.evidence.logs._scan import Scan
from gpudx.model import DeviceFault

MOST = 64
PARTS = ("device", "kernel", "line", "told", "bases", "cause", "image", "pc")


def faults_in(source: Source) -> tuple[DeviceFault, ...]:
    """In the order told, of any format; the same fault told twice is one, with all that is known of it. UserError when a file
    cannot be read."""
    found: dict[tuple[int | None, str], DeviceFault] = {}
    for event in Scan().events(chunks(source)):
        if event.fault is not None and len(found) < MOST:
            one = event.fault
            key = (one.address, "" if one.address is not None else one.does)
            found[key] = _together(found[key], one) if key in found else one
    return tuple(found.values())


def _together(first: DeviceFault, second: DeviceFault) -> DeviceFault:
    """The first telling, with what only the second says."""
    more = {name: getattr(second, name) for name in PARTS if not getattr(first, name)}
    writes = second.writes if first.writes is None else first.writes
    return replace(first, span=min(first.span, second.span), writes=writes, **more)
