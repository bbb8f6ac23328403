"""The log of AMD's runtime (AMD_LOG_LEVEL): launches with grid, arguments and the ranges of the objects behind them, calls that failed.

":3:hip_module.cpp :670 : ... us: ... hipLaunchKernel: Returned hipErrorX", "ShaderName : ...", "Arg2: = ptr:0x...
obj:[0x...-0x...]" and "Dispatch Header = ..., grid=[...], workgroup=[...]". A device error is noticed by the call that returns
it, not caused by it; the last launches are only the nearest ones. Where the log also has the address of a fault, it is compared
with the ranges of the last launches; where a queue is aborted, the launches since the last wait that succeeded are listed.
Status codes that programs expect (not ready, peer access already enabled, no device) are ignored.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from gpudx.backends.mangling import function_name
from gpudx.evidence.logs import _next, _statuses
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import PAGE
from gpudx.evidence.logs.rocm_queue import MEANINGS
from gpudx.model import Evidence, Finding
from gpudx.text import plural

FORMAT = "amd-log"
MARKS = (
    "Returned hipError",
    "Synchronize: Returned hipSuccess",
    "borting with error",
    "ShaderName : ",
    "= ptr:",
    "= val:",
    "workgroup=[",
    "LaunchKernel (",
    "emory access fault by GPU",
    "faulting addr: 0x",
)
MOST_READ = 100_000
MOST_VALUES = 8
LAST = 3  # launches that are named beside a failure
MOST_KEPT = 64  # launches whose ranges are compared with a fault
NEAR = 16 << 20  # bytes: an address farther from an object says nothing about it
LAUNCHES = "amd-launches"
_RETURNED = re.compile(r"^:\d:[\w.]+ *:\d+ *: .*?\b(hip\w+): Returned (hipError\w+)")
_WAITED = re.compile(r"^:\d:[\w.]+ *:\d+ *: .*?\bhipDeviceSynchronize: Returned hipSuccess")
_ABORTED = re.compile(r"[Aa]borting with error ?: ?(HSA_STATUS_\w+)")
_SHADER = re.compile(r"^:\d:[\w.]+ *:\d+ *: .*ShaderName : (\S.{0,2000})")
_CALL = re.compile(r"^:\d:[\w.]+ *:\d+ *: .*\b(hip\w*LaunchKernel\w*) *\( ")
# Older runtimes print no type and no name of an argument.
_ARGUMENT = re.compile(
    r"Arg(\d+): *([^=\n]{0,200}?) *= ?(?:ptr:(0x[0-9a-fA-F]+|\(nil\))(?: obj:\[(0x[0-9a-fA-F]+)-(0x[0-9a-fA-F]+)\])?|val:(-?[\w.+-]{1,40}))"
)
_CALLED = re.compile(
    r"(?<!hipExtModule)LaunchKernel\w* *\( (?:0x\w+, \{(\d+),(\d+),(\d+)\}, \{(\d+),(\d+),(\d+)\}"
    r"|0x\w+, (\d+), (\d+), (\d+), (\d+), (\d+), (\d+),)"
)
_GRID = re.compile(r"grid=\[(\d+), (\d+), (\d+)\], workgroup=\[(\d+), (\d+), (\d+)\]")
_FAULT = re.compile(r"(?:on address|faulting addr:) (0x[0-9a-fA-F]+|\(nil\))")
MOST_THREADS = 1024  # of a block, on every device that HIP runs on
BYTES = {"char": 1, "bool": 1, "short": 2, "int": 4, "float": 4, "double": 8, "long": 8, "half": 2}  # of types by their last word
ON_PURPOSE = (
    "hipErrorNotReady",
    "hipErrorPeerAccessAlreadyEnabled",
    "hipErrorPeerAccessNotEnabled",
    "hipErrorNoDevice",
)


@dataclass(frozen=True)
class _Range:
    """A pointer that was passed, and the object that the runtime found behind it; without one, begin and end are the pointer."""

    argument: int
    name: str  # its type and name, where the runtime prints them
    begin: int
    end: int

    @property
    def said(self) -> str:
        return f"argument {self.argument}{f' ({self.name})' if self.name else ''}"


@dataclass
class _Launch:
    kernel: str
    ranges: tuple[_Range, ...]
    line: int
    sizes: str = ""
    values: tuple[str, ...] = ()
    threads: int = 0


@dataclass
class _Seen:
    """What the log has told so far."""

    launches: deque[_Launch] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    count: int = 0
    open: int = 0  # of them, those since the last wait for everything
    failed: bool = False


class Lines:
    """The arguments of a launch are printed before the name of its kernel, the grid after it."""

    def __init__(self) -> None:
        self._seen = _Seen()
        self._ranges: list[_Range] = []
        self._values: list[str] = []
        self._shape: tuple[int, ...] = ()  # of the last launch call: grid, then block
        self._calls, self._called = 0, ("", 0)

    def takes(self, near: Near) -> bool:
        """Its own lines about calls are not read by their words: many statuses are expected."""
        return bool(_RETURNED.search(near.text))

    def read(self, near: Near) -> Iterator[Event]:
        text = near.text
        if found := _ARGUMENT.search(text):
            self._argument(found)
        elif found := _CALL.search(text):
            self._called = (found[1], near.line)
            self._calls += 1
            sizes = _CALLED.search(text)
            self._shape = tuple(int(one[:9]) for one in sizes.groups() if one) if sizes else ()
        elif found := _SHADER.search(text):
            self._launched(function_name(found[1])[:120], near.line)
            self._seen.count += 1
            self._seen.open += 1
        elif _WAITED.search(text):
            self._seen.open = 0
        elif found := _ABORTED.search(text):
            yield from self._aborted(found[1], near)
        elif (found := _GRID.search(text)) and self._seen.launches:
            grid, group = ("x".join(found.groups()[i : i + 3]) for i in (0, 3))
            self._seen.launches[-1].sizes = f"{grid} work-items, work-group {group}"
        elif (found := _RETURNED.search(text)) and found[2] not in ON_PURPOSE:
            yield from self._returned(found[1], found[2])
        elif (found := _FAULT.search(text)) and self._seen.launches:
            yield from self._fault(_number(found[1]))

    def _argument(self, found: re.Match[str]) -> None:
        number, name = int(found[1]), found[2].strip()
        if found[6]:
            self._values = [*self._values[-MOST_KEPT:], f"{name or f'argument {number}'} = {found[6]}"]
            return
        begin = _number(found[4] or found[3])
        self._ranges = [*self._ranges[-MOST_KEPT:], _Range(number, name, begin, _number(found[5] or found[3]))]

    def _launched(self, kernel: str, line: int) -> None:
        launch = _Launch(kernel, tuple(self._ranges), line, values=tuple(self._values))
        if self._shape:
            launch.sizes, launch.threads = _sizes(self._shape), prod(self._shape)
        self._seen.launches.append(launch)
        self._ranges, self._values, self._shape = [], [], ()

    def finish(self) -> Iterator[Event]:
        """A log without a failure still says what was launched last: that is where a hang or a silent end is."""
        if self._calls and not self._seen.count and not self._seen.failed:
            said = f"The log of AMD's runtime has {plural(self._calls, 'launch call')}; the last is {self._called[0]}."
            finding = Finding(LAUNCHES, "info", said, (Evidence("no call in this log returned an error"),))
            yield Event(LAUNCHES, "ending", said, finding=finding, line=self._called[1], quote=self._called[0])
        if self._seen.count and not self._seen.failed:
            last = self._seen.launches[-1]
            sizes = f" ({last.sizes})" if last.sizes else ""
            said = f"The log of AMD's runtime has {plural(self._seen.count, 'launch', 'launches')}; the last is {last.kernel}{sizes}."
            seen = Evidence("no call in this log returned an error")
            finding = Finding(LAUNCHES, "info", said, (seen,), facts=(("kernel", last.kernel),))
            yield Event(LAUNCHES, "ending", said, finding=finding, line=last.line, quote=f"ShaderName : {last.kernel}")

    def _returned(self, call: str, name: str) -> Iterator[Event]:
        status = _statuses.named(name)
        if status is not None:
            self._seen.failed = True
            event = _statuses.event(status, "hip", call)
            event = replace(event, next=_next.SERIALISE if event.next == _next.HIP_SERIALISE else event.next)  # this log is of that
            too_many = prod(self._shape[3:])
            limit = f": {too_many:,} threads in a block, and {MOST_THREADS:,} are allowed" if too_many > MOST_THREADS else ""
            own = self._shape and status.group != "device" and "LaunchKernel" in call
            shape = (f"it was called with {_sizes(self._shape)}{limit}",) if own else ()
            yield replace(event, notes=(*event.notes, *shape, *self._nearest()))

    def _aborted(self, status: str, near: Near) -> Iterator[Event]:
        """Neither kernel nor address is printed: it was one of the launches that no wait had shown to be complete."""
        if self._seen.failed or not self._seen.open:
            return
        self._seen.failed = True
        names = [one.kernel for one in list(self._seen.launches)[-self._seen.open :]]
        shown = ", ".join(dict.fromkeys(reversed(names[-LAST:])))
        what = f"{plural(self._seen.open, 'launch', 'launches')} may have been running when the queue was aborted"
        said = f"By the log of AMD's runtime {what}, the latest first: {shown}{', ...' if self._seen.open > LAST else ''}."
        seen = Evidence(f"the log has {plural(self._seen.count, 'launch', 'launches')} before it, and no later wait that succeeded")
        if len(set(names)) == 1:
            yield self._alone(status, what, near)
            return
        kernel: tuple[tuple[str, str], ...] = ()
        finding = Finding(LAUNCHES, "info", said, (seen,), facts=kernel)
        yield Event(LAUNCHES, "ending", said, finding=finding, line=near.line, quote=near.text.strip())

    def _alone(self, status: str, what: str, near: Near) -> Event:
        """All launches that may have been running are of one kernel."""
        launch = self._seen.launches[-1]
        does, causes, _ = MEANINGS.get(status.removeprefix("HSA_STATUS_ERROR_"), (f"failed ({status})", ("device-exception",), ""))
        return Event(
            kind="amd-launch-aborted",
            role="fault",
            message=f"The kernel {launch.kernel} {does}: the log of AMD's runtime has no other launch that may have been running.",
            facts=(("kernel", launch.kernel),),
            notes=(*_numbers_of(launch, None), what, "not proved: that no work was submitted that the log does not have"),
            causes=causes,
            sure=False,
            next=_next.SERIALISE,
        )

    def _nearest(self) -> tuple[str, ...]:
        names = [f"{one.kernel}{f' ({one.sizes})' if one.sizes else ''}" for one in list(self._seen.launches)[-LAST:]]
        if not names:
            return ()
        joined = ", ".join(dict.fromkeys(reversed(names)))
        return (f"launched last before it, the latest first: {joined}; with several queues it may be another one",)

    def _fault(self, address: int) -> Iterator[Event]:
        """The object that is nearest to the address of a fault, among those of the last launches."""
        self._seen.failed = True
        places = [(_distance(one, address), launch, one) for launch in self._seen.launches for one in launch.ranges]
        distance, launch, one = min(places, key=lambda place: place[0], default=(NEAR, None, None))
        if launch is None or one is None or distance >= NEAR:
            return
        side = "past the end of" if address >= one.end else "before the start of" if address < one.begin else "inside"
        far = f"{distance:,} bytes {side}" if distance else "inside" if side == "inside" else f"right {side}"
        size = one.end - one.begin
        if not size and address >= PAGE:
            return  # the runtime knew no object behind the pointer
        said = (
            f"The fault address {address:#x} is {far} the object ({size:,} bytes) that {one.said} of {launch.kernel} "
            f"points to."
            if size
            else f"The fault address {address:#x} is null, as {one.said} of {launch.kernel} is."
        )
        others = {other.kernel for place, other, _ in places if place == distance} - {launch.kernel}
        doubt = "not proved: that this launch faulted; the address is only nearest to its argument"
        yield Event(
            kind="amd-argument-near-fault",
            role="fault",
            message=said,
            facts=(("argument", str(one.argument)), *((("kernel", launch.kernel),) if not others else ())),
            notes=(*_numbers_of(launch, one), doubt, *((f"{', '.join(sorted(others))} got the same object",) if others else ())),
            causes=("null-pointer",) if not size else ("use-after-free",) if side == "inside" else ("out-of-bounds-access",),
            sure=False,
            next=_next.SERIALISE,
        )


def reader() -> Lines:
    return Lines()


def _number(text: str) -> int:
    return 0 if text == "(nil)" else int(text, 16)


def _sizes(shape: tuple[int, ...]) -> str:
    grid, block = ("x".join(map(str, shape[at : at + 3])) for at in (0, 3))
    return f"{grid} blocks of {block} threads"


def _numbers_of(launch: _Launch, one: _Range | None) -> Iterator[str]:
    """What the log has of the launch, for a reader to compare: how many threads, how many elements, which values."""
    holds = _elements(one) if one else ""
    if launch.sizes:
        threads = f" ({launch.threads:,} threads)" if launch.threads else ""
        yield f"the launch has {launch.sizes}{threads}{holds}"
    if launch.values:
        yield f"its values: {', '.join(launch.values[:MOST_VALUES])}"


def _elements(one: _Range) -> str:
    words = re.sub(r"\b(?:const|unsigned|volatile|restrict)\b|__restrict__", "", one.name.partition("*")[0]).split()
    width = BYTES.get(words[-1], 0) if words and "*" in one.name else 0
    return f"; the object holds {(one.end - one.begin) // width:,} of type {words[-1]}" if width and one.end > one.begin else ""


def _distance(one: _Range, address: int) -> int:
    return max(one.begin - address, address - one.end, 0)
