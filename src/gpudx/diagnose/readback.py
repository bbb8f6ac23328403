"""All that devices gave to a program in a run with a pattern in its fresh memory, as one digest.

A program that depends on what fresh memory holds is given other bytes when it holds something else, as long as every byte that comes
to it is looked at. So there is a digest only where nothing can have come in another way: no memory that both sides see, no copy
without a look, no fault of the device itself (an address may come from anywhere), and nothing that was not filled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.objects import FAMILIES
from gpudx.facts.open_calls import fatal_call
from gpudx.facts.operations import done
from gpudx.facts.ranges import WRITE

APART = [FAMILIES.index(name) for name in ("", "device", "pitched", "async")]  # the host sees nothing of it
OTHER_WAYS = ("map", "native_kernel", "acquire")
OF_THE_HOST = ("create", "set_arg", "release", "retain", "query", "build")  # run no work of the device's
UNFILLED = ("image", "pipe", "svm")


def digest(processes: Sequence[Facts]) -> str:
    """Of all processes of a run; "" where something may have come unseen."""
    if not processes or unseen(processes):
        return ""
    return hashlib.sha256(repr(sorted(sorted(one.poison.readings) for one in processes)).encode()).hexdigest()


def unseen(processes: Sequence[Facts]) -> str:
    """Why not all that came to the program is known; "" where it is."""
    return next((why for one in processes if (why := _of_record(one) or _of_host(one) or _of_ways(one))), "")


def _of_record(facts: Facts) -> str:
    if facts.trace.gaps or len(facts.graphs):
        return "the trace does not have all of the work"
    return "some fresh memory had no pattern" if facts.poison.missed or _unfilled(facts) else ""


def _unfilled(facts: Facts) -> bool:
    return bool(len(facts.objects.rows_of(*UNFILLED)))


def _of_host(facts: Facts) -> str:
    """Did the host decide how it ended? A device's fault may be at an address from anywhere."""
    if len(facts.errors.reports):
        return "the device itself faulted, at an unknown address"
    words, call = facts.trace.last_words, fatal_call(facts)
    host = facts.trace.ended if words is None else call is not None and facts.trace.info(call).does in OF_THE_HOST
    return "" if host else "it died where work of the device may have run"


def _of_ways(facts: Facts) -> str:
    """Does the program get at its devices' memory by copies only, and was each of them looked at?"""
    ways = tuple(call for call in facts.trace.schema.calls if call.does in OTHER_WAYS)
    table = facts.objects.table
    shared = bool(facts.objects.on_host.any()) or not np.isin(table["family"], APART).all()
    if shared or len(facts.trace.select(ways)):
        return "the program sees memory of its devices without copying it"
    looked = len(_to_host(facts)) == len(facts.poison.readings)
    return "" if looked else "not every copy to the host was checked"


def _to_host(facts: Facts) -> list[int]:
    """The copies that gave the program something: one side is a device's, and the one that is written is not."""
    copies = facts.trace.schema.doing("copy")
    named = facts.trace.select(tuple(call for call in copies if call.host and call.reads and not call.writes))
    table = facts.ranges.table
    other = table["position"][(table["how"] == WRITE) & (facts.ranges.object < 0)]
    return [int(p) for p in done(facts.trace, np.union1d(named, other).astype(np.int64))]
