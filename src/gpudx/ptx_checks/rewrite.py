"""PTX with calls to device.ptx in it (PTX ISA, "Instruction Statements", "Memory Consistency Model").

Only whole statements on one line are understood, which is how compilers write them; others stay as they are, and so does a module
that has no line like these. What is inserted is a block of its own, so that its names meet no others. shared.py has the checks of shared
memory and of warp-wide instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from gpudx.kernel_checks.plan import Site
from gpudx.ptx_checks import shared
from gpudx.ptx_checks.flow import Flow
from gpudx.ptx_checks.statements import REGISTER, Statement, statement_of, without_comment

CHECKS = ("races", "nan", "shared")
WRITES, GENERIC = 1 << 24, 1 << 25
MOST_SITES = (1 << 16) - 1
MADE_NAN, MADE_INF, STORED_NAN, STORED_INF = range(4)

HEAD = re.compile(r"^\s*\.address_size\s+64\s*$", re.M)
FUNCTION = re.compile(r"^\s*(?:\.(?:visible|weak|extern|common|noreturn)\s+)*\.(entry|func)\b")
NAME = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$%.]+)")
REGISTERS = re.compile(r"^\s*\.reg\s+\.(\w+)\s+(.*);")
FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*?inlined_at\s+(\d+)\s+(\d+))?")
ADDRESS = re.compile(r"\[\s*(%?[\w$.]+)\s*(?:\+\s*(-?\w+))?\s*\]")
MOST_FOLLOWED = 16  # addresses that one value is followed to
OTHER_SPACES = ("shared", "local", "param", "const", "sreg", "tex")
ORDERED = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
UNFENCED = ("volatile", "relaxed")
PUBLISHES = ("release", "acq_rel", "sc")
MAKES = ("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "lg2", "ex2", "cvt", "tanh")
INFINITE = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
# The device's heap: what one block gives back, another may be given.
HEAP = re.compile(r"\bcall\b[^;]*[\s,](?:malloc|free|cuda(?:Malloc|Free)|__nv_aligned_device_malloc)\s*,")


@dataclass
class Rewritten:
    """The new text, its checked places, the kernels that have any, and whether code of it takes memory from the device's heap."""

    text: str
    sites: list[Site]
    kernels: list[str]
    uses_heap: bool = False


@dataclass
class _Module:
    checks: frozenset[str]
    files: dict[int, str]
    sites: list[Site] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    labels: int = 0
    uses_heap: bool = False
    memory: shared.Memory = field(default_factory=shared.Memory)


@dataclass
class _Function:
    name: str
    awaited: frozenset[int] = frozenset()  # lines of loads that wait for another thread
    decides: frozenset[str] = frozenset()  # registers that branches are computed from
    heap: frozenset[int] = frozenset()  # lines where a call of the device's malloc or free begins
    warp: shared.Warp = field(default_factory=shared.Warp)
    types: dict[str, str] = field(default_factory=dict)  # of registers, by the name without its number
    file: int = 0
    place: tuple[int, int] = (0, 0)  # file, line
    loaded: dict[str, frozenset[str]] = field(default_factory=dict)  # register: the addresses whose values it was computed from
    addressing: set[str] = field(default_factory=set)  # registers in these addresses

    def type_of(self, operand: str) -> str:
        return self.types.get(operand) or self.types.get(operand.rstrip("0123456789"), "")


@cache
def device_code() -> str:
    """What the inserted calls call."""
    return resources.files(__package__).joinpath("device.ptx").read_text()


def rewrite(text: str, checks: frozenset[str]) -> Rewritten | None:
    """None where there is nothing to check, or the text is not PTX for 64-bit addresses."""
    head = HEAD.search(text)
    if head is None or "gdx_access" in text:
        return None
    module = _Module(checks, {int(number): path for number, path in FILE.findall(text)}, memory=shared.read(text))
    _walk(module, text[head.end() :].split("\n"))
    if not module.sites:
        return None
    code = text[: head.end()] + "\n" + device_code() + "\n".join(module.out)
    return Rewritten(code, module.sites, module.kernels, module.uses_heap)


