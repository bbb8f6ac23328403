"""Addresses as sums of products: what a backward slice over machine code makes of a register.

Only the lower 32 bits of a value are followed. Additions, multiplications and shifts to the left never let an upper bit change a lower
one, so the lower half of "pointer + 4 * (block * 256 + thread)" is known exactly whatever the compiler did with the upper half.
Coefficients are therefore numbers modulo 2^32, kept as signed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

WRAP, HALF = 1 << 32, 1 << 31
MOST_TERMS = 32
AXES = "xyz"


def signed(value: int) -> int:
    """The signed number that the lower 32 bits of a value are."""
    return (value + HALF) % WRAP - HALF


@dataclass(frozen=True)
class Param:
    """The kernel's parameters from this byte on."""

    offset: int


@dataclass(frozen=True)
class Index:
    """A coordinate of the thread or an extent of the launch: "blockIdx", "threadIdx", "blockDim", "gridDim"."""

    name: str
    axis: int

    def __str__(self) -> str:
        return f"{self.name}.{AXES[self.axis]}"


@dataclass(frozen=True)
class Load:
    """What the instruction at `pc` loaded: `size` bytes, `skip` bytes behind the address."""

    pc: int
    space: str  # "global", "shared", "local", "constant"
    size: int
    address: Sum | None
    skip: int = 0


@dataclass(frozen=True)
class Loop:
    """What the iterations so far added up to."""

    pc: int
    register: str


@dataclass(frozen=True)
class Choice:
    """One of several values: the path that the thread took decides."""

    pc: int
    register: str
    values: tuple[Sum, ...]


@dataclass(frozen=True)
class Merge:
    """A place where paths join, before it is known what comes along each. None are left in a finished slice."""

    pc: int
    register: str


@dataclass(frozen=True)
class Made:
    """The result of an operation that is no sum: "and", "or", "xor", "shr", "sar", "min", "max"."""

    operation: str
    operands: tuple[Sum, ...]


@dataclass(frozen=True)
class Lost:
    """A value that the slice does not follow, with the reason, which completes "because it ..."."""

    pc: int
    register: str
    why: str


Atom = Param | Index | Load | Loop | Choice | Merge | Made | Lost
Product = tuple[Atom, ...]


@dataclass(frozen=True)
class Sum:
    """Products of atoms with their coefficients, no two alike, none with 0; the empty product has the constant."""

    terms: frozenset[tuple[Product, int]] = frozenset()

    @staticmethod
    def of(terms: Iterable[tuple[Product, int]]) -> Sum:
        total: dict[Product, int] = {}
        for product, factor in terms:
            total[product] = total.get(product, 0) + factor
        return Sum(frozenset((product, signed(factor)) for product, factor in total.items() if signed(factor)))

    @staticmethod
    def number(value: int) -> Sum:
        return Sum.of([((), value)])

    @staticmethod
    def atom(atom: Atom) -> Sum:
        return Sum.of([((atom,), 1)])

    def __add__(self, other: Sum) -> Sum:
        return Sum.of([*self.terms, *other.terms])

    def __neg__(self) -> Sum:
        return self.times(-1)

    def __sub__(self, other: Sum) -> Sum:
        return self + -other

    def times(self, factor: int) -> Sum:
        return Sum.of((product, factor * number) for product, number in self.terms)

    def __mul__(self, other: Sum) -> Sum:
        return Sum.of(
            (tuple(sorted((*a, *b), key=_order)), n * m) for a, n in self.terms for b, m in other.terms
        )

    @cached_property
    def constant(self) -> int | None:
        """The number that it is, None where it is not one."""
        if not self.terms:
            return 0
        (product, factor), *more = self.terms
        return factor if not more and not product else None

    @property
    def simple(self) -> bool:
        return len(self.terms) <= MOST_TERMS

    @cached_property
    def atoms(self) -> frozenset[Atom]:
        """All atoms, also those inside of others."""
        found: set[Atom] = set()
        for product, _ in self.terms:
            for atom in product:
                found.add(atom)
                found |= {inner for part in parts(atom) for inner in part.atoms}
        return frozenset(found)

    @property
    def whole(self) -> tuple[Atom, ...]:
        """The atoms that are added as they are, which pointers are."""
        return tuple(product[0] for product, factor in self.terms if len(product) == 1 and factor == 1)

    def without(self, atom: Atom) -> Sum:
        return Sum(frozenset(term for term in self.terms if term[0] != (atom,)))

    def replaced(self, change: Callable[[Atom], Sum]) -> Sum:
        """With every atom, also inside of others, replaced."""
        total = Sum()
        for product, factor in self.terms:
            made = Sum.number(factor)
            for atom in product:
                made *= change(atom)
            total += made
        return total

    def value(self, known: Callable[[Atom], int | None]) -> int | None:
        """The exact number where all atoms are known: nothing wraps."""
        total = 0
        for product, factor in self.terms:
            for atom in product:
                number = known(atom)
                if number is None and isinstance(atom, Made):
                    number = _made(atom, known)
                if number is None:
                    return None
                factor *= number
            total += factor
        return total

    def ordered(self) -> list[tuple[Product, int]]:
        """The terms as people write them: products before the number."""
        return sorted(self.terms, key=lambda term: (not term[0], [_order(atom) for atom in term[0]]))


def parts(atom: Atom) -> tuple[Sum, ...]:
    """The sums inside of an atom."""
    if isinstance(atom, Load):
        return (atom.address,) if atom.address is not None else ()
    if isinstance(atom, Choice):
        return atom.values
    return atom.operands if isinstance(atom, Made) else ()


def _order(atom: Atom) -> tuple[int, str]:
    ranks = (Param, Choice, Load, Index, Made, Loop, Merge, Lost)
    return ranks.index(type(atom)), repr(atom) if not isinstance(atom, Index) else f"{atom.name}{atom.axis}"


def _made(atom: Made, known: Callable[[Atom], int | None]) -> int | None:
    numbers = [operand.value(known) for operand in atom.operands]
    if any(number is None for number in numbers):
        return None
    a, b = (number or 0 for number in numbers)
    bits, places = a % WRAP, b % 32
    table: Mapping[str, Callable[[], int]] = {
        "and": lambda: signed(a & b), "or": lambda: signed(a | b), "xor": lambda: signed(a ^ b),
        "shr": lambda: bits >> places, "sar": lambda: signed(a) >> places,
        "min": lambda: min(signed(a), signed(b)), "max": lambda: max(signed(a), signed(b)),
    }  # fmt: skip
    return table[atom.operation]()


def forms(address: Sum, most: int = 8) -> Iterator[Sum]:
    """The address along each path: choices that are added to it, as pointers are, are made one after the other."""
    choice = next((atom for atom in address.whole if isinstance(atom, Choice)), None)
    if choice is None or most <= 1:
        yield address
        return
    rest = address.without(choice)
    for value in choice.values:
        yield from forms(rest + value, most // len(choice.values))
