"""Two runs of a million launches each, held against each other: seconds and memory.

The traces are generated: a program of 12 kernels in a loop, with numbers that change from turn to turn. In the second run one
launch in a thousand is missing, one is new, and one has another number. What is found is compared with what was planted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import PEAK_MEMORY, ROOT, Result, Row, arguments, finish, in_a_child, median
from numpy.typing import NDArray
from order import BLOB, unit

sys.path.append(str(ROOT / "tests"))

from support.cuda_world import CudaWorld

LAUNCHES, KERNELS, BUFFERS = 1_000_000, 12, 64
EVERY = 1000  # launches between two of the same plant
MOST_SECONDS = 15.0
MOST_BYTES = 3e9

CHILD = f"""{PEAK_MEMORY}
import json, sys, time
from gpudx.diff import Recording, compare
from gpudx.facts import derive
from gpudx.model import Case, Outcome
from gpudx.trace import open_trace

begin = time.process_time()
case = Case(("program",), "", "", "", Outcome("passed", ""))
good, bad = (Recording(name, case, [derive(open_trace(Path(name)))]) for name in sys.argv[1:3])
made = compare(good, bad)
end = time.process_time()
done.set()
print(json.dumps({{"seconds": end - begin, "bytes": peak, "counts": made.counts, "first": made.first and made.first.text}}))
"""


class Program:
    """The objects of the program, written by the tests' writer."""

    def __init__(self, schema: str) -> None:
        self.world = CudaWorld(schema)
        self.memory = np.array([self.world.alloc(1 << 12 << (n % 8)) for n in range(BUFFERS)], np.uint64)
        self.kernels = np.array([self.world.kernel(f"_Z{len(n)}{n}PfPKfi", [8, 8, 4]) for n in names()], np.uint64)


def names() -> list[str]:
    return [f"kernel{number:02}" for number in range(KERNELS)]


def launches(count: int) -> NDArray[np.int64]:
    """Kernel, buffers and number of each launch."""
    at = np.arange(count)
    return np.stack([at % KERNELS, at * 7 % BUFFERS, at * 13 % BUFFERS, at // KERNELS % 97], axis=1)


def changed(good: NDArray[np.int64]) -> NDArray[np.int64]:
    """The second run: a launch missing, one new, one with another number, each once in EVERY."""
    bad, places = good.copy(), np.arange(EVERY // 2, len(good), EVERY)
    bad[places, 3] += 1000
    bad = np.insert(bad, places + 200, (0, 1, 2, 5000), axis=0)
    return np.delete(bad, places + 400 + np.arange(len(places)) + 1, axis=0)


def write(program: Program, path: Path, rows: NDArray[np.int64]) -> Path:
    """The objects' trace, and behind it one unit after the other of the launches."""
    trace, schema = program.world.write(path), program.world.schema
    slot = schema.layouts["slot"].itemsize
    each = (schema.unit_bytes - slot) // (slot + BLOB)
    table, given = _slots(program, rows, int(trace.column("begin")[-1]) + 1000), _blobs(program, rows)
    with path.open("ab") as file:
        at, seq = path.stat().st_size, len(trace) + 1
        for begin in range(0, len(rows), each):
            file.write(unit(schema, table[begin : begin + each], given[begin : begin + each], at, seq + begin))
            at += schema.unit_bytes
    return path


def _slots(program: Program, rows: NDArray[np.int64], first: int) -> NDArray[np.void]:
    schema = program.world.schema
    info: Any = schema.by_name("cuLaunchKernel")
    table = np.zeros(len(rows), schema.layouts["slot"])
    table["begin"] = first + 20 * np.arange(len(rows))
    table["end"], table["tid"], table["call"] = table["begin"] + 10, 1, info.number
    table["w"][:, info.word("queue")] = program.world.queue
    table["w"][:, info.word("kernel")] = program.kernels[rows[:, 0]]
    table["w"][:, 2:8] = 1
    return table


def _blobs(program: Program, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    schema = program.world.schema
    table = np.zeros(len(rows), [("head", "<u4", 2), ("arguments", schema.layouts["argument"], 3)])
    table["head"] = (schema.parts["arguments"], BLOB - 8)
    given = table["arguments"]
    given["index"], given["flags"], given["size"] = np.arange(3), 1, (8, 8, 4)
    values = (program.memory[rows[:, 1]], program.memory[rows[:, 2]], rows[:, 3].astype(np.uint64))
    given["value"] = np.stack(values, axis=1)
    return table.view(np.uint8).reshape(len(rows), BLOB)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / "tools/generate.py", ROOT / "schema", folder], check=True)
        text, rows = (folder / "schema.json").read_text(), launches(options.launches)
        good = write(Program(text), folder / "good.gdx", rows)
        bad = write(Program(text), folder / "bad.gdx", changed(rows))
        other = write(Program(text), folder / "other.gdx", np.random.default_rng(1).permutation(rows))
        same = in_a_child(CHILD, good, good)
        runs = [in_a_child(CHILD, good, bad) for _ in range(options.runs)]
        shuffled = in_a_child(CHILD, good, other)
    planted = len(np.arange(EVERY // 2, options.launches, EVERY))
    wrong = sum(abs(runs[0]["counts"][aspect] - planted) for aspect in ("kernels", "arguments"))
    result = Result("diff", "Two runs of a million launches, held against each other")
    result.rows = [
        Row("launches of each", options.launches / 1e6, "million"),
        Row("equal runs", same["seconds"], "s", MOST_SECONDS),
        Row(f"{3 * planted} planted differences, median", median([r["seconds"] for r in runs]), "s", MOST_SECONDS),
        Row("the same launches in a random order", shuffled["seconds"], "s", MOST_SECONDS),
        Row("anonymous memory, highest", max(r["bytes"] for r in (*runs, shuffled)) / 1e6, "MB", MOST_BYTES / 1e6),
        Row("differences between equal runs", sum(same["counts"].values()), "", 0),
        Row("planted differences missed or invented", wrong, "", planted / 100),
    ]
    result.remarks.append(f"Comparisons: {options.runs}, each in a process of its own; processor time of one thread.")
    result.remarks.append(f"First difference told: {runs[0]['first']}; load of the machine: {os.getloadavg()[0]:.1f}.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
