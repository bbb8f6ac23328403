"""Arguments on the heap: read without a system call where the heap stays, and never where it may go (program_memory.h)."""

from __future__ import annotations

import re

import pytest
from cuda_kit import Kit, decode, of, values


@pytest.mark.parametrize("tunables", ["", "glibc.malloc.mmap_threshold=65536"])
def test_arguments_on_the_heap(kit: Kit, tunables: str) -> None:
    """With the second setting of malloc each block has a mapping of its own: the kernel reads every time."""
    program = kit.program("heap_arguments", "-rdynamic")
    ran = kit.run([program], env={"GLIBC_TUNABLES": tunables})
    found = re.fullmatch(r"reads (\d+) of 1000\ngone 1\nstill here\n", ran.stdout)
    assert ran.returncode == 0 and found, ran.seen
    assert int(found[1]) < 20 if not tunables else int(found[1]) >= 1000
    trace = ran.trace()
    *launched, _, gone = of(decode(trace), "cuLaunchKernel")
    assert [[int.from_bytes(data, "little") for _, _, data in values(trace, call.position)] for call in launched] == [
        [i, 2 * i] for i in range(1000)
    ]
    unreadable = trace.schema.argument_flags["unreadable"]
    assert all(flags & unreadable for _, flags, _ in values(trace, gone.position))
