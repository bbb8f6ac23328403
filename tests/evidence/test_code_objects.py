"""Device code in files: what real compilers write, what is made by hand for formats they do not write, and hostile input."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import msgpack
import pytest
from code_kit import OBJDUMP, bare, bundle, code_object, cubin, cuda, hip, kernel, metadata, note, packed
from dump_kit import EXIT, NOP, TRAP, Section, bra, elf, ldg, stg, word
from hypothesis import given
from hypothesis import strategies as st
from support.device_images import CUBIN, entry, fat

from gpudx.elf.sections import Elf
from gpudx.errors import UserError
from gpudx.evidence import _amd_isa, _compressed, code_objects
from gpudx.evidence._amd_code import read as read_amd
from gpudx.evidence._device_code import Contents, Image, Kernel
from gpudx.evidence._msgpack import BadMessage, unpack

TARGETS = ("gfx906:sramecc+:xnack-", "gfx90a", "gfx1030")


def contents(data: bytes) -> Contents:
    return code_objects.contents(memoryview(data), "file")


def kernels(image: Image) -> dict[str, Kernel]:
    return {one.build.kernel.partition("(")[0]: one for one in image.kernels}


# -- what hipcc writes


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hip(*(f"--offload-arch={target}" for target in TARGETS))


def test_a_program_of_hipcc(app: Path) -> None:
    read = code_objects.read(app)
    assert read.form == "program or library" and set(read.targets) == set(TARGETS) and not read.notes
    for image in read.images:
        assert image.vendor == "AMD" and re.fullmatch(r"code object v[3-6]", image.form) and not image.unread
        found = kernels(image)
        assert set(found) == {"saxpy", "tile", "stacky", "spilly", "dead", "careful", "reaches", "plain"}
        assert {name for name, one in found.items() if one.traps} == {"dead"}
        assert (found["tile"].build.static_shared_bytes, found["tile"].build.max_threads) == (1024, 64)
        assert found["stacky"].build.stack_bytes is not None and found["stacky"].build.stack_bytes >= 2048
        assert found["saxpy"].build.spill_stores == 0
        if image.target != "gfx1030":
            assert found["spilly"].build.spill_stores == 4 * found["spilly"].numbers["vector spills"] > 0
        assert found["plain"].build.wave_size == (32 if image.target == "gfx1030" else 64)
        assert found["plain"].build.arch == image.target


def test_parameters_have_their_places_and_the_types_of_the_symbol(app: Path) -> None:
    found = kernels(code_objects.read(app).images[0])
    saxpy = found["saxpy"].parameters
    assert saxpy is not None and found["saxpy"].parameter_bytes == 40 and found["saxpy"].parameter_align == 8
    assert [(p.offset, p.size, p.type, p.kind, p.space) for p in saxpy] == [
        (0, 8, "float*", "global_buffer", "global"),
        (8, 8, "float const*", "global_buffer", "global"),
        (16, 4, "float", "by_value", ""),
        (20, 4, "int", "by_value", ""),
        (24, 16, "Pair", "by_value", ""),
    ]
    assert [p.type for p in found["tile"].parameters or ()] == ["HIP_vector_type<float, 4u>*", "int"]
    assert [p.type for p in found["plain"].parameters or ()] == [""]  # C linkage: the symbol says nothing


def test_numbers_are_those_of_the_vendors_reader(app: Path) -> None:
    """llvm-readelf prints the same note as YAML."""
    tool = shutil.which("llvm-readelf")
    if tool is None:
        pytest.skip("llvm-readelf is not installed")
    for image in code_objects.read(app).images:
        place = int(image.where.partition("+")[2], 16)
        section = Elf(memoryview(app.read_bytes())).named(".hip_fatbin")
        alone = app.with_suffix(".hsaco")
        alone.write_bytes(section[place:])
        text = subprocess.run([tool, "--notes", alone], capture_output=True, text=True, check=True).stdout
        for key, of in ((".vgpr_count", "registers"), (".private_segment_fixed_size", "stack_bytes")):
            told = [int(number) for number in re.findall(rf"{re.escape(key)}:\s+(\d+)", text)]
            assert told == [getattr(one.build, of) for one in image.kernels]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_versions_of_code_objects(version: int) -> None:
    """Version 5 has many arguments that the runtime passes; none of them is the host's."""
    options = ("--offload-arch=gfx906", f"-mcode-object-version={version}", "--cuda-device-only", "-c")
    (image,) = code_objects.read(hip(*options, "--no-gpu-bundle-output", name="app.hsaco")).images
    assert image.form == f"code object v{version}" and len(kernels(image)["saxpy"].parameters or ()) == 5
    assert image.target == ("" if version == 3 else "gfx906")  # of version 3 only the container tells


