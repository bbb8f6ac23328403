"""Errors of CUDA as programs print them: names (cudaErrorIllegalAddress, CUDA_ERROR_LAUNCH_FAILED), texts, numbers.

Messages of all wrappers that print one of these are read, with file and line, or the call, if they are in the same line. A
fault of the device is reported as noticed here and caused by an earlier launch. Lines that look like source code or advice are
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._languages import FAILS
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import place
from gpudx.evidence.logs._statuses import ASKED_FOR, STATUSES, event, numbered, told
from gpudx.evidence.logs.unrecognised import reads_like_a_failure

FORMAT = "cuda-error"
# What the runtimes themselves call their errors, wherever a program prints it: "Error named symbol not found at line 5".
TEXTS = tuple(
    text
    for one in STATUSES
    if one.distinct and one.group != "follower" and one.code not in ASKED_FOR
    for text in one.texts
    if " " in text
)
GENERIC = 1
MARKS = (
    "CUDA error",
    "CUDA Error",
    "CUDA ERROR",
    "cuda error",
    "cudaError",
    "CUDA_ERROR_",
    "CUDA failure",
    "Cuda failure",
    "Cuda error",
    "cuda runtime error",
    "illegal memory access",
    "unspecified launch failure",
    "device-side assert triggered",
    "misaligned address",
    "an illegal instruction was",
    "Illegal address",
    "too many resources requested",
    "no kernel image is available",
    "CUDA out of memory",
    "invalid device function",
    "CUDA driver error",
    "GPUassert",
    "no CUDA-capable device",
    "driver version is insufficient",
    "CudaAPIError",
    "CuError(",
    "Cuda driver error",
    "Cuda Runtime (",
    "CUDNN failure",
    "cuda failure",
    "Cuda Error",
    "cudaGetLastError",
    "CUDA call",
    "CUDA runtime error",
    "CUDA Runtime Error",
    "cuda_check",
    "Cuda API error",
    "invalid resource handle",
    "invalid configuration argument",
    "CudaException",
    "uda execution failed",
    "code = CUDA:",
    "UDA execution failed",
    "CudaError::",
    "CUresult",
    "unsupported toolchain",
    "THCudaCheck",
    "CUDA-capable device",
    "cudaMalloc",
    "cudaMemcpy",
    "cudaMemset",
    "cudaLaunch",
    "cudaStream",
    "cudaDevice",
    "cudaEvent",
    "cudaFree",
    "cudaSet",
    "cudaHost",
    "cuLaunch",
    "cuMem",
    "cuStream",
    "cuCtx",
    "cuModule",
    "cuEvent",
    *TEXTS,
)

_API = re.compile(r"(?i:cuda)|\bcu[A-Z]|GPUassert")
_HIP = re.compile(r"\bhip|\bROCm", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:CudaAPIError: \[|Cu(?:da)?Error\(code ?=? ?)(\d{1,4})|\bcode = CUDA:(\d{1,4})"
    r"|(?-i:\bcu(?:da)?[A-Z]\w{3,})(?: return value: +|\(\): )(\d{1,4})\b"
    r"|(?:CUDA|cuda runtime|cuda) (?:driver )?(?:error|failure)[ "
    r":=#]*\(?(?:code[ :=]*)?(\d{1,3})\b|\bcuda execution failed with error (\d{1,3})\b"
    r"|\bcuda error [A-Za-z]{1,10}\W{1,3}'(\d{1,3})'"
    rf"|(?-i:\bcu(?:da)?[A-Z]\w{{3,}})(?:\([^()]{{0,80}}\))? ?(?:returned|{FAILS})(?: ?(?:error|code|el|un|le|den|with"
    rf"|{FAILS}))*\W{{0,4}}(\d{{1,3}})\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\bcuda (?:runtime |driver )?(?:error|failure)[:=] *(\S.*)", re.IGNORECASE)
_CODE = re.compile(r"\b(?:error|code|status|returned|result)\W{0,6}(?:code\W{0,3})?(\d{3}|30|38|48|59|74|77)\b", re.IGNORECASE)
# Source code that tests for an error, and advice of frameworks, are no errors.
NOT_TOLD = re.compile(
    r"[=!]= *(?:cudaError|CUDA_ERROR|hipError)|^\s*case |\breturn \w+Error|^\s*raise \w|^\s*(?://|/\*)|\b(?:f|s"
    r"|sn)?printf\s*\(|;\s*//|retrieve symbol cu|Search for `|For debugging consider|#define"
)


_ADVICE = re.compile(r"CUDA kernel errors might be|Common causes include|For debugging consider|Compile with `TORCH_USE")


def without_advice(text: str) -> str:
    """What a line says before the advice of PyTorch or of the driver's manual: pasted reports have both in one line."""
    found = _ADVICE.search(text)
    return text[: found.start()] if found and found.start() > 0 else text


def read(near: Near) -> Iterator[Event]:
    text = without_advice(near.text)
    if text.rstrip().endswith(":"):  # MATLAB and others say which on the next line
        text = " ".join((text, *near.after(1)))
    if NOT_TOLD.search(text) or _HIP.search(text) or "nvidia-container-cli" in text:  # the last never reached a program
        return
    api = "cuda" if _API.search(text) else ""  # HIP has the same texts
    named = _NAMED.search(text)  # what stands behind "CUDA error:" counts before what stands elsewhere
    status = (told(named[1]) if named else None) or told(text, distinct=not api)
    number = _NUMBER.search(text)
    if status is None and number:
        status = numbered(int(next(filter(None, number.groups()))))
    elif status is None and api and (coded := _CODE.search(text)):
        status = numbered(int(coded[1]))
    told_as_text = any(map(text.__contains__, TEXTS))
    if status is not None and (api or not told_as_text or (reads_like_a_failure(text) and not _ADVICE.search(text))):
        yield event(status, api, place(text, *near.after(1)))
