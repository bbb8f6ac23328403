"""What orders a million launches on 64 streams with events between them, and which of them race: time and memory.

The trace is written by hand, in the recorder's format. In each round every stream waits for its two neighbours, launches
four times (from its left neighbour's buffer to its own), and records its event: a correct program of 1.75 million calls. In
a second trace one of the waits is missing. Each analysis runs in a process of its own.

A quarter of the same program tells which part of the memory grows with the calls, and which is the same for both.
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

sys.path.append(str(ROOT / "tests"))

from support.cuda_world import CudaWorld

LAUNCHES, STREAMS, PER_ROUND = 1_000_000, 64, 4
MOST_SECONDS = 10.0
MOST_BYTES = 1e9
MOST_PER_CALL = 200  # bytes
SHORTER = 4  # so many times fewer launches, for what grows
SIZE = 1 << 20
COPY = "_Z4copyPfPKfi"
ARGUMENTS = 3
BLOB = 8 + 24 * ARGUMENTS

CHILD = f"""{PEAK_MEMORY}
import json, sys, time
from gpudx.detectors import Run, unordered_access
from gpudx.facts import derive
from gpudx.model import Outcome
from gpudx.trace import open_trace

begin = time.process_time()
facts = derive(open_trace(Path(sys.argv[1])))
len(facts.launches.pointers)
launched = time.process_time()
facts.happens.lane
ordered = time.process_time()
findings = list(unordered_access.detect(facts, Run(Outcome("passed", ""))))
end = time.process_time()
done.set()
print(json.dumps({{
    "calls": len(facts.trace), "launches": launched - begin, "order": ordered - launched, "races": end - ordered,
    "seconds": end - begin, "bytes": peak, "findings": len(findings), "pairs": sum(f.count for f in findings),
}}))
"""


class Program:
    """The objects of the program, written by the tests' writer, and numbers for its many calls."""

    def __init__(self, schema: str) -> None:
        self.world = CudaWorld(schema)
        make = self.world.create
        self.streams = np.array([make("cuStreamCreate", flags=1) for _ in range(STREAMS)], np.uint64)
        self.events = np.array([make("cuEventCreate", flags=2) for _ in range(STREAMS)], np.uint64)
        self.memory = np.array([self.world.alloc(SIZE) for _ in range(STREAMS)], np.uint64)
        self.kernel = self.world.kernel(COPY, [8, 8, 4])

    def calls(self, rounds: int, missing: int) -> NDArray[np.void]:
        """One row per call: what it is, its stream, its event's or its source's stream. `missing`: a wait left out."""
        kind = np.dtype([("what", "i1"), ("stream", "i4"), ("other", "i4")])
        one = np.zeros((rounds, STREAMS, 3 + PER_ROUND), kind)
        stream = np.arange(STREAMS)[None, :, None]
        one["what"] = [WAIT, WAIT, *[LAUNCH] * PER_ROUND, RECORD]
        one["stream"] = stream
        one["other"] = stream
        one["other"][..., 0], one["other"][..., 2 : 2 + PER_ROUND] = (
            (stream - 1)[..., 0] % STREAMS,
            (stream - 1) % STREAMS,
        )
        one["other"][..., 1] = (stream + 1)[..., 0] % STREAMS
        flat = one.reshape(-1)
        waits = np.flatnonzero(flat["what"] == WAIT)
        return np.delete(flat, waits[missing]) if missing >= 0 else flat


WAIT, LAUNCH, RECORD = range(3)
NAMES = ("cuStreamWaitEvent", "cuLaunchKernel", "cuEventRecord")


def slots(program: Program, calls: NDArray[np.void], first_time: int, taking: NDArray[np.int64]) -> NDArray[np.void]:
    """The records without their places. A call takes half of its ticks; then the program does something else."""
    schema = program.world.schema
    table = np.zeros(len(calls), schema.layouts["slot"])
    table["begin"] = first_time + np.cumsum(taking) - taking
    table["end"], table["tid"] = table["begin"] + taking // 2, 1
    for what, name in enumerate(NAMES):
        info: Any = schema.by_name(name)
        mine = np.flatnonzero(calls["what"] == what)
        table["call"][mine] = info.number
        table["w"][mine, info.word("queue")] = program.streams[calls["stream"][mine]]
        if what == LAUNCH:
            table["w"][mine, info.word("kernel")] = program.kernel
            table["w"][mine, 2:8] = 1
        else:
            table["w"][mine, info.word("event")] = program.events[calls["other"][mine]]
    return table