def test_version_2_is_named_not_guessed() -> None:
    options = ("--offload-arch=gfx906", "-mcode-object-version=2", "--cuda-device-only", "-c")
    (image,) = code_objects.read(hip(*options, "--no-gpu-bundle-output", name="app.hsaco")).images
    assert image.unread.startswith("has no metadata: it is of version 2") and not image.kernels


def test_bundles_of_several_sources_are_all_found() -> None:
    """A linker puts them one behind the other, with zeros between."""
    first, second = (bundle([("gfx906", code_object(metadata([kernel(name)])))]) for name in ("a", "b"))
    read = contents(first.ljust(4096, b"\0") + packed(second, 2).ljust(4096, b"\0") + first)
    assert [image.kernels[0].build.kernel for image in read.images] == ["a", "b", "a"] and read.targets == ("gfx906",)


@pytest.mark.parametrize(("target", "generation"), [("gfx906", 9), ("gfx90a", 9), ("gfx1030", 10), ("gfx1100", 11)])
def test_prologues_are_walked_as_llvm_disassembles_them(target: str, generation: int) -> None:
    """Each instruction whose size is told has that size; sizes are needed to find the next one."""
    if OBJDUMP is None:
        pytest.skip("llvm-objdump is not installed")
    made = bare(target)
    text = subprocess.run([OBJDUMP, "-d", made], capture_output=True, text=True, check=True).stdout
    words = re.findall(r"// [0-9A-F]+: ((?:[0-9A-F]{8} ?)+)", text)
    known = _amd_isa._GENERATIONS[generation]
    sizes = [(_amd_isa.size_of(int(line.split()[0], 16), known), 4 * len(line.split())) for line in words]
    assert sum(size > 0 for size, _ in sizes) > 50
    assert all(size in (0, real) for size, real in sizes)
    assert {n for n, one in kernels(code_objects.read(made).images[0]).items() if one.traps} == {"dead"}


# -- what nvcc writes


@pytest.mark.parametrize("mode", ["none", "size", "speed"])
def test_a_fat_binary_of_nvcc(mode: str) -> None:
    """Plain, zstd and LZ4."""
    options = ("-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]")
    made = cuda(*options, f"-compress-mode={mode}", "-Xfatbin=-compress-all", "--fatbin", name="app.fatbin")
    read = code_objects.read(made)
    assert [image.target for image in read.images] == ["sm_80", "sm_90", "compute_90"]
    assert read.images[2].form.startswith("PTX ") and not any(image.unread for image in read.images)
    for image in read.images[:2]:
        found = kernels(image)
        assert {name for name, one in found.items() if one.traps} == {"dead"}
        assert (found["tile"].build.static_shared_bytes, found["tile"].build.max_threads) == (1024, 64)
        assert found["stacky"].build.stack_bytes == 2048 and found["saxpy"].build.stack_bytes == 0
        assert [(p.offset, p.size, p.type) for p in found["saxpy"].parameters or ()] == [
            (0, 8, "float*"), (8, 8, "float const*"), (16, 4, "float"), (20, 4, "int"),
        ]  # fmt: skip
        assert found["saxpy"].build.spill_stores is None  # a cubin does not tell


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_numbers_are_those_of_ptxas(arch: str) -> None:
    made = cuda(f"-arch={arch}", "-Xptxas", "-v", "-cubin", name="app.cubin")
    told = made.with_suffix(".said").read_text()
    found = {one.build.mangled: one.build for one in code_objects.read(made).images[0].kernels}
    entries = re.findall(r"entry function '(\w+)'.*\n.*\n\s+(\d+) bytes stack.*\n.*Used (\d+) registers(.*)", told)
    assert len(entries) == len(found) == 6
    for symbol, stack, registers, rest in entries:
        shared = re.search(r"(\d+) bytes smem", rest)
        build = found[symbol]
        assert (build.registers, build.stack_bytes) == (int(registers), int(stack))
        assert build.static_shared_bytes == (int(shared[1]) if shared else 0)


