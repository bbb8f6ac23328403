"""A run whose CUDA kernels checked themselves: races between blocks in global memory, and where NaN and infinity come from."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudx.backends.mangling import demangle
from gpudx.diagnose import kernel_check_reports as reports
from gpudx.diagnose import ptx_shared_reports
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.misses import Miss, explain
from gpudx.kernel_checks.plan import Site as Place
from gpudx.lab.kernel_checked import FOLDER
from gpudx.model import Access, Evidence, Finding, Instrument
from gpudx.model.how import KernelChecks
from gpudx.ptx_checks.rewrite import MADE_INF, MADE_NAN, STORED_INF, STORED_NAN
from gpudx.text import listed, plural, triple

RACE, NUMBER = "kernel-check-race", "kernel-check-nan"
REPORTED = "The kernel checked itself and reported both accesses."
MADE = "The kernel checked its arithmetic; it is not shown that the program fails because of this number."
APART = "Pass different buffers for what the kernel reads and for what it writes: blocks run in any order, so it cannot work in place."
STEPS = (
    "Use an atomic operation where several blocks update one value, or give each block its own element.",
    "Where one block hands data to another, put __threadfence() between the data and the flag or counter that announces it.",
    "Split the kernel in two where all blocks must have finished: __syncthreads() does not order blocks.",
)


def findings(facts: Sequence[Facts], case_dir: Path) -> Iterator[Finding]:
    """Of races one finding per launch and memory; of numbers the first place that makes one which is stored."""
    for one in facts:
        found = list(reports.failures(one, case_dir / FOLDER))
        seen: set[tuple[int, int | None]] = set()
        for failure in found:
            if failure.kind != "race" or failure.site.kind != "race" or _is_of_heap(failure, case_dir):
                continue
            miss = _miss(failure)
            if (failure.position, miss.argument) not in seen:
                seen.add((failure.position, miss.argument))
                yield _race(failure, miss, case_dir)
        yield from ptx_shared_reports.findings(found, lambda f, number: _place(f, number, case_dir))
        yield from map(_number, _origins(found))


def _is_of_heap(f: Failure, case_dir: Path) -> bool:
    """May the memory be from the device's own malloc? Who owned it when is not recorded, so two blocks may have used it in turn."""
    if f.facts.memory.one(f.offset, f.position) >= 0:
        return False
    return any(one.uses_heap for one in reports.programs(case_dir / FOLDER) if f.site in one.sites)


def _miss(f: Failure) -> Miss:
    launch = f.facts.launches.at_position(f.position)
    return explain(f.facts, launch, f.offset) if launch is not None else Miss("wild", f"at {f.offset:#x}")


def _race(f: Failure, miss: Miss, case_dir: Path) -> Finding:
    site = f.facts.sites.at(f.position, argument=miss.argument)
    other = _other_place(f, case_dir)
    where, before = _where(f.site), _where(other) if other else ""
    deed = "writes" if f.writes else "reads"
    twice = _given_twice(f, miss)
    same = f"{'both ' if len(twice) == 2 else ''}arguments {listed([str(one) for one in twice])} of the launch are this buffer"
    return Finding(
        id=RACE,
        severity="error",
        message=(
            f"Blocks of kernel {_name(f)} (launch {site.launch}) race on {_memory(f, miss)}: block {triple(f.group)} {deed} "
            f"{plural(f.width, 'byte')}{f' at {where}' if where else ''} that block {f.more >> 32:,} wrote"
            f"{f' at {before}' if before else ''}, and no fence or atomic operation orders the two."
        ),
        evidence=(
            *((Evidence(same, (site.number,)),) if twice else ()),
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} {deed} it with `{f.site.text}`", (site.number,)),
            Evidence(f"block {f.more >> 32:,} had passed no __threadfence() and no release operation since its write", (site.number,)),
            *((Evidence(f"the write was `{other.text}`", (site.number,)),) if other and other.text != f.site.text else ()),
        ),
        site=site,
        allocation=allocation_of(f.facts, miss.object, "live") if miss.object >= 0 else None,
        causes=("race-in-kernel",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("argument", str(miss.argument))),
        certainty="observed",
        attribution="this",
        because=REPORTED,
        steps=(APART, *STEPS) if twice else STEPS,
        access=Access(
            kind="write" if f.writes else "read",
            by="kernel",
            kernel=site.kernel or "",
            address=f.offset,
            width=f.width,
            block=f.group,
            thread=f.local,
            source=_path(f.site),
            space="global",
            seen_by="kernel check",
        ),
    )


def _given_twice(f: Failure, miss: Miss) -> tuple[int, ...]:
    """Arguments of the launch that are this very memory, where there are several."""
    row = f.facts.launches.at_position(f.position)
    if row is None or miss.object < 0:
        return ()
    pointers = f.facts.launches.pointers
    found = sorted({int(pointers.index[r]) for r in pointers.of(row) if int(pointers.object[r]) == miss.object})
    return tuple(found) if len(found) > 1 else ()


def _memory(f: Failure, miss: Miss) -> str:
    """The memory that two blocks meet in, and where in it."""
    if miss.kind != "inside":
        named = re.search(r"\[\s*([A-Za-z_$][\w$]*)", f.site.text)  # not a register: a variable of the module
        return f"the device variable {demangle(named[1])}" if named else f"the memory at {f.offset:#x}"
    argument = f" (argument {miss.argument})" if miss.argument is not None else ""
    return f"{f.facts.objects.label(miss.object)}{argument} at byte {miss.distance:,}"


