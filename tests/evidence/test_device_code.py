"""Machine code, line tables and names: against known words, and against nvdisasm and c++filt where they are at hand."""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from dump_kit import CODE, EXIT, NOP, bra, code, image, ldg, line_table, mov, stg, word

from gpudx.backends.mangling import demangle, function_name
from gpudx.elf.header import BadElf
from gpudx.elf.sections import Elf
from gpudx.evidence._cubin import Image
from gpudx.evidence._cuda_tables import Kind
from gpudx.evidence._dwarf_line import source_line
from gpudx.evidence._sass import Code, decode, is_trap
from gpudx.evidence._words import bare

# -- memory instructions


@pytest.mark.parametrize(
    ("instruction", "sm", "text", "kind", "size"),
    [
        (ldg(13, 10), 90, "LDG [R10.64]", "read", 4),
        (stg(2, 4, size=6), 90, "STG [R2.64+0x4]", "write", 16),
        (stg(2, -8, size=0), 80, "STG [R2.64+-0x8]", "write", 1),
        (ldg(13, 10, b76=0), 90, "LDG [R10.64+UR4]", "read", 4),
        (ldg(13, 10, b76=0, b90=0), 90, "LDG [R10+UR4]", "read", 4),
        (ldg(13, 10), 75, "LDG [R10.64+UR4]", "read", 4),  # before sm_80 there are no descriptors
        (ldg(13, 255, 0x40), 90, "LDG [0x40]", "read", 4),
        (ldg(13, 10, b32_37=63, b76=0), 90, "LDG [R10.64]", "read", 4),  # the uniform register that is always zero
        (ldg(13, 10, b0_11=0x381, b90_91=0), 70, "LDG [R10.64]", "read", 4),
        (word(0x984, b16_23=1, b24_31=8, b73_75=4), 90, "LDS [R8]", "read", 4),
        (word(0x984, b16_23=1, b24_31=8, b73_75=5, b78_79=2, b91=1, b32_37=6), 86, "LDS [R8.X8+UR6]", "read", 8),
        (word(0x388, b24_31=7, b40_63=0x400, b73_75=4), 90, "STS [R7+0x400]", "write", 4),
        (word(0x983, b16_23=0, b24_31=12, b73_75=4), 90, "LDL [R12]", "read", 4),
        (word(0x98E, b24_31=2, b64_69=36, b71=1, b72=1, b73_75=2, b90_91=3), 90, "RED [R2.64]", "atomic", 8),
        (word(0x9A6, b24_31=2, b64_69=36, b71=1, b72=1, b73_76=9, b90_91=3), 90, "RED [R2.64]", "atomic", 4),
        (word(0x9A8, b24_31=2, b64_69=9, b70=1, b72=1, b91=1), 89, "ATOMG [R2.64+UR9]", "atomic", 4),
        (word(0x3A9, b24_31=2, b72=1, b73_75=2), 90, "ATOMG.CAS [R2.64]", "atomic", 8),
        (word(0xFAE, b24_31=8, b32_43=-16, b64_69=8, b70=1, b73_75=6, b76=1, b91=1), 80, "LDGSTS [R8.64+-0x10]", "read", 16),
    ],
)  # fmt: skip
def test_decoded(instruction: int, sm: int, text: str, kind: str, size: int) -> None:
    memory = decode(instruction, sm)
    assert memory is not None
    assert (str(memory), memory.kind, memory.size) == (text, kind, size)


@pytest.mark.parametrize(
    ("instruction", "sm"),
    [
        (mov(1), 90), (EXIT, 90), (ldg(1, 2), 60), (ldg(1, 2, b91=0), 90), (ldg(1, 2, b90=0), 90), (ldg(1, 2, b72=0), 90),
        (word(0x98E, b24_31=2, b72=1, b90_91=3), 100), (0, 90), ((1 << 128) - 1, 90),
    ],
)  # fmt: skip
def test_not_understood(instruction: int, sm: int) -> None:
    assert decode(instruction, sm) is None


