"""Which argument a faulting access went through, and with which index, read off the kernel's machine code.

The faulting instruction's address is followed back to the kernel's parameters (gpudx.evidence.slices); the recorded launch has their
values, the access has block and thread. Where all of these are known the address is computed again: if its lower half is not that of the
access, the code is not what ran, and nothing is said. A pointer is named only where no other value can be the one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from gpudx.errors import UserError
from gpudx.evidence import amd_slices as amd
from gpudx.evidence import device_functions
from gpudx.evidence import sass_slices as sass
from gpudx.evidence.cuda_coredump import Dump, Fault
from gpudx.evidence.device_functions import Function, kernel_at
from gpudx.evidence.slices import Slicer
from gpudx.evidence.sums import WRAP, Atom, Choice, Index, Load, Loop, Lost, Made, Param, Product, Sum, forms, signed
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.maps import parse_maps
from gpudx.facts.misses import Miss
from gpudx.lab import disassembly
from gpudx.model import Access, Allocation, DeviceFault, Evidence, Origin

PATIENCE_S = 1.5  # for finding a kernel's code among the program's files
POINTER = 8
MOST_THREADS = 2048  # of a dump, whose addresses are computed
MOST_FREE = 6  # coordinates of a thread
MOST_STEPS = 64  # instructions that a thread ran on after the fault
UNITS = (16, 8, 4, 2, 1)
SIGNS = {"and": "&", "or": "|", "xor": "^", "shr": ">>", "sar": ">>"}
SCALAR = re.compile(r"(?:(?:un)?signed|long|int|short|char|double|float|bool|size_t|u?int\d+_t|const|[ui]\d+|f\d+|\s)+")
SYSTEM = ("/lib", "/usr/lib", "/dev")  # files that no kernel of a program is in


@dataclass(frozen=True)
class Traced:
    """The outcome for one access. `missing` is a sentence about what has to be installed."""

    origin: Origin | None = None
    address: int | None = None  # as computed, where nobody saw it
    missing: str = ""

    @property
    def through(self) -> tuple[int, int] | None:
        """The pointer that the access went through: an argument, and the byte of it. One that was loaded is in no argument."""
        return (self.origin.argument, self.origin.byte) if self.origin and not self.origin.loaded else None

    def named(self, miss: Miss) -> Miss:
        """What was missed, with the argument where the address alone does not tell it."""
        return replace(miss, argument=self.origin.argument) if self.origin and miss.argument is None else miss

    def memory(self, facts: Facts, launch: int) -> Allocation | None:
        """The memory of the pointer that the access went through."""
        return allocation_of(facts, self.object(facts, launch), "live")

    def object(self, facts: Facts, launch: int) -> int:
        """Its row, -1 if it is not known."""
        pointers = facts.launches.pointers
        rows = [r for r in pointers.of(launch) if (int(pointers.index[r]), int(pointers.word[r])) == self.through]
        return int(pointers.object[rows[0]]) if rows else -1

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        if self.origin is None:
            return (Evidence(self.missing),) if self.missing else ()
        return (Evidence(f"the machine code {self.origin.words}"),)


@dataclass(frozen=True)
class Root:
    """The pointer that an address was computed from."""

    atom: Atom
    argument: int
    byte: int
    value: int | None
    loaded: bool = False


# ---- code ----


def in_files(facts: Facts, launch: int, access: Access) -> Traced:
    """Of an access whose `pc` is an offset in the kernel: its code is looked for in the program's files."""
    info = facts.launches.info(launch)
    symbol = info.symbol if info and info.symbol else facts.launches.name(launch)
    if not symbol or access.pc is None:
        return Traced()
    device = facts.kernels.device_of(int(facts.launches.queue[launch]), int(facts.launches.position[launch]))
    capability = tuple(device.numbers.get(f"capability_{part}", 0) for part in ("major", "minor")) if device else (0, 0)
    function = _function(tuple(_files(facts)), symbol, *capability)
    return in_code(function, access.pc, facts, launch, access) if function else Traced()


@lru_cache(maxsize=64)
def _function(files: tuple[Path, ...], symbol: str, major: int, minor: int) -> Function | None:
    device = {"capability_major": major, "capability_minor": minor}
    return device_functions.find(files, symbol, device, time.monotonic() + PATIENCE_S)


