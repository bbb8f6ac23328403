"""Errors that earlier work on the device caused: whatever call returns one of them is not the cause.

CUDA: "Sticky errors" in the descriptions of cudaError_t (the process must be relaunched); HIP uses the same numbers. OpenCL, Vulkan,
Level Zero, Direct3D, Metal and WebGPU report a fault of the device at a later call, too. One rule for all formats: `Scan` turns
a refusal that quotes such an error into a report.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudx.evidence.logs._event import Event

CODES = frozenset({214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 809, 999})
_NAMES = (
    r"(?:cudaError|hipError)(?:IllegalAddress|LaunchTime[Oo]ut|Assert|HardwareStackError|IllegalInstruction|MisalignedAddress"
    r"|InvalidAddressSpace|InvalidPc|LaunchFailure|Unknown|ECCUncorrectable|ECCNotCorrectable|Contained|NvlinkUncorrectable)",
    r"CUDA_ERROR_(?:ILLEGAL_ADDRESS|LAUNCH_TIMEOUT|ASSERT|HARDWARE_STACK_ERROR|ILLEGAL_INSTRUCTION|MISALIGNED_ADDRESS"
    r"|INVALID_ADDRESS_SPACE|INVALID_PC|LAUNCH_FAILED|UNKNOWN|ECC_UNCORRECTABLE|CONTAINED|NVLINK_UNCORRECTABLE)",
    r"(?:CL|PI_ERROR|UR_RESULT_ERROR|ZE_RESULT_ERROR)_?(?:OUT_OF_RESOURCES|EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"
    r"|INVALID_COMMAND_QUEUE|DEVICE_NOT_AVAILABLE|DEVICE_LOST|UNKNOWN)",
    r"VK_ERROR_(?:DEVICE_LOST|UNKNOWN)|DXGI_ERROR_DEVICE_(?:REMOVED|HUNG|RESET)|OPTIX_ERROR_(?:LAUNCH_FAILURE|CUDA_ERROR)",
    r"kIO(?:GPU|Accel)CommandBufferCallbackError(?!OutOfMemory)\w+|MTLCommandBufferErrorPageFault",
)
STICKY = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(_NAMES)})(?![A-Za-z0-9_])")


def sticky(text: str) -> bool:
    """Does a text name an error that may belong to earlier work?"""
    return bool(STICKY.search(text))


def reported(event: Event) -> Event:
    """The same event as a report of earlier work: it blames no call."""
    causes = tuple(dict.fromkeys(("device-error-reported", *(one for one in event.causes if one != "failed-call"))))
    return replace(
        event, role="report", causes=causes, sure=False, noticed=event.noticed or dict(event.facts).get("at", "")
    )
