"""clang and hipcc with -Rpass-analysis=kernel-resource-usage: what each kernel takes, with its source line.

Vector registers count as registers. Spills are counted in registers of four bytes per thread; scratch memory is the stack. The
remarks do not name the architecture: it is taken from the --offload-arch of the command line, if the log has it and it names
one architecture; else it stays unknown. Spills are reported as a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.backends.mangling import demangle, function_name
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.model import KernelBuild

FORMAT = "clang-resources"
MARKS = ("kernel-resource-usage]", "--offload-arch=")
MOST_READ = 120_000
MOST_BUILDS = 50_000
REGISTER = 4  # bytes of one lane
_REMARK = re.compile(r"^(.*?): remark: +([\w ]+?)(?: \[([\w/]+)\])?: (\S+) \[-Rpass")
_ARCH = re.compile(r"--offload-arch=(gfx\w+)")
FIELDS = {
    "VGPRs": "registers",
    "TotalVGPRs": "registers",
    "ScratchSize": "stack_bytes",
    "LDS Size": "static_shared_bytes",
}


class Lines:
    """Reads one log; a remark belongs to the function named by the last "Function Name" of the same place."""

    def __init__(self) -> None:
        self._made: list[KernelBuild] = []
        self._archs: set[str] = set()

    @property
    def builds(self) -> tuple[KernelBuild, ...]:
        return tuple(self._made)

    def read(self, near: Near) -> Iterator[Event]:
        if found := _REMARK.search(near.text):
            yield from self._remark(found[1].strip(), found[2].strip(), found[4])
        else:
            self._archs = set(_ARCH.findall(near.text)) or self._archs

    def _remark(self, place: str, name: str, value: str) -> Iterator[Event]:
        if name == "Function Name" and len(self._made) < MOST_BUILDS:
            arch = next(iter(self._archs)) if len(self._archs) == 1 else ""
            self._made.append(KernelBuild(demangle(value), value, arch, source=source(place)))
        elif self._made and value.isdigit() and self._made[-1].source == source(place):
            yield from self._number(name, int(value[:12]))

    def _number(self, name: str, value: int) -> Iterator[Event]:
        if name in FIELDS:
            self._made[-1] = replace(self._made[-1], **{FIELDS[name]: value})  # type: ignore[arg-type]
        elif name == "VGPRs Spill":
            self._made[-1] = replace(self._made[-1], spill_stores=value * REGISTER)
            if value:
                yield _spilled(self._made[-1])


def reader() -> Lines:
    return Lines()


def _spilled(build: KernelBuild) -> Event:
    kernel = function_name(build.mangled)[:120]
    spilled = f"{build.spill_stores:,} bytes of the registers of {kernel}"
    said = f"The compiler spilled {spilled} to memory ({build.source}): slow, but no failure."
    return Event("registers-spilled", "refusal", said, (("kernel", kernel), ("arch", build.arch)), warning=True)
