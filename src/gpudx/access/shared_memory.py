"""The address is in shared memory, past what the launch has of it: its dynamic part was passed as too small, or an index leaves an array.

Addresses of shared memory count from the beginning of the block's own. The driver keeps the first 1,024 bytes for itself from compute
capability 8.0 on (CUDA C++ Programming Guide, "Shared Memory" of the architectures); behind them lie the static arrays of the kernel, then
the dynamic part.
"""

from __future__ import annotations

import numpy as np

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence
from gpudx.text import plural

RESERVED, SINCE = 1024, 8  # bytes, and the compute capability
DYNAMIC = (
    "Size the dynamic shared memory of the launch for all arrays that the kernel lays out in it: the access needs at least {need:,} bytes.",
    "If that size is right, compare the index with the length of the array that it is used on.",
)


def explain(question: Question) -> Reason | None:
    if question.space != "shared":
        return None
    facts, row, width = question.facts, question.launch, question.width or 1
    info = facts.launches.info(row)
    device = facts.kernels.device_of(int(facts.launches.queue[row]), question.position)
    if question.address is None or device is None or not facts.launches.by_address[row]:
        return None
    static = info.limits[0].local_mem_size if info and info.limits else 0
    dynamic = int(facts.launches.shared(np.array([row]))[0])
    first = (RESERVED if device.numbers.get("capability_major", 0) >= SINCE else 0) + static
    at = question.address - first
    if not dynamic or at + width <= dynamic:  # it may be an array of the kernel's own
        return None
    site = facts.sites.at(question.position)
    line = f" at {site.source}" if site.source else ""
    has = f"the launch{line} was passed {plural(dynamic, 'byte')} of dynamic shared memory"
    text = f"{has}, and the access was at byte {at:,} of it{question.who}"
    beside = (Evidence(f"the kernel's own shared arrays have {plural(static, 'byte')}"),) if static else ()
    steps = tuple(step.format(need=at + width) for step in DYNAMIC)
    return Reason("out-of-bounds-access", text, beside, root=site if site.source else None, steps=steps)
