"""Calls that the driver would not do: refused for a value that they were given, or died in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.once import once
from gpudx.facts.open_calls import fatal_call
from gpudx.model import Evidence, Site

I64 = NDArray[np.int64]


@once
def rejected(facts: Facts) -> I64:
    """Their positions. A call that was in flight for any other reason may only have waited."""
    died = fatal_call(facts)
    return np.append(facts.errors.refused, np.array([] if died is None else [died], np.int64))


def answer(site: Site) -> Evidence:
    """How such a call ended."""
    text = f"{site.call} never returned" if site.status == "in flight" else f"{site.call} returned {site.status}"
    return Evidence(text, (site.number,))
