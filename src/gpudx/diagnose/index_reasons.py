"""Why an access of a checked kernel went outside: the index with its numbers, and which of them is wrong.

The report of a checked kernel has an offset and a work-item. The source says how the index is computed (kernel_checks/formulas.py), the
trace has the arguments and the shape of the launch. Together they show a missing bounds check, an allocation for other numbers, an index
that wrapped or that was read from memory, and arguments in the wrong order. Where they do not fit together, nothing is said.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any

from gpudx.diagnose import divided_launches, names_elsewhere, stride_reasons
from gpudx.diagnose.access_numbers import (
    EXTENTS,
    Numbers,
    Part,
    Scalar,
    Why,
    bare,
    elements,
    equation,
    extent_of,
    has,
    innermost_name,
    is_launched,
    outer_loads,
    shown_place,
    summands,
    variables,
)
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.diagnose.last_writers import last_writer
from gpudx.elf.dwarf import Struct
from gpudx.kernel_checks import layouts, values
from gpudx.kernel_checks.formulas import Tree
from gpudx.kernel_checks.values import OPEN, World
from gpudx.text import capital, listed, plural

SHORT = 1 << 16
WRAP, MOST_BELOW = 1 << 32, 1 << 20  # what a 32-bit index loses; elements below zero that it is believed to have meant
SMALLEST_TYPE = 4  # bytes of an element on the host; half of a float is a buffer that is too short, not another type
MOST_PASSED = 2  # arguments in one sentence
MANTISSA = 1 << 24  # whole numbers up to this are floats too
TINY, HUGE = 1e-6, 1e6  # floats that programs pass
MOST_EARLIER = 200  # launches that are compared with this one
LEAST = 2  # sizes below this fit everything


def why(f: Failure) -> Why | None:
    """The reason of an access outside a buffer or an array, or of an index that does not fit; None where the numbers do not say."""
    if f.kind == "overflow":
        return _cut(f) if f.site.watched else _too_large(f)
    if f.kind != "bounds" or f.thing is None or not f.thing.element or not f.size:
        return None
    numbers = Numbers(f)
    for rule in RULES:
        try:
            found = rule(numbers)
        except values.Unknown:  # a number that the record does not have
            continue
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
    shown = f"`{values.text(tree)}` is {numbers.index:,}" if values.wraps(tree, world) else equation(tree, world)
    if numbers.index < 0:  # also where an unsigned id makes the sum unsigned
        shown = shown.replace(f"{numbers.index % (1 << 64):,}", f"{numbers.index:,}")
    if shown in told:
        return None
    inner = [one for one in variables(tree) if bare(one)[0] not in ("id", "argument", "field", *OPEN)]
    inner = [
        one for one in inner if not values.wraps(one, world) and equation(one, world) not in told + shown
    ]
    where = f", where {equation(inner[0], world)}" if inner else ""
    wide = elements(f)
    reach = f", the access is to {wide}" if " to " in wide else ""
    return f"the index {shown}{where}{reach}; {numbers.name} has {plural(numbers.held, 'element')} of {plural(numbers.element, 'byte')}"


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
        core = bare(tree)
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
    helper, place = values.helper_of(n.tree, tree), n.place_of(tree)
    where = f" in {helper}()" if helper else ""
    where += f" ({shown_place(place)})" if place else ""
    if meant < 0:
        text = f"`{source}`{where} is {shown} = {meant:,}, which becomes {became:,} because it is unsigned."
        step = f"Handle the work-items where `{source}` is negative before the access."
        return Why("out-of-bounds-access", text, (step,), line=place)
    most = (1 << (int(kind[1:]) - (kind[0] == "i"))) - 1
    if tree[0] == "to":
        text = f"`{source}`{where} is {shown} = {meant:,}, which becomes {became:,}: its type holds at most {most:,}."
        text = text.replace(f"{shown} = ", "") if shown == f"{meant:,}" else text
        step = "Keep the index in an int, or in a long where it passes 2,147,483,647."
        return Why("index-overflow", text, (step,), line=place)
    text = f"`{source}`{where} is {shown} = {meant:,}, which is more than {most:,} and becomes {became:,}."
    return Why("index-overflow", text, (_in_64_bits(source, "ulong" if kind[0] == "u" else "long"),), line=place)


def _in_64_bits(source: str, wider: str) -> str:
    return f"Compute `{source}` in 64 bits: convert one operand to {wider} first."


def _too_large(f: Failure) -> Why | None:
    """The operands of a number that does not fit in an int."""
    tree = json.loads(f.site.index) if f.site.index else None
    world = values.solved(tree, values.fit(f.size, "i64"), Numbers(f).world) if tree else None
    if tree is None or world is None:
        return None
    source = values.text(tree)
    text = f"`{source}` is {values.with_values(tree, world)} = {f.offset:,}."
    return Why("index-overflow", text, (_in_64_bits(source, "long"),))


def _cut(f: Failure) -> Why:
    """A number that a variable of 8 or 16 bits is too narrow for, from what was computed in more bits."""
    name, kind = f.site.watched
    tree = json.loads(f.site.index) if f.site.index else None
    world = values.solved(tree, values.fit(f.offset, "i64"), Numbers(f).world) if tree else None
    computed = values.with_values(tree, world) if tree is not None and world is not None else ""
    text = f"`{values.text(tree)}` is {computed} = {f.offset:,}." if tree is not None and any(one in computed for one in "+-*") else ""
    wider = "uint" if f.offset >= 1 << 31 else "int"
    return Why("index-overflow", text, (f"Declare `{name}` as {wider} instead of {kind}.",), line=(f.site.file, f.site.line))


def is_wanted(f: Failure) -> bool:
    """Does an index wrap by design, as in a ring of 256 elements that a uchar counts around? Only where no argument that it is used with
    has elements that it does not reach."""
    if f.kind != "overflow" or not f.site.watched:
        return False
    launch = f.facts.launches.at_position(f.position)
    given = {int(one["index"]): int(one["object"]) for one in f.facts.launches.values(launch)} if launch is not None else {}
    sizes, name = f.facts.objects.table["size"], re.compile(rf"\b{re.escape(f.site.watched[0])}\b")
    used = {at for one in f.sites if one.kernel == f.site.kernel and one.kind == "access" and name.search(one.text) for at in one.things}
    held = [
        int(sizes[given[thing.index]]) // thing.element
        for thing in (f.things[at] for at in used)
        if thing.kind == "argument" and thing.element and given.get(thing.index, -1) >= 0
    ]
    return not any(count > 1 << (8 * f.width) for count in held)


def _below_zero(n: Numbers) -> Why | None:
    """An index just under 2^32: an unsigned number went below zero, wherever the kernel computed it."""
    if not WRAP - MOST_BELOW <= n.index < WRAP or n.held > WRAP // 2:
        return None
    text = f"An unsigned 32-bit index went below zero: {n.index - WRAP:,} became {n.index:,}."
    core: Tree = bare(n.tree) if n.tree else ["number", 0]
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


def _wrapped_on_host(n: Numbers) -> Why | None:
    """An argument below zero that is right by 2^32: the host computed it in 32 bits."""
    if n.tree is None or n.solved is None or not (n.index < 0 <= n.index + WRAP < n.held):
        return None
    for core in map(bare, values.parts(n.tree)):
        given = n.solved.arguments.get(core[1], 0) if core[0] == "argument" else 0
        if -(WRAP // 2) <= given < 0:
            setter = n.setter(core[1])
            label = f"argument {core[1]} `{core[2]}`"
            text = f"{capital(label)} is {given:,}; {given + WRAP:,}, which is {given:,} in 32 bits, would stay inside {n.name}."
            return Why("index-overflow", text, (f"Compute {label} in 64 bits on the host.",), setter)
    return None


def _cut_on_host(n: Numbers) -> Why | None:
    """A buffer whose size is a product of the launch's numbers, less a multiple of 2^16: the host kept it in 16 bits."""
    counts = [one for one in n.scalars if 1 < one.value < SHORT]
    for count in (2, 3):
        for factors in combinations(counts, count):
            product = prod(one.value for one in factors)
            for size, unit in ((n.f.size, n.element), (n.held, 1)):
                whole, named = (product * unit, f" x {unit}") if unit > 1 else (product, "")
                if n.is_local or not size or whole <= SHORT or whole % SHORT != size or not n.index < product:
                    continue
                names = " x ".join(one.label for one in factors) + named
                numbers = " x ".join(f"{one.value:,}" for one in factors) + named
                text = f"{names} = {numbers} = {whole:,}, of which 16 bits hold {size:,}, and {n.name} has {plural(n.held, 'element')}."
                step = f"Compute the size of {n.name} in size_t: {product * n.element:,} bytes are needed."
                return Why("undersized-buffer", text, (step,), n.allocated())
    return None


