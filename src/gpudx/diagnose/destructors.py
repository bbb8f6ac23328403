"""What was used after its end was released by a destructor: then a copy of the C++ object ended, and another copy still had the handle.

The leaf, `clReleaseMemObject(mem_)`, is one line for all objects of a class. Whoever wonders why the handle ended needs the object that
ended there, and the rule for its copies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpudx.model import Evidence, Finding, Site

USED_AFTER = ("use-of-released-object", "released-while-bound", "use-after-free")
FRAME = re.compile(r"^(?P<function>.+) at (?P<place>[^/ ]+:\d+) \(.+\)$")
DEEP = 4  # frames from the call to the destructor
STANDARD = ("std::", "__gnu_cxx::", "cl::")


def told(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with the destructor that released what they are about."""
    return tuple(map(_told, findings))


def _told(finding: Finding) -> Finding:
    released = finding.allocation.freed if finding.allocation else None
    found = _destructor(released) if released and finding.causes[:1] and finding.causes[0] in USED_AFTER else None
    if released is None or found is None or finding.severity != "error":
        return finding
    kind, place, caller = found
    text = f"the destructor of {kind} ({place}) made call {released.number}{caller}"
    steps = (_step(kind, released.api),) if not finding.steps and not kind.startswith(STANDARD) else finding.steps
    return replace(finding, evidence=(Evidence(text, (released.number,)), *finding.evidence), steps=steps)


def _destructor(site: Site) -> tuple[str, str, str] | None:
    """The class, the line, and ", in power (app.cpp:12)" of the function in which the object ended."""
    frames = [found for one in site.host_stack if (found := FRAME.match(one))]
    for at, frame in enumerate(frames[:DEEP]):
        kind, _, name = _function(frame).rpartition("::")
        if not (kind and name.startswith("~")):
            continue
        caller = frames[at + 1] if at + 1 < len(frames) else None
        return kind, frame["place"], f", in {_function(caller)} ({caller['place']})" if caller else ""
    return None


def _function(frame: re.Match[str]) -> str:
    return frame["function"].partition("(")[0]


def _step(kind: str, api: str) -> str:
    name = kind.rpartition("::")[2]
    if api == "opencl":
        return (
            f"If objects of {name} are copied or assigned, each copy needs a reference of its own: retain the handle in the copy "
            "constructor and in operator=. Otherwise keep the object until the last use."
        )
    return (
        f"If objects of {name} are copied or assigned, the first copy that ends frees the memory of all: forbid copies, or share one "
        "owner. Otherwise keep the object until the last use."
    )
