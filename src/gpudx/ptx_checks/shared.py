"""Checks of shared memory, and of instructions that name the lanes of a warp.

Shared memory is filled with a large number when a block begins, and each access is reported to device.cu. A module with accesses that
are not seen here (asynchronous copies, matrix stores) is left alone: what they wrote would look unwritten.

Of a warp-wide instruction in a branch, the lanes that went the other way are known at the branch. The instruction waits for them if its
mask names them, and reads what is undefined.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpudx.ptx_checks.flow import Divide, Flow
from gpudx.ptx_checks.statements import Statement, statement_of, without_comment

WRITES, GENERIC, ATOMIC, UNORDERED, REPLACES = (1 << bit for bit in range(24, 29))  # device.cu
VARIABLE = re.compile(
    r"^\s*(?:\.(?:extern|visible|weak)\s+)*\.shared\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+([\w$]+)((?:\[\d*\])*)\s*;", re.M
)
UNSEEN = re.compile(r"\b(?:cp\.async|cp\.reduce|stmatrix|st\.async|st\.bulk|red\.async|wmma|mbarrier|tcgen05|mapa|wgmma)\b")
STORES = re.compile(r"\b(?:st|atom|red)\.")
OTHER_SPACES = ("global", "local", "param", "const", "sreg", "tex")
ORDERED = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")


@dataclass(frozen=True)
class Variable:
    """Shared memory by name; None bytes: as much as the launch asks for."""

    name: str
    bytes: int | None


@dataclass(frozen=True)
class Memory:
    """The shared memory of a module."""

    variables: tuple[Variable, ...] = ()
    is_known: bool = False  # is every access of it seen?
    is_ordered: bool = False  # do all barriers concern whole blocks?


@dataclass
class Warp:
    """What is to be inserted into one function."""

    is_kernel: bool = False
    divides: dict[int, tuple[int, Divide]] = field(default_factory=dict)  # by the branch's line, with their numbers
    sites: dict[int, list[int]] = field(default_factory=dict)  # by line, numbers of the divides
    meets: dict[int, list[int]] = field(default_factory=dict)  # by line
    places: dict[int, int] = field(default_factory=dict)  # of a divide: the number of its branch as a site
    used: frozenset[str] = frozenset()  # variables that the function names
    together: frozenset[int] = frozenset()  # lines of warp-wide instructions that no branch leads around
    is_entered: bool = False


def read(text: str) -> Memory:
    """What a module has."""
    found = VARIABLE.findall(text)
    lines = [without_comment(line) for line in text.split("\n")]
    odd = any(STORES.search(line) and statement_of(line) is None for line in lines)
    barriers = [one for one in map(statement_of, lines) if one is not None and one.op in ("bar", "barrier") and "warp" not in one.parts]
    variables = tuple(_variable(name, int(bits) // 8, counts) for bits, name, counts in found)
    return Memory(variables, not odd and not UNSEEN.search(text), all(one.rest.strip() in ("0", "") for one in barriers))


def _variable(name: str, width: int, counts: str) -> Variable:
    """`counts`: "", "[256]", "[8][4]"; "[]" is as long as the launch says."""
    return Variable(name, None if "[]" in counts else width * math.prod(map(int, re.findall(r"\d+", counts))))


def warp(flow: Flow, body: Sequence[str]) -> Warp:
    """What a function needs."""
    made = Warp(together=flow.together(), used=frozenset(re.findall(r"[\w$]+", "\n".join(map(without_comment, body)))))
    for number, one in enumerate(flow.divides()):
        made.divides[one.line] = (number, one)
        made.meets.setdefault(one.meets, []).append(number)
        for site in one.sites:
            made.sites.setdefault(site, []).append(number)
    return made


# ---- where a function begins, and where ways part and meet ----


def entered(warp: Warp, memory: Memory) -> Iterator[str]:
    """In front of a function's first statement, behind its declarations."""
    if warp.is_entered:
        return
    warp.is_entered = True
    for number, _ in warp.divides.values():
        yield f"\t.reg .b32 gdx_left{number};"
        yield f"\tmov.u32 gdx_left{number}, 0;"
    mine = [one for one in memory.variables if one.name in warp.used]
    if not warp.is_kernel or not memory.is_known or not mine:
        return
    for one in mine:
        size = "mov.u32 gdx_size, %dynamic_smem_size;" if one.bytes is None else f"mov.u32 gdx_size, {one.bytes};"
        inner = [".reg .b32 gdx_at, gdx_size;", f"mov.u32 gdx_at, {one.name};", size, ".param .b32 gdx_0;", ".param .b32 gdx_1;"]
        inner += ["st.param.b32 [gdx_0], gdx_at;", "st.param.b32 [gdx_1], gdx_size;", "call gdx_fill, (gdx_0, gdx_1);"]
        yield from ("\t{", *(f"\t{line}" for line in inner), "\t}")
    yield "\tbar.sync 0;"


