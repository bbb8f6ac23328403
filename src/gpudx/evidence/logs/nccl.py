"""NCCL and its watchdog in PyTorch: collectives that timed out, "NCCL WARN", unhandled CUDA errors.

A timeout names the collective that waited, on the rank that printed it. The rank at fault is another one: the one that did not
join, or joined with another operation; its own log has the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "nccl"
MARKS = (
    "Watchdog caught collective operation timeout",
    "ncclUnhandledCudaError",
    "ncclSystemError",
    "ncclRemoteError",
    "ncclInternalError",
    "ncclInvalidUsage",
    "ncclInvalidArgument",
    "Heartbeat monitor timed out",
    "watchdog got stuck",
    "no heartbeat of its watchdog",
    "NCCL WARN",
    "unhandled cuda error",
    "unhandled system error",
    "NCCL error",
    "NCCL Error",
    "NCCL failure",
    "RCCL",
    "watchdog thread terminated",
    "NCCL INFO ",
    "waiting for remainder of ranks",
    "gloo/",
    "Gloo ",
    "UCX  ERROR",
    "MPI communication peer process",
)
_TIMEOUT = re.compile(r"\[Rank (\d+)\] Watchdog caught .*?SeqNum=(\d+), OpType=(\w+).*?ran for (\d+) milliseconds")
_RANK = re.compile(r"\b[Rr]ank (\d+)\]?")
_STUCK = re.compile(r"Heartbeat monitor timed out|watchdog got stuck for (\d+) seconds|no heartbeat of its watchdog")
_ARROW = re.compile(r"NCCL INFO (\S+\.(?:cc|cu|cpp):\d+) -> ([1-7])\b")
RESULTS = {
    "1": "ncclUnhandledCudaError",
    "2": "ncclSystemError",
    "3": "ncclInternalError",
    "4": "ncclInvalidArgument",
    "5": "ncclInvalidUsage",
    "6": "ncclRemoteError",
}
_WARN = re.compile(r"NCCL WARN (.+)|(?:NCCL|RCCL) (?:[Ee]rror|failure)\W*(.+)|(unhandled (?:cuda|system) error.*)")
# A connection that ends shows that the process at its other end did: it is a consequence, whichever rank prints it first.
_PEER = re.compile(
    r"(?:gloo/|Gloo |NCCL |UCX +ERROR |MPI communication peer ).{0,200}?(?P<said>[Cc]onnection (?:was )?(?:closed|reset|refused)"
    r"|closed by (?:remote )?peer|[Bb]roken pipe|[Tt]imed out waiting|unexpectedly disconnected"
    r"|connect(?:FullMesh)?\b.{0,40}(?:fail|timeout|timed out)"
    r"|Connect timeout|remote process (?:has )?(?:exited|died)|Endpoint (?:timeout|is not connected)|No route to host)"
)
_MISSING = re.compile(r"^(\d+): \[([\w./:-]{1,100})")
_PROGRESS = re.compile(r"last enqueued work: (\d+), last completed work: (\d+)")
ERRORS = {
    "ncclUnhandledCudaError": "a CUDA call inside NCCL failed, often because of a fault in an earlier kernel",
    "ncclSystemError": "a system call inside NCCL failed: network, shared memory or limits",
    "ncclRemoteError": "another process of the group failed or went away",
    "ncclInternalError": "NCCL failed internally",
    "ncclInvalidUsage": "NCCL was called in a way that it does not allow",
    "ncclInvalidArgument": "a call of NCCL got an invalid argument",
}


def read(near: Near) -> Iterator[Event]:
    text = near.text if "milliseconds" in near.text else "".join((near.text, *near.after(1)))  # wrapped lines
    if "waiting for remainder of ranks" in near.text:
        yield _stalled(near)
    elif found := _PEER.search(near.text):
        yield _lost_peer(found["said"])
    elif found := _TIMEOUT.search(text):
        yield _timed_out(found, near)
    elif found := _ARROW.search(near.text):
        if found[2] in RESULTS:
            yield _error(RESULTS[found[2]])
    elif found := _STUCK.search(near.text):
        yield _stuck(found, near)
    else:
        names = [one for one in ERRORS if one in near.text]
        yield from map(_error, names)
        if not names and (warned := _WARN.search(near.text)):
            yield _warned(next(filter(None, warned.groups())).strip()[:160].rstrip("."))


def _stalled(near: Near) -> Event:
    """Horovod lists the ranks that have not come, each with the collectives that the others wait in."""
    missing = [found for found in map(_MISSING.match, near.after(12)) if found]
    who = f"Rank{'s' if len(missing) > 1 else ''} {', '.join(one[1] for one in missing)}" if missing else "Some ranks"
    where = f" {missing[0][2]}" if missing else ""
    return Event(
        kind="rank-missing",
        role="report",
        message=f"{who} did not join the collective{where}, in which the other ranks wait.",
        facts=(("missing", ",".join(one[1] for one in missing)),),
        notes=("not proved: why it did not join; its own output and stacks show it",),
        causes=("rank-missing",),
        next=_next.HANG,
        sure=False,
        covers=len(missing) + 1,
    )


def _lost_peer(said: str) -> Event:
    how = "waited too long for another rank" if re.search("time", said, re.IGNORECASE) else "lost its connection to another rank"
    return Event(
        kind="peer-lost",
        role="ending",
        message=f"A rank {how} ({said.lower()}): that rank ended, hangs, or could not be reached; the reason is in its own output.",
        facts=(("how", how),),
        notes=("not proved: which rank failed first",),
        next=_next.RECORD,
    )


def _error(name: str) -> Event:
    return Event(
        kind="nccl-error",
        role="ending" if name == "ncclRemoteError" else "report",
        message=f"NCCL gave up: {ERRORS[name]} ({name}).",
        facts=(("error", name),),
        notes=("not proved: that the collective is at fault",),
        causes=("device-error-reported",) if name == "ncclUnhandledCudaError" else (),
        next=f"NCCL_DEBUG=INFO {_next.APP}",
    )


def _stuck(found: re.Match[str], near: Near) -> Event:
    rank = _RANK.search(near.text)
    who = f"rank {rank[1]}" if rank else "a rank"
    waited = f" for {int(found[1]):,} s" if found[1] else ""
    return Event(
        kind="watchdog-stuck",
        role="report",
        message=f"The NCCL watchdog of {who} made no progress{waited}: a CUDA or NCCL call hangs, or another thread holds Python's lock.",
        facts=(("what", "heartbeat"),),
        notes=("not proved: which rank hangs first; the stacks of all ranks show it",),
        causes=("hang",),
        next=f"TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 {_next.APP}",
        sure=False,
    )


def _warned(said: str) -> Event:
    device = "cuda" in said.lower()
    return Event(
        kind="nccl-warning",
        role="report",
        message=f"NCCL reported a failure: {said}.",
        facts=(("said", re.sub(r"\d+", "#", said)[:80]),),
        notes=("not proved: that the collective is at fault",),
        causes=("device-error-reported",) if device else (),
        next=f"NCCL_DEBUG=INFO {_next.APP}",
        sure=False,
    )


def _timed_out(found: re.Match[str], near: Near) -> Event:
    progress = next((hit for hit in map(_PROGRESS.search, near.after(4)) if hit), None)
    notes = [
        "not proved: which rank is at fault; usually one that did not join the collective, not the one that waited"
    ]
    if progress:
        notes.append(f"this rank completed work {progress[2]} last and enqueued {progress[1]} last")
    return Event(
        kind="collective-timeout",
        role="report",
        message=f"Rank {found[1]} waited {int(found[4][:12]) / 1000:,.0f} s for the collective {found[3]} (number {found[2]}); "
        "another rank did not join.",
        facts=(("operation", found[3]),),
        notes=tuple(notes),
        causes=("hang",),
        next=f"TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 {_next.APP}",
    )
