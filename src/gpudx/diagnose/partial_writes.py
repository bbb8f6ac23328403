"""Why a checked kernel read bytes that nothing had written: a fill, write or copy that ended before them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.diagnose.access_numbers import Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.accesses import MAY, WRITE
from gpudx.model import Site
from gpudx.text import plural

DID = {"fill": "filled", "copy": "wrote"}


@dataclass(frozen=True)
class Stretch:
    begin: int
    end: int
    position: int  # of the call


def why(f: Failure) -> Why | None:
    """None where nothing was written, or where the unwritten bytes do not lie behind what was."""
    if f.kind != "uninitialized" or f.thing is None or f.thing.kind != "argument" or not f.thing.element or not f.size:
        return None
    written, may_be_kernels = _written(f)
    last = _before_the_gap(written, f.offset)
    if last is None:
        return None
    count = f.size // f.thing.element
    in_elements = last.begin == 0 and last.end == count and f.thing.element > 1
    source = _copied_from(f, last) if f.thing.element > 1 and last.begin == 0 and not in_elements else None
    if source is not None and source[1] == last.end * f.thing.element:
        return _copied_elements(f, last, source)
    if may_be_kernels and not in_elements:
        return None  # a kernel may have been meant to write the rest
    site = f.facts.sites.at(last.position)
    name, wrote = f"`{f.thing.name}`", DID.get(f.facts.trace.info(last.position).does, "wrote")
    where = f" ({_line(site)})" if site.source else ""
    if in_elements:
        text = (
            f"{site.call}{where} {wrote} {count:,} of the {f.size:,} bytes of {name}: {count:,} is its number of elements,"
            f" which have {f.thing.element} bytes each."
        )
        step = f"Pass the size in bytes to {site.call}: {count:,} x {f.thing.element} = {f.size:,}."
        return Why("read-before-write", text, (step,), site)
    calls = [one for one in written if one.begin < last.end]
    if _covers(written) != (0, last.end) or len(calls) > 1:
        return None
    text = f"{site.call}{where} {wrote} the first {plural(last.end, 'byte')} of {name} only, and it has {f.size:,}."
    step = f"Let {site.call} write all {f.size:,} bytes of {name}, or keep the kernel from reading past byte {last.end - 1:,}."
    return Why("read-before-write", text, (step,), site)


def _copied_from(f: Failure, last: Stretch) -> tuple[str, int] | None:
    """The buffer that a copy was made from, and its bytes."""
    table, objects = f.facts.accesses, f.facts.objects
    read = table["object"][(table["position"] == last.position) & ((table["how"] & WRITE) == 0) & (table["offset"] == 0)]
    return (objects.label(int(read[0])), int(objects.table["size"][read[0]])) if len(read) else None


def _copied_elements(f: Failure, last: Stretch, source: tuple[str, int]) -> Why:
    """A copy of as many bytes as the other buffer has elements."""
    assert f.thing is not None
    site, count, element = f.facts.sites.at(last.position), last.end, f.thing.element
    where = f" ({_line(site)})" if site.source else ""
    text = (
        f"{site.call}{where} copied {count:,} of the {source[1]:,} bytes of {source[0]} to `{f.thing.name}`: {count:,} is the number of "
        f"its elements, which have {element} bytes each."
    )
    step = f"Pass the size in bytes to {site.call}: {count:,} x {element} = {source[1]:,}."
    return Why("read-before-write", text, (step,), site)


def _written(f: Failure) -> tuple[list[Stretch], bool]:
    """What calls wrote into the buffer before the launch, in order, and whether earlier launches may have written it too."""
    facts, launch = f.facts, f.facts.launches.at_position(f.position)
    given = facts.launches.values(launch) if launch is not None else ()
    row = next((int(one["object"]) for one in given if f.thing is not None and one["index"] == f.thing.index), -1)
    table = facts.accesses
    mine = table[(table["object"] == row) & (table["position"] < f.position) & ((table["how"] & WRITE) != 0)] if row >= 0 else table[:0]
    sure = mine[((mine["how"] & MAY) == 0) & (mine["size"] > 0)]
    found = [Stretch(int(one["offset"]), int(one["offset"] + one["size"]), int(one["position"])) for one in sure]
    return found, bool(np.any((mine["how"] & MAY) != 0))


def _before_the_gap(written: list[Stretch], offset: int) -> Stretch | None:
    """The last call that wrote up to where the unwritten bytes begin."""
    if any(one.begin <= offset < one.end for one in written):
        return None
    ends = [one.end for one in written if one.end <= offset]
    return next((one for one in reversed(written) if ends and one.end == max(ends)), None)


def _covers(written: list[Stretch]) -> tuple[int, int]:
    return min(one.begin for one in written), max(one.end for one in written)


def _line(site: Site) -> str:
    through = f" through {site.through.rpartition('/')[2]}" if site.through else ""
    return f"{(site.source or '').rpartition('/')[2]}{through}"