def _negative(n: Numbers) -> Why | None:
    if n.tree is None or n.solved is None or n.index >= 0:
        return None
    part = next((t for s, t in summands(n.tree) if outer_loads(t) and values.value(t, n.solved) < 0), None)
    if part is not None and (loaded := _loaded(n, outer_loads(part)[0])):
        text = f"{loaded}, so the index is {n.index:,}."
        return Why("out-of-bounds-access", text, _check_loaded(part), facts=filled_by(n, outer_loads(part)[0]))
    part = _first_below_zero(n.tree, n.solved)
    source, place = values.text(part), n.place_of(part)
    at = f" ({shown_place(place)})" if place else ""
    whole = "the index is negative" if part is n.tree else f"the index is {n.index:,}"
    text = f"{equation(part, n.solved)}{at}: {whole}."
    shown = f"`{source}`" if len(source) <= 60 else "the index"
    step = f"Handle the work-items where {shown} is negative: clamp it to 0, or skip the access."
    return Why("out-of-bounds-access", text, (step,), line=place)


def _remainder(n: Numbers) -> Why | None:
    """The remainder of a negative number, where the next number that is congruent to it would stay inside."""
    if n.tree is None or n.solved is None or n.index >= 0:
        return None
    for part in values.parts(n.tree):
        core = bare(part)
        if core[0] != "%":
            continue
        rest, by = values.value(core, n.solved), values.value(core[3], n.solved)
        if rest >= 0 or by <= 0 or not 0 <= values.value(_put(n.tree, core, rest + by), n.solved) < n.held:
            continue
        modulus, place = values.text(core[3]), n.place_of(part)
        at = f" ({shown_place(place)})" if place else ""
        text = f"{equation(part, n.solved)}{at}: in OpenCL C, the remainder of a negative number is negative."
        added = values.text(core[2] if values.value(core[2], n.solved) >= -by else core)
        other = f", or compute it in uint, since {by:,} is a power of two" if not by & (by - 1) else ""
        return Why("out-of-bounds-access", text, (f"Add the modulus: `({added} + {modulus}) % {modulus}`{other}.",), line=place)
    return None


