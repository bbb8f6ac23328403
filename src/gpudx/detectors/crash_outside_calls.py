"""The process was killed by a signal while its thread was in no recorded call.

The fault is in the program's own code, in a kernel that runs on the host's processor, or in a thread of the driver. The place
and the stack show which. Work that was queued and not known to be complete is listed: a kernel on a CPU device that leaves its
memory dies like this, some time after its launch was accepted. So does a copy to host memory that does not exist; the fault
address then matches its pointer.

Example:

    clEnqueueNDRangeKernel(...);                         // accepted
    use(result[-1]);                                     // the program's own fault, or the kernel's: see the stack

Fix it where the stack points to; if that is a driver thread or a kernel, check the listed commands and their values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._host_kernels import FENCE_STEP, may_be_overwritten
from gpudx.detectors._impossible import access_of, accessing, impossible
from gpudx.detectors._in_flight import all_pending, died_unheard
from gpudx.detectors._own_crash import own_crash
from gpudx.detectors._parameters import nearest, values_of
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts, LastWords
from gpudx.facts.host_code import kernel_at
from gpudx.facts.open_calls import fatal_call
from gpudx.facts.own_code import is_own
from gpudx.facts.symbols import Place, pretty
from gpudx.facts.unwind import host_places, host_stack
from gpudx.model import Access, Cause, Evidence, Finding, Symptom
from gpudx.text import plural, several, signal_name

ID = "crash-outside-calls"
CAUSE = Cause(
    id=ID,
    title="The program crashed outside any recorded GPU call",
    refutes_if="A recorded call of the same thread was in flight.",
    fix=(
        "Look at the code in which it crashed; in a thread of the driver, look at the last launches and their arguments.",
    ),
    predicts=(("recorded", "no call of the crashing thread is in flight"),),
)
SHOWN = 5
LOOKED_AT = 64  # commands whose values are compared with the fault address
FRAMES = 16


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    words = facts.trace.last_words
    if words is not None and fatal_call(facts) is None:
        yield own_crash(facts, ID, None) or _finding(facts, words)
    elif died_unheard(facts, run) and not len(facts.in_flight):
        yield _unheard(facts, str(run.outcome.signal))


def _finding(facts: Facts, words: LastWords) -> Finding:
    name, place = signal_name(words.signal), facts.symbols.describe(words.pc, False)
    commands = [int(p) for p in all_pending(facts)[::-1]]
    decoded = _decoded(facts, words, commands)
    kernel = kernel_at(facts, words.pc)
    own = None if kernel else _own_code(facts)
    tail = f", at {decoded[1]}" if decoded else impossible(words) or accessing(words)
    shown = list(dict.fromkeys([*([decoded[0]] if decoded else []), *commands]))[:SHOWN]
    return Finding(
        id=ID,
        severity="info",
        causes=(ID,),
        message=_message(own, name, words.tid, place, kernel) + f"{tail}.",
        evidence=tuple(_evidence(facts, words, name, place, commands)),
        others=sites_of(facts, shown),
        facts=(("signal", name), ("place", place.partition(" (")[0].partition("+")[0])),
        scope="symptom",
        symptom=Symptom("crash", decoded=decoded[1] if decoded else ""),
        access=_access(words, kernel, own),
        steps=(FENCE_STEP,) if may_be_overwritten(facts, len(facts.trace)) else (),
    )


@dataclass(frozen=True)
class _OwnCode:
    """The innermost line of the program on the stack of the thread that died; `above`: the functions that it had called."""

    place: Place
    above: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{pretty(self.place.function)} at {os.path.basename(self.place.source)}" if self.place.function else self.place.text()


# What a function that is never seen to return was called for. Assertions and uncaught exceptions end in abort: the first that fits.
ENDED_BY = (
    (re.compile(r"__assert(?:_perror)?_fail(?:_base)?"), "An assertion of the program failed in {own}, and {name} ended the process"),
    (re.compile(r"__cxa_throw"), "An exception that nothing caught was thrown in {own}, and {name} ended the process"),
)


# glibc has several forms of a function, and takes the one that fits the processor: __strcpy_evex (sysdeps/x86_64/multiarch).
VARIANT = re.compile(r"_*(?P<name>[a-z]\w*?)_(?:evex|avx|sse|ssse)\w*")


def _plain(function: str) -> str:
    found = VARIANT.fullmatch(function)
    return found["name"] if found else function


def _own_code(facts: Facts) -> _OwnCode | None:
    places = host_places(facts.trace)
    at = next((number for number, place in enumerate(places) if is_own(place)), None)
    return None if at is None else _OwnCode(places[at], tuple(place.function for place in places[:at]))


def _message(own: _OwnCode | None, name: str, tid: int, place: str, kernel: str | None) -> str:
    if own is not None:
        ended = (words for function, words in ENDED_BY if any(map(function.fullmatch, own.above)))
        if (found := next(ended, None)) is not None:
            return found.format(own=own.text, name=name)
        library = f"{_plain(place.partition(' at ')[0].partition('+')[0])}, called by " if own.above else ""
        return f"The process crashed with {name} in thread {tid}, outside all recorded calls, in {library}{own.text}"
    within = f"while it ran kernel {kernel}" if kernel else "outside all recorded calls"
    return f"The process crashed with {name} in thread {tid}, {within}, in {place}"


def _access(words: LastWords, kernel: str | None, own: _OwnCode | None) -> Access | None:
    """With the line of the program from which it was made; where the program ended itself, only that line."""
    access = access_of(words, kernel)
    if own is None:
        return access
    return replace(access or Access(seen_by="signal"), by="host", source=own.place.source)


def _decoded(facts: Facts, words: LastWords, commands: list[int]) -> tuple[int, str] | None:
    """The command, among those in flight or pending, whose value the fault address follows from."""
    if words.fault_address is None:
        return None
    for position in dict.fromkeys([*map(int, facts.in_flight[::-1]), *commands[:LOOKED_AT]]):
        near = nearest([v for v in values_of(facts, position) if v.value], words.address)
        if near:
            call = facts.trace.info(position).name
            return (
                position,
                f"{near.name} {near.text} + {words.address - near.value:#x} of {call} (call {position + 1})",
            )
    return None


def _evidence(facts: Facts, words: LastWords, name: str, place: str, commands: list[int]) -> Iterator[Evidence]:
    address = f" at address {words.address:#x}" if words.fault_address is not None else ""
    yield Evidence(f"{name} reached thread {words.tid} in {place}{address}")
    stack = host_stack(facts.trace)
    if stack:
        yield Evidence("its stack, innermost first: " + " < ".join(stack[:FRAMES]))
    yield from _last_calls(facts, words.tid)
    for site in sites_of(facts, [int(p) for p in facts.in_flight[:SHOWN]]):
        yield Evidence(f"thread {site.tid} was inside {site.call}", (site.number,))
    if commands:
        names = [_command(facts, p) for p in commands[:SHOWN]]
        numbers = tuple(p + 1 for p in commands[:SHOWN])
        yield Evidence(f"queued and not known to be done, latest first: {several(names, SHOWN)}", numbers)


def _command(facts: Facts, position: int) -> str:
    row = facts.launches.at_position(position)
    what = facts.trace.info(position).name if row is None else f"kernel {facts.launches.name(row)}"
    return f"{what} (call {position + 1})"


def _last_calls(facts: Facts, tid: int | None) -> Iterator[Evidence]:
    """What the thread (all threads, where it is not known) had done before."""
    mine = np.flatnonzero(~facts.trace.is_note)
    mine = mine if tid is None else mine[facts.trace.column("tid", mine) == tid]
    if not len(mine):
        yield Evidence("this thread had made no recorded call: it is one of the driver's, or one of the program's that makes no GPU calls")
        return
    last = [int(p) for p in mine[-3:][::-1]]
    names = [f"{facts.trace.info(p).name} (call {p + 1})" for p in last]
    yield Evidence(
        f"it had made {plural(len(mine), 'call')}, latest first: {several(names)}", tuple(p + 1 for p in last)
    )


def _unheard(facts: Facts, name: str) -> Finding:
    return Finding(
        id=ID,
        severity="info",
        causes=(ID,),
        facts=(("signal", name), ("place", "")),
        scope="symptom",
        symptom=Symptom("crash", thread_known=False),
        message=f"The process crashed with {name} while no recorded call was in flight.",
        evidence=(
            Evidence(f"the recorder's handler did not see {name}, so thread and place are not known"),
            *_last_calls(facts, None),
        ),
    )
