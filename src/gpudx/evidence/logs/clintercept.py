"""Traces of the Intercept Layer for OpenCL (CLIntercept): ">>>> call( kernel ): ..." and "<<<< call -> CL_..." under it.

It reads calls that returned an error, with the kernel and the sizes of the line that opened them. A call that was opened and
has no end in the trace was in flight when the program ended. With FinishAfterEnqueue, a wait that fails is that of the launch before
it. Its error log ("ERROR! call returned CL_...") and its leak report
are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs.opencl_error import NAMES, STATUSES, refused, sizes

FORMAT = "clintercept"
MARKS = (">>>> cl", "<<<< cl", "ERROR! cl", "... cl", "eventCallbackCaller: ", "Injection ",
         "Possible leak of type cl_", "Unexpected counts for type cl_")
MOST_READ = 100_000
MOST_OPEN = 8
COUNTS = ("allocations", "retains", "releases")
_OPENED = re.compile(r">>>> (cl\w+)(?:\( (\w+) \))?")
_CLOSED = re.compile(r"<<<< (cl\w+)(?:.*?)-> (CL_\w+)")
_ENDED = re.compile(r"(?:<<<<|ERROR!) (cl\w+)")
_RETURNED = re.compile(r"ERROR! (cl\w+) returned (CL_\w+)")
# FinishAfterEnqueue: it waits for each command before the next one is enqueued (CLIntercept, logFlushOrFinishAfterEnqueueEnd).
_WAITED = re.compile(r"\.\.\. clFinish after (cl\w+) returned (CL_[A-Z_]+)")
_EVENT = re.compile(r">>>> eventCallbackCaller: event = \S+, status = (\w+) \((-\d+)\)")
_INJECT = re.compile(r"^Injection [\w-]+ file doesn't exist: ")  # it looks for a file by several names
# The report of objects at the end (CLIntercept, objtracker.cpp): a heading, and three counts under it.
_LEAK = re.compile(r"(Possible leak|Unexpected counts) (?:of|for) type (cl_\w+)!")
_COUNT = re.compile(r"Number of (?:Allocations|Retains|Releases): +(\d+)")


@dataclass(frozen=True)
class _Open:
    call: str
    kernel: str
    text: str
    line: int


class Lines:
    """Remembers the call that is open. Calls of several threads may stand between each other: then nothing is joined."""

    def __init__(self) -> None:
        self._open: list[_Open] = []

    def read(self, near: Near) -> Iterator[Event]:
        if found := _OPENED.search(near.text):
            self._open = [*self._open[-MOST_OPEN:], _Open(found[1], found[2] or "", near.text.strip(), near.line)]
        elif found := _ENDED.search(near.text):
            opened = next((one for one in reversed(self._open) if one.call == found[1]), None)
            self._open = [one for one in self._open if one is not opened]
            failed = _CLOSED.search(near.text) or _RETURNED.search(near.text)
            if failed and failed[2] in NAMES:
                yield _failed(failed[1], failed[2], opened)

        elif (found := _WAITED.search(near.text)) and found[2] in NAMES:
            opened = next((one for one in reversed(self._open) if one.call == found[1]), None)
            yield _waited(found[1], found[2], opened)
        elif found := _EVENT.search(near.text):
            code = int(found[2])
            name = STATUSES[code][0] if code in STATUSES else found[1]
            said = f"The command of an event failed ({name}, {code})."
            causes = ("device-error-reported",)
            yield Event("event-failed", "report", said, (("status", name),), causes=causes, next=_next.SERIALISE, sure=False)
        elif found := _LEAK.search(near.text):
            counts = [int(hit[1][:12]) for hit in map(_COUNT.search, near.after(3)) if hit]
            yield _counted(found[2], found[1] == "Possible leak", counts)

    def takes(self, near: Near) -> bool:
        """A file that it looked for is no missing part of the program."""
        return bool(_INJECT.search(near.text))

    def finish(self) -> Iterator[Event]:
        if len(self._open) == 1:
            yield _in_flight(self._open[0])


def reader() -> Lines:
    return Lines()


def _failed(call: str, status: str, opened: _Open | None) -> Event:
    event = refused(NAMES[status], call, sizes(opened.text) if opened else ())
    kernel = opened.kernel if opened else ""
    if not kernel:
        return event
    return replace(
        event, facts=(*event.facts, ("kernel", kernel)), notes=(f"the call was for the kernel {kernel}", *event.notes)
    )


def _waited(call: str, status: str, opened: _Open | None) -> Event:
    """Only one command was on the device: the one whose wait failed."""
    kernel = opened.kernel if opened else ""
    what = f"The kernel {kernel}" if kernel else f"The command of {call}"
    said = f"{what} failed on the device: the clFinish right after {call} returned {status}."
    facts = (("call", call), ("status", status), ("kernel", kernel))
    notes = ("CLIntercept waited after each command, so that no other one was running",)
    return Event("command-failed", "fault", said, facts, notes, ("device-error-reported",), _next.SANITIZE, sure=False)


def _counted(kind: str, leak: bool, counts: list[int]) -> Event:
    numbers = " ({:,} created, {:,} retained, {:,} released)".format(*counts) if len(counts) == len(COUNTS) else ""
    said = f"Objects of type {kind} were {'not all released' if leak else 'released more often than they were retained'}{numbers}."
    return Event("object-leak" if leak else "object-over-release", "refusal", said, (("type", kind),), warning=True)


def _in_flight(one: _Open) -> Event:
    named = f" for the kernel {one.kernel}" if one.kernel else ""
    return Event(
        kind="call-in-flight",
        role="ending",
        message=f"The trace ends inside {one.call}{named}: that call had not returned.",
        facts=(("call", one.call), ("kernel", one.kernel)),
        causes=("crash-in-call",),
        next=_next.RECORD,
        line=one.line,
        quote=one.text,
    )
