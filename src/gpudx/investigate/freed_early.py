"""Memory that is freed while another stream still uses it, and divided by a framework: the pool inside the program frees nothing that a
driver sees, so that plain runs show no free. In a run with fences each block is an allocation of its own, and is not reused at once."""

from __future__ import annotations

from collections.abc import Sequence

from gpudx.detectors import freed_while_in_use
from gpudx.diagnose import entries
from gpudx.investigate.observed import PLAIN
from gpudx.model import Case, Diagnosis, Evidence, Trial, Verdict

FENCED = "fenced"
REASON = (
    "Every plain run failed. The run with fences, in which freed memory is not used again at once, passed, and its record shows this free: "
    "that fits, but the fences change the timing too."
)


def entry(before: Sequence[Trial], trial: Trial, case: Case) -> Diagnosis | None:
    """Likely, never confirmed; `case` is that of `trial`. None where plain runs show the free themselves."""
    plain = [one for one in before if one.experiment == PLAIN]
    if trial.experiment != FENCED or trial.outcome != "passed" or not plain or any(one.outcome != "reproduced" for one in plain):
        return None
    found = next((one for one in case.findings if one.id == freed_while_in_use.ID), None)
    if found is None or any(found.fingerprint in one.fingerprints for one in plain):
        return None
    counted = (Evidence(f"{FENCED}: the program passed; in plain runs it failed"), *found.evidence)
    return entries.of_finding(found, Verdict(entries.hypothesis(found), "likely", counted, (), REASON), None)
