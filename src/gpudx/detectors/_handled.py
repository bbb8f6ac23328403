"""Refused work that the program dealt with: another call did it, or nothing uses what it should have left behind.

Programs try what a device can do. A refusal that is followed by the same work in another way, or whose result nobody reads, explains no
failure by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import MAY, RANGE, READ, WRITE
from gpudx.facts.given_memory import uses

MOST_TRIES = 64  # launches that are compared
REPEATED = 3  # launches of the same sizes, all refused, that a program makes only if it does not look at their status


def launch_dealt_with(facts: Facts, row: int) -> bool:
    """Was a refused launch only a try? Launches went on without it, or had been taken before while others were refused, and nothing that it
    should have written was used. Of a launch without memory that is known, nobody knows what it should have written."""
    launches = facts.launches
    if not should_write(facts, row):
        return False
    later = bool(((launches.position > launches.position[row]) & (launches.status == 0)).any())
    return (later or (_tried_otherwise(facts, row) and was_done_before(facts, row))) and not is_missed(facts, row)


def is_one_size_of_many(facts: Facts, row: int) -> bool:
    """Of a program that passed: was a launch of this kernel taken in other sizes, and is nothing used that the refused one should have
    written? So do programs that look for the fastest sizes, whatever else they pass with each."""
    taken = facts.launches.status == 0
    return _is_in_other_sizes(facts, row, taken) and bool(should_write(facts, row)) and not is_missed(facts, row)


def was_done(facts: Facts, row: int) -> bool:
    """Did the program launch it again with the same arguments, and was that taken? So do programs that look for the largest group."""
    launches = facts.launches
    again = np.flatnonzero(_of_its_name(facts, row) & (launches.position > launches.position[row]) & (launches.status == 0))
    return any(_same_given(facts, row, int(other)) for other in again[:MOST_TRIES])


def was_done_before(facts: Facts, row: int) -> bool:
    """Had a launch of it with the same arguments been taken, with other sizes, and did nothing else write its memory in between? So do
    programs that measure which sizes are fastest: the last ones that they try may be too large."""
    launches, position = facts.launches, int(facts.launches.position[row])
    mine = _of_its_name(facts, row)
    before = np.flatnonzero(mine & (launches.position < position) & (launches.status == 0))[-MOST_TRIES:]
    same = [int(one) for one in before if _same_given(facts, row, int(one))]
    if not same:
        return False
    first, table = int(launches.position[same[0]]), uses(facts)
    memory = [int(one["object"]) for one in launches.values(row) if one["object"] >= 0]
    between = table[(table["position"] > first) & (table["position"] < position) & ((table["how"] & WRITE) != 0)]
    others = ~np.isin(between["position"], launches.position[mine])
    return not np.isin(between["object"][others], memory).any()


def _tried_otherwise(facts: Facts, row: int) -> bool:
    """Was another launch of it refused, with other sizes? So do programs that try one size after the other."""
    return _is_in_other_sizes(facts, row, facts.launches.status != 0)


def _is_in_other_sizes(facts: Facts, row: int, among: NDArray[np.bool_]) -> bool:
    """Has one of these launches of the same kernel other sizes?"""
    launches, mine = facts.launches, facts.launches.geometry(row)
    others = np.flatnonzero(_of_its_name(facts, row) & among)[:MOST_TRIES]
    return any(launches.geometry(int(one)) != mine for one in others)


def _of_its_name(facts: Facts, row: int) -> NDArray[np.bool_]:
    """The launches of a kernel with this name: who tries sizes that are constants of the source builds it anew for each."""
    functions = facts.kernels.functions(facts.launches.kernel_row)
    return np.isin(functions, facts.kernels.named(facts.launches.name(row)))


def _same_given(facts: Facts, row: int, other: int) -> bool:
    return _given(facts, row) == _given(facts, other)


def _given(facts: Facts, row: int) -> list[bytes]:
    """Its arguments, but for the sizes of local memory, which go with the size of the group."""
    local = facts.trace.schema.argument_flags.get("local", 0)
    return [argument["bytes"] for argument in facts.launches.values(row) if not argument["flags"] & local]


# ---- launches: is their result missed? ----


def is_missed(facts: Facts, row: int) -> bool:
    """Was memory that a refused launch should have written, also inside structures, used before anything else wrote it, or is it one of
    many that the program made without looking at their status?"""
    return any(_is_used(facts, row, root) for root in should_write(facts, row)) or _goes_unnoticed(facts, row)


def _goes_unnoticed(facts: Facts, row: int) -> bool:
    """Was every launch of the kernel refused, again and again with the same sizes, with nothing done in its place, and what it should have
    written read? Another kernel may write a part of it in between."""
    launches, mine = facts.launches, _of_its_name(facts, row)
    position, shape = int(launches.position[row]), launches.geometry(row)
    same = [one for one in np.flatnonzero(mine)[:MOST_TRIES] if launches.geometry(int(one)) == shape]
    if (mine & (launches.status == 0)).any() or len(same) < REPEATED:
        return False
    others = np.flatnonzero(~mine & (launches.status == 0) & (launches.position > position))[:MOST_TRIES]
    if not len(others) or any(_memory(facts, row) <= _memory(facts, int(one)) for one in others):
        return False
    return any(_is_read_unreplaced(facts, position, root, launches.position[mine]) for root in should_write(facts, row))


def _memory(facts: Facts, row: int) -> set[int]:
    return {facts.writers.root(int(one["object"]))[0] for one in facts.launches.values(row) if one["object"] >= 0}


def _is_read_unreplaced(facts: Facts, position: int, root: int, refused: NDArray[np.int64]) -> bool:
    """Is memory read later by anything but the launches that were refused, without a copy or fill of all of it before?"""
    table = uses(facts)
    later = table[(table["object"] == root) & (table["position"] > position) & ~np.isin(table["position"], refused)]
    whole = (later["argument"] < 0) & ((later["how"] & (READ | MAY)) == 0) & (later["begin"] == 0)
    whole &= later["end"] >= np.uint64(facts.objects.table["size"][root])
    reads = (later["how"] & READ) != 0
    first = int(later["position"][whole][0]) if whole.any() else None
    return bool((reads if first is None else reads & (later["position"] < first)).any())


def should_write(facts: Facts, row: int) -> set[int]:
    """Rows of Objects: what it was given, but for what its kernel only reads."""
    launches, kernel = facts.launches, int(facts.launches.kernel_row[row])
    found = set()
    for one in launches.values(row):
        read = (one["declared"] is not None and one["declared"].read_only) or facts.kernels.only_reads(kernel, int(one["index"]))
        if int(one["object"]) >= 0 and not read:
            found.add(int(one["object"]))
    found |= {int(launches.pointers.object[p]) for p in launches.pointers.of(row)} - {-1}
    return {facts.writers.root(one)[0] for one in found}


def _is_used(facts: Facts, row: int, root: int) -> bool:
    """Does the first later use read it? The same launch again, and one that only writes it, do the work in its place."""
    table, position = uses(facts), int(facts.launches.position[row])
    later = table[(table["object"] == root) & (table["position"] > position)]
    if not len(later):
        return False
    first = later[later["position"] == later["position"][0]]
    launch = facts.launches.at_position(int(first["position"][0]))
    if launch is not None and (_is_again(facts, row, launch) or all(_only_writes(facts, launch, int(one["argument"])) for one in first)):
        return False
    return bool(((first["how"] & READ) != 0).any())


def _is_again(facts: Facts, row: int, launch: int) -> bool:
    return bool(_of_its_name(facts, row)[launch]) and _same_given(facts, row, launch)


def _only_writes(facts: Facts, launch: int, argument: int) -> bool:
    kernel = int(facts.launches.kernel_row[launch])
    info = facts.launches.info(launch)
    known = info.args.get(argument) if info else None
    return known is not None and known.name in facts.kernels.only_written(kernel)


# ---- copies and fills ----


def copy_dealt_with(facts: Facts, position: int) -> bool:
    """Of a refused copy, fill or read: nothing reads what it should have written; or what it should have read to the host, or the beginning
    of it, was read by a later one."""
    info = facts.trace.info(position)
    if info.writes and not info.maps:
        span = _span(facts, position, info.writes)
        return span is not None and not _is_read_later(facts, position, *span)
    span = _span(facts, position, info.reads) if info.reads and info.host else None
    return span is not None and _is_read_again(facts, position, *span)


def first_read(facts: Facts, position: int) -> int | None:
    """The first command that reads memory which a refused copy or fill should have written."""
    info = facts.trace.info(position)
    span = _span(facts, position, info.writes) if info.writes and not info.maps else None
    if span is None:
        return None
    table, (root, begin, end) = uses(facts), span
    later = table[(table["object"] == root) & (table["position"] > position) & ((table["how"] & READ) != 0)]
    later = later[(later["begin"] < np.uint64(end)) & (later["end"] > np.uint64(begin))]
    return int(later["position"][0]) if len(later) else None


def _span(facts: Facts, position: int, text: str) -> tuple[int, int, int] | None:
    """The object whose memory it is (a row), and the bytes in it."""
    match, words = RANGE.fullmatch(text), facts.trace.record(position)
    if match is None or match["object"] not in words:
        return None
    row = int(facts.objects.live_at(np.array([words[match["object"]]], np.uint64), np.array([position], np.int64))[0])
    if row < 0 or facts.objects.kind(row) not in ("buffer", "subbuffer"):
        return None
    offset, size = words.get(match["offset"] or "", 0), words.get(match["size"] or "", 0)
    root, (begin, end) = facts.writers.span(row, offset, size)
    return root, begin, end


def _is_read_later(facts: Facts, position: int, root: int, begin: int, end: int) -> bool:
    """Does something read a byte of it before a copy or fill has written all of it?"""
    table = uses(facts)
    later = table[(table["object"] == root) & (table["position"] > position)]
    later = later[(later["begin"] < np.uint64(end)) & (later["end"] > np.uint64(begin))]
    whole = ((later["how"] & (READ | MAY)) == 0) & (later["begin"] <= np.uint64(begin)) & (later["end"] >= np.uint64(end))
    reads = (later["how"] & READ) != 0
    first = int(later["position"][whole][0]) if whole.any() else None
    return bool((reads if first is None else reads & (later["position"] < first)).any())


def _is_read_again(facts: Facts, position: int, root: int, begin: int, end: int) -> bool:
    table, trace = uses(facts), facts.trace
    later = table[(table["object"] == root) & (table["position"] > position) & (table["argument"] < 0)]
    later = later[(later["begin"] <= np.uint64(begin)) & (later["end"] > np.uint64(begin))]
    to_host = np.array([bool(call.reads) and bool(call.host) for call in trace.schema.calls])
    return bool(to_host[trace.call[later["position"]]].any())
