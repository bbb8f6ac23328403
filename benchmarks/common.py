"""What every benchmark needs: the native kit, tables, and results that say where and when they were measured."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
T = TypeVar("T")
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "native")]

from native_kit import Kit  # noqa: E402

__all__ = [
    "HERE",
    "PEAK_MEMORY",
    "ROOT",
    "Kit",
    "Result",
    "Row",
    "arguments",
    "build",
    "finish",
    "in_a_child",
    "interleaved",
    "median",
    "native_kit",
]


def in_a_child(code: str, *paths: Path) -> dict[str, Any]:
    """What the code prints as JSON, in a process of its own with our sources, whose numpy works in one thread."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


# The beginning of a child process whose highest anonymous memory, `peak`, is wanted; `done.set()` ends the watching.
PEAK_MEMORY = """
import threading
from pathlib import Path

peak, done = 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.02):
        status = Path("/proc/self/status").read_text()
        peak = max(peak, int(status.split("RssAnon:")[1].split()[0]) * 1024)

threading.Thread(target=watch, daemon=True).start()
"""


@dataclass(frozen=True)
class Row:
    """One line of a result. `limit` is the target; None where there is none."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        return self.limit is None or self.value <= self.limit


@dataclass
class Result:
    """One benchmark's outcome."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def met(self) -> bool:
        return all(row.met for row in self.rows)


@contextmanager
def native_kit() -> Iterator[Kit]:
    """A Kit in a folder that goes away afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gpudx-bench-"))
    try:
        yield Kit(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build(kit: Kit, source: str, *flags: str) -> Path:
    """A C program of benchmarks/c."""
    target = kit.folder / source
    command = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]
    subprocess.run([*command, "-I", kit.generated, "-o", target, HERE / "c" / f"{source}.c", *flags], check=True)
    return target


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def interleaved(rounds: int, *variants: Callable[[], T]) -> list[list[T]]:
    """Runs the variants in turn, there and back, so that a change of the machine's mood meets all of them alike."""
    results: list[list[T]] = [[] for _ in variants]
    turns = list(zip(results, variants, strict=True))
    for number in range(rounds):
        for kept, variant in turns if number % 2 == 0 else reversed(turns):
            kept.append(variant())
    return results


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options all benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--save", action="store_true", help="write the result to benchmarks/results")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


# ---- where it was measured ----


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _opencl_versions() -> str:
    """Names and versions of the OpenCL drivers at hand; asked in a process of its own."""
    code = "import pyopencl as cl\nprint('; '.join(f'{p.name} {p.version}' for p in cl.get_platforms()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def environment() -> dict[str, str]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} used",
        "compiler": subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout.partition(
            "\n"
        )[0],
        "opencl": _opencl_versions(),
        "commit": _commit(),
    }


# ---- showing and keeping ----


def _cells(row: Row) -> list[str]:
    limit = "" if row.limit is None else f"{row.limit:g}"
    verdict = "" if row.limit is None else ("met" if row.met else "NOT MET")
    return [row.what, f"{row.value:.4g}", row.unit, limit, verdict, row.note]


def _table(result: Result) -> str:
    head = ["", "measured", "unit", "target", "", ""]
    rows = [head, *map(_cells, result.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _markdown(result: Result, where: dict[str, str]) -> str:
    lines = [f"# {result.title}", "", "| | measured | unit | target | | |", "| --- | ---: | --- | ---: | --- | --- |"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in result.rows]
    lines += ["", *(f"- {remark}" for remark in result.remarks), ""]
    lines += [f"- {name}: {value}" for name, value in where.items()]
    return "\n".join(lines) + "\n"


def finish(result: Result, options: argparse.Namespace) -> int:
    """Show the result, keep it if asked; the exit status says whether all targets were met."""
    where = environment()
    if options.json:
        print(json.dumps({"name": result.name, "met": result.met, **asdict(result), "environment": where}, indent=1))
    else:
        print(f"{result.title}\n\n{_table(result)}\n")
        print("\n".join(result.remarks))
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        stem = RESULTS / result.name
        stem.with_suffix(".md").write_text(_markdown(result, where))
    return 0 if result.met else 1
