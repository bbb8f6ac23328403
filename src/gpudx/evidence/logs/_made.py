"""Objects that were never made: where the call that makes them is refused, the next calls are refused for what they are passed.

"clEnqueueNDRangeKernel returned -4" and then "clWaitForEvents returned CL_INVALID_EVENT": the second follows from the first. Only
statuses that speak of a handle count, and only behind a refusal of a call that makes such handles.
"""

from __future__ import annotations

import re

from gpudx.evidence.logs._event import Event

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


def was_never_made(event: Event, refused: Event) -> bool:
    """Is an event about an object that an earlier refused call would have made?"""
    makes = MADE_BY.get(event.kind)
    return makes is not None and bool(makes.search(f"{refused.kind} {dict(refused.facts).get('at', '')}"))
