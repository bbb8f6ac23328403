"""A kernel argument kept the value of an earlier launch, although the program had moved on to other data.

Kernel objects keep their arguments: what is not set again is passed again (OpenCL 3.0 API specification, clSetKernelArg). A program
that sets some arguments before each launch, and one only before the first, uses the first buffer, or the first size, every
time.

Example:

    for (int i = 0; i < 3; i++) {
        clSetKernelArg(gather, 0, sizeof(cl_mem), &table[i].source);
        if (i == 0)
            clSetKernelArg(gather, 1, sizeof(cl_mem), &table[i].result);  // result 0 each time
        clEnqueueNDRangeKernel(queue, gather, 1, NULL, &n, NULL, 0, NULL, NULL);
    }

Fix it by setting the argument before each launch that needs another value.

These cases are reported; the first four only for runs that failed:

- The argument was set for most launches. Each time that it was not, another buffer, created by the same line with the same size right
  after the one that was passed again, had been filled by the host and was never used.
- The program reads back a buffer that nothing wrote and no launch was passed. The kernel, whose other buffers were set again, was
  passed another buffer in each launch, created by the same line with the same size.
- A number that was set once is the number of elements of the earlier writes to a buffer. The write before a later launch had fewer
  elements, and the kernel is passed the old number.
- A number that was set once has the name of another kernel's parameter, which the program sets anew for each of that kernel's launches:
  `shift` of `count` is 0, 4 and 8, and `shift` of `scatter`, launched after it, stays 0. That the two are meant to be the same is not
  shown, so this is only a lead, unless checks inside kernels report that an index computed from the number goes wrong.
- The host swaps two buffers after each launch, and set their arguments once. All launches are passed the same buffers, and none of them
  reads what it wrote, so each computes the same again. It is reported as likely if the program reads back the buffer that the launches
  only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._words import argument, placed, site_of
from gpudx.detectors.forgotten_buffer import filled_and_unused
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.kept_arguments import Behind, Kept, behind, kept
from gpudx.facts.objects import KINDS
from gpudx.facts.set_arguments import set_at
from gpudx.facts.siblings import siblings
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import capital, listed, plural, several

ID = "stale-argument"
NEEDS_EVERY_CALL = NEEDS_EVERY_WRITE = True
CAUSE = Cause(
    id=ID,
    title="A kernel argument kept the value of an earlier launch",
    refutes_if="The failure remains with the argument set before each launch.",
    fix=("Set the argument before each launch that needs another value, or use a kernel object of its own for each value.",),
    predicts=(("recorded", "an argument is set before the first launch only, and its neighbours before each launch"),),
    kind=FIXED,
)
LEAST = 16  # bytes of a write: smaller numbers agree by chance
LEAST_REPEATED = 3
SHOWN = 4  # numbers in one sentence
SAME_AGAIN = "All launches after the first compute what is there already; that the program meant to swap its buffers is not shown."
NEVER_WRITTEN = "The program read back a buffer that nothing wrote, and the kernel was passed the same other buffer in each launch."
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per argument."""
    known = chain(_skipped(facts), _buffers(facts), _numbers(facts), _names(facts)) if run.failed else ()
    yield from islice(chain(known, _repeated(facts)), MOST)


# ---- buffers ----


@dataclass(frozen=True)
class _Skipped:
    """A launch (a row of Launches) that was passed a buffer of the launch before, and the buffers that were made right after that one."""

    launch: int
    passed: int
    missed: int


def _skipped(facts: Facts) -> Iterator[Finding]:
    forgotten = filled_and_unused(facts)
    if not len(forgotten):
        return
    launches, args = facts.launches, facts.launches.arguments
    functions = facts.kernels.functions(launches.kernel_row)
    rows = np.flatnonzero((launches.status == 0) & ~launches.by_address & (functions >= 0))
    for function in np.unique(functions[rows]).tolist():
        mine = rows[functions[rows] == function]
        passed = np.isin(args.launch, mine) & (args.object >= 0)
        for index in np.unique(args.index[passed]).tolist() if len(mine) >= LEAST_REPEATED else ():
            found = list(_kept_once(facts, mine, index, forgotten))
            if found and 2 * len(found) < len(mine) and len({one.missed for one in found}) == len(found):
                yield _skipped_finding(facts, found, index, len(mine))