def blobs(program: Program, calls: NDArray[np.void]) -> NDArray[np.uint8]:
    """The arguments of each call, as of a launch: its own buffer, its neighbour's, and a number."""
    schema = program.world.schema
    layout = np.dtype([("head", "<u4", 2), ("arguments", schema.layouts["argument"], ARGUMENTS)])
    table = np.zeros(len(calls), layout)
    table["head"] = (schema.parts["arguments"], BLOB - 8)
    arguments = table["arguments"]
    arguments["index"], arguments["flags"], arguments["size"] = np.arange(ARGUMENTS), 1, (8, 8, 4)
    values = (program.memory[calls["stream"]], program.memory[calls["other"]], np.full(len(calls), 1024, np.uint64))
    arguments["value"] = np.stack(values, axis=1)
    return table.view(np.uint8).reshape(len(calls), BLOB)


def write(program: Program, path: Path, calls: NDArray[np.void], taking: NDArray[np.int64] | None = None) -> Path:
    """The objects' trace, and behind it one unit after the other of the many calls, of 20 ticks each unless told."""
    taking = np.full(len(calls), 20) if taking is None else taking
    trace = program.world.write(path)
    schema, size = program.world.schema, program.world.schema.unit_bytes
    slot, each = schema.layouts["slot"].itemsize, 0
    each = (size - slot) // (slot + BLOB)
    table, given = slots(program, calls, int(trace.column("begin")[-1]) + 1000, taking), blobs(program, calls)
    with path.open("ab") as file:
        at, seq = path.stat().st_size, len(trace) + 1
        for begin in range(0, len(calls), each):
            file.write(unit(schema, table[begin : begin + each], given[begin : begin + each], at, seq + begin))
            at += size
    return path


def unit(schema: Any, table: NDArray[np.void], given: NDArray[np.uint8], at: int, seq: int) -> bytes:
    size, slot = schema.unit_bytes, schema.layouts["slot"].itemsize
    chunk = np.zeros(1, schema.layouts["chunk"])
    chunk["magic"], chunk["kind"], chunk["units"], chunk["first_seq"], chunk["lane"] = schema.chunk_magic, 1, 1, seq, 1
    data = np.zeros(size, np.uint8)
    data[:slot] = chunk.view(np.uint8)
    count = len(table)
    table["seq"] = seq + np.arange(count)
    table["blob"] = (at + size - BLOB * np.arange(count, 0, -1)) // 8
    table["blob_bytes"] = BLOB
    data[slot : slot + count * slot] = table.view(np.uint8).reshape(-1)
    data[size - count * BLOB :] = given.reshape(-1)
    return data.tobytes()


def growth(short: list[dict[str, Any]], long: list[dict[str, Any]]) -> list[Row]:
    """What each further call takes, and the rest. The highest of one run varies with what the allocator has to hand: medians."""
    bytes_, calls = ([median([r[name] for r in runs]) for runs in (short, long)] for name in ("bytes", "calls"))
    slope = (bytes_[1] - bytes_[0]) / (calls[1] - calls[0])
    rest = bytes_[1] - slope * calls[1]
    return [
        Row(f"the same with {calls[0] / 1e6:.2g} million calls", bytes_[0] / 1e6, "MB"),
        Row("anonymous memory per further call", slope, "bytes", MOST_PER_CALL),
        Row("the same at both sizes", rest / 1e6, "MB", note=f"{rest / bytes_[1]:.0%} of the longer one's"),
    ]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rounds = max(options.launches // (STREAMS * PER_ROUND), 2)
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / "tools/generate.py", ROOT / "schema", folder], check=True)
        program = Program((folder / "schema.json").read_text())
        good = write(program, folder / "good.gdx", program.calls(rounds, -1))
        runs = [in_a_child(CHILD, good) for _ in range(options.runs)]
        good.unlink()
        shorter = write(program, folder / "shorter.gdx", program.calls(max(rounds // SHORTER, 1), -1))
        short = [in_a_child(CHILD, shorter) for _ in range(options.runs)]
        shorter.unlink()
        bad = in_a_child(CHILD, write(program, folder / "bad.gdx", program.calls(rounds, rounds * STREAMS)))
    scale = rounds * STREAMS * PER_ROUND / LAUNCHES
    result = Result("order", "What orders a million launches on 64 streams")
    result.rows = [
        Row("recorded calls", runs[0]["calls"] / 1e6, "million"),
        Row("trace to findings, median", median([r["seconds"] for r in runs]), "s", MOST_SECONDS * max(scale, 0.1)),
        Row("of which launches and pointers", median([r["launches"] for r in runs]), "s"),
        Row("of which operations and edges", median([r["order"] for r in runs]), "s"),
        Row("of which clocks and races", median([r["races"] for r in runs]), "s"),
        Row("anonymous memory, highest", max(r["bytes"] for r in runs) / 1e6, "MB", MOST_BYTES / 1e6),
        *growth(short, runs),
        Row("findings in the correct program", runs[0]["findings"], "", 0),
        Row("findings missed where one wait is left out", float(not bad["findings"]), "", 0),
    ]
    result.remarks.append(f"Analyses: {options.runs}, each in a process of its own; processor time of one thread.")
    result.remarks.append(f"Load of the machine: {os.getloadavg()[0]:.1f}.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
