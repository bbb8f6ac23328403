"""Watched memory: what `gpudx run --watch` asks the recorder for (native/core/watch.h says what a look is)."""

from __future__ import annotations

from collections.abc import Mapping

from gpudx.errors import UserError
from gpudx.lab import unpooled
from gpudx.lab.environment import size_of
from gpudx.model.how import Watch

WATCH = "GPUDX_WATCH"
LIMIT = "GPUDX_WATCH_LIMIT"
SIZES = "GPUDX_WATCH_SIZES"
AGAIN, ONCE = "again", "once"
MOST_SIZES = 64  # native/core/watch.c


def wanted(how: str, limit: str | None, sizes: tuple[int, ...] = ()) -> Watch:
    """What was asked for, if it makes sense."""
    if how not in (AGAIN, ONCE):
        raise UserError(f"There is no way to watch {how!r}: give --watch or --watch=once.")
    bytes_ = size_of(limit) if limit is not None else None
    if bytes_ == 0:
        raise UserError(f"--watch-limit {limit} is not a size: give a number of bytes, for example 512M or 4G.")
    return Watch(how == AGAIN, bytes_, sizes)


def environment(watch: Watch, base: Mapping[str, str]) -> dict[str, str]:
    """The variables for the recorder, and those under which frameworks pass each allocation on to the driver."""
    limit = {} if watch.limit is None else {LIMIT: str(watch.limit)}
    sizes = {SIZES: ",".join(map(str, watch.sizes[:MOST_SIZES]))} if watch.sizes else {}
    return {WATCH: "1", **limit, **sizes, **unpooled.environment(base)}
