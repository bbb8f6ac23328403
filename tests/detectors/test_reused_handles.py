"""One release too many of an object whose handle was another object's before: who took it for the old one?"""

from __future__ import annotations

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

LAYER, OWNER, SETS = 0x1000, 0x2000, 0x3000  # places of the program
ID = "use-of-released-object"


def reused(process: World, releases: tuple[int, int, int], launched: bool = True) -> int:
    """A handle is released, given to a new buffer, passed to a launch, and released twice; from these places."""
    handle = process.buffer(4096)
    kernel = process.kernel("gemm", [Arg("float*", "b", GLOBAL)])
    process.set_arg(kernel, 0, handle, caller=SETS)
    process.launch(kernel, [16])
    process.release(handle, caller=releases[0])
    process.buffer(4096, result=handle)
    if launched:
        process.set_arg(kernel, 0, handle, caller=SETS)
        process.launch(kernel, [16])
    process.release(handle, caller=releases[1])
    process.release(handle, caller=releases[2], open_=True)
    return handle


def double(found: list[Finding]) -> Finding:
    (one,) = [one for one in found if one.id == ID]
    return one


@pytest.mark.parametrize("mistaken", [1, 2])
def test_the_early_release_and_the_launch_are_named(world: Make, look: Look, mistaken: int) -> None:
    process = world()
    places = (LAYER, LAYER, OWNER) if mistaken == 1 else (LAYER, OWNER, LAYER)
    reused(process, places)
    finding = double(look(process, "signal"))
    assert finding.message.startswith("Buffer #1 was released (clReleaseMemObject, call ")
    assert "gave the handle to buffer #2: kernel gemm (launch 2) was passed it as argument 0 `b`, and" in finding.message
    assert finding.message.endswith("released buffer #2 in place of buffer #1.")
    assert finding.root is not None and finding.root.number < finding.site.number  # type: ignore[union-attr]


def test_no_launch_is_named_where_none_was_passed_it(world: Make, look: Look) -> None:
    process = world()
    reused(process, (LAYER, LAYER, OWNER), launched=False)
    assert "kernel" not in double(look(process, "signal")).message


@pytest.mark.parametrize("places", [(LAYER, LAYER, LAYER), (LAYER, OWNER, OWNER), (LAYER, OWNER, SETS)])
def test_where_the_places_do_not_tell_only_the_fact_is_stated(world: Make, look: Look, places: tuple[int, int, int]) -> None:
    """One wrapper releases everything, or the new buffer's own code released it twice."""
    process = world()
    reused(process, places)
    finding = double(look(process, "signal"))
    assert finding.message.startswith("Buffer #2 had been released") and finding.root is None
    assert any("was buffer #1 (created by call " in one.text and "became buffer #2" in one.text for one in finding.evidence)


def test_a_handle_that_never_meant_another_object(world: Make, look: Look) -> None:
    process = world()
    handle = process.buffer(64)
    process.release(handle, caller=LAYER)
    process.release(handle, caller=OWNER, open_=True)
    assert not any("became" in one.text for one in double(look(process, "signal")).evidence)


def test_reuse_alone_is_no_fault(world: Make, look: Look) -> None:
    """Drivers reuse handles all the time: made, used and released in a loop."""
    process = world()
    handle = process.buffer(64)
    kernel = process.kernel("gemm", [Arg("float*", "b", GLOBAL)])
    for _ in range(3):
        process.set_arg(kernel, 0, handle, caller=SETS)
        process.launch(kernel, [16])
        process.release(handle, caller=LAYER)
        process.buffer(64, result=handle)
    process.release(handle, caller=LAYER)
    assert not [one for one in look(process) if one.id == ID]
