"""Runs every benchmark that needs no GPU and keeps the tables in benchmarks/results/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALL = (
    "overhead",
    "analysis",
    "kill9",
    "same_results",
    "fence_opencl",
    "order",
    "explain",
    "html_report",
    "identity",
    "diff",
    "front_door",
)


def main() -> int:
    missed = [
        name for name in ALL if subprocess.run([sys.executable, HERE / f"{name}.py", "--save"], check=False).returncode
    ]
    print(f"not met: {', '.join(missed)}" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
