"""Gives each thread a kernel object to itself, from its first argument to the end of its launch call.

This removes the sharing of argument values, and nothing else. If the failure goes away, it comes from this sharing or from the timing
that taking turns changes. If it stays, it does not. A run in which values of two threads still met does not count.
"""

from __future__ import annotations

from gpudx.lab.experiments import Context, Seen
from gpudx.model.how import How

ID = "turns"
COST = 2.0
VARIABLE = "GPUDX_TURNS"  # native/opencl/turns.h
SHARED = "kernel-shared-by-threads"
KEPT = (
    "threads still used one kernel object at the same time: one kept it for too long, which a lock in the program can cause"
)


def missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "only OpenCL has kernel objects that hold arguments"
    return None if context.threads > 1 else "only one thread makes GPU calls"


def how(context: Context) -> How:
    return context.how.under({VARIABLE: "1"})


def without_effect(context: Context, seen: Seen) -> str | None:
    return KEPT if SHARED in seen.findings else None
