"""OpenCL errors as wrappers print them: CL_OUT_OF_RESOURCES, "clEnqueueNDRangeKernel failed (-54)", "OpenCL error -5".

Codes and names: the OpenCL 3.0 specification, section "Error codes" of the API headers. Most are refusals: the printed call is
the right one. CL_OUT_OF_RESOURCES (-5) from a wait or a read is what drivers answer after a fault of the device, so there the
printed call is innocent. Geometry that stands in the line is checked: a global size that is no multiple of the local one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import place

FORMAT = "opencl-error"
GENERIC = True
MARKS = ("CL_INVALID_", "CL_OUT_OF_", "CL_MEM_OBJECT_ALLOCATION", "CL_BUILD_PROGRAM_FAILURE", "CL_DEVICE_NOT", "CL_EXEC_STATUS",
         "OpenCL error", "OpenCL Error", "clEnqueue", "clFinish", "clSetKernelArg", "clBuildProgram", "clCreate", "clFlush",
         "clWaitForEvents")  # fmt: skip
STATUSES = {
    -1: ("CL_DEVICE_NOT_FOUND", "no device was found", ""),
    -2: ("CL_DEVICE_NOT_AVAILABLE", "the device is not available", ""),
    -4: ("CL_MEM_OBJECT_ALLOCATION_FAILURE", "memory for a buffer could not be had on the device", "failed-call"),
    -5: ("CL_OUT_OF_RESOURCES", "the device ran out of something, or a kernel faulted: drivers answer both alike", ""),
    -6: ("CL_OUT_OF_HOST_MEMORY", "the host ran out of memory, or the driver failed inside", "failed-call"),
    -11: ("CL_BUILD_PROGRAM_FAILURE", "the device code did not compile", "failed-call"),
    -14: ("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "work that this call waited for had failed before", ""),
    -30: ("CL_INVALID_VALUE", "a call was given a value that it does not take", "failed-call"),
    -34: ("CL_INVALID_CONTEXT", "an object of another context was used", "failed-call"),
    -36: ("CL_INVALID_COMMAND_QUEUE", "the queue is dead, or the device failed under it", ""),
    -38: ("CL_INVALID_MEM_OBJECT", "what was given as a buffer is none", "value-is-not-a-handle"),
    -45: ("CL_INVALID_PROGRAM_EXECUTABLE", "the program was not built for this device", "failed-call"),
    -46: ("CL_INVALID_KERNEL_NAME", "the program has no kernel of this name", "failed-call"),
    -48: ("CL_INVALID_KERNEL", "what was given as a kernel is none", "value-is-not-a-handle"),
    -49: ("CL_INVALID_ARG_INDEX", "the kernel has no argument of this number", "failed-call"),
    -50: ("CL_INVALID_ARG_VALUE", "an argument's value does not fit its type", "value-is-not-a-handle"),
    -51: ("CL_INVALID_ARG_SIZE", "an argument has another size than the kernel declares", "argument-size"),
    -52: ("CL_INVALID_KERNEL_ARGS", "an argument of the kernel was never set", "argument-never-set"),
    -54: ("CL_INVALID_WORK_GROUP_SIZE", "the work-group is too large, or does not divide the global size", "launch-refused"),
    -55: ("CL_INVALID_WORK_ITEM_SIZE", "the work-group is too long in one dimension", "launch-refused"),
    -57: ("CL_INVALID_EVENT_WAIT_LIST", "a wait list holds what is no event", "failed-call"),
    -58: ("CL_INVALID_EVENT", "what was given as an event is none", "failed-call"),
    -59: ("CL_INVALID_OPERATION", "a call was made that is not allowed now", "failed-call"),
    -61: ("CL_INVALID_BUFFER_SIZE", "a buffer was asked for that is empty or larger than the device allows", "failed-call"),
    -63: ("CL_INVALID_GLOBAL_WORK_SIZE", "a global size is zero or too large", "launch-refused"),
}  # fmt: skip
NAMES = {name: code for code, (name, _, _) in STATUSES.items()}
SEVERAL = (-38, -48, -50)  # a wrong value, or an object that was released
LATE = (-5, -14, -36)  # what drivers answer when earlier work failed
_NAME = re.compile(r"\bCL_[A-Z_]{3,60}\b")
_CODE = re.compile(r"(?:OpenCL[ _][Ee]rror|cl[A-Z]\w+(?:\([^)]{0,200}\))?)[^\n]{0,80}?(?<![\w.])(-\d{1,3})\b")
_SHORT = re.compile(r"\bcl[A-Z]\w+ failed: ([A-Z][A-Z_]{3,60})\b")  # pyopencl leaves the beginning of the name out
_FAILS = re.compile(r"error|fail|->|returned|assert|exception", re.IGNORECASE)
_CODELIKE = re.compile(r"[=!]= *CL_|^\s*case |\breturn CL_|#define|CL_CHECK\(")
_SIZES = re.compile(
    r"global\w*\s*=?\s*[<\[({]?\s*([\dx, ]+?)\s*[>\])}]?,? *local\w*\s*=?\s*[<\[({]?\s*([\dx, ]+?)\s*(?:[>\])}]|$)"
)


def read(near: Near) -> Iterator[Event]:
    text = near.text
    code = None if _CODELIKE.search(text) else _status(text)
    if code is not None:
        yield refused(code, place(text), _geometry(text, near))


def _status(text: str) -> int | None:
    named = next((NAMES[found] for found in _NAME.findall(text) if found in NAMES), None)
    short = _SHORT.search(text)
    if named is None and short:
        named = NAMES.get(f"CL_{short[1]}")
    if named is not None:
        return named
    match = _CODE.search(text) if _FAILS.search(text) else None
    return int(match[1]) if match and int(match[1]) in STATUSES else None


def refused(code: int, where: str, geometry: tuple[str, ...]) -> Event:
    name, means, cause = STATUSES[code]
    launched = "NDRange" in where or "Task" in where
    late = code in LATE and not launched
    role: Role = "report" if late else "refusal"
    head = f"{means[:1].upper()}{means[1:]} ({name}, {code})"
    message = (
        f"{head}; the printed call may only be where it was noticed."
        if late
        else f"{head}{f', in {where}' if where else ''}."
    )
    unproved = ("not proved: which launch it was; earlier ones in the queue come into question",) if late else ()
    maybe = ("device-error-reported",) if late else ("launch-refused",) if code == -5 else ()
    return Event(
        kind=name.removeprefix("CL_").lower().replace("_", "-"),
        role=role,
        message=message,
        facts=(("api", "opencl"), ("status", name), *((("at", where),) if where else ())),
        notes=(*geometry, *unproved),
        causes=(cause,) if cause else maybe,
        sure=code not in (*LATE, *SEVERAL),
        next=_next.SERIALISE if late else _next.RECORD,
        noticed=where if late else "",
    )


def _geometry(text: str, near: Near) -> tuple[str, ...]:
    """The sizes of the launch, from this line or the one before, and whether they fit each other."""
    return next((told for told in map(sizes, (text, *near.before(1))) if told), ()) if "NDRange" in text else ()


def sizes(text: str) -> tuple[str, ...]:
    """Global size and work-group of a line, and whether they fit each other."""
    match = _SIZES.search(text)
    if match is None:
        return ()
    parts = [[int(one[:9]) for one in re.findall(r"\d+", part)] for part in match.groups()]
    odd = [f"{g} is no multiple of {n}" for g, n in zip(*parts, strict=False) if n and g % n]
    items = 1
    for one in parts[1]:
        items *= one
    told = (
        f"global size {'x'.join(map(str, parts[0]))}, work-group {'x'.join(map(str, parts[1]))} = {items:,} work-items"
    )
    return (told, *odd)