def test_a_program_of_nvcc_and_its_ptx() -> None:
    read = code_objects.read(cuda("-arch=sm_90"))
    assert "sm_90" in read.targets and max(len(image.kernels) for image in read.images) == 6
    (image,) = code_objects.read(cuda("-arch=sm_90", "-ptx", name="app.ptx")).images
    assert (image.target, image.form[:3]) == ("compute_90", "PTX")


# -- by hand: what the compilers at hand do not write


def test_metadata_of_its_own_wins_over_the_symbol() -> None:
    (image,) = contents(code_object()).images
    (one,) = image.kernels
    assert (image.target, image.form) == ("gfx90a", "code object v4")
    assert [(p.type, p.name, p.const) for p in one.parameters or ()] == [
        ("float*", "", True),
        ("size_type", "n", False),
    ]
    assert (one.build.registers, one.build.wave_size, one.build.spill_stores) == (9, 64, None)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles(version: int) -> None:
    plain = bundle([("gfx90a", code_object()), ("gfx1100", code_object(metadata([kernel()], "gfx1100")))])
    read = contents(packed(plain, version))
    assert read.form == "offload bundle" and read.targets == ("gfx90a", "gfx1100")
    assert [len(image.kernels) for image in read.images] == [1, 1]
    assert contents(plain).targets == read.targets


def test_zstd_and_its_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    tool, plain = shutil.which("zstd"), bundle([("gfx90a", code_object())])
    if tool is None:
        pytest.skip("zstd is not installed")
    inner = subprocess.run([tool, "-c"], input=plain, capture_output=True, check=True).stdout
    data = packed(plain, 3, 1, inner)
    assert len(contents(data).images[0].kernels) == 1
    monkeypatch.setattr(_compressed, "_library", lambda method: None)
    (image,) = contents(data).images
    assert image.unread == "is compressed with zstd, and libzstd.so.1 is not installed (apt install libzstd1)"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (packed(b"x" * 100, 9), "is compressed in a way that is not known (version 9, method 0)"),
        (packed(b"x" * 100, 2, 7), "is compressed in a way that is not known (version 2, method 7)"),
        (packed(b"x" * 100, 2), "is damaged: its content is not a bundle"),
        (packed(b"x" * 100, 2, 0, b"junk"), "is damaged: it does not unpack to the 100 bytes that it promises"),
        (packed(bundle([]), 2)[:-4], "is cut off"),
        (b"CCOB" + struct.pack("<HHII", 2, 0, 40, 1 << 31) + bytes(24), "which is implausible"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60), "promises 1,152,921,504,606,846,976 entries"),
        (bundle([("gfx90a", code_object())])[:300], "is damaged or cut off: an entry lies outside of it"),
        (b"__CLANG_OFFLOAD_BUNDLE__\0\0", "is cut off"),
    ],
)  # fmt: skip
def test_bundles_that_are_refused(data: bytes, said: str) -> None:
    (image,) = contents(data).images
    assert said in image.unread and not image.kernels


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "ends too early"),
        (b"\xdd\xff\xff\xff\xff", "ends too early"),
        (b"\xdb\xff\xff\xff\xffabc", "ends too early"),
        (b"\x91" * 5000 + b"\xc0", "nested too deep"),
        (b"\x81\x90\xc0", "a key that is neither text nor number"),
        (b"\xc7\x01\x05x", "a kind that is not expected"),
        (b"\xc0", "has no metadata"),
    ],
)
def test_metadata_that_is_refused(content: bytes, said: str) -> None:
    (image,) = contents(code_object(content)).images
    assert said in image.unread and not image.kernels


