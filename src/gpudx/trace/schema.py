"""The description of itself that every trace carries: layouts, calls, and the words each call records."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.errors import UserError

KNOWN_VERSION = 1
MAX_SCHEMA_BYTES = 8 << 20
MAX_LAYOUT_BYTES = 1 << 16
NUMPY_TYPES = {"u16": "<u2", "u32": "<u4", "u64": "<u8", "i32": "<i4", "char": "S"}
MAX_CALLS = 1 << 16
# What the reader asks for by name. A trace may have more, in any place; with less it cannot be read.
NEEDED_FIELDS = {
    "header": {
        "u32": "pid ppid clock entries ended error error_errno signal signal_tid maps_blob maps_bytes stack_blob stack_bytes",
        "i32": "signal_code",
        "u64": "start_ticks start_mono_ns start_real_ns late_ticks late_mono_ns signal_address signal_pc signal_sp "
        "signal_ticks dropped lost_ledger",
        "u64[]": "signal_registers",
        "char": "exe argv",
    },
    "chunk": {"u64": "magic first_seq", "u32": "kind units lane laps"},
    "slot": {
        "u64": "seq begin end caller",
        "u64[]": "w",
        "i32": "status",
        "u16": "call flags",
        "u32": "blob blob_bytes tid",
    },
    "part": {"u32": "field bytes"},
    "argument": {"u16": "index flags", "u32": "size tail setter", "u64": "value"},
}
NEEDED_PARTS = ("arguments", "argument_tail", "text", "text2", "numbers", "frames")
NEEDED_FLAGS = ("in_another_call", "cut", "patched")
NEEDED_ARGUMENT_FLAGS = ("set", "local", "unreadable", "svm", "cut")


@dataclass(frozen=True)
class CallInfo:
    """One API entry (or note of the recorder) as the trace describes it."""

    number: int
    name: str
    api: str
    does: str = ""
    object: str = ""
    fields: tuple[tuple[str, str], ...] = ()  # (name, kind) per recorded word
    arrays: dict[str, tuple[int, str]] = field(default_factory=dict)  # name -> (part number, kind)
    reads: str = ""
    writes: str = ""
    maps: str = ""
    host: str = ""
    device: str = ""  # the parameters that are device memory in a call that could be given either kind
    frees: tuple[str, ...] = ()  # families of memory that a call which frees takes
    skip: str = ""
    size: str = ""  # bytes of the created object, as an expression over fields; "": the field `size`
    family: str = ""  # where created memory comes from
    numbers: tuple[str, ...] = ()  # names of a note's numbers

    def word(self, name: str) -> int | None:
        """The word that holds field `name`, None if the call has no such field."""
        return self._words.get(name)

    @cached_property
    def _words(self) -> dict[str, int]:
        return {name: number for number, (name, _) in reversed(list(enumerate(self.fields)))}


def note(call: CallInfo) -> bool:
    """Is it a note of the recorder, which the program did not call?"""
    return call.api == "note"


def _dtype(layout: dict[str, Any]) -> np.dtype[Any]:
    names, formats, offsets = [], [], []
    for name, base, count, offset in layout["fields"]:
        kind = NUMPY_TYPES[base]
        if not (1 <= int(count) <= MAX_LAYOUT_BYTES and 0 <= int(offset) <= MAX_LAYOUT_BYTES):
            raise ValueError("field out of range")
        names.append(str(name))
        formats.append(f"S{int(count)}" if base == "char" else (kind if count == 1 else (kind, (int(count),))))
        offsets.append(int(offset))
    size = int(layout["size"])
    if not 0 < size <= MAX_LAYOUT_BYTES:
        raise ValueError("layout size out of range")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})  # type: ignore[call-overload,no-any-return]


def _check_layout(name: str, layout: np.dtype[Any]) -> None:
    """All needed fields are there, of the right type, and where a view of that type can see them."""
    fields: Any = layout.fields
    for base, names in NEEDED_FIELDS[name].items():
        for field_name in names.split():
            kind, offset = fields[field_name][:2]
            if base == "char":
                fits = kind.kind == "S"
            else:
                same = kind.base == np.dtype(NUMPY_TYPES[base.removesuffix("[]")])
                fits = same and bool(kind.shape) == base.endswith("[]") and offset % kind.base.itemsize == 0
            if not fits:
                raise ValueError(f"{name}.{field_name} is not what it should be")
    if name != "header" and layout.itemsize % 8:
        raise ValueError(f"{name} is not made of words")


def _numbers(table: dict[str, Any], needed: tuple[str, ...]) -> dict[str, int]:
    """Names and their numbers of 32 bits; those in `needed` must be there."""
    numbers = {str(name): int(value) for name, value in table.items()}
    if not all(0 <= value < 1 << 32 for value in numbers.values()) or any(name not in numbers for name in needed):
        raise ValueError("a number is missing or out of range")
    return numbers


def _call(number: int, row: dict[str, Any]) -> CallInfo:
    return CallInfo(
        number=number,
        name=str(row["name"]),
        api=str(row["api"]),
        does=str(row.get("does", "")),
        object=str(row.get("object", "")),
        fields=tuple((str(n), str(k)) for n, k in row.get("fields", [])),
        arrays={str(n): (int(part), str(kind)) for n, (part, kind) in row.get("arrays", {}).items()},
        reads=str(row.get("reads", "")),
        writes=str(row.get("writes", "")),
        maps=str(row.get("maps", "")),
        host=str(row.get("host", "")),
        device=str(row.get("device", "")),
        frees=tuple(str(row.get("frees", "")).split()),
        skip=str(row.get("skip", "")),
        size=str(row.get("size", "")),
        family=str(row.get("family", "")),
        numbers=tuple(str(row.get("numbers", "")).split()),
    )


@dataclass(frozen=True)
class TraceSchema:
    """What one trace says about its own layout."""

    version: int
    unit_bytes: int
    chunk_magic: int
    layouts: dict[str, np.dtype[Any]]
    parts: dict[str, int]
    flags: dict[str, int]
    argument_flags: dict[str, int]
    recorder_errors: dict[int, str]
    errors: dict[str, dict[int, str]]  # per API: status -> name
    calls: tuple[CallInfo, ...]
    crumbs: dict[str, int]  # where things lie in a chunk of crumbs; traces of before have none

    @classmethod
    def parse(cls, text: bytes, where: str) -> TraceSchema:
        """Reads the schema text; `where` names the file in the error."""
        try:
            return _read(text)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError) as err:
            raise UserError(
                f"{where}: the description at the head of this trace cannot be read, so nothing in it can be trusted; "
                "record the program again."
            ) from err

    @classmethod
    def _parse(cls, data: dict[str, Any]) -> TraceSchema:
        layouts = {str(name): _dtype(layout) for name, layout in data["layout"].items()}
        for needed in NEEDED_FIELDS:
            _check_layout(needed, layouts[needed])
        slot, unit = layouts["slot"], int(data["unit_bytes"])
        if not 4096 <= unit <= 1 << 30 or unit % slot.itemsize or layouts["chunk"].itemsize != slot.itemsize:
            raise ValueError("unit size out of range")
        calls = tuple(_call(i, row) for i, row in enumerate(data["calls"]))
        if len(calls) > MAX_CALLS or max((len(call.fields) for call in calls), default=0) > slot["w"].shape[0]:
            raise ValueError("more calls or words than a record can have")
        return cls(
            version=int(data["version"]),
            unit_bytes=unit,
            chunk_magic=int(data["chunk_magic"]),
            layouts=layouts,
            parts=_numbers(data["parts"], NEEDED_PARTS),
            flags=_numbers(data["flags"], NEEDED_FLAGS),
            argument_flags=_numbers(data["argument_flags"], NEEDED_ARGUMENT_FLAGS),
            recorder_errors={int(v): str(k) for k, v in data["recorder_errors"].items()},
            errors={str(api): {int(v): str(k) for k, v in names.items()} for api, names in data["errors"].items()},
            calls=calls,
            crumbs={str(k): int(v) for k, v in data.get("crumbs", {}).items()},
        )

    def place(self, layout: str, name: str) -> tuple[np.dtype[Any], int]:
        """Type and offset of one field of a layout."""
        fields: Any = self.layouts[layout].fields
        return fields[name][0], int(fields[name][1])

    def status_name(self, api: str, status: int) -> str:
        """The API's name for a status, or the number."""
        return self.errors.get(api, {}).get(status, str(status))

    def by_name(self, name: str) -> CallInfo | None:
        return self._named.get(name)

    @cached_property
    def _named(self) -> dict[str, CallInfo]:
        return {call.name: call for call in reversed(self.calls)}

    def doing(self, verb: str, obj: str | None = None) -> tuple[CallInfo, ...]:
        """All calls that do `verb` (to objects of kind `obj`, if given)."""
        return tuple(c for c in self._doing.get(verb, ()) if obj is None or c.object == obj)

    @cached_property
    def _doing(self) -> dict[str, list[CallInfo]]:
        found: dict[str, list[CallInfo]] = {}
        for call in self.calls:
            found.setdefault(call.does, []).append(call)
        return found

    def where(self, test: Callable[[CallInfo], bool]) -> NDArray[np.bool_]:
        """For each call number whether the call passes `test`, a function of a module: the answer is kept for the next trace."""
        if test not in self._passing:
            self._passing[test] = np.array([test(call) for call in self.calls], bool)
        return self._passing[test]

    @cached_property
    def _passing(self) -> dict[Callable[[CallInfo], bool], NDArray[np.bool_]]:
        return {}

    def words_of(self, name: str) -> NDArray[np.int64]:
        """For each call number the word that holds field `name`; -1 where the call has none."""
        if name not in self._words_of:
            words = (call.word(name) for call in self.calls)
            self._words_of[name] = np.array([-1 if word is None else word for word in words], np.int64)
        return self._words_of[name]

    @cached_property
    def _words_of(self) -> dict[str, NDArray[np.int64]]:
        return {}


@lru_cache(maxsize=4)
def _read(text: bytes) -> TraceSchema:
    """The traces of a case have one description, which takes longer to read than a small trace."""
    return TraceSchema._parse(json.loads(text))
