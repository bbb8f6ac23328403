"""A copy or fill was passed a number of elements where it takes bytes, so that only the first part of a buffer was written or read back.

cudaMemcpy, cudaMemset, cudaMemcpyToSymbol, hipMemcpy and clEnqueueWriteBuffer count bytes. `n` instead of `n * sizeof(float)` writes the
first quarter; the rest keeps what it held, which is often zeros, so that results are merely wrong.

Example:

    cudaMalloc(&x, n * sizeof(float));
    cudaMemcpy(x, host, n, cudaMemcpyHostToDevice);          // n bytes: a quarter
    scale<<<blocks, 256>>>(x, n);

Fix it by multiplying with the size of an element.

Reported if the numbers agree:

- The first bytes of a buffer were written, as many as the buffer has elements; nothing else wrote the rest before a kernel was passed the
  buffer; and that launch was passed the same number. It is an error if the kernel's declaration gives the size of an element.
- A variable of a module was written from its start, and the copy ends in the middle of an element. The alignment of the elements (2, 4 or
  8 bytes) is that of the PTX in the program's file. It is an error if the program failed.
- All reads back to the host take as many bytes from the start as the buffer has elements, and the last launch before the first read may
  write the buffer and has one work-item for each element. It is at most likely if the program passed.

It is a warning if the size of an element is not known, for fills (the kernel may write the buffer anyway), for copies into a buffer that
was filled as a whole before (the rest may be padding), and for variables of a module, which programs also set in part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.kernel_code import alignment_of
from gpudx.facts.objects import KINDS
from gpudx.facts.symbols import pretty
from gpudx.model import Cause, Evidence, Finding, Severity
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural, several

ID = "bytes-for-elements"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="A copy or fill was passed elements instead of bytes",
    refutes_if="The kernel uses only the part that was written, or something unrecorded wrote the rest.",
    fix=("Multiply the count by the size of an element: these calls take bytes.",),
    predicts=(("recorded", "the bytes written are the number of elements that the launch is passed"),),
    kind=FIXED,
)
LEAST = 16  # bytes: smaller numbers agree by chance
ELEMENTS = (2, 4, 8, 16)
NOT_SHOWN = "The program read back as many bytes as the buffer has elements; that it needs the rest is not shown."
LIKELY = (4, 8)  # where no declaration says it
MOST_COUNTS = 4


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per line and kernel, else per buffer and per variable; repeats are counted."""
    found: dict[object, Finding] = {}
    for one in islice(chain(_buffers(facts), _variables(facts, run), _read_back(facts, run)), MOST):
        place = one.site and (one.site.source or one.site.number)
        before = found.get((place, one.facts))
        found[place, one.facts] = replace(before, count=before.count + one.count) if before else one
    yield from found.values()


def _buffers(facts: Facts) -> Iterator[Finding]:
    table = uses(facts)
    for obj in _written_in_part(facts).tolist():
        mine = table[table["object"] == obj]
        launches = mine[(mine["argument"] >= 0) & ~mine["inside"]]
        if len(launches) and (finding := _buffer(facts, obj, mine, launches[0])):
            yield finding


def _written_in_part(facts: Facts) -> NDArray[np.int64]:
    """Buffers of which the host wrote as many bytes as they have elements: few, so that the rest can take its time."""
    table, objects = uses(facts), facts.objects.table
    kinds = np.isin(objects["kind"], [KINDS.index("buffer"), KINDS.index("memory")])
    whole = kinds & (objects["size"] >= LEAST * 2) & (objects["host_ptr"] == 0)
    writes = _after_fills(facts, table[whole[table["object"]] & (table["argument"] < 0) & ((table["how"] & WRITE) != 0)])
    last = np.zeros(len(objects), np.uint64)
    np.maximum.at(last, writes["object"], writes["end"].astype(np.uint64))
    fits = np.any([last * np.uint64(one) == objects["size"] for one in ELEMENTS], axis=0)
    return np.flatnonzero(whole & fits & (last >= LEAST))


def _after_fills(facts: Facts, writes: NDArray[np.void]) -> NDArray[np.void]:
    """Without the fills of whole buffers that come before a copy into them: they only prepare the memory."""
    fills = np.array([call.does == "fill" for call in facts.trace.schema.calls])[facts.trace.call[writes["position"]]]
    last_copy = np.full(len(facts.objects.table), -1, np.int64)
    np.maximum.at(last_copy, writes["object"][~fills], writes["position"][~fills])
    whole = (writes["begin"] == 0) & (writes["end"] >= facts.objects.table["size"][writes["object"]])
    return writes[~(fills & whole & (writes["position"] < last_copy[writes["object"]]))]


