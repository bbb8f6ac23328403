"""Statuses of the CUDA driver API that need more than their names.

DEVICE_ERRORS are faults of work that ran before: the call that answers with one only reports it, and every later call
of the context answers with it too (CUDA driver API reference, CUresult: "leaves the process in an inconsistent state
and any further CUDA work will return the same error").
"""

from __future__ import annotations

DEVICE_ERRORS = {
    214: "an uncorrectable ECC error occurred in device memory",
    220: "an NVLink error occurred",
    226: "a device-side fault was contained",
    700: "a kernel accessed an illegal address",
    702: "a kernel ran longer than the system allows",
    710: "an assert in a kernel failed",
    714: "a kernel overflowed its stack or damaged it",
    715: "a kernel executed an instruction that the device does not know, or a trap",
    716: "a kernel accessed memory at an address that is not aligned to the access",
    717: "a kernel used an address of the wrong memory space",
    718: "a kernel jumped to an address that is not code",
    719: "a kernel failed on the device",
    721: "a kernel ended without releasing its tensor memory",
}
# Answers of calls that ask or tidy up; nothing went wrong.
ORDINARY = {
    4: "the driver is shutting down",
    600: "the work is not done yet",
    704: "peer access was already enabled",
    712: "the host memory was already registered",
}

# The driver refused a value that the call was given, and does not say which.
REFUSED = {
    1: "the call does not accept one of the values",
    713: "the host memory is not registered",
}
# Device code could not be loaded or found; what the words mean is in gpudx.detectors.unusable_image.
IMAGE_ERRORS = {
    200: "bad",
    209: "no-code",
    218: "bad",
    221: "no-compiler",
    222: "too-new",
    223: "no-compiler",
    300: "bad",
    500: "missing",
}
# A capture and a call did not go together; each completes "..., because" (CUDA driver API reference, CUresult 900 to 908).
CAPTURE_ERRORS = {
    900: "the call is not allowed during a capture",
    901: "the capture had already been invalidated",
    902: "it would join two captures",
    903: "no capture was begun in this queue",
    904: "the capture has work in another queue that was not joined to it",
    905: "it would make captured work depend on work outside the capture",
    906: "the default queue waits for the queue that was being captured",
    907: "its event was last recorded in a queue that was being captured",
    908: "another thread had begun the capture",
}

# What a report means when only one launch can have done it; ids of gpudx.causes.
CAUSES = {700: "out-of-bounds-access", 716: "misaligned-access"}
ANY_CAUSE = "device-exception"
