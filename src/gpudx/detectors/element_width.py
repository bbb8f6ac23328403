"""The program uploaded 8 bytes per element for a kernel that reads 4: double as float, or long as int.

numpy makes float64 and int64 arrays unless a dtype is given. A kernel that declares `float *` reads the first half of such a
buffer, and the numbers that it reads are meaningless. No call fails, because no access leaves a buffer.

Example:

    re = np.fft.fft(tone).real                        # float64
    buffer = cl.Buffer(context, COPY_HOST_PTR, hostbuf=re)
    power(queue, (len(re),), None, buffer, ...)       # __kernel void power(__global const float *re, ...)

Fix it by converting the data before the upload (`re.astype(np.float32)`), or by declaring the wider type in the kernel.

Reported if all of this holds:

- Each work-item uses the argument at its own global id only, by the kernel's source, or by its PTX in the program's files: so half of the
  buffer is never used.
- Every buffer that the host fills for such an argument is exactly twice as large as the launch needs; the others are exactly as large as
  it needs, or twice.
- Nothing else uses the buffers.

It is also reported if the words of an upload that the recorder kept are plausible as doubles and not as floats: the lower half of a double
looks like noise, with exponents that no data has.

It is also reported if every second word of 4 bytes of an upload for `int *` is 0, and its elements of 8 bytes are as many as a number of
the launch, or one more, and those of 4 bytes are not.

It is an error in a program that fails by its exit status, else a warning.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._device_errors import first_report
from gpudx.detectors._elements import LEAST, counts, uploaded
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.contents import contents
from gpudx.facts.given_memory import uses
from gpudx.facts.kernel_code import values_of
from gpudx.facts.kernels import ArgInfo
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import several

ID = "element-width"
CAUSE = Cause(
    id=ID,
    title="The host uploaded wider elements than the kernel reads",
    refutes_if="The host's array has elements of 4 bytes, and the second half of the buffer is for something else.",
    fix=("Convert the data to the kernel's type before the upload, or declare the wider type in the kernel.",),
    predicts=(("recorded", "the buffer has 8 bytes for each element that the kernel reads 4 bytes of"),),
    kind=FIXED,
)
NARROW, WIDE = 4, 8
MOST_LAUNCHES = 4  # of a kernel that are looked at
MOST_USES = 256  # of a buffer; with more nothing is said
WIDER = {"float": "double", "int": "long", "uint": "ulong", "unsigned int": "unsigned long"}
NUMPY = {"float": "np.float32", "int": "np.int32", "uint": "np.uint32", "unsigned int": "np.uint32"}
LOWEST, HIGHEST = 1e-12, 1e12  # what data of programs is between
SHOWN = 3
LEAST_LONGS, LONGS_SHOWN = 4, 6
LONGS = "Every second word of the upload is 0, and the launch counts its elements of 8 bytes; the program's own type was not recorded."
SMALL = 1 << 16  # lower halves that are integers, or zero
BY_CONTENT = "The words of the upload are plausible as doubles and not as floats; no type of the program's own data was recorded."
BECAUSE = "Half of what was uploaded is never read, so the rest has another type; it is not shown that the program failed because of it."


@dataclass(frozen=True)
class _Given:
    """An argument that each work-item uses at its own id: `size` is that of the buffer, `uploaded` the call that filled it whole."""

    argument: ArgInfo
    object: int
    size: int
    uploaded: int | None

    @property
    def label(self) -> str:
        return f"`{self.argument.name}`" if self.argument.name else f"argument {self.argument.index}"

    @property
    def place(self) -> str:
        """ "argument 1 `im`"."""
        return f"argument {self.argument.index} {self.label}" if self.argument.name else self.label


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel: of its first launch that shows it."""
    if facts.trace.gaps:
        return
    by_content = [*_by_content(facts), *_whole_numbers(facts, run)]
    yield from by_content
    known = {finding.site.kernel for finding in by_content if finding.site}
    yield from (finding for finding in _by_size(facts, run) if not (finding.site and finding.site.kernel in known))


def _by_size(facts: Facts, run: Run) -> Iterator[Finding]:
    launches = facts.launches
    functions = facts.kernels.functions(launches.kernel_row).copy()
    functions[launches.status != 0] = -1
    for function in np.unique(functions[functions >= 0]).tolist():
        rows = np.flatnonzero(functions == function)[:MOST_LAUNCHES].tolist()
        halved = [(row, found) for row in rows if _has_twice(facts, row) and (found := _halved(facts, row))]
        if halved:
            yield _finding(facts, run, halved[0][0], *halved[0][1])


