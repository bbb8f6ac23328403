"""Failing calls, folded: which were made at one place, which came of which, and which the program went on after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._groups import groups
from gpudx.detectors._handled import copy_dealt_with, first_read, launch_dealt_with
from gpudx.facts import CallInfo, Facts

I64 = NDArray[np.int64]
COMMANDS = (
    "launch",
    "copy",
    "fill",
    "map",
    "unmap",
    "native_kernel",
    "migrate",
    "acquire",
    "hand_back",
    "marker",
    "barrier",
)
PREPARES = {"build": (), "set_arg": ("launch",), "map": ("unmap",)}  # what a call prepares, and for which others; (): for all
INVALID_KERNEL_ARGS = -52  # OpenCL API specification, "CL_INVALID_KERNEL_ARGS"
CLEANUP = ("release", "query", "wait", "flush", "free_later", "unmap", "callback")
LOOKED_AT = 64  # settings of a null argument, for one of memory
OWN = ("handle:mem", "handle:kernel", "handle:program", "handle:sampler")  # what a failure can be passed on by


@dataclass
class Failure:
    """Calls that failed in the same way at the same place, and what came of them."""

    position: int  # the first
    count: int
    info: CallInfo
    status: int
    tid: int
    handles: dict[str, int]  # field -> handle, without events
    objects: dict[str, int]  # field -> what the handle named then: drivers use the handle of a released object again; -1 if not known
    followers: list[Failure] = field(default_factory=list)

    @property
    def null(self) -> set[str]:
        """Fields that hold a null handle."""
        return {name for name, value in self.handles.items() if not value}

    @property
    def makes(self) -> str:
        """The kind of handle that the call should have given, "" if none."""
        return dict(self.info.fields).get("result", "") if self.info.does == "create" else ""


class Failures:
    """The failing calls of one process, first to last."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @cached_property
    def all(self) -> list[Failure]:
        """One per call, status and call site, by their first occurrence."""
        trace, positions = self._facts.trace, self._facts.errors.own
        keys = (trace.call[positions], trace.column("status", positions), trace.column("caller", positions))
        return [self.at(int(part[0]), len(part)) for part in groups(positions, *keys)]

    def at(self, position: int, count: int = 1) -> Failure:
        """The failing call at a position."""
        trace, one = self._facts.trace, np.array([position])
        info, words = trace.info(position), trace.record(position)
        handles = {
            n: words[n] for n, kind in info.fields if kind.startswith("handle:") and n not in ("result", "event")
        }
        status, tid = int(trace.column("status", one)[0]), int(trace.column("tid", one)[0])
        rows = self._facts.objects.at(np.array([*handles.values()], np.uint64), np.full(len(handles), position, np.int64))
        return Failure(position, count, info, status, tid, handles, dict(zip(handles, rows.tolist(), strict=True)))

    @cached_property
    def roots(self) -> list[Failure]:
        """The failures that are not followers of an earlier one."""
        roots: list[Failure] = []
        for failure in self.all:
            leader = next((root for root in roots if self._follows(failure, root)), None)
            if leader:
                leader.followers.append(failure)
            else:
                roots.append(failure)
        return roots

    def _follows(self, failure: Failure, root: Failure) -> bool:
        """Does a later failure come of an earlier one: did it use a result that the earlier one did not give, or an object that it did not
        prepare? Two refusals of the same kind, or with the same buffer, are two refusals."""
        earlier = (root, *root.followers)
        return any(_used_null(failure, one) or (_is_unprepared(failure, one) and not self.of_no_argument(one)) for one in earlier)

    def of_no_argument(self, failure: Failure) -> bool:
        """Is it the setting of an argument that the kernel does not have?"""
        if failure.info.does != "set_arg":
            return False
        sets = self._facts.set_args
        rows = np.flatnonzero(sets.position == failure.position)
        kernel = self._facts.kernels.info(int(sets.kernel_row[rows[0]])) if len(rows) else None
        return kernel is not None and int(sets.index[rows[0]]) >= kernel.num_args

    def runs_without(self, failure: Failure) -> bool:
        """Was an argument set that the kernel does not have, and did the driver launch it later, with all that it has?"""
        return self.of_no_argument(failure) and _next_launch(self._facts, failure.position, accepted=True) is not None

    # ---- what the program did next ----

    def ignored(self, failure: Failure) -> str:
        """How we know that the program went on as if the call had succeeded; "" if it may have dealt with it."""
        if any(_used_null(f, failure) for f in failure.followers):
            return "its result was used anyway"
        if failure.makes == "handle:mem" and (passed_on := self._null_launch(failure) or self._null_argument(failure)):
            return passed_on
        if failure.info.does == "set_arg":
            return self._launched_anyway(failure)
        if any(_shares(f, failure) for f in failure.followers) and failure.info.does in ("create", "build"):
            return "the same objects were used again, and those calls failed too"
        return self._went_on(failure) if failure.info.does in COMMANDS else ""

    def _null_argument(self, failure: Failure) -> str:
        """A null handle set as a memory argument after the call that should have given one: some drivers accept it."""
        sets, facts = self._facts.set_args, self._facts
        null = (sets.value == 0) & (sets.pointer != 0) & (sets.status == 0) & (sets.position > failure.position)
        for row in map(int, np.flatnonzero(null)[:LOOKED_AT]):
            kernel = facts.kernels.info(int(sets.kernel_row[row]))
            known = kernel.args.get(int(sets.index[row])) if kernel else None
            if kernel and known is not None and known.is_memory:
                return (
                    f"its null result was set as argument {known.index} of kernel {kernel.name} "
                    f"(call {int(sets.position[row]) + 1})"
                )
        return ""

    def _null_launch(self, failure: Failure) -> str:
        """Memory was not allocated: the first launch after it that was given null for a pointer, if nothing was allocated by the same
        call in between, as a program does that tries again with less."""
        launches, pointers, trace = self._facts.launches, self._facts.launches.pointers, self._facts.trace
        null = launches.position[pointers.launch[pointers.declared & (pointers.value == 0) & ~pointers.inside]]
        later = np.sort(null[null > failure.position])
        if not len(later):
            return ""
        again = trace.select(failure.info)
        again = again[(again > failure.position) & (again < later[0]) & (trace.column("status", again) == 0)]
        return "" if len(again) else f"a kernel was launched with null instead (call {int(later[0]) + 1})"

    def _launched_anyway(self, failure: Failure) -> str:
        """A refused argument, and then a launch of the kernel without a good setting in between."""
        launch = _next_launch(self._facts, failure.position)
        if launch is None or was_replaced(self._facts, failure.position):
            return ""
        return f"the kernel was launched anyway (call {launch + 1})"

    def _went_on(self, failure: Failure) -> str:
        """A refused command, and then other commands in the same queue without one that did the same and succeeded, before something
        read what is missing."""
        later = self._commands_after(failure)
        if not len(later) or self._replaces(failure, int(later[0])) or self.dealt_with(failure):
            return ""
        trace = self._facts.trace
        same = later[trace.call[later] == failure.info.number]
        same = same[trace.column("status", same) == 0]
        if failure.info.does in ("copy", "fill") and (read := first_read(self._facts, failure.position)) is not None:
            same = same[same < read]
        for name, value in {**failure.handles, **self._starts(failure)}.items():
            same = same[trace.field(failure.info, name, same) == value]
        return (
            "" if len(same) else f"the program continued with {trace.info(int(later[0])).name} (call {int(later[0]) + 1})"
        )

    def dealt_with(self, failure: Failure) -> bool:
        """Was refused work done in another way, or does nothing use what it should have left behind?"""
        row = self._facts.launches.at_position(failure.position)
        if row is not None:
            return launch_dealt_with(self._facts, row)
        return failure.info.does in ("copy", "fill") and copy_dealt_with(self._facts, failure.position)

    def _starts(self, failure: Failure) -> dict[str, int]:
        """Where the command begins in the memory that it reads and writes: one that is tried again, with less, begins there too."""
        words = self._facts.trace.record(failure.position)
        return {name: words[name] for name in ("offset", "src_offset", "dst_offset") if name in words}

    def _replaces(self, failure: Failure, position: int) -> bool:
        """Does this call do by other means what failed: read what should have been read, write what should be written?"""
        trace, words = self._facts.trace, self._facts.trace.record(position)
        failed = int(trace.column("status", np.array([position]))[0]) != 0
        if trace.info(position) is failure.info and any(words[name] != at for name, at in self._starts(failure).items()):
            return False  # another part of the same memory
        mine, theirs = _touched(failure.info, failure.handles), _touched(trace.info(position), words)
        return not failed and any(theirs.get(way, -1) == handle for way, handle in mine.items())

    def _commands_after(self, failure: Failure) -> I64:
        trace = self._facts.trace
        calls = tuple(c for c in trace.schema.calls if c.does in COMMANDS and c.word("queue") == 0)
        positions = trace.select(calls)
        positions = positions[positions > failure.position]
        same = trace.column("tid", positions) == failure.tid
        return positions[same & (trace.words(positions, 0) == failure.handles.get("queue", 0))]

    def stopped_at(self, failure: Failure) -> bool:
        return only_tidied(self._facts, failure.position, failure.tid)


