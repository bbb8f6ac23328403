"""Device code as SPIR-V: what `gpudx audit` reads of it, and arguments of launches. Modules are put together here, word by word, as the
specification has it, so that they can be damaged; test_hip_compilers.py has those of a compiler."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from cuda_kit import decode, of, values
from hip_kit import Kit

from gpudx.evidence import code_objects
from gpudx.lab.build import Built

MAGIC = "__CLANG_OFFLOAD_BUNDLE__"
NAMES = ("hip-spirv64-unknown-chipstar--generic", "hipv4-spirv64-amd-amdhsa--amdgcnspirv")


def text(value: str) -> list[int]:
    data = value.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def op(code: int, *operands: int) -> list[int]:
    return [(len(operands) + 1) << 16 | code, *operands]


def module() -> bytes:
    """__global__ void twice(float *x, int n) and void mixed(char c, struct { double d; int i[3]; } s, int *p), which wants 64 threads."""
    float_, int_, char, double, three, array, structure, to_float, to_structure, to_int, void = range(1, 12)
    twice, x, n, mixed, c, s, p, kind = range(20, 28)
    words = [0x07230203, 0x00010200, 0, 64, 0]
    words += op(15, 6, twice, *text("_Z5twicePfi")) + op(15, 6, mixed, *text("mixed"))
    words += op(16, mixed, 17, 64, 1, 1) + op(5, x, *text("x")) + op(5, s, *text("s"))
    words += op(71, s, 38, 2) + op(71, p, 38, 5)
    words += op(22, float_, 32) + op(21, int_, 32, 0) + op(21, char, 8, 0) + op(22, double, 64) + op(19, void)
    words += op(43, int_, three, 3) + op(28, array, int_, three) + op(30, structure, double, array)
    words += op(32, to_float, 5, float_) + op(32, to_structure, 7, structure) + op(32, to_int, 5, int_)
    words += op(54, void, twice, 0, kind) + op(55, to_float, x) + op(55, int_, n) + op(56)
    words += op(54, void, mixed, 0, kind) + op(55, char, c) + op(55, to_structure, s) + op(55, to_int, p) + op(56)
    return struct.pack(f"<{len(words)}I", *words)


def bundle(code: bytes, name: str) -> bytes:
    names = ["host-x86_64-unknown-linux-gnu-", name]
    head = len(MAGIC) + 8 + sum(24 + len(n) for n in names)
    at = -(-head // 4096) * 4096
    rows = [struct.pack("<QQQ", at, size, len(n)) + n.encode() for n, size in zip(names, (0, len(code)), strict=True)]
    return (MAGIC.encode() + struct.pack("<Q", 2) + b"".join(rows)).ljust(at, b"\0") + code


@pytest.mark.parametrize("name", NAMES)
def test_kernels_and_their_parameters_are_read(name: str) -> None:
    (image,) = code_objects.contents(memoryview(bundle(module(), name)), "app").images
    assert (image.vendor, image.form, image.unread) == ("SPIR-V", "SPIR-V 1.2", "")
    assert image.target == ("amdgcnspirv" if "amdgcn" in name else "spirv64")
    twice, mixed = image.kernels
    assert [(p.offset, p.size, p.name) for p in twice.parameters or ()] == [(0, 8, "x"), (8, 4, "")]
    assert [(p.offset, p.size) for p in mixed.parameters or ()] == [(0, 1), (8, 24), (32, 8)]
    assert [p.kind for p in mixed.parameters or ()] == ["by_value", "by_value", "global_buffer"]
    assert (mixed.build.max_threads, twice.build.max_threads) == (64, None)
    assert "device code with 2 kernels" in code_objects.summary(
        code_objects.contents(memoryview(bundle(module(), name)), "app")
    )


def test_code_for_any_device_is_not_missing_for_one() -> None:
    read = code_objects.contents(memoryview(bundle(module(), NAMES[0])), "app")
    assert not code_objects.to_findings(read, ["gfx942"])


@pytest.mark.parametrize("cut", [1, 19, 60, 200])
def test_damaged_modules_are_said_to_be_so(cut: int) -> None:
    whole = module()
    (image,) = code_objects.contents(memoryview(bundle(whole[: len(whole) - cut], NAMES[0])), "app").images
    assert image.unread or len(image.kernels) <= 2


@pytest.mark.parametrize("name", NAMES)
def test_a_launch_of_such_a_kernel_has_its_arguments(kit: Kit, tmp_path: Path, name: str) -> None:
    code = tmp_path / "code"
    code.write_bytes(bundle(module(), name))
    program = Built(
        kit.built("seven", "gcc", "-std=gnu11", "-w", "-g", Path(__file__).parent / "programs/seven.c", "-ldl")
    )
    ran = kit.run_hip(program, str(kit.runtime("7")), "dlsym", str(code))
    assert ran.returncode == 0, ran.stdout
    trace = ran.trace()
    calls = decode(trace)
    (launch,) = of(calls, "hipModuleLaunchCooperativeKernel")
    (memory,) = [c.words["result"] for c in of(calls, "hipMalloc")]
    given = [value for _, _, value in values(trace, launch.position)]
    assert given == [struct.pack("<Q", memory), struct.pack("<i", 7)]


def test_spoilt_modules_do_no_harm(kit: Kit, tmp_path: Path) -> None:
    program = Built(
        kit.built("seven", "gcc", "-std=gnu11", "-w", "-g", Path(__file__).parent / "programs/seven.c", "-ldl")
    )
    whole = module()
    for number, step in enumerate((4, 12, 28)):
        spoilt = bytearray(whole)
        for at in range(20 + number, len(spoilt), step):
            spoilt[at] ^= 0xFF
        code = tmp_path / f"code{number}"
        code.write_bytes(bundle(bytes(spoilt), NAMES[0]))
        assert kit.run_hip(program, str(kit.runtime("7")), "dlsym", str(code)).returncode == 0
