"""What a fenced run had fences around, as an instrument of the case, and what fences cannot see.

A run in which nothing could be fenced was not watched by fences, whatever was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpudx import backends
from gpudx.evidence._words import plural
from gpudx.facts import Facts
from gpudx.lab.fenced import Fence
from gpudx.model import Instrument

NAME = "fence"
REASONS = {
    "managed": "managed",
    "captured": "made while a stream was captured",
    "memory": "for which there was not enough device memory",
    "addresses": "for which there were no addresses",
    "unsupported": "on a device without virtual memory management",
    "other": "for another reason",
}
SHARED = (
    "This program gives memory to other processes, which fenced memory does not allow: that was refused, and such a "
    "program cannot be fenced there."
)
NOTHING = "Nothing was fenced: no device memory was allocated in the recorded processes."


def instrument(fence: Fence, processes: Sequence[Facts]) -> Instrument:
    """The fences as an instrument: live if there was at least one."""
    live = [one for one in processes if one.fences.live]
    fenced = sum(one.fences.fenced for one in live)
    unfenced = sum((Counter(one.fences.unfenced) for one in live), Counter[str]())
    if not live:
        return Instrument(NAME, "not live", NOTHING)
    words = [_counted(fence, fenced, unfenced), *_looks(live), *_freed(live), *_pools(processes)]
    if any(one.fences.counts.get("shared") for one in live):
        words.append(SHARED)
    return Instrument(NAME, "live" if fenced else "not live", " ".join(words))


def _counted(fence: Fence, fenced: int, unfenced: Counter[str]) -> str:
    all_ = fenced + sum(unfenced.values())
    not_ = ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in unfenced.items())
    head = f"Fenced {fenced:,} of {plural(all_, 'allocation')} ({fence.edge} edge, multiples of {fence.align})"
    return f"{head}; not fenced: {not_}." if not_ else f"{head}."


def _looks(live: Sequence[Facts]) -> list[str]:
    checks, damaged = (sum(one.fences.counts.get(name, 0) for one in live) for name in ("checks", "damaged"))
    return [f"Looked {plural(checks, 'time')} at the bytes around them, {damaged:,} of these had changed."] if checks else []


def _freed(live: Sequence[Facts]) -> list[str]:
    given_back = sum(one.fences.counts.get("given_back", 0) for one in live)
    if not given_back:
        return []
    return [f"The addresses of the {given_back:,} that were freed first were given back: their use is not noticed any more."]


def _pools(processes: Sequence[Facts]) -> list[str]:
    maps = [one.trace.maps for one in processes]
    return [said for part, said in backends.pools().items() if any(part in text for text in maps)]


def not_checked(fence: Fence, live: bool) -> tuple[str, ...]:
    """What fences do not see."""
    if not live:
        return ("What kernels did inside their memory: nothing was fenced.",)
    side, other = ("behind", "before") if fence.edge == "high" else ("before", "behind")
    far = f"up to {fence.align - 1} bytes behind the end, where the size is no multiple of {fence.align}"
    near = f"{far}, and {other} it" if fence.edge == "high" else "behind it, in the same mapping (2 MB or less)"
    return (
        "Accesses inside an allocation: fences stand around it.",
        f"Reads outside an allocation that do not reach the fence {side} it: {near}.",
    )
