"""The numbers that a loop without an end depends on, as the checked kernel reported them in its last turn."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from gpudx.diagnose.access_numbers import Numbers
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.allocated import allocation_of
from gpudx.kernel_checks.values import fit
from gpudx.text import listed, plural

MOST_EXITS = 3  # conditions or numbers in one sentence


@dataclass(frozen=True)
class Number:
    name: str
    value: str
    stays: bool  # the last turn left it as it was


def numbers(f: Failure) -> tuple[Number, ...]:
    """Nothing where two turns of the loop were not seen one after the other."""
    if f.kind != "loop" or not f.flags & 1:
        return ()
    found = zip(f.site.watched, (f.offset, f.size, f.more), range(1, 4), strict=False)
    return tuple(
        Number(text.rpartition(" ")[0], _shown(bits, text.rpartition(" ")[2]), bool(f.flags >> at & 1)) for text, bits, at in found
    )


@dataclass(frozen=True)
class Cycle:
    """An index that a loop moves through memory in a circle."""

    name: str  # of the argument
    label: str  # with its buffer
    update: str  # of the index, as the source has it
    values: int
    held: int


def cycle(f: Failure) -> Cycle | None:
    """Of a loop that has been round at least twice: the elements that it reads are the same each time."""
    launch = f.facts.launches.at_position(f.position)
    given = {int(one["index"]): one for one in f.facts.launches.values(launch)} if f.kind == "loop" and launch is not None else {}
    for text, argument, _ in f.site.loads:
        variable, one = text.rpartition("[")[2].rstrip("]").strip(), given.get(argument)
        if one is None or one["object"] < 0 or not one["declared"] or not one["declared"].element or not variable.isidentifier():
            continue
        found, held = _round(f, variable), int(f.facts.objects.table["size"][one["object"]]) // one["declared"].element
        if found is None or not 1 < found[1] <= min(held, f.width // 2):
            continue
        memory, name = allocation_of(f.facts, int(one["object"])), one["declared"].name
        about = [memory.id, plural(memory.size or 0, "byte")] if memory is not None else []
        about += [f"allocated at {memory.made.source.rpartition('/')[2]}"] if memory and memory.made and memory.made.source else []
        return Cycle(name, f"`{name}` ({', '.join(about)})", found[0], found[1], held)
    return None


def _round(f: Failure, variable: str) -> tuple[str, int] | None:
    """How the loop moves an index, and after how many values it comes back to the first; None for what this does not know, and for an
    index that is moved in more than one way."""
    name, number = re.escape(variable), r"([A-Za-z_]\w*|\d+)[uU]?"
    folded = rf"\b{name}\s*=\s*\(\s*{name}\s*\+\s*{number}\s*\)\s*([&%])\s*(?:{number}|\(\s*{number}\s*-\s*1\s*\))\s*;"
    again = rf"\+\+\s*{name}\s*[=>]=\s*{number}\s*\)\s*{name}\s*=\s*0\s*;"
    found = [*re.finditer(folded, f.body), *re.finditer(again, f.body)]
    if len(found) != 1:
        return None
    update, groups = found[0][0].rstrip("; \n"), found[0].groups()
    if len(groups) == 1:
        count, step = _number(f, groups[0]), 1
    else:
        by, operator, whole, below = groups
        count, step = _number(f, whole or below), _number(f, by) or 0
        count = count + 1 if count is not None and operator == "&" and whole else count
        if operator == "&" and (not count or count & (count - 1)):
            return None
    return (update, count // gcd(count, step)) if count and step > 0 else None


def _number(f: Failure, text: str) -> int | None:
    """Of a literal, an argument, or a constant that the source defines."""
    defined = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(text)}[ \t]+(\d+)[uU]?[ \t]*$", f.source, re.M)
    if text.isdigit() or defined:
        return int(defined[1] if defined else text)
    return next((one.value for one in Numbers(f).scalars if one.name == text), None)


def sentence(f: Failure) -> str:
    """ "`lo` stays 13 and `hi` stays 14."; "" where nothing is known."""
    if (turning := cycle(f)) is not None:
        all_ = "all" if turning.values == turning.held else f"{turning.values:,} of the"
        return (
            f"It reads {all_} {turning.held:,} elements of {turning.label} again and again, since `{turning.update}` takes the same"
            f" {turning.values:,} values in each round, and none of these elements ends it."
        )
    found = numbers(f)
    parts = [
        f"`{one.name}` stays {one.value}" if one.stays else f"`{one.name}` is {one.value} and still changes"
        for one in found
    ]
    return f"{listed(parts)}." if parts else ""


def step(f: Failure) -> str | None:
    """What to look at, where an iteration changes nothing."""
    found = numbers(f)
    if not found or not all(one.stays for one in found):
        return None
    values = listed([f"{one.name} = {one.value}" for one in found])
    changed = "neither" if len(found) == 2 else "nothing"
    return f"Check how the loop gets to {values}: an iteration that begins with this changes {changed}, so the loop never ends."


def was_written(f: Failure) -> str:
    """ "argument 4 `tag`": of an element that a loop waits for, the argument whose value it holds; "" where it holds none. Then a work-item
    most likely stored it."""
    found = numbers(f)
    if len(found) != 2 or not all(one.stays for one in found) or "[" not in found[0].name or found[0].value == "0":
        return ""
    given = [one for one in Numbers(f).scalars if f"{one.value:,}" == found[0].value]
    return f"argument {given[0].argument} `{given[0].name}`" if given else ""


def never_equal(f: Failure) -> str | None:
    """What to compare, where an element that a loop waits for was written, with another value."""
    if not (given := was_written(f)):
        return None
    waited, other = numbers(f)
    return (
        f"Compare what the kernel stores in `{waited.name}` with what the loop waits for: it holds {waited.value}, as {given} does, and"
        f" `{other.name}` is {other.value}."
    )


def facts(f: Failure) -> Iterator[str]:
    """What would end the loop, the arguments that it uses, and the memory that it reads."""
    if f.kind != "loop":
        return
    if f.site.exits and (texts := [f"`{one}`" for one in f.site.exits[:MOST_EXITS]]):
        reads = listed([f"`{text}`" for text, _, _ in f.site.loads])
        only = "ends only" if _has_no_condition(f) else "also ends"
        yield f"the loop {only} where {' or '.join(texts)} is true" + (f", which depends on {reads}" if reads else "")
    if given := was_written(f):
        waited = numbers(f)[0]
        yield f"{given} is {waited.value}, too: if the kernel stored it in `{waited.name}`, the loop waits for the wrong value"
    known = [one for one in Numbers(f).scalars if one.argument in f.site.uses and one.name.partition(".")[0]]
    if known:
        yield listed([f"argument {one.argument} `{one.name}` is {one.value:,}" for one in known[:MOST_EXITS]])
    for name, elements in _memory(f) if cycle(f) is None else ():
        if 0 < elements <= f.width:
            turns = f"{f.width // elements:,} times as many" if f.width >= 2 * elements else "more"
            yield f"`{name}` has {plural(elements, 'element')}: the loop made {turns} iterations without an element that ends it"


def _has_no_condition(f: Failure) -> bool:
    """`for (;;)`, `while (1)`."""
    return f.site.text.startswith("for") or f.site.text in ("1", "true")


def way_out(f: Failure) -> str | None:
    """What to change, where only the contents of memory can end the loop."""
    if not f.site.exits or not _has_no_condition(f):
        return None
    ends = " or ".join(f"`{one}`" for one in f.site.exits[:MOST_EXITS])
    if (turning := cycle(f)) is not None:
        change = f"Make sure that an element of `{turning.name}` satisfies {ends}"
        if turning.values < turning.held:
            change = f"Let the index reach all {turning.held:,} elements of `{turning.name}`"
        elif re.search(rf"cmpxchg\w*\s*\(\s*&\s*{re.escape(turning.name)}\b|\b{re.escape(turning.name)}\s*\[[^\]]*\]\s*=[^=]", f.body):
            change = f"Make `{turning.name}` larger than the number of different values that it has to hold"
        return f"{change}, and leave the loop after {turning.values:,} iterations, when none of its elements can end it."
    memory = list(_memory(f))
    if not memory:
        return f"Follow one iteration: nothing but {ends} ends the loop."
    name, elements = memory[0]
    limit = f"after {elements:,} iterations, as many as `{name}` has elements" if elements else "after a number of iterations"
    return f"Make sure that an element of `{name}` satisfies {ends}, or leave the loop {limit}."


def _memory(f: Failure) -> Iterator[tuple[str, int]]:
    """The arguments that decide about the end, with their elements."""
    launch = f.facts.launches.at_position(f.position)
    given = {int(one["index"]): one for one in f.facts.launches.values(launch)} if launch is not None else {}
    for argument in dict.fromkeys(argument for _, argument, _ in f.site.loads):
        one = given.get(argument)
        if one is None or one["object"] < 0 or not one["declared"] or not one["declared"].element:
            continue
        yield one["declared"].name, int(f.facts.objects.table["size"][one["object"]]) // one["declared"].element


def _shown(bits: int, kind: str) -> str:
    low = bits & ((1 << 64) - 1)
    if kind[0] != "f":
        return f"{fit(low, kind):,}"
    data = low.to_bytes(8, "little")
    number = struct.unpack("<f", data[:4])[0] if kind == "f32" else struct.unpack("<d", data)[0]
    return "NaN" if number != number else f"{number:.9g}"