def met(warp: Warp, line: int) -> Iterator[str]:
    yield from (f"\tmov.u32 gdx_left{number}, 0;" for number in warp.meets.get(line, ()))


def parted(warp: Warp, line: int, place: int, statement: Statement) -> Iterator[str]:
    """The lanes that are at a branch together and go the other way than to the instruction."""
    number, one = warp.divides[line]
    warp.places[number] = place
    goes = statement.when.startswith("!") != one.taken  # does the register itself lead to the instruction?
    register = statement.when.lstrip("!")
    yield "\t{"
    yield "\t.reg .b32 gdx_here, gdx_there;"
    yield "\tactivemask.b32 gdx_here;"
    yield f"\tvote.sync.ballot.b32 gdx_there, {'!' if goes else ''}{register}, gdx_here;"
    yield f"\tor.b32 gdx_left{number}, gdx_left{number}, gdx_there;"
    yield "\t}"


def named(warp: Warp, line: int, site: int, statement: Statement) -> Iterator[str]:
    """Does the mask, its last operand, name lanes that went another way?"""
    mask = statement.rest.split(",")[-1].strip()
    for number in warp.sites[line]:
        yield from (
            "{",
            ".reg .b32 gdx_missing;",
            ".reg .pred gdx_none;",
            f"and.b32 gdx_missing, gdx_left{number}, {mask};",
            "setp.eq.u32 gdx_none, gdx_missing, 0;",
            "@gdx_none bra gdx_all_here;",
            ".param .b32 gdx_0;",
            ".param .b32 gdx_1;",
            ".param .b32 gdx_2;",
            f"st.param.b32 [gdx_0], {site};",
            "st.param.b32 [gdx_1], gdx_missing;",
            f"st.param.b32 [gdx_2], {warp.places.get(number, 0)};",  # 0: the branch stands behind it, at the end of a loop
            "call gdx_absent, (gdx_0, gdx_1, gdx_2);",
            "gdx_all_here:",
            "}",
        )


# ---- shuffles that read lanes which are not there ----

SOURCES = {  # the lane that is read, and whether it is within the segment (PTX ISA, "shfl.sync")
    "up": ("sub.s32 gdx_from, gdx_lane, gdx_by;", "ge"),
    "down": ("add.s32 gdx_from, gdx_lane, gdx_by;", "le"),
    "bfly": ("xor.b32 gdx_from, gdx_lane, gdx_by;", "le"),
    "idx": ("and.b32 gdx_from, gdx_by, gdx_rest;\nor.b32 gdx_from, gdx_from, gdx_first;", "le"),
}
FILL = 0x7F7F7F7F  # device.cu


