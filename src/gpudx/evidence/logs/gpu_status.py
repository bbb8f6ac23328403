"""Error names of GPU interfaces that no other format has read: Level Zero, Unified Runtime, Vulkan, Direct3D, HSA, OptiX and more.

A name says what it means ("ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"), so that names are read by their words and need no list. A
name that means a lost, hung or removed device reports what earlier work did. Numbers are read only where the interface is named
beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import place
from gpudx.evidence.logs._statuses import without_conditions
from gpudx.evidence.logs._sticky import sticky

FORMAT = "gpu-status"
GENERIC = 2
MARKS = (
    "_ERROR_",
    "cudaError",
    "hipError",
    "HSA_STATUS_ERROR",
    "_STATUS_",
    "rocblas_status_",
    "miopenStatus",
    "ErrorDeviceLost",
    "DeviceLost",
    "ptiX",
    "OPTIX",
    "Optix",
    "failed with code 7",
    "VkResult",
    ", vr -",
    " failed -",
    "vkQueue",
    "vkWait",
    "887A",
    "887a",
    "code = ze:",
    "ze_result_t",
    "kIOGPU",
    "kIOAccel",
    "MTLCommandBufferError",
    "CL_PLATFORM",
    "CL_COMPILE",
    "CL_LINK",
    "CL_IMAGE",
    "CL_MISALIGNED",
    "CL_MAP_FAILURE",
    "CL_COMPILER",
    "ERROR_OUT_OF",
    "ErrorOut",
    "ErrorInit",
    "ErrorUnknown",
    "Unknown PI error",
    "SYCL error",
    "ERROR_INITIALIZATION_FAILED",
    "ERROR_INCOMPATIBLE_DRIVER",
    "_NOT_PRESENT",
    "ERROR_TOO_MANY",
    "ERROR_FORMAT_NOT",
    "ERROR_FRAGMENTED",
    "ERROR_SURFACE_LOST",
    "ERROR_MEMORY_MAP",
    "RT_ERROR",
    "EGL_BAD_",
    "NV_ENC_ERR_",
    "GL_INVALID_",
    "GL_OUT_OF_",
    "_CONTEXT_RESET",
    "GL error",
    "GL Error",
    "glGetError",
    "level_zero",
    "level-zero",
    "8007",
    "80004",
)
APIS = {
    "Level Zero": "level-zero",
    "SYCL's Unified Runtime": "sycl",
    "SYCL's plugin interface": "sycl",
    "Vulkan": "vulkan",
    "Direct3D": "direct3d",
    "Metal": "metal",
    "The HSA runtime": "hip",
    "HIP": "hip",
    "hipBLAS": "hip",
    "rocBLAS": "hip",
    "MIOpen": "hip",
    "hipRTC": "hip",
    "AMD's code object manager": "hip",
    "OpenCL": "opencl",
    "EGL": "opengl",
    "OpenGL": "opengl",
}
INTERFACES = (
    ("ZE_RESULT_ERROR_", "Level Zero"),
    ("UR_RESULT_ERROR_", "SYCL's Unified Runtime"),
    ("PI_ERROR_", "SYCL's plugin interface"),
    ("VK_ERROR_", "Vulkan"),
    ("DXGI_ERROR_", "Direct3D"),
    ("D3DERR_", "Direct3D"),
    ("D3D12_ERROR_", "Direct3D"),
    ("HSA_STATUS_ERROR_", "The HSA runtime"),
    ("OPTIX_ERROR_", "OptiX"),
    ("NVRTC_ERROR_", "NVRTC"),
    ("HIPRTC_ERROR_", "hipRTC"),
    ("NVVM_ERROR_", "NVVM"),
    ("NVML_ERROR_", "NVML"),
    ("NVJITLINK_ERROR_", "nvJitLink"),
    ("AMD_COMGR_STATUS_ERROR_", "AMD's code object manager"),
    ("CUDA_ERROR_", "The CUDA driver"),
    ("cudaError", "CUDA"),
    ("hipError", "HIP"),
    ("CUBLAS_STATUS_", "cuBLAS"),
    ("CUDNN_STATUS_", "cuDNN"),
    ("CUSPARSE_STATUS_", "cuSPARSE"),
    ("CUSOLVER_STATUS_", "cuSOLVER"),
    ("CURAND_STATUS_", "cuRAND"),
    ("NPP_STATUS_", "NPP"),
    ("HIPBLAS_STATUS_", "hipBLAS"),
    ("rocblas_status_", "rocBLAS"),
    ("miopenStatus", "MIOpen"),
    ("RT_ERROR_", "OptiX"),
    ("NV_ENC_ERR_", "NVENC"),
    ("EGL_BAD_", "EGL"),
    ("GL_INVALID_", "OpenGL"),
    ("GL_OUT_OF_", "OpenGL"),
    ("GL_CONTEXT_", "OpenGL"),
    ("GL_STACK_", "OpenGL"),
    ("GL_GUILTY_", "OpenGL"),
    ("GL_INNOCENT_", "OpenGL"),
    ("GL_UNKNOWN_", "OpenGL"),
    ("CL_", "OpenCL"),
)
_PREFIXES = "|".join(prefix for prefix, _ in INTERFACES if prefix != "CL_")
_NAME = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<prefix>{_PREFIXES})(?P<rest>[A-Za-z][A-Za-z0-9_]+)"
    r"|(?<![A-Za-z0-9_])(?P<cl>CL_)(?P<clrest>PLATFORM_NOT_FOUND(?:_KHR)?|COMPILE_PROGRAM_FAILURE|LINK_PROGRAM_FAILURE|LINKER_NOT_AVAILABLE"
    r"|COMPILER_NOT_AVAILABLE|IMAGE_FORMAT_NOT_SUPPORTED|IMAGE_FORMAT_MISMATCH|MISALIGNED_SUB_BUFFER_OFFSET|MAP_FAILURE|INVALID_[A-Z_]+)"
)
_BARE = re.compile(
    r"(?<![A-Za-z0-9_])(?:VK_)?(ERROR_(?:DEVICE_LOST|OUT_OF_(?:DEVICE|HOST)_MEMORY|INITIALIZATION_FAILED|INCOMPATIBLE_DRIVER|(?:LAYER"
    r"|EXTENSION"
    r"|FEATURE)_NOT_PRESENT|TOO_MANY_OBJECTS|FORMAT_NOT_SUPPORTED|FRAGMENTED_POOL|SURFACE_LOST_KHR|OUT_OF_POOL_MEMORY|MEMORY_MAP_FAILED))"
    r"(?![A-Za-z0-9_])"
)
_RUST = re.compile(
    r"vk::(\w+Error)|\bError(DeviceLost|OutOfDeviceMemory|OutOfHostMemory|InitializationFailed|Unknown)\b|\b(DeviceLost)\b"
)
# OptiX numbers: OptixResult in optix_types.h. Level Zero: ze_result_t. Direct3D: DXGI_ERROR in winerror.h.
_OPTIX = re.compile(r"[Oo]pti[Xx]\w*.{0,400}?(?:code|error)\s*(?:=|:)?\s*\(?(7\d{3})\b")
_OPTIX_CALL = re.compile(r"[Oo]pti[Xx] call\W+(optix\w+)")
_LEVEL_ZERO = re.compile(r"\bze:(\d{6,10})|level[_ -]?zero\W.{0,40}?\b(0x7[0-9a-f]{7}|[12]\d{9})\b"
                         r"|(?-i:\bzes?[A-Z]\w+)\b.{0,60}?\b(0x7[0-9a-f]{7}|[12]\d{9})\b|\b(?:ze_result_t|ZE "
                         r"error)\D{0,10}(0x7[0-9a-fA-F]{7}|[12]\d{9})", re.IGNORECASE)
_DXGI = re.compile(r"\b(?:0x)?887[aA]00([0-9a-fA-F]{2})\b")
_METAL = re.compile(r"\((?:0000)?[0-9a-f]{4,8}:(kIO(?:GPU|Accel)CommandBufferCallbackError\w+)\)|(MTLCommandBufferError\w+)")
_SYCL = re.compile(r"SYCL error|Native API returns: (-\d+) \(Unknown")
# VkResult in vulkan_core.h; programs print it as a signed or an unsigned number.
_VK_NUMBER = re.compile(r"\bVkResult\W{1,4}(-?\d{1,10})\b|, vr (-\d{1,2})\b|\bvk[A-Z]\w+ (?:has )?(?:failed|returned)\D{0,12}(-\d{1,2})\b")
VULKAN = {
    -1: "VK_ERROR_OUT_OF_HOST_MEMORY",
    -2: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
    -3: "VK_ERROR_INITIALIZATION_FAILED",
    -4: "VK_ERROR_DEVICE_LOST",
    -5: "VK_ERROR_MEMORY_MAP_FAILED",
    -6: "VK_ERROR_LAYER_NOT_PRESENT",
    -7: "VK_ERROR_EXTENSION_NOT_PRESENT",
    -8: "VK_ERROR_FEATURE_NOT_PRESENT",
    -9: "VK_ERROR_INCOMPATIBLE_DRIVER",
    -10: "VK_ERROR_TOO_MANY_OBJECTS",
    -11: "VK_ERROR_FORMAT_NOT_SUPPORTED",
    -12: "VK_ERROR_FRAGMENTED_POOL",
    -13: "VK_ERROR_UNKNOWN",
}
NUMBERS = {
    "7001": "OPTIX_ERROR_INVALID_VALUE",
    "7002": "OPTIX_ERROR_HOST_OUT_OF_MEMORY",
    "7050": "OPTIX_ERROR_LAUNCH_FAILURE",
    "7053": "OPTIX_ERROR_INVALID_DEVICE_CONTEXT",
    "7200": "OPTIX_ERROR_INVALID_PTX",
    "7251": "OPTIX_ERROR_INTERNAL_COMPILER_ERROR",
    "7800": "OPTIX_ERROR_NOT_SUPPORTED",
    "7801": "OPTIX_ERROR_UNSUPPORTED_ABI_VERSION",
    "7804": "OPTIX_ERROR_LIBRARY_NOT_FOUND",
    "7805": "OPTIX_ERROR_ENTRY_SYMBOL_NOT_FOUND",
    "7900": "OPTIX_ERROR_CUDA_ERROR",
}
# ze_result_t in ze_api.h: three ranges of consecutive numbers.
_ZE_DEVICE = "DEVICE_LOST OUT_OF_HOST_MEMORY OUT_OF_DEVICE_MEMORY MODULE_BUILD_FAILURE MODULE_LINK_FAILURE DEVICE_REQUIRES_RESET"
_ZE_USE = (
    "UNINITIALIZED UNSUPPORTED_VERSION UNSUPPORTED_FEATURE INVALID_ARGUMENT INVALID_NULL_HANDLE HANDLE_OBJECT_IN_USE INVALID_NULL_POINTER"
    " INVALID_SIZE UNSUPPORTED_SIZE UNSUPPORTED_ALIGNMENT INVALID_SYNCHRONIZATION_OBJECT INVALID_ENUMERATION UNSUPPORTED_ENUMERATION"
    " UNSUPPORTED_IMAGE_FORMAT INVALID_NATIVE_BINARY INVALID_GLOBAL_NAME INVALID_KERNEL_NAME INVALID_FUNCTION_NAME"
    " INVALID_GROUP_SIZE_DIMENSION INVALID_GLOBAL_WIDTH_DIMENSION INVALID_KERNEL_ARGUMENT_INDEX INVALID_KERNEL_ARGUMENT_SIZE"
)
NUMBERS |= {
    str(first + step): f"ZE_RESULT_ERROR_{name}"
    for first, names in ((0x70000001, _ZE_DEVICE), (0x70010000, "INSUFFICIENT_PERMISSIONS NOT_AVAILABLE"),
                         (0x70020000, "DEPENDENCY_UNAVAILABLE"), (0x78000001, _ZE_USE))
    for step, name in enumerate(names.split())
} | {str(0x7FFFFFFE): "ZE_RESULT_ERROR_UNKNOWN"}
# OpenGL numbers: glcorearb.h. Programs print them in decimal or in hexadecimal.
_GL_NUMBER = re.compile(r"\b(?:Open)?GL (?:[Ee]rror|ERROR)\b.{0,60}?\b(0x0?50[0-7]|128[0-7])\b"
    r"|\bglGetError\b.{0,40}?\b(0x0?50[0-7]|128[0-7])\b")
OPENGL = (
    "INVALID_ENUM INVALID_VALUE INVALID_OPERATION STACK_OVERFLOW STACK_UNDERFLOW OUT_OF_MEMORY INVALID_FRAMEBUFFER_OPERATION CONTEXT_LOST"
).split()
FIRST_GL = 0x500
# HRESULT of winerror.h, as programs of Direct3D print it.
_HRESULT = re.compile(r"\b(?:0x)?(80070057|8007000e|80070005|80004001|80004002|80004005)\b", re.IGNORECASE)
_OF_DIRECT3D = re.compile(r"d3d|dxgi|direct3d|directx|directml|\bdml|hresult|pipeline state|swap ?chain", re.IGNORECASE)
HRESULTS = {
    "80070057": ("E_INVALIDARG", "invalid argument"),
    "8007000e": ("E_OUTOFMEMORY", "out of memory"),
    "80070005": ("E_ACCESSDENIED", "access denied"),
    "80004001": ("E_NOTIMPL", "not implemented"),
    "80004002": ("E_NOINTERFACE", "interface not supported"),
    "80004005": ("E_FAIL", "unspecified failure"),
}
DXGI = {
    "01": "INVALID_CALL",
    "02": "NOT_FOUND",
    "04": "UNSUPPORTED",
    "05": "DEVICE_REMOVED",
    "06": "DEVICE_HUNG",
    "07": "DEVICE_RESET",
    "20": "DRIVER_INTERNAL_ERROR",
    "22": "NOT_CURRENTLY_AVAILABLE",
    "26": "ACCESS_LOST",
    "27": "WAIT_TIMEOUT",
}
# Source code, and programs that list the names they know.
_TESTED = re.compile(r"[=!]= *(?:cuda|hip|CUDA_|VK_|ZE_|UR_|DXGI_)")
_SOURCE = re.compile(
    r"^\s*return \w+;|^\s*case |#define|\breturn (?:VK|ZE|UR|PI)_|^\s*(?:if|assert)\s*\(|^\s*raise \w|^\s*(?://|/\*)|\b(?:f|s|sn)?printf\s*\("
    r"|std::c(?:err|out)|;\s*//|::(?:VK|ZE)_"
)
# "Check failed: res == VK_SUCCESS" quotes code, and is printed by a program.
_CHECKED = re.compile(
    r"\b(?:check|assert\w*|condition|enforce\w*|requirement)\b.{0,200}\bfail|\bfailed\b.{0,40}: *\(?\w+ [=!]=", re.IGNORECASE
)
_RAISED = re.compile(r"\s*(?:[\w.]+\.)?\w*(?:Error|Exception): ")
_FINE = re.compile(r"(?:SUCCESS|NOT_READY|TIMELINE|NotReady|PeerAccessAlreadyEnabled|ERROR_NONE|STATUS_OK|Success)$")


class _Class(NamedTuple):
    """What the words of a name say about the failure."""

    words: re.Pattern[str]
    role: Role
    causes: tuple[str, ...]
    next: str


def _class(words: str, role: Role, cause: str, command: str) -> _Class:
    return _Class(re.compile(words), role, (cause,) if cause else (), command)


CLASSES = (
    _class(r"timeout|timed out|hung|hang", "report", "hang", _next.HANG),
    _class(
        r"lost|removed|reset|unknown|launch fail|cuda error|exception|fault|aborted|execution failed|submissions ignored|innocent victim",
        "report",
        "device-error-reported",
        _next.SERIALISE,
    ),
    _class(r"memory|out of", "refusal", "failed-call", _next.RECORD),
    _class(r"build|compil|link|ptx|binary|image|module|code object", "refusal", "failed-call", _next.DOCTOR),
    _class(
        r"no device|not found|initiali|driver|platform|library|unsupported|incompatible|mismatch|not permitted",
        "refusal",
        "",
        _next.DOCTOR,
    ),
    _class(r"", "refusal", "failed-call", _next.RECORD),
)


UNNAMED = "without a name"


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if codelike(text) or "retrieve symbol" in text:  # a function of the driver that was looked up, and not called
        return
    text = without_conditions(text)
    name = _named(text) or _named(" ".join((*reversed(near.before(3)), text)) if "failed with code 7" in text else "")
    if name and not _FINE.search(name):
        yield _event(name, place(text) or _call(text))


def codelike(text: str) -> bool:
    """Is it a line of a program, not of its output?"""
    tested = _TESTED.search(text) and not _CHECKED.search(text) and not _RAISED.match(text)
    return bool(_SOURCE.search(text)) or bool(tested)


def _named(text: str) -> str:
    """The error that a line names, in full; "" where there is none."""
    named = next((found[0] for found in _NAME.finditer(text) if not _FINE.search(found[0])), "")
    return named or _vulkan(text) or _numbered(text) or _worded(text)


def _vulkan(text: str) -> str:
    """Names that C++ and Rust bindings shorten."""
    if bare := _BARE.search(text):
        return f"VK_{bare[1]}"
    if rust := _RUST.search(text):
        return f"VK_ERROR_{_snake((rust[1] or rust[2] or rust[3]).removesuffix('Error'))}"
    if found := _VK_NUMBER.search(text):
        number = int(next(filter(None, found.groups())))
        return VULKAN.get(number - (1 << 32) if number >= 1 << 31 else number, "")
    return ""


def _numbered(text: str) -> str:
    """Errors that are printed as numbers, with their interface."""
    for pattern, interface in ((_OPTIX, "OptiX"), (_LEVEL_ZERO, "Level Zero")):
        if found := pattern.search(text):
            number = next(filter(None, found.groups()))
            number = str(int(number, 16)) if number.lower().startswith("0x") else number
            return NUMBERS.get(number, f"{interface} error {number}")
    if found := _GL_NUMBER.search(text):
        return f"GL_{OPENGL[int(found[1] or found[2], 0) - FIRST_GL]}"
    if dxgi := _DXGI.search(text):
        return f"DXGI_ERROR_{DXGI[dxgi[1]]}" if dxgi[1] in DXGI else f"Direct3D error 0x887a00{dxgi[1]}"
    if (code := _HRESULT.search(text)) and _OF_DIRECT3D.search(text):
        return HRESULTS[code[1].lower()][0]
    return ""


def _worded(text: str) -> str:
    if metal := _METAL.search(text):
        return metal[1] or metal[2]
    if sycl := _SYCL.search(text):
        return f"SYCL error{f' {sycl[1]}' if sycl[1] else ''}"
    return "OptiX error" if _OPTIX_CALL.search(text) and "fail" in text else ""


def _call(text: str) -> str:
    found = _OPTIX_CALL.search(text)
    return found[1] if found else ""


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def _event(name: str, where: str) -> Event:
    interface, words = _read_name(name)
    api = APIS.get(interface, "cuda")
    kind = next(one for one in CLASSES if one.words.search(words))
    role: Role = "report" if sticky(name) else kind.role
    at = f", in {where}" if where and role != "report" else ""
    late = "; the log shows where this was noticed, not which work caused it" if role == "report" else ""
    number = name.rpartition(" ")[2] if name.rpartition(" ")[2] != "error" else ""
    said = f": {words} ({name})" if words != UNNAMED else f" {number}".rstrip() + ", and its meaning is not known"
    return Event(
        kind=f"status-{words.replace(' ', '-')}"[:60],
        role=role,
        message=f"{interface} reported an error{said}{at}{late}.",
        facts=(("api", api), ("status", name), *((("at", where),) if where else ())),
        notes=("not proved: which launch or submission caused it",) if role == "report" else (),
        causes=("device-error-reported",) if role == "report" and "hang" not in kind.causes else kind.causes,
        next=_next.HIP_SERIALISE if api == "hip" and kind.next != _next.DOCTOR else kind.next,
        noticed=where if role == "report" else "",
        sure=False,
    )


def _read_name(name: str) -> tuple[str, str]:
    """The interface, and what the rest of the name says in words."""
    if " error" in name:  # a number that has no name here
        return name.split(" error")[0], UNNAMED
    for known, words in HRESULTS.values():
        if name == known:
            return "Direct3D", words
    for prefix, interface in INTERFACES:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix if interface not in ("OpenGL", "EGL") else f"{prefix.partition('_')[0]}_")
            return interface, _snake(rest).replace("_", " ").strip().lower()
    return "Metal", _snake(re.sub(r"^(?:kIO(?:GPU|Accel)CommandBufferCallbackError|MTLCommandBufferError)", "", name)).replace(
        "_", " "
    ).lower()
