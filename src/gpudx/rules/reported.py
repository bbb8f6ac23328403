"""What the ids of findings mean that no detector makes: reports of instruments and tools, by the beginning of the id.

A `*` stands for the kind of the fault: kernel-check-bounds, sanitizer-race, log-xid.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

FAMILIES = {
    "kernel-check-*": """A kernel that checked itself reported a fault (gpudx run --sanitize, gpudx investigate).

The check ran inside the kernel, on the program's own device, so the fault is real: launch, source line, work-item, argument and distance
are those of the access. The rest of the id is the kind:

- bounds: an access outside the argument or array that the pointer comes from
- image: a write outside an image
- alignment: an access through a pointer that is not aligned for its type
- uninitialized: a read of memory that nothing has written
- race: two work-items access the same memory, one of them writes, and no barrier or atomic operation separates them
- barrier: a barrier that not every work-item of a group reaches
- overflow: integer arithmetic of an index that does not fit in 32 bits
- division: an integer division by zero
- nan: the first NaN or infinity of a work-item
- loop: a loop that ran a million steps without an end
- shared-race, shared-unwritten, lanes, lane-gone: shared memory and warp-wide calls of CUDA kernels (--sanitize=ptx)

docs/kernel-checks.md describes what is checked, and what is not.""",
    "sanitizer-*": """A report of compute-sanitizer, or about its run (gpudx run --sanitize, or a log of the tool).

Thousands of records of one fault are one finding. gpudx joins it to the launch, the argument and the allocation where the recording
allows it, and marks known false alarms. sanitizer-did-not-run, sanitizer-cut-off and sanitizer-incomplete mean that the tool did not
check everything: such a run is never clean. sanitizer-narrowed means that only launches of one kernel were checked.""",
    "oclgrind-*": """A report of Oclgrind, a simulator of OpenCL devices (gpudx run --sanitize=oclgrind, gpudx investigate).

The simulator saw the access itself. The device is not the program's own, and a run without a report covers this run's data only.""",
    "gpu-exception-*": """The GPU core dump names the exception that stopped a kernel (gpudx run --dump, gpudx explain).

The dump has the kernel, the block, the thread and the instruction, and its registers, from which gpudx decodes the address.""",
    "log-*": """A line of a log was recognised (gpudx explain, gpudx build).

A log contains only what was printed. The finding quotes the line and states what it does not prove; an error that earlier work left is
never blamed on the line that printed it. `gpudx rule` lists the formats.""",
    "device-fault": """The device stopped, and a core dump or the debug agent shows in which kernel.

Breadcrumbs, arguments and shape narrow it to one launch where they can.""",
    "kernel-still-running": """A kernel was still on the device when the program was stopped (gpudx run --dump --timeout).

The dump shows where its threads are and what they wait for. A larger --timeout shows whether the kernel is slow or stuck.""",
    "second-opinion": """Two instruments disagree: only one of Oclgrind and the checks inside the kernel reports a fault that both can see.

Read both reports. One of them can be wrong, or the fault depends on the device.""",
    "contract-not-checked": """A contract for kernels could not be checked at some launches (gpudx check, gpudx run --contracts).

The finding names the reason: a value that was not recorded, an argument whose name or type is not known, or no launch of that kernel.
Such launches count neither as passed nor as broken.""",
    "no-code-for-target": """A file has no device code for an architecture that `gpudx audit --arch` asks for.

The program fails on such a device, or compiles its code when it is loaded. Build it for this architecture as well.""",
    "kernel-is-a-trap": """A kernel consists of a trap: it stops before it does anything (gpudx audit).

Compilers put a trap in place of code that they can prove to be wrong, and warn about it. Read the build's warnings for this kernel.""",
    "kernel-spills": """A kernel needs more registers than it has, and moves values to slow memory and back (gpudx audit).

Allow it more registers (launch bounds), or make the kernel smaller. The number is that of the compiler.""",
    "kernel-uses-stack": """A kernel keeps data on a stack in slow memory (gpudx audit).

Arrays that are indexed by a variable, large arguments by value and recursion cause this.""",
    "unexplained": """The program failed, and nothing that was recorded explains why.

This is not a cause. The report ends with the command that gets further: usually `gpudx investigate`.""",
}


def family(name: str) -> str | None:
    """The family that an id belongs to; itself where it is one."""
    return next((one for one in FAMILIES if one == name or fnmatchcase(name, one)), None)
