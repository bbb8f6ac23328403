"""A finding: one fault that a detector or an evidence parser saw, with what it saw."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal

from gpudx.model.fields import LATER

Severity = Literal["error", "warning", "info"]
# What a finding is about: why it went wrong; where that became visible; what only came after it; which program ran, whatever
# it did; a rule that the user stated; or something beside the failure.
Scope = Literal["fault", "symptom", "follower", "program", "stated", "note"]
# How it is known: an instrument saw the act itself; the record shows a value or an order that is wrong; it follows from numbers.
Certainty = Literal["observed", "recorded", "inferred"]
# Whose act it was, as far as that is known.
Attribution = Literal["this", "kernel", "probable", "one of", "unknown"]


@dataclass(frozen=True)
class Framework:
    """What a framework was doing when it made a call: "" for what is not known."""

    operator: str = ""  # "aten::embedding"
    module: str = ""  # "layers.7.mlp", with the class of the model that it is in
    node: str = ""  # the step of the backward pass: "EmbeddingBackward0"
    forward: str = ""  # the line of the forward pass that this step is of
    defined: str = ""  # the line of the Python function that the kernel is compiled from

    @property
    def text(self) -> str:
        """ "by aten::embedding in module layers.7 (Net)"; "by aten::mm in AddmmBackward0, the backward pass of train.py:31"."""
        step = f"{self.node}, the backward pass{f' of {self.forward}' if self.forward else ''}" if self.node else ""
        places = [f"in {one}" for one in (step, f"module {self.module}" if self.module else "") if one]
        return " ".join([*([f"by {self.operator}"] if self.operator else []), *places])


@dataclass(frozen=True)
class Site:
    """One API call of the program: where something was done, refused, or left open.

    `number` counts the recorded calls of the process from 1, in order of time; with a wrapped ring it is the
    number among what was kept. `line` is "file:line" when debug information gives it.
    """

    call: str
    number: int
    pid: int
    tid: int
    api: str = ""
    kernel: str | None = None
    launch: int | None = None
    argument: int | None = None
    argument_name: str | None = None
    value: str | None = None
    status: str | None = None
    source: str | None = None
    host_stack: tuple[str, ...] = ()
    framework: Framework | None = field(default=None, metadata=LATER)
    through: str | None = field(default=None, metadata=LATER)  # the line that made the call, where `source` is its caller


@dataclass(frozen=True)
class Evidence:
    """One observed fact: what was seen, and the calls it was seen in (empty: seen outside any call)."""

    text: str
    calls: tuple[int, ...] = ()
    raw: str | None = None  # file in the case directory, relative, where the observation can be read


@dataclass(frozen=True)
class Allocation:
    """The memory concerned: `id` is its name in reports ("buffer #7"), `state` is live, released, freed, never created, ..."""

    id: str
    size: int | None = None
    state: str = "live"
    address: int | None = field(default=None, metadata=LATER)
    made: Site | None = field(default=None, metadata=LATER)
    freed: Site | None = field(default=None, metadata=LATER)
    needed: int | None = field(default=None, metadata=LATER)  # bytes that the call needs of it, if more than it has
    whole: int | None = field(default=None, metadata=LATER)  # size of the allocation that it is a part of

    @property
    def missing(self) -> int | None:
        """Bytes that it is too small by."""
        return None if self.needed is None or self.size is None else self.needed - self.size


@dataclass(frozen=True)
class Origin:
    """What the kernel's machine code computed the address of an access from: a pointer among its arguments, and an index."""

    argument: int
    byte: int = 0  # of the argument, where the pointer is: not 0 for fields of structures
    loaded: bool = False  # the pointer was read from the memory that the argument points to
    unit: int = 1  # bytes that one step of the index is
    index: int | None = None  # that the address has
    meant: int | None = None  # that the computation gives where no number wraps
    reach: tuple[int, int] | None = None  # the smallest and the largest index over all threads of the launch
    text: str = ""  # how it is computed, with values
    source: str = ""  # where the index was read from, with the value, if it was read from memory
    read_through: tuple[int, int] | None = field(default=None, metadata=LATER)  # the pointer to it: an argument, and the byte there

    @property
    def pointer(self) -> str:
        """ "the pointer at byte 8 of argument 0"."""
        argument = f"argument {self.argument}" if not self.byte else f"the pointer at byte {self.byte} of argument {self.argument}"
        return f"a pointer read from the memory of {argument}" if self.loaded else argument

    @property
    def words(self) -> str:
        """ "indexes argument 0 in steps of 4 bytes with blockIdx.x + 1 = 128 (...)": completes "the machine code ..."."""
        step = f" in steps of {self.unit} bytes" if self.unit > 1 else ""
        return f"indexes {self.pointer}{step} with {self.text}" if self.text else f"computes the address from {self.pointer}"


