"""Kernels whose work-items cannot get in each other's way, as the sizes of a launch prove: no race, and nothing unwritten is read.

Proved is what most kernels do: a buffer is only read, or each work-item has its own element of it; local memory is written by
each work-item in its own place, and read by others only behind a barrier. Everything else is left to the checks at run time.
Conditions are those of proofs.py, and: dK, the buffer of argument K is not given as another argument; wK, all of it was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudx.kernel_checks.builtins import ASYNC, ATOMIC, BARRIERS, FENCES, global_only, vector_access
from gpudx.kernel_checks.cl_types import space
from gpudx.kernel_checks.proofs import Prover, Unproved
from gpudx.kernel_checks.syntax import Node

if TYPE_CHECKING:
    from gpudx.kernel_checks.plan import Function
    from gpudx.kernel_checks.rewrite import Rewriter

CHOICES = ("IF_STMT", "SWITCH_STMT", "CONDITIONAL_OPERATOR")
LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT")
STEPS = ("x++", "x--", "++", "--")


@dataclass(frozen=True)
class Access:
    segment: int  # between which barriers
    reads: bool
    writes: bool
    root: int  # the declaration of the argument or array
    indices: tuple[Node, ...]
    node: Node


class Sharing:
    """One kernel; raises Unproved where it cannot say."""

    def __init__(self, rewriter: Rewriter, function: Function, prover: Prover) -> None:
        self._rewriter, self._function, self._prover = rewriter, function, prover
        self._segment, self._segments = 0, 1
        self._same: dict[int, int] = {}  # segments that are one, because a loop goes back
        self._found: list[Access] = []
        self._conditions: dict[str, None] = {}

    def conditions(self) -> list[str]:
        self._walk(self._function.body)
        for root in {one.root for one in self._found}:
            mine = [one for one in self._found if one.root == root]
            at = next((i for i, param in enumerate(self._function.params) if param.number == root), None)
            if at is not None:
                self._buffer(mine, at)
            else:
                self._array(mine, self._function.variables[root])
        return list(self._conditions)

    # ---- accesses, in order ----

    def _walk(self, node: Node) -> None:
        if node.kind in LOOPS:
            start = self._segment
            for child in node.children:
                self._walk(child)
            self._union(start, self._segment)
            return
        if node.kind in CHOICES or (node.kind == "BINARY_OPERATOR" and node.operator in ("&&", "||")):
            before = self._segment
            for child in node.children:
                self._walk(child)
            if self._segment != before:
                raise Unproved  # a barrier that not everybody may come to
            return
        if node.kind == "CALL_EXPR":
            name = node.name
            if name in BARRIERS:
                if global_only(self._rewriter.source(node)):
                    raise Unproved  # it divides accesses to global memory only
                self._segment, self._segments = self._segments, self._segments + 1
            elif name in FENCES or name in ASYNC or ATOMIC.match(name) or vector_access(name) is not None:
                raise Unproved
        if node.kind == "CXX_UNARY_EXPR":
            return
        if self._rewriter._is_access(node) and not self._rewriter._is_array(node):
            self._access(node)
            return
        if node.kind == "UNARY_OPERATOR" and node.operator == "&":
            raise Unproved
        for child in node.children:
            self._walk(child)

    def _access(self, node: Node) -> None:
        path = list(dict.fromkeys(self._rewriter._path(node)))
        subscripts = [one for one in path if one.kind == "ARRAY_SUBSCRIPT_EXPR"]
        for one in subscripts:
            self._walk(one.children[1])
        last = path[-1]
        root = last
        if last.kind == "ARRAY_SUBSCRIPT_EXPR":
            root = self._rewriter._bare(last.children[0])
        if root.kind != "DECL_REF_EXPR" or len(subscripts) != len(
            [one for one in path if self._rewriter._is_access(one)]
        ):
            raise Unproved  # members, pointers that were computed
        variable = self._function.variables.get(root.declared)
        if variable is None:
            return  # a constant of the program
        if variable.kind == "PARM_DECL":
            if not self._rewriter._is_pointer(variable) or root.declared in self._function.sources:
                raise Unproved
            if space(variable.type.get_canonical()) == "c":
                return
            if space(variable.type.get_canonical()) != "g":
                raise Unproved
        elif "__local" not in variable.type.spelling:
            if self._rewriter._is_pointer(variable):
                raise Unproved
            return
        reads, writes = self._how(node)
        indices = tuple(one.children[1] for one in reversed(subscripts))
        self._found.append(Access(self._segment, reads, writes, root.declared, indices, node))

    def _how(self, node: Node) -> tuple[bool, bool]:
        below, above = node, node.parent
        while above is not None and (above.kind == "PAREN_EXPR" or self._rewriter._implicit(above)):
            below, above = above, above.parent
        if above is None or self._rewriter._is_component(above):
            raise Unproved
        if above.kind == "BINARY_OPERATOR" and above.operator == "=" and above.children[0] is below:
            return False, True
        if above.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and above.children[0] is below:
            return True, True
        return True, above.kind == "UNARY_OPERATOR" and above.operator in STEPS

    def _union(self, a: int, b: int) -> None:
        a, b = self._find(a), self._find(b)
        if a != b:
            self._same[max(a, b)] = min(a, b)

    def _find(self, segment: int) -> int:
        while segment in self._same:
            segment = self._same[segment]
        return segment

    # ---- what has to hold ----

    def _key(self, one: Access) -> tuple[str, ...]:
        return tuple("".join(self._rewriter.source(index).split()) for index in one.indices)

    def _buffer(self, mine: list[Access], at: int) -> None:
        written = [one for one in mine if one.writes]
        if written:
            if len({self._key(one) for one in mine}) != 1 or len(mine[0].indices) != 1:
                raise Unproved
            self._own_element(mine[0].indices[0])
            self._conditions[f"d{at}"] = None
            if any(self._depends_on_memory(one.node) for one in written):
                self._conditions[f"w{at}"] = None  # which elements it writes is only known when it runs
        first = min(mine, key=lambda one: one.node.start)
        if any(one.reads for one in mine) and (first.reads or self._conditional(first.node)):
            self._conditions[f"w{at}"] = None

    def _own_element(self, index: Node) -> None:
        """A global index that no two work-items share: i, or y * pitch + x with x below the pitch."""
        if self._id(index) == ("get_global_id", "0"):
            self._conditions |= {"G1 1 le": None, "G2 1 le": None}
            return
        bare = self._rewriter._bare(index)
        if bare.kind != "BINARY_OPERATOR" or bare.operator != "+":
            raise Unproved
        for row, column in (bare.children, reversed(bare.children)):
            product = self._rewriter._bare(row)
            if (
                self._id(column) != ("get_global_id", "0")
                or product.kind != "BINARY_OPERATOR"
                or product.operator != "*"
            ):
                continue
            for y, pitch in (product.children, reversed(product.children)):
                if self._id(y) == ("get_global_id", "1"):
                    self._conditions |= {f"G0 O0 + {self._prover.exact(pitch)} le": None, "G2 1 le": None}
                    return
        raise Unproved

    def _array(self, mine: list[Access], variable: Node) -> None:
        for segment in {self._find(one.segment) for one in mine}:
            here = [one for one in mine if self._find(one.segment) == segment]
            if any(one.writes for one in here) and len({self._key(one) for one in here}) != 1:
                raise Unproved
        stores = [one for one in mine if one.writes]
        if len({self._key(one) for one in stores}) != 1:
            raise Unproved
        store = min(stores, key=lambda one: one.node.start)
        if store.reads or self._conditional(store.node):
            raise Unproved
        self._fills(store, variable)
        loop = self._loop_of(store.node)
        for one in mine:
            inside = loop is None or (loop.start <= one.node.start and one.node.end <= loop.end)
            if one.reads and (one.node.start < store.node.start or not inside):
                raise Unproved

    def _fills(self, store: Access, variable: Node) -> None:
        """The work-items of a group write each element of the array, each one its own."""
        kind = variable.type.get_canonical()
        names = [self._id(index) for index in store.indices]
        wanted = [("get_local_id", str(len(names) - 1 - n)) for n in range(len(names))]
        if names != wanted or not names:
            raise Unproved
        for _, dimension in wanted:
            count = int(kind.element_count)
            self._conditions |= {f"L{dimension} {count} le": None, f"{count} L{dimension} le": None}
            kind = kind.element_type.get_canonical()
        if kind.kind.name == "CONSTANTARRAY":
            raise Unproved
        for other in range(len(names), 3):
            self._conditions[f"L{other} 1 le"] = None

    def _id(self, node: Node) -> tuple[str, str] | None:
        """The work-item function that an expression is, and its dimension."""
        bare = self._rewriter._bare(node)
        while bare.kind == "CSTYLE_CAST_EXPR":
            bare = self._rewriter._bare(bare.children[-1])
        if bare.kind == "DECL_REF_EXPR":
            variable = self._function.variables.get(bare.declared)
            if variable is None or variable.kind != "VAR_DECL" or self._prover.changes(bare.declared):
                return None
            init = self._rewriter.initial(variable)
            return self._id(init) if init is not None else None
        if bare.kind != "CALL_EXPR" or len(bare.children) < 2:
            return None
        return bare.name, self._rewriter.source(bare.children[1]).strip()

    def _conditional(self, node: Node) -> bool:
        above = node.parent
        while above is not None and above is not self._function.node:
            if above.kind in CHOICES:
                return True
            above = above.parent
        return False

    def _depends_on_memory(self, node: Node) -> bool:
        """Does it happen only where something that is read from memory says so?"""
        above = node.parent
        while above is not None and above is not self._function.node:
            if above.kind in CHOICES and above.children and any(map(self._rewriter._is_access, above.children[0].walk())):
                return True
            above = above.parent
        return False

    def _loop_of(self, node: Node) -> Node | None:
        above = node.parent
        while above is not None and above is not self._function.node:
            if above.kind in LOOPS:
                return above
            above = above.parent
        return None
