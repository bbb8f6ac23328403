"""A call was refused because a size, offset, region, flag or pointer does not fit its object.

The status says only that some value is invalid. Each refused copy, fill, map, launch, argument and creation is compared with
what was recorded: the buffer's bytes, the image's extent, pitches, the kernel's arguments, the alignment and the largest
allocation of the device; and with the rules that the API has for flags, host pointers and lists of events.

Example:

    cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    clEnqueueReadBuffer(queue, x, CL_TRUE, 0, 1048576, host, 0, NULL, NULL);     // CL_INVALID_VALUE

Fix it by computing both numbers from the same variable.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._failures import COMMANDS, Failures
from gpudx.detectors._groups import groups
from gpudx.detectors._ordinary import ordinary
from gpudx.detectors._rejected import answer
from gpudx.facts import Facts, backend_module
from gpudx.facts.allocated import allocation_of
from gpudx.facts.kernels import LOCAL
from gpudx.facts.open_calls import fatal_call
from gpudx.facts.ranges import WRITE
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import capital, plural

ID = "refused-value"
RANGE = "copy-range"
CAUSE = Cause(
    id=ID,
    title="A call was refused because of an invalid value",
    refutes_if="The values satisfy every rule shown.",
    fix=("Correct the value before the call: compute sizes and offsets from the numbers that the memory was allocated with.",),
    predicts=(("recorded", "the call fails each time"),),
    kind=FIXED,
)
DOING = ("copy", "fill", "map", "unmap", "create", "set_arg", "launch", "marker", "barrier")
SIDES = ("reads", "writes", "maps")
PATTERNS = (1, 2, 4, 8, 16, 32, 64, 128)  # bytes that a fill may repeat (OpenCL API specification, "Filling Buffer Objects")
EXTENT = struct.Struct("<I4x3Q")  # the head of cl_image_desc: type, width, height, depth
SHOWN = 50
NULL_PAGE = 1 << 16  # an address below this came from a null pointer
FAR = 1 << 36  # bytes; farther away, the two have nothing to do with each other
LIBRARY = re.compile(r"(?:cub|thrust|hipcub|rocprim)::")


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call, status and place in the program; repeats are counted."""
    trace, died = facts.trace, fatal_call(facts)
    positions = np.append(facts.errors.own, [] if died is None else [died]).astype(np.int64)
    kinds = np.array([c.does in DOING for c in trace.schema.calls])
    positions = positions[kinds[trace.call[positions]]]
    keys = (trace.call[positions], trace.column("status", positions), trace.column("caller", positions))
    for part in list(groups(positions, *keys))[:SHOWN]:
        found = _finding(facts, run, int(part[0]), len(part))
        if found:
            yield found


def _finding(facts: Facts, run: Run, position: int, count: int) -> Finding | None:
    past, row = _past_end(facts, position)
    if not past:
        past, row = _nowhere(facts, position)
    rules = [past] if past else [*_values(facts, position)]
    if not rules or _is_dealt_with(facts, run, position):
        return None
    site = facts.sites.at(position)
    how = f"was refused with {site.status}" if site.status != "in flight" else "never returned"
    return Finding(
        id=ID,
        severity="error" if run.failed and not Failures(facts).runs_without(Failures(facts).at(position)) else "warning",
        message=f"{site.call} {how}: {'; '.join(rules)}.",
        evidence=(*(Evidence(rule, (site.number,)) for rule in rules), answer(site)),
        site=site,
        count=count,
        allocation=allocation_of(facts, row, "live") if row >= 0 else None,
        causes=(RANGE if past else ID,),
        steps=_of_library(facts, site, row) if past and row >= 0 else (),
        facts=(("call", site.call), ("status", site.status or "?")),
    )


def _is_dealt_with(facts: Facts, run: Run, position: int) -> bool:
    """A program may try what is refused, and go another way: only what it stopped at, or went on after, counts. One that passes may
    have tried, as its last act, whether something can be created; a refused copy leaves data where it is."""
    if not facts.trace.column("status", np.array([position]))[0]:
        return False  # the process died in it
    failures = Failures(facts)
    failure = next((one for one in failures.roots if one.position == position), failures.at(position))
    stopped = failures.stopped_at(failure) and (run.failed or failure.info.does in COMMANDS)
    return not stopped and not failures.ignored(failure)


def _row(facts: Facts, handle: int, position: int) -> int:
    return int(facts.objects.live_at(np.array([handle], np.uint64), np.array([position], np.int64))[0])


# ---- past the end ----


