"""What a driver's compiler wrote about a program that it did not build.

Drivers pass clang's words on, each in its own frame (seen with PoCL 3.1 to 7.1, Intel's CPU driver 2025, NVIDIA 580, and in public
logs of ROCm, Mesa and Apple):

    error: /root/.cache/pocl/kcache/tempfile_abc.cl:3:17: use of undeclared identifier 'offset'
    1:3:17: error: use of undeclared identifier 'offset'
    <kernel>:3:17: error: use of undeclared identifier 'offset'
    /tmp/OCL123T1.cl:3:17: error: use of undeclared identifier 'offset'
    error: /root/.cache/pocl/kcache/tempfile_abc.cl:25:40 <Spelling=<command line>:6:20>: invalid digit 'f' in decimal constant
    ptxas error : Entry function 'add' uses too much shared data
"""

from __future__ import annotations

import re

from gpudx.backends.tool import BuildError

REFUSED_OPTIONS = (-43, -66, -67)  # CL_INVALID_BUILD_OPTIONS, CL_INVALID_COMPILER_OPTIONS, CL_INVALID_LINKER_OPTIONS
MOST_LINES = 20_000
LONGEST = 200
_PLACED = re.compile(
    r"^\s*(?:(?:fatal )?error: (?=\S*:\d))?(?P<file>[^:\s][^:]*)?:?(?P<line>\d+):(?P<column>\d+)"
    r"(?: <Spelling=.*?:\d+:\d+>)?: (?:(?:fatal )?error: )?(?P<said>.+)$"
)
# EDG, in old drivers of AMD.
_QUOTED = re.compile(r'^\s*"(?P<file>[^"]*)", line (?P<line>\d+)(?P<column>)?: (?:catastrophic )?error: (?P<said>.+)$')
_BARE = re.compile(r"^\s*(?:ptxas |nvlink |ld\.lld: |lld: )?(?:fatal )?(?:error|fatal)\s*: (?P<said>.+)$", re.IGNORECASE)
_ERROR = re.compile(r"\b(?:error|fatal)\b\s*:", re.IGNORECASE)


def first_error(log: str) -> BuildError | None:
    """The first error with a line, else the first one; later ones often follow from it. None: the log has none."""
    lines = [line for line in log.splitlines()[:MOST_LINES] if _ERROR.search(line)]
    placed = next((found for line in lines if (found := _at(line))), None)
    if placed:
        return BuildError(_short(placed["said"]), int(placed["line"]), int(placed["column"] or 0), _named(placed["file"] or ""))
    bare = next((found for line in lines if (found := _BARE.match(line))), None)
    return BuildError(_short(bare["said"])) if bare else None


def errors(log: str) -> int:
    """How many errors the log has, as far as each has a line of its own."""
    return sum(1 for line in log.splitlines()[:MOST_LINES] if _at(line) and _ERROR.search(line))


def _at(line: str) -> re.Match[str] | None:
    return _PLACED.match(line) or _QUOTED.match(line)


def _named(file: str) -> str:
    """A header that the source includes; drivers' names for the text itself ("1", "<kernel>", a temporary file) say nothing."""
    return file if file.endswith((".h", ".hpp", ".clh", ".hh", ".inc")) else ""


def _short(said: str) -> str:
    return said.strip()[:LONGEST].rstrip(".")
