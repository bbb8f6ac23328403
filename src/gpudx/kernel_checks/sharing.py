"""Kernels whose work-items cannot get in each other's way, as the sizes of a launch prove: no race, and nothing unwritten is read.

Proved is what most kernels do: a buffer is only read, or each work-item has its own element of it; local memory is written by
each work-item in its own place, and read by others only behind a barrier. Everything else is left to the checks at run time.
Conditions are those of proofs.py, and: dK, the buffer of argument K is not given as another argument; wK, all of it was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudx.kernel_checks.builtins import BARRIERS, FENCES, global_only
from gpudx.kernel_checks.cl_types import qualifier, space
from gpudx.kernel_checks.proofs import Prover, Unproved
from gpudx.kernel_checks.syntax import Node

if TYPE_CHECKING:
    from gpudx.kernel_checks.plan import Function, Root
    from gpudx.kernel_checks.rewrite import Rewriter

CHOICES = ("IF_STMT", "SWITCH_STMT", "CONDITIONAL_OPERATOR")
LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT")
LEAVING = ("RETURN_STMT", "BREAK_STMT", "CONTINUE_STMT", "GOTO_STMT")
WIDE = ("INT", "UINT", "LONG", "ULONG")  # a narrower variable gives two work-items the same number
STEPS = ("x++", "x--", "++", "--")


@dataclass(frozen=True)
class Access:
    segment: int  # between which barriers
    reads: bool
    writes: bool
    root: int  # the declaration of the argument or array
    indices: tuple[Node, ...]
    node: Node
    when: int  # in the order of evaluation: what is assigned is computed before it is stored


class Sharing:
    """One kernel, read once. An access that is not understood is held against the objects that its pointer can come from."""

    def __init__(self, rewriter: Rewriter, function: Function, prover: Prover) -> None:
        self._rewriter, self._function, self._prover = rewriter, function, prover
        self._segment, self._segments = 0, 1
        self._same: dict[int, int] = {}  # segments that are one, because a loop goes back
        self._found: list[Access] = []
        self._not_understood: set[int] = set()  # declarations of arguments and arrays
        self._all_understood = True
        self._in_order = True  # all work-items come to all barriers, as far as the source says
        self._conditions: dict[str, None] = {}
        self._walk(function.body)

    def conditions(self) -> list[str]:
        """For the whole kernel; raises Unproved where it cannot say."""
        if not self._all_understood:
            raise Unproved
        for root, mine in self._by_root().items():
            at = self._argument(root)
            if at is not None:
                self._buffer(mine, at)
            else:
                self._array(mine, self._function.variables[root])
        return list(self._conditions)

    def apart(self) -> tuple[set[int], list[str]]:
        """The arguments and arrays that no two work-items race for, of which arrays are written before they are read, and the
        conditions for that."""
        out: set[int] = set()
        for root, mine in self._by_root().items():
            at, before = self._argument(root), dict(self._conditions)
            if root in self._not_understood:
                continue
            try:
                if at is None:
                    self._array(mine, self._function.variables[root])
                elif any(one.writes for one in mine):
                    self._own_elements(mine)
            except Unproved:
                self._conditions = before
                continue
            out.add(root)
        written = self._not_understood | {one.root for one in self._found if one.writes}
        for at, param in enumerate(self._function.params):
            if param.number in written and space(param.type.get_canonical()) == "g":
                self._conditions[f"d{at}"] = None  # what is only read stays as it is
        return out, list(self._conditions)

    def _by_root(self) -> dict[int, list[Access]]:
        out: dict[int, list[Access]] = {}
        for one in self._found:
            out.setdefault(one.root, []).append(one)
        return out

    def _argument(self, root: int) -> int | None:
        return next((i for i, param in enumerate(self._function.params) if param.number == root), None)

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
                self._disorder()  # a barrier that not everybody may come to
            return
        if node.kind in LEAVING:
            self._disorder()
        if node.kind == "CALL_EXPR":
            self._call(node)
        if node.kind == "CXX_UNARY_EXPR":
            return
        if self._rewriter._is_access(node) and not self._rewriter._is_array(node):
            self._access(node)
            return
        if node.kind == "UNARY_OPERATOR" and node.operator == "&":
            self._misunderstand(self._rewriter.roots(node))
        for child in node.children:
            self._walk(child)

    def _disorder(self) -> None:
        self._in_order = False
        if any(qualifier(one.type) == "l" for one in self._function.variables.values()):
            self._all_understood = False

    def _misunderstand(self, roots: Iterable[Root]) -> None:
        self._all_understood = False
        self._not_understood |= {declared for _, declared in roots}

    def _call(self, node: Node) -> None:
        name = node.name
        if name in BARRIERS:
            if not global_only(self._rewriter.source(node)):  # else it divides accesses to global memory only
                self._segment, self._segments = self._segments, self._segments + 1
            return
        callee = self._rewriter.functions.get(name)
        if name in FENCES or (callee is not None and callee.has_barrier):
            self._all_understood = False
            self._disorder()
        for argument in node.children[1:]:
            if self._rewriter._is_pointer(argument) or self._rewriter._is_array(argument):
                self._misunderstand(self._rewriter.roots(argument))

    def _access(self, node: Node) -> None:
        path = list(dict.fromkeys(self._rewriter._path(node)))
        subscripts = [one for one in path if one.kind == "ARRAY_SUBSCRIPT_EXPR"]
        for one in subscripts:
            self._walk(one.children[1])
        last = path[-1]
        root = last
        if last.kind == "ARRAY_SUBSCRIPT_EXPR":
            root = self._rewriter._bare(last.children[0])
        steps = [one for one in path if self._rewriter._is_access(one)]
        variable = self._function.variables.get(root.declared) if root.kind == "DECL_REF_EXPR" else None
        if root.kind == "DECL_REF_EXPR" and variable is None and len(subscripts) == len(steps):
            return  # a constant of the program
        if variable is None or len(subscripts) != len(steps):
            self._other_access(node, last)  # members, pointers that were computed
            return
        if variable.kind == "PARM_DECL":
            where = space(variable.type.get_canonical())
            given = self._rewriter._is_pointer(variable) and root.declared not in self._function.sources
            if given and where == "c":
                return
            if not given or where != "g" or self._prover.changes(root.declared):
                self._other_access(node, last)
                return
        elif self._rewriter._is_pointer(variable):
            self._other_access(node, last)
            return
        elif qualifier(variable.type) != "l":
            return
        try:
            reads, writes = self._how(node)
        except Unproved:
            self._other_access(node, last)
            return
        indices = tuple(one.children[1] for one in reversed(subscripts))
        assignment = self._outermost(node).parent
        when = node.start if reads or assignment is None else assignment.end
        self._found.append(Access(self._segment, reads, writes, root.declared, indices, node, when))

    def _other_access(self, node: Node, last: Node) -> None:
        self._misunderstand(
            [("object", last.declared)] if last.kind == "DECL_REF_EXPR" else self._rewriter.roots(last.children[0])
        )
        if last.kind != "DECL_REF_EXPR":
            self._walk(last.children[0])

    def _outermost(self, node: Node) -> Node:
        while node.parent is not None and (node.parent.kind == "PAREN_EXPR" or self._rewriter._implicit(node.parent)):
            node = node.parent
        return node

    def _how(self, node: Node) -> tuple[bool, bool]:
        below = self._outermost(node)
        above = below.parent
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

    def _key(self, one: Access) -> tuple[object, ...]:
        """Equal for the same text with the same variables: an inner block can have another one of that name."""
        texts = tuple("".join(self._rewriter.source(index).split()) for index in one.indices)
        names = (part for index in one.indices for part in index.walk() if part.kind == "DECL_REF_EXPR")
        return (*texts, *(part.declared for part in names))

    def _buffer(self, mine: list[Access], at: int) -> None:
        written = [one for one in mine if one.writes]
        if written:
            self._own_elements(mine)
            self._conditions[f"d{at}"] = None
            if any(self._depends_on_memory(one.node) for one in written):
                self._conditions[f"w{at}"] = None  # which elements it writes is only known when it runs
        first = min(mine, key=lambda one: one.when)
        if any(one.reads for one in mine) and (first.reads or self._conditional(first.node)):
            self._conditions[f"w{at}"] = None

    def _own_elements(self, mine: list[Access]) -> None:
        if len({self._key(one) for one in mine}) != 1 or len(mine[0].indices) != 1:
            raise Unproved
        self._own_element(mine[0].indices[0])

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
        if not self._in_order:
            raise Unproved
        for segment in {self._find(one.segment) for one in mine}:
            here = [one for one in mine if self._find(one.segment) == segment]
            if any(one.writes for one in here) and len({self._key(one) for one in here}) != 1:
                raise Unproved
        stores = [one for one in mine if one.writes]
        if len({self._key(one) for one in stores}) != 1:
            raise Unproved
        store = min(stores, key=lambda one: one.when)
        if store.reads or self._conditional(store.node):
            raise Unproved
        self._fills(store, variable)
        loop = self._loop_of(store.node)
        for one in mine:
            inside = loop is None or (loop.start <= one.node.start and one.node.end <= loop.end)
            if one.reads and (one.when < store.when or not inside):
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
        while bare.kind == "CSTYLE_CAST_EXPR" and bare.type_kind in WIDE:
            bare = self._rewriter._bare(bare.children[-1])
        if bare.kind == "DECL_REF_EXPR":
            if bare.type_kind not in WIDE:
                return None
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
            if (
                above.kind in CHOICES
                and above.children
                and any(map(self._rewriter._is_access, above.children[0].walk()))
            ):
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
