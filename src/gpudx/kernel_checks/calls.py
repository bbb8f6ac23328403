"""Calls: of the program's own functions, which get the bounds of their pointers, and of built-in ones that access memory."""

from __future__ import annotations

import re
from dataclasses import replace

from gpudx.kernel_checks.accesses import PLACE, Accesses
from gpudx.kernel_checks.builtins import (
    ASYNC,
    ATOMIC,
    OVERWRITES,
    POINTER_OUT,
    VectorAccess,
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

IMAGE_CALL = re.compile(r"(read|write)_image(?:f|i|ui|h)")
IMAGE_TYPE = re.compile(r"\bimage2d_t\b")
REPEATS = re.compile(r"CLK_ADDRESS_(?:REPEAT|MIRRORED_REPEAT)")


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
            return self._vector_call(node, vector, self.splice(node, parts))
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
        if "bounds" in self.checks and (image := IMAGE_CALL.fullmatch(name)):
            return self._image_call(node, arguments, parts, image[1] == "write")
        return self._made_by(node, parts) or self.splice(node, parts)

    def _image_call(self, node: Node, arguments: list[Node], parts: list[tuple[Node, str]], writes: bool) -> str:
        """Coordinates in an image of two dimensions: of a write, whether they are in the image; of a read through a sampler, whether they
        are pixels where the sampler takes them for parts of the image. The host knows a sampler that is an argument."""
        assert self.now is not None
        image, at = self._bare(arguments[0]), 1 if writes else 2
        root = ("param", image.declared) if image.kind == "DECL_REF_EXPR" else ("", 0)
        if not self.now.is_kernel or root not in self._thing_numbers or len(arguments) != 3 or not IMAGE_TYPE.search(image.type.spelling):
            return self.splice(node, parts)
        coordinates, kind = arguments[at], plain(arguments[at].type)
        sampler = None if writes else self._sampler(arguments[1])
        if kind not in ("int2", "float2") or (writes and (kind != "int2" or not self.pure(coordinates))) or sampler == ():
            return self.splice(node, parts)
        number = self.site("image", node)
        self.sites[number - 1] = replace(self.sites[number - 1], uses=sampler or (), how=WRITE if writes else READ)
        name, place = self.source(image), f"{self._thing_numbers[root]}u, {number}u"
        size = f"get_image_width({name}), get_image_height({name}), {place}"
        if writes:
            return f"(gdx_image_has(gdx, {self.source(coordinates)}, {size}) ? {self.splice(node, parts)} : (void)0)"
        parts[at] = (coordinates, f"gdx_pixel_{kind}(gdx, {parts[at][1]}, {size})")
        return self.splice(node, parts)

    def _sampler(self, node: Node) -> tuple[int, ...]:
        """The argument that a sampler is, or (-1,) for one in the source with normalized coordinates; () for others."""
        assert self.now is not None
        bare = self._bare(node)
        at = next((i for i, param in enumerate(self.now.params) if param.number == bare.declared), -1)
        if bare.kind == "DECL_REF_EXPR" and at >= 0:
            return (at,)
        variable = self.now.variables.get(bare.declared) or self.globals.get(bare.declared) if bare.kind == "DECL_REF_EXPR" else None
        text = self.source(variable) if variable is not None else self.source(bare)
        return (-1,) if "CLK_NORMALIZED_COORDS_TRUE" in text and not REPEATS.search(text) else ()

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
            self.blind |= bounds is None and where in ("g", "x")
            self.now.passed += [(declared, callee.name, at) for kind, declared in roots if kind == "param"]
        extra += [self._field_bounds(name, arguments[at]) for at, name in self._fields(callee)]
        text = self.splice(node, texts)
        assert text.endswith(")")
        comma = ", " if arguments else ""
        return text[:-1] + comma + ", ".join(extra) + ")"

    def _field_bounds(self, name: str, argument: Node) -> str:
        """The bounds of a pointer in a struct that a helper function is passed; it may write through the pointer."""
        assert self.now is not None
        record = argument.type.get_canonical()
        arrow = "->" if record.kind.name == "POINTER" else "."
        record = record.get_pointee().get_canonical() if arrow == "->" else record
        where = space(next(one.type.get_canonical() for one in record.get_fields() if one.spelling == name))
        roots = self.held(argument, name)
        address = f"(ulong)(({self.source(argument)}){arrow}{name})"
        bounds = self.bounds(roots, address, where) if len(roots) == 1 or self.pure(argument) else None
        self.blind |= bounds is None and where in ("g", "x")
        self.now.written |= {declared for kind, declared in roots if kind == "param"}
        return bounds or "gdx_any()"

    def _checked_pointer(self, pointer: Node, text: str, width: str, how: int) -> str:
        assert self.now is not None
        where = space(pointer.type.get_canonical())
        roots = self.roots(pointer)
        bounds = self.bounds(roots, PLACE, where)
        if bounds is None or where == "x":
            self._miss()
            return text
        self.now.checked += 1
        site = self.site("access", pointer, False, how, roots)
        hint = self._hint()
        mode = self.mode(how, pointer.type.get_canonical().get_pointee(), roots)
        first, address = self._once(f"({text})", where, roots)
        call = f"({hint}{first}gdx_p{where}(gdx, {address}, {width}, {bounds}, {site}u, {mode}))"
        return f"(__typeof__({self.shape(pointer)})){call}"

    def _vector_call(self, node: Node, vector: VectorAccess, text: str) -> str:
        assert self.now is not None
        offset, pointer = node.children[-2:]
        how, elements = WRITE | self.settling if vector.stores else READ, vector.elements
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
        each = f"sizeof(*({raw}))"
        address = f"((ulong)({raw}) + (ulong)({self.source(offset)}) * {vector.step}u * {each})"
        self.now.checked += 1
        site = self.site("access", node, False, how, roots)
        mode = self.mode(how, pointer.type.get_canonical().get_pointee(), roots)
        guard = f"{self._check('at', roots, where)}(gdx, {address}, {elements}u * {each}, {bounds}, {site}u, {mode})"
        if vector.stores:
            return f"({guard} ? {text}{self.settled(guard)} : (void)0)"
        scalar = plain(pointer.type.get_canonical().get_pointee())
        kind = (
            "float"
            if vector.half
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
            site = self.site("access", pointer, False, how, roots)
            self.sites[site - 1] = replace(self.sites[site - 1], text=self._shown(node))
            mode = self.mode(how, pointer.type.get_canonical().get_pointee(), roots)
            guards.append(f"gdx_span(gdx, (ulong)({raw}), {length} * sizeof(*({raw})), {bounds}, {site}u, {mode})")
        if not guards:
            return self.splice(node, parts)
        old = parts[2][1]
        parts[2] = (count, f"(({' & '.join(guards)}) ? ({old}) : 0)")
        return self.splice(node, parts)
