"""A backward slice over machine code: what a register holds in front of an instruction, as a sum (gpudx.evidence.sums).

Each vendor's code says what precedes an instruction, which registers it writes and what it makes of them. The rest is the same for all:
definitions are found along all paths, where paths join a value that is the same on each is that value, one that a loop adds to is what it
was before the loop plus the loop's part, and anything else is a choice. (Braun et al., "Simple and Efficient Construction of Static Single
Assignment Form", 2013, describes how to read variables on demand like this.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from gpudx.evidence.sums import Atom, Choice, Load, Loop, Lost, Made, Merge, Sum

MOST_DEFINITIONS = 3000
MOST_DEPTH = 150
MOST_CHOICES = 4
UNSET = "was not set by this function"

Read = Callable[[str], Sum]


class Machine(Protocol):
    """Code of one function, its instructions numbered from 0."""

    def pc(self, number: int) -> int: ...

    def before(self, number: int) -> Sequence[int]:
        """The instructions that can run right before this one."""
        ...

    def entry(self, number: int) -> bool:
        """Can the function begin here?"""
        ...

    def writes(self, number: int, register: str) -> bool: ...

    def conditional(self, number: int) -> bool:
        """May the instruction leave its results as they were?"""
        ...

    def result(self, number: int, register: str, read: Read) -> Sum:
        """What it writes to a register; `read` gives what its operands hold."""
        ...

    def initial(self, register: str) -> Sum:
        """What a register holds when the function begins."""
        ...


class Located(Protocol):
    """An instruction that stands somewhere."""

    @property
    def pc(self) -> int: ...


One = TypeVar("One", bound=Located)


class Listing(Generic[One]):
    """The paths through a listing: the part of a Machine that every vendor's code has alike. `after` is a vendor's own."""

    code: Sequence[One]

    def after(self, number: int) -> Iterable[int]:
        """The instructions that can run right after this one."""
        raise NotImplementedError

    def pc(self, number: int) -> int:
        return self.code[number].pc

    def entry(self, number: int) -> bool:
        return number == 0

    def before(self, number: int) -> Sequence[int]:
        return self._before[number]

    @cached_property
    def _before(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.code]
        for number in range(len(self.code)):
            for following in dict.fromkeys(self.after(number)):
                found[following].append(number)
        return found


class Slicer:
    """Registers of one function, followed backwards."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.merges: dict[Merge, list[Sum]] = {}
        self.results: dict[tuple[int, str], Sum] = {}
        self.depth = 0

    def at(self, number: int, make: Callable[[Read], Sum]) -> Sum:
        """What `make` computes from the registers in front of an instruction."""
        return self._finished(make(lambda register: self.before(register, number)))

    # ---- definitions ----

    def before(self, register: str, number: int) -> Sum:
        """The value of a register in front of an instruction."""
        machine = self.machine
        while True:
            earlier = machine.before(number)
            if machine.entry(number):
                return self._merged(register, number, earlier) if earlier else machine.initial(register)
            if len(earlier) != 1:
                return self._merged(register, number, earlier)
            number = earlier[0]
            if machine.writes(number, register):
                return self.after(register, number)

    def after(self, register: str, number: int) -> Sum:
        if not self.machine.writes(number, register):
            return self.before(register, number)
        key = (number, register)
        if key not in self.results:
            self.results[key] = self._defined(register, number)
        return self.results[key]

    def _defined(self, register: str, number: int) -> Sum:
        lost = Sum.atom(Lost(self.machine.pc(number), register, "was computed in too many steps"))
        if self.depth >= MOST_DEPTH or len(self.results) >= MOST_DEFINITIONS:
            return lost
        self.depth += 1
        try:
            made = self.machine.result(number, register, lambda name: self.before(name, number))
            if self.machine.conditional(number):
                made = self._either(register, number, made)
        finally:
            self.depth -= 1
        return made if made.simple else lost

    def _either(self, register: str, number: int, made: Sum) -> Sum:
        """What was written, or what was there before; a register that was never set is read by no thread that skipped this."""
        earlier = self.before(register, number)
        if any(isinstance(atom, Lost) and atom.why == UNSET for atom in earlier.whole):
            return made
        merge = Merge(self.machine.pc(number), f"{register}?")
        self.merges[merge] = [made, earlier]
        return Sum.atom(merge)

    def _merged(self, register: str, number: int, earlier: Sequence[int]) -> Sum:
        merge = Merge(self.machine.pc(number), register)
        if merge not in self.merges:
            values: list[Sum] = []
            self.merges[merge] = values
            if self.depth >= MOST_DEPTH or not earlier:
                values.append(Sum.atom(Lost(merge.pc, register, "comes from code that cannot be followed")))
                return Sum.atom(merge)
            self.depth += 1
            values += [self.after(register, one) for one in earlier]
            values += [self.machine.initial(register)] if self.machine.entry(number) else []
            self.depth -= 1
        return Sum.atom(merge)

    # ---- joins ----

    def _finished(self, value: Sum, open_: frozenset[Merge] = frozenset()) -> Sum:
        """Without merges: each becomes the value, the sum with a loop's part, or the choice that it is."""
        return value.replaced(lambda atom: self._resolved(atom, open_))

    def _resolved(self, atom: Atom, open_: frozenset[Merge]) -> Sum:
        if isinstance(atom, Load) and atom.address is not None:
            return Sum.atom(Load(atom.pc, atom.space, atom.size, self._finished(atom.address, open_), atom.skip))
        if isinstance(atom, Made):
            return Sum.atom(Made(atom.operation, tuple(self._finished(one, open_) for one in atom.operands)))
        if isinstance(atom, Choice):
            values = tuple(dict.fromkeys(self._finished(one, open_) for one in atom.values))
            return values[0] if len(values) == 1 else Sum.atom(Choice(atom.pc, atom.register, values))
        if not isinstance(atom, Merge):
            return Sum.atom(atom)
        if atom in open_ or len(open_) > MOST_DEPTH:
            return Sum.atom(Loop(atom.pc, atom.register))
        return self._joined(atom, open_)

    def _joined(self, merge: Merge, open_: frozenset[Merge]) -> Sum:
        """The values that come into a group of merges which only pass each other on, and whether a loop changes them."""
        group, changed = {merge}, False
        incoming: dict[Sum, None] = {}
        todo = [merge]
        while todo:
            for value in self.merges[todo.pop()]:
                passed = [atom for atom in value.whole if isinstance(atom, Merge)]
                again = next((atom for atom in passed if atom in group or atom in open_), None)
                if again is not None:  # a value of the last iteration
                    changed |= bool(value.without(again).terms)
                elif len(value.terms) == 1 and passed:
                    group.add(passed[0])
                    todo.append(passed[0])
                else:
                    incoming[value] = None
        inside = open_ | group
        values = tuple(dict.fromkeys(self._finished(value, inside) for value in incoming))
        loop = Sum.atom(Loop(merge.pc, merge.register)) if changed else Sum()
        if len(values) == 1:
            return values[0] + loop
        if not values or len(values) > MOST_CHOICES:
            return Sum.atom(Lost(merge.pc, merge.register, "depends on the path that the thread took"))
        return Sum.atom(Choice(merge.pc, merge.register, values)) + loop
