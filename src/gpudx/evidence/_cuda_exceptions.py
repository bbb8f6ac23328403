"""Names and meanings of the exceptions that CUDA's debugger interface reports.

Numbers and names: enum CUDBGException_t in the toolkit's cudadebugger.h (CUDA 13.0; those from 23 on came with 13.1,
which also withdrew some of the older ones). The meanings are ours.
"""

from __future__ import annotations

PREFIX = "CUDBG_EXCEPTION_"
UNKNOWN = 0xFFFFFFFF

EXCEPTIONS = {
    1: ("LANE_ILLEGAL_ADDRESS", "a thread accessed an illegal address"),
    2: ("LANE_USER_STACK_OVERFLOW", "a thread's stack overflowed"),
    3: ("DEVICE_HARDWARE_STACK_OVERFLOW", "the device's call stack overflowed"),
    4: ("WARP_ILLEGAL_INSTRUCTION", "an illegal instruction was executed"),
    5: ("WARP_OUT_OF_RANGE_ADDRESS", "an address lies outside of shared or local memory, or of the address space"),
    6: ("WARP_MISALIGNED_ADDRESS", "an address is not a multiple of the access size"),
    7: ("WARP_INVALID_ADDRESS_SPACE", "an instruction was used on a kind of memory that it does not work on"),
    8: ("WARP_INVALID_PC", "execution left the code"),
    9: ("WARP_HARDWARE_STACK_OVERFLOW", "the warp's call stack overflowed"),
    10: ("DEVICE_ILLEGAL_ADDRESS", "the device accessed an illegal global address; no warp is named"),
    11: ("LANE_MISALIGNED_ADDRESS", "a thread's address is not a multiple of the access size"),
    12: ("WARP_ASSERT", "a device-side assertion failed"),
    13: ("LANE_SYSCALL_ERROR", "a device-side system call (malloc, free, printf) failed"),
    14: ("WARP_ILLEGAL_ADDRESS", "an access to an illegal address"),
    15: ("LANE_NONMIGRATABLE_ATOMSYS", "a system-wide atomic on memory that cannot migrate"),
    16: ("LANE_INVALID_ATOMSYS", "a system-wide atomic on an invalid address"),
    17: ("CLUSTER_OUT_OF_RANGE_ADDRESS", "an address lies outside of the cluster's shared memory"),
    18: ("CLUSTER_BLOCK_NOT_PRESENT", "the shared memory of a block that has not started or has ended was accessed"),
    19: ("WARP_STACK_CANARY", "the stack of a device function was overwritten"),
    20: ("WARP_TMEM_ACCESS_CHECK", "an invalid access to tensor memory"),
    21: ("WARP_TMEM_LEAK", "tensor memory was not released"),
    22: ("WARP_CALL_REQUIRES_NEWER_DRIVER", "the code calls a function that only a newer driver has"),
    23: ("WARP_MISALIGNED_PC", "a jump to an address that is not an instruction"),
    24: ("WARP_PC_OVERFLOW", "execution left the address space"),
    25: ("WARP_MISALIGNED_REG", "a register pair that is not aligned"),
    26: ("WARP_ILLEGAL_INSTR_ENCODING", "an instruction with an illegal encoding was executed"),
    27: ("WARP_ILLEGAL_INSTR_PARAM", "an instruction with an illegal operand was executed"),
    28: ("WARP_OUT_OF_RANGE_REGISTER", "a register beyond those that the kernel has"),
    29: ("WARP_INVALID_CONST_ADDR_LDC", "an address outside of constant memory"),
    30: ("WARP_MMU_FAULT", "an access to an address that is not mapped"),
    31: ("WARP_ARRIVE", "more arrivals at a barrier than it expects"),
    32: ("CLUSTER_POISON", "an access within the cluster met an uncorrectable memory error"),
    33: ("WARP_API_STACK_ERROR", "the stack limit was exceeded"),
    34: ("WARP_BLOCK_NOT_PRESENT", "a block of the cluster was not there any more, or not yet"),
    35: ("WARP_USER_STACK_OVERFLOW", "the stack overflowed"),
    36: ("TMA_SYSCALL", "a bulk copy failed in the system code"),
    UNKNOWN: ("UNKNOWN", "an exception that the driver does not name"),
}

MISALIGNED = frozenset((6, 11))
ADDRESS = frozenset((1, 5, 6, 10, 11, 14, 15, 16, 30))  # those that are about the address of one instruction
UNMAPPED = frozenset((1, 10, 14, 30))  # those that global memory alone can raise


def name_of(code: int) -> str:
    """ "CUDBG_EXCEPTION_WARP_ASSERT" for 12; a number that this table does not have stays a number."""
    return PREFIX + EXCEPTIONS[code][0] if code in EXCEPTIONS else f"{PREFIX}{code}"


def meaning_of(code: int) -> str:
    return EXCEPTIONS[code][1] if code in EXCEPTIONS else f"an exception with the unknown number {code}"


def short_name(exception: str) -> str:
    """ "illegal-address" for "CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS", without saying who noticed it."""
    text = exception.removeprefix(PREFIX).lower().replace("_", "-")
    return text.removeprefix("warp-").removeprefix("lane-").removeprefix("device-")
