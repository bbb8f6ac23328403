"""What a rewritten source consists of, as the host and the report need it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudx.kernel_checks.syntax import Node

PROGRAMS = "programs"  # folder in a case: a file per rewritten source, with what its numbers mean
READ, WRITE, BOTH, ATOMICALLY, CONSTANT = 1, 2, 3, 4, 8  # kinds of access, as prelude.py knows them
CONSTANT_AT = 5  # two bits of the constant that is written
ADDRESS = 0  # only the address is of interest
UNKNOWN = ("unknown", 0)
Root = tuple[str, int]  # "param", "object" or "unknown", and the declaration


@dataclass(frozen=True)
class Way:
    """How one chain of calls, from a kernel to a helper function, computes the index of an access there."""

    kernel: str
    index: str
    argument: int = -1


@dataclass(frozen=True)
class Site:
    """A place in the source that is checked; its number is its place in the list, from 1 on."""

    kind: str
    file: str
    line: int
    text: str
    kernel: str  # or the helper function
    index: str = ""  # of an access: how its index is computed (formulas.py)
    hint: str = ""  # the part of the index whose value is in the report
    argument: int = -1  # of the kernel, that the index counts from
    ways: tuple[Way, ...] = ()  # of an access in a helper function, in place of `index` and `argument`
    watched: tuple[str, ...] = ()  # of a loop: variables that it depends on, as "name type", whose values are in the report
    guards: tuple[tuple[int, str], ...] = ()  # of an access in a kernel: arguments that conditions before it compare with, and how


@dataclass(frozen=True)
class Thing:
    """What can be missed: an argument (of a kernel) or an array; its number is its place in the list."""

    kind: str  # "argument", "local", "private", "constant", "program"
    name: str
    function: str
    index: int = -1  # of an argument
    element: int = 0  # bytes of one; 0: not known
    space: str = "global"  # of an argument: "local" and "constant" are others
    layout: str = ""  # of an argument that points to structs (layouts.py)


@dataclass
class KernelPlan:
    """What the host has to add to a launch."""

    name: str
    arguments: int
    extra: list[str] = field(default_factory=list)  # "n:2" the size of argument 2, "r" the report, ...
    unchecked: int = 0  # accesses through pointers of unknown origin
    checked: int = 0
    proof: list[str] = field(default_factory=list)  # conditions under which no check can fail (proofs.py)
    light: KernelPlan | None = (
        None  # a second kernel with fewer checks, for launches that meet the conditions of its proof
    )


@dataclass
class Rewritten:
    text: str
    kernels: list[KernelPlan]
    sites: list[Site]
    things: list[Thing]


@dataclass
class Function:
    node: Node
    name: str
    is_kernel: bool
    params: list[Node]
    body: Node
    sources: dict[int, list[Node]] = field(default_factory=dict)  # of pointer variables
    taken: set[int] = field(default_factory=set)  # variables whose address is taken
    variables: dict[int, Node] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    has_barrier: bool = False
    guards: list[tuple[int, int, str]] | None = None  # comparisons with arguments: place, argument, text
    written: set[int] = field(default_factory=set)  # pointer parameters that it writes through
    passed: list[tuple[int, str, int]] = field(default_factory=list)  # pointer parameter, function, its parameter
    unchecked: int = 0
    checked: int = 0
