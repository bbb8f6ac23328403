"""Accesses for which the kernel names no address, because no memory can have it: read from the instruction."""

from __future__ import annotations

from gpudx.facts import LastWords
from gpudx.facts.instruction import impossible_access


def impossible(words: LastWords) -> str:
    """What the instruction meant to access, where the kernel named no address."""
    access = impossible_access(words)
    if access is None:
        return ""
    verb = "accessing" if access.writes is None else "writing to" if access.writes else "reading from"
    why = "which is not aligned as the instruction needs" if access.canonical else "which no memory can have"
    return f", {verb} address {access.address:#x} ({access.text}), {why}"