def _other_place(f: Failure, case_dir: Path) -> Place | None:
    """The statement of the earlier write: its number is in the lower half of `more`."""
    return _place(f, f.more & 0xFFFF, case_dir)


def _place(f: Failure, number: int, case_dir: Path) -> Place | None:
    for program in reports.programs(case_dir / FOLDER):
        if f.site in program.sites and 0 < number <= len(program.sites):
            return program.sites[number - 1]
    return None


# ---- numbers ----


def _code(f: Failure) -> int:
    return f.reads + 2 * f.writes


def _origins(found: Sequence[Failure]) -> list[Failure]:
    """The first place that makes a NaN, if one is stored then or later; else the first that makes an infinity which is stored."""
    numbers = [f for f in found if f.kind == "nan"]
    for made, stored in ((MADE_NAN, STORED_NAN), (MADE_INF, STORED_INF)):
        for f in numbers:
            if _code(f) == made and (
                _is_half(f) or any(_code(s) == stored and s.position >= f.position for s in numbers)
            ):
                return [f]
    return []


def _is_half(f: Failure) -> bool:
    """Half precision ends at 65,504; whether it is stored is not seen, because its stores look like those of integers."""
    return "f16" in f.site.text.split(" ")[0].split(".")


WORDS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "rcp": "1 / {}",
    "sqrt": "the square root of {}",
    "rsqrt": "1 / the square root of {}",
    "lg2": "log2({})",
    "ex2": "2^{}",
}
LITERAL = re.compile(r"0[fF]([0-9a-fA-F]{8})$")
REASONS = {
    "sub": "Infinity minus infinity is NaN: handle the case in which both operands are infinite, such as a row that is masked completely.",
    "div": "Handle a divisor of zero before dividing: 0 / 0 and infinity / infinity are NaN.",
    "sqrt": "Keep the operand at 0 or above: the square root of a negative number is NaN.",
    "lg2": "Keep the operand above 0: the logarithm of a negative number is NaN, that of 0 is -infinity.",
    "mul": "Zero times infinity is NaN: find out where the infinity comes from.",
}


def _computed(f: Failure) -> str:
    """ "-inf - -inf", of what a single-precision operation was passed; "" where that is not known."""
    name, _, rest = f.site.text.rstrip(";").partition(" ")
    op, *parts = name.split(".")
    operands = [one.strip() for one in rest.split(",")][1:]
    if op not in WORDS or not parts or parts[-1] != "f32" or len(operands) != WORDS[op].count("{}"):
        return ""
    raw, values = [f.more & 0xFFFFFFFF, f.more >> 32], []
    for one in operands:
        literal = LITERAL.match(one)
        bits = int(literal[1], 16) if literal else raw.pop(0)
        values.append(f"{struct.unpack('<f', bits.to_bytes(4, 'little'))[0]:.7g}")
    return "" if "nan" in values else WORDS[op].format(*values)


def _number(f: Failure) -> Finding:
    site = f.facts.sites.at(f.position)
    what = "NaN" if _code(f) == MADE_NAN else "infinity"
    given = _computed(f) or ("operands that are not NaN" if what == "NaN" else "finite operands")
    where = _where(f.site)
    op = f.site.text.split(".")[0]
    return Finding(
        id=NUMBER,
        severity="error" if what == "NaN" or _is_half(f) else "warning",
        message=(
            f"{_who(f)} computes {given} = {what}{f' at {where}' if where else ''}."
            if _computed(f)
            else f"{_who(f)} makes {what} of {given}{f' at {where}' if where else ''}."
        ),
        evidence=(
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} of launch {site.launch} made it first", (site.number,)),
            Evidence(f"the PTX instruction is `{f.site.text}`", (site.number,)),
        ),
        site=site,
        causes=("not-a-number",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("expression", f.site.text)),
        certainty="observed",
        attribution="probable",
        because=MADE,
        steps=(REASONS[op],) if what == "NaN" and _computed(f) and op in REASONS else (),
        access=Access(kind="read", by="kernel", kernel=site.kernel or "", source=_path(f.site), seen_by="kernel check"),
    )


def _who(f: Failure) -> str:
    return f"Kernel {_name(f)} (launch {f.facts.sites.at(f.position).launch})"


def _name(f: Failure) -> str:
    return f.facts.sites.at(f.position).kernel or demangle(f.site.kernel)


def _where(place: Place) -> str:
    return _path(place).rpartition("/")[2]


def _path(place: Place) -> str:
    return f"{place.file}:{place.line}" if place.file and place.line else ""


# ---- what was looked at ----


def instrument(wanted: KernelChecks, facts: Sequence[Facts], case_dir: Path) -> Instrument:
    programs = reports.programs(case_dir / FOLDER)
    kernels = sum(len(one.kernels) for one in programs)
    missing = sum(count for one in facts for count in reports.not_checked(one).values())
    ran = f"{plural(missing, 'module')} ran without checks" if missing else ""
    saw = f"{plural(kernels, 'kernel')} of {plural(len(programs), 'module')} rewritten" + (f"; {ran}" if ran else "")
    return Instrument(
        f"PTX checks ({', '.join(sorted(wanted.checks))})", "live" if programs else "not live", saw, blind=ran
    )


def not_checked(facts: Sequence[Facts]) -> tuple[str, ...]:
    """What nobody looked at."""
    left = [
        f"{plural(count, 'module')} ran without checks: {why}{f' (the module of kernel {demangle(kernel)})' if kernel else ''}."
        for one in facts
        for (why, kernel), count in reports.not_checked(one).items()
    ]
    return (*left, "Races of plain accesses in shared memory, and accesses outside buffers: run with --sanitize for these.")
