"""A transfer or a buffer uses host memory that is too small for it, or that was freed too early.

Seen in runs that log the heap (the experiment host-heap of gpudx investigate). The memory of a transfer must have its full size
and stay until the transfer is complete; that of a buffer made with CL_MEM_USE_HOST_PTR must stay until the buffer is released.

Example:

    float *host = malloc(n * sizeof(float));
    clEnqueueReadBuffer(queue, pairs, CL_TRUE, 0, n * sizeof(cl_float2), host, 0, NULL, NULL);

Fix it by allocating as much as the call reads or writes, and by freeing it when the work that uses it is complete.

Not reported: memory in no logged block (on the stack, in globals, from mmap), and transfers that use only part of a block.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.heap import NEVER, Block
from gpudx.facts.ranges import WRITE
from gpudx.facts.symbols import pretty
from gpudx.model import Access, Evidence, Finding, Site
from gpudx.text import plural
from gpudx.text.places import is_installed

ID = "host-block"
SMALL, FREED, UNDER_COPY = "host-access-outside-buffer", "host-memory-freed-in-use", "host-memory-changed-under-copy"
ALLOCATOR = re.compile(r", std::allocator<[^<>]*> ?>")  # a template argument that nobody wrote
SHARED = re.compile(r"\b_Sp_counted_\w+.*::(?:_M_dispose|_M_destroy|_M_release\w*)$")
MOST = 2000  # transfers that are looked at


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding for each place of a transfer or buffer, and way."""
    if not facts.heap.logged:
        return
    seen: set[tuple[str, int]] = set()
    for finding in (*_transfers(facts), *_buffers(facts)):
        key = (finding.causes[0], _caller(facts, finding.site.number - 1) if finding.site else 0)
        if key not in seen:
            seen.add(key)
            yield finding


def _caller(facts: Facts, position: int) -> int:
    return int(facts.trace.column("caller", np.array([position]))[0])


def _ticks(facts: Facts, position: int) -> int:
    return int(facts.trace.column("begin", np.array([position]))[0])


def _transfers(facts: Facts) -> Iterator[Finding]:
    for entry in facts.host_copies.table[:MOST].tolist():
        position, address, size, how, _, blocking = entry[:6]
        size = size or _of_rectangle(facts, position)
        block = facts.heap.block(address, _ticks(facts, position)) if size else None
        if block is None:
            continue
        if address + size > block.address + block.size:
            yield _too_small(facts, position, address, size, block, "write" if how == WRITE else "read")
        elif not blocking and _may_run(facts, position, block.freed):
            yield _freed_under_copy(facts, position, size, block)


def _of_rectangle(facts: Facts, position: int) -> int:
    """Bytes from the start of the host memory to the end of the last row that a copy of a rectangle uses; 0 for other copies."""
    record = facts.trace.record(position)
    region, origin = (np.frombuffer(facts.trace.array(position, name), np.uint64).tolist() for name in ("region", "host_origin"))
    if len(region) != 3 or len(origin) != 3 or "host_row_pitch" not in record:
        return 0
    row = record["host_row_pitch"] or region[0]
    plane = record["host_slice_pitch"] or row * region[1]
    return int((origin[2] + region[2] - 1) * plane + (origin[1] + region[1] - 1) * row + origin[0] + region[0])


def _after(facts: Facts, ticks: int) -> int | None:
    """The first call that began after a time."""
    later = np.flatnonzero(facts.trace.column("begin") > np.uint64(ticks))
    return int(later[0]) if len(later) else None


def _may_run(facts: Facts, position: int, ticks: int) -> bool:
    """Had nothing waited for the transfer by then?"""
    later, operation = _after(facts, ticks), facts.happens.op_at(np.array([position]))
    if later is None or later <= position or operation[0] < 0:
        return False
    return not facts.happens.done_before_host(operation, np.array([later]))[0]


def _too_small(facts: Facts, position: int, address: int, size: int, block: Block, does: str) -> Finding:
    site = facts.sites.at(position)
    left = block.size - (address - block.address)
    where = _line(facts, block.maker)
    what = f"{does}s {plural(size, 'byte')} {'to' if does == 'write' else 'from'} host memory"
    room = f"a block of {plural(block.size, 'byte')}" + (f" of which {left:,} are left" if left != block.size else "")
    return Finding(
        id=ID,
        severity="error",
        message=f"{site.call} (call {site.number}) {what} that has only {plural(left, 'byte')}{where}.",
        evidence=(Evidence(f"the host memory is {room}; the call {does}s {size - left:,} bytes past its end", (site.number,)),),
        site=site,
        causes=(SMALL,),
        facts=(("call", site.call), ("way", "small")),
        certainty="observed",
        because="The size of the block is known from the program's own allocation.",
        access=Access(kind="write" if does == "write" else "read", by="driver", width=size, seen_by="heap log"),
        root=_allocation(facts, block.maker, "malloc"),
        steps=(f"Allocate {plural(size, 'byte')} for it, or transfer {plural(left, 'byte')}.",),
    )


