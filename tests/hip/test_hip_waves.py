"""AMD's machine code as text: accesses out of a wave's registers, where addresses came from, and source lines of code objects that
Triton compiled for five chips. Dumps are put together here; no AMD device printed them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gpudx.backends.occupancy import bound
from gpudx.evidence import _amd_waves, code_objects
from gpudx.evidence._amd_lines import source_line
from gpudx.evidence.logs._fold import read_log
from gpudx.model import KernelBuild

CHIPS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1200": 32}


def registers(**vectors: list[int]) -> str:
    lines = ["            exec: 000000000000000f", "            s4: 00001000                 s5: 00007f00"]
    lines += [
        f"            {name}: " + " ".join(f"[{i}] {v:08x}" for i, v in enumerate(values))
        for name, values in vectors.items()
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "address", "size", "writes"),
    [
        ("global_load_dword v5, v[2:3], off offset:16", 0x7F0000001010, 4, False),
        ("global_store_dwordx4 v[2:3], v[8:11], off", 0x7F0000001000, 16, True),
        ("global_load_b128 v[8:11], v2, s[4:5] offset:-8", 0x7F0000001FF8, 16, False),
        ("flat_load_ushort v5, v[2:3]", 0x7F0000001000, 2, False),
        ("flat_store_byte v[2:3], v7 offset:1", 0x7F0000001001, 1, True),
        ("global_atomic_add v9, v[2:3], v7, off glc", 0x7F0000001000, 4, True),
        ("buffer_load_dword v5, v2, s[4:7], 0 offen offset:4", 0x7F0000002004, 4, False),
        ("s_load_dwordx2 s[8:9], s[4:5], 0x18", 0x7F0000001018, 8, False),
    ],
)
def test_the_address_of_every_form(text: str, address: int, size: int, writes: bool) -> None:
    wave = _amd_waves.wave(registers(v2=[0x1000] * 4, v3=[0x7F00] * 4))
    listing = _amd_waves.code([f"    0x10 <+0>: {text}", " => 0x18 <+8>: s_waitcnt vmcnt(0)"])
    first, *_ = _amd_waves.accesses(wave, listing)
    assert (first.address, first.bytes, first.writes) == (address, size, writes)


@pytest.mark.parametrize("behind", ["v_mov_b32_e32 v3, 0", "s_cbranch_execz 5", "global_load_dword v2, v[8:9], off"])
def test_nothing_is_said_where_registers_may_have_changed(behind: str) -> None:
    wave = _amd_waves.wave(registers(v2=[0x1000] * 4, v3=[0x7F00] * 4))
    lines = ["0x10 <+0>: global_load_dword v5, v[2:3], off", f"0x18 <+8>: {behind}", "=> 0x20 <+16>: s_nop 0"]
    assert not [a for a in _amd_waves.accesses(wave, _amd_waves.code(lines)) if a.address == 0x7F0000001000]


DUMP = """System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present or supervisor privilege)
Faulting page: 0x7f0000003000

wave_1: pc=0x7f10 (stopped, reason: MEMORY_VIOLATION)

{registers}

