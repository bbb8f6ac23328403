"""Listings of NVIDIA device code (cuobjdump -sass, nvdisasm): how many tensor-core instructions each kernel has.

This is no failure: it serves gates on kernels that must use the tensor cores. It counts the instructions of matrix
multiplication, by name: HMMA, IMMA, DMMA, BMMA, QMMA, OMMA and the group-wide HGMMA, IGMMA, QGMMA, BGMMA, and UTC*MMA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.backends.mangling import demangle
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.model import DeviceCode, Evidence, Finding
from gpudx.text import plural

FORMAT = "sass"
MARKS = ("\t\tFunction : ", ".section\t.text.", "code for sm_", "MMA.")
MOST_READ = 300_000
MOST_FUNCTIONS = 5000
_FUNCTION = re.compile(r"Function : (\S+)|\.section\s+\.text\.([^,\s]+)")
_ARCH = re.compile(r"code for (sm_\w+)")
_MMA = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+ )?((?:[HIDBQO]G?MMA|UTC\w*MMA)\b)")


@dataclass
class _Code:
    name: str
    arch: str
    line: int
    count: int = 0


class Lines:
    """Counts, and tells at the end."""

    def __init__(self) -> None:
        self._found: list[_Code] = []
        self._arch = ""

    def read(self, near: Near) -> Iterator[Event]:
        if found := _MMA.search(near.text):
            if self._found:
                self._found[-1].count += 1
        elif found := _ARCH.search(near.text):
            self._arch = found[1]
        elif (found := _FUNCTION.search(near.text)) and len(self._found) < MOST_FUNCTIONS:
            self._found.append(_Code(found[1] or found[2], self._arch, near.line))
        yield from ()

    def finish(self) -> Iterator[Event]:
        for code in self._found:
            yield _event(code)


def reader() -> Lines:
    return Lines()


def _event(code: _Code) -> Event:
    kernel = demangle(code.name)
    name = f"{kernel.split('(')[0]}{f' for {code.arch}' if code.arch else ''}"
    said = f"The code of {name} has {plural(code.count, 'tensor-core instruction')}."
    facts = (("kernel", kernel), ("arch", code.arch))
    seen = Evidence(f"the listing of {code.name} has {plural(code.count, 'instruction')} of matrix multiplication")
    finding = Finding("device-code", "info", said, (seen,), facts=facts, code=DeviceCode(kernel, code.arch, code.count))
    return Event("device-code", "ending", said, facts, finding=finding, line=code.line, quote=f"Function : {code.name}")
