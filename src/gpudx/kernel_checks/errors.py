"""Why a source is left as it is."""

from __future__ import annotations


class Unsupported(Exception):
    """The source cannot be rewritten; the message completes "not checked: ..."."""
