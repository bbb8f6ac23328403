"""JAX and XLA: RESOURCE_EXHAUSTED with the size that was asked for, and INTERNAL errors that carry a status of the driver.

An XLA error names the operation or kernel at which it was noticed; after a fault of the device this is not the one at fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import size
from gpudx.evidence.logs._statuses import event, named

FORMAT = "xla"
MARKS = ("RESOURCE_EXHAUSTED", "XlaRuntimeError", "stream_executor", "pjrt_stream_executor")
_MEMORY = re.compile(r"RESOURCE_EXHAUSTED: Out of memory.*?allocate (\d+) bytes")


def read(near: Near) -> Iterator[Event]:
    status = named(near.text)
    if wanted := _MEMORY.search(near.text):
        bytes_ = int(wanted[1][:18])
        said = f"An allocation of {bytes_:,} bytes did not fit into device memory (XLA, RESOURCE_EXHAUSTED)."
        notes = (
            f"it asked for {size(bytes_)}",
            "not proved: that memory was full; a size that was computed wrongly is refused alike",
        )
        yield Event("out-of-memory", "refusal", said, (("bytes", wanted[1]),), notes, ("failed-call",), _next.RECORD)
    elif status is not None and "leaking" not in near.text:
        yield event(status, "cuda")
