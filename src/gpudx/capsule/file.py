"""Files .gpucapsule: a zip with a manifest, code and contents; docs/capsules.md describes it.

A capsule may come from a stranger. Nothing is extracted: entries are read by the names that the manifest's rules give them, with limits on
every count and size, and each hash is compared. What does not fit is a UserError of one sentence.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

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
from gpudx.errors import UserError

FORMAT, VERSION = "gpucapsule", 1
SUFFIX = ".gpucapsule"
MANIFEST = "capsule.json"
BLOCK = 4096  # contents are kept in runs of blocks that are not all zero, or that the launch changed
MOST_FILE = 8 << 30
MOST_MANIFEST = 32 << 20
MOST_CODE = 64 << 20
MOST_MEMORY = 4 << 30
MOST_BUFFERS, MOST_ARGUMENTS, MOST_CODES, MOST_EXTENTS = 4096, 4096, 8, 1 << 20
MOST_TEXT, MOST_VALUE = 65536, 65536
BIGGEST = 1 << 62
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises on a file that is no zip, or a changed one.
BROKEN_ZIP = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, LookupError, OverflowError,
)  # fmt: skip


class Damaged(UserError):
    """The file is not a capsule, or not a whole one."""


# ---- writing ----


def write(capsule: Capsule, path: Path) -> int:
    """Write it, and give its size in bytes."""
    temporary = path.with_name(path.name + ".part")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as to:
            _write(capsule, to)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): choose another place.") from None
    return path.stat().st_size


def to_bytes(capsule: Capsule) -> bytes:
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as to:
        _write(capsule, to)
    return room.getvalue()


def _write(capsule: Capsule, to: zipfile.ZipFile) -> None:
    entries: list[tuple[str, bytes]] = [(f"code/{one.kind}", one.data) for one in capsule.codes]
    buffers = []
    for buffer in capsule.buffers:
        said: dict[str, Any] = {
            "number": buffer.number,
            "size": buffer.size,
            "flags": buffer.flags,
            "parent": buffer.parent,
            "offset": buffer.offset,
            "address": buffer.address,
            "svm": buffer.svm,
            "symbol": buffer.symbol,
        }
        if buffer.before is not None:
            said["before"], data = _packed(buffer.before, None)
            entries.append((f"data/{buffer.number}.before", data))
        if buffer.after is not None:
            said["after"], data = _packed(buffer.after, buffer.before)
            entries.append((f"data/{buffer.number}.after", data))
        buffers.append(said)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": capsule.made_by,
        "holds_data": capsule.has_data,
        "api": capsule.api,
        "kernel": capsule.kernel,
        "launch": capsule.launch,
        "options": capsule.options,
        "device": vars(capsule.device),
        "geometry": {
            "global": list(capsule.geometry.global_),
            "local": list(capsule.geometry.local),
            "offset": list(capsule.geometry.offset),
            "shared": capsule.geometry.shared,
        },
        "code": [{"kind": one.kind, "bytes": len(one.data), "sha256": one.sha256} for one in capsule.codes],
        "arguments": [{**vars(one), "value": one.value.hex()} for one in capsule.arguments],
        "buffers": buffers,
        "outcome": vars(capsule.outcome),
    }
    to.writestr(MANIFEST, json.dumps(manifest, indent=1))
    for name, data in entries:
        to.writestr(name, data)


def _packed(content: Bytes, base: Bytes | None) -> tuple[dict[str, Any], bytes]:
    """Only blocks that differ from `base`, or from zero."""
    extents = list(_extents(content, base))
    data = b"".join(content[at : at + length].tobytes() for at, length in extents)
    return {"extents": extents, "sha256": hashlib.sha256(content.data).hexdigest()}, data


def _extents(content: Bytes, base: Bytes | None) -> Iterator[tuple[int, int]]:
    """(offset, length) of runs of blocks that are kept."""
    blocks = -(-len(content) // BLOCK)
    kept = np.zeros(blocks, dtype=bool)
    whole = len(content) // BLOCK
    for first in range(0, whole, 16384):  # 64 MiB at a time
        part = slice(first * BLOCK, min(whole, first + 16384) * BLOCK)
        differs = content[part] != base[part] if base is not None else content[part]
        kept[first : first + len(differs) // BLOCK] = differs.reshape(-1, BLOCK).any(axis=1)
    if whole < blocks:
        tail = content[whole * BLOCK :]
        kept[whole] = bool((tail != base[whole * BLOCK :]).any() if base is not None else tail.any())
    edges = np.flatnonzero(np.diff(np.concatenate([[0], kept.astype(np.int8), [0]])))
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield start * BLOCK, min(end * BLOCK, len(content)) - start * BLOCK


# ---- reading ----


def read(path: Path, most_memory: int = MOST_MEMORY) -> Capsule:
    """A capsule, or a UserError that says what is wrong with the file."""
    try:
        if path.stat().st_size > MOST_FILE:
            raise Damaged(f"{path} is larger than {MOST_FILE >> 30} GiB, the limit for a capsule.")
        with zipfile.ZipFile(path) as zipped:
            return _Reader(zipped, path, most_memory).capsule()
    except FileNotFoundError:
        raise UserError(f"There is no capsule {path}: make one with `gpudx run --capture KERNEL -- ./app`.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from None
    except BROKEN_ZIP as error:
        said = "".join(c if c.isprintable() else " " for c in str(error))[:80].encode(errors="replace").decode()
        raise Damaged(f"{path} is not a whole capsule ({said or type(error).__name__}).") from None


class _Reader:
    """Reads one file. All numbers in it are claims."""

    def __init__(self, zipped: zipfile.ZipFile, path: Path, most_memory: int) -> None:
        self._zip, self._path, self._left = zipped, path, most_memory
        self._names = {one.filename: one for one in zipped.infolist()}

    def capsule(self) -> Capsule:
        try:
            said = json.loads(self._entry(MANIFEST, MOST_MANIFEST))
        except (ValueError, UnicodeDecodeError):
            raise self._bad(f"its {MANIFEST} is not JSON") from None
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise self._bad(f"its {MANIFEST} is not that of a capsule")
        if said.get("version") != VERSION:
            raise Damaged(
                f"{self._path} is a capsule of version {repr(said.get('version'))[:20]}, and this gpudx reads version {VERSION}:"
                " use a newer gpudx."
            )
        api = self._one_of(said, "api", get_args(Api))
        has_data = bool(said.get("holds_data"))
        buffers = tuple(
            self._buffer(one, at, has_data) for at, one in enumerate(self._list(said, "buffers", MOST_BUFFERS))
        )
        self._check_parts(buffers)
        return Capsule(
            api=api,
            kernel=self._kernel(said),
            launch=self._number(said, "launch"),
            codes=tuple(self._code(one) for one in self._list(said, "code", MOST_CODES)),
            geometry=self._geometry(self._dict(said, "geometry")),
            arguments=tuple(
                self._argument(one, at, buffers) for at, one in enumerate(self._list(said, "arguments", MOST_ARGUMENTS))
            ),
            buffers=buffers,
            options=self._text(said, "options"),
            device=Device(*(self._text(self._dict(said, "device"), name) for name in Device.__dataclass_fields__)),
            outcome=self._outcome(self._dict(said, "outcome")),
            made_by=self._text(said, "made_by"),
            has_data=has_data,
        )

    # -- values --

    def _bad(self, why: str) -> Damaged:
        return Damaged(f"{self._path} is damaged or was not made by gpudx: {why}.")

    def _entry(self, name: str, most: int) -> bytes:
        info = self._names.get(name)
        if info is None:
            raise self._bad(f"it has no {name}")
        if info.compress_type not in METHODS:
            raise self._bad(f"{name} is compressed in a way that capsules are not")
        if info.file_size > most:
            raise self._bad(f"{name} is larger than the {most:,} bytes that it may have")
        with self._zip.open(info) as file:
            data = file.read(most + 1)
        if len(data) > most or len(data) != info.file_size:
            raise self._bad(f"{name} has another size than it says")
        return data

    def _dict(self, said: dict[str, Any], key: str) -> dict[str, Any]:
        value = said.get(key)
        if not isinstance(value, dict):
            raise self._bad(f"{key!r} is missing")
        return value

    def _list(self, said: dict[str, Any], key: str, most: int) -> list[dict[str, Any]]:
        value = said.get(key)
        if not isinstance(value, list) or len(value) > most or not all(isinstance(one, dict) for one in value):
            raise self._bad(f"{key!r} is not a list of at most {most:,} entries")
        return value

    def _number(self, said: dict[str, Any], key: str, most: int = BIGGEST, least: int = 0) -> int:
        value = said.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._bad(f"{key!r} is not a number from {least} to {most:,}")
        return value

    def _text(self, said: dict[str, Any], key: str, needed: bool = False) -> str:
        value = said.get(key)
        if not isinstance(value, str) or len(value) > MOST_TEXT or "\0" in value or (needed and not value):
            raise self._bad(f"{key!r} is not a text")
        if not all(one.isprintable() or one in "\t\n\r" for one in value):  # terminals obey some of the others
            raise self._bad(f"{key!r} holds characters that cannot be shown")
        return value

    def _kernel(self, said: dict[str, Any]) -> str:
        """An identifier of C, C++ or PTX: reproducers contain it."""
        value = self._text(said, "kernel", needed=True)
        if not re.fullmatch(r"[\w$%.@]+", value, re.ASCII):
            raise self._bad("'kernel' is not the name of a function")
        return value

    def _one_of(self, said: dict[str, Any], key: str, values: tuple[str, ...]) -> Any:
        value = said.get(key)
        if value not in values:
            raise self._bad(f"{key!r} is none of {', '.join(values)}")
        return value

    # -- parts --

    def _code(self, said: dict[str, Any]) -> Code:
        kind = self._one_of(said, "kind", get_args(CodeKind))
        data = self._entry(f"code/{kind}", MOST_CODE)
        made = Code(kind, data)
        if said.get("sha256") != made.sha256:
            raise self._bad(f"code/{kind} does not have the hash that the manifest gives")
        return made

    def _geometry(self, said: dict[str, Any]) -> Geometry:
        def sizes(key: str, least: int) -> tuple[int, ...]:
            value = said.get(key)
            good = isinstance(value, list) and len(value) <= 3
            if not good or not all(type(one) is int and least <= one < 1 << 48 for one in value or ()):
                raise self._bad(f"{key!r} is not a list of at most 3 sizes")
            return tuple(value or ())

        made = Geometry(
            sizes("global", 0), sizes("local", 1), sizes("offset", 0), self._number(said, "shared", 1 << 31)
        )
        counts = {len(one) for one in (made.local, made.offset) if one} | {len(made.global_)}
        if not made.global_ or len(counts) != 1:
            raise self._bad("its sizes do not have the same number of dimensions")
        return made

    def _argument(self, said: dict[str, Any], at: int, buffers: tuple[Buffer, ...]) -> Argument:
        kind = self._one_of(said, "kind", get_args(Given))
        text = self._text(said, "value")
        try:
            value = bytes.fromhex(text)
        except ValueError:
            raise self._bad("a value is not hexadecimal") from None
        if self._number(said, "index", MOST_ARGUMENTS) != at or len(value) > MOST_VALUE:
            raise self._bad("its arguments are not in order")
        buffer = None
        if kind in ("buffer", "svm"):
            buffer = self._number(said, "buffer", len(buffers) - 1)
        size = self._number(said, "size", 1 << 32)
        offset = self._number(said, "offset")
        if buffer is not None and offset > buffers[buffer].size:
            raise self._bad(f"argument {at} points outside its buffer")
        if buffer is not None and (kind == "svm") != buffers[buffer].svm:
            raise self._bad(f"argument {at} and its buffer are of different kinds")
        return Argument(at, kind, value, buffer, offset, size, self._text(said, "type"), self._text(said, "name"))

    def _buffer(self, said: dict[str, Any], at: int, has_data: bool) -> Buffer:
        if self._number(said, "number") != at:
            raise self._bad("its buffers are not in order")
        size = self._number(said, "size")
        parent = None if said.get("parent") is None else self._number(said, "parent", max(0, at - 1))
        offset = self._number(said, "offset")
        before = after = None
        if parent is None:
            self._take(size * (1 + (has_data and "after" in said)))
        if parent is None and has_data:
            before = self._content(said, "before", at, size, None)
            after = self._content(said, "after", at, size, before) if "after" in said else None
        return Buffer(
            at,
            size,
            self._number(said, "flags"),
            parent,
            offset,
            self._number(said, "address", (1 << 64) - 1),
            bool(said.get("svm")),
            self._text(said, "symbol") if "symbol" in said else "",
            before,
            after,
        )

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise Damaged(
                f"{self._path} holds more memory than the {MOST_MEMORY >> 30} GiB that gpudx reads: capture less with --capture-limit."
            )

    def _content(self, said: dict[str, Any], key: str, at: int, size: int, base: Bytes | None) -> Bytes:
        about = self._dict(said, key)
        extents = about.get("extents")
        if not isinstance(extents, list) or len(extents) > MOST_EXTENTS:
            raise self._bad(f"the extents of buffer {at} are not a list of at most {MOST_EXTENTS:,}")
        ranges = [self._extent(one, size) for one in extents]
        total = sum(length for _, length in ranges)
        if total > size:
            raise self._bad(f"the extents of buffer {at} overlap")
        data = self._entry(f"data/{at}.{key}", total)
        if len(data) != total:
            raise self._bad(f"data/{at}.{key} has another size than its extents")
        content = np.zeros(size, dtype=np.uint8) if base is None else base.copy()
        place, view = 0, np.frombuffer(data, dtype=np.uint8)
        for offset, length in ranges:
            content[offset : offset + length] = view[place : place + length]
            place += length
        if hashlib.sha256(content.data).hexdigest() != about.get("sha256"):
            raise self._bad(f"buffer {at} does not have the hash that the manifest gives")
        return content

    def _extent(self, said: Any, size: int) -> tuple[int, int]:
        good = isinstance(said, list) and len(said) == 2 and all(type(one) is int and one >= 0 for one in said)
        if not good or said[0] + said[1] > size:
            raise self._bad("an extent lies outside its buffer")
        return said[0], said[1]

    def _check_parts(self, buffers: tuple[Buffer, ...]) -> None:
        for one in buffers:
            if one.parent is None:
                continue
            whole = buffers[one.parent]
            if one.number == 0 or whole.parent is not None or one.offset + one.size > whole.size:
                raise self._bad(f"buffer {one.number} is not a part of buffer {one.parent}")

    def _outcome(self, said: dict[str, Any]) -> Outcome:
        status = said.get("status")
        if type(status) is not int or abs(status) > 1 << 31:
            raise self._bad("'status' is not a number")
        return Outcome(self._one_of(said, "ending", get_args(Ending)), status, self._text(said, "note"))
