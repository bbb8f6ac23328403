"""What a fence around OpenCL buffers costs on a CPU device, and what it finds of faults that were planted.

Kernel times: plain, recorded with a fence, and under Oclgrind, each in a process of its own, in turn. Faults: one access
outside of a buffer per process, of each kind, for many sizes and element types; found means that kernel, buffer and place
were told right.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from common import Kit, Result, Row, arguments, build, finish, interleaved, median, native_kit

from gpudx.detectors import Run, fence_hit, write_outside_allocation
from gpudx.facts import derive
from gpudx.model import Finding, Outcome
from gpudx.trace import open_trace

MOST_RATIO = 1.10
# Device, work-items, launches; a wait after each. The default device hands each launch to other threads, which takes
# longer than a small kernel and differs from process to process; `basic` runs it in the calling thread. The smallest shows what a
# launch and its wait take, with the look at the bytes beside buffers that is made at each wait: not a kernel's time, so no target.
LOOPS = (("", 1 << 24, 60), ("basic", 1 << 20, 300), ("basic", 65_536, 3000))
OCLGRIND_ITEMS = 65_536
OCLGRIND_LAUNCHES = 2
BUFFERS = 2000
TYPES = {
    "char": 1,
    "short": 2,
    "int": 4,
    "float": 4,
    "long": 8,
    "double": 8,
    "float4": 16,
    "int8": 32,
    "long8": 64,
    "double16": 128,
}
COUNTS = (1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 63, 100, 128, 255, 256, 1000, 1024, 4095, 4096, 10_007)
PAGE = 4096
folders = count()


@dataclass(frozen=True)
class Plant:
    """A fault: `at` in elements from the buffer's start."""

    kind: str
    how: str
    side: str
    type: str
    count: int
    at: int
    align: int

    @property
    def bytes(self) -> int:
        return self.count * TYPES[self.type]


# ---- time ----


def environment(kit: Kit, folder: Path, side: str | None, align: int = 0) -> dict[str, str]:
    env = kit.environment("layer" if side else "plain", folder)
    ours = {"GPUDX_FENCE": side, **({"GPUDX_FENCE_ALIGN": str(align)} if align else {})} if side else {}
    return env | ours


def timed(kit: Kit, command: list[str | Path], side: str | None, device: str = "") -> float:
    folder = kit.folder / f"time-{next(folders)}"
    folder.mkdir()
    env = environment(kit, folder, side) | ({"POCL_DEVICES": device} if device else {})
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return float(done.stdout)


