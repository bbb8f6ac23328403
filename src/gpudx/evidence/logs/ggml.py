"""ggml and llama.cpp: GGML_ASSERT, "CUDA error: ..." with "current device: ..., in function ... at FILE:LINE" under it.

ggml prints the call that failed and its line; for a fault of the device these are where it was noticed. An assertion of
ggml fails on the host, before any launch: its line is the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs._statuses import event, told

FORMAT = "ggml"
MARKS = (
    "GGML_ASSERT",
    "current device:",
    "ggml_cuda_compute_forward:",
    "ggml_cuda_error",
    "ROCm error:",
    "CUDA error: ",
    "ggml-cuda.cu:",
)
_ASSERT = re.compile(r"(\S+:\d+): ?GGML_ASSERT\((.+?)\) failed|GGML_ASSERT: (\S+:\d+): (.+)")
_BARE = re.compile(r"GGML_ASSERT\((?:([\w.-]+:\d+)\): ?(.+)|(.+?)\)(?: failed)?\s*$)")
_STATUS = re.compile(r"(?:==|!=) *(?:cuda|hip|CUDA_|HIP_)(?i:success)\b")  # of a call, which earlier work can decide
_WHERE = re.compile(r"current device: (-?\d+), in function (\w+) at (.+)")
_OPERATOR = re.compile(r"ggml_cuda_compute_forward: (\w+) failed")


def read(near: Near) -> Iterator[Event]:
    text = near.text
    asserted = _ASSERT.search(text)
    if asserted:
        yield _asserted(asserted[1] or asserted[3], asserted[2] or asserted[4])
    elif bare := _BARE.match(text.strip()):
        yield _asserted(bare[1] or "an unknown line", bare[2] or bare[3])
    elif "CUDA error: " in text or "ROCm error:" in text:
        yield from _error(near)


def _asserted(where: str, condition: str) -> Event:
    at = source(where) or where
    if _STATUS.search(condition):
        return Event(
            kind="status-check",
            role="report",
            message=f"A call of CUDA or HIP failed in ggml at {at}; the log does not say with which error, nor what caused it.",
            facts=(("at", at), ("condition", condition[:200])),
            notes=(f"ggml checked {condition[:80]}", "not proved: that this call is at fault; earlier work may have failed"),
            causes=("device-error-reported",),
            next=_next.SERIALISE,
            noticed=at,
            sure=False,
        )
    return Event(
        kind="host-assertion",
        role="refusal",
        message=f"ggml stopped on the host at {at}: the assertion {condition[:200]} failed.",
        facts=(("at", at), ("condition", condition[:200])),
        notes=("an assertion on the host fails before the work is submitted to the device",),
        next=_next.RECORD,
    )


def _error(near: Near) -> Iterator[Event]:
    """Only with ggml's own second line: others print "CUDA error" too."""
    below = near.after(2)
    where = next((found for found in map(_WHERE.search, below[:1]) if found), None)
    status = told(near.text)
    if where is None or status is None:
        return
    call = below[1].strip()[:80] if len(below) > 1 else ""
    at = f"{where[2]} ({call}), {source(where[3])}"
    made = event(status, "hip" if "ROCm" in near.text else "cuda", at, covers=3)
    yield replace(made, notes=(*made.notes, *_operator(near)))


def _operator(near: Near) -> Iterator[str]:
    for line in near.before(3):
        if found := _OPERATOR.search(line):
            yield f"the operator {found[1]} was being issued when it was noticed; it need not be the one that faulted"
