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
# A check that prints the number: "err == CUBLAS_STATUS_SUCCESS (14 vs. 0)", "cublas failed (13)".
_CHECKED = re.compile(r"\b(CUBLAS|CUDNN|CUSPARSE|CUSOLVER)_STATUS_SUCCESS\b.*?(?:\((\d+) vs\.? 0\)|failed \((\d+)\))")
# cublasStatus_t, cudnnStatus_t (before cuDNN 9), cusparseStatus_t and cusolverStatus_t in the headers of these libraries.
NUMBERS = {
    "CUBLAS": {1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 11: "MAPPING_ERROR",
               13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED"},
    "CUDNN": {1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "BAD_PARAM", 4: "INTERNAL_ERROR", 5: "INVALID_VALUE", 6: "ARCH_MISMATCH",
              7: "MAPPING_ERROR", 8: "EXECUTION_FAILED", 9: "NOT_SUPPORTED"},
}
NUMBERS["CUSPARSE"] = NUMBERS["CUSOLVER"] = {
    1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "INVALID_VALUE", 4: "ARCH_MISMATCH", 5: "MAPPING_ERROR", 6: "EXECUTION_FAILED",
    7: "INTERNAL_ERROR",
}  # fmt: skip
EARLIER = "often because of a fault in an earlier kernel"
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
    "ALLOC_FAILED": ("refusal", "could not get the memory that it requested", "failed-call"),
    "ARCH_MISMATCH": ("refusal", "has no code for this device", "wrong-architecture"),
    "INVALID_VALUE": ("refusal", "was passed a value that it does not accept", "failed-call"),
    "BAD_PARAM": ("refusal", "was passed a value that it does not accept", "failed-call"),
    "NOT_SUPPORTED": ("refusal", "does not support the request", "failed-call"),
}


_JULIA = re.compile(r"\b(CUBLAS|CUSOLVER|CUDNN|CUFFT|CUSPARSE|CURAND)Error\(code (\d+), ([^)]{3,120})\)")


def read(near: Near) -> Iterator[Event]:
    if julia := _JULIA.search(near.text):
        said = f"{julia[1]} failed: {julia[3]} (code {julia[2]}); an earlier device error can be the reason."
        facts = (("library", julia[1]), ("status", julia[2]))
        yield Event("library-error", "report", said, facts, causes=("device-error-reported",), next=_next.SERIALISE)
        return
    library, status = _status(near.text)
    if status not in MEANINGS:
        return
    role, means, cause = MEANINGS[status]
    late = "; the log shows where this was noticed, not which launch did it" if role == "report" else ""
    yield Event(
        kind=f"library-{status.lower().replace('_', '-')}",
        role=role,
        message=f"{library} {means} ({status}){late}.",
        facts=(("library", library), ("status", status)),
        notes=("not proved: that the library is at fault",) if role == "report" else (),
        causes=(cause,),
        sure=role == "refusal",
        next=_next.SERIALISE if role == "report" else _next.RECORD,
        noticed=source(near.text) if role == "report" else "",
    )


def _status(text: str) -> tuple[str, str]:
    """The library and the status that a line names, by name or by number."""
    if checked := _CHECKED.search(text):
        return checked[1], NUMBERS[checked[1]].get(int((checked[2] or checked[3])[:4]), "")
    found = None if _CODELIKE.search(text) else _STATUS.search(text)
    return (found[1], found[2]) if found else ("", "")
