"""The description of itself that every trace carries: layouts, calls, and the words each call records."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpudx.errors import UserError

KNOWN_VERSION = 1
MAX_SCHEMA_BYTES = 8 << 20
MAX_LAYOUT_BYTES = 1 << 16
NUMPY_TYPES = {"u16": "<u2", "u32": "<u4", "u64": "<u8", "i32": "<i4", "char": "S"}


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
    skip: str = ""

    def word(self, name: str) -> int | None:
        """The word that holds field `name`, None if the call has no such field."""
        for number, (own, _) in enumerate(self.fields):
            if own == name:
                return number
        return None


def _dtype(layout: dict[str, Any]) -> np.dtype[Any]:
    names, formats, offsets = [], [], []
    for name, base, count, offset in layout["fields"]:
        kind = NUMPY_TYPES[base]
        names.append(str(name))
        formats.append(f"S{int(count)}" if base == "char" else (kind if count == 1 else (kind, (int(count),))))
        offsets.append(int(offset))
    size = int(layout["size"])
    if not 0 < size <= MAX_LAYOUT_BYTES:
        raise ValueError("layout size out of range")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})  # type: ignore[call-overload,no-any-return]


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
        skip=str(row.get("skip", "")),
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

    @classmethod
    def parse(cls, text: bytes, where: str) -> TraceSchema:
        """Reads the schema text; `where` names the file in the error."""
        try:
            return cls._parse(json.loads(text))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as err:
            raise UserError(
                f"{where}: the description at the head of this trace cannot be read, so nothing in it can be trusted; "
                "record the program again."
            ) from err

    @classmethod
    def _parse(cls, data: dict[str, Any]) -> TraceSchema:
        layouts = {str(name): _dtype(layout) for name, layout in data["layout"].items()}
        for needed in ("header", "chunk", "slot", "part", "argument"):
            layouts[needed]
        unit = int(data["unit_bytes"])
        if not 4096 <= unit <= 1 << 30 or unit % layouts["slot"].itemsize:
            raise ValueError("unit size out of range")
        return cls(
            version=int(data["version"]),
            unit_bytes=unit,
            chunk_magic=int(data["chunk_magic"]),
            layouts=layouts,
            parts={str(k): int(v) for k, v in data["parts"].items()},
            flags={str(k): int(v) for k, v in data["flags"].items()},
            argument_flags={str(k): int(v) for k, v in data["argument_flags"].items()},
            recorder_errors={int(v): str(k) for k, v in data["recorder_errors"].items()},
            errors={str(api): {int(v): str(k) for k, v in names.items()} for api, names in data["errors"].items()},
            calls=tuple(_call(i, row) for i, row in enumerate(data["calls"])),
        )

    def status_name(self, api: str, status: int) -> str:
        """The API's name for a status, or the number."""
        return self.errors.get(api, {}).get(status, str(status))

    def by_name(self, name: str) -> CallInfo | None:
        return next((c for c in self.calls if c.name == name), None)

    def doing(self, verb: str, obj: str | None = None) -> tuple[CallInfo, ...]:
        """All calls that do `verb` (to objects of kind `obj`, if given)."""
        return tuple(c for c in self.calls if c.does == verb and (obj is None or c.object == obj))