def test_metadata_of_odd_types_is_not_believed() -> None:
    odd = {
        ".name": 7,
        ".args": "none",
        ".vgpr_count": "many",
        ".wavefront_size": -1,
        ".private_segment_fixed_size": None,
    }
    (image,) = contents(code_object(metadata([odd, 5, kernel()]))).images
    first, second = image.kernels
    assert first.build.registers is None and first.build.wave_size is None and first.parameters is None
    assert second.build.registers == 9


@pytest.mark.parametrize("data", [b"", b"roses are red", b"\x7fELF", b"\x7fELF" + bytes(60), b"MZ" + bytes(100)])
def test_no_device_code_at_all(data: bytes) -> None:
    with pytest.raises(UserError):
        contents(data)


def test_dumps_and_folders_are_refused(tmp_path: Path) -> None:
    core = bytearray(code_object())
    core[16] = 4
    with pytest.raises(UserError, match="is a core dump"):
        contents(bytes(core))
    with pytest.raises(UserError, match="cannot be read"):
        code_objects.read(tmp_path)


def test_a_cubin_by_hand() -> None:
    (image,) = contents(cubin("_Z5scalePfi", NOP, stg(2), EXIT)).images
    (one,) = image.kernels
    build = one.build
    assert (image.target, build.registers, build.stack_bytes, build.static_shared_bytes) == ("sm_90", 12, 64, 256)
    assert (build.max_threads, build.spill_stores, one.parameter_bytes, one.traps) == (64, None, 12, False)
    assert [(p.index, p.offset, p.size, p.type) for p in one.parameters or ()] == [
        (0, 0, 8, "float*"),
        (1, 8, 4, "int"),
    ]


@pytest.mark.parametrize(
    ("words", "traps"),
    [
        ((TRAP,), True), ((NOP, ldg(1, 2), TRAP), True), ((stg(2), TRAP), False), ((EXIT, TRAP), False), ((bra(16), TRAP), False),
        ((word(0x95C, b84_86=3, b12_15=0), TRAP), False), ((), False),
    ],
)  # fmt: skip
def test_a_trap_counts_only_before_anything_is_done(words: tuple[int, ...], traps: bool) -> None:
    (image,) = contents(cubin("k", *words)).images
    assert image.kernels[0].traps is traps


@pytest.mark.parametrize("section", [".llvm.offloading", "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa-gfx906"])
def test_objects_that_are_not_linked_yet(section: str) -> None:
    made = bytearray(elf([Section(section, 1, b"bitcode")], kind=1, abi=0))
    struct.pack_into("<H", made, 18, 62)
    read = contents(bytes(made))
    assert not read.images and read.notes == (
        f"The device code in {section} is not linked yet: audit the program that it is linked into.",
    )


# -- MessagePack against the real thing

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=40) | st.floats(allow_nan=False)
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=10) | st.integers(0, 99), inner, max_size=20),
    max_leaves=60,
)  # fmt: skip


@given(VALUES)
def test_messages_are_read_as_the_library_writes_them(value: object) -> None:
    assert unpack(msgpack.packb(value)) == value


@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        unpack(data)
    except BadMessage:
        return


# -- fuzzing


@given(st.data())
def test_damaged_files_are_read_or_refused(data: st.DataObject) -> None:
    """One sentence or a result, whatever is cut off or overwritten."""
    whole = bundle([("gfx90a", code_object()), ("gfx906", code_object(metadata([kernel(), kernel("plain")])))])
    code = cubin("_Z5scalePfi", NOP, EXIT)
    lz4 = entry(CUBIN, 90).replace(struct.pack("<Q", 0x11), struct.pack("<Q", 0x2011))
    held = fat([entry(CUBIN, 90, payload=0)[:8] + struct.pack("<Q", len(code)) + entry(CUBIN, 90)[16:64] + code, lz4])
    whole = data.draw(st.sampled_from([whole, packed(whole, 2), packed(whole, 3), code_object(), code, held]))
    made = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 6))):
        if made:
            made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = contents(bytes(made))
    except UserError:
        return
    code_objects.to_findings(read, ("gfx90a", "sm_90"))
    assert code_objects.summary(read)


