"""Lines of the ROCm runtime: launch bounds that were exceeded, functions that a module does not have.

"LoaderError": a code object was refused, for another device or of another version. "Launch params ... are larger than launch bounds": the
launch was refused before it ran, with both numbers. "Cannot find the
function" and "Cannot find CO in the bundle": the module was built without it or for another device; libraries also print them while
they look for the best variant, so they are reported as warnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.mangling import function_name
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "rocm-runtime"
MARKS = ("LoaderError: ", "leak detected by SharedSignalPool", "Signal handler unable to be set",
         "are larger than launch bounds", "Cannot find the function:", "Cannot find CO in the bundle")
_BOUNDS = re.compile(r"Launch params \(([\d, ]+)\) are larger than launch bounds \((\d+)\) for kernel (\S+)")
_LOADER = re.compile(r"LoaderError: (code object's ISA \((?P<isa>[^)]{1,80})\).{0,60}|unsupported code object version: \d+|[^.;]{3,100})")
_LEAK = re.compile(r"leak detected by SharedSignalPool, (\d{1,9}) Signals? leaked")
_BUNDLE = re.compile(r"Cannot find CO in the bundle.*?\b(gfx\w+)")
_MISSING = re.compile(r"Cannot find the function: (\S+)")


def read(near: Near) -> Iterator[Event]:
    if found := _BOUNDS.search(near.text):
        x, kernel = found[1].replace(" ", "").replace(",", "x"), _name(found[3])
        said = (
            f"The launch of {kernel} was refused: its block is {x}, and it was compiled for {found[2]} threads at most."
        )
        facts = (("kernel", kernel), ("block", x), ("most", found[2]))
        yield Event("launch-bounds", "refusal", said, facts, causes=("launch-refused",), next=_next.RECORD)
    elif found := _LEAK.search(near.text):
        said = f"The program ended without releasing {int(found[1]):,} signals of the HSA runtime."
        yield Event("object-leak", "ending", said, (("type", "signal"),), warning=True)
    elif "Signal handler unable" in near.text:
        said = "The HSA runtime could not install its handler for faults of the device: it may not report one."
        yield Event("rocm-handler-missing", "ending", said, warning=True)
    elif found := _LOADER.search(near.text):
        why = f"it was built for {found['isa']}, which this device does not run" if found["isa"] else found[1].strip(" .")
        what = (("said", re.sub(r"\d+", "#", found[1])[:80]),)
        said = f"The runtime refused to load device code: {why}."
        sure = bool(found["isa"])
        yield Event("code-object-refused", "refusal", said, what, causes=("wrong-architecture",), next=_next.DOCTOR, sure=sure)
    elif found := _BUNDLE.search(near.text):
        said = f"The program or a library has no device code for {found[1]}."
        yield Event(
            "code-object-missing", "refusal", said, (("arch", found[1]),), causes=("wrong-architecture",), next=_next.DOCTOR, warning=True
        )
    elif found := _MISSING.search(near.text):
        said = f"The loaded device code has no function {_name(found[1])}, or none for this device."
        missing = (("function", found[1][:200]),)
        yield Event(
            "function-missing",
            "refusal",
            said,
            missing,
            causes=("wrong-architecture",),
            next=_next.DOCTOR,
            warning=True,
        )


def _name(symbol: str) -> str:
    return (function_name(symbol) or symbol)[:120]
