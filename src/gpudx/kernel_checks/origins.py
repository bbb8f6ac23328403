"""Where a pointer comes from: the arguments and arrays that it can point into, and their bounds in the rewritten text."""

from __future__ import annotations

from collections.abc import Iterable

from gpudx.kernel_checks.cl_types import element_bytes, qualifier, scalar_bytes, space
from gpudx.kernel_checks.plan import (
    UNKNOWN,
    Root,
    Thing,
)
from gpudx.kernel_checks.shape import Shape
from gpudx.kernel_checks.syntax import Node


class Origins(Shape):
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
        texts.sort()  # numbers of declarations differ from run to run
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
            and not (self.light is not None and node.number in self.light)
        )

    def _check(self, name: str, roots: Iterable[Root], where: str) -> str:
        """The function that checks an access: gdx_at or gdx_pg, or its light form where work-items cannot meet."""
        if not {"races", "uninit"} & self.checks:
            return f"gdx_{name}"
        alone = where in ("c", "p") or (self.light is not None and all(declared in self.light for _, declared in roots))
        return f"gdx_light_{name}" if alone else f"gdx_{name}"

    def thing(self, node: Node, own: str) -> int:
        assert self.now is not None
        key = ("object", node.number)
        if key not in self._thing_numbers:
            kind = {"l": "local", "p": "private", "c": "constant", "g": "program"}.get(own, "program")
            self.things.append(Thing(kind, node.name, self.now.name, element=element_bytes(node.type)))
            self._thing_numbers[key] = len(self.things) - 1
        return self._thing_numbers[key]
