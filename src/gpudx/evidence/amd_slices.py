"""AMD's machine code as LLVM's disassembler prints it (gfx90a to gfx12), for backward slices.

Where a kernel's arguments are when it begins is described in LLVM's "User Guide for AMDGPU Backend": "Initial Kernel Execution State"
(the order of the registers), "Kernel Descriptor" (which of them there are) and "Preloaded Kernel Arguments". Instructions are those of
AMD's instruction set documents. Lanes that are switched off keep what a vector register held, so that a write behind a change of
`exec` counts as one that may not have happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gpudx.evidence._amd_waves import Instruction, code, made_of, registers, target
from gpudx.evidence.slices import UNSET, Listing, Read, Slicer
from gpudx.evidence.sums import Atom, Choice, Index, Load, Lost, Made, Param, Sum

OBJDUMP = re.compile(r"^\s+([a-z]\w+.*?)\s*//\s*([0-9A-Fa-f]{8,16}):", re.M)
SUFFIX = re.compile(r"_(?:e32|e64|e64_dpp|dpp8?|sdwa)$")
NO_RESULT = (
    "s_cmp", "s_bitcmp", "s_wait", "s_setreg", "s_barrier", "s_sleep", "s_branch", "s_cbranch", "s_endpgm", "s_nop", "s_setprio",
    "s_sendmsg", "s_trap", "s_clause", "s_delay", "v_cmpx", "s_icache", "s_dcache", "s_inst", "s_code", "exp", "buffer_wb", "buffer_inv",
)  # fmt: skip
RETURNS = ("glc", "sc0", "th:TH_ATOMIC_RETURN")
ENDS = ("s_endpgm", "s_setpc", "s_trap")
KERNARG = Lost(0, "kernarg", "is the block of the kernel's arguments")
SUMS = ("v_add_u32", "v_add_nc_u32", "v_add_co_u32", "v_add_i32", "s_add_u32", "s_add_i32", "s_add_co_u32", "s_add_co_i32", "v_add_u64")
DIFFERENCES = ("v_sub_u32", "v_sub_nc_u32", "v_sub_co_u32", "s_sub_u32", "s_sub_i32", "s_sub_co_u32", "s_sub_co_i32")
PRODUCTS = ("v_mul_lo_u32", "v_mul_lo_i32", "v_mul_u32_u24", "v_mul_i32_i24", "s_mul_i32")
MOVES = ("v_mov_b32", "s_mov_b32", "s_mov_b64", "v_mov_b64", "v_readfirstlane_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32")
LEFT = ("v_lshlrev_b32", "v_lshlrev_b64")
LOGIC = {"and": "and", "or": "or", "xor": "xor"}


@dataclass(frozen=True)
class Start:
    """The registers that a kernel begins with: where the pointer to its arguments, preloaded arguments and the block's number are."""

    kernarg: int | None = None
    preloaded: tuple[int, int, int] = (0, 0, 0)  # first register, bytes of the arguments that are skipped, how many registers
    blocks: tuple[int, ...] = ()  # registers with the number of the block in x, y, z


def start_of(descriptor: bytes) -> Start:
    """From a kernel descriptor of 64 bytes."""
    properties = int.from_bytes(descriptor[56:58], "little")
    preload = int.from_bytes(descriptor[58:60], "little")
    resources = int.from_bytes(descriptor[52:56], "little")  # COMPUTE_PGM_RSRC2
    at, kernarg = 0, None
    for bit, size in enumerate((4, 2, 2, 2, 2, 2, 1)):
        if properties >> bit & 1:
            kernarg = at if bit == 3 else kernarg
            at += size
    users = resources >> 1 & 31
    blocks = [users + n for n in range(3) if resources >> (7 + n) & 1]
    return Start(kernarg, (at, 4 * (preload >> 7 & 511), preload & 127), tuple(blocks))


def listing(text: str) -> list[Instruction]:
    """The instructions that llvm-objdump printed of one function."""
    return code(f"{int(at, 16):#x}: {one}" for text_, at in OBJDUMP.findall(text) for one in text_.split(" :: "))


def address_at(instructions: Sequence[Instruction], start: Start, pc: int) -> Sum | None:
    """The lower half of the address that the instruction at `pc` accesses; None for no access, or a form that is not known."""
    number = next((n for n, one in enumerate(instructions) if one.pc == pc and made_of(one)), None)
    if number is None:
        return None
    machine = Amd(instructions, start, number)
    return _arguments(Slicer(machine).at(number, lambda read: machine.address(machine.code[number], read) or Sum()))


