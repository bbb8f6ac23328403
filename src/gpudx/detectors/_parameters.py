"""What a call was given, value by value, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors._words import argument
from gpudx.facts import Facts

NEAR = 4096  # a field of an object lies within a page of its beginning


@dataclass(frozen=True)
class Value:
    """One value.

    `points` says whether the driver may follow it: a handle, a pointer, or bytes that may be one. `must_point` says
    that it stands where a handle belongs, so that the driver follows it even if it is a small number.
    """

    name: str
    value: int
    text: str
    points: bool
    must_point: bool = False


def values_of(facts: Facts, position: int) -> list[Value]:
    """The parameters of a call and, for a launch, the arguments that the kernel object held."""
    return [*_parameters(facts, position), *_arguments(facts, position)]


def told(values: list[Value]) -> str:
    """ "kernel = 0x55ae (kernel #5), index = 1"."""
    return ", ".join(f"{v.name} = {v.text}" for v in values)


def nearest(values: list[Value], address: int) -> Value | None:
    """The value that an address is a small offset from; small numbers count only where a handle belongs."""
    near = [v for v in values if v.points and 0 <= address - v.value < NEAR and (v.value >= NEAR or v.must_point)]
    return min(near, key=lambda v: address - v.value) if near else None


def label_of(facts: Facts, handle: int, position: int) -> str | None:
    """The live object that a handle names."""
    row = int(facts.objects.live_at(np.array([handle], np.uint64), np.array([position], np.int64))[0])
    return facts.objects.label(row) if row >= 0 else None


def _memory_at(facts: Facts, address: int, position: int) -> str | None:
    """The allocation that an address lies in, live or not."""
    row = facts.memory.one(address, position)
    return facts.objects.label(row) if row >= 0 else None


def _parameters(facts: Facts, position: int) -> Iterator[Value]:
    info, words = facts.trace.info(position), facts.trace.record(position)
    for name, kind in info.fields:
        if name == "result" or kind in ("handle:event", "stack"):
            continue
        value, points = words[name], kind.startswith(("handle", "pointer", "address")) or name == "value"
        label = label_of(facts, value, position) if kind.startswith("handle") else None
        label = _memory_at(facts, value, position) if kind == "address" and value else label
        signed = value - (1 << 64) if kind == "signed" and value >> 63 else value
        text = f"{value:#x} ({label})" if label else f"{value:#x}" if points else str(signed)
        yield Value(name, value, text, points, kind.startswith("handle") or name == "value")
    for name, (_, kind) in info.arrays.items():
        if kind == "text":
            yield Value(name, 0, repr(facts.trace.array(position, name).decode("utf-8", "replace")), False)


def _arguments(facts: Facts, position: int) -> Iterator[Value]:
    row = facts.launches.at_position(position)
    if row is None:
        return
    kernel_row = int(facts.launches.kernel_row[row])
    for given in facts.launches.values(row):
        data: bytes = given["bytes"]
        value = int.from_bytes(data[:8], "little")
        label = facts.objects.label(given["object"]) if given["object"] >= 0 else None
        text = f"{value:#x} ({label})" if label else f"0x{data[::-1].hex()}" if data else f"{given['size']} bytes"
        yield Value(argument(facts, kernel_row, given["index"]), value, text, len(data) == 8)
