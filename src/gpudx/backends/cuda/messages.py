"""What the CUDA driver prints while a program runs, as far as it says why something failed.

An assertion that fails in a kernel is told on stderr by every thread that meets it (CUDA C++ Programming Guide,
"Assertion"): FILE:LINE: FUNCTION: block: [X,Y,Z], thread: [X,Y,Z] Assertion `CONDITION` failed.

An access to memory that is not mapped is error 700 for the program, without its address; the kernel's log has it (NVIDIA, "Xid
Errors", 31): NVRM: Xid (PCI:...): 31, pid=N, name=PROGRAM, ... faulted @ 0x7f36_437bb000. Fault is of type FAULT_PDE
ACCESS_TYPE_VIRT_WRITE.
The address is that of a page of 4 KiB. The word before "faulted" is the client: a part of a processor cluster, or of the hub.
"""

from __future__ import annotations

import re

from gpudx.backends.tool import Assertion, Fault

_ASSERTION = re.compile(
    r"(?P<file>[^\n]*?):(?P<line>\d+): (?P<function>[^\n]*?): block: \[(?P<block>[\d, ]+)\], thread: \[(?P<thread>[\d, ]+)\]"
    r" Assertion `(?P<condition>[^\n]*)` failed"
)
PAGE = 4096
KERNELS = "GPCCLIENT"  # whose accesses are those of kernels; HUBCLIENT_CE is a copy engine, HUBCLIENT_HOST the front end
_XID = re.compile(
    r"NVRM: Xid \([^)]*\): 31, pid='?(?P<pid>\d+)'?, name=(?P<name>[^,]*),.*? (?P<client>\w+) faulted @ (?P<address>0x[0-9a-fA-F_]+)\."
    r"(?: Fault is of type (?P<type>\w+) ACCESS_TYPE_(?:VIRT_|PHYS_)?(?P<access>\w+))?"
)
REASONS = {"RO_VIOLATION": "a write to memory that may only be read", "WO_VIOLATION": "a read of memory that may only be written"}


def page_of(address: str) -> int:
    """The page of an address as the driver writes it: 0x7f36_437bb000."""
    return int(address.replace("_", ""), 16) & ~(PAGE - 1)


def is_write(access: str) -> bool:
    """Of what stands behind ACCESS_TYPE_VIRT_ or ACCESS_TYPE_PHYS_."""
    return not access.startswith(("READ", "PREFETCH"))


def fault(text: str) -> Fault | None:
    """The fault that a line of the kernel's log tells of, None for other texts."""
    found = _XID.search(text)
    if found is None or not found["client"].startswith(KERNELS):
        return None
    access = found["access"] or ""
    return Fault(
        address=page_of(found["address"]),
        bytes=PAGE,
        reason=REASONS.get((found["type"] or "").removeprefix("FAULT_"), "the page is not mapped"),
        writes=is_write(access) if access else None,
        process=(int(found["pid"]), found["name"].strip()),
        said=found[0],
    )


def assertion(text: str) -> Assertion | None:
    """The assertion that a printed text tells of, None for other texts."""
    found = _ASSERTION.search(text)
    if found is None:
        return None
    return Assertion(
        source=f"{found['file']}:{found['line']}",
        function=found["function"],
        condition=found["condition"],
        block=found["block"].replace(" ", ""),
        thread=found["thread"].replace(" ", ""),
    )


def last_name(function: str) -> str:
    """The bare name of a function as compilers spell it: no result type, namespaces, template arguments or parameters."""
    depth, kept = 0, []
    for letter in function.partition(" [with ")[0].replace("(anonymous namespace)", ""):
        depth += letter in "<("
        if not depth:
            kept.append(letter)
        depth -= letter in ">)" and depth > 0
    return "".join(kept).strip().rpartition("::")[2].split(" ")[-1].lstrip("*&")
