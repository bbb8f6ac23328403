"""Objects that were never made: where the call that makes them is refused, the next calls are refused for what they are passed.

"clEnqueueNDRangeKernel returned -4" and then "clWaitForEvents returned CL_INVALID_EVENT": the second follows from the first. Only
statuses that speak of a handle count, and only behind a refusal of a call that makes such handles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudx.diagnose.stories import Entry
from gpudx.evidence.reading import Event

_PROGRAM = re.compile(r"build|compil|link|cl(?:Build|Compile|Link|Create)Program|clCreateKernel|kernel-name", re.IGNORECASE)
_MEMORY = re.compile(r"clCreate(?:Sub)?(?:Buffer|Image|Pipe)|alloc|buffer-size|image-size|image-format|out-of-host-memory")
MADE_BY = {
    "invalid-event": re.compile(r"clEnqueue"),
    "invalid-event-wait-list": re.compile(r"clEnqueue"),
    "invalid-program": _PROGRAM,
    "invalid-program-executable": _PROGRAM,
    "invalid-kernel-name": _PROGRAM,
    "invalid-kernel": _PROGRAM,
    "invalid-mem-object": _MEMORY,
    "invalid-sampler": re.compile(r"clCreateSampler"),
    "invalid-context": re.compile(r"clCreateContext|no-device|device-not-found|platform-not-found"),
    "invalid-command-queue": re.compile(r"clCreateCommandQueue|clCreateContext"),
}


def leader(one: Entry, before: Iterable[Entry]) -> Entry | None:
    """The refusal, of the same log, after which there was no such object."""
    makes = MADE_BY.get(one.told.event.kind)
    if makes is None:
        return None
    return next((entry for entry in before if entry.log == one.log and makes.search(_named(entry.told.event))), None)


def refuses(event: Event) -> bool:
    return event.role == "refusal" and not event.warning


def _named(event: Event) -> str:
    return f"{event.kind} {dict(event.facts).get('at', '')}"
