"""Programs that test what a driver refuses: many calls are refused, each in another way, and the process does not crash.

One of these refusals may still be the fault, but nothing in the record tells it from the others: none of them explains a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudx.detectors._failures import Failures
from gpudx.facts import Facts
from gpudx.model import Finding

FEWEST_CALLS = 4  # that were refused for reasons of their own
FEWEST_STATUSES = 3
BECAUSE = "{count} calls were refused, with {statuses} different errors: the program seems to test refusals."


def without_provoked(facts: Facts, findings: Sequence[Finding], *, crashed: bool) -> Iterator[Finding]:
    """The findings, where those about refused calls weigh nothing if the program provoked them."""
    refused = [] if crashed or len(facts.errors) < FEWEST_CALLS else Failures(facts).roots
    statuses = {failure.status for failure in refused}
    if len(refused) < FEWEST_CALLS or len(statuses) < FEWEST_STATUSES:
        yield from findings
        return
    because = BECAUSE.format(count=len(facts.errors), statuses=len(statuses))
    numbers = {int(position) + 1 for position in facts.errors.position}
    for finding in findings:
        mine = finding.site is not None and finding.site.number in numbers
        noted = replace(finding, severity="info", scope="note", certainty="recorded", symptom=None, because=because)
        yield noted if mine else finding