def _buffer(facts: Facts, obj: int, mine: NDArray[np.void], use: np.void) -> Finding | None:
    writes = _host_writes(mine)
    kept = _after_fills(facts, writes)
    written = _first_part(kept, int(facts.objects.table["size"][obj]))
    if written is None or int(written["position"]) > int(use["position"]) or int(use["begin"]):
        return None
    if (mine["argument"] >= 0)[mine["position"] < use["position"]].any():
        return None
    count, element = int(written["end"]), int(facts.objects.table["size"][obj]) // int(written["end"])
    launch = facts.launches.at_position(int(use["position"]))
    index = _argument_with(facts, launch, count) if launch is not None else None
    if launch is None or index is None:
        return None
    info = facts.launches.info(launch)
    declared = info.args.get(int(use["argument"])) if info else None
    known = declared.element if declared else None
    if known not in (None, element) or (known is None and element not in LIKELY):
        return None
    fill = facts.trace.info(int(written["position"])).does == "fill"
    site, taken = facts.sites.at(int(written["position"])), facts.sites.at(int(use["position"]), argument=int(use["argument"]))
    filled = len(kept) < len(writes)
    severity: Severity = "error" if known and not fill and not filled else "warning"
    label, size = facts.objects.label(obj), int(facts.objects.table["size"][obj])
    return Finding(
        id=ID,
        severity=severity,
        message=(
            f"{site.call} (call {site.number}) wrote {count:,} of {size:,} bytes of {label}; {count:,} is its number of {element}-byte "
            f"elements, which kernel {taken.kernel} is passed as argument {index}: the call takes bytes."
        ),
        evidence=(
            Evidence(
                f"nothing else wrote {label} before launch {taken.launch}" + (", but for a fill before the copy" if filled else ""),
                (site.number, taken.number),
            ),
            Evidence(f"{count:,} x {element} bytes = {size:,}, the size of {label}", (site.number,)),
            Evidence(f"launch {taken.launch} was passed {count:,} as argument {index}", (taken.number,)),
        ),
        site=site,
        others=(taken,),
        allocation=allocation_of(facts, obj, needed=size),
        causes=(ID,),
        facts=(("call", site.call), ("kernel", taken.kernel or "")),
    )


def _host_writes(mine: NDArray[np.void]) -> NDArray[np.void]:
    return mine[(mine["argument"] < 0) & ((mine["how"] & WRITE) != 0)]


def _first_part(writes: NDArray[np.void], size: int) -> np.void | None:
    """The write from the start, where it is all that the host ever wrote, and as many bytes as there are elements."""
    if not len(writes) or writes["begin"].any() or len(np.unique(writes["end"])) != 1:
        return None
    count = int(writes["end"][0])
    return writes[0] if count >= LEAST and any(count * one == size for one in ELEMENTS) else None


def _argument_with(facts: Facts, launch: int, number: int) -> int | None:
    for value in facts.launches.values(launch):
        data = bytes(value["bytes"])
        if len(data) in (4, 8) and int(value["object"]) < 0 and int.from_bytes(data, "little") == number:
            return int(value["index"])
    return None


def _is_passed(facts: Facts, launch: int, number: int) -> bool:
    """Is the launch passed the number, or two numbers with this product? Then it can be rounded up from it."""
    given = [bytes(one["bytes"]) for one in facts.launches.values(launch) if int(one["object"]) < 0]
    numbers = [int.from_bytes(one, "little") for one in given if len(one) in (4, 8)]
    return number in numbers or any(one * other == number for one, other in combinations(numbers, 2))


def _variables(facts: Facts, run: Run) -> Iterator[Finding]:
    """Of a variable of a module there may be several objects, one for each time that its address was asked for."""
    table, objects = uses(facts), facts.objects.table
    variables = facts.objects.rows_of("global")
    variables = variables[objects["size"][variables] >= LEAST * 2]
    for handle in np.unique(objects["handle"][variables]).tolist():
        rows = variables[objects["handle"][variables] == handle]
        writes, size = _host_writes(table[np.isin(table["object"], rows)]), int(objects["size"][rows[0]])
        written = _first_part(writes, size)
        if written is not None and _is_used_after(facts, written) and size // int(written["end"]) in LIKELY:
            yield _variable(facts, int(rows[-1]), written)
        elif (cut := _cut(facts, int(rows[-1]), writes)) is not None:
            yield _cut_variable(facts, run, int(rows[-1]), *cut)


def _is_used_after(facts: Facts, written: np.void) -> bool:
    return bool((facts.launches.position > int(written["position"])).any())


def _cut(facts: Facts, obj: int, writes: NDArray[np.void]) -> tuple[NDArray[np.void], int] | None:
    """The writes from the start that end inside an element, and the bytes of one; None where others write the rest, or it is not known."""
    if not len(writes) or writes["begin"].any() or not (writes["end"] & np.uint64(1)).any():
        return None
    element = alignment_of(facts, _name_of(facts, obj))
    if element not in (2, *LIKELY):
        return None
    fits = (writes["end"] * np.uint64(element) <= facts.objects.table["size"][obj]).all()
    cut = writes[writes["end"] % np.uint64(element) != 0]
    return (cut, element) if fits and _is_used_after(facts, cut[0]) else None


def _name_of(facts: Facts, obj: int) -> str:
    return facts.trace.array(int(facts.objects.table["born"][obj]), "name").rstrip(b"\0").decode("utf-8", "replace")


