"""What recording costs a loop of copies that return early, with the bytes of their sources compared: PoCL, 4 KiB to 64 MiB.

    python benchmarks/host_copies.py [--runs 9] [--against LIBRARY]

--against compares with another build of the recorder instead of a run without one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

MOST = 1.05  # what watching host memory may cost


def build(folder: Path) -> Path:
    """The loop, linked with the OpenCL loader that pyopencl brings."""
    import pyopencl

    loader = next((Path(pyopencl.__file__).parent / ".libs").glob("libOpenCL*.so*"))
    program = folder / "host_copies"
    include = ROOT / "build/native/include"
    words = ["cc", "-O2", f"-I{include}", str(HERE / "c/host_copies.c"), str(loader), f"-Wl,-rpath,{loader.parent}"]
    subprocess.run([*words, "-o", str(program)], check=True)
    return program


def measure(program: Path, library: str) -> dict[int, float]:
    """Nanoseconds of one copy by its size; without a library nothing is recorded."""
    with tempfile.TemporaryDirectory() as case:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **({"GPUDX_LIB": library} if library else {})}
        gpudx = [sys.executable, "-m", "gpudx", "run", "--quiet", "--case", f"{case}/case", "--"] if library else []
        done = subprocess.run([*gpudx, str(program)], env=environment, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {int(row[0]): float(row[1]) for row in rows if len(row) == 2 and row[0].isdigit()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--against", default="", metavar="LIBRARY")
    given = parser.parse_args()
    ratios: dict[int, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for _ in range(given.runs):
            before, after = measure(program, given.against), measure(program, str(ROOT / "build/native/libgpudx.so"))
            for size, cost in after.items():
                ratios[size].append(cost / before[size])
    for size, found in sorted(ratios.items()):  # on a busy machine the median of many runs is needed
        print(f"{size // 1024:>6} KiB  {statistics.median(found):.3f}x  ({min(found):.3f} to {max(found):.3f})")
    return 0 if all(statistics.median(found) <= MOST for found in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
