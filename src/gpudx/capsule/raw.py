"""What the recorder left of a captured launch (native/core/capture.h has the records) -> a Capsule."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gpudx.capsule.model import (
    Api,
    Argument,
    Buffer,
    Bytes,
    Capsule,
    Code,
    CodeKind,
    Device,
    Ending,
    Geometry,
    Given,
    Outcome,
)

HEAD = struct.Struct("<4sIQQQQ")
MAGIC = b"gdxc"
(
    BEGIN,
    DEVICE,
    CODE,
    OPTIONS,
    GEOMETRY,
    ARGUMENT,
    TYPE,
    BUFFER,
    BEFORE,
    LAUNCHED,
    AFTER,
    ENDED,
    REFUSED,
    NONFINITE,
    SCANNED,
    SYMBOL,
    HASHES,
    OBJECT,
) = range(1, 19)
APIS: tuple[Api, ...] = ("opencl", "cuda", "hip")
CODES: tuple[CodeKind, ...] = ("source", "il", "binary", "ptx", "cubin", "fatbin", "code object")
VALUE, MEMORY, LOCAL, SVM, NULL, OTHER, UNSET = range(1, 8)
GIVEN: dict[int, Given] = {
    VALUE: "value",
    MEMORY: "buffer",
    LOCAL: "local",
    SVM: "svm",
    NULL: "null",
    UNSET: "unset",
}
HANDLE = 8
OBJECT_TYPE = "unsigned long long"  # cudaTextureObject_t and cudaSurfaceObject_t
HIP_OBJECTS = {"__hip_texture*": "texture object", "__hip_surface*": "surface object"}  # types that stand for nothing else
GLOBAL, CONSTANT = 1, 3  # address spaces

Typed = tuple[str, str, int]  # type, name, address space
Typing = Callable[[Api, str, str, str], Sequence[Typed]]  # API, source, kernel, options -> its parameters, if they are clear


@dataclass(frozen=True)
class Record:
    kind: int
    a: int
    b: int
    c: int
    data: bytes


@dataclass(frozen=True)
class Captured:
    """A launch that was asked for: the capsule, or why there is none."""

    kernel: str
    launch: int
    capsule: Capsule | None
    problem: str = ""


@dataclass
class _Parts:
    """What was read so far."""

    api: Api = "opencl"
    kernel: str = ""
    launch: int = 0
    device: Device = field(default_factory=Device)
    codes: list[Code] = field(default_factory=list)
    options: str = ""
    words: tuple[int, ...] = ()
    arguments: dict[int, Argument] = field(default_factory=dict)
    types: dict[int, Typed] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    before: dict[int, Bytes] = field(default_factory=dict)
    after: dict[int, Bytes] = field(default_factory=dict)
    launched: int | None = None
    ended: int | None = None
    refused: str = ""
    refused_late: str = ""
    unsupported: str = ""
    objects: dict[int, str] = field(default_factory=dict)  # arguments with the value of a texture or surface object


def records(path: Path) -> Iterator[Record]:
    """The whole records of a file; one that is cut off is the last of a process that ended there."""
    with path.open("rb") as file:
        while len(head := file.read(HEAD.size)) == HEAD.size:
            magic, kind, a, b, c, size = HEAD.unpack(head)
            data = file.read(size)
            if magic != MAGIC or len(data) != size:
                return
            yield Record(kind, a, b, c, data)


def captured(folder: Path, made_by: str, ending: str, typing: Typing) -> list[Captured]:
    """The launches that were captured below `folder`. `ending`: how the program ended, if it crashed. `typing`: for drivers that do
    not describe arguments."""
    return [_captured(path, made_by, ending, typing) for path in sorted(folder.glob("launch-*.raw"))]


def _captured(path: Path, made_by: str, ending: str, typing: Typing) -> Captured:
    parts = _Parts()
    for record in records(path):
        _take(parts, record)
    problem = parts.unsupported or parts.refused or _object(parts, typing)
    if not problem and not parts.words:
        problem = "the program ended while the launch was captured"
    if not problem and not parts.codes:
        problem = "the driver gives neither source nor binary of its program"
    capsule = None if problem else _capsule(parts, made_by, ending, typing)
    return Captured(parts.kernel, parts.launch, capsule, problem)


def _take(parts: _Parts, record: Record) -> None:
    text = (
        record.data.decode(errors="replace") if record.kind in (BEGIN, DEVICE, OPTIONS, TYPE, REFUSED, SYMBOL, OBJECT) else ""
    )
    if record.kind == BEGIN:
        parts.api, parts.launch, parts.kernel = APIS[record.a], record.b, text
    elif record.kind == DEVICE:
        parts.device = Device(*(text.split("\n") + [""] * 4)[:4])
    elif record.kind == CODE and 1 <= record.a <= len(CODES):
        parts.codes.append(Code(CODES[record.a - 1], record.data))
    elif record.kind == OPTIONS:
        parts.options = text
    elif record.kind == GEOMETRY:
        parts.words = struct.unpack(f"<{len(record.data) // 8}Q", record.data)
    elif record.kind == ARGUMENT:
        _take_argument(parts, record)
    elif record.kind == TYPE:
        type_, _, name = text.partition("\n")
        parts.types[record.a] = type_, name, record.b
    elif record.kind == BUFFER:
        parent, offset, address, svm = struct.unpack("<4Q", record.data)
        parts.buffers.append(
            Buffer(record.a, record.b, record.c, parent - 1 if parent else None, offset, address, bool(svm))
        )
    elif record.kind == SYMBOL:
        parts.buffers[record.a] = replace(parts.buffers[record.a], symbol=text)
    elif record.kind in (BEFORE, AFTER):
        contents = parts.before if record.kind == BEFORE else parts.after
        if record.a not in contents:
            contents[record.a] = np.zeros(parts.buffers[record.a].size, dtype=np.uint8)
        contents[record.a][record.b : record.b + len(record.data)] = np.frombuffer(record.data, dtype=np.uint8)
    elif record.kind == LAUNCHED:
        parts.launched = _signed(record.a)
    elif record.kind == ENDED:
        parts.ended = _signed(record.a)
    elif record.kind == OBJECT:
        parts.objects[record.a] = text
    elif record.kind == REFUSED:
        if record.a:
            parts.refused_late = text
        else:
            parts.refused = parts.refused or text


def _take_argument(parts: _Parts, record: Record) -> None:
    if record.b == OTHER:
        said = record.data.decode(errors="replace")
        parts.unsupported = f"argument {record.a} is {said}, and capsules hold values, buffers and SVM only"
        return
    kind = GIVEN[record.b]
    made = Argument(record.a, kind)
    if kind == "value":
        made = replace(made, value=record.data)
    elif kind in ("buffer", "svm"):
        made = replace(made, buffer=record.c, offset=struct.unpack("<Q", record.data)[0])
    elif kind == "local":
        made = replace(made, size=record.c)
    parts.arguments[record.a] = made


def _object(parts: _Parts, typing: Typing) -> str:
    """A texture or surface among the arguments. Its number may be that of a size, too: a symbol with types decides."""
    types = _source_types(parts, typing)
    named = {index: HIP_OBJECTS[type_] for index, (type_, _, _) in types.items() if type_ in HIP_OBJECTS}
    for index, what in (parts.objects | named).items():
        type_ = types.get(index, ("", "", 0))[0]
        if type_ == OBJECT_TYPE or index in named:
            return f"argument {index} is a {what}, and capsules do not hold textures and surfaces"
        if not type_:
            return (
                f"argument {index} has the value of a {what}, and its type is not known: capsules do not hold textures and surfaces"
            )
    return ""


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _capsule(parts: _Parts, made_by: str, ending: str, typing: Typing) -> Capsule:
    types = {**_source_types(parts, typing), **parts.types}
    source = next((one.data for one in parts.codes if one.kind == "source"), b"").decode(errors="replace")
    typed = []
    for one in parts.arguments.values():
        type_, name, space = types.get(one.index, ("", "", 0))
        typed.append(_typed(one, _plain(type_, source), name, space))
    ended = parts.ended is not None and parts.launched == 0 and not _failed(parts)
    buffers = tuple(
        replace(
            one,
            before=_content(parts.before, one),
            after=_content(parts.after, one) if ended else None,
        )
        for one in parts.buffers
    )
    return Capsule(
        api=parts.api,
        kernel=parts.kernel,
        launch=parts.launch,
        codes=_codes(parts.codes),
        geometry=_geometry(parts.words) if parts.api == "opencl" else _grid_geometry(parts.words),
        arguments=tuple(sorted(typed, key=lambda one: one.index)),
        buffers=buffers,
        options=parts.options,
        device=parts.device,
        outcome=_outcome(parts, ending),
        made_by=made_by,
    )


def _plain(type_: str, source: str) -> str:
    """A name that the source declares for another type ("real*"), by that type."""
    for _ in range(4):
        name = re.match(r"\w+", type_)
        found = name and re.search(rf"\btypedef\s+(\w+)\s+{name[0]}\s*;", source)
        if not name or not found:
            break
        type_ = found[1] + type_[name.end() :]
    return type_


def _source_types(parts: _Parts, typing: Typing) -> dict[int, Typed]:
    """Where the driver does not say what the arguments are, the source may."""
    source = next((one.data for one in parts.codes if one.kind == "source"), b"")
    found = typing(parts.api, source.decode(errors="replace"), parts.kernel, parts.options)
    return dict(enumerate(found)) if len(found) == len(parts.arguments) else {}


def _codes(found: list[Code]) -> tuple[Code, ...]:
    """A source that stands alone makes the device binary needless."""
    alone = any(one.kind == "source" and b"#include" not in one.data for one in found)
    return tuple(one for one in found if not alone or one.kind != "binary")


def _content(contents: dict[int, Bytes], one: Buffer) -> Bytes | None:
    """Pieces that are all zero were left out."""
    if one.parent is not None:
        return None
    return contents.get(one.number, np.zeros(one.size, dtype=np.uint8))


def _typed(one: Argument, type_: str, name: str, space: int) -> Argument:
    """NULL as memory has the same form as local memory of a handle's size."""
    missing = one.kind == "local" and one.size == HANDLE and space in (GLOBAL, CONSTANT)
    return replace(one, type=type_, name=name, kind="null" if missing else one.kind)


