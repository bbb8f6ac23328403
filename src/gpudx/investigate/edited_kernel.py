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
    line = f"{os.path.basename(place[0])}:{place[1]}" if place else f"line {edit.line} of its source"
    return Diagnosis(
        cause=CAUSE,
        status="likely",
        summary=(
            f"The program fails every time, and passes if `{edit.before.strip()}` is `{edit.after}` at {line}"
            f"{f' in kernel {edit.kernel}' if edit.kernel else ''}: `{edit.becomes}`."
        ),
        guilty=Guilty.at(site, None),
        victim=None,
        evidence=(
            Evidence(f"with `{edit.after}`: {one.failed}"),
            Evidence(f"as it is: {plain.failed}"),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Check `{edit.was}`: with `{edit.after}` in place of `{edit.before.strip()}` the program passes its own check.",),
        reason=REASON,
        observed=True,
        access=Access(by="kernel", kernel=site.kernel or "", source=f"{place[0]}:{place[1]}" if place else f"line {edit.line}"),
    )


def _launch(facts: Facts, edit: Change) -> int | None:
    """The first launch of the kernel that is changed; of one of its program, where a helper function is."""
    launches = facts.launches
    for row in np.flatnonzero((launches.status == 0) & ~launches.by_address):
        info = launches.info(int(row))
        mine = info is not None and facts.kernels.source(info.program, info.position) == edit.text
        if mine and edit.kernel in ("", launches.name(int(row))):
            return int(row)
    return None
