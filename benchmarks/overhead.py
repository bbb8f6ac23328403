"""What the recorder costs: nanoseconds added to a call, and a loop of small kernels on a real driver.

Recorded and plain runs alternate, each in a process of its own; medians are reported. The first measurement has no
driver at all behind the call, so that what is added can be seen; the second has PoCL.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from common import Kit, Result, Row, arguments, build, finish, interleaved, median, native_kit

PROCESSES = 9
ROUNDS = 1_000_000
LAUNCHES, ITEMS = 20_000, 1024
MOST_NS = {"clSetKernelArg": 60.0, "clEnqueueNDRangeKernel": 150.0}
MOST_RATIO = 1.03


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
    program = build(kit, "noop_target", "-ldl")
    plain, recorded = interleaved(
        processes, lambda: run_noop(kit, program, False, keep), lambda: run_noop(kit, program, True, keep)
    )
    rows = []
    for name, limit in MOST_NS.items():
        before, after = median([r[name] for r in plain]), median([r[name] for r in recorded])
        rows.append(Row(f"{name}, added", after - before, "ns/call", limit, f"{before:.1f} plain, {after:.1f} recorded"))
    return rows


def run_kernels(kit: Kit, program: Path, way: str, items: int) -> float:
    folder = kit.folder / "traces"
    folder.mkdir(exist_ok=True)
    env = kit.environment("layer" if way == "layer" else "plain", folder)
    done = subprocess.run([program, str(LAUNCHES), str(items)], env=env, capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return float(done.stdout)


def small_kernels(kit: Kit, processes: int) -> list[Row]:
    program = build(kit, "small_kernels", "-lOpenCL")
    plain, recorded = interleaved(
        processes, lambda: run_kernels(kit, program, "plain", ITEMS), lambda: run_kernels(kit, program, "layer", ITEMS)
    )
    ratio = median([r / p for p, r in zip(plain, recorded, strict=True)])
    each = [1e6 * median(times) / LAUNCHES for times in (plain, recorded)]
    note = f"{each[0]:.2f} us per launch plain, {each[1]:.2f} recorded; {ITEMS} work-items"
    return [Row("PoCL, small kernels, recorded / plain", ratio, "x", MOST_RATIO, note)]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--processes", type=int, default=PROCESSES, help="processes per variant")
    options = parser.parse_args()
    result = Result("overhead", "What the recorder costs")
    with native_kit() as kit:
        result.rows += noop(kit, options.processes)
        try:
            result.rows += small_kernels(kit, options.processes)
        except subprocess.CalledProcessError:
            result.remarks.append("No OpenCL driver with headers and loader here: the loop of small kernels was not run.")
    result.remarks.append(f"{options.processes} processes per variant, alternating; {ROUNDS} calls and {LAUNCHES} launches each; medians.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
