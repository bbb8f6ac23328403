"""Checks of arithmetic: divisors, 32-bit products that become an index, values that are no numbers."""

from __future__ import annotations

import re
from dataclasses import replace

from gpudx.kernel_checks.cl_types import FLOATS, plain
from gpudx.kernel_checks.cl_types import INTS as WHOLE
from gpudx.kernel_checks.limits import Limits
from gpudx.kernel_checks.syntax import Node

# Functions that are NaN or infinite for some finite numbers, with how many of their operands decide that.
PARTIAL = re.compile(
    r"(?:native_|half_)?(?:r?sqrt|log(?:2|10)?|exp(?:2|10)?|pow[nr]?|divide|recip)|log1p|acos|asin|acosh|atanh|acospi|asinpi|fmod|remainder"
)
WISHED = re.compile(r"\b(?:INFINITY|NAN|HUGE_VALF?|nan|__builtin_(?:inf|huge_val|nan)f?)\b")
MOST_OPERANDS = 2
# Types that an index outgrows without a word from the compiler, and the numbers that they hold.
NARROW = {
    "SHORT": (-(1 << 15), (1 << 15) - 1), "USHORT": (0, (1 << 16) - 1), "CHAR_S": (-(1 << 7), (1 << 7) - 1),
    "SCHAR": (-(1 << 7), (1 << 7) - 1), "UCHAR": (0, (1 << 8) - 1), "CHAR_U": (0, (1 << 8) - 1),
}  # fmt: skip
COUNTED = ("BINARY_OPERATOR", "CALL_EXPR", "DECL_REF_EXPR", "INTEGER_LITERAL", "PAREN_EXPR", "UNEXPOSED_EXPR")  # what a position is made of
COUNTING = ("+", "-", "*")  # programs take the low bits of other arithmetic on purpose
SLOTS = 8  # operations of a statement whose operands are kept apart (prelude.py)
MOST_LOADS, DEEPEST = 3, 4  # elements that operands come from, and variables on the way to them
LOADS = ("vload", "read_image", "as_float", "as_double")  # numbers that are not computed where they first appear