def kernel_times(kit: Kit, rounds: int) -> Iterator[Row]:
    program = build(kit, "small_kernels", "-lOpenCL")
    oclgrind = shutil.which("oclgrind")
    for device, items, launches in LOOPS:
        command: list[str | Path] = [program, str(launches), str(items), str(launches // 4), "1"]
        plain, fenced = interleaved(rounds, *(partial(timed, kit, command, side, device) for side in (None, "high")))
        each = [1e6 * median(times) / launches for times in (plain, fenced)]
        paired = sorted(after / before for before, after in zip(plain, fenced, strict=True))
        low, high = paired[len(paired) // 4], paired[-1 - len(paired) // 4]
        note = f"{each[0]:.1f} us per launch plain, {each[1]:.1f} fenced; half of the pairs in {low:.2f} to {high:.2f}"
        yield Row(
            f"PoCL {device or 'default'} device, {items:,} work-items, fenced",
            each[1] / each[0],
            "x plain",
            MOST_RATIO if items > OCLGRIND_ITEMS else None,
            note,
        )
        if oclgrind and items == OCLGRIND_ITEMS:
            slow = (
                timed(kit, [oclgrind, program, str(OCLGRIND_LAUNCHES), str(items), "0", "1"], None) / OCLGRIND_LAUNCHES
            )
            note = f"{1e6 * slow:,.0f} us per launch, one run of {OCLGRIND_LAUNCHES} launches"
            yield Row(f"the same under Oclgrind, {items:,} work-items", 1e6 * slow / each[0], "x plain", note=note)


def buffer_time(kit: Kit, program: Path, rounds: int) -> Row:
    variants = (partial(timed, kit, [program, "buffers", str(BUFFERS)], side) for side in (None, "high"))
    plain, fenced = (median(times) for times in interleaved(rounds, *variants))
    return Row("making, writing and releasing a buffer of 64 KB, fenced", fenced, "us", note=f"{plain:.1f} plain")


# ---- faults ----


def plants() -> Iterator[Plant]:
    """Each size with each kind of fault; element types take turns. Twice: as drivers align buffers, and as elements do."""
    turn = 0
    for number in COUNTS:
        for kind, how, side, at in (
            ("read, 1 element past", "read", "high", number),
            ("write, 1 element past", "write", "high", number),
            ("read, 1 page past", "read", "high", None),
            ("write, 1 page past", "write", "high", None),
            ("read, 1 element before (low)", "read", "low", -1),
            ("write, 1 element before (low)", "write", "low", -1),
            ("write after release", "released", "high", 0),
        ):
            name = list(TYPES)[turn % len(TYPES)]
            turn += 3  # has no divisor in common with the number of types
            where = number + PAGE // TYPES[name] if at is None else at
            for align in (0, TYPES[name]):
                yield Plant(kind, how, side, name, number, where, align)


def run_plant(kit: Kit, program: Path, plant: Plant) -> list[Finding]:
    folder = kit.folder / f"plant-{next(folders)}"
    folder.mkdir()
    command = [program, plant.type, str(plant.count), str(plant.at), plant.how]
    env = environment(kit, folder, plant.side, plant.align)
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    kind = Outcome("signal", "", signal="SIGSEGV") if done.returncode < 0 else Outcome("passed", "")
    facts = [derive(open_trace(path)) for path in folder.glob("*.gdx")]
    found = [f for one in facts for d in (fence_hit, write_outside_allocation) for f in d.detect(one, Run(kind))]
    shutil.rmtree(folder)
    return found


def is_right(plant: Plant, finding: Finding) -> bool:
    """Kernel, buffer and place. A wide element is accessed in parts: any of its bytes will do."""
    kernel = "follow" if plant.how == "released" else "plant"
    begin, width = plant.at * TYPES[plant.type], TYPES[plant.type]
    offset = finding.access.offset if finding.access else None
    there = isinstance(offset, int) and begin <= offset < begin + width
    return (
        there
        and finding.allocation is not None
        and finding.allocation.id == "buffer #1"
        and finding.site is not None
        and finding.site.kernel == kernel
    )


def sweep(kit: Kit, program: Path) -> Iterator[Row]:
    all_ = list(plants())
    for name in TYPES:  # fill the driver's cache one by one
        run_plant(kit, program, Plant("", "write", "high", name, 128, 0, 0))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(partial(run_plant, kit, program), all_))
    planted, found, wrong = Counter[tuple[str, bool]](), Counter[tuple[str, bool]](), 0
    for plant, findings in zip(all_, results, strict=True):
        key = (plant.kind, bool(plant.align))
        planted[key] += 1
        found[key] += any(is_right(plant, f) for f in findings)
        wrong += any(not is_right(plant, f) for f in findings)
    for kind, natural in planted:
        where = "aligned as elements" if natural else "aligned as drivers do"
        yield Row(f"{kind}, {where}", found[kind, natural], f"of {planted[kind, natural]} found")
    yield Row("found in all", found.total(), f"of {planted.total()} planted")
    yield Row("told wrong", wrong, f"of {planted.total()} planted", 0)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="processes per variant")
    options = parser.parse_args()
    result = Result("fence-opencl", "What a fence around OpenCL buffers costs, and what it finds")
    with native_kit() as kit:
        program = build(kit, "planted", "-lOpenCL")
        result.rows += [*kernel_times(kit, options.rounds), buffer_time(kit, program, options.rounds)]
        result.rows += sweep(kit, program)
    result.remarks.append(
        f"{len(COUNTS)} sizes, {len(TYPES)} element types in turn. Aligned as drivers do (128 bytes here), a read that stays in "
        "the bytes between buffer and fence is not seen; --fence-align leaves fewer such bytes."
    )
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