def test_trap() -> None:
    assert is_trap(word(0x95C, b84_86=3)) and not is_trap(word(0x95C, b84_86=1)) and not is_trap(NOP)


def test_random_words_are_no_trouble() -> None:
    chance = random.Random(5)
    for _ in range(20_000):
        instruction = chance.getrandbits(128) & ~0xFFF | chance.choice(
            (0x981, 0x986, 0x9A8, 0xFAE, chance.getrandbits(12))
        )
        memory = decode(instruction, chance.choice((70, 75, 80, 90, 100, 120)))
        assert memory is None or str(memory)


def test_random_code_is_walked_to_an_answer() -> None:
    chance = random.Random(6)
    for _ in range(300):
        words = [
            chance.choice((mov(chance.randrange(9)), bra(16 * chance.randrange(-9, 9)), NOP, chance.getrandbits(128)))
            for _ in range(12)
        ]
        text = Code(memoryview(code(ldg(8, 2, board=chance.choice((0, 7))), *words)), 90)
        memory = decode(text.word(0), 90)
        assert memory is not None
        answer = text.changed(memory, 0, chance.randrange(13))
        assert answer is None or answer


def test_branches() -> None:
    text = Code(
        memoryview(
            code(bra(16), NOP, bra(-48, b12_15=0), word(0x945, b16_19=1, b32_63=16), word(0x941, b16_19=1), NOP)
        ),
        90,
    )
    assert [text.after(n) for n in range(6)] == [[2], [2], [0, 3], [4], [5], []]
    old = Code(memoryview(code(word(0x947, b32_81=16, b87_90=7), NOP, NOP)), 80)
    assert old.after(0) == [2]


def test_against_nvdisasm(sample: Callable[[str], Path], tmp_path: Path) -> None:
    """Every memory instruction and every result register of the real images, as NVIDIA's disassembler reads them."""
    tool = os.environ.get("GPUDX_NVDISASM") or shutil.which("nvdisasm")
    if not tool:
        pytest.skip("nvdisasm is neither in PATH nor named in GPUDX_NVDISASM")
    elf = Elf(memoryview(sample("nullfull.dump").read_bytes()))
    checked = 0
    for number, section in enumerate(elf.of_type(Kind.RELOCATED_IMAGE)):
        path = tmp_path / f"{number}.cubin"
        path.write_bytes(bytes(elf.bytes_of(int(section))))
        text = subprocess.run([tool, "-c", "-hex", path], capture_output=True, text=True, check=False).stdout
        checked += sum(_agrees(*line) for line in _instructions(text))
    assert checked > 400


def _instructions(text: str) -> list[tuple[str, int]]:
    """(operands with mnemonic, instruction word)"""
    pattern = r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([^;]*);?\s*/\* 0x([0-9a-f]{16}) \*/\s*/\* 0x([0-9a-f]{16}) \*/"
    return [(m[1].strip(), int(m[2], 16) | int(m[3], 16) << 64) for m in re.finditer(pattern, text)]


def _agrees(text: str, instruction: int) -> bool:
    memory = decode(instruction, 90)
    if memory is None:
        assert not re.match(r"(LDG|STG|LDS|STS|LDL|STL|LD|ST|REDG|ATOMG)\b", text), text
        return False
    theirs = re.findall(r"\[([^\]]*)\]", text)[-1].replace("RZ+", "")
    ours = str(memory)[str(memory).index("[") + 1 : -1]
    assert ours == ("0x0" if theirs == "RZ" else theirs), text
    return True


# -- images and lines


