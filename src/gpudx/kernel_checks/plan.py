"""What a rewritten source consists of, as the host and the report need it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudx.kernel_checks.syntax import Node

PROGRAMS = "programs"  # folder in a case: a file per rewritten source, with what its numbers mean
READ, WRITE, BOTH, ATOMICALLY, CONSTANT = 1, 2, 3, 4, 8  # kinds of access, as prelude.py knows them
CONSTANT_AT = 5  # two bits of the constant that is written
SETTLED = 256  # a write that gdx_settle follows
ADDRESS = 0  # only the address is of interest
UNKNOWN = ("unknown", 0)
FIELD = "field "  # in front of the name of a field
Root = tuple[str, int]  # "param", "object", "unknown" or "field NAME" (of a parameter that is a struct), and the declaration


@dataclass(frozen=True)
class Way:
    """How one chain of calls, from a kernel to a helper function, computes the index of an access there."""

    kernel: str
    index: str
    argument: int = -1
    file: str = ""  # of the call of the helper function itself, with its line and text
    line: int = 0
    text: str = ""
    nth: int = 0


@dataclass(frozen=True)
class Site:
    """A place in the source that is checked; its number is its place in the list, from 1 on."""

    kind: str
    file: str
    line: int
    text: str
    kernel: str  # or the helper function
    index: str = ""  # of an access: how its index is computed (formulas.py); of an overflow: how the number is
    hint: str = ""  # the part of the index whose value is in the report
    argument: int = -1  # of the kernel, that the index counts from
    ways: tuple[Way, ...] = ()  # of an access in a helper function, in place of `index` and `argument`
    # Of a loop: variables that it depends on, as "name type", whose values are in the report. Of an operation that made a NaN: its name,
    # and its operands, whose values are in the report. Of an overflow of a variable of 8 or 16 bits: its name and type.
    watched: tuple[str, ...] = ()
    guards: tuple[tuple[int, str], ...] = ()  # of an access in a kernel: arguments that conditions before it compare with, and how
    how: int = 0  # of an access: READ, WRITE, ATOMICALLY
    things: tuple[int, ...] = ()  # of an access: numbers of the arguments or arrays that it can be to
    is_local: bool = False  # of an access: to local memory
    exits: tuple[str, ...] = ()  # of a loop: conditions in its body under which it is left
    uses: tuple[int, ...] = ()  # of a loop in a kernel: arguments that are numbers, and that it uses
    conditional: bool = False  # of an access: not every work-item comes to it
    loads: tuple[tuple[str, int, str], ...] = ()  # elements that an operation or a loop's end depends on
    nth: int = 0  # how often its text is in its line before it
    # Of an access: what is around it, the outermost first: "if", "else", "switch" or "loop", line and condition.
    inside: tuple[tuple[str, int, str], ...] = ()
    before: tuple[int, ...] | None = None  # sites to the same memory that may come before it without a barrier; None: not known


@dataclass(frozen=True)
class Thing:
    """What can be missed: an argument (of a kernel) or an array; its number is its place in the list."""

    kind: str  # "argument", "local", "private", "constant", "program"
    name: str
    function: str
    index: int = -1  # of an argument
    element: int = 0  # bytes of one; 0: not known
    space: str = "global"  # of an argument: "local" and "constant" are others
    layout: str = ""  # of an argument that is a struct or points to structs (layouts.py)


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
    sources: dict[int, list[Node]] = field(default_factory=dict)  # of pointer variables, and of structs as a whole
    kept: dict[tuple[int, str], list[Node]] = field(default_factory=dict)  # of pointers in structs: variable and field
    taken: set[int] = field(default_factory=set)  # variables whose address is taken
    variables: dict[int, Node] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    has_barrier: bool = False
    guards: list[tuple[int, int, str]] | None = None  # comparisons with arguments: place, argument, text
    first_return: int | None = None  # where the first one is; behind the text where there is none
    written: set[int] = field(default_factory=set)  # pointer parameters that it writes through
    passed: list[tuple[int, str, int]] = field(default_factory=list)  # pointer parameter, function, its parameter
    unchecked: int = 0
    checked: int = 0
