"""Why an access of a checked kernel went outside: the index with its numbers, and which of them is wrong.

The report of a checked kernel has an offset and a work-item. The source says how the index is computed (kernel_checks/formulas.py), the
trace has the arguments and the shape of the launch. Together they show a missing bounds check, an allocation for other numbers, an index
that wrapped or that was read from memory, and arguments in the wrong order. Where they do not fit together, nothing is said.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.elf.dwarf import Struct
from gpudx.kernel_checks import layouts, values
from gpudx.kernel_checks.formulas import Tree
from gpudx.kernel_checks.values import OPEN, World
from gpudx.model import Site
from gpudx.text import plural

WRAP, MOST_BELOW = 1 << 32, 1 << 20  # what a 32-bit index loses; elements below zero that it is believed to have meant
SMALLEST_TYPE = 4  # bytes of an element on the host; half of a float is a buffer that is too short, not another type
MOST_PASSED = 2  # arguments in one sentence
MANTISSA = 1 << 24  # whole numbers up to this are floats too
TINY, HUGE = 1e-6, 1e6  # floats that programs pass
OFFSET = 3  # the parameter of clEnqueueNDRangeKernel that is kept as this part: global_work_offset
LEAST = 2  # sizes below this fit everything
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


@dataclass(frozen=True)
class Scalar:
    argument: int
    name: str
    value: int

    @property
    def label(self) -> str:
        return self.name or f"argument {self.argument}"


@dataclass(frozen=True)
class Part:
    """The part of an index that is too large, and how many values it may have: rows of `stride` elements, or elements."""

    tree: Tree
    value: int
    count: int
    stride: int
    by: Tree | None = None  # the stride as the source has it

    @property
    def unit(self) -> str:
        return "elements" if self.stride == 1 else f"rows of {self.stride:,} elements"


class Numbers:
    """The numbers of one failed access."""

    def __init__(self, f: Failure) -> None:
        self.f = f
        self.launch = f.facts.launches.at_position(f.position)
        assert f.thing is not None
        self.name, self.element = f"`{f.thing.name}`", f.thing.element
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
        return tuple(found)

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
        return World(ids, {one.argument: one.value for one in self.scalars})

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
    def _found(self) -> tuple[Tree | None, World | None]:
        """The tree of the index, and the world with what the source leaves open, if that is certain."""
        found = []
        for tree in self._trees():
            world = self._hinted(tree) if tree else None
            if tree is None or world is None or not values.impossible(tree, self.index, world):
                found.append((tree, values.solved(tree, self.index, world) if tree and world else None))
        return found[0] if len(found) == 1 else (None, None)

    def _trees(self) -> list[Tree | None]:
        """One; of an access in a helper function one per chain of calls that passes this memory. None: a chain that is not understood."""
        site, thing = self.f.site, self.f.thing
        if not self.element or thing is None:
            return []
        if site.index:
            return [json.loads(site.index)]
        kernel = self.f.facts.launches.name(self.launch) if self.launch is not None else ""
        argument = thing.index if thing.kind == "argument" else -1
        ways = {one for one in site.ways if one.kernel == kernel and (one.argument == argument or not one.index)}
        return [json.loads(one.index) if one.index else None for one in sorted(ways, key=lambda one: one.index)]

    def _hinted(self, tree: Tree) -> World:
        f = self.f
        more = f.more - (1 << 64) if f.more >> 63 else f.more
        return values.with_hint(tree, f.site.hint, more, self.world) if f.site.hint else self.world

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
        for sign, term in _summands(part.tree):
            core = _core(term)
            if core[0] != "*" or sign < 0:
                continue
            for row, by in ((core[2], core[3]), (core[3], core[2])):
                if values.uniform(by) and not values.uniform(row):
                    found.append((values.value(by, self.solved), row, by))
        for stride, row, by in sorted(found, key=lambda one: -one[0])[:1]:
            number = values.value(row, self.solved)
            inside = stride > 1 and 0 <= part.value - number * stride < stride
            if inside and part.count % stride == 0 and number >= part.count // stride:
                return Part(row, number, part.count // stride, part.stride * stride, by)
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

    def _born(self) -> int | None:
        """The call that made the buffer."""
        thing, facts = self.f.thing, self.f.facts
        if thing is None or thing.kind != "argument" or self.launch is None:
            return None
        row = next((int(a["object"]) for a in facts.launches.values(self.launch) if a["index"] == thing.index), -1)
        born = int(facts.objects.table["born"][row]) if row >= 0 else -1
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
        known = {one.argument: one for one in self.scalars}
        found = ((known[argument], text) for argument, text in self.f.site.guards if argument in known)
        return next(((one, text) for one, text in found if one.value > self.held), None) if self.index >= 0 else None

    def setter(self, argument: int) -> Site | None:
        """The call that set an argument of the launch last."""
        given, facts = self.f.facts.set_args, self.f.facts
        kernel = facts.launches.kernel[self.launch]
        rows = np.flatnonzero((given.kernel == kernel) & (given.index == argument) & (given.position < self.f.position))
        return facts.sites.at(int(given.position[rows[-1]]), argument=argument) if len(rows) else None

    def passed_at(self, argument: int) -> Site | None:
        """The line that passes an argument: where it was set, else the launch, for APIs of languages that set them while launching."""
        found = self.setter(argument)
        return found if found is not None and found.source else self.f.facts.sites.at(self.f.position, argument=argument)


def why(f: Failure) -> Why | None:
    """The reason of an access outside a buffer or an array; None where the numbers do not say."""
    if f.kind != "bounds" or f.thing is None or not f.thing.element or not f.size:
        return None
    numbers = Numbers(f)
    for rule in RULES:
        found = rule(numbers)
        if found is not None:
            return found
    return None


def arithmetic(f: Failure, told: str = "") -> str | None:
    """ "the index `row * n + col` is 37 * 45 + 0 = 1,665; `c` has 1,665 elements of 4 bytes"; None where `told` says it already."""
    if f.kind != "bounds" or f.thing is None or not f.thing.element:
        return None
    numbers = Numbers(f)
    tree, world = numbers.tree, numbers.solved
    if tree is None or world is None:
        return None
    shown = f"`{values.text(tree)}` is {numbers.index:,}" if values.wraps(tree, world) else _equation(tree, world)
    if shown in told:
        return None
    inner = [one for one in _variables(tree) if _core(one)[0] not in ("id", "argument", *OPEN)]
    inner = [
        one for one in inner if not values.wraps(one, world) and (equation := _equation(one, world)) not in told + shown
    ]
    where = f", where {equation}" if inner and (equation := _equation(inner[0], world)) else ""
    return f"the index {shown}{where}; {numbers.name} has {plural(numbers.held, 'element')} of {plural(numbers.element, 'byte')}"


def guarded(f: Failure) -> str | None:
    """ "`i < n` does not stop it: argument 3 `n` is 4,096, set at main.c:20": of a guard that is too wide."""
    if f.kind != "bounds" or f.thing is None or not f.thing.element:
        return None
    numbers = Numbers(f)
    found = numbers.wide_guard()
    return _not_stopped(numbers, *found) if found else None


def _not_stopped(n: Numbers, one: Scalar, text: str) -> str:
    setter = n.setter(one.argument)
    line = f", set at {setter.source.rpartition('/')[2]}" if setter is not None and setter.source else ""
    return f"`{text}` does not stop it: argument {one.argument} `{one.name}` is {one.value:,}{_as_float(one.value)}{line}"


def _as_float(value: int) -> str:
    """ " (the bits of the float 1.8)", where a whole number is more plausible as one."""
    if not MANTISSA < value < 1 << 32:
        return ""
    number = struct.unpack("<f", struct.pack("<I", value))[0]
    text = f"{number:.4g}"
    plausible = TINY < abs(number) < HUGE and struct.pack("<f", float(text)) == struct.pack("<f", number)
    return f" (the bits of the float {text})" if plausible else ""


def passed(f: Failure) -> str | None:
    """ "`ld` is argument 3 `width` = 45, set at main.c:20": what the index has from the host, where the source does not show it."""
    if f.kind != "bounds" or f.thing is None or not f.thing.element:
        return None
    numbers = Numbers(f)
    if numbers.tree is None or numbers.solved is None:
        return None
    launched = f.facts.sites.at(f.position).source
    found: dict[int, str] = {}
    wrapped = values.wraps(numbers.tree, numbers.solved)
    for tree in values.parts(wrapped[0] if wrapped else numbers.tree):
        core = _core(tree)
        if core[0] != "argument" or core[1] in found or core[1] not in numbers.solved.arguments:
            continue
        setter = numbers.setter(core[1])
        source = setter.source if setter is not None and setter.source != launched else None
        renamed = tree[0] == "named" and values.label(tree) != core[2]
        if source or renamed:
            name = (
                f"`{values.label(tree)}` is argument {core[1]} `{core[2]}`"
                if renamed
                else f"argument {core[1]} `{core[2]}` is"
            )
            value = f"{numbers.solved.arguments[core[1]]:,}"
            line = f", set at {source.rpartition('/')[2]}" if source else ""
            found[core[1]] = f"{name} = {value}{line}" if renamed else f"{name} {value}{line}"
    return "; ".join(list(found.values())[:MOST_PASSED]) or None


# ---- trees ----


def _core(tree: Tree) -> Tree:
    """Without names and conversions."""
    while tree[0] in ("named", "to"):
        tree = tree[2]
    return tree


def _summands(tree: Tree, sign: int = 1) -> Iterator[tuple[int, Tree]]:
    core = _core(tree)
    if core[0] in ("+", "-"):
        yield from _summands(core[2], sign)
        yield from _summands(core[3], sign if core[0] == "+" else -sign)
    else:
        yield sign, tree


def _variables(tree: Tree) -> list[Tree]:
    """Variables that the tree shows by name; of a variable, those that it is computed from."""
    while tree[0] in ("named", "to"):
        tree = tree[2]
    return [
        one
        for part in tree[1:]
        if isinstance(part, list)
        for one in ([part] if part[0] == "named" else _variables(part))
    ]


def _equation(tree: Tree, world: World) -> str:
    """ "`t * dim` is 120 * 64 = 7,680"; a variable with what it is computed from."""
    steps = [values.text(tree)]
    inner = tree
    while inner[0] in ("named", "to"):
        inner = inner[2]
    if tree[0] == "named" and inner[0] not in ("id", "number", "argument"):
        steps[0] = f"{steps[0]} = {values.text(inner)}" if len(values.text(inner)) <= 60 else steps[0]
    result = f"{values.value(tree, world):,}"
    shown = values.with_values(inner, world) if inner[0] not in ("id", *OPEN, "number", "argument") else result
    return (
        f"`{steps[0]}` is {shown} = {result}" if shown != result and len(shown) <= 80 else f"`{steps[0]}` is {result}"
    )


def _has(tree: Tree, *heads: str) -> list[Tree]:
    return [one for one in values.parts(tree) if one[0] in heads]


# ---- rules, the most specific first ----


def _wrapped(n: Numbers) -> Why | None:
    if n.tree is None or n.solved is None:
        return None
    found = values.wraps(n.tree, n.solved)
    if found is None:
        return None
    tree, meant, became = found
    kind = tree[1]
    shown, source = values.with_values(tree, n.solved), values.text(tree)
    helper = values.helper_of(n.tree, tree)
    where = f" in {helper[0]}() (line {helper[1]})" if helper else ""
    if meant < 0:
        text = f"`{source}`{where} is {shown} = {meant:,}, which becomes {became:,} because it is unsigned."
        return Why(
            "out-of-bounds-access", text, (f"Handle the work-items where `{source}` is negative before the access.",)
        )
    most = (1 << (int(kind[1:]) - (kind[0] == "i"))) - 1
    if tree[0] == "to":
        text = f"`{source}`{where} is {shown} = {meant:,}, which becomes {became:,}: its type holds at most {most:,}."
        text = text.replace(f"{shown} = ", "") if shown == f"{meant:,}" else text
        return Why("index-overflow", text, ("Keep the index in an int, or in a long where it passes 2,147,483,647.",))
    text = f"`{source}`{where} is {shown} = {meant:,}, which is more than {most:,} and becomes {became:,}."
    wider = "ulong" if kind[0] == "u" else "long"
    return Why("index-overflow", text, (f"Compute `{source}` in 64 bits: convert one operand to {wider} first.",))


def _below_zero(n: Numbers) -> Why | None:
    """An index just under 2^32: an unsigned number went below zero, wherever the kernel computed it."""
    if not WRAP - MOST_BELOW <= n.index < WRAP or n.held > WRAP // 2:
        return None
    text = f"An unsigned 32-bit index went below zero: {n.index - WRAP:,} became {n.index:,}."
    core: Tree = _core(n.tree) if n.tree else ["number", 0]
    if core[0] == "counter" and core[2][0] == "u" and core[5] == ">=" and core[4] == ["number", 0]:
        name = values.label(core)
        bound = f"{name} >= 0"
        return Why(
            "out-of-bounds-access",
            f"{text} `{bound}` is always true for an unsigned `{name}`.",
            (f"Count `{name}` as an int.",),
        )
    return Why(
        "out-of-bounds-access", text, ("Handle the case in which the index would be negative before the access.",)
    )


def _negative(n: Numbers) -> Why | None:
    if n.tree is None or n.solved is None or n.index >= 0:
        return None
    part = next((t for s, t in _summands(n.tree) if _has(t, "load") and values.value(t, n.solved) < 0), None)
    if part is not None and (loaded := _loaded(n, _has(part, "load")[0])):
        return Why("out-of-bounds-access", f"{loaded}, so the index is {n.index:,}.", _check_loaded(part))
    source = values.text(n.tree)
    text = f"{_equation(n.tree, n.solved)}: the index is negative."
    shown = f"`{source}`" if len(source) <= 60 else "the index"
    return Why(
        "out-of-bounds-access",
        text,
        (f"Handle the work-items where {shown} is negative: clamp it to 0, or skip the access.",),
    )


def _index_from_memory(n: Numbers) -> Why | None:
    for part in n.parts:
        loads = _has(part.tree, "load")
        loaded = _loaded(n, loads[0]) if len(loads) == 1 else None
        if loaded:
            text = f"{loaded}, and {n.name} has {part.count:,} {part.unit}."
            return Why("out-of-bounds-access", text, _check_loaded(loads[0]))
    return None


def _loaded(n: Numbers, load: Tree) -> str | None:
    """ "`ids[t]` is 500 at t = 120"."""
    assert n.solved is not None
    if load[1] not in n.solved.open:
        return None
    number = n.solved.open[load[1]]
    try:
        place = values.value(load[4], n.solved)
    except values.Unknown:
        return f"`{values.label(load)}` is {number:,}"
    base = values.label(load).partition("[")[0]
    return f"`{base}[{place}]` is {number:,}"


def _check_loaded(load: Tree) -> tuple[str, ...]:
    name = next((values.label(one) for one in values.parts(load) if one[0] == "load"), "the index")
    base = name.partition("[")[0]
    return (
        f"Fix the values that the program stores in `{base}`, or compare `{name}` with the size before it is used as an index.",
    )


def _bytes_per_element(n: Numbers) -> Why | None:
    """The buffer has room for as many elements as there are, but for smaller ones: another type on the host."""
    if n.index < 0:
        return None
    layout = layouts.read(n.f.thing.layout) if n.f.thing is not None else None
    host = n.host_struct(layout.name) if layout is not None else None
    if (
        layout is not None
        and host is not None
        and not n.f.size % host.size
        and (found := _other_struct(n, layout, host))
    ):
        return found
    if any(one.value == n.held for one in n.scalars):
        return None
    for count, label, certain in _counts(n):
        each, rest = divmod(n.f.size, count)
        if count <= max(n.index, LEAST) or rest or not SMALLEST_TYPE <= each < n.element:
            continue
        # Half as many structs of twice the size are as likely, where a loop says how many there are.
        whole = layout is not None and n.f.size % layout.size == 0 and not certain
        if (
            host is None
            and layout is not None
            and layout.host_size == each
            and layout.moved
            and layout.vector
            and not whole
        ):
            return _other_layout(n, layout, count, label)
        if certain:
            need = count * n.element
            text = f"{n.name} needs {count:,} ({label}) x {n.element} = {need:,} bytes; {n.f.size:,} are allocated, {each} for each."
            step = (
                f"Allocate {need:,} bytes: the host uses {each} bytes per element, the kernel's type has {n.element}."
            )
            return Why("undersized-buffer", text, (step,), n.allocated())
    return None


def _other_struct(n: Numbers, layout: layouts.Layout, host: Struct) -> Why | None:
    """The host declares a struct of the same name with other places for its fields."""
    if host.size == layout.size:
        return None
    on_host = dict(host.members)
    moved = next((one for one in layout.fields if on_host.get(one.name, one.offset) != one.offset), None)
    declared = f" ({host.source.rpartition('/')[2]})" if host.source else ""
    text = f"`{layout.name}` has {host.size} bytes on the host{declared} and {layout.size} bytes in the kernel."
    facts = [f"{n.name} has {n.f.size:,} bytes: {n.f.size // host.size:,} structs of the host"]
    if moved is not None:
        kind = f", where {moved.type} is aligned to more bytes" if layouts.VECTOR.fullmatch(moved.type) else ""
        facts = [
            f"`{moved.name}` is at byte {on_host[moved.name]} on the host and at byte {moved.offset} in the kernel{kind}"
        ]
    return Why("struct-layout", text, (_same_layout(layout, moved.name if moved else ""),), n.allocated(), tuple(facts))


def _same_layout(layout: layouts.Layout, field: str) -> str:
    place = next((f" and `{field}` is at byte {one.offset}" for one in layout.fields if one.name == field), "")
    how = (
        f"use cl_{layout.vector} or padding"
        if layout.vector
        else "use types of the same size and alignment, or padding"
    )
    return f"Give the host's struct the kernel's layout: {how}, so that it has {layout.size} bytes{place}."


def _other_layout(n: Numbers, layout: layouts.Layout, count: int, label: str) -> Why:
    """The size is that of the same fields with arrays in place of vectors."""
    field = layout.moved
    assert field is not None
    text = (
        f"{n.name} has {layout.host_size} bytes for each of {count:,} elements ({label}), and `{layout.name}` has"
        f" {layout.size} bytes in the kernel."
    )
    where = (
        f"`{layout.name}` has {layout.host_size} bytes if the host declares {layout.array} for {layout.vector}: `{field.name}` is at byte"
        f" {field.on_host} then, and at byte {field.offset} in the kernel"
    )
    return Why("struct-layout", text, (_same_layout(layout, field.name),), n.allocated(), (where,))


def _counts(n: Numbers) -> Iterator[tuple[int, str, bool]]:
    """How many elements there are, with whether that is certain: by the id that is the index, by an argument that the launch was made
    for, else by the loop whose counter is the index."""
    found = _extent_of(n, n.tree) if n.tree else None
    if found:
        yield *found, True
    axes = [int(one[2]) for one in _has(n.tree, "id") if one[1] == "get_global_id"] if n.tree else range(3)
    for one in n.scalars:
        if any(_is_launched(n, one.value, axis) for axis in axes):
            yield one.value, one.label, True
    core: Tree = _core(n.tree) if n.tree else ["number", 0]
    limit = values.limit(core, n.solved) if core[0] == "counter" and n.solved is not None else None
    if limit is not None and core[5][0] == "<":
        yield limit + ("=" in core[5]), values.text(core[4]), False


def _extent_of(n: Numbers, tree: Tree) -> tuple[int, str] | None:
    """How many values the id has that the tree is."""
    core = _core(tree)
    if core[0] != "id" or core[1] not in EXTENTS or n.solved is None:
        return None
    size, words = EXTENTS[core[1]]
    extent = n.solved.ids.get((size, int(core[2])))
    return (extent, words) if extent else None


def _is_launched(n: Numbers, count: int, axis: int, least: int = 16) -> bool:
    """Is this many work-items launched in a dimension, but for rounding up to whole groups?"""
    total, group = n.world.ids["get_global_size", axis], n.world.ids.get(("get_local_size", axis), 1)
    return count >= least and count <= total < count + group


def _stride_in_bytes(n: Numbers) -> Why | None:
    """The buffer has as many rows as the kernel is told, of as many elements as the stride has bytes."""
    for part in n.parts:
        core = _core(part.by) if part.by else ["number", 0]
        if core[0] != "argument" or part.stride % n.element or n.element < 2:
            continue
        stride = next((one for one in n.scalars if one.argument == core[1]), None)
        length = part.stride // n.element
        rows = next((one for one in n.scalars if one.value > LEAST and one.value * length == n.held), None)
        if stride is not None and rows is not None and rows != stride and part.value < rows.value:
            text = f"{stride.label} is {stride.value:,}, and {n.name} has {rows.value:,} rows ({rows.label}) of {length:,} elements."
            step = f"Pass {stride.label} in elements ({length:,}): {stride.value:,} is the length of a row in bytes."
            return Why("out-of-bounds-access", text, (step,), n.setter(stride.argument))
    return None


def _one_more(n: Numbers) -> Why | None:
    """A neighbour of the last element: `r + 1` of the last work-item."""
    for part in n.parts:
        core, known = _core(part.tree), n.named(part.count)
        if core[0] != "+" or core[3][0] != "number" or known is None or n.solved is None or n.is_local:
            continue
        if _extent_of(n, core[2]) is None or values.value(core[2], n.solved) >= known.value:
            continue
        more, source = core[3][1], values.text(part.tree)
        text = (
            f"{_equation(part.tree, n.solved)}, and {n.name} has {part.count:,} {part.unit}, as many as {known.label}."
        )
        need = (part.count + more) * part.stride * n.element
        step = f"Allocate {known.label} + {more} ({need:,} bytes), or skip `{source}` where it is not less than `{known.label}`."
        return Why("out-of-bounds-access", text, (step,))
    return None


def _offset_twice(n: Numbers) -> Why | None:
    """The launch has a global offset, which get_global_id includes, and an argument adds the same number again."""
    if n.tree is None or n.solved is None:
        return None
    added = [_core(term) for sign, term in _summands(n.tree) if sign > 0]
    for axis in {int(one[2]) for one in added if one[0] == "id" and one[1] == "get_global_id"}:
        offset = n.global_offset(axis)
        again = [one for one in added if one[0] == "argument" and n.solved.arguments.get(one[1]) == offset]
        if offset > 0 and again and 0 <= n.index - offset < n.held:
            name = again[0][2]
            text = f"get_global_id({axis}) starts at {offset:,}, the global offset of the launch, and `{name}` adds {offset:,} again."
            step = f"Pass 0 for `{name}`, or launch without a global offset."
            return Why("out-of-bounds-access", text, (step,), n.setter(again[0][1]))
    return None


def _exchanged(n: Numbers) -> Why | None:
    """With two arguments exchanged, the last work-item accesses the last element, here and wherever else the kernel uses them. Where
    another access fits as it is, the index is wrong and not the order of the arguments."""
    if n.tree is None or n.solved is None or _has(n.tree, *OPEN):
        return None
    used = {one[1] for one in _has(n.tree, "argument")}
    for a, b in combinations(n.scalars, 2):
        if a.value == b.value or not used & {a.argument, b.argument}:
            continue
        arguments = {**n.solved.arguments, a.argument: b.value, b.argument: a.value}
        here = replace(n.solved, arguments=arguments)
        end, straight = _last(n.tree, here), _last(n.tree, n.solved)
        if end != n.held - 1 or straight is None or straight < n.held or not 0 <= values.value(n.tree, here) < n.held:
            continue
        if _fits_elsewhere(n, {a.argument, b.argument}):
            continue
        text = (
            f"Arguments {a.argument} and {b.argument} look swapped: with {a.label} = {b.value:,} and {b.label} = {a.value:,}"
            f" the last work-item would access the last element; as they are, it goes {straight - end:,} elements past it."
        )
        step = f"Swap arguments {a.argument} ({a.label}) and {b.argument} ({b.label}) where they are set."
        return Why("argument-order", text, (step,), n.passed_at(a.argument))
    return None


def _exchanged_buffers(n: Numbers) -> Why | None:
    """Two buffers of the same type, each of which has the size that the kernel needs of the other one."""
    thing = n.f.thing
    if thing is None or thing.kind != "argument" or n.is_local or n.launch is None or n.held < LEAST:
        return None
    given = {int(one["index"]): one for one in n.f.facts.launches.values(n.launch) if one["object"] >= 0}
    mine, sizes = given.get(thing.index), n.f.facts.objects.table["size"]
    need = _needed(n, thing.index)
    if mine is None or need is None or need <= n.held:
        return None
    found = []
    for index, other in given.items():
        held = int(sizes[other["object"]]) // n.element
        fits = need <= held < 2 * need and other["object"] != mine["object"]
        if index != thing.index and fits and _is_same_type(mine, other) and _needed(n, index) == n.held:
            found.append((index, other, held))
    if len(found) != 1:  # with two that fit, neither is known to be meant
        return None
    index, other, held = found[0]
    label = f"`{other['declared'].name}`" if other["declared"].name else f"argument {index}"
    text = (
        f"Arguments {min(index, thing.index)} and {max(index, thing.index)} look swapped: {n.name} got {n.f.size:,} bytes and needs "
        f"{need * n.element:,}, {label} got {held * n.element:,} bytes and needs {n.f.size:,}."
    )
    step = f"Swap arguments {thing.index} ({n.name}) and {index} ({label}) where they are set."
    return Why("argument-order", text, (step,), n.passed_at(thing.index))


def _is_same_type(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = one["declared"], other["declared"]
    return a is not None and b is not None and (a.type, a.space) == (b.type, b.space)


def _needed(n: Numbers, argument: int) -> int | None:
    """Elements of an argument's buffer that the launch needs; None where one of the accesses is not understood. Work-items that only
    fill up the last group are taken to do nothing."""
    assert n.launch is not None
    kernel, ends = n.f.facts.launches.name(n.launch), []
    for site in n.f.sites:
        if site.kind != "access":
            continue
        here = [site.index] if site.kernel == kernel and site.argument == argument else []
        ways = here or [one.index for one in site.ways if one.kernel == kernel and one.argument == argument]
        ends += [values.largest(json.loads(way), n.world, _extents(n)) if way else None for way in ways]
    known = [one for one in ends if one is not None]
    return max(known) + 1 if ends and len(known) == len(ends) else None


def _extents(n: Numbers) -> dict[tuple[str, int], int]:
    """How many values each id has: of the global ones those that an argument counts, where the launch is rounded up from it."""
    found = {one: last + 1 for one, last in _last_ids(n.world).items()}
    for axis in range(3):
        counted = [one.value for one in n.scalars if _is_launched(n, one.value, axis)]
        if counted:
            found["get_global_id", axis] = min(counted)
    return found


def _last(tree: Tree, world: World) -> int | None:
    """The index of the last work-item of the launch."""
    try:
        return values.value(tree, replace(world, ids={**world.ids, **_last_ids(world)}))
    except values.Unknown:
        return None


def _fits_elsewhere(n: Numbers, pair: set[int]) -> bool:
    """Does another access of the kernel that uses one of the two arguments end at the last element of its buffer?"""
    assert n.solved is not None
    given = {int(one["index"]): one for one in n.f.facts.launches.values(n.launch)} if n.launch is not None else {}
    for site in n.f.sites:
        tree = json.loads(site.index) if site.index and site.kernel == n.f.site.kernel else None
        memory = given.get(site.argument)
        if (
            tree is None
            or memory is None
            or memory["object"] < 0
            or not {one[1] for one in _has(tree, "argument")} & pair
        ):
            continue
        element = memory["declared"].element if memory["declared"] else None
        held = int(n.f.facts.objects.table["size"][memory["object"]]) // element if element else 0
        if held and _last(tree, n.solved) == held - 1:
            return True
    return False


def _last_ids(world: World) -> dict[tuple[str, int], int]:
    return {
        (one, axis): world.ids[size, axis] - 1
        for one, (size, _) in EXTENTS.items()
        for axis in range(3)
        if (size, axis) in world.ids
    }


def _too_many_items(n: Numbers) -> Why | None:
    """An id of the work-item is the index, or its row: more are launched than there are."""
    for part in n.parts:
        found = _extent_of(n, part.tree)
        if found is None or found[0] <= part.count:
            continue
        extent, words = found
        axis = f" in dimension {_core(part.tree)[2]}" if n.world.ids["get_global_size", 1] > 1 else ""
        launched = f"The launch has {extent:,} {words}{axis}, and {n.name} has {part.count:,} {part.unit}"
        if n.is_local:
            return _short_local(n, part, f"{launched}.", extent)
        known = n.named(part.count)
        if known is None and words == EXTENTS["get_group_id"][1]:
            return _short_of_groups(n, part, launched, extent)
        axis_of = int(_core(part.tree)[2])
        larger = [one for one in n.scalars if one.value > max(part.value, part.count)]
        needed = next((one for one in larger if _is_launched(n, one.value, axis_of)), None)
        if known is None and needed is not None:
            text = f"{needed.label} is {needed.value:,}, and {n.name} has {part.count:,} {part.unit}."
            return _undersized(n, part, text, needed.value)
        return _unguarded(n, part, launched, known)
    return None


def _short_of_groups(n: Numbers, part: Part, launched: str, groups: int) -> Why:
    """One element or row per work-group, and there are more groups; often the host rounded down and the launch up."""
    each = n.world.ids.get(("get_local_size", int(_core(part.tree)[2])), 0)
    rounded = [one for one in n.scalars if each and (one.value // each, -(-one.value // each)) == (part.count, groups)]
    what = "row" if part.stride > 1 else "element"
    need = groups * part.stride * n.element
    step = f"Allocate {need:,} bytes for {n.name}, one {what} per work-group: {n.f.size:,} are allocated."
    if not rounded:
        return Why("undersized-buffer", f"{launched}.", (step,), n.allocated())
    one = rounded[0]
    text = f"{launched}: {one.label} / {each} = {one.value:,} / {each}, rounded down."
    return Why("undersized-buffer", text, (f"Round {one.label} / {each} up. {step}",), n.allocated())


def _unguarded(n: Numbers, part: Part, launched: str, known: Scalar | None) -> Why:
    variable = values.text(part.tree)
    if known and part.value == part.count and n.f.count == 1:
        text = f"`{variable}` is {part.value:,} and {known.label} is {known.value:,}: the largest allowed index is {part.count - 1:,}."
        return Why("out-of-bounds-access", text, (f"Compare with `<` instead of `<=`: `{variable} < {known.label}`.",))
    if known:
        text = f"{launched} ({known.label} is {known.value:,}): a bounds check is missing."
        return Why(
            "out-of-bounds-access", text, (f"Skip the access where `{variable}` is not less than `{known.label}`.",)
        )
    text = f"{launched}."
    what = "rows" if part.stride > 1 else "elements"
    step = f"Pass the number of {what} to the kernel and skip the access where `{variable}` is not less, or launch {part.count:,}."
    return Why("out-of-bounds-access", text, (step,))


def _undersized(n: Numbers, part: Part, text: str, count: int) -> Why:
    need = count * part.stride * n.element
    return Why(
        "undersized-buffer",
        text,
        (f"Allocate {need:,} bytes for {n.name}: {n.f.size:,} are allocated.",),
        n.allocated(),
    )


def _short_local(n: Numbers, part: Part, text: str, count: int) -> Why:
    need = count * part.stride * n.element
    where = "Pass a local size of" if n.f.thing is not None and n.f.thing.kind == "argument" else "Declare an array of"
    return Why(
        "undersized-buffer", text, (f"{where} {need:,} bytes for {n.name}: it has {n.f.size:,}.",), n.allocated()
    )


def _loop(n: Numbers) -> Why | None:
    """A loop's counter is the index, or goes to it: the loop runs too far, or a neighbour is not clamped."""
    for part in n.parts:
        counters = _has(part.tree, "counter")
        if len({one[1] for one in counters}) != 1 or n.solved is None:
            continue
        counter, is_counter = counters[0], _core(part.tree)[0] == "counter"
        known = n.named(part.count)
        count = f"{n.name} has {part.count:,} {part.unit}" + (f" ({known.label} is {known.value:,})" if known else "")
        end = values.limit(counter, n.solved)
        if end is None:
            continue
        limit = end + ("=" in counter[5])
        bound = f"{values.label(counter)} {counter[5]} {values.text(counter[4])}"
        if n.is_local and is_counter and counter[5][0] == "<":
            return _short_local(
                n, part, f"The loop runs while `{bound}`, which is up to {limit - 1:,}, and {count}.", limit
            )
        if is_counter and "=" in counter[5] and limit - 1 == part.count:
            text = f"The loop runs while `{bound}`, which includes {limit - 1:,}, and {count}."
            return Why("out-of-bounds-access", text, (f"Use `{bound.replace('=', '')}` in the loop.",))
        if is_counter and counter[5] == "<" and known is None and limit > part.count:
            text = f"The loop runs while `{bound}`, which is up to {limit - 1:,}, and {count}."
            need = limit * part.stride * n.element
            step = f"Compare the loop's bound with the allocation: it needs {need:,} bytes, and {n.f.size:,} are allocated."
            return Why("out-of-bounds-access", text, (step,))
        if not is_counter:
            name = values.text(part.tree)
            text = f"{_equation(part.tree, n.solved)}, and {count}."
            limit_name = known.label if known else f"{part.count:,}"
            return Why(
                "out-of-bounds-access",
                text,
                (f"Clamp `{name}` to `{limit_name} - 1`, or skip the access where it is larger.",),
            )
    return None