def _geometry(words: tuple[int, ...]) -> Geometry:
    dims = words[0]
    offset, global_, local = words[1 : 1 + dims], words[4 : 4 + dims], words[7 : 7 + dims]
    return Geometry(global_, local if any(local) else (), offset if any(offset) else ())


def _grid_geometry(words: tuple[int, ...]) -> Geometry:
    grid, block, shared = words[:3], words[3:6], words[6]
    return Geometry(tuple(g * b for g, b in zip(grid, block, strict=True)), block, (), shared)


def _failed(parts: _Parts) -> bool:
    """Did the launch's work end with an error? OpenCL has negative ones only."""
    return bool(parts.ended) and (parts.api != "opencl" or (parts.ended or 0) < 0)


def _outcome(parts: _Parts, ending: str) -> Outcome:
    said: Ending
    if parts.launched is None:
        said, note = "crashed", ending or "the program ended inside the launch"
    elif parts.launched != 0:
        return Outcome("refused", parts.launched)
    elif parts.refused_late:
        said, note = "unknown", parts.refused_late
    elif parts.ended is None:
        said, note = "crashed", ending or "the program ended before the launch did"
    elif _failed(parts):
        return Outcome("failed", parts.ended)
    else:
        said, note = "completed", ""
    return Outcome(said, 0, note)