def test_damaged_files_of_the_compilers(app: Path, tmp_path: Path) -> None:
    """The same with real files: every byte of the headers, and every length."""
    whole = app.read_bytes()
    section = bytes(Elf(memoryview(whole)).named(".hip_fatbin"))
    for step in range(0, len(section), 997):
        contents(section[:step] or b"CCOB")
        broken = bytearray(section)
        broken[step % 6000] ^= 0xFF
        if bytes(broken[:24]) == section[:24]:
            contents(bytes(broken))


def test_the_note_that_is_not_ours_is_passed_over() -> None:
    other = struct.pack("<III", 4, 4, 1) + b"GNU\0" + b"abcd"
    made = bytearray(elf([Section(".note", 7, other + note(metadata([kernel()])))], kind=3, abi=64))
    struct.pack_into("<H", made, 18, 224)
    assert len(read_amd(memoryview(bytes(made)), "x").kernels) == 1


# ---- GFX12, which the disassembler of this machine may not know: words that the LLVM of Triton 3.9 assembled for gfx1200 ----

GFX12 = {
    "s_nop 0x7ab": ("bf8007ab", 4), "s_wait_kmcnt 0x0": ("bfc70000", 4), "s_wait_loadcnt 0x0": ("bfc00000", 4),
    "s_wait_idle": ("bf8a0000", 4), "s_delay_alu instid0(VALU_DEP_1)": ("bf870001", 4), "s_clause 0x3": ("bf850003", 4),
    "s_load_b32 s8, s[4:5], 0x10": ("f4000202", 8), "s_load_b128 s[8:11], s[4:5], 0x10": ("f4004202", 8),
    "s_load_u8 s8, s[4:5], 0x10": ("f4012202", 8), "s_mov_b32 s8, 0x12345678": ("be8800ff", 8),
    "s_mov_b64 s[8:9], s[4:5]": ("be880104", 4), "s_movk_i32 s8, 0x7f": ("b008007f", 4),
    "s_getreg_b32 s8, hwreg(HW_REG_WAVE_MODE, 0, 2)": ("b8880801", 4), "s_add_co_u32 s8, s9, 0x12345678": ("8008ff09", 8),
    "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1": ("b9800641", 8), "v_mov_b32 v1, 0x12345678": ("7e0202ff", 8),
    # What ends the walk: others can be affected, or it goes on elsewhere.
    "s_prefetch_inst s[4:5], 0x10, s6, 3": ("f40480c2", 0), "s_dcache_inv": ("f4042000", 0), "s_setpc_b64 s[8:9]": ("be804808", 0),
    "s_swappc_b64 s[8:9], s[10:11]": ("be88490a", 0), "s_barrier_signal -1": ("be804ec1", 0), "s_barrier_wait 0xffff": ("bf94ffff", 0),
    "s_call_b64 s[8:9], 4": ("ba080004", 0), "s_branch 4": ("bfa00004", 0), "s_endpgm": ("bfb00000", 0),
}  # fmt: skip


@pytest.mark.parametrize("text", GFX12)
def test_instructions_of_gfx12(text: str) -> None:
    word, size = GFX12[text]
    assert _amd_isa.size_of(int(word, 16), _amd_isa._GENERATIONS[12]) == size


def test_a_trap_at_the_beginning_on_gfx12() -> None:
    before = ["bf850003", "f4000202", "f8000010", "bfc70000", "be8800ff", "12345678"]

    def begins(*words: str) -> bool:
        code = b"".join(int(word, 16).to_bytes(4, "little") for word in (*before, *words, "bfb00000"))
        return _amd_isa.begins_with_trap(memoryview(code), 12)

    assert begins("bf900002")  # s_trap 2
    assert not begins("bf900003")  # a breakpoint
    assert not begins("bfa00004", "bf900002")  # behind a branch
    assert not begins()