def _kept_once(facts: Facts, rows: I64, index: int, forgotten: I64) -> Iterator[_Skipped]:
    """Launches before which this argument was not set again, if each has a forgotten buffer of its own; none where one has not."""
    args, born, found = facts.launches.arguments, facts.objects.table["born"], []
    given = {int(args.launch[at]): int(args.object[at]) for at in np.flatnonzero((args.index == index) & np.isin(args.launch, rows))}
    for before, row in pairwise(rows.tolist()):
        set_ = set_at(facts, row, index)
        if set_ is None or set_ > facts.launches.position[before]:
            continue
        passed = given.get(row, -1)
        others = siblings(facts, passed) if passed >= 0 else np.zeros(0, np.int64)
        later = others[born[others] > born[passed]] if len(others) else others
        missed = int(later[np.argmin(born[later])]) if len(later) else -1
        if missed not in forgotten:
            return
        found.append(_Skipped(row, passed, missed))
    yield from found


def _skipped_finding(facts: Facts, found: list[_Skipped], index: int, count: int) -> Finding:
    launches, first = facts.launches, found[0]
    kernel, name = int(launches.kernel_row[first.launch]), launches.name(first.launch)
    site = facts.sites.at(int(launches.position[first.launch]), argument=index)
    position = set_at(facts, first.launch, index)
    setter = facts.sites.at(position, argument=index) if position is not None else site
    labels = several([facts.objects.label(one.missed) for one in found])
    numbers = listed([str(one.launch + 1) for one in found[:SHOWN]])
    made = facts.sites.at(int(facts.objects.table["born"][first.missed]))
    one = len(found) == 1
    was, what = "was" if one else "were", argument(facts, kernel, index)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{'Launch' if one else 'Launches'} {numbers} of kernel {name} {was} passed {what} of the launch before: nothing set it again. "
            f"{capital(labels)}, which the program filled, {was} never used."
        ),
        evidence=(
            Evidence(f"argument {index} was set anew for the other {count - len(found):,} launches of {name}", (setter.number,)),
            Evidence(
                f"{facts.objects.label(first.missed)} was created by {placed(made)} right after {facts.objects.label(first.passed)}, with "
                "the same size, and no command uses it",
                (made.number,),
            ),
        ),
        site=site,
        others=(setter, made),
        allocation=allocation_of(facts, first.missed),
        certainty="observed",
        attribution="probable",
        because="The trace shows buffers that were filled for nothing, and as many launches that were passed the buffer of the one before.",
        causes=(ID,),
        root=setter,
        steps=(f"Set argument {index} before each launch: compare the buffer too where calls are skipped that would set the same value.",),
        facts=(("kernel", name), ("argument", str(index))),
    )


def _buffers(facts: Facts) -> Iterator[Finding]:
    forgotten = _read_and_never_written(facts)
    if not len(forgotten):
        return
    args = facts.launches.arguments
    for one in kept(facts):
        row, kernel = int(one.launches[0]), int(facts.launches.kernel_row[one.launches[0]])
        mine = np.flatnonzero((args.launch == row) & (args.index == one.index) & (args.object >= 0))
        read_only = facts.launches.declared.get("read_only", np.array([kernel]), np.array([one.index]))[0]
        if not len(mine) or read_only or not _has_new_buffers(facts, one):
            continue
        passed = int(args.object[mine[0]])
        missed = siblings(facts, passed)
        missed = missed[np.isin(missed, forgotten)]
        if len(missed):
            yield _stale_buffer(facts, one, passed, missed)


def _read_and_never_written(facts: Facts) -> I64:
    """Buffers that the program reads back, and that no launch was passed and no copy, fill or map wrote."""
    table, objects = uses(facts), facts.objects.table
    written = table["object"][(table["argument"] >= 0) | ((table["how"] & WRITE) != 0)]
    fresh = (objects["kind"] == KINDS.index("buffer")) & (objects["host_ptr"] == 0)
    read = np.unique(table["object"])
    return read[fresh[read] & ~np.isin(read, written)]


def _has_new_buffers(facts: Facts, one: Kept) -> bool:
    """Was another argument set to different memory for the later launches?"""
    args = facts.launches.arguments
    mine = np.isin(args.launch, one.launches) & np.isin(args.index, one.renewed) & (args.object >= 0)
    return any(len(np.unique(args.object[mine & (args.index == index)])) > 1 for index in one.renewed)


def _stale_buffer(facts: Facts, one: Kept, passed: int, missed: I64) -> Finding:
    launches, table = facts.launches, uses(facts)
    kernel, name = int(launches.kernel_row[one.launches[0]]), launches.name(int(one.launches[0]))
    setter, what = site_of(facts, one.setter), argument(facts, kernel, one.index)
    reads = table["position"][np.isin(table["object"], missed)]
    read, later = facts.sites.at(int(reads[0])), facts.sites.at(int(launches.position[one.launches[1]]), argument=one.index)
    labels = several([facts.objects.label(row) for row in missed.tolist()])
    never = "was never passed to a launch" if len(missed) == 1 else "were never passed to a launch"
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {name} was passed {facts.objects.label(passed)} as {what} in all {len(one.launches):,} launches: {placed(setter)} set "
            f"it before the first one, and nothing set it again. {capital(labels)}, which the program reads back, {never}."
        ),
        evidence=(
            Evidence(f"{_arguments(one.renewed)} set again after the first launch, argument {one.index} was not", (setter.number,)),
            Evidence(f"{placed(read)} reads back {facts.objects.label(int(missed[0]))}, which nothing wrote", (read.number,)),
            Evidence(
                f"{plural(len(missed) + 1, 'buffer')} of {int(facts.objects.table['size'][passed]):,} bytes "
                f"were created by one line, and only {facts.objects.label(passed)} was passed to {name}",
                (later.number,),
            ),
        ),
        site=setter,
        others=(later, read),
        allocation=allocation_of(facts, int(missed[0])),
        certainty="observed",
        because=NEVER_WRITTEN,
        causes=(ID,),
        facts=(("kernel", name), ("argument", str(one.index))),
    )


