"""The program found no platform or no device of the kind it asked for, and made no context.

Example:

    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL);      // CL_DEVICE_NOT_FOUND: the machine has only a CPU

Fix it by asking for a kind of device that exists, or by installing the driver of the one that you need.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import several

ID = "no-device"
CAUSE = Cause(
    id=ID,
    title="No device of the kind that the program asks for was found",
    refutes_if="Another program finds such a device in the same environment.",
    fix=("Install the driver of the device that you need, or ask for a kind of device that exists.",),
    fix_of=(("opencl", "clinfo lists the platforms and devices that a program finds; each driver has a file in the ICD vendors folder."),),
    predicts=(("recorded", "the call that asks for devices fails each time"),),
    kind=FIXED,
)
TYPES = {1: "default", 2: "CPU", 4: "GPU", 8: "accelerator", 16: "custom"}
EVERY = 0xFFFFFFFF


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding, of a run that failed and never had a context."""
    if not run.failed or len(facts.objects.rows_of("context")):
        return
    trace = facts.trace
    asked = trace.select(tuple(c for c in trace.schema.calls if _asks(dict(c.fields), c.does)))
    positions = asked[(trace.column("status", asked) != 0) & (trace.column("end", asked) != 0)]
    if len(positions):
        yield _finding(facts, int(positions[-1]), len(positions))


def _asks(fields: dict[str, str], does: str) -> bool:
    """Does the call ask for platforms or devices?"""
    return "device_type" in fields or (does == "query" and set(fields) == {"num_entries"})


def _finding(facts: Facts, position: int, count: int) -> Finding:
    site, wanted = facts.sites.at(position), facts.trace.record(position).get("device_type")
    if wanted is None:
        what = "found no platform: no driver is installed for this program, or the loader does not find its file"
    else:
        kinds = "any" if wanted == EVERY else several([name for bit, name in TYPES.items() if wanted & bit]) or hex(wanted)
        what = f"found no device of type {kinds}"
    return Finding(
        id=ID,
        severity="error",
        message=f"{site.call} {what} ({site.status}), and the program made no context.",
        evidence=(Evidence(f"{site.call} returned {site.status}", (site.number,)),),
        site=site,
        count=count,
        causes=(ID,),
        certainty="observed",
        because="Every search for a device failed, no context was made, and the program ended with an error.",
        facts=(("call", site.call), ("status", site.status or "?")),
    )