def _files(facts: Facts) -> Iterator[Path]:
    """What the process was made of, the program first, then the smallest."""
    mapped = {m.path for m in parse_maps(facts.trace.maps) if m.is_file and not m.path.startswith(SYSTEM)}
    paths = {Path(path) for path in mapped - {facts.trace.exe}}
    yield Path(facts.trace.exe)
    yield from sorted((path for path in paths if path.is_file()), key=lambda path: path.stat().st_size)


def in_code(function: Function, offset: int, facts: Facts, launch: int, access: Access) -> Traced:
    """The same with the kernel's code at hand, `offset` bytes from its start."""
    try:
        code = _Sliced.at(function, offset)
    except UserError as error:
        return Traced(missing=str(error))
    return code.traced(facts, launch, access) if code and _fits(code.instruction, access) else Traced()


def in_dump(dump: Dump, fault: Fault, facts: Facts, launch: int, access: Access) -> Traced:
    """Of a fault in a dump, which has the code. Where the address was lost it is computed for each thread, and that of the first one
    outside of the pointer's memory is taken."""
    try:
        code = _Sliced.at(*fault.function) if fault.function else None
    except UserError as error:
        return Traced(missing=str(error))
    if code is None or not _fits(code.instruction, access):
        return Traced()
    if fault.access is not None and len(fault.access.addresses):
        row, address = int(fault.access.threads[0]), int(fault.access.addresses[0])
        return code.traced(facts, launch, _of_thread(replace(access, address=address), dump, row))
    kept = code.intact(fault)
    first = code.traced(facts, launch, access, kept)
    if first.address is None or first.origin is None:
        return first
    every = (code.traced(facts, launch, _of_thread(access, dump, row)) for row in fault.rows[:MOST_THREADS].tolist())
    outside = (one for one in (first, *every) if one.address is not None and not _inside_memory(facts, launch, one))
    return next(outside, replace(first, address=None))


def in_wave(fault: DeviceFault, facts: Facts, launch: int, access: Access) -> Traced:
    """Of a wave that an AMD device stopped, where its code is in a file."""
    data = _code_object(fault)
    kernel = kernel_at(memoryview(data), fault.pc) if data and fault.pc is not None else None
    if kernel is None or fault.pc is None:
        return Traced()
    try:
        code = amd.listing(disassembly.amd(data, kernel.address, kernel.address + kernel.size))
    except UserError as error:
        return Traced(missing=str(error))
    function = Function(kernel.symbol, 0, b"", 0, kernel.parameters)
    address = amd.address_at(code, kernel.start, fault.pc)
    return _Launch(function, facts, launch, access).traced(address) if address is not None else Traced()


def _code_object(fault: DeviceFault) -> bytes:
    if fault.image is None:
        return b""
    path, offset, size = fault.image
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError:
        return b""


def _of_thread(access: Access, dump: Dump, row: int) -> Access:
    x, y, z = (int(n) for n in dump.lanes["block"][row])
    i, j, k = (int(n) for n in dump.lanes["thread"][row])
    return replace(access, block=(x, y, z), thread=(i, j, k))


def _inside_memory(facts: Facts, launch: int, traced: Traced) -> bool:
    """Is the computed address in live memory, where no access fails?"""
    position = int(facts.launches.position[launch])
    row = facts.memory.one(traced.address or 0, position)
    return row >= 0 and bool(facts.memory.live(np.array([row]), np.array([position]))[0])


@dataclass(frozen=True)
class _Sliced:
    """The address of one instruction, followed back through the code in front of it."""

    machine: sass.Sass
    number: int
    slicer: Slicer
    function: Function

    @staticmethod
    @lru_cache(maxsize=64)
    def at(function: Function, offset: int) -> _Sliced | None:
        """UserError: the code cannot be disassembled."""
        code = sass.parse(disassembly.nvidia(function.code, function.architecture))
        machine = sass.Sass(code, function.architecture, function.base)
        number = machine.at.get(offset)
        return None if number is None else _Sliced(machine, number, Slicer(machine), function)

    @property
    def instruction(self) -> sass.Instruction:
        return self.machine.code[self.number]

    @cached_property
    def address(self) -> Sum:
        unknown = Sum.atom(Lost(self.instruction.pc, "", "has an unknown form"))
        return self.slicer.at(self.number, lambda read: self.machine.address(self.instruction, read) or unknown)

    def traced(self, facts: Facts, launch: int, access: Access, kept: Mapping[Sum, int] | None = None) -> Traced:
        return _Launch(self.function, facts, launch, access, kept or {}).traced(self.address)

    def intact(self, fault: Fault) -> dict[Sum, int]:
        """What registers of the first thread held at the fault, where it ran straight on and nothing wrote them since."""
        start = fault.function[1] if fault.function and fault.first and fault.error_pc else None
        stop = None if start is None or fault.first is None or not fault.error_pc else start + fault.first.pc - fault.error_pc
        end = self.machine.at.get(stop) if stop is not None else None
        if end is None or not self.number <= end <= self.number + MOST_STEPS:
            return {}
        ran = range(self.number, end)
        if any(list(self.machine.before(number + 1)) != [number] for number in ran):
            return {}
        names = [f"R{n}" for n in range(len(fault.registers))]
        names = [name for name in names if not any(self.machine.writes(number, name) for number in ran)]
        return {
            self.slicer.at(self.number, lambda read, name=name: read(name)): signed(fault.registers[int(name[1:])])  # type: ignore[misc]
            for name in names
        }


