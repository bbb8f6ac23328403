"""Opens a trace and gives its calls as columns, oldest first.

Memory: the file stays mapped; what is held per call is one 8-byte row index plus the columns that are asked for.
Nothing in the file is believed before it is checked: a record counts only if its sequence number is the one its place
demands, a blob only if it lies inside the file.
"""

from __future__ import annotations

import mmap
import signal
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.errors import UserError
from gpudx.trace.last_words import LastWords
from gpudx.trace.saturating import times
from gpudx.trace.schema import KNOWN_VERSION, MAX_SCHEMA_BYTES, CallInfo, TraceSchema, note
from gpudx.trace.slices import slices

MAGIC = b"gpudxtr1"
# The first fields of every header, in every version: enough to find the schema text, which describes the rest.
HEAD = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_bytes", "<u4"),
        ("schema_offset", "<u8"),
        ("schema_bytes", "<u8"),
        ("unit_bytes", "<u8"),
        ("first_unit", "<u8"),
    ]
)
RING, LEDGER, LARGE, CRUMBS = 1, 2, 3, 4
SHUT_IN = "seccomp filter"  # of recorder_errors: threads that had room in the trace were recorded on
ANYWHERE = ("dropped", "damaged", "ledger-full", "other-loader")  # gaps that may be anywhere
MISSED_LOADER = 16  # a bit of header.entries
BLOB_UNIT = 8  # bytes: in these, a slot says where its blob is
MOST_DAMAGED = 16  # places in a row that are taken for damage; behind more of them there are no records
MOST_PARTS = 8  # of one blob that are looked through
HAS_ADDRESS, OWN_CODE = 1, 2  # bits of signal_flags: schema/events.toml
FAULTS = (signal.SIGSEGV, signal.SIGBUS)
SI_KERNEL = 128  # signal codes below it name what happened at an address, sigaction(2)
LONG = 512  # bytes of a blob that are compared with others
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]


def _before_blobs(view: NDArray[np.void], good: NDArray[np.bool_], chunk: int, unit: int) -> NDArray[np.bool_]:
    """Which places of a chunk can hold a record. Records follow each other from its begin on, and what they point to lies behind them,
    from its end on downwards: there, a number of the program's may look like a sequence number."""
    slot = view.dtype.itemsize
    blobs = view["blob"].astype(np.uint64) * np.uint64(BLOB_UNIT)
    mine = good & (view["blob_bytes"] > 0) & (blobs >= chunk) & (blobs < chunk + unit)
    lowest = np.minimum.accumulate(np.where(mine, blobs, np.uint64(chunk + unit)))
    ends = np.uint64(chunk + slot) + np.arange(1, len(view) + 1, dtype=np.uint64) * np.uint64(slot)
    below = ends[1:] <= lowest[:-1] if len(view) else np.zeros(0, bool)
    bad = np.cumsum(~good)
    run = np.zeros(len(view), bool)
    run[MOST_DAMAGED:] = bad[MOST_DAMAGED:] - bad[:-MOST_DAMAGED] == MOST_DAMAGED  # this one and those before it
    return np.concatenate([good[:1], below]) & ~np.logical_or.accumulate(run)


@dataclass(frozen=True)
class Gap:
    """Something the trace does not have. `kind` is a stable word, `text` the sentence."""

    kind: str  # overwritten, dropped, ledger-full, stopped, cut-file, damaged, other-loader
    text: str
    count: int = 0


