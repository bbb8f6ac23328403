"""A kernel on a CPU device crashed with an index outside all of its buffers.

The signal gives the address; the kernel's machine code shows which registers held the start and the index. If every buffer that
the launch may access in this way has fewer elements, the access left its buffer, whichever one it was. Kernels with arrays in
local memory are excluded: the access may be to one of those.

Example:

    __kernel void spread(__global const int *key, __global float *out, int n) {
        out[key[get_global_id(0)] * n] = 1;             // out has 1,024 elements, the index is 2,000,000,000
    }

Fix it where the index is computed: compare it with the number of elements, or compute it in 64 bits if it overflows. `gpudx investigate`
names the line and the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.detectors import Run
from gpudx.detectors._impossible import access_of
from gpudx.detectors._in_flight import all_pending
from gpudx.facts import Facts, LastWords
from gpudx.facts.allocated import allocation_of
from gpudx.facts.host_code import kernel_at
from gpudx.facts.instruction import Access, faulting_access, impossible_access
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "kernel-left-buffer"
CAUSE_ID = "out-of-bounds-access"
NEAR_NULL = 1 << 16  # bytes from address 0 that no buffer is in
STACK = 64 << 20  # bytes around the stack pointer that are taken for private memory
LOCAL = re.compile(r"\b(__)?local\b")
BECAUSE = (
    "The index is read from a register of the crashed kernel; it is not known which access in the source it belongs to."
)


@dataclass(frozen=True)
class _Buffer:
    argument: int
    name: str
    row: int
    size: int

    @property
    def label(self) -> str:
        return f"argument {self.argument}" + (f" `{self.name}`" if self.name else "")


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding."""
    words = facts.trace.last_words
    access = faulting_access(words) or impossible_access(words) if words is not None else None
    kernel = kernel_at(facts, words.pc) if words is not None and access is not None else None
    if words is None or access is None or kernel is None or access.index is None or access.address < NEAR_NULL:
        return
    rows = [row for p in all_pending(facts) if (row := facts.launches.at_position(int(p))) is not None]
    rows = [row for row in rows if facts.launches.name(row) == kernel]
    buffers = list(_buffers(facts, rows[0], access)) if len(rows) == 1 else []
    _, index, each = access.index
    on_stack = abs(access.address - index * each - words.sp) < STACK
    if on_stack or not rows or not _has_only_buffers(facts, kernel):
        return
    if buffers and each > 1 and all(not 0 <= index < one.size // each for one in buffers):
        yield _finding(facts, words, rows[0], access, buffers)


def _has_only_buffers(facts: Facts, kernel: str) -> bool:
    """Is the source known, and without local memory?"""
    described = [(program, infos) for (program, name), infos in facts.kernels.described.items() if name == kernel]
    texts = [facts.kernels.source(program, infos[-1].position) for program, infos in described]
    return bool(texts) and all(text and not LOCAL.search(text) for text in texts)


def _buffers(facts: Facts, launch: int, access: Access) -> Iterator[_Buffer]:
    """Those that the launch may access in this way: a write does not go through a pointer to const."""
    for one in facts.launches.values(launch):
        declared = one["declared"]
        if one["object"] >= 0 and not (access.writes and declared is not None and declared.read_only):
            size = int(facts.objects.table["size"][one["object"]])
            yield _Buffer(int(one["index"]), declared.name if declared else "", int(one["object"]), size)


def _finding(facts: Facts, words: LastWords, launch: int, access: Access, buffers: list[_Buffer]) -> Finding:
    assert access.index is not None
    register, index, each = access.index
    largest = max(buffers, key=lambda one: one.size)
    only = largest if len(buffers) == 1 else None
    site = facts.sites.at(int(facts.launches.position[launch]), argument=only.argument if only else None)
    deed = {True: "wrote", False: "read", None: "accessed"}[access.writes]
    width = plural(access.width or each, "byte")
    label = f"{largest.label} ({facts.objects.label(largest.row)}, {plural(largest.size, 'byte')})"
    which = f"of {label}" if only else f"of a buffer; the largest, {label},"
    held = f"which has {largest.size // each:,}" if only else f"has {largest.size // each:,}"
    described = ", ".join(f"{name} = {value:#x}" for name, value in access.registers)
    return Finding(
        id=ID,
        severity="error",
        message=f"Kernel {site.kernel} (launch {site.launch}) {deed} {width} at element {index:,} {which}{', ' if only else ' '}{held}.",
        evidence=(
            Evidence(
                f"the instruction {deed} at {access.text} with {described}; the index is in {register}, elements have {each} bytes"
            ),
            *(Evidence(f"{one.label} has {one.size // each:,} elements of {each} bytes") for one in buffers),
        ),
        site=site,
        causes=(CAUSE_ID,),
        allocation=allocation_of(facts, only.row) if only else None,
        facts=(("kernel", site.kernel or "?"), ("argument", str(only.argument if only else None))),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        access=access_of(words, site.kernel),
    )
