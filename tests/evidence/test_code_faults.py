"""What an audit says of device code, each with what it stays silent about. Kernels here are made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from gpudx.backends.hip.targets import parse
from gpudx.causes import every as every_cause
from gpudx.errors import UserError
from gpudx.evidence._code_faults import faults, runner
from gpudx.evidence._device_code import Contents, Image, Kernel
from gpudx.model import Finding
from gpudx.model.kernel_builds import KernelBuild


def kernel(symbol: str = "_Z4gemmPf", traps: bool = False, **numbers: Any) -> Kernel:
    return Kernel(KernelBuild("gemm(float*)", symbol, **{"spill_stores": 0, "stack_bytes": 0} | numbers), traps=traps)


def amd(*kernels: Kernel, target: str = "gfx90a", unread: str = "") -> Image:
    return Image("AMD", target, "code object v5", ".hip_fatbin+0x1000", kernels, unread)


def nvidia(*kernels: Kernel, target: str = "sm_90") -> Image:
    form = "PTX 8.0" if target.startswith("compute") else "cubin"
    return Image("NVIDIA", target, form, ".nv_fatbin+0x10", kernels)


def told(*images: Image, arch: tuple[str, ...] = ()) -> list[Finding]:
    return list(faults(Contents("app", "program or library", images), arch))


def test_sound_code_gives_nothing() -> None:
    assert told(amd(kernel()), nvidia(kernel()), arch=("gfx90a", "sm_90", "sm_90")) == []


def test_spills_are_told_once_for_all_targets() -> None:
    (found,) = told(
        amd(kernel(spill_stores=80, registers=24, stack_bytes=84)), amd(kernel(spill_stores=24), target="gfx906")
    )
    assert (found.id, found.severity) == ("kernel-spills", "warning")
    assert found.message.startswith(
        "Kernel gemm (gfx90a and gfx906) has more values than registers and moves 80 bytes per"
    )
    assert "gfx90a, .hip_fatbin+0x1000 of app: 80 bytes per thread spilled, 24 registers used" in found.evidence[0].text


def test_stack_is_a_note_that_names_spills_only_where_these_are_not_told() -> None:
    (known,) = told(amd(kernel(stack_bytes=2064)))
    (unknown,) = told(nvidia(kernel(stack_bytes=2048, spill_stores=None)))
    assert known.severity == unknown.severity == "info"
    assert "2,064 bytes per thread on a stack in slow memory: arrays" in known.message
    assert "spilled registers, arrays" in unknown.message


def test_a_kernel_that_is_a_trap() -> None:
    (found,) = told(nvidia(kernel(traps=True)), nvidia(kernel(), target="sm_80"))
    assert (found.id, found.severity, found.causes) == ("kernel-is-a-trap", "warning", ("device-trap",))
    assert found.message.startswith("Kernel gemm (sm_90) stops at a trap")


@pytest.mark.parametrize(
    ("held", "arch", "runs"),
    [
        ("sm_80", "sm_86", True), ("sm_86", "sm_80", False), ("sm_80", "sm_90", False), ("compute_80", "sm_90", True),
        ("compute_90", "sm_80", False), ("sm_90a", "sm_90", True), ("sm_90a", "sm_100", False), ("gfx90a", "gfx90a", True),
        ("gfx90a", "gfx908", False), ("gfx90a:xnack+", "gfx90a:xnack-", False), ("gfx90a:xnack+", "gfx90a", True),
        ("gfx90a", "gfx90a:xnack-", True), ("gfx11-generic", "gfx1101", True), ("gfx11-generic", "gfx1201", False),
        ("amdgcnspirv", "gfx942", True), ("gfx90a", "sm_90", False), ("sm_90", "gfx90a", False), ("", "gfx90a", False),
    ],
)  # fmt: skip
def test_what_runs_where(held: str, arch: str, runs: bool) -> None:
    image = amd(target=held) if held.startswith(("gfx", "amd")) else nvidia(target=held)
    assert runner(arch)(image) is runs


def test_no_code_for_a_target() -> None:
    (found,) = told(nvidia(kernel(), target="sm_80"), nvidia(target="compute_80"), arch=("sm_75",))
    assert (found.id, found.severity, found.causes) == ("no-code-for-target", "error", ("wrong-architecture",))
    assert (
        found.message == "Nothing in app runs on sm_75: it has code for sm_80 and compute_80; build it for sm_75 too."
    )
    assert told(nvidia(kernel(), target="sm_80"), nvidia(target="compute_80"), arch=("sm_120",)) == []


def test_what_could_not_be_read_may_have_been_it() -> None:
    (found,) = told(amd(kernel()), amd(target="", unread="is cut off"), arch=("gfx1100",))
    assert (
        found.severity == "warning" and found.evidence[1].text == ".hip_fatbin+0x1000 could not be read: it is cut off"
    )


def test_a_kernel_that_only_other_targets_have() -> None:
    images = (amd(kernel(), kernel("_Z4ropePf")), amd(kernel(), target="gfx1100"))
    (found,) = told(*images, arch=("gfx1100",))
    assert (found.id, found.severity) == ("kernel-not-built-for", "warning")
    assert found.message.startswith("Kernel rope (gfx90a) has no code that runs on gfx1100")
    assert told(*images, arch=("gfx90a",)) == []
    assert told(nvidia(kernel(), target="sm_80"), nvidia(target="compute_80"), arch=("sm_90",)) == []  # PTX may have it


@pytest.mark.parametrize("arch", ["", "hopper", "90", "gfx", "sm_9000"])
def test_what_is_no_architecture(arch: str) -> None:
    with pytest.raises(UserError, match="is not an architecture"):
        told(amd(), arch=(arch,))


def test_generations_and_causes() -> None:
    names = ("gfx906:xnack-", "gfx90a", "gfx1030", "gfx1201", "gfx10-3-generic", "", "amdgcnspirv")
    assert [parse(name).major for name in names] == [9, 9, 10, 12, 10, 0, 0]
    assert {"device-trap", "wrong-architecture"} <= set(every_cause())
