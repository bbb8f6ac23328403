"""What the HIP runtime prints while a program runs, as far as it says why something failed.

"Memory access fault by GPU node-1 (Agent handle: 0x...) on address 0x.... Reason: ..." comes before abort() (ROCr-Runtime,
runtime.cpp). The address is that of the page; the kernel is not told.
"""

from __future__ import annotations

import re

from gpudx.backends.tool import Fault

PAGE = 4096
FAULT = re.compile(
    r"[Mm]emory access fault by GPU(?: (?!(?:on|at) )(\S+))?.*? (?:on|at virtual) address (\(nil\)|0x[0-9a-fA-F]+)"
    r"(?:\(may not be exact address\))?\.?(?: Reasons?: ([^.]+))?"
)


def fault(text: str) -> Fault | None:
    """The fault that a printed text tells of, None for other texts."""
    found = FAULT.search(text)
    if found is None:
        return None
    address = 0 if found[2] == "(nil)" else int(found[2], 16)
    return Fault(address & ~(PAGE - 1), PAGE, (found[3] or "not told").strip())
