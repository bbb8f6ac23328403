"""What a dying process left in its trace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LastWords:
    """What the process could still say when a fatal signal reached it."""

    signal: int
    code: int
    tid: int
    address: int
    pc: int
    sp: int
    registers: tuple[int, ...]
    stack: bytes
    time_s: float
    access: int = 0  # 1: it was a read that faulted, 2: a write, 0: not known
    vouched: bool = True  # does the kernel say that `address` is the one that was accessed?
    in_recorder: bool = False  # was it the recorder's own code that faulted?
    instruction: bytes = b""  # at `pc`, as far as it could be read; with padding behind it

    @property
    def fault_address(self) -> int | None:
        """The address that could not be accessed, where the kernel named one."""
        return self.address if self.vouched else None
