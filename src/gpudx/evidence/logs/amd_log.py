"""The log of AMD's runtime (AMD_LOG_LEVEL): ":3:hip_module.cpp :670 : ... us: ... hipLaunchKernel: Returned hipErrorX".

Calls that returned an error, with the kernel that was dispatched last before them (ShaderName). Queues that were aborted are told
by another format (rocm-queue). An error of the device is noticed by the call, not made by it, and the last kernel is only the nearest one.
Answers that programs ask for on purpose (not ready, peer access already there, no device) are left alone.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from gpudx.backends.mangling import function_name
from gpudx.evidence.logs import _statuses
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "amd-log"
MARKS = ("Returned hipError", "ShaderName : ")
MOST_READ = 100_000
LAST = 3
_RETURNED = re.compile(r"^:\d:[\w.]+ *:\d+ *: .*?\b(hip\w+): Returned (hipError\w+)")
_SHADER = re.compile(r"^:\d:[\w.]+ *:\d+ *: .*ShaderName : (\S+)")
ON_PURPOSE = (
    "hipErrorNotReady",
    "hipErrorPeerAccessAlreadyEnabled",
    "hipErrorPeerAccessNotEnabled",
    "hipErrorNoDevice",
)


class Lines:
    """Remembers the kernels that were dispatched last."""

    def __init__(self) -> None:
        self._shaders: deque[str] = deque(maxlen=LAST)

    def read(self, near: Near) -> Iterator[Event]:
        if found := _SHADER.search(near.text):
            self._shaders.append(function_name(found[1])[:120])
        elif (found := _RETURNED.search(near.text)) and found[2] not in ON_PURPOSE:
            status = _statuses.named(found[2])
            if status is not None:
                event = _statuses.event(status, "hip", found[1])
                yield replace(event, notes=(*event.notes, *self._nearest()))

    def _nearest(self) -> tuple[str, ...]:
        if not self._shaders:
            return ()
        names = ", ".join(dict.fromkeys(reversed(self._shaders)))
        return (f"dispatched last before it, the latest first: {names}; with several queues another may be meant",)


def reader() -> Lines:
    return Lines()
