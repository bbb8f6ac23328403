"""What an instruction accessed: assembled by the system's assembler, with registers that we choose."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from gpudx.facts.instruction import KEPT_AT, NAMES, Access, accesses, faulting_access, impossible_access
from gpudx.trace.last_words import LastWords

VALUES = {name: 0x1000 * (number + 1) for number, name in enumerate(NAMES)}
REGISTERS = tuple(VALUES[NAMES[KEPT_AT.index(n)]] for n in range(len(NAMES)))
needs_as = pytest.mark.skipif(not shutil.which("as") or not shutil.which("objcopy"), reason="no assembler")


def assembled(text: str, folder: Path) -> bytes:
    (folder / "one.s").write_text(f"{text}\n")
    subprocess.run(["as", "-o", folder / "one.o", folder / "one.s"], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", folder / "one.o", folder / "one.bin"], check=True)
    return (folder / "one.bin").read_bytes().ljust(16, b"\xcc")


# instruction (AT&T) -> address by the registers above, writes, alignment
ONE = {
    "mov (%rax), %rcx": ("rax", False),
    "mov %ecx, 0x10(%rdx)": ("rdx + 0x10", True),
    "movb $1, -8(%rbp)": ("rbp - 8", True),
    "mov (%rsp), %rax": ("rsp", False),
    "mov (%r12), %rax": ("r12", False),
    "mov 0x0(%r13), %rax": ("r13", False),
    "mov 8(%rax,%rcx,4), %rdx": ("rax + rcx * 4 + 8", False),
    "mov %r9, 0x12345(%r10,%r11,8)": ("r10 + r11 * 8 + 0x12345", True),
    "mov 0x100(,%rcx,2), %rax": ("rcx * 2 + 0x100", False),
    "addl $5, (%rbx)": ("rbx", None),
    "add %rax, (%r15)": ("r15", None),
    "cmp (%rdi), %rax": ("rdi", False),
    "movzbl (%rsi,%rdi), %eax": ("rsi + rdi", False),
    "lock cmpxchg %rcx, (%r8)": ("r8", None),
    "movups %xmm0, (%r14)": ("r14", True),
    "movss (%rax), %xmm1": ("rax", False),
    "vmovups 0x20(%r8,%r9,4), %ymm1": ("r8 + r9 * 4 + 0x20", False),
    "vmovups %ymm1, (%r15)": ("r15", True),
    "vmulps (%rcx), %ymm1, %ymm2": ("rcx", False),
    "vfmadd231ps (%r11), %ymm1, %ymm2": ("r11", None),
    "vmovups (%r10), %zmm1": ("r10", False),
    "push %rax": ("rsp - 8", True),
    "ret": ("rsp", False),
    "mov 0x10(%rip), %rax": ("rip + 7 + 0x10", False),
    "cmpl $5, 0x10(%rip)": ("rip + 7 + 0x10", None),
    "fldl (%rcx)": ("rcx", False),
}
NOTHING = ("mov %rax, %rcx", "nop", "lea (%rax), %rcx", "xor %eax, %eax", "vzeroupper", "mov %fs:(%rax), %rcx",
           "prefetcht0 (%rax)", "jmp .+5", "vmovups 0x40(%r10), %zmm1")  # fmt: skip


@needs_as
@pytest.mark.parametrize("text", ONE)
def test_the_operand_of_an_instruction(text: str, tmp_path: Path) -> None:
    expected, writes = ONE[text]
    (found,) = accesses(assembled(text, tmp_path), REGISTERS)
    assert found.address == eval(expected, dict(VALUES))
    assert found.writes == writes


@needs_as
@pytest.mark.parametrize("text", NOTHING)
def test_what_accesses_nothing_or_is_not_understood(text: str, tmp_path: Path) -> None:
    assert accesses(assembled(text, tmp_path), REGISTERS) == []


@needs_as
def test_string_instructions_have_two_operands(tmp_path: Path) -> None:
    read, write = accesses(assembled("rep movsb", tmp_path), REGISTERS)
    assert (read.address, read.writes) == (VALUES["rsi"], False)
    assert (write.address, write.writes) == (VALUES["rdi"], True)


def words(code: bytes, vouched: bool = False, address: int = 0, **values: int) -> LastWords:
    kept = [VALUES[NAMES[KEPT_AT.index(n)]] for n in range(len(NAMES))]
    for name, value in values.items():
        kept[KEPT_AT[NAMES.index(name)]] = value
    return LastWords(signal.SIGSEGV, 1 if vouched else 128, 1, address, 0, 0, tuple(kept), b"", 0.0, 0, vouched, False, code)


BAD = 0xDEADBEEFDEADBEEF


@needs_as
def test_an_address_that_no_memory_can_have(tmp_path: Path) -> None:
    code = assembled("mov 0x10(%rax), %rcx", tmp_path)
    found = impossible_access(words(code, rax=BAD))
    assert found == Access(BAD + 0x10, False, "rax + 0x10", (("rax", BAD),), width=8)
    assert impossible_access(words(code)) is None  # an address like any other: something else was wrong
    assert impossible_access(words(code, vouched=True, rax=BAD)) is None  # the kernel named one


@needs_as
def test_the_operand_that_was_wrong_of_two(tmp_path: Path) -> None:
    code = assembled("rep movsq", tmp_path)
    found = impossible_access(words(code, rdi=BAD))
    assert found is not None
    assert (found.address, found.writes) == (BAD, True)
    assert impossible_access(words(code, rdi=BAD, rsi=BAD)) is None  # either


@needs_as
@pytest.mark.parametrize(
    "text", ["movaps (%rax), %xmm0", "movdqa %xmm0, (%rax)", "vmovaps (%rax), %ymm0", "movntps %xmm0, (%rax)"]
)
def test_an_address_that_is_not_aligned(text: str, tmp_path: Path) -> None:
    code = assembled(text, tmp_path)
    found = impossible_access(words(code, rax=0x10008))
    assert found is not None
    assert found.address == 0x10008
    assert not found.aligned
    assert impossible_access(words(code, rax=0x10020)) is None


@needs_as
@pytest.mark.parametrize("text", ["movups (%rax), %xmm0", "movdqu (%rax), %xmm0", "mov (%rax), %rcx"])
def test_most_instructions_demand_no_alignment(text: str, tmp_path: Path) -> None:
    assert impossible_access(words(assembled(text, tmp_path), rax=0x10008)) is None


@pytest.mark.parametrize("size", range(8))
def test_instructions_that_are_cut_off(size: int) -> None:
    code = bytes.fromhex("4c898c dad0510100".replace(" ", ""))  # mov %r9,0x151d0(%rdx,%rbx,8)
    assert len(accesses(code[:size], REGISTERS)) == 0
    assert len(accesses(code, REGISTERS)) == 1


def test_nothing_kept() -> None:
    assert accesses(b"", REGISTERS) == []
    assert accesses(b"\0" * 16, REGISTERS) == []
    assert accesses(b"\x48\x8b\x00", ()) == []


WIDTHS = {
    "movss (%rax), %xmm0": 4, "movsd %xmm0, (%rax)": 8, "vmovss (%rax,%rcx,4), %xmm1": 4, "vmovsd %xmm1, (%rax,%rcx,8)": 8,
    "vmovups (%rax), %ymm0": 32, "movups (%rax), %xmm0": 16, "vaddss (%rax), %xmm0, %xmm1": 4, "mulsd (%rax), %xmm0": 8,
    "movzbl (%rax), %ecx": 1, "movswl (%rax), %ecx": 2, "movslq (%rax,%rcx,4), %rdx": 4, "movb %cl, (%rax)": 1,
    "movw %cx, (%rax)": 2, "movl %ecx, (%rax)": 4, "movq %rcx, (%rax)": 8, "addl $1, (%rax)": 4, "vmovd %xmm0, (%rax)": 4,
    "vmovq %xmm0, (%rax)": 8, "lock incl (%rax)": 0,
}  # fmt: skip


@needs_as
@pytest.mark.parametrize("text", WIDTHS)
def test_the_width_of_an_access(text: str, tmp_path: Path) -> None:
    (found,) = accesses(assembled(text, tmp_path), REGISTERS)
    assert found.width == WIDTHS[text]


@needs_as
def test_the_index_of_an_access(tmp_path: Path) -> None:
    code = assembled("movss (%rax,%rcx,4), %xmm0", tmp_path)
    rax, rcx = VALUES["rax"], VALUES["rcx"]
    found = faulting_access(words(code, vouched=True, address=rax + rcx * 4))
    assert found is not None and found.index == ("rcx", rcx, 4)
    assert faulting_access(words(code, vouched=True, address=rax + rcx * 4 + 64)) is None, "another instruction's"


@needs_as
@pytest.mark.parametrize(
    ("text", "base", "width", "writes"),
    [
        ("vgatherdps %ymm1, (%rax,%ymm2,4), %ymm3", "rax", 4, False),
        ("vgatherqps 8(%rax,%zmm2,4), %ymm3{%k1}", "rax + 8", 4, False),
        ("vgatherdpd 16(%r9,%ymm2,8), %zmm3{%k1}", "r9 + 16", 8, False),
        ("vscatterdps %zmm3, (%r8,%zmm2,4){%k1}", "r8", 4, True),
    ],
)
def test_the_index_of_a_gather_or_scatter_follows_from_the_address(
    text: str, base: str, width: int, writes: bool, tmp_path: Path
) -> None:
    code, start = assembled(text, tmp_path), eval(base, dict(VALUES))
    found = faulting_access(words(code, vouched=True, address=start + 1000 * width))
    assert found is not None and (found.width, found.writes) == (width, writes)
    assert found.index == ("a vector register", 1000, width)
    assert faulting_access(words(code, vouched=True, address=start + 1000 * width + 1)) is None
