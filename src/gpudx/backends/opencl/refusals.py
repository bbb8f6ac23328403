"""Values with which OpenCL refuses a call, whatever else is right (OpenCL API specification, the errors of each call)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

READ_WRITE, WRITE_ONLY, READ_ONLY, USE_HOST_PTR, ALLOC_HOST_PTR, COPY_HOST_PTR = (1 << bit for bit in range(6))
ACCESS = {READ_WRITE: "CL_MEM_READ_WRITE", WRITE_ONLY: "CL_MEM_WRITE_ONLY", READ_ONLY: "CL_MEM_READ_ONLY"}
FROM_HOST = {USE_HOST_PTR: "CL_MEM_USE_HOST_PTR", COPY_HOST_PTR: "CL_MEM_COPY_HOST_PTR"}
HOST_WRITE_ONLY, HOST_READ_ONLY, HOST_NO_ACCESS = (1 << bit for bit in range(7, 10))
MAP_READ, MAP_WRITE = 1, 2 | 4  # to write, also without the old content
SIDES = ("buffer", "host", "src", "dst")
Words = dict[str, int]
Array = Callable[[str], bytes]


def broken(words: Words, array: Array) -> Iterator[str]:
    """The rules that a call's own values break, each as a clause."""
    if "flags" in words and "host_ptr" in words:
        yield from _memory(words)
    yield from _waits(array("waits"))
    if words.get("device") == 0:
        yield "the device is null"
    yield from _overlapping(words)
    if region := _triple(array("region")):
        yield from _pitches(words, region)


def _memory(words: Words) -> Iterator[str]:
    flags, given = words["flags"], words["host_ptr"]
    access = [name for bit, name in ACCESS.items() if flags & bit]
    if len(access) > 1:
        yield f"{' and '.join(access)} exclude each other"
    from_host = [name for bit, name in FROM_HOST.items() if flags & bit]
    if flags & USE_HOST_PTR and flags & (ALLOC_HOST_PTR | COPY_HOST_PTR):
        other = "CL_MEM_ALLOC_HOST_PTR" if flags & ALLOC_HOST_PTR else "CL_MEM_COPY_HOST_PTR"
        yield f"CL_MEM_USE_HOST_PTR and {other} exclude each other"
    elif from_host and not given:
        yield f"{from_host[0]} needs a host pointer, and it is null"
    elif given and not from_host:
        yield "a host pointer is passed, but the flags have neither CL_MEM_USE_HOST_PTR nor CL_MEM_COPY_HOST_PTR"


def host_access(flags: int, reads: bool, writes: bool, mapped: int) -> Iterator[str]:
    """Of memory with these flags, which the host reads or writes by a call, or maps with flags."""
    reads, writes = reads or bool(mapped & MAP_READ), writes or bool(mapped & MAP_WRITE)
    if flags & HOST_NO_ACCESS:
        yield "was created with CL_MEM_HOST_NO_ACCESS, so the host can neither read, write nor map it"
    elif flags & HOST_WRITE_ONLY and reads:
        yield "was created with CL_MEM_HOST_WRITE_ONLY, so the host cannot read it"
    elif flags & HOST_READ_ONLY and writes:
        yield "was created with CL_MEM_HOST_READ_ONLY, so the host cannot write it"


def _waits(listed: bytes) -> Iterator[str]:
    events = struct.unpack(f"<{len(listed) // 8}Q", listed[: len(listed) // 8 * 8])
    if 0 in events:
        yield f"event {events.index(0)} of the wait list is null"


def _overlapping(words: Words) -> Iterator[str]:
    """One dimension, one buffer."""
    names = ("src_buffer", "dst_buffer", "src_offset", "dst_offset", "size")
    if not all(name in words for name in names):
        return
    source, target, first, second, size = (words[name] for name in names)
    if source == target and abs(first - second) < size:
        yield f"source (bytes {first:,} to {first + size - 1:,}) and destination (from byte {second:,} on) overlap in one buffer"


def _pitches(words: Words, region: tuple[int, int, int]) -> Iterator[str]:
    """Rows that are longer than the distance between rows, and layers that are larger than theirs. 0: computed by the driver."""
    width, height, depth = region
    if 0 in region:
        yield f"the region of {width} x {height} x {depth} is empty"
    for side in SIDES:
        pitch, layer = words.get(f"{side}_row_pitch", 0), words.get(f"{side}_slice_pitch", 0)
        if 0 < pitch < width:
            yield f"a row of {width:,} bytes does not fit the {side} row pitch of {pitch:,}"
        elif 0 < layer < height * max(pitch, width):
            yield f"a layer of {height:,} rows does not fit the {side} slice pitch of {layer:,} bytes"


def _triple(data: bytes) -> tuple[int, int, int] | None:
    return struct.unpack("<3Q", data[:24]) if len(data) >= 24 else None


def argument(count: int, index: int, size: int, value: int, is_local: bool) -> Iterator[str]:
    """Of one argument of a kernel with `count` of them."""
    if index >= count:
        yield f"there is no argument {index}: the kernel has {count} (0 to {count - 1})" if count else "the kernel has no arguments"
    elif is_local and value:
        yield f"argument {index} is local memory, which takes a size in bytes and a null value"
    elif is_local and not size:
        yield f"argument {index} is local memory, and its size is 0"
