"""OpenCL errors as programs print them: CL_OUT_OF_RESOURCES, "clEnqueueNDRangeKernel failed (-54)", "OpenCL error -5".

Codes and names: the OpenCL 3.0 specification, section "Error codes" of the API headers. Most are refusals: the printed call is
the right one. Drivers return CL_OUT_OF_RESOURCES (-5), CL_INVALID_COMMAND_QUEUE (-36), -14 and NVIDIA's -9999 after a fault of the
device, from whatever call comes next: that call is not the cause. Sizes in the line are checked: a global size that is
not a multiple of the local one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._languages import FAILS
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import place

FORMAT = "opencl-error"
GENERIC = 1
MARKS = ("CL_INVALID_", "CL_OUT_OF_", "CL_MEM_", "CL_BUILD_PROGRAM_FAILURE", "CL_DEVICE_NOT", "CL_EXEC_STATUS", "CL_PLATFORM_NOT",
         "CL_COMPILE", "CL_LINK", "CL_IMAGE_FORMAT", "CL_MISALIGNED", "CL_MAP_FAILURE",
         "OpenCL error", "OpenCL Error", "OpenCL ERROR", "opencl", "cl::", "oclError", "clEnqueue", "clFinish", "clSetKernelArg",
         "clBuildProgram", "clCompileProgram", "clLinkProgram", "clCreate", "clFlush", "clWaitForEvents",
         "clGetPlatformIDs", "clGetDeviceIDs",
         "clRelease", "OCL error", "CL error", "CL Error", "CL ERROR", "cl_int", "PlatformNotFound", "Ocl", "ndrange", "NDRange",
         "CL: ", "OpenCL ", "Error -", "error -", "OPENCL", "create kernel", "enqueue kernel", "build program",
         "create program", "compile program", "Build program", "Compile program", "Link program",
         "INVALID_KERNEL_ARGS", "INVALID_WORK_", "INVALID_GLOBAL_WORK_SIZE",
         "INVALID_PROGRAM_EXEC", "INVALID_COMMAND_Q", "INVALID_MEM_OBJ", "BUILD_PROGRAM_FAIL", "MEM_OBJECT_ALLOC",
         "code = CL:", "cl: Inv", "cl: Out", "cl: Mem", "cl: Build", "cl: Exec",
         "cl: Device", "cl: Compile", "cl: Link", "cl: Map")  # fmt: skip
STATUSES = {
    -1: ("CL_DEVICE_NOT_FOUND", "no device was found", ""),
    -2: ("CL_DEVICE_NOT_AVAILABLE", "the device is not available", ""),
    -3: ("CL_COMPILER_NOT_AVAILABLE", "the driver has no compiler", ""),
    -4: ("CL_MEM_OBJECT_ALLOCATION_FAILURE", "a buffer could not be allocated on the device", "failed-call"),
    -5: ("CL_OUT_OF_RESOURCES", "the device ran out of a resource, or a kernel faulted: drivers use this code for both", ""),
    -6: ("CL_OUT_OF_HOST_MEMORY", "host memory ran out, or the driver failed internally", "failed-call"),
    -7: ("CL_PROFILING_INFO_NOT_AVAILABLE", "profiling information was requested that does not exist", ""),
    -8: ("CL_MEM_COPY_OVERLAP", "source and destination of a copy overlap", "copy-overlap"),
    -9: ("CL_IMAGE_FORMAT_MISMATCH", "two images have different formats", "failed-call"),
    -10: ("CL_IMAGE_FORMAT_NOT_SUPPORTED", "the device does not support an image format", "failed-call"),
    -11: ("CL_BUILD_PROGRAM_FAILURE", "the device code did not compile", "failed-call"),
    -12: ("CL_MAP_FAILURE", "a buffer could not be mapped", "failed-call"),
    -13: ("CL_MISALIGNED_SUB_BUFFER_OFFSET", "the offset of a sub-buffer is not aligned for the device", "failed-call"),
    -14: ("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "work that this call waited for had already failed", ""),
    -15: ("CL_COMPILE_PROGRAM_FAILURE", "the device code did not compile", "failed-call"),
    -16: ("CL_LINKER_NOT_AVAILABLE", "the driver has no linker", ""),
    -17: ("CL_LINK_PROGRAM_FAILURE", "the device code did not link", "failed-call"),
    -30: ("CL_INVALID_VALUE", "a call got a value that it does not accept", "failed-call"),
    -31: ("CL_INVALID_DEVICE_TYPE", "a device type was requested that does not exist", "failed-call"),
    -32: ("CL_INVALID_PLATFORM", "a platform handle is not valid", "failed-call"),
    -33: ("CL_INVALID_DEVICE", "a device handle is not valid, or belongs to another context", "failed-call"),
    -34: ("CL_INVALID_CONTEXT", "an object of another context was used", "failed-call"),
    -35: ("CL_INVALID_QUEUE_PROPERTIES", "the device does not support the properties of a queue", "failed-call"),
    -36: ("CL_INVALID_COMMAND_QUEUE", "the queue was released, or the device failed under it", ""),
    -37: ("CL_INVALID_HOST_PTR", "host pointer and flags of a buffer do not fit together", "failed-call"),
    -38: ("CL_INVALID_MEM_OBJECT", "the value passed as a buffer is not a buffer", "value-is-not-a-handle"),
    -39: ("CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", "an image format is not valid", "failed-call"),
    -40: ("CL_INVALID_IMAGE_SIZE", "the device does not support the size of an image", "failed-call"),
    -41: ("CL_INVALID_SAMPLER", "the value passed as a sampler is not a sampler", "failed-call"),
    -42: ("CL_INVALID_BINARY", "a program binary is not for this device", "not-device-code"),
    -43: ("CL_INVALID_BUILD_OPTIONS", "the build options are not valid", "failed-call"),
    -44: ("CL_INVALID_PROGRAM", "the value passed as a program is not a program", "failed-call"),
    -45: ("CL_INVALID_PROGRAM_EXECUTABLE", "the program was not built for this device", "failed-call"),
    -46: ("CL_INVALID_KERNEL_NAME", "the program has no kernel of this name", "failed-call"),
    -47: ("CL_INVALID_KERNEL_DEFINITION", "a kernel is declared differently for different devices", "failed-call"),
    -48: ("CL_INVALID_KERNEL", "the value passed as a kernel is not a kernel", "value-is-not-a-handle"),
    -49: ("CL_INVALID_ARG_INDEX", "the kernel has no argument of this number", "failed-call"),
    -50: ("CL_INVALID_ARG_VALUE", "the value of an argument does not fit its type", "value-is-not-a-handle"),
    -51: ("CL_INVALID_ARG_SIZE", "the size of an argument differs from what the kernel declares", "argument-size"),
    -52: ("CL_INVALID_KERNEL_ARGS", "an argument of the kernel was never set", "argument-never-set"),
    -53: ("CL_INVALID_WORK_DIMENSION", "the number of dimensions of a launch is not 1, 2 or 3", "launch-refused"),
    -54: ("CL_INVALID_WORK_GROUP_SIZE", "the work-group is too large, or does not divide the global size", "launch-refused"),
    -55: ("CL_INVALID_WORK_ITEM_SIZE", "the work-group is too long in one dimension", "launch-refused"),
    -56: ("CL_INVALID_GLOBAL_OFFSET", "the global offset is too large", "launch-refused"),
    -57: ("CL_INVALID_EVENT_WAIT_LIST", "a wait list contains something that is not an event", "failed-call"),
    -58: ("CL_INVALID_EVENT", "the value passed as an event is not an event", "failed-call"),
    -59: ("CL_INVALID_OPERATION", "a call is not allowed in this state", "failed-call"),
    -60: ("CL_INVALID_GL_OBJECT", "an OpenGL object cannot be shared", "failed-call"),
    -61: ("CL_INVALID_BUFFER_SIZE", "a buffer size is zero, or larger than the device allows", "failed-call"),
    -63: ("CL_INVALID_GLOBAL_WORK_SIZE", "a global size is zero or too large", "launch-refused"),
    -64: ("CL_INVALID_PROPERTY", "a property is not valid", "failed-call"),
    -1001: ("CL_PLATFORM_NOT_FOUND_KHR", "no OpenCL driver was found", ""),
    -9999: ("NVIDIA's error -9999", "a kernel read or wrote outside its memory", ""),
}  # fmt: skip
NAMES = {name: code for code, (name, _, _) in STATUSES.items()}
WORDS = {
    name.removeprefix("CL_").replace("_", " ").lower(): code for name, code in NAMES.items() if name.startswith("CL_")
}
WORDS["memory object allocation failure"] = -4
WORDS["illegal read or write to a buffer"] = -9999  # NVIDIA's text for it
NO_MEANING = -9999  # NVIDIA returns it for faults of kernels, and for others that have no code
RESOURCES = -5
_COMPILES = re.compile(r"cl(?:Build|Compile|Link)Program")
_BUILDING = re.compile(r"build|compil|link", re.IGNORECASE)
SETUP = (-1, -2, -3, -16, -1001)
SEVERAL = (-38, -48, -50)  # a wrong value, or an object that was released
LATE = (-5, -14, -36, -9999)  # what drivers return when earlier work failed
_NAME = re.compile(r"(?<![A-Za-z0-9_])CL_[A-Z_]{3,60}(?![A-Za-z0-9_])")
_CODE = re.compile(
    r"(?:OpenCL|\bopencl\w*|\bOCL\b|oclError|\bCL[ _](?:[Ee]rror|ERROR)|cl::Error|[Nn][Dd][Rr]ange|(?:create|enqueue) kernel|"
    r"(?:[Bb]uild|create|[Cc]ompile|[Ll]ink)(?:ing)? (?:the )?program\b|\bCL: |\bcode = CL(?=:)"
    r"|(?<![A-Za-z])cl[A-Z]\w+(?:\([^)]{0,200}\))?)[^\n]{0,80}?(?<![\w.])(-\d{1,4})\b(?!\.\d)"
)
_FIRST = re.compile(  # miners name the number before the call
    r"\b[Ee]rror:? (-\d{1,4})\b.{0,120}?(?:OpenCL|\bcl[A-Z][a-z]\w+|command queue|kernel|Device IDs|Platform IDs|context)"
)
_SHORT = re.compile(
    r"(?<![A-Za-z])cl[A-Z]\w+ failed: ([A-Z][A-Z_]{3,60})\b"
)  # pyopencl leaves the beginning of the name out
# Names that no other interface has, as bindings print them, without "CL_".
BARE = (
    "INVALID_KERNEL_ARGS",
    "INVALID_WORK_GROUP_SIZE",
    "INVALID_WORK_ITEM_SIZE",
    "INVALID_GLOBAL_WORK_SIZE",
    "INVALID_PROGRAM_EXECUTABLE",
    "INVALID_COMMAND_QUEUE",
    "INVALID_MEM_OBJECT",
    "BUILD_PROGRAM_FAILURE",
    "MEM_OBJECT_ALLOCATION_FAILURE",
)
_BARE = re.compile(rf"(?<![A-Za-z0-9_])({'|'.join(BARE)})(?![A-Za-z0-9_])")
_FAILS = re.compile(rf"error|fail|->|returned|assert|exception|couldn.t|could not|cannot|\(-\d+\)|{FAILS}", re.IGNORECASE)
_WORDY = re.compile(
    rf"(?:OpenCL|\bocl\b|\bcl:|\bCL error|clEnqueue\w*).{{0,80}}?\b({'|'.join(sorted(WORDS, key=len, reverse=True))})\b", re.IGNORECASE
)
_BEFORE = re.compile(  # C++ bindings and their users: the words, then the call
    rf"\b({'|'.join(sorted(WORDS, key=len, reverse=True))})\b.{{0,60}}?(?:\bcl::[A-Z]|(?-i:(?<![A-Za-z])cl[A-Z][a-z]\w{{3,}}))",
    re.IGNORECASE,
)
_THROWN = re.compile(r"what\(\): +(cl[A-Z]\w+)\s*$")  # cl::Error says only the call; the code is printed by the program
_BESIDE = re.compile(r"(?:code|error|err)\D{0,10}(-\d{1,4})\b", re.IGNORECASE)
_CODELIKE = re.compile(r"[=!]= *CL_|^\s*case |\breturn CL_|#define|CL_CHECK\(")
_SUCCEEDS = re.compile(r"[=!]= *CL_SUCCESS\b")  # the condition of a check that failed; the error stands behind it
_SIZES = re.compile(
    r"global\w*\s*=?\s*[<\[({]?\s*([\dx, ]+?)\s*[>\])}]?,? *local\w*\s*=?\s*[<\[({]?\s*([\dx, ]+?)\s*(?:[>\])}]|$)"
)


def read(near: Near) -> Iterator[Event]:
    text = _SUCCEEDS.sub(" ", near.text)
    code = None if _CODELIKE.search(text) else _status(text)
    if code == NO_MEANING and _BUILDING.search(text):  # only kernels can access memory
        return
    if code is None and (thrown := _THROWN.search(text)):
        beside = next((hit for hit in map(_BESIDE.search, (*near.before(4), *near.after(2))) if hit), None)
        code = int(beside[1]) if beside and int(beside[1]) in STATUSES else None
        text = f"{thrown[1]}()"
    if code is not None:
        where = place(text)
        yield _not_compiled(where) if code == RESOURCES and _COMPILES.match(where) else refused(code, where, _geometry(text, near))


def _status(text: str) -> int | None:
    named = next((NAMES[found] for found in _NAME.findall(text) if found in NAMES), None)
    short = _SHORT.search(text)
    if named is None and short:
        named = NAMES.get(f"CL_{short[1]}")
    if named is None and (bare := _BARE.search(text)):
        named = NAMES[f"CL_{bare[1]}"]
    if named is None and (wordy := _WORDY.search(text) or _BEFORE.search(text)):
        named = WORDS[wordy[1].lower()]
    if named is not None:
        return named
    match = (_CODE.search(text) or _FIRST.search(text)) if _FAILS.search(text) else None
    return int(match[1]) if match and int(match[1]) in STATUSES else None


def _not_compiled(where: str) -> Event:
    """A build runs nothing on the device: its error is no fault of a kernel."""
    said = f"The driver's compiler ran out of a resource, or failed, in {where} (CL_OUT_OF_RESOURCES, {RESOURCES})."
    facts = (("api", "opencl"), ("status", "CL_OUT_OF_RESOURCES"), ("at", where))
    return Event("build-failed", "refusal", said, facts, causes=("failed-call",), next=_next.DOCTOR, sure=False)


def refused(code: int, where: str, geometry: tuple[str, ...]) -> Event:
    """What a status means; `where` is the call or line that printed it."""
    name, means, cause = STATUSES[code]
    late = code in LATE
    role: Role = "report" if late else "refusal"
    head = f"{means[:1].upper()}{means[1:]} ({name if code == -9999 else f'{name}, {code}'})"
    message = (
        f"{head}; the printed call may only have noticed it."
        if late
        else f"{head}{f', in {where}' if where else ''}."
    )
    unproved = ("not proved: which launch it was; earlier launches in the queue are possible",) if late else ()
    launched = "NDRange" in where or "Task" in where
    maybe = ("device-error-reported", *(("launch-refused",) if launched and code == -5 else ())) if late else ()
    return Event(
        kind=name.removeprefix("CL_").lower().replace("_", "-").replace(" ", "-").replace("'", ""),
        role=role,
        message=message,
        facts=(("api", "opencl"), ("status", name), *((("at", where),) if where else ())),
        notes=(*geometry, *unproved),
        causes=(cause,) if cause else maybe,
        sure=code not in (*LATE, *SEVERAL),
        next=_next.SERIALISE if late else _next.DOCTOR if code in SETUP else _next.RECORD,
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
    odd = [f"{g} is not a multiple of {n}" for g, n in zip(*parts, strict=False) if n and g % n]
    items = 1
    for one in parts[1]:
        items *= one
    told = (
        f"global size {'x'.join(map(str, parts[0]))}, work-group {'x'.join(map(str, parts[1]))} = {items:,} work-items"
    )
    return (told, *odd)
