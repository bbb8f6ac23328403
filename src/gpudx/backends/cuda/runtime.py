"""Calls of the CUDA runtime as CUPTI shows them: names of functions and errors, parameters, and where CUPTI is.

Parameters are the structures of generated_cuda_runtime_api_meta.h (CUDA toolkit), of which only those fields are read that say why a
call was refused. Errors that the driver has too have its numbers since CUDA 10.1.
"""

from __future__ import annotations

import re
import site
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from gpudx.backends.cuda.statuses import DEVICE_ERRORS

INJECTION = "CUDA_INJECTION64_PATH"  # a library that the driver loads during cuInit (CUPTI documentation, "Injection")
SUFFIX = re.compile(r"(_ptsz|_ptds)?_v\d+$")
REPORTING = {"cudaGetLastError", "cudaPeekAtLastError"}  # they return what an earlier call made
COMMANDS = re.compile(r"cuda(LaunchKernel|LaunchCooperative|GraphLaunch|Memcpy|Memset|MemPrefetch)")
# Offset and bytes of each parameter. Structures are aligned as C does it.
WORD, INT = 8, 4
PARAMETERS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "cudaMemcpy": (("dst", 0, WORD), ("src", 8, WORD), ("count", 16, WORD), ("kind", 24, INT)),
    "cudaMemcpyAsync": (("dst", 0, WORD), ("src", 8, WORD), ("count", 16, WORD), ("kind", 24, INT)),
    "cudaMemcpy2D": (
        ("dst", 0, WORD), ("dpitch", 8, WORD), ("src", 16, WORD), ("spitch", 24, WORD), ("width", 32, WORD),
        ("height", 40, WORD), ("kind", 48, INT),
    ),
    "cudaLaunchKernel": (
        ("grid_x", 8, INT), ("grid_y", 12, INT), ("grid_z", 16, INT), ("block_x", 20, INT), ("block_y", 24, INT),
        ("block_z", 28, INT), ("shared", 40, WORD),
    ),
    "cudaSetDevice": (("device", 0, INT),),
    "cudaFuncSetAttribute": (("attribute", 8, INT), ("value", 12, INT)),
    "cudaMalloc": (("size", 8, WORD),),
    "cudaMallocAsync": (("size", 8, WORD),),
    "cudaMallocManaged": (("size", 8, WORD),),
    "cudaMallocHost": (("size", 8, WORD),),
    "cudaHostAlloc": (("size", 8, WORD),),
    "cudaMemset": (("dst", 0, WORD), ("value", 8, INT), ("count", 16, WORD)),
    "cudaFree": (("pointer", 0, WORD),),
    "cudaFreeHost": (("pointer", 0, WORD),),
}  # fmt: skip
PARAMETERS["cudaMemcpy2DAsync"] = PARAMETERS["cudaMemcpy2D"]
PARAMETERS["cudaMemsetAsync"] = PARAMETERS["cudaMemset"]
PARAMETERS["cudaLaunchCooperativeKernel"] = PARAMETERS["cudaLaunchKernel"]
ADDRESSES = {"dst", "src", "pointer"}
KINDS = (
    "cudaMemcpyHostToHost",
    "cudaMemcpyHostToDevice",
    "cudaMemcpyDeviceToHost",
    "cudaMemcpyDeviceToDevice",
    "cudaMemcpyDefault",
)
ATTRIBUTES = {8: "cudaFuncAttributeMaxDynamicSharedMemorySize", 9: "cudaFuncAttributePreferredSharedMemoryCarveout"}
# cudaError_t that programs meet where no driver call fails (CUDA runtime API reference, "Data types used by CUDA Runtime").
ERRORS = {
    1: "cudaErrorInvalidValue", 2: "cudaErrorMemoryAllocation", 3: "cudaErrorInitializationError", 9: "cudaErrorInvalidConfiguration",
    12: "cudaErrorInvalidPitchValue", 13: "cudaErrorInvalidSymbol", 16: "cudaErrorInvalidHostPointer",
    17: "cudaErrorInvalidDevicePointer", 18: "cudaErrorInvalidTexture", 21: "cudaErrorInvalidMemcpyDirection",
    35: "cudaErrorInsufficientDriver", 36: "cudaErrorCallRequiresNewerDriver", 46: "cudaErrorDevicesUnavailable",
    49: "cudaErrorIncompatibleDriverContext", 52: "cudaErrorMissingConfiguration", 53: "cudaErrorPriorLaunchFailure",
    98: "cudaErrorInvalidDeviceFunction", 100: "cudaErrorNoDevice", 101: "cudaErrorInvalidDevice",
    200: "cudaErrorInvalidKernelImage", 201: "cudaErrorDeviceUninitialized", 209: "cudaErrorNoKernelImageForDevice",
    218: "cudaErrorInvalidPtx", 222: "cudaErrorUnsupportedPtxVersion", 304: "cudaErrorOperatingSystem",
    400: "cudaErrorInvalidResourceHandle", 401: "cudaErrorIllegalState", 500: "cudaErrorSymbolNotFound",
    701: "cudaErrorLaunchOutOfResources", 704: "cudaErrorPeerAccessAlreadyEnabled", 705: "cudaErrorPeerAccessNotEnabled",
    712: "cudaErrorHostMemoryAlreadyRegistered", 713: "cudaErrorHostMemoryNotRegistered", 720: "cudaErrorCooperativeLaunchTooLarge",
    800: "cudaErrorNotPermitted", 801: "cudaErrorNotSupported", 900: "cudaErrorStreamCaptureUnsupported",
    901: "cudaErrorStreamCaptureInvalidated",
}  # fmt: skip
# Answers that programs ask for: it was done already, or there is nothing to do it with.
ORDINARY = {100, 600, 704, 705, 712, 713}


