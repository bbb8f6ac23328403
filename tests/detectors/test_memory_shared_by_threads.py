"""Scratch memory of two host threads: reported where both write the same places unordered, and silent in all that looks like it."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look

from gpudx.facts import kernel_code
from gpudx.model import Finding
from gpudx.ptx_checks.parameters import Roles

FILL, SUM = "_Z4fillPii", "_Z3sumPKiPi"
STORED = Roles(frozenset(), (frozenset({0}),))  # argument 1 is only stored
OFFSET = Roles(frozenset(), (frozenset({0, 1}),))


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> dict[str, Roles | None]:
    known: dict[str, Roles | None] = {FILL: STORED, SUM: Roles(frozenset(), (frozenset({0}), frozenset({1})))}
    monkeypatch.setattr(kernel_code, "_roles", lambda program, symbol: known.get(symbol))
    return known


def threads(
    world: CudaWorld, values: tuple[int, int] = (2, 3), *, waits: bool = False, own: bool = False, same_thread: bool = False
) -> None:
    """Two threads, each with a stream: fill, then sum."""
    world.header["exe"] = "/bin/true"
    shared, other = world.alloc(1024), world.alloc(1024)
    fill, total = world.kernel(FILL, [8, 4]), world.kernel(SUM, [8, 8])
    streams = [world.create("cuStreamCreate", flags=1) for _ in range(2)]
    outs = [world.alloc(4) for _ in range(2)]
    for number in range(2):
        tid, memory = 1 if same_thread else 1 + number, other if own and number else shared
        world.launch(fill, [memory, values[number]], queue=streams[number], tid=tid)
        world.launch(total, [memory, outs[number]], queue=streams[number], tid=tid)
        if waits:
            world.call("cuStreamSynchronize", queue=streams[number], tid=tid)


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == "memory-shared-by-threads"]


def test_two_threads_that_fill_one_scratch_buffer(cuda: CudaWorld, look: Look, code: dict[str, Roles | None]) -> None:
    threads(cuda)
    (one,) = of(look(cuda, "exit"))
    assert one.severity == "error" and one.causes == ("threads-collide",)
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("fill", 3, 0)
    assert "Threads 1 and 2 both write memory #1 with kernel fill" in one.message and "kernel sum" in one.message


def test_it_is_a_warning_where_the_run_passed(cuda: CudaWorld, look: Look, code: dict[str, Roles | None]) -> None:
    threads(cuda)
    (one,) = of(look(cuda))
    assert one.severity == "warning"


def test_a_thread_that_waited_before_the_other_began_is_silent(cuda: CudaWorld, look: Look, code: dict[str, Roles | None]) -> None:
    threads(cuda, waits=True)
    assert not of(look(cuda, "exit"))


def test_buffers_of_their_own_are_silent(cuda: CudaWorld, look: Look, code: dict[str, Roles | None]) -> None:
    threads(cuda, own=True)
    assert not of(look(cuda, "exit"))


def test_one_thread_with_two_streams_is_left_to_unordered_access(cuda: CudaWorld, look: Look, code: dict[str, Roles | None]) -> None:
    threads(cuda, same_thread=True)
    assert not of(look(cuda, "exit"))


def test_the_same_values_are_silent(cuda: CudaWorld, look: Look, code: dict[str, Roles | None]) -> None:
    threads(cuda, (2, 2))
    assert not of(look(cuda, "exit"))


@pytest.mark.parametrize("roles", [OFFSET, Roles(frozenset({1}), (frozenset({0}),)), None])
def test_numbers_that_may_say_where_to_work_are_silent(
    cuda: CudaWorld, look: Look, code: dict[str, Roles | None], roles: Roles | None
) -> None:
    code[FILL] = roles
    threads(cuda)
    assert not of(look(cuda, "exit"))
