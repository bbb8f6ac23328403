"""Accesses that the sizes of a launch prove to be inside: then the program's own kernel can run, at its own speed.

An index is followed to its parts: literals, scalar arguments, work-item ids, counters of loops, and what `if (i < n)` says. From
the largest value of each follows the largest index, as an expression over what the host knows at a launch. Only non-negative
parts are followed, so the largest index is also the only one to compare. What cannot be followed is not proved.

An expression is a text of words in postfix order: numbers, aK (argument K), nK (bytes of argument K), G0 L0 N0 O0 (global
size, local size, groups, offset in dimension 0), and + - * / min le ge. native/opencl/checks_proof.c evaluates it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudx.kernel_checks.syntax import Node

if TYPE_CHECKING:
    from gpudx.kernel_checks.plan import Function
    from gpudx.kernel_checks.rewrite import Rewriter

LONGEST = 1500  # of all conditions of a kernel together
IDS = {"get_global_id": "G{0} O{0} + 1 -", "get_local_id": "L{0} 1 -", "get_group_id": "N{0} 1 -"}
SIZES = {"get_global_size": "G{0}", "get_local_size": "L{0}", "get_num_groups": "N{0}", "get_global_offset": "O{0}"}
LARGEST_INT = str((1 << 31) - 1)


class Unproved(Exception):
    """There is no proof; the kernel checks itself."""


class Prover:
    """The conditions for one kernel: for all of its accesses, or, `each` by itself, for those that can be proved."""

    def __init__(self, rewriter: Rewriter, function: Function, each: bool = False) -> None:
        self._rewriter = rewriter
        self._function = function
        self.each = each
        self._conditions: dict[str, None] = {}
        self._failed = False
        self._depth = 0

    def give_up(self) -> None:
        """Something is checked that sizes say nothing about."""
        self._failed = not self.each

    @property
    def conditions(self) -> list[str]:
        text = list(self._conditions)
        return [] if self._failed or sum(map(len, text)) > LONGEST else text

    def element(self, index: Node, size: int, argument: int) -> bool:
        """argument[index] has to lie within the argument."""
        return self._try(lambda: f"{self._index(index)} 1 + {size} * n{argument} le")

    def place(self, index: Node, count: int) -> bool:
        """An index into a dimension of an array."""
        return self._try(lambda: f"{self._index(index)} {count - 1} le")

    def fits(self, node: Node) -> bool:
        """The arithmetic of an index stays within 32 bits."""
        return self._try(lambda: f"{self._most(node)} {LARGEST_INT} le")

    def _try(self, condition: Callable[[], str]) -> bool:
        if self._failed:
            return False
        before = dict(self._conditions)
        try:
            self._conditions[condition()] = None
        except Unproved:
            self._conditions = before
            self.give_up()
            return False
        return True

    def _index(self, node: Node) -> str:
        largest = self._most(node)
        if node.type_kind not in ("ULONG", "LONG"):
            self._conditions[f"{largest} {LARGEST_INT} le"] = None  # arithmetic of 32 bits does not wrap
        return largest

    # ---- the largest value of an expression that is never negative ----

    def _most(self, node: Node) -> str:
        self._depth += 1
        if self._depth > 60:
            raise Unproved
        try:
            return self._of(self._rewriter._bare(node))
        finally:
            self._depth -= 1

    def _of(self, node: Node) -> str:
        if node.kind == "INTEGER_LITERAL":
            digits = self._rewriter.source(node).rstrip("uUlL")
            return str(int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0))
        if node.kind == "CSTYLE_CAST_EXPR" and node.children:
            if node.type_kind not in ("INT", "UINT", "LONG", "ULONG"):
                raise Unproved
            return self._most(node.children[-1])
        if node.kind == "DECL_REF_EXPR":
            return self._variable(node)
        if node.kind == "CALL_EXPR":
            return self._call(node)
        if node.kind == "BINARY_OPERATOR":
            return self._binary(node)
        raise Unproved

    def _binary(self, node: Node) -> str:
        left, right = node.children
        if node.operator in ("+", "*"):
            return f"{self._most(left)} {self._most(right)} {node.operator}"
        if node.operator == "-":
            exact = f"{self.exact(left)} {self.exact(right)} -"
            self._conditions[f"0 {exact} le"] = None
            return exact
        if node.operator == "/":
            divisor = self.exact(right)
            self._conditions[f"1 {divisor} le"] = None
            return f"{self._index(left)} {divisor} /"
        if node.operator == "%":
            self._index(left)
            divisor = self.exact(right)
            self._conditions[f"1 {divisor} le"] = None
            return f"{divisor} 1 -"
        if node.operator == "&" and self._rewriter._bare(right).kind == "INTEGER_LITERAL":
            return self._most(right)
        raise Unproved

    def _call(self, node: Node) -> str:
        name, arguments = node.name, node.children[1:]
        if name in IDS or name in SIZES:
            dimension = self._rewriter.source(arguments[0]).strip() if arguments else ""
            if dimension not in ("0", "1", "2"):
                raise Unproved
            return (IDS.get(name) or SIZES[name]).format(dimension)
        if name == "min" and len(arguments) == 2:
            return f"{self._index(arguments[0])} {self._index(arguments[1])} min"
        raise Unproved

    def exact(self, node: Node) -> str:
        """An expression that has one value for the whole launch."""
        bare = self._rewriter._bare(node)
        if bare.kind == "CALL_EXPR" and bare.name not in SIZES:
            raise Unproved
        if bare.kind == "BINARY_OPERATOR":
            if bare.operator not in ("+", "-", "*"):
                raise Unproved
            return f"{self.exact(bare.children[0])} {self.exact(bare.children[1])} {bare.operator}"
        if bare.kind == "DECL_REF_EXPR":
            declared = bare.declared
            variable = self._function.variables.get(declared)
            if variable is None or self.changes(declared):
                raise Unproved
            if variable.kind == "VAR_DECL":
                init = self._rewriter.initial(variable)
                if init is None:
                    raise Unproved
                return self.exact(init)
        elif bare.kind not in ("INTEGER_LITERAL", "CALL_EXPR"):
            raise Unproved
        return self._of(bare)

    # ---- variables ----

    def changes(self, declared: int) -> bool:
        return declared in self._function.taken or self._rewriter._changes(self._function.body, declared)

    def _variable(self, node: Node) -> str:
        declared = node.declared
        variable = self._function.variables.get(declared)
        if variable is None or node.type_kind not in ("INT", "UINT", "LONG", "ULONG"):
            raise Unproved
        limits = self._conditions_above(node, declared)
        if variable.kind == "PARM_DECL":
            if self.changes(declared):
                raise Unproved
            at = next(i for i, param in enumerate(self._function.params) if param.number == declared)
            self._conditions[f"0 a{at} le"] = None
            own = f"a{at}"
        elif self.changes(declared):
            own = self._counter(node, declared)
        else:
            init = self._rewriter.initial(variable)
            if init is None:
                raise Unproved
            own = self._index(init) if limits else self._most(init)
        for limit in limits:
            own = f"{own} {limit} min"
        return own

    def _conditions_above(self, node: Node, declared: int) -> list[str]:
        """What the ifs around say: if (v < n), also as a part of &&."""
        out: list[str] = []
        below, above = node, node.parent
        while above is not None and above is not self._function.node:
            if above.kind == "IF_STMT" and len(above.children) > 1 and below is above.children[1]:
                out += self._limits(above.children[0], declared, above.children[1])
            below, above = above, above.parent
        return out

    def _limits(self, condition: Node, declared: int, body: Node) -> list[str]:
        bare = self._rewriter._bare(condition)
        if bare.kind != "BINARY_OPERATOR":
            return []
        if bare.operator == "&&":
            return self._limits(bare.children[0], declared, body) + self._limits(bare.children[1], declared, body)
        left = self._rewriter._bare(bare.children[0])
        if bare.operator not in ("<", "<=") or left.kind != "DECL_REF_EXPR" or left.declared != declared:
            return []
        if self._rewriter._changes(body, declared):
            return []
        try:
            limit = self.exact(bare.children[1])
        except Unproved:
            return []
        return [f"{limit} 1 -" if bare.operator == "<" else limit]

    def _counter(self, node: Node, declared: int) -> str:
        """The variable of a for loop that only counts upwards."""
        loop = node.parent
        while loop is not None and loop is not self._function.node:
            if loop.kind == "FOR_STMT":
                condition, bodies, others = self._rewriter._parts_of(loop)
                first = others[0] if others else None
                declares = first is not None and any(child.number == declared for child in first.children)
                if declares and first is not None:
                    return self._loop(first, condition, others, bodies, declared)
            loop = loop.parent
        raise Unproved

    def _loop(self, first: Node, condition: Node | None, others: list[Node], bodies: list[Node], declared: int) -> str:
        variable = next(child for child in first.children if child.number == declared)
        start = self._rewriter.initial(variable)
        compare = self._rewriter._bare(condition) if condition is not None else None
        if start is None or compare is None or compare.kind != "BINARY_OPERATOR" or len(others) != 2:
            raise Unproved
        left = self._rewriter._bare(compare.children[0])
        step = self._rewriter._bare(others[1])
        counts = (step.kind == "UNARY_OPERATOR" and step.operator in ("x++", "++")) or (
            step.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
            and step.operator == "+="
            and self._is_positive(step.children[1])
        )
        own = left.kind == "DECL_REF_EXPR" and left.declared == declared
        if not counts or not own or compare.operator not in ("<", "<="):
            raise Unproved
        if any(self._rewriter._changes(body, declared) for body in bodies):
            raise Unproved
        self._most(start)  # it begins at no negative value
        limit = self._most(compare.children[1])
        return f"{limit} 1 -" if compare.operator == "<" else limit

    def _is_positive(self, node: Node) -> bool:
        limit = self._rewriter._most(node)
        return limit is not None and limit > 0
