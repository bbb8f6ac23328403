"""The driver's compiler rejected a kernel's source, and the program ended or failed because of it.

Example:

    const char *source = "kernel void add(global float *a) { a[get_global_id(0)] += offset; }";   // offset is declared nowhere
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    status = clBuildProgram(program, 1, &device, "", NULL, NULL);                                 // CL_BUILD_PROGRAM_FAILURE

Fix it at the line that the compiler names, or by changing the options (-D, -I) that it is built with. A program that does not look at the
status continues: clCreateKernel then returns NULL, and some drivers crash in the launch that is passed it. The report names these calls.

Programs also catch the failure and continue without the kernel. Reported then only if the program fails, and no kernel of that name was
ever made from another program; as a warning where the compiler misses a function, a type or an extension, which programs try out.

Not reported if another build has the same kernels: the program has handled the failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.detectors import Run
from gpudx.detectors._failures import Failure, Failures
from gpudx.detectors._words import placed, site_of
from gpudx.facts import Facts
from gpudx.facts.builds import Refusal, refusal
from gpudx.facts.near_names import are_near
from gpudx.facts.open_calls import fatal_call
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "kernel-does-not-build"
CAUSE = Cause(
    id=ID,
    title="The driver's compiler rejected a kernel's source",
    refutes_if="The same source builds with the same options on this device.",
    fix=("Correct the line that the compiler names, or the -D and -I options that it is built with.",),
    predicts=(("recorded", "the build fails in every run"),),
    kind=FIXED,
)
BUILT = "built"
KERNELS = re.compile(r"\b(?:__)?kernel\b[^;{}()]*(?:\(\([^)]*\)[^;{}()]*)*\bvoid\s+(\w+)\s*\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
WORD = re.compile(r"[A-Za-z_]\w*")
GIVEN = re.compile(r"(?:^|\s)-D\s*([A-Za-z_]\w*)((?:=\S*)?)")
QUOTED = re.compile(r"['`](\w+)['`]")
TRIED = re.compile(r"(?i)extension|support|requires|builtin|\bfunction\b|unknown type|cl_khr|OpenCL C|__opencl")  # what devices differ in
FULL = (*(1 << bits for bits in range(5, 13)), 100, 200, 300, 400, 500, 1000)  # sizes that programs give buffers for text
SHOWN = 4  # lines of a log in which no error was found


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per build that failed and that the end of the program follows from."""
    if not run.failed or not len(facts.errors):
        return
    failures = Failures(facts)
    for failure in failures.roots:
        told = refusal(facts.trace, facts.kernels, failure.position) if failure.info.does == "build" else None
        if told and (failure.followers or failures.stopped_at(failure)) and not _built_later(facts, failure):
            yield _finding(facts, failure, told)
        elif told and (missing := _never_made(facts, failure.position)):
            yield _continued(facts, failure, told, missing)


def _never_made(facts: Facts, position: int) -> list[str]:
    """The kernels of the rejected source, if the program made none of them from anything else."""
    source = facts.kernels.source(facts.trace.record(position).get("program", 0), position)
    names = list(dict.fromkeys(KERNELS.findall(COMMENT.sub(" ", source))))
    return names if not any(len(facts.kernels.named(name)) for name in names) else []


def _unused_options(source: str, options: str) -> list[str]:
    """Options that define what the source never uses."""
    words = set(WORD.findall(source))
    return [] if "#include" in source else [f"-D{name}{value}" for name, value in GIVEN.findall(options) if name not in words]


def _continued(facts: Facts, failure: Failure, told: Refusal, missing: list[str]) -> Finding:
    """Of a build that failed and that the program did without."""
    finding = _finding(facts, failure, told)
    source = facts.kernels.source(facts.trace.record(failure.position).get("program", 0), failure.position)
    unused = _unused_options(source, _options(facts, failure.position))
    which = f"kernel {missing[0]}" if len(missing) == 1 else f"its {len(missing)} kernels"
    named = next(iter(QUOTED.findall(told.error.said)), "") if told.error else ""
    called = bool(named) and bool(re.search(rf"\b{named}\s*\(", source))
    maybe = told.error is None or not told.error.line or called or bool(TRIED.search(told.error.said))
    meant = next((one for one in unused if named and are_near(one[2:].partition("=")[0], named)), "")
    steps = (f"Write -D{named}{meant[2:].partition('=')[1]}{meant.partition('=')[2]} in the build options.",) if meant else CAUSE.fix
    said = tuple(Evidence(f"no line of the source uses what the option {one} defines") for one in unused[:SHOWN])
    return replace(
        finding,
        severity="warning" if maybe else "error",
        message=f"{finding.message.rstrip('.')}. The program continued without {which}.",
        evidence=(*said, *finding.evidence),
        certainty="recorded",
        because=f"The program failed after it continued without {which}; that it fails for this reason is not shown.",
        steps=steps,
    )


def _built_later(facts: Facts, failure: Failure) -> bool:
    trace = facts.trace
    later = trace.select(trace.schema.doing("build"))
    later = later[later > failure.position]
    return bool((trace.column("status", later) == 0).any()) and not failure.followers


