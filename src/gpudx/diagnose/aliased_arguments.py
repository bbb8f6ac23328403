"""Two arguments that are one buffer because one of them kept the buffer of an earlier launch: the program set only the other one again."""

from __future__ import annotations

import numpy as np

from gpudx.diagnose.access_numbers import Numbers, Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.model import Site

CAUSE = "stale-argument"


def why(f: Failure, other: int) -> Why | None:
    """Of a race through two arguments of one buffer: the one that was not set since an earlier launch, where the other one was."""
    n = Numbers(f)
    if f.thing is None or n.argument < 0:
        return None
    since = _earlier_launch(f)
    mine, its = _set_at(f, n.argument), _set_at(f, other)
    if since is None or mine is None or its is None or (mine > since) == (its > since):
        return None
    kept, renewed = (n.argument, other) if mine < since else (other, n.argument)
    site, again = (f.facts.sites.at(min(mine, its), argument=kept), f.facts.sites.at(max(mine, its), argument=renewed))
    launched = f.facts.sites.at(f.position)
    kept_one = f"Argument {kept} kept the buffer of an earlier launch (set at {_line(site)})"
    text = f"{kept_one}, and argument {renewed} was set to the same one at {_line(again)}."
    step = f"Set argument {kept} again before each launch of {launched.kernel}, as argument {renewed} is: the two swap their buffers."
    return Why(CAUSE, text, (step,), site)


def _set_at(f: Failure, argument: int) -> int | None:
    given, launches = f.facts.set_args, f.facts.launches
    row = launches.at_position(f.position)
    kernel = launches.kernel[row] if row is not None else 0
    rows = np.flatnonzero((given.kernel == kernel) & (given.index == argument) & (given.position < f.position) & (given.status == 0))
    return int(given.position[rows[-1]]) if len(rows) else None


def _earlier_launch(f: Failure) -> int | None:
    """The launch of the same kernel object before this one."""
    launches, row = f.facts.launches, f.facts.launches.at_position(f.position)
    if row is None:
        return None
    before = launches.position[(launches.kernel == launches.kernel[row]) & (launches.position < f.position)]
    return int(before[-1]) if len(before) else None


def _line(site: Site) -> str:
    return (site.source or "").rpartition("/")[2] or f"call {site.number}"