def _arguments(indices: tuple[int, ...]) -> str:
    one = len(indices) == 1
    return f"argument{'' if one else 's'} {several([str(index) for index in indices])} {'was' if one else 'were'}"


# ---- numbers ----


def _numbers(facts: Facts) -> Iterator[Finding]:
    for one in kept(facts):
        first = int(one.launches[0])
        values = {int(value["index"]): value for value in facts.launches.values(first)}
        data, found = bytes(values[one.index]["bytes"]) if one.index in values else b"", False
        if len(data) not in (4, 8) or int(values[one.index]["object"]) >= 0:
            continue
        number = int.from_bytes(data, "little")
        for index, value in values.items():
            element = value["declared"].element if value["declared"] else None
            if int(value["object"]) >= 0 and element and number * element >= LEAST and not found:
                short = _short_write(facts, one, int(value["object"]), number * element)
                found = short is not None
                if short is not None:
                    yield _stale_number(facts, one, index, number, element, short)


def _short_write(facts: Facts, one: Kept, obj: int, full: int) -> tuple[int, int, int] | None:
    """(write, its bytes, launch) of the first launch whose buffer the host wrote only in part since the launch before, where it had
    written `full` bytes for each launch until then. All of it must come from the host."""
    table = uses(facts)
    writes = table[(table["object"] == obj) & (table["argument"] < 0) & ((table["how"] & WRITE) != 0)]
    since = -1
    for count, row in enumerate(one.launches.tolist()):
        position = int(facts.launches.position[row])
        mine = writes[(writes["position"] > since) & (writes["position"] < position)]
        since = position
        if len(mine) != 1 or int(mine["begin"][0]):
            return None
        size = int(mine["end"][0])
        if size < full:
            return (int(mine["position"][0]), size, row) if count else None
        if size > full:
            return None
    return None


def _stale_number(facts: Facts, one: Kept, index: int, number: int, element: int, short: tuple[int, int, int]) -> Finding:
    position, size, row = short
    kernel, name = int(facts.launches.kernel_row[row]), facts.launches.name(row)
    setter, write = site_of(facts, one.setter), facts.sites.at(position)
    launch = facts.sites.at(int(facts.launches.position[row]), argument=one.index)
    what, memory = argument(facts, kernel, one.index), argument(facts, kernel, index)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {name} (launch {launch.launch}) was passed {number:,} as {what}, but {placed(write)} had written only "
            f"{size // element:,} elements of {memory} for it: the rest is from the launch before. {placed(setter)} set the number before "
            "the first launch, and nothing set it again."
        ),
        evidence=(
            Evidence(f"the writes before the earlier launches had {number * element:,} bytes = {number:,} x {element}"),
            Evidence(
                f"the write before launch {launch.launch} has {size:,} bytes: {number * element - size:,} bytes are old", (write.number,)
            ),
        ),
        site=launch,
        others=(setter, write),
        causes=(ID,),
        facts=(("kernel", name), ("argument", str(one.index))),
    )


# ---- numbers of one name ----


def _names(facts: Facts) -> Iterator[Finding]:
    """Only a lead: that the two numbers are meant to be the same is not shown."""
    yield from (_left_behind(facts, one) for one in behind(facts))


def _left_behind(facts: Facts, one: Behind) -> Finding:
    launches, rows = facts.launches, one.kept.launches
    kernel, name = int(launches.kernel_row[rows[0]]), launches.name(int(rows[0]))
    setter = site_of(facts, one.kept.setter)
    launch = facts.sites.at(int(launches.position[rows[1]]), argument=one.kept.index)
    other = facts.sites.at(int(launches.position[one.others[1][0]]), argument=one.other_argument)
    numbers = listed([f"{number:,}" for _, number in one.others[1 : SHOWN + 1]])
    return Finding(
        id=ID,
        severity="warning",
        message=(
            f"Kernel {name} was passed {one.number:,} as {argument(facts, kernel, one.kept.index)} in all {len(rows):,} launches:"
            f" {placed(setter)} set it before the first one, and nothing set it again. Kernel {one.other}, which is launched in turn with"
            f" it and works on the same buffer, was passed {numbers} as `{one.name}` after that."
        ),
        evidence=(
            Evidence(f"the first launches of both were passed {one.number:,}, and no later one of {one.other} was", (other.number,)),
        ),
        site=setter,
        others=(launch, other),
        causes=(ID,),
        steps=(f"Set argument {one.kept.index} of {name} before each launch, if `{one.name}` means the same in both kernels.",),
        facts=(("kernel", name), ("argument", str(one.kept.index))),
    )


