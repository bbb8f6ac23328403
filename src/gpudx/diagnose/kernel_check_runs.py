"""A run with checks inside its OpenCL kernels: what they reported as findings, and what they did not look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudx.diagnose import kernel_check_reports as reports
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.kernel_checks.checks import ALL
from gpudx.kernel_checks.rewrite import Site
from gpudx.lab.kernel_checked import FOLDER
from gpudx.model import Access, Evidence, Finding, Instrument
from gpudx.model.how import KernelChecks
from gpudx.text import plural

ID = "kernel-check-"
MOST = 1000
WRAP = 1 << 32  # what a 32-bit index loses
CAUSES = {
    "bounds": "out-of-bounds-access", "alignment": "misaligned-access", "uninitialized": "read-before-write",
    "race": "race-in-kernel", "barrier": "barrier-misuse", "loop": "hang", "overflow": "index-overflow",
    "division": "division-by-zero", "nan": "not-a-number",
}  # fmt: skip
SPACES = {
    "argument": "argument",
    "local": "local array",
    "private": "private array",
    "constant": "constant array",
    "program": "array",
}


def findings(facts: Sequence[Facts], case_dir: Path) -> Iterator[Finding]:
    """One finding per place in the source; the launches after the first are counted."""
    found = [failure for one in facts for failure in reports.failures(one, case_dir / FOLDER)]
    places: dict[tuple[str, Site], list[Failure]] = {}
    for failure in found:
        places.setdefault((failure.kind, failure.site), []).append(failure)
    for same in list(places.values())[:MOST]:
        yield _finding(same[0], len(same))


def _finding(f: Failure, launches: int) -> Finding:
    argument = f.thing.index if f.thing is not None and f.thing.kind == "argument" else None
    site = f.facts.sites.at(f.position, argument=argument)
    label = _label(f, argument)
    times = f"this place failed {plural(f.count, 'time')} in launch {site.launch}"
    more = f", and in {plural(launches - 1, 'more launch', 'more launches')}" if launches > 1 else ""
    return Finding(
        id=ID + f.kind,
        severity="error",
        message=f"{_who(f, site.kernel, site.launch)} {_what(f, label)}: `{f.site.text}` at {_where(f)}.",
        evidence=(
            Evidence(
                f"work-item {_triple(f.item)} (local {_triple(f.local)}, group {_triple(f.group)}) reported it",
                (site.number,),
            ),
            Evidence(times + more, (site.number,)),
            *_detail(f, label),
        ),
        site=site,
        allocation=allocation_of(f.facts, _row(f, argument), "live") if _row(f, argument) >= 0 else None,
        causes=(_cause(f, argument),),
        facts=(
            ("kernel", site.kernel or "?"),
            ("line", str(f.site.line)),
            ("expression", f.site.text),
            ("argument", str(argument)),
        ),
        certainty="observed",
        attribution="this",
        because="The kernel checked itself and reported this place.",
        access=Access(
            kind="write" if f.writes else "read",
            by="kernel",
            kernel=site.kernel or "",
            width=f.width or None,
            offset=f.offset if argument is not None else None,
            block=f.group,
            thread=f.local,
            source=_source(f),
            space="global" if argument is not None else f.thing.kind if f.thing is not None else "",
            seen_by="kernel check",
        ),
    )


def _cause(f: Failure, argument: int | None) -> str:
    """An access outside memory has a reason where the numbers give one: no buffer at all, or an index that wrapped."""
    if f.kind != "bounds" or argument is None:
        return CAUSES[f.kind]
    if not f.size and _row(f, argument) < 0:
        return "null-pointer"
    meant = f.offset + (f.width or 1) * WRAP
    wrapped = -(f.width or 1) * (WRAP >> 1) <= f.offset < 0 and 0 <= meant < f.size
    return "index-overflow" if wrapped else CAUSES[f.kind]


def _source(f: Failure) -> str:
    """ "file:line"; the program's own source text has no file."""
    return f"{f.site.file}:{f.site.line}" if f.site.file else f"line {f.site.line}"


def _who(f: Failure, kernel: str | None, launch: int | None) -> str:
    helper = f" in {f.site.kernel}()" if kernel and f.site.kernel != kernel else ""
    return f"Kernel {kernel} (launch {launch}){helper}"


def _where(f: Failure) -> str:
    return f"line {f.site.line} of {f.site.file}" if f.site.file else f"line {f.site.line} of its source"


def _triple(one: tuple[int, int, int]) -> str:
    return f"({one[0]:,}, {one[1]:,}, {one[2]:,})"


def _object_label(f: Failure, argument: int | None) -> str | None:
    row = _row(f, argument)
    return f.facts.objects.label(row) if row >= 0 else None


