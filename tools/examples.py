"""Runs an example of every command on this machine and keeps what it printed, for the pages in docs/commands/.

usage: PYTHONPATH=src python tools/examples.py [COMMAND...]

It needs a C compiler, an OpenCL device (PoCL is enough) and, for audit, build, lint and gate, nvcc. No GPU. What it prints goes to
tools/examples/COMMAND.txt; `python tools/docs.py` then makes the pages. Numbers and times differ from run to run, so this is
done by hand, and the texts are committed. Examples are run in the order of the list: later ones use the cases of earlier ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = Path(__file__).resolve().parent / "examples"
PLACE = Path("/tmp/gpudx-examples")  # short, because it stands in what is printed
LEFT_OUT = "..."
PROGRESS = " s left"

GATES = """[gate]
spills = 0
registers = { most = 64, kernel = "score_*" }
"""
CONTRACTS = """[[contract]]
kernel = "ffn_up"
require = ["bytes(hidden) >= rows * ff * 4"]
why = "hidden is rows x ff floats"
names = { hidden = 0, rows = 3, ff = 4 }
"""
MAKEFILE = "tile.o: main.cu\n\tnvcc -arch=sm_90 -lineinfo -c -o tile.o main.cu\n"
HYPOTHESES = """[[hypothesis]]
name = "default length"
claim = "the hidden buffer was allocated with a feed-forward length of 11008"
launches = { kernel = "ffn_up", predicate = "bytes(hidden) == rows * 11008 * 4", names = { hidden = 0, rows = 3 } }
expect = "all"
"""
LOG = """step 41 loss 2.113
Traceback (most recent call last):
  File "train.py", line 88, in <module>
    loss = model(batch).item()
