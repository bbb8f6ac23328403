"""The nodes of one source and what they look like: what is an access, what may be evaluated twice, what a loop consists of."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpudx.kernel_checks.builtins import (
    IMPURE,
)
from gpudx.kernel_checks.cl_types import is_vector_of_three, scalar_bytes, space, value
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.formulas import APART, Formulas, Query
from gpudx.kernel_checks.plan import (
    ATOMICALLY,
    BOTH,
    WRITE,
    Function,
    Root,
    Site,
    Thing,
    Way,
)
from gpudx.kernel_checks.syntax import Node, Tree

Chain = list[tuple[Function, Node | None]]  # functions, each with the call of it
CHOICES = ("IF_STMT", "SWITCH_STMT", "CONDITIONAL_OPERATOR")
AROUND = {"IF_STMT": "if", "SWITCH_STMT": "switch", "FOR_STMT": "loop", "WHILE_STMT": "loop", "DO_STMT": "loop"}
CONDITIONED = ("IF_STMT", "WHILE_STMT", "FOR_STMT")
MOST_WAYS = 32  # chains of calls to one helper function whose indexes are followed

if TYPE_CHECKING:
    from gpudx.kernel_checks.proofs import Prover
    from gpudx.kernel_checks.uniform import Uniformity


class Shape:
    def __init__(
        self,
        text: str,
        lines: list[tuple[str, int]],
        tree: Tree,
        checks: frozenset[str],
        late: bool = False,
        flat: bool = False,
    ) -> None:
        # One character per byte, because libclang counts bytes.
        self.text = text.encode("utf-8", "surrogateescape").decode("latin-1")
        self.lines = lines
        self.tree = tree
        self.checks = checks
        self.flat = flat  # the driver inlines every function
        self.late = late  # tell of accesses at the kernel's end: some compilers vectorize only then
        self.sites: list[Site] = []
        self.operations: list[tuple[Node, int]] = []  # that can make a NaN, with their sites
        self.places: dict[Node, list[int]] = {}  # sites of the accesses of one function, by node
        self.things: list[Thing] = []
        self.functions: dict[str, Function] = {}
        self.calls_of: dict[str, list[tuple[Function, Node]]] = {}  # of the program's own functions
        self.globals: dict[int, Node] = {}
        self._thing_numbers: dict[tuple[str, int], int] = {}
        self._starts = [0]
        for match in re.finditer("\n", self.text):
            self._starts.append(match.end())
        self.now: Function | None = None
        self._resolving: set[int] = set()
        self._temporary = 0
        self._prover: Prover | None = None
        self._uniform: Uniformity | None = None
        self._formulas: dict[str, list[Formulas]] = {}
        self._returns: dict[str, tuple[Root, ...] | None] = {}
        self._assigned: dict[Node, frozenset[int]] = {}  # variables that a part of the source assigns to
        self._kept: dict[int, bool] = {}  # variables that are structs: does nothing unseen change the pointers in them?
        # The arguments and arrays that work-items need not be kept apart for, while a light kernel is made (rewrite.py).
        self.light: set[int] | None = None
        self.blind = False  # some access is not seen: what it writes counts as unwritten
        self.fences = False
        self.grain = 4  # the smallest elements that are accessed
        self.local_grain = 8  # the smallest ones that casts make of local memory

    def source(self, node: Node) -> str:
        return self.text[node.start : node.end]

    def shape(self, node: Node) -> str:
        """The source for sizeof and typeof, where only the type counts: the program's own functions take more parameters now, so
        a value of the result's type stands for a call of one."""
        calls = [one for one in node.walk() if one.kind == "CALL_EXPR" and one.name in self.functions]
        return self.splice(node, [(one, f"(*({value(one.type)} *)0)") for one in calls])

    def initial(self, node: Node) -> Node | None:
        """The initial value of a declaration."""
        if not node.children:
            return None
        last = node.children[-1]
        return (
            last if last.end == node.end and last.kind not in ("TYPE_REF", "UNEXPOSED_ATTR", "ALIGNED_ATTR") else None
        )

    def _is_pointer(self, node: Node) -> bool:
        return node.type_kind == "POINTER"

    def _is_struct(self, node: Node) -> bool:
        return node.type_kind == "RECORD"

    def _is_array(self, node: Node) -> bool:
        return node.type_kind == "CONSTANTARRAY"

    def _bare(self, node: Node) -> Node:
        """Without parentheses and implicit conversions."""
        if node.bare is None:
            inner = node
            while (inner.kind == "PAREN_EXPR" or self._implicit(inner)) and inner.children:
                inner = inner.children[0]
            node.bare = inner
        return node.bare

    def _implicit(self, node: Node) -> bool:
        return (
            node.kind == "UNEXPOSED_EXPR"
            and len(node.children) == 1
            and (node.children[0].start, node.children[0].end) == (node.start, node.end)
        )

    def _is_component(self, node: Node) -> bool:
        """v.xy: some elements of a vector."""
        if node.kind != "UNEXPOSED_EXPR" or len(node.children) != 1 or node.children[0].start != node.start:
            return False
        return self.text[node.children[0].end : node.end].lstrip()[:1] in (".", "-") and node.children[0].end < node.end

    def _is_arrow(self, node: Node) -> bool:
        return self.text[node.children[0].end : node.end].lstrip().startswith("->")

    def _is_access(self, node: Node) -> bool:
        return (
            node.kind == "ARRAY_SUBSCRIPT_EXPR"
            or (node.kind == "UNARY_OPERATOR" and node.operator == "*")
            or (node.kind == "MEMBER_REF_EXPR" and bool(node.children))
            or self._is_local(node)
        )

    def _is_local(self, node: Node) -> bool:
        """A variable in local memory that is followed."""
        if (
            node.kind != "DECL_REF_EXPR"
            or self.now is None
            or not self.now.is_kernel
            or not {"races", "uninit"} & self.checks
        ):
            return False
        if "__local" not in node.type.spelling or self._is_pointer(node) or self._is_array(node):
            return False
        return node.declared in self.now.variables

    def pure(self, node: Node) -> bool:
        """May it be evaluated twice?"""
        for one in node.walk():
            if one.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
                return False
            if one.kind == "BINARY_OPERATOR" and one.operator in ("=",):
                return False
            if one.kind == "UNARY_OPERATOR" and one.operator in ("x++", "x--", "++", "--"):
                return False
            if one.kind == "CALL_EXPR" and (one.name in self.functions or IMPURE.match(one.name)):
                return False
        return True

    def _nested(self, node: Node) -> bool:
        """Are there accesses to memory within, besides the object itself?"""
        path = self._path(node)
        return any(one not in path and self._is_access(one) and not self._is_array(one) for one in node.walk())

    def _path(self, node: Node) -> list[Node]:
        """The nodes from an access down to the object or the pointer that it goes through."""
        out = [node]
        while True:
            node = self._bare(node)
            out.append(node)
            if node.kind == "ARRAY_SUBSCRIPT_EXPR":
                base = self._bare(node.children[0])
                if not self._is_array(base):
                    return out
                node = base
            elif node.kind == "MEMBER_REF_EXPR" and node.children and not self._is_arrow(node):
                node = node.children[0]
            elif node.kind == "UNARY_OPERATOR" and node.operator == "*":
                base = self._bare(node.children[0])
                if not self._is_array(base):
                    return out
                node = base
            elif self._is_component(node):
                node = node.children[0]
            else:
                return out

    def _lvalue(self, node: Node) -> Node:
        """The object in memory that an assignment changes: of a[i].x, if a[i] is a vector, a[i]."""
        node = self._bare(node)
        while self._is_component(node) and not self._is_arrow(node):
            node = self._bare(node.children[0])
        return node

    def _is_constant(self, node: Node) -> bool:
        return all(
            one.kind
            in (
                "INTEGER_LITERAL",
                "FLOATING_LITERAL",
                "UNEXPOSED_EXPR",
                "PAREN_EXPR",
                "UNARY_OPERATOR",
                "CSTYLE_CAST_EXPR",
                "TYPE_REF",
                "CHARACTER_LITERAL",
                "CXX_BOOL_LITERAL_EXPR",
            )
            for one in node.walk()
        ) and not any(one.kind == "UNARY_OPERATOR" and one.operator in ("*", "&") for one in node.walk())

    def _changes(self, body: Node, declared: int) -> bool:
        if body not in self._assigned:
            self._assigned[body] = frozenset(self._targets(body))
        return declared in self._assigned[body]

    def _targets(self, body: Node) -> Iterator[int]:
        """The variables that a part of the source assigns to."""
        for node in body.walk():
            if (
                (node.kind == "BINARY_OPERATOR" and node.operator == "=")
                or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
                or (node.kind == "UNARY_OPERATOR" and node.operator in ("x++", "x--", "++", "--"))
            ):
                target = self._bare(node.children[0])
                if target.kind == "DECL_REF_EXPR":
                    yield target.declared

    def _parts_of(self, node: Node) -> tuple[Node | None, list[Node], list[Node]]:
        """Condition, bodies, and what else a for has."""
        children = node.children
        if node.kind == "IF_STMT":
            return children[0], children[1:], []
        if node.kind in ("WHILE_STMT", "SWITCH_STMT"):
            return children[0], children[1:], []
        if node.kind == "DO_STMT":
            return children[-1], children[:-1], []
        body = children[-1]
        head_end = body.start
        open_at = self.text.index("(", node.start)
        semicolons = self._semicolons(open_at + 1, head_end)
        condition, others = None, []
        for child in children[:-1]:
            if semicolons[0] <= child.start < semicolons[1]:
                condition = child
            else:
                others.append(child)
        return condition, [body], others

    def _semicolons(self, at: int, end: int) -> tuple[int, int]:
        found: list[int] = []
        depth = 0
        while at < end and len(found) < 2:
            char = self.text[at]
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
            elif char == ";" and depth == 0:
                found.append(at)
            at += 1
        if len(found) < 2:
            raise Unsupported("a for loop is not understood")
        return found[0], found[1]

    def _pointers(self, function: Function) -> list[int]:
        out = []
        for at, param in enumerate(function.params):
            canonical = param.type.get_canonical()
            if canonical.kind.name == "POINTER":
                out.append(at)
        return out

    def _fields(self, function: Function) -> list[tuple[int, str]]:
        """Pointers in structs that a helper function is passed, by value or by their address: parameter and name of the field."""
        out = []
        for at, param in enumerate(function.params if not function.is_kernel else ()):
            canonical = param.type.get_canonical()
            if canonical.kind.name == "POINTER" and space(canonical) == "p":
                canonical = canonical.get_pointee().get_canonical()
            if canonical.kind.name == "RECORD":
                fields = canonical.get_fields()
                out += [(at, str(one.spelling)) for one in fields if one.type.get_canonical().kind.name == "POINTER"]
        return out

    def field_values(self, function: Function, declared: int, name: str) -> list[Node]:
        """What a function assigns to a pointer in a struct; to the struct as a whole where that is not a list of values."""
        found = [*function.kept.get((declared, name), [])]
        for whole in function.sources.get(declared, []):
            values = self._bare(whole)
            at = self.place_in(values, name) if values.kind == "INIT_LIST_EXPR" else None
            found += values.children[at : at + 1] if at is not None else [whole]
        steps = ("COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR")
        for node in function.body.walk() if found else ():
            target = self._bare(node.children[0]) if node.kind in steps else node
            if target is not node and target.kind == "MEMBER_REF_EXPR" and target.name == name and node.operator not in ("*", "&"):
                found.append(node)
        return found

    def place_in(self, values: Node, name: str) -> int | None:
        """Where a list of values for a struct has the one of a field; None where that takes more than counting."""
        fields = list(values.type.get_canonical().get_fields())
        at = next(i for i, one in enumerate(fields) if one.spelling == name)
        simple = all(one.type.get_canonical().kind.name not in ("RECORD", "CONSTANTARRAY") for one in fields[:at])
        return at if simple and not any(self.text.startswith(".", one.start) for one in values.children) else None

    def splice(self, node: Node, parts: list[tuple[Node, str]]) -> str:
        """The text of a node with some of its parts replaced."""
        out, at = [], node.start
        for part, new in sorted(parts, key=lambda one: one[0].start):
            if part.start < at:
                continue
            out += [self.text[at : part.start], new]
            at = part.end
        out.append(self.text[at : node.end])
        return "".join(out)

    def line(self, node: Node) -> tuple[str, int]:
        at = bisect.bisect_right(self._starts, node.start) - 1
        return self.lines[at] if at < len(self.lines) else ("", 0)

    def _conditional(self, node: Node) -> bool:
        """Does a condition decide about it, or has the function returned for some work-items before?"""
        above: Node | None = node.parent
        while above is not None and above.kind != "FUNCTION_DECL":
            if above.kind in CHOICES or (above.kind == "BINARY_OPERATOR" and above.operator in ("&&", "||")):
                return True
            above = above.parent
        if self.now is None:
            return False
        if self.now.first_return is None:
            returns = [one.start for one in self.now.body.walk() if one.kind == "RETURN_STMT"]
            self.now.first_return = min(returns, default=len(self.text))
        return self.now.first_return < node.start

    def _inside(self, node: Node) -> tuple[tuple[str, int, str], ...]:
        """The choices and loops whose bodies a node is in, from the outside."""
        found = []
        above: Node | None = node.parent
        while above is not None and above.kind != "FUNCTION_DECL":
            if above.kind in AROUND:
                condition, bodies, _ = self._parts_of(above)
                at = next((i for i, body in enumerate(bodies) if body.start <= node.start < body.end), None)
                if at is not None:
                    kind = AROUND[above.kind] if not at or above.kind != "IF_STMT" else "else"
                    found.append((kind, self.line(above)[1], self._shown(condition) if condition is not None else ""))
            above = above.parent
        return tuple(reversed(found))

    def _variable_of(self, node: Node) -> int:
        """The variable that an expression is, or is a field of; -1: another expression."""
        node = self._bare(node)
        while node.kind == "MEMBER_REF_EXPR" and node.children and not self._is_arrow(node):
            node = self._bare(node.children[0])
        return node.declared if node.kind == "DECL_REF_EXPR" else -1

    def _guards(self, node: Node) -> tuple[tuple[int, str], ...]:
        """Comparisons with a number among the kernel's arguments, in conditions above the access: (argument, "i < n")."""
        assert self.now is not None
        if self.now.guards is None:
            numbers = {param.number: at for at, param in enumerate(self.now.params) if not self._is_pointer(param)}
            self.now.guards = [
                (one.start, numbers[side], " ".join(self.source(one).split())[:60])
                for control in self.now.body.walk()
                if control.kind in CONDITIONED
                for part in control.children[:1 if control.kind == "IF_STMT" else -1]
                for one in part.walk()
                if one.kind == "BINARY_OPERATOR" and one.operator in ("<", "<=", ">", ">=")
                for side in map(self._variable_of, one.children)
                if side in numbers
            ]
        return tuple(dict.fromkeys((at, text) for start, at, text in self.now.guards if start < node.start))

    def site(self, kind: str, node: Node, proved: bool = False, how: int = 0, roots: Iterable[Root] = ()) -> int:
        if (
            not proved
            and self._prover is not None
            and kind != "overflow"
            and not (kind == "barrier" and node.kind == "CALL_EXPR")
        ):
            self._prover.give_up()
        file, line = self.line(node)
        text = self._shown(node)
        index, name, argument, ways = "", "", -1, []
        self.hinted: Node | None = None
        if kind == "access" and self.now is not None:
            for formulas in self._formulas_of(self.now):
                index = formulas.index_of(node)
                argument = formulas.argument
                ways.append(self._way(formulas, index))
                name, self.hinted = (name, self.hinted) if name else formulas.hint(index) or ("", None)
        elif kind == "overflow" and self.now is not None and self.now.is_kernel:
            index = self._formulas_of(self.now)[0].number(node)
        if self.now is not None and not self.now.is_kernel:
            index, argument = "", -1
        own = self.now is not None and self.now.is_kernel
        where = self.now.name if self.now else ""
        guards = self._guards(node) if kind == "access" and own else ()
        site = Site(kind, file, line, text, where, index, name, argument, () if own else tuple(ways), (), guards, nth=self._nth(node))
        if kind == "access":
            things = tuple(sorted(self._thing_numbers[root] for root in roots if root in self._thing_numbers))
            is_local = any(self.things[one].space == "local" or self.things[one].kind == "local" for one in things)
            site = replace(site, how=how & (BOTH | ATOMICALLY), things=things, is_local=is_local, conditional=self._conditional(node))
            site = replace(site, inside=self._inside(node))
            self.places.setdefault(node, []).append(len(self.sites) + 1)
        self.sites.append(site)
        return len(self.sites)

    def _shown(self, node: Node) -> str:
        return " ".join(self.source(node).split())[:120]

    def _way(self, formulas: Formulas, index: str) -> Way:
        call = formulas.call
        if call is None:
            return Way(formulas.kernel, index, formulas.argument)
        return Way(formulas.kernel, index, formulas.argument, *self.line(call), self._shown(call), self._nth(call))

    def _nth(self, node: Node) -> int:
        """How often the text of a node is in its line before it: the line may be the whole source, of a macro that makes a string."""
        at = bisect.bisect_right(self._starts, node.start) - 1
        before = self.text[self._starts[at] : node.start] if at >= 0 else ""
        return "".join(before.split()).count("".join(self.source(node).split()))

    def _formulas_of(self, function: Function) -> list[Formulas]:
        """One for a kernel; for a helper function one per chain of calls that leads to it, or none where these are many."""
        if function.name not in self._formulas:
            chains = self._chains(function, MOST_WAYS, ())
            self._formulas[function.name] = [self._chain(one) for one in chains or []]
        return self._formulas[function.name]

    def _chain(self, calls: Chain) -> Formulas:
        query, formulas = Query(), None
        for at, (function, call) in enumerate(calls):
            home = at == len(calls) - 1
            mark = "" if home else f"{APART}c{at}"
            formulas = Formulas(self, function, call, formulas, query, home, mark)
        assert formulas is not None
        return formulas

    def _chains(self, function: Function, most: int, below: tuple[str, ...]) -> list[Chain] | None:
        """The calls from each kernel down to a function; None: more than so many, or without an end."""
        if function.is_kernel:
            return [[(function, None)]]
        if most <= 0 or function.name in below:
            return None
        found: list[Chain] = []
        for caller, call in self.calls_of.get(function.name, []):
            above = self._chains(caller, most - len(found), (*below, function.name))
            if above is None or len(found) + len(above) > most:
                return None
            found += [[*one, (function, call)] for one in above]
        return found

    def _miss(self) -> None:
        """An access that is not checked."""
        assert self.now is not None
        self.now.unchecked += 1
        self.blind = True
        if self._prover is not None:
            self._prover.give_up()

    def mode(self, how: int, element: Any, roots: Iterable[Root] = ()) -> str:
        """Kind of access, and whether it is a struct or a vector of three: those have gaps."""
        if how & WRITE and self.now is not None:
            self.now.written |= {declared for kind, declared in roots if kind == "param"}
        record = 16 if element.get_canonical().kind.name in ("RECORD", "CONSTANTARRAY") else 0
        three = 128 if is_vector_of_three(element) else 0
        self.grain = min(self.grain, scalar_bytes(element))
        return f"{how | record | three}u"
