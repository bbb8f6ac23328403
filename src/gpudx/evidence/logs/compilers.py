"""Calls and messages of compilers in build logs: nvcc, hipcc, clang, OpenCL's build logs.

Errors are reported with their line. Warnings are reported only where they indicate a fault: a variable that is used before it
has a value, an attribute that is ignored, a shared variable whose initial value is ignored. Source files that the log names are
read, if they exist, for what the compiler does not say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs._event import Compiled, Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source

FORMAT = "compilers"
GENERIC = 1
MARKS = (
    "): error",
    ": error: ",
    ": fatal error: ",
    "fatal error: ",
    "uild log: ",
    "error: /",
    "rror: <",
    "RROR: <",
    "; error ",
    "nvcc fatal",
    "): warning #",
    "-Wuninitialized]",
    "-Wignored-attributes]",
    "nvcc ",
    "hipcc ",
    "Building CUDA object",
    "Building HIP object",
    "Entering directory",
)
MOST_SOURCES = 2000
LONGEST_MESSAGE = 160
CAUSE = "kernel-does-not-build"
SOURCES = (".cu", ".hip", ".cl", ".cpp", ".cc", ".cxx", ".c")
_NVCC = re.compile(r"((?:[A-Za-z]:)?[\w./\\+-]+)\((\d+)\): (error|warning)(?: #([\w-]+))?: +(.+)")
_CLANG = re.compile(r"(?:^|[\s'\"`]|\w(?=<))(<[\w ]{1,30}>|(?:[A-Za-z]:)?[\w./\\+~-]*):(\d+):\d+: (?:fatal )?(error|warning): (.+)")
_BY_DRIVER = re.compile(r"<(?:(?:program|kernel)[ _])?(?:source|kernel|program)>$")  # a program's text that a driver compiled
_BUILDING = re.compile(r"(?:compile|build) (?:program|kernel)", re.IGNORECASE)
_NAMELESS = re.compile(r"^(?:\d*|[\w-]+|.*/(?:CompileSource|input))$")  # drivers call a program's text "1", "BC-src-code", "program_source"
# Mesa's GLSL: the number of the source string, the line, and the column. AMD's and other front ends of EDG: '"a.cl", line 7: error: ...'.
# ptxas, of a file. Qualcomm: the range of columns behind the place.
_GLSL = re.compile(r"^\s*\d+:(\d+)\(\d+\): (error|warning): (.+)")
_EDG = re.compile(r"^\s*\"([^\"]{1,200})\", line (\d+): (?:catastrophic )?(error|warning)(?: #([\w-]+))?: (.+)")
_PTXAS = re.compile(r"\bptxas (\S+\.ptx), line (\d+); (error|fatal)\s*: (.+)")
_RANGED = re.compile(r"(?:^|\s)([\w./<>-]+):(\d+):\d+:\{\d+:\d+-\d+:\d+\}: (?:fatal )?(error|warning): (.+)")
_PLACE_ONLY = re.compile(r"^\s*()(\d+):\d+: (?:fatal )?(error|warning): (.+)")  # of a program that has no name
_POCL = re.compile(r"\b((?i:error|warning)): (<[\w ]{1,30}>|/[\w./+-]+\.cl):(\d+):\d+: (.+)")  # PoCL; drivers of phones
# A reason without a place, in a log that a driver's compiler leaves.
_REASON = re.compile(r"^\s*(?:\d+\.\d+ )?(?:fatal error: |[Bb]uild log: (?=.*(?:error|unsupported|undefined|cannot|fail)))(\S.+)")
_BUILDS = re.compile(r"clBuildProgram|BUILD_PROGRAM|building kernel|BUILD LOG|[Bb]uild log")
_CALL = re.compile(r"(?:^|[\s/;&|])(?:nvcc|hipcc|hipcc-clang)\s")
_OBJECT = re.compile(r"Building (?:CUDA|HIP) object \S+?\.dir/(\S+)\.o\b")
_FOLDER = re.compile(r"Entering directory [`'\"]([^'\"`]+)")
# Numbers of nvcc's front end (EDG), and names of clang's warnings.
_TEST = re.compile(r'error: in "[^"]{1,200}": ')  # Boost.Test, which reports as compilers do
DISGUISED = {
    "549-D": "uninitialised",
    "20054-D": "initial-value-ignored",
    "1835-D": "attribute-ignored",
    "1866-D": "attribute-ignored",
    "-Wuninitialized": "uninitialised",
    "-Wsometimes-uninitialized": "uninitialised",
    "-Wignored-attributes": "attribute-ignored",
}
MEANINGS = {
    "uninitialised": "A variable is used before it has a value",
    "initial-value-ignored": "A shared variable does not get its initial value",
    "attribute-ignored": "The compiler ignores an attribute",
}


class Lines:
    """Reads one log, and gathers the files that were compiled."""

    def __init__(self) -> None:
        self.sources: list[Compiled] = []
        self._folder = ""

    def read(self, near: Near) -> Iterator[Event]:
        text = near.text
        if _TEST.search(text):
            return
        if found := _GLSL.match(text):
            yield from _told("1", found[1], found[2], "", found[3])
        elif found := _EDG.match(text):
            yield from _told(found[1], found[2], found[3], found[4] or "", found[5])
        elif found := _PTXAS.search(text):
            yield from _told(found[1], found[2], "error", "", found[4])
        elif found := _RANGED.search(text) or _PLACE_ONLY.match(text):
            yield from _told(found[1], found[2], found[3], "", found[4])
        elif found := _NVCC.search(text):
            yield from _told(found[1], found[2], found[3], found[4] or "", found[5])
        elif found := _CLANG.search(text):
            name = re.search(r"\[(-W[\w-]+)\]", found[4])
            driven = _BY_DRIVER.match(found[1]) or _BUILDING.search(text[: found.start()])
            read = _told(found[1], found[2], found[3], name[1] if name else "", found[4])
            yield from (leading(one) if one.kind == "build-failed" and driven else one for one in read)
        elif found := _POCL.search(text):
            yield from _told(found[2], found[3], found[1].lower(), "", found[4])
        elif (found := _REASON.match(text)) and any(_BUILDS.search(line) for line in (text, *near.before(6), *near.after(6))):
            said = found[1].strip()[:LONGEST_MESSAGE].rstrip(".")
            yield Event("build-failed", "refusal", f"The compiler of kernels stopped: {said}.", (("at", said[:80]),))
        elif found := _FOLDER.search(text):
            self._folder = found[1]
        elif "nvcc fatal" in text:
            said = text.split("nvcc fatal", 1)[1].strip(" :")[:LONGEST_MESSAGE]
            yield Event("build-failed", "refusal", f"nvcc did not compile: {said.rstrip('.')}.", (("said", said),))
        else:
            self._gather(text)

    def _gather(self, text: str) -> None:
        if len(self.sources) >= MOST_SOURCES:
            return
        if found := _OBJECT.search(text):
            self.sources.append(Compiled(found[1], self._folder))
        elif _CALL.search(text):
            words = _words(text)
            options = tuple(word for word in words if word.startswith("-"))
            named = [word for word in words if word.endswith(SOURCES) and not word.startswith("-")]
            self.sources += [Compiled(word, self._folder, options) for word in named]


def reader() -> Lines:
    return Lines()


def leading(event: Event) -> Event:
    """The error for which a program or a build says that a kernel was not built."""
    return replace(event, causes=(CAUSE,))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, posix=True)
    except ValueError:
        return text.split()


def _at(path: str, line: str) -> str:
    """Sources that a program gives as text have names that say nothing, and may change with each run."""
    if path.startswith("<") or "/tempfile_" in path or _NAMELESS.match(path):
        return f"line {line} of the program's source"
    return source(f"{path}:{line}") or f"{path}:{line}"


def _told(path: str, line: str, level: str, number: str, said: str) -> Iterator[Event]:
    if not path.endswith((*SOURCES, ".h", ".hpp", ".cuh", ".hh", ">", ".metal", ".wgsl", ".comp", ".ptx")) and not _NAMELESS.match(path):
        return
    at = _at(path, line)
    said = re.sub(r"\. ", "; ", re.sub(r" \[-W[\w-]+\]$", "", said.strip()))[:LONGEST_MESSAGE].rstrip(".")
    if level == "error":
        yield Event("build-failed", "refusal", f"The compiler rejected {at}: {said}.", (("at", at),))
    elif number in DISGUISED:
        kind = DISGUISED[number]
        facts = (("at", at), ("said", said))
        yield Event(kind, "refusal", f"{MEANINGS[kind]} at {at}: {said}.", facts, warning=True)