def _cut_variable(facts: Facts, run: Run, obj: int, cut: NDArray[np.void], element: int) -> Finding:
    site, size, count = facts.sites.at(int(cut["position"][0])), int(facts.objects.table["size"][obj]), int(cut["end"][0])
    name, label = _name_of(facts, obj), pretty(_name_of(facts, obj))
    counts = several([f"{one:,}" for one in dict.fromkeys(cut["end"].tolist())], MOST_COUNTS)
    calls = tuple(one + 1 for one in cut["position"].tolist()[:MOST_COUNTS])
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        message=(
            f"{site.call} (call {site.number}) wrote {plural(count, 'byte')} of variable {label}, whose elements have {element}: that is "
            f"{count // element} of them and a part of the next. The call takes bytes; {count:,} elements are {count * element:,} bytes."
        ),
        evidence=(
            Evidence(f"the PTX of the program aligns {label} to {element} bytes, and it has {size:,}", (site.number,)),
            Evidence(f"the host wrote nothing else of {label} than its first {counts} bytes", calls),
        ),
        site=site,
        count=len(cut),
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("variable", name)),
    )


def _variable(facts: Facts, obj: int, written: np.void) -> Finding:
    site, size, count = facts.sites.at(int(written["position"])), int(facts.objects.table["size"][obj]), int(written["end"])
    name = _name_of(facts, obj)
    label = f"variable {name}" if name else facts.objects.label(obj)
    element = size // count
    return Finding(
        id=ID,
        severity="warning",
        message=(
            f"{site.call} (call {site.number}) wrote {count:,} of {size:,} bytes of {label}, and nothing wrote the rest: {count:,} is its "
            f"number of {element}-byte elements, and the call takes bytes."
        ),
        evidence=(
            Evidence(f"{count:,} x {element} bytes = {size:,}, the size of {label}", (site.number,)),
            Evidence(f"{plural(size - count, 'byte')} of it were not written", (site.number,)),
        ),
        site=site,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("variable", name)),
    )


def _read_back(facts: Facts, run: Run) -> Iterator[Finding]:
    """Buffers that the program reads back only up to the byte whose number is that of their elements."""
    table, objects = uses(facts), facts.objects.table
    to_host = np.array([bool(call.host) and bool(call.reads) and call.does == "copy" for call in facts.trace.schema.calls])
    reads = table[(table["argument"] < 0) & ((table["how"] & WRITE) == 0)]
    back = reads[to_host[facts.trace.call[reads["position"]]]]
    sizes = objects["size"][back["object"]]
    fits = np.any([back["end"] * np.uint64(one) == sizes for one in ELEMENTS], axis=0) & (back["begin"] == 0) & (back["end"] >= LEAST)
    for obj in np.unique(back["object"][fits]).tolist():
        mine = reads[reads["object"] == obj]
        if len(np.unique(mine["end"])) == 1 and not mine["begin"].any() and (finding := _read(facts, run, obj, mine)):
            yield finding


def _read(facts: Facts, run: Run, obj: int, reads: NDArray[np.void]) -> Finding | None:
    table, position, size = uses(facts), int(reads["position"][0]), int(facts.objects.table["size"][obj])
    count = int(reads["end"][0])
    launched = table[(table["object"] == obj) & (table["argument"] >= 0) & ((table["how"] & WRITE) != 0) & (table["position"] < position)]
    launch = facts.launches.at_position(int(launched["position"][-1])) if len(launched) else None
    info = facts.launches.info(launch) if launch is not None else None
    declared = info.args.get(int(launched["argument"][-1])) if info else None
    if launch is None or declared is None or declared.element is None or declared.element * count != size:
        return None
    items = math.prod(n for n in facts.launches.geometry(launch)[0] if n)
    if items != count and not (count < items < 2 * count and _is_passed(facts, launch, count)):
        return None
    site, wrote = facts.sites.at(position), facts.sites.at(int(launched["position"][-1]), argument=int(launched["argument"][-1]))
    label, element, more = facts.objects.label(obj), declared.element, "" if items == count else " and some to fill groups"
    return Finding(
        id=ID,
        severity="error",
        certainty="recorded" if run.failed else "observed",
        attribution="this" if run.failed else "probable",
        because="" if run.failed else NOT_SHOWN,
        message=(
            f"{site.call} (call {site.number}) read back {count:,} of {size:,} bytes of {label}; {count:,} is its number of "
            f"{element}-byte elements: the call takes bytes."
        ),
        evidence=(
            Evidence(f"{count:,} x {element} bytes = {size:,}, the size of {label}", (site.number,)),
            Evidence(
                f"kernel {wrote.kernel} (launch {wrote.launch}) has {items:,} work-items, one for each element of {label}{more}, "
                f"which it is passed as argument {wrote.argument} ({declared.type} {declared.name})",
                (wrote.number,),
            ),
            Evidence(f"the last {plural(size - count, 'byte')} of {label} were never read back", (site.number,)),
        ),
        site=site,
        others=(wrote,),
        allocation=allocation_of(facts, obj),
        count=len(reads),
        causes=(ID,),
        facts=(("call", site.call), ("kernel", wrote.kernel or ""), ("way", "read")),
    )