def test_place_function_and_line() -> None:
    text = code(NOP, NOP, NOP, EXIT)
    found = Image(memoryview(image(text, lines=line_table(CODE, [(0, 4), (16, 900), (48, 3)], 64))))
    lines = [(p.offset, p.source) for p in (found.place(CODE + 16 * n) for n in range(4)) if p]
    assert lines == [(0, "/src/k.cu:4"), (16, "/src/k.cu:900"), (32, "/src/k.cu:900"), (48, "/src/k.cu:3")]
    assert found.place(CODE + 64) is None and found.place(0) is None
    bare_image = Image(memoryview(image(text))).place(CODE)
    assert bare_image is not None and bare_image.source is None and bare_image.function == "sink(float*, int)"


def test_line_tables_are_found_among_others_and_never_raise() -> None:
    one, two = line_table(0x1000, [(0, 5)], 64, "a.cu"), line_table(CODE, [(0, 7), (32, 8)], 64, "b.cu", "")
    data = one + two
    assert (
        str(source_line(data, CODE, CODE + 40)) == "b.cu:8" and str(source_line(data, 0x1000, 0x1010)) == "/src/a.cu:5"
    )
    assert source_line(data, CODE, CODE + 64) is None and source_line(data, CODE + 16, CODE + 16) is None
    assert source_line(b"", CODE, CODE) is None
    chance = random.Random(2)
    for _ in range(3000):
        bad = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)
        for _ in range(3 if bad else 0):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        source_line(bytes(bad), CODE, CODE + 40)


def test_special_opcodes_and_constant_advance() -> None:
    files = b"/d\0\0x.cu\0\x01\0\0\0"
    header = bytes([4, 1, 0xFB, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]) + files  # instructions of 4 bytes
    special = bytes([10 + 14 * 2 + (5 + 3)])  # 2 instructions on, 3 lines on
    fixed = b"\x09" + struct.pack("<H", 8)
    program = b"\x00\x09\x02" + struct.pack("<Q", 64) + b"\x01" + special + b"\x08" + b"\x01" + fixed + b"\x00\x01\x01"
    body = struct.pack("<HI", 2, len(header)) + header + program
    data = struct.pack("<I", len(body)) + body
    assert [str(source_line(data, 64, pc)) for pc in (64, 71, 72, 139, 140, 147)] == ["/d/x.cu:1"] * 2 + [
        "/d/x.cu:4"
    ] * 4
    assert source_line(data, 64, 148) is None


def test_images_that_are_none() -> None:
    for content in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58)):
        with pytest.raises(BadElf):
            Image(memoryview(content))


# -- names


@pytest.mark.parametrize(
    ("mangled", "full", "name"),
    [
        ("_Z4sinkPfi", "sink(float*, int)", "sink"),
        ("_ZN2ns4fillILi4EEEvPKfRi", "void ns::fill<4>(float const*, int&)", "ns::fill<4>"),
        ("_Z1fIJifEEvDpT_", "void f<int, float>(int, float)", "f<int, float>"),
        ("_Z3fooPFvifEPA3_f", "foo(void (*)(int, float), float (*) [3])", "foo"),
        ("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()", "(anonymous namespace)::work"),
        ("_ZN1a1bC2Ev", "a::b::b()", "a::b::b"),
        ("$_Z4walkPi$_Z5visitPii", "visit(int*, int)", "visit"),  # the kernel's own copy of a function
        ("plain_c", "plain_c", "plain_c"),
        ("$_Z4walkPi", "$_Z4walkPi", "$_Z4walkPi"),
        ("_Z1gIXadL_Z1hvEEEvv", "_Z1gIXadL_Z1hvEEEvv", "_Z1gIXadL_Z1hvEEEvv"),  # an expression: left alone
        ("_Z", "_Z", "_Z"),
        ("_ZN9999999999999999999aE", "_ZN9999999999999999999aE", "_ZN9999999999999999999aE"),
    ],
)
def test_names(mangled: str, full: str, name: str) -> None:
    assert demangle(mangled) == full and function_name(mangled) == name


