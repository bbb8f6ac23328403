"""Which conditions are the same for all work-items of a group: those need not be compared at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudx.kernel_checks.builtins import BARRIERS
from gpudx.kernel_checks.syntax import Node

if TYPE_CHECKING:
    from gpudx.kernel_checks.plan import Function
    from gpudx.kernel_checks.rewrite import Rewriter

SAME_FOR_ALL = {
    "get_group_id", "get_local_size", "get_global_size", "get_num_groups", "get_work_dim", "get_global_offset",
    "get_enqueued_local_size", "min", "max", "clamp", "abs", "mul24", "mad24", "sizeof",
}  # fmt: skip
CONTROL = {"IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "SWITCH_STMT"}
LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT"}


class Uniformity:
    """For one function with a barrier in it."""

    def __init__(self, rewriter: Rewriter, function: Function) -> None:
        self._rewriter = rewriter
        self._function = function
        self._differs: set[int] = set()  # variables that can differ between work-items
        if not function.is_kernel:
            self._differs = {param.number for param in function.params}
        self._settle()

    def _settle(self) -> None:
        for param in self._function.params:
            if param.number in self._function.taken:
                self._differs.add(param.number)
        changes: list[tuple[int, list[Node], Node]] = []
        for node in self._function.body.walk():
            if node.kind == "VAR_DECL":
                init = self._rewriter.initial(node)
                changes.append((node.number, [init] if init is not None else [], node))
                if node.number in self._function.taken:
                    self._differs.add(node.number)
            elif (
                node.kind == "BINARY_OPERATOR" and node.operator == "="
            ) or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
                target = self._rewriter._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR":
                    changes.append((target.declared, [node.children[1]], node))
            elif node.kind == "UNARY_OPERATOR" and node.operator in ("x++", "x--", "++", "--"):
                target = self._rewriter._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR":
                    changes.append((target.declared, [], node))
        grown = True
        while grown:
            grown = False
            for declared, values, where in changes:
                if declared in self._differs:
                    continue
                if any(not self.same(value) for value in values) or self._under_difference(where, declared):
                    self._differs.add(declared)
                    grown = True

    def _under_difference(self, node: Node, declared: int) -> bool:
        """Is it done by some work-items only, or more often by some?"""
        above = node.parent
        while above is not None and above is not self._function.node:
            if above.kind in CONTROL:
                condition = self._rewriter._parts_of(above)[0]
                if condition is not None and not self.same(condition):
                    # A variable that is declared within is new for each of those work-items, yet it may differ in when it changes.
                    return True
                if above.kind in LOOPS and any(
                    self._leaves_apart(one)
                    for one in above.walk()
                    if one.kind in ("BREAK_STMT", "CONTINUE_STMT", "RETURN_STMT")
                ):
                    return True
            above = above.parent
        return False

    def _leaves_apart(self, node: Node) -> bool:
        """Is this way out taken by some only?"""
        above = node.parent
        while above is not None and above is not self._function.node:
            if above.kind in CONTROL:
                condition = self._rewriter._parts_of(above)[0]
                if condition is not None and not self.same(condition):
                    return True
            above = above.parent
        return False

    def same(self, node: Node) -> bool:
        """Has the expression the same value in all work-items of a group?"""
        for one in node.walk():
            if one.kind == "DECL_REF_EXPR":
                if (
                    one.parent is not None
                    and one.parent.kind == "UNEXPOSED_EXPR"
                    and one.parent.parent is not None
                    and one.parent.parent.kind == "CALL_EXPR"
                    and one.parent.parent.children[0] is one.parent
                ):
                    continue  # the name of a function
                if one.declared in self._differs:
                    return False
                if one.declared in self._rewriter.globals and "__constant" not in one.type.spelling:
                    return False
            elif one.kind == "CALL_EXPR":
                if one.name not in SAME_FOR_ALL and not one.name.startswith("convert_"):
                    return False
            elif self._reads_memory(one) and not self._reads_uniformly(one):
                return False
        return True

    def _reads_memory(self, node: Node) -> bool:
        if node.kind == "UNARY_OPERATOR":
            return node.operator in ("*", "x++", "x--", "++", "--")
        return node.kind in ("ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR")

    def _reads_uniformly(self, node: Node) -> bool:
        """Memory can change between the reads of two work-items; constant memory cannot, nor can members of a scalar struct."""
        if node.kind == "UNARY_OPERATOR":
            return False
        last = self._rewriter._path(node)[-1]
        if last.kind == "DECL_REF_EXPR":
            variable = self._function.variables.get(last.declared)
            return variable is not None and variable.kind == "PARM_DECL" and self._function.is_kernel
        return "__constant" in node.type.spelling

    def _holds_barrier(self, node: Node) -> bool:
        for one in node.walk():
            if one.kind == "CALL_EXPR":
                if one.name in BARRIERS:
                    return True
                called = self._rewriter.functions.get(one.name)
                if called is not None and called.has_barrier:
                    return True
        return False

    def _skips_barrier(self, node: Node) -> bool:
        """Can a way out within `node` leave others at a barrier that comes later?"""
        for one in node.walk():
            if one.kind == "RETURN_STMT" and self._barrier_after(one, self._function.body):
                return True
            if one.kind in ("BREAK_STMT", "CONTINUE_STMT"):
                loop = self._left_by(one)
                if loop is not None and loop is not node and loop.start < node.start and self._holds_barrier(loop):
                    return True
            if one.kind == "GOTO_STMT":
                return True
        return False

    def _left_by(self, node: Node) -> Node | None:
        above = node.parent
        while above is not None:
            if above.kind in LOOPS or (node.kind == "BREAK_STMT" and above.kind == "SWITCH_STMT"):
                return above
            above = above.parent
        return None

    def _barrier_after(self, node: Node, body: Node) -> bool:
        for one in body.walk():
            if one.kind == "CALL_EXPR" and self._holds_barrier(one) and one.start > node.start:
                return True
        above = node.parent
        while above is not None:
            if above.kind in LOOPS and self._holds_barrier(above):
                return True
            above = above.parent
        return False

    def must_agree(self, node: Node, condition: Node) -> bool:
        """Has it to be compared at run time whether all work-items go the same way?"""
        return (self._holds_barrier(node) or self._skips_barrier(node)) and not self.same(condition)

    def restores(self, node: Node) -> bool:
        """Are work-items that went different ways together again behind it?"""
        condition = self._rewriter._parts_of(node)[0]
        return (
            condition is not None
            and node.kind != "SWITCH_STMT"
            and self.must_agree(node, condition)
            and not self._skips_barrier(node)
        )

    def certain(self, node: Node) -> Node | None:
        """A barrier that work-items come to if they go one of the ways at `node`, whatever else is the case."""
        _, bodies, _ = self._rewriter._parts_of(node)
        for body in bodies:
            for statement in [body] if body.kind != "COMPOUND_STMT" else body.children:
                if self._is_barrier(statement):
                    return statement
        if not self._skips_barrier(node):
            return None
        below, above = node, node.parent
        while above is not None and above is not self._function.node:
            if above.kind == "COMPOUND_STMT":
                later = [one for one in above.children if one.start > below.start]
                found = next((one for one in later if self._is_barrier(one)), None)
                if found is not None or any(one.kind in CONTROL and self._skips_barrier(one) for one in later):
                    return found
            elif above.kind in CONTROL:
                return None
            below, above = above, above.parent
        return None

    def _is_barrier(self, node: Node) -> bool:
        if node.kind != "CALL_EXPR":
            return False
        called = self._rewriter.functions.get(node.name)
        return node.name in BARRIERS or (called is not None and called.has_barrier)
