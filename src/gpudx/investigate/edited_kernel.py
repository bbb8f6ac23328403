"""The diagnosis of a wrong word in a kernel, once runs have shown that the failure goes with another one in its place."""

from __future__ import annotations

import os

import numpy as np

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.kernel_sources import kernels_of_launches
from gpudx.investigate.observed import Observed
from gpudx.kernel_checks.word_changes import Change, changes
from gpudx.model import Access, Diagnosis, Evidence, Guilty
from gpudx.text import listed

CAUSE = "wrong-expression"
REASON = (
    "The failure is gone in every run with the change, and comes back without it. What the host passes to the kernel may be wrong instead."
)


def diagnosis(facts: Facts, one: Observed, plain: Observed) -> Diagnosis | None:
    edit = next((found for found in changes(kernels_of_launches(facts)) if str(found) == one.trials[-1].note), None)
    launch = _launch(facts, edit) if edit else None
    if edit is None or launch is None:
        return None
    cause, site = every_cause()[CAUSE], facts.sites.at(int(facts.launches.position[launch]))
    place = facts.kernel_files.place(edit.text, edit.line, edit.was)
    source = f"{place[0]}:{place[1]}" if place else f"line {edit.line}"
    line = f"{os.path.basename(place[0])}:{place[1]}" if place else f"line {edit.line} of its source"
    return Diagnosis(
        cause=CAUSE,
        status="likely",
        summary=(
            f"The program fails every time, and passes with `{edit.after}` instead of `{_short(edit.before)}` at {line} in {_where(edit)}. "
            f"The line becomes: `{edit.becomes}`."
        ),
        guilty=Guilty.at(site, None),
        victim=None,
        evidence=(
            Evidence(f"with `{edit.after}`: {one.failed}"),
            Evidence(f"as it is: {plain.failed}"),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Check {line}: with `{edit.after}` instead of `{_short(edit.before)}` the program passes its own check.",),
        reason=REASON,
        observed=True,
        access=Access(by="kernel", kernel=site.kernel or "", source=source, function="" if edit.kernel else edit.function),
    )


def _where(edit: Change) -> str:
    """ "kernel box", or "mirror, which kernels rows and columns call" """
    if edit.kernel:
        return f"kernel {edit.kernel}"
    several = len(edit.kernels) > 1
    return f"{edit.function}, which {'kernels' if several else 'kernel'} {listed(edit.kernels)} {'run' if several else 'runs'}"


def _short(text: str) -> str:
    return " ".join(text.split())


def _launch(facts: Facts, edit: Change) -> int | None:
    """The first launch of a kernel that runs what is changed."""
    launches = facts.launches
    for row in np.flatnonzero((launches.status == 0) & ~launches.by_address):
        info = launches.info(int(row))
        mine = info is not None and facts.kernels.source(info.program, info.position) == edit.text
        if mine and launches.name(int(row)) in edit.kernels:
            return int(row)
    return None
