"""The two operations of an order finding: delayed, ordered, or both."""

from __future__ import annotations

from functools import partial

from gpudx.lab.at_sites import edge_words
from gpudx.lab.experiments import Context, Row, Seen
from gpudx.model.how import How

HOLD, EDGE = "GPUDX_HOLD", "GPUDX_EDGE"  # native/core/sites.h
HELD, FIRST, SECOND = 1, 2, 4  # bits of a note_at_site


def why_missing(context: Context) -> str | None:
    return None if context.pair else "the trace shows no two unordered operations, or they cannot be found again"


def under(context: Context, names: tuple[str, ...]) -> How:
    asked = dict(zip((HOLD, EDGE), context.pair or (), strict=False))
    return context.how.under({name: asked[name] for name in names})


def not_done(context: Context, seen: Seen, wanted: int) -> str | None:
    """A run in which the calls never came, or could not be touched, is a plain one."""
    if any(done & wanted == wanted for done in seen.done_at):
        return None
    return "; ".join(seen.not_done) or "the program did not make the named calls"


def why_no_edge(context: Context) -> str | None:
    return None if context.edges else "the trace shows no two unordered operations, or they cannot be found again"


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
        """Orders two unordered operations by events on the device, at every occurrence, in the order of their calls.

Only launches of these kernels, or calls of these names, are ordered, and no thread of the program waits. If the failure goes away, it
came from this pair or from the time that the waits take. If it stays, it may come from other pairs, so this refutes nothing. With a
variant, the pair of another finding is ordered.""",
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
        """Delays the first of two unordered operations on the device, so that the second overtakes it.

Only this operation is delayed, and the program's threads never wait for it. If the outcome changes, something depends on when it runs;
held-edge shows whether that is the missing order. If it stays, only this program's result, exit status and output do not show the
race: this refutes nothing. The pair is that of the first finding.""",
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
        """As held, but the second operation waits for the first: the same delay, with the missing order added.

It is compared with the runs under held. If the change that the delay alone made is gone, the order of these two operations decides the
outcome. If it stays, the program depends on the delay in another way as well, and nothing follows.""",
        missing=why_missing,
        how=partial(under, names=(HOLD, EDGE)),
        without_effect=partial(not_done, wanted=HELD | FIRST | SECOND),
        did=waited,
        AGAINST="held",
        OUTPUT_COUNTS=True,
    ),
)
