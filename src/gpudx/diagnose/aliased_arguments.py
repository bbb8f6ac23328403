"""Two arguments that are one buffer: one of them kept the buffer of an earlier launch, because the program set only the other one again, or
the program passed it twice, as if it had two.
"""

from __future__ import annotations

from gpudx.diagnose import shared_pools
from gpudx.diagnose.access_numbers import Numbers, Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.diagnose.last_writers import last_writer
from gpudx.diagnose.race_reasons import Race
from gpudx.facts.set_arguments import set_at
from gpudx.kernel_checks.plan import READ, WRITE
from gpudx.kernel_checks.plan import Site as Place
from gpudx.model import Site

CAUSE, OVERLAP = "stale-argument", "arguments-overlap"


def why(f: Failure, other: int) -> Why | None:
    """Of a race through two arguments of one buffer: the one that was not set since an earlier launch, where the other one was; else the
    buffer, with what it was used for before."""
    if f.thing is None or Numbers(f).argument < 0:
        return None
    return _kept(f, other) or _passed_twice(f, other)


def _kept(f: Failure, other: int) -> Why | None:
    n = Numbers(f)
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


def _passed_twice(f: Failure, other: int) -> Why | None:
    """Only where the kernel cannot race through one of them alone, and uses all of both: offsets in an arena are another fault."""
    n, how = Numbers(f), WRITE if Race(f).wrote else READ
    kernel = f.facts.sites.at(f.position).kernel
    names = {one.index: one.name for one in f.things if (one.kind, one.function) == ("argument", kernel)}
    alone = any(site.how & how and n.argument in _arguments(f, site, kernel) for site in f.sites)
    if alone or other not in names or f.thing is None or shared_pools.step(f, other):
        return None
    writer = last_writer(f.facts, n.memory, f.position)
    facts = (f"{writer.text} was the last to write it before",) if writer is not None else ()
    read, written = (n.argument, other) if how == WRITE else (other, n.argument)
    same = f"Arguments {read} `{names[read]}` and {written} `{names[written]}` are the same buffer"
    text = f"{same}: work-items read elements of `{names[read]}` that others have overwritten through `{names[written]}`."
    step = (
        f"Pass another buffer for argument {written}. If the program takes buffers from a pool, it got this one twice: find out why it was"
        f" free while argument {read} still needs it."
    )
    return Why(OVERLAP, text, (step,), f.facts.sites.at(f.position, argument=written), facts)


def _arguments(f: Failure, site: Place, kernel: str | None) -> set[int]:
    """Of the kernel, that a place can access."""
    own = {f.things[at].index for at in site.things if (f.things[at].kind, f.things[at].function) == ("argument", kernel)}
    return own | {way.argument for way in site.ways if way.kernel == kernel}


def _set_at(f: Failure, argument: int) -> int | None:
    row = f.facts.launches.at_position(f.position)
    return set_at(f.facts, row, argument) if row is not None else None


def _earlier_launch(f: Failure) -> int | None:
    """The launch of the same kernel object before this one."""
    launches, row = f.facts.launches, f.facts.launches.at_position(f.position)
    if row is None:
        return None
    before = launches.position[(launches.kernel == launches.kernel[row]) & (launches.position < f.position)]
    return int(before[-1]) if len(before) else None


def _line(site: Site) -> str:
    return (site.source or "").rpartition("/")[2] or f"call {site.number}"

