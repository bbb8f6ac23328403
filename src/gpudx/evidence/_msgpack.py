"""MessagePack, as much as metadata of device code needs: maps, lists, text, numbers (msgpack specification, "Formats").

Hostile input is refused, never followed: nothing is made larger than the bytes that are there, depth and number of values are
bounded, and keys of maps are text or numbers. Extension types do not occur in such metadata and are refused too.
"""

from __future__ import annotations

import struct

DEEPEST = 32
MOST_VALUES = 2_000_000

Value = None | bool | int | float | str | bytes | list["Value"] | dict["str | int", "Value"]

NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
    0xD3: ">q",
}  # fmt: skip
PLAIN: dict[int, Value] = {0xC0: None, 0xC2: False, 0xC3: True}
BINARY = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
TEXT = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
LIST = {0xDC: ">H", 0xDD: ">I"}
MAP = {0xDE: ">H", 0xDF: ">I"}


class BadMessage(ValueError):
    """Not what metadata looks like. The text completes a sentence: "its metadata ..."."""


def unpack(data: bytes | memoryview) -> Value:
    """The one value that `data` begins with; what stands behind it is not looked at."""
    return _Reader(bytes(data)).value(0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.made = data, 0, 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise BadMessage("ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, layout: str) -> int:
        return int(struct.unpack(layout, self.take(struct.calcsize(layout)))[0])

    def value(self, depth: int) -> Value:
        self.made += 1
        if depth > DEEPEST or self.made > MOST_VALUES:
            raise BadMessage("is nested too deep" if depth > DEEPEST else "has too many values")
        code = self.take(1)[0]
        if code < 0x80 or code >= 0xE0:
            return code if code < 0x80 else code - 256
        if code in PLAIN:
            return PLAIN[code]
        if code in NUMBERS:
            (found,) = struct.unpack(NUMBERS[code], self.take(struct.calcsize(NUMBERS[code])))
            return float(found) if isinstance(found, float) else int(found)
        return self.sized(code, depth)

    def sized(self, code: int, depth: int) -> Value:
        """What begins with its length: in the code itself, or behind it."""
        if code < 0xC0:
            small = (self.map, code & 15) if code < 0x90 else (self.list, code & 15)
            return self.text(code & 31) if code >= 0xA0 else small[0](small[1], depth)
        if code in TEXT:
            return self.text(self.number(TEXT[code]))
        if code in BINARY:
            return self.take(self.number(BINARY[code]))
        if code in LIST:
            return self.list(self.number(LIST[code]), depth)
        if code in MAP:
            return self.map(self.number(MAP[code]), depth)
        raise BadMessage(f"has a value of a kind that is not expected there ({code:#x})")

    def text(self, size: int) -> str:
        return self.take(size).decode("utf-8", "replace")

    def list(self, count: int, depth: int) -> Value:
        self.room(count)
        return [self.value(depth + 1) for _ in range(count)]

    def map(self, count: int, depth: int) -> Value:
        self.room(2 * count)
        return dict(self.pair(depth) for _ in range(count))

    def pair(self, depth: int) -> tuple[str | int, Value]:
        key = self.value(depth + 1)
        if not isinstance(key, str | int):
            raise BadMessage("has a key that is neither text nor number")
        return key, self.value(depth + 1)

    def room(self, count: int) -> None:
        """Each value takes a byte at least: a count beyond that is a lie."""
        if count > len(self.data) - self.at:
            raise BadMessage("ends too early")
