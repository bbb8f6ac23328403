"""Backward slices over AMD's machine code: what clang and Triton make for each chip, and a stopped wave joined to its argument."""

from __future__ import annotations

import importlib.util
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.diagnose.located import located
from gpudx.diagnose.wave_faults import joined
from gpudx.errors import UserError
from gpudx.evidence import _amd_waves, amd_slices
from gpudx.evidence._amd_code import kernel_at
from gpudx.evidence.amd_slices import Start, address_at
from gpudx.evidence.reading import Event, Log, Told, faults_in
from gpudx.evidence.sums import Index, Load, Loop, Param, Sum
from gpudx.facts import derive
from gpudx.lab import disassembly
from gpudx.model import DeviceFault

HIGHEST = 0x4000  # addresses that the code of these small objects is below of
BLOCK, THREAD = Sum.atom(Index("blockIdx", 0)), Sum.atom(Index("threadIdx", 0))
SOURCE = """
#define BLOCK __builtin_amdgcn_workgroup_id_x()
#define THREAD __builtin_amdgcn_workitem_id_x()
kernel void item(global float *out, global const float *in, int n) { int i = BLOCK*64 + THREAD; if (i < n) out[i] = in[i]; }
kernel void gather(global float *out, global const float *table, global const int *idx) { out[THREAD] = table[idx[THREAD]]; }
kernel void table(global float * global *t) { t[BLOCK][THREAD] = 1; }
kernel void loop(global float *out, global const float *in, int n, int k) {
  float s = 0;
  for (int j = THREAD; j < n; j += 64) s += in[j*k];
  out[THREAD] = s;
}
"""


def param(offset: int) -> Sum:
    return Sum.atom(Param(offset))


# ---- what clang makes ----


@cache
def compiled(chip: str, folder: Path) -> bytes:
    clang = shutil.which("clang-15") or shutil.which("clang") or "/usr/lib/llvm-15/bin/clang"
    (folder / "k.cl").write_text(SOURCE)
    flags = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}", "-nogpulib", "-x", "cl", "-cl-std=CL2.0", "-O2"]
    try:
        subprocess.run([clang, *flags, "k.cl", "-o", f"{chip}.co"], cwd=folder, check=True, capture_output=True, timeout=120)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"needs a clang that builds for {chip}")
    return (folder / f"{chip}.co").read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("amd")


def accesses(data: bytes, kernel: str) -> list[tuple[int, str, Sum]]:
    """Address in the code object, instruction and computed address of each access to global memory."""
    places = [a for a in range(0x1000, HIGHEST, 0x100) if (found := kernel_at(memoryview(data), a)) and found.symbol == kernel]
    found = kernel_at(memoryview(data), places[0])
    assert found
    try:
        code = amd_slices.listing(disassembly.amd(data, found.address, found.address + found.size))
    except UserError as error:
        pytest.skip(str(error))
    global_ = [one for one in code if one.name.startswith(("global_", "flat_"))]
    return [(one.pc, one.name, address_at(code, found.start, one.pc) or Sum()) for one in global_]


def _anywhere(value: Sum) -> Sum:
    """With loads and loops that do not say where they are."""

    def plain(one: object) -> Sum:
        if isinstance(one, Load):
            return Sum.atom(Load(0, one.space, one.size, one.address, one.skip))
        return Sum.atom(Loop(0, "")) if isinstance(one, Loop) else Sum.atom(one)  # type: ignore[arg-type]

    return value.replaced(plain)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx940", "gfx1030", "gfx1100"])
def test_what_clang_makes(chip: str, folder: Path) -> None:
    data = compiled(chip, folder)

    def of(kernel: str) -> list[Sum]:
        return [_anywhere(address) for _, _, address in accesses(data, kernel)]

    item = (BLOCK.times(64) + THREAD).times(4)
    assert of("item") == [param(8) + item, param(0) + item]
    index = Sum.atom(Load(0, "global", 4, param(16) + THREAD.times(4)))
    assert of("gather") == [param(16) + THREAD.times(4), param(8) + index.times(4), param(0) + THREAD.times(4)]
    assert of("table")[-1] == Sum.atom(Load(0, "global", 8, param(0) + BLOCK.times(8))) + THREAD.times(4)
    assert of("loop")[0] == param(8) + (THREAD * param(20)).times(4) + Sum.atom(Loop(0, ""))


# ---- what Triton makes ----

TRITON = """
import sys, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def add_unmasked(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n))

chip, wave, place = sys.argv[1:]
types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
made = triton.compile(ASTSource(add_unmasked, types, constexprs={"BLOCK": 256}), target=GPUTarget("hip", chip, int(wave)))
open(place + ".hsaco", "wb").write(made.asm["hsaco"])
open(place + ".s", "w").write(made.asm["amdgcn"])
"""
CHIPS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1200": 32}


def numbered(assembly: str) -> list[_amd_waves.Instruction]:
    """The compiler's assembly as a disassembler would print it, were all instructions of four bytes."""
    lines = [line.split(";")[0].strip() for line in assembly.splitlines()]
    body = [line for line in lines if re.match(r"(?:s|v|global|buffer|flat|ds)_\w+|\.L\w+:", line)]
    at, labels = 0, {}
    for line in body:
        if line.endswith(":"):
            labels[line[:-1]] = at
        else:
            at += 4
    text, at = [], 0
    for line in (one for one in body if not one.endswith(":")):
        words = line.split()
        if words[0].startswith(("s_branch", "s_cbranch")):
            line = f"{words[0]} {(labels[words[1]] - at - 4) // 4 & 0xFFFF}"
        text.append(f"\t{line} // {at:012X}:")
        at += 4
    return amd_slices.listing("\n".join(text))


