"""The diagnosis of a wrong number, once runs have shown that the failure goes with another number passed."""

from __future__ import annotations

import numpy as np

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.other_numbers import WHOLE, WORD, Candidate, OtherNumbers, Passed
from gpudx.facts.set_arguments import setter
from gpudx.investigate.observed import Observed
from gpudx.model import Diagnosis, Evidence, Guilty

CAUSE = "wrong-number"
GONE = "The failure is gone in every run with the other number"
DERIVED = f"{GONE}, which follows from numbers of this run, and comes back without it."
OTHERWISE = f"{GONE}, and comes back without it. The kernel may be wrong instead of the number."


def diagnosis(facts: Facts, one: Observed, plain: Observed) -> Diagnosis | None:
    found = next((candidate for candidate in OtherNumbers(facts).found if candidate.wish == one.trials[-1].note), None)
    launch = _launch(facts, found.passed) if found else None
    if found is None or launch is None:
        return None
    passed, cause = found.passed, every_cause()[CAUSE]
    site = facts.sites.at(int(facts.launches.position[launch]), argument=passed.index)
    given = passed.full
    return Diagnosis(
        cause=CAUSE,
        status="confirmed" if found.derived else "likely",
        summary=(
            f"The program fails every time, and passes if {given} of kernel {passed.kernel} is {_text(found.value)} instead of "
            f"{_text(passed.value)}: {_reason(found)}."
        ),
        guilty=Guilty.at(site, None),
        victim=None,
        evidence=(
            Evidence(f"with {_text(found.value)}: {one.failed}"),
            Evidence(f"as it is: {plain.failed}"),
        ),
        refutes_if=cause.refutes_if,
        fix=(
            f"Pass {_text(found.value)} as {given}."
            if found.derived
            else f"Look at how {passed.short} is computed, and at what the kernel takes it for: {_text(found.value)} works.",
        ),
        reason=DERIVED if found.derived else OTHERWISE,
        observed=True,
        root=setter(facts, launch, passed.index),
    )


def _reason(found: Candidate) -> str:
    return f"that is {found.why}" if found.why.startswith(("the ", "one ")) else f"{_text(found.value)} is {found.why}"


def _text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _launch(facts: Facts, passed: Passed) -> int | None:
    """The first launch of the kernel that got the number."""
    args, launches = facts.launches.arguments, facts.launches
    rows = args.launch[(args.index == passed.index) & ((args.value == np.uint64(passed.bits)) | (passed.at != WHOLE))].tolist()
    mine = (row for row in rows if launches.compiled_name(row) == passed.compiled and launches.status[row] == 0)
    return next((row for row in mine if passed.at == WHOLE or _has_member(facts, row, passed)), None)


def _has_member(facts: Facts, launch: int, passed: Passed) -> bool:
    data = next(bytes(value["bytes"]) for value in facts.launches.values(launch) if int(value["index"]) == passed.index)
    return int.from_bytes(data[passed.at : passed.at + WORD], "little") == passed.bits