def _put(tree: Tree, part: Tree, number: int) -> Tree:
    """With a number in place of a part."""
    return ["number", number] if tree is part else [_put(one, part, number) if isinstance(one, list) else one for one in tree]


def _first_below_zero(tree: Tree, world: World) -> Tree:
    """The variable whose subtraction is negative, by its innermost name; else the whole."""
    added = [one for sign, term in summands(tree) if sign > 0 for one in values.parts(term)]
    below = [one for one in added if one[0] == "named" and bare(one)[0] == "-" and values.value(one, world) < 0]
    return innermost_name(below[0]) if below else tree


def _index_from_memory(n: Numbers) -> Why | None:
    for part in n.parts:
        loads = outer_loads(part.tree)
        loaded = _loaded(n, loads[0]) if len(loads) == 1 else None
        if loaded and (swapped := names_elsewhere.why(n, loads[0])):
            return swapped
        if loaded:
            assert n.solved is not None
            alone = n.solved.open[loads[0][1]] >= part.count
            text = f"{loaded if alone else equation(part.tree, n.solved)}, and {n.name} has {part.counted}."
            return Why("out-of-bounds-access", text, _check_loaded(loads[0]), facts=filled_by(n, loads[0]))
    return None


def filled_by(n: Numbers, load: Tree) -> tuple[str, ...]:
    """ "clCreateBuffer at spmv.c:90 was the last to write argument 1 `idx`"."""
    given = {int(one["index"]): one for one in n.f.facts.launches.values(n.launch)} if n.launch is not None else {}
    row = int(given[load[3]]["object"]) if load[3] in given else -1
    writer = last_writer(n.f.facts, row, n.f.position) if row >= 0 else None
    if writer is None:
        return ()
    name = values.label(load).partition("[")[0].strip()
    return (f"{writer.text} was the last to write argument {load[3]} `{name}`, where the index comes from",)


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
    if not any(one[0] == "load" and one[3] >= 0 for one in values.parts(load)):  # an array of the kernel's source
        return (f"Compare `{name}` with the size before it is used as an index.",)
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
    made = n.allocated()
    root = replace(made, source=host.source, through=None, host_stack=()) if made and host.source else made  # its declaration
    return Why("struct-layout", text, (_same_layout(layout, moved.name if moved else ""),), root, tuple(facts))


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
    found = extent_of(n, n.tree) if n.tree else None
    if found:
        yield *found, True
    axes = [int(one[2]) for one in has(n.tree, "id") if one[1] == "get_global_id"] if n.tree else range(3)
    for one in n.scalars:
        if any(is_launched(n, one.value, axis) for axis in axes):
            yield one.value, one.label, True
    core: Tree = bare(n.tree) if n.tree else ["number", 0]
    limit = values.limit(core, n.solved) if core[0] == "counter" and n.solved is not None else None
    if limit is not None and core[5][0] == "<":
        yield limit + ("=" in core[5]), values.text(core[4]), False


