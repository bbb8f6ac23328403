"""What a file of device code holds, in the same records for every vendor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudx.model.kernel_builds import KernelBuild

Vendor = Literal["NVIDIA", "AMD", "SPIR-V"]  # SPIR-V: for no vendor's devices in particular


@dataclass(frozen=True)
class Parameter:
    """One parameter that the host passes. `type` is "" where neither the code nor the symbol tells it."""

    index: int
    offset: int
    size: int
    type: str = ""
    name: str = ""
    kind: str = ""  # the vendor's word for what is passed: by_value, global_buffer
    space: str = ""
    const: bool = False


@dataclass(frozen=True)
class Kernel:
    """One kernel of an image. `parameters` is None where the image does not list them."""

    build: KernelBuild
    parameters: tuple[Parameter, ...] | None = None
    parameter_bytes: int | None = None
    parameter_align: int | None = None
    numbers: dict[str, int] = field(default_factory=dict)  # what only this vendor tells
    traps: bool = False  # each thread runs into a trap before it does anything


@dataclass(frozen=True)
class Function:
    """The machine code of one kernel, with what it calls that stands beside it, and where its parameters are."""

    symbol: str
    architecture: int  # 90 for sm_90
    code: bytes = field(repr=False)
    base: int  # where the parameters begin in the memory that the code reads them from
    parameters: tuple[Parameter, ...]

    def parameter(self, offset: int) -> Parameter | None:
        """The parameter that has this byte."""
        return next((one for one in self.parameters if one.offset <= offset < one.offset + one.size), None)


@dataclass(frozen=True)
class Image:
    """Code for one architecture. `unread` says why its kernels are not listed, as "is damaged: ..."."""

    vendor: Vendor
    target: str  # "sm_90", "gfx906:sramecc+:xnack-"; "" if it is not told
    form: str  # "cubin", "PTX", "code object v4"
    where: str  # the place in the file, and of it: ".hip_fatbin+0x1000"
    kernels: tuple[Kernel, ...] = ()
    unread: str = ""


@dataclass(frozen=True)
class Contents:
    """A file. `notes` are sentences about what could not be read or was left out."""

    name: str
    form: str
    images: tuple[Image, ...]
    notes: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(image.target for image in self.images if image.target))