def only_tidied(facts: Facts, position: int, tid: int) -> bool:
    """Did the failing thread do nothing but tidy up after a call?"""
    trace = facts.trace
    later = np.arange(position + 1, len(trace))
    later = later[trace.column("tid", later) == tid]
    tidy = np.array([c.does in CLEANUP or c.api == "note" for c in trace.schema.calls])
    return bool(tidy[trace.call[later]].all())


def was_replaced(facts: Facts, position: int) -> bool:
    """Was an argument set again, and accepted, before a launch of the kernel was? Then nothing came of it."""
    launch, sets, words = _next_launch(facts, position, accepted=True), facts.set_args, facts.trace.record(position)
    again = (sets.kernel == words["kernel"]) & (sets.index == words["index"]) & (sets.status == 0) & (sets.position > position)
    return bool((again & (sets.position < (len(facts.trace) if launch is None else launch))).any())


def _next_launch(facts: Facts, position: int, *, accepted: bool = False) -> int | None:
    """Of the kernel whose argument is set."""
    launches = facts.launches
    later = (launches.kernel == facts.trace.record(position)["kernel"]) & (launches.position > position)
    found = launches.position[later & (launches.status == 0) if accepted else later]
    return int(found[0]) if len(found) else None


def _touched(info: CallInfo, words: Mapping[str, int]) -> dict[str, int]:
    """What a call reads and writes: {"reads": handle, "writes": handle}. A map does either."""
    ways = {"reads": info.reads or info.maps, "writes": info.writes or info.maps}
    fields = {way: text.partition("@")[0].partition("+")[0] for way, text in ways.items() if text}
    return {way: words[name] for way, name in fields.items() if name in words}


def _used_null(failure: Failure, root: Failure) -> bool:
    """Was a null handle used of the very kind that the first call should have given?"""
    kinds = dict(failure.info.fields)
    return bool(root.makes) and any(kinds[name] == root.makes for name in failure.null)


def _shares(failure: Failure, root: Failure) -> bool:
    return bool(_own(failure) & _own(root))


def _own(failure: Failure) -> set[tuple[int, int]]:
    """What a failure can be passed on by: handles, and the objects that they named."""
    kinds = dict(failure.info.fields)
    return {(value, failure.objects[name]) for name, value in failure.handles.items() if value and kinds[name] in OWN}


def _is_unprepared(failure: Failure, root: Failure) -> bool:
    for_these = PREPARES.get(root.info.does)
    if for_these is None or (for_these and failure.info.does not in for_these) or not _shares(failure, root):
        return False
    return root.info.does != "set_arg" or failure.status == INVALID_KERNEL_ARGS