@dataclass(frozen=True)
class Access:
    """One access that went wrong, whoever saw it: a dump, a sanitizer, a fence, a signal, or a check inside the kernel."""

    address: int | None = None
    kind: Literal["read", "write", ""] = ""  # "": not known
    by: Literal["kernel", "host", "driver", ""] = ""  # whose code made it
    kernel: str = ""
    width: int | None = None  # bytes
    offset: int | None = None  # from the start of the allocation; negative before it
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    pc: int | None = None
    source: str | None = None  # "file:line" in the kernel: the user's line, not that of a header it was inlined from
    space: str = ""  # "global", "shared", "local"; "": not known
    exception: str = ""  # what the device or the tool called it
    seen_by: str = ""  # "dump", "memcheck", "fence", "signal", "kernel check"
    origin: Origin | None = field(default=None, metadata=LATER)  # from a backward slice over the kernel's code
    function: str = field(default="", metadata=LATER)  # that the line is in, where it is one which the kernel calls
    # Of a race that a kernel check saw: between a read and a store (in memory through which a group exchanges values), between stores of
    # different values, or between an update and something else.
    conflict: Literal["", "read and store", "exchange", "stores", "update"] = field(default="", metadata=LATER)


@dataclass(frozen=True)
class Interval:
    """The launches that can have made a fault which the device reported later."""

    launches: int  # how many there are
    ended_before: int  # calls up to this number had surely ended
    single: bool = False  # one launch stands out, or is alone
    complete: bool = False  # all work of the interval is in the record
    suspicious: int = 0  # launches with something wrong in their arguments
    own_wait: bool = False  # the recorder waited right behind the launch (--serialise)
    followers: int = 0  # calls that failed after the report, because of it
    said: str = ""  # what the status says, in words
    cause: str = ""  # the cause that the status alone names, if it does
    short: str = ""  # which memory of the launch is too small for it, in words
    completed: int | None = None  # launches that breadcrumbs show as complete; None: there were no crumbs


@dataclass(frozen=True)
class Symptom:
    """Where a failure became visible."""

    kind: Literal["crash in call", "device error", "crash", "hang", "failed call"]
    decoded: str = ""  # the value from which the fault address follows
    thread_known: bool = True  # is it known which thread died?
    interval: Interval | None = None  # of a device error
    named: bool = False  # of a hang: breadcrumbs name the one launch that did not end


@dataclass(frozen=True)
class OrderPair:
    """Two operations that nothing orders, as an experiment can find them again (native/core/sites.h)."""

    hold: str = ""
    edge: str = ""
    missing: str = ""  # the line of code that would order them
    queues: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Written:
    """Where a fault is written: a line of a source file, or of a log. `follows` is the line (of that log) that it comes after."""

    file: str
    line: int
    last: int = 0
    format: str = ""  # of a log
    role: str = ""  # of a line of a log: fault, report, refusal, ending
    follows: tuple[str, int] | None = None
    next: str = ""  # the command that would settle it, as it fits this log


@dataclass(frozen=True)
class DeviceCode:
    """What a listing of device code has of one kernel."""

    kernel: str
    arch: str = ""
    tensor_instructions: int = 0


@dataclass(frozen=True)
class Finding:
    """What a detector saw. No evidence, no finding.

    `facts` are the parts that do not change between runs (names, indexes, sizes; no addresses or thread ids):
    they make the fingerprint, so that the same fault has the same fingerprint on another day and machine.
    """

    id: str  # detector id, for example "value-is-not-a-handle"
    severity: Severity
    message: str
    evidence: tuple[Evidence, ...]
    site: Site | None = None
    others: tuple[Site, ...] = ()  # second sites: the other thread, the release, the followers
    allocation: Allocation | None = None  # the memory concerned
    causes: tuple[str, ...] = ()  # cause ids it suggests, most likely first
    facts: tuple[tuple[str, str], ...] = ()
    count: int = 1  # how often the same fault was seen; sites after the first are folded
    scope: Scope = field(default="fault", metadata=LATER)
    certainty: Certainty = field(default="recorded", metadata=LATER)
    attribution: Attribution = field(default="this", metadata=LATER)
    because: str = field(default="", metadata=LATER)  # why it is known, or what is not: the reason that a verdict gives
    access: Access | None = field(default=None, metadata=LATER)
    symptom: Symptom | None = field(default=None, metadata=LATER)
    pair: OrderPair | None = field(default=None, metadata=LATER)
    ties: tuple[str, ...] = field(default=(), metadata=LATER)  # objects that it is about: equal ties, the same object
    inevitable: bool = field(default=False, metadata=LATER)  # the call cannot succeed with it, whatever else is right
    written: Written | None = field(default=None, metadata=LATER)
    code: DeviceCode | None = field(default=None, metadata=LATER)
    part: str = field(default="", metadata=LATER)  # of the program that it was made in: a test
    root: Site | None = field(
        default=None, metadata=LATER
    )  # the call to change, where it is not the site: an allocation, a free
    steps: tuple[str, ...] = field(default=(), metadata=LATER)  # what to do next, as it follows from what was seen here
    pid: int = field(default=0, metadata=LATER)  # the process; 0 for what is of the whole run

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"finding {self.id} without evidence")

    @property
    def reports_device_error(self) -> bool:
        """Is it the report of a fault that earlier work made on the device?"""
        return self.symptom is not None and self.symptom.kind == "device error"

    @property
    def fingerprint(self) -> str:
        """Equal for equal faults across runs, addresses and machines. Algorithm "1"."""
        text = "\n".join([self.id, *(f"{k}={v}" for k, v in sorted(self.facts))])
        return "1:" + hashlib.sha256(as_written(text).encode()).hexdigest()[:16]


def as_written(text: str) -> str:
    """Names may hold bytes that are no text: here as they read in a case, so that a case that was read has the same
    fingerprints."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
