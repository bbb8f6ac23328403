"""Checks of arithmetic: divisors, 32-bit products that become an index, values that are no numbers."""

from __future__ import annotations

import re

from gpudx.kernel_checks.cl_types import FLOATS, plain
from gpudx.kernel_checks.limits import Limits
from gpudx.kernel_checks.syntax import Node

LOADS = ("vload", "read_image", "as_float", "as_double")  # numbers that are not computed where they first appear


class Arithmetic(Limits):
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
        if self._prover is not None and self._prover.fits(bare) and self._prover.each:
            return text
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
        """A number that is computed here: the first of a work-item that is NaN or infinite is reported."""
        kind = self._number(node)
        if kind and self._computed(node) and not self._is_load(self._bare(node)):
            return f"gdx_nan_{kind}(gdx, {text}, {self.site('nan', node)}u)"
        return text

    def _came_in(self, node: Node, text: str) -> str:
        """A number that was in memory: what follows from one that is NaN already is not made here."""
        kind = self._number(node)
        return f"gdx_in_{kind}(gdx, {text})" if kind else text

    def _number(self, node: Node) -> str:
        """The type whose values are looked at, "" if none."""
        if "nan" not in self.checks:
            return ""
        scalar = {"FLOAT": "float", "DOUBLE": "double"}.get(node.type.get_canonical().kind.name, "")
        match = re.fullmatch(r"(?:float|double)(?:2|3|4|8|16)", plain(node.type))
        return scalar or (match[0] if match else "")

    @staticmethod
    def _is_load(node: Node) -> bool:
        return node.kind == "CALL_EXPR" and node.name.startswith(LOADS)

    def _computed(self, node: Node) -> bool:
        return any(one.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "CALL_EXPR") for one in node.walk())