# ---- buffers that are exchanged on the host only ----


def _repeated(facts: Facts) -> Iterator[Finding]:
    """A program that measures a kernel launches it again and again, too, but reads back what it wrote."""
    for one in kept(facts):
        if len(one.launches) < LEAST_REPEATED or one.renewed:
            continue
        found = _pair(facts, one)
        last = int(facts.launches.position[one.launches[-1]])
        if found is None or one.index != found[0] or _is_written_by_a_launch(facts, found[2]):
            continue
        if _is_read_back(facts, found[2], last):
            yield _same_again(facts, one, found)


def _pair(facts: Facts, one: Kept) -> tuple[int, int, int, int] | None:
    """The arguments, and their buffers, that the launches read and write: of one type and size, so that they can be exchanged. Nothing else
    writes what the launches read from the first of them to the last."""
    row, launches = int(one.launches[0]), facts.launches
    kernel, only_written = int(launches.kernel_row[row]), facts.kernels.only_written(int(launches.kernel_row[row]))
    given = [value for value in launches.values(row) if int(value["object"]) >= 0 and value["declared"] is not None]
    written = [value for value in given if value["declared"].name in only_written]
    read = [value for value in given if value["declared"].read_only or facts.kernels.only_reads(kernel, int(value["index"]))]
    objects, table = facts.objects.table, uses(facts)
    if not written or len(written) + len(read) < len(given) or {v["object"] for v in written} & {v["object"] for v in read}:
        return None
    first, last = int(launches.position[row]), int(launches.position[one.launches[-1]])
    between = table[(table["position"] > first) & (table["position"] < last) & ((table["how"] & WRITE) != 0)]
    if np.isin(between["object"], [int(value["object"]) for value in read]).any():
        return None
    pairs = [
        (int(a["index"]), int(b["index"]), int(a["object"]), int(b["object"]))
        for a in read
        for b in written
        if a["declared"].type.replace("const", "").split() == b["declared"].type.split()
        and objects["size"][a["object"]] == objects["size"][b["object"]]
    ]
    return pairs[0] if len(pairs) == 1 else None


def _is_written_by_a_launch(facts: Facts, obj: int) -> bool:
    table = uses(facts)
    return bool(((table["object"] == obj) & (table["argument"] >= 0) & ((table["how"] & WRITE) != 0)).any())


def _is_read_back(facts: Facts, obj: int, after: int) -> bool:
    table, trace = uses(facts), facts.trace
    later = table["position"][(table["object"] == obj) & (table["position"] > after) & (table["argument"] < 0)]
    reads = np.array([bool(call.maps) or (bool(call.reads) and bool(call.host)) for call in trace.schema.calls])
    return bool(reads[trace.call[later]].any())


def _same_again(facts: Facts, one: Kept, pair: tuple[int, int, int, int]) -> Finding:
    launches, (source, target, read, written) = facts.launches, pair
    kernel, name = int(launches.kernel_row[one.launches[0]]), launches.name(int(one.launches[0]))
    setter, launch = site_of(facts, one.setter), facts.sites.at(int(launches.position[one.launches[1]]), argument=source)
    first, second = argument(facts, kernel, source), argument(facts, kernel, target)
    evidence = (
        Evidence(f"the program reads back {facts.objects.label(read)}, which no launch wrote"),
        Evidence(f"all {len(one.launches):,} launches were passed {facts.objects.label(read)} as {first}, and nothing wrote it in between"),
        Evidence(f"each of them wrote {facts.objects.label(written)}, {second}, which the kernel does not read", (launch.number,)),
    )
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {name} was launched {len(one.launches):,} times with the same arguments, so that each launch computes the same as the "
            f"first: {placed(setter)} set {first} once, and it was never swapped with {second}."
        ),
        evidence=evidence,
        site=setter,
        others=(launch,),
        allocation=allocation_of(facts, read),
        certainty="observed",
        attribution="probable",
        because=SAME_AGAIN,
        causes=(ID,),
        steps=(f"If the buffers are swapped after each launch, set arguments {source} and {target} again before the next one.",),
        facts=(("kernel", name), ("argument", str(source))),
    )