def _fits(one: sass.Instruction, access: Access) -> bool:
    """Is this the instruction that made the access? Another build of the program has another one here."""
    if one.memory is None or (access.width and one.kind != "atomic" and access.width != one.size):
        return False
    return not access.kind or one.kind == "atomic" or one.kind == access.kind


# ---- values ----


@dataclass
class _Launch:
    """What one thread of a launch knows: parameters, coordinates and extents."""

    function: Function
    facts: Facts
    launch: int
    access: Access
    kept: Mapping[Sum, int] = field(default_factory=dict)  # values that registers still hold

    @cached_property
    def given(self) -> dict[int, dict[str, Any]]:
        return {int(one["index"]): one for one in self.facts.launches.values(self.launch)}

    def known(self, atom: Atom) -> int | None:
        if isinstance(atom, Param):
            return self._number(atom.offset)
        if isinstance(atom, Index):
            return self._coordinate(atom)
        if isinstance(atom, Load) and atom.space == "parameters" and atom.address is not None:
            at = atom.address.value(self.known)
            return None if at is None else self._number(at + atom.skip)
        return self._held.get(atom)

    @cached_property
    def _held(self) -> dict[Atom, int]:
        """Atoms whose value follows from a register: it holds the atom alone, or with other numbers that are known."""
        found: dict[Atom, int] = {}
        for held, value in self.kept.items():
            atoms = [atom for atom in held.whole if isinstance(atom, Load | Loop)]
            rest = held.without(atoms[0]).value(self._plain) if len(atoms) == 1 else None
            if rest is not None:
                found.setdefault(atoms[0], signed(value - rest))
        return found

    def _plain(self, atom: Atom) -> int | None:
        """Numbers that need no register."""
        return self.known(atom) if isinstance(atom, Param | Index) else None

    def _coordinate(self, index: Index) -> int | None:
        grid, block = self.facts.launches.grid(self.launch)
        table = {"blockIdx": self.access.block, "threadIdx": self.access.thread, "blockDim": block, "gridDim": grid}
        numbers = table[index.name]
        return numbers[index.axis] if numbers else None

    def _bytes(self, offset: int, size: int) -> bytes | None:
        parameter = self.function.parameter(offset)
        one = self.given.get(parameter.index) if parameter else None
        if parameter is None or one is None:
            return None
        at = offset - parameter.offset
        data = bytes(one["bytes"])[at : at + size]
        return data if len(data) == size else None

    def _number(self, offset: int) -> int | None:
        parameter = self.function.parameter(offset)
        alone = parameter is not None and parameter.size == POINTER and offset == parameter.offset
        data = self._bytes(offset, POINTER if alone else 4)
        kind = self._type(offset)
        unsigned = "unsigned" in kind or "uint" in kind or "size_t" in kind or "*" in kind
        return None if data is None else int.from_bytes(data, "little", signed=not unsigned)

    def _type(self, offset: int) -> str:
        """The declared type of the parameter, "" where it is a part of one, or not known."""
        parameter = self.function.parameter(offset)
        if parameter is None or offset != parameter.offset:
            return ""
        declared = self.given.get(parameter.index, {}).get("declared")
        return str(declared.type if declared else "") or parameter.type

    # ---- pointers ----

    def root(self, form: Sum) -> Root | None:
        """The pointer that is part of the sum; None where there is none, or where it may be one of several."""
        places = [(atom, at) for atom in form.whole if (at := self._place(atom)) is not None]
        pointers = [(atom, at) for atom, at in places if self._is_pointer(at)]
        open_ = any(isinstance(atom, Lost | Choice) or _is_wide_load(atom) for atom in form.whole)
        maybe = pointers or ([] if open_ else [(atom, at) for atom, at in places if self._may_be_pointer(at)])
        if len(maybe) == 1:
            atom, at = maybe[0]
            parameter = self.function.parameter(at)
            data = self._bytes(at, POINTER)
            value = None if data is None else int.from_bytes(data, "little")
            return Root(atom, parameter.index, at - parameter.offset, value) if parameter else None
        return self._loaded(form) if not maybe else None

    def _loaded(self, form: Sum) -> Root | None:
        wide = [atom for atom in form.whole if _is_wide_load(atom)]
        if len(wide) != 1 or any(isinstance(atom, Lost | Choice) for atom in form.whole):
            return None
        load = wide[0]
        inner = self.root(load.address) if isinstance(load, Load) and load.address is not None else None
        return Root(load, inner.argument, inner.byte, None, loaded=True) if inner and not inner.loaded else None

    def _place(self, atom: Atom) -> int | None:
        """Where the parameters have the 8 bytes of which the atom is the lower half; None for anything else."""
        at = atom.offset if isinstance(atom, Param) else None
        if isinstance(atom, Load) and atom.space == "parameters" and atom.size == POINTER and atom.address is not None:
            first = atom.address.value(self.known)
            at = None if first is None else first + atom.skip
        parameter = self.function.parameter(at) if at is not None else None
        fits = parameter and at is not None and at % POINTER == 0 and at + POINTER <= parameter.offset + parameter.size
        return at if fits else None

    def _is_pointer(self, at: int) -> bool:
        kind, data = self._type(at), self._bytes(at, POINTER)
        if "*" in kind or SCALAR.fullmatch(kind):
            return "*" in kind
        return data is not None and self.facts.memory.one(int.from_bytes(data, "little"), self._position) >= 0

    def _may_be_pointer(self, at: int) -> bool:
        return not SCALAR.fullmatch(self._type(at))

    @property
    def _position(self) -> int:
        return int(self.facts.launches.position[self.launch])

    # ---- the answer ----

    def traced(self, address: Sum) -> Traced:
        """One pointer for all paths that agree with the access, else nothing."""
        paths = [(form, self.root(form)) for form in forms(address)]
        left = [(form, root) for form, root in paths if root is None or self._agrees(form, root)]
        left = [(self._first_iteration(form, root), root) for form, root in left]
        form, root = left[0] if left else (Sum(), None)
        if root is None or any(_key(one) != _key(root) for _, one in left):
            return Traced()
        seen = self.access.address
        seen = self._computed(form, root) if seen is None and len(left) == 1 else seen
        origin = self._origin(form, root, seen) if len(left) == 1 else Origin(root.argument, root.byte, root.loaded)
        return Traced(origin, seen if self.access.address is None else None)

    def _first_iteration(self, form: Sum, root: Root | None) -> Sum:
        """Without the loops' parts, where the address is the one that it is before they add anything."""
        plain = _without_loops(form)
        exact = self._exact(plain, root) if root else None
        seen = self.access.address
        return plain if exact is not None and seen is not None and (exact - seen) % WRAP == 0 else form

    def _agrees(self, form: Sum, root: Root) -> bool:
        """Does the computed address have the lower half of the one that was seen? True also where it cannot be computed."""
        exact = self._exact(form, root)
        return exact is None or self.access.address is None or (exact - self.access.address) % WRAP == 0

    def _exact(self, form: Sum, root: Root) -> int | None:
        index = form.without(root.atom).value(self.known)
        return None if index is None or root.value is None else root.value + index

    def _computed(self, form: Sum, root: Root) -> int | None:
        """The address, where the index is too small to have wrapped, and not negative: the kernel may hold it for unsigned. Of loops
        and wide loads only the lower half is known."""
        rest = form.without(root.atom)
        halves = any(isinstance(atom, Loop) or (isinstance(atom, Load) and atom.size > 4) for atom in rest.atoms)
        index = None if halves or self._unsure(rest) else rest.value(self.known)
        return root.value + index if index is not None and root.value is not None and 0 <= index < WRAP // 2 else None

    def _origin(self, form: Sum, root: Root, seen: int | None) -> Origin:
        rest = form.without(root.atom)
        unit = self._unit(rest, root)
        meant = rest.value(self.known)
        index = None if seen is None or root.value is None else (seen - root.value) // unit
        unsure = self._unsure(rest)
        if unsure and meant is not None and index is not None and meant // unit != index:
            meant = None  # a number that the kernel holds for wider, or for unsigned, did not wrap
        source = self._source(rest, root, seen)
        return Origin(
            argument=root.argument,
            byte=root.byte,
            loaded=root.loaded,
            unit=unit,
            index=index,
            meant=None if meant is None else meant // unit,
            reach=self._reach(rest, unit) if seen is None and not unsure else None,
            text=self._text(rest, unit, index if meant is None else meant // unit, source),
            source=source[1] if source else "",
            read_through=self._read_through(source[0]) if source else None,
        )

    def _unsure(self, rest: Sum) -> bool:
        """May a number among the parameters be another than it is taken for? Fields of structures and parameters without a declared type
        may be unsigned, and a field may be of 8 bytes where the code does not use the 4 behind it as a number of their own."""
        return any(self._may_differ(atom, rest) for atom in rest.atoms if isinstance(atom, Param))

    def _may_differ(self, param: Param, rest: Sum) -> bool:
        if SCALAR.fullmatch(self._type(param.offset)):
            return False
        data, wide = self._bytes(param.offset, 4), self._bytes(param.offset, POINTER)
        if data is None or data[-1] >> 7:
            return True
        alone = param.offset % POINTER or Param(param.offset + 4) in rest.atoms
        return not alone and wide is not None and any(wide[4:])

    def _reach(self, rest: Sum, unit: int) -> tuple[int, int] | None:
        """The index at the corners of the launch, between which all others are: it is a sum of products of coordinates."""
        free = [atom for atom in rest.atoms if isinstance(atom, Index) and atom.name in ("blockIdx", "threadIdx")]
        if any(isinstance(atom, Made) for atom in rest.atoms) or len(free) > MOST_FREE:
            return None
        last = dict(zip(("blockIdx", "threadIdx"), self.facts.launches.grid(self.launch), strict=True))
        found = []
        for corner in product(*((0, last[atom.name][atom.axis] - 1) for atom in free)):
            place = dict(zip(free, corner, strict=True))
            found.append(rest.value(lambda atom, place=place: place.get(atom, self._plain(atom))))  # type: ignore[arg-type,misc]
        known = [value // unit for value in found if value is not None]
        return (min(known), max(known)) if known and len(known) == len(found) else None

    def _unit(self, rest: Sum, root: Root) -> int:
        """Bytes of one step: what all factors are multiples of."""
        common = 0
        for _, factor in rest.terms:
            common = gcd(common, abs(factor))
        declared = self.given.get(root.argument, {}).get("declared")
        element = declared.element if declared and not root.byte and not root.loaded else None
        common = common or element or self.access.width or 1
        if element and common % element == 0:
            return int(element)
        return next(unit for unit in UNITS if common % unit == 0)

    def _source(self, rest: Sum, root: Root, seen: int | None) -> tuple[Load, str] | None:
        """The one value from memory that the index depends on, with what it must have been for this address."""
        loads = [atom for atoms, _ in rest.terms for atom in atoms if isinstance(atom, Load) and self.known(atom) is None]
        if len(set(loads)) != 1 or loads[0].address is None or loads[0].space != "global":
            return None
        load = loads[0]
        where = self._element(load)
        factor, others, loops = self._factor(rest, load)
        if where is None or not factor or others is None or seen is None or root.value is None:
            return (load, f"{where} was the index") if where else None
        value, odd = divmod(seen - root.value - others, factor)
        fits = not odd and (-(1 << 31) <= value < 1 << 32 if load.size == 4 else 0 <= value < 256**load.size if load.size < 4 else True)
        if loops:
            return load, f"{where} was the index" + (f" ({value:,} in the first iteration of the loop)" if fits else "")
        return (load, f"{where} held the index {value:,}") if fits else None

    def _factor(self, rest: Sum, load: Load) -> tuple[int | None, int | None, bool]:
        """What a loaded value is multiplied with, what is added to it besides loops, and whether loops add to it."""
        mine = [(atoms, factor) for atoms, factor in rest.terms if load in atoms]
        if any(atoms.count(load) > 1 for atoms, _ in mine):
            return None, None, False
        scale = Sum.of((tuple(atom for atom in atoms if atom != load), factor) for atoms, factor in mine)
        others = Sum(rest.terms - frozenset(mine))
        plain = _without_loops(others)
        return scale.value(self.known), plain.value(self.known), plain != others

    def _read_through(self, load: Load) -> tuple[int, int] | None:
        root = self.root(load.address) if load.address is not None else None
        return (root.argument, root.byte) if root and not root.loaded else None

    def _element(self, load: Load) -> str | None:
        """ "argument 2 at element 81", "a value read through argument 2"."""
        root = self.root(load.address) if load.address is not None else None
        if root is None or root.loaded or load.address is None:
            return None
        index = (load.address.without(root.atom) + Sum.number(load.skip)).value(self.known)
        name = Origin(root.argument, root.byte).pointer
        return f"a value read through {name}" if index is None or index % load.size else f"{name} at element {index // load.size:,}"

    # ---- words ----

    def _text(self, rest: Sum, unit: int, index: int | None, source: tuple[Load, str] | None) -> str:
        """ "blockIdx.x * blockDim.x + threadIdx.x = 262,100 (blockDim.x = 256, ...)"."""
        if any(isinstance(atom, Lost | Choice) for atom in rest.atoms) or not rest.terms:
            return ""
        scaled = Sum(frozenset((atoms, factor // unit) for atoms, factor in rest.terms))
        shown = self._written(scaled)
        values = {self._named(atom): value for atom in _leaves(rest) if (value := self.known(atom)) is not None}
        listed = [f"{name} = {value:,}" for name, value in values.items()]
        listed += ["k is what the loop added"] if any(isinstance(atom, Loop) for atom in rest.atoms) else []
        total = f" = {index:,}" if index is not None and shown != f"{index:,}" else ""
        return f"{shown}{total}" + (f" ({', '.join(listed)})" if listed else "")

    def _written(self, value: Sum) -> str:
        parts = [self._term(atoms, factor) for atoms, factor in value.ordered()]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def _term(self, atoms: Product, factor: int) -> str:
        names = [self._named(atom) for atom in atoms]
        number = [f"{factor:,}"] if factor not in (1, -1) or not names else []
        return ("-" if factor == -1 and names else "") + " * ".join([*names, *number])

    def _named(self, atom: Atom) -> str:
        if isinstance(atom, Index):
            return str(atom)
        if isinstance(atom, Param):
            parameter = self.function.parameter(atom.offset)
            return _name(parameter.index, atom.offset - parameter.offset) if parameter else "a parameter"
        if isinstance(atom, Load):
            return f"[{self._element(atom) or f'a value from {atom.space} memory'}]"
        if isinstance(atom, Made):
            left, right = (self._written(one) for one in atom.operands)
            sign = SIGNS.get(atom.operation)
            return f"(({left}) {sign} ({right}))" if sign else f"{atom.operation}({left}, {right})"
        return "k" if isinstance(atom, Loop) else "?"


def _without_loops(value: Sum) -> Sum:
    return Sum(frozenset(term for term in value.terms if not any(isinstance(atom, Loop) for atom in term[0])))


def _leaves(value: Sum) -> list[Atom]:
    """Coordinates, extents and numbers among the parameters, each once, as people would list them."""
    found = {atom for atoms, _ in value.terms for one in atoms for atom in (one, *_inside(one))}
    return sorted((a for a in found if isinstance(a, Index | Param)), key=lambda a: (isinstance(a, Param), repr(a)))


def _inside(atom: Atom) -> Iterator[Atom]:
    if isinstance(atom, Made):
        for one in atom.operands:
            yield from one.atoms


def _is_wide_load(atom: Atom) -> bool:
    return isinstance(atom, Load) and atom.size >= POINTER and atom.space != "parameters"


def _name(argument: int, byte: int) -> str:
    return f"argument {argument}" + (f" at byte {byte}" if byte else "")


def _key(root: Root | None) -> tuple[int, int, bool] | None:
    return (root.argument, root.byte, root.loaded) if root else None


def with_origin(access: Access | None, traced: Traced) -> Access | None:
    """The access with its origin, and with the address where only the code tells it."""
    if access is None:
        return None
    return replace(access, origin=traced.origin, address=access.address if access.address is not None else traced.address)
