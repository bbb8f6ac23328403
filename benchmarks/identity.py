"""Who ran: 400 loaded objects, from nothing remembered and from memory, as it is asked after every run.

The objects are ELF files with a build id; one in 20 is the user's own, the others are of packages, and the program has debug
information. Their sizes follow those of 1,291 shared objects of a Python environment with PoCL and CUDA libraries: half below 19 KB,
one in twenty above 2 MB, the largest 117 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from common import Result, Row, arguments, finish, median

from gpudx.identity import objects, packages
from gpudx.identity.contents import content
from gpudx.lab.recorded import RunResult
from gpudx.lab.roll import RollEntry, RollKind
from gpudx.model.how import How

OBJECTS = 400
OWN = 20  # one in so many is the user's own
LIMIT_S = 1.0
REPEATS = 3
# Bytes at every 5 % of the sizes seen.
SIZES = (12_024, 12_032, 12_048, 14_264, 14_424, 16_512, 18_680, 18_680, 18_680, 18_784, 23_624, 35_728, 52_224, 76_360, 121_280,
         206_776, 357_505, 659_312, 1_926_232, 117_308_864)  # fmt: skip
MAIN = "int main(void) { return 0; }\n"


def size(number: int) -> int:
    """Of one object, between two of the sizes seen, along their logarithms."""
    at = number / OBJECTS * (len(SIZES) - 1)
    low, part = int(at), at - int(at)
    return int(SIZES[low] ** (1 - part) * SIZES[low + 1] ** part)


def make(folder: Path) -> list[Path]:
    (folder / "main.c").write_text(MAIN)
    subprocess.run(["cc", "-g", "main.c", "-o", "app"], cwd=folder, check=True)
    subprocess.run(["cc", "-shared", "-s", "-Wl,--build-id", "main.c", "-o", "lib.so"], cwd=folder, check=True)
    content = (folder / "lib.so").read_bytes()
    paths = [folder / "app"]
    installed = folder / "lib/python3.11/site-packages"
    installed.mkdir(parents=True)
    for number in range(OBJECTS - 1):
        path = (folder if number % OWN == 0 else installed) / f"lib{number}.so"
        path.write_bytes(content + os.urandom(max(0, size(number) - len(content))))
        os.utime(path, (time.time() - 1000, time.time() - 1000))
        paths.append(path)
    return paths


def forget(paths: list[Path]) -> None:
    """Takes the files out of the system's memory, as far as it lets us."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def ask(paths: list[Path]) -> tuple[float, float]:
    """Seconds that it took, and seconds of all processors."""
    line = "7f{:010x}-7f{:010x} r-xp 00000000 00:00 1 {}\n"
    maps = "".join(line.format(n * 4096, (n + 1) * 4096, path) for n, path in enumerate(paths))
    trace = cast(Any, SimpleNamespace(pid=7, header={"start_real_ns": time.time_ns()}, maps=maps))
    roll = (RollEntry(RollKind.LOADED, 7, 1, time.monotonic_ns(), str(paths[0])),)
    run = RunResult((str(paths[0]),), str(paths[0]), 7, 0, None, False, 1.0, Path(), roll, how=How())
    begin, used = time.perf_counter(), time.process_time()
    found = objects.loaded(run, [trace])
    packages.packages(found)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    assert len(found) == OBJECTS and all(one.sha256 and one.build_id for one in found)
    return seconds, used


def main() -> int:
    options = arguments(__doc__).parse_args()
    result = Result("identity", f"Who ran: {OBJECTS} loaded objects")
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as place:
        folder = Path(place)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        paths = make(folder)
        total = sum(path.stat().st_size for path in paths) / 1e6
        time.sleep(2.5)  # what was written just now is not remembered
        cold: list[tuple[float, float]] = []
        warm: list[tuple[float, float]] = []
        known: list[tuple[float, float]] = []
        again: list[tuple[float, float]] = []
        for _ in range(REPEATS):
            for kept, before in ((cold, True), (warm, False)):
                (folder / "cache/gpudx/hashes.json").unlink(missing_ok=True)
                if before:
                    forget(paths)
                content.cache_clear()
                kept.append(ask(paths))
            content.cache_clear()
            known.append(ask(paths))
            again.append(ask(paths))
    for what, times in (
        (f"nothing remembered, {total:.0f} MB not in memory", cold),
        (f"nothing remembered, {total:.0f} MB in memory", warm),
        ("remembered", known),
        ("next run of an investigation", again),
    ):
        used = median([processors for _, processors in times])
        result.rows.append(
            Row(what, median([seconds for seconds, _ in times]), "s", LIMIT_S, f"{used:.2f} s of processor time")
        )
    load = os.getloadavg()[0]
    result.remarks.append(f"Load of the machine by all that ran on it: {load:.1f}, on {os.cpu_count()} processors.")
    result.remarks.append(
        "The mappings of the process are written by hand; the files, their hashes and their headers are real."
    )
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
