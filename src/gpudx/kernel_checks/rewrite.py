"""OpenCL C in, OpenCL C with checks out.

Every access to memory is found in libclang's tree, together with the objects that its pointer can come from: arguments,
arrays, or "unknown", which is not checked. In front of the access comes a guard that compares the address with the object's
own bounds, so that an index which leaves its buffer and lands in another one is seen. An access that fails is reported and
left out; a read gives 0 then. Texts of expressions are kept as they are, because types then stay as they are, too.

An expression is written twice (guard and access) only where that has no effects; otherwise it goes through a function that
takes its address and gives back the address of a scratch place if the access must not happen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gpudx.kernel_checks import prelude
from gpudx.kernel_checks.builtins import (
    ASYNC,
    ATOMIC,
    BARRIERS,
    FENCES,
    IMPURE,
    LOCKS,
    OVERWRITES,
    POINTER_OUT,
    global_only,
    vector_access,
)
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.proofs import Prover, Unproved
from gpudx.kernel_checks.sharing import Sharing
from gpudx.kernel_checks.syntax import KERNEL, Node, Tree
from gpudx.kernel_checks.uniform import Uniformity

PROGRAMS = "programs"  # folder in a case: a file per rewritten source, with what its numbers mean
READ, WRITE, BOTH, ATOMICALLY, CONSTANT = 1, 2, 3, 4, 8
ADDRESS = 0
INTS = ("INT", "UINT", "LONG", "ULONG", "SHORT", "USHORT", "UCHAR", "CHAR_S", "SCHAR", "CHAR_U", "ENUM", "BOOL")
FLOATS = ("FLOAT", "DOUBLE", "HALF")
SPACES = {"__global": "g", "__local": "l", "__constant": "c", "__private": "p", "__generic": "x"}
QUALIFIERS = re.compile(
    r"\b(?:const|volatile|restrict|__restrict|__global|__local|__constant|__private|__generic|global|local|constant|private)\b"
)
LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT"}
UNKNOWN = ("unknown", 0)
ARGUMENT_SPACES = {"l": "local", "c": "constant"}
PROVABLE = {"bounds", "align", "overflow", "div", "barriers", "races", "uninit"}
Root = tuple[str, int]


@dataclass(frozen=True)
class Site:
    """A place in the source that is checked; its number is its place in the list, from 1 on."""

    kind: str
    file: str
    line: int
    text: str
    kernel: str  # or the helper function


@dataclass(frozen=True)
class Thing:
    """What can be missed: an argument (of a kernel) or an array; its number is its place in the list."""

    kind: str  # "argument", "local", "private", "constant", "program"
    name: str
    function: str
    index: int = -1  # of an argument
    element: int = 0  # bytes of one; 0: not known
    space: str = "global"  # of an argument: "local" and "constant" are others


@dataclass
class KernelPlan:
    """What the host has to add to a launch."""

    name: str
    arguments: int
    extra: list[str] = field(default_factory=list)  # "n:2" the size of argument 2, "r" the report, ...
    unchecked: int = 0  # accesses through pointers of unknown origin
    checked: int = 0
    proof: list[str] = field(default_factory=list)  # conditions under which no check can fail (proofs.py)


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
    unchecked: int = 0
    checked: int = 0


def real(text: str) -> str:
    """Text of the source, which has one character per byte here, as people read it."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def space(pointer: Any) -> str:
    """The address space that a pointer type points into: g, l, c, p or x."""
    return qualifier(pointer.get_pointee())


def qualifier(kind: Any) -> str:
    words = kind.spelling
    tail = words.rpartition("*")[2] if "*" in words else words
    for word, short in SPACES.items():
        if word in tail:
            return short
    return "p"


def in_loop(node: Node) -> bool:
    above = node.parent
    while above is not None and above.kind not in ("WHILE_STMT", "DO_STMT", "FOR_STMT"):
        above = above.parent
    return above is not None


def plain(kind: Any) -> str:
    """A type without qualifiers."""
    return " ".join(QUALIFIERS.sub("", kind.spelling).split())


def element_bytes(kind: Any) -> int:
    """Of what an array consists of; 0: not known."""
    canonical = kind.get_canonical()
    while canonical.kind.name == "CONSTANTARRAY":
        canonical = canonical.element_type.get_canonical()
    return max(0, int(canonical.get_size()))


def scalar_bytes(kind: Any) -> int:
    canonical = kind.get_canonical()
    while canonical.kind.name in ("CONSTANTARRAY", "VECTOR", "EXTVECTOR"):
        canonical = canonical.element_type.get_canonical()
    if canonical.kind.name == "RECORD":
        return min((scalar_bytes(field.type) for field in canonical.get_fields()), default=1)
    size = canonical.get_size()
    return size if canonical.kind.name in (*INTS, *FLOATS) and size > 0 else 1


