"""Integer arguments multiply past what a 32-bit index can hold, and a buffer of the launch is that large.

Kernels index with `row * stride + column`. In 32 bits that product overflows at 2^31: it turns negative, and the access lands
gigabytes before the buffer. Code that worked for years breaks when a model or a batch grows. The launch itself is accepted, and
the crash shows up at the next wait.

Example:

    kernel void add(global float *out, int rows, int columns) {
        int i = get_global_id(1) * columns + get_global_id(0);    // 50,000 x 50,000 > 2^31

Fix it by computing the index in 64 bits: `size_t i = (size_t)row * columns + column`, or by splitting the launch.

In a run that passed it is a warning, and only if the kernel's source keeps its index in an int: correct kernels cast to 64 bits
before they multiply, which their arguments do not show. In a run that failed the product is reported even if the source is not
known. It is an error if the program crashed before it had waited for the launch, and the source keeps its index in an int.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.kernels import ArgInfo, KernelInfo
from gpudx.model import Cause, Evidence, Finding, Severity
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural, several

ID = "index-overflow"
CAUSE = Cause(
    id=ID,
    title="An index computed in 32 bits exceeds 2^31",
    refutes_if="The kernel computes the index in 64 bits, or never forms this product.",
    fix=(
        "Compute the index in 64 bits inside the kernel: (size_t)row * stride + column. This costs a register or two.",
        "Or split the launch so that no product reaches 2^31. This costs more launches.",
    ),
    predicts=(
        ("recorded", "the product of the launch's sizes exceeds 2^31"),
        ("sized", "it fails from the size on at which the product passes 2^31"),
    ),
    settled_by="a run with sizes just below 2^31 / element size",
    kind=FIXED,
)
LARGE = 1 << 31
ELEMENTS = (1, 2, 4, 8, 16)
LOOKED_AT = 16  # launches of one kernel function
SLACK = 1.25  # a buffer may be padded by so much
WIDE = re.compile(r"\b(size_t|u?long\d*|ptrdiff_t|u?intptr_t)\b")
NARROW = re.compile(r"\bu?int\s+\w+\s*=")
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class _Overflow:
    launch: int
    factors: tuple[tuple[ArgInfo, int], ...]
    memory: ArgInfo
    object: int

    @property
    def product(self) -> int:
        return prod(value for _, value in self.factors)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function; repeats are counted."""
    args, launches = facts.launches.arguments, facts.launches
    sizes = np.append(facts.objects.table["size"], np.uint64(0))
    rows = np.unique(args.launch[sizes[args.object] >= LARGE])
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])):
        found = next(filter(None, (_overflow(facts, int(r)) for r in part[:LOOKED_AT])), None)
        if found and (run.failed or not _is_wide(facts, facts.launches.info(found.launch))):
            yield _finding(facts, run, found, len(part))


def _overflow(facts: Facts, row: int) -> _Overflow | None:
    """The product with the fewest factors that passes 32 bits and counts the elements of a buffer of this launch."""
    numbers, memory = [], []
    for value in facts.launches.values(row):
        known = value["declared"]
        if known and known.scalar in ("int", "uint") and known.size == 4 == value["size"]:
            numbers.append((known, int.from_bytes(value["bytes"], "little", signed=known.scalar == "int")))
        elif known and value["object"] >= 0 and int(facts.objects.table["size"][value["object"]]) >= LARGE:
            memory.append((known, int(value["object"])))
    large = [(arg, value) for arg, value in numbers if value > 1]
    for factors in (*combinations(large, 2), *combinations(large, 3)):
        for arg, obj in memory:
            if _passes(factors) and _counts(prod(v for _, v in factors), arg, int(facts.objects.table["size"][obj])):
                return _Overflow(row, factors, arg, obj)
    return None


def _passes(factors: tuple[tuple[ArgInfo, int], ...]) -> bool:
    """int times int stays int; one unsigned factor makes the product unsigned (C11, 6.3.1.8)."""
    unsigned = any(arg.scalar == "uint" for arg, _ in factors)
    return prod(value for _, value in factors) >= (LARGE << 1 if unsigned else LARGE)


def _counts(product: int, arg: ArgInfo, size: int) -> bool:
    """Is the product the number of elements of this memory, exactly or but for some padding?"""
    if any(product * k == size for k in ELEMENTS):
        return True
    return arg.element is not None and product * arg.element <= size <= product * arg.element * SLACK


def _finding(facts: Facts, run: Run, found: _Overflow, count: int) -> Finding:
    position = int(facts.launches.position[found.launch])
    site = facts.sites.at(position, argument=found.memory.index)
    label, size = facts.objects.label(found.object), int(facts.objects.table["size"][found.object])
    names = [f"{_name(arg)} = {value:,}" for arg, value in found.factors]
    limit = "2^32" if any(arg.scalar == "uint" for arg, _ in found.factors) else "2^31"
    message = (
        f"Kernel {site.kernel} was passed {several(names)}, whose product {found.product:,} exceeds {limit}, and "
        f"{label} of {plural(size, 'byte')}: a 32-bit index cannot reach all of it."
    )
    info = facts.launches.info(found.launch)
    wide = _is_wide(facts, info)
    evidence = [
        Evidence(f"{' x '.join(names)} = {found.product:,}", (site.number,)),
        Evidence(f"{_memory(found.memory)} is {label}", (site.number,)),
    ]
    if wide:
        evidence.append(Evidence("the kernel may compute its index in 64 bits: its source does not show otherwise"))
    return Finding(
        id=ID,
        severity=_severity(facts, run, position, wide),
        message=message,
        evidence=tuple(evidence),
        site=site,
        count=count,
        allocation=allocation_of(facts, found.object),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("factors", " x ".join(_name(arg) for arg, _ in found.factors))),
    )


def _name(arg: ArgInfo) -> str:
    return arg.name or f"argument {arg.index}"


def _memory(arg: ArgInfo) -> str:
    return f"argument {arg.index} ({f'{arg.type} {arg.name}'.strip()})"


def _severity(facts: Facts, run: Run, position: int, wide: bool) -> Severity:
    crashed = run.outcome.kind == "signal" and not facts.trace.ended
    return "error" if crashed and not wide and not _waited_since(facts, position) else "warning"


def _waited_since(facts: Facts, position: int) -> bool:
    """Did a wait that began after the launch succeed? Then the launch was done before the crash."""
    waits = facts.trace.select(facts.trace.schema.doing("wait"))
    waits = waits[waits > position]
    done = facts.trace.column("end", waits) != 0
    return bool((done & (facts.trace.column("status", waits) == 0)).any())


def _is_wide(facts: Facts, info: KernelInfo | None) -> bool:
    """May the index be computed in 64 bits? Yes, unless the kernel's text keeps it in an int and has nothing wider."""
    source = facts.kernels.source(info.program, info.position) if info else ""
    at = re.search(rf"\b{re.escape(info.name)}\s*\(", source) if info else None
    if at is None:
        return True
    body = _body(source, at.end())
    return bool(WIDE.search(body)) or not NARROW.search(body)


def _body(source: str, at: int) -> str:
    """The text between the braces that follow."""
    begin = source.find("{", at)
    depth = 0
    for end in range(begin, len(source)):
        depth += {"{": 1, "}": -1}.get(source[end], 0)
        if depth == 0:
            return source[begin:end]
    return source[begin:]
