"""Where a pointer comes from: the arguments and arrays that it can point into, and their bounds in the rewritten text."""

from __future__ import annotations

from collections.abc import Iterable

from gpudx.kernel_checks.cl_types import element_bytes, qualifier, scalar_bytes, space
from gpudx.kernel_checks.plan import (
    FIELD,
    UNKNOWN,
    Function,
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
            if inner.type_kind in ("POINTER", "CONSTANTARRAY"):
                return self.roots(inner)
            return frozenset() if self.source(self._bare(inner)).strip() in ("0", "NULL") else frozenset([UNKNOWN])
        if kind == "BINARY_OPERATOR":
            left, right = node.children[0], node.children[1]
            if node.operator in ("=", ","):
                return self.roots(right)
            return self.roots(left if left.type_kind in ("POINTER", "CONSTANTARRAY") else right)
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
        if kind == "MEMBER_REF_EXPR" and node.children:
            holder = self._bare(node.children[0])
            return self.held(holder, node.name) if holder.kind == "DECL_REF_EXPR" else frozenset([UNKNOWN])
        return frozenset([UNKNOWN])

    def held(self, struct: Node, name: str) -> frozenset[Root]:
        """The objects that a pointer in a struct can point into: the struct is an expression, or its address."""
        struct = self._bare(struct)
        if struct.kind == "UNARY_OPERATOR" and struct.operator == "&":
            struct = self._bare(struct.children[0])
        if struct.kind == "DECL_REF_EXPR":
            return self._held_by(struct.declared, name)
        if struct.kind == "CONDITIONAL_OPERATOR":
            return self.held(struct.children[1], name) | self.held(struct.children[2], name)
        if struct.kind == "COMPOUND_LITERAL_EXPR":
            struct = struct.children[-1]
        at = self.place_in(struct, name) if struct.kind == "INIT_LIST_EXPR" else None
        if at is None:
            return frozenset([UNKNOWN])
        return self.roots(struct.children[at]) if at < len(struct.children) else frozenset()

    def _held_by(self, declared: int, name: str) -> frozenset[Root]:
        assert self.now is not None
        variable = self.now.variables.get(declared)
        at = next((i for i, param in enumerate(self.now.params) if param.number == declared), None)
        if variable is None or not self._keeps(declared, self.now):
            return frozenset([UNKNOWN])
        found: set[Root] = set()
        if at is not None and (at, name) in self._fields(self.now):
            found.add((FIELD + name, declared))
        elif at is not None or not self._is_struct(variable):
            return frozenset([UNKNOWN])
        if declared not in self._resolving:
            self._resolving.add(declared)
            for source in self.now.kept.get((declared, name), []):
                found |= self.roots(source)
            for source in self.now.sources.get(declared, []):
                found |= self.held(source, name)
            self._resolving.discard(declared)
        return frozenset(found or [UNKNOWN])

    def _keeps(self, declared: int, function: Function) -> bool:
        """Are the assignments to a struct all that change the pointers in it? Its address may only be passed to helper functions, and these
        must not change them."""
        if declared not in self._kept:
            self._kept[declared] = False  # for a function that calls itself
            self._kept[declared] = self._is_kept(function.variables[declared], function)
        return self._kept[declared]

    def _is_kept(self, variable: Node, function: Function) -> bool:
        declared = variable.number
        record = variable.type.get_canonical().get_pointee() if self._is_pointer(variable) else variable.type
        if record.get_canonical().get_declaration().kind.name == "UNION_DECL":
            return False
        by_address = self._is_pointer(variable)
        if by_address and any(one == declared for one, _ in function.kept):
            return False
        for node in function.body.walk():
            if node.kind != "DECL_REF_EXPR" or node.declared != declared:
                continue
            user = self._user(node)
            if by_address and not (user.kind == "MEMBER_REF_EXPR" or self._passes_on(user, node)):
                return False
            if user.kind == "MEMBER_REF_EXPR" and self._is_pointer(user):
                user = self._user(user)
                if user.kind == "UNARY_OPERATOR" and user.operator == "&":
                    return False
            elif user.kind == "UNARY_OPERATOR" and user.operator == "&" and not self._passes_on(self._user(user), user):
                return False
        return True

    def _user(self, node: Node) -> Node:
        """What an expression is a part of, without parentheses and implicit conversions."""
        above = node.parent
        while above is not None and above.parent is not None and (above.kind == "PAREN_EXPR" or self._implicit(above)):
            above = above.parent
        assert above is not None
        return above

    def _passes_on(self, call: Node, address: Node) -> bool:
        """Does an expression call a helper function with the address of a struct, which keeps the pointers in it?"""
        callee = self.functions.get(call.name) if call.kind == "CALL_EXPR" else None
        if callee is None:
            return False
        at = next(i for i, one in enumerate(call.children[1:]) if one.start <= address.start < one.end)
        return at < len(callee.params) and self._keeps(callee.params[at].number, callee)

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
            at = numbers.get(declared, len(arguments))
            if at < len(arguments) and kind.startswith(FIELD):
                out |= self.held(arguments[at], kind.removeprefix(FIELD))
            else:
                out |= self.roots(arguments[at]) if kind == "param" and at < len(arguments) else {UNKNOWN}
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
        at = next((i for i, param in enumerate(self.now.params) if param.number == declared), -1)
        if kind.startswith(FIELD):
            return f"gdx_o{at}_{kind.removeprefix(FIELD)}"
        if kind == "param":
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
