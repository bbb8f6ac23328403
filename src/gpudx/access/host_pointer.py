"""The address is in the host's memory (heap, stack, data), which the device cannot reach."""

from __future__ import annotations

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence

WHERE = {"heap": "the program's heap", "stack": "the program's stack", "anonymous": "host memory of the program"}
NEAR = 1 << 30  # an index may lead this far from the pointer that was passed


def explain(question: Question) -> Reason | None:
    facts, address = question.facts, question.address
    if address is None or facts.memory.one(address, question.position) >= 0 or _reaches(question):
        return None
    given = _given(question, address)
    if given is not None and facts.memory.one(given[1], question.position) >= 0:
        return None  # the pointer is a device's; the access only went too far
    kind = _kind(question, given[1] if given else address)
    if kind is None:
        return None
    if given is None:
        return Reason("host-pointer-on-device", f"the address is in {kind}, which the device cannot reach")
    index, value, name = given
    evidence = (Evidence(f"{name} was {value:#x}, which is in {kind} and in no device memory"),)
    return Reason(
        "host-pointer-on-device", f"{name} points into {kind}, which the device cannot reach", evidence, index
    )


def _reaches(question: Question) -> bool:
    """Can this device access pageable host memory? Where that is unknown, nothing is said."""
    launches = question.facts.launches
    device = question.facts.kernels.device_of(int(launches.queue[question.launch]), question.position)
    return device is None or bool(device.numbers.get("pageable_access", 1))


def _kind(question: Question, address: int) -> str | None:
    kind = question.facts.symbols.kind(address)
    if kind is None:
        return None
    return WHERE.get(kind) or (f"{kind.removeprefix('file:')}" if kind.startswith("file:") else None)


def _given(question: Question, address: int) -> tuple[int, int, str] | None:
    """The value that the launch was given and that the address follows from: the largest one not above it."""
    found = []
    for value in question.facts.launches.values(question.launch):
        index, data, declared = int(value["index"]), bytes(value["bytes"]), value["declared"]
        name = f"argument {index}" + (f" ({declared.name})" if declared and declared.name else "")
        for at in range(0, len(data) - 7, 8):
            word = int.from_bytes(data[at : at + 8], "little")
            if question.went_through(index, at) and word <= address < word + NEAR and word >= 1 << 16:
                found.append((word, index, name if len(data) == 8 else f"the pointer at byte {at} of {name}"))
    if not found:
        return None
    word, index, name = max(found)
    return index, word, name
