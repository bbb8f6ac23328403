"""All that devices gave to a program in a run with a pattern in its fresh memory, as one digest.

A program that depends on what fresh memory holds is given other bytes when it holds something else, as long as every byte that comes
to it is looked at. So there is a digest only where nothing can have come in another way: no memory that both sides see, no copy
without a look, no fault of the device itself (an address may come from anywhere), and nothing that was not filled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gpudx.detectors._in_flight import fatal_call
from gpudx.facts import Facts
from gpudx.facts.objects import FAMILIES
from gpudx.facts.operations import done
from gpudx.facts.ranges import WRITE

APART = [FAMILIES.index(name) for name in ("", "device", "pitched", "async")]  # the host sees nothing of it
OTHER_WAYS = ("map", "native_kernel", "acquire")
OF_THE_HOST = ("create", "set_arg", "release", "retain", "query", "build")  # run no work of the device's
UNFILLED = ("image", "pipe", "svm")


def digest(processes: Sequence[Facts]) -> str:
    """Of all processes of a run; "" where something may have come unseen."""
    if not processes or not all(_is_all_seen(one) for one in processes):
        return ""
    return hashlib.sha256(repr(sorted(sorted(one.poison.readings) for one in processes)).encode()).hexdigest()


def _is_all_seen(facts: Facts) -> bool:
    return _is_whole(facts) and _is_apart(facts) and len(_to_host(facts)) == len(facts.poison.readings)


def _is_whole(facts: Facts) -> bool:
    """Is all recorded and filled, and did the host decide how it ended?"""
    if facts.trace.gaps or facts.poison.missed or len(facts.graphs) or len(facts.errors.reports):
        return False
    if facts.trace.last_words is None:
        return bool(facts.trace.ended)
    call = fatal_call(facts)
    return call is not None and facts.trace.info(call).does in OF_THE_HOST


def _is_apart(facts: Facts) -> bool:
    """Does the program get at its devices' memory by copies only?"""
    ways = tuple(call for call in facts.trace.schema.calls if call.does in OTHER_WAYS)
    table, unfilled = facts.objects.table, facts.objects.rows_of(*UNFILLED)
    shared = bool((table["host_ptr"] != 0).any()) or not np.isin(table["family"], APART).all()
    return not shared and not len(unfilled) and not len(facts.trace.select(ways))


def _to_host(facts: Facts) -> list[int]:
    """The copies that gave the program something: one side is a device's, and the one that is written is not."""
    copies = facts.trace.schema.doing("copy")
    named = facts.trace.select(tuple(call for call in copies if call.host and call.reads and not call.writes))
    table = facts.ranges.table
    other = table["position"][(table["how"] == WRITE) & (facts.ranges.object < 0)]
    return [int(p) for p in done(facts.trace, np.union1d(named, other).astype(np.int64))]
