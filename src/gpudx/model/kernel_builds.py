"""What a compiler made of one kernel for one architecture, whoever tells: device code, or the compiler's own lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelBuild:
    """Numbers of one kernel. None means that it was not told, which is never zero."""

    kernel: str  # demangled
    mangled: str = ""
    arch: str = ""  # as the vendor writes it
    registers: int | None = None  # per thread
    spill_stores: int | None = None  # bytes
    spill_loads: int | None = None  # bytes
    stack_bytes: int | None = None  # per thread
    static_shared_bytes: int | None = None  # per group of threads
    local_bytes: int | None = None  # per thread
    constant_bytes: int | None = None
    barriers: int | None = None
    max_threads: int | None = None  # in a group
    wave_size: int | None = None
    source: str = ""  # file:line
    image: str = ""  # where it stands: a file, or a part of one
