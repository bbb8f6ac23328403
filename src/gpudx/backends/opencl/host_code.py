"""Code of kernels on devices that are the host's own processor."""

from __future__ import annotations

import re

# PoCL 3 to 7 compile a kernel to a shared object with these functions; "_workgroup" runs one group of it.
POCL = re.compile(r"_pocl_kernel_(?P<name>\w+?)(_workgroup(_fast)?)?")


def kernel_of(function: str) -> str | None:
    """The kernel that a function of the host's was made from, None if it was made from none."""
    match = POCL.fullmatch(function)
    return match["name"] if match else None
