"""Tiles in thread-local memory: the compiler's warnings, joined to the sources that the build log names.

The warning names a line of the toolkit's header, never one of the program. The sources, where they are there, say which load and
which store it was, whether the tile fits into its array at all, and what it takes to put it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpudx.backends.mangling import function_name
from gpudx.backends.occupancy import KB, STATIC_SHARED, WARP, nvidia
from gpudx.evidence.logs._event import Event
from gpudx.evidence.sources._compiled import bare
from gpudx.evidence.sources._functions import Source
from gpudx.evidence.sources._tiles import LOAD, SIZES, STORE, Site, arrays, sites
from gpudx.model import Guilty, KernelBuild
from gpudx.text import plural

KIND = "tile-in-local-memory"
CALLS = {"load": (LOAD,), "store": (STORE,), "load or store": (LOAD, STORE)}
MOST_CONFIGURATIONS = 12
MOST_WARPS = 32  # of a block: 1,024 threads


def told(event: Event, builds: Sequence[KernelBuild], sources: Iterable[Source]) -> Event:
    """The event with the kernels that it can be in, and with what the sources add."""
    names = dict.fromkeys(bare(function_name(build.mangled)) for build in builds)
    event = replace(event, kernels=(*names, LOAD, STORE) if names else ())
    found = [site for source in sources for site in sites(source) if site.array.local]
    own = [site for site in found if site.call in CALLS[dict(event.facts)["access"]]]
    if not own:
        return event
    first = own[0]
    return replace(
        event,
        kernels=(*dict.fromkeys(site.function.name for site in found), *event.kernels),
        message=_message(first, len(own)),
        notes=(*event.notes, *(note for site in own for note in _notes(site)), *_companions(own, found)),
        fix=tuple(_options(found, _concerned(found, builds))),
        guilty=Guilty(
            "cuda", first.call, kernel=first.function.name, argument_name=first.array.name, source=first.place
        ),
        next="",
    )


def _message(site: Site, count: int) -> str:
    more = f" (and {plural(count - 1, 'more place', 'more places')})" if count > 1 else ""
    return (
        f"{site.call} at {site.place}{more} uses {site.array.name}, an array of a single thread, for a tile of a whole warp: "
        f"{site.function.name} cannot work."
    )


def _notes(site: Site) -> tuple[str, str]:
    array = site.array
    return (
        f"{array.name} is declared at {site.source.at(array.line)} without __shared__: {array.type}, {array.shape} elements",
        f"{site.place}: {site.fit}",
    )


def _companions(own: list[Site], found: list[Site]) -> Iterator[str]:
    others = [site for site in found if site not in own]
    for site in others:
        yield f"{site.call} at {site.place} does the same with {site.array.name}: fixing only one of them is not enough"
        yield from (note for note in _notes(site)[1:] if site.past)


# ---- ways out, with what they take ----


def _concerned(found: list[Site], builds: Sequence[KernelBuild]) -> list[KernelBuild]:
    names = {site.function.name for site in found}
    called = [build for build in builds if bare(function_name(build.mangled)) in names]
    return called or list(builds)  # a device function: any kernel of the build may have it inside


def _options(found: list[Site], builds: list[KernelBuild]) -> Iterator[str]:
    needs = {site.array.name: site for site in found}
    sizes = {name: site.bytes_needed for name, site in needs.items()}
    parts = [f"{name} {size:,}" for name, size in sizes.items() if size]
    total = sum(size or 0 for size in sizes.values())
    whole = all(sizes.values())
    names = " and ".join(needs)
    said = f"{' + '.join(parts)} = {total:,} bytes for each warp of a block" if whole else "its size is not known here"
    yield f"Put {names} into shared memory, with all lines of the tile: {said}.{_rows(found)}"
    if whole:
        declared = max(_declared(site) for site in found)
        yield from (_budget(build, total, declared) for build in builds[:MOST_CONFIGURATIONS])
        if len(builds) > MOST_CONFIGURATIONS:
            yield f"... and {len(builds) - MOST_CONFIGURATIONS} more configurations, with the same {total:,} bytes per warp."
    yield "Or load and store the tiles in global memory, with the matrix's own stride: 0 bytes of shared memory."
    yield "Not a way out: filling fragments by hand from such arrays; which thread holds which element is not specified."


def _rows(found: list[Site]) -> str:
    short = [site for site in found if site.past]
    return "".join(
        f" {site.array.name} must grow from {site.array.elements:,} to {site.whole:,} elements." for site in short
    )


def _declared(site: Site) -> int:
    """Bytes of shared memory that the source declares: the compiler tells of none where a trap has taken the kernel's place."""
    shared = (one for one in arrays(site.source, site.function) if not one.local)
    return sum((one.elements or 0) * SIZES.get(one.type, 0) for one in shared)


def _warps(left: int, each: int) -> int:
    return min(MOST_WARPS, max(0, left // each))


def _budget(build: KernelBuild, each: int, declared: int) -> str:
    """What one configuration has left."""
    used = max(build.static_shared_bytes or 0, declared)
    fits = _warps(STATIC_SHARED - used, each)
    name = f"{build.kernel.split('(')[0]}{f' for {build.arch}' if build.arch else ''}"
    threads = f", {fits * WARP:,} threads" if fits else ""
    room = f"room for {plural(fits, 'warp')}{threads} a block"
    text = f"{name}: {used:,} bytes are declared now; {STATIC_SHARED:,} can be, which leaves {room}"
    known = nvidia(build.arch)
    if known:
        limits, modern = known
        text += (
            f", {limits.per_block * KB:,} as dynamic shared memory for {_warps(limits.per_block * KB - used, each)}; "
            f"with one warp a block {limits.room(used + each, modern)} of {limits.blocks} blocks fit on a multiprocessor"
        )
    return f"{text}."
