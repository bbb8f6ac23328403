"""A tensor-core tile reaches past the end of the array that it is loaded from, or stored to.

    __shared__ half rows[4][64];
    wmma::load_matrix_sync(a, &rows[0][0], 64);     // wrong: 16 lines of 16 take 15 * 64 + 16 elements, and there are 256

Only where array, tile and stride are constants. Counted from the array's start: a tile that begins later reaches farther.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._functions import Source
from gpudx.evidence.sources._seen import Seen
from gpudx.evidence.sources._tiles import sites

RULE = "tile-past-array"


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    for site in sites(source):
        if site.past:
            yield Seen(
                site.line,
                f"{site.call} at {site.place} in {site.function.name} reaches past its array: {site.fit}.",
                site.function.name,
                (f"{site.array.name} is declared at {source.at(site.array.line)}",),
                ("out-of-bounds-access",),
                (("array", site.array.name), ("call", site.call)),
            )
