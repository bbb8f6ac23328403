"""The first launch that made a NaN or an infinity, from what the recorder saw (native/opencl/nan.c)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpudx.capsule import raw
from gpudx.capsule.compare import element_type
from gpudx.capsule.model import Argument, Capsule

WORDS = struct.Struct("<7Q")


@dataclass(frozen=True)
class Origin:
    """A launch that has NaN (or infinities) behind it and had none before it; `exact` is False where only every Nth launch was seen."""

    kind: str  # "NaN" or "infinity"
    kernel: str
    launch: int  # of all launches of the process
    of_kernel: int
    argument: int
    element: int
    count: int
    elements: int
    bits: int  # of an element
    exact: bool
    before: int = 0  # how many were there before, in all that it can reach


@dataclass(frozen=True)
class Seen:
    """What a run with --nan saw."""

    origins: tuple[Origin, ...] = ()
    scanned: int = 0
    launches: int = 0
    unknown: int = 0  # arguments whose type nobody knows

    def first(self, kind: str | None = None) -> Origin | None:
        """The first NaN; if there is none, the first infinity."""
        for one in (kind,) if kind else ("NaN", "infinity"):
            found = sorted((o for o in self.origins if o.kind == one), key=lambda o: o.launch)
            if found:
                return found[0]
        return None


def seen(folder: Path) -> Seen:
    """Everything that was left below `folder`, of all processes."""
    origins, scanned, launches, unknown = [], 0, 0, 0
    for path in sorted(folder.glob("nan-*.raw")):
        for record in raw.records(path):
            if record.kind == raw.NONFINITE:
                origins.append(_origin(record))
            elif record.kind == raw.SCANNED:
                scanned, launches, unknown = scanned + record.a, launches + record.b, unknown + record.c
    return Seen(tuple(origins), scanned, launches, unknown)


def _origin(record: raw.Record) -> Origin:
    nan, element, count, size, elements, exact, before = WORDS.unpack(record.data[: WORDS.size])
    kernel = record.data[WORDS.size :].decode(errors="replace")
    kind = "NaN" if nan else "infinity"
    return Origin(kind, kernel, record.a, record.b, record.c, element, count, elements, size * 8, bool(exact), before)


def inputs(capsule: Capsule) -> list[str]:
    """The ranges of the floating-point inputs of a launch, one phrase for each argument."""
    found = (_range(capsule, one) for one in capsule.arguments)
    return [one for one in found if one]


def _range(capsule: Capsule, one: Argument) -> str:
    kind = element_type(one.type)
    if kind.kind != "f":
        return ""
    at = int.from_bytes(one.value, "little")
    buffer = capsule.buffers[one.buffer] if one.buffer is not None else None
    if capsule.api != "opencl" and one.type.endswith("*"):
        buffer = next((held for held in capsule.buffers if held.address <= at < held.address + held.size), None)
    if one.kind == "value" and not one.type.endswith("*"):
        values = np.frombuffer(one.value[: len(one.value) // kind.itemsize * kind.itemsize], dtype=kind)
    else:
        if buffer is None or buffer.before is None:
            return ""
        first = at - buffer.address if capsule.api != "opencl" else 0
        size = (buffer.size - first) // kind.itemsize * kind.itemsize
        values = buffer.before[first : first + size].view(kind)
    if not len(values):
        return ""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return f"{one.name or one.title} has no finite number"
    low, high, zeros = finite.min(), finite.max(), int(np.count_nonzero(finite == 0))
    said = (
        f"{one.name or one.title} = {low:g}"
        if len(values) == 1
        else f"{one.name or one.title} from {low:g} to {high:g}"
    )
    return said + (f" ({zeros:,} zeros)" if zeros and len(values) > 1 else "")
