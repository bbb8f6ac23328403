"""The line of the program that decided a call, beyond functions that all such calls pass through.

`make_buffer(context, size)` in a header has one line that creates every buffer of the program: that line says nothing, its caller's does.
A frame counts as such a wrapper only where the record shows it: the same place made this kind of call for several chains of callers, for
different things (buffers of different sizes, launches of different kernels, different arguments). It is not passed over for a line that
makes several such calls, one of which was refused: the values may be computed in the function. A line of an installed header, as of
the C++ bindings, is never the one. Callers are known from recorded stacks, and from debug information where the wrapper was inlined;
where they are not known, nothing is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.facts.launches import Launches
from gpudx.facts.objects import Objects
from gpudx.facts.stacks import Stacks
from gpudx.facts.symbols import Place, Symbols, pretty
from gpudx.facts.unwind import RECORDER
from gpudx.text.places import is_installed
from gpudx.trace import Trace

# Libraries, packages and interpreters: with debug information, they have lines that are nobody's here.
LIBRARIES = re.compile(r"(?:/usr)?/lib(?:32|64)?/|.*/(?:site|dist)-packages/|.*/lib-dynload/|.*/(?:lib)?python\d[^/]*$")
HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|inl):\d+$")
TEMPLATE = re.compile(r"<.+>")
MOST_CALLS = 4096  # of one function that are compared
MOST_PASSED = 4  # wrappers around wrappers


@dataclass(frozen=True)
class Decided:
    """`line` is the caller's, `through` that of the program's wrapper which made the call, if it has one; both "path:line"."""

    line: str
    through: str | None


@dataclass(frozen=True)
class _Frame:
    key: Hashable
    source: str
    ends: bool = False  # a destructor: where the object's life ends says more


class Callers:
    def __init__(self, trace: Trace, objects: Objects, launches: Launches, symbols: Symbols, stacks: Stacks) -> None:
        self._trace, self._objects, self._launches = trace, objects, launches
        self._symbols, self._stacks = symbols, stacks
        self._wrappers_of: dict[str, frozenset[Hashable]] = {}

    def beyond(self, position: int) -> Decided | None:
        """The first frame that is no wrapper's; None where that is the line that made the call, or is not known."""
        frames = list(self._frames(position))
        own = [at for at, frame in enumerate(frames) if not is_installed(frame.source)]
        if len(frames) < 2 or not own:
            return None
        wrappers, first = self._wrappers(self._trace.info(position).name), own[0]
        at, crowded = first, self._crowded(position)
        while (frames[at].key in wrappers or frames[at].ends) and at - first < MOST_PASSED and at + 1 in own:
            if frames[at + 1].source in crowded and not HEADER.search(frames[at].source):
                break
            at += 1  # not past a thread's entry, or an algorithm that calls back: what those called is the program's
        return Decided(frames[at].source, frames[first].source if at > first else None) if at else None

    def _crowded(self, position: int) -> set[str]:
        """Lines from which several places make a call that was refused here: they do not say which one, nor where its value comes from.
        The function that made the call does."""
        if not self._trace.column("status", np.array([position]))[0]:
            return set()
        places: dict[str, set[Hashable]] = {}
        for other in self._trace.named(self._trace.info(position).name)[:MOST_CALLS].tolist():
            for frame in self._frames(other):
                places.setdefault(frame.source, set()).add(frame.key)
        return {source for source, keys in places.items() if len(keys) > 1}

    def line(self, position: int) -> str | None:
        """The innermost line that is the program's own, wrapper or not; None where none is known."""
        return next((frame.source for frame in self._frames(position) if not is_installed(frame.source)), None)

    def chain(self, position: int) -> tuple[str, ...]:
        """The program's own lines that led to a call, innermost first."""
        return tuple(frame.source for frame in self._frames(position) if not is_installed(frame.source))

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
        """From the line that made the call outwards, up to the first frame without a line. Runtime libraries, which have none, and the
        functions that the compiler makes for launches of kernels stand before it."""
        caller = int(self._trace.column("caller", np.array([position]))[0])
        stack = self._stacks.at(position)
        addresses = stack.addresses if stack is not None else ()
        if caller:
            addresses = addresses[addresses.index(caller) :] if caller in addresses else (caller,)
        elif not addresses:
            return
        launch, begun = self._launches.at_position(position), False
        kernel = _plain(self._launches.name(launch)) if launch is not None else ""
        for address in addresses:
            places = self._symbols.places(address - 1)
            if places and (LIBRARIES.match(places[0].path) or places[0].object.startswith(RECORDER)):
                if begun:
                    return
                continue
            if not begun and not any(place.source for place in places):
                continue
            for place in own_places(places, kernel):
                if not place.source:
                    return
                begun = True
                # An inlined function has an address in each of its callers, and a template one in each instance: their lines are known.
                name = TEMPLATE.sub("<>", pretty(place.function))
                shared = place is not places[-1] or "<>" in name
                yield _Frame((name, place.source) if shared else address, place.source, "~" in name)
            if not places or places[-1].function == "main":
                return


def _plain(name: str) -> str:
    """ "scale" of "ns::scale<float>(float*)"."""
    return re.split(r"[<(]", pretty(name), maxsplit=1)[0].rpartition("::")[2]


def own_places(places: Sequence[Place], kernel: str) -> list[Place]:
    """Less the functions that nvcc and hipcc make of a kernel: they have its name and line, and only launch it."""
    return [
        one
        for one in places
        if not kernel
        or not ("__device_stub__" in one.function or ".cudafe1.stub.c" in one.source or _plain(one.function) == kernel)
    ]