class Arithmetic(Limits):
    def _divisor(self, node: Node, right: Node, text: str) -> str:
        kind = right.type_kind
        if kind not in ("INT", "UINT", "LONG", "ULONG", "SHORT", "USHORT", "UCHAR", "CHAR_S", "SCHAR", "CHAR_U"):
            return text
        left = node.children[0].type_kind
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
        """Signed arithmetic of 32 bits that makes an index, beside the same in 64 bits; of a variable of 8 or 16 bits, whether it holds
        the number."""
        bare = self._bare(node)
        if declared and (kept := self._kept_in(declared)) in NARROW:
            return self._cut(declared, kept, bare, text)
        if (
            bare.type_kind != "INT"
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

    def _kept_in(self, declared: int) -> str:
        """The type of a variable of the function, "" where it has none."""
        variable = self.now.variables.get(declared) if self.now is not None else None
        return variable.type.get_canonical().kind.name if variable is not None else ""

    def _cut(self, declared: int, kind: str, value: Node, text: str) -> str:
        """A number that a variable of 8 or 16 bits is given for an index. A cast, a mask and the like say that its low bits are meant."""
        if declared not in self._indices() or value.type_kind not in WHOLE or value.type_kind in ("BOOL", "ENUM", *NARROW):
            return text
        if not self._is_position(value) and not (value.kind == "ARRAY_SUBSCRIPT_EXPR" and kind in ("SHORT", "USHORT")):
            return text
        if self._prover is not None:
            self._prover.give_up()
        low, high = NARROW[kind]
        assert self.now is not None
        number = self.site("overflow", value)
        name = self.now.variables[declared].name
        self.sites[number - 1] = replace(self.sites[number - 1], watched=(name, plain(self.now.variables[declared].type)))
        return f"gdx_cut(gdx, {text}, {low}, {high}, {number}u)"

    def _is_position(self, value: Node) -> bool:
        """Sums and products of ids, variables and numbers."""
        return all(
            one.kind in COUNTED
            and (one.kind != "BINARY_OPERATOR" or one.operator in COUNTING)
            and (one.kind != "CALL_EXPR" or one.name.startswith("get_"))
            for one in value.walk()
        )

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
            and bare.type_kind == "INT"
        ):
            left, right = self._wide(bare.children[0]), self._wide(bare.children[1])
            return f"({left} {bare.operator} {right})"
        return f"(long)({self.source(node)})"

    def _nan(self, node: Node, text: str) -> str:
        """A number that is computed here: the first of a work-item that is NaN or infinite is reported."""
        kind = self._number(node)
        if not kind or not self._computed(node) or self._is_load(self._bare(node)):
            return text
        if WISHED.search(self.source(node)):
            return self._came_in(node, text)  # the program asks for it by name
        inner = [number for one, number in self.operations if node.start <= one.start and one.end <= node.end]
        if inner and kind in ("float", "double"):
            return f"gdx_from_{kind}(gdx, {text}, {self.site('nan', node)}u, {min(inner)}u, {max(inner)}u)"
        return f"gdx_nan_{kind}(gdx, {text}, {self.site('nan', node)}u)"

    def _made_by(self, node: Node, operands: list[tuple[Node, str]]) -> str | None:
        """A division or a call that can make a NaN or an infinity of other numbers: it keeps its operands, for the report of the statement
        that it belongs to. None: another expression."""
        kind, divides = self._number(node), node.kind == "BINARY_OPERATOR" and node.operator == "/"
        if kind not in ("float", "double") or not 0 < len(operands) <= MOST_OPERANDS:
            return None
        if not divides and (node.kind != "CALL_EXPR" or not PARTIAL.fullmatch(node.name)):
            return None
        own = node.type_kind
        allowed = (*FLOATS, *WHOLE) if divides else (own,)  # a call with another type is a call of another function
        if any(one.type_kind not in allowed for one, _ in operands):
            return None
        first = MOST_OPERANDS * (len(self.operations) % SLOTS)
        kept = [(one, f"gdx_op_{kind}(gdx, {first + at}u, {text})") for at, (one, text) in enumerate(operands)]
        number = self.site("nan", node)
        self.operations.append((node, number))
        texts = tuple(" ".join(self.source(one).split())[:60] for one, _ in operands)
        loads = dict.fromkeys(load for one, _ in operands for load in self._loads(one))
        name = "/" if divides else node.name
        self.sites[number - 1] = replace(self.sites[number - 1], watched=(name, *texts), loads=tuple(loads)[:MOST_LOADS])
        return f"gdx_made_{kind}(gdx, {self.splice(node, kept)}, {number}u, {first}u, {len(operands)}u)"

    def _loads(self, node: Node, depth: int = 0) -> list[tuple[str, int, str]]:
        """Elements of arguments that a number is computed from, also through variables: text, argument, tree of the index."""
        assert self.now is not None
        found: list[tuple[str, int, str]] = []
        formulas = self._formulas_of(self.now) if self.now.is_kernel else []
        for one in node.walk() if depth < DEEPEST else ():
            if one.kind == "ARRAY_SUBSCRIPT_EXPR" and formulas and self._number(one):
                index = formulas[0].index_of(one)
                if index and formulas[0].argument >= 0:
                    found.append((" ".join(self.source(one).split())[:60], formulas[0].argument, index))
            elif one.kind == "DECL_REF_EXPR" and (variable := self.now.variables.get(one.declared)) is not None:
                init = self.initial(variable) if variable.kind == "VAR_DECL" else None
                if init is not None and not self._changes(self.now.body, one.declared) and one.declared not in self.now.taken:
                    found += self._loads(init, depth + 1)
        return found

    def _came_in(self, node: Node, text: str) -> str:
        """A number that was in memory: what follows from one that is NaN already is not made here."""
        kind = self._number(node)
        return f"gdx_in_{kind}(gdx, {text})" if kind else text

    def _number(self, node: Node) -> str:
        """The type whose values are looked at, "" if none."""
        if "nan" not in self.checks:
            return ""
        scalar = {"FLOAT": "float", "DOUBLE": "double"}.get(node.type_kind, "")
        match = re.fullmatch(r"(?:float|double)(?:2|3|4|8|16)", plain(node.type))
        return scalar or (match[0] if match else "")

    @staticmethod
    def _is_load(node: Node) -> bool:
        return node.kind == "CALL_EXPR" and node.name.startswith(LOADS)

    def _computed(self, node: Node) -> bool:
        return any(one.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "CALL_EXPR") for one in node.walk())