def _freed_under_copy(facts: Facts, position: int, size: int, block: Block) -> Finding:
    site = facts.sites.at(position)
    where, when = _line(facts, block.freer, ""), _between(facts, block.freed)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{site.call} (call {site.number}) returns before the copy is complete, and the program freed its {plural(size, 'byte')} of "
            f"host memory{where} before anything waited for the copy."
        ),
        evidence=(
            Evidence(f"the memory was freed{where} {when}".rstrip()),
            Evidence("nothing waits for the copy before that", (site.number,)),
        ),
        site=site,
        causes=(UNDER_COPY,),
        facts=(("call", site.call), ("way", "freed")),
        certainty="observed",
        because="The block was freed while nothing had waited for the copy.",
        root=_allocation(facts, block.freer, "free"),
    )


def _buffers(facts: Facts) -> Iterator[Finding]:
    """Buffers on the program's own memory, at their creation and at each use."""
    table = facts.objects.table
    for row in np.flatnonzero(table["host_ptr"] != 0)[:MOST].tolist():
        born, address, size = (int(table[name][row]) for name in ("born", "host_ptr", "size"))
        block = facts.heap.block(address, _ticks(facts, born)) if 0 <= born < len(facts.trace) else None
        if block is None or not size:
            continue
        if address + size > block.address + block.size:
            yield _too_small(facts, born, address, size, block, "read")
        elif facts.objects.on_host[row] and (use := _use_after(facts, row, block.freed)) is not None:
            yield _freed_in_use(facts, row, use, block)


def _use_after(facts: Facts, row: int, ticks: int) -> tuple[int, int] | None:
    """(position, argument) of the first launch that is given a buffer after a time."""
    if ticks == NEVER:
        return None
    args, launches = facts.launches.arguments, facts.launches
    for at in np.flatnonzero(args.object == row).tolist():
        position = int(launches.position[args.launch[at]])
        if _ticks(facts, position) > ticks:
            return position, int(args.index[at])
    return None


def _freed_in_use(facts: Facts, row: int, use: tuple[int, int], block: Block) -> Finding:
    site = facts.sites.at(use[0], argument=use[1])
    label, born, size = facts.objects.label(row), int(facts.objects.table["born"][row]), int(facts.objects.table["size"][row])
    where, source = _line(facts, block.freer, ""), facts.sites.at(born).source
    made = f" ({os.path.basename(source)})" if source else ""
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) uses {label}, argument {site.argument}, whose host memory the program had "
            f"already freed{where}: this buffer works on the program's own memory."
        ),
        evidence=(
            Evidence(f"call {born + 1}{made} made {label} on {plural(size, 'byte')} of the program's own memory", (born + 1,)),
            Evidence(f"the block of {plural(block.size, 'byte')} was freed{where} {_between(facts, block.freed)}".rstrip()),
        ),
        site=site,
        allocation=allocation_of(facts, row, "live"),
        causes=(FREED,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(site.argument))),
        certainty="observed",
        because="The program freed the memory of this buffer and then launched a kernel that uses it.",
        root=_allocation(facts, block.freer, "free"),
        steps=_steps(where, label),
    )


def _steps(where: str, label: str) -> tuple[str, ...]:
    if "std::vector" not in where:
        return ()
    return (f"Create {label} again whenever the vector is reallocated, or reserve the vector's full size before creating it.",)


def _line(facts: Facts, code: int, did: str = "allocated") -> str:
    """ ", allocated at main.c:9"; of code in a header of the system, which of its functions: " in std::vector<float>::reserve"."""
    source = _own_line(facts, code)
    if source:
        return f"{f', {did}' if did else ''} at {source.rpartition('/')[2]}"
    places = facts.symbols.places(code - 1)
    name = pretty(places[-1].function) if places else ""
    if SHARED.search(name) and not did:
        return " when the last std::shared_ptr to it was destroyed"
    return f"{f', {did}' if did else ''} in {ALLOCATOR.sub('>', name)}" if "::" in name else ""


def _own_line(facts: Facts, code: int) -> str:
    """The innermost line of the program's own: what a header inlined there is not."""
    sources = [one.source for one in facts.symbols.places(code - 1) if one.source]
    return next((one for one in sources if not is_installed(one)), "")


def _between(facts: Facts, ticks: int) -> str:
    """ "between call 150 (series.cpp:56) and call 151 (series.cpp:51)"."""
    notes, begin = facts.trace.is_note, facts.trace.column("begin")
    before = np.flatnonzero(~notes & (begin <= np.uint64(ticks)))
    after = np.flatnonzero(~notes & (begin > np.uint64(ticks)))
    if not len(before) or not len(after):
        return ""
    named = [facts.sites.at(int(at)) for at in (before[np.argmax(begin[before])], after[np.argmin(begin[after])])]
    first, second = (f"call {one.number}{f' ({os.path.basename(one.source)})' if one.source else ''}" for one in named)
    return f"between {first} and {second}"


def _allocation(facts: Facts, code: int, call: str) -> Site | None:
    """The line of an allocation or a free; it is no recorded call."""
    source = _own_line(facts, code)
    return Site(call=call, number=0, pid=facts.trace.pid, tid=0, source=source) if source else None
