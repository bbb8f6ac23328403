"""compute-sanitizer: its tools, its options, and what each tool does not see.

Options and filters are those of the tool's manual ("Command Line Options", "Specifying Filters", "Escape Sequences").
--error-exitcode is left alone: a program that passes under the tool passes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gpudx.backends.cuda import TOOLS as KNOWN
from gpudx.errors import UserError

NAME = "compute-sanitizer"
TOOL = next(tool for tool in KNOWN if tool.name == NAME)
CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
DEFAULT = CHECKS[0]
MOST_RECORDS = 500  # printed; what is beyond is still counted in the tool's summary
REGEX = "regex:"
HEAD_BYTES = 65536
RECORD_STARTS = tuple(
    f"========= {word}".encode()
    for word in ("Invalid ", "Misaligned ", "Uninitialized ", "Error: ", "Barrier error", "Race reported")
)

# What a clean report of each does not say.
UNSEEN = {
    "memcheck": (
        "Races, uninitialized memory, barriers, and accesses that stray into another live allocation:"
        " memcheck does not see these."
    ),
    "racecheck": "Races in global memory, and whether accesses are in bounds: racecheck checks only shared memory.",
    "initcheck": "Races, and whether accesses are in bounds: initcheck checks only for reads of uninitialized memory.",
    "synccheck": "Races, and whether accesses are in bounds: synccheck checks only barriers.",
}


def check_named(name: str) -> str:
    """`name`, if it is one of the tool's checks."""
    if name not in CHECKS:
        choice = f"{', '.join(CHECKS[:-1])} or {CHECKS[-1]}"
        raise UserError(f"There is no check {name!r}: write --sanitize or --sanitize= with {choice}.")
    return name


def command(path: str, check: str, reports: Path, kernel: str | None, inner: Sequence[str]) -> list[str]:
    """The command line that runs `inner` and all its children under a check, with the report in `reports`."""
    return [
        path,
        *("--tool", check),
        *("--log-file", f"{str(reports).replace('%', '%%')}/%p.txt"),
        *("--target-processes", "all"),
        *("--launch-timeout", "0"),  # a program may take minutes until its first CUDA call
        *("--print-limit", str(MOST_RECORDS)),
        *("--show-backtrace", "yes"),
        *("--destroy-on-device-error", "context"),  # then no later launch can be the faulting one
        *("--demangle", "no"),  # symbols tell overloads and templates apart, as in the recording
        *(("--kernel-name", kernel_filter(kernel)) if kernel else ()),
        *inner,
    ]


def kernel_filter(name: str) -> str:
    """The filter for a kernel as people or compilers spell it: part of its symbol; "regex:..." is searched in symbols."""
    if name.startswith(REGEX) and len(name) > len(REGEX):
        return f"regex={name.removeprefix(REGEX)}"
    part = identifier(name)
    if not re.fullmatch(r"[\w$.]+", part):
        raise UserError(f"--kernel {name} names no kernel: give its name, or {REGEX}EXPRESSION to search in symbols.")
    return f"kernel_substring={part}"


def identifier(name: str) -> str:
    """ "void ns::fill<(int)4>(float *)" -> "fill": what is in the symbol too."""
    plain = name.replace("(anonymous namespace)::", "")
    return re.split(r"[<(]", plain, maxsplit=1)[0].strip().rpartition(" ")[2].rpartition("::")[2]


def has_records(report: Path) -> bool:
    """Does a report that is being written have more than the tool's own first line and what it says of API calls?"""
    try:
        lines = report.read_bytes()[:HEAD_BYTES].splitlines()
    except OSError:
        return False
    return any(line.startswith(RECORD_STARTS) for line in lines)


def is_own(path: str) -> bool:
    """Is this executable a part of the tool? It starts helpers beside the program."""
    return Path(path).name.startswith(("compute-sanitizer", "TreeLauncher"))