RuntimeError: CUDA error: an illegal memory access was encountered
Aborted (core dumped)
"""


@dataclass(frozen=True)
class Example:
    """Shell lines of one command; sections that begin with one of `without`, and lines after `most`, are left out."""

    says: str
    lines: tuple[str, ...]
    without: tuple[str, ...] = ()
    most: int = 60


REST = (
    "How to reproduce",
    "Findings:",
    "How the program ended",
    "What was recorded",
    "Binaries",
    "Coverage",
    "Not checked",
    "Case",
)

EXAMPLES = {
    "run": Example(
        "A program that ends well, with a race in it: `examples/two_queues.c` fills a buffer in one queue and reads it in another.",
        ("gpudx run --case raced -- ./two_queues",),
        REST,
    ),
    "demo": Example(
        "A crash in a driver, on a CPU device. What the incident is about: `incidents/opencl-set-rows-q4_0`.",
        ("gpudx demo --case crash",),
        ("This would be wrong if", *REST),
    ),
    "report": Example(
        "The crash of `gpudx demo`, for an issue.", ("gpudx report crash --format markdown --redact",), most=40
    ),
    "show": Example(
        "The launches before the crash of `gpudx demo`, and the call that never returned.",
        ("gpudx show crash launches --last 3", "gpudx show crash calls --call clSetKernelArg --last 2"),
    ),
    "bundle": Example(
        "A case in one file.", ("gpudx bundle crash --redact -o for-the-vendor.zip", "unzip -l for-the-vendor.zip")
    ),
    "open": Example(
        "On another machine.", ("gpudx open for-the-vendor.zip -o from-ci", "gpudx report from-ci | head -4")
    ),
    "check": Example(
        "A contract that a wrong buffer breaks. The program is `incidents/model-dimensions`; the file:\n\n"
        + "\n".join("    " + line for line in CONTRACTS.splitlines()),
        (
            "gpudx run --quiet --keep all --case bad -- ./old/model-dimensions",
            "gpudx check bad --contracts contracts.toml",
        ),
        ("How to reproduce", *REST),
    ),
    "hypotheses": Example(
        "A hypothesis about the same run; the file:\n\n"
        + "\n".join("    " + line for line in HYPOTHESES.splitlines()),
        ("gpudx hypotheses bad hypotheses.toml",),
    ),
    "diff": Example(
        "The same program with and without its fault.",
        ("gpudx run --quiet --keep all --case good -- ./new/model-dimensions", "gpudx diff good bad --ignore objects"),
    ),
    "cases": Example("After the runs on these pages.", ("gpudx cases",)),
    "verify": Example(
        "The change is taken out again, and the failure comes back.",
        (
            "gpudx verify --before ./old/model-dimensions --after ./new/model-dimensions --revert ./undone/model-dimensions",
        ),
    ),
    "bisect": Example(
        "A repository of five revisions; the fourth sizes a buffer with a default.",
        ("cd repository && gpudx bisect --good HEAD~4 --bad HEAD --build 'sh build.sh' -- ./app",),
        REST,
    ),
    "investigate": Example(
        "Eight threads that share one kernel object: `incidents/opencl-shared-kernel`.",
        ("gpudx investigate --budget 60s -- ./shared/opencl-shared-kernel",),
        REST,
        most=70,
    ),
    "flake": Example(
        "Ten tests that share a cached kernel: `incidents/opencl-kernel-cache-flake`.",
        ("gpudx flake --budget 20s --parallel '--threads={}' -- ./flaky/opencl-kernel-cache-flake",),
        REST,
        most=70,
    ),
    "explain": Example("A log that somebody pasted.", ("cat crash.log", "gpudx explain crash.log"), REST),
    "build": Example(
        "A kernel that the compiler replaces by a trap: `incidents/cuda-wmma-local`.",
        ("gpudx build --ask --case built -- make -B",),
        REST,
    ),
    "audit": Example("The object file of that build.", ("gpudx audit tile.o --arch sm_90 --arch gfx90a",)),
    "lint": Example("The source of that build.", ("gpudx lint main.cu",)),
    "gate": Example(
        "The case of `gpudx build`, checked against gpudx.toml:\n\n"
        + "\n".join("    " + line for line in GATES.splitlines()),
        ("gpudx gate built",),
    ),
    "doctor": Example("A machine without a GPU.", ("gpudx doctor",)),
    "completion": Example("For a shell.", ("gpudx completion bash",), most=8),
}


def main(wanted: list[str]) -> None:
    prepare()
    KEPT.mkdir(exist_ok=True)
    for name, example in EXAMPLES.items():
        text = "\n".join(_shown(example))  # all are run: later ones use the cases of earlier ones
        if not wanted or name in wanted:
            (KEPT / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
            print(name, file=sys.stderr)


def prepare() -> None:
    """An empty place with the programs, files and the repository that the examples need."""
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "bin").mkdir(parents=True)
    shim = PLACE / "bin" / "gpudx"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m gpudx "$@"\n')
    shim.chmod(0o755)
    for name, incident, twin in (
        ("old", "model-dimensions", False),
        ("new", "model-dimensions", True),
        ("undone", "model-dimensions", False),
        ("shared", "opencl-shared-kernel", False),
        ("flaky", "opencl-kernel-cache-flake", False),
    ):
        _build(incident, PLACE / name, twin)
    for name, text in (
        ("gpudx.toml", GATES),
        ("contracts.toml", CONTRACTS),
        ("hypotheses.toml", HYPOTHESES),
        ("crash.log", LOG),
        ("Makefile", MAKEFILE),
    ):
        (PLACE / name).write_text(text)
    shutil.copy(ROOT / "incidents" / "cuda-wmma-local" / "main.cu", PLACE)
    shutil.copy(ROOT / "examples" / "two_queues.c", PLACE)
    _sh(f"{_compile()} -g -o two_queues two_queues.c -lOpenCL")
    _repository(PLACE / "repository")


def _build(incident: str, folder: Path, twin: bool) -> None:
    from gpudx.cli.demo import build_incident
    from gpudx.demos import incidents

    build_incident(incidents.every()[incident], folder, twin)


def _compile() -> str:
    """cc with the OpenCL header that gpudx brings."""
    from gpudx.native import library

    return f"cc -I{library().parent.parent / 'gen'} -I{library().parent / 'include'}"


def _repository(folder: Path) -> None:
    """Five revisions of a program; from the fourth on it has the fault."""
    folder.mkdir()
    for name in ("main.c", "gguf.c", "gguf.h"):
        shutil.copy(ROOT / "incidents" / "model-dimensions" / name, folder)
    sh = f"cd {folder} && git -c user.name=A -c user.email=a@example.org"
    _sh(f"{sh} init --quiet -b main && echo app > .gitignore")
    for number in range(1, 6):
        fault = "" if number >= 4 else " -DTWIN"
        (folder / "build.sh").write_text(f"{_compile()} -O1 -g{fault} -o app main.c gguf.c -lOpenCL\n")
        title = "Plan with the usual length" if number == 4 else f"Tidy up, part {number}"
        (folder / "notes.txt").write_text(f"{title}\n")
        _sh(f"{sh} add -A && git -c user.name=A -c user.email=a@example.org commit --quiet -m '{title}'")


def _sh(line: str) -> str:
    environment = os.environ | {
        "PATH": f"{PLACE / 'bin'}:{os.environ['PATH']}",
        "GPUDX_CASES": str(PLACE / "cases.db"),
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "100",
    }
    done = subprocess.run(
        line,
        shell=True,
        cwd=PLACE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _shown(example: Example) -> Iterator[str]:
    yield example.says
    yield ""
    printed: list[str] = []
    for line in example.lines:
        printed += [f"$ {line}", *_shortened(_sh(line).rstrip().splitlines(), example)]
    was_cut = any(LEFT_OUT in line for line in printed)
    yield from (["Shortened: `...` marks omitted lines.", ""] if was_cut else [])
    yield from ("    " + line if line else "" for line in printed)


def _shortened(lines: list[str], example: Example) -> list[str]:
    """Without progress and the sections that are not wanted: from their heading to the next blank line."""
    kept: list[str] = []
    inside = False
    for line in map(_without_places, lines):
        inside = bool(line) if inside else bool(example.without) and line.startswith(example.without)
        if not inside and PROGRESS not in line:
            kept.append(line)
        elif LEFT_OUT not in kept[-2:]:
            kept.append(LEFT_OUT)
        elif not kept[-1]:
            kept.pop()
    return kept if len(kept) <= example.most else [*kept[: example.most], LEFT_OUT]


def _without_places(line: str) -> str:
    """A line without what is of this machine: where the sources are, and the processor's name."""
    for place in (ROOT, Path(sys.prefix), Path(sys.prefix).resolve()):
        line = line.replace(str(place), LEFT_OUT)
    return re.sub(r"pthread-[^(]*\(.*?\)", f"pthread-{LEFT_OUT}", line).rstrip()


if __name__ == "__main__":
    main(sys.argv[1:])
