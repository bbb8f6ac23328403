"""Why a source is left as it is, and what the checks need."""

from __future__ import annotations

INSTALL = "pip install 'gpudx[opencl]'"  # libclang


class Unsupported(Exception):
    """The source cannot be rewritten; the message completes "not checked: ..."."""