def _past_end(facts: Facts, position: int) -> tuple[str, int]:
    """The sentence and the memory, where a side of the call leaves its memory."""
    info, words = facts.trace.info(position), facts.trace.record(position)
    for side in SIDES:
        name, _, rest = str(getattr(info, side) or "").partition("@")
        row = _row(facts, words[name], position) if name in words else -1
        if row < 0:
            continue
        text = _stretch(facts, row, words, rest) if rest else _region(facts, row, position, side)
        if text:
            return text, row
    row = _row(facts, words["buffer"], position) if info.does == "create" and "buffer" in words else -1
    part = struct.unpack("<2Q", facts.trace.array(position, "create_info")[:16].ljust(16, b"\0"))
    if row >= 0 and sum(part) > int(facts.objects.table["size"][row]):
        return _too_long(facts, row, *part), row
    return "", -1


def _stretch(facts: Facts, row: int, words: dict[str, int], rest: str) -> str:
    """ "buffer@offset+size" of the schema, against the buffer's size."""
    offset, size = (words.get(name, 0) for name in rest.split("+"))
    return _too_long(facts, row, offset, size) if offset + size > int(facts.objects.table["size"][row]) else ""


def _too_long(facts: Facts, row: int, offset: int, size: int) -> str:
    label, whole = facts.objects.label(row), int(facts.objects.table["size"][row])
    begins = f" from byte {offset:,} on" if offset else ""
    negative = f" ({size - (1 << 64):,} as a signed number)" if size >> 63 else ""
    past = f" ({plural(offset + size - whole, 'byte')} too many)" if offset < whole and not negative else ""
    return f"it requests {plural(size, 'byte')}{negative}{begins} of {label}, which has {plural(whole, 'byte')}{past}"


def _region(facts: Facts, row: int, position: int, side: str) -> str:
    """Origin and region of an image, against its extent."""
    extent = _extent(facts, row)
    prefix = {"reads": "src_", "writes": "dst_"}.get(side, "")
    origin = _triple(facts, position, "origin") or _triple(facts, position, f"{prefix}origin")
    region = _triple(facts, position, "region")
    if not extent or not origin or not region:
        return ""
    over = [i for i in range(3) if origin[i] + region[i] > max(1, extent[i])]
    if not over:
        return ""
    label, what = facts.objects.label(row), " x ".join(str(n) for n in region)
    at = f" from ({', '.join(map(str, origin))}) on" if any(origin) else ""
    size = " x ".join(str(max(1, n)) for n in extent)
    return f"it requests a region of {what}{at} of {label}, which has {size} pixels"


def _triple(facts: Facts, position: int, name: str) -> tuple[int, ...]:
    data = facts.trace.array(position, name)
    return struct.unpack("<3Q", data[:24]) if len(data) >= 24 else ()


def _extent(facts: Facts, row: int) -> tuple[int, ...]:
    born = int(facts.objects.table["born"][row])
    desc, words = facts.trace.array(born, "desc"), facts.trace.record(born)
    if len(desc) >= EXTENT.size:
        return tuple(EXTENT.unpack_from(desc)[1:])
    return tuple(words.get(name, 0) for name in ("width", "height", "depth")) if "width" in words else ()


def _nowhere(facts: Facts, position: int) -> tuple[str, int]:
    """A device address in no allocation, and the one that it lies behind: the sentence and the memory."""
    ranges = facts.ranges
    fill = facts.trace.info(position).does == "fill"
    for at in map(int, ranges.at(position)):
        side, address = ranges.table[at], int(ranges.table["address"][at])
        if int(ranges.object[at]) >= 0 or not (side["device"] or fill) or address < NULL_PAGE or ordinary(facts, address):
            continue  # memory of the host is another mistake
        rows = facts.memory.rows[facts.memory.live(facts.memory.rows, np.full(len(facts.memory.rows), position))]
        first, sizes = (facts.objects.table[name][rows] for name in ("handle", "size"))
        below = np.flatnonzero((first <= np.uint64(address)) & (sizes > 0))
        if not len(below):
            continue
        row = int(rows[below[np.argmax(first[below])]])
        past = address - int(facts.objects.table["handle"][row]) - int(facts.objects.table["size"][row])
        if past > FAR:
            continue
        what = "destination" if side["how"] == WRITE else "source"
        made = facts.sites.at(int(facts.objects.table["born"][row]))
        line = f" at {made.source}" if made.source else ""
        size = plural(int(facts.objects.table["size"][row]), "byte")
        return (
            f"its {what} {address:#x} is in no allocation; it is {plural(past, 'byte')} past the end of {facts.objects.label(row)} "
            f"({size}, {made.call}, call {made.number}{line})"
        ), row
    return "", -1


def _of_library(facts: Facts, site: Site, row: int) -> tuple[str, ...]:
    """Algorithms of CUB and its like are called twice: for the size of their temporary storage, and with it (CUB, "Device-wide
    primitives")."""
    frame = next((one for one in site.host_stack if LIBRARY.match(one)), None)
    if frame is None:
        return ()
    name = frame.partition("<")[0].partition("+")[0].rpartition("::")[2]
    return (
        f"{capital(facts.objects.label(row))} may be the temporary storage of {name}: allocate what its query returned for this very "
        "number of items, not for an earlier, smaller one.",
        f"If it is not, compare the pointers and counts that {name} was passed with the sizes of their buffers.",
    )


