"""A run whose CUDA kernels checked themselves: races between blocks in global memory, and where NaN and infinity come from."""

from __future__ import annotations

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
from gpudx.text import plural, triple

RACE, NUMBER = "kernel-check-race", "kernel-check-nan"
REPORTED = "The kernel checked itself and reported both accesses."
MADE = "The kernel checked its arithmetic; that the program fails because of this number is not shown."
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
            if failure.kind != "race" or failure.site.kind != "race":
                continue
            miss = _miss(failure)
            if (failure.position, miss.argument) not in seen:
                seen.add((failure.position, miss.argument))
                yield _race(failure, miss, case_dir)
        yield from ptx_shared_reports.findings(found, lambda f, number: _place(f, number, case_dir))
        yield from map(_number, _origins(found))


def _miss(f: Failure) -> Miss:
    launch = f.facts.launches.at_position(f.position)
    return explain(f.facts, launch, f.offset) if launch is not None else Miss("wild", f"at {f.offset:#x}")


def _race(f: Failure, miss: Miss, case_dir: Path) -> Finding:
    site = f.facts.sites.at(f.position, argument=miss.argument)
    other = _other_place(f, case_dir)
    where, before = _where(f.site), _where(other) if other else ""
    deed = "writes" if f.writes else "reads"
    return Finding(
        id=RACE,
        severity="error",
        message=(
            f"Blocks of kernel {_name(f)} (launch {site.launch}) race for {_memory(f, miss)}: block {triple(f.group)} {deed} "
            f"{plural(f.width, 'byte')}{f' at {where}' if where else ''} that block {f.more >> 32:,} wrote"
            f"{f' at {before}' if before else ''}, and no fence or atomic operation orders the two."
        ),
        evidence=(
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
        steps=STEPS,
        access=Access(
            kind="write" if f.writes else "read",
            by="kernel",
            kernel=site.kernel or "",
            address=f.offset,
            width=f.width,
            block=f.group,
            thread=f.local,
            source=where,
            space="global",
            seen_by="kernel check",
        ),
    )


def _memory(f: Failure, miss: Miss) -> str:
    """The memory that two blocks meet in, and where in it."""
    if miss.kind != "inside":
        return f"the memory at {f.offset:#x}"
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


def _number(f: Failure) -> Finding:
    site = f.facts.sites.at(f.position)
    what = "NaN" if _code(f) == MADE_NAN else "infinity"
    given = "operands that are not NaN" if what == "NaN" else "finite operands"
    where = _where(f.site)
    return Finding(
        id=NUMBER,
        severity="error" if what == "NaN" or _is_half(f) else "warning",
        message=f"{_who(f)} makes {what} of {given}{f' at {where}' if where else ''}: `{f.site.text}`.",
        evidence=(
            Evidence(f"thread {triple(f.local)} of block {triple(f.group)} made it first", (site.number,)),
            Evidence(f"the kernel was launched as launch {site.launch}", (site.number,)),
        ),
        site=site,
        causes=("not-a-number",),
        facts=(("kernel", site.kernel or "?"), ("line", str(f.site.line)), ("expression", f.site.text)),
        certainty="observed",
        attribution="probable",
        because=MADE,
        access=Access(kind="read", by="kernel", kernel=site.kernel or "", source=where, seen_by="kernel check"),
    )


def _who(f: Failure) -> str:
    return f"Kernel {_name(f)} (launch {f.facts.sites.at(f.position).launch})"


def _name(f: Failure) -> str:
    return f.facts.sites.at(f.position).kernel or demangle(f.site.kernel)


def _where(place: Place) -> str:
    return f"{place.file.rpartition('/')[2]}:{place.line}" if place.file and place.line else ""




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
        f"{plural(count, 'module')} ran without checks: {why}."
        for one in facts
        for (why, _), count in reports.not_checked(one).items()
    ]
    return (*left, "Races of plain accesses in shared memory, and accesses outside buffers: run with --sanitize for these.")
