"""Compares two recorded runs, launch by launch.

What is noise in every run is never compared: addresses, times, process and thread numbers. Memory is known by which allocation it
is (see `allocations`), and where in it a pointer points.

Order means something only within one line of work. A program with one thread that launches is one line. Where several do, how
their calls mix differs from run to run, so lines are compared apart, in the view that shows the fewest differences:

    threads   what each thread did, in its order: right for threads with work of their own
    queues    what was put on each queue, in its order: right for pools, whose threads take whatever comes next but put one
              piece of work on one queue. Who allocated is chance there, so memory is known by its kind, size and offset only
    bag       all launches without any order: if both runs made the same ones, only their order differs, and that is chance. It is
              asked only where threads launched or allocated differently, which those with work of their own do not

The lines of two runs are paired by what they hold, not by number: equal ones first, then those that share most.

Within a line launches are aligned twice: by all that a launch is (kernel, geometry, arguments), so that a launch that is missing
from a loop is told as missing, not as many changed ones; then, in what is left between, by kernel alone, so that a changed
argument is told as changed.
"""

from __future__ import annotations

from gpudx.diff.comparing import Recording, compare

__all__ = ["Recording", "compare"]
