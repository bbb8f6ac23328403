"""How a program is run: all that can be requested, as data from the command line to the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gpudx.model.fields import LATER

PLAIN = "recorded"


@dataclass(frozen=True)
class Ways:
    """What was done to a run beside recording it, as a case keeps it."""

    check: str = ""  # of compute-sanitizer ("memcheck"), "opencl": the kernels check themselves, or "oclgrind"
    fence: str = ""  # at which edge
    poison: str = ""  # the pattern that fresh memory held
    watch: bool = False
    serialise: bool = False
    checks: str = field(
        default="", metadata=LATER
    )  # of kernels that check themselves: those that were asked for by name, "nan"

    @property
    def kinds(self) -> tuple[str, ...]:
        """By name, as experiments are called."""
        named = {"fenced": self.fence, "poisoned": self.poison, "watched": self.watch, "serialised": self.serialise}
        return tuple(filter(None, [self.check, *(name for name, on in named.items() if on)]))

    @property
    def name(self) -> str:
        """For people: "memcheck and poisoned", "recorded" for a plain run."""
        return " and ".join(self.kinds) or PLAIN

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `gpudx run` that give the same run."""
        named = {
            f"--sanitize={self.checks or self.check}": self.check,
            "--fence": self.fence == "high",
            f"--fence={self.fence}": self.fence not in ("", "high"),
            "--poison": self.poison == "cb",
            f"--poison={self.poison}": self.poison not in ("", "cb"),
            "--watch": self.watch,
            "--serialise": self.serialise,
        }
        return tuple(option for option, on in named.items() if on)


@dataclass(frozen=True)
class Fence:
    """Blocks lie against the upper ("high") or the lower fence, at multiples of `align` bytes; None: as the API promises.

    "red": no fences, but a red zone behind each block.
    """

    edge: str = "high"
    align: int | None = None


@dataclass(frozen=True)
class Watch:
    """Memory is looked at whenever the program has waited, `limit` bytes of it at most; None: what the recorder thinks fit.

    again  a run in which something changed that nobody was given is made once more, with a look at each launch
    sizes  only memory of these sizes is watched; none: all
    """

    again: bool = True
    limit: int | None = None
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Capture:
    """A launch that becomes a capsule: the `launch`th of a kernel. `limit`: bytes of memory that it may reach."""

    kernel: str
    launch: int = 1
    limit: int = 1 << 30


@dataclass(frozen=True)
class Nan:
    """Floating-point memory of every so many launches is looked at, from the first to the last given (0: of all)."""

    every: int = 1
    first: int = 1
    last: int = 0


@dataclass(frozen=True)
class Sanitizer:
    """A check of compute-sanitizer that is ready to run; `kernel` narrows it."""

    check: str
    path: str
    version: str = ""
    kernel: str | None = None
    launch: int | None = None  # the launch that a run without the tool showed as faulting


@dataclass(frozen=True)
class KernelChecks:
    """Kernels check themselves: what they check; `kernel` narrows it to one. `language`: OpenCL C, PTX, or
    only the types in the symbols of CUDA kernels."""

    checks: frozenset[str]
    kernel: str | None = None
    language: Literal["opencl", "ptx", "types"] = "opencl"
    named: str = ""  # as they were asked for; "": all that are usual


@dataclass(frozen=True)
class Simulator:
    """Oclgrind: the file of its OpenCL driver."""

    driver: str
    version: str = ""


@dataclass(frozen=True)
class How:
    """One more way to run a program is one more field here, and its variables in gpudx.lab.how."""

    timeout: float | None = None  # seconds
    keep: str = "16M"  # calls per thread, or "all"
    dump: bool = False  # the driver writes a core dump of the device
    serialise: bool = False  # a wait after each launch
    stacks: bool = False  # of each launch
    indices: bool = False  # PyTorch's index arguments are checked before the operators that use them
    sanitizer: Sanitizer | None = None  # the tool that it runs under
    kernel_checks: KernelChecks | None = None  # kernels check themselves
    simulator: Simulator | None = None  # the OpenCL device that it runs on
    fence: Fence | None = None
    poison: str | None = None  # the pattern that fresh memory holds
    watch: Watch | None = None
    heap: bool = False  # the program's heap is logged
    capture: Capture | None = None
    nan: Nan | None = None
    values: bool = False  # hashes of what launches are given and leave
    is_try: bool = False  # one of many small changes: nobody looks at what its threads were doing when the time is over
    read_back: bool = False  # the data that the program reads is looked at as a whole
    faults_suffice: bool = False  # a run under a tool that has reported faults, and reports no more, is ended
    crumbs: str = ""  # breadcrumbs behind "all" launches, or "off"; "": within a budget of host time
    extra_env: Mapping[str, str] = field(default_factory=dict)  # the program's own
    probes: tuple[str, ...] = ()  # marks to look for in the program and in what it writes
    output: Path | None = None  # the file for what it writes, and no input; None: it has what gpudx has

    def under(self, more: Mapping[str, str]) -> How:
        """The same with more variables of the program's own."""
        return replace(self, extra_env={**self.extra_env, **more})

    @property
    def _check(self) -> str:
        if self.sanitizer:
            return self.sanitizer.check
        return "oclgrind" if self.simulator else self.kernel_checks.language if self.kernel_checks else ""

    @property
    def ways(self) -> Ways:
        return Ways(
            check=self._check,
            fence=self.fence.edge if self.fence else "",
            poison=self.poison or "",
            watch=self.watch is not None,
            serialise=self.serialise,
            checks=self.kernel_checks.named if self.kernel_checks else "",
        )
