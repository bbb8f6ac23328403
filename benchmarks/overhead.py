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

PROCESSES = 9
ROUNDS = 1_000_000
LAUNCHES = 40_000
LAP = 70_000  # launches that fill the ring of 32 MB once
MOST_NS = {"clSetKernelArg": 60.0, "clEnqueueNDRangeKernel": 150.0}
MOST_RATIO = 1.03
# The target is for small kernels without saying how small, so two sizes carry it: what is added per launch is the same
# for all, and the ratio is a matter of how long a launch takes.
LOOPS = (  # what, work-items, launches before the clock starts, target
    ("kernels of 262,144 work-items, long run", 262_144, LAP, MOST_RATIO),
    ("kernels of 65,536 work-items, long run", 65_536, LAP, MOST_RATIO),
    ("the same, first calls of a process", 65_536, 100, None),
    ("kernels of 1,024 work-items, long run", 1024, LAP, None),
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


def run_kernels(kit: Kit, program: Path, way: Way, items: int, before: int) -> float:
    """Seconds for LAUNCHES launches, executed by the launching thread itself: the scheduler has no say in the result."""
    folder = kit.folder / "traces"
    folder.mkdir(exist_ok=True)
    env = {**kit.environment(way, folder), "POCL_DEVICES": "basic"}
    command: list[str | Path] = [program, str(LAUNCHES), str(items), str(before)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return float(done.stdout)


def small_kernels(kit: Kit, processes: int) -> list[Row]:
    program = build(kit, "small_kernels", "-lOpenCL")
    rows = []
    for what, items, before, limit in LOOPS:
        variants = [partial(run_kernels, kit, program, way, items, before) for way in ("plain", "layer")]
        plain, recorded = interleaved(processes, *variants)
        each = [1e6 * median(times) / LAUNCHES for times in (plain, recorded)]
        note = f"{each[0]:.2f} us per launch with its three arguments plain, {each[1]:.2f} recorded"
        rows.append(Row(f"PoCL, {what}", each[1] / each[0], "x plain", limit, note))
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--processes", type=int, default=PROCESSES, help="processes per variant")
    options = parser.parse_args()
    result = Result("overhead", "What the recorder costs")
    with native_kit() as kit:
        result.rows += noop(kit, options.processes)
        result.rows += noop(kit, 3, keep="all")
        try:
            result.rows += small_kernels(kit, options.processes)
            result.remarks.append(
                "PoCL runs kernels in the launching thread here (POCL_DEVICES=basic); its default device is not measured."
            )
        except subprocess.CalledProcessError:
            result.remarks.append(
                "No OpenCL driver with headers and loader here: the loop of small kernels was not run."
            )
    result.remarks.append(
        f"{options.processes} processes per variant, alternating; {ROUNDS} calls and {LAUNCHES} launches each; medians."
    )
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
