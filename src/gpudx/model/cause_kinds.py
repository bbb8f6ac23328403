"""What causes of one kind predict alike: written once here, and only what sets a cause apart with the cause.

A prediction that may be wrong would refute the truth, so "may change" stands wherever a kind has an honest way out. Nothing is
predicted for experiments in the user's words (sized, rebuilt, revision, sync-*): nobody here knows what these words change.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.model.diagnosis import Expectation, Prediction

TIMING = ("one-processor", "perturbed")
FENCES = ("fenced", "low-fenced")
WAITS = ("amd-serialised", "blocking")  # made by the runtime
COPIED_OTHERWISE = "without-sdma"
RUNTIME = (*WAITS, COPIED_OTHERWISE)
AT_SITES = ("held", "edge", "held-edge")  # of an order finding


@dataclass(frozen=True)
class Kind:
    """A family of causes. `rival` is the cause that stands for the family when no finding suggests one of it."""

    name: str
    predicts: tuple[Prediction, ...] = ()
    rival: str = ""
    needs_threads: bool = False  # conceivable only where several threads made calls
    needs_launches: bool = True
    needs: str = ""  # conceivable only where this experiment can be run
    needs_record: bool = False  # a suspect only where the record of a run speaks for it


def _alike(expects: Expectation, text: str, *experiments: str) -> tuple[Prediction, ...]:
    return tuple(Prediction(one, expects, text) for one in experiments)


FIXED = Kind(
    "the same in every run",
    _alike(
        "stays",
        "the wrong value is passed in every run, whatever the timing",
        *("recorded", "serialised", "one-thread", *TIMING, *AT_SITES, "turns", *FENCES, "poisoned", *RUNTIME),
    )
    + _alike("may change", "drivers differ in what they refuse", "other-device"),
)

LIFETIME = Kind(
    "used after its end",
    _alike(
        "may change",
        "what became of it since depends on timing, and the release may be another thread's",
        *("serialised", "one-thread", "turns", *TIMING, *AT_SITES, *FENCES, "poisoned", *RUNTIME, "other-device"),
    ),
)

MEMORY = Kind(
    "an access outside memory",
    _alike("shown", "the access hits the fence, in that launch", *FENCES)
    + _alike("shown", "the tool names the access", "memcheck")
    + _alike("may show", "where the device reports it, the wait right after the launch reports it", "serialised")
    + _alike("may show", "an access past the end of a sub-buffer hits its fence, in that launch", "parts-fenced")
    + _alike(
        "may change",
        "what lies next to the memory, and when it is written, differs between runs",
        *("turns", "one-thread", *TIMING, *AT_SITES, "poisoned", *RUNTIME, "other-device"),
    ),
    rival="out-of-bounds-access",
)

UNINITIALISED = Kind(
    "uninitialized memory",
    _alike("shown", "the tool names the read", "initcheck")
    + _alike("shown", "the pattern that fills fresh memory appears", "poisoned")
    + _alike("may show", "the kernel reports a read of shared memory that its block never wrote", "shared-memory")
    + _alike("stays", "waits and turns write nothing", "serialised", "turns", *WAITS)
    + _alike(
        "may change",
        "what fresh memory holds differs",
        *("one-thread", *TIMING, *AT_SITES, *FENCES, COPIED_OTHERWISE, "other-device"),
    ),
    rival="read-before-write",
)

ORDER = Kind(
    "order or timing",
    _alike("gone", "with a wait after each launch nothing on the device can overlap", "serialised", *WAITS)
    + _alike("stays", "fences move memory, not launches in time", *FENCES)
    + _alike(
        "may change",
        "it depends on timing",
        *("one-thread", *TIMING, *AT_SITES, "turns", "poisoned", COPIED_OTHERWISE, "other-device"),
    ),
    rival="order-or-timing",
)

MENDED = _alike("may go", "these two are synchronized then; the same fault elsewhere would stay", "edge", "held-edge")

UNORDERED = Kind(
    "unordered work",
    _alike("may change", "waits follow launches, not copies", "serialised", "blocking")
    + _alike("may change", "work of other host threads is not waited for", "amd-serialised")
    + MENDED
    + tuple(one for one in ORDER.predicts if one.experiment not in ("serialised", *WAITS, "edge", "held-edge")),
)

COPIES = Kind(
    "the order of copies by the copy engines",
    _alike("gone", "without the copy engines only kernels run at the same time as kernels", COPIED_OTHERWISE)
    + _alike("stays", "fences move memory, not copies in time", *FENCES)
    + _alike(
        "may change",
        "it depends on timing",
        *("serialised", *WAITS, "one-thread", *TIMING, *AT_SITES, "turns", "poisoned", "other-device"),
    ),
    rival="copy-engines",
    needs=COPIED_OTHERWISE,
)

THREADS = Kind(
    "host threads that interfere with each other",
    _alike("gone", "a single thread cannot collide with another", "one-thread")
    + _alike("stays", "fences and fills do not keep threads apart", *FENCES, "poisoned")
    + _alike("may change", "it depends on timing", *TIMING, *AT_SITES, "serialised", "turns", *RUNTIME, "other-device"),
    rival="threads-collide",
    needs_threads=True,
    needs_launches=False,
)

IN_KERNEL = Kind(
    "device threads that interfere with each other",
    _alike(
        "stays",
        "waits between launches and turns of host threads change nothing inside one",
        *("serialised", "turns", "edge", "held-edge", *WAITS),
    )
    + _alike(
        "may change",
        "it depends on timing inside the device",
        *("one-thread", *TIMING, "held", *FENCES, COPIED_OTHERWISE, "other-device"),
    ),
)

# What an old or other program fails of is its own affair, so nothing is forbidden.
PROGRAM = Kind("which program ran, not what it did", needs_record=True)

WHERE = Kind("where it appeared, not why")  # forbids nothing

# Families that are put to the test even if no finding suggests them, so that a verdict has rivals to win against.
RIVALS = (MEMORY, ORDER, COPIES, THREADS, UNINITIALISED)