Disassembly for function blur(float*):
    code object: {where}
    loaded at: [{base:#x}-0x7fff]
    0x7f00 <+0>:    global_load_dword v5, v[6:7], off
    0x7f08 <+8>:    global_store_dword v[2:3], v5, off
 => 0x7f10 <+16>:    s_waitcnt vmcnt(0)
"""


def test_the_lane_that_touched_the_faulting_page_is_named() -> None:
    text = DUMP.format(
        registers=registers(v2=[0x2FF8, 0x2FFC, 0x3000, 0x3004], v3=[0x7F00] * 4, v6=[0x1000] * 4, v7=[0x7F00] * 4),
        where="memory://1#offset=0x1&size=2",
        base=0x7000,
    )
    told = read_log("agent.log", [text.encode()])
    notes = str(told)
    assert (
        "lane 2 wrote 4 bytes at 0x7f0000003000 with `global_store_dword v[2:3], v5, off`: v2 = 0x3000, v3 = 0x7f00"
        in notes
    )


def test_the_line_of_the_access_is_named_not_where_the_wave_stood() -> None:
    text = DUMP.format(
        registers=registers(v2=[0x3000] * 4, v3=[0x7F00] * 4, v6=[0x1000] * 4, v7=[0x7F00] * 4), where="memory://1", base=0x7000
    )
    lines = {"    0x7f00": "src/blur.hip:\n11          float a = x[i];\n    0x7f00", " => 0x7f10": "19      }\n => 0x7f10"}
    for old, new in lines.items():
        text = text.replace(old, new)
    message = read_log("agent.log", [text.encode()]).told[-1].event.message
    assert "at src/blur.hip:11" in message or "at blur.hip:11" in message


def test_no_lane_is_named_where_none_touched_the_page() -> None:
    text = DUMP.format(registers=registers(v2=[0x1000] * 4, v3=[0x7F00] * 4), where="memory://1", base=0x7000)
    assert "wrote 4 bytes at" not in str(read_log("agent.log", [text.encode()]))


# ---- code that Triton compiles ----

KERNEL = """
import sys, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + at, mask=at < n)
    tl.store(out + at, tl.load(x + where))

chip, wave, place = sys.argv[1:]
types = {"x": "*fp32", "index": "*i32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
made = triton.compile(ASTSource(gather, types, constexprs={"BLOCK": 256}), target=GPUTarget("hip", chip, int(wave)))
open(place + ".hsaco", "wb").write(made.asm["hsaco"])
open(place + ".s", "w").write(made.asm["amdgcn"])
"""


@cache
def compiled(chip: str, folder: Path) -> tuple[bytes, str]:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed (pip install triton)")
    program = folder / "gather.py"
    program.write_text(KERNEL)
    place = folder / chip
    subprocess.run([sys.executable, str(program), chip, str(CHIPS[chip]), str(place)], check=True, timeout=240)
    return place.with_suffix(".hsaco").read_bytes(), place.with_suffix(".s").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chips")


def listed(assembly: str) -> list[_amd_waves.Instruction]:
    """The compiler's assembly with made-up addresses."""
    lines = [line.split(";")[0].strip() for line in assembly.splitlines()]
    body = [line for line in lines if re.match(r"(s|v|global|buffer|flat|ds)_\w+|\.?L\w+:", line)]
    return _amd_waves.code(line if line.endswith(":") else f"{4 * n:#x}: {line}" for n, line in enumerate(body))


@pytest.mark.parametrize("chip", CHIPS)
def test_kernels_lines_and_accesses_of_this_chip_are_read(chip: str, folder: Path) -> None:
    code, assembly = compiled(chip, folder)
    (image,) = code_objects.contents(memoryview(code), "gather.hsaco").images
    (kernel,) = image.kernels
    assert (image.target, image.form, kernel.build.wave_size) == (chip, "code object v5", CHIPS[chip])
    assert [p.size for p in kernel.parameters or ()][:4] == [8, 8, 8, 4]
    waves, said = bound(kernel.build), re.search(r"; Occupancy: (\d+)", assembly)
    assert waves and said and waves.waves == int(said[1])
    lines = {str(found) for at in range(0x1500, 0x1C00, 4) if (found := source_line(code, at))}
    assert {"gather.py:9", "gather.py:10"} <= lines  # the two loads, and the store
    memory = [one for one in listed(assembly) if _amd_waves._MEMORY.match(one.name) and "load" in one.name]
    known = [one for one in memory if _amd_waves.made_of(one)]
    assert known and len(known) >= len(memory) / 2


@pytest.mark.parametrize(
    ("chip", "registers", "waves"),
    [("gfx942", 72, 7), ("gfx942", 148, 3), ("gfx950", 96, 5), ("gfx950", 201, 2), ("gfx1100", 164, 9), ("gfx1200", 118, 12),
     ("gfx1200", 250, 5), ("gfx1201", 163, 9)],
)  # fmt: skip
def test_waves_that_the_registers_leave_room_for(chip: str, registers: int, waves: int) -> None:
    """As the compiler counts them ("; Occupancy" in its assembly), for multiplications of matrices of several sizes."""
    found = bound(KernelBuild("mm", "mm", chip, registers=registers))
    assert found and found.waves == waves


@pytest.mark.parametrize("chip", CHIPS)
def test_an_address_is_followed_back_to_an_argument(chip: str, folder: Path) -> None:
    _, assembly = compiled(chip, folder)
    listing = listed(assembly)
    vector = [n for n, one in enumerate(listing) if one.name.startswith(("global_load", "buffer_load", "flat_load"))]
    made = _amd_waves.made_of(listing[vector[0]])
    assert made is not None
    steps = _amd_waves.slice_of(listing, vector[0], made.names)
    assert steps and all(one in listing for one in steps)


def test_a_slice_ends_where_another_path_comes_in() -> None:
    lines = ["0x0: v_mov_b32_e32 v2, s4", "0x4: s_cbranch_vccz 65534", "0x8: v_add_u32_e32 v3, v2, v0", "0xc: s_nop 0"]
    listing = _amd_waves.code([*lines, "0x10: global_load_dword v5, v[2:3], off"])
    assert [one.pc for one in _amd_waves.slice_of(listing, 4, frozenset({"v3"}))] == [0, 8]
    joined = _amd_waves.code([*lines[:2], "0x8: s_branch 65534", *lines[2:]])
    assert all(one.pc for one in _amd_waves.slice_of(joined, 4, frozenset({"v3"})))


def test_the_line_comes_from_the_code_object_where_the_dump_has_none(folder: Path) -> None:
    code, _ = compiled("gfx942", folder)
    at = next(a for a in range(0x1500, 0x1C00, 4) if str(source_line(code, a)) == "gather.py:9")
    file = folder / "saved.hsaco"
    file.write_bytes(code)
    text = DUMP.replace("MEMORY_VIOLATION", "TRAP").format(
        registers="", where=f"file://{file}#offset=0&size={len(code)}", base=0x7F10 - at
    )
    assert "gather.py:9" in str(read_log("agent.log", [text.encode()]))


def test_code_objects_of_version_6_are_read_too(folder: Path) -> None:
    """Version 6 has the metadata of version 5, and another number in the header (LLVM, "ELF Code Object", ABI versions)."""
    code = bytearray(compiled("gfx942", folder)[0])
    code[8] = 4
    (image,) = code_objects.contents(memoryview(bytes(code)), "gather.hsaco").images
    assert image.form == "code object v6" and [k.build.mangled for k in image.kernels] == ["gather"]
