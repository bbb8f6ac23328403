"""The process was killed by a signal inside a call of the program.

The driver followed something it was passed and crashed. The call in flight, its thread and all its values are certain, because
they were recorded before the driver was called. Which value caused the crash is certain only if the fault address follows from
it: the fault address is then the value plus a small offset, the place of a field that the driver read.

Example:

    fault address 0x480d8 = value 0x48000 + 0xd8         // the driver read a field of "the object at 0x48000"

Fix it by checking the decoded value; if none was decoded, check each value of the call. The driver is to blame only if all of
them are right.

If the program has its own handler for the signal, it is not known which thread died. If one call was in flight then, only that
is reported: a driver thread may have died while the program waited in the call.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._host_kernels import FENCE_STEP, may_be_overwritten
from gpudx.detectors._impossible import impossible
from gpudx.detectors._in_flight import died_unheard
from gpudx.detectors._own_crash import own_crash
from gpudx.detectors._parameters import Value, label_of, nearest, told, values_of
from gpudx.detectors._related import null_tie
from gpudx.detectors._words import site_of
from gpudx.facts import Facts, LastWords
from gpudx.facts.instruction import impossible_access
from gpudx.facts.open_calls import fatal_call
from gpudx.model import Access, Cause, Evidence, Finding, Site, Symptom
from gpudx.text import signal_name

ID = "crash-in-call"
CAUSE = Cause(
    id=ID,
    title="The driver crashed inside a call of the program",
    refutes_if="The faulting thread was not inside this call.",
    fix=("Check each value that the call was passed.",),
    predicts=(("recorded", "the call is in flight when the signal arrives"),),
    settled_by="a run on another driver",
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    words = facts.trace.last_words
    position = fatal_call(facts)
    if words is not None and position is not None:
        yield own_crash(facts, ID, position) or _finding(facts, position, words)
    elif died_unheard(facts, run) and len(facts.in_flight) == 1:
        yield _unheard(facts, int(facts.in_flight[0]), str(run.outcome.signal))


def _finding(facts: Facts, position: int, words: LastWords) -> Finding:
    site, name = site_of(facts, position), signal_name(words.signal)
    meant = impossible_access(words)  # where the kernel names no address, the instruction may
    address = meant.address if meant else words.fault_address
    values = values_of(facts, position)
    near = nearest(values, address) if address is not None else None
    decoded = f"{near.name} {near.text} + {address - near.value:#x}" if near and address is not None else None
    of = f" for kernel {site.kernel}" if site.kernel else ""
    at = "" if address is None else f" at address {address:#x}"
    where = at + f", which is {decoded}" if decoded else impossible(words) or at
    return Finding(
        id=ID,
        severity="error",
        message=f"The process crashed with {name} inside {site.call}{of} (call {site.number}){where}.",
        evidence=tuple(_evidence(site, name, values, decoded, address)),
        site=site,
        causes=(ID,),
        facts=(
            ("call", site.call),
            ("kernel", site.kernel or ""),
            ("signal", name),
            ("decoded", near.name if near else ""),
        ),
        scope="symptom",
        symptom=Symptom("crash in call", decoded=decoded or ""),
        access=None if address is None else Access(address=address, by="driver", seen_by="signal"),
        steps=_steps(facts, position, near),
        ties=_ties(facts, position),
    )


def _unheard(facts: Facts, position: int, name: str) -> Finding:
    site = site_of(facts, position)
    of = f" for kernel {site.kernel}" if site.kernel else ""
    return Finding(
        id=ID,
        severity="info",
        message=f"The process crashed with {name} while {site.call}{of} (call {site.number}) was in flight; "
        "it is not known which thread died.",
        evidence=(
            Evidence(f"the recorder's handler did not see {name}, so thread and place are not known"),
            Evidence(f"thread {site.tid} was inside {site.call}, the only call in flight", (site.number,)),
            Evidence(f"it was passed {told(values_of(facts, position))}", (site.number,)),
        ),
        site=site,
        causes=(ID,),
        facts=(("call", site.call), ("kernel", site.kernel or ""), ("signal", name), ("decoded", "")),
        scope="symptom",
        symptom=Symptom("crash in call", thread_known=False),
        steps=_steps(facts, position, None),
        ties=_ties(facts, position),
    )


def _evidence(
    site: Site, name: str, values: list[Value], decoded: str | None, address: int | None
) -> Iterator[Evidence]:
    yield Evidence(f"thread {site.tid} was inside {site.call} when {name} reached it", (site.number,))
    yield Evidence(f"it was passed {told(values)}", (site.number,))
    if decoded:
        yield Evidence(f"fault address {address:#x} = {decoded}", (site.number,))


def _steps(facts: Facts, position: int, near: Value | None) -> tuple[str, ...]:
    """The value that the address follows from; otherwise the kernels, where they can damage what the driver works with."""
    if near:
        return (f"Look at {near.name} first: the driver used it as a pointer.",)
    return (FENCE_STEP,) if may_be_overwritten(facts, position) else ()


def _ties(facts: Facts, position: int) -> tuple[str, ...]:
    """What ties it to other findings: the kernel object, and the kind of a handle that was null."""
    null = _null(facts, position)
    return tuple(filter(None, (_kernel_object(facts, position), null_tie(null) if null else None)))


def _kernel_object(facts: Facts, position: int) -> str | None:
    handle = facts.trace.record(position).get("kernel")
    return label_of(facts, handle, position) if handle else None


def _null(facts: Facts, position: int) -> str | None:
    """The kind of a handle that was null, if one was."""
    words = facts.trace.record(position)
    kinds = [
        k
        for n, k in facts.trace.info(position).fields
        if k.startswith("handle:") and n not in ("result", "event") and not words[n]
    ]
    return kinds[0] if kinds else None