def _one_more(n: Numbers) -> Why | None:
    """A neighbour of the last element: `r + 1` of the last work-item."""
    for part in n.parts:
        core, known = bare(part.tree), n.named(part.count)
        if core[0] != "+" or core[3][0] != "number" or known is None or n.solved is None or n.is_local:
            continue
        if extent_of(n, core[2]) is None or values.value(core[2], n.solved) >= known.value:
            continue
        more, source = core[3][1], values.text(part.tree)
        text = (
            f"{equation(part.tree, n.solved)}, and {n.name} has {part.counted}, as many as {known.label}."
        )
        need = (part.count + more) * part.stride * n.element
        if more == 1 and _holds_ends(n):
            fact = f"a loop runs from one element of {n.name} to the next, so that the last row needs one more as its end"
            step = f"Allocate and fill {known.label} + 1 elements ({need:,} bytes): the last one is the end of the last row."
            return Why("undersized-buffer", text, (step,), n.allocated(), (fact,))
        step = (
            f"If element {part.value:,} is meant to exist, allocate {known.label} + {more} ({need:,} bytes);"
            f" if not, skip the access where `{source}` is not less than `{known.label}`."
        )
        return Why("out-of-bounds-access", text, (step,))
    return None


def _holds_ends(n: Numbers) -> bool:
    """Does a loop of the kernel begin and end at elements of this argument? (offsets of rows in a sparse matrix)"""
    trees = [json.loads(one.index) for one in n.f.sites if one.index and one.kernel == n.f.site.kernel]
    counters = [one for tree in trees for one in has(tree, "counter")]
    return n.argument >= 0 and any(
        all(any(load[3] == n.argument for load in has(one[at], "load")) for at in (3, 4)) for one in counters
    )


def _offset_twice(n: Numbers) -> Why | None:
    """The launch has a global offset, which get_global_id includes, and an argument adds the same number again."""
    if n.tree is None or n.solved is None:
        return None
    added = [bare(term) for sign, term in summands(n.tree) if sign > 0]
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
    """With two arguments exchanged, the last work-item accesses the last element, and in all launches of the kernel no other access leaves
    its buffer. Where another access fits as it is, the index is wrong and not the order of the arguments."""
    if n.tree is None or n.solved is None or has(n.tree, *OPEN):
        return None
    used = {one[1] for one in has(n.tree, "argument")}
    for a, b in combinations([one for one in n.scalars if not one.is_field], 2):
        if a.value == b.value or not used & {a.argument, b.argument}:
            continue
        arguments = {**n.solved.arguments, a.argument: b.value, b.argument: a.value}
        here = replace(n.solved, arguments=arguments)
        end, straight = _last(n.tree, here), _last(n.tree, n.solved)
        if end != n.held - 1 or straight is None or straight < n.held or not 0 <= values.value(n.tree, here) < n.held:
            continue
        if _fits_elsewhere(n, {a.argument, b.argument}) or not divided_launches.all_inside(n, (a.argument, b.argument)):
            continue
        text = (
            f"Arguments {a.argument} and {b.argument} look swapped: with {a.label} = {b.value:,} and {b.label} = {a.value:,}"
            f" the last work-item would access the last element; as they are, it goes {straight - end:,} elements past it."
        )
        step = f"Swap arguments {a.argument} ({a.label}) and {b.argument} ({b.label}) where they are set."
        return Why("argument-order", text, (step,), n.passed_at(a.argument))
    return None


