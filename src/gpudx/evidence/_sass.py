"""Just enough of the machine code of NVIDIA GPUs (sm_70 and later, 16-byte instructions) to say what a faulting
instruction accessed, and whether the registers that made its address still hold what they held then.

An error is reported after the fact: the warp runs on until something needs the missing value. In a core dump the lane's
registers are those of where it stopped. `changed` walks every path from the faulting instruction to that place; only
when no instruction on any of them can have written the address registers is the address decoded. Anything not
understood on the way is an answer too: "not known".

Facts, found by changing one bit at a time and reading what nvdisasm 13.4 makes of it, for sm_75, 80, 89, 90, 100 and
120: bits 0-8 operation, 9-11 form of the operands, 12-15 guard, 16-23 result, 24-31 address register, 40-63 signed
offset, 72 "E" (64-bit addresses), 73-75 size; in form 4 a uniform register (bits 32-37 of loads, 64-69 of stores and
atomics; 8 bits wide from sm_100 on) is either added or, where bit 76 (atomics: 71) is set from sm_80 on, a descriptor.
Bits 110-112 name the scoreboard that a load's result is awaited on, bits 116-121 the scoreboards that an instruction
waits for; a real dump of sm_90 showed a warp held at the first instruction that waits for the load that faulted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

INSTRUCTION = 16
ZERO = 255  # RZ
TRUE = 7  # PT
MOST_VISITED = 20_000

Kind = Literal["read", "write", "atomic"]
Space = Literal["global", "generic", "shared", "local"]
Address = tuple[int, bool, int | None, int]  # register, whether it is a pair, uniform register that is added, offset

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
ATOMIC_SIZES = {0: 4, 1: 4, 2: 8, 3: 8, 4: 16}  # sm_90 on, integers
FLOAT_ATOMIC_SIZES = {0: 4, 1: 8, 2: 16, 3: 4, 4: 8, 5: 16, 9: 4}  # sm_90 on, vectors of halves, and float
ATOMIC_SIZES_BEFORE = {0: 4, 1: 4, 2: 8, 3: 4, 4: 4, 5: 8, 6: 8}  # with floating types in between

_LD, _LDG, _LDC, _LDL, _LDS, _ST, _STG, _STL, _STS = 0x180, 0x181, 0x182, 0x183, 0x184, 0x185, 0x186, 0x187, 0x188
_ATOM, _ATOM_CAS, _ATOMS, _ATOMS_CAS, _RED, _ATOMG_FLOAT, _RED_FLOAT, _ATOMG, _ATOMG_CAS, _LDGSTS = (
    0x18A, 0x18B, 0x18C, 0x18D, 0x18E, 0x1A3, 0x1A6, 0x1A8, 0x1A9, 0x1AE,
)  # fmt: skip
NAMES: dict[int, tuple[str, Kind, Space]] = {
    _LD: ("LD", "read", "generic"), _LDG: ("LDG", "read", "global"), _LDL: ("LDL", "read", "local"),
    _LDS: ("LDS", "read", "shared"), _ST: ("ST", "write", "generic"), _STG: ("STG", "write", "global"),
    _STL: ("STL", "write", "local"), _STS: ("STS", "write", "shared"), _ATOM: ("ATOM", "atomic", "generic"),
    _ATOM_CAS: ("ATOM.CAS", "atomic", "generic"), _ATOMS: ("ATOMS", "atomic", "shared"),
    _ATOMS_CAS: ("ATOMS.CAS", "atomic", "shared"), _RED: ("RED", "atomic", "global"),
    _ATOMG: ("ATOMG", "atomic", "global"), _ATOMG_CAS: ("ATOMG.CAS", "atomic", "global"),
    _ATOMG_FLOAT: ("ATOMG", "atomic", "global"), _RED_FLOAT: ("RED", "atomic", "global"),
    _LDGSTS: ("LDGSTS", "read", "global"),
}  # fmt: skip
_LOADS, _STORES = (_LD, _LDG, _LDS, _LDL), (_ST, _STG, _STS, _STL)
_ATOMICS = (_ATOM, _ATOMG, _ATOMG_FLOAT)
_REDUCTIONS = (_RED, _RED_FLOAT)
_CAS = (_ATOM_CAS, _ATOMG_CAS)

_BPT, _BSSY, _BSYNC, _BRA, _EXIT, _WARPSYNC = 0x15C, 0x145, 0x141, 0x147, 0x14D, 0x148
_BAR, _NOP = 0x11D, 0x118
_FLOW = range(0x140, 0x160)  # branches, calls and their kin
_FALLS_THROUGH = {0x142, _BSSY, 0x146, 0x15D}  # BREAK, BSSY, YIELD, NANOSLEEP
_R2P = 0x004

# How many consecutive registers an instruction's result may take, by operation; more where modifiers decide.
_ONE = (
    0x002, 0x003, 0x006, 0x007, 0x008, 0x009, 0x00A, 0x010, 0x011, 0x012, 0x013, 0x015, 0x016, 0x017, 0x019, 0x01A,
    0x01B, 0x020, 0x021, 0x022, 0x023, 0x024, 0x026, 0x027, 0x030, 0x031, 0x032, 0x033, 0x035, 0x036, 0x039, 0x03A,
    0x03E, 0x040, 0x043, 0x045, 0x048, 0x100, 0x101, 0x105, 0x106, 0x107, 0x108, 0x109, 0x119, 0x11C, 0x189, 0x1A1,
    0x1AA,
)  # fmt: skip
_TWO = (0x005, 0x025, 0x028, 0x029, 0x02B, 0x110, 0x111, 0x112, 0x113)  # CS2R, IMAD.WIDE, doubles, 64-bit conversions
_FOUR = (0x037, 0x03B, 0x03C, 0x03D, 0x199)  # IMMA, LDSM, HMMA, BMMA, SULD
_NONE = {
    _R2P, 0x00B, 0x00C, 0x01C, 0x02A, 0x034, 0x044, 0x102, 0x118, 0x11A, 0x11D, 0x18F, 0x190, 0x192, 0x19D, 0x1AB,
    0x1AF, *_REDUCTIONS, _LDGSTS, _WARPSYNC, _BRA, _EXIT, _BSYNC, *_FALLS_THROUGH, *_STORES,
}  # fmt: skip
RESULT = {**dict.fromkeys(_ONE, 1), **dict.fromkeys(_TWO, 2), **dict.fromkeys(_FOUR, 4), 0x03F: 8}
_UNIFORM = range(0x080, 0x0C0)  # the uniform datapath: results go to uniform registers only
_TO_UNIFORM = (0x1C2, 0x1C3, 0x1C4)  # R2UR, S2UR, REDUX
MOST_UNIFORM = 4  # registers one uniform result takes at most


def bits(word: int, low: int, high: int) -> int:
    """Bits low..high of an instruction, both included."""
    return (word >> low) & ((1 << (high - low + 1)) - 1)


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def operation(word: int) -> int:
    return bits(word, 0, 8)


def is_trap(word: int) -> bool:
    """A breakpoint instruction that stops the program: what __trap() compiles to."""
    return operation(word) == _BPT and bits(word, 84, 86) == 3


Waits = Literal["", "at barrier", "before barrier", "warp"]
TO_BARRIER = 16  # instructions from where a warp gathers for a barrier to the barrier


@dataclass(frozen=True)
class Memory:
    """One memory instruction: address = register (1 or 2 words, scaled) + uniform register + offset."""

    name: str
    kind: Kind
    space: Space
    size: int | None
    register: int
    wide: bool  # the register is a pair
    uniform: int | None
    offset: int
    scale: int
    guard: int
    negated: bool
    result: range  # registers it writes
    scoreboard: int | None  # what later users of the result wait for

    @property
    def wide_sum(self) -> bool:
        """64-bit addresses, as opposed to offsets into shared or local memory."""
        return self.space in ("global", "generic")

    def __str__(self) -> str:
        base = "" if self.register == ZERO else f"R{self.register}{'.64' if self.wide else ''}"
        scale = f".X{self.scale}" if self.scale > 1 else ""
        parts = [f"{base}{scale}"] if base else []
        parts += [f"UR{self.uniform}"] if self.uniform is not None else []
        parts += [f"{self.offset:#x}"] if self.offset or not parts else []
        return f"{self.name} [{'+'.join(parts)}]"

    def needs(self) -> set[int]:
        """The registers of the address."""
        if self.register == ZERO:
            return set()
        return {self.register, self.register + 1} if self.wide else {self.register}


def decode(word: int, sm: int) -> Memory | None:
    """The memory access of an instruction, for a device of compute capability `sm` (90 for 9.0).

    None: not a memory instruction, or one in a form that is not understood.
    """
    op, form = operation(word), bits(word, 9, 11)
    if op not in NAMES or sm < 70 or (sm >= 100 and op not in _LOADS + _STORES):
        return None
    where = _address(word, op, form, sm)
    if where is None:
        return None
    name, kind, space = NAMES[op]
    size = _atomic_size(word, op, sm) if kind == "atomic" else SIZES.get(bits(word, 73, 75))
    register, wide, uniform, offset = where
    board = bits(word, 110, 112)
    result = _result(word)
    return Memory(
        name=name,
        kind=kind,
        space=space,
        size=size,
        register=register,
        wide=wide,
        uniform=uniform,
        offset=offset,
        scale=_scale(word, op),
        guard=bits(word, 12, 14),
        negated=bool(bits(word, 15, 15)),
        result=result if result is not None else range(0),
        scoreboard=board if board < 6 and result else None,
    )


def _atomic_size(word: int, op: int, sm: int) -> int | None:
    if op in (_ATOMG_FLOAT, _RED_FLOAT):
        return FLOAT_ATOMIC_SIZES.get(bits(word, 73, 76))
    if sm >= 90:
        return ATOMIC_SIZES.get(bits(word, 73, 75))
    return ATOMIC_SIZES_BEFORE.get(bits(word, 73, 76))


def _scale(word: int, op: int) -> int:
    return (1, 4, 8, 16)[bits(word, 78, 79)] if op in (_LDS, _STS, _ATOMS, _ATOMS_CAS) else 1


def _address(word: int, op: int, form: int, sm: int) -> Address | None:
    register, offset = bits(word, 24, 31), _signed(bits(word, 40, 63), 24)
    if op == _LDGSTS:
        return _copy_address(word, form, register, sm)
    if op in (_LDS, _LDL):
        return (register, False, _uniform(word, 32, sm) if bits(word, 91, 91) else None, offset) if form == 4 else None
    if op in (_STS, _STL, _ATOMS, _ATOMS_CAS):
        if form == 1:
            return register, False, None, offset
        return (register, False, _uniform(word, 64, sm), offset) if form == 4 and bits(word, 91, 91) else None
    if not bits(word, 72, 72):
        return None  # 32-bit addresses do not occur any more
    if form == 1:
        return (register, True, None, offset) if bits(word, 91, 91) == 0 else None
    return _uniform_address(word, op, register, offset, sm) if form == 4 else None


def _uniform_address(word: int, op: int, register: int, offset: int, sm: int) -> Address | None:
    """The form with a uniform register, which may be a descriptor instead of a part of the address."""
    if op in _REDUCTIONS and not bits(word, 91, 91):
        return register, True, None, offset
    if op in _CAS or not bits(word, 91, 91):
        return None
    pair = bits(word, 70, 70) if op in _ATOMICS else bits(word, 90, 90)
    flag = 71 if op in _ATOMICS + _REDUCTIONS else 76
    descriptor = sm >= 80 and bits(word, flag, flag)
    if descriptor and not pair:
        return None
    uniform = None if descriptor else _uniform(word, 32 if op in _LOADS else 64, sm)
    return register, bool(pair), uniform, offset


def _copy_address(word: int, form: int, register: int, sm: int) -> Address | None:
    """The global side of LDGSTS, which copies to shared memory."""
    if form != 7 or not bits(word, 91, 91) or not 80 <= sm < 100:
        return None
    pair, descriptor = bits(word, 70, 70), bits(word, 76, 76)
    if descriptor and not pair:
        return None
    return register, bool(pair), None if descriptor else _uniform(word, 64, sm), _signed(bits(word, 32, 43), 12)


def _uniform(word: int, low: int, sm: int) -> int | None:
    """A uniform register, None for the one that is always zero."""
    width = 8 if sm >= 100 else 6
    number = bits(word, low, low + width - 1)
    return None if number == (1 << width) - 1 else number


def _result(word: int) -> range | None:
    """The registers that an instruction may write; None when that is not known."""
    op, first = operation(word), bits(word, 16, 23)
    if op in _NONE or op in _UNIFORM or op in _TO_UNIFORM:
        return range(0)
    if op in _LOADS or op == _LDC:
        width = max(1, SIZES.get(bits(word, 73, 75), 16) // 4)
    elif op in (*_ATOMICS, *_CAS, _ATOMS, _ATOMS_CAS):
        width = 4
    elif op in RESULT:
        width = RESULT[op]
    else:
        return None
    return range(0) if first == ZERO else range(first, first + width)


def _uniform_result(word: int) -> range:
    op, first = operation(word), bits(word, 16, 23)
    return range(first, first + MOST_UNIFORM) if op in _UNIFORM or op in _TO_UNIFORM else range(0)


def _predicates(word: int) -> Iterable[int]:
    """Predicates an instruction may write: all for R2P, else those in the two fields that may name some."""
    return range(7) if operation(word) == _R2P else (bits(word, 81, 83), bits(word, 84, 86))


def sums_up(data: bytes) -> tuple[int, int]:
    """How many instructions a kernel has, without the filling behind its end, and how many of them access memory."""
    ops = [operation(int.from_bytes(data[at : at + INSTRUCTION], "little")) for at in range(0, len(data), INSTRUCTION)]
    while ops and ops[-1] in (_NOP, _BRA):  # compilers end a kernel with a branch to itself, and fill up
        ops.pop()
    return len(ops), sum(op in NAMES for op in ops)


class Code:
    """The instructions of one code section, numbered from 0; `start` is the address of the first."""

    def __init__(self, data: memoryview, sm: int, start: int = 0) -> None:
        self.data, self.sm, self.start = data, sm, start

    def __len__(self) -> int:
        return len(self.data) // INSTRUCTION

    def word(self, number: int) -> int:
        return int.from_bytes(self.data[number * INSTRUCTION : (number + 1) * INSTRUCTION], "little")

    def target(self, number: int) -> int | None:
        """Where a branch or reconvergence point leads."""
        word = self.word(number)
        if operation(word) == _BSSY:
            away = _signed(bits(word, 32, 63), 32)
        elif self.sm >= 90:
            away = _signed(bits(word, 34, 81) << 8 | bits(word, 16, 23), 56) * 4
        else:
            away = _signed(bits(word, 32, 81), 50)
        to, rest = divmod((number + 1) * INSTRUCTION + away, INSTRUCTION)
        return to if rest == 0 and 0 <= to < len(self) else None

    def after(self, number: int) -> list[int] | None:
        """What may be executed next; None when that is not known (calls, returns, computed branches)."""
        word = self.word(number)
        op, always = operation(word), bits(word, 12, 15) == TRUE and bits(word, 87, 90) == TRUE
        following = [number + 1] if number + 1 < len(self) else []
        if op == _EXIT:
            return [] if always else following
        if op == _BRA:
            to = self.target(number)
            plain = always and not bits(word, 24, 33)
            return None if to is None else [to] if plain else [to, *following]
        if op == _BSYNC:
            return self._met(number)
        known = op not in _FLOW or op in _FALLS_THROUGH or (op == _WARPSYNC and bits(word, 9, 11) == 4)
        return following if known else None

    def _met(self, number: int) -> list[int]:
        """Where a warp goes on after BSYNC: the place that BSSY of the same barrier named, as a rule the next one."""
        barrier = bits(self.word(number), 16, 19)
        points = self._meeting_points.get(barrier, set())
        return [number + 1] if number + 1 in points else sorted(points)

    @cached_property
    def _meeting_points(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for number in range(min(len(self), MOST_VISITED)):
            word = self.word(number)
            to = self.target(number) if operation(word) == _BSSY else None
            if to is not None:
                found.setdefault(bits(word, 16, 19), set()).add(to)
        return found

    def waits(self, number: int) -> Waits:
        """What a lane that stands at this instruction waits for: a barrier of the block, the other lanes of its warp in front of one
        (WARPSYNC.ALL, which compilers put before BAR.SYNC), or other lanes of its warp. A lane that waits stands at the instruction that
        makes it wait, or right behind it."""
        for at in (number, number - 1):
            op = operation(self.word(at)) if at >= 0 else 0
            if op == _BAR:
                return "at barrier"
            if op in (_BSYNC, _WARPSYNC):
                return "before barrier" if op == _WARPSYNC and self._leads_to_barrier(number) else "warp"
        return ""

    def _leads_to_barrier(self, number: int) -> bool:
        for at in range(number, min(number + TO_BARRIER, len(self))):
            if operation(self.word(at)) == _BAR:
                return True
            if self.after(at) != [at + 1]:
                return False
        return False

    def leads(self, number: int, to: int) -> bool:
        """Is there a way from one instruction to another?"""
        seen, todo = set[int](), [number]
        while todo and len(seen) < MOST_VISITED:
            at = todo.pop()
            if at == to and seen:
                return True
            if at not in seen:
                seen.add(at)
                todo += [n for n in self.after(at) or () if n < len(self)]
        return False

    def loop(self, number: int) -> set[int]:
        """The instructions of the shortest loop through this one; empty where there is none, or a way is not known."""
        came_from: dict[int, int] = {}
        todo = [number]
        while todo and number not in came_from and len(came_from) < MOST_VISITED:
            at = todo.pop(0)
            following = self.after(at)
            if following is None:
                return set()
            for to in following:
                if to not in came_from and to < len(self):
                    came_from[to] = at
                    todo.append(to)
        around = set[int]()
        at = number
        while number in came_from and at not in around:
            around.add(at)
            at = came_from[at]
        return around

    def polled(self, number: int) -> int | None:
        """The only access of memory in the loop around an instruction: it reads the same place until another thread changes it."""
        around = self.loop(number)
        found = [n for n in sorted(around) if operation(self.word(n)) in NAMES]
        memory = decode(self.word(found[0]), self.sm) if len(found) == 1 else None
        kept = memory is not None and memory.kind != "write" and all(self._overwrites(n, memory) is None for n in around)
        return found[0] if kept else None

    def changed(self, access: Memory, fault: int, stop: int) -> str | None:
        """Why the registers at `stop` may not be those at `fault`; None when they must be the same.

        `stop` is the instruction that the lane would execute next. A result that never came holds the warp at the
        first instruction that waits for its scoreboard; a store holds nothing, so that all paths count for it.
        """
        if access.needs() & set(access.result):
            return f"{access.name} overwrites its own address register"
        if self.sm >= 100 and stop != fault + 1:
            return "the warp ran on, and what it ran is not decoded for this architecture"
        edges = self._walk(access, fault, stop)
        if isinstance(edges, str):
            return edges
        for number in _leading_to(edges, stop):
            reason = self._overwrites(number, access)
            if reason:
                return reason
        return None

    def _walk(self, access: Memory, fault: int, stop: int) -> dict[int, list[int]] | str:
        """All instructions that can have run since the fault, with what follows each."""
        edges: dict[int, list[int]] = {}
        todo = [fault + 1]
        while todo:
            number = todo.pop()
            if number in edges or number >= len(self):
                continue
            edges[number] = []
            if self._held(number, access, fault):
                continue
            following = self.after(number)
            if following is None or len(edges) > MOST_VISITED:
                return "the paths from the faulting instruction to where the warp stopped are not all known"
            edges[number] = following
            todo += following
        return edges if stop in edges else "no path leads from the faulting instruction to where the warp stopped"

    def _held(self, number: int, access: Memory, fault: int) -> bool:
        if access.scoreboard is None:
            return False
        return number == fault or bool(bits(self.word(number), 116, 121) >> access.scoreboard & 1)

    def _overwrites(self, number: int, access: Memory) -> str | None:
        word = self.word(number)
        written, later = _result(word), (number + 1) * INSTRUCTION
        if written is None:
            return f"an instruction before +{later:#x} is not known, it may have overwritten the address register"
        if access.needs() & set(written):
            return f"the address register R{access.register} was overwritten before the warp stopped"
        if access.uniform is not None and {access.uniform, access.uniform + 1} & set(_uniform_result(word)):
            return f"the uniform register UR{access.uniform} was overwritten before the warp stopped"
        if access.guard != TRUE and access.guard in _predicates(word):
            return f"the predicate P{access.guard} may have been overwritten before the warp stopped"
        return None


def _leading_to(edges: dict[int, list[int]], stop: int) -> set[int]:
    """The instructions from which at least one step leads to `stop`."""
    before: dict[int, list[int]] = {}
    for number, following in edges.items():
        for to in following:
            before.setdefault(to, []).append(number)
    found: set[int] = set()
    todo = [stop]
    while todo:
        for number in before.get(todo.pop(), ()):
            if number not in found:
                found.add(number)
                todo.append(number)
    return found
