"""Statuses of cuBLAS, cuDNN, cuFFT, cuSPARSE, cuSOLVER and their ROCm twins: CUBLAS_STATUS_EXECUTION_FAILED and the like.

A library that could not run its kernel is very often the first to notice what an earlier kernel did: EXECUTION_FAILED and
INTERNAL_ERROR are reports. NOT_INITIALIZED and ALLOC_FAILED are most often a lack of memory, or a device that has failed before. What
the libraries refuse for its values (INVALID_VALUE, BAD_PARAM, NOT_SUPPORTED) is reported as a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source

FORMAT = "cuda-libraries"
MARKS = (
    "CUBLASError(",
    "CUSOLVERError(",
    "CUDNNError(",
    "CUFFTError(",
    "CUSPARSEError(",
    "CURANDError(",
    "CUBLAS_STATUS_",
    "CUDNN_STATUS_",
    "CUFFT_",
    "CUSPARSE_STATUS_",
    "CUSOLVER_STATUS_",
    "HIPBLAS_STATUS_",
    "miopenStatus",
)
_STATUS = re.compile(r"\b(CUBLAS|CUDNN|CUFFT|CUSPARSE|CUSOLVER|HIPBLAS|miopen)_?(?:STATUS_|Status)?([A-Za-z_]+)")
_CODELIKE = re.compile(r"[=!]= *\w+_STATUS|^\s*case |#define|_SUCCESS")
EARLIER = "often for a fault that an earlier kernel made"
MEANINGS: dict[str, tuple[Role, str, str]] = {
    "EXECUTION_FAILED": ("report", f"could not run its work on the device, {EARLIER}", "device-error-reported"),
    "EXEC_FAILED": ("report", f"could not run its work on the device, {EARLIER}", "device-error-reported"),
    "INTERNAL_ERROR": ("report", f"failed inside, {EARLIER}", "device-error-reported"),
    "MAPPING_ERROR": ("report", f"could not reach device memory, {EARLIER}", "device-error-reported"),
    "NOT_INITIALIZED": (
        "report",
        "could not start, for lack of memory or after an earlier fault",
        "device-error-reported",
    ),
    "ALLOC_FAILED": ("refusal", "could not have the memory that it asked for", "failed-call"),
    "ARCH_MISMATCH": ("refusal", "has no code for this device", "wrong-architecture"),
    "INVALID_VALUE": ("refusal", "was given a value that it does not take", "failed-call"),
    "BAD_PARAM": ("refusal", "was given a value that it does not take", "failed-call"),
    "NOT_SUPPORTED": ("refusal", "does not support what it was asked for", "failed-call"),
}


_JULIA = re.compile(r"\b(CUBLAS|CUSOLVER|CUDNN|CUFFT|CUSPARSE|CURAND)Error\(code (\d+), ([^)]{3,120})\)")


def read(near: Near) -> Iterator[Event]:
    if julia := _JULIA.search(near.text):
        said = f"{julia[1]} failed: {julia[3]} (code {julia[2]}); an earlier device error can be the reason."
        facts = (("library", julia[1]), ("status", julia[2]))
        yield Event("library-error", "report", said, facts, causes=("device-error-reported",), next=_next.SERIALISE)
        return
    found = None if _CODELIKE.search(near.text) else _STATUS.search(near.text)
    if found is None or found[2] not in MEANINGS:
        return
    role, means, cause = MEANINGS[found[2]]
    late = "; the log shows where this was noticed, not which launch did it" if role == "report" else ""
    yield Event(
        kind=f"library-{found[2].lower().replace('_', '-')}",
        role=role,
        message=f"{found[1]} {means} ({found[2]}){late}.",
        facts=(("library", found[1]), ("status", found[2])),
        notes=("not proved: that the library is at fault",) if role == "report" else (),
        causes=(cause,),
        sure=role == "refusal",
        next=_next.SERIALISE if role == "report" else _next.RECORD,
        noticed=source(near.text) if role == "report" else "",
    )
