"""The diagnosis of a call that uses the wrong buffer, direction, pitch or size, or of a launch of the wrong size, once runs have shown that
the failure goes with the change."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.calls_by_line import ALL
from gpudx.facts.given_memory import uses
from gpudx.facts.last_writes import NEVER, LastWrites
from gpudx.facts.launch_sizes import grids
from gpudx.facts.pitches import HOST
from gpudx.facts.redirects import ARGUMENT, EXCHANGE, GRID, MEMORY_KIND, SIZE, Redirect, redirects
from gpudx.investigate.observed import Observed
from gpudx.model import Diagnosis, Evidence, Guilty, Site
from gpudx.text import plural

BUFFER, DIRECTION, PITCH, HOST_PITCH, ELEMENTS = "wrong-buffer", "exchanged-copy", "transfer-pitch", "row-pitch", "bytes-for-elements"
ROUNDED_DOWN = "launch-rounded-down"
SHOWN = 2
NOT_ALONE = "The failure is gone with this one change, but also with another one: which of the two is meant is not known."
REASON = "The failure is gone in every run with this one change, and comes back without it."


def diagnosis(facts: Facts, one: Observed, plain: Observed) -> Diagnosis | None:
    change = next((found for found in redirects(facts) if found.wish == one.trials[-1].note), None)
    if change is None:
        return None
    position = _shown(facts, change)
    site = _site(facts, change, position)
    cause, summary, done, fix = _says(facts, change, site)
    memory = change.others[-1][0] if change.others else -1
    return Diagnosis(
        cause=cause,
        status="confirmed",
        summary=f"{summary}.",
        guilty=Guilty.at(site, allocation_of(facts, memory)),
        victim=None,
        evidence=(
            Evidence(f"with {done}: {one.failed}", (site.number,)),
            Evidence(f"as it is: {plain.failed}"),
            *_unread(facts, change, position),
            *(_made(facts, obj) for obj in dict.fromkeys(new for _, new in change.others[:SHOWN])),
        ),
        refutes_if=every_cause()[cause].refutes_if,
        fix=(fix,),
        reason=REASON,
        observed=True,
    )


UNREAD = "no command ever reads "


def _unread(facts: Facts, change: Redirect, position: int) -> tuple[Evidence, ...]:
    """Of a copy that may go the wrong way: nothing in the run uses what it writes."""
    table = uses(facts)
    mine = table[table["position"] == position]
    targets = np.unique(mine["object"][(mine["how"] & WRITE) != 0])
    read = np.unique(table["object"][(table["how"] & READ) != 0])
    if change.kind != EXCHANGE or len(targets) != 1 or targets[0] in read:
        return ()
    writes = np.unique(table["position"][(table["object"] == targets[0]) & ((table["how"] & WRITE) != 0)])
    text = f"{UNREAD}{facts.objects.label(int(targets[0]))}, which {plural(len(writes), 'call')} copied or wrote to"
    return (Evidence(text, (position + 1,)),)


def is_explained(entry: Diagnosis) -> bool:
    """Does the record of the run itself speak for this change: a copy to what nobody uses?"""
    return any(one.text.startswith(UNREAD) for one in entry.evidence)


def _site(facts: Facts, change: Redirect, position: int) -> Site:
    """The call, with the line that leads to all the calls that were changed, and its stack no further than that."""
    site, line = facts.sites.at(position, argument=change.side if change.kind == ARGUMENT else None), change.group.line
    if ":" not in line or (change.kind == ARGUMENT and site.through and change.group.wish == ALL):
        return site
    if change.kind in (MEMORY_KIND, ARGUMENT, GRID):  # a function that passes it on is not where it was chosen
        return replace(site, source=line)
    ends = next((at for at, frame in enumerate(site.host_stack, 1) if os.path.basename(line) in frame), len(site.host_stack))
    return replace(site, source=line, host_stack=site.host_stack[:ends])


def beside(facts: Facts, entry: Diagnosis, one: Observed, rivals: Collection[str]) -> Diagnosis:
    """An entry that a change has decided, with the other changes of calls that the program has passed with, too: `rivals`, as the recorder
    was asked for them."""
    mine = next((found for found in redirects(facts) if found.wish == one.trials[-1].note), None)
    others = [found for found in redirects(facts) if found.wish in rivals and (mine is None or _is_another(found, mine))]
    if not others:
        return entry
    instead = tuple(_instead(facts, other) for other in others[:SHOWN])
    if is_explained(entry):  # what the record says for it comes before what else would do
        return replace(entry, status="likely", reason=NOT_ALONE, evidence=(*entry.evidence[:3], *instead, *entry.evidence[3:]))
    return replace(entry, status="likely", reason=NOT_ALONE, evidence=(*entry.evidence[:2], *instead, *entry.evidence[2:]))


def words(facts: Facts) -> tuple[str, ...]:
    """Of each change, in the order of redirects(facts): "source and destination exchanged at clEnqueueCopyBuffer (call 9, app.c:12)"."""
    return tuple(_in_words(facts, change) for change in redirects(facts))


def _in_words(facts: Facts, change: Redirect) -> str:
    site = facts.sites.at(_shown(facts, change))
    done = _says(facts, change, site)[2]
    return f"{done} at {site.call} (call {site.number}{_place(change)})"


def _is_another(other: Redirect, change: Redirect) -> bool:
    """Is it a change of other calls? Not where the calls of one are some of those of the other."""
    mine, theirs = set(change.group.positions), set(other.group.positions)
    return other.kind != change.kind or not (mine <= theirs or theirs <= mine)


def _instead(facts: Facts, other: Redirect) -> Evidence:
    return Evidence(f"it also passes with {_in_words(facts, other)}", (_shown(facts, other) + 1,))


def _made(facts: Facts, obj: int) -> Evidence:
    made = facts.sites.at(int(facts.objects.table["born"][obj]))
    line = f", {os.path.basename(made.source)}" if made.source else ""
    return Evidence(f"{facts.objects.label(obj)} was created by {made.call} (call {made.number}{line})", (made.number,))


def _place(change: Redirect) -> str:
    return f", {change.group.line.rpartition('/')[2]}" if ":" in change.group.line else ""


def _shown(facts: Facts, change: Redirect) -> int:
    """The call that is spoken of: the last one; of a pitch or size the first that passes it."""
    if change.grid is not None:
        return next(at for at in change.group.positions if change.grid in grids(facts, [at]))
    wanted = change.pitch or change.size
    if wanted is None:
        return change.group.positions[-1]
    given = (at for at in change.group.positions if facts.trace.record(at).get(wanted.name) == wanted.given)
    return next(given, change.group.positions[0])


def _says(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    """The cause, what happens, what was changed, and what to do."""
    says = {MEMORY_KIND: _memory, EXCHANGE: _direction, ARGUMENT: _argument, SIZE: _size, GRID: _grid}.get(change.kind, _pitch)
    return says(facts, change, site)


def _calls(site: Site, change: Redirect) -> str:
    """ "clEnqueueReadBuffer (call 71) and 3 other calls of this line" """
    others = len(change.group.positions) - 1
    beside = f" and {plural(others, 'other call')} of this line" if others else ""
    return f"{site.call} (call {site.number}){beside}"


def _written(facts: Facts, obj: int, position: int) -> str:
    """ ", which launch 29 (step) wrote" """
    at = LastWrites(facts).before(obj, position)
    if at == NEVER:
        return ", which only the host wrote" if facts.objects.table["host_ptr"][obj] else ", which nothing wrote"
    launch = facts.launches.at_position(at)
    by = f"call {at + 1}" if launch is None else f"launch {launch + 1} ({facts.launches.name(launch)})"
    return f", which {by} wrote" + (" last" if launch is None else "")


def _memory(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    position, old = site.number - 1, dict(change.others)
    new = {new: old for old, new in change.others}
    read, meant = next(((a, b) for a, b in change.others if a in old and b in new), change.others[-1])
    label = facts.objects.label
    does = ("map" if "Map" in site.call else "copy" if "Copy" in site.call else "read") + ("s" if len(change.group.positions) == 1 else "")
    if len(change.others) > 1:
        pairs = ", ".join(f"{label(b)} instead of {label(a)}" for a, b in change.others)
        told = f"{_calls(site, change)} {does} the wrong buffers: the program fails every time, and passes with {pairs}"
        return BUFFER, told, f"{pairs} in these calls", "Pass the buffer that was written last."
    told = (
        f"{_calls(site, change)} {does} {label(read)}{_written(facts, read, position)}; the program fails every time, and passes with "
        f"{label(meant)}{_written(facts, meant, position)}"
    )
    return BUFFER, told, f"{label(meant)} instead of {label(read)} in this call", f"Pass {label(meant)} to this call."


def _direction(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    word = "copies" if len(change.group.positions) == 1 else "copy"
    told = (
        f"{_calls(site, change)} {word} in the wrong direction: the program fails every time, and passes with source and destination "
        "exchanged"
    )
    return DIRECTION, told, "source and destination exchanged", "Exchange the source and the destination of this copy."


def _argument(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    (given, wanted), label = change.others[0], facts.objects.label
    told_name = site.argument_name or _declared(facts, site.number - 1, change.side)
    name = f"argument {change.side}" + (f" (`{told_name}`)" if told_name else "")
    if site.launch:
        return BUFFER, *_launched(facts, change, site, name)
    sets = "sets" if len(change.group.positions) == 1 else "set"
    told = (
        f"{_calls(site, change)} {sets} {name} of kernel {change.group.name} to {label(given)}; the "
        f"program fails every time, and passes with {label(wanted)}{_unused(facts, wanted, site)}"
    )
    return BUFFER, told, f"{label(wanted)} as {name}", f"Pass {label(wanted)} as {name}."


def _unused(facts: Facts, obj: int, site: Site) -> str:
    """Why this one is missed: nobody is passed it, or nobody reads it."""
    if obj not in facts.launches.arguments.object:
        return ", which no launch is passed"
    return f"{_written(facts, obj, site.number - 1)} and nothing reads"


def _launched(facts: Facts, change: Redirect, site: Site, name: str) -> tuple[str, str, str]:
    (given, wanted), label = change.others[0], facts.objects.label
    others = len(change.group.positions) - 1
    beside = f" and {plural(others, 'other launch', 'other launches')} of this line" if others else ""
    told = (
        f"Launch {site.launch} of kernel {site.kernel}{beside} {'are' if others else 'is'} passed {label(given)} as {name}; the program "
        f"fails every time, and passes with {label(wanted)}{_unused(facts, wanted, site)}"
    )
    return told, f"{label(wanted)} as {name}", f"Pass {label(wanted)} as {name}."


def _grid(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    grid = change.grid
    assert grid is not None
    left_out, more = grid.number - grid.groups * grid.group, plural(grid.wanted, "block")
    told = (
        f"Launch {site.launch} of kernel {site.kernel} was rounded down: {plural(grid.groups, 'block')} of {grid.group:,} threads leave "
        f"out {left_out:,} of {grid.number:,} ({grid.what}); the program fails every time, and passes with {more}"
    )
    return ROUNDED_DOWN, told, more, f"Round up: ({grid.number:,} + {grid.group - 1:,}) / {grid.group:,} blocks."


def _declared(facts: Facts, position: int, index: int) -> str:
    """The argument's name in the kernel's source."""
    row = facts.set_args.kernel_row[facts.set_args.position == position]
    info = facts.kernels.info(int(row[0])) if len(row) else None
    return info.args[index].name if info and index in info.args else ""


def _size(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    size = change.size
    assert size is not None
    one = len(change.group.positions) == 1
    done = ("fills" if one else "fill") if "Memset" in site.call else ("copies" if one else "copy")
    rows = " of each row" if size.name == "width" else ""
    told = (
        f"{_calls(site, change)} {done} {plural(size.given, 'byte')}{rows}; the program fails every time, and passes with "
        f"{size.wanted:,} bytes, which are {size.given:,} elements of {plural(size.element, 'byte')}"
    )
    fix = f"Pass the number of bytes: {size.given:,} x {size.element} = {size.wanted:,}."
    return ELEMENTS, told, f"{plural(size.wanted, 'byte')}", fix


def _pitch(facts: Facts, change: Redirect, site: Site) -> tuple[str, str, str, str]:
    pitch = change.pitch
    assert pitch is not None
    word = "uses" if len(change.group.positions) == 1 else "use"
    name = {"src_pitch": "source pitch", "dst_pitch": "destination pitch"}.get(pitch.name, pitch.name.replace("_", " "))
    wanted = f"{pitch.wanted:,}" if pitch.wanted else "0, which stands for rows without padding"
    given = f"a {name} of {pitch.now:,} bytes" if pitch.given else f"a {name} of 0, which stands for {pitch.now:,} bytes,"
    told = f"{_calls(site, change)} {word} {given}; the program fails every time, and passes with {wanted}"
    fix = f"Pass {wanted} bytes, the distance from one row to the next, as {name}." if pitch.wanted else f"Pass 0 as {name}."
    return HOST_PITCH if pitch.name in HOST else PITCH, told, f"a {name} of {pitch.wanted:,} bytes", fix
