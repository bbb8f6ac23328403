"""Errors of HIP as programs print them: names (hipErrorIllegalAddress), texts ("HIP error: invalid device function").

HIP has the numbers and texts of CUDA. As there, a fault of the device is told as noticed here and made by some launch
before. A wrapper over OpenCL may print hipErrorOutOfMemory for CL_OUT_OF_RESOURCES, which drivers also answer when a kernel
left its memory: such a line is read as OpenCL's.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import place
from gpudx.evidence.logs._statuses import event, told
from gpudx.evidence.logs.cuda_error import NOT_TOLD

FORMAT = "hip-error"
GENERIC = True
MARKS = (
    "hipError",
    "HIP error",
    "HIP Error",
    "HIP ERROR",
    "hip error",
    "HIP failure",
    "hipMemcpy",
    "hipModule",
    "hipLaunch",
)


def read(near: Near) -> Iterator[Event]:
    text = near.text
    status = None if NOT_TOLD.search(text) or "(CL_" in text else told(text)
    if status is not None:
        yield event(status, "hip", place(text))
