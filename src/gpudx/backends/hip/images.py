"""Device code of AMD: for which targets an image holds code, and which of those a device can run.

What the recorder keeps of an image are the targets of its entries, or a sentence that says why none are known. A device is told by
the digits of its processor and two features (note_device in schema/events.toml).

    bundle      "__CLANG_OFFLOAD_BUNDLE__", a count, then offset, size and name of each entry (clang documentation, "Clang
                Offload Bundler"); those of a program lie in its section .hip_fatbin, each at the beginning of a page (LLVM,
                clang/lib/CodeGen/CGCUDANV.cpp). Compressed ones ("CCOB") are not unpacked: that would take seconds
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpudx.backends.hip.targets import SPIRVS, in_entry, parse
from gpudx.text import listed as and_listed

PLAIN, PACKED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
ENTRY = struct.Struct("<QQQ")  # offset, size, length of the name
PAGE = 4096
MOST_BUNDLES, MOST_ENTRIES, LONGEST_NAME = 100_000, 4096, 1024
NO_CODE = b"it is no device code"  # native/hip/code.c
FEATURES = ("sramecc", "xnack")

Read = Callable[[int, int], bytes]


@dataclass(frozen=True)
class Code:
    """Code for one target."""

    target: str
    language: str = ""

    @property
    def compiled(self) -> bool:
        return self.target not in SPIRVS

    def runs_on(self, device: Mapping[str, int]) -> bool:
        """Can this device run it, as far as its target says?"""
        return parse(self.target).runs_on(parse(device_target(device)))


@dataclass(frozen=True)
class Image:
    """What an image holds. `odd` says what it is if it is no device code; `whole`: all of its code is listed."""

    codes: tuple[Code, ...] = ()
    odd: str = ""
    whole: bool = True

    @property
    def holds(self) -> str:
        """ "code for gfx90a and gfx1030"; "" if no code is known."""
        told = f"code for {and_listed([code.target for code in self.codes])}" if self.codes else ""
        return f"{told}, and more that was not recorded" if told and not self.whole else told


def device_target(device: Mapping[str, int]) -> str:
    """The target id of a device, "" if it was not told."""
    digits, bits = device.get("architecture", 0), device.get("features", 0)
    signs = ((name, bits >> 2 * at & 3) for at, name in enumerate(FEATURES))
    told = "".join(f":{name}{'+' if sign == 2 else '-'}" for name, sign in signs if sign in (1, 2))
    return f"gfx{digits:x}{told}" if digits else ""


def read(head: bytes, words: Sequence[int], whole: bool) -> Image:
    """An image from what the recorder kept of it."""
    if head == NO_CODE:
        return Image(odd="neither a code object nor a bundle of them")
    names = (
        head.decode("utf-8", "replace").split()
        if head.startswith((b"gfx", *(name.encode() for name in SPIRVS)))
        else []
    )
    return Image(tuple(map(Code, dict.fromkeys(names))), whole=whole)


def listed(read: Read) -> tuple[str, ...]:
    """The targets of the bundles in a section, each once."""
    names = [name for bundle in _bundles(read) for name in bundle]
    return tuple(dict.fromkeys(filter(None, map(in_entry, names))))


def readable(read: Read) -> bool:
    """Can texts of the device code be found in the section? Not where it is compressed."""
    found = list(_bundles(read))
    return bool(found) and all(found)


def _bundles(read: Read) -> Iterator[list[str]]:
    """The names of each bundle's entries; none for a compressed one, behind which no further one is looked for."""
    at = 0
    for _ in range(MOST_BUNDLES):
        head = read(at, len(PLAIN) + 8)
        if head.startswith(PACKED):
            yield []
        if not head.startswith(PLAIN) or len(head) < len(PLAIN) + 8:
            return
        names, end = _entries(read, at, min(struct.unpack_from("<Q", head, len(PLAIN))[0], MOST_ENTRIES))
        yield names
        at += -(-max(end, PAGE) // PAGE) * PAGE


def _entries(read: Read, bundle: int, count: int) -> tuple[list[str], int]:
    """Names, and how many bytes the bundle has. Ends where it is damaged."""
    at, names, end = bundle + len(PLAIN) + 8, [], 0
    for _ in range(count):
        head = read(at, ENTRY.size)
        offset, size, length = ENTRY.unpack(head) if len(head) == ENTRY.size else (0, 0, LONGEST_NAME + 1)
        if length > LONGEST_NAME:
            break
        names.append(read(at + ENTRY.size, length).decode("utf-8", "replace"))
        at, end = at + ENTRY.size + length, max(end, offset + size)
    return names, max(end, at - bundle)