@pytest.mark.parametrize("chip", CHIPS)
def test_the_argument_of_each_access_that_triton_makes(chip: str, folder: Path) -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed (pip install triton)")
    (folder / "add.py").write_text(TRITON)
    place = folder / f"triton-{chip}"
    subprocess.run([sys.executable, "add.py", chip, str(CHIPS[chip]), str(place)], cwd=folder, check=True, timeout=240)
    data = place.with_suffix(".hsaco").read_bytes()
    kernel = next(found for at in range(0x1000, HIGHEST, 0x40) if (found := kernel_at(memoryview(data), at)))
    code = numbered(place.with_suffix(".s").read_text())
    found: dict[str, set[int]] = {"load": set(), "store": set()}
    for one in code:
        if re.match(r"(?:global|buffer|flat)_(?:load|store)", one.name):
            address = address_at(code, kernel.start, one.pc)
            assert address is not None, one.text
            roots = {atom.offset for atom in address.whole if isinstance(atom, Param)}
            assert len(roots) <= 1, one.text  # none: a mask leaves open which of two values the register has
            found["load" if "load" in one.name else "store"] |= roots
    assert found == {"load": {0, 8}, "store": {16}}


# ---- from a wave to the argument ----


@pytest.fixture
def world(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def test_a_stopped_wave_names_the_argument_not_the_nearest_buffer(world: CudaWorld, folder: Path, tmp_path: Path) -> None:
    data = compiled("gfx90a", folder)
    pc = next(pc for pc, name, _ in accesses(data, "item") if "load" in name)
    out, given = world.alloc(4096, at=0x7F10_0000_0000), world.alloc(4096, at=0x7F20_0000_0000)
    address = out + 4096 + 64  # nearest to what is written, but the code reads
    world.launch(world.kernel("item", [8, 8, 4]), [out, given, 5])
    facts = derive(world.write(tmp_path / "1-0.gdx"))
    fault = DeviceFault("accessed memory", "said", address, 4, False, kernel="item", cause="out-of-bounds-access")
    image = (str(folder / "gfx90a.co"), 0, len(data))
    near = joined(fault, facts)
    through = joined(DeviceFault(**{**fault.__dict__, "image": image, "pc": pc}), facts)
    assert near and near.site and near.site.argument == 0
    assert through and through.site and through.site.argument == 1
    assert any("the machine code" in one.text for one in through.evidence)
    event = Event("rocm-wave-stopped", "fault", "", fault=replace(fault, image=image, pc=pc))
    notes = located(Log("log", 1, 1, (Told(event),)), [("mine", facts)]).told[0].event.notes
    assert any(note.startswith("in the run of mine: the machine code") for note in notes), notes


def test_another_program_at_that_place_says_nothing(world: CudaWorld, folder: Path, tmp_path: Path) -> None:
    compiled("gfx90a", folder)
    (tmp_path / "other").write_bytes(b"\x7fELF nothing else")
    world.launch(world.kernel("item", [8, 8, 4]), [world.alloc(4096, at=0x7F10_0000_0000), world.alloc(64, at=0x7F20_0000_0000), 5])
    facts = derive(world.write(tmp_path / "1-0.gdx"))
    for path in (tmp_path / "other", tmp_path / "missing"):
        fault = DeviceFault("accessed", "said", 0x7F10_0000_1040, 4, False, kernel="item", image=(str(path), 0, 99), pc=0x1E44)
        found = joined(fault, facts)
        assert found and found.site and found.site.argument == 0 and found.access and found.access.origin is None


def test_the_agents_text_says_where_the_code_is(tmp_path: Path) -> None:
    text = """wave_1: pc=0x7f10 (stopped, reason: MEMORY_VIOLATION)

    exec: 0000000000000001
    v2: [0] 00001000
    v3: [0] 00007f10

Disassembly for function item:
    code object: file:///opt/app#offset=4096&size=8192
    loaded at: [0x7000-0x8fff]
    0x7f08 <+8>:    global_store_dword v[2:3], v1, off
 => 0x7f10 <+16>:    s_endpgm
"""
    page = "System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present)\nFaulting page: 0x7f1000001000\n\n"
    for above in ("", page):  # the page's first byte may be the very access
        (tmp_path / "waves.txt").write_text(above + text)
        (fault,) = faults_in(tmp_path / "waves.txt")
        assert (fault.image, fault.pc, fault.address) == (("/opt/app", 4096, 8192), 0xF08, 0x7F10_0000_1000)


def test_registers_that_a_kernel_begins_with() -> None:
    """The example of LLVM's guide: a buffer for scratch, then the arguments; and one with preloaded arguments."""

    def descriptor(properties: int, preload: int, users: int) -> bytes:
        return bytes(52) + struct.pack("<IHH4x", users << 1 | 1 << 7, properties, preload)

    assert amd_slices.start_of(descriptor(0b1001, 0, 6)) == Start(4, (6, 0, 0), (6,))
    preloaded = amd_slices.start_of(descriptor(0b1000, 2 << 7 | 4, 6))
    assert preloaded == Start(0, (2, 8, 4), (6,))
    code = amd_slices.listing("\tglobal_load_dword v1, v0, s[4:5] // 000000000000:")
    assert address_at(code, preloaded, 0) == param(16) + THREAD
