"""Vulkan's validation layer with GPU-assisted checks: shader accesses out of bounds, with the descriptor and its sizes.

The layer watches the shader itself: this is the fault, with set, binding and the bytes that were bound. The dispatch is named by its
call only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "vulkan-validation"
MARKS = (" access out of bounds. The descriptor",)
_LINE = re.compile(
    r"(vkCmd\w+)\(\): *\(set = (\d+), binding = (\d+).*?size is (\d+) bytes, (\d+) bytes were bound,.*?access was at \[(\d+)\]"
)


def read(near: Near) -> Iterator[Event]:
    if found := _LINE.search(near.text):
        call, group, binding, size, bound, at = found.groups()
        past = int(at[:18]) + 1 - int(bound[:18])
        yield Event(
            kind="shader-out-of-bounds",
            role="fault",
            message=f"The shader of a {call} reaches {past:,} bytes past the {int(bound[:18]):,} bytes bound at set {group}, "
            f"binding {binding}.",
            facts=(("set", group), ("binding", binding)),
            notes=(
                f"the whole buffer has {int(size[:18]):,} bytes: the range that was bound may be too small, or the index too large",
            ),
            causes=("out-of-bounds-access",),
        )