def _walk(module: _Module, lines: list[str]) -> None:
    function: _Function | None = None
    depth, starts = 0, ""
    for number, line in enumerate(lines):
        bare = without_comment(line)
        if depth == 0 and (FUNCTION.match(bare) or starts):
            starts += bare
            if "{" not in bare and ";" not in bare:
                module.out.append(line)
                continue
            if "{" in bare:
                named = NAME.search(starts)
                function = _function(module, named[1] if named else "?", lines, number)
                line = _limited(line, starts)
                if ".entry" in starts:
                    module.kernels.append(function.name)
                    function.warp.is_kernel = True
            starts = ""
        depth += bare.count("{") - bare.count("}")
        if function is None or depth == 0:
            module.out.append(line)
            function = function if depth else None
            continue
        _line(module, function, number, line)


def _function(module: _Module, name: str, lines: list[str], start: int) -> _Function:
    flow = Flow(lines, start)
    function = _Function(name)
    if "races" in module.checks:
        function.heap = _heap_calls(lines[start : flow.end], start)
        module.uses_heap = module.uses_heap or bool(function.heap)
        function.awaited = flow.waits()
        function.decides = flow.decides() if function.awaited else frozenset()
    if "shared" in module.checks:
        function.warp = shared.warp(flow, lines[start : flow.end])
    return function


def _heap_calls(body: list[str], start: int) -> frozenset[int]:
    """Compilers write a call on several lines."""
    found, begun, text = set(), -1, ""
    for number, line in enumerate(map(without_comment, body), start):
        if begun < 0 and re.search(r"(?:^|[\s}])call\b", line):
            begun, text = number, ""
        if begun >= 0:
            text += f"{line} "
            if ";" in line:
                found |= {begun} if HEAP.search(text) else set()
                begun = -1
    return frozenset(found)


def _limited(line: str, starts: str) -> str:
    """What is inserted takes registers: without a limit, a kernel that is launched with large blocks would be refused."""
    if ".entry" not in starts or re.search(r"\.(?:maxntid|reqntid|maxnreg)\b", starts):
        return line
    return line.replace("{", ".maxntid 1024, 1, 1\n{", 1)


def _line(module: _Module, function: _Function, number: int, line: str) -> None:
    bare = without_comment(line)
    if found := LOC.match(bare):
        _at(function, found)
    elif found := REGISTERS.match(bare):
        for name in found[2].split(","):
            function.types[re.sub(r"<\d+>$", "", name.strip()).rstrip("0123456789") or name.strip()] = found[1]
            function.types[name.strip()] = found[1]
    if number in function.heap:  # what was written there is handed on, in order, to whoever is given the memory next
        module.out.append("\tcall gdx_fence;")
    statement = statement_of(bare)
    before = list(_before(module, function, number, statement)) if statement else []
    around = _shuffled(module, function, statement) if statement and number in function.warp.together else ([], [])
    module.out += [*before, *around[0], line, *around[1]]
    if statement:
        _follow(function, statement)


def _follow(function: _Function, statement: Statement) -> None:
    """Which loaded values are in the register that a statement sets, its first operand."""
    target, _, rest = statement.rest.partition(",")
    target = target.strip()
    if statement.op in ("st", "red", "bra", "call") or not REGISTER.fullmatch(target):
        return
    if target in function.addressing:  # what was loaded through its old value is somewhere else now
        function.loaded.clear()
    address = ADDRESS.search(rest)
    if address and statement.op == "ld":
        came_from = frozenset({address[0]})
        function.addressing.add(address[1])
    else:
        came_from = frozenset().union(*(function.loaded.get(name, frozenset()) for name in REGISTER.findall(rest)))
    if came_from and len(came_from) <= MOST_FOLLOWED:
        function.loaded[target] = came_from


def _at(function: _Function, found: re.Match[str]) -> None:
    """The place in the kernel's own file, also where code of headers was put there."""
    file, number = int(found[1]), int(found[2])
    function.file = function.file or file
    if file == function.file:
        function.place = (file, number)
    elif found[3] and int(found[3]) == function.file:
        function.place = (int(found[3]), int(found[4]))


def _site(module: _Module, function: _Function, kind: str, statement: Statement) -> int:
    file, line = function.place
    text = re.sub(r"\s+", " ", statement.line.strip(" \t{}"))
    module.sites.append(Site(kind, module.files.get(file, ""), line, text, function.name))
    return len(module.sites)