# ---- single values ----


def _values(facts: Facts, position: int) -> Iterator[str]:
    """Rules that the values of the call break by themselves."""
    info, words = facts.trace.info(position), facts.trace.record(position)
    if (rules := backend_module(info.api, "refusals")) is not None:
        yield from rules.broken(words, lambda name: facts.trace.array(position, name))
        yield from _argument(facts, position, rules.argument) if info.does == "set_arg" else ()
        yield from _host_access(facts, position, rules.host_access) if info.host or info.does == "map" else ()
    if info.does == "unmap":
        yield from _unmapped(facts, position, words)
    if info.does == "create":
        yield from _created(facts, position, words)
    if info.does == "set_arg":
        return  # sizes of arguments: argument-size
    if words.get("size") == 0:
        yield "its size is 0"
    if info.host and words.get(info.host) == 0:
        yield "the host pointer is null"
    pattern = words.get("pattern_size")
    if pattern is not None and pattern not in PATTERNS:
        yield f"a pattern of {plural(pattern, 'byte')} is not one that a fill can repeat (1, 2, 4, ... 128)"
    elif pattern:
        for name in ("offset", "size"):
            if words.get(name, 0) % pattern:
                yield f"the {name} {words[name]:,} is not a multiple of the pattern's {plural(pattern, 'byte')}"


def _argument(facts: Facts, position: int, rule: Callable[[int, int, int, int, bool], Iterator[str]]) -> Iterator[str]:
    """Of clSetKernelArg and its like."""
    sets = facts.set_args
    rows = np.flatnonzero(sets.position == position)
    known = facts.kernels.info(int(sets.kernel_row[rows[0]])) if len(rows) else None
    if known is not None:
        index, argument = int(sets.index[rows[0]]), known.args.get(int(sets.index[rows[0]]))
        local = argument is not None and argument.space == LOCAL
        yield from rule(known.num_args, index, int(sets.size[rows[0]]), int(sets.pointer[rows[0]]), local)


def _host_access(facts: Facts, position: int, rule: Callable[[int, bool, bool, int], Iterator[str]]) -> Iterator[str]:
    """Of a transfer between the host and memory, or a map of memory; a part of a buffer inherits what its buffer allows."""
    info, words = facts.trace.info(position), facts.trace.record(position)
    for side in SIDES:
        name = str(getattr(info, side) or "").partition("@")[0]
        row = _row(facts, words[name], position) if name in words else -1
        if row < 0:
            continue
        parent = int(facts.objects.table["parent"][row])
        flags = int(facts.objects.table["flags"][row]) | (int(facts.objects.table["flags"][parent]) if parent >= 0 else 0)
        source = facts.sites.at(int(facts.objects.table["born"][row if parent < 0 else parent])).source
        for clause in rule(flags, side == "reads", side == "writes", words.get("flags", 0) if side == "maps" else 0):
            yield f"{facts.objects.label(row)}{f' ({source})' if source else ''} {clause}"


def _unmapped(facts: Facts, position: int, words: dict[str, int]) -> Iterator[str]:
    """An address that no map before it gave; a map of what was unmapped already is left to the driver's count."""
    trace, given = facts.trace, words.get("mapped", 0)
    maps = [c for c in trace.schema.doing("map") if c.word("result") is not None]
    known = {int(value) for info in maps for value in trace.field(info, "result", trace.select(info)).tolist()}
    if given not in known:
        yield f"{hex(given)} is not an address that a map of this program returned"


def _created(facts: Facts, position: int, words: dict[str, int]) -> Iterator[str]:
    most = max((one.max_alloc_size for one in facts.kernels.devices.values()), default=0)
    if words.get("size", 0) > most > 0:
        yield f"{plural(words['size'], 'byte')} are more than the device's largest allocation of {plural(most, 'byte')}"
    origin = struct.unpack("<Q", facts.trace.array(position, "create_info")[:8].ljust(8, b"\0"))[0]
    align = _base_alignment(facts)
    if align and origin % align:
        yield f"it begins at byte {origin:,}, which is not a multiple of the device's base alignment of {plural(align, 'byte')}"
    parent = _row(facts, words["buffer"], position) if "buffer" in words else -1
    if parent >= 0 and facts.objects.table["parent"][parent] >= 0:
        yield f"{facts.objects.label(parent)} is itself a sub-buffer, and a sub-buffer cannot have sub-buffers"


def _base_alignment(facts: Facts) -> int:
    """In bytes: the smallest of the devices', because one that fits is enough."""
    found = [facts.trace.record(int(p)).get("mem_base_align_bits", 0) // 8 for p in facts.trace.named("note_device")]
    return min((one for one in found if one), default=0)
