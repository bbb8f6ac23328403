"""Statuses of the HIP runtime that need more than their names. Numbers are CUDA's, where both have a status.

DEVICE_ERRORS are faults of work that ran before: the call that answers with one only reports it (HIP documentation, "HIP
error handling": "may also return error codes from previous, asynchronous launches"). hipGetLastError and
hipPeekAtLastError never have an error of their own.
"""

from __future__ import annotations

from gpudx.backends.cuda.statuses import ANY_CAUSE, CAPTURE_ERRORS, CAUSES, ORDINARY, REFUSED
from gpudx.backends.cuda.statuses import DEVICE_ERRORS as OF_CUDA

__all__ = [
    "ANY_CAUSE",
    "CAPTURE_ERRORS",
    "CAUSES",
    "DEVICE_ERRORS",
    "ERRORS_CROSS_CONTEXTS",
    "IMAGE_ERRORS",
    "LAUNCHES_TELL_THEIR_OWN",
    "ORDINARY",
    "REFUSED",
    "REFUSES_LARGE_LAUNCHES",
]

# Those that hipError_t has too.
DEVICE_ERRORS = {code: OF_CUDA[code] for code in (214, 700, 702, 710, 719)}
# A launch with more threads in a block than its kernel was compiled for is refused with hipErrorLaunchFailure, and nothing ran (clr,
# hip_module.cpp, ihipLaunchKernel_validate).
REFUSES_LARGE_LAUNCHES = {719: "more threads in a block than the kernel was compiled for"}
# A launch looks at the device's state when it returns; with HIP_LAUNCH_BLOCKING or AMD_SERIALIZE_KERNEL it has ended then.
LAUNCHES_TELL_THEIR_OWN = True
# Contexts are devices here, and no documentation says that a call in one of them reports only that device's faults.
ERRORS_CROSS_CONTEXTS = True
# Device code could not be loaded or found; what the words mean is in gpudx.detectors.unusable_image.
IMAGE_ERRORS = {98: "missing", 200: "bad", 209: "no-code", 300: "bad", 500: "missing"}
