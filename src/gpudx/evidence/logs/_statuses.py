"""Statuses of the CUDA and HIP runtimes as programs print them: by name, by text, by number.

Numbers, names and texts: CUDA runtime API reference (cudaError_t), CUDA driver API reference (CUresult), HIP runtime API
reference (hipError_t); the three share their numbers. The meanings are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event

Class = Literal["device", "refused", "memory", "image", "setup", "capture", "follower"]


@dataclass(frozen=True)
class Status:
    """`distinct` texts mean this wherever they stand; others only behind the name of the API."""

    code: int
    names: tuple[str, ...]
    texts: tuple[str, ...]
    group: Class
    meaning: str
    cause: str = ""
    distinct: bool = True

    @property
    def kind(self) -> str:
        """ "illegal-address" from cudaErrorIllegalAddress."""
        stem = self.names[0].removeprefix("cudaError")
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", stem).lower()


def _s(code: int, names: str, texts: str, group: Class, meaning: str, cause: str = "", distinct: bool = True) -> Status:
    return Status(code, tuple(names.split()), tuple(texts.split("|")), group, meaning, cause, distinct)


STATUSES = (
    _s(700, "cudaErrorIllegalAddress CUDA_ERROR_ILLEGAL_ADDRESS hipErrorIllegalAddress",
       "an illegal memory access was encountered|illegal memory access|Illegal address", "device",
       "a kernel accessed an illegal address", "out-of-bounds-access"),
    _s(716, "cudaErrorMisalignedAddress CUDA_ERROR_MISALIGNED_ADDRESS hipErrorMisalignedAddress", "misaligned address",
       "device", "a kernel accessed memory at an address that is not a multiple of the access size", "misaligned-access"),
    _s(719, "cudaErrorLaunchFailure CUDA_ERROR_LAUNCH_FAILED hipErrorLaunchFailure", "unspecified launch failure", "device",
       "a kernel failed on the device, and the driver does not say how", "device-exception"),
    _s(710, "cudaErrorAssert CUDA_ERROR_ASSERT hipErrorAssert", "device-side assert triggered", "device",
       "an assert in a kernel failed", "device-assertion"),
    _s(702, "cudaErrorLaunchTimeout CUDA_ERROR_LAUNCH_TIMEOUT hipErrorLaunchTimeOut",
       "the launch timed out and was terminated", "device", "a kernel ran longer than the system allows", "hang"),
    _s(715, "cudaErrorIllegalInstruction CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered",
       "device", "a kernel executed an instruction that the device does not know, or a trap", "device-trap"),
    _s(717, "cudaErrorInvalidAddressSpace CUDA_ERROR_INVALID_ADDRESS_SPACE",
       "operation not supported on global/shared address space", "device",
       "a kernel used an address of the wrong memory space", "device-exception"),
    _s(718, "cudaErrorInvalidPc CUDA_ERROR_INVALID_PC", "invalid program counter", "device",
       "a kernel jumped to an address that is not code", "device-exception"),
    _s(714, "cudaErrorHardwareStackError CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error", "device",
       "a kernel overflowed its stack or damaged it", "device-exception"),
    _s(214, "cudaErrorECCUncorrectable CUDA_ERROR_ECC_UNCORRECTABLE hipErrorECCNotCorrectable",
       "uncorrectable ECC error encountered", "device", "device memory has an error that could not be corrected"),
    _s(999, "cudaErrorUnknown CUDA_ERROR_UNKNOWN hipErrorUnknown", "unknown error", "device",
       "the driver failed and does not say how", "device-exception", False),
    _s(2, "cudaErrorMemoryAllocation CUDA_ERROR_OUT_OF_MEMORY hipErrorOutOfMemory hipErrorMemoryAllocation",
       "out of memory", "memory", "an allocation did not fit into device memory", "failed-call", False),
    _s(1, "cudaErrorInvalidValue CUDA_ERROR_INVALID_VALUE hipErrorInvalidValue", "invalid argument|invalid value",
       "refused", "a call was passed a value that it does not accept", "failed-call", False),
    _s(9, "cudaErrorInvalidConfiguration hipErrorInvalidConfiguration", "invalid configuration argument", "refused",
       "a launch has a grid, block or shared memory size that the device does not accept", "launch-refused"),
    _s(701, "cudaErrorLaunchOutOfResources CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES hipErrorLaunchOutOfResources",
       "too many resources requested for launch", "refused",
       "a launch needs more registers or shared memory than a block can have", "launch-refused"),
    _s(400, "cudaErrorInvalidResourceHandle CUDA_ERROR_INVALID_HANDLE hipErrorInvalidHandle hipErrorInvalidResourceHandle",
       "invalid resource handle", "refused", "a stream, event or function that is dead or of another device was used",
       "use-of-released-object"),
    _s(201, "cudaErrorDeviceUninitialized CUDA_ERROR_INVALID_CONTEXT hipErrorInvalidContext", "invalid device context",
       "refused", "a call was made without a current context, or with a dead one", "failed-call"),
    _s(98, "cudaErrorInvalidDeviceFunction hipErrorInvalidDeviceFunction", "invalid device function", "image",
       "the program has no code of this kernel for this device", "wrong-architecture"),
    _s(209, "cudaErrorNoKernelImageForDevice CUDA_ERROR_NO_BINARY_FOR_GPU hipErrorNoBinaryForGpu",
       "no kernel image is available for execution on the device|no binary for gpu", "image",
       "the program has no device code for this device", "wrong-architecture"),
    _s(222, "cudaErrorUnsupportedPtxVersion CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
       "the provided PTX was compiled with an unsupported toolchain", "image",
       "the driver is older than the compiler that made the device code", "device-code-too-new"),
    _s(218, "cudaErrorInvalidPtx CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed", "image",
       "the driver could not compile the device code", "not-device-code"),
    _s(200, "cudaErrorInvalidKernelImage CUDA_ERROR_INVALID_IMAGE hipErrorInvalidImage", "device kernel image is invalid",
       "image", "what was loaded as device code is not device code", "not-device-code"),
    _s(500, "cudaErrorSymbolNotFound CUDA_ERROR_NOT_FOUND hipErrorNotFound", "named symbol not found", "image",
       "a kernel or variable was not found in the loaded device code", "failed-call"),
    _s(100, "cudaErrorNoDevice CUDA_ERROR_NO_DEVICE hipErrorNoDevice",
       "no CUDA-capable device is detected|no ROCm-capable device is detected", "setup", "no device was found"),
    _s(101, "cudaErrorInvalidDevice CUDA_ERROR_INVALID_DEVICE hipErrorInvalidDevice", "invalid device ordinal", "setup",
       "a device was requested that does not exist"),
    _s(35, "cudaErrorInsufficientDriver hipErrorInsufficientDriver",
       "CUDA driver version is insufficient for CUDA runtime version", "setup", "the driver is older than the runtime"),
    _s(46, "cudaErrorDevicesUnavailable CUDA_ERROR_DEVICE_UNAVAILABLE",
       "all CUDA-capable devices are busy or unavailable|CUDA-capable device(s) is/are busy or unavailable", "setup", "the device is "
           "in use by another process"),
    _s(803, "cudaErrorSystemDriverMismatch CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
       "system has unsupported display driver / cuda driver combination", "setup",
       "the driver's library and its kernel module are of different versions"),
    _s(802, "cudaErrorSystemNotReady CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized", "setup",
       "the driver is not ready; on machines with NVSwitch its fabric manager must run first"),
    _s(804, "cudaErrorCompatNotSupportedOnDevice CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
       "forward compatibility was attempted on non supported HW", "setup",
       "the runtime is newer than the driver, and the device does not allow that"),
    _s(805, "cudaErrorMpsConnectionFailed CUDA_ERROR_MPS_CONNECTION_FAILED",
       "MPS client failed to connect to the MPS control daemon or the MPS server", "setup",
       "the process could not connect to the MPS server"),
    _s(801, "cudaErrorNotSupported CUDA_ERROR_NOT_SUPPORTED hipErrorNotSupported", "operation not supported", "refused",
       "a call is not supported on this device or system", "failed-call", False),
    _s(800, "cudaErrorNotPermitted CUDA_ERROR_NOT_PERMITTED", "operation not permitted", "refused",
       "a call is not permitted in this state", "failed-call", False),
    _s(720, "cudaErrorCooperativeLaunchTooLarge CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE hipErrorCooperativeLaunchTooLarge",
       "too many blocks in cooperative launch", "refused",
       "a cooperative launch has more blocks than the device can run at once", "launch-refused"),
    _s(226, "cudaErrorContained CUDA_ERROR_CONTAINED",
       "invalid access of peer GPU memory over nvlink or a hardware error", "device",
       "work accessed memory of another device that it may not access, or the hardware failed", "device-exception"),
    _s(220, "cudaErrorNvlinkUncorrectable CUDA_ERROR_NVLINK_UNCORRECTABLE",
       "uncorrectable NVLink error detected during the execution", "device", "the link between devices failed"),
    _s(3, "cudaErrorInitializationError CUDA_ERROR_NOT_INITIALIZED hipErrorNotInitialized", "initialization error",
       "setup", "the driver was not initialised, often in a forked child", "failed-call", False),
    _s(901, "cudaErrorStreamCaptureInvalidated CUDA_ERROR_STREAM_CAPTURE_INVALIDATED hipErrorStreamCaptureInvalidated",
       "operation failed due to a previous error during capture", "capture", "a capture was broken by an earlier call",
       "capture-broken"),
    _s(900, "cudaErrorStreamCaptureUnsupported CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED hipErrorStreamCaptureUnsupported",
       "operation not permitted when stream is capturing", "capture",
       "a call was made that cannot be made while work is captured", "capture-broken"),
    _s(301, "cudaErrorFileNotFound CUDA_ERROR_FILE_NOT_FOUND hipErrorFileNotFound", "file not found", "image",
       "a file with device code was not found", "failed-call", False),
    _s(302, "cudaErrorSharedObjectSymbolNotFound CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND hipErrorSharedObjectSymbolNotFound",
       "shared object symbol not found", "image", "the device code uses a symbol that was not found", "not-device-code"),
    _s(303, "cudaErrorSharedObjectInitFailed CUDA_ERROR_SHARED_OBJECT_INIT_FAILED hipErrorSharedObjectInitFailed",
       "shared object initialization failed", "image", "the device code could not be loaded: symbols are missing, or it is not for this "
                                                       "device",
       "not-device-code"),
    _s(600, "cudaErrorNotReady CUDA_ERROR_NOT_READY hipErrorNotReady", "device not ready", "refused",
       "queried work had not finished, or another error was pending", "failed-call", False),
    _s(13, "cudaErrorInvalidSymbol hipErrorInvalidSymbol", "invalid device symbol", "image",
       "a device variable was not found in the loaded device code", "failed-call"),
    _s(21, "cudaErrorInvalidMemcpyDirection hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy", "refused",
       "a copy was passed a direction that does not exist, or that its pointers contradict", "failed-call"),
    _s(12, "cudaErrorInvalidPitchValue hipErrorInvalidPitchValue", "invalid pitch argument", "refused",
       "a copy or allocation was passed a pitch that the device does not accept", "failed-call"),
    _s(52, "cudaErrorMissingConfiguration hipErrorMissingConfiguration", "__global__ function call is not configured", "refused",
       "a kernel was called without grid and block sizes", "launch-refused"),
    _s(17, "cudaErrorInvalidDevicePointer hipErrorInvalidDevicePointer", "invalid device pointer", "refused",
       "a pointer that is not of this device was passed", "failed-call"),
    _s(217, "cudaErrorPeerAccessUnsupported CUDA_ERROR_PEER_ACCESS_UNSUPPORTED hipErrorPeerAccessUnsupported",
       "peer access is not supported between these two devices", "refused",
       "two devices cannot access each other's memory", "failed-call"),
    _s(704, "cudaErrorPeerAccessAlreadyEnabled CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED hipErrorPeerAccessAlreadyEnabled",
       "peer access is already enabled", "refused", "access between two devices was enabled twice", "failed-call"),
    _s(705, "cudaErrorPeerAccessNotEnabled CUDA_ERROR_PEER_ACCESS_NOT_ENABLED hipErrorPeerAccessNotEnabled",
       "peer access has not been enabled", "refused", "access between two devices was not enabled", "failed-call"),
    _s(709, "cudaErrorContextIsDestroyed CUDA_ERROR_CONTEXT_IS_DESTROYED hipErrorContextIsDestroyed", "context is destroyed",
       "refused", "a context was used after it was destroyed", "use-of-released-object"),
    _s(712, "cudaErrorHostMemoryAlreadyRegistered CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED hipErrorHostMemoryAlreadyRegistered",
       "part or all of the requested memory range is already mapped", "refused", "host memory was registered twice", "failed-call"),
    _s(713, "cudaErrorHostMemoryNotRegistered CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED hipErrorHostMemoryNotRegistered",
       "pointer does not correspond to a registered memory region", "refused",
       "host memory that is not registered was unregistered", "failed-call"),
    _s(221, "cudaErrorJitCompilerNotFound CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found", "setup",
       "the driver's compiler for PTX was not found"),
    _s(34, "cudaErrorStubLibrary CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library", "setup",
       "a stub for linking was loaded in place of the driver's library"),
    _s(36, "cudaErrorCallRequiresNewerDriver", "API call is not supported in the installed CUDA driver", "setup",
       "the installed driver is too old for a call"),
    _s(304, "cudaErrorOperatingSystem CUDA_ERROR_OPERATING_SYSTEM hipErrorOperatingSystem",
       "OS call failed or operation not supported on this OS", "refused", "the operating system refused a request of the driver",
       "failed-call"),
    _s(215, "cudaErrorUnsupportedLimit CUDA_ERROR_UNSUPPORTED_LIMIT hipErrorUnsupportedLimit",
       "limit is not supported on this architecture", "refused", "a limit was set that the device does not have", "failed-call"),
    _s(401, "cudaErrorIllegalState CUDA_ERROR_ILLEGAL_STATE hipErrorIllegalState",
       "the operation cannot be performed in the present state", "refused", "a call is not possible in the state that an object is in",
       "failed-call"),
    _s(205, "cudaErrorMapBufferObjectFailed CUDA_ERROR_MAP_FAILED hipErrorMapFailed", "mapping of buffer object failed", "refused",
       "an object of a graphics interface could not be mapped", "failed-call"),
    _s(208, "cudaErrorAlreadyMapped CUDA_ERROR_ALREADY_MAPPED hipErrorAlreadyMapped", "resource already mapped", "refused",
       "an object of a graphics interface was mapped twice, or freed while it was mapped", "failed-call"),
    _s(211, "cudaErrorNotMapped CUDA_ERROR_NOT_MAPPED hipErrorNotMapped", "resource not mapped", "refused",
       "an object of a graphics interface was used or unmapped without being mapped", "failed-call"),
    _s(219, "cudaErrorInvalidGraphicsContext CUDA_ERROR_INVALID_GRAPHICS_CONTEXT hipErrorInvalidGraphicsContext",
       "invalid OpenGL or DirectX context", "refused", "the thread has no context of OpenGL or Direct3D that fits the device",
       "failed-call"),
    _s(903, "cudaErrorStreamCaptureUnmatched CUDA_ERROR_STREAM_CAPTURE_UNMATCHED hipErrorStreamCaptureUnmatched",
       "capture was not ended in the same stream as it began", "capture", "a capture was ended in another stream", "capture-broken"),
    _s(904, "cudaErrorStreamCaptureUnjoined CUDA_ERROR_STREAM_CAPTURE_UNJOINED hipErrorStreamCaptureUnjoined",
       "capturing stream has unjoined work", "capture", "a capture ended before work of other streams had joined it", "capture-broken"),
    _s(905, "cudaErrorStreamCaptureIsolation CUDA_ERROR_STREAM_CAPTURE_ISOLATION hipErrorStreamCaptureIsolation",
       "dependency created on uncaptured work in another stream", "capture", "captured work depends on work that was not captured",
       "capture-broken"),
    _s(906, "cudaErrorStreamCaptureImplicit CUDA_ERROR_STREAM_CAPTURE_IMPLICIT hipErrorStreamCaptureImplicit",
       "operation would make the legacy stream depend on a capturing blocking stream", "capture",
       "a call on the default stream was made while another stream captured", "capture-broken"),
    _s(907, "cudaErrorCapturedEvent CUDA_ERROR_CAPTURED_EVENT hipErrorCapturedEvent",
       "operation not permitted on an event last recorded in a capturing stream", "capture",
       "an event that belongs to a capture was used outside of it", "capture-broken"),
    _s(908, "cudaErrorStreamCaptureWrongThread CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD hipErrorStreamCaptureWrongThread",
       "attempt to terminate a thread-local capture sequence from another thread", "capture",
       "a capture was ended by a different thread than the one that began it", "capture-broken"),
    _s(910, "cudaErrorGraphExecUpdateFailure CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE hipErrorGraphExecUpdateFailure",
       "the graph update was not performed because it included changes which violated constraints", "refused",
       "a graph was updated with changes that need a new graph", "failed-call"),
    _s(4, "cudaErrorCudartUnloading CUDA_ERROR_DEINITIALIZED hipErrorDeinitialized", "driver shutting down", "follower",
       "a call was made while the process ended"),
)  # fmt: skip
ASKED_FOR = (600, 704)  # answers that programs poll for: they count only where a program reports them as an error, in words
SEVERAL = (98, 400)  # statuses that more than one cause is known for


_NAME = re.compile(r"(?<![A-Za-z0-9_])(?:cudaError|CUDA_ERROR_|hipError)[A-Za-z_]+")  # text in other scripts may touch it
BY_NAME = {name.lower(): one for one in STATUSES for name in one.names if one.code not in ASKED_FOR}
BY_TEXT = sorted(((text.lower(), one) for one in STATUSES for text in one.texts), key=lambda pair: -len(pair[0]))
BY_SHORT = {
    name.removeprefix("CUDA_ERROR_"): one for one in STATUSES for name in one.names if name.startswith("CUDA_ERROR_")
}
# As bindings of C#, Rust and Go spell the driver's names: ErrorLaunchFailed, CudaError::IllegalAddress.
BY_CAMEL = {short.title().replace("_", "").lower(): one for short, one in BY_SHORT.items()}
_CAMEL = re.compile(r"(?<![A-Za-z0-9_])(?:(?:Cuda)?Error(?:::)?|CUresult(?:::|\.))([A-Z]\w+)")
_SHORT = re.compile(r"(?<![A-Za-z0-9_])(?:ERROR_)?([A-Z]{2,}(?:_[A-Z]+)+)(?![A-Za-z0-9_])")
BY_CODE = {one.code: one for one in STATUSES if one.code not in ASKED_FOR}
# Numbers that the runtime used before CUDA 10.1 and that mean nothing else today (cudaError_t of CUDA 9).
BY_CODE |= {old: BY_CODE[new] for old, new in {77: 700, 74: 716, 59: 710, 48: 209, 38: 100, 30: 999}.items()}


_CONDITION = re.compile(r"[=!]= *(?:cuda(?:Success|Error)\w*|hip(?:Success|Error)\w*|(?:CUDA|CL|CUBLAS|VK)_[A-Z_]+)")


def without_conditions(text: str) -> str:
    """A line without what a check compared with: it names errors that were expected, and not the one that came."""
    return _CONDITION.sub(" ", text)


def named(text: str) -> Status | None:
    """The status whose name stands in a text."""
    return next((BY_NAME[name.lower()] for name in _NAME.findall(text) if name.lower() in BY_NAME), None)


def _shortened(text: str) -> Status | None:
    """Names without "CUDA_ERROR_", as Julia, Cycles and bindings of other languages print them."""
    spelled = next((BY_CAMEL[name.lower()] for name in _CAMEL.findall(text) if name.lower() in BY_CAMEL), None)
    return spelled or next((BY_SHORT[name] for name in _SHORT.findall(text) if name in BY_SHORT), None)


def told(text: str, distinct: bool = False) -> Status | None:
    """The status whose name or text stands in a line; with `distinct`, only texts that cannot mean anything else."""
    low = text.lower()
    if status := named(text) or (_shortened(text) if "cuda" in low or "hip" in low else None):
        return status
    return next((one for words, one in BY_TEXT if words in low and (one.distinct or not distinct)), None)


def numbered(code: int) -> Status | None:
    return BY_CODE.get(code)


def event(status: Status, api: str, noticed: str = "", covers: int = 0, notes: tuple[str, ...] = ()) -> Event:
    """What a printed status means. Errors of the device are reports: no call or line that prints one is blamed."""
    what = f"{status.meaning[:1].upper()}{status.meaning[1:]} ({_name(status, api)})"
    if status.group == "device":
        message = f"{what}; the log shows where this was noticed, not which launch did it."
    else:
        message = f"{what}{f', in {noticed}' if noticed else ''}."
    return Event(
        kind=status.kind,
        role="report" if status.group == "device" else "ending" if status.group == "follower" else "refusal",
        message=message,
        facts=(("api", api), ("status", str(status.code)), *((("at", noticed),) if noticed else ())),
        notes=(*_unproved(status), *notes),
        causes=("device-error-reported", status.cause)
        if status.group == "device" and status.cause
        else _causes(status),
        next=_command(status, api),
        noticed=noticed,
        sure=status.code not in SEVERAL,
        covers=covers,
    )


def _causes(status: Status) -> tuple[str, ...]:
    return (status.cause,) if status.cause else ()


def _name(status: Status, api: str) -> str:
    """As the API spells it; where it is not known which API it is, the number that they share."""
    if not api:
        return f"error {status.code} of CUDA and HIP"
    return f"{next((name for name in status.names if name.startswith(api)), status.names[0])}, {status.code}"


def _unproved(status: Status) -> tuple[str, ...]:
    if status.group == "device":
        return ("not proved: which launch it was; any since the last successful wait may have done it",)
    if status.group == "memory":
        return ("not proved: that memory was full; a size that was computed wrongly is refused in the same way",)
    return ()


HARDWARE = (214, 220)  # memory and links of the device: no program is at fault


def _command(status: Status, api: str) -> str:
    if status.group in ("image", "setup"):
        return _next.DOCTOR
    if status.code in HARDWARE and api != "hip":
        return _next.HEALTH
    if status.group != "device":
        return _next.RECORD
    if api == "hip":
        return _next.HIP_SERIALISE
    return _next.HANG if status.cause == "hang" else _next.SERIALISE
