"""The numbers of one access that a checked kernel reported: how the source computes its index, the launch's arguments and its shape."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.elf.dwarf import Struct
from gpudx.facts.set_arguments import setter
from gpudx.kernel_checks import layouts, values
from gpudx.kernel_checks.formulas import Tree
from gpudx.kernel_checks.plan import Way
from gpudx.kernel_checks.values import OPEN, World
from gpudx.model import Site
from gpudx.text import plural

WHOLE = {
    "int": "i32", "unsigned int": "u32", "uint": "u32", "long": "i64", "unsigned long": "u64", "ulong": "u64", "size_t": "u64",
    "short": "i16", "unsigned short": "u16", "ushort": "u16",
}  # fmt: skip
WORD = re.compile(r"[A-Za-z_]\w*")
EXTENTS = {
    "get_global_id": ("get_global_size", "work-items"),
    "get_group_id": ("get_num_groups", "work-groups"),
    "get_local_id": ("get_local_size", "work-items per group"),
}


@dataclass(frozen=True)
class Why:
    """`text` is a sentence about the numbers; `root` the call to change, where it is not the kernel."""

    cause: str
    text: str
    steps: tuple[str, ...] = ()
    root: Site | None = None
    facts: tuple[str, ...] = ()  # more that a reader can check
    line: tuple[str, int] | None = None  # of the kernel: the file, "" for its own text, and the line that computes the wrong number
    kernel: str = ""  # that this line is in, where it is another one than that of the access


@dataclass(frozen=True)
class Scalar:
    argument: int
    name: str
    value: int
    is_field: bool = False  # of a struct

    @property
    def label(self) -> str:
        return self.name or f"argument {self.argument}"


@dataclass(frozen=True)
class Part:
    """The part of an index that is too large, and how many values it may have: rows (or vectors) of `stride` elements, or elements."""

    tree: Tree
    value: int
    count: int
    stride: int
    by: Tree | None = None  # the stride as the source has it
    rows: str = "rows"

    @property
    def unit(self) -> str:
        return "elements" if self.stride == 1 else f"{self.rows} of {self.stride:,} elements"

    @property
    def counted(self) -> str:
        """ "37 rows of 45 elements", "1 element"."""
        return plural(self.count, "element") if self.stride == 1 else f"{plural(self.count, self.rows[:-1])} of {self.stride:,} elements"


class Numbers:
    """The numbers of one failed access."""

    def __init__(self, f: Failure) -> None:
        self.f = f
        self.launch = f.facts.launches.at_position(f.position)
        self.name, self.element = (f"`{f.thing.name}`", f.thing.element) if f.thing is not None else ("", 0)
        self.argument = f.thing.index if f.thing is not None and f.thing.kind == "argument" else -1
        self.held = f.size // self.element if self.element else 0
        self.index = f.offset // self.element if self.element else 0

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """Whole numbers among the arguments."""
        found = []
        for one in self.f.facts.launches.values(self.launch) if self.launch is not None else ():
            declared = one["declared"]
            kind = (declared.scalar or declared.type) if declared else ""
            whole = (
                len(one["bytes"]) in (1, 2, 4, 8) and one["object"] < 0 and (not declared or "*" not in declared.type)
            )
            if whole and not any(word in kind for word in ("float", "double", "half")):
                number = int.from_bytes(one["bytes"], "little", signed=not kind.startswith("u") and kind != "size_t")
                found.append(Scalar(int(one["index"]), declared.name if declared else "", number))
        return (*found, *self._fields())

    def _fields(self) -> Iterator[Scalar]:
        """Whole numbers in structs that are passed by value."""
        kernel, structs = self.f.facts.launches.name(self.launch) if self.launch is not None else "", self._structs()
        for thing in self.f.things:
            layout = layouts.read(thing.layout) if thing.kind == "argument" and thing.function == kernel else None
            data = structs.get(thing.index, b"")
            if layout is None or len(data) != layout.size:
                continue
            for one in layout.fields:
                kind = WHOLE.get(one.type)
                if kind is not None:
                    piece = data[one.offset : one.offset + int(kind[1:]) // 8]
                    yield Scalar(thing.index, f"{thing.name}.{one.name}", int.from_bytes(piece, "little", signed=kind[0] == "i"), True)

    def compared(self, argument: int, text: str) -> list[Scalar]:
        """The numbers of an argument that a condition compares with."""
        return [one for one in self.scalars if one.argument == argument and (not one.is_field or one.name in text)]

    @cached_property
    def world(self) -> World:
        f = self.f
        items, group = f.facts.launches.geometry(self.launch) if self.launch is not None else ((), ())
        ids = {}
        for axis in range(3):
            total = (items[axis] if axis < len(items) else 0) or 1
            each = (group[axis] if axis < len(group) else 0) or self._group_size(axis) or (1 if total == 1 else 0)
            ids["get_global_id", axis], ids["get_local_id", axis] = f.item[axis], f.local[axis]
            ids["get_group_id", axis], ids["get_global_size", axis] = f.group[axis], total
            if each:
                ids["get_local_size", axis], ids["get_num_groups", axis] = each, -(-total // each)
        return World(ids, {one.argument: one.value for one in self.scalars if not one.is_field}, structs=self._structs())

    def _structs(self) -> dict[int, bytes]:
        given = self.f.facts.launches.values(self.launch) if self.launch is not None else ()
        return {int(one["index"]): one["bytes"] for one in given if one["object"] < 0 and len(one["bytes"]) == one["size"]}

    def global_offset(self, axis: int) -> int:
        """That get_global_id counts from; 0 where it is not known, because the driver chose the size of groups."""
        f = self.f
        group = self.f.facts.launches.geometry(self.launch)[1] if self.launch is not None else ()
        each = group[axis] if axis < len(group) else 0
        return 0 if f.group[axis] and not each else f.item[axis] - f.local[axis] - f.group[axis] * each

    def _group_size(self, axis: int) -> int:
        """Where the driver chose it: from a work-item of another group than the first (without an offset of the launch)."""
        f = self.f
        return (f.item[axis] - f.local[axis]) // f.group[axis] if f.group[axis] else 0

    @cached_property
    def _found(self) -> tuple[Tree | None, World | None, tuple[Way, ...]]:
        """The tree of the index, and the world with what the source leaves open, if that is certain; with the calls that have this tree."""
        found = []
        for tree, ways in self._trees():
            world = self._hinted(tree) if tree else None
            if tree is None or world is None or not values.impossible(tree, self.index, world):
                found.append((tree, values.solved(tree, self.index, world) if tree and world else None, ways))
        return found[0] if len(found) == 1 else (None, None, ())

    def _trees(self) -> list[tuple[Tree | None, tuple[Way, ...]]]:
        """One; of an access in a helper function one per chain of calls that passes this memory. None: a chain that is not understood."""
        site, thing = self.f.site, self.f.thing
        if not self.element or thing is None:
            return []
        if site.index:
            return [(json.loads(site.index), ())]
        kernel = self.f.facts.launches.name(self.launch) if self.launch is not None else ""
        argument = thing.index if thing.kind == "argument" else -1
        ways: dict[str, list[Way]] = {}
        for one in site.ways:
            if one.kernel == kernel and (one.argument == argument or not one.index):
                ways.setdefault(one.index, []).append(one)
        return [(json.loads(index) if index else None, tuple(ways[index])) for index in sorted(ways)]

    @property
    def calls(self) -> tuple[Way, ...]:
        """Of an access in a helper function: the calls of it that access this element; none where that is not certain."""
        return self._found[2]

    def _hinted(self, tree: Tree) -> World:
        f = self.f
        more = f.more - (1 << 64) if f.more >> 63 else f.more
        return values.with_hint(tree, f.site.hint, more, self.world) if f.site.hint and f.kind == "bounds" else self.world

    @property
    def tree(self) -> Tree | None:
        return self._found[0]

    @property
    def solved(self) -> World | None:
        return self._found[1]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The part of the index that passes the end: the row number of `row * stride + column`, else all of it."""
        if self.tree is None or self.solved is None:
            return ()
        part = Part(self.tree, self.index, self.held, 1)
        while (row := self._row_of(part)) is not None:
            part = row
        return (part,) if part.value >= part.count else ()

    def _row_of(self, part: Part) -> Part | None:
        """The row number of `row * stride + column`, where the column is inside its row and the row is not."""
        assert self.solved is not None
        found = []
        for sign, term in summands(part.tree):
            core = bare(term)
            if core[0] != "*" or sign < 0:
                continue
            for row, by in ((core[2], core[3]), (core[3], core[2])):
                if values.uniform(by) and not values.uniform(row):
                    found.append((values.value(by, self.solved), row, by))
        for stride, row, by in sorted(found, key=lambda one: -one[0])[:1]:
            number = values.value(row, self.solved)
            inside = stride > 1 and 0 <= part.value - number * stride < stride
            if inside and part.count % stride == 0 and number >= part.count // stride:
                kind = "vectors" if self.f.site.text.startswith(("vload", "vstore")) else "rows"
                return Part(row, number, part.count // stride, part.stride * stride, by, kind)
        return None

    @property
    def is_local(self) -> bool:
        return self.f.thing is not None and "local" in (self.f.thing.space, self.f.thing.kind)

    def named(self, count: int) -> Scalar | None:
        """The argument that holds this number."""
        return next((one for one in self.scalars if one.value == count), None)

    def allocated(self) -> Site | None:
        """The call that made the buffer, or that gave the size of a local argument."""
        thing, facts = self.f.thing, self.f.facts
        if thing is None or thing.kind != "argument" or self.launch is None:
            return None
        if thing.space == "local":
            return self.setter(thing.index)
        born = self._born()
        return facts.sites.at(born) if born is not None else None

    @property
    def memory(self) -> int:
        """The buffer that the argument has, a row of the objects; -1: none."""
        given = self.f.facts.launches.values(self.launch) if self.launch is not None and self.argument >= 0 else ()
        return next((int(one["object"]) for one in given if one["index"] == self.argument), -1)

    def _born(self) -> int | None:
        """The call that made the buffer."""
        thing, facts = self.f.thing, self.f.facts
        if thing is None or thing.kind != "argument" or self.launch is None:
            return None
        born = int(facts.objects.table["born"][self.memory]) if self.memory >= 0 else -1
        return born if 0 <= born < len(facts.trace) else None

    def host_struct(self, name: str) -> Struct | None:
        """The struct of this name in the source that makes the buffer, else in the one that makes the launch."""
        facts, plain = self.f.facts, name.removeprefix("struct ")
        for position in (self._born(), self.f.position):
            caller = int(facts.trace.column("caller", np.array([position]))[0]) if position is not None else 0
            if caller and (found := facts.symbols.struct(caller - 1, plain)):
                return found
        return None

    def wide_guard(self) -> tuple[Scalar, str] | None:
        """A number that a condition before the access compares with, and that is larger than the memory; with the condition."""
        guards = [(argument, text) for argument, text in self.f.site.guards if self._is_about_index(text)]
        found = ((one, text) for argument, text in guards for one in self.compared(argument, text))
        return next(((one, text) for one, text in found if one.value > self.held), None) if self.index >= 0 else None

    def _is_about_index(self, condition: str) -> bool:
        """Does a condition compare something that the index is made of? Others do not guard it."""
        if self.tree is None:
            return True
        named = {values.label(one) for one in values.parts(self.tree) if one[0] in ("named", *OPEN)}
        made_of = {word for name in named for word in WORD.findall(name)} | set(WORD.findall(values.text(self.tree)))
        return bool(made_of & set(WORD.findall(condition)))

    def setter(self, argument: int) -> Site | None:
        """The call that set an argument of the launch last."""
        return setter(self.f.facts, self.launch, argument) if self.launch is not None else None

    def place_of(self, part: Tree) -> tuple[str, int] | None:
        """The line that computes a part of the index; None where that is the line of the access."""
        line = values.line_of(self.tree, part) if self.tree else 0
        return self.f.place(line, values.text(bare(part))) if line else None

    def passed_at(self, argument: int) -> Site | None:
        """The line that passes an argument: where it was set, else the launch, for APIs of languages that set them while launching."""
        found = self.setter(argument)
        return found if found is not None and found.source else self.f.facts.sites.at(self.f.position, argument=argument)


def elements(f: Failure) -> str:
    """ "element 24", "elements 24 to 26": what an access is to."""
    size = f.thing.element if f.thing is not None else 0
    first, last = (f.offset // size, (f.offset + max(f.width, 1) - 1) // size) if size else (0, 0)
    return f"elements {first:,} to {last:,}" if last > first else f"element {first:,}"


def shown_place(place: tuple[str, int]) -> str:
    """ "scan.c:23", "line 23"."""
    return f"{os.path.basename(place[0])}:{place[1]}" if place[0] else f"line {place[1]}"


# ---- trees ----


def bare(tree: Tree) -> Tree:
    """Without names and conversions."""
    while tree[0] in ("named", "to"):
        tree = tree[2]
    return tree


def innermost_name(tree: Tree) -> Tree:
    """The variable that a value was first given to, of one that was passed on under other names."""
    found = tree
    while tree[0] in ("named", "to"):
        found = tree if tree[0] == "named" else found
        tree = tree[2]
    return found


def summands(tree: Tree, sign: int = 1) -> Iterator[tuple[int, Tree]]:
    core = bare(tree)
    if core[0] in ("+", "-"):
        yield from summands(core[2], sign)
        yield from summands(core[3], sign if core[0] == "+" else -sign)
    else:
        yield sign, tree


def variables(tree: Tree) -> list[Tree]:
    """Variables that the tree shows by name; of a variable, those that it is computed from."""
    while tree[0] in ("named", "to"):
        tree = tree[2]
    return [
        one
        for part in tree[1:]
        if isinstance(part, list)
        for one in ([part] if part[0] == "named" else variables(part))
    ]


def equation(tree: Tree, world: World) -> str:
    """ "`t * dim` is 120 * 64 = 7,680"; a variable with what it is computed from."""
    steps = [values.text(tree)]
    inner = tree
    while inner[0] in ("named", "to"):
        inner = inner[2]
    if tree[0] == "named" and inner[0] not in ("id", "number", "argument", "field"):
        steps[0] = f"{steps[0]} = {values.text(inner)}" if len(values.text(inner)) <= 60 else steps[0]
    result = f"{values.value(tree, world):,}"
    shown = values.with_values(inner, world) if inner[0] not in ("id", *OPEN, "number", "argument", "field") else result
    return (
        f"`{steps[0]}` is {shown} = {result}" if shown != result and len(shown) <= 80 else f"`{steps[0]}` is {result}"
    )


def has(tree: Tree, *heads: str) -> list[Tree]:
    return [one for one in values.parts(tree) if one[0] in heads]


def outer_loads(tree: Tree) -> list[Tree]:
    """Elements of memory that a value is made of, not those that only say which element or how often."""
    if tree[0] in ("load", "counter"):
        return [tree] if tree[0] == "load" else []
    return [one for part in tree[1:] if isinstance(part, list) for one in outer_loads(part)]


def extent_of(n: Numbers, tree: Tree) -> tuple[int, str] | None:
    """How many values the id has that the tree is."""
    core = bare(tree)
    if core[0] != "id" or core[1] not in EXTENTS or n.solved is None:
        return None
    size, words = EXTENTS[core[1]]
    extent = n.solved.ids.get((size, int(core[2])))
    return (extent, words) if extent else None


def is_launched(n: Numbers, count: int, axis: int, least: int = 16) -> bool:
    """Is this many work-items launched in a dimension, but for rounding up to whole groups?"""
    total, group = n.world.ids["get_global_size", axis], n.world.ids.get(("get_local_size", axis), 1)
    return count >= least and count <= total < count + group
