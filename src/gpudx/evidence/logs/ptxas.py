"""ptxas and nvlink: registers spilled to memory, and stacks whose size is not known when the program is built.

No failures. Told because an unknown stack size is a reason for "illegal memory access" in recursive or indirect calls, and
because large spills go with launches that need too many resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.mangling import function_name
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "ptxas"
MARKS = ("cannot be statically determined", "bytes spill stores")
_STACK = re.compile(r"Stack size for entry function '([^']+)' cannot be")
_SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_OWNER = re.compile(r"properties for (\S+)")


def read(near: Near) -> Iterator[Event]:
    if found := _STACK.search(near.text):
        kernel = _name(found[1])
        said = f"The compiler does not know how much stack the kernel {kernel} needs; the limit of the device may be too small for it."
        yield Event("stack-size-unknown", "refusal", said, (("kernel", kernel),), warning=True)
    elif (found := _SPILL.search(near.text)) and int(found[2]):
        owner = next((hit for hit in map(_OWNER.search, near.before(2)) if hit), None)
        kernel = _name(owner[1]) if owner else "a kernel"
        said = f"The compiler put {int(found[2]):,} bytes of the registers of {kernel} into memory: slow, and no failure by itself."
        yield Event("registers-spilled", "refusal", said, (("kernel", kernel),), warning=True)


def _name(symbol: str) -> str:
    return (function_name(symbol) or symbol)[:120]
