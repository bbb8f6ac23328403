"""Sums and products of 32 bits and less, and the text that computes them in 64.

A variable that sums or products are assigned to becomes a long, and what is assigned to it is computed in 64 bits. A sum or product that
becomes a floating-point or longer number, is divided or is compared is computed in 64 bits where it stands. Indexes are left out: an
access with a wrong one is seen by checks inside the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gpudx.kernel_checks.cl_types import FLOATS, plain, qualifier
from gpudx.kernel_checks.suspects import Edit, Reading, Suspect, edited, tree_of
from gpudx.kernel_checks.syntax import Node

NARROW = ("INT", "UINT", "SHORT", "USHORT", "CHAR_S", "SCHAR", "UCHAR", "CHAR_U")
WIDE = ("LONG", "ULONG")
GROWING, THROUGH = ("+", "-", "*", "<<"), ("+", "-", "*", "<<", "/")
ASSIGNED = ("+=", "-=", "*=", "<<=")
ORDERED = ("/", "<", ">", "<=", ">=")
SKIPPED = ("PAREN_EXPR", "UNEXPOSED_EXPR")
MOST = 16
BLOCKS = ("COMPOUND_STMT", "FOR_STMT", "WHILE_STMT", "IF_STMT")
FIRST = 4096  # work-items whose expressions are printed
MARK = "gdx-wrap"  # in front of the numbers that a run prints
TOLD = re.compile(rf"{MARK} (\d+) (-?\d+) (-?\d+) (\d+) (\d+) (\d+)")
WORDS = re.compile(r"(?:(?:const|volatile|private|__private|unsigned|signed|[A-Za-z_]\w*)\s+)+")


@dataclass(frozen=True)
class Wrap:
    """What one work-item computed when a variable outgrew its type."""

    number: int  # of the suspect, from 1
    before: int
    after: int
    item: tuple[int, int, int]


@cache
def narrow(source: str, build_options: str) -> tuple[Suspect, ...]:
    """The places, variables first."""
    tree = tree_of(source, build_options)
    if tree is None:
        return ()
    reading = Reading(source, tree)
    kernels, found = reading.kernels(), list[Suspect]()
    for function in reading.functions:
        body = _Body(reading, function)
        found += [replace(one, function=function.name, kernels=kernels[function.name]) for one in body.suspects()]
    found.sort(key=lambda one: not one.name)
    return tuple(one for one in found[:MOST] if tree_of(edited(source, one.edits), build_options) is not None)


class _Body:
    """One function."""

    def __init__(self, reading: Reading, function: Node) -> None:
        self.reading = reading
        self.nodes = function.walk()
        self.indexes = {node for one in self.nodes if one.kind == "ARRAY_SUBSCRIPT_EXPR" for node in one.children[1].walk()}
        self.kept = {one.declared for one in self.indexes if one.kind == "DECL_REF_EXPR"} | self._taken()
        self.given = self._assignments()

    def suspects(self) -> Iterator[Suspect]:
        covered: set[Node] = set()
        for node in self.nodes:
            if node.kind == "DECL_STMT" and (suspect := self._declaration(node)):
                covered |= {inner for one in self._values(node) for inner in one.walk()}
                yield suspect
        for node in self.nodes:
            if node not in covered and node not in self.indexes and (suspect := self._expression(node)):
                yield suspect

    def _taken(self) -> set[int]:
        found = (_bare(one.children[0]) for one in self.nodes if one.kind == "UNARY_OPERATOR" and one.operator == "&")
        return {one.declared for one in found if one.kind == "DECL_REF_EXPR"}

    def _assignments(self) -> dict[int, list[Node]]:
        """Of variables: what is assigned to them."""
        found: dict[int, list[Node]] = {}
        for one in self.nodes:
            compound = one.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and one.operator in ASSIGNED
            if compound or (one.kind == "BINARY_OPERATOR" and one.operator == "="):
                target = _bare(one.children[0])
                if target.kind == "DECL_REF_EXPR":
                    found.setdefault(target.declared, []).append(one)
        return found

    # ---- variables ----

    def _declaration(self, statement: Node) -> Suspect | None:
        made = statement.children
        if not made or any(one.kind != "VAR_DECL" or not _is_narrow(one) or one.number in self.kept for one in made):
            return None
        grown = [one for one in made if self._grows(one)]
        kind = self.reading.data[statement.start : made[0].name_start].decode("utf-8", "replace")
        above = statement.parent
        if not grown or above is None or above.kind not in ("COMPOUND_STMT", "FOR_STMT") or not WORDS.fullmatch(kind):
            return None
        if any(qualifier(one.type) != "p" for one in made):
            return None
        wider = "const long " if "const" in kind.split() else "long "
        edits = (Edit(statement.start, made[0].name_start, wider), *self._widened(self._values(statement)))
        first = grown[0]
        growth = next(filter(_makes_more, [*self.given.get(first.number, ()), *first.children]))
        is_init = growth in first.children
        words = self.reading.data[first.name_start if is_init else growth.start : growth.end].decode("utf-8", "replace")
        return Suspect(
            self.reading.source, name=first.name, type=plain(first.type), line=self.reading.line(first.name_start),
            text=" ".join(words.split()), edits=edits,
            used=self.reading.line(growth.start), place=(growth.start, growth.end),
            certain=not is_init and _is_statement(self.reading, growth),
        )  # fmt: skip

    def _grows(self, variable: Node) -> bool:
        return any(map(_makes_more, [*self.given.get(variable.number, ()), *variable.children]))

    def _values(self, statement: Node) -> list[Node]:
        """What the variables of a declaration are given."""
        inits = [child for one in statement.children for child in one.children]
        later = [node.children[1] for one in statement.children for node in self.given.get(one.number, ())]
        return [*inits, *later]

    # ---- expressions ----

    def _expression(self, node: Node) -> Suspect | None:
        if not _is_growing(node) or not any(_is_growing(one) and one.operator in ("*", "<<", "+") for one in node.walk()):
            return None
        above = node.parent
        while above is not None and above.kind == "PAREN_EXPR":
            above = above.parent
        if above is None or _is_growing(above) or not self._matters(above):
            return None
        text = " ".join(self.reading.text(node).split())
        line = self.reading.line(node.start)
        return Suspect(
            self.reading.source, type=plain(node.type), line=line, text=text, edits=tuple(self._widened([node])), used=line,
            place=(node.start, node.end),
        )  # fmt: skip

    def _matters(self, above: Node) -> bool:
        becomes = above.kind in ("UNEXPOSED_EXPR", "CSTYLE_CAST_EXPR", "VAR_DECL") and above.type_kind in (*FLOATS, *WIDE)
        converted = above.kind == "CALL_EXPR" and above.name.startswith(("convert_float", "convert_double"))
        above = above.parent if above.kind == "UNEXPOSED_EXPR" and above.parent is not None else above
        return becomes or converted or (above.kind == "BINARY_OPERATOR" and above.operator in ORDERED)

    def _widened(self, values: Sequence[Node]) -> Iterator[Edit]:
        for value in values:
            for leaf in _leaves(_bare(value)):
                yield Edit(leaf.start, leaf.start, "(long)(")
                yield Edit(leaf.end, leaf.end, ")")


def _bare(node: Node) -> Node:
    while node.kind in SKIPPED and node.children:
        node = node.children[-1]
    return node


def _is_narrow(node: Node) -> bool:
    return node.type_kind in NARROW


def _is_growing(node: Node) -> bool:
    return node.kind == "BINARY_OPERATOR" and node.operator in GROWING and _is_narrow(node) and _is_written_out(node)


def _makes_more(node: Node) -> bool:
    """Is it a sum or product, or is one of its parts, but for indexes?"""
    if (node.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and node.operator in ASSIGNED) or _is_growing(node):
        return True
    return any(map(_makes_more, node.children[:1] if node.kind == "ARRAY_SUBSCRIPT_EXPR" else node.children))


def _is_written_out(node: Node) -> bool:
    """Not what a macro stands for: then its parts are all where its call is."""
    return node.children[0].end <= node.children[1].start


def _leaves(node: Node) -> Iterator[Node]:
    """The operands that decide how wide a sum or product is. What selects bits stays as it is."""
    node = _bare(node)
    if node.kind == "BINARY_OPERATOR" and node.operator in THROUGH and _is_narrow(node) and _is_written_out(node):
        if node.operator == "<<":
            left = _bare(node.children[0])
            yield from [left] if left.kind == "INTEGER_LITERAL" else _leaves(left)
        else:
            yield from (*_leaves(node.children[0]), *_leaves(node.children[1]))
    elif node.kind == "CONDITIONAL_OPERATOR" and _is_narrow(node):
        yield from _leaves(node.children[1])
        yield from _leaves(node.children[2])
    elif _is_narrow(node) and node.kind != "INTEGER_LITERAL":
        yield node


def _is_statement(reading: Reading, node: Node) -> bool:
    above = node.parent
    inside = above is not None and above.kind in BLOCKS and (above.kind == "COMPOUND_STMT" or above.children[-1] is node)
    return inside and reading.data[node.end :].lstrip().startswith(b";")


def told(suspect: Suspect, number: int) -> tuple[Edit, ...]:
    """The same edits, with text that prints a number which outgrows its type: of an assignment (`certain`) the value of the variable
    before and after it, else the value of the expression, for the first work-items."""
    start, end = suspect.place
    ids = ", ".join(f"(int)get_global_id({axis})" for axis in range(3))
    name, kind = suspect.name, suspect.type
    if suspect.certain:
        check = f"({kind})gdx_was == gdx_was && ({kind}){name} != {name}"
        before = f"{{ long gdx_was = {name}; "
        prints = f'printf("{MARK} {number} %ld %ld %d %d %d\\n", gdx_was, {name}, {ids})'
        after = f"; if ({check}) {prints}; }}"
    else:
        check = f"({kind})gdx_was != gdx_was && get_global_id(0) + get_global_id(1) < {FIRST}"
        before = "({ long gdx_was = "
        prints = f'printf("{MARK} {number} %ld %ld %d %d %d\\n", gdx_was, gdx_was, {ids})'
        after = f"; if ({check}) {prints}; gdx_was; }})"
    return (Edit(start, start, before), *suspect.edits, Edit(end, end, after))


def wraps(output: str) -> list[Wrap]:
    rows = (tuple(map(int, match.groups())) for match in TOLD.finditer(output))
    return [Wrap(number, before, after, (x, y, z)) for number, before, after, x, y, z in rows]
