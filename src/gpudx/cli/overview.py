"""What `gpudx -h` prints. The commands are written down here, so that it need not import them; a test compares."""

from __future__ import annotations

GROUPS: dict[str, dict[str, str]] = {
    "Start here": {
        "run": "run a program and report why it failed",
        "investigate": "run it in different ways until the cause is found",
        "explain": "explain a log",
    },
    "Look closer": {
        "report": "show the full report of a case: text, page, SARIF, ...",
        "show": "show recorded calls, launches, allocations and errors",
        "attach": "show the launches in flight of a program that is being recorded",
        "dump": "the same as attach --json",
        "rule": "explain an id: a detector, cause, experiment or gate",
        "check": "check recorded launches against your contracts for kernels",
        "hypotheses": "check your own hypotheses against a case",
    },
    "Compare": {
        "diff": "show where two recorded runs diverge",
        "verify": "check whether a fix really fixes the failure",
        "bisect": "find the revision that introduced a failure",
    },
    "One launch": {
        "capture": "run a case's program again and capture the guilty launch",
        "replay": "run a captured launch alone and compare its results",
        "bench": "compare the results and times of variants of a captured kernel",
        "shrink": "make a captured launch smaller, and write it as a C program",
    },
    "CI": {
        "flake": "find flaky tests and why they fail",
        "gate": "check cases against the limits in gpudx.toml",
    },
    "Before it runs": {
        "lint": "find faults in kernel sources",
        "build": "run a build; show registers, spills and compiler warnings",
        "audit": "show the device code in a binary",
    },
    "Cases": {
        "cases": "list, group and prune cases",
        "merge": "merge the cases of one job from several hosts",
        "bundle": "pack a case into one file",
        "open": "unpack a bundle",
    },
    "Setup": {
        "demo": "build a program with a real fault and diagnose it",
        "doctor": "show what works on this machine, and how to install the rest",
        "completion": "print a script for shell completion",
    },
}
HEAD = """Usage: gpudx COMMAND [OPTIONS] ...

gpudx reports why a GPU program failed (CUDA, HIP, OpenCL; unmodified binaries).

    gpudx run -- ./app args...
    gpudx COMMAND --help
"""
TAIL = """
Options:
  --version    Show the version and exit.
  -h, --help   Show this help and exit.

Exit status: that of the command; 2, and one line that explains why, if gpudx
cannot do what was asked.
"""


def overview() -> str:
    """All commands in groups, the first three first."""
    width = max(len(name) for group in GROUPS.values() for name in group)
    lines = [HEAD]
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:<{width}}  {text}" for name, text in group.items()), ""]
    return "\n".join(lines).rstrip("\n") + "\n" + TAIL