class Trace:
    """The calls of one process. Positions count from 0 in order of time; people see position + 1."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = _map(path)
        head = self._read_head()
        self.schema = self._read_schema(head)
        self.header = self._bytes[: self.schema.layouts["header"].itemsize].view(self.schema.layouts["header"])[0]
        self._first_unit = int(head["first_unit"])
        self._slots = self._slot_view()
        self._chunks = self._read_chunks()
        self.rows, self._length, self._damaged = self._read_rows()
        self.gaps = self._find_gaps()

    # ---- opening ----

    def _read_head(self) -> np.void:
        if len(self._bytes) < HEAD.itemsize:
            raise UserError(
                f"{self.path}: not a gpudx trace, or cut before its header ended; record the program again."
            )
        head = self._bytes[: HEAD.itemsize].view(HEAD)[0]
        if head["magic"] != MAGIC:
            raise UserError(
                f"{self.path}: not a gpudx trace (it does not begin as one); give a file made by `gpudx run`."
            )
        if int(head["version"]) > KNOWN_VERSION:
            raise UserError(
                f"{self.path}: written by a newer gpudx (trace format {int(head['version'])}, this one reads up to "
                f"{KNOWN_VERSION}); update gpudx to read it."
            )
        return head  # type: ignore[no-any-return]

    def _read_schema(self, head: np.void) -> TraceSchema:
        begin, size = int(head["schema_offset"]), int(head["schema_bytes"])
        if size > MAX_SCHEMA_BYTES or begin + size > len(self._bytes):
            raise UserError(f"{self.path}: cut before its description ended; record the program again.")
        schema = TraceSchema.parse(self._bytes[begin : begin + size].tobytes(), str(self.path))
        if schema.layouts["header"].itemsize > len(self._bytes):
            raise UserError(f"{self.path}: cut inside its header; record the program again.")
        return schema

    def _slot_view(self) -> NDArray[np.void]:
        """The whole file as slots: a chunk header takes exactly one slot's room, so slots fall on slot boundaries."""
        slot = self.schema.layouts["slot"].itemsize
        if self._first_unit % slot or self._first_unit > len(self._bytes):
            raise UserError(f"{self.path}: its header points outside the file; record the program again.")
        whole = len(self._bytes) // slot * slot
        return self._bytes[:whole].view(self.schema.layouts["slot"])

    def _read_chunks(self) -> NDArray[np.void]:
        """(offset, kind, lane, first_seq, laps) of each chunk that was published."""
        unit, layout = self.schema.unit_bytes, self.schema.layouts["chunk"]
        offsets = np.arange(self._first_unit, max(len(self._bytes) - layout.itemsize + 1, self._first_unit), unit)
        found = np.zeros(
            len(offsets),
            dtype=[
                ("offset", "<u8"),
                ("kind", "<u4"),
                ("units", "<u4"),
                ("lane", "<u4"),
                ("laps", "<u4"),
                ("first_seq", "<u8"),
            ],
        )
        inside = 0  # units of a large blob, which hold what the program wrote, not chunks
        for i, offset in enumerate(offsets):
            if inside:
                inside -= 1
                continue
            chunk = self._bytes[offset : offset + layout.itemsize].view(layout)[0]
            if int(chunk["magic"]) == self.schema.chunk_magic:
                found[i] = (offset, chunk["kind"], chunk["units"], chunk["lane"], chunk["laps"], chunk["first_seq"])
                inside = max(int(chunk["units"]) - 1, 0) if int(chunk["kind"]) in (LARGE, CRUMBS) else 0
        return found

    def _read_rows(self) -> tuple[I64, int, int]:
        """Slot numbers of all committed records in order of time, how many they are, and how many places hold nonsense. Stacks lie
        behind the last record: whether a call has one must not change the numbers of the calls after it."""
        slot = self.schema.layouts["slot"].itemsize
        per_chunk = self.schema.unit_bytes // slot - 1
        kinds = len(self.schema.calls)
        parts, damaged = [], 0
        for chunk in self._chunks[np.isin(self._chunks["kind"], (RING, LEDGER))]:
            first = int(chunk["offset"]) // slot + 1
            view = self._slots[first : first + per_chunk]
            expected = int(chunk["first_seq"]) + np.arange(len(view), dtype=np.uint64)
            good = (view["seq"] == expected) & _before_blobs(view, view["seq"] == expected, int(chunk["offset"]), self.schema.unit_bytes)
            sane = good & (view["call"] < kinds) & (view["call"] > 0)
            damaged += int(good.sum() - sane.sum())
            parts.append(np.flatnonzero(sane) + first)
        rows = np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)
        order = np.argsort(self._slots["begin"][rows], kind="stable")
        rows = rows[order]
        stacks = self._slots["call"][rows] == self._stack_note if self._stack_note else np.zeros(len(rows), bool)
        return np.concatenate([rows[~stacks], rows[stacks]]), int((~stacks).sum()), damaged

    @cached_property
    def _stack_note(self) -> int:
        """Its call number; 0, which is no call's, where the schema has none."""
        found = self.schema.by_name("note_stack")
        return found.number if found else 0

    def _find_gaps(self) -> tuple[Gap, ...]:
        gaps = [*self._overwritten(), *self._header_gaps()]
        if self._damaged:
            gaps.append(Gap("damaged", f"{self._damaged} records are damaged and were left out", self._damaged))
        if self._is_cut():
            gaps.append(Gap("cut-file", "the trace file was cut: its newest part is missing"))
        return tuple(gaps)

    @property
    def misses_calls(self) -> bool:
        """May calls be missing anywhere?"""
        return any(gap.kind in ANYWHERE for gap in self.gaps)

    def _overwritten(self) -> list[Gap]:
        rings = self._chunks[self._chunks["kind"] == RING]
        lost = sum(int(rings["first_seq"][rings["lane"] == lane].min()) - 1 for lane in np.unique(rings["lane"]))
        if not 0 < lost < 1 << 62:
            return []
        why = "only the last ones are kept; --keep all keeps every call"
        if full := self._why_full:
            why = f"the trace could not grow: {full}"
        return [Gap("overwritten", f"the oldest {lost:,} calls were overwritten ({why})", lost)]

    @property
    def _why_full(self) -> str:
        """Why the ring has not the size that it may have; "" where it has, or where it is not known."""
        known = "full" in (self.header.dtype.names or ())
        number = int(self.header["full"]) if known else 0
        return self._reason(number)

    def _reason(self, number: int) -> str:
        """One of recorder_errors in words; "" for none."""
        return self.schema.recorder_errors.get(number, f"reason {number}").replace("_", " ") if number else ""

    @cached_property
    def whole_since(self) -> int:
        """Ticks since when no call is missing because it was overwritten; 0: none ever was."""
        slot = self.schema.layouts["slot"].itemsize
        rings = self._chunks[self._chunks["kind"] == RING]
        oldest = [
            rings[rings["lane"] == lane][np.argmin(rings["first_seq"][rings["lane"] == lane])]
            for lane in np.unique(rings["lane"])
        ]
        cut = [chunk for chunk in oldest if 1 < int(chunk["first_seq"]) < 1 << 62]
        return max((int(self._slots["begin"][int(chunk["offset"]) // slot + 1]) for chunk in cut), default=0)

    def _header_gaps(self) -> list[Gap]:
        header, gaps = self.header, []
        if dropped := int(header["dropped"]):
            gaps.append(
                Gap("dropped", f"{dropped} calls made by signal handlers inside the recorder are missing", dropped)
            )
        why = self._reason(int(header["error"]))
        if lost := int(header["lost_ledger"]):
            full = self._why_full or why or "the ledger or the disk was full"
            gaps.append(Gap("ledger-full", f"{lost} object records are missing because the trace could not grow: {full}", lost))
        if why == SHUT_IN:
            gaps.append(Gap("dropped", "calls are missing: after a seccomp filter of the program the trace could not grow"))
        elif why:
            gaps.append(Gap("stopped", f"recording stopped before the program did: {why}"))
        if int(header["entries"]) & MISSED_LOADER:
            gaps.append(Gap("other-loader", "calls through an OpenCL loader that was loaded later are missing"))
        return gaps

    def _is_cut(self) -> bool:
        tail = (len(self._bytes) - self._first_unit) % self.schema.unit_bytes
        return tail != 0 or len(self._bytes) < self._first_unit

    # ---- columns ----

    def __len__(self) -> int:
        return self._length

    def column(self, name: str, positions: I64 | None = None) -> NDArray[Any]:
        """One field of the records ("begin", "status", "tid", ...), at `positions` or for all."""
        kind, offset = self.schema.place("slot", name)
        return self._gather(kind, offset, positions)

    def _gather(self, kind: np.dtype[Any], offset: int, positions: I64 | None) -> NDArray[Any]:
        """Values at `offset` of the records: one flat view and one `take`, which is several times faster than indexing
        a structured array."""
        step = self.schema.layouts["slot"].itemsize // kind.itemsize
        flat = self._bytes[: len(self._bytes) // kind.itemsize * kind.itemsize].view(kind)
        found = np.empty(len(self) if positions is None else len(positions), kind)
        for some in slices(len(found)):
            rows = self.rows[some] if positions is None else self.rows[positions[some]]
            found[some] = np.take(flat, rows * step + offset // kind.itemsize)
        return found

    @cached_property
    def call(self) -> NDArray[np.uint16]:
        """The call number of every record: the column everything is selected by."""
        return self.column("call")

    @cached_property
    def _by_call(self) -> tuple[I64, I64]:
        """Positions sorted by call number (and time), and where each number begins."""
        order = np.argsort(self.call, kind="stable")
        return order, np.searchsorted(self.call[order], np.arange(len(self.schema.calls) + 1))

    @cached_property
    def is_note(self) -> NDArray[np.bool_]:
        """Which records are notes of the recorder, not calls of the program."""
        return self.schema.where(note)[self.call]

    @property
    def count(self) -> int:
        """Calls of the program: records that are no notes."""
        return int((~self.is_note).sum())

    @cached_property
    def calls_made(self) -> tuple[CallInfo, ...]:
        """The calls that have records here: of the thousand that a schema describes, a program makes a few dozen."""
        _, first = self._by_call
        return tuple(self.schema.calls[int(number)] for number in np.flatnonzero(np.diff(first)))

    def select(self, calls: tuple[CallInfo, ...] | CallInfo) -> I64:
        """Positions of all records of these calls."""
        wanted = (calls,) if isinstance(calls, CallInfo) else calls
        order, first = self._by_call
        if wanted and wanted[0].number == self._stack_note:
            return np.arange(self._length, len(self.rows))
        parts = [order[first[c.number] : first[c.number + 1]] for c in wanted if first[c.number] < first[c.number + 1]]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def named(self, name: str) -> I64:
        """Positions of all records of the call or note of this name; none where the schema does not know it."""
        info = self.schema.by_name(name)
        return self.select(info) if info else np.zeros(0, np.int64)

    def words(self, positions: I64, word: int) -> U64:
        """Recorded word number `word` at `positions`."""
        _, offset = self.schema.place("slot", "w")
        return self._gather(np.dtype("<u8"), offset + 8 * word, positions)

    def field(self, call: CallInfo, name: str, positions: I64) -> U64:
        """The named field of `call` at positions that are records of that call; zeros if it has no such field."""
        word = call.word(name)
        return np.zeros(len(positions), np.uint64) if word is None else self.words(positions, word)

    def info(self, position: int) -> CallInfo:
        return self.schema.calls[int(self._slots["call"][self.rows[position]])]

    def record(self, position: int) -> dict[str, int]:
        """All named words of one record, as Python integers."""
        slot = self._slots[int(self.rows[position])]
        return {name: int(slot["w"][i]) for i, (name, _) in enumerate(self.info(position).fields)}

    @cached_property
    def lane(self) -> NDArray[np.uint32]:
        """The lane whose ring each call is in; 0 for those that are in the ledger."""
        slot = self.schema.layouts["slot"].itemsize
        ring = np.where(self._chunks["kind"] == RING, self._chunks["lane"], 0).astype(np.uint32)
        return ring[(self.rows[: self._length] * slot - self._first_unit) // self.schema.unit_bytes]

    def blocks(self, kind: int) -> list[NDArray[np.uint8]]:
        """The bytes of each chunk of a kind, as far as the file has them."""
        found = self._chunks[self._chunks["kind"] == kind]
        unit = self.schema.unit_bytes
        return [self._bytes[int(c["offset"]) : int(c["offset"]) + int(c["units"]) * unit] for c in found]

    def slot_address(self, positions: I64) -> U64:
        """Where records lie in the file, in units of 8 bytes: what `note_stack.of` refers to."""
        return (self.rows[positions] * (self.schema.layouts["slot"].itemsize // 8)).astype(np.uint64)

    # ---- blobs ----

    def _blob(self, position: int) -> tuple[bytes, bool]:
        """The bytes of a record's blob, and whether they are one bare text."""
        slot = self._slots[int(self.rows[position])]
        return self._at(int(slot["blob"]), int(slot["blob_bytes"]))

    def _at(self, where: int, size: int) -> tuple[bytes, bool]:
        begin = where * 8
        if not where or begin < self._first_unit or begin + size > len(self._bytes):
            return b"", False
        unit = (begin - self._first_unit) // self.schema.unit_bytes
        kinds = self._chunks["kind"]
        return self._bytes[begin : begin + size].tobytes(), self._in_large(unit, kinds)

    def _in_large(self, unit: int, kinds: NDArray[np.uint32]) -> bool:
        """A large blob spans units of which only the first has a chunk header."""
        unit = min(unit, len(kinds) - 1)  # the last one may be cut before its header ends
        while unit > 0 and not kinds[unit]:
            unit -= 1
        return bool(unit >= 0 and kinds[unit] == LARGE)

    def parts(self, position: int) -> dict[int, bytes]:
        """The parts of a record's blob by part number. Damaged parts end the list."""
        data, bare = self._blob(position)
        if bare:
            return {self.schema.parts["text"]: data}
        found: dict[int, bytes] = {}
        at = 0
        while at + 8 <= len(data):
            number, size = int.from_bytes(data[at : at + 4], "little"), int.from_bytes(data[at + 4 : at + 8], "little")
            if at + 8 + size > len(data):
                break
            found[number] = data[at + 8 : at + 8 + size]
            at += 8 + (size + 7) // 8 * 8
        return found

    def same_content(self, positions: I64) -> I64:
        """A number for what each record carries beside its words: equal where the blobs are, byte for byte.

        All at once, for calls that were made a million times with a few different contents. Blobs over LONG bytes count
        as different from all others.
        """
        words = self._bytes[: len(self._bytes) // 8 * 8].view("<u8")
        where, size = (self.column(name, positions).astype(np.int64) for name in ("blob", "blob_bytes"))
        usable = (where > 0) & (size <= LONG) & (where * 8 + size <= len(words) * 8)
        width = int((size[usable].max(initial=0) + 7) // 8)
        table = np.zeros((len(positions), width + 2), "<u8")
        for k in range(width):
            has = usable & (k * 8 < size)
            table[has, k] = words[where[has] + k]
        table[:, width] = size
        table[:, width + 1] = np.where(usable | (size == 0), 0, np.arange(1, len(positions) + 1))
        rows = np.ascontiguousarray(table).view(f"V{table.shape[1] * 8}").reshape(-1)
        return np.unique(rows, return_inverse=True)[1].reshape(-1)

    def text(self, position: int, part: str = "text") -> str:
        """A note's text part, or "" if it has none."""
        return self.parts(position).get(self.schema.parts[part], b"").decode("utf-8", "replace")

    def texts(self, position: int, part: str) -> tuple[str, ...]:
        """The texts of a note's part, each of which ends with a zero byte; none if this trace knows no such part."""
        data = self.parts(position).get(self.schema.parts.get(part, -1), b"")
        return tuple(text.decode("utf-8", "replace") for text in data.split(b"\0")[:-1])

    def array(self, position: int, name: str) -> bytes:
        """The recorded content of array parameter `name`, b"" if none was recorded."""
        entry = self.info(position).arrays.get(name)
        return self.parts(position).get(entry[0], b"") if entry else b""

    def numbers(self, position: int, part: str = "numbers") -> tuple[int, ...]:
        data = self.parts(position).get(self.schema.parts[part], b"")
        return tuple(int(v) for v in np.frombuffer(data[: len(data) // 8 * 8], "<u8"))

    def named_numbers(self, position: int) -> dict[str, int]:
        """The numbers of a note by their names, as far as it has them."""
        return dict(zip(self.info(position).numbers, self.numbers(position), strict=False))

    def product(self, call: CallInfo, expression: str, positions: I64) -> U64:
        """ "count*4", "pitch*height", "size" or "copy@80": a product of fields, numbers and words of recorded structures,
        at positions of that call; the largest number where it passes 64 bits."""
        result = np.ones(len(positions), np.uint64)
        for factor in (part.strip() for part in expression.split("*")):
            result = times(result, self._factor(call, factor, positions))
        return result

    def _factor(self, call: CallInfo, name: str, positions: I64) -> U64:
        array, _, byte = name.partition("@")
        if array in call.arrays and byte.isdecimal() and len(byte) < 6:
            return self.content(call, array, int(byte), positions)
        return np.full(len(positions), name, np.uint64) if name.isdigit() else self.field(call, name, positions)

    def content(self, call: CallInfo, name: str, at: int, positions: I64) -> U64:
        """The word at byte `at` of array parameter `name`, which stands first in the blob; 0 where it was not recorded."""
        where, size = (self.column(n, positions).astype(np.int64) for n in ("blob", "blob_bytes"))
        inside = (where > 0) & (where + size // 8 <= len(self.words8)) & (size >= 16 + at)
        head = self._heads(where, np.where(inside, where + 1, 0))
        good = (head & np.uint64(0xFFFFFFFF)) == np.uint64(call.arrays[name][0])
        good &= inside & ((head >> np.uint64(32)).astype(np.int64) >= at + 8)
        found = np.zeros(len(positions), np.uint64)
        found[good] = self.words8[where[good] + 1 + at // 8]
        return found

    @cached_property
    def context(self) -> NDArray[np.uint32]:
        """The number of the context that each call was made in; 0 where it is not known."""
        fields: Any = self.schema.layouts["slot"].fields
        return self.column("context") if "context" in fields else np.zeros(len(self), np.uint32)

    def arguments(self, positions: I64) -> tuple[I64, NDArray[np.void]]:
        """The arguments of launches: (which of `positions` each belongs to, the argument records).

        Reads all launches at once. The argument part is the last one written, so it stands first in the blob.
        """
        layout = self.schema.layouts["argument"]
        if layout.itemsize % 8:
            return np.zeros(0, np.int64), np.zeros(0, layout)
        words = self._bytes[: len(self._bytes) // 8 * 8].view("<u8")
        where = self.column("blob", positions).astype(np.int64)
        size = self.column("blob_bytes", positions).astype(np.int64)
        usable = (where > 0) & (size >= 8) & (where * 8 + size <= len(self._bytes))
        head = np.zeros(len(positions), np.uint64)
        head[usable] = words[where[usable]]
        is_args = usable & ((head & np.uint64(0xFFFFFFFF)) == np.uint64(self.schema.parts["arguments"]))
        bytes_ = np.where(is_args, (head >> np.uint64(32)).astype(np.int64), 0)
        bytes_[bytes_ + 8 > size] = 0
        counts = bytes_ // layout.itemsize
        owner = np.repeat(np.arange(len(positions)), counts)
        nth = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        width = layout.itemsize // 8
        first = where[owner] + 1 + nth * width
        gathered = np.empty((len(owner), width), "<u8")
        for k in range(width):
            gathered[:, k] = words[first + k]
        return owner, gathered.reshape(-1).view(layout)

    def tails(self, positions: I64) -> tuple[I64, I64]:
        """Where the long arguments of launches begin in `words8`, and how many bytes they have; 0 bytes if none.

        The part follows the argument list, which stands first in the blob.
        """
        where = self.column("blob", positions).astype(np.int64)
        end = where + self.column("blob_bytes", positions).astype(np.int64) // 8
        end[(where <= 0) | (end > len(self.words8))] = 0
        at = where.copy()
        head = self._heads(at, end)
        has = (head & np.uint64(0xFFFFFFFF)) == np.uint64(self.schema.parts["arguments"])
        at += np.where(has, 1 + ((head >> np.uint64(32)).astype(np.int64) + 7) // 8, 0)
        head = self._heads(at, end)
        size = (head >> np.uint64(32)).astype(np.int64)
        good = (head & np.uint64(0xFFFFFFFF)) == np.uint64(self.schema.parts["argument_tail"])
        return at + 1, np.where(good & (at + 1 + size // 8 <= end), size, 0)

    def part_of(self, positions: I64, part: int) -> tuple[I64, I64]:
        """Where one part of each record's blob begins in `words8`, and how many bytes it has; 0 bytes where it is missing."""
        at = self.column("blob", positions).astype(np.int64)
        end = at + self.column("blob_bytes", positions).astype(np.int64) // 8
        end[(at <= 0) | (end > len(self.words8))] = 0
        size = np.zeros(len(positions), np.int64)
        open_ = np.flatnonzero(at < end)
        for _ in range(MOST_PARTS):
            head = self.words8[at[open_]]
            bytes_ = (head >> np.uint64(32)).astype(np.int64)
            hit = (head & np.uint64(0xFFFFFFFF)) == np.uint64(part)
            fits = at[open_] + 1 + (bytes_ + 7) // 8 <= end[open_]
            size[open_[hit & fits]] = bytes_[hit & fits]
            at[open_] += np.where(hit, 1, 1 + (bytes_ + 7) // 8)
            open_ = open_[~hit & fits]
            open_ = open_[at[open_] < end[open_]]
            if not len(open_):
                break
        return at, size

    def _heads(self, at: I64, end: I64) -> U64:
        """The words that begin parts, 0 where the blob is over."""
        inside = at < end
        head = np.zeros(len(at), np.uint64)
        head[inside] = self.words8[at[inside]]
        return head

    @cached_property
    def words8(self) -> U64:
        """The whole file as words of 8 bytes."""
        return self._bytes[: len(self._bytes) // 8 * 8].view("<u8")

    def argument_tail(self, position: int) -> bytes:
        """The bytes of a launch's arguments that are longer than one word."""
        return self.parts(position).get(self.schema.parts["argument_tail"], b"")

    # ---- the process ----

    @property
    def pid(self) -> int:
        return int(self.header["pid"])

    @property
    def ppid(self) -> int:
        return int(self.header["ppid"])

    @property
    def exe(self) -> str:
        return bytes(self.header["exe"]).decode("utf-8", "replace")

    @property
    def argv(self) -> tuple[str, ...]:
        raw = self._bytes[: self.schema.layouts["header"].itemsize]
        kind, begin = self.schema.place("header", "argv")
        data = raw[begin : begin + kind.itemsize].tobytes()
        return tuple(a.decode("utf-8", "replace") for a in data.rstrip(b"\0").split(b"\0") if a)

    @property
    def ended(self) -> bool:
        """Did the process reach its exit handlers? False after a signal, _exit or kill -9."""
        return bool(self.header["ended"])

    @cached_property
    def ticks_per_second(self) -> float:
        if int(self.header["clock"]) != 1:
            return 1e9
        ticks = int(self.header["late_ticks"]) - int(self.header["start_ticks"])
        nanoseconds = int(self.header["late_mono_ns"]) - int(self.header["start_mono_ns"])
        return ticks / nanoseconds * 1e9 if ticks > 0 and nanoseconds > 0 else 1e9

    def seconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Seconds since the process's first GPU call."""
        since = ticks - np.uint64(self.header["start_ticks"])  # wraps where a time lies before the start
        return since.view(np.int64) / self.ticks_per_second

    @cached_property
    def last_words(self) -> LastWords | None:
        header = self.header
        if not int(header["signal"]):
            return None
        stack, _ = self._at(int(header["stack_blob"]), int(header["stack_bytes"]))
        when = np.array([header["signal_ticks"]], np.uint64)
        return LastWords(
            signal=int(header["signal"]),
            code=int(header["signal_code"]),
            tid=int(header["signal_tid"]),
            address=int(header["signal_address"]),
            pc=int(header["signal_pc"]),
            sp=int(header["signal_sp"]),
            registers=tuple(int(r) for r in header["signal_registers"]),
            stack=stack,
            time_s=float(self.seconds(when)[0]),
            access=self._optional("signal_access"),
            vouched=self._vouched(),
            in_recorder=bool(self._optional("signal_flags") & OWN_CODE),
            instruction=self._instruction(),
        )

    def _optional(self, name: str) -> int:
        """A number that older traces do not have."""
        fields: Any = self.schema.layouts["header"].fields
        known = name in fields and fields[name][0] == np.dtype("<u4")
        return int(self.header[name]) if known else 0

    def _vouched(self) -> bool:
        header = self.header
        fields: Any = self.schema.layouts["header"].fields
        if "signal_flags" in fields:
            return bool(self._optional("signal_flags") & HAS_ADDRESS)
        return int(header["signal"]) in FAULTS and 0 < int(header["signal_code"]) < SI_KERNEL

    def _instruction(self) -> bytes:
        fields: Any = self.schema.layouts["header"].fields
        known = "signal_instruction" in fields and fields["signal_instruction"][0].base == np.dtype("<u8")
        return np.asarray(self.header["signal_instruction"]).tobytes() if known else b""

    @cached_property
    def maps(self) -> str:
        """/proc/PID/maps as it was at the signal, at the end, or at the start: the latest that was kept."""
        data, _ = self._at(int(self.header["maps_blob"]), int(self.header["maps_bytes"]))
        return data.decode("utf-8", "replace")

    @property
    def entries(self) -> int:
        return int(self.header["entries"])


def _map(path: Path) -> NDArray[np.uint8]:
    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: not a file; give a file made by `gpudx run`.")
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                return np.zeros(0, np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except FileNotFoundError as err:
        raise UserError(f"{path}: no such trace; give a case directory made by `gpudx run`.") from err
    except (OSError, ValueError) as err:
        raise UserError(f"{path}: cannot be read ({err}); check its permissions.") from err
