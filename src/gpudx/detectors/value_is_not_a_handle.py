"""A kernel argument that should be a memory object holds something else.

The kernel declares a pointer or an image, so the driver takes the 8 bytes it is given as the address of its own object
and reads what it finds there. Many drivers do not check: they crash inside clSetKernelArg or at the next launch, far
from the line that made the value. The value is compared with everything recorded: a handle that died, a size or an
offset that was passed somewhere, a pointer into host memory.

Example: a structure is read as another one, and its byte count lands in the handle's place.

    clSetKernelArg(restore, 1, sizeof(cl_mem), &extra->d);   // extra->d is 294912, the size of the buffer

Mend it by passing the object itself; look at what the variable is in the line named by the finding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._values import Origin, origin_of
from gpudx.facts import Facts
from gpudx.model import Evidence, Finding

ID = "value-is-not-a-handle"


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel argument that was given such a value; repeats are counted."""
    sets = facts.set_args
    declared = sets.declared.get("memory", sets.kernel_row, sets.index)
    suspects = declared & (sets.size == 8) & (sets.value != 0) & ~sets.svm & (sets.pointer != 0)
    suspects[suspects] = facts.objects.live_at(sets.value[suspects], sets.position[suspects]) < 0
    seen: dict[tuple[str, int], int] = {}
    rows = np.flatnonzero(suspects)
    for row in rows:
        key = (facts.kernels.name(int(sets.kernel_row[row])), int(sets.index[row]))
        seen[key] = seen.get(key, 0) + 1
    for key, count in seen.items():
        last = next(int(r) for r in rows[::-1] if (facts.kernels.name(int(sets.kernel_row[r])), int(sets.index[r])) == key)
        origin = origin_of(facts, int(sets.value[last]), int(sets.position[last]))
        if origin.kind not in ("live",):
            yield _finding(facts, last, origin, count)


def _finding(facts: Facts, row: int, origin: Origin, count: int) -> Finding:
    sets = facts.set_args
    position, index, value = int(sets.position[row]), int(sets.index[row]), int(sets.value[row])
    site = facts.sites.at(position, argument=index, value=value)
    info = facts.kernels.info(int(sets.kernel_row[row]))
    declared = info.args[index] if info else None
    what = f"argument {index}" + (f" ({declared.type} {declared.name})" if declared else "")
    message = f"{site.call} gave {what} of kernel {site.kernel} the value {value:#x}, which is {origin.text}, not a memory object."
    evidence = [Evidence(f"the kernel declares {what} as a memory object", (site.number,)) if declared else
                Evidence(f"{what} was set to 8 bytes", (site.number,)), *origin.evidence]
    return Finding(
        id=ID, severity="error", message=message, evidence=tuple(evidence), site=site, count=count,
        allocation=origin.allocation, causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index)), ("origin", origin.kind)),
        details={"value": f"{value:#x}", "origin": origin.kind, "allocation_size": origin.size, "state": origin.state},
    )
