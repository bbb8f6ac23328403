"""The process died in a kernel whose private arrays are larger than the stack of the thread that runs it.

On CPU devices private memory is on the stack of the driver's threads, usually 8 MiB. An overflow kills the process without a trace: no
stack is left for a signal handler. GPUs put such arrays into slow memory, or refuse the kernel.

Example:

    __kernel void table(__global int *out) { int t[12582912]; ... }        // 48 MiB for each work-item

Fix it by moving the array to a buffer with a part for each work-item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudx.detectors import Run
from gpudx.detectors._in_flight import all_pending, died_unheard
from gpudx.facts import Facts
from gpudx.model import Evidence, Finding
from gpudx.text import plural

if TYPE_CHECKING:
    from gpudx.kernel_checks.private_arrays import Arrays

ID = "private-memory-too-large"
CAUSE_ID = "device-stack-overflow"
STACK = 8 << 20  # of a thread, where nobody asks for another size (pthread_create(3), RLIMIT_STACK)
CPU = 2  # cl_device_type, as recorded
LOOKED_AT = 16  # launches that may have been running


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the last launch that may have been running with such arrays."""
    if not died_unheard(facts, run) or run.outcome.signal not in ("SIGSEGV", "SIGBUS"):
        return
    for position in reversed(all_pending(facts).tolist()[-LOOKED_AT:]):
        row = facts.launches.at_position(position)
        arrays = _arrays(facts, row, position) if row is not None else None
        if arrays is not None and arrays.bytes > STACK:
            yield _finding(facts, position, arrays)
            return


def _arrays(facts: Facts, row: int, position: int) -> Arrays | None:
    device = facts.kernels.device_of(int(facts.launches.queue[row]), position)
    kernel = int(facts.launches.kernel_row[row])
    info = facts.kernels.info(kernel)
    if info is None or device is None or not device.type & CPU:
        return None
    from gpudx.kernel_checks.private_arrays import of_kernel

    source = facts.kernels.source(info.program, info.position)
    return of_kernel(source, facts.kernels.options(kernel, position), info.name) if source else None


def _finding(facts: Facts, position: int, arrays: Arrays) -> Finding:
    site = facts.sites.at(position)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) keeps {plural(arrays.bytes, 'byte')} in private arrays, more than the stack of "
            f"a thread ({STACK >> 20} MiB), and the process died while it might have been running."
        ),
        evidence=(
            Evidence(f"`{arrays.largest}` alone takes {plural(arrays.largest_bytes, 'byte')} for each work-item", (site.number,)),
            Evidence("the fault left no record: a thread without stack cannot run a signal handler", (site.number,)),
        ),
        site=site,
        causes=(CAUSE_ID,),
        steps=(f"Keep `{arrays.largest}` in global memory, a part for each work-item, or process the data in smaller pieces.",),
        facts=(("kernel", site.kernel or "?"), ("bytes", str(arrays.bytes))),
    )