def _guarded(module: _Module, when: str, inner: list[str]) -> Iterator[str]:
    """A block with names of its own, which is left out where the instruction itself is."""
    module.labels += 1
    if when:
        against = when[1:] if when.startswith("!") else f"!{when}"
        yield f"\t@{against} bra $gdx_past_{module.labels};"
    yield "\t{"
    yield from (f"\t{one}" for one in inner)
    yield "\t}"
    if when:
        yield f"$gdx_past_{module.labels}:"


def _before(module: _Module, function: _Function, number: int, statement: Statement) -> Iterator[str]:
    if len(module.sites) >= MOST_SITES - 4:
        return
    if "shared" in module.checks:
        yield from _in_shared(module, function, number, statement)
    if "races" in module.checks and _publishes(statement):
        yield from _guarded(module, statement.when, ["call gdx_fence;"])
    if "races" in module.checks and (_is_plain_access(statement) or _is_message(function, number, statement)):
        yield from _access(module, function, statement)
    if (
        "nan" in module.checks
        and statement.op == "st"
        and statement.parts[-1:]
        and statement.parts[-1] in ("f32", "f64")
    ):
        yield from _stored(module, function, statement)
    if "nan" in module.checks and statement.op in MAKES:
        yield from _made(module, function, statement)


def _shuffled(module: _Module, function: _Function, statement: Statement) -> tuple[list[str], list[str]]:
    full = "shared" not in module.checks or len(module.sites) >= MOST_SITES - 4
    if full or not shared.shuffled(statement, 0):
        return [], []
    return shared.shuffled(statement, _site(module, function, "lane", statement)) or ([], [])


def _in_shared(module: _Module, function: _Function, number: int, statement: Statement) -> Iterator[str]:
    yield from shared.entered(function.warp, module.memory)
    yield from shared.met(function.warp, number)
    if number in function.warp.divides:
        place = _site(module, function, "branch", statement)
        yield from shared.parted(function.warp, number, place, statement)
    if number in function.warp.sites:
        site = _site(module, function, "warp", statement)
        yield from _guarded(module, statement.when, list(shared.named(function.warp, number, site, statement)))
    if shared.is_barrier(statement):
        yield from _guarded(module, statement.when, ["call gdx_barrier;"])
    address = ADDRESS.search(statement.rest)
    if address is not None and module.memory.is_known and shared.is_access(statement):
        site = _site(module, function, "shared", statement)
        type_ = function.type_of(address[1]) if address[1].startswith("%") else ""
        yield from _guarded(module, statement.when, shared.access(module.memory, statement, address, type_, site))


def _publishes(statement: Statement) -> bool:
    if statement.op == "membar" or (statement.op == "fence" and "proxy" not in statement.parts):
        return "cta" not in statement.parts
    if statement.op == "barrier" and "cluster" in statement.parts:  # "if no .sem is given, .release is assumed for .arrive"
        return "arrive" in statement.parts and "relaxed" not in statement.parts
    if statement.op == "mbarrier":
        return "cluster" in statement.parts and "arrive" in statement.parts and "relaxed" not in statement.parts
    ordered = any(part in PUBLISHES for part in statement.parts)
    return ordered and statement.op in ("st", "atom", "red") and "cta" not in statement.parts


def _is_plain_access(statement: Statement) -> bool:
    if statement.op not in ("ld", "st") or not statement.width:
        return False
    parts = statement.parts
    return not any(part in OTHER_SPACES or part in ORDERED for part in parts)


def _is_message(function: _Function, number: int, statement: Statement) -> bool:
    """Is it data that is handed to another block of a kernel which waits for values? Accesses that cannot be torn or left out
    (volatile, relaxed) are in no order with others without a fence. What a thread waits for, and what decides a branch, is a flag."""
    if not function.awaited or statement.op not in ("ld", "st") or not statement.width:
        return False
    if any(part in OTHER_SPACES for part in statement.parts) or not any(part in UNFENCED for part in statement.parts):
        return False
    target = statement.rest.partition(",")[0].strip(" {}")
    return statement.op == "st" or (number not in function.awaited and target not in function.decides)