def test_hostile_names_are_bounded() -> None:
    bomb = "_Z1fI" + "St4pairI" * 60 + "ii" + "E" * 60 + "E" + "S_" * 20 + "v"
    nested = "_Z1f" + "P" * 5000 + "i"
    chance = random.Random(4)
    letters = "NSIEKPRFTJLZv_0123456789abcijStUlDpX"
    for text in [
        bomb,
        nested,
        *("_Z" + "".join(chance.choices(letters, k=chance.randrange(60))) for _ in range(20_000)),
    ]:
        assert len(demangle(text)) <= 20_000


def test_names_against_cxxfilt(tmp_path: Path) -> None:
    """What is read is read as c++filt reads it."""
    if not shutil.which("c++filt") or not shutil.which("g++"):
        pytest.skip("c++filt or g++ is not installed")
    source = tmp_path / "names.cpp"
    source.write_text(
        "namespace n { template <class T, int N> struct V { T x[N]; };\n"
        "struct F { template <class A> void operator()(A, V<A, 3>&) const; }; }\n"
        "template <class A> void n::F::operator()(A, n::V<A, 3>&) const {}\n"
        "template void n::F::operator()(float, n::V<float, 3>&) const;\n"
        "template <class T, class... R> T many(T const* p, R... r) { return *p; }\n"
        "template int many<int, float, n::V<char const*, 2>>(int const*, float, n::V<char const*, 2>);\n"
        "void take(n::V<n::V<long, 1>, 2> const&, unsigned long long (*)(bool, short), int (&)[7], void (n::F::*)()) {}\n"
        "static auto inside = [](int i, double) { return i; }; int use() { return inside(1, 2); }\n"
    )
    built = tmp_path / "names.o"
    subprocess.run(["g++", "-std=c++17", "-c", source, "-o", built], check=True)
    listed = subprocess.run(["nm", built], capture_output=True, text=True, check=True).stdout.split()
    names = [n for n in listed if n.startswith("_Z")]
    filtered = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    read = [(demangle(n), theirs) for n, theirs in zip(names, filtered, strict=True) if demangle(n) != n]
    assert len(read) >= 3
    assert [ours for ours, _ in read] == [theirs for _, theirs in read]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("void ns::fill<(int)4>(float *, (anonymous)::T)", "ns::fill<(int)4>"),
        ("sink(int *)", "sink"),
        ("ns::(anonymous namespace)::work(int)", "ns::(anonymous namespace)::work"),
        ("plain", "plain"),
        ("", ""),
        (")", ")"),
    ],
)
def test_bare_names(function: str, name: str) -> None:
    assert bare(function) == name


def inlined_table(start: int) -> bytes:
    """The line program that nvcc 13.0 writes for an atomicAdd in a device function of a kernel, shortened."""
    files = b"/src\0/cuda-13.0/include\0\0k.cu\0\x01\0\0device_atomic_functions.hpp\0\x02\0\0\0"
    header = bytes([1, 1, 0xFB, 14, 10]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + files
    program = b"\x00\x09\x02" + struct.pack("<Q", start) + b"\x03\x0a\x01"  # row 1: k.cu:11
    program += b"\x00\x03\x90\x01\x00" + b"\x02\x10\x03\x77\x01"  # row 2: k.cu:2, inlined into row 1
    program += b"\x00\x03\x90\x02\x00" + b"\x04\x02\x02\x10\x03\xe9\x00\x01"  # row 3: the header's line 107, inlined into row 2
    program += b"\x00\x03\x90\x00\x00" + b"\x04\x01\x02\x10\x03\xa1\x7f\x01"  # row 4: k.cu:12
    program += b"\x02\x10\x00\x01\x01"
    body = struct.pack("<HI", 2, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(("pc", "line"), [(0x1000, 11), (0x1010, 2), (0x1020, 2), (0x1030, 12)])
def test_the_line_in_a_toolkit_header_is_that_of_the_code_it_was_inlined_into(pc: int, line: int) -> None:
    assert str(source_line(inlined_table(0x1000), 0x1000, pc)) == f"/src/k.cu:{line}"
