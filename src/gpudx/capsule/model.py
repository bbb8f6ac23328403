"""A capsule and its parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

POINTER = 8  # bytes
Bytes = npt.NDArray[np.uint8]
Api = Literal["opencl", "cuda", "hip"]
CodeKind = Literal["source", "il", "binary", "ptx", "cubin", "fatbin", "code object"]
Given = Literal["value", "buffer", "local", "svm", "null", "unset"]
Ending = Literal["completed", "failed", "refused", "crashed", "unknown"]


@dataclass(frozen=True)
class Code:
    """One form of the kernel's program."""

    kind: CodeKind
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Device:
    """Where it was captured."""

    name: str = ""
    version: str = ""
    driver: str = ""
    platform: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} ({', '.join(filter(None, [self.platform, self.driver]))})" if self.name else "unknown"


@dataclass(frozen=True)
class Geometry:
    """Work-items per dimension and per group; a `local` of () leaves the group size to the driver.

    CUDA and HIP: `global_` are threads, so that grid = global_ / local; `shared` are bytes of dynamic shared memory.
    """

    global_: tuple[int, ...]
    local: tuple[int, ...] = ()
    offset: tuple[int, ...] = ()
    shared: int = 0

    @property
    def items(self) -> int:
        total = 1
        for one in self.global_:
            total *= one
        return total


@dataclass(frozen=True)
class Argument:
    """One argument. `size`: bytes of local memory. `offset`: of an address, in its buffer."""

    index: int
    kind: Given
    value: bytes = b""
    buffer: int | None = None
    offset: int = 0
    size: int = 0
    type: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        said = " ".join(filter(None, [self.type, self.name]))
        return f"argument {self.index}" + (f" ({said})" if said else "")


@dataclass(frozen=True)
class Buffer:
    """Memory that the launch can reach. A part of another buffer has no content of its own."""

    number: int
    size: int
    flags: int = 0
    parent: int | None = None
    offset: int = 0  # in the parent
    address: int = 0  # where the device, or SVM, had it; 0: not known
    svm: bool = False
    symbol: str = ""  # the name of the module's variable that it is (CUDA, HIP)
    before: Bytes | None = None
    after: Bytes | None = None


def _is_in(value: bytes, one: Buffer) -> bool:
    return one.address <= int.from_bytes(value, "little") < one.address + one.size


@dataclass(frozen=True)
class Outcome:
    """How the captured launch ended."""

    ending: Ending = "unknown"
    status: int = 0
    note: str = ""  # why more is not known, or how the program ended


@dataclass(frozen=True)
class Capsule:
    """One launch."""

    api: Api
    kernel: str
    launch: int  # its number among the launches of this kernel, from 1
    codes: tuple[Code, ...]
    geometry: Geometry
    arguments: tuple[Argument, ...]
    buffers: tuple[Buffer, ...]
    options: str = ""
    device: Device = field(default_factory=Device)
    outcome: Outcome = field(default_factory=Outcome)
    made_by: str = ""
    has_data: bool = True

    def code(self, *kinds: CodeKind) -> Code | None:
        """The first of these kinds that it has."""
        return next((one for kind in kinds for one in self.codes if one.kind == kind), None)

    @property
    def bytes(self) -> int:
        return sum(one.size for one in self.buffers if one.parent is None)

    def without_data(self) -> Capsule:
        """The same without contents of buffers."""
        bare = tuple(replace(one, before=None, after=None) for one in self.buffers)
        return replace(self, buffers=bare, has_data=False)

    def argument_of(self, buffer: int) -> Argument | None:
        """The first argument that is this buffer, or a part of it."""
        one = self.buffers[buffer]
        if self.api != "opencl":
            return next((a for a in self.arguments if len(a.value) == POINTER and _is_in(a.value, one)), None)
        parts = {buffer} | {one.number for one in self.buffers if one.parent == buffer}
        return next((one for one in self.arguments if one.buffer in parts), None)

    def title_of(self, buffer: int) -> str:
        """For people: by its argument, if it has one."""
        argument = self.argument_of(buffer)
        if self.buffers[buffer].symbol:
            return f"variable {self.buffers[buffer].symbol}"
        return argument.title if argument else f"buffer {buffer}"
