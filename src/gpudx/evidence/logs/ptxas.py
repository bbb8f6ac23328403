"""ptxas, nvlink and the device compiler of nvcc: what each kernel takes, and warnings that are faults in disguise.

With -Xptxas -v: registers, spills, stack, shared memory and barriers of each kernel for each architecture (`gpudx show CASE
builds`). A missing number stays unknown: where the lines of two compilers are mixed, nothing is attributed. Warnings:
tensor-core tiles in thread-local memory, for which nvcc 13 puts a trap into the kernel (an error); stacks whose size is not
known when the program is built, a reason for "illegal memory access" in recursive or indirect calls; launch bounds that are
ignored; large spills, which are no failure alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gpudx.backends.mangling import demangle, function_name
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.model import KernelBuild

FORMAT = "ptxas"
MARKS = (
    "ptxas ",
    "nvlink ",
    "bytes stack frame",
    "wmma load or store on local memory",
)
MOST_READ = 100_000
MOST_BUILDS = 50_000
_COMPILING = re.compile(r"Compiling entry function '([^']+)' for '(\w+)'")
_OWNER = re.compile(r"Function properties for '?([^\s':]+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"\b[Uu]sed (\d+) registers")
_PART = re.compile(
    r"(\d+(?:\+\d+)*) bytes (cumulative stack size|smem|cmem\[\d+\]|lmem)|used (\d+) barriers|(\d+) stack\b"
)
_STACK = re.compile(r"Stack size for entry function '([^']+)' cannot be")
_BOUNDS = re.compile(r"for entry (\S+) is out of range. \.(\w+) will be ignored")
_SHARED = re.compile(r"[Ee]ntry function '([^']+)' uses too much shared data \((0x[0-9a-f]+) bytes.*?(0x[0-9a-f]+) max")
_HEADER = re.compile(r"([\w./+-]*mma\.hpp)\((\d+)\)")
# crt/mma.hpp of CUDA 11.8, 12.4 and 13.4: load_matrix_sync stands in lines 90 to 464, store_matrix_sync in 465 to 590.
LOADS, STORES = range(90, 465), range(465, 591)


class Lines:
    """Reads one log; `builds` has a kernel for each instantiation and architecture."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, int], KernelBuild] = {}
        self._times: Counter[tuple[str, str]] = Counter()  # the same kernel may be built in several files
        self._open: tuple[str, str, int] | None = None  # the kernel that the lines speak of
        self._owner = ""  # of the numbers in the next line
        self._mixed = False  # lines of two compilers stand between each other

    @property
    def builds(self) -> tuple[KernelBuild, ...]:
        return tuple(self._made.values())

    def read(self, near: Near) -> Iterator[Event]:
        text = near.text
        if found := _COMPILING.search(text):
            self._begin(found[1], found[2])
        elif found := _OWNER.search(text):
            self._owner = found[1]
        elif found := _FRAME.search(text):
            yield from self._frame(found)
        elif found := _USED.search(text):
            self._used(int(found[1]), text)
        else:
            yield from _warning(near)

    def _begin(self, name: str, arch: str) -> None:
        self._mixed = self._open is not None
        self._times[name, arch] += 1
        self._open = (name, arch, self._times[name, arch]) if len(self._made) < MOST_BUILDS else None
        if self._open:
            self._made[self._open] = KernelBuild(demangle(name), name, arch)

    def _frame(self, found: re.Match[str]) -> Iterator[Event]:
        stack, stores, loads = (int(found[i][:12]) for i in (1, 2, 3))
        if self._open and self._owner == self._open[0] and not self._mixed:
            self._set(stack_bytes=stack, spill_stores=stores, spill_loads=loads)
        if stores:
            kernel, arch = _name(self._owner) or "a kernel", self._open[1] if self._open else ""
            said = f"The compiler spilled {stores:,} bytes of the registers of {kernel} to memory: slow, but no failure."
            facts = (("kernel", kernel), *((("arch", arch),) if arch else ()))
            yield Event("registers-spilled", "refusal", said, facts, warning=True)

    def _used(self, registers: int, text: str) -> None:
        told = dict(_parts(text))
        if "nvlink" in text and self._owner:
            self._begin(self._owner, "")
        if self._open and not self._mixed:
            stack = told.pop("stack_bytes", None)
            self._set(registers=registers, **told)
            if stack is not None:
                self._set(stack_bytes=stack)
        self._open, self._mixed = None, False

    def _set(self, **told: int) -> None:
        assert self._open is not None
        self._made[self._open] = replace(self._made[self._open], **told)  # type: ignore[arg-type]


def reader() -> Lines:
    return Lines()


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """What stands behind the registers; shared memory that is not told is none: ptxas leaves zeros out."""
    sums = {"static_shared_bytes": 0}
    for count, kind, barriers, stack in _PART.findall(text):
        if barriers or stack:
            sums["barriers" if barriers else "stack_bytes"] = int((barriers or stack)[:12])
            continue
        name = {"smem": "static_shared_bytes", "lmem": "local_bytes"}.get(
            kind, "constant_bytes" if "cmem" in kind else "stack_bytes"
        )
        sums[name] = sums.get(name, 0) + sum(int(one[:12]) for one in count.split("+"))
    yield from sums.items()


def _warning(near: Near) -> Iterator[Event]:
    if "wmma load or store" in near.text:
        yield _tile(near)
    elif found := _STACK.search(near.text):
        kernel = _name(found[1])
        said = f"The compiler does not know how much stack the kernel {kernel} needs; the limit of the device may be too small for it."
        yield Event("stack-size-unknown", "refusal", said, (("kernel", kernel),), warning=True)
    elif found := _BOUNDS.search(near.text):
        kernel = _name(found[1])
        said = f"The compiler ignores a launch bound of {kernel} (.{found[2]}): the architecture cannot run that many threads."
        yield Event("launch-bound-ignored", "refusal", said, (("kernel", kernel), ("bound", found[2])), warning=True)
    elif found := _SHARED.search(near.text):
        kernel, asked, most = _name(found[1]), int(found[2], 16), int(found[3], 16)
        said = f"The kernel {kernel} declares {asked:,} bytes of shared memory, and {most:,} can be declared; it was not built."
        yield Event("too-much-shared-memory", "refusal", said, (("kernel", kernel),), causes=("launch-refused",))


def _tile(near: Near) -> Event:
    """The warning names a line of the toolkit's header, which says whether a load or a store is meant."""
    found = next((hit for hit in map(_HEADER.search, (near.text, *near.before(1))) if hit), None)
    line = int(found[2][:9]) if found else 0
    what = "load" if line in LOADS else "store" if line in STORES else "load or store"
    return Event(
        kind="tile-in-local-memory",
        role="fault",
        message=f"A tensor-core {what} uses memory of a single thread, which cannot work.",
        facts=(("access", what), ("header_line", str(line))),
        notes=(
            "a tile belongs to a whole warp: it must lie in shared or global memory",
            "nvcc 13 puts a trap in the kernel's place (seen with 13.0 and 13.4); older ones let it leave its local memory",
        ),
        causes=("device-trap", "out-of-bounds-access"),
        next="gpudx lint FILE.cu, with the file that was being compiled",
    )


def _name(symbol: str) -> str:
    return (function_name(symbol) or symbol)[:120]