def _exchanged_buffers(n: Numbers) -> Why | None:
    """Two buffers, each of which has the size that the kernel needs of the other one: to the byte, if their types differ."""
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
        bytes_, alike = int(sizes[other["object"]]), _is_same_type(mine, other)
        element = n.element if alike else other["declared"].element if other["declared"] else 0
        fits = need <= bytes_ // n.element < 2 * need if alike else need * n.element == bytes_
        if index == thing.index or other["object"] == mine["object"] or not fits or not element:
            continue
        wanted = _needed(n, index)
        if wanted is not None and (wanted == n.held if alike else wanted * element == n.f.size):
            found.append((index, other, bytes_))
    if len(found) != 1:  # with two that fit, neither is known to be meant
        return None
    index, other, bytes_ = found[0]
    label = f"`{other['declared'].name}`" if other["declared"].name else f"argument {index}"
    text = (
        f"Arguments {min(index, thing.index)} and {max(index, thing.index)} look swapped: {n.name} got {n.f.size:,} bytes and needs "
        f"{need * n.element:,}, {label} got {bytes_:,} bytes and needs {n.f.size:,}."
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
        ends += [values.largest(json.loads(way), n.world, extents(n)) if way else None for way in ways]
    known = [one for one in ends if one is not None]
    return max(known) + 1 if ends and len(known) == len(ends) else None


def extents(n: Numbers) -> dict[tuple[str, int], int]:
    """How many values each id has: of the global ones those that an argument counts, where the launch is rounded up from it."""
    found = launched(n)
    for axis in range(3):
        counted = [one.value for one in n.scalars if is_launched(n, one.value, axis)]
        if counted:
            found["get_global_id", axis] = min(counted)
    return found


def launched(n: Numbers) -> dict[tuple[str, int], int]:
    """How many values each id has in the launch."""
    return {one: last + 1 for one, last in _last_ids(n.world).items()}


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
            or not {one[1] for one in has(tree, "argument")} & pair
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
        found = extent_of(n, part.tree)
        if found is None or found[0] <= part.count:
            continue
        extent, words = found
        axis = f" in dimension {bare(part.tree)[2]}" if n.world.ids["get_global_size", 1] > 1 else ""
        launched = f"The launch has {extent:,} {words}{axis}, and {n.name} has {part.counted}"
        if n.is_local:
            return _short_local(n, part, f"{launched}.", extent)
        known = n.named(part.count)
        if known is None and words == EXTENTS["get_group_id"][1]:
            return _short_of_groups(n, part, launched, extent)
        axis_of = int(bare(part.tree)[2])
        larger = [one for one in n.scalars if one.value > max(part.value, part.count)]
        needed = next((one for one in larger if is_launched(n, one.value, axis_of)), None)
        if known is None and needed is not None:
            text = f"{needed.label} is {needed.value:,}, and {n.name} has {part.counted}."
            return _count_or_allocation(n, part, text, needed, axis_of)
        return _unguarded(n, part, launched, known)
    return None


def _missing_guard(n: Numbers) -> Why | None:
    """A launch that is rounded up from an argument, in a kernel that lets the rest of the last group do its work."""
    if n.tree is None or n.solved is None or n.is_local or n.index < n.held:
        return None
    most = values.largest(n.tree, n.solved, extents(n))
    for tree in has(n.tree, "id"):
        axis = int(tree[2])
        counted = [one for one in n.scalars if is_launched(n, one.value, axis) and one.value <= n.f.item[axis]]
        name = next((one for one in values.parts(n.tree) if one[0] == "named" and bare(one) == tree), tree)
        if tree[1] != "get_global_id" or not counted or most is None or most >= n.held or _guard_of(n, name) is not None:
            continue
        known, total = min(counted, key=lambda one: one.value), n.world.ids["get_global_size", axis]
        dimension = f" in dimension {axis}" if n.world.ids["get_global_size", 1] > 1 else ""
        text = f"The launch has {total:,} work-items{dimension}, and {known.label} is {known.value:,}: a bounds check is missing."
        step = f"Do nothing in work-items where `{values.text(name)}` is not less than `{known.label}`."
        return Why("out-of-bounds-access", text, (step,))
    return None


def _id_is_outside(n: Numbers) -> Why | None:
    """The index is never less than an id, and that id alone passes the end for some work-items: the loop or the sum around it is not to
    blame, but the number that the id is compared with, or the allocation."""
    for part in n.parts:
        least = _least_id(n, part.tree)
        guard = _guard_of(n, least) if least is not None else None
        if least is None or guard is None or not part.count < guard.value <= n.world.ids["get_global_size", int(bare(least)[2])]:
            continue
        reached = f"`{values.text(least)}` goes up to {guard.value - 1:,} ({guard.label} is {guard.value:,})"
        text = f"{reached}, and {n.name} has {part.counted}."
        return _count_or_allocation(n, part, text, guard, int(bare(least)[2]))
    return None


def _least_id(n: Numbers, tree: Tree) -> Tree | None:
    """The global id that an index is not less than: `i` of `i + k`, and of a loop that ends at `k <= i`."""
    core = bare(tree)
    if core[0] == "counter":
        reached = bare(core[4])
        return core[4] if core[5] == "<=" and reached[:2] == ["id", "get_global_id"] else None
    terms = list(summands(tree))
    ids = [term for sign, term in terms if sign > 0 and bare(term)[:2] == ["id", "get_global_id"]]
    rest = [term for sign, term in terms if not (ids and term is ids[0])]
    if len(terms) < 2 or len(ids) != 1 or any(sign < 0 for sign, _ in terms) or n.solved is None:
        return None
    return ids[0] if all(_never_negative(one, n.solved) for one in rest) else None


def _never_negative(tree: Tree, world: World) -> bool:
    core = bare(tree)
    if core[0] == "counter":
        run = values.turns(core, world)
        return run is not None and len(run) > 0 and min(run[0], run[-1]) >= 0
    return values.uniform(tree) and values.value(tree, world) >= 0


def _guard_of(n: Numbers, tree: Tree) -> Scalar | None:
    """The argument that conditions before the access compare a variable with; the smallest of several."""
    word = re.compile(rf"(?<!\w){re.escape(values.text(tree))}(?!\w)")
    found = [one for at, text in n.f.site.guards if word.search(text) for one in n.compared(at, text)]
    return min(found, key=lambda one: one.value, default=None)


def _count_or_allocation(n: Numbers, part: Part, text: str, guard: Scalar, axis: int) -> Why:
    """Other buffers of the launch that the same id indexes say which of the two numbers is wrong."""
    others = _held_by_id(n, axis)
    label = f"argument {guard.argument} `{guard.name}`"
    same = [name for name, held in others.items() if held == part.count * part.stride]
    if others and len(same) == len(others):
        fact = f"{listed([*same, n.name])} {'both' if len(same) == 1 else 'all'} have {part.count:,} elements"
        step = f"Pass {part.count:,} for {label}, or allocate {guard.value:,} elements for {listed([n.name, *same])}."
        return Why("out-of-bounds-access", text, (step,), n.passed_at(guard.argument), (fact,))
    enough = [name for name, held in others.items() if held >= guard.value * part.stride]
    facts = [f"{listed(enough)} {'has' if len(enough) == 1 else 'have'} room for {guard.value:,} elements"] if enough else []
    facts += [earlier] if (earlier := _fitted_before(n, part, guard)) else []
    most = values.largest(part.tree, n.solved, extents(n)) if n.solved is not None else None
    return replace(_undersized(n, part, text, max(guard.value, (most or 0) + 1)), facts=tuple(facts))


def _fitted_before(n: Numbers, part: Part, guard: Scalar) -> str:
    """ "launch 7 passed n = 3,000 with the same buffer": the number has grown, and the buffer has not."""
    launches, row = n.f.facts.launches, n.launch
    mine = {int(one["index"]): one for one in launches.values(row)} if row is not None else {}
    if row is None or guard.argument not in mine or n.argument not in mine:
        return ""
    for earlier in range(row - 1, max(-1, row - MOST_EARLIER), -1):
        given = {int(one["index"]): one for one in launches.values(earlier)} if launches.name(earlier) == launches.name(row) else {}
        if n.argument not in given or given[n.argument]["object"] != mine[n.argument]["object"] or guard.argument not in given:
            continue
        number = int.from_bytes(given[guard.argument]["bytes"], "little")
        if 0 < number <= part.count:
            return f"launch {earlier + 1} passed {guard.label} = {number:,} with the same buffer"
    return ""


def _held_by_id(n: Numbers, axis: int) -> dict[str, int]:
    """Elements of the other buffers that the kernel indexes with the global id of a dimension."""
    given = {int(one["index"]): one for one in n.f.facts.launches.values(n.launch)} if n.launch is not None else {}
    found: dict[str, int] = {}
    for site in n.f.sites:
        memory = given.get(site.argument)
        if site.kernel != n.f.site.kernel or not site.index or memory is None or memory["object"] < 0 or site.argument == n.argument:
            continue
        element, tree = memory["declared"].element if memory["declared"] else None, json.loads(site.index)
        if element and bare(_least_id(n, tree) or tree)[:3] == ["id", "get_global_id", axis]:
            found[f"`{memory['declared'].name}`"] = int(n.f.facts.objects.table["size"][memory["object"]]) // element
    return found


def _short_of_groups(n: Numbers, part: Part, launched: str, groups: int) -> Why:
    """One element or row per work-group, and there are more groups; often the host rounded down and the launch up."""
    each = n.world.ids.get(("get_local_size", int(bare(part.tree)[2])), 0)
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
    loose = _loose_guard(n, variable, known) if known and part.value == part.count else None
    if known and loose:
        text = f"`{variable}` is {part.value:,} and {known.label} is {known.value:,}: the largest allowed index is {part.count - 1:,}."
        return Why("out-of-bounds-access", text, (f"Compare with `{loose[1]}` instead of `{loose[0]}`.",))
    guard = _guard_of(n, part.tree)
    if known and guard and guard.value > part.count:
        compared = f"`{variable}` is compared with {guard.label} ({guard.value:,})"
        text = f"{compared}, and {n.name} has {part.counted}, as many as {known.label}."
        step = f"Compare `{variable}` with `{known.label}`, or allocate {guard.value:,} {part.unit} for {n.name}."
        return Why("out-of-bounds-access", text, (step,))
    if known:
        text = f"{launched} ({known.label} is {known.value:,}): a bounds check is missing."
        return Why(
            "out-of-bounds-access", text, (f"Skip the access where `{variable}` is not less than `{known.label}`.",)
        )
    text = f"{launched}."
    what = "rows" if part.stride > 1 else "elements"
    step = f"Pass the number of {what} to the kernel and skip the access where `{variable}` is not less, or launch {part.count:,}."
    return Why("out-of-bounds-access", text, (step,))


def _loose_guard(n: Numbers, variable: str, known: Scalar) -> tuple[str, str] | None:
    """A condition that lets the variable be as large as the number of elements, and the one that does not: `i <= n`, `i < n`."""
    name, count = re.escape(variable), re.escape(known.name)
    loose = re.compile(rf"{name}\s*(?:<=|>)\s*{count}|{count}\s*(?:>=|<)\s*{name}")
    found = next((text for at, text in n.f.site.guards if at == known.argument and loose.fullmatch(text)), None)
    if found is None:
        return None
    return found, found.replace("=", "") if "=" in found else re.sub("([<>])", r"\1=", found)


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
        "undersized-buffer", text, (f"{where} {need:,} bytes for {n.name}{_product(n, need)}: it has {n.f.size:,}.",), n.allocated()
    )


