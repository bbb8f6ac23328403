"""How long a user waits: for help, for the verdict after a program has ended, for the full report of a long run.

Times are by the clock, of `gpudx` as it is started from a shell, the best of some runs: another program on the machine is not ours to
count. The time after a program is from its end to that of gpudx; the whole wait also has the start of gpudx. On a busy machine, start
this under `chrt -r 10`: else it measures the others. With a vendor's runtime in OCL_ICD_VENDORS and LD_LIBRARY_PATH the same is measured
on its libraries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, Kit, Result, Row, arguments, build, finish, native_kit

RUNS = 5
MOST_HELP, MOST_CLEAN, MOST_FAILING, MOST_REPORT = 0.25, 0.4, 1.5, 0.5
CALLS = 40_000


def gpudx(*words: str | Path, cwd: Path | None = None) -> float:
    """Seconds of a command."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "GPUDX_CASES": "none"}
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "gpudx", *map(str, words)], env=environment, cwd=cwd, check=False, capture_output=True
    )
    return time.perf_counter() - begin


def of_processors(*words: str | Path) -> float:
    """Seconds of processor time of a command: what it takes on an idle machine, however busy this one is."""
    before = os.times()
    gpudx(*words)
    now = os.times()
    return now.children_user + now.children_system - before.children_user - before.children_system


def helps() -> dict[str, float]:
    """Seconds of every command's --help."""
    sys.path.insert(0, str(ROOT / "src"))
    from gpudx.cli.overview import GROUPS

    names = [name for group in GROUPS.values() for name in group]
    return {name: min(gpudx(name, "--help") for _ in range(RUNS)) for name in names}


NOTE_END = 'end=$1; shift; "$@"; status=$?; date +%s.%N >"$end"; exit $status'


def after(kit: Kit, program: Path, *words: str) -> float:
    """Seconds from a program's end to that of gpudx; the first run, which fills caches, does not count."""
    found = []
    for number in range(RUNS + 1):
        case, note = (kit.folder / f"{kind}-{'-'.join(words)}-{number}" for kind in ("after", "end"))
        gpudx("run", "--case", case, "--", "sh", "-c", NOTE_END, "sh", note, program, *words)
        found.append(time.time() - float(note.read_text()))
    return min(found[1:])


def whole(kit: Kit, program: Path, *words: str) -> float:
    """Seconds that the command takes more than the program in it."""
    found = []
    for number in range(RUNS + 1):
        case = kit.folder / f"whole-{'-'.join(words)}-{number}"
        seconds = gpudx("run", "--case", case, "--", program, *words)
        found.append(seconds - float(json.loads((case / "case.json").read_text())["outcome"]["duration_s"]))
    return min(found[1:])


def main() -> int:
    parser = arguments(__doc__)
    options = parser.parse_args()
    result = Result("front-door", "How long a user waits")
    slowest, seconds = max(helps().items(), key=lambda one: one[1])
    result.rows.append(Row("slowest --help", seconds, "s", MOST_HELP, slowest))
    cpu = min(of_processors(slowest, "--help") for _ in range(RUNS))
    result.rows.append(Row("the same, processor time", cpu, "s"))
    with native_kit() as kit:
        program = build(kit, "front_door", "-lOpenCL")
        where = "" if not os.environ.get("OCL_ICD_VENDORS") else " (another runtime)"
        result.rows.append(Row(f"after a clean run{where}", after(kit, program, "100"), "s", MOST_CLEAN))
        result.rows.append(Row(f"gpudx run, less the clean program{where}", whole(kit, program, "100"), "s"))
        cpu = min(of_processors("run", "--case", kit.folder / f"cpu-{n}", "--", program, "100") for n in range(RUNS))
        result.rows.append(Row("the same with the program, processor time", cpu, "s"))
        result.rows.append(
            Row(f"first screen of a failing run{where}", after(kit, program, "100", "fault"), "s", MOST_FAILING)
        )
        case = kit.folder / "many"
        gpudx("run", "--case", case, "--keep", "all", "--", program, str(CALLS // 4), "fault")
        calls = json.loads((case / "case.json").read_text())["processes"][0]["calls"]
        seconds = min(gpudx("report", case) for _ in range(RUNS))
        result.rows.append(Row("gpudx report", seconds, "s", MOST_REPORT, f"{calls:,} calls"))
        result.rows.append(
            Row("the same, processor time", min(of_processors("report", case) for _ in range(RUNS)), "s")
        )
    result.remarks.append(f"load of the machine while this was measured: {os.getloadavg()[0]:.1f}")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
