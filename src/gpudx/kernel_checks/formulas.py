"""How a kernel computes the index of an access, as a tree that can be computed again from a report and the launch's arguments.

Checked kernels report an offset. Why it is what it is follows from the source: `t * dim + d` with t and d from the work-item's ids and
dim from an argument. What the source does not fix (a loop's counter, an element of another buffer) is left open; gpudx.kernel_checks.
values finds the value that gives the reported offset.

Helper functions are followed in both directions: a call in an index stands for what the helper returns, and an index in a helper is
computed from what its callers pass, up to the kernel (one Formulas per chain of calls).

A tree is nested lists, because it is kept as JSON:
    ["number", 4]                       ["id", "get_global_id", 0]        ["argument", 2, "dim", type]
    [operator, type, left, right]       ["call", "max", type, ...]        ["?", type, condition, yes, no]
    ["named", "row", tree]              ["to", type, tree]                ["open", "k", type]
    ["named", "row", tree, "", line]               a variable that is declared at this line
    ["named", "bin_of(t)", tree, "bin_of", line]   what a call of a helper function at this line returns
    ["field", 2, "s.mult", type, offset]    a number in a struct that is argument 2
    ["counter", "k", type, first, limit, "<", step]                       ["load", "ids[t]", type, argument, tree of its index]
Types are "i8" to "u64". Names of another function than the one that accesses memory end with APART and a number, because two functions
can have variables of the same name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gpudx.kernel_checks.builtins import vector_access
from gpudx.kernel_checks.syntax import Node

if TYPE_CHECKING:
    from gpudx.kernel_checks.plan import Function
    from gpudx.kernel_checks.shape import Shape

Tree = list[Any]

DEEPEST, LONGEST = 40, 4000  # levels of a tree; characters of its JSON
MOST_INLINED = 16  # calls of helper functions in one index
APART = "\0"
IDS = ("get_global_id", "get_local_id", "get_group_id")
SIZES = ("get_global_size", "get_local_size", "get_num_groups", "get_global_offset")
CALLS = {"max", "min", "clamp", "abs", "mul24", "mad24"}
OPERATORS = {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||"}
TYPES = {
    "INT": "i32", "UINT": "u32", "LONG": "i64", "ULONG": "u64", "SHORT": "i16", "USHORT": "u16", "CHAR_S": "i8", "SCHAR": "i8",
    "UCHAR": "u8", "CHAR_U": "u8", "BOOL": "i32", "ENUM": "u32",
}  # fmt: skip


class Deep(Exception):
    """Too large to be of use to a reader."""


@dataclass
class Query:
    """The index that is asked for, while it is being made."""

    depth: int = 0
    inlined: int = 0
    argument: int = -1  # of the kernel, that the index counts from
    unit: int = 0  # bytes of an element of that argument, or of the array
    scaled: bool = False  # does the index count other elements than the access, because a cast lies between?
    nodes: dict[str, Node] = field(
        default_factory=dict
    )  # of what the index leaves open, where the access can compute it

    def reset(self) -> None:
        self.depth = self.inlined = 0
        self.argument = -1
        self.unit, self.scaled = 0, False
        self.nodes.clear()


class Formulas:
    """Of the accesses of one function; of a helper function, as one call of it has them.

    `home` is the function with the access: what it leaves open can be computed beside the access.
    """

    def __init__(
        self,
        shape: Shape,
        function: Function,
        call: Node | None = None,
        caller: Formulas | None = None,
        query: Query | None = None,
        home: bool = True,
        mark: str = "",
    ) -> None:
        self._shape = shape
        self._function = function
        self._caller = caller
        self.call = call
        self._given = call.children[1:] if call is not None else []
        self._changed: dict[int, bool] = {}
        self._parts_changed: dict[int, bool] = {}
        self._query = query or Query()
        self._home = home
        self._mark = mark

    @property
    def kernel(self) -> str:
        return self._caller.kernel if self._caller is not None else self._function.name

    @property
    def argument(self) -> int:
        """Of the kernel, that the last index counts from."""
        return self._query.argument

    def index_of(self, access: Node) -> str:
        """The tree of an access's index, counted in elements of what its pointer was given as, as JSON; "" where it has none."""
        found = self._json(self._place, access)
        in_struct = any(one.kind == "MEMBER_REF_EXPR" for one in self._shape._path(access))
        return "" if self._query.scaled and in_struct else found  # a member does not begin where its struct does

    def number(self, node: Node) -> str:
        """The tree of a number, as JSON; "" where it has none."""
        return self._json(self._tree, node)

    def _json(self, tree_of: Callable[[Node], Tree | None], node: Node) -> str:
        self._query.reset()
        try:
            tree = tree_of(node)
        except Deep:
            return ""
        text = json.dumps(tree, separators=(",", ":")) if tree else ""
        return text if len(text) <= LONGEST else ""

    def hint(self, index: str) -> tuple[str, Node] | None:
        """The part of the last index whose value the kernel has to report, because it does not follow from the offset: a number that
        is not only added and multiplied, or one of several."""
        tree = json.loads(index) if index else None
        nodes = self._query.nodes
        if tree is None or not nodes or _is_linear(tree):
            return None
        loads = [name for name, node in nodes.items() if node.kind == "ARRAY_SUBSCRIPT_EXPR"]
        name = (loads or list(nodes))[0]
        return (name, nodes[name]) if self._shape.pure(nodes[name]) else None

    def _place(self, access: Node) -> Tree | None:
        node = self._shape._path(access)[-1]
        if node.kind == "CALL_EXPR" and (vector := vector_access(node.name)) is not None:
            offset, pointer = node.children[-2:]
            step: Tree = ["number", vector.step]
            return self._sum(pointer, ["*", "i64", self._tree(offset), step] if vector.step > 1 else self._tree(offset), "+")
        if node.kind == "DECL_REF_EXPR":  # subscripts of a named array
            found = [one for one in self._shape._path(access) if one.kind == "ARRAY_SUBSCRIPT_EXPR"]
            return self._subscripts(list(dict.fromkeys(found)))
        return self._pointed(node)

    def _subscripts(self, inner_first: list[Node]) -> Tree | None:
        """The index of `a[y][x]` in all of the array: y * columns + x. None where a struct is in between."""
        if not inner_first or any(self._shape._bare(one.children[0]) is not below for one, below in pairwise(inner_first)):
            return None
        start = self._pointed(self._shape._bare(inner_first[-1].children[0]))
        if start is None:
            return None
        whole: Tree | None = None
        for one in reversed(inner_first):
            index = self._tree(one.children[1])
            columns = self._shape._bare(one.children[0]).type.get_canonical().element_count
            whole = index if whole is None else ["+", "i64", ["*", "i64", whole, ["number", int(columns)]], index]
        return whole

    def _pointed(self, node: Node) -> Tree | None:
        """Elements from the start of the argument or array to what an lvalue or a pointer is at."""
        node = self._shape._bare(node)
        if node.kind == "ARRAY_SUBSCRIPT_EXPR":
            return self._sum(node.children[0], self._tree(node.children[1]), "+")
        if node.kind == "UNARY_OPERATOR" and node.operator in ("*", "&"):
            return self._pointed(node.children[0])
        if node.kind == "BINARY_OPERATOR" and node.operator in ("+", "-") and self._shape._is_pointer(node):
            return self._sum(node.children[0], self._tree(node.children[1]), node.operator)
        if node.kind == "DECL_REF_EXPR":
            return self._pointer_variable(node)
        if node.kind == "CSTYLE_CAST_EXPR" and self._shape._is_pointer(node.children[-1]):
            return self._pointed(node.children[-1])
        if node.kind == "MEMBER_REF_EXPR" and node.children:
            return self._kept_pointer(self._shape._bare(node.children[0]), node)
        return None

    def _kept_pointer(self, struct: Node, node: Node) -> Tree | None:
        """A pointer in a struct, where one place of the source gives it its value."""
        if struct.kind == "UNARY_OPERATOR" and struct.operator == "&":
            struct = self._shape._bare(struct.children[0])
        declared = struct.declared if struct.kind == "DECL_REF_EXPR" else -1
        found, passed = self._shape.field_values(self._function, declared, node.name), self._passed(declared)
        if passed is not None and self._caller is not None and not found:
            return self._caller._kept_pointer(self._shape._bare(passed), node)
        one = self._shape._bare(found[0]) if len(found) == 1 and passed is None else None
        return self._pointed(one) if one is not None and _same_elements(one, node) else None

    def _in_units(self, own: Tree, base: Node) -> Tree | None:
        """A number of elements behind a pointer, in elements of the argument or array that a cast made the pointer from."""
        each, unit = _element_type(self._shape._bare(base)).get_size(), self._query.unit
        if each == unit or not unit:
            return own
        self._query.scaled = True
        return ["*", "i64", own, ["number", each // unit]] if each > 0 and each % unit == 0 else None

    def _sum(self, base: Node, own: Tree, operator: str) -> Tree | None:
        start = self._pointed(base)
        behind = self._in_units(own, base) if start is not None else None
        if start is None or behind is None:
            return None
        return behind if start == ["number", 0] and operator == "+" else [operator, "i64", start, behind]

    def _pointer_variable(self, node: Node) -> Tree | None:
        declared = node.declared
        variable = self._function.variables.get(declared) or self._shape.globals.get(declared)
        if variable is None or self._changes(declared):
            return None
        if variable.kind == "PARM_DECL" and not self._function.is_kernel:
            return self._passed_pointer(declared, node)
        if variable.kind == "PARM_DECL" or self._shape._is_array(variable):
            self._query.argument = self._parameter(declared)
            self._query.unit = _element_type(variable).get_size()
            return ["number", 0]
        init = self._shape.initial(variable)
        return self._pointed(init) if init is not None and _same_elements(self._shape._bare(init), node) else None

    def _passed_pointer(self, declared: int, node: Node) -> Tree | None:
        """A pointer that the caller passes."""
        passed = self._passed(declared)
        if self._caller is None or passed is None or not _same_elements(self._shape._bare(passed), node):
            return None
        return self._caller._pointed(passed)

    def _passed(self, declared: int) -> Node | None:
        """What the call has for a parameter."""
        at = next((i for i, param in enumerate(self._function.params) if param.number == declared), -1)
        return self._given[at] if 0 <= at < len(self._given) else None

    # ---- numbers ----

    def _tree(self, node: Node) -> Tree:
        self._query.depth += 1
        if self._query.depth > DEEPEST:
            raise Deep
        try:
            return self._of(node)
        finally:
            self._query.depth -= 1

    def _of(self, node: Node) -> Tree:
        bare = self._shape._bare(node)
        kind = self._type(bare)
        if bare.kind == "INTEGER_LITERAL":
            digits = self._shape.source(bare).rstrip("uUlL")
            return ["number", int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)]
        if not kind:
            return self._open(bare, "i64")
        if bare.kind == "CSTYLE_CAST_EXPR" and bare.children:
            inner = bare.children[-1]
            return ["to", kind, self._tree(inner)] if self._type(self._shape._bare(inner)) else self._open(bare, kind)
        if bare.kind == "DECL_REF_EXPR":
            return self._variable(bare, kind)
        if bare.kind == "CALL_EXPR":
            return self._call(bare, kind)
        if bare.kind == "BINARY_OPERATOR" and bare.operator in OPERATORS:
            return [bare.operator, kind, *map(self._tree, bare.children)]
        if bare.kind == "UNARY_OPERATOR" and bare.operator == "-":
            return ["-", kind, ["number", 0], self._tree(bare.children[0])]
        if bare.kind == "CONDITIONAL_OPERATOR" and len(bare.children) == 3:
            condition = self._tree(bare.children[0])
            if condition[0] == "number":  # of a macro, most often
                return self._converted(kind, bare.children[1 if condition[1] else 2])
            return ["?", kind, condition, *map(self._tree, bare.children[1:])]
        if bare.kind == "ARRAY_SUBSCRIPT_EXPR":
            return self._load(bare, kind)
        if bare.kind == "MEMBER_REF_EXPR":
            return self._field(bare, kind) or self._open(bare, kind)
        return self._open(bare, kind)

    def _type(self, node: Node) -> str:
        return TYPES.get(node.type_kind, "")

    def _open(self, node: Node, kind: str) -> Tree:
        return ["open", self._left(node, kind), kind]

    def _left(self, node: Node, kind: str) -> str:
        """The text of a part that is left open."""
        name = self._text(node)
        if self._home and self._type(node) == kind:
            self._query.nodes.setdefault(name, node)
        return name + self._mark

    def _load(self, node: Node, kind: str) -> Tree:
        base = self._shape._bare(node.children[0])
        argument = self._parameter(base.declared) if base.kind == "DECL_REF_EXPR" else -1
        name = self._left(node, kind)
        before, self._query.nodes = self._query.nodes, {}
        index = self._tree(node.children[1])
        self._query.nodes = before  # what its own index leaves open is no part of the index that is asked for
        return ["load", name, kind, argument, index]

    def _field(self, node: Node, kind: str) -> Tree | None:
        """A number in a struct that the kernel is passed by value, also where a helper function got the struct from its caller."""
        offset, base = 0, node
        while base.kind == "MEMBER_REF_EXPR" and base.children and not self._shape._is_arrow(base):
            at = base.children[0].type.get_canonical().get_offset(base.name)
            if at < 0 or at % 8:
                return None
            offset, base = offset + at // 8, self._shape._bare(base.children[0])
        argument = self._struct(base)
        return None if argument < 0 else ["field", argument, self._text(node) + self._mark, kind, offset]

    def _struct(self, node: Node) -> int:
        """The kernel's argument that a variable holds a copy of; -1: none."""
        declared = node.declared if node.kind == "DECL_REF_EXPR" else -1
        variable = self._function.variables.get(declared)
        if variable is None or self._shape._is_pointer(variable) or self._changes(declared) or self._changes_parts(declared):
            return -1
        if variable.kind != "PARM_DECL":
            init = self._shape.initial(variable)
            return self._struct(self._shape._bare(init)) if init is not None else -1
        if self._function.is_kernel:
            return self._parameter(declared)
        passed = self._passed(declared)
        return self._caller._struct(self._shape._bare(passed)) if self._caller is not None and passed is not None else -1

    def _changes_parts(self, declared: int) -> bool:
        """Is a field of the variable assigned to?"""
        if declared not in self._parts_changed:
            self._parts_changed[declared] = any(
                one.declared == declared
                for node in self._function.body.walk()
                if node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
                or (node.kind == "BINARY_OPERATOR" and node.operator == "=")
                or (node.kind == "UNARY_OPERATOR" and node.operator in ("x++", "x--", "++", "--"))
                for one in self._shape._path(node.children[0])
                if one.kind == "DECL_REF_EXPR"
            )
        return self._parts_changed[declared]

    def _parameter(self, declared: int) -> int:
        """Which argument of the kernel it is; -1: none."""
        if not self._function.is_kernel:
            return -1
        return next((at for at, param in enumerate(self._function.params) if param.number == declared), -1)

    def _call(self, node: Node, kind: str) -> Tree:
        arguments = node.children[1:]
        if node.name in IDS + SIZES:
            dimension = self._shape.source(arguments[0]).strip() if arguments else ""
            return ["id", node.name, int(dimension)] if dimension in ("0", "1", "2") else self._open(node, kind)
        if node.name in CALLS:
            return ["call", node.name, kind, *map(self._tree, arguments)]
        if node.name.startswith("convert_") and len(arguments) == 1 and self._type(self._shape._bare(arguments[0])):
            return ["to", kind, self._tree(arguments[0])]
        return self._inlined(node, kind) or self._open(node, kind)

    def _inlined(self, node: Node, kind: str) -> Tree | None:
        """What a helper function of the program returns, where its source says it without a loop."""
        callee, query = self._shape.functions.get(node.name), self._query
        if callee is None or callee.is_kernel or query.inlined >= MOST_INLINED:
            return None
        query.inlined += 1
        inner = Formulas(self._shape, callee, node, self, query, home=False, mark=f"{APART}{query.inlined}")
        nodes = dict(query.nodes)
        try:
            tree = inner._returned(callee.body.children, kind)
        except Deep:
            tree = None
        if tree is None:
            query.nodes = nodes
            return None
        returns = [one for one in callee.body.walk() if one.kind == "RETURN_STMT"]
        where = returns[0] if len(returns) == 1 else callee.body
        return ["named", self._text(node) + self._mark, tree, node.name, self._shape.line(where)[1]]

    def _returned(self, statements: Sequence[Node], kind: str) -> Tree | None:
        """The value of `if (a) return b; return c;`. What other statements change is left open where it is used."""
        for at, one in enumerate(statements):
            if one.kind == "RETURN_STMT":
                return self._converted(kind, one.children[0]) if one.children else None
            if not any(inner.kind == "RETURN_STMT" for inner in one.walk()):
                continue
            if one.kind == "COMPOUND_STMT":
                return self._returned([*one.children, *statements[at + 1 :]], kind)
            if one.kind != "IF_STMT":
                return None
            condition, bodies, _ = self._shape._parts_of(one)
            yes = self._returned([*bodies[:1], *statements[at + 1 :]], kind)
            no = self._returned([*bodies[1:], *statements[at + 1 :]], kind)
            if condition is None or yes is None or no is None:
                return None
            return ["?", kind, self._tree(condition), yes, no]
        return None

    def _text(self, node: Node) -> str:
        return " ".join(self._shape.source(node).split())[:60]

    def _variable(self, node: Node, kind: str) -> Tree:
        declared = node.declared
        variable = self._function.variables.get(declared)
        name = node.name + self._mark
        if variable is None:
            return ["open", name, kind]
        if variable.kind == "PARM_DECL":
            return self._argument(node, kind) or self._open(node, kind)
        if self._changes(declared):
            return self._counter(node, name, kind) or self._open(node, kind)
        init = self._shape.initial(variable)
        if init is None or not self._type(self._shape._bare(init)):
            return ["open", name, kind]
        return ["named", name, self._converted(kind, init), "", self._shape.line(variable)[1]]

    def _argument(self, node: Node, kind: str) -> Tree | None:
        """A parameter: of the kernel, or what the caller passes for it."""
        declared = node.declared
        if self._changes(declared):
            return None
        if self._function.is_kernel:
            return ["argument", self._parameter(declared), node.name, kind]
        passed = self._passed(declared)
        if self._caller is None or passed is None or not self._type(self._shape._bare(passed)):
            return None
        tree = self._caller._converted(kind, passed)
        if self._home and {"open", "load"} & set(_heads(tree)):
            self._query.nodes.setdefault(node.name, node)
        return ["named", node.name + self._mark, tree]

    def _converted(self, kind: str, init: Node) -> Tree:
        tree = self._tree(init)
        return tree if self._type(self._shape._bare(init)) == kind else ["to", kind, tree]

    def _changes(self, declared: int) -> bool:
        if declared not in self._changed:
            found = declared in self._function.taken or self._shape._changes(self._function.body, declared)
            self._changed[declared] = found
        return self._changed[declared]

    def _counter(self, node: Node, name: str, kind: str) -> Tree | None:
        """The variable of a for loop that counts in equal steps, and that only its head changes."""
        loop = node.parent
        while loop is not None and loop is not self._function.node:
            if loop.kind == "FOR_STMT":
                condition, bodies, others = self._shape._parts_of(loop)
                first = others[0] if others else None
                declares = (
                    next((c for c in first.children if c.number == node.declared), None) if first is not None else None
                )
                if declares is not None and condition is not None and len(others) == 2:
                    return self._counted(declares, condition, others[1], bodies, [name, kind])
            loop = loop.parent
        return None

    def _counted(self, variable: Node, condition: Node, step: Node, bodies: list[Node], named: Tree) -> Tree | None:
        compare, start = self._shape._bare(condition), self._shape.initial(variable)
        if start is None or compare.kind != "BINARY_OPERATOR" or compare.operator not in ("<", "<=", ">", ">="):
            return None
        left = self._shape._bare(compare.children[0])
        if left.kind != "DECL_REF_EXPR" or left.declared != variable.number:
            return None
        if any(self._shape._changes(body, variable.number) for body in bodies):
            return None
        by = self._step(self._shape._bare(step))
        if by is None:
            return None
        return ["counter", *named, self._tree(start), self._tree(compare.children[1]), compare.operator, by]

    def _step(self, step: Node) -> Tree | None:
        if step.kind == "UNARY_OPERATOR" and step.operator in ("x++", "++", "x--", "--"):
            return ["number", 1 if "+" in step.operator else -1]
        if step.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and step.operator in ("+=", "-="):
            tree = self._tree(step.children[1])
            return tree if step.operator == "+=" else ["-", "i64", ["number", 0], tree]
        return None


def _same_elements(one: Node, other: Node) -> bool:
    """Do two pointers count in elements of the same size?"""
    sizes = [_element_type(node).get_size() for node in (one, other)]
    return bool(sizes[0] == sizes[1] > 0)


def _element_type(node: Node) -> Any:
    canonical = node.type.get_canonical()
    return canonical.element_type if canonical.kind.name == "CONSTANTARRAY" else canonical.get_pointee()


def _is_linear(tree: Tree) -> bool:
    """Is one number left open, and is it only added and multiplied by others?"""
    counts = [0]

    def walk(one: Tree, straight: bool) -> bool:
        head = one[0]
        if head in ("open", "load"):
            counts[0] += 1
            return straight
        if head == "counter":
            return True  # it has few values, which are tried
        straight = straight and head in ("+", "-", "*", "named", "to")
        return all(walk(part, straight) for part in one[1:] if isinstance(part, list))

    return walk(tree, True) and counts[0] <= 1 and not (counts[0] and any(one == "counter" for one in _heads(tree)))


def _heads(tree: Tree) -> list[str]:
    return [tree[0], *(head for part in tree[1:] if isinstance(part, list) for head in _heads(part))]
