"""Assertions that failed in kernels: FILE:LINE: FUNCTION: block: [..], thread: [..] Assertion `..` failed.

Printed by the driver for every thread in which the assertion fails (CUDA C++ Programming Guide, "Assertion"), on one line or,
in some wrappers, two. The file and line are those of the kernel's source: this is the fault itself, and every "device-side
assert triggered" after it is a follower. Which launch it was is not in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.cuda.messages import assertion, last_name
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source

FORMAT = "device-assert"
MARKS = (", thread: [", "Device-side assertion `", "(kernel=")
_INDEX = re.compile(r"index|sizes\[|srcIndex|idx", re.IGNORECASE)
# Without the function, as people shorten it.
_SHORT = re.compile(r"(?P<source>[^\s:]+\.\w+:\d+): block: \[[\d, ]+\], thread: \[[\d, ]+\] Assertion [`'](?P<condition>.+?)[`'] failed")
_HIP = re.compile(r"(?P<source>\S*:\d+): .*?Device-side assertion `(?P<condition>.+?)' failed")
# Taichi reads the assertions of its kernels back, and raises them with the kernel's name.
_NAMED = re.compile(r"^\s*\(kernel=(?P<kernel>\w+)\) (?P<condition>\S.*)")


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if ", thread: [" in text and "Assertion" not in text:
        text = f"{text} {' '.join(near.after(1))}"
    if named := _NAMED.match(text):
        yield _event("", named["condition"], named["kernel"], text)
        return
    seen = assertion(text)
    hip = _HIP.search(text) or _SHORT.search(text)
    if seen is not None:
        yield _event(source(seen.source) or seen.source, seen.condition, last_name(seen.function), text)
    elif hip is not None:
        at = hip["source"] if not hip["source"].startswith(":") else ""  # built without file names
        yield _event(source(at) or at, hip["condition"], "", text)


def _event(where: str, condition: str, function: str, text: str) -> Event:
    index = _INDEX.search(condition)
    kernel = f"the kernel {function}" if function and not where else "a kernel"
    means = ": an index from the data is outside the tensor or table that it indexes" if index else ""
    return Event(
        kind="device-assertion",
        role="fault",
        message=f"An assertion in {kernel} failed{f' at {where}' if where else ''}: {condition[:200]}{means}.",
        facts=(("at", where), ("condition", condition[:200])),
        notes=("not proved: which launch it was, and which input it had",),
        causes=("device-assertion",),
        next=_next.SERIALISE,
        quote=text.strip(),
    )
