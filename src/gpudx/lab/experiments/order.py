"""The two calls of an order finding, run late, in order, or both."""

from __future__ import annotations

from functools import partial

from gpudx.lab.at_sites import edge_words
from gpudx.lab.experiments import Context, Row, Seen
from gpudx.model.how import How

HOLD, EDGE = "GPUDX_HOLD", "GPUDX_EDGE"  # native/core/sites.h
HELD, FIRST, SECOND = 1, 2, 4  # bits of a note_at_site


def why_missing(context: Context) -> str | None:
    return None if context.pair else "the record names no two operations without an order, or they cannot be located again"


def under(context: Context, names: tuple[str, ...]) -> How:
    asked = dict(zip((HOLD, EDGE), context.pair or (), strict=False))
    return context.how.under({name: asked[name] for name in names})


def not_done(context: Context, seen: Seen, wanted: int) -> str | None:
    """A run in which the calls never came, or could not be touched, is a plain one."""
    if any(done & wanted == wanted for done in seen.done_at):
        return None
    return "; ".join(seen.not_done) or "the program did not make the named calls"


def why_no_edge(context: Context) -> str | None:
    return None if context.edges else "the record names no two operations without an order, or they cannot be located again"


def edges(context: Context) -> tuple[str, ...]:
    """One variant for each pair."""
    return ("", *(str(number) for number in range(2, len(context.edges) + 1)))


def ordered(context: Context) -> How:
    return context.how.under({EDGE: context.edges[int(context.variant or 1) - 1]})


def every_waited(context: Context) -> str:
    return edge_words(context.edges[int(context.variant or 1) - 1])


def late(context: Context) -> str:
    """ "add no. 1 began 300 ms late"."""
    site, _, milliseconds = context.pair[0].rpartition(":") if context.pair else ("", "", "")
    return f"{_called(site)} began {milliseconds} ms late"


def waited(context: Context) -> str:
    first, _, second = context.pair[1].partition(">") if context.pair else ("", "", "")
    return f"{_called(second)} waited for {_called(first)}"


def _called(site: str) -> str:
    name, _, number = site.rpartition(":")
    return f"{name} no. {number}"


ROWS = (
    Row(
        __name__,
        "edge",
        1.2,
        """Two operations that nothing orders run in the order of their calls, at every occurrence, by events on the device.

Only launches of these kernels, or calls of these names, are ordered, and no thread of the program waits. A failure that goes away
came from this pair or from the time that the waits take; one that stays may come from other pairs, so it refutes nothing. With
a variant, the pair of another finding is ordered.""",
        missing=why_no_edge,
        variants=edges,
        how=ordered,
        without_effect=partial(not_done, wanted=FIRST | SECOND),
        did=every_waited,
    ),
    Row(
        __name__,
        "held",
        1.5,
        """The first of two operations that nothing orders begins late, on the device: the second overtakes it.

Only this one operation is delayed, and the program's threads never wait for it. An outcome that changes says that something
depends on when it runs; that the missing order is what it depends on is said by held-edge. One that stays says only that
this program's result, exit status and output do not show it: it refutes nothing. The pair is that of the first finding.""",
        missing=why_missing,
        how=partial(under, names=(HOLD,)),
        without_effect=partial(not_done, wanted=HELD),
        did=late,
        OUTPUT_COUNTS=True,
    ),
    Row(
        __name__,
        "held-edge",
        1.5,
        """As held, and the second operation waits for the first: the same delay, with the order that was missing.

It is compared with the runs under held. If what the delay alone changed is gone, the order of these two operations decides.
If it stays, the program depends on the delay in another way as well, and nothing follows.""",
        missing=why_missing,
        how=partial(under, names=(HOLD, EDGE)),
        without_effect=partial(not_done, wanted=HELD | FIRST | SECOND),
        did=waited,
        AGAINST="held",
        OUTPUT_COUNTS=True,
    ),
)
