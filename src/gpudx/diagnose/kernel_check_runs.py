"""A run with checks inside its OpenCL kernels: what they reported as findings, and what they did not look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from gpudx.detectors.freed_while_in_use import freed_under
from gpudx.diagnose import (
    aliased_arguments,
    alignment_steps,
    build_options,
    endless_loops,
    followers,
    grown_counts,
    image_reasons,
    index_reasons,
    macro_values,
    nan_reasons,
    option_reasons,
    other_structs,
    overlapping_regions,
    partial_launches,
    partial_writes,
    race_reasons,
    row_overflows,
    shared_pools,
    stale_reasons,
    tile_macros,
)
from gpudx.diagnose import kernel_check_reports as reports
from gpudx.diagnose.access_numbers import Numbers, Why, elements
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.errors import survived
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.contents import nan_read_back
from gpudx.facts.given_memory import uses
from gpudx.facts.host_code import kernel_at
from gpudx.facts.late_writers import unordered_writer
from gpudx.facts.open_calls import fatal_call
from gpudx.facts.swapped import swapped_with
from gpudx.kernel_checks.checks import ALL
from gpudx.kernel_checks.errors import LEFT_OUT
from gpudx.kernel_checks.plan import Site as Place
from gpudx.kernel_checks.plan import Way
from gpudx.lab.kernel_checked import FOLDER
from gpudx.model import Access, Allocation, Attribution, Evidence, Finding, Instrument, Site
from gpudx.model.case import NOTHING_CHECKED, UNCHECKED_KERNELS
from gpudx.model.how import KernelChecks
from gpudx.text import capital, listed, plural, times

ID = "kernel-check-"
# The first that knows one.
REASONS = (
    macro_values, option_reasons, stale_reasons, row_overflows, other_structs, tile_macros, grown_counts, index_reasons,
    overlapping_regions, race_reasons, partial_writes, partial_launches, nan_reasons, image_reasons,
)  # fmt: skip
IN_SOURCE = ("private", "local", "constant", "program")  # arrays whose size the kernel's source says
MOST_NAMED = 4  # kernels
MOST_LOST = 2  # programs or kernels without checks that one line names
NOT_COMPILED = "the driver does not compile the rewritten source"  # native/opencl/checks.c
NOT_WITH_BARRIERS = "with these checks, this driver does not run kernels correctly that return before a barrier or have one in a branch"
MOST = 1000
TESTED = "The kernel compares the divisor with 0, so it may discard the result; that is an unspecified value, and no exception."
REPORTED = "The kernel checked itself and reported this place."
NOT_A_NUMBER = (
    "A NaN passes from launch to launch, so the first one counts; it is not shown that the program fails because of it."
)
NAN_READ_BACK = "the program read back a NaN"
WRAP = 1 << 32  # what a 32-bit index loses
WAITED_FOR = re.compile(
    r"(?:atom(?:ic)?_\w+\s*\(\s*&?\s*|^\s*!?\s*)(\w+\s*\[[^\]]*\])"
)  # an element that a loop's condition reads
OWN_TEXT = "kernel source"  # the text that the program gave the driver
WORD = 8  # bytes of a handle
ON_MEMORY = ("bounds", "alignment", "uninitialized", "race")
CAUSES = {
    "bounds": "out-of-bounds-access", "alignment": "misaligned-access", "uninitialized": "read-before-write",
    "race": "race-in-kernel", "barrier": "barrier-misuse", "loop": "hang", "overflow": "index-overflow",
    "division": "division-by-zero", "nan": "not-a-number", "image": "out-of-bounds-access",
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
    reported = [f for one in facts for f in reports.failures(one, case_dir / FOLDER) if not _may_be_written(f)]
    found = [f for f in reported if not (_is_of_released_buffer(f) or _is_of_freed_memory(f)) and image_reasons.is_fault(f)]
    found = [f for f in found if not index_reasons.is_wanted(f)]
    places: dict[tuple[str, Place], list[Failure]] = {}
    # Read before another work-item wrote it, or after a write that was left out: the fault is that one.
    spoiled = {(f.position, f.thing) for f in found if f.kind == "race" or (f.kind == "bounds" and f.writes)}
    leaders = followers.led_by(found)
    for at, failure in enumerate(found):
        if at in leaders or (failure.kind == "uninitialized" and (failure.position, failure.thing) in spoiled):
            continue
        places.setdefault((failure.kind, failure.site), []).append(failure)
    for same in list(places.values())[:MOST]:
        count = 0 if _is_mixed(same[0], reported) else sum(one.count for one in found if _is_same_memory(one, same[0]))
        led = [found[at] for at, leader in leaders.items() if any(leader is one for one in same)]
        why = _why(same[0], _argument(same[0]))
        finding = _finding(same[0], count, len({(one.facts.trace.path, one.position) for one in same}), _with_later(same[0], why, found))
        if led:
            finding = _with_led(finding, same[0], led)
        if same[0].kind == "race" and finding.access is not None:
            finding = replace(finding, access=replace(finding.access, conflict=race_reasons.conflict(same[0], found)))
        sure: Attribution = "probable" if _makes_the_first_nan(same[0], found) else "unknown"
        if same[0].kind != "nan":
            yield finding
        else:
            made = replace(_after_infinity(finding, same[0], found), attribution=sure, because=NOT_A_NUMBER)
            yield _with_read(made, same[0]) if sure == "probable" else made


def _with_led(finding: Finding, f: Failure, led: Sequence[Failure]) -> Finding:
    """With what follows from it. An uninitialized number that became an index outside a buffer was used."""
    causes = (*finding.causes, CAUSES["bounds"]) if any(one.kind == "bounds" for one in led) else finding.causes
    return replace(finding, causes=causes, evidence=(*finding.evidence, Evidence(followers.sentence(led), (f.position + 1,))))


def _with_read(finding: Finding, f: Failure) -> Finding:
    """With the call by which a NaN came to the program."""
    position = nan_read_back(f.facts)
    if position is None or position < f.position:
        return finding
    site = f.facts.sites.at(position)
    where = f" at {_line(site)}" if site.source else f", call {site.number}"
    return replace(finding, evidence=(Evidence(f"{NAN_READ_BACK} ({site.call}{where})", (site.number,)), *finding.evidence))


def _after_infinity(finding: Finding, f: Failure, found: Sequence[Failure]) -> Finding:
    """A NaN often comes of an infinity (inf / inf, inf - inf) that the same launch made first: then that is what to change."""
    made = next((one for one in found if one.kind == "nan" and not one.more and (one.facts, one.position) == (f.facts, f.position)), None)
    if not f.more and not finding.steps:
        return replace(finding, steps=(nan_reasons.keep_finite(f, _where(f)),))
    if not f.more or made is None or made.site == f.site:
        return finding
    why = nan_reasons.why(made)
    text = f"before it, `{made.site.text}` at {_where(made)} became infinite{f': {why.text}' if why else ''}"
    return replace(
        finding,
        evidence=(Evidence(text.rstrip("."), (f.position + 1,)), *finding.evidence),
        steps=(nan_reasons.keep_finite(made, _where(made)), *finding.steps),
    )


def _may_be_written(f: Failure) -> bool:
    """Can calls that are not recorded have written what counts as unwritten?"""
    return f.kind == "uninitialized" and f.facts.misses_calls


def _is_of_released_buffer(f: Failure) -> bool:
    """Was the kernel passed a buffer that is none any more? Then the size that the driver told of it means nothing."""
    launch = f.facts.launches.at_position(f.position)
    if f.kind not in ON_MEMORY or f.thing is None or f.thing.kind != "argument" or launch is None:
        return False
    values = [a["bytes"] for a in f.facts.launches.values(launch) if a["index"] == f.thing.index and a["size"] == WORD]
    table = f.facts.objects.table
    mine = table["handle"] == int.from_bytes(values[0], "little") if values else []
    known = np.flatnonzero(mine)
    known = known[table["born"][known] < f.position]
    died = table["died"][known]
    return bool(len(known)) and bool(((died >= 0) & (died < f.position)).all())


def _is_of_freed_memory(f: Failure) -> bool:
    """Was memory of the launch freed while it could still be running? Then what it read there, indexes too, may be anything: the free is
    the fault (freed-while-in-use)."""
    table = uses(f.facts)
    objects = table["object"][table["position"] == f.position]
    return f.kind in ON_MEMORY and any(freed_under(f.facts, f.position, int(one)) is not None for one in objects)


def _is_same_memory(one: Failure, other: Failure) -> bool:
    """The same fault at the same memory, in the same launch, whichever line it is at."""
    same = (one.facts, one.kind, one.position, one.thing) == (other.facts, other.kind, other.position, other.thing)
    return same and (one.thing is not None or one.site == other.site)


def _is_mixed(f: Failure, reported: Sequence[Failure]) -> bool:
    """Did its place fail in another way, too? The kernel counts failures by place, so nobody knows how many were of this kind."""
    return any((one.facts, one.site) == (f.facts, f.site) and one.kind != f.kind for one in reported)


def _makes_the_first_nan(f: Failure, found: Sequence[Failure]) -> bool:
    """A NaN passes from launch to launch: the first launch made it."""
    first = next((one for one in found if one.kind == "nan" and one.more), None)
    return first is not None and bool(f.more) and (f.facts, f.position) == (first.facts, first.position)


def _argument(f: Failure) -> int | None:
    return f.thing.index if f.thing is not None and f.thing.kind == "argument" else None


def _with_later(f: Failure, why: Why | None, found: Sequence[Failure]) -> Why | None:
    """A write past the end that does not say how much was meant to fit, with the number of a later launch that reads the same buffer
    past the end: the write came first, and destroyed what lies behind the buffer."""
    row = _row(f, _argument(f))
    if f.kind != "bounds" or not f.writes or row < 0 or (why is not None and why.cause != "out-of-bounds-access"):
        return why
    for later in found:
        if later.facts is not f.facts or later.position <= f.position or later.kind != "bounds" or later.writes:
            continue
        reason = _why(later, _argument(later)) if _row(later, _argument(later)) == row else None
        if reason is not None and reason.cause == "undersized-buffer":
            site, name = later.facts.sites.at(later.position), later.thing.name if later.thing is not None else ""
            text = f"Kernel {site.kernel} (launch {site.launch}) then reads this buffer as `{name}`: {reason.text}"
            return replace(reason, text=text)
    return why


def _finding(f: Failure, count: int, launches: int, why: Why | None) -> Finding:
    argument = _argument(f)
    site = f.facts.sites.at(f.position, argument=argument)
    row = _row(f, argument)
    memory = allocation_of(f.facts, row, "live") if row >= 0 else None
    message = (
        f"{_who(f, site.kernel, site.launch)} {_what(f, _label(f, argument, memory), why)}: `{f.site.text}` at {_where(f)}."
    )
    reason = why.text if why else endless_loops.sentence(f)
    tested = _tests_divisor(f)
    return Finding(
        id=ID + f.kind,
        severity="warning" if tested else "error",
        message=f"{message} {reason}" if reason else message,
        evidence=tuple(Evidence(text, (site.number,)) for text in _evidence(f, site, count, launches, why)),
        site=site,
        allocation=memory,
        causes=(why.cause if why else _cause(f, argument),),
        others=(writer,) if (writer := _late_writer(f, argument)) is not None else (),
        facts=(
            ("kernel", site.kernel or "?"),
            ("line", str(f.site.line)),
            ("expression", f.site.text),
            ("argument", str(argument)),
        ),
        certainty="observed",
        attribution="unknown" if tested else "this",
        root=why.root if why else None,
        steps=why.steps if why and why.steps else tuple(_steps(f)),
        because=TESTED if tested else REPORTED,
        access=Access(
            kind="write" if f.writes else "read",
            by="kernel",
            kernel=(why.kernel if why else "") or site.kernel or "",
            width=f.width or None,
            offset=f.offset if argument is not None and f.kind in ON_MEMORY else None,
            block=f.group,
            thread=f.local,
            source=_source(*_line_to_read(f, why)),
            space="" if f.thing is None else f.thing.kind if argument is None else f.thing.space,
            seen_by="kernel check",
        ),
    )


def _tests_divisor(f: Failure) -> bool:
    """Does the kernel compare the divisor of an integer division with 0? Then it probably discards the result of a division by zero, which
    OpenCL C leaves unspecified."""
    parts = re.split(r"[/%]=?", f.site.text)
    divisor = parts[-1].strip().strip("()").strip() if f.kind == "division" and len(parts) > 1 else ""
    return bool(divisor) and bool(re.search(rf"(?<![\w.]){re.escape(divisor)}\s*(?:[=!]=|>)\s*0\b|!\s*{re.escape(divisor)}(?!\w)", f.body))


def _why(f: Failure, argument: int | None) -> Why | None:
    """The reason, where the numbers of the record give one. With one buffer in two arguments, or a writer that is not waited for, that
    is the reason."""
    if (same := _same_buffer(f)) is not None:
        return survived("Reading who set two arguments", partial(aliased_arguments.why, f, same), None)
    if _late_writer(f, argument) is not None:
        return None
    for reasons in REASONS:
        name = reasons.__name__.rpartition(".")[2]
        found: Why | None = survived(f"Reading a report of a checked kernel ({name})", partial(reasons.why, f), None)
        if found is not None:
            return found
    return None


def _evidence(f: Failure, site: Site, count: int, launches: int, why: Why | None) -> Iterator[str]:
    """What a reader can check: the element, the work-item, where it was launched, how often it happened (0: not known)."""
    yield f"work-item {_id(f, f.item)} (group {_id(f, f.group)}, local id {_id(f, f.local)}) {_reported(f)}"
    if f.other is not None:
        yield f"the work-items diverged at `{f.other.text}`, {_place(f.other)}"
    elif f.kind == "loop" and (waits := WAITED_FOR.search(f.site.text)) and not endless_loops.was_written(f):
        yield f"the loop ends only if another work-item changes `{waits[1]}`"
    elif (element := index_reasons.arithmetic(f, why.text if why else "") or _element(f)) is not None:
        yield element
    yield from why.facts if why else ()
    yield from filter(None, [build_options.fact(f)])
    yield from endless_loops.facts(f)
    if (guarded := index_reasons.guarded(f)) is not None and not (why and guarded in why.text):
        yield guarded
    if (given := index_reasons.passed(f)) is not None and not any(fact in given for fact in (why.facts if why else ())):
        yield given
    yield from _index_and_order(f)
    if (same := _same_buffer(f)) is not None and not (why and why.cause == aliased_arguments.OVERLAP):
        yield shared_pools.ranges(f, same) or f"argument {same} is the same buffer"
    least = "at least " if f.kind == "image" and not f.writes else ""  # they stop counting early (kernel_checks/prelude.py)
    happened = f"; this was reported {least}{times(count)}{_elsewhere(launches)}" if count > 1 else ""
    yield f"{_launched(f, site)}{happened}"


def _late_writer(f: Failure, argument: int | None) -> Site | None:
    """The call that writes what this launch read too early, without an order between the two."""
    row = _row(f, argument) if f.kind == "uninitialized" else -1
    use = unordered_writer(f.facts, f.position, row) if row >= 0 else None
    return f.facts.sites.at(int(use["position"])) if use is not None else None


def _index_and_order(f: Failure) -> Iterator[str]:
    """Where the index came from, and which argument this one was exchanged with."""
    argument = f.thing.index if f.thing is not None and f.thing.kind == "argument" else None
    if (writer := _late_writer(f, argument)) is not None:
        who = f"kernel {writer.kernel} (launch {writer.launch})" if writer.kernel else writer.call
        yield f"{who}, call {writer.number}, may write it, and nothing makes this launch wait for that"
    other = swapped_with(f.facts, f.position, argument) if f.kind == "uninitialized" and argument is not None else None
    if other is not None:
        yield (
            f"arguments {argument} and {other} look swapped: the program fills the buffer that it passes as argument {other} and "
            f"reads back the one that it passes as argument {argument}"
        )


def _steps(f: Failure) -> Iterator[str]:
    """Where the cause's own advice, which speaks of buffers, does not fit."""
    name = f"`{f.thing.name}`" if f.thing is not None else ""
    is_local = f.thing is not None and "local" in (f.thing.kind, f.thing.space)
    if f.kind == "loop":
        yield from _ends_of_loop(f)
    elif f.kind == "bounds" and f.thing is not None and f.thing.kind in IN_SOURCE and f.thing.element:
        room = plural(f.size // f.thing.element, "element")
        yield f"Declare {name} with room for the largest index, or skip the access where the index is not below its {room}."
    elif f.kind == "alignment":
        yield from alignment_steps.steps(f)
    elif f.kind == "barrier" and f.other is not None:
        only = f"only the work may depend on `{f.other.text}`, not whether the barrier is reached"
        yield f"Let every work-item of the group reach the barrier: {only}."
    elif f.kind == "uninitialized" and is_local:
        yield f"Write every element of {name} before a work-item reads it, with barrier(CLK_LOCAL_MEM_FENCE) in between."
    elif f.kind == "race" and (same := _same_buffer(f)) is not None:
        shared = f"the kernel reads elements of {name} that other work-items write through it"
        yield shared_pools.step(f, same) or f"Give argument {same} a buffer of its own: {shared}."
    elif f.kind == "race" and is_local:
        yield f"Put barrier(CLK_LOCAL_MEM_FENCE) between the two accesses to {name}, where every work-item of the group reaches it."
    elif f.kind == "race" and f.reads and f.writes:
        yield (
            f"Use an atomic function to update {name}, or give each work-item its own element. A barrier does not help: an update reads, "
            "computes and writes, and two of them can overlap."
        )
    elif f.kind == "race" and race_reasons.has_several_groups(f):
        yield race_reasons.step_between_groups(f, name)
    elif f.kind == "race":
        yield (
            f"Put barrier(CLK_GLOBAL_MEM_FENCE) between the two accesses to {name}, use an atomic function, or give each"
            " work-item its own element."
        )


def _same_buffer(f: Failure) -> int | None:
    """Of a race: another argument that was given the same buffer."""
    argument = f.thing.index if f.thing is not None and f.thing.kind == "argument" else None
    launch, row = f.facts.launches.at_position(f.position), _row(f, argument)
    if f.kind != "race" or row < 0 or launch is None:
        return None
    same = [int(a["index"]) for a in f.facts.launches.values(launch) if a["object"] == row and a["index"] != argument]
    return race_reasons.met_through(f, same) if same else None


def _ends_of_loop(f: Failure) -> Iterator[str]:
    if (step := endless_loops.never_equal(f)) is not None:
        yield step
        return
    waits = WAITED_FOR.search(f.site.text)
    if waits is None and (step := endless_loops.step(f)) is not None:
        yield step
        return
    if waits is None and (step := endless_loops.way_out(f)) is not None:
        yield step
        return
    if waits is None:
        yield f"Check why `{f.site.text}` stays true: follow the values that it compares through one iteration."
        return
    yield (
        f"OpenCL does not guarantee that the work-item that writes `{waits[1]}` runs while others wait for it: let groups wait only for "
        "groups that have started, with numbers from an atomic counter, or split the kernel at this place."
    )


def _reported(f: Failure) -> str:
    return "was the first to report the fault" if f.count > 1 else "reported the fault"


def _element(f: Failure) -> str | None:
    size = f.thing.element if f.thing is not None else 0
    if f.kind not in ON_MEMORY or not size or not f.size:
        return None
    held = plural(f.size // size, "element")
    inside = f", byte {f.offset % size} of it" if f.offset % size else ""
    return f"that is {elements(f)}{inside}; `{f.thing.name if f.thing else ''}` has {held} of {plural(size, 'byte')}"


def _launched(f: Failure, site: Site) -> str:
    where = f" at {_line(site)}" if site.source else ""
    launch = f.facts.launches.at_position(f.position)
    items, group = f.facts.launches.geometry(launch) if launch is not None else ((), ())
    shape = " x ".join(f"{n:,}" for n in items if n)
    groups = " x ".join(f"{n:,}" for n in group if n)
    size = f" {shape} {'work-item' if shape == '1' else 'work-items'}" if shape else " it"
    first = index_reasons.first_id(f)
    ids = f" with ids from {first:,} to {first + items[0] - 1:,}" if first and items else ""
    return f"launch {site.launch}{where} started{size}{f' in groups of {groups}' if groups else ''}{ids}"


def _line(site: Site) -> str:
    """ "main.c:41 through util.h:22"."""
    through = f" through {_short(site.through)}" if site.through else ""
    return f"{_short(site.source or '')}{through}"


def _short(source: str) -> str:
    return source.rpartition("/")[2]


def _elsewhere(launches: int) -> str:
    return f" there, and in {plural(launches - 1, 'more launch', 'more launches')}" if launches > 1 else ""


def _cause(f: Failure, argument: int | None) -> str:
    """An access outside memory has a reason where the numbers give one: no buffer at all, or an index that wrapped. Unwritten memory
    that the program wanted written was given in the place of another argument."""
    if f.kind == "uninitialized" and argument is not None and _late_writer(f, argument) is not None:
        return "unordered-access"  # it is written, but nothing lets this launch wait for that
    if f.kind == "uninitialized" and argument is not None and swapped_with(f.facts, f.position, argument) is not None:
        return "argument-order"
    if f.kind != "bounds" or argument is None:
        return CAUSES[f.kind]
    if not f.size and _row(f, argument) < 0:
        return "null-pointer"
    meant = f.offset + (f.width or 1) * WRAP
    wrapped = -(f.width or 1) * (WRAP >> 1) <= f.offset < 0 and 0 <= meant < f.size
    return "index-overflow" if wrapped else CAUSES[f.kind]


def _who(f: Failure, kernel: str | None, launch: int | None) -> str:
    helper = f" in {f.site.kernel}()" if kernel and f.site.kernel != kernel else ""
    return f"Kernel {kernel} (launch {launch}){helper}"


def _where(f: Failure) -> str:
    called = _call_of_helper(f)
    through = f", called as `{called.text}` at {_place(called)}" if called else ""
    return f"{_place(f.site)}{through}"


def _place(one: Place | Way) -> str:
    return f"{_short(one.file)}:{one.line}" if one.file else f"line {one.line} of its source"


def _call_of_helper(f: Failure) -> Way | None:
    """The call of the helper function that this access is in, where the numbers show which of them it was: it passed the index."""
    if f.kind not in ("bounds", "race", "uninitialized") or not f.site.ways:
        return None
    return next(iter(Numbers(f).calls), None)


def _line_to_read(f: Failure, why: Why | None) -> tuple[str, int]:
    """The line that computes the wrong number, or where work-items part, else the call that passes it, else the access."""
    if f.kind == "barrier" and f.other is not None:
        return f.other.file, f.other.line
    called = _call_of_helper(f)
    return (why.line if why else None) or ((called.file, called.line) if called else (f.site.file, f.site.line))


def _source(file: str, line: int) -> str:
    return f"{file or OWN_TEXT}:{line}"


def _id(f: Failure, one: tuple[int, int, int]) -> str:
    """In as many dimensions as the launch has: "2,255", "(64, 32)"; no commas inside several numbers, since they separate them."""
    launch = f.facts.launches.at_position(f.position)
    items = f.facts.launches.geometry(launch)[0] if launch is not None else (0, 0, 0)
    used = max((axis for axis in range(3) if items[axis] > 1 or one[axis]), default=0)
    return f"{one[0]:,}" if not used else f"({', '.join(map(str, one[: used + 1]))})"


def _row(f: Failure, argument: int | None) -> int:
    launch = f.facts.launches.at_position(f.position)
    if argument is None or launch is None:
        return -1
    return next((int(a["object"]) for a in f.facts.launches.values(launch) if a["index"] == argument), -1)


def _label(f: Failure, argument: int | None, memory: Allocation | None) -> str:
    if f.thing is None:
        return ""
    if argument is None:
        return f"the {SPACES[f.thing.kind]} `{f.thing.name}` ({plural(f.size, 'byte')})"
    made = memory.made if memory is not None else None
    about = [memory.id] if memory is not None else []
    if not f.size and memory is None:
        return f"argument {argument} `{f.thing.name}`, for which no buffer is passed"
    about.append(image_reasons.size(f) if f.kind == "image" else plural(f.size, "byte"))
    about += [f"allocated at {_line(made)}"] if made is not None and made.source else []
    return f"argument {argument} `{f.thing.name}` ({', '.join(about)})"


def _deed(f: Failure) -> str:
    if f.atomic:
        return "updated"
    return "updated" if f.reads and f.writes else "wrote" if f.writes else "read"


def _what(f: Failure, label: str, why: Why | None) -> str:
    width = plural(f.width, "byte")
    if f.kind == "bounds":
        return f"{_deed(f)} {width}{_side(f, label)}"
    if f.kind == "alignment":
        return f"{_deed(f)} {width} at byte {f.offset:,} of {label}, which is not a multiple of {f.more}"
    if f.kind == "uninitialized":
        return f"read {_which(f)} of {label}, which is uninitialized"
    if f.kind == "race" and why is not None and why.cause == row_overflows.CAUSE:
        return f"{_deed(f)} {_which(f)} of {label}, which another work-item also accesses"
    if f.kind == "race":
        return f"{_deed(f)} {_which(f)} of {label}, unsynchronized with {race_reasons.other_side(f)}"
    if f.kind == "image":
        return image_reasons.what(f, label)
    if f.kind == "barrier":
        condition = f"`{f.other.text}` ({_place(f.other)})" if f.other is not None else "the condition"
        return f"has a barrier that not all {f.size:,} work-items of a group reach, as {condition} is true for {f.offset:,} of them"
    if f.kind == "loop":
        return f"ran {f.width:,} loop iterations in one work-item without an end"
    if f.kind == "overflow" and f.site.watched:
        name, kind = f.site.watched
        return f"stored {f.offset:,} in the index `{name}`, which is a {kind} and became {_signed(f.size):,}"
    if f.kind == "overflow":
        return f"computed the index {f.offset:,}, which does not fit in int and becomes {_signed(f.size):,}"
    return "divided by zero" if f.kind == "division" else f"computed {'NaN' if f.more else 'infinity'}"


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _which(f: Failure) -> str:
    """ "element 4"; "byte 16" where the access is not to a whole element."""
    size = f.thing.element if f.thing is not None else 0
    return f"element {f.offset // size:,}" if size and not f.offset % size else f"byte {f.offset:,}"


def _side(f: Failure, label: str) -> str:
    past = f.offset - f.size
    if not f.size:
        return f" through {label}"
    if f.offset < 0:
        return f", {plural(-f.offset, 'byte')} before the start of {label}"
    if past > 0:
        return f", {plural(past, 'byte')} past the end of {label}"
    return f" right past the end of {label}" if past == 0 else f" across the end of {label}"


# ---- what was looked at ----


def applies(facts: Sequence[Facts], case_dir: Path) -> bool:
    """Did the program build anything that could be checked? Programs of other APIs have nothing to show here."""
    return bool(reports.programs(case_dir / FOLDER)) or any(reports.not_checked(one) for one in facts)


def instrument(wanted: KernelChecks, facts: Sequence[Facts], case_dir: Path) -> Instrument:
    programs = reports.programs(case_dir / FOLDER)
    kernels = sum(len(one.kernels) for one in programs)
    lost = _unchecked(facts)
    missing = sum(count for _, count in lost)
    refused = sum(count for (why, _, _), count in lost if why.startswith(NOT_COMPILED))
    checked = sum(int(kernel["checked"]) for one in programs for kernel in one.kernels)
    unchecked = sum(int(kernel["unchecked"]) for one in programs for kernel in one.kernels)
    saw = f"{plural(kernels, 'kernel')} of {plural(len(programs), 'program')} rewritten, "
    saw += f"{checked:,} of {checked + unchecked:,} accesses checked"
    saw += f"; {plural(missing, 'program or kernel', 'programs or kernels')} ran without checks" if missing else ""
    nothing = len(programs) <= refused
    told = (_missing(_short_reason(why), kernel, launched, count) for (why, kernel, launched), count in lost[:MOST_LOST])
    blind = "; ".join(one.rstrip(".") for one in told)
    blind = f"{NOTHING_CHECKED}{blind}" if blind and nothing else blind
    blind = blind or (f"{plural(unchecked, 'access', 'accesses')} could not be checked" if unchecked else "")
    left = _left_out(wanted, programs)
    blind = blind or (f"{listed([CHECKED[name] for name in left])} were not checked in every program" if left else "")
    name = f"kernel checks ({', '.join(sorted(wanted.checks - set(left)))})"
    died = next(filter(None, map(_driver_died, facts)), "")
    if died and not any(True for one in facts for _ in reports.failures(one, case_dir / FOLDER)):
        return Instrument(name, "not live", f"{saw}; then the process died in {died}, with rewritten kernels, and nothing was reported")
    return Instrument(name, "not live" if nothing else "live", saw, blind=blind)


CHECKED = {"races": "races", "uninit": "uninitialized reads"}


def _left_out(wanted: KernelChecks, programs: Sequence[reports.Program]) -> list[str]:
    """Checks that were asked for and not made in some program, because its driver runs kernels like these wrongly with them."""
    return [name for name in CHECKED if name in wanted.checks and any(name not in one.checks for one in programs)]


def _driver_died(facts: Facts) -> str:
    """Where a thread died that was neither in a call of the program nor in a kernel: in the driver, its compiler most likely."""
    words = facts.trace.last_words
    if words is None or fatal_call(facts) is not None or kernel_at(facts, words.pc):
        return ""
    return facts.symbols.describe(words.pc, False)


def not_checked(wanted: KernelChecks, facts: Sequence[Facts], live: bool, case_dir: Path) -> tuple[str, ...]:
    """What nobody looked at."""
    programs = reports.programs(case_dir / FOLDER)
    out = [capital(_missing(why, kernel, launched, count)) for (why, kernel, launched), count in _unchecked(facts)]
    if wanted.kernel:
        out.append(f"Other kernels than {wanted.kernel}: --kernel leaves them out.")
    if left := _left_out(wanted, programs):
        kernels = [str(kernel["name"]) for one in programs if not set(left) <= set(one.checks) for kernel in one.kernels]
        out.append(f"{capital(listed([CHECKED[name] for name in left]))} in {listed(kernels[:MOST_NAMED])}: {NOT_WITH_BARRIERS}.")
    left = [name for name in ALL if name not in wanted.checks]
    if live and left:
        out.append(f"Inside OpenCL kernels, these checks were not made: {', '.join(left)}.")
    return tuple(out)


def _unchecked(facts: Sequence[Facts]) -> list[tuple[tuple[str, str, tuple[str, ...]], int]]:
    """Programs and kernels that ran as they are: the reason, the kernel or those of the program, and how many; without what --kernel
    leaves out."""
    return [(why, count) for one in facts for why, count in reports.launched_without(one).items() if why[0] != LEFT_OUT]


def _missing(why: str, kernel: str, launched: Sequence[str], count: int) -> str:
    names = listed(launched[:MOST_NAMED])
    of = f" ({'kernel' if len(launched) == 1 else 'kernels'} {names})" if launched else ""
    what = f"kernel {kernel}" if kernel else f"{plural(count, 'OpenCL program')}{of}"
    return f"{what}{UNCHECKED_KERNELS}{why}."


def _short_reason(why: str) -> str:
    """Without what a compiler printed."""
    return NOT_COMPILED if why.startswith(NOT_COMPILED) else why
