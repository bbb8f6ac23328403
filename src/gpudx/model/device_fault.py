"""A fault of a device as somebody told it in words: a runtime on standard error, a kernel driver, a tool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceFault:
    """What is not told is None or "". The access is somewhere in the `span` bytes from `address` on."""

    does: str  # completes "work on the device ..."
    said: str  # the line
    address: int | None = None
    span: int = 1
    writes: bool | None = None
    device: str = ""  # as the teller names it
    kernel: str = ""  # a symbol, or a readable name
    line: str = ""  # "file:line" of the kernel, where the fault surely is
    told: str = ""  # the access in the device's own terms: lane, instruction, registers
    bases: tuple[int, ...] = ()  # pointers that the address was computed from
    cause: str = ""  # what the teller's reason names
    image: tuple[str, int, int] | None = None  # the file that has the code, and where in it: offset and size
    pc: int | None = None  # of the access, as the code object counts
