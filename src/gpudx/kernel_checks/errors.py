"""Why a source is left as it is, and what the checks need."""

from __future__ import annotations

INSTALL = "pip install 'gpudx[opencl]'"  # libclang
LEFT_OUT = "--kernel names none of its kernels"  # why a program is left as it is, because the user wants it so


class Unsupported(Exception):
    """The source cannot be rewritten; the message completes "not checked: ..."."""
