"""What the recorder costs: nanoseconds added to a call, and a loop of small kernels on a real driver.

The first measurement has no driver at all behind the call, so that what is added can be seen; the second is a loop on
PoCL that takes turns inside one process, plain and recorded: from process to process a launch differs by 8 % and more,
which is several times what we add.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from common import Kit, Result, Row, arguments, build, finish, interleaved, median, native_kit

PROCESSES = 9
ROUNDS = 1_000_000
PAIRS, BLOCK = 200, 250  # turns of each way, launches of a turn
LAP = 35_000  # launches that fill the ring of 16 MB once
MOST_NS = {"clSetKernelArg": 60.0, "clEnqueueNDRangeKernel": 150.0, "clSetKernelArg-heap": None}
MOST_RATIO = 1.03
PAUSE_NS = 35  # about what we add to each call


@dataclass(frozen=True)
class Loop:
    """A loop of small kernels: PoCL's device, work-items, a wait after so many launches, on one processor or all."""

    device: str
    items: int
    every: int
    one_processor: bool = False
    limit: float | None = None

    @property
    def title(self) -> str:
        waits = "one by one" if self.every == 1 else "in batches"
        where = ", one processor" if self.one_processor else ""
        return f"PoCL {self.device or 'default'} device, {self.items:,} work-items, {waits}{where}"


# PoCL's default device runs kernels in threads of its own. Where the host waits for each launch, host and threads hand over
# to each other, and how they miss each other decides: the same loop with a bare pause as long as our calls, and no recorder
# at all, becomes up to a quarter slower or some percent faster (the rows with a pause). So the targets are for loops whose
# time is their own: without threads (`basic`), in batches, or on one processor with launches too small to be shared out.
# A launch costs us 0.2 us, of which eight times of day are 0.1; launches of less than 7 us show that, and have no target.
LOOPS = (
    Loop("basic", 262_144, 50, limit=MOST_RATIO),
    Loop("", 65_536, 50, limit=MOST_RATIO),
    Loop("", 1024, 1, one_processor=True, limit=MOST_RATIO),
    Loop("", 1024, 1),
    Loop("", 65_536, 1),
    Loop("", 1024, 50),
    Loop("basic", 65_536, 50),
    Loop("basic", 1024, 50),
)
PAUSED = (Loop("basic", 262_144, 50), Loop("", 1024, 1, one_processor=True), Loop("", 1024, 1), Loop("", 65_536, 1))


def run_noop(kit: Kit, program: Path, recorded: bool, keep: str, recorder: Path | None = None) -> dict[str, float]:
    """Nanoseconds per call. `recorder`: another than this checkout's."""
    folder = kit.folder / "traces"
    folder.mkdir(exist_ok=True)
    env = kit.environment("linked" if recorded else "plain", folder, keep)
    command = [program, "recorded" if recorded else "plain", recorder or kit.recorder, str(ROUNDS)]
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


def against(kit: Kit, other: Path, processes: int) -> list[Row]:
    """This recorder and another one, in turns: what a call takes with ours, as a multiple of what it takes with the other."""
    program = build(kit, "noop_target", "-ldl")
    now, before = interleaved(
        processes, lambda: run_noop(kit, program, True, ""), lambda: run_noop(kit, program, True, "", other)
    )
    rows = []
    for name in MOST_NS:
        ours, theirs = median([r[name] for r in now]), median([r[name] for r in before])
        rows.append(
            Row(f"{name}, recorded", ours / theirs, "x the other", None, f"{theirs:.1f} ns before, {ours:.1f} ns now")
        )
    return rows


def alternate(kit: Kit, program: Path, loop: Loop, other: str | Path) -> list[tuple[float, float]]:
    """Microseconds per launch in each pair of turns: plain, and the other way."""
    folder = kit.folder / "traces"
    folder.mkdir(exist_ok=True)
    env = {**kit.environment("linked", folder), **({"POCL_DEVICES": loop.device} if loop.device else {})}
    numbers = map(str, (PAIRS, BLOCK, loop.items, LAP, loop.every))
    command = [*(["taskset", "-c", "0"] if loop.one_processor else []), program, other, *numbers]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return [(float(plain), float(late)) for plain, late in (line.split() for line in done.stdout.splitlines())]


def compared(title: str, pairs: list[tuple[float, float]], limit: float | None, what: str) -> Row:
    ratios = sorted(late / plain for plain, late in pairs)
    low, high = (ratios[round(part * (len(ratios) - 1))] for part in (0.25, 0.75))
    plain, late = (median(times) for times in zip(*pairs, strict=True))
    note = f"{plain:.2f} us per launch plain, {late:.2f} {what}; half of the pairs in {low:.3f} to {high:.3f}"
    return Row(title, median(ratios), "x plain", limit, note)


def small_kernels(kit: Kit) -> list[Row]:
    program = build(kit, "alternating", "-lOpenCL", "-ldl")
    rows = [compared(loop.title, alternate(kit, program, loop, kit.recorder), loop.limit, "recorded") for loop in LOOPS]
    return rows + [
        compared(f"{loop.title}: only a pause", alternate(kit, program, loop, str(PAUSE_NS)), None, "with pauses")
        for loop in PAUSED
    ]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument(
        "--against", type=Path, metavar="LIBRARY", help="compare with another libgpudx.so, and nothing else"
    )
    options = parser.parse_args()
    if options.against:
        with native_kit() as kit:
            rows = against(kit, options.against, PROCESSES)
        remark = (
            f"{PROCESSES} processes of each recorder in turns, medians of processor time; a driver that does nothing behind the call."
        )
        return finish(Result("overhead-against", "Two versions of the recorder", rows, [remark]), options)
    result = Result("overhead", "What the recorder costs")
    with native_kit() as kit:
        result.rows += noop(kit, PROCESSES)
        result.rows += noop(kit, 3, keep="all")
        try:
            result.rows += small_kernels(kit)
        except subprocess.CalledProcessError:
            result.remarks.append(
                "No OpenCL driver with headers and loader here: the loop of small kernels was not run."
            )
    result.remarks.append(
        f"Loops: one process each, {PAIRS} pairs of turns of {BLOCK} launches, there and back; medians of the pairs' ratios, "
        f"after the ring was filled once. A pause: {PAUSE_NS} ns before each call and nothing recorded. "
        f"Nanoseconds: {PROCESSES} processes of each kind, alternating, {ROUNDS} calls each."
    )
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