def _product(n: Numbers, need: int) -> str:
    return f" ({need // n.element:,} x {n.element})" if n.element > 1 else ""


def _reach_of_local(n: Numbers) -> Why | None:
    """Local memory that is too small for what other places of the kernel access in it, where this place does not say how far it goes."""
    if not n.is_local or n.index < n.held or n.launch is None:
        return None
    site, kernel = n.f.site, n.f.facts.launches.name(n.launch)
    found = []
    for one in n.f.sites:
        if one.kernel != kernel or not one.index or one.conditional or not set(one.things) & set(site.things):
            continue
        most = values.largest(json.loads(one.index), n.world, extents(n))
        if most is not None and most >= n.index:
            found.append((most, one))
    if not found:
        return None
    most, furthest = max(found, key=lambda one: one[0])
    group = n.world.ids.get(("get_local_size", 0))
    each = f" in a group of {group:,} work-items" if group else ""
    text = f"`{furthest.text}` (line {furthest.line}) goes up to element {most:,}{each}, and {n.name} has {n.held:,} elements."
    return _short_local(n, Part(n.tree or ["number", n.index], n.index, n.held, 1), text, most + 1)


def _loop(n: Numbers) -> Why | None:
    """A loop's counter is the index, or goes to it: the loop runs too far, or a neighbour is not clamped."""
    for part in n.parts:
        counters = has(part.tree, "counter")
        if len({one[1] for one in counters}) != 1 or n.solved is None:
            continue
        counter, is_counter = counters[0], bare(part.tree)[0] == "counter"
        known = n.named(part.count)
        count = f"{n.name} has {part.counted}" + (f" ({known.label} is {known.value:,})" if known else "")
        end = values.limit(counter, n.solved)
        if end is None:
            continue
        limit = end + ("=" in counter[5])
        bound = f"{values.label(counter)} {counter[5]} {values.text(counter[4])}"
        if n.is_local and is_counter and counter[5][0] == "<":
            return _short_local(
                n, part, f"The loop runs while `{bound}`, which is up to {limit - 1:,}, and {count}.", limit
            )
        if is_counter and counter[5] == "<=" and limit - 1 == part.count and values.uniform(counter[4]):
            text = f"The loop runs while `{bound}`, which includes {limit - 1:,}, and {count}."
            return Why("out-of-bounds-access", text, (f"Use `{bound.replace('=', '')}` in the loop.",))
        if is_counter and counter[5] == "<" and known is None and limit > part.count:
            text = f"The loop runs while `{bound}`, which is up to {limit - 1:,}, and {count}."
            need = limit * part.stride * n.element
            step = f"Compare the loop's bound with the allocation: it needs {need:,} bytes, and {n.f.size:,} are allocated."
            return Why("out-of-bounds-access", text, (step,))
        if not is_counter:
            name = values.text(part.tree)
            text = f"{equation(part.tree, n.solved)}, and {count}."
            limit_name = known.label if known else f"{part.count:,}"
            most = values.largest(part.tree, n.solved, extents(n))
            room = f", or allocate {(most + 1) * part.stride * n.element:,} bytes for {n.name}" if most and most >= part.count else ""
            clamp = f"Clamp `{name}` to `{limit_name} - 1`"
            step = f"{clamp}, skip the access where it is larger{room}." if room else f"{clamp}, or skip the access where it is larger."
            return Why("out-of-bounds-access", text, (step,))
    return None


