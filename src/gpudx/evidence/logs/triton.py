"""Triton: OutOfResources with the numbers that did not fit, and "Triton Error [CUDA]: ..." of launches.

OutOfResources is found before the launch: the kernel in the traceback is the right one. "Triton Error" of a fault of the device
is where it was noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._statuses import event, told

FORMAT = "triton"
MARKS = ("out of resource: ", "Triton Error [")
_LIMIT = re.compile(r"out of resource: ([\w ]+?),? Required: ?(\d+),? Hardware limit: ?(\d+)")
_ERROR = re.compile(r"Triton Error \[(\w+)\]: (.+)")


def read(near: Near) -> Iterator[Event]:
    if limit := _LIMIT.search(near.text):
        wanted, most = int(limit[2][:18]), int(limit[3][:18])
        named = "_" in limit[1]  # newer ones name the kernel in the place of the resource
        unit = " bytes" if "memory" in limit[1] else ""
        what = f"A Triton kernel needs {wanted:,}{unit} of {limit[1]}"
        if named:
            what = f"The Triton kernel {limit[1]} needs {wanted:,} of a resource"
        yield Event(
            kind="out-of-resources",
            role="refusal",
            message=f"{what} and the device has {most:,}; it was never launched.",
            facts=(("resource", limit[1]), ("wanted", str(wanted)), ("limit", str(most))),
            notes=(f"{wanted / max(most, 1):.2f} times what there is: smaller blocks or fewer stages are needed",),
            causes=("launch-refused",),
            next=_next.RECORD,
        )
    elif error := _ERROR.search(near.text):
        status = told(error[2])
        if status is not None:
            yield event(status, "hip" if error[1] == "HIP" else "cuda")
