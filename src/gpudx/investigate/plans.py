"""Which instruments look at a failure of each kind, and in which order: the cheap and precise ones first."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.model import FailureClass

QUIET = 3  # plain runs of a program that shows no failure, after every instrument has looked at it


@dataclass(frozen=True)
class Step:
    """One experiment of a plan: what it is run for, and how often."""

    experiment: str
    why: str
    runs: int = 1
    after: str = ""  # only where this experiment, run before, did not end cleanly
    unless: str = ""  # not where this experiment looked at everything and found nothing


INDICES = Step("indices", "whether an index is out of range")
LOOPS = "checked-loops"
RUNTIME = Step("runtime-errors", "calls that the runtime refuses by itself")
DUMP = Step("dump", "the faulting instruction and its registers, from the device")
FENCED = Step("fenced", "accesses past the end of a buffer, or after its release")
FENCED_SERIALISED = Step("fenced-serialised", "which launch wrote past the end of a buffer", after="fenced")
WHICH_MEMORY = Step("kept", "which memory the launch misses")  # as many runs as that takes: which_memory.py
WHICH_BUFFER = Step("which-buffer", "which buffer the launch misses")  # one run for each: which_memory.py
FENCED_DUMP = Step("fenced-dump", "which access hit the fence", after="fenced")
EDGES = (
    Step("low-fenced", "accesses before the start of a buffer", unless="checked"),
    Step("low-fenced-dump", "which access hit the fence", after="low-fenced"),
    Step("close-fenced", "reads a few bytes past the end of a buffer", unless="checked"),
)
CHECKED = Step("checked", "accesses outside buffers, races and barriers inside kernels")
INSTEAD = Step("oclgrind", "kernels that could not check themselves, in a simulator")
MEMCHECK = Step("memcheck", "invalid accesses in kernels")
RACECHECK = Step("racecheck", "races in shared memory")
SYNCCHECK = Step("synccheck", "barriers that not every thread reaches")
INITCHECK = Step("initcheck", "reads of uninitialized memory")
POISON = Step("poisoned", "whether the outcome depends on uninitialized memory", 4)
GLOBAL_RACES = Step("global-races", "races between blocks in global memory")
SHARED_MEMORY = Step("shared-memory", "uninitialized shared memory, races with atomics, and absent lanes of warps")
SHARED_AGAIN = Step("shared-again", "whether the outcome depends on uninitialized shared memory")  # uninitialized.py
FILLED = Step("filled-variables", "whether the outcome depends on a variable that a kernel has not set")  # unset_variables.py
WIDENED = Step("widened", "whether a sum or product needs 64 bits")  # as many runs as that takes: widened.py
NUMBERS_OPENCL = Step("checked-numbers", "where the first NaN comes from")
NUMBERS = Step("numbers", "where the first NaN or infinity comes from")
INSIDE = (CHECKED, FENCED, FENCED_SERIALISED, MEMCHECK, FENCED_DUMP)  # a dump takes many times as long as memcheck
RACES = Step("races", "whether ordering the two operations of a race fixes it")  # as many runs as that takes: ordered.py
REVERSED = Step("reversed", "whether the outcome depends on the order of work-items")  # as many runs as that takes: races.py
HOST_MEMORY = Step("host-memory", "whether the host changes memory that a kernel is reading")
HEAP = Step("host-heap", "whether host memory is large enough and still there")
USED_EARLY = Step("used-early", "whether a transfer is used before it is complete")  # of a program that passes: ordered.py
ORDER_FIRST = Step("order-first", "whether a missing wait is the cause")  # one run; more only where it passes
ORDERED = Step("order", "whether a missing order or wait is the cause")  # as many runs as that takes: ordered.py
EXCHANGED = Step("exchanged", "whether two arguments are swapped")  # as many runs as that takes: exchanged.py
SCALED = Step("scaled-offset", "whether an offset is in elements instead of bytes")
OTHER_NUMBER = Step("other-number", "whether a kernel is passed a wrong number")
EDITED_KERNEL = Step("edited-kernel", "whether a word in a kernel is wrong")
REDIRECTED = Step("redirected", "whether a call uses the wrong buffer, direction or row pitch")
ORDER = (
    Step("serialised", "whether launches that overlap matter", 2),
    Step("turns", "whether threads that share a kernel object matter", 2),
    Step("one-thread", "whether host threads matter", 2),
    Step("watched", "writes that land in other buffers"),
)
SERIALISED = Step("serialised", "which launch the device stops in")
LONGER = Step("recorded", "whether it ends with more time", 2)  # of a program that was stopped early
HOW_OFTEN = Step("recorded", "how often it hangs", 5)  # of a program that ended well in another run
FAILS_TOO = Step("recorded", "whether it fails without an instrument too", 12)
HANGS_TOO = Step("recorded", "whether it hangs without an instrument too", 8)
QUIETLY = Step("recorded", "whether it fails sometimes", QUIET)
REPEATS = Step("recorded", "whether it fails every time", 3)
ABORTED = (  # its own check may abort a program: what is looked for where results are wrong, and not where a program crashes
    RUNTIME,
    GLOBAL_RACES,
    SHARED_MEMORY,
    SHARED_AGAIN,
    NUMBERS,
    REPEATS,
    EXCHANGED,
    SCALED,
    REDIRECTED,
    OTHER_NUMBER,
    EDITED_KERNEL,
)
PLANS: dict[FailureClass, tuple[Step, ...]] = {
    "settled": (),
    "device error": (
        INDICES,
        MEMCHECK,
        CHECKED,
        DUMP,
        WHICH_MEMORY,
        WHICH_BUFFER,
        FENCED,
        FENCED_SERIALISED,
        FENCED_DUMP,
        *EDGES,
        SYNCCHECK,
        RACECHECK,
        INITCHECK,
        POISON,
        SERIALISED,
        REPEATS,
    ),
    "crash": (
        WHICH_MEMORY,
        WHICH_BUFFER,
        *INSIDE,
        *EDGES,
        HEAP,
        Step("oclgrind", "invalid accesses, in an OpenCL simulator"),
        ORDERED,
        RACECHECK,
        SYNCCHECK,
        INITCHECK,
        FILLED,
        POISON,
        REPEATS,
        *ORDER,
    ),
    "hang": (
        Step(LOOPS, "loops that never end"),
        Step("dump", "where the threads are, and what they wait for"),
        LONGER,
        CHECKED,
        SYNCCHECK,
        MEMCHECK,
        INITCHECK,
        RACECHECK,
        *INSIDE[1:],
        *EDGES,
    ),
    "wrong result": (
        RUNTIME,
        RACES,
        HEAP,  # one run that names the line which frees the memory of a copy
        ORDER_FIRST,
        *INSIDE,
        SYNCCHECK,  # threads that miss a barrier race, too
        RACECHECK,
        GLOBAL_RACES,
        SHARED_MEMORY,
        SHARED_AGAIN,
        INITCHECK,
        HOST_MEMORY,
        ORDERED,
        FILLED,
        REPEATS,
        SCALED,  # few runs, and only where the record suggests one
        REDIRECTED,
        POISON,
        *EDGES,
        NUMBERS_OPENCL,
        NUMBERS,
        WIDENED,
        EXCHANGED,
        *ORDER,
        Step("oclgrind", "invalid accesses and races"),
        OTHER_NUMBER,
        EDITED_KERNEL,
    ),
    "no failure": (
        RUNTIME,
        RACES,
        USED_EARLY,  # one run, where nothing changes
        *INSIDE,
        INITCHECK,
        SYNCCHECK,
        RACECHECK,
        ORDERED,  # one run more, and cheaper than what follows
        GLOBAL_RACES,
        SHARED_MEMORY,
        SHARED_AGAIN,
        FILLED,
        NUMBERS,
        NUMBERS_OPENCL,
        HEAP,
        HOST_MEMORY,
        POISON,
        *EDGES,
        QUIETLY,
    ),
    "": (),
}
