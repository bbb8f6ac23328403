"""Derives tables from a trace, once and without opinions: launches, objects, errors, order. Detectors read these and nothing else."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.backends.tool import Assertion, Fault
from gpudx.facts._backend import backend_libraries, backend_module, backend_modules
from gpudx.facts.accesses import derive_accesses
from gpudx.facts.bystanders import Bystanders
from gpudx.facts.callers import Callers
from gpudx.facts.collectives import Collectives
from gpudx.facts.contexts import Contexts
from gpudx.facts.crumbs import Crumbs
from gpudx.facts.errors import Errors
from gpudx.facts.fences import Fences
from gpudx.facts.framework import Tellings, Told
from gpudx.facts.graphs import Graphs
from gpudx.facts.heap import Heap
from gpudx.facts.host_copies import HostCopies
from gpudx.facts.images import Images
from gpudx.facts.kernel_files import KernelFiles
from gpudx.facts.kernels import Kernels
from gpudx.facts.launches import Launches, SetArgs
from gpudx.facts.loaders import opencl_loaders
from gpudx.facts.marks import Marks
from gpudx.facts.memory import Memory
from gpudx.facts.messages import Messages
from gpudx.facts.nth import Nth
from gpudx.facts.objects import Objects, derive_objects
from gpudx.facts.order.conflicts import Conflicts
from gpudx.facts.order.happens import Happens
from gpudx.facts.order.waits import Order
from gpudx.facts.poison import Poison
from gpudx.facts.ranges import Ranges
from gpudx.facts.runtime_errors import EmptyFill, RuntimeFailure, empty_fills, runtime_failures
from gpudx.facts.shared import Shared, shared_objects
from gpudx.facts.sites import Sites
from gpudx.facts.stacks import Stacks
from gpudx.facts.symbols import Symbols
from gpudx.facts.uses import Sources, Uses
from gpudx.facts.watch import Watch
from gpudx.facts.writers import Writers
from gpudx.trace import CallInfo, Trace
from gpudx.trace.last_words import LastWords
from gpudx.trace.saturating import plus

# Beside the tables, what detectors need to name of the record and of backends: they import nothing else.
__all__ = [
    "Assertion",
    "CallInfo",
    "Facts",
    "Fault",
    "LastWords",
    "Told",
    "backend_libraries",
    "backend_module",
    "backend_modules",
    "derive",
    "plus",
]


class Facts:
    """Everything known about one process. Tables are made when first asked for."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def objects(self) -> Objects:
        return derive_objects(self.trace)

    @cached_property
    def second_loader(self) -> tuple[str, ...]:
        """The OpenCL loaders, where there are several: calls through one of them may be missing."""
        found = opencl_loaders(self.trace.maps)
        return found if len(found) > 1 else ()

    @property
    def misses_calls(self) -> bool:
        """May calls be missing anywhere? Then what is absent from the record is unknown."""
        return bool(self.second_loader) or self.trace.misses_calls

    @cached_property
    def kernels(self) -> Kernels:
        return Kernels(self.trace, self.objects)

    @cached_property
    def launches(self) -> Launches:
        return Launches(self.trace, self.objects, self.kernels, self.memory)

    @cached_property
    def memory(self) -> Memory:
        return Memory(self.objects)

    @cached_property
    def fences(self) -> Fences:
        return Fences(self.trace, self.objects)

    @cached_property
    def poison(self) -> Poison:
        return Poison(self.trace, self.objects, self.memory)

    @cached_property
    def watch(self) -> Watch:
        return Watch(self.trace, self.objects)

    @cached_property
    def writers(self) -> Writers:
        return Writers(self.trace, self.objects, self.launches, self.ranges, self.accesses)

    @cached_property
    def bystanders(self) -> Bystanders:
        return Bystanders(self.trace, self.objects, self.launches, self.watch, self.writers)

    @cached_property
    def marks(self) -> Marks:
        return Marks(self.trace)

    @cached_property
    def messages(self) -> Messages:
        return Messages(self.trace)

    @property
    def contexts(self) -> Contexts:
        return self.kernels.contexts

    @cached_property
    def graphs(self) -> Graphs:
        return Graphs(self.trace, self.objects, self.kernels, self.memory, self.launches.declared, self.errors)

    @cached_property
    def ranges(self) -> Ranges:
        return Ranges(self.trace, self.objects, self.memory)

    @cached_property
    def host_copies(self) -> HostCopies:
        return HostCopies(self.trace, self.objects, self.ranges)

    @cached_property
    def heap(self) -> Heap:
        return Heap(self.trace)

    @cached_property
    def images(self) -> Images:
        return Images(self.trace, self.objects)

    @cached_property
    def order(self) -> Order:
        return Order(self.trace, self.objects, self.contexts)

    @cached_property
    def crumbs(self) -> Crumbs:
        return Crumbs(self.trace, self.objects)

    @cached_property
    def happens(self) -> Happens:
        return Happens(self.trace, self.objects, self.memory, self.ranges, self.contexts)

    @cached_property
    def uses(self) -> Uses:
        parts = (self.objects, self.memory, self.launches, self.graphs, self.ranges, self.accesses, self.happens)
        return Uses(Sources(self.trace, *parts))

    @cached_property
    def conflicts(self) -> Conflicts:
        return Conflicts(self.trace, self.happens, self.uses)

    @cached_property
    def shared(self) -> list[Shared]:
        return shared_objects(self.trace, self.objects, self.kernels, self.launches)

    @cached_property
    def set_args(self) -> SetArgs:
        return SetArgs(self.trace, self.objects, self.kernels)

    @cached_property
    def accesses(self) -> NDArray[np.void]:
        return derive_accesses(self.trace, self.objects, self.launches)

    @cached_property
    def errors(self) -> Errors:
        return Errors(self.trace, self.launches.too_large)

    @cached_property
    def runtime_failures(self) -> list[RuntimeFailure]:
        return runtime_failures(self.trace, self.sites)

    @cached_property
    def empty_fills(self) -> list[EmptyFill]:
        """Fills of 0 bytes."""
        return empty_fills(self.trace, self.sites)

    @cached_property
    def nth(self) -> Nth:
        return Nth(self.trace, self.kernels, self.launches)

    @cached_property
    def in_flight(self) -> NDArray[np.int64]:
        """Calls that had not returned when the record ends."""
        return np.flatnonzero((self.trace.column("end") == 0) & ~self.trace.is_note)

    @cached_property
    def symbols(self) -> Symbols:
        return Symbols(self.trace.maps)

    @cached_property
    def stacks(self) -> Stacks:
        return Stacks(self.trace)

    @cached_property
    def collectives(self) -> Collectives:
        return Collectives(self.trace)

    @cached_property
    def tellings(self) -> Tellings:
        return Tellings(self.trace)

    @cached_property
    def sites(self) -> Sites:
        callers = Callers(self.trace, self.objects, self.launches, self.symbols, self.stacks)
        return Sites(
            self.trace, self.objects, self.kernels, self.launches, self.errors, self.symbols, self.stacks, self.tellings, callers
        )

    @cached_property
    def kernel_files(self) -> KernelFiles:
        return KernelFiles(self.trace, self.launches, self.sites)


def derive(trace: Trace) -> Facts:
    """The facts of one process."""
    return Facts(trace)
