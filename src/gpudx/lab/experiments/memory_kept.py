"""Keeps freed memory allocated, adds room after each allocation, or lets devices reach more memory: which memory does a launch that always
faults access?

For devices that report a fault without an address. Each of them removes one kind of fault and leaves the others.
"""

from __future__ import annotations

from functools import partial

from gpudx.lab.experiments import Context, Row
from gpudx.model.how import How
from gpudx.model.investigation import NOT_HIP

KEPT, ROOMY, LOW, XNACK, PEERS = "kept", "roomy", "low-roomy", "xnack", "peers"
HOST, STRANGE = "host-pointer-on-device", "wrong-device-pointer"
VARIABLE = "GPUDX_MEMORY"  # native/hip/room.c
COST = 1.2


def missing(context: Context) -> str | None:
    if "hip" not in context.apis:
        return NOT_HIP
    return None if context.launches else "the program makes no launch"


def nothing_freed(context: Context) -> str | None:
    return missing(context) or (None if context.frees else "the program frees no device memory")


def nothing_of(context: Context, cause: str, what: str) -> str | None:
    return missing(context) or (None if cause in context.suspected else f"no launch was passed {what}")


def with_xnack(context: Context) -> How:
    return context.how.under({"HSA_XNACK": "1"})


def under(context: Context, setting: str) -> How:
    only = f":{context.candidates[int(context.variant) - 1]}" if context.variant else ""
    return context.how.under({VARIABLE: setting + only})


def buffers(context: Context) -> tuple[str, ...]:
    """All buffers at once; then each of those that the launch may have missed by itself."""
    return ("", *(str(number) for number, _ in enumerate(context.candidates, 1)))


ROWS = (
    Row(
        __name__,
        KEPT,
        COST,
        """Keeps the device memory that the program frees allocated (HIP).

If the fault goes away, it was in freed memory, or next to it. If it stays, it was not, as long as no more than half of the device's
memory was kept.""",
        missing=nothing_freed,
        how=partial(under, setting="freed"),
    ),
    Row(
        __name__,
        ROOMY,
        COST,
        """Adds room after each allocation: as much as its own size, from 1 MiB to 256 MiB (HIP).

If the fault goes away, it was an access past the end of a buffer, or to memory that has moved. If it stays, it was not
within that room. With a variant, only one buffer gets room.""",
        missing=missing,
        variants=buffers,
        how=partial(under, setting="room"),
    ),
    Row(
        __name__,
        LOW,
        COST,
        """Adds room before each allocation: as much as its own size, from 1 MiB to 256 MiB (HIP).

If the fault goes away, it was an access before the start of a buffer, as by a negative index, or to memory that has moved. If it stays, it
was not within that room. With a variant, only one buffer gets room.""",
        missing=missing,
        variants=buffers,
        how=partial(under, setting="front"),
    ),
    Row(
        __name__,
        XNACK,
        COST,
        """Sets HSA_XNACK=1, which lets AMD's devices access any memory of the host, where device and driver support that (HIP).

If the fault goes away, it was an access to host memory. If it stays, the device may lack the feature.""",
        missing=partial(nothing_of, cause=HOST, what="an address of host memory"),
        how=with_xnack,
    ),
    Row(
        __name__,
        PEERS,
        COST,
        """Lets all devices access each other's memory, where they can (HIP).

If the fault goes away, it was an access to memory of another device. If it stays, the devices may have no access to each other.""",
        missing=partial(nothing_of, cause=STRANGE, what="memory of another device"),
        how=partial(under, setting="peers"),
    ),
)
