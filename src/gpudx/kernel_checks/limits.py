"""The largest value that an index can have, where literals and loops that only count say so."""

from __future__ import annotations

import re

from gpudx.kernel_checks.origins import Origins
from gpudx.kernel_checks.syntax import Node


class Limits(Origins):
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
            if bare.operator in ("/", "%", "-") and left is not None:
                return self._reduced(bare, left)
            if bare.operator == "+" and left is not None and right is not None:
                return left + right
            if bare.operator == "*" and left is not None and right is not None:
                return left * right
            if bare.operator == "&" and (left is not None or right is not None):
                return min(one for one in (left, right) if one is not None)
        return None

    def _reduced(self, node: Node, left: int) -> int | None:
        """The largest value of left / N, left % N and M - N."""
        right = self._constant(node.children[1])
        if right is None or (right <= 0 and node.operator != "-"):
            return None
        if node.operator == "-":
            exact = self._constant(node.children[0])
            return exact - right if exact is not None and exact >= right >= 0 else None
        return left // right if node.operator == "/" else min(left, right - 1)

    def _constant(self, node: Node) -> int | None:
        """The value of an expression of literals, if it is not negative."""
        literal = all(
            one.kind in ("INTEGER_LITERAL", "BINARY_OPERATOR") or self._bare(one) is not one for one in node.walk()
        )
        exact = all(one.operator in ("+", "-", "*", "/") for one in node.walk() if one.kind == "BINARY_OPERATOR")
        return self._most(node) if literal and exact else None

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
