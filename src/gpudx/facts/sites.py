"""Calls in the words of a report: which one, by whom, on what, from which line."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from gpudx.facts.callers import Callers
from gpudx.facts.errors import Errors
from gpudx.facts.framework import OPERATOR, Tellings, framework_of, is_forward_of
from gpudx.facts.kernels import Kernels
from gpudx.facts.launches import Launches
from gpudx.facts.objects import Objects
from gpudx.facts.stacks import Stack, Stacks
from gpudx.facts.symbols import Symbols
from gpudx.facts.unwind import frames_of, host_stack
from gpudx.model import Framework, Site
from gpudx.trace import Trace

NEXT = 16  # records in which the recorder's own wait follows a launch
HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|inl):\d+$")
MOST_STACKS = 64  # of one kernel's launches that are compared


class Sites:
    """Makes a Site of a position. Slow (it reads debug information), so only for what is reported."""

    def __init__(
        self,
        trace: Trace,
        objects: Objects,
        kernels: Kernels,
        launches: Launches,
        errors: Errors,
        symbols: Symbols,
        stacks: Stacks,
        tellings: Tellings,
        callers: Callers,
    ) -> None:
        self._trace, self._objects, self._kernels, self._launches = trace, objects, kernels, launches
        self._errors, self._symbols, self._stacks, self._tellings = errors, symbols, stacks, tellings
        self._callers = callers
        self._usual: dict[int, str | None] = {}  # by row of the kernel

    def at(self, position: int, *, argument: int | None = None, value: int | None = None) -> Site:
        """The call at `position`, with the argument and value a finding is about."""
        info = self._trace.info(position)
        one = np.array([position])
        launch = self._launches.at_position(position)
        kernel_row = self._kernel_row(position)
        kernel = self._kernels.info(kernel_row)
        declared = kernel.args.get(argument) if kernel and argument is not None else None
        in_flight = int(self._trace.column("end", one)[0]) == 0
        failed = int(self._trace.column("status", one)[0]) != 0
        stack = self._stacks.at(position) or (self._of_own_wait(position) if launch is not None else None)
        host = self._host_stack(position, stack)
        python = stack.source if stack else None
        decided = self._callers.beyond(position) if not python else None
        return Site(
            call=info.name,
            number=position + 1,
            pid=self._trace.pid,
            tid=int(self._trace.column("tid", one)[0]),
            api=info.api,
            kernel=self._kernels.name(kernel_row) if kernel_row >= 0 else None,
            launch=launch + 1 if launch is not None else None,
            argument=argument,
            argument_name=declared.name if declared else None,
            value=None if value is None else f"{value:#x}",
            status="in flight" if in_flight else self._errors.status_name(position) if failed else None,
            source=python or (decided.line if decided else self._source(position, stack)),
            through=decided.through if decided else None,
            host_stack=host,
            framework=self._framework(host, stack, self._kernels.name(kernel_row) if kernel_row >= 0 else ""),
        )

    def chain(self, position: int) -> tuple[str, ...]:
        """The lines of the program that led to a call, innermost first, as far as its stack was recorded; () where none is known."""
        stack = self._stacks.at(position)
        if stack is not None and stack.python:
            return tuple(frame.source for frame in stack.python if frame.own) or (stack.python[0].source,)
        return self._callers.chain(position)

    def outside_headers(self, position: int) -> Site:
        """The site of a call, with the first line that led to it and is in no header: it chose what a helper there passes on."""
        site, lines = self.at(position), self.chain(position)
        beyond = next((line for line in lines if not HEADER.search(line)), None)
        return replace(site, source=beyond, through=site.source) if beyond and HEADER.search(site.source or "") else site

    def _framework(self, host: tuple[str, ...], stack: Stack | None, kernel: str) -> Framework | None:
        found = framework_of(host, stack.scope if stack else "", self._forward)
        defined = self._tellings.line_of(kernel) if kernel else ""
        return replace(found or Framework(), defined=defined) if defined else found

    def _forward(self, number: int, node: str) -> str:
        """The line that made this step of a backward pass: the first call that was made while its node was the newest one, if its
        operator is the forward pass of the step."""
        for stack in self._stacks.numbered(number + 1):
            operators = [found[1] for line in frames_of(self._trace, stack.addresses) if (found := OPERATOR.match(line))]
            if is_forward_of(operators, node):
                return stack.source or ""
        return ""

    def _of_own_wait(self, position: int) -> Stack | None:
        """The recorder's own wait behind a launch is made inside the launch's call, so its stack is that of the launch."""
        tid = self._trace.column("tid")[position : position + NEXT]
        mine = position + np.flatnonzero(tid == tid[0])[1:]
        after = mine[~self._trace.is_note[mine]][:1]
        if not len(after) or self._trace.info(int(after[0])).does != "wait" or self._trace.column("caller", after)[0]:
            return None
        return self._stacks.at(int(after[0]))

    def _kernel_row(self, position: int) -> int:
        handle = self._trace.record(position).get("kernel")
        if not handle:
            return -1
        return int(self._objects.at(np.array([handle], np.uint64), np.array([position], np.int64))[0])

    def _source(self, position: int, stack: Stack | None) -> str | None:
        """The innermost line of the call's stack that is the program's, else the caller's; without a stack, as launches like it."""
        caller = int(self._trace.column("caller", np.array([position]))[0])
        found = self._callers.line(position) or (self._symbols.source(caller) if caller else None)
        return found if found or stack else self._usual_line(position)

    def _usual_line(self, position: int) -> str | None:
        """The line of all launches of the same kernel whose stack was recorded, where it is one: to save time most have none."""
        launch = self._launches.at_position(position)
        if launch is None or (row := int(self._launches.kernel_row[launch])) < 0:
            return None
        if row not in self._usual:
            mine = self._launches.position[self._launches.kernel_row == row]
            noted = mine[self._trace.column("flags", mine) & self._trace.schema.flags.get("stack", 0) != 0][:MOST_STACKS]
            decided = [(self._callers.beyond(p), self._callers.line(p)) for p in noted.tolist()]
            lines = {far.line if far else near for far, near in decided}
            self._usual[row] = lines.pop() if len(lines) == 1 else None
        return self._usual[row]

    def _host_stack(self, position: int, stack: Stack | None) -> tuple[str, ...]:
        """Python frames first, then native ones: as the thread died where it did, else as recorded."""
        python = stack.python_lines if stack else ()
        words = self._trace.last_words
        in_flight = int(self._trace.column("end", np.array([position]))[0]) == 0
        if in_flight and words and words.tid == int(self._trace.column("tid", np.array([position]))[0]):
            return (*python, *host_stack(self._trace))
        return (*python, *frames_of(self._trace, stack.addresses)) if stack else ()