def _arguments(value: Sum) -> Sum:
    """With loads from the block of arguments as what they are: behind a join of paths, that the pointer is the same is seen only now."""

    def change(atom: Atom) -> Sum:
        if not isinstance(atom, Load) or atom.address is None:
            return Sum.atom(atom)
        inside = (atom.address - Sum.atom(KERNARG)).constant
        return Sum.atom(replace(atom, address=_arguments(atom.address)) if inside is None else Param(inside + atom.skip))

    return value.replaced(change)


class Amd(Listing[Instruction]):
    """The code of one kernel, for a slice that begins at the instruction numbered `last`."""

    def __init__(self, instructions: Sequence[Instruction], start: Start, last: int) -> None:
        self.last = last
        self.code = [replace(one, name=SUFFIX.sub("", one.name).replace("v_dual_", "v_")) for one in instructions]
        self.start = start
        self.at = {one.pc: number for number, one in reversed(list(enumerate(self.code)))}

    # ---- paths ----

    def after(self, number: int) -> Iterable[int]:
        one = self.code[number]
        following = [number + 1] if number + 1 < len(self.code) else []
        if one.name.startswith(ENDS):
            return []
        to = target(one)
        if one.name.startswith(("s_branch", "s_cbranch")) and to in self.at:
            return [self.at[to]] if one.name.startswith("s_branch") else [self.at[to], *following]
        return [] if one.name.startswith("s_branch") else following

    # ---- registers ----

    def results(self, number: int) -> list[str]:
        """The registers that an instruction writes, in order."""
        one = self.code[number]
        stores = "_store" in one.name or "_write" in one.name
        silent = "_atomic" in one.name and not any(word in one.text for word in RETURNS)
        if not one.operands or one.name.startswith(NO_RESULT) or stores or silent:
            return []
        also = one.operands[1] if "_co_" in one.name or one.name.startswith(("v_mad_u64", "v_mad_i64", "v_div_scale")) else ""
        return [*_ordered(one.operands[0]), *_ordered(also)]

    def writes(self, number: int, register: str) -> bool:
        called = self.code[number].name.startswith(("s_swappc", "s_call"))
        return called or register in self.results(number)

    def conditional(self, number: int) -> bool:
        """Lanes were off here that may be on where the slice begins."""
        if not self._narrowed[number] or not any(name.startswith("v") for name in self.results(number)):
            return False
        return number >= self.last or any(_widens(one) for one in self.code[number : self.last])

    @cached_property
    def _narrowed(self) -> list[bool]:
        """Behind which instructions lanes may be switched off: all from the first change of `exec` on."""
        found, changed = [], False
        for one in self.code:
            found.append(changed)
            changed |= "saveexec" in one.name or one.name.startswith("v_cmpx") or _sets_exec(one)
        return found

    def initial(self, register: str) -> Sum:
        """The pointer to the arguments, arguments themselves, and the numbers of block and thread."""
        start, number = self.start, int(register[1:])
        first, skipped, count = start.preloaded
        if register.startswith("s"):
            if number == start.kernarg:
                return Sum.atom(KERNARG)
            if first <= number < first + count:
                return Sum.atom(Param(skipped + 4 * (number - first)))
            if number in start.blocks:
                return Sum.atom(Index("blockIdx", start.blocks.index(number)))
        if register == "v0":
            return Sum.atom(Index("threadIdx", 0))
        return Sum.atom(Lost(0, register, UNSET))

    # ---- values ----

    def result(self, number: int, register: str, read: Read) -> Sum:
        one = self.code[number]
        names = self.results(number)
        lost = Sum.atom(Lost(one.pc, register, f"is made by {one.name}"))
        if register not in names:
            return Sum.atom(Lost(one.pc, register, "is set by a function that is called"))
        place = names.index(register)
        if "_load" in one.name:
            return self._loaded(one, names, place, read)
        if place and one.name in MOVES:
            source = _ordered(one.operands[1])
            return read(source[place]) if place < len(source) else lost
        return (None if place else self._computed(one, read)) or lost

    def _loaded(self, one: Instruction, names: Sequence[str], place: int, read: Read) -> Sum:
        address = self.address(one, read)
        inside = (address - Sum.atom(KERNARG)).constant if address is not None else None
        if one.name.startswith("s_load") and inside is not None:
            return Sum.atom(Param(inside + 4 * place))
        space = "shared" if one.name.startswith("ds_") else "local" if one.name.startswith("scratch") else "global"
        return Sum.atom(Load(one.pc, space, 4 * len(names), address, 4 * place))

    def address(self, one: Instruction, read: Read) -> Sum | None:
        """The lower half of the address that an instruction accesses; None for forms that are not known."""
        made = made_of(one)
        if made is None:
            return None
        total = Sum.number(made.offset)
        for names in (made.vector, made.scalar):
            total += read(names[0]) if names else Sum()
        return total

    def _computed(self, one: Instruction, read: Read) -> Sum | None:
        """The lower 32 bits of the first register; None for what is no sum."""
        skip = 2 if "_co_" in one.name or one.name.startswith(("v_mad_u64", "v_mad_i64")) else 1
        values = [self._operand(text, read) for text in one.operands[skip:]]
        a, b, c = (*values, None, None, None)[:3]
        if a is None:
            return None
        if one.name in MOVES:
            return a
        if b is None:
            return None
        if one.name in SUMS:
            return a + b
        if one.name in DIFFERENCES:
            return a - b
        if one.name in PRODUCTS:
            return a * b
        return self._shifted(one, a, b) or self._logical(one, a, b) or (self._of_three(one, a, b, c) if c is not None else None)

    def _shifted(self, one: Instruction, a: Sum, b: Sum) -> Sum | None:
        reverse = one.name.startswith("v_")
        places, value = (a, b) if reverse else (b, a)
        if one.name in LEFT or one.name in ("s_lshl_b32", "s_lshl_b64"):
            return None if places.constant is None else value.times(1 << (places.constant & 31))
        if one.name in ("v_lshrrev_b32", "s_lshr_b32"):
            return Sum.atom(Made("shr", (value, places)))
        return Sum.atom(Made("sar", (value, places))) if one.name in ("v_ashrrev_i32", "s_ashr_i32") else None

    def _logical(self, one: Instruction, a: Sum, b: Sum) -> Sum | None:
        found = re.fullmatch(r"[vs]_(and|or|xor)_b(?:32|64)", one.name)
        if found:
            return Sum.atom(Made(LOGIC[found[1]], (a, b)))
        if one.name in ("v_cndmask_b32", "s_cselect_b32", "s_cselect_b64"):
            return Sum.atom(Choice(one.pc, one.operands[0], (a, b)))
        limit = re.fullmatch(r"[vs]_(min|max)_i32", one.name)
        return Sum.atom(Made(limit[1], (a, b))) if limit else None

    def _of_three(self, one: Instruction, a: Sum, b: Sum, c: Sum) -> Sum | None:
        name = one.name
        if name == "v_add3_u32":
            return a + b + c
        if name in ("v_mad_u32_u24", "v_mad_i32_i24", "v_mad_u64_u32", "v_mad_i64_i32", "v_mad_co_u64_u32"):
            return a * b + c
        if name in ("v_lshl_add_u32", "v_lshl_add_u64", "v_lshl_or_b32") and b.constant is not None:
            moved = a.times(1 << (b.constant & 31))
            return Sum.atom(Made("or", (moved, c))) if name == "v_lshl_or_b32" else moved + c
        if name == "v_add_lshl_u32" and c.constant is not None:
            return (a + b).times(1 << (c.constant & 31))
        return None

    def _operand(self, text: str, read: Read) -> Sum | None:
        word = text.split()[0] if text.split() else ""
        if word == "ttmp9":  # gfx12: the block's number in x ("Initial Kernel Execution State")
            return Sum.atom(Index("blockIdx", 0))
        names = _ordered(word)
        if names:
            return read(names[0])
        try:
            return Sum.number(int(word, 0))
        except ValueError:
            return None


def _sets_exec(one: Instruction) -> bool:
    return bool(one.operands) and one.operands[0].startswith("exec")


def _widens(one: Instruction) -> bool:
    """May it switch lanes on?"""
    return _sets_exec(one) and not one.name.startswith(("s_and", "s_andn2"))


def _ordered(operand: str) -> list[str]:
    return sorted(registers(operand.split()[0]), key=lambda name: int(name[1:])) if operand.split() else []
