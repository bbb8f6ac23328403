"""A trace for the Perfetto UI (ui.perfetto.dev): threads, queues, memory in use, and the faults, over time.

Written are the packets of perfetto/protos/perfetto/trace (trace_packet.proto, track_event.proto, track_descriptor.proto), not
JSON: a million launches take a third of the room, and all packets of a kind have one length, so that numpy writes them at
once. A number in a packet may be longer than it need be (protobuf's encoding, "Base 128 Varints"), which makes that possible.

A slice on a thread is a call of the program. A slice on a queue says when work was submitted, not when the device did it:
device times are not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpudx.model import Case
from gpudx.report.safe import clean

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # TrackEvent.Type
RESET, NEEDS_NAMES = 1, 2  # TracePacket.SequenceFlags
BYTES = 3  # CounterDescriptor.Unit
AT_ONCE = 200_000  # events that are held as bytes at a time
TIME_BYTES, SMALL_BYTES, NUMBER_BYTES, SIZE_BYTES = 8, 3, 5, 9  # of padded numbers: 56, 21, 35 and 63 bits

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


@dataclass(frozen=True)
class Slices:
    """Calls by columns, sorted by beginning. `end` is -1 where a call did not return; `lane` and `name` are places in lists."""

    lane: I64
    begin: I64  # ns
    end: I64
    name: I64
    number: I64


@dataclass(frozen=True)
class Mark:
    """Something that happened at a moment, in a thread or (-1) in the process."""

    thread: int  # place in the list of threads
    time: int
    text: str


@dataclass(frozen=True)
class Timeline:
    """What one process did."""

    pid: int
    command: str
    names: Sequence[str]
    threads: Sequence[int]
    queues: Sequence[str]
    calls: Slices
    submitted: Slices  # their lanes are queues
    held_at: I64  # ns, and the bytes of memory that the program holds from then on
    held: I64
    marks: Sequence[Mark] = ()


def write(case: Case, timelines: Iterable[Timeline], out: BinaryIO) -> None:
    """The whole trace. Memory does not grow with what is written."""
    out.write(_packet(_field(13, RESET) + _field(12, _pair(3, 1, "call number"))))
    uuid = 1
    first_name = 1
    for one in timelines:
        for piece in _process(one, uuid, first_name):
            out.write(piece)
        uuid += 2 + len(one.threads) + len(one.queues)
        first_name += len(one.names) + len(one.marks)
    for text in _verdicts(case):
        out.write(_track(uuid, text))
        uuid += 1


def _verdicts(case: Case) -> list[str]:
    """Shown as empty tracks: a trace without recorded calls still says what was found."""
    return [f"gpudx: {entry.status}: {clean(entry.summary)}" for entry in case.diagnosis[:1]]


def _process(one: Timeline, uuid: int, first_name: int) -> Iterator[bytes]:
    counter, first_thread = uuid + 1, uuid + 2
    first_queue = first_thread + len(one.threads)
    shown = f"{clean(one.command)[:80]}"
    yield _track(uuid, "", _field(3, _field(1, one.pid) + _field(6, shown)))
    yield _track(counter, "memory held", _field(5, uuid) + _field(8, _field(3, BYTES)))
    for place, tid in enumerate(one.threads):
        yield _track(first_thread + place, "", _field(5, uuid) + _field(4, _field(1, one.pid) + _field(2, tid)))
    for place, label in enumerate(one.queues):
        yield _track(first_queue + place, f"submitted to {label}", _field(5, uuid))
    yield _names([*one.names, *(mark.text for mark in one.marks)], first_name)
    yield from _slices(one.calls, first_thread, first_name)
    yield from _slices(one.submitted, first_queue, first_name)
    for at in range(0, len(one.held), AT_ONCE):
        yield _counts(counter, one.held_at[at : at + AT_ONCE], one.held[at : at + AT_ONCE])
    for place, mark in enumerate(one.marks):
        track = uuid if mark.thread < 0 else first_thread + mark.thread
        yield _instant(track, mark.time, first_name + len(one.names) + place)


# ---- many packets at once ----


def _slices(slices: Slices, first_lane: int, first_name: int) -> Iterator[bytes]:
    """Beginnings and ends in order of time. Of those at one time: first ends, innermost first, then what begins, in its
    order; a call without length ends right after its own beginning."""
    count = len(slices.begin)
    ended = np.flatnonzero(slices.end >= 0)
    who = np.concatenate([np.arange(count), ended])
    time = np.concatenate([slices.begin, slices.end[ended]])
    rank = 2 * who + 1
    rank[count:] = np.where(slices.end[ended] > slices.begin[ended], -ended - 1, 2 * ended + 2)
    order = np.lexsort((rank, time))
    for at in range(0, len(order), AT_ONCE):
        now = order[at : at + AT_ONCE]
        call = who[now]
        kind = np.where(now < count, BEGIN, END)
        yield _events(
            kind, time[now], slices.lane[call] + first_lane, slices.name[call] + first_name, slices.number[call]
        )


def _events(kind: I64, time: I64, track: I64, name: I64, number: I64) -> bytes:
    note = [b"\x08\x01\x18", (number, NUMBER_BYTES)]  # name_iid 1, uint_value
    event = [b"\x48", (kind, 1), b"\x58", (track, SMALL_BYTES), b"\x50", (name, SMALL_BYTES), b"\x22", note]
    return _packets(time, event)


def _counts(track: int, time: I64, value: I64) -> bytes:
    event = [b"\x48", bytes([COUNTER]), b"\x58", (np.full(len(time), track), SMALL_BYTES), b"\xf0\x01"]
    return _packets(time, [*event, (np.maximum(value, 0), SIZE_BYTES)])


def _packets(time: I64, event: list[Any]) -> bytes:
    """Packets of track events (field 11) with a time (8), our sequence (10) and its flags (13)."""
    inner = [b"\x40", (time, TIME_BYTES), b"\x50\x01\x68", bytes([NEEDS_NAMES]), b"\x5a", event]
    return _laid_out([b"\x0a", inner], len(time)).tobytes()


def _laid_out(parts: list[Any], count: int) -> U8:
    """Rows of bytes: fixed bytes, padded numbers, and lists, which begin with their length."""
    columns = []
    for part in parts:
        if isinstance(part, bytes):
            columns.append(np.broadcast_to(np.frombuffer(part, np.uint8), (count, len(part))))
        elif isinstance(part, tuple):
            columns.append(_padded(*part))
        else:
            inner = _laid_out(part, count)
            columns += [np.full((count, 1), inner.shape[1], np.uint8), inner]
    return np.concatenate(columns, axis=1)


def _padded(values: I64, width: int) -> U8:
    """Each value as a number of exactly `width` bytes."""
    rest, out = values.astype(np.uint64), np.empty((len(values), width), np.uint8)
    for place in range(width):
        more = 0x80 if place < width - 1 else 0
        out[:, place] = (rest & np.uint64(0x7F)).astype(np.uint8) | np.uint8(more)
        rest >>= np.uint64(7)
    return out


# ---- single packets ----


def _track(uuid: int, name: str, more: bytes = b"") -> bytes:
    return _packet(_field(60, _field(1, uuid) + (_field(2, clean(name)) if name else b"") + more))


def _instant(track: int, time: int, name: int) -> bytes:
    event = _field(9, INSTANT) + _field(11, track) + _field(10, name)
    return _packet(_field(8, max(time, 0)) + _field(13, NEEDS_NAMES) + _field(11, event))


def _names(names: Sequence[str], first: int) -> bytes:
    pairs = b"".join(_pair(2, first + place, name) for place, name in enumerate(names))
    return _packet(_field(13, NEEDS_NAMES) + _field(12, pairs))


def _pair(field: int, number: int, text: str) -> bytes:
    return _field(field, _field(1, number) + _field(2, clean(text)))


def _packet(content: bytes) -> bytes:
    return _field(1, content + _field(10, 1))


def _field(number: int, value: int | str | bytes) -> bytes:
    """A field with its tag: a number (wire type 0), or text and messages with their length (2)."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
