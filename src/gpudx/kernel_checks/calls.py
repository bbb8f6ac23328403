"""Calls: of the program's own functions, which get the bounds of their pointers, and of built-in ones that access memory."""

from __future__ import annotations

from gpudx.kernel_checks.accesses import CASTS, Accesses
from gpudx.kernel_checks.builtins import (
    ASYNC,
    ATOMIC,
    OVERWRITES,
    POINTER_OUT,
    vector_access,
)
from gpudx.kernel_checks.cl_types import plain, space
from gpudx.kernel_checks.plan import (
    ATOMICALLY,
    BOTH,
    READ,
    WRITE,
    Function,
)
from gpudx.kernel_checks.syntax import Node


class Calls(Accesses):
    def call(self, node: Node) -> str:
        text = self._call(node)
        return self._came_in(node, text) if self._is_load(node) else text

    def _call(self, node: Node) -> str:
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
        assert self.now is not None
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
            self.now.passed += [(declared, callee.name, at) for kind, declared in roots if kind == "param"]
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
        hint = self._hint()
        mode = self.mode(how, pointer.type.get_canonical().get_pointee(), roots)
        call = f"({hint}gdx_p{where}(gdx, {CASTS[where]}({text}), {width}, {bounds}, {site}u, {mode}))"
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
        roots = self.roots(pointer)
        bounds = self.bounds(roots, f"(ulong)({raw})", where)
        if bounds is None:
            self._miss()
            return text
        step = 4 if aligned and elements == 3 else elements
        each = f"sizeof(*({raw}))"
        address = f"((ulong)({raw}) + (ulong)({self.source(offset)}) * {step}u * {each})"
        self.now.checked += 1
        site = self.site("access", node)
        mode = self.mode(WRITE if stores else READ, pointer.type.get_canonical().get_pointee(), roots)
        guard = f"{self._check('at', roots, where)}(gdx, {address}, {elements}u * {each}, {bounds}, {site}u, {mode})"
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
            roots = self.roots(pointer)
            bounds = self.bounds(roots, f"(ulong)({raw})", where)
            if bounds is None:
                self._miss()
                continue
            self.now.checked += 1
            length = f"(ulong)({self.source(count)})"
            if "strided" in name and where == "g":
                length = f"(({length} - 1) * (ulong)({self.source(arguments[3])}) + 1)"
            site = self.site("access", pointer)
            mode = self.mode(how, pointer.type.get_canonical().get_pointee(), roots)
            guards.append(f"gdx_span(gdx, (ulong)({raw}), {length} * sizeof(*({raw})), {bounds}, {site}u, {mode})")
        if not guards:
            return self.splice(node, parts)
        old = parts[2][1]
        parts[2] = (count, f"(({' & '.join(guards)}) ? ({old}) : 0)")
        return self.splice(node, parts)
