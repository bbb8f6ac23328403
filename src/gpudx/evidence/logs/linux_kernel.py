"""The Linux kernel about processes: "segfault at ADDRESS ip ... in OBJECT", processes that it killed for lack of memory or that hang.

A crash names the object in which it happened and the address, which is decoded; a driver's object is where a bad value was used. A
process that was killed for lack of host memory leaves no error of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address

FORMAT = "linux-kernel"
MARKS = ("]: segfault at ", "Out of memory: Killed process", "oom-kill:", ": soft lockup", ": hard LOCKUP", "blocked for more than")
_CRASH = re.compile(r"(\S+)\[(\d+)\]: segfault at ([0-9a-f]+) ip \S+ sp \S+ error (\d+)(?: in ([^\s\[]+))?")
_KILLED = re.compile(r"Out of memory: Killed process (\d+) \(([^)]+)\)(?:.*?anon-rss:(\d+)kB)?")
_STUCK = re.compile(
    r"(?:soft lockup|hard LOCKUP)\b.{0,40}?CPU ?#?(\d+)(?:.{0,30}\[([^:\]]+):(\d+)\])?|task (\S+):(\d+) blocked for more than (\d+)"
)
WRITE = 2  # bit of the page-fault error code (Intel SDM volume 3, "Page-Fault Exceptions")


def read(near: Near) -> Iterator[Event]:
    if found := _CRASH.search(near.text):
        value, place = int(found[3][:16], 16), found[5] or "no loaded object"
        does = "write" if int(found[4][:6]) & WRITE else "read or call"
        said = f"{found[1]} (process {found[2]}) crashed on the host in {place}: a {does} at address {value:#x}."
        notes = tuple(filter(None, (address(value), "not proved: who made the bad value that was used there")))
        yield Event("host-crash", "ending", said, (("in", place),), notes, ("crash-outside-calls",), _next.RECORD)
    elif found := _STUCK.search(near.text):
        yield _stuck(found)
    elif found := _KILLED.search(near.text):
        held = f", which held {int(found[3][:15]) / 1e6:.1f} GB" if found[3] else ""
        said = f"Linux killed {found[2]} (process {found[1]}){held} because host memory ran out."
        yield Event("killed-for-memory", "refusal", said, (("process", found[2]),), next=f"gpudx run -- {_next.APP}")


def _stuck(found: re.Match[str]) -> Event:
    """A driver that waits for a device for ever does this, and other parts of the kernel do it too."""
    name, pid = found[2] or found[4] or "", found[3] or found[5] or ""
    who = f"{name} (process {pid})" if name else f"processor {found[1]}"
    said = f"Linux reports that {who} is stuck in the kernel{f' for more than {found[6]} s' if found[6] else ''}."
    notes = ("not proved: that a GPU driver has anything to do with it; the stack trace below such a line names the module",)
    return Event("kernel-stuck", "ending", said, (("who", name or "processor"),), notes, next=_next.DMESG)
