"""Buffers of one line and size that no call uses, named beside a race for one of them."""

from __future__ import annotations

from support.detecting import Look, Make

HOST = 0x7F0000001000


def _races(world: Make, look: Look, *, other_size: int = 4096, used: bool = False) -> list[str]:
    process = world()
    queue = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    first, second = process.buffer(4096), process.buffer(other_size)
    for one in (process.queue, queue):
        process.call("clEnqueueWriteBuffer", queue=one, buffer=first, size=4096, ptr=HOST)
    if used:
        process.call("clEnqueueWriteBuffer", queue=queue, buffer=second, size=other_size, ptr=HOST)
    found = [one for one in look(process, "exit", exit_code=1) if one.id == "unordered-access"]
    assert found
    return [evidence.text for one in found for evidence in one.evidence]


def test_a_slot_that_nothing_uses_is_named(world: Make, look: Look) -> None:
    assert any("buffer #2, which clCreateBuffer" in text and "was never used" in text for text in _races(world, look))


def test_slots_that_are_used_and_other_buffers_are_silent(world: Make, look: Look) -> None:
    assert not any("was never used" in text for text in _races(world, look, used=True))
    assert not any("was never used" in text for text in _races(world, look, other_size=64))
