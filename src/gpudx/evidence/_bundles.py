"""Clang's offload bundles: device code for several targets in one piece, plain or compressed.

    plain       "__CLANG_OFFLOAD_BUNDLE__", a count, then offset, size and name of each entry (clang documentation, "Clang
                Offload Bundler", "Bundled Binary File Layout"); names are KIND-TRIPLE-TARGET, as hipv4-amdgcn-amd-amdhsa--gfx90a;
                SPIR-V for any device has it in the triple, as hip-spirv64-unknown-chipstar--generic
    compressed  "CCOB", version, method (0 zlib, 1 zstd), from version 2 on the size of it all, the size before, a hash (the
                same page, "Compressed Offload Bundle"); sizes take 4 bytes, in version 3 they take 8

A linker puts the bundles of several sources one behind the other, with gaps of zeros.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.backends.hip.targets import in_entry
from gpudx.evidence._compressed import Method, Unreadable, unpack

PLAIN, PACKED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
MAGIC = re.compile(re.escape(PLAIN) + b"|" + re.escape(PACKED))
ENTRY = struct.Struct("<QQQ")  # offset, size, length of the name
HEADERS = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}
METHODS: dict[int, Method] = {0: "zlib", 1: "zstd"}
MOST_ENTRIES = 4096
LONGEST_NAME = 1024
MOST_BUNDLES = 100_000


@dataclass(frozen=True)
class Entry:
    """Code for one target. `place` is an offset: of the code, or of the compressed bundle that holds it."""

    name: str
    data: memoryview
    place: int

    @property
    def on_device(self) -> bool:
        return not self.name.startswith("host")

    @property
    def target(self) -> str:
        return in_entry(self.name)


@dataclass(frozen=True)
class Refused:
    """A bundle that cannot be read, with the reason as "is damaged"."""

    place: int
    why: str


def entries(data: memoryview) -> Iterator[Entry | Refused]:
    """The entries of all bundles in `data`, in order; what cannot be read is told and passed over."""
    at = 0
    for _ in range(MOST_BUNDLES):
        found = MAGIC.search(data, at)
        if found is None:
            return
        at = found.start()
        size = 1
        try:
            made, size = _bundle(data[at:], at) if found[0] == PLAIN else _packed(data[at:], at)
            yield from made
        except (Unreadable, struct.error) as error:
            yield Refused(at, str(error) if isinstance(error, Unreadable) else "is cut off")
        at += max(size, len(found[0]))


def _bundle(data: memoryview, place: int, inside: bool = False) -> tuple[list[Entry], int]:
    """The entries of a plain bundle, and how much of `data` it takes."""
    (count,) = struct.unpack_from("<Q", data, len(PLAIN))
    if count > MOST_ENTRIES:
        raise Unreadable(f"promises {count:,} entries, which is implausible")
    at, made, end = len(PLAIN) + 8, [], 0
    for _ in range(count):
        offset, size, length = ENTRY.unpack_from(data, at)
        at += ENTRY.size
        if length > LONGEST_NAME or offset + size > len(data):
            raise Unreadable("is damaged or cut off: an entry lies outside of it")
        name = bytes(data[at : at + length]).decode("utf-8", "replace")
        made.append(Entry(name, data[offset : offset + size], place if inside else place + offset))
        at, end = at + length, max(end, offset + size)
    return made, max(at, end)


def _packed(data: memoryview, place: int) -> tuple[list[Entry], int]:
    """The same of a compressed bundle. One of version 1 does not say where it ends."""
    _, version, method = struct.unpack_from("<4sHH", data)
    if version not in HEADERS or method not in METHODS:
        raise Unreadable(f"is compressed in a way that is not known (version {version}, method {method})")
    header = HEADERS[version]
    sizes = header.unpack_from(data)[3:-1]
    total, before = (len(data), sizes[0]) if version == 1 else sizes
    if not header.size <= total <= len(data):
        raise Unreadable(f"is cut off: it should have {total:,} bytes, and {len(data):,} are there")
    plain = memoryview(unpack(METHODS[method], bytes(data[header.size : total]), before))
    if bytes(plain[: len(PLAIN)]) != PLAIN:
        raise Unreadable("is damaged: its content is not a bundle")
    return _bundle(plain, place, inside=True)[0], header.size if version == 1 else total