def _anything(n: Numbers) -> Why | None:
    """What the index is made of; which of its numbers is wrong is not known."""
    for part in n.parts:
        if n.solved is None or values.uniform(part.tree):
            continue
        text = f"{equation(part.tree, n.solved)}, and {n.name} has {part.counted}."
        counters = has(part.tree, "counter")
        if counters and values.limit(counters[0], n.solved) is None:
            bound = f"{values.label(counters[0])} {counters[0][5]} {values.text(counters[0][4])}"
            step = f"Check the loop's bound, `{bound}`, against the size of {n.name}."
            return Why("out-of-bounds-access", text, (step,))
        return Why("out-of-bounds-access", text) if part.stride > 1 else None
    return None


def first_id(f: Failure) -> int:
    """The first global id of the launch in dimension 0."""
    launch = f.facts.launches.at_position(f.position)
    return next(iter(f.facts.launches.offset(launch)), 0) if launch is not None else 0


def _last_chunk(n: Numbers) -> Why | None:
    """A range that is launched in chunks, of which the last one is not cut at the end."""
    first, total = first_id(n.f), n.world.ids.get(("get_global_id", 0), 0) and n.world.ids["get_global_size", 0]
    if not first or n.tree is None or bare(n.tree)[:3] != ["id", "get_global_id", 0] or not first < n.held < first + total:
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
    _wrapped_on_host,
    _cut_on_host,
    _remainder,
    _negative,
    _index_from_memory,
    _float_as_count,
    _last_chunk,
    _exchanged_buffers,
    _bytes_per_element,
    _offset_twice,
    _exchanged,
    divided_launches.why,
    stride_reasons.why,
    stride_reasons.wrong_pitch,
    _id_is_outside,
    _one_more,
    _too_many_items,
    _missing_guard,
    _loop,
    _reach_of_local,
    _anything,
)
