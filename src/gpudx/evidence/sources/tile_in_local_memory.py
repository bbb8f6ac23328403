"""A tensor-core tile is loaded from, or stored to, an array of a single thread.

    half rows[16][64];                                       // wrong: each thread has its own
    wmma::load_matrix_sync(a, &rows[0][k], 64);

    __shared__ half rows[16][64];                            // right: the warp sees one

CUDA C++ Programming Guide, "Warp Matrix Functions": a tile belongs to a whole warp. nvcc warns with a line of its own header, and
nvcc 13 puts a trap in the place of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._functions import Source
from gpudx.evidence.sources._seen import Seen
from gpudx.evidence.sources._tiles import sites

RULE = "tile-in-local-memory"


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    for site in sites(source):
        if site.array.local:
            yield Seen(
                site.line,
                f"{site.call} at {site.place} in {site.function.name} uses {site.array.name}, an array of a single thread, "
                "for a tile of a warp.",
                site.function.name,
                (f"{site.array.name} is declared at {source.at(site.array.line)} without __shared__",),
                ("device-trap",),
                (("array", site.array.name), ("call", site.call)),
            )