class Rewriter:
    def __init__(
        self, text: str, lines: list[tuple[str, int]], tree: Tree, checks: frozenset[str], late: bool = False
    ) -> None:
        # One character per byte, because libclang counts bytes.
        self.text = text.encode("utf-8", "surrogateescape").decode("latin-1")
        self.lines = lines
        self.tree = tree
        self.checks = checks
        self.late = late  # tell of accesses at the kernel's end: some compilers vectorize only then
        self.sites: list[Site] = []
        self.things: list[Thing] = []
        self.functions: dict[str, Function] = {}
        self.globals: dict[int, Node] = {}
        self._thing_numbers: dict[tuple[str, int], int] = {}
        self._starts = [0]
        for match in re.finditer("\n", self.text):
            self._starts.append(match.end())
        self.now: Function | None = None
        self._resolving: set[int] = set()
        self._temporary = 0
        self._prover: Prover | None = None
        self._uniform: Uniformity | None = None
        self._returns: dict[str, tuple[Root, ...] | None] = {}
        self.blind = False  # some access is not seen: what it writes counts as unwritten
        self.fences = False
        self.grain = 4  # the smallest elements that are accessed
        self.local_grain = 8  # the smallest ones that casts make of local memory

    # ---- the whole ----

    def run(self) -> Rewritten:
        self._collect()
        edits: list[tuple[int, int, str]] = []
        kernels: list[KernelPlan] = []
        for node in self.tree.declarations:
            if node.kind == "FUNCTION_DECL":
                edits += self._function(node, kernels)
        out, at = [], 0
        for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1])):
            if start < at:
                raise Unsupported("declarations overlap")
            out += [self.text[at:start], new]
            at = end
        out.append(self.text[at:])
        body = "".join(out).encode("latin-1").decode("utf-8", "surrogateescape")
        self._settle(kernels)
        head = prelude.text(self.checks, body, self.late, self.blind, self.fences, self.grain, self.local_grain)
        sites = [replace(site, text=real(site.text), kernel=real(site.kernel)) for site in self.sites]
        things = [replace(thing, name=real(thing.name), function=real(thing.function)) for thing in self.things]
        return Rewritten(head + body, [replace(plan, name=real(plan.name)) for plan in kernels], sites, things)

    def _settle(self, kernels: list[KernelPlan]) -> None:
        """What only the whole source says: how finely global memory is followed, and that unseen writes may happen."""
        for plan in kernels:
            for at, spec in enumerate(plan.extra):
                if spec.startswith("w:"):
                    plan.extra[at] = f"{spec}:{self.grain}"
                elif spec.startswith("l:"):
                    place, grain = spec.rsplit(":", 1)
                    plan.extra[at] = f"{place}:{min(int(grain), self.local_grain)}"
                elif spec.startswith("u:") and self.blind:
                    plan.extra[at] = spec.replace("u:", "x:")

    def _collect(self) -> None:
        for node in self.tree.declarations:
            if node.kind == "VAR_DECL":
                self.globals[node.number] = node
            if node.kind != "FUNCTION_DECL" or node.name in self.tree.unused:
                continue
            body = next((child for child in node.children if child.kind == "COMPOUND_STMT"), None)
            if body is None:
                continue
            head = self.text[node.start : body.start]
            kernel = KERNEL.search(head) is not None
            params = [child for child in node.children if child.kind == "PARM_DECL"]
            if node.name in self.functions:
                raise Unsupported(f"the function {node.name} is defined twice")
            self.functions[node.name] = Function(node, node.name, kernel, params, body)
        for function in self.functions.values():
            self._study(function)
        changed = True
        while changed:  # a barrier in a helper is one of its callers
            changed = False
            for function in self.functions.values():
                if not function.has_barrier and any(self.functions[name].has_barrier for name in function.calls):
                    function.has_barrier = changed = True

    def _study(self, function: Function) -> None:
        for param in function.params:
            function.variables[param.number] = param
        for node in function.body.walk():
            if node.kind == "VAR_DECL":
                function.variables[node.number] = node
                init = self.initial(node)
                if init is not None and self._is_pointer(node):
                    function.sources.setdefault(node.number, []).append(init)
            elif node.kind == "BINARY_OPERATOR" and node.operator == "=":
                target = self._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR" and self._is_pointer(target):
                    function.sources.setdefault(target.declared, []).append(node.children[1])
            elif node.kind == "UNARY_OPERATOR" and node.operator == "&":
                target = self._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR":
                    function.taken.add(target.declared)
            elif node.kind == "CALL_EXPR":
                name = node.name
                if name in self.functions:
                    if self.functions[name].is_kernel:
                        raise Unsupported(f"the kernel {name} is called like a function")
                    function.calls.add(name)
                elif name in BARRIERS:
                    function.has_barrier = True
                elif name in FENCES or (LOCKS.match(name) and in_loop(node)):
                    self.fences = True
                elif name in ("enqueue_kernel", "get_kernel_work_group_size"):
                    raise Unsupported("kernels are enqueued on the device")
            elif node.kind == "CSTYLE_CAST_EXPR" and self._is_pointer(node):
                self._study_cast(node)
            elif node.kind in ("BLOCK_EXPR", "LAMBDA_EXPR"):
                raise Unsupported("it has blocks")

    def _study_cast(self, node: Node) -> None:
        pointer = node.type.get_canonical()
        if space(pointer) in ("l", "x") and pointer.get_pointee().get_canonical().kind.name != "VOID":
            self.local_grain = min(self.local_grain, scalar_bytes(pointer.get_pointee()))

    # ---- helpers on nodes ----

    def source(self, node: Node) -> str:
        return self.text[node.start : node.end]

    def shape(self, node: Node) -> str:
        """The source for sizeof and typeof, where only the type counts: the program's own functions take more parameters now, so
        a value of the result's type stands for a call of one."""
        calls = [one for one in node.walk() if one.kind == "CALL_EXPR" and one.name in self.functions]
        return self.splice(node, [(one, f"(*(__private {plain(one.type)} *)0)") for one in calls])

    def initial(self, node: Node) -> Node | None:
        """The initial value of a declaration."""
        if not node.children:
            return None
        last = node.children[-1]
        return (
            last if last.end == node.end and last.kind not in ("TYPE_REF", "UNEXPOSED_ATTR", "ALIGNED_ATTR") else None
        )

    def _is_pointer(self, node: Node) -> bool:
        return bool(node.type.get_canonical().kind.name == "POINTER")

    def _is_array(self, node: Node) -> bool:
        return bool(node.type.get_canonical().kind.name == "CONSTANTARRAY")

    def _bare(self, node: Node) -> Node:
        """Without parentheses and implicit conversions."""
        while (node.kind == "PAREN_EXPR" or self._implicit(node)) and node.children:
            node = node.children[0]
        return node

    def _implicit(self, node: Node) -> bool:
        return (
            node.kind == "UNEXPOSED_EXPR"
            and len(node.children) == 1
            and (node.children[0].start, node.children[0].end) == (node.start, node.end)
        )

    def _is_component(self, node: Node) -> bool:
        """v.xy: some elements of a vector."""
        if node.kind != "UNEXPOSED_EXPR" or len(node.children) != 1 or node.children[0].start != node.start:
            return False
        return self.text[node.children[0].end : node.end].lstrip()[:1] in (".", "-") and node.children[0].end < node.end

    def _is_arrow(self, node: Node) -> bool:
        return self.text[node.children[0].end : node.end].lstrip().startswith("->")

    def _is_access(self, node: Node) -> bool:
        return (
            node.kind == "ARRAY_SUBSCRIPT_EXPR"
            or (node.kind == "UNARY_OPERATOR" and node.operator == "*")
            or (node.kind == "MEMBER_REF_EXPR" and bool(node.children))
            or self._is_local(node)
        )

    def _is_local(self, node: Node) -> bool:
        """A variable in local memory that is followed."""
        if (
            node.kind != "DECL_REF_EXPR"
            or self.now is None
            or not self.now.is_kernel
            or not {"races", "uninit"} & self.checks
        ):
            return False
        if "__local" not in node.type.spelling or self._is_pointer(node) or self._is_array(node):
            return False
        return node.declared in self.now.variables

    def pure(self, node: Node) -> bool:
        """May it be evaluated twice?"""
        for one in node.walk():
            if one.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
                return False
            if one.kind == "BINARY_OPERATOR" and one.operator in ("=",):
                return False
            if one.kind == "UNARY_OPERATOR" and one.operator in ("x++", "x--", "++", "--"):
                return False
            if one.kind == "CALL_EXPR" and (one.name in self.functions or IMPURE.match(one.name)):
                return False
        return True

    def _nested(self, node: Node) -> bool:
        """Are there accesses to memory within, besides the object itself?"""
        path = self._path(node)
        return any(one not in path and self._is_access(one) and not self._is_array(one) for one in node.walk())

    def _path(self, node: Node) -> list[Node]:
        """The nodes from an access down to the object or the pointer that it goes through."""
        out = [node]
        while True:
            node = self._bare(node)
            out.append(node)
            if node.kind == "ARRAY_SUBSCRIPT_EXPR":
                base = self._bare(node.children[0])
                if not self._is_array(base):
                    return out
                node = base
            elif node.kind == "MEMBER_REF_EXPR" and node.children and not self._is_arrow(node):
                node = node.children[0]
            elif node.kind == "UNARY_OPERATOR" and node.operator == "*":
                base = self._bare(node.children[0])
                if not self._is_array(base):
                    return out
                node = base
            elif self._is_component(node):
                node = node.children[0]
            else:
                return out

    def line(self, node: Node) -> tuple[str, int]:
        import bisect

        at = bisect.bisect_right(self._starts, node.start) - 1
        return self.lines[at] if at < len(self.lines) else ("", 0)

    def site(self, kind: str, node: Node, proved: bool = False) -> int:
        if (
            not proved
            and self._prover is not None
            and kind != "overflow"
            and not (kind == "barrier" and node.kind == "CALL_EXPR")
        ):
            self._prover.give_up()
        file, line = self.line(node)
        text = " ".join(self.source(node).split())[:120]
        self.sites.append(Site(kind, file, line, text, self.now.name if self.now else ""))
        return len(self.sites)

    def _miss(self) -> None:
        """An access that is not checked."""
        assert self.now is not None
        self.now.unchecked += 1
        self.blind = True
        if self._prover is not None:
            self._prover.give_up()

    def mode(self, how: int, element: Any) -> str:
        """Kind of access, and whether it is a struct: those have gaps."""
        record = 16 if element.get_canonical().kind.name in ("RECORD", "CONSTANTARRAY") else 0
        self.grain = min(self.grain, scalar_bytes(element))
        return f"{how | record}u"

    # ---- where a pointer comes from ----

    def roots(self, node: Node) -> frozenset[Root]:
        """The objects that a pointer expression can point into."""
        assert self.now is not None
        node = self._bare(node)
        kind = node.kind
        if self._is_array(node) or (kind == "UNARY_OPERATOR" and node.operator == "&"):
            return self._object(node.children[0] if kind == "UNARY_OPERATOR" and node.operator == "&" else node)
        if kind == "DECL_REF_EXPR":
            return self._variable(node.declared)
        if kind == "CSTYLE_CAST_EXPR" and node.children:
            inner = node.children[-1]
            if inner.type.get_canonical().kind.name in ("POINTER", "CONSTANTARRAY"):
                return self.roots(inner)
            return frozenset() if self.source(self._bare(inner)).strip() in ("0", "NULL") else frozenset([UNKNOWN])
        if kind == "BINARY_OPERATOR":
            left, right = node.children[0], node.children[1]
            if node.operator in ("=", ","):
                return self.roots(right)
            return self.roots(left if left.type.get_canonical().kind.name in ("POINTER", "CONSTANTARRAY") else right)
        if kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            return self.roots(node.children[0])
        if kind == "UNARY_OPERATOR" and node.operator in ("x++", "x--", "++", "--"):
            return self.roots(node.children[0])
        if kind == "CONDITIONAL_OPERATOR":
            return self.roots(node.children[1]) | self.roots(node.children[2])
        if kind == "INTEGER_LITERAL" or self.source(node) == "NULL":
            return frozenset()
        if kind == "CALL_EXPR" and node.name in self.functions:
            return self._returned(node)
        return frozenset([UNKNOWN])

    def _object(self, node: Node) -> frozenset[Root]:
        """The object that an lvalue is a part of."""
        last = self._path(node)[-1]
        if last.kind == "DECL_REF_EXPR":
            return frozenset([("object", last.declared)])
        if last.kind in ("ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR", "UNARY_OPERATOR") and last.children:
            return self.roots(last.children[0])
        return frozenset([UNKNOWN])

    def _variable(self, declared: int) -> frozenset[Root]:
        assert self.now is not None
        node = self.now.variables.get(declared)
        if node is None or declared in self.now.taken:
            return frozenset([UNKNOWN])
        found: set[Root] = set()
        if node.kind == "PARM_DECL":
            found.add(("param", declared))
        if declared in self._resolving:
            return frozenset(found)
        self._resolving.add(declared)
        for source in self.now.sources.get(declared, []):
            found |= self.roots(source)
        self._resolving.discard(declared)
        return frozenset(found) if found or self.now.sources.get(declared) else frozenset([UNKNOWN])

    def _returned(self, call: Node) -> frozenset[Root]:
        """What a helper that returns a pointer was given."""
        callee = self.functions[call.name]
        if call.name not in self._returns:
            self._returns[call.name] = None
            before, self.now = self.now, callee
            found: set[Root] = set()
            for node in callee.body.walk():
                if node.kind == "RETURN_STMT" and node.children:
                    found |= self.roots(node.children[0])
            self.now = before
            self._returns[call.name] = tuple(found)
        summary = self._returns[call.name]
        if summary is None:
            return frozenset([UNKNOWN])
        arguments = call.children[1:]
        numbers = {param.number: at for at, param in enumerate(callee.params)}
        out: set[Root] = set()
        for kind, declared in summary:
            at = numbers.get(declared)
            out |= (
                self.roots(arguments[at]) if kind == "param" and at is not None and at < len(arguments) else {UNKNOWN}
            )
        return frozenset(out)

    # ---- objects in the rewritten text ----

    def bounds(self, roots: Iterable[Root], address: str, pointer_space: str) -> str | None:
        """An expression of type gdx_obj; None: where the pointer comes from is not known."""
        found = sorted(set(roots))
        if not found or any(kind == "unknown" for kind, _ in found):
            return None
        texts = []
        for root in found:
            one = self._bounds_of(root, pointer_space)
            if one is None:
                return None
            texts.append(one)
        out = texts[0]
        for other in texts[1:]:
            out = f"gdx_pick({address}, {out}, {other})"
        return out

    def _bounds_of(self, root: Root, pointer_space: str) -> str | None:
        assert self.now is not None
        kind, declared = root
        node = self.now.variables.get(declared) or self.globals.get(declared)
        if node is None:
            return None
        if kind == "param":
            at = next(i for i, param in enumerate(self.now.params) if param.number == declared)
            if pointer_space == "x" and space(node.type.get_canonical()) not in ("g", "x"):
                return None  # a generic address of local memory is not the local address
            return f"gdx_o{at}"
        own = qualifier(node.type)
        if pointer_space == "x" and own not in ("g", "x"):
            return None
        if own == "l" and {"races", "uninit"} & self.checks and self._shadowed(node):
            number, grain = self.thing(node, own), scalar_bytes(node.type)
            return f"gdx_loc((ulong)&{node.name}, sizeof({node.name}), {number}u, gdx_s{number}, GDX_GRAIN({grain}))"
        return f"gdx_arr((ulong)&{node.name}, sizeof({node.name}), {self.thing(node, own)}u)"

    def _shadowed(self, node: Node) -> bool:
        return (
            bool({"races", "uninit"} & self.checks)
            and qualifier(node.type) == "l"
            and self.now is not None
            and self.now.is_kernel
        )

    def thing(self, node: Node, own: str) -> int:
        assert self.now is not None
        key = ("object", node.number)
        if key not in self._thing_numbers:
            kind = {"l": "local", "p": "private", "c": "constant", "g": "program"}.get(own, "program")
            self.things.append(Thing(kind, node.name, self.now.name, element=element_bytes(node.type)))
            self._thing_numbers[key] = len(self.things) - 1
        return self._thing_numbers[key]

    # ---- functions ----

    def _function(self, node: Node, kernels: list[KernelPlan]) -> list[tuple[int, int, str]]:
        """The edits for one declaration."""
        function = self.functions.get(node.name)
        if function is None:
            # No kernel calls it, or it is only declared. A body that stays would call others as they were before.
            return [(body.start, body.end, ";") for body in node.children if body.kind == "COMPOUND_STMT"]
        own = function if node is function.node else None
        params = own.params if own else [child for child in node.children if child.kind == "PARM_DECL"]
        extra, specs = self._extra_parameters(function)
        edits = [self._parameter_edit(node, params, extra, own.body.start if own else node.end)]
        if own is None:
            return edits
        self.now = function
        self._uniform = Uniformity(self, function) if "barriers" in self.checks and function.has_barrier else None
        self._number_arguments(function)
        self._prover = Prover(self, function) if function.is_kernel else None
        body = self.statement(function.body)
        opening = self._opening(function)
        closing = " gdx_end(gdx);" if function.is_kernel else ""
        edits.append((function.body.start, function.body.end, "{" + opening + body[1:-1] + closing + "}"))
        if function.is_kernel:
            plan = KernelPlan(
                function.name, len(function.params), specs, *self._counted(function), self._proof(function)
            )
            kernels.append(plan)
        self.now = None
        return edits

    def _proof(self, function: Function) -> list[str]:
        """Sizes prove the bounds of accesses, and nothing about what helpers, races or other checks are about."""
        if self._prover is None or function.calls or not self.checks <= PROVABLE:
            return []
        conditions = self._prover.conditions
        if not conditions or not {"races", "uninit"} & self.checks:
            return conditions
        try:
            return [*conditions, *Sharing(self, function, self._prover).conditions()]
        except Unproved:
            return []

    def _counted(self, function: Function) -> tuple[int, int]:
        seen, stack = set(), [function.name]
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack += self.functions[name].calls
        return sum(self.functions[n].unchecked for n in seen), sum(self.functions[n].checked for n in seen)

    def _number_arguments(self, function: Function) -> None:
        if not function.is_kernel:
            return
        for at, param in enumerate(function.params):
            self._thing_numbers[("param", param.number)] = len(self.things)
            pointee = param.type.get_canonical().get_pointee()
            where = ARGUMENT_SPACES.get(qualifier(pointee), "global")
            self.things.append(Thing("argument", param.name, function.name, at, element_bytes(pointee), where))

    def _pointers(self, function: Function) -> list[int]:
        out = []
        for at, param in enumerate(function.params):
            canonical = param.type.get_canonical()
            if canonical.kind.name == "POINTER":
                out.append(at)
        return out

    def _extra_parameters(self, function: Function) -> tuple[str, list[str]]:
        pointers = self._pointers(function)
        if not function.is_kernel:
            return "".join([", __private gdx_ctx *gdx", *(f", gdx_obj gdx_o{at}" for at in pointers)]), []
        specs = ["r"]
        texts = [", __global uint *gdx_r"]
        for at in pointers:
            where = space(function.params[at].type.get_canonical())
            specs.append(f"n:{at}")
            texts.append(f", ulong gdx_n{at}")
            if where == "g" and "races" in self.checks:
                specs.append(f"w:{at}")
                texts.append(f", __global uint *gdx_w{at}")
            if where == "g" and "uninit" in self.checks:
                specs.append(f"u:{at}")
                texts.append(f", __global uchar *gdx_u{at}")
            if where == "l" and {"races", "uninit"} & self.checks:
                specs.append(f"l:{at}:{scalar_bytes(function.params[at].type.get_canonical().get_pointee())}")
                texts.append(f", __local uint *gdx_l{at}")
        return "".join(texts), specs

    def _parameter_edit(self, node: Node, params: list[Node], extra: str, limit: int) -> tuple[int, int, str]:
        if params:
            return params[-1].end, params[-1].end, extra
        match = re.compile(r"\b" + re.escape(node.name) + r"\s*\(\s*(?:void)?\s*\)").search(
            self.text, node.start, limit
        )
        if match is None:
            raise Unsupported(f"the parameters of {node.name} are not understood")
        open_at = self.text.index("(", match.start()) + 1
        return open_at, match.end() - 1, extra.removeprefix(", ")

    def _opening(self, function: Function) -> str:
        if not function.is_kernel:
            return ""
        text = ["gdx_ctx gdx_c; __private gdx_ctx *const gdx = &gdx_c; gdx_begin(gdx, gdx_r);"]
        shadows = []
        for at in self._pointers(function):
            param = function.params[at]
            where = space(param.type.get_canonical())
            number = self._thing_numbers[("param", param.number)]
            if where == "g" and {"races", "uninit"} & self.checks:
                w = f"gdx_w{at}" if "races" in self.checks else "0"
                u = f"gdx_u{at}" if "uninit" in self.checks else "0"
                text.append(f"const gdx_obj gdx_o{at} = gdx_glo((ulong){param.name}, gdx_n{at}, {number}u, {w}, {u});")
            elif where == "l" and {"races", "uninit"} & self.checks:
                grain = scalar_bytes(param.type.get_canonical().get_pointee())
                given = f"(ulong){param.name}, gdx_n{at}, {number}u, gdx_l{at}, GDX_GRAIN({grain})"
                text.append(f"const gdx_obj gdx_o{at} = gdx_loc({given});")
                shadows.append(f"gdx_clear(gdx_l{at}, 2u * (uint)(gdx_n{at} / GDX_GRAIN({grain}) + 1u));")
            else:
                text.append(f"const gdx_obj gdx_o{at} = gdx_arr((ulong){param.name}, gdx_n{at}, {number}u);")
        for node in function.variables.values():
            if node.kind == "VAR_DECL" and self._shadowed(node):
                number = self.thing(node, "l")
                count = f"2 * ({node.type.get_canonical().get_size()} / GDX_GRAIN({scalar_bytes(node.type)})) + 2"
                text.append(f"__local uint gdx_s{number}[{count}];")
                shadows.append(f"gdx_clear(gdx_s{number}, {count});")
        if function.has_barrier and "barriers" in self.checks:
            text.append("__local uint gdx_v[4]; gdx->v = gdx_v;")
        if shadows:
            shadows.append("barrier(CLK_LOCAL_MEM_FENCE);")
        return " ".join([*text, *shadows]) + " "

    # ---- statements and expressions ----

    def splice(self, node: Node, parts: list[tuple[Node, str]]) -> str:
        """The text of a node with some of its parts replaced."""
        out, at = [], node.start
        for part, new in sorted(parts, key=lambda one: one[0].start):
            if part.start < at:
                continue
            out += [self.text[at : part.start], new]
            at = part.end
        out.append(self.text[at : node.end])
        return "".join(out)

    def statement(self, node: Node) -> str:
        kind = node.kind
        if kind == "COMPOUND_STMT":
            return self.splice(node, [(child, self.statement(child)) for child in node.children])
        if kind == "DECL_STMT":
            return self._declaration(node)
        if kind == "RETURN_STMT":
            return self._return(node)
        if kind in ("IF_STMT", "SWITCH_STMT", "WHILE_STMT", "DO_STMT", "FOR_STMT"):
            return self._control(node)
        if kind in ("CASE_STMT", "DEFAULT_STMT", "LABEL_STMT"):
            parts = [(child, self.statement(child)) for child in node.children[-1:]]
            return self.splice(node, parts)
        if kind in ("BREAK_STMT", "CONTINUE_STMT", "NULL_STMT", "GOTO_STMT"):
            return self.source(node)
        if kind == "CALL_EXPR" and node.name in BARRIERS:
            return self._barrier(node)
        return self.unused(node)

    def _declaration(self, node: Node) -> str:
        parts: list[tuple[Node, str]] = []
        for child in node.children:
            if child.kind != "VAR_DECL":
                continue
            init = self.initial(child)
            if init is not None:
                text = self.expression(init, READ)
                if "overflow" in self.checks:
                    text = self._overflow(child.number, init, text)
                parts.append((init, self._nan(init, text)))
        return self.splice(node, parts)

    def _return(self, node: Node) -> str:
        assert self.now is not None
        if self.now.is_kernel:
            return "do { gdx_end(gdx); return; } while (0)"
        return self.splice(node, [(child, self.expression(child, READ)) for child in node.children])

    def _control(self, node: Node) -> str:
        parts: list[tuple[Node, str]] = []
        uniform = self._uniform
        condition, bodies, others = self._parts_of(node)
        if condition is not None:
            text = self.expression(condition, READ)
            if node.kind in ("WHILE_STMT", "DO_STMT") and any(map(self._is_access, node.walk())):
                text = f"(gdx_goes_on(gdx) && ({text}))"
            if uniform is not None and node.kind != "SWITCH_STMT" and uniform.must_agree(node, condition):
                text = self._agreeing(node, condition, text)
            if "loops" in self.checks and node.kind in LOOPS:
                text = f"(gdx_step(gdx, {self.site('loop', condition)}u) && ({text}))"
            parts.append((condition, text))
        for other in others:
            parts.append((other, self._declaration(other) if other.kind == "DECL_STMT" else self.unused(other)))
        for body in bodies:
            parts.append((body, self.statement(body)))
        text = self.splice(node, parts)
        if condition is None and "loops" in self.checks and node.kind == "FOR_STMT":
            text = self._endless(node, text)
        if uniform is not None and uniform.restores(node):
            self._temporary += 1
            name = f"gdx_d{self._temporary}"
            inside = f"{{ const uint {name} = gdx->apart; {text}; gdx->apart = {name}; }}"
            # A semicolon that follows belongs to the statement, though not to its extent; nothing in here leaves a loop outside.
            return f"do {inside} while (0)" if self.text[node.end : node.end + 200].lstrip()[:1] == ";" else inside
        return text

    def _agreeing(self, node: Node, condition: Node, text: str) -> str:
        assert self._uniform is not None
        if self._prover is not None:
            self._prover.give_up()
        here = self.site("barrier", condition)
        certain = self._uniform.certain(node)
        if certain is None:
            return f"gdx_agree(gdx, ({text}) ? 1 : 0, {here}u)"
        return f"gdx_split(gdx, ({text}) ? 1 : 0, {here}u, {self.site('barrier', certain)}u)"

    def _endless(self, node: Node, text: str) -> str:
        """for (;;): the condition is empty."""
        site = self.site("loop", node)
        return re.sub(r";\s*;", f"; gdx_step(gdx, {site}u);", text, count=1)

    def _parts_of(self, node: Node) -> tuple[Node | None, list[Node], list[Node]]:
        """Condition, bodies, and what else a for has."""
        children = node.children
        if node.kind == "IF_STMT":
            return children[0], children[1:], []
        if node.kind in ("WHILE_STMT", "SWITCH_STMT"):
            return children[0], children[1:], []
        if node.kind == "DO_STMT":
            return children[-1], children[:-1], []
        body = children[-1]
        head_end = body.start
        open_at = self.text.index("(", node.start)
        semicolons = self._semicolons(open_at + 1, head_end)
        condition, others = None, []
        for child in children[:-1]:
            if semicolons[0] <= child.start < semicolons[1]:
                condition = child
            else:
                others.append(child)
        return condition, [body], others

    def _semicolons(self, at: int, end: int) -> tuple[int, int]:
        found: list[int] = []
        depth = 0
        while at < end and len(found) < 2:
            char = self.text[at]
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
            elif char == ";" and depth == 0:
                found.append(at)
            at += 1
        if len(found) < 2:
            raise Unsupported("a for loop is not understood")
        return found[0], found[1]

    def _barrier(self, node: Node) -> str:
        assert self.now is not None
        parts = [(child, self.expression(child, READ)) for child in node.children[1:]]
        text = self.splice(node, parts)
        before = after = ""
        if {"races", "uninit"} & self.checks:
            after = " gdx->passed++;" if global_only(self.source(node)) else " gdx->epoch++; gdx->passed++;"
        if "barriers" in self.checks and self._uniform is not None:
            leave = "gdx_end(gdx); return;" if self.now.is_kernel else self._leave()
            if leave:
                before = f"if (gdx_lost(gdx, {self.site('barrier', node)}u)) {{ {leave} }} "
        return f"do {{ {before}{text};{after} }} while (0)"

    def _leave(self) -> str:
        assert self.now is not None
        result = self.now.node.type.get_result()
        if result.kind.name == "VOID":
            return "return;"
        return f"{{ {plain(result)} gdx_none; return gdx_none; }}"

    def unused(self, node: Node) -> str:
        """An expression whose value nobody wants."""
        bare = node
        while bare.kind == "PAREN_EXPR" or (bare.kind == "UNEXPOSED_EXPR" and self._implicit(bare)):
            bare = bare.children[0]
        if bare.kind == "BINARY_OPERATOR" and bare.operator == ",":
            left, right = bare.children
            return f"({self.unused(left)}, {self.unused(right)})"
        stores = (
            bare.kind == "BINARY_OPERATOR" and bare.operator == "="
        ) or bare.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
        steps = bare.kind == "UNARY_OPERATOR" and bare.operator in ("x++", "x--", "++", "--")
        if stores or steps:
            guarded = self._guarded_store(bare)
            if guarded is not None:
                return guarded
        return self.expression(node, READ)

    def _lvalue(self, node: Node) -> Node:
        """The object in memory that an assignment changes: of a[i].x, if a[i] is a vector, a[i]."""
        node = self._bare(node)
        while self._is_component(node) and not self._is_arrow(node):
            node = self._bare(node.children[0])
        return node

    def _guarded_store(self, node: Node) -> str | None:
        target = self._lvalue(node.children[0])
        if not self._is_access(target) or not self.pure(target) or self._nested(target):
            return None
        simple = node.kind == "BINARY_OPERATOR"
        how = WRITE if simple else BOTH
        if simple and self._is_component(self._bare(node.children[0])):
            how = WRITE
        guard = self.guard(target, how | (CONSTANT if simple and self._is_constant(node.children[1]) else 0))
        if guard is None:
            return None
        if not guard:
            return (
                self.splice(node, [(node.children[1], self._right(node))])
                if len(node.children) > 1
                else self.source(node)
            )
        if len(node.children) > 1:
            parts = [(node.children[1], self._right(node))]
            text = self.splice(node, parts)
        else:
            text = self.source(node)
        return f"({guard} ? (void)({text}) : (void)0)"

    def _is_constant(self, node: Node) -> bool:
        return all(
            one.kind
            in (
                "INTEGER_LITERAL",
                "FLOATING_LITERAL",
                "UNEXPOSED_EXPR",
                "PAREN_EXPR",
                "UNARY_OPERATOR",
                "CSTYLE_CAST_EXPR",
                "TYPE_REF",
                "CHARACTER_LITERAL",
                "CXX_BOOL_LITERAL_EXPR",
            )
            for one in node.walk()
        ) and not any(one.kind == "UNARY_OPERATOR" and one.operator in ("*", "&") for one in node.walk())

    def _right(self, node: Node) -> str:
        """The right side of an assignment."""
        text = self.expression(node.children[1], READ)
        if node.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and node.operator in ("/=", "%=") and "div" in self.checks:
            text = self._divisor(node, node.children[1], text)
        target = self._bare(node.children[0])
        if "overflow" in self.checks and target.kind == "DECL_REF_EXPR" and node.operator == "=":
            text = self._overflow(target.declared, node.children[1], text)
        return self._nan(node.children[1], text) if node.kind == "BINARY_OPERATOR" else text

    def expression(self, node: Node, how: int) -> str:
        kind = node.kind
        if kind == "PAREN_EXPR" or (kind == "UNEXPOSED_EXPR" and self._implicit(node)):
            return self.splice(node, [(node.children[0], self.expression(node.children[0], how))])
        if kind == "CXX_UNARY_EXPR":
            return self.shape(node)  # sizeof: nothing is evaluated
        if self._is_component(node):
            child = node.children[0]
            arrow = self._is_arrow(node)
            return self.splice(node, [(child, self.expression(child, READ if arrow else how))])
        if self._is_access(node):
            return self.access(node, how)
        if kind == "UNARY_OPERATOR":
            operator = node.operator
            inner = ADDRESS if operator == "&" else BOTH if operator in ("x++", "x--", "++", "--") else READ
            return self.splice(node, [(node.children[0], self.expression(node.children[0], inner))])
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            return self._binary(node)
        if kind == "CALL_EXPR":
            return self.call(node)
        if kind == "StmtExpr":
            raise Unsupported("it has statements within expressions")
        if kind == "COMPOUND_STMT":
            return self.statement(node)
        if not node.children:
            return self.source(node)
        return self.splice(
            node, [(child, self.expression(child, READ)) for child in node.children if child.kind != "TYPE_REF"]
        )

    def _binary(self, node: Node) -> str:
        left, right = node.children[0], node.children[1]
        operator = node.operator
        if operator == "=" or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            how = WRITE if operator == "=" else BOTH
            if operator == "=" and self._is_constant(right):
                how |= CONSTANT
            return self.splice(node, [(left, self.expression(left, how)), (right, self._right(node))])
        text = self.expression(right, READ)
        if operator in ("/", "%") and "div" in self.checks:
            text = self._divisor(node, right, text)
        return self.splice(node, [(left, self.expression(left, READ)), (right, text)])

    # ---- accesses ----

    def access(self, node: Node, how: int) -> str:
        """An lvalue that is read or written; with ADDRESS only its address is of interest."""
        if how == ADDRESS or self._is_array(node):
            return self._parts(node)
        zero = self._zero(node)
        if how == READ and zero and self.pure(node) and not self._nested(node):
            guard = self.guard(node, how)
            if guard:
                return f"({zero[0]}({guard} ? {self.source(node)} : {zero[1]}))"
            return self._parts(node)
        return self._redirected(node, how, self._parts(node))

    def _parts(self, node: Node) -> str:
        """The text of an lvalue, with what it consists of checked."""
        children = node.children
        if not children:
            return self.source(node)
        if node.kind == "ARRAY_SUBSCRIPT_EXPR":
            base = self._bare(children[0])
            index = self.expression(children[1], READ)
            if "overflow" in self.checks:
                index = self._overflow(0, children[1], index)
            return self.splice(
                node,
                [
                    (children[0], self.expression(children[0], ADDRESS if self._is_array(base) else READ)),
                    (children[1], index),
                ],
            )
        arrow = node.kind == "UNARY_OPERATOR" or self._is_arrow(node)
        base = self._bare(children[0])
        inner = READ if arrow and not self._is_array(base) else ADDRESS
        return self.splice(node, [(children[0], self.expression(children[0], inner))])

    def _zero(self, node: Node) -> tuple[str, str] | None:
        """The cast and the 0 of a type that has one."""
        canonical = node.type.get_canonical()
        name = plain(node.type)
        if "(" in name or "*" in name or not name or "unnamed" in name:
            return None
        if canonical.kind.name in (*INTS, *FLOATS):
            return f"({name})", "0"
        if canonical.kind.name in ("EXTVECTOR", "VECTOR"):
            return "", f"({name})(0)"
        return None

    def guard(self, node: Node, how: int) -> str | None:
        """An expression that is true where the access may happen; "" if it always may; None: nothing is known."""
        assert self.now is not None
        last = self._path(node)[-1]
        first = self._index_overflows(node)
        if last.kind == "DECL_REF_EXPR":
            guard = self._array_guard(node, last, how)
            return f"({first}{guard})" if first and guard else guard
        pointer = last.children[0] if last.children else None
        if pointer is None or not self._is_pointer(pointer):
            return None
        where = space(pointer.type.get_canonical())
        address = f"(ulong)&({self.source(node)})"
        bounds = self.bounds(self.roots(pointer), address, where)
        if bounds is None:
            self._miss()
            return None
        self.now.checked += 1
        align = self._alignment(pointer, node)
        site = self.site("access", node, not align and self._provable(node, pointer))
        guard = f"gdx_at{align}(gdx, {address}, sizeof({self.source(node)}), {bounds}, {site}u, {self.mode(how, node.type)})"
        return f"({first}{guard})" if first else guard

    def _provable(self, node: Node, pointer: Node) -> bool:
        """argument[index], with the argument as the kernel was given it: the prover takes it."""
        base = self._bare(pointer)
        function = self.now
        if (
            self._prover is None
            or function is None
            or node.kind != "ARRAY_SUBSCRIPT_EXPR"
            or base.kind != "DECL_REF_EXPR"
        ):
            return False
        declared = base.declared
        at = next((i for i, param in enumerate(function.params) if param.number == declared), None)
        if (
            at is None
            or declared in function.sources
            or declared in function.taken
            or self._changes(function.body, declared)
        ):
            return False
        self._prover.element(node.children[1], max(1, node.type.get_canonical().get_size()), at)
        return True

    def _index_overflows(self, node: Node) -> str:
        """The checks of the arithmetic in the subscripts, each with a comma behind it."""
        if "overflow" not in self.checks:
            return ""
        out = []
        for one in dict.fromkeys(self._path(node)):
            if one.kind == "ARRAY_SUBSCRIPT_EXPR":
                plain_text = self.source(one.children[1])
                checked = self._overflow(0, one.children[1], plain_text)
                if checked != plain_text:
                    out.append(f"(void){checked}, ")
        return "".join(out)

    def _alignment(self, pointer: Node, node: Node) -> str:
        """What the address must be a multiple of, where a cast can have made it less."""
        return (
            "_a"
            if "align" in self.checks and any(one.kind == "CSTYLE_CAST_EXPR" for one in self._pointer_nodes(pointer))
            else ""
        )

    def _pointer_nodes(self, pointer: Node) -> list[Node]:
        assert self.now is not None
        out, seen = list(pointer.walk()), set()
        for one in list(out):
            if one.kind == "DECL_REF_EXPR" and self._is_pointer(one) and one.declared not in seen:
                seen.add(one.declared)
                for source in self.now.sources.get(one.declared, []):
                    out += source.walk()
        return out

    def _array_guard(self, node: Node, root: Node, how: int) -> str | None:
        """Subscripts of a named array, without taking its address: it may live in registers."""
        assert self.now is not None
        variable = self.now.variables.get(root.declared) or self.globals.get(root.declared)
        if variable is None:
            return None
        own = qualifier(variable.type)
        subscripts: list[Node] = [one for one in self._path(node) if one.kind == "ARRAY_SUBSCRIPT_EXPR"]
        subscripts = list(dict.fromkeys(subscripts))
        watched = own == "l" and self._shadowed(variable)
        if not subscripts and not watched:
            return ""
        number = self.thing(variable, own)
        if watched:
            self.now.checked += 1
            proved = [self._provable_array(group) for group in self._groups(subscripts)]
            site = self.site("access", node, all(proved) and bool(proved))
            bounds = self._bounds_of(("object", root.declared), own)
            address = f"(ulong)&({self.source(node)})"
            return (
                f"gdx_at(gdx, {address}, sizeof({self.source(node)}), {bounds}, {site}u, {self.mode(how, node.type)})"
            )
        guards = []
        for group in self._groups(subscripts):
            text = self._linear(group)
            if text is None:
                continue
            linear, total, bytes_each = text
            self.now.checked += 1
            site = self.site("access", node, self._provable_array(group))
            guards.append(f"gdx_ix(gdx, {linear}, {total}u, {bytes_each}u, {number}u, {site}u, {how}u)")
        return " && ".join(guards).join("()") if guards else ""

    def _provable_array(self, group: list[Node]) -> bool:
        if self._prover is None:
            return False
        for one in group:
            array = self._bare(one.children[0]).type.get_canonical()
            self._prover.place(one.children[1], int(array.element_count))
        return True

    def _groups(self, subscripts: list[Node]) -> list[list[Node]]:
        """Subscripts that follow each other without a member in between: t[i][j]. The outermost node comes first."""
        groups: list[list[Node]] = []
        for one in subscripts:
            if groups and self._bare(groups[-1][-1].children[0]) is one:
                groups[-1].append(one)
            else:
                groups.append([one])
        return groups

    def _linear(self, group: list[Node]) -> tuple[str, int, int] | None:
        """The place in an array of some dimensions as one index; None: it is always inside."""
        dims = []
        for one in reversed(group):
            array = self._bare(one.children[0]).type.get_canonical()
            if array.kind.name != "CONSTANTARRAY":
                return None
            dims.append((one.children[1], int(array.element_count)))
        element = group[0].type.get_canonical().get_size()
        linear, total, known = "", 1, True
        for index, count in dims:
            limit = self._most(index)
            known &= limit is not None and limit < count
            text = f"(long)({self.source(index)})"
            linear = text if not linear else f"({linear}) * {count} + {text}"
            total *= count
        return None if known else (linear, total, max(1, element))

    def _most(self, index: Node) -> int | None:
        """The largest value that an index can have and that is not negative; None: not known."""
        bare = self._bare(index)
        if bare.kind == "INTEGER_LITERAL":
            digits = self.source(bare).rstrip("uUlL")
            return (
                int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0) if digits[:1].isdigit() else None
            )
        if bare.kind == "DECL_REF_EXPR":
            return self._loop_limit(bare)
        if bare.kind == "BINARY_OPERATOR":
            left, right = self._most(bare.children[0]), self._most(bare.children[1])
            if bare.operator == "+" and left is not None and right is not None:
                return left + right
            if bare.operator == "*" and left is not None and right is not None:
                return left * right
            if bare.operator == "&" and (left is not None or right is not None):
                return min(one for one in (left, right) if one is not None)
        return None

    def _loop_limit(self, reference: Node) -> int | None:
        """The variable of `for (int k = 0; k < N; k++)`, changed nowhere else."""
        loop = reference.parent
        declared = reference.declared
        while loop is not None:
            if loop.kind == "FOR_STMT" and (limit := self._counts(loop, declared)) is not None:
                return limit
            loop = loop.parent
        return None

    def _counts(self, loop: Node, declared: int) -> int | None:
        assert self.now is not None
        condition, bodies, others = self._parts_of(loop)
        first = others[0] if others else None
        if (
            condition is None
            or first is None
            or first.kind != "DECL_STMT"
            or len(others) != 2
            or declared in self.now.taken
        ):
            return None
        variable = next(
            (child for child in first.children if child.kind == "VAR_DECL" and child.number == declared), None
        )
        start = self.initial(variable) if variable is not None else None
        compare = self._bare(condition)
        if start is None or compare.kind != "BINARY_OPERATOR" or compare.operator not in ("<", "<=", "!="):
            return None
        begin, end = self._most(start), self._most(compare.children[1])
        left = self._bare(compare.children[0])
        if begin is None or end is None or left.kind != "DECL_REF_EXPR" or left.declared != declared:
            return None
        step = self._bare(others[1])
        up = (step.kind == "UNARY_OPERATOR" and step.operator in ("x++", "++")) or (
            step.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
            and step.operator == "+="
            and self._most(step.children[1]) is not None
            and compare.operator != "!="
        )
        if not up or any(self._changes(body, declared) for body in bodies):
            return None
        return end - 1 if compare.operator in ("<", "!=") else end

    def _changes(self, body: Node, declared: int) -> bool:
        for node in body.walk():
            target = None
            if (
                (node.kind == "BINARY_OPERATOR" and node.operator == "=")
                or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
                or (node.kind == "UNARY_OPERATOR" and node.operator in ("x++", "x--", "++", "--"))
            ):
                target = self._bare(node.children[0])
            if target is not None and target.kind == "DECL_REF_EXPR" and target.declared == declared:
                return True
        return False

    def _redirected(self, node: Node, how: int, text: str) -> str:
        """The access through a function that gives another address if it must not happen."""
        assert self.now is not None
        last = self._path(node)[-1]
        if last.kind == "DECL_REF_EXPR":
            variable = self.now.variables.get(last.declared) or self.globals.get(last.declared)
            subscripted = any(one.kind == "ARRAY_SUBSCRIPT_EXPR" for one in self._path(node))
            if variable is None or not (subscripted or self._shadowed(variable)):
                return text
            where = qualifier(variable.type)
            bounds: str | None = self._bounds_of(("object", last.declared), where)
        else:
            pointer = last.children[0] if last.children else None
            if pointer is None or not self._is_pointer(pointer):
                return text
            where = space(pointer.type.get_canonical())
            # With several origins the address would be needed before it is made; such accesses stay unchecked.
            roots = self.roots(pointer)
            bounds = self.bounds(roots, "0", where) if len(roots) == 1 else None
        if bounds is None or where == "x":
            self._miss()
            return text
        self.now.checked += 1
        site = self.site("access", node)
        raw = self.shape(node)
        rest = f"sizeof({raw}), {bounds}, {site}u, {self.mode(how, node.type)}"
        return f"(*(__typeof__(&({raw})))gdx_p{where}(gdx, {CASTS[where]}&({text}), {rest}))"

    # ---- calls ----

    def call(self, node: Node) -> str:
        assert self.now is not None
        name = node.name
        arguments = node.children[1:]
        if name in self.functions:
            return self._own_call(node, self.functions[name], arguments)
        parts = [(one, self.expression(one, READ)) for one in arguments]
        vector = vector_access(name)
        if vector is not None and len(arguments) == (3 if vector.stores else 2):
            return self._vector_call(
                node, arguments, vector.elements, vector.aligned, vector.half, vector.stores, self.splice(node, parts)
            )
        if ATOMIC.match(name) and arguments and self._is_pointer(arguments[0]):
            parts[0] = (
                arguments[0],
                self._checked_pointer(
                    arguments[0],
                    parts[0][1],
                    f"sizeof(*({self.shape(arguments[0])}))",
                    ATOMICALLY | (WRITE if OVERWRITES.match(name) else BOTH),
                ),
            )
            return self.splice(node, parts)
        if name in ASYNC and len(arguments) >= 4:
            return self._async(node, arguments, parts, name)
        if name in POINTER_OUT and self._is_pointer(arguments[-1]):
            parts[-1] = (
                arguments[-1],
                self._checked_pointer(arguments[-1], parts[-1][1], f"sizeof(*({self.shape(arguments[-1])}))", WRITE),
            )
            return self.splice(node, parts)
        return self.splice(node, parts)

    def _own_call(self, node: Node, callee: Function, arguments: list[Node]) -> str:
        texts = [(one, self.expression(one, READ)) for one in arguments]
        extra = ["gdx"]
        for at in self._pointers(callee):
            if at >= len(arguments):
                continue
            where = space(callee.params[at].type.get_canonical())
            given = space(arguments[at].type.get_canonical()) if self._is_pointer(arguments[at]) else where
            pure = self.pure(arguments[at])
            roots = self.roots(arguments[at])
            bounds = (
                self.bounds(roots, f"(ulong)({self.source(arguments[at])})", given) if pure or len(roots) == 1 else None
            )
            extra.append(bounds or "gdx_any()")
        text = self.splice(node, texts)
        assert text.endswith(")")
        comma = ", " if arguments else ""
        return text[:-1] + comma + ", ".join(extra) + ")"

    def _checked_pointer(self, pointer: Node, text: str, width: str, how: int) -> str:
        assert self.now is not None
        where = space(pointer.type.get_canonical())
        roots = self.roots(pointer)
        bounds = (
            self.bounds(roots, f"(ulong)({self.source(pointer)})", where)
            if len(roots) == 1 or self.pure(pointer)
            else None
        )
        if bounds is None or where == "x":
            self._miss()
            return text
        self.now.checked += 1
        site = self.site("access", pointer)
        mode = self.mode(how, pointer.type.get_canonical().get_pointee())
        call = f"gdx_p{where}(gdx, {CASTS[where]}({text}), {width}, {bounds}, {site}u, {mode})"
        return f"(__typeof__({self.shape(pointer)})){call}"

    def _vector_call(
        self, node: Node, arguments: list[Node], elements: int, aligned: bool, half: bool, stores: bool, text: str
    ) -> str:
        assert self.now is not None
        pointer, offset = arguments[-1], arguments[-2]
        if stores:
            pointer, offset = arguments[2], arguments[1]
        else:
            pointer, offset = arguments[1], arguments[0]
        where = space(pointer.type.get_canonical())
        raw = self.source(pointer)
        if not self.pure(pointer) or not self.pure(offset):
            self._miss()
            return text
        bounds = self.bounds(self.roots(pointer), f"(ulong)({raw})", where)
        if bounds is None:
            self._miss()
            return text
        step = 4 if aligned and elements == 3 else elements
        each = f"sizeof(*({raw}))"
        address = f"((ulong)({raw}) + (ulong)({self.source(offset)}) * {step}u * {each})"
        self.now.checked += 1
        site = self.site("access", node)
        mode = self.mode(WRITE if stores else READ, pointer.type.get_canonical().get_pointee())
        guard = f"gdx_at(gdx, {address}, {elements}u * {each}, {bounds}, {site}u, {mode})"
        if stores:
            return f"({guard} ? {text} : (void)0)"
        scalar = plain(pointer.type.get_canonical().get_pointee())
        kind = (
            "float"
            if half
            else {
                "unsigned char": "uchar",
                "unsigned short": "ushort",
                "unsigned int": "uint",
                "unsigned long": "ulong",
            }.get(scalar, scalar)
        )
        return f"({guard} ? {text} : ({kind}{elements if elements > 1 else ''})(0))"

    def _async(self, node: Node, arguments: list[Node], parts: list[tuple[Node, str]], name: str) -> str:
        """Both ends of a copy; the stride of a strided one belongs to the global side."""
        assert self.now is not None
        target, origin, count = arguments[0], arguments[1], arguments[2]
        if not all(self.pure(one) for one in (target, origin, count)):
            self._miss()
            return self.splice(node, parts)
        guards = []
        for pointer, how in ((target, WRITE), (origin, READ)):
            where = space(pointer.type.get_canonical())
            raw = self.source(pointer)
            bounds = self.bounds(self.roots(pointer), f"(ulong)({raw})", where)
            if bounds is None:
                self._miss()
                continue
            self.now.checked += 1
            length = f"(ulong)({self.source(count)})"
            if "strided" in name and where == "g":
                length = f"(({length} - 1) * (ulong)({self.source(arguments[3])}) + 1)"
            site = self.site("access", pointer)
            mode = self.mode(how, pointer.type.get_canonical().get_pointee())
            guards.append(f"gdx_span(gdx, (ulong)({raw}), {length} * sizeof(*({raw})), {bounds}, {site}u, {mode})")
        if not guards:
            return self.splice(node, parts)
        old = parts[2][1]
        parts[2] = (count, f"(({' & '.join(guards)}) ? ({old}) : 0)")
        return self.splice(node, parts)

    # ---- arithmetic ----

    def _divisor(self, node: Node, right: Node, text: str) -> str:
        kind = right.type.get_canonical().kind.name
        if kind not in ("INT", "UINT", "LONG", "ULONG", "SHORT", "USHORT", "UCHAR", "CHAR_S", "SCHAR", "CHAR_U"):
            return text
        left = node.children[0].type.get_canonical().kind.name
        if (
            left in FLOATS
            or left in ("EXTVECTOR", "VECTOR")
            or self._bare(right).kind == "INTEGER_LITERAL"
            or self._bare(right).kind == "CXX_UNARY_EXPR"
        ):
            return text
        suffix = {"UINT": "u", "LONG": "l", "ULONG": "m"}.get(kind, "i")
        return f"gdx_div{suffix}(gdx, {text}, {self.site('division', node)}u)"

    def _overflow(self, declared: int, node: Node, text: str) -> str:
        """Signed arithmetic of 32 bits that makes an index, beside the same in 64 bits."""
        bare = self._bare(node)
        if (
            bare.type.get_canonical().kind.name != "INT"
            or bare.kind != "BINARY_OPERATOR"
            or bare.operator not in ("+", "-", "*")
        ):
            return text
        if declared and declared not in self._indices():
            return text
        if not self.pure(bare) or any(self._is_access(one) for one in bare.walk()):
            return text
        wide = self._wide(bare)
        if self._prover is not None:
            self._prover.fits(bare)
        return f"gdx_wide(gdx, {text}, {wide}, {self.site('overflow', bare)}u)" if wide else text

    def _indices(self) -> set[int]:
        """Variables that some subscript of the function uses."""
        assert self.now is not None
        found = getattr(self.now, "_indices", None)
        if found is None:
            found = set()
            for node in self.now.body.walk():
                index = None
                if node.kind == "ARRAY_SUBSCRIPT_EXPR":
                    index = node.children[1]
                elif node.kind == "BINARY_OPERATOR" and self._is_pointer(node):
                    index = node
                if index is not None:
                    found |= {one.declared for one in index.walk() if one.kind == "DECL_REF_EXPR"}
            self.now._indices = found  # type: ignore[attr-defined]
        return found

    def _wide(self, node: Node) -> str | None:
        bare = self._bare(node)
        if (
            bare.kind == "BINARY_OPERATOR"
            and bare.operator in ("+", "-", "*")
            and bare.type.get_canonical().kind.name == "INT"
        ):
            left, right = self._wide(bare.children[0]), self._wide(bare.children[1])
            return f"({left} {bare.operator} {right})"
        return f"(long)({self.source(node)})"

    def _nan(self, node: Node, text: str) -> str:
        if "nan" not in self.checks or not self._computed(node):
            return text
        kind = node.type.get_canonical()
        name = plain(node.type)
        scalar = {"FLOAT": "float", "DOUBLE": "double"}.get(kind.kind.name)
        if scalar:
            return f"gdx_nan_{scalar}(gdx, {text}, {self.site('nan', node)}u)"
        match = re.fullmatch(r"(float|double)(2|3|4|8|16)", name)
        return f"gdx_nan_{name}(gdx, {text}, {self.site('nan', node)}u)" if match else text

    def _computed(self, node: Node) -> bool:
        return any(one.kind in ("BINARY_OPERATOR", "CALL_EXPR") for one in node.walk())


CASTS = {"g": "(__global void *)", "l": "(__local void *)", "c": "(__constant void *)", "p": "(__private void *)"}