def _access(module: _Module, function: _Function, statement: Statement) -> Iterator[str]:
    address = ADDRESS.search(statement.rest)
    if address is None or (address[1].startswith("%") and function.type_of(address[1]) not in ("b64", "u64", "s64")):
        return
    if not address[1].startswith("%") and "global" not in statement.parts:
        return
    site = _site(module, function, "race", statement)
    writes = statement.op == "st"
    value, step = _value(function, statement, address.end()) if writes else ([], 0)
    if writes and _updates(function, statement, address):
        step = 0  # the same value is no sign of harmlessness: both blocks may have read before either wrote
    how = site | statement.width << 16 | (WRITES if writes else 0) | step << 26
    how |= 0 if "global" in statement.parts else GENERIC
    yield from _guarded(
        module,
        statement.when,
        [
            ".reg .b64 gdx_at, gdx_value;",
            f"mov.b64 gdx_at, {address[1]};",
            *([f"add.s64 gdx_at, gdx_at, {address[2]};"] if address[2] else []),
            *(value or ["mov.b64 gdx_value, 0;"]),
            ".param .b64 gdx_0;",
            ".param .b32 gdx_1;",
            ".param .b64 gdx_2;",
            "st.param.b64 [gdx_0], gdx_at;",
            f"st.param.b32 [gdx_1], {how};",
            "st.param.b64 [gdx_2], gdx_value;",
            "call gdx_access, (gdx_0, gdx_1, gdx_2);",
        ],
    )


def _updates(function: _Function, statement: Statement, address: re.Match[str]) -> bool:
    """Is what is stored computed from what was there?"""
    names = REGISTER.findall(statement.rest[address.end() :])
    return any(address[0] in function.loaded.get(name, ()) for name in names)


def _value(function: _Function, statement: Statement, end: int) -> tuple[list[str], int]:
    """How to have the (first) value that is stored in 64 bits, and of how many bytes it is; 0 where that is not known."""
    operand = statement.rest[end:].strip(" ,\t{").split(",")[0].strip(" }\t")
    if statement.width > 8 and statement.step > 8:
        return [], 0
    kind = function.type_of(operand)
    if not operand.startswith("%") or not kind:
        return [], 0
    bits = int(re.sub(r"\D", "", kind) or 0)
    if bits == 64:
        return [f"mov.b64 gdx_value, {operand};"], statement.step
    if bits == 32:
        return [
            ".reg .b32 gdx_word;",
            f"mov.b32 gdx_word, {operand};",
            "cvt.u64.u32 gdx_value, gdx_word;",
        ], statement.step
    if bits == 16:
        return [
            ".reg .b16 gdx_half;",
            f"mov.b16 gdx_half, {operand};",
            "cvt.u64.u16 gdx_value, gdx_half;",
        ], statement.step
    return [], 0


# ---- numbers ----


def _stored(module: _Module, function: _Function, statement: Statement) -> Iterator[str]:
    """Is a NaN or an infinity stored to memory that others see?"""
    if any(part in ("local", "param", "shared") for part in statement.parts):
        return
    address = ADDRESS.search(statement.rest)
    kind = statement.parts[-1]
    values = re.findall(r"%[\w$]+", statement.rest[address.end() :]) if address else []
    for value in values:
        if function.type_of(value) in (kind, f"b{BITS[kind]}"):
            site = _site(module, function, "nan", statement)
            yield from _guarded(
                module, statement.when, [*_odd(kind, value), *_tell(kind, site, STORED_NAN, STORED_INF)]
            )


def _made(module: _Module, function: _Function, statement: Statement) -> Iterator[str]:
    """The number is computed once more, ahead of the instruction, which may overwrite what it is made from."""
    kind = _made_kind(statement)
    operands = [one.strip() for one in statement.rest.split(",")]
    source = statement.parts[-1] if statement.op == "cvt" else kind
    if kind is None or source not in BITS or not re.fullmatch(r"%[\w$]+", operands[0]):
        return
    given = [one for one in operands[1:] if re.fullmatch(r"%[\w$]+", one)]
    site = _site(module, function, "nan", statement)
    type_ = kind if kind in ("f32", "f64") else "b16"
    name = ".".join((statement.op, *statement.parts))
    inner = [f".reg .{type_} gdx_out;", f"{name} gdx_out, {', '.join(operands[1:])};", *_odd(kind, "gdx_out")]
    for number, one in enumerate(given):
        inner += _input(source, one, number)
    told = _operands(given) if given and kind == source == "f32" and len(operands) <= 3 else []
    yield from _guarded(module, statement.when, [*inner, *_tell(kind, site, MADE_NAN, MADE_INF, told)])


