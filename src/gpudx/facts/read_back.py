"""What a program got from its devices: whether it holds a NaN or an infinite number, whether it varies, and which kernels made it.

Known of runs in which the recorder looked at it (native/opencl/read_back.h).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpudx.facts import Facts
from gpudx.model.read_back import ReadBack

SOME = 64  # bytes: less may well be all alike
INTEGERS = ("char", "short", "int", "long")  # in such data the pattern of a NaN is a number


def read_back(processes: Sequence[Facts]) -> ReadBack | None:
    """None where it was not looked at, or the program read nothing in a way that is seen."""
    counts, launches = dict[str, int](), dict[str, int]()
    for facts in processes:
        integers = _integers(facts) if len(facts.trace.named("note_brought")) else frozenset[int]()
        for note in facts.trace.named("note_brought").tolist():
            record = facts.trace.record(note)
            mine = _of(record, _row(facts, int(record["buffer"]), note) in integers)
            counts = {name: counts.get(name, 0) + number for name, number in mine.items()}
        for row in np.flatnonzero(facts.launches.status == 0).tolist():
            name = facts.launches.name(row)
            launches[name] = launches.get(name, 0) + 1
    return ReadBack(**counts, launches=tuple(launches.items())) if counts else None


def _of(record: dict[str, int], is_integer: bool) -> dict[str, int]:
    large = int(record["size"] >= SOME)
    return {
        "nan": 0 if is_integer else record["nan"] + record["wide_nan"],
        "infinite": 0 if is_integer else record["infinite"] + record["wide_infinite"],
        "large": large,
        "varied": int(large and record["varies"] > 0),
    }


def _row(facts: Facts, handle: int, position: int) -> int:
    return int(facts.objects.live_at(np.array([handle], np.uint64), np.array([position], np.int64))[0])


def _integers(facts: Facts) -> frozenset[int]:
    """Buffers that kernels take for integers, and none for anything else."""
    launches, kinds = facts.launches, dict[int, set[bool]]()
    functions = facts.kernels.functions(launches.kernel_row)
    _, rows = np.unique(functions, return_index=True)
    for row in rows.tolist():
        for value in launches.values(row):
            declared = value["declared"]
            if value["object"] >= 0 and declared is not None:
                word = declared.type.replace("unsigned ", "u").rstrip("*").strip().lstrip("u").rstrip("0123456789")
                kinds.setdefault(int(value["object"]), set()).add(word in INTEGERS)
    return frozenset(buffer for buffer, found in kinds.items() if found == {True})