def _row(f: Failure, argument: int | None) -> int:
    launch = f.facts.launches.at_position(f.position)
    if argument is None or launch is None:
        return -1
    return next((int(a["object"]) for a in f.facts.launches.values(launch) if a["index"] == argument), -1)


def _label(f: Failure, argument: int | None) -> str:
    if f.thing is None:
        return ""
    if argument is None:
        return f"the {SPACES[f.thing.kind]} `{f.thing.name}` ({f.size:,} bytes)"
    known = _object_label(f, argument)
    return f"{known + ', ' if known else ''}argument {argument} `{f.thing.name}` ({f.size:,} bytes)"


def _deed(f: Failure) -> str:
    if f.atomic:
        return "updated"
    return "updated" if f.reads and f.writes else "wrote" if f.writes else "read"


def _what(f: Failure, label: str) -> str:
    width = plural(f.width, "byte")
    if f.kind == "bounds":
        return f"{_deed(f)} {width} {_side(f)} of {label}"
    if f.kind == "alignment":
        return f"{_deed(f)} {width} at byte {f.offset:,} of {label}, which is not a multiple of {f.more}"
    if f.kind == "uninitialized":
        return f"read {width} at byte {f.offset:,} of {label} that nothing had written"
    if f.kind == "race":
        return f"{_deed(f)} byte {f.offset:,} of {label} without an order to {_other(f)}"
    if f.kind == "barrier":
        return f"reached a barrier with {f.offset:,} of {f.size:,} work-items of the group on one side of a condition"
    if f.kind == "loop":
        return f"took more than {f.offset:,} steps in loops in one work-item"
    if f.kind == "overflow":
        return f"computed {f.offset:,}, which does not fit in int and became {_signed(f.size):,}, for an index"
    return "divided by zero" if f.kind == "division" else f"computed {'NaN' if f.more else 'infinity'} first"


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _side(f: Failure) -> str:
    if f.offset < 0:
        return f"{plural(-f.offset, 'byte')} before the start"
    past = f.offset - f.size
    return (
        f"{plural(past, 'byte')} past the end" if past > 0 else "right past the end" if past == 0 else "across the end"
    )


def _other(f: Failure) -> str:
    code = f.more >> 32
    did = "a write" if code & 2 else "a read"
    return (
        f"{did} by a work-item of another group"
        if code & 4
        else f"{did} by work-item {f.more & 0xFFFFFFFF} of the same group"
    )


def _detail(f: Failure, label: str) -> Iterator[Evidence]:
    if f.kind == "bounds" and f.width and f.offset % f.width == 0:
        yield Evidence(f"that is element {f.offset // f.width:,} of {f.size // f.width:,} of {label}")
    if f.other is not None:
        yield Evidence(f"the work-items parted at `{f.other.text}`, line {f.other.line}")


# ---- what was looked at ----


def applies(facts: Sequence[Facts], case_dir: Path) -> bool:
    """Did the program build anything that could be checked? Programs of other APIs have nothing to show here."""
    return bool(reports.programs(case_dir / FOLDER)) or any(reports.not_checked(one) for one in facts)


def instrument(wanted: KernelChecks, facts: Sequence[Facts], case_dir: Path) -> Instrument:
    programs = reports.programs(case_dir / FOLDER)
    kernels = sum(len(one.kernels) for one in programs)
    missing = sum(count for one in facts for count in reports.not_checked(one).values())
    checked = sum(int(kernel["checked"]) for one in programs for kernel in one.kernels)
    unchecked = sum(int(kernel["unchecked"]) for one in programs for kernel in one.kernels)
    saw = f"{plural(kernels, 'kernel')} of {plural(len(programs), 'program')} rewritten, "
    saw += f"{checked:,} of {checked + unchecked:,} accesses checked"
    saw += f"; {plural(missing, 'program or kernel', 'programs or kernels')} ran without checks" if missing else ""
    return Instrument(f"kernel checks ({', '.join(sorted(wanted.checks))})", "live" if programs else "not live", saw)


def not_checked(wanted: KernelChecks, facts: Sequence[Facts], live: bool) -> tuple[str, ...]:
    """What nobody looked at."""
    out = [_missing(why, kernel, count) for one in facts for (why, kernel), count in reports.not_checked(one).items()]
    if wanted.kernel:
        out.append(f"Other kernels than {wanted.kernel}: --kernel leaves them out.")
    left = [name for name in ALL if name not in wanted.checks]
    if live and left:
        out.append(f"Inside OpenCL kernels, these checks were not made: {', '.join(left)}.")
    return tuple(out)


def _missing(why: str, kernel: str, count: int) -> str:
    what = f"Kernel {kernel}" if kernel else plural(count, "OpenCL program")
    return f"{what} ran without checks: {why}."