def shuffled(statement: Statement, site: int) -> tuple[list[str], list[str]] | None:
    """What stands before and behind a shuffle: the lanes that take part are counted, and what is read from another one is replaced by a
    large number, as it may be anything. None for other statements."""
    mode = statement.parts[1] if statement.op == "shfl" and len(statement.parts) > 1 and statement.parts[0] == "sync" else ""
    operands = [one.strip() for one in statement.rest.split(",")]
    target = operands[0].partition("|")[0].strip()
    if mode not in SOURCES or len(operands) != 5 or statement.when or not target.startswith("%"):
        return None
    source, fits = SOURCES[mode]
    _, _, by, clamp, mask = operands
    before = [
        "{",
        ".reg .b32 gdx_lane, gdx_by, gdx_clamp, gdx_segment, gdx_rest, gdx_first, gdx_last, gdx_from, gdx_here;",
        ".reg .pred gdx_all, gdx_fits, gdx_gone;",
        "mov.u32 gdx_lane, %laneid;",
        f"and.b32 gdx_by, {by}, 31;",
        f"mov.b32 gdx_clamp, {clamp};",
        "shr.u32 gdx_segment, gdx_clamp, 8;",
        "and.b32 gdx_segment, gdx_segment, 31;",
        "and.b32 gdx_clamp, gdx_clamp, 31;",
        "not.b32 gdx_rest, gdx_segment;",
        "and.b32 gdx_first, gdx_lane, gdx_segment;",
        "and.b32 gdx_last, gdx_clamp, gdx_rest;",
        "or.b32 gdx_last, gdx_last, gdx_first;",
        *source.split("\n"),
        f"setp.{fits}.s32 gdx_fits, gdx_from, gdx_last;",
        "selp.b32 gdx_from, gdx_from, gdx_lane, gdx_fits;",
        "and.b32 gdx_from, gdx_from, 31;",
        "setp.eq.u32 gdx_all, gdx_lane, gdx_lane;",
        f"vote.sync.ballot.b32 gdx_here, gdx_all, {mask};",
        "shr.u32 gdx_here, gdx_here, gdx_from;",
        "and.b32 gdx_here, gdx_here, 1;",
        "setp.eq.u32 gdx_gone, gdx_here, 0;",
    ]
    behind = [
        "@!gdx_gone bra gdx_is_there;",
        ".param .b32 gdx_0;",
        ".param .b32 gdx_1;",
        f"st.param.b32 [gdx_0], {site};",
        "st.param.b32 [gdx_1], gdx_from;",
        "call gdx_left_out, (gdx_0, gdx_1);",
        "gdx_is_there:",
        f"@gdx_gone mov.b32 {target}, {FILL};",
        "}",
    ]
    return [f"\t{line}" for line in before], [f"\t{line}" for line in behind]


# ---- accesses ----


def is_barrier(statement: Statement) -> bool:
    """Does it hold the threads of a block?"""
    if statement.op not in ("bar", "barrier") or "warp" in statement.parts or "cluster" in statement.parts:
        return False
    return "arrive" not in statement.parts


def is_access(statement: Statement) -> bool:
    """A plain or atomic access of shared memory, or of memory that may be shared."""
    if statement.op not in ("ld", "st", "atom", "red") or not statement.width:
        return False
    return not any(part in OTHER_SPACES for part in statement.parts)


def access(memory: Memory, statement: Statement, address: re.Match[str], type_: str, site: int) -> list[str]:
    how = site | statement.width << 16
    how |= 0 if "shared" in statement.parts else GENERIC
    how |= 0 if statement.op == "ld" else WRITES
    how |= ATOMIC if statement.op in ("atom", "red") else 0
    how |= REPLACES if "exch" in statement.parts else 0  # what was there does not matter
    # Accesses that say how they are ordered are no mistake for lack of a barrier.
    how |= UNORDERED if not memory.is_ordered or (statement.op in ("ld", "st") and any(one in ORDERED for one in statement.parts)) else 0
    bits = "b64" if type_.endswith("64") else "b32"
    wide = "mov.b64 gdx_at, gdx_from;" if bits == "b64" else "cvt.u64.u32 gdx_at, gdx_from;"
    return [
        ".reg .b64 gdx_at;",
        f".reg .{bits} gdx_from;",
        f"mov.{bits} gdx_from, {address[1]};",
        wide,
        *([f"add.s64 gdx_at, gdx_at, {address[2]};"] if address[2] else []),
        ".param .b64 gdx_0;",
        ".param .b32 gdx_1;",
        "st.param.b64 [gdx_0], gdx_at;",
        f"st.param.b32 [gdx_1], {how};",
        "call gdx_shared, (gdx_0, gdx_1);",
    ]
