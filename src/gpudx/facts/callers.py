"""The line of the program that decided a call, beyond functions that all such calls pass through.

`make_buffer(context, size)` in a header has one line that creates every buffer of the program: that line says nothing, its caller's does.
A frame counts as such a wrapper only where the record shows it: the same place made this kind of call for several chains of callers, for
different things (buffers of different sizes, launches of different kernels, different arguments). Callers are known from recorded stacks,
and from debug information where the wrapper was inlined; where they are not known, nothing is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.facts.launches import Launches
from gpudx.facts.objects import Objects
from gpudx.facts.stacks import Stacks
from gpudx.facts.symbols import Symbols
from gpudx.trace import Trace

SYSTEM = re.compile(r"/usr/(?!local/|src/)|.*/include/c\+\+/")
MOST_CALLS = 4096  # of one function that are compared
MOST_PASSED = 4  # wrappers around wrappers


@dataclass(frozen=True)
class Decided:
    """`line` is the caller's, `through` that of the wrapper which made the call; both "path:line"."""

    line: str
    through: str


@dataclass(frozen=True)
class _Frame:
    key: Hashable
    source: str


class Callers:
    def __init__(self, trace: Trace, objects: Objects, launches: Launches, symbols: Symbols, stacks: Stacks) -> None:
        self._trace, self._objects, self._launches = trace, objects, launches
        self._symbols, self._stacks = symbols, stacks
        self._wrappers_of: dict[str, frozenset[Hashable]] = {}

    def beyond(self, position: int) -> Decided | None:
        """The first frame that is no wrapper's; None where that is the line that made the call, or is not known."""
        frames = list(self._frames(position))
        if len(frames) < 2:
            return None
        wrappers, at = self._wrappers(self._trace.info(position).name), 0
        while at < len(frames) and frames[at].key in wrappers and at < MOST_PASSED:
            at += 1
        while 0 < at < len(frames) and SYSTEM.match(frames[at].source):
            at -= 1  # a thread's entry, or an algorithm that calls back: what it called is the program's
        return Decided(frames[at].source, frames[0].source) if 0 < at < len(frames) else None

    def _wrappers(self, call: str) -> frozenset[Hashable]:
        if call not in self._wrappers_of:
            users: dict[Hashable, set[Hashable]] = {}
            things: dict[Hashable, set[Hashable]] = {}
            for position in self._trace.named(call)[:MOST_CALLS].tolist():
                frames, thing = list(self._frames(position)), self._thing(position)
                for at, frame in enumerate(frames[:-1]):
                    users.setdefault(frame.key, set()).add(tuple(outer.key for outer in frames[at + 1 :]))
                    things.setdefault(frame.key, set()).add(thing)
            found = {key for key, callers in users.items() if len(callers) > 1 and len(things[key]) > 1}
            self._wrappers_of[call] = frozenset(found)
        return self._wrappers_of[call]

    def _thing(self, position: int) -> Hashable:
        """What a call is about: a size, a kernel, the number of an argument; None: nothing that tells calls apart."""
        launch = self._launches.at_position(position)
        if launch is not None:
            return self._launches.name(launch)
        if position in self._sizes:
            return self._sizes[position]
        return self._trace.record(position).get("index")

    @cached_property
    def _sizes(self) -> dict[int, int]:
        table = self._objects.table
        made = np.flatnonzero(table["size"] > 0)
        return dict(zip(table["born"][made].tolist(), table["size"][made].tolist(), strict=True))

    def _frames(self, position: int) -> Iterator[_Frame]:
        """From the line that made the call outwards, up to the first frame without a line."""
        caller = int(self._trace.column("caller", np.array([position]))[0])
        stack = self._stacks.at(position)
        addresses = stack.addresses if stack is not None else ()
        if caller:
            addresses = addresses[addresses.index(caller) :] if caller in addresses else (caller,)
        elif not addresses:
            return
        for address in addresses:
            places = self._symbols.places(address - 1)
            for at, place in enumerate(places):
                if not place.source:
                    return
                # An inlined function has an address in each of its callers, so its line is what it is known by.
                inlined = at < len(places) - 1
                yield _Frame((place.function, place.source) if inlined else address, place.source)
            if not places or places[-1].function == "main":
                return
