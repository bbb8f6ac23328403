"""What the recorder costs: nanoseconds added to a call, and a loop of small kernels on a real driver.

Recorded and plain runs alternate, each in a process of its own; medians are reported. The first measurement has no
driver at all behind the call, so that what is added can be seen; the second has PoCL.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from common import Kit, Result, Row, arguments, build, finish, interleaved, median, native_kit
from native_kit import Way

PROCESSES = 41  # what one launch takes differs by 8 % from process to process where two threads hand it over
ROUNDS = 1_000_000
LAUNCHES = 10_000
LAP = 35_000  # launches that fill the ring of 16 MB once
MOST_NS = {"clSetKernelArg": 60.0, "clEnqueueNDRangeKernel": 150.0}
MOST_RATIO = 1.03
# Four calls per launch write down eight times of day at about 10 ns each, so no launch shorter than some 5 us can stay
# under the ratio; those rows stand here to be seen. "One by one" waits for each launch, "in batches" for every 50th.
LOOPS = (  # device, work-items, a wait after so many launches, target
    ("", 1024, 1, MOST_RATIO),
    ("", 65_536, 1, MOST_RATIO),
    ("", 65_536, 50, MOST_RATIO),
    ("", 1024, 50, None),
    ("basic", 65_536, 50, None),
    ("basic", 1024, 50, None),
)


def run_noop(kit: Kit, program: Path, recorded: bool, keep: str) -> dict[str, float]:
    """Nanoseconds per call."""
    folder = kit.folder / "traces"
    folder.mkdir(exist_ok=True)
    env = kit.environment("linked" if recorded else "plain", folder, keep)
    command = [program, "recorded" if recorded else "plain", kit.layer, str(ROUNDS)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def noop(kit: Kit, processes: int, keep: str = "") -> list[Row]:
    """The call alone. With a ring this is the long run, after its first lap; keeping all pays for new pages for ever."""
    program = build(kit, "noop_target", "-ldl")
    plain, recorded = interleaved(
        processes, lambda: run_noop(kit, program, False, keep), lambda: run_noop(kit, program, True, keep)
    )
    rows = []
    for name, limit in MOST_NS.items():
        before, after = median([r[name] for r in plain]), median([r[name] for r in recorded])
        what, most = (f"{name}, keep all", None) if keep else (name, limit)
        rows.append(Row(f"{what}, added", after - before, "ns/call", most, f"{before:.1f} plain, {after:.1f} recorded"))
    return rows


def run_kernels(kit: Kit, program: Path, way: Way, device: str, items: int, every: int) -> float:
    """Seconds for LAUNCHES launches, after the ring was filled once."""
    folder = kit.folder / "traces"
    folder.mkdir(exist_ok=True)
    env = {**kit.environment(way, folder), **({"POCL_DEVICES": device} if device else {})}
    command: list[str | Path] = [program, str(LAUNCHES), str(items), str(LAP), str(every)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return float(done.stdout)


def small_kernels(kit: Kit, processes: int) -> list[Row]:
    program = build(kit, "small_kernels", "-lOpenCL")
    rows = []
    for device, items, every, limit in LOOPS:
        variants = [partial(run_kernels, kit, program, way, device, items, every) for way in ("plain", "layer")]
        plain, recorded = interleaved(processes, *variants)
        each = [1e6 * median(times) / LAUNCHES for times in (plain, recorded)]
        paired = [after / before for before, after in zip(plain, recorded, strict=True)]
        low, high = (sorted(paired)[round(part * (processes - 1))] for part in (0.25, 0.75))
        what = (
            f"PoCL {device or 'default'} device, {items:,} work-items, {'one by one' if every == 1 else 'in batches'}"
        )
        note = (
            f"{each[0]:.2f} us per launch plain, {each[1]:.2f} recorded; half of the pairs in {low:.3f} to {high:.3f}"
        )
        rows.append(Row(what, median(paired), "x plain", limit, note))
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--processes", type=int, default=PROCESSES, help="processes per variant")
    options = parser.parse_args()
    result = Result("overhead", "What the recorder costs")
    with native_kit() as kit:
        result.rows += noop(kit, 9)
        result.rows += noop(kit, 3, keep="all")
        try:
            result.rows += small_kernels(kit, options.processes)
        except subprocess.CalledProcessError:
            result.remarks.append(
                "No OpenCL driver with headers and loader here: the loop of small kernels was not run."
            )
    result.remarks.append(
        f"{options.processes} processes per variant, alternating; {LAUNCHES} launches each; medians of the pairs' ratios. "
        f"Nanoseconds: 9 processes, {ROUNDS} calls each."
    )
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