def function(text: str) -> str:
    """The function as programs call it: "cudaMemcpy2D" of "cudaMemcpy2D_v3020"."""
    return SUFFIX.sub("", text)


def error(code: int) -> str:
    return ERRORS.get(code, f"error {code}")


def is_own(name: str, code: int, told: Collection[int] = ()) -> bool:
    """Did the call itself go wrong, and not earlier work, and was it not merely asked whether something is there? An answer that the
    program was told later as an earlier call's error (`told`) was not ordinary to it."""
    return code != 0 and name not in REPORTING and code not in DEVICE_ERRORS and (code not in ORDINARY or code in told)


def parameters(name: str, words: Sequence[int]) -> dict[str, int]:
    """The parameters that are known of a call, by name."""
    raw = b"".join(word.to_bytes(8, "little") for word in words)
    return {
        key: int.from_bytes(raw[at : at + size], "little")
        for key, at, size in PARAMETERS.get(name, ())
        if at + size <= len(raw)
    }


def cause(name: str, code: int, given: dict[str, int]) -> str:
    """What the error says of the call: a cause by name."""
    if name.startswith(("cudaLaunch", "cudaGraphLaunch")):
        return "launch-refused" if code in (1, 9, 701, 720) else "ignored-error"
    if code == 12 or (
        given.get("width", 0) > min(given.get("dpitch", 0), given.get("spitch", 0)) and "dpitch" in given
    ):
        return "copy-pitch"
    if name.startswith("cudaMemcpy") and code in (21, 1) and "kind" in given:
        return "copy-direction"
    return "wrong-free" if name.startswith("cudaFree") else "ignored-error"


def said(given: dict[str, int]) -> list[str]:
    """The parameters for people."""
    texts = []
    if "block_x" in given:
        grid, block = ([given[f"{what}_{axis}"] for axis in "xyz"] for what in ("grid", "block"))
        texts.append(f"grid {' x '.join(f'{n:,}' for n in grid)}, block {' x '.join(f'{n:,}' for n in block)}")
    for name, value in given.items():
        if name.startswith(("grid_", "block_")):
            continue
        if name == "kind":
            texts.append(KINDS[value] if value < len(KINDS) else f"direction {value}")
        elif name == "attribute":
            texts.append(ATTRIBUTES.get(value, f"attribute {value}"))
        else:
            texts.append(f"{name} {value:#x}" if name in ADDRESSES else f"{name} {value:,}")
    return texts


@cache
def cupti() -> Path | None:
    """The newest libcupti of this machine: of a toolkit, or of the packages that frameworks bring."""
    places = [Path("/usr/local"), Path("/opt")]
    patterns = ["cuda*/lib64/libcupti.so*", "cuda*/extras/CUPTI/lib64/libcupti.so*", "cuda*/targets/*/lib/libcupti.so*"]
    packages = {*sys.path, *site.getsitepackages(), site.getusersitepackages()}
    found = [one for place in places for pattern in patterns for one in place.glob(pattern)]
    found += [one for place in packages if place for one in Path(place).glob("nvidia/*/lib/libcupti.so*")]
    return max((one for one in found if one.is_file()), key=_version, default=None)


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", path.resolve().name))
