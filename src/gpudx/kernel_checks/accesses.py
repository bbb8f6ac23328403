"""Reads and writes of memory, each behind a guard or through a pointer that is replaced if the access must not happen."""

from __future__ import annotations

from collections.abc import Collection

from gpudx.kernel_checks.arithmetic import Arithmetic
from gpudx.kernel_checks.cl_types import FLOATS, INTS, plain, qualifier, space
from gpudx.kernel_checks.plan import (
    ADDRESS,
    READ,
    SETTLED,
    Root,
)
from gpudx.kernel_checks.syntax import Node

PLACE = "gdx->at"
CASTS = {"g": "(__global void *)", "l": "(__local void *)", "c": "(__constant void *)", "p": "(__private void *)"}


class Accesses(Arithmetic):
    def expression(self, node: Node, how: int) -> str:
        raise NotImplementedError  # statements.py

    def access(self, node: Node, how: int) -> str:
        """An lvalue that is read or written; with ADDRESS only its address is of interest."""
        if how == ADDRESS or self._is_array(node) or self._path(node)[-1].kind == "CALL_EXPR":  # the result of a call is in no memory
            return self._parts(node)
        zero = self._zero(node)
        if how == READ and zero and self.pure(node) and not self._nested(node):
            guard = self.guard(node, how)
            if guard:
                return self._came_in(node, f"({zero[0]}({guard} ? {self.source(node)} : {zero[1]}))")
            return self._came_in(node, self._parts(node))
        text = self._redirected(node, how, self._parts(node))
        return self._came_in(node, text) if how == READ else text

    def _parts(self, node: Node) -> str:
        """The text of an lvalue, with what it consists of checked."""
        children = node.children
        if not children:
            return self.source(node)
        if node.kind == "ARRAY_SUBSCRIPT_EXPR":
            base = self._bare(children[0])
            index = self.expression(children[1], READ)
            if "overflow" in self.checks:
                index = self._overflow(0, children[1], index)
            return self.splice(
                node,
                [
                    (children[0], self.expression(children[0], ADDRESS if self._is_array(base) else READ)),
                    (children[1], index),
                ],
            )
        arrow = node.kind == "UNARY_OPERATOR" or self._is_arrow(node)
        base = self._bare(children[0])
        inner = READ if arrow and not self._is_array(base) else ADDRESS
        return self.splice(node, [(children[0], self.expression(children[0], inner))])

    def _zero(self, node: Node) -> tuple[str, str] | None:
        """The cast and the 0 of a type that has one."""
        canonical = node.type.get_canonical()
        name = plain(node.type)
        if "(" in name or "*" in name or not name or "unnamed" in name:
            return None
        if canonical.kind.name in (*INTS, *FLOATS):
            return f"({name})", "0"
        if canonical.kind.name in ("EXTVECTOR", "VECTOR"):
            return "", f"({name})(0)"
        return None

    def guard(self, node: Node, how: int) -> str | None:
        """An expression that is true where the access may happen; "" if it always may; None: nothing is known."""
        assert self.now is not None
        last = self._path(node)[-1]
        first = self._index_overflows(node)
        if last.kind == "DECL_REF_EXPR":
            guard = self._array_guard(node, last, how)
            return f"({first}{guard})" if first and guard else guard
        pointer = last.children[0] if last.children else None
        if pointer is None or not self._is_pointer(pointer):
            return None
        where = space(pointer.type.get_canonical())
        address = f"(ulong)&({self.source(node)})"
        roots = self.roots(pointer)
        bounds = self.bounds(roots, address, where)
        if bounds is None:
            self._miss()
            return None
        self.now.checked += 1
        align = self._alignment(pointer, node)
        check = self._check("at", roots, where)
        proved = not align and self._provable(node, pointer)
        if proved and self.light is not None and (check == "gdx_light_at" or not {"races", "uninit"} & self.checks):
            if where != "g" or "uninit" not in self.checks:
                return f"({first}1)" if first else ""
            check = "gdx_light_in"
        site = self.site("access", node, proved, how, roots)
        first += self._hint()
        mode = self.mode(how, node.type, roots)
        guard = f"{check}{align}(gdx, {address}, sizeof({self.source(node)}), {bounds}, {site}u, {mode})"
        return f"({first}{guard})" if first else guard

    @property
    def settling(self) -> int:
        """The mode of a write that `settled` follows."""
        return SETTLED if "races" in self.checks else 0

    def settled(self, guard: str) -> str:
        """After a write with this guard: did it change what another work-item wrote?"""
        return ", gdx_settle(gdx)" if self.settling and "gdx_at" in guard else ""

    def _provable(self, node: Node, pointer: Node) -> bool:
        """argument[index], with the argument as the kernel was given it: the prover takes it."""
        base = self._bare(pointer)
        function = self.now
        if (
            self._prover is None
            or function is None
            or node.kind != "ARRAY_SUBSCRIPT_EXPR"
            or base.kind != "DECL_REF_EXPR"
        ):
            return False
        declared = base.declared
        at = next((i for i, param in enumerate(function.params) if param.number == declared), None)
        if (
            at is None
            or declared in function.sources
            or declared in function.taken
            or self._changes(function.body, declared)
        ):
            return False
        return self._prover.element(node.children[1], max(1, node.type.get_canonical().get_size()), at)

    def _index_overflows(self, node: Node) -> str:
        """The checks of the arithmetic in the subscripts, each with a comma behind it."""
        if "overflow" not in self.checks:
            return ""
        out = []
        for one in dict.fromkeys(self._path(node)):
            if one.kind == "ARRAY_SUBSCRIPT_EXPR":
                plain_text = self.source(one.children[1])
                checked = self._overflow(0, one.children[1], plain_text)
                if checked != plain_text:
                    out.append(f"(void){checked}, ")
        return "".join(out)

    def _alignment(self, pointer: Node, node: Node) -> str:
        """Whether the address must be a multiple of the access's size: where a cast can have made it less, and no type says less."""
        cast = "align" in self.checks and any(one.kind == "CSTYLE_CAST_EXPR" for one in self._pointer_nodes(pointer))
        return "_a" if cast and not self._says_less(node) else ""

    def _says_less(self, node: Node) -> bool:
        """A member of a packed structure, or a type that is declared with a smaller alignment: the compiler reads it byte by byte."""
        needs = node.type.get_canonical().get_align()
        records = [
            one.children[0].type.get_canonical()
            for one in self._path(node)
            if one.kind == "MEMBER_REF_EXPR" and one.children
        ]
        pointed = [one.get_pointee() if one.kind.name == "POINTER" else one for one in records]
        return any(0 < one.get_align() < needs for one in (node.type, *pointed))

    def _pointer_nodes(self, pointer: Node) -> list[Node]:
        assert self.now is not None
        out, seen = list(pointer.walk()), set()
        for one in list(out):
            if one.kind == "DECL_REF_EXPR" and self._is_pointer(one) and one.declared not in seen:
                seen.add(one.declared)
                for source in self.now.sources.get(one.declared, []):
                    out += source.walk()
        return out

    def _array_guard(self, node: Node, root: Node, how: int) -> str | None:
        """Subscripts of a named array, without taking its address: it may live in registers."""
        assert self.now is not None
        variable = self.now.variables.get(root.declared) or self.globals.get(root.declared)
        if variable is None:
            return None
        own = qualifier(variable.type)
        subscripts: list[Node] = [one for one in self._path(node) if one.kind == "ARRAY_SUBSCRIPT_EXPR"]
        subscripts = list(dict.fromkeys(subscripts))
        watched = own == "l" and self._shadowed(variable)
        if not subscripts and not watched:
            return ""
        number = self.thing(variable, own)
        if watched:
            self.now.checked += 1
            proved = [self._provable_array(group) for group in self._groups(subscripts)]
            site = self.site("access", node, all(proved) and bool(proved), how, [("object", root.declared)])
            bounds = self._bounds_of(("object", root.declared), own)
            address = f"(ulong)&({self.source(node)})"
            return (
                f"gdx_at(gdx, {address}, sizeof({self.source(node)}), {bounds}, {site}u, {self.mode(how, node.type)})"
            )
        guards = []
        for group in self._groups(subscripts):
            text = self._linear(group)
            if text is None:
                continue
            linear, total, bytes_each = text
            self.now.checked += 1
            proved_here = self._provable_array(group)
            if proved_here and self.light is not None:
                continue
            site = self.site("access", node, proved_here, how, [("object", root.declared)])
            guards.append(f"gdx_ix(gdx, {linear}, {total}u, {bytes_each}u, {number}u, {site}u, {how}u)")
        return " && ".join(guards).join("()") if guards else ""

    def _provable_array(self, group: list[Node]) -> bool:
        if self._prover is None:
            return False
        counts = [int(self._bare(one.children[0]).type.get_canonical().element_count) for one in group]
        return all(self._prover.place(one.children[1], count) for one, count in zip(group, counts, strict=True))

    def _redirected(self, node: Node, how: int, text: str) -> str:
        """The access through a function that gives another address if it must not happen."""
        assert self.now is not None
        last = self._path(node)[-1]
        if last.kind == "DECL_REF_EXPR":
            variable = self.now.variables.get(last.declared) or self.globals.get(last.declared)
            subscripted = any(one.kind == "ARRAY_SUBSCRIPT_EXPR" for one in self._path(node))
            if variable is None or not (subscripted or self._shadowed(variable)):
                return text
            where = qualifier(variable.type)
            roots: frozenset[Root] = frozenset([("object", last.declared)])
            bounds: str | None = self._bounds_of(("object", last.declared), where)
        else:
            pointer = last.children[0] if last.children else None
            if pointer is None or not self._is_pointer(pointer):
                return text
            where = space(pointer.type.get_canonical())
            roots = self.roots(pointer)
            bounds = self.bounds(roots, PLACE, where)
        if bounds is None or where == "x":
            self._miss()
            return text
        self.now.checked += 1
        site = self.site("access", node, False, how, roots)
        hint = self._hint()
        raw = self.shape(node)
        rest = f"sizeof({raw}), {bounds}, {site}u, {self.mode(how, node.type, roots)}"
        check = self._check(f"p{where}", roots, where)
        first, address = self._once(f"&({text})", where, roots)
        return f"(*(__typeof__(&({raw})))({hint}{first}{check}(gdx, {address}, {rest})))"

    def _once(self, address: str, where: str, roots: Collection[Root]) -> tuple[str, str]:
        """What to do before an access, with a comma behind it, and its address. With several origins the address is needed more than
        once, to choose among them, and may have effects."""
        if len(roots) == 1:
            return "", f"{CASTS[where]}{address}"
        return f"{PLACE} = (ulong){address}, ", f"{CASTS[where]}(size_t){PLACE}"

    def _hint(self) -> str:
        """Hands the report of the access whose site was just made the number that its index depends on, with a comma behind it."""
        node, self.hinted = self.hinted, None
        return f"gdx_hint(gdx, (long)({self.expression(node, READ)})), " if node is not None else ""