# ---- what was given ----


def _has_twice(facts: Facts, row: int) -> bool:
    """Is a buffer twice as large as the launch needs? To look into the kernel's code takes longer."""
    sizes = facts.objects.table["size"]
    given = {int(sizes[one["object"]]) for one in facts.launches.values(row) if one["object"] >= 0}
    return any(WIDE * count in given for count in counts(facts, row))


def _halved(facts: Facts, row: int) -> tuple[int, list[_Given], list[_Given]] | None:
    """The elements of the launch, the buffers of which it uses only half, and the others; None where they do not fit together."""
    given = _plain(facts, row)
    for count in counts(facts, row):
        filled = [one for one in given if one.uploaded is not None]
        fit = all(one.size in (NARROW * count, WIDE * count) for one in given)
        twice = [one for one in filled if one.size == WIDE * count and _is_used_so_only(facts, one)]
        if filled and fit and len(twice) == len(filled):
            return count, filled, [one for one in given if one.uploaded is None]
    return None


def _plain(facts: Facts, row: int) -> list[_Given]:
    """The arguments of the launch that each work-item uses at its own id, of types of 4 bytes."""
    own = _own_id_only(facts, row)
    table, found = facts.objects.table, []
    for one in facts.launches.values(row) if own else ():
        declared, memory = one["declared"], one["object"]
        narrow = declared is not None and declared.index in own and _kind(declared) in WIDER
        if narrow and memory >= 0:
            filled = uploaded(facts, memory, int(facts.launches.position[row]))
            found.append(_Given(declared, memory, int(table["size"][memory]), filled))
    return found


def _kind(declared: ArgInfo) -> str:
    """What it points to: "unsigned int" for "unsigned int const*"."""
    return declared.type.rstrip("* ").removesuffix("const").strip()


def _own_id_only(facts: Facts, row: int) -> frozenset[int]:
    """The arguments that each work-item uses at its own id, which counts from 0 where the launch has no offset."""
    kernel, info = int(facts.launches.kernel_row[row]), facts.launches.info(row)
    if any(facts.launches.offset(row)) or info is None:
        return frozenset()
    if facts.launches.by_address[row]:
        code = values_of(facts, kernel)
        return frozenset(index for index, step in code.strides.items() if step == NARROW) if code is not None else frozenset()
    names = facts.kernels.at_own_id(kernel)
    return frozenset(index for index, declared in info.args.items() if declared.name in names)


