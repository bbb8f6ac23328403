"""Addresses of the program's ordinary memory, which no call made or registered for a device."""

from __future__ import annotations

from gpudx.facts import Facts

PLACES = {
    "heap": "on the program's heap",
    "stack": "on the program's stack",
    "anonymous": "in ordinary host memory",
    "code": "in the program's code",
}
DEVICE_FILES = "/dev/"  # drivers map memory of theirs from files there


def ordinary(facts: Facts, address: int) -> str | None:
    """Where an address that is in no recorded allocation lies in the host's memory: "on the program's heap".

    None where that is not certain. The maps are those of the process's end: memory that was given back before is not told.
    """
    kind = facts.symbols.kind(address) or ""
    if kind.startswith("file:") and not kind.startswith(f"file:{DEVICE_FILES}"):
        return f"in the data of {kind.rpartition('/')[2]}"
    return PLACES.get(kind)


def out_of_reach(facts: Facts, position: int) -> bool:
    """Does the device of a call say that it cannot access ordinary host memory?"""
    device = facts.kernels.device_at(position)
    return device is not None and device.numbers.get("pageable_access", 1) == 0
