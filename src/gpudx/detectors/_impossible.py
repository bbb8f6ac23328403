"""What the instruction at a fault accessed, in words: also where the kernel names no address, because no memory can have it."""

from __future__ import annotations

from typing import Literal

from gpudx.facts import LastWords
from gpudx.facts.instruction import faulting_access, impossible_access
from gpudx.model import Access
from gpudx.text import plural

KINDS: dict[int, Literal["", "read", "write"]] = {0: "", 1: "read", 2: "write"}  # as the recorder has them


def impossible(words: LastWords) -> str:
    """What the instruction meant to access, where the kernel named no address."""
    access = impossible_access(words)
    if access is None:
        return ""
    verb = "accessing" if access.writes is None else "writing to" if access.writes else "reading from"
    why = "which is not aligned as the instruction requires" if access.canonical else "which is not a valid address"
    return f", {verb} address {access.address:#x} ({access.text}), {why}"


def accessing(words: LastWords) -> str:
    """ ", reading 4 bytes at address 0x55cee280befc"; "" where the kernel names no address."""
    access = access_of(words, None) if words.fault_address is not None else None
    if access is None:
        return ""
    verb = {"": "accessing", "read": "reading", "write": "writing"}[access.kind]
    what = (
        f"{plural(access.width, 'byte')} at "
        if access.width
        else {"": "", "read": "from ", "write": "to "}[access.kind]
    )
    return f", {verb} {what}address {words.address:#x}"


def access_of(words: LastWords, kernel: str | None) -> Access | None:
    """The access that a signal was sent for; None where neither the kernel nor the instruction tells."""
    found = faulting_access(words) or impossible_access(words)
    address = words.address if words.fault_address is not None else found.address if found is not None else None
    if address is None:
        return None
    by_instruction = None if found is None else found.writes
    return Access(
        address=address,
        kind=KINDS[words.access] if by_instruction is None else "write" if by_instruction else "read",
        by="kernel" if kernel else "",
        kernel=kernel or "",
        width=(found.width or None) if found else None,
        pc=words.pc,
        seen_by="signal",
    )
