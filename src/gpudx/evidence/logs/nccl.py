"""NCCL and its watchdog in PyTorch: collectives that timed out, "NCCL WARN", unhandled CUDA errors.

A timeout names the collective that waited, on the rank that printed it. The rank at fault is another one: the one that did not
come, or came with another operation; its own log has the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "nccl"
MARKS = ("Watchdog caught collective operation timeout", "ncclUnhandledCudaError", "ncclSystemError", "ncclRemoteError")
_TIMEOUT = re.compile(r"\[Rank (\d+)\] Watchdog caught .*?SeqNum=(\d+), OpType=(\w+).*?ran for (\d+) milliseconds")
_PROGRESS = re.compile(r"last enqueued work: (\d+), last completed work: (\d+)")
ERRORS = {
    "ncclUnhandledCudaError": "a CUDA call inside NCCL failed, often for a fault that an earlier kernel made",
    "ncclSystemError": "a system call inside NCCL failed: network, shared memory or limits",
    "ncclRemoteError": "another process of the group failed or went away",
}


def read(near: Near) -> Iterator[Event]:
    if found := _TIMEOUT.search(near.text):
        yield _timed_out(found, near)
    else:
        for name in (one for one in ERRORS if one in near.text):
            yield Event(
                kind="nccl-error",
                role="report",
                message=f"NCCL gave up: {ERRORS[name]} ({name}).",
                facts=(("error", name),),
                notes=("not proved: that the collective is at fault",),
                causes=("device-error-reported",) if name == "ncclUnhandledCudaError" else (),
                next=f"NCCL_DEBUG=INFO {_next.APP}",
            )


def _timed_out(found: re.Match[str], near: Near) -> Event:
    progress = next((hit for hit in map(_PROGRESS.search, near.after(4)) if hit), None)
    notes = ["not proved: which rank is at fault; it is one that did not come, seldom the one that waited"]
    if progress:
        notes.append(f"work {progress[2]} was the last that this rank completed, {progress[1]} the last it gave out")
    return Event(
        kind="collective-timeout",
        role="report",
        message=f"Rank {found[1]} waited {int(found[4][:12]) / 1000:,.0f} s for the collective {found[3]} (number {found[2]}); "
        "another rank did not come.",
        facts=(("operation", found[3]),),
        notes=tuple(notes),
        causes=("hang",),
        next=f"TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 {_next.APP}",
    )