def _is_used_so_only(facts: Facts, one: _Given) -> bool:
    """Is the buffer only copied as a whole, and used by launches that use as much of it in the same way?"""
    table, objects = uses(facts), facts.objects.table
    if (objects["parent"] == one.object).any():
        return False
    mine = table[table["object"] == one.object]
    copies, launches = mine[mine["argument"] < 0], mine[mine["argument"] >= 0]
    if len(mine) > MOST_USES or not all(int(c["begin"]) == 0 and int(c["end"]) == one.size for c in copies):
        return False
    if launches["begin"].any():
        return False
    return all(_uses_half(facts, int(use["position"]), int(use["argument"]), one.size // WIDE) for use in launches)


def _uses_half(facts: Facts, position: int, argument: int, count: int) -> bool:
    row = facts.launches.at_position(position)
    if row is None or count not in counts(facts, row):
        return False
    info = facts.launches.info(row)
    declared = info.args.get(argument) if info else None
    return declared is not None and declared.element == NARROW and declared.index in _own_id_only(facts, row)


# ---- what was uploaded ----


def _by_content(facts: Facts) -> Iterator[Finding]:
    """One finding per kernel and argument: of the first launch that is given the upload."""
    seen: set[tuple[str, int]] = set()
    for upload, words in contents(facts):
        if not looks_double(words):
            continue
        for position, argument, memory in _given_to(facts, upload):
            row = facts.launches.at_position(position)
            info = facts.launches.info(row) if row is not None else None
            declared = info.args.get(argument) if info else None
            key = (facts.launches.name(row) if row is not None else "", argument)
            if row is None or declared is None or declared.type.rstrip("* 234816") != "float" or key in seen:
                continue
            seen.add(key)
            yield _of_content(facts, row, declared, memory, upload, words)


def _whole_numbers(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and argument that is declared as int and was given longs."""
    seen: set[tuple[str, int]] = set()
    for upload, words in contents(facts):
        for position, argument, memory in _given_to(facts, upload) if looks_long(words) else ():
            row = facts.launches.at_position(position)
            info = facts.launches.info(row) if row is not None else None
            declared = info.args.get(argument) if info else None
            if row is None or declared is None or _kind(declared) not in NUMPY or _kind(declared) == "float":
                continue
            key = (facts.launches.name(row), argument)
            if key in seen or not _counts_as_long(facts, row, int(facts.objects.table["size"][memory])):
                continue
            seen.add(key)
            yield _of_longs(facts, run, row, declared, memory, upload, words)


def looks_long(words: NDArray[np.uint64]) -> bool:
    """Are all words small whole numbers of 8 bytes, several of them different?"""
    return len(words) >= LEAST_LONGS and bool((words < np.uint64(1 << 31)).all()) and len(np.unique(words)) >= LEAST_LONGS


def _counts_as_long(facts: Facts, row: int, size: int) -> bool:
    """Does the launch have a number that is the count of the elements of 8 bytes, or one less, and none of those of 4 bytes?"""
    known = {number for number in facts.launches.geometry(row)[0] if number > 1}
    for one in facts.launches.values(row):
        if one["object"] < 0 and one["declared"] is not None and "*" not in one["declared"].type and len(one["bytes"]) in (4, 8):
            known.add(int.from_bytes(one["bytes"], "little"))
    known |= {number + 1 for number in known}
    return size % WIDE == 0 and size // WIDE in known and size // NARROW not in known


def _of_longs(
    facts: Facts, run: Run, row: int, declared: ArgInfo, memory: int, upload: int, words: NDArray[np.uint64]
) -> Finding:
    site, filled = facts.sites.at(int(facts.launches.position[row]), argument=declared.index), facts.sites.at(upload)
    size, kind = int(facts.objects.table["size"][memory]), _kind(declared)
    first = ", ".join(f"{int(one):,}" for one in words[:LONGS_SHOWN])
    name, where = f"`{declared.name}`", f" at {filled.source.rpartition('/')[2]}" if filled.source else ""
    failed = run.outcome.kind == "exit" and first_report(facts) is None
    return _wider(
        facts,
        declared,
        memory,
        (site, filled),
        severity="error" if failed else "warning",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) reads argument {declared.index} {name} as {kind}, and {filled.call}{where} "
            f"uploaded elements of 8 bytes: as {kind}, every second one is 0."
        ),
        evidence=(
            Evidence(f"as whole numbers of 8 bytes, the upload begins with {first}", (filled.number,)),
            Evidence(f"{facts.objects.label(memory)} has {size:,} bytes, {size // WIDE:,} x {WIDE}, which a number of the launch asks for"),
        ),
        because=LONGS,
        steps=(f"Convert {name} to {kind} before the upload (numpy: `array.astype({NUMPY[kind]})`), or declare `{WIDER[kind]} *`.",),
    )


def looks_double(words: NDArray[np.uint64]) -> bool:
    """Are all words ordinary doubles, and many of their halves no ordinary floats? Pairs of a small integer and a float are no noise."""
    values, low = words.view(np.float64), (words & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    if len(words) < LEAST // 2 or not np.isfinite(values).all() or (low < SMALL).mean() > 0.5:
        return False
    sizes = np.abs(values[values != 0])
    plausible = len(sizes) >= len(values) // 2 and bool(((sizes > LOWEST) & (sizes < HIGHEST)).all())
    return plausible and bool(_is_odd(words).mean() >= 0.25) and len(np.unique(low)) > len(low) // 3


def _is_odd(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Words whose lower half is no ordinary float."""
    floats = np.abs((words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32).astype(np.float64))
    return ~np.isfinite(floats) | ((floats != 0) & ((floats < LOWEST) | (floats > HIGHEST)))


def _given_to(facts: Facts, upload: int) -> Iterator[tuple[int, int, int]]:
    """Launches that are the first to use what a call uploaded: position, argument, buffer."""
    table, objects = uses(facts), facts.objects.table
    filled = {int(one) for one in table["object"][(table["position"] == upload) & ((table["how"] & WRITE) != 0)]}
    filled |= {int(one) for one in np.flatnonzero((objects["born"] == upload) & (objects["host_ptr"] != 0))}
    for memory in filled:
        later = table[(table["object"] == memory) & (table["position"] > upload)]
        for use in later[:1]:
            if use["argument"] >= 0:
                yield int(use["position"]), int(use["argument"]), memory


def _of_content(facts: Facts, row: int, declared: ArgInfo, memory: int, upload: int, words: NDArray[np.uint64]) -> Finding:
    site, filled = facts.sites.at(int(facts.launches.position[row]), argument=declared.index), facts.sites.at(upload)
    size, odd = int(facts.objects.table["size"][memory]), np.flatnonzero(_is_odd(words))[:SHOWN]
    halves = (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    shown = [", ".join(f"{one:.4g}" for one in some[odd]) for some in (words.view(np.float64), halves)]
    name, where = f"`{declared.name}`", f" at {filled.source.rpartition('/')[2]}" if filled.source else ""
    return _wider(
        facts,
        declared,
        memory,
        (site, filled),
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) reads argument {declared.index} {name} as float, and {filled.call}{where} "
            f"uploaded doubles: the data makes sense as 8-byte numbers ({shown[0]}), not as 4-byte ones ({shown[1]})."
        ),
        evidence=(
            Evidence(f"{filled.call}{where} filled {facts.objects.label(memory)}, which has {size:,} bytes: {size // WIDE:,} x {WIDE}"),
            Evidence(f"{len(words)} words of the upload were kept, and all of them are ordinary doubles", (filled.number,)),
        ),
        because=BY_CONTENT,
        steps=(f"Convert {name} to float before the upload (numpy: `array.astype(np.float32)`), or declare `double *` in the kernel.",),
    )


def _wider(facts: Facts, declared: ArgInfo, memory: int, sites: tuple[Site, Site], **said: Any) -> Finding:
    """What the words of an upload show. `sites`: of the launch, and of the upload, which is what to change."""
    site, filled = sites
    return Finding(
        id=ID,
        site=site,
        others=(filled,),
        allocation=allocation_of(facts, memory),
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        root=filled,
        facts=(("kernel", site.kernel or "?"), ("arguments", str(declared.index))),
        **said,
    )


# ---- words ----


def _finding(facts: Facts, run: Run, row: int, count: int, halved: list[_Given], others: list[_Given]) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]), argument=halved[0].argument.index)
    kind = _kind(halved[0].argument)
    numpy = f" (numpy: `array.astype({NUMPY[kind]})`)" if "python" in os.path.basename(facts.trace.exe) else ""
    names = several([one.label for one in halved])
    uploads = [facts.sites.at(one.uploaded) for one in halved if one.uploaded is not None]
    failed = run.outcome.kind == "exit" and first_report(facts) is None  # it makes no access fail
    return Finding(
        id=ID,
        severity="error" if failed else "warning",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) reads {names} as {kind}, 4 bytes per element, and the program uploaded 8 bytes "
            f"for each of the {count:,} elements, as for {WIDER[kind]}: the kernel reads only the first half."
        ),
        evidence=tuple(_evidence(site, count, halved, others, uploads, "thread" if facts.launches.by_address[row] else "work-item")),
        site=site,
        others=tuple(uploads),
        allocation=allocation_of(facts, halved[0].object),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("arguments", ",".join(str(one.argument.index) for one in halved))),
        because=BECAUSE,
        root=uploads[0],
        steps=(
            f"Convert the data of {names} to {kind} before the upload{numpy}, or declare `{WIDER[kind]} *`.",
        ),
    )


def _evidence(
    site: Site, count: int, halved: list[_Given], others: list[_Given], uploads: list[Site], who: str
) -> Iterator[Evidence]:
    for one, upload in zip(halved, uploads, strict=True):
        where = f" at {upload.source}" if upload.source else ""
        yield Evidence(
            f"{upload.call}{where} filled all {one.size:,} bytes of {one.place}: {count:,} x {WIDE}",
            (upload.number,),
        )
    used = f"each {who} uses the element of its own global id"
    yield Evidence(f"{used}, so the kernel reads {count:,} x {NARROW} = {count * NARROW:,} bytes", (site.number,))
    for one in (one for one in others if one.size == NARROW * count):
        yield Evidence(f"{one.place} has {one.size:,} bytes: {count:,} x {NARROW}", (site.number,))
