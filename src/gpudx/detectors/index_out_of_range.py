"""An index of a PyTorch operator is outside the tensor that it indexes.

On a GPU the kernel stops with a device-side assertion that names neither the tensor nor the value, and every later call fails.
`gpudx run --check-indices` compares the indices with the sizes before each operator that uses them.

Example:

    embedding = torch.nn.Embedding(50257, 768).cuda()
    tokens = torch.tensor([[50258, 11]]).cuda()        # an added token that the table has no row for
    embedding(tokens)

Fix it where the index comes from, or make the tensor large enough for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpudx.detectors import Run
from gpudx.facts import Facts, Told
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "index-out-of-range"
CAUSE = Cause(
    id=ID,
    title="An index is outside the tensor that it indexes",
    refutes_if="The named position of the index tensor holds another value right before the operator.",
    fix=("Find where the named value comes from: print the index tensor's minimum and maximum before the named line.",),
    predicts=(("recorded", "the operator fails in every run, with a device-side assertion or an error of its own"),),
    settled_by="gpudx run --check-indices",
    kind=FIXED,
)
MADE_FROM = {
    "embedding": "rows",
    "embedding_bag": "rows",
    "cross_entropy": "classes",
    "nll_loss": "classes",
    "one_hot": "classes",
}


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """The first one: what comes after it may follow from it."""
    for told in facts.tellings.of("index")[:1]:
        if (value := told.number("value")) is not None and (size := told.number("size")) is not None:
            yield _finding(facts, told, value, size)


def _finding(facts: Facts, told: Told, value: int, size: int) -> Finding:
    site = _site(facts, told)
    function, argument, low = told.text("function").strip("_"), told.text("argument"), told.number("low") or 0
    what = MADE_FROM.get(function, f"elements in dimension {told.text('dim')}")
    place = f"{argument}{told.text('position')}"
    owner = " ".join(filter(None, [told.text("owned"), f"of module {told.text('module')}" if told.text("module") else ""]))
    table = f"the indexed tensor{f' ({owner})' if owner else ''}"
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{_called(function)} got the index {place} = {value}, but {table} has {size} {what}: valid indices are "
            f"{low} to {size - 1}."
        ),
        evidence=(
            Evidence(
                f"{plural(told.number('bad') or 1, 'value')} of `{argument}` ({told.text('dtype')} {told.text('shape')}) "
                f"{'is' if told.number('bad') == 1 else 'are'} outside of {low} to {size - 1}",
                (told.position + 1,),
            ),
            Evidence(f"the indexed tensor has the shape {told.text('table')}", (told.position + 1,)),
        ),
        site=site,
        causes=(ID,),
        facts=(("function", function), ("argument", argument), ("module", told.text("module"))),
        certainty="observed",
        attribution="this",
        because="The indices were read right before the operator ran.",
    )


def _called(function: str) -> str:
    return "Indexing" if function in ("getitem", "setitem", "index_put") else f"torch's {function}"


def _site(facts: Facts, told: Told) -> Site:
    """The launch that the operator made next, at the line that called the operator; the note itself where it made none."""
    line = facts.sites.at(told.position)
    later = np.flatnonzero((facts.launches.position > told.position) & (facts.launches.tid == line.tid))
    if not len(later):
        return replace(line, call=f"torch {told.text('function')}")
    launch = facts.sites.at(int(facts.launches.position[later[0]]))
    return replace(launch, source=line.source, host_stack=line.host_stack) if line.source else launch