def _finding(facts: Facts, failure: Failure, told: Refusal) -> Finding:
    site = site_of(facts, failure.position)
    told, line = _in_file(facts, failure.position, told)
    went_on = tuple(_went_on(facts, failure))
    later, said = sum(one.count for one in failure.followers), _evidence(told, site, shown=line is not None)
    buffer = _full_buffer(_options(facts, failure.position), told)
    follows = f"; {plural(later, 'later call')} failed because of it" if later else ""
    return Finding(
        id=ID,
        severity="error",
        message=f"{_message(told)} ({site.call}: {site.status}){follows}.",
        evidence=(
            *went_on,
            *_cut_off(facts, failure.position, buffer),
            *(Evidence(text, (site.number,)) for text in said if not went_on or not text.startswith(BUILT)),
        ),
        site=site,
        count=failure.count,
        causes=(ID,),
        certainty="observed",
        root=site if buffer else replace(site, source=line, through=None, host_stack=()) if line else None,
        steps=tuple(_steps(told, site, bool(failure.followers), buffer)),
        because="The driver's compiler rejected it, and the program did not continue without it.",
        facts=(("call", site.call), ("status", site.status or "?"), ("said", told.error.said if told.error else "")),
    )


def _full_buffer(options: str, told: Refusal) -> int:
    """The size of a buffer that the options would fill to its last byte, where the compiler does not understand their end; else 0."""
    size, last = len(options.encode()) + 1, (options.split() or [""])[-1]
    value = last.partition("=")[2]
    blamed = last == told.macro and bool(value) and told.error is not None and value in told.error.said
    return size if size in FULL and (blamed or told.options_refused) else 0


def _cut_off(facts: Facts, position: int, buffer: int) -> Iterator[Evidence]:
    if buffer:
        options = _options(facts, position)
        full = f"the options are {buffer - 1:,} characters long, which fills a buffer of {buffer:,} bytes"
        yield Evidence(f"{full}, and end with {options.split()[-1]}", (position + 1,))


def _in_file(facts: Facts, position: int, told: Refusal) -> tuple[Refusal, str | None]:
    """With the file and line of the user's that the text comes from, where one of them has it."""
    if told.error is None or told.error.file or not told.error.line:
        return told, None
    source = facts.kernels.source(facts.trace.record(position).get("program", 0), position)
    found = facts.kernel_files.place(source, told.error.line)
    if found is None:
        return told, None
    file, line = found
    return replace(told, error=replace(told.error, file=file.rpartition("/")[2], line=line)), f"{file}:{line}"


def _message(told: Refusal) -> str:
    if told.options_refused:
        return f"The driver does not accept the build options '{told.options}'"
    if told.error is None:
        return "The driver did not build a kernel's source"
    macro = f", in `{told.macro[2:].partition('=')[0]}`, which the option {told.macro} defines" if told.macro else ""
    return f"A kernel's source does not compile: {_place(told)}{told.error.said}{macro}"


def _place(told: Refusal) -> str:
    assert told.error is not None
    where = told.error.file or "line"
    return f"{where}{':' if told.error.file else ' '}{told.error.line}: " if told.error.line else ""


def _steps(told: Refusal, site: Site, went_on: bool, buffer: int) -> Iterator[str]:
    if buffer:
        cut = f"a buffer of {buffer:,} bytes may have cut them off"
        yield f"Look at where the options are put together: {cut}. Make it larger, or check the length."
    elif told.macro:
        yield f"Change the value of {told.macro.partition('=')[0]} that the program passes to the compiler."
    if went_on:
        if not told.macro and not buffer:
            yield CAUSE.fix[0]
        yield f"Check the status of {placed(site)} before the program is used."


def _went_on(facts: Facts, failure: Failure) -> Iterator[Evidence]:
    """What became of a failure that the program did not look at: the kernel that was not created, and the call that was passed NULL."""
    missing, died = next((one for one in failure.followers if one.makes == "handle:kernel"), None), fatal_call(facts)
    if missing is None:
        return
    words = facts.trace.record(died) if died is not None else {}
    site = site_of(facts, missing.position)
    yield Evidence(f"{placed(site_of(facts, failure.position))} failed{_under(facts, failure)}", (failure.position + 1,))
    yield Evidence(f"the program continued, and {placed(site)} returned no kernel ({site.status})", (site.number,))
    if died is not None and words.get("kernel", 1) == 0:
        yield Evidence(f"it died in {placed(site_of(facts, died))}, which was passed NULL as its kernel", (died + 1,))


def _options(facts: Facts, position: int) -> str:
    return facts.trace.array(position, "options").decode(errors="replace").strip("\0 ")


def _under(facts: Facts, failure: Failure) -> str:
    options = _options(facts, failure.position)
    return f" with the options {options}" if options else ""


def _evidence(told: Refusal, site: Site, shown: bool) -> Iterator[str]:
    """`shown`: is the line of the source on the screen anyway?"""
    call, status = placed(site), site.status or ""
    built = f"{BUILT} by {call}" if site.source else BUILT
    if told.error is not None:
        column = f", column {told.error.column}" if told.error.column else ""
        yield f"the compiler: {_place(told)[:-2]}{column}: {told.error.said}" if told.error.line else f"the compiler: {told.error.said}"
        if told.text and not shown:
            yield f"{_place(told)}{told.text}" if told.error.file else f"line {told.error.line} of the source: {told.text}"
        if told.more:
            yield f"{plural(told.more, 'more error')} in the build log"
    elif not told.options_refused:
        yield f"{site.call} returned {status}"
        yield from (f"the compiler: {line}" for line in told.log[:SHOWN])
        if not told.log:
            yield "the driver gave no build log"
    if told.options_refused:
        yield f"{call} returned {status}"
    else:
        yield f"{built} {f'with the options {told.options}' if told.options else 'without options'}"
