"""Statements and expressions, from the outside to the accesses within."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import replace

from gpudx.kernel_checks.builtins import (
    BARRIERS,
    global_only,
)
from gpudx.kernel_checks.calls import Calls
from gpudx.kernel_checks.cl_types import plain, qualifier
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.formulas import TYPES
from gpudx.kernel_checks.plan import (
    ADDRESS,
    BOTH,
    CONSTANT,
    CONSTANT_AT,
    READ,
    WRITE,
    Function,
)
from gpudx.kernel_checks.syntax import Node

NUMBERS = {**TYPES, "FLOAT": "f32", "DOUBLE": "f64"}
WATCHED = {"i": "(ulong)(long)({})", "u": "(ulong)({})", "f": "(ulong)as_uint({})"}
ALIGNED = 16  # bytes
MOST_WATCHED = 3  # numbers of a loop
DEEPEST_LOOP = 64
LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT"}
READING = ("ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR", "CALL_EXPR")
SOON = 1 << 28  # a loop that counts so far, or less, only takes its time


class Statements(Calls):
    def statement(self, node: Node) -> str:
        kind = node.kind
        if kind == "COMPOUND_STMT":
            return self.splice(node, [(child, self.statement(child)) for child in node.children])
        if kind == "DECL_STMT":
            return self._declaration(node)
        if kind == "RETURN_STMT":
            return self._return(node)
        if kind in ("IF_STMT", "SWITCH_STMT", "WHILE_STMT", "DO_STMT", "FOR_STMT"):
            return self._control(node)
        if kind in ("CASE_STMT", "DEFAULT_STMT", "LABEL_STMT"):
            parts = [(child, self.statement(child)) for child in node.children[-1:]]
            return self.splice(node, parts)
        if kind in ("BREAK_STMT", "CONTINUE_STMT", "NULL_STMT", "GOTO_STMT"):
            return self.source(node)
        if kind == "CALL_EXPR" and node.name in BARRIERS:
            return self._barrier(node)
        return self._stored_last(node) or self.unused(node)

    def _declaration(self, node: Node) -> str:
        parts: list[tuple[Node, str]] = []
        for child in node.children:
            if child.kind != "VAR_DECL":
                continue
            init = self.initial(child)
            if init is not None:
                text = self.expression(init, READ)
                if "overflow" in self.checks:
                    text = self._overflow(child.number, init, text)
                parts.append((init, self._nan(init, text)))
        return self._aligned(node) + self.splice(node, parts)

    def _aligned(self, node: Node) -> str:
        """Arrays get the alignment that they commonly have. The language gives `__local float t[20]` the alignment of a float only, but
        compilers put it at a multiple of 16, and programs access it as float4. What the rewritten kernel declares besides would move it
        (seen with NVIDIA's OpenCL), and such an access fails then."""
        kinds = [child.type for child in node.children if child.kind == "VAR_DECL" and self._is_array(child)]
        wide = [one for one in kinds if one.get_canonical().get_size() >= ALIGNED > one.get_canonical().get_align() > 0]
        mine = any(qualifier(one) == "l" or (qualifier(one) == "p" and "align" in self.checks) for one in wide)
        return f"__attribute__((aligned({ALIGNED}))) " if mine else ""

    def _return(self, node: Node) -> str:
        assert self.now is not None
        if self.now.is_kernel:
            return "do { gdx_end(gdx); return; } while (0)"
        return self.splice(node, [(child, self._nan(child, self.expression(child, READ))) for child in node.children])

    def _control(self, node: Node) -> str:
        parts: list[tuple[Node, str]] = []
        uniform = self._uniform
        condition, bodies, others = self._parts_of(node)
        if condition is not None:
            text = self.expression(condition, READ)
            if self._may_not_end(node, others) and any(map(self._is_access, node.walk())):
                text = f"(gdx_goes_on(gdx) && ({text}))"
            if uniform is not None and node.kind != "SWITCH_STMT" and uniform.must_agree(node, condition):
                text = self._agreeing(node, condition, text)
            if "loops" in self.checks and node.kind in LOOPS:
                turns = self._step(node, condition)
                left = self._left_to_count(node)
                text = f"({f'({left} < {SOON} || {turns})' if left else turns} && ({text}))"
            parts.append((condition, text))
        for other in others:
            parts.append((other, self._declaration(other) if other.kind == "DECL_STMT" else self.unused(other)))
        for body in bodies:
            parts.append((body, self.statement(body)))
        text = self.splice(node, parts)
        if condition is None and "loops" in self.checks and node.kind == "FOR_STMT":
            text = self._endless(node, text)
        if uniform is not None and uniform.restores(node):
            self._temporary += 1
            name = f"gdx_apart{self._temporary}"
            inside = f"{{ const uint {name} = gdx->apart; {text}; gdx->apart = {name}; }}"
            # A semicolon that follows belongs to the statement, though not to its extent; nothing in here leaves a loop outside.
            return f"do {inside} while (0)" if self.text[node.end : node.end + 200].lstrip()[:1] == ";" else inside
        return text

    def _may_not_end(self, node: Node, others: list[Node]) -> bool:
        """A loop that may wait for a value that it reads. One that counts upwards ends; `for (uint i = n; i >= 0; --i)` does not."""
        if node.kind == "FOR_STMT" and others:
            step = self._bare(others[-1])
            return not (
                (step.kind == "UNARY_OPERATOR" and step.operator in ("x++", "++"))
                or (step.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and step.operator not in ("-=", "="))
            )
        return node.kind in ("WHILE_STMT", "DO_STMT")

    def _agreeing(self, node: Node, condition: Node, text: str) -> str:
        assert self._uniform is not None
        if self._prover is not None:
            self._prover.give_up()
        here = self.site("barrier", condition)
        certain = self._uniform.certain(node)
        if certain is None:
            return f"gdx_agree(gdx, ({text}) ? 1 : 0, {here}u)"
        return f"gdx_split(gdx, ({text}) ? 1 : 0, {here}u, {self.site('barrier', certain)}u)"

    def _endless(self, node: Node, text: str) -> str:
        """for (;;): the condition is empty."""
        return re.sub(r";\s*;", f"; {self._step(node, node)};", text, count=1)

    def _step(self, loop: Node, shown: Node) -> str:
        """Counts the turns of a loop, with the numbers that its end depends on."""
        assert self.now is not None
        found = self._compared(shown) or [(name, kind, name) for name, kind in self._deciding(loop)]
        number = self.site("loop", shown)
        names = tuple(f"{name} {kind}" for name, kind, _ in found)
        exits = self._exits(loop)
        site = replace(
            self.sites[number - 1],
            watched=names,
            exits=tuple(" ".join(self.source(one).split())[:80] for one in exits),
            loads=tuple(dict.fromkeys(load for one in exits for load in self._read_for(one, loop)))[:MOST_WATCHED],
            uses=self._numbers_used(loop),
        )
        bodies = self._parts_of(loop)[1]
        head = self.text[loop.start : bodies[0].start].strip()  # of `for (;;)`
        self.sites[number - 1] = site if shown is not loop else replace(site, text=" ".join(head.split()))
        texts = [WATCHED[kind[0]].format(text) if kind != "f64" else f"as_ulong({text})" for _, kind, text in found]
        values = ", ".join([*texts, "0", "0", "0"][:MOST_WATCHED])
        depth = sum(one.kind in LOOPS for one in self._above(loop))
        return f"gdx_step(gdx, {number}u, {self._level(self.now) * DEEPEST_LOOP + min(depth, DEEPEST_LOOP - 1)}u, {values})"

    def _compared(self, condition: Node) -> list[tuple[str, str, str]]:
        """The two sides of a comparison with an element of memory: how they are shown, their types, and an expression without effects."""
        bare = self._bare(condition)
        if bare.kind != "BINARY_OPERATOR" or bare.operator not in ("==", "!=", "<", "<=", ">", ">="):
            return []
        sides = [self._bare(one) for one in bare.children]
        read = [self._read_atomically(one) for one in sides]
        kinds = [NUMBERS.get(one.type.get_canonical().kind.name, "") for one in sides]
        pairs = list(zip(sides, read, strict=True))
        waits = any(atomic is not None or self._is_access(side) for side, atomic in pairs)
        if not waits or not all(kinds) or not all(atomic is not None or self.pure(side) for side, atomic in pairs):
            return []
        shown = [" ".join(self.source(atomic or side).split())[:60] for side, atomic in pairs]
        found = zip(shown, kinds, (self.expression(one, READ) for one in sides), strict=True)
        return [one for one, side in zip(found, sides, strict=True) if side.kind != "INTEGER_LITERAL"]

    def _read_atomically(self, node: Node) -> Node | None:
        """The element that `atomic_add(&flag[i], 0)` reads: many sources wait for a value in this way."""
        changes = re.fullmatch(r"atom(?:ic)?_(?:add|or|xor|sub)", node.name) if node.kind == "CALL_EXPR" else None
        if changes is None or len(node.children) != 3 or self.source(node.children[2]).strip("uUlL ") != "0":
            return None
        place = self._bare(node.children[1])
        return place.children[0] if place.kind == "UNARY_OPERATOR" and place.operator == "&" else None

    def _left_to_count(self, loop: Node) -> str:
        """How far a loop still counts, as an expression: of one that only counts, up or down, to a number that it leaves alone. It ends."""
        assert self.now is not None
        condition, bodies, others = self._parts_of(loop)
        compare = self._bare(condition) if loop.kind == "FOR_STMT" and condition is not None and others else None
        if compare is None or compare.kind != "BINARY_OPERATOR" or compare.operator not in ("<", "<=", ">", ">="):
            return ""
        counter, limit, up = self._bare(compare.children[0]), compare.children[1], compare.operator[0] == "<"
        kinds = [TYPES.get(one.type_kind, "") for one in (counter, self._bare(limit))]
        wraps = kinds[0][1:] not in ("32", "64") or (kinds[0][0] == "u" and compare.operator == ">=")  # then it may never be left
        if counter.kind != "DECL_REF_EXPR" or not all(kinds) or wraps:
            return ""
        fixed = [one.declared for one in limit.walk() if one.kind == "DECL_REF_EXPR"]
        moves = any(self._changes(body, one) for body in bodies for one in (counter.declared, *fixed))
        reads = any(one.kind in READING or (one.kind == "UNARY_OPERATOR" and one.operator == "*") for one in limit.walk())
        shared = any(one in self.now.taken for one in (counter.declared, *fixed))
        if moves or reads or shared or self._direction(self._bare(others[-1]), counter.declared) != (1 if up else -1):
            return ""
        ends = [f"(long)({self.source(limit)})", f"(long)({self.source(counter)})"]
        return " - ".join(ends if up else reversed(ends))

    def _direction(self, step: Node, declared: int) -> int:
        """1 where the end of a turn counts a variable up, -1 down, 0 where that is not certain."""
        target = self._bare(step.children[0]) if step.children else None
        if target is None or target.kind != "DECL_REF_EXPR" or target.declared != declared:
            return 0
        if step.kind == "UNARY_OPERATOR":
            return {"x++": 1, "++": 1, "x--": -1, "--": -1}.get(step.operator, 0)
        by = self._bare(step.children[1]) if step.kind == "COMPOUND_ASSIGNMENT_OPERATOR" else None
        counts = by is not None and by.kind == "INTEGER_LITERAL" and self.source(by).strip("0uUlL")
        return {"+=": 1, "-=": -1}.get(step.operator, 0) if counts else 0

    def _exits(self, loop: Node) -> list[Node]:
        """Conditions in the body that decide about a return, or about a break of this loop."""
        found: list[Node] = []
        for one in loop.walk():
            inner = next((above for above in self._above(one) if above.kind in (*LOOPS, "SWITCH_STMT")), None)
            leaves = one.kind == "RETURN_STMT" or (one.kind == "BREAK_STMT" and inner is loop)
            choice = next((above for above in self._above(one) if above.kind == "IF_STMT"), None) if leaves else None
            if choice is not None and loop.start < choice.start:
                found.append(choice.children[0])
        return list(dict.fromkeys(found))

    def _read_for(self, node: Node, loop: Node, seen: tuple[int, ...] = ()) -> Iterator[tuple[str, int, str]]:
        """Elements of arguments that a condition depends on, also through variables that the loop sets."""
        assert self.now is not None
        for one in node.walk():
            base = self._bare(one.children[0]) if one.kind == "ARRAY_SUBSCRIPT_EXPR" else None
            if base is not None and base.kind == "DECL_REF_EXPR":
                at = next((i for i, param in enumerate(self.now.params) if param.number == base.declared), -1)
                if at >= 0 and self.now.is_kernel:
                    yield " ".join(self.source(one).split())[:60], at, ""
            elif one.kind == "DECL_REF_EXPR" and one.declared not in seen:
                for value in self._set_in(loop, one.declared):
                    yield from self._read_for(value, loop, (*seen, one.declared))

    def _set_in(self, loop: Node, declared: int) -> Iterator[Node]:
        """What a loop assigns to a variable."""
        for one in loop.walk():
            if one.kind == "VAR_DECL" and one.number == declared and (init := self.initial(one)) is not None:
                yield init
            elif one.kind == "BINARY_OPERATOR" and one.operator == "=":
                target = self._bare(one.children[0])
                if target.kind == "DECL_REF_EXPR" and target.declared == declared:
                    yield one.children[1]

    def _numbers_used(self, loop: Node) -> tuple[int, ...]:
        assert self.now is not None
        numbers = {param.number: at for at, param in enumerate(self.now.params) if not self._is_pointer(param)}
        used = [numbers[one.declared] for one in loop.walk() if one.kind == "DECL_REF_EXPR" and one.declared in numbers]
        return tuple(dict.fromkeys(used)) if self.now.is_kernel else ()

    def _deciding(self, loop: Node) -> list[tuple[str, str]]:
        """Numbers that the condition of a loop compares, then those from outside that the loop changes, with their types."""
        assert self.now is not None
        condition, bodies, _ = self._parts_of(loop)
        compared = [
            one.declared for one in (condition.walk() if condition is not None else ()) if one.kind == "DECL_REF_EXPR"
        ]
        outside = [
            at
            for at, one in self.now.variables.items()
            if one.end <= loop.start and one.kind in ("VAR_DECL", "PARM_DECL")
        ]
        changed = [at for at in outside if any(self._changes(body, at) for body in bodies)]
        found: dict[str, str] = {}
        for declared in dict.fromkeys([*compared, *changed]):
            variable = self.now.variables.get(declared)
            kind = NUMBERS.get(variable.type_kind, "") if variable is not None else ""
            if (
                variable is not None
                and kind
                and declared not in self.now.taken
                and "__local" not in variable.type.spelling
            ):
                found.setdefault(variable.name, kind)
        return list(found.items())[:MOST_WATCHED]

    def _above(self, node: Node) -> Iterator[Node]:
        above = node.parent
        while above is not None:
            yield above
            above = above.parent

    def _level(self, function: Function, below: tuple[str, ...] = ()) -> int:
        """How many calls lie between a kernel and a function, at most."""
        if function.is_kernel or function.name in below:
            return 0
        callers = {caller.name: caller for caller, _ in self.calls_of.get(function.name, [])}
        return 1 + max((self._level(one, (*below, function.name)) for one in callers.values()), default=0)

    def _barrier(self, node: Node) -> str:
        assert self.now is not None
        parts = [(child, self.expression(child, READ)) for child in node.children[1:]]
        text = self.splice(node, parts)
        before = after = ""
        if {"races", "uninit"} & self.checks:
            after = " gdx->f->passed++;" if global_only(self.source(node)) else " gdx->f->epoch++; gdx->f->passed++;"
        if "barriers" in self.checks and self._uniform is not None:
            leave = "gdx_end(gdx); return;" if self.now.is_kernel else self._leave()
            lost = f"gdx_lost(gdx, {self.site('barrier', node)}u)"
            if leave:
                before = f"{lost}; " if self.flat else f"if ({lost}) {{ {leave} }} "
        return f"do {{ {before}{text};{after} }} while (0)"

    def _leave(self) -> str:
        assert self.now is not None
        result = self.now.node.type.get_result()
        if result.kind.name == "VOID":
            return "return;"
        return f"{{ {plain(result)} gdx_none; return gdx_none; }}"

    def unused(self, node: Node) -> str:
        """An expression whose value nobody wants."""
        bare = node
        while bare.kind == "PAREN_EXPR" or (bare.kind == "UNEXPOSED_EXPR" and self._implicit(bare)):
            bare = bare.children[0]
        if bare.kind == "BINARY_OPERATOR" and bare.operator == ",":
            left, right = bare.children
            return f"({self.unused(left)}, {self.unused(right)})"
        stores = (
            bare.kind == "BINARY_OPERATOR" and bare.operator == "="
        ) or bare.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
        steps = bare.kind == "UNARY_OPERATOR" and bare.operator in ("x++", "x--", "++", "--")
        if stores or steps:
            guarded = self._guarded_store(bare)
            if guarded is not None:
                return guarded
        return self.expression(node, READ)

    def _stored_last(self, node: Node) -> str | None:
        """`v[i] = a * v[i]`: what is read of the memory that is written has to be checked before the write marks it as written. Two
        arguments may be the same buffer."""
        if "uninit" not in self.checks or node.kind != "BINARY_OPERATOR" or node.operator != "=":
            return None
        left, right = node.children
        target = self._lvalue(left)
        read = [one for one in right.walk() if self._is_access(one)]
        if not self._zero(left) or not self._is_simple(target) or not any(self._may_be_same(target, one) for one in read):
            return None
        guard = self.guard(target, WRITE)
        if not guard:
            return None
        self._temporary += 1
        name = f"gdx_value{self._temporary}"
        stored = self.splice(node, [(right, name)])
        return f"do {{ const {plain(left.type)} {name} = {self._right(node)}; if ({guard}) {{ {stored}; }} }} while (0)"

    def _may_be_same(self, one: Node, other: Node) -> bool:
        """Can two accesses be to the same array, or to the same memory by two pointers?"""
        a, b = self._base(one), self._base(other)
        return self._is_pointer(a) if a.declared != b.declared and self._is_pointer(b) else a.declared == b.declared

    def _base(self, access: Node) -> Node:
        last = self._path(access)[-1]
        return self._bare(last.children[0]) if last.children else last

    def _is_simple(self, target: Node) -> bool:
        return self._is_access(target) and self.pure(target) and not self._nested(target)

    def _guarded_store(self, node: Node) -> str | None:
        target = self._lvalue(node.children[0])
        if not self._is_simple(target):
            return None
        simple = node.kind == "BINARY_OPERATOR"
        how = WRITE if simple else BOTH
        if simple and self._is_component(self._bare(node.children[0])):
            how = WRITE
        guard = self.guard(target, how | (self._constant_written(node.children[1]) | self.settling if simple else 0))
        if guard is None:
            return None
        if not guard:
            return (
                self.splice(node, [(node.children[1], self._right(node))])
                if len(node.children) > 1
                else self.source(node)
            )
        if len(node.children) > 1:
            parts = [(node.children[1], self._right(node))]
            text = self._stored(node, self.splice(node, parts), self.source(node.children[0]))
        else:
            text = self.source(node)
        return f"({guard} ? (void)({text}){self.settled(guard)} : (void)0)"

    def _stored(self, node: Node, text: str, old: str = "") -> str:
        """The whole of `x /= y`: its value is what x has then. `old` is x, where it is in memory."""
        if node.kind != "COMPOUND_ASSIGNMENT_OPERATOR" or not self._number(node):
            return text
        before = f"(void){self._came_in(node, old)}, " if old else ""
        return f"({before}{self._nan(node, f'({text})')})"

    def _constant_written(self, value: Node) -> int:
        """Work-items that write the same constant do not disturb each other: the mode says which one, in two bits."""
        if not self._is_constant(value):
            return 0
        known = self._most(value)
        return CONSTANT | ((zlib.crc32(self.source(value).encode()) if known is None else known) & 3) << CONSTANT_AT

    def _right(self, node: Node) -> str:
        """The right side of an assignment."""
        text = self.expression(node.children[1], READ)
        if node.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and node.operator in ("/=", "%=") and "div" in self.checks:
            text = self._divisor(node, node.children[1], text)
        target = self._bare(node.children[0])
        if "overflow" in self.checks and target.kind == "DECL_REF_EXPR" and node.operator == "=":
            text = self._overflow(target.declared, node.children[1], text)
        return self._nan(node.children[1], text) if node.kind == "BINARY_OPERATOR" else text

    def expression(self, node: Node, how: int) -> str:
        kind = node.kind
        if kind == "PAREN_EXPR" or (kind == "UNEXPOSED_EXPR" and self._implicit(node)):
            return self.splice(node, [(node.children[0], self.expression(node.children[0], how))])
        if kind == "CXX_UNARY_EXPR":
            return self.shape(node)  # sizeof: nothing is evaluated
        if self._is_component(node):
            child = node.children[0]
            arrow = self._is_arrow(node)
            return self.splice(node, [(child, self.expression(child, READ if arrow else how))])
        if self._is_access(node):
            return self.access(node, how)
        if kind == "UNARY_OPERATOR":
            operator = node.operator
            inner = ADDRESS if operator == "&" else BOTH if operator in ("x++", "x--", "++", "--") else READ
            return self.splice(node, [(node.children[0], self.expression(node.children[0], inner))])
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            return self._binary(node)
        if kind == "CALL_EXPR":
            return self.call(node)
        if kind == "StmtExpr":
            raise Unsupported("it has statements within expressions")
        if kind == "COMPOUND_STMT":
            return self.statement(node)
        if not node.children:
            return self.source(node)
        return self.splice(
            node, [(child, self.expression(child, READ)) for child in node.children if child.kind != "TYPE_REF"]
        )

    def _binary(self, node: Node) -> str:
        left, right = node.children[0], node.children[1]
        operator = node.operator
        if operator == "=" or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            how = WRITE | self._constant_written(right) if operator == "=" else BOTH
            text = self.splice(node, [(left, self.expression(left, how)), (right, self._right(node))])
            return self._stored(node, text) if self._bare(left).kind == "DECL_REF_EXPR" else text
        text = self.expression(right, READ)
        if operator in ("/", "%") and "div" in self.checks:
            text = self._divisor(node, right, text)
        operands = [(left, self.expression(left, READ)), (right, text)]
        return self._made_by(node, operands) or self.splice(node, operands)
