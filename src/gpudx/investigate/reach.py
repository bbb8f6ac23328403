"""What each experiment that can refute a cause reaches, and what it does not: a refutation goes no further than that."""

from __future__ import annotations

from gpudx.lab.experiments import base

REACH = {
    "fenced": (
        "sees accesses of kernels past the end of an allocation and after its release; not those into the padding after the end"
        " (up to 127 bytes with OpenCL, 255 with CUDA), into other parts of the same allocation, or by copies"
    ),
    "low-fenced": (
        "sees accesses of kernels before the start of an allocation; not those into other parts of the same allocation, or by copies"
    ),
    "memcheck": "sees invalid accesses of kernels; not those that land in another live allocation",
    "initcheck": "sees reads of uninitialized global memory by kernels; not of shared or local memory",
    "racecheck": "sees races in shared memory; not in global memory",
    "synccheck": "sees barriers that not all threads reach; not a barrier that is missing",
    "poisoned": "fills new allocations; not local memory, or memory that the program itself uses again",
    "serialised": "waits after each launch; not after copies, and work of other host threads may still overlap",
    "amd-serialised": "waits around each launch and copy; work of other host threads may still overlap",
    "blocking": "makes launches wait; not transfers that return early",
    "without-sdma": "copies by kernels in place of the copy engines; kernels still overlap",
    "one-thread": "keeps host threads from making GPU calls at the same time; work on the device may still overlap",
    "turns": "gives each thread a kernel object to itself until it is launched; other shared objects are not protected",
}


def limits(experiment: str) -> str:
    """The sentence after a refutation; "" where nothing is known of the experiment's limits."""
    known = REACH.get(base(experiment))
    return f" {base(experiment)} {known}." if known else ""
