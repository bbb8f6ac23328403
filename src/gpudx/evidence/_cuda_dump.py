"""What a GPU core dump says: the records that `cuda_coredump` gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpudx.elf.sections import Ints, Table
from gpudx.evidence._cubin import Place
from gpudx.evidence._device_code import Function
from gpudx.evidence._sass import Kind, Space

TRAP, BREAKPOINT = "trap", "breakpoint"  # exceptions that have no number

Dim = tuple[int, int, int]
Addresses = npt.NDArray[np.uint64]

# One row per thread on the device. `sm` and `warp` are the hardware's numbers, `error_pc` is 0 when there is none.
LANES = np.dtype(
    [
        ("device", "<i4"),
        ("sm", "<i4"),
        ("warp", "<i4"),
        ("lane", "<i4"),
        ("grid", "<u8"),
        ("block", "<u4", 3),
        ("thread", "<u4", 3),
        ("pc", "<u8"),
        ("exception", "<u4"),
        ("error_pc", "<u8"),
    ]
)


@dataclass(frozen=True)
class Device:
    """One GPU of the process."""

    index: int
    name: str
    sm: int  # 90 for sm_90
    sms: int


@dataclass(frozen=True)
class Module:
    """One loaded module; `image` says whether its relocated code is in the dump."""

    handle: int
    context: int
    image: bool


@dataclass(frozen=True)
class Grid:
    """One kernel launch that was on the device. `id` counts memsets and copies too: it is not a launch number.

    `parameters` are the raw bytes of the kernel's parameters, None when the dump was written without them, which
    stand at `parameter_base` in constant bank 0.
    """

    id: int
    device: int
    context: int
    kernel: str | None  # mangled
    function: str | None  # as the source spells it
    entry: int
    module: int
    grid: Dim
    block: Dim
    cluster: Dim | None
    parent: int | None
    parameters: bytes | None
    parameter_base: int
    registers: int
    host_tid: int


@dataclass(frozen=True)
class Thread:
    """One thread on the device. `pc` is the instruction that it would execute next."""

    device: int
    sm: int
    warp: int
    lane: int
    block: Dim
    thread: Dim
    pc: int


@dataclass(frozen=True)
class Access:
    """What the faulting instruction accessed, decoded from the code and the lanes' registers; never a guess.

    `addresses` are those of the threads that executed it in the faulting warps, `threads` the rows of `Dump.lanes`.
    Of a misaligned access, and of one past the end of shared memory, they are the offending ones only; of an access to
    an illegal address they are all, since which of them are mapped is not in a dump.
    """

    kind: Kind
    space: Space
    size: int | None
    instruction: str
    lowest: int
    highest: int
    addresses: Addresses = field(compare=False, repr=False)
    threads: Ints = field(compare=False, repr=False)
    confidence: str = "decoded"


@dataclass(frozen=True)
class Fault:
    """All warps that failed the same way at the same instruction of the same grid.

    `place` is the faulting instruction (`precise`), or else where the first thread stopped, which is later.
    """

    exception: str  # "CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS", "trap", "breakpoint"
    code: int
    meaning: str
    grid: Grid | None
    place: Place | None
    error_pc: int | None
    precise: bool
    sms: int
    blocks: int
    warps: int
    lanes: int
    first: Thread | None  # None: the warps had exited
    access: Access | None
    no_access: str  # why there is none
    frames: tuple[Place, ...] = ()  # callers of the first thread, innermost first
    registers: tuple[int, ...] = ()  # of the first thread, as they were where it stopped
    detail: str = ""  # what the driver wrote about it
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64), compare=False, repr=False)  # its threads, of Dump.lanes
    function: tuple[Function, int] | None = field(default=None, compare=False, repr=False)  # and how far into it the fault is

    @property
    def kernel(self) -> str:
        """The kernel as the source spells it, without parameters."""
        from_grid = Place(0, self.grid.kernel, 0).name if self.grid and self.grid.kernel else ""
        return from_grid or (self.place.name if self.place else "an unknown kernel")


@dataclass(frozen=True)
class Resident:
    """Warps that stood at the same instruction, faulting or not: for a hang, where it hangs."""

    grid: Grid | None
    place: Place | None
    pc: int
    warps: int
    lanes: int
    first: Thread
    waits: str = ""  # what the instruction makes it wait for (sass.Code.waits)
    polled: Access | None = None  # the one access of the loop it is in


@dataclass(frozen=True)
class Lock:
    """Warps whose threads all wait, at different places, for each other. The place that the others went past comes first."""

    warps: int
    places: tuple[Resident, ...]


@dataclass(frozen=True)
class Dump:
    """One core dump. `lanes` has one row per thread on the device, `faults` the most frequent first."""

    path: str
    driver: str
    cuda: str
    created: int  # seconds since the epoch, 0 unknown
    flags: tuple[str, ...]
    devices: tuple[Device, ...]
    modules: tuple[Module, ...]
    grids: tuple[Grid, ...]
    faults: tuple[Fault, ...]
    resident: tuple[Resident, ...]
    notes: tuple[str, ...]
    lanes: Table = field(compare=False, repr=False)
    locks: tuple[Lock, ...] = ()
