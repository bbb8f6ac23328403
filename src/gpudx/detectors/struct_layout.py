"""The host and the kernel declare a struct of one name with different layouts.

The bytes that the host wrote into one field are read as another. In OpenCL C a float3 takes 16 bytes and each vector is aligned to its
size; a host that declares `float scale` for `half scale`, or the fields in another order, has other offsets and often another size.
Nothing fails if the buffer is large enough: the results are wrong.

Example:

    typedef struct { float d; int8_t q[32]; } block;          // host: 36 bytes
    typedef struct { half d; char q[32]; } block;             // kernel: 34 bytes

Fix it by declaring the struct with the same types and order on both sides, or by padding.

Reported if debug information has a struct of the same name as the kernel's argument, and a field of the same name is at another byte or
the size differs. The buffer must be a whole number of the host's structs and, if the sizes differ, not of the kernel's: programs also
convert their own structs before they upload them. Structs that are passed by value are compared if their sizes are equal; if not, the
call itself is at fault (argument-size). It is an error in a program that fails, else a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.kernels import ArgInfo, StructLayout
from gpudx.facts.set_arguments import set_at
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "struct-layout"
MOST_CALLS = 4  # that filled the buffer, whose sources are looked at
BECAUSE = "Debug information and the kernel's source show both layouts; it is not shown that the program failed because of them."


@dataclass(frozen=True)
class _Mismatch:
    """A struct as the host declares it, and as the kernel does."""

    name: str
    argument: ArgInfo
    object: int
    on_host: int  # bytes
    declared: str  # file:line
    in_kernel: int
    moved: tuple[str, int, int] | None  # a field, its byte on the host and in the kernel


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and argument: of its first launch."""
    launches = facts.launches
    functions = facts.kernels.functions(launches.kernel_row)
    for row in np.unique(functions, return_index=True)[1].tolist():
        if functions[row] >= 0:
            yield from (_finding(facts, run, row, one) for one in _mismatches(facts, row))


def _mismatches(facts: Facts, row: int) -> Iterator[_Mismatch]:
    info = facts.launches.info(row)
    for one in facts.launches.values(row) if info else ():
        declared, memory = one["declared"], one["object"]
        if declared is not None and info is not None and memory < 0 and "*" not in declared.type and not declared.scalar:
            yield from _by_value(facts, row, declared, facts.kernels.struct_of(declared, info), int(one["size"]))
        if declared is None or memory < 0 or declared.type.count("*") != 1:
            continue
        layout = facts.kernels.struct_of(declared, info) if info else None
        found = _compared(facts, row, declared, memory, layout) if layout and layout.members else None
        if found:
            yield found


def _compared(facts: Facts, row: int, argument: ArgInfo, memory: int, layout: StructLayout) -> _Mismatch | None:
    name = argument.type.rstrip("* ").removeprefix("struct ")
    host = next(filter(None, (facts.symbols.struct(place - 1, name) for place in _places(facts, row, memory))), None)
    if host is None:
        return None
    size, there = int(facts.objects.table["size"][memory]), dict(host.members)
    moved = next(((field, there[field], at) for field, at in layout.members if there.get(field, at) != at), None)
    if size % host.size or (host.size != layout.size and not size % layout.size) or (host.size == layout.size and not moved):
        return None
    return _Mismatch(name, argument, memory, host.size, host.source, layout.size, moved)


def _by_value(facts: Facts, row: int, argument: ArgInfo, layout: StructLayout | None, size: int) -> Iterator[_Mismatch]:
    """A struct that the launch was passed by value, of the kernel's size and with fields at other places."""
    name, passed = argument.type.removeprefix("struct ").strip(), set_at(facts, row, argument.index)
    if layout is None or not layout.members or size != layout.size or passed is None:
        return
    places = [int(one) for one in facts.trace.column("caller", np.array([passed, int(facts.launches.position[row])])) if one]
    host = next(filter(None, (facts.symbols.struct(place - 1, name) for place in places)), None)
    there = dict(host.members) if host is not None else {}
    moved = next(((field, there[field], at) for field, at in layout.members if there.get(field, at) != at), None)
    if host is not None and host.size == size and moved:
        yield _Mismatch(name, argument, -1, host.size, host.source, layout.size, moved)


def _places(facts: Facts, row: int, memory: int) -> list[int]:
    """Addresses in the code that filled and made the buffer, and launched."""
    table = uses(facts)
    filled = table["position"][(table["object"] == memory) & (table["argument"] < 0)][:MOST_CALLS].tolist()
    positions = np.array([*filled, int(facts.objects.table["born"][memory]), int(facts.launches.position[row])])
    return [int(one) for one in facts.trace.column("caller", positions) if one]


def _finding(facts: Facts, run: Run, row: int, one: _Mismatch) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]), argument=one.argument.index)
    size = int(facts.objects.table["size"][one.object]) if one.object >= 0 else one.on_host
    declared = f" ({one.declared.rpartition('/')[2]})" if one.declared else ""
    text = f"`{one.name}` has {one.on_host} bytes on the host{declared} and {one.in_kernel} bytes in the kernel"
    field = ""
    if one.moved is not None:
        field = f"`{one.moved[0]}` is at byte {one.moved[1]} on the host{declared} and at byte {one.moved[2]} in the kernel"
    same, by_value = one.on_host == one.in_kernel, one.object < 0
    passed = set_at(facts, row, one.argument.index) if by_value else None
    made = facts.sites.at(passed if passed is not None else int(facts.objects.table["born"][one.object]))
    what = f"argument {one.argument.index} `{one.argument.name}`"
    if by_value:
        reads = f"is passed {what} as `{one.name}` by value"
        held = f"{made.call} passed {plural(one.on_host, 'byte')} for it, which is the size of both"
    else:
        reads = f"reads {facts.objects.label(one.object)} as `{one.name}` ({what})"
        held = f"{facts.objects.label(one.object)} has {size:,} bytes: {size // one.on_host:,} structs of the host"
        held += "" if same else f", and {size / one.in_kernel:,.1f} of the kernel"
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) {reads}, which the host lays out differently: {field if same else text}."
        ),
        evidence=(
            *([Evidence(field, (site.number,))] if field and not same else []),
            Evidence(held, (made.number, site.number)),
        ),
        site=site,
        allocation=None if by_value else allocation_of(facts, one.object),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(one.argument.index)), ("struct", one.name)),
        because=BECAUSE,
        root=replace(made, source=one.declared, through=None, host_stack=()) if one.declared else made,
        steps=(f"Declare `{one.name}` with the same types, order and padding on the host and in the kernel.",),
    )