def _anything(n: Numbers) -> Why | None:
    """What the index is made of; which of its numbers is wrong is not known."""
    for part in n.parts:
        if n.solved is None or values.uniform(part.tree):
            continue
        text = f"{_equation(part.tree, n.solved)}, and {n.name} has {part.count:,} {part.unit}."
        counters = _has(part.tree, "counter")
        if counters and values.limit(counters[0], n.solved) is None:
            bound = f"{values.label(counters[0])} {counters[0][5]} {values.text(counters[0][4])}"
            step = f"Check the loop's bound, `{bound}`, against the size of {n.name}."
            return Why("out-of-bounds-access", text, (step,))
        return Why("out-of-bounds-access", text) if part.stride > 1 else None
    return None


def first_id(f: Failure) -> int:
    """The first global id of the launch in dimension 0."""
    return int(struct.unpack("<Q", f.facts.trace.parts(f.position).get(OFFSET, b"")[:8].ljust(8, b"\0"))[0])


def _last_chunk(n: Numbers) -> Why | None:
    """A range that is launched in chunks, of which the last one is not cut at the end."""
    first, total = first_id(n.f), n.world.ids.get(("get_global_id", 0), 0) and n.world.ids["get_global_size", 0]
    if not first or n.tree is None or _core(n.tree)[:3] != ["id", "get_global_id", 0] or not first < n.held < first + total:
        return None
    covered = f"The launch begins at id {first:,} and has {total:,} work-items, up to id {first + total - 1:,}"
    text = f"{covered}; {n.name} has {n.held:,} elements."
    step = f"Launch {n.held - first:,} work-items in this chunk, the smaller of it and what is left, or skip ids from {n.held:,} on."
    return Why("out-of-bounds-access", text, (step,))


def _float_as_count(n: Numbers) -> Why | None:
    """A guard that compares with a number whose bits are a float's: set at the wrong index, or with the wrong type."""
    found = n.wide_guard()
    if found is None or not (number := _as_float(found[0].value)):
        return None
    one, text = found
    step = f"Set argument {one.argument} `{one.name}` to a whole number: what it holds is{number.replace('(', '').replace(')', '')}."
    return Why("argument-type", f"{_not_stopped(n, one, text)}.", (step,), n.setter(one.argument))


RULES: tuple[Callable[[Numbers], Why | None], ...] = (
    _wrapped,
    _below_zero,
    _negative,
    _index_from_memory,
    _float_as_count,
    _last_chunk,
    _bytes_per_element,
    _offset_twice,
    _exchanged_buffers,
    _exchanged,
    _stride_in_bytes,
    _one_more,
    _too_many_items,
    _loop,
    _anything,
)
