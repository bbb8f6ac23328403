"""The kernels of Linux and macOS about processes and themselves: "segfault at ADDRESS", processes that were killed or hang, panics.

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
MARKS = (
    "]: segfault at ",
    "Out of memory: Killed process",
    "oom-kill:",
    ": soft lockup",
    ": hard LOCKUP",
    "blocked for more than",
    "kernel BUG at ",
    "Internal error: Oops",
    "BUG: unable to handle",
    "BUG: kernel NULL pointer",
    "Unable to handle kernel",
    "Kernel panic - not syncing",
    "general protection fault",
    "ANOM_ABEND",
    "panic(cpu ",
    "while in kernel mode",
)
_CRASH = re.compile(r"(\S+)\[(\d+)\]: segfault at ([0-9a-f]+) ip \S+ sp \S+ error (\d+)(?: in ([^\s\[]+))?")
_KILLED = re.compile(r"Out of memory: Killed process (\d+) \(([^)]+)\)(?:.*?anon-rss:(\d+)kB)?")
_STUCK = re.compile(
    r"(?:soft lockup|hard LOCKUP)\b.{0,40}?CPU ?#?(\d+)(?:.{0,30}\[([^:\]]+):(\d+)\])?|task (\S+):(\d+) blocked for more than (\d+)"
)
_OOPS = re.compile(
    r"kernel (BUG at \S+:\d+)|Internal error: (Oops.{0,60})|(?:BUG: )?(?:unable|Unable) to handle (kernel [\w ]+?)(?: at (?:virtual "
    r")?address|:|$)"
    r"|Fatal trap \d+: ([\w ]{4,60}) while in kernel mode"
    r"|BUG: (kernel NULL pointer dereference)|Kernel panic - not syncing: (.{2,100})|(general protection fault)"
)
_PANIC = re.compile(r"panic\(cpu \d+ caller \w+\): \"?([^\"@]{3,300})")
_MODULE = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[(\w+)")
_ABEND = re.compile(r"\bpid=(\d+) comm=\"([^\"]{1,40})\".*?\bsig=(\d+)")
SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
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
    elif found := _OOPS.search(near.text):
        yield _oops(next(filter(None, found.groups())).strip(), near)
    elif found := _PANIC.search(near.text):
        gpu = "GPU" in found[1]
        said = f"The macOS kernel panicked{' because of the GPU' if gpu else ''}: {found[1].strip()[:160]}."
        yield Event("gpu-panic" if gpu else "kernel-oops", "ending", said, (("gpu", str(gpu)),))
    elif "ANOM_ABEND" in near.text and (found := _ABEND.search(near.text)):
        name = SIGNALS.get(int(found[3][:3]), f"signal {found[3]}")
        said = f"{found[2]} (process {found[1]}) ended by {name}."
        yield Event("host-crash", "ending", said, (("signal", name),), (), ("crash-outside-calls",), _next.RECORD)
    elif found := _KILLED.search(near.text):
        held = f", which held {int(found[3][:15]) / 1e6:.1f} GB" if found[3] else ""
        said = f"Linux killed {found[2]} (process {found[1]}){held} because host memory ran out."
        yield Event("killed-for-memory", "refusal", said, (("process", found[2]),), next=f"gpudx run -- {_next.APP}")


def _oops(what: str, near: Near) -> Event:
    """A fault in the kernel's own code; the first module in the stack trace is named where there is one."""
    module = next((hit[1] for hit in map(_MODULE.search, near.after(30)) if hit), "")
    system = "FreeBSD" if "Fatal trap" in near.text else "Linux"
    said = f"The {system} kernel itself failed ({what}){f'; its stack trace names the module {module}' if module else ''}."
    notes = ("not proved: that a GPU driver has anything to do with it",) if not module else ()
    return Event("kernel-oops", "ending", said, (("module", module), ("what", what[:40])), notes, next=_next.DMESG)


def _stuck(found: re.Match[str]) -> Event:
    """A driver that waits for a device for ever does this, and other parts of the kernel do it too."""
    name, pid = found[2] or found[4] or "", found[3] or found[5] or ""
    who = f"{name} (process {pid})" if name else f"processor {found[1]}"
    said = f"Linux reports that {who} is stuck in the kernel{f' for more than {found[6]} s' if found[6] else ''}."
    notes = ("not proved: that a GPU driver has anything to do with it; the stack trace below such a line names the module",)
    return Event("kernel-stuck", "ending", said, (("who", name or "processor"),), notes, next=_next.DMESG)
