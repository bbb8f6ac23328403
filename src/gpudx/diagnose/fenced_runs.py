"""What a fenced run had fences around, as an instrument of the case, and what fences cannot see.

A run in which nothing could be fenced was not watched by fences, whatever was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpudx import backends
from gpudx.facts import Facts
from gpudx.facts.fences import RED, Fenced
from gpudx.lab.unpooled import from_inside
from gpudx.model import Instrument
from gpudx.model.how import Fence
from gpudx.text import capital, plural

NAME = "fence"
SHARED = (
    "This program shares memory with other processes, which fenced memory does not allow: that was refused, and such a "
    "program cannot be fenced there."
)
NOTHING = "No memory was fenced: none was allocated in the recorded processes."


def instrument(fence: Fence, processes: Sequence[Facts]) -> Instrument:
    """The fences as an instrument: live if at least one stood."""
    blocks = _blocks(processes)
    missed: Counter[str] = sum((one.fences.missed for one in processes), Counter())
    counts: Counter[str] = sum((one.fences.counts for one in processes), Counter())
    if not blocks and not missed:
        return Instrument(NAME, "not live", NOTHING)
    words = [_counted(fence, blocks, missed), *_looks(counts), *_given_back(blocks), *_pools(processes)]
    if counts["extra_mb"]:
        words.append(f"The fences and freed buffers took up to {counts['extra_mb']:,} MB of device memory.")
    if counts["shared"]:
        words.append(SHARED)
    blind = _blind(blocks, missed) or _parts(processes) or _skipped(counts)
    return Instrument(NAME, "live" if blocks else "not live", " ".join(words), blind=blind)


def _parts(processes: Sequence[Facts]) -> str:
    """Parts of one buffer lie side by side: an access that leaves one of them meets no fence. Where kernels have addresses, a part
    begins wherever one of them points, but for the beginning."""
    count = sum(_bare(one) + _inner(one) for one in processes)
    return f"{plural(count, 'part')} of buffers had no fence of {'their' if count > 1 else 'its'} own" if count else ""


def _bare(facts: Facts) -> int:
    """Parts without a fence of their own."""
    return len(np.setdiff1d(facts.objects.rows_of("subbuffer"), [block.object for block in facts.fences.blocks]))


def _inner(facts: Facts) -> int:
    """Different addresses inside allocations that launches were given as arguments."""
    pointers = facts.launches.pointers
    rows = np.flatnonzero((pointers.object >= 0) & ~pointers.inside)
    begin = facts.objects.table["handle"][pointers.object[rows]]
    return len(np.unique(pointers.value[rows][pointers.value[rows] != begin]))


def _blind(blocks: Sequence[Fenced], missed: Counter[str]) -> str:
    """Why showing nothing would not mean that nothing was there."""
    red = sum(block.edge == RED for block in blocks)
    if missed or not blocks:
        return f"{plural(missed.total(), 'allocation')} had no fence" if blocks else "nothing was fenced"
    return f"{plural(red, 'allocation')} had only a red zone, which sees no reads" if red else ""


def _blocks(processes: Sequence[Facts]) -> list[Fenced]:
    return [block for one in processes for block in one.fences.blocks]


def _counted(fence: Fence, blocks: Sequence[Fenced], missed: Counter[str]) -> str:
    every = plural(len(blocks) + missed.total(), "allocation")
    walled = [block for block in blocks if block.edge != RED]
    red = len(blocks) - len(walled)
    aligned = ", ".join(f"{align:,}" for align in sorted({block.align for block in walled}))
    how = f" ({fence.edge} edge, multiples of {aligned})" if walled else ""
    zones = f"; {red:,} of them by a red zone after it" if red else ""
    without = ", ".join(f"{count:,} ({why})" for why, count in missed.most_common())
    return f"Fenced {len(blocks):,} of {every}{how}{zones}{f'; without a fence: {without}' if without else ''}."


def _looks(counts: Counter[str]) -> list[str]:
    result = f": {counts['damaged']:,} found a change." if counts["damaged"] else " found no change."
    seen = f"{plural(counts['checks'], 'check')} of the bytes next to them{result}"
    skipped = _skipped(counts)
    return [*([seen] if counts["checks"] else []), *([f"{capital(skipped)}."] if skipped else [])]


def _skipped(counts: Counter[str]) -> str:
    """Looks that the budget did not allow (native/core/fence.c): a write beside a buffer may have gone unnoticed."""
    if not counts["skipped"]:
        return ""
    waits = plural(counts["skipped"], "wait")
    return f"the bytes beside buffers were not compared at {waits}, because comparing had taken a sixteenth of the run"


def _given_back(blocks: Sequence[Fenced]) -> list[str]:
    count = sum(block.given_back for block in blocks if block.edge != RED)
    if not count:
        return []
    return [f"The addresses of the {count:,} that were freed first were reused: later accesses to them are not noticed."]


def _pools(processes: Sequence[Facts]) -> list[str]:
    stayed = {
        said: None
        for one in processes
        for name, (part, said) in backends.pools().items()
        if part in one.trace.maps and name not in from_inside(one.trace.path.parent, one.trace.pid)
    }
    return list(stayed)


def not_checked(fence: Fence, processes: Sequence[Facts]) -> tuple[str, ...]:
    """What fences do not see."""
    blocks = _blocks(processes)
    if not blocks:
        return ("What kernels did inside their memory: nothing was fenced.",)
    inside = "Accesses inside an allocation, even if another one was meant, and all accesses to memory without a fence."
    red = any(block.edge == RED for block in blocks)
    zones = (
        ("With a red zone: reads, writes before the start or far past the end, and use after the free.",) if red else ()
    )
    walled = [block.align for block in blocks if block.edge != RED]
    return (inside, *zones, *([_near(fence, max(walled))] if walled else []))


def _near(fence: Fence, align: int) -> str:
    past = f"up to {align - 1} bytes past the end, where the size is not a multiple of {align}, and before the start"
    near = past if fence.edge == "high" else "past the end, up to where its last page ends"
    return f"Reads outside an allocation that do not reach the fence: {near}."