def _operands(given: list[str]) -> list[str]:
    """At most two numbers of 32 bits, the first in the lower half: what the number was made of says more than the number."""
    words = [*given, *given][:2]
    return [
        ".reg .b32 gdx_raw0, gdx_raw1;",
        *(f"mov.b32 gdx_raw{number}, {one};" for number, one in enumerate(words)),
        "mov.b64 gdx_told, {gdx_raw0, gdx_raw1};",
    ]


def _made_kind(statement: Statement) -> str | None:
    """The type that an instruction makes, if it can make a NaN or an infinity of finite numbers."""
    if statement.op == "cvt":
        kinds = [part for part in statement.parts if part in BITS]
        return kinds[0] if len(kinds) == 2 and BITS[kinds[0]] < BITS[kinds[1]] else None
    if any(part in ("sat", "f16x2", "bf16x2", "wide", "lo", "hi") for part in statement.parts):
        return None
    return statement.parts[-1] if statement.parts and statement.parts[-1] in BITS else None


def _odd(kind: str, value: str) -> list[str]:
    """gdx_odd: it is a NaN or an infinity; gdx_nan: it is a NaN; gdx_fine: so far nothing speaks against its being made here."""
    bits, infinite = BITS[kind], INFINITE[kind]
    return [
        ".reg .pred gdx_odd, gdx_nan, gdx_inf, gdx_fine, gdx_one;",
        f".reg .b{bits} gdx_bits, gdx_rest;",
        f"mov.b{bits} gdx_bits, {value};",
        f"and.b{bits} gdx_rest, gdx_bits, {(1 << (bits - 1)) - 1};",
        f"setp.ge.u{bits} gdx_odd, gdx_rest, {infinite};",
        f"setp.gt.u{bits} gdx_nan, gdx_rest, {infinite};",
        f"setp.eq.u{bits} gdx_inf, gdx_rest, {infinite};",
        "mov.pred gdx_fine, gdx_odd;",
    ]


def _input(kind: str, value: str, number: int) -> list[str]:
    """A NaN is made where no input is one, an infinity where all inputs are finite."""
    bits, infinite = BITS[kind], INFINITE[kind]
    name = f"gdx_in{number}"
    return [
        f".reg .b{bits} {name};",
        f"mov.b{bits} {name}, {value};",
        f"and.b{bits} {name}, {name}, {(1 << (bits - 1)) - 1};",
        f"setp.le.u{bits} gdx_one, {name}, {infinite};",
        "and.pred gdx_nan, gdx_nan, gdx_one;",
        f"setp.lt.u{bits} gdx_one, {name}, {infinite};",
        "and.pred gdx_inf, gdx_inf, gdx_one;",
    ]


def _tell(kind: str, site: int, nan: int, infinity: int, told: Sequence[str] = ()) -> list[str]:
    widen = {16: "cvt.u64.u16", 32: "cvt.u64.u32", 64: "mov.b64"}[BITS[kind]]
    return [
        "or.pred gdx_fine, gdx_nan, gdx_inf;",
        "@!gdx_fine bra gdx_nothing;",
        ".reg .b64 gdx_told;",
        ".reg .b32 gdx_how;",
        *(told or [f"{widen} gdx_told, gdx_bits;"]),
        f"selp.b32 gdx_how, {nan}, {infinity}, gdx_nan;",
        ".param .b32 gdx_0;",
        ".param .b32 gdx_1;",
        ".param .b64 gdx_2;",
        f"st.param.b32 [gdx_0], {site};",
        "st.param.b32 [gdx_1], gdx_how;",
        "st.param.b64 [gdx_2], gdx_told;",
        "call gdx_number, (gdx_0, gdx_1, gdx_2);",
        "gdx_nothing:",
    ]
